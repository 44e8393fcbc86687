//! The laws that every engine keeps.

use std::fmt::{self, Display};

/// Promises of an engine: the rules of [`matchpoint::engine`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Law {
    /// Rule 2 of the contract, for arrivals.
    Arrive,
    /// Rule 3 of the contract, for posts.
    Post,
    /// A probe finds the message that a receive would take, and leaves the message queued.
    Probe,
    /// A matched probe takes the message that a receive would take.
    MatchedProbe,
    /// A cancel removes only a posted receive.
    Cancel,
    /// A retraction removes only a queued message.
    Retract,
    /// A readdressed message keeps its age, or takes a matching receive.
    Readdress,
    /// Hints hold for queued and later entries.
    Hints,
    /// A close empties a context.
    Close,
    /// After the failure of a source, only any-source receives remain.
    FailSource,
    /// A batch has the same results as its messages one by one.
    Batch,
    /// An engine refuses only calls that the contract permits to refuse.
    Refusal,
    /// Both queues have the expected contents between two calls.
    Queues,
    /// The footprint is consistent.
    Footprint,
    /// A call does not panic or crash, and returns a valid result.
    Panic,
    /// Calls on one engine do not change another engine.
    Apart,
}

impl Law {
    /// The law in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Law::Arrive => {
                "An arriving message takes the earliest posted receive it matches; if none, it joins the unexpected \
                 queue."
            }
            Law::Post => {
                "A posted receive takes the earliest unexpected message it matches; if none, it joins the posted queue."
            }
            Law::Probe => {
                "A probe finds the message that a receive with its selector would take, and leaves it."
            }
            Law::MatchedProbe => {
                "A matched probe takes the message that a receive with its selector would take."
            }
            Law::Cancel => "Cancel is true if the receive was still posted, and then it no longer is.",
            Law::Retract => "Retract is true if the message was still queued, and then it no longer is.",
            Law::Readdress => {
                "Readdress names the source of a message that waits nameless: it takes the earliest posted receive it then \
                 matches; if none, it waits on at its age."
            }
            Law::Hints => {
                "Assertions are refused if what is queued breaks them, and forgotten when their context is \
                           closed."
            }
            Law::Close => {
                "Close takes out all that is queued in the context, oldest first, adding to what was drained."
            }
            Law::FailSource => {
                "A failed source drains the receives that name it, lists those from any source as pending, and keeps \
                 what had arrived."
            }
            Law::Batch => "A batch is its messages one by one, up to the first that is refused.",
            Law::Refusal => {
                "A call is refused if it breaks an assertion or finds no room, and then leaves the engine as it was."
            }
            Law::Queues => "The queues hold what was put in and not taken out, oldest first.",
            Law::Footprint => "What is held now includes the ids of what is queued, and the peak is no less.",
            Law::Panic => "No call panics or crashes, or gives an answer that is none.",
            Law::Apart => {
                "What is done on one engine changes nothing on another: these events go to two engines by turns."
            }
        }
    }
}

/// A broken law with the observed outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The broken law.
    pub law: Law,
    /// The observed outcome, and the outcome that the law demands.
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
