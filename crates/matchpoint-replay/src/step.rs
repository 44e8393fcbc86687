//! What the order of arrivals amounts to for one rank: its events, each with the answer of the replay's own matcher.

use matchpoint::{Message, MsgId, Receive, RecvId, Selector};

/// One event at one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// When, in nanoseconds of the replay.
    pub at_ns: i64,
    pub kind: Kind,
}

/// What happened, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Post {
        receive: Receive,
        took: Option<MsgId>,
    },
    Arrive {
        message: Message,
        took: Option<Receive>,
    },
    Probe {
        selector: Selector,
        found: Option<MsgId>,
    },
    MatchedProbe {
        selector: Selector,
        took: Option<MsgId>,
    },
    Cancel {
        receive: RecvId,
        was_posted: bool,
    },
    /// Of a message that was unexpected.
    Retract {
        message: MsgId,
    },
}

/// Takes the steps of all ranks; those of one rank come in order.
pub(crate) trait Sink {
    /// `process` counts the ranks that have a stream.
    fn step(&mut self, process: usize, step: Step);
}
