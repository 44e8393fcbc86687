//! An irregular exchange: ranks exchange messages with several other ranks, as in sparse matrix products
//! (§5).

use std::fmt::Write;

/// Maximum bytes of a line. The benchmark accepts 64 KiB.
const LINE_BYTES: usize = 32 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub from: u32,
    /// Never the sender.
    pub to: u32,
    /// The benchmark uses an `int`.
    pub bytes: u32,
    /// Position of the receive among the receiver's posted receives.
    pub place: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Irregular {
    /// Messages in the order of sends. The positions of a receiver are distinct and cover all its receives.
    pub messages: Vec<Message>,
}

impl Irregular {
    pub fn reversed(&self, at: impl Fn(u32) -> bool) -> Irregular {
        let mut reversed = self.clone();
        for message in reversed.messages.iter_mut().filter(|message| at(message.to)) {
            message.place = self.received(message.to) - 1 - message.place;
        }
        reversed
    }

    pub fn received(&self, rank: u32) -> u32 {
        self.messages.iter().filter(|message| message.to == rank).count() as u32
    }

    pub fn receivers(&self) -> Vec<u32> {
        let mut receivers: Vec<u32> = self.messages.iter().map(|message| message.to).collect();
        receivers.sort_unstable();
        receivers.dedup();
        receivers
    }

    pub(crate) fn lines(&self) -> String {
        let mut lines = "forget".to_owned();
        let mut line_bytes = LINE_BYTES;
        for Message { from, to, bytes, place } in &self.messages {
            let word = format!(" {from}>{to}:{bytes}@{place}");
            if line_bytes + word.len() > LINE_BYTES {
                lines.push_str("\nmessages");
                line_bytes = 0;
            }
            line_bytes += word.len();
            let _ = write!(lines, "{word}");
        }
        lines + "\n"
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub rank: u32,
    /// Positions of the receives in order of arrival; each position occurs once.
    pub places: Vec<u32>,
}

/// Parses a line such as `9 0 2 0 1`: number of the measurement, rank, positions of the receives.
pub(crate) fn arrived(words: &str, number: usize, of: &Irregular) -> Option<Arrived> {
    let mut words = words.split(' ');
    if words.next()?.parse() != Ok(number) {
        return None;
    }
    let rank = words.next()?.parse().ok()?;
    let places: Result<Vec<u32>, _> = words.map(str::parse).collect();
    let places = places.ok()?;
    let mut sorted = places.clone();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..of.received(rank)).then_some(Arrived { rank, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Irregular {
        let message = |from, to, bytes, place| Message { from, to, bytes, place };
        Irregular { messages: vec![message(0, 1, 8, 1), message(2, 1, 80, 0), message(1, 0, 0, 0)] }
    }

    #[test]
    fn lines_contain_every_message() {
        assert_eq!(two().lines(), "forget\nmessages 0>1:8@1 2>1:80@0 1>0:0@0\n");
        assert_eq!(Irregular::default().lines(), "forget\n");
        let many = Irregular { messages: two().messages.repeat(10_000) };
        let lines = many.lines();
        assert!(lines.lines().count() > 5 && lines.lines().all(|line| line.len() < 60_000));
        assert_eq!(lines.matches('>').count(), 30_000);
    }

    #[test]
    fn receives_are_reversed_rank_by_rank() {
        let places = |of: &Irregular| of.messages.iter().map(|message| message.place).collect::<Vec<_>>();
        assert_eq!(places(&two().reversed(|_| true)), [0, 1, 0]);
        assert_eq!(two().reversed(|rank| rank == 0), two());
        assert_eq!(two().receivers(), [0, 1]);
    }

    #[test]
    fn orders_have_every_message_once() {
        let of = |words| arrived(words, 9, &two());
        assert_eq!(of("9 1 1 0"), Some(Arrived { rank: 1, places: vec![1, 0] }));
        for wrong in ["", "8 1 1 0", "9 1 1", "9 1 1 1", "9 1 0 2", "9 0 0 1", "9 7 0", "9 x 0"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
