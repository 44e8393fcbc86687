//! The answer to *Is matching the problem?*, with its numbers.

/// Below this share of the run time nothing that is done about matching can be noticed: run times vary by more.
pub const NEGLIGIBLE: f64 = 0.01;

/// Above this share matching is worth work: a better engine gives back what a compiler upgrade would.
pub const WORTHWHILE: f64 = 0.05;

/// An engine must be this much faster to be worth naming: timings of the same engine differ by a fifth on a shared
/// machine.
pub const FASTER: f64 = 1.25;

/// The engine that stands for what could be: ours.
pub const REFERENCE: &str = "hybrid";

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// The measurements do not tell: they lead to different answers, or show too little.
    #[default]
    Unknown,
    /// There is no message in a trace that is whole, so there is no matching.
    NoMessages,
    /// Under [`NEGLIGIBLE`].
    No,
    /// Between both.
    Little,
    /// Over [`WORTHWHILE`].
    Yes,
}

/// The answer with its numbers. All of them are finite.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdict {
    /// The answer.
    pub answer: Answer,
    /// Share of the run time of `rank` that matching costs.
    pub share: f64,
    /// The same, caches warm.
    pub low: f64,
    /// The same, caches cold.
    pub high: f64,
    /// Cost at `rank` ÷ run time of the replay, whose computing is the trace's and whose network LogGP's; at most 1.
    pub share_of_replay: f64,
    /// The same with warm caches, and with cold ones.
    pub range_of_replay: (f64, f64),
    /// The share if `MPI_Init` and `MPI_Finalize` were no part of the run time.
    pub share_without_setup: f64,
    /// The same with warm caches, and with cold ones.
    pub range_without_setup: (f64, f64),
    /// What another engine would cost there: the reference, and the cheapest if that is another.
    pub others: Vec<Other>,
    /// The rank with the largest share.
    pub rank: u32,
    /// When it searched its longest queue.
    pub at_s: f64,
    /// The answer in words.
    pub text: String,
}

impl Answer {
    /// What a share amounts to.
    pub fn to(share: f64) -> Self {
        match share {
            below if below < NEGLIGIBLE => Answer::No,
            below if below < WORTHWHILE => Answer::Little,
            _ => Answer::Yes,
        }
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Unknown => "Cannot tell",
            Answer::NoMessages => "No messages",
            Answer::No => "No",
            Answer::Little => "A little",
            Answer::Yes => "Yes",
        }
    }

    /// For programs.
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

/// What another engine would cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Other {
    /// Which.
    pub name: String,
    /// Who it is in a sentence.
    pub who: String,
    /// Share of the run time of the rank that the verdict is about.
    pub share: f64,
}
