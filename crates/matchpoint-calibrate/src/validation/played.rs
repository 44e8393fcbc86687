//! The messages that the ranks exchange for an operation.
//!
//! With as many ranks as processes, each rank is a process. With fewer ranks, rank 0 is one process, and rank 1 is all
//! its partners. Concurrent sends and shared links are then missing.

use matchpoint_model::{Exchange, Sent};

use crate::CalibrateError;
use crate::irregular::{Irregular, Message};

/// Equal seeds give equal orders of messages and measurements.
pub(super) const SEED: u64 = 20_190_521;

/// The rank of the played process, and the rank of its partners.
const SELF: u32 = 0;
const OTHERS: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    pub messages: Irregular,
    /// The played process. `None`: each rank is a process.
    pub process: Option<u32>,
}

/// All messages of an exchange between as many ranks as processes. Ranks send, and post receives, in ascending order of
/// peers.
pub fn all(exchange: &Exchange) -> Result<Played, CalibrateError> {
    let mut sorted = exchange.messages.clone();
    sorted.sort_unstable();
    let mut messages = Vec::with_capacity(sorted.len());
    let mut places = std::collections::HashMap::<u32, u32>::new();
    for sent in &sorted {
        let place = places.entry(sent.to).or_default();
        messages.push(Message { from: sent.from, to: sent.to, bytes: size(sent)?, place: *place });
        *place += 1;
    }
    Ok(Played { messages: Irregular { messages }, process: None })
}

/// The messages of the process that receives most messages (then most bytes). The real arrival order is unknown, so the
/// order of sends is random with a fixed seed.
pub fn one(exchange: &Exchange, processes: u32) -> Result<Played, CalibrateError> {
    let process = busiest(exchange, processes);
    let mut sorted = exchange.messages.clone();
    sorted.sort_unstable();
    let mut messages = Vec::new();
    let mut received = Vec::new();
    for sent in &sorted {
        if sent.from == process {
            let place = messages.len() as u32;
            messages.push(Message { from: SELF, to: OTHERS, bytes: size(sent)?, place });
        } else if sent.to == process {
            let place = received.len() as u32;
            received.push(Message { from: OTHERS, to: SELF, bytes: size(sent)?, place });
        }
    }
    fastrand::Rng::with_seed(SEED).shuffle(&mut received);
    messages.extend(received);
    Ok(Played { messages: Irregular { messages }, process: Some(process) })
}

fn busiest(exchange: &Exchange, processes: u32) -> u32 {
    let mut work = vec![(0_u64, 0_u64); processes as usize];
    for Sent { from, to, messages, bytes } in &exchange.messages {
        work[*to as usize].0 += messages;
        work[*to as usize].1 += bytes;
        work[*from as usize].1 += bytes;
    }
    let busiest = (0..work.len())
        .fold(0, |busiest, process| if work[process] > work[busiest] { process } else { busiest });
    busiest as u32
}

fn size(sent: &Sent) -> Result<u32, CalibrateError> {
    // The benchmark stores a size in an int.
    i32::try_from(sent.bytes).map(|bytes| bytes as u32).map_err(|_| {
        CalibrateError(format!(
            "process {} sends {} bytes to process {} in one message, but the benchmark supports 2 GiB\nhint: use more \
             processes",
            sent.from, sent.bytes, sent.to
        ))
    })
}

impl Played {
    pub fn is_process(&self, rank: u32) -> bool {
        self.process.is_none() || rank == SELF
    }

    pub fn reversed(&self) -> Irregular {
        self.messages.reversed(|rank| self.is_process(rank))
    }

    pub fn process_at(&self, rank: u32) -> u32 {
        self.process.unwrap_or(rank)
    }

    /// The exchange for the models, in which processes are ranks.
    pub fn exchange(&self) -> Exchange {
        let sent = |message: &Message| Sent::one(message.from, message.to, message.bytes.into());
        Exchange { messages: self.messages.messages.iter().map(sent).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star() -> Exchange {
        let to_two = [0, 1, 3, 4].map(|from| Sent::one(from, 2, 10 + u64::from(from)));
        Exchange { messages: [&to_two[..], &[Sent::one(2, 3, 99)]].concat() }
    }

    #[test]
    fn each_rank_plays_its_process() {
        let played = all(&star()).unwrap();
        assert_eq!(played.process, None);
        assert_eq!(played.exchange().messages.len(), 5);
        let to_two = played.messages.messages.iter().filter(|message| message.to == 2);
        assert_eq!(
            to_two.map(|message| (message.from, message.place)).collect::<Vec<_>>(),
            [(0, 0), (1, 1), (3, 2), (4, 3)]
        );
    }

    #[test]
    fn two_ranks_play_busiest_process() {
        let played = one(&star(), 5).unwrap();
        assert_eq!(played.process, Some(2));
        let Exchange { mut messages } = played.exchange();
        messages.sort_unstable();
        assert_eq!(
            messages,
            [
                Sent::one(0, 1, 99),
                Sent::one(1, 0, 10),
                Sent::one(1, 0, 11),
                Sent::one(1, 0, 13),
                Sent::one(1, 0, 14)
            ]
        );
        let mut received: Vec<(u32, u32)> =
            played.messages.messages[1..].iter().map(|of| (of.place, of.bytes)).collect();
        received.sort_unstable();
        assert_eq!(received, [(0, 10), (1, 11), (2, 13), (3, 14)]);
        assert_eq!(one(&star(), 5).unwrap(), played, "the same every time");
        let reversed = played.reversed();
        assert_eq!(reversed.messages[0], played.messages.messages[0]);
        assert!(
            reversed.messages[1..]
                .iter()
                .zip(&played.messages.messages[1..])
                .all(|(one, of)| one.place == 3 - of.place)
        );
        assert_eq!((played.process_at(0), all(&star()).unwrap().process_at(4)), (2, 4));
    }

    #[test]
    fn message_beyond_int_is_refused() {
        let exchange = Exchange { messages: vec![Sent::one(0, 1, 1 << 31)] };
        assert!(matches!(all(&exchange), Err(CalibrateError(why)) if why.contains("2147483648 bytes")));
    }
}
