//! The laws, by name.

use std::fmt::{self, Display};

/// What an engine promises: the sentences of [`matchpoint::engine`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Law {
    /// Rule 2.
    Arrive,
    /// Rule 3.
    Post,
    /// What a probe finds is what a receive would take, left in place.
    Probe,
    /// What a matched probe takes is what a receive would take.
    MatchedProbe,
    /// Cancelling is for receives still posted.
    Cancel,
    /// Retracting is for messages still queued.
    Retract,
    /// A source learned late.
    Readdress,
    /// Assertions hold for what is queued, and for what comes.
    Hints,
    /// Closing empties a context.
    Close,
    /// What becomes of receives when a peer died.
    FailSource,
    /// A batch is its messages one by one.
    Batch,
    /// When a call may be refused.
    Refusal,
    /// What the queues hold between calls.
    Queues,
    /// The footprint adds up.
    Footprint,
    /// No call panics or crashes, or answers what is no answer.
    Panic,
    /// Engines have nothing in common.
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

/// A law that an outcome broke, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Which.
    pub law: Law,
    /// What was seen, and what the law permits.
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
