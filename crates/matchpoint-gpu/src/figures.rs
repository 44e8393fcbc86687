//! Measurements of `matchpoint bench gpu`: the figures of the paper (Klenk et al. 2017), and further
//! measurements.

use std::sync::Arc;

use matchpoint::Event;
use matchpoint::engines::NameError;

use crate::card::{Card, CardError};
use crate::matching::Algorithm;
use crate::measure::{Fed, Mix, PostedOrder, Rate, Run, fed, rate, rate_of_recorded, rate_of_whole_card};
use crate::recorded::Recorded;

/// The result is the median of these launches.
const LAUNCHES: usize = 7;

/// CPU engine for comparison with a persistent kernel.
const CPU_ENGINE: &str = "hybrid";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Figure {
    /// Figure 4: the matrix against the queue length.
    Matrix,
    /// Figure 5: queues by source against their total length.
    Partitioned,
    /// Figure 6b: hashing without order.
    Hash,
    /// Not in the paper: MPI's order by sequence numbers within each envelope, with duplicates and wildcards.
    Ordered,
    /// §VI-B and Table II: the cost of unexpected messages and compaction.
    Unexpected,
    /// One batch on the whole card, in MPI's order.
    WholeCard,
    /// A persistent kernel that gets batches from the host, and from the card.
    Fed,
    /// Batches of recorded applications instead of the paper's distributions.
    Recorded,
}

impl Figure {
    pub const ALL: [Figure; 8] = [
        Figure::Matrix,
        Figure::Partitioned,
        Figure::Hash,
        Figure::Ordered,
        Figure::Unexpected,
        Figure::WholeCard,
        Figure::Fed,
        Figure::Recorded,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Figure::Matrix => {
                "Full MPI order and wildcards by the matrix, one multiprocessor (the paper's Figure 4)"
            }
            Figure::Partitioned => {
                "Queues by source, one multiprocessor (Figure 5, there by as many blocks as have a thread for each entry; here one \
                 block to a multiprocessor)"
            }
            Figure::Hash => {
                "Hashing without order, one multiprocessor where none is named (Figure 6b, there of up to 32 blocks on it; here one \
                 block to a multiprocessor)"
            }
            Figure::Ordered => "Full MPI order by numbers within envelopes, one multiprocessor (ours)",
            Figure::Unexpected => {
                "Unexpected messages and compaction, queues of 1024 entries, one multiprocessor (§VI-B)"
            }
            Figure::WholeCard => "One batch in MPI's order by the whole card (ours)",
            Figure::Fed => "A kernel that stays on one multiprocessor, fed batches (ours)",
            Figure::Recorded => "Batches of recorded applications, one multiprocessor",
        }
    }

    /// Matches per second in the paper, for one multiprocessor of a GeForce GTX 1080 (Table II).
    pub fn published(self) -> Option<f64> {
        PUBLISHED.iter().find(|published| published.figure == self).map(|published| published.rate)
    }
}

/// A rate from the paper's text, which gives no numbers for its curves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    pub figure: Figure,
    /// The card, of which one multiprocessor matches.
    pub card: &'static str,
    /// Matches per second, approximately.
    pub rate: f64,
}

impl Published {
    pub fn algorithm(self) -> Option<Algorithm> {
        match self.figure {
            Figure::Matrix => Some(Algorithm::Matrix),
            Figure::Partitioned => Some(Algorithm::Partitioned),
            Figure::Hash => Some(Algorithm::Hash),
            _ => None,
        }
    }
}

/// §V-B, §VI-C and Table II. The GTX 1080 is the first entry of each figure.
pub const PUBLISHED: &[Published] = &[
    Published { figure: Figure::Matrix, card: "GTX 1080", rate: 6e6 },
    Published { figure: Figure::Matrix, card: "Maxwell M40", rate: 3.5e6 },
    Published { figure: Figure::Matrix, card: "Kepler", rate: 3e6 },
    Published { figure: Figure::Partitioned, card: "GTX 1080", rate: 60e6 },
    Published { figure: Figure::Hash, card: "GTX 1080", rate: 500e6 },
    Published { figure: Figure::Hash, card: "Kepler, 32 CTAs", rate: 150e6 },
    Published { figure: Figure::Hash, card: "Kepler, 1 CTA", rate: 110e6 },
];

