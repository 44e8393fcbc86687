//! What the order of arrivals amounts to for one rank: its events, each with the answer of the replay's own matcher.

use matchpoint::{Message, MsgId, Receive, RecvId, Selector};

/// One event at one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// When, in nanoseconds of the replay.
    pub at_ns: i64,
    /// At which: counts the ranks that have a stream.
    pub process: u32,
    pub kind: Kind,
}

/// What happened, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Post {
        receive: Receive,
        took: Option<MsgId>,
    },
    /// `from` is the sender's rank in `MPI_COMM_WORLD`.
    Arrive {
        message: Message,
        from: u32,
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
    fn step(&mut self, step: Step);
}
