//! The matcher that decides what matches what, so that the simulation knows who may go on.
//!
//! It is `bins`, few of them at first since every process has a matcher, and more where queues grow: the simulation
//! must stay fast where the engines that it measures do not.

use matchpoint::engines::{self, NameError};
use matchpoint::{Engine, Entry, Message, MsgId, Queue, Receive, RecvId, Selector};

/// Bins at first.
const FIRST_BINS: usize = 16;

/// Entries per bin that are put up with, and by how much the bins become more then.
const CROWD: usize = 4;
const GROWTH: usize = 16;

/// Bins at most.
const LAST_BINS: usize = 1 << 20;

/// See the [module's documentation](self).
pub(crate) struct Matcher {
    engine: Box<dyn Engine>,
    bins: usize,
}

impl Matcher {
    pub fn new() -> Result<Self, NameError> {
        Ok(Matcher { engine: with_bins(FIRST_BINS)?, bins: FIRST_BINS })
    }

    pub fn post(&mut self, receive: Receive) -> Option<MsgId> {
        let took = self.engine.post(receive).expect("bins take whatever fits into memory");
        if took.is_none() && self.engine.posted_len() > CROWD * self.bins {
            self.grow();
        }
        took
    }

    pub fn arrive(&mut self, message: Message) -> Option<RecvId> {
        let took = self.engine.arrive(message).expect("bins take whatever fits into memory");
        if took.is_none() && self.engine.unexpected_len() > CROWD * self.bins {
            self.grow();
        }
        took
    }

    pub fn probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.probe(selector)
    }

    pub fn matched_probe(&mut self, selector: &Selector) -> Option<MsgId> {
        self.engine.matched_probe(selector)
    }

    pub fn cancel(&mut self, receive: RecvId) -> bool {
        self.engine.cancel(receive)
    }

    pub fn retract(&mut self, message: MsgId) -> bool {
        self.engine.retract(message)
    }

    pub fn posted_len(&self) -> usize {
        self.engine.posted_len()
    }

    pub fn unexpected_len(&self) -> usize {
        self.engine.unexpected_len()
    }

    /// Moves all that is queued, oldest first, to an engine with more bins. Nothing that is queued matches anything
    /// else that is, so nothing is matched on the way.
    #[cold]
    fn grow(&mut self) {
        if self.bins >= LAST_BINS {
            return;
        }
        self.bins = (self.bins * GROWTH).min(LAST_BINS);
        let mut larger = with_bins(self.bins).expect("a power of two up to 2^20 is a number of bins");
        for queue in [Queue::Posted, Queue::Unexpected] {
            self.engine.visit(queue, &mut |entry| {
                let matched = match entry {
                    Entry::Receive(receive) => larger.post(receive).map(|took| took.is_some()),
                    Entry::Message(message) => larger.arrive(message).map(|took| took.is_some()),
                };
                debug_assert_eq!(matched, Ok(false));
            });
        }
        self.engine = larger;
    }
}

fn with_bins(bins: usize) -> Result<Box<dyn Engine>, NameError> {
    engines::create(&format!("bins:n={bins}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use matchpoint::{ContextId, Envelope, Rank, Tag, Wild};

    #[test]
    fn growing_keeps_what_is_queued_in_order() {
        let mut matcher = Matcher::new().unwrap();
        let message = |at: u64| Message::new(MsgId(at), Envelope::new(ContextId(0), Rank(at % 7), Tag(at)));
        for at in 0..5000 {
            assert_eq!(matcher.arrive(message(at)), None);
        }
        assert!(matcher.bins > FIRST_BINS);
        let any = Selector::new(ContextId(0), Wild::Any, Wild::Any);
        for at in 0..5000 {
            assert_eq!(matcher.post(Receive::new(RecvId(at), any)), Some(MsgId(at)));
        }
    }
}
