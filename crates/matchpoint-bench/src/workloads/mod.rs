//! The standard workloads, with one function and one line of [`WORKLOADS`] each.
//!
//! `docs/reference/bench.md` defines each workload. All use one thread, the random numbers of
//! [`SEED`](crate::random::SEED), and one context (except `contexts`).

mod posted;
pub mod trace;
mod unexpected;

use std::fmt::{self, Display};

use crate::model;
use crate::script::{Key, Part, Script};

#[derive(Debug)]
pub struct Workload {
    pub name: &'static str,
    pub summary: &'static str,
    pub counts: &'static str,
    pub sizes: &'static [usize],
    /// Minimum and maximum size.
    pub limits: (usize, usize),
    pub build: fn(usize) -> Part,
}

const PER_SOURCE: usize = 4;

/// Tags 0…3 of each source, source by source.
fn per_source(sources: usize) -> Vec<Key> {
    (0..sources * PER_SOURCE).map(|at| Key::new(at / PER_SOURCE, at % PER_SOURCE)).collect()
}

pub static WORKLOADS: &[Workload] = &[
    Workload {
        name: "last",
        summary: "one source; N older receives that match nothing, and one that matches",
        counts: "older receives",
        sizes: &[0, 1, 8, 64, 1024, 8192],
        limits: (0, 1 << 20),
        build: posted::last,
    },
    Workload {
        name: "last_sources",
        summary: "the same from N sources with one tag",
        counts: "older receives",
        sizes: &[0, 1, 8, 64, 1024, 8192],
        limits: (0, 1 << 20),
        build: posted::last_sources,
    },
    Workload {
        name: "in_order",
        summary: "N receives of distinct tags are posted; their messages arrive in that order",
        counts: "receives posted",
        sizes: &[1024, 8192],
        limits: (1, 1 << 20),
        build: posted::in_order,
    },
    Workload {
        name: "reverse",
        summary: "the same, arriving in the opposite order",
        counts: "receives posted",
        sizes: &[1024, 8192],
        limits: (1, 1 << 20),
        build: posted::reverse,
    },
    Workload {
        name: "many_sources",
        summary: "4 receives from each of N sources; their messages arrive in random order",
        counts: "sources",
        sizes: &[64, 1024, 16384],
        limits: (1, 1 << 20),
        build: posted::many_sources,
    },
    Workload {
        name: "wild",
        summary: "the same, 1 % of the receives from any source and 1 % with any tag",
        counts: "sources",
        sizes: &[64, 1024, 16384],
        limits: (1, 1 << 20),
        build: posted::wild,
    },
    Workload {
        name: "unexpected",
        summary: "N messages of one source with distinct tags wait; they are received in random order",
        counts: "messages waiting",
        sizes: &[1024, 8192],
        limits: (1, 1 << 20),
        build: unexpected::one_source,
    },
    Workload {
        name: "unexpected_sources",
        summary: "the same, 4 messages from each of N/4 sources",
        counts: "messages waiting",
        sizes: &[1024, 8192],
        limits: (4, 1 << 20),
        build: unexpected::sources,
    },
    Workload {
        name: "unexpected_any",
        summary: "the same with distinct tags, received from any source",
        counts: "messages waiting",
        sizes: &[1024, 8192],
        limits: (4, 1 << 20),
        build: unexpected::any_source,
    },
    Workload {
        name: "posted_any",
        summary: "N receives from any source with distinct tags; their messages arrive in random order",
        counts: "receives posted",
        sizes: &[64, 1024, 8192],
        limits: (1, 1 << 20),
        build: posted::any_source,
    },
    Workload {
        name: "identical",
        summary: "N equal receives, then their messages",
        counts: "receives posted",
        sizes: &[1024],
        limits: (1, 1 << 20),
        build: posted::identical,
    },
    Workload {
        name: "gather",
        summary: "64 messages from each of N sources wait; they are received source by source (FDS)",
        counts: "sources",
        sizes: &[1023],
        limits: (1, 1 << 16),
        build: unexpected::gather,
    },
    Workload {
        name: "gather_one_tag",
        summary: "the same, all with one tag",
        counts: "sources",
        sizes: &[1023],
        limits: (1, 1 << 16),
        build: unexpected::gather_one_tag,
    },
    Workload {
        name: "halo",
        summary: "exchanges with N neighbours, 3 tags, all receives posted ahead: what well-behaved codes do",
        counts: "neighbours",
        sizes: &[26],
        limits: (1, 1 << 16),
        build: posted::halo,
    },
    Workload {
        name: "masks",
        summary: "4 receives under each of N ignore masks of the tag; their messages arrive in random order",
        counts: "masks alive",
        sizes: &[8, 64, 1024],
        limits: (1, 1 << 16),
        build: posted::masks,
    },
    Workload {
        name: "unexpected_masks",
        summary: "4 messages for each of N masks wait; they are received under those masks in random order",
        counts: "masks in use",
        sizes: &[8, 64, 1024],
        limits: (1, 1 << 16),
        build: unexpected::masks,
    },
    Workload {
        name: "contexts",
        summary: "4 receives in each of N communicators; their messages arrive in random order",
        counts: "communicators",
        sizes: &[16, 1000],
        limits: (1, 1 << 20),
        build: posted::contexts,
    },
];

#[derive(Clone, Debug)]
pub enum Job {
    Standard {
        workload: &'static Workload,
        n: usize,
    },
    Recorded {
        /// `trace:PATH`.
        name: String,
        script: Script,
    },
}

impl Job {
    pub fn name(&self) -> &str {
        match self {
            Job::Standard { workload, .. } => workload.name,
            Job::Recorded { name, .. } => name,
        }
    }

    /// Size of the workload, or number of ranks of a trace.
    pub fn n(&self) -> usize {
        match self {
            Job::Standard { n, .. } => *n,
            Job::Recorded { script, .. } => script.parts.len(),
        }
    }

    pub fn script(&self) -> Script {
        match self {
            Job::Standard { workload, n } => model::script_of((workload.build)(*n)),
            Job::Recorded { script, .. } => script.clone(),
        }
    }
}

impl Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Standard { workload, n } => write!(f, "{}:{n}", workload.name),
            Job::Recorded { name, .. } => f.write_str(name),
        }
    }
}

/// Parses `name:N`, or `name` for the default sizes.
pub fn parse(text: &str) -> Result<Vec<Job>, String> {
    let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
    let Some(workload) = WORKLOADS.iter().find(|workload| workload.name == name) else {
        let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
        return Err(format!("unknown workload '{name}'\nhint: use {}, trace:PATH", names.join(", ")));
    };
    let Some(size) = size else {
        return Ok(workload.sizes.iter().map(|&n| Job::Standard { workload, n }).collect());
    };
    let (least, most) = workload.limits;
    match size.parse() {
        Ok(n) if (least..=most).contains(&n) => Ok(vec![Job::Standard { workload, n }]),
        _ => Err(format!(
            "'{size}' is not a size of workload '{name}'\nhint: use the number of {}, {least} to {most}",
            workload.counts
        )),
    }
}

pub fn all() -> Vec<Job> {
    let sized =
        |workload: &'static Workload| workload.sizes.iter().map(move |&n| Job::Standard { workload, n });
    WORKLOADS.iter().flat_map(sized).collect()
}
