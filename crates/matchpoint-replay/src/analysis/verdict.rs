//! The answer of a report, with its numbers.

/// Share of the run time below which faster matching has no visible effect: run times vary by more.
pub const NEGLIGIBLE: f64 = 0.01;

/// Share of the run time from which matching is worth work.
pub const WORTHWHILE: f64 = 0.05;

/// Ratio from which an engine counts as faster, because timings of one engine differ by a fifth on a shared host.
pub const FASTER: f64 = 1.25;

/// Every verdict reports the cost of this engine.
pub const REFERENCE: &str = "hybrid";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// The measurements give different answers, or cover too little.
    #[default]
    Unknown,
    /// A complete trace without messages.
    NoMessages,
    /// Below [`NEGLIGIBLE`].
    No,
    /// From [`NEGLIGIBLE`] to [`WORTHWHILE`].
    Little,
    /// At least [`WORTHWHILE`].
    Yes,
}

/// Every number is finite.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdict {
    pub answer: Answer,
    pub share: f64,
    pub low: f64,
    pub high: f64,
    /// Cost at `rank` ÷ run time of the replay, at most 1. The replay takes computing times from the trace, and network
    /// times from the LogGP model.
    pub share_of_replay: f64,
    /// With warm and with cold caches.
    pub range_of_replay: (f64, f64),
    /// Share of the run time without `MPI_Init` and `MPI_Finalize`.
    pub share_without_setup: f64,
    /// With warm and with cold caches.
    pub range_without_setup: (f64, f64),
    /// Costs at `rank` of the reference engine, and of the cheapest engine if different.
    pub others: Vec<Other>,
    /// The rank with the largest share.
    pub rank: u32,
    /// Time in the replay at which `rank` searches its longest queue.
    pub at_s: f64,
    /// The beginning of `text`: answer, share, range and rank.
    pub headline: String,
    pub text: String,
}

impl Answer {
    pub fn to(share: f64) -> Self {
        match share {
            below if below < NEGLIGIBLE => Answer::No,
            below if below < WORTHWHILE => Answer::Little,
            _ => Answer::Yes,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Answer::Unknown => "Cannot tell",
            Answer::NoMessages => "No messages",
            Answer::No => "No",
            Answer::Little => "A little",
            Answer::Yes => "Yes",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Answer::Unknown => "cannot_tell",
            Answer::NoMessages => "no_messages",
            Answer::No => "no",
            Answer::Little => "a_little",
            Answer::Yes => "yes",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Other {
    pub name: String,
    /// The name for a sentence, with the substitute that matched.
    pub label: String,
    pub share: f64,
}
