//! Attempts of `list` for every rank, from the measured arrival order.

use super::played::Played;
use super::validated::{Searched, Worst};
use crate::irregular::Arrived;

/// Attempts of `list` at a rank that posted its receives in order. `places` are the receives in arrival order. O(n log
/// n), while `list` takes n² ÷ 2 steps.
fn attempts(places: impl Iterator<Item = u32>, receives: u32) -> u64 {
    let mut waiting = Waiting::all(receives);
    places.map(|place| waiting.take(place)).sum()
}

/// Remaining receives by place, as a Fenwick tree: entry i, from 1 on, is the sum of the last i & −i places up to i.
struct Waiting(Vec<u32>);

impl Waiting {
    fn all(receives: u32) -> Waiting {
        Waiting((0..=receives).map(|at| at & at.wrapping_neg()).collect())
    }

    /// Removes the receive at `place`. Returns the number of remaining receives up to `place`, inclusive.
    fn take(&mut self, place: u32) -> u64 {
        let (mut before, mut at) = (0, place as usize + 1);
        while at > 0 {
            before += u64::from(self.0[at]);
            at -= at & at.wrapping_neg();
        }
        at = place as usize + 1;
        while at < self.0.len() {
            self.0[at] -= 1;
            at += at & at.wrapping_neg();
        }
        before
    }
}

pub struct AttemptCounts {
    /// Receiving ranks, and the number of their messages.
    received: Vec<(u32, u32)>,
    /// Medians over the exchanges, by rank.
    natural: Vec<u64>,
    reversed: Vec<u64>,
}

impl AttemptCounts {
    pub fn of(exchanges: &[Vec<Arrived>]) -> AttemptCounts {
        let first = exchanges.first().map_or(&[][..], Vec::as_slice);
        let received = first.iter().map(|arrived| (arrived.rank, arrived.places.len() as u32)).collect();
        let mut counts = AttemptCounts { received, natural: Vec::new(), reversed: Vec::new() };
        for at in 0..first.len() {
            let (mut natural, mut reversed) = (Vec::new(), Vec::new());
            for exchange in exchanges {
                let places = &exchange[at].places;
                let receives = places.len() as u32;
                natural.push(attempts(places.iter().copied(), receives));
                reversed.push(attempts(places.iter().map(|place| receives - 1 - place), receives));
            }
            counts.natural.push(median(natural));
            counts.reversed.push(median(reversed));
        }
        counts
    }

    pub fn by_rank(&self, ranks: u32) -> Vec<u64> {
        let mut all = vec![0; ranks as usize];
        for (&(rank, _), &attempts) in self.received.iter().zip(&self.natural) {
            all[rank as usize] = attempts;
        }
        all
    }

    /// The processes with most attempts. `None`: no process received a message.
    pub fn worst(&self, played: &Played) -> Option<Searched> {
        let worst = |counts: &[u64]| {
            let processes = (0..counts.len()).filter(|&at| played.is_process(self.received[at].0));
            let at = processes.reduce(|most, at| if counts[at] > counts[most] { at } else { most })?;
            let (rank, received) = self.received[at];
            Some(Worst { process: played.process_at(rank), received, attempts: counts[at] })
        };
        Some(Searched { natural: worst(&self.natural)?, reversed: worst(&self.reversed) })
    }
}

fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::irregular::Irregular;
    use matchpoint::engines::create_counting;
    use matchpoint::{ContextId, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Tag};

    use super::*;

    fn by_list(places: &[u32]) -> u64 {
        let envelope = |place: u32| Envelope::new(ContextId(0), Rank(place), Tag(0));
        let mut list = create_counting("list").unwrap();
        for place in 0..places.len() as u32 {
            list.post(Receive::new(RecvId(place.into()), Selector::exactly(&envelope(place)))).unwrap();
        }
        for &place in places {
            list.arrive_message(Message::new(MsgId(place.into()), envelope(place))).unwrap();
        }
        list.attempts().posted
    }

    #[test]
    fn attempts_equal_those_of_list() {
        let mut random = fastrand::Rng::with_seed(super::super::played::SEED);
        for count in [0, 1, 2, 3, 7, 8, 100, 257] {
            let mut places: Vec<u32> = (0..count).collect();
            random.shuffle(&mut places);
            assert_eq!(attempts(places.iter().copied(), count), by_list(&places), "{places:?}");
        }
    }

    #[test]
    fn longest_queue_is_counted_quickly() {
        let count = 32_767_u64;
        assert_eq!(attempts((0..count as u32).rev(), count as u32), count * (count + 1) / 2);
    }

    fn played(process: Option<u32>) -> Played {
        Played { messages: Irregular::default(), process }
    }

    fn arrived(rank: u32, places: &[u32]) -> Arrived {
        Arrived { rank, places: places.to_vec() }
    }

    #[test]
    fn counts_follow_arrival_order() {
        let counts = AttemptCounts::of(&[vec![arrived(0, &[0, 1, 2, 3]), arrived(3, &[4, 3, 2, 1, 0])]]);
        assert_eq!(counts.by_rank(4), [4, 0, 0, 15]);
        let worst = counts.worst(&played(None)).unwrap();
        assert_eq!(worst.natural, Worst { process: 3, received: 5, attempts: 15 });
        assert_eq!(worst.reversed.unwrap(), Worst { process: 0, received: 4, attempts: 10 });
        let worst = counts.worst(&played(Some(7))).unwrap();
        assert_eq!(worst.natural, Worst { process: 7, received: 4, attempts: 4 });
    }

    #[test]
    fn medians_are_of_several_exchanges() {
        let of = |places: &[u32]| vec![arrived(1, places)];
        let counts = AttemptCounts::of(&[of(&[0, 1, 2]), of(&[2, 1, 0]), of(&[1, 0, 2])]);
        assert_eq!(counts.by_rank(2), [0, 4]);
    }

    #[test]
    fn no_messages_give_no_search() {
        assert_eq!(AttemptCounts::of(&[Vec::new()]).worst(&played(None)), None);
        assert_eq!(AttemptCounts::of(&[]).worst(&played(None)), None);
    }
}
