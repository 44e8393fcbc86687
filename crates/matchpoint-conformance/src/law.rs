//! The laws that every engine keeps.

use std::fmt::{self, Display};

/// A promise of every engine: a rule of [`matchpoint::engine`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Law {
    Arrive,
    Post,
    /// A probe finds the message that a receive would take, and leaves it queued.
    Probe,
    /// A matched probe takes the message that a receive would take.
    MatchedProbe,
    /// A cancel removes only a posted receive.
    Cancel,
    /// A retract removes only a queued message.
    Retract,
    /// A readdressed message keeps its age, or takes a matching receive.
    Readdress,
    /// Hints hold for queued and later entries.
    Hints,
    /// A close empties a context.
    Close,
    /// The failure of a source removes the receives with this source.
    FailSource,
    /// A batch has the results of its messages one by one.
    Batch,
    /// An engine refuses only calls that it may refuse.
    Refusal,
    /// Both queues have the expected contents between two calls.
    Queues,
    /// The footprint is consistent.
    Footprint,
    /// A call does not panic or crash, and returns a valid result.
    Panic,
    Independence,
}

impl Law {
    pub fn sentence(self) -> &'static str {
        match self {
            Law::Arrive => {
                "An arriving message takes the oldest posted receive it matches; if none, it joins the unexpected \
                 queue."
            }
            Law::Post => {
                "A posted receive takes the oldest unexpected message it matches; if none, it joins the posted queue."
            }
            Law::Probe => {
                "A probe finds the message that a receive with its selector would take, and the message stays queued."
            }
            Law::MatchedProbe => {
                "A matched probe takes the message that a receive with its selector would take."
            }
            Law::Cancel => {
                "Cancel returns true and removes the receive if the receive is posted; else false."
            }
            Law::Retract => {
                "Retract returns true and removes the message if the message is queued; else false."
            }
            Law::Readdress => {
                "Readdress sets the source of a message with unknown source. The message takes the oldest posted receive \
                 that it then matches; if none, the message stays queued at its age."
            }
            Law::Hints => {
                "Assertions are refused if a queued entry breaks them, and end when their context is closed."
            }
            Law::Close => {
                "Close removes all entries of the context, oldest first, and appends them to the drained list."
            }
            Law::FailSource => {
                "A failed source drains the receives with this source, lists any-source receives as pending, and \
                 keeps arrived messages."
            }
            Law::Batch => "A batch equals its messages one by one, up to the first refused message.",
            Law::Refusal => {
                "A call is refused only if it breaks an assertion or the table is full. A refused call changes nothing."
            }
            Law::Queues => "The queues contain every entry added and not removed, oldest first.",
            Law::Footprint => {
                "The footprint is at least the bytes of the queued ids, and the peak is at least the footprint."
            }
            Law::Panic => "No call panics, crashes or returns an invalid result.",
            Law::Independence => {
                "Calls on one engine do not change another engine: these events alternate between two engines."
            }
        }
    }
}

/// A broken law, and how a call broke the law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub law: Law,
    pub how: String,
}

impl Broken {
    pub(crate) fn new(law: Law, how: impl Into<String>) -> Self {
        Broken { law, how: how.into() }
    }
}

impl Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.how, self.law.sentence())
    }
}