#[derive(Clone, PartialEq, Debug)]
pub enum Subject {
    /// Streams of batches, matched by blocks.
    Stream(Run),
    WholeCard(Mix),
    /// Batches with this many entries, submitted one by one.
    Fed(usize),
    /// Batches of an application, matched by one block.
    Recorded {
        algorithm: Algorithm,
        /// Maximum number of new messages or receives in a batch.
        entries: usize,
        batches: Arc<Recorded>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    pub figure: Figure,
    pub label: String,
    pub what: Subject,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Measured {
    Rate(Rate),
    Fed(Fed),
}

impl Job {
    /// True if the card has a multiprocessor for each block.
    pub fn fits(&self, multiprocessors: u32) -> bool {
        if let Subject::Stream(run) = &self.what { run.blocks <= multiprocessors.max(1) } else { true }
    }

    pub fn measure(&self, card: &Card) -> Result<Measured, CardError> {
        Ok(match &self.what {
            Subject::Stream(run) => Measured::Rate(rate(card, *run, LAUNCHES)?),
            Subject::WholeCard(mix) => Measured::Rate(rate_of_whole_card(card, *mix, LAUNCHES)?),
            Subject::Fed(entries) => Measured::Fed(fed(card, *entries, CPU_ENGINE, LAUNCHES)?),
            Subject::Recorded { algorithm, batches, .. } => {
                Measured::Rate(rate_of_recorded(card, *algorithm, batches, LAUNCHES)?)
            }
        })
    }
}

/// Maximum number of messages and receives of an application, over all batches.
pub const RECORDED_MAX: usize = 1 << 23;

/// Measurements of an application: batches up to several lengths, by each suitable algorithm. `name` is part
/// of the labels. `processes` has the events of each process.
pub fn recorded_jobs(name: &str, processes: &[Vec<Event>]) -> Result<Vec<Job>, NameError> {
    let mut jobs = Vec::new();
    for entries in [64, 256, 1024, 4096] {
        let batches = Arc::new(Recorded::of(processes, entries, RECORDED_MAX)?);
        if batches.matches == 0 {
            continue;
        }
        let mean = batches.mean_entries();
        for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| batches.suits(algorithm)) {
            let label =
                format!("{name}, {} (up to {entries} at once, {mean:.1} on average)", algorithm.name());
            let what = Subject::Recorded { algorithm, entries, batches: batches.clone() };
            jobs.push(Job { figure: Figure::Recorded, label, what });
        }
    }
    Ok(jobs)
}

/// All measurements with the paper's distributions.
pub fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |figure: Figure, label: String, what: Subject| jobs.push(Job { figure, label, what });
    let stream = |algorithm, mix| Subject::Stream(Run::of(algorithm, mix));

    for entries in [64, 128, 256, 512, 992, 1024, 2048, 4096] {
        add(Figure::Matrix, format!("{entries} entries"), stream(Algorithm::Matrix, Mix::of(entries)));
    }
    for (order, posted) in [("in order", PostedOrder::InOrder), ("reversed", PostedOrder::Reversed)] {
        for entries in [2048, 4096] {
            let mix = Mix { posted, ..Mix::of(entries) };
            add(Figure::Matrix, format!("{entries} entries {order}"), stream(Algorithm::Matrix, mix));
        }
    }
    for queues in [1, 2, 4, 8, 16, 32, 64, 128] {
        for entries in [32, 64, 128, 256, 512, 1024, 2048, 4096] {
            // Fewer entries than a warp has lanes leave lanes idle (§VI-A).
            if entries >= 32 * queues {
                let mix = Mix { queues, ..Mix::of(entries) };
                let label = format!("{entries} entries in {queues} queues");
                add(Figure::Partitioned, label, stream(Algorithm::Partitioned, mix));
            }
        }
    }
    for entries in [128, 256, 512, 1024, 2048, 4096] {
        add(Figure::Hash, format!("{entries} entries"), stream(Algorithm::Hash, Mix::of(entries)));
    }
    for blocks in [2, 4, 8, 16, 32] {
        let run = Run { blocks, ..Run::of(Algorithm::Hash, Mix::of(1024)) };
        add(Figure::Hash, format!("1024 entries, {blocks} multiprocessors"), Subject::Stream(run));
    }
    for entries in [64, 128, 256, 512, 1024, 2048, 4096] {
        add(Figure::Ordered, format!("{entries} entries"), stream(Algorithm::Ordered, Mix::of(entries)));
    }
    for envelopes in [512, 128, 20, 1] {
        let mix = Mix { envelopes, ..Mix::of(1024) };
        add(
            Figure::Ordered,
            format!("1024 entries of {envelopes} envelopes"),
            stream(Algorithm::Ordered, mix),
        );
    }
    for percent in [1.0, 2.0, 10.0, 50.0] {
        let mix = Mix { wildcard_percent: percent / 2.0, ..Mix::of(1024) };
        for algorithm in [Algorithm::Ordered, Algorithm::Matrix] {
            let name = if algorithm == Algorithm::Matrix { " (matrix)" } else { "" };
            let label = format!("1024 entries, {percent} % wildcards{name}");
            add(Figure::Ordered, label, stream(algorithm, mix));
        }
    }
    for algorithm in Algorithm::ALL {
        for matched_percent in (1..=10).rev().map(|tenth| tenth * 10) {
            for compacts in [false, true] {
                let queues = if algorithm == Algorithm::Partitioned { 32 } else { 1 };
                let mix = Mix { matched_percent, queues, ..Mix::of(1024) };
                let with = if compacts { ", compacted" } else { "" };
                let label = format!("{}, {matched_percent} % matched{with}", algorithm.name());
                let run = Run { compacts, ..Run::of(algorithm, mix) };
                add(Figure::Unexpected, label, Subject::Stream(run));
            }
        }
    }
    for power in [10, 12, 14, 16, 18, 20, 22, 24] {
        add(Figure::WholeCard, format!("2^{power} entries"), Subject::WholeCard(Mix::of(1 << power)));
    }
    for (envelopes, what) in [(1 << 20, "each envelope 16 times"), (100_000, "100,000 envelopes")] {
        let mix = Mix { envelopes, ..Mix::of(1 << 24) };
        add(Figure::WholeCard, format!("2^24 entries, {what}"), Subject::WholeCard(mix));
    }
    for percent in [0.01, 0.1, 1.0] {
        let mix = Mix { wildcard_percent: percent / 2.0, ..Mix::of(1 << 20) };
        add(Figure::WholeCard, format!("2^20 entries, {percent} % wildcards"), Subject::WholeCard(mix));
    }
    for entries in [1, 8, 32, 128, 256, 512, 1024] {
        add(Figure::Fed, format!("batches of {entries}"), Subject::Fed(entries));
    }
    jobs
}
