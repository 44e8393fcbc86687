//! A machine: the parameters of the models, measured once and stored as a TOML file.
//!
//! `docs/reference/machine.md` describes the file. A model that needs an absent parameter returns [`Missing`]
//! and never uses a default.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::estimate::{ParameterEstimate, limit, rate, seconds, time};
use crate::file_error::FileError;

mod file;

/// The version that this crate reads and writes.
pub const FORMAT: u32 = 1;

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub format: u32,
    pub name: String,
    pub provenance: Provenance,
    #[serde(default)]
    pub node: Node,
    #[serde(default)]
    pub on_socket: Link,
    #[serde(default)]
    pub on_node: Link,
    #[serde(default)]
    pub off_node: Link,
    #[serde(default)]
    pub queue_search: QueueSearch,
    #[serde(default)]
    pub contention: Contention,
    #[serde(default)]
    pub logp: LogP,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Person or organization that measured.
    pub who: String,
    /// Date, such as `2026-11-22`.
    pub when: String,
    /// Processor, cores, network, operating system.
    pub host: String,
    /// MPI library with version and transport.
    pub mpi: String,
    /// Programs, repetitions, fitted parameters.
    pub how: String,
    /// Confidence of the intervals: 0.95 is 95 %. Required if a parameter has an interval.
    #[serde(default)]
    pub confidence: Option<f64>,
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Provenance {
    /// Origin and date, or only the date.
    pub fn by(&self) -> String {
        if self.who.is_empty() || self.who == "unknown" {
            self.when.clone()
        } else {
            format!("{}, {}", self.who, self.when)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    #[serde(default)]
    pub sockets: Option<u32>,
    /// Default number of processes per node.
    #[serde(default)]
    pub processes: Option<u32>,
}

/// Transport between two processes by three protocols (§2).
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `None` if the measurements show no such protocol.
    #[serde(default)]
    pub short_max_bytes: Option<u64>,
    /// `None` if no message uses rendezvous.
    #[serde(default)]
    pub eager_max_bytes: Option<u64>,
    #[serde(default)]
    pub short: Transport,
    #[serde(default)]
    pub eager: Transport,
    #[serde(default)]
    pub rendezvous: Transport,
}

/// The max-rate model (equation 2) under one protocol.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// α: time to start a message.
    #[serde(default, deserialize_with = "seconds")]
    pub alpha_s: Option<ParameterEstimate>,
    /// R_b: rate between two processes, 1 ÷ β of the postal model.
    #[serde(default, deserialize_with = "rate")]
    pub rate_bytes_per_s: Option<ParameterEstimate>,
    /// R_N: rate at which all processes of a node together send to other nodes; `inf` without an observed
    /// limit. Unused within a node.
    #[serde(default, deserialize_with = "limit")]
    pub node_rate_bytes_per_s: Option<ParameterEstimate>,
}

#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSearch {
    /// γ of equation 3: n messages in the reverse order of their receives cost γ n².
    #[serde(default, deserialize_with = "seconds")]
    pub gamma_s: Option<ParameterEstimate>,
    /// Time of an attempt. The default is 2 γ, because reverse order compares n (n + 1) ÷ 2 entries.
    #[serde(default, deserialize_with = "seconds")]
    pub attempt_s: Option<ParameterEstimate>,
    /// γ for several numbers of messages, ascending: an entry costs more if queues exceed a cache. If empty,
    /// `gamma_s` applies to all numbers, as in the paper.
    #[serde(default)]
    pub by_messages: Vec<GammaAt>,
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GammaAt {
    pub messages: u32,
    #[serde(deserialize_with = "time")]
    pub gamma_s: ParameterEstimate,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// δ of equation 5: time per byte on one link.
    #[serde(default, deserialize_with = "seconds")]
    pub delta_s_per_byte: Option<ParameterEstimate>,
    /// The 2 of equation 7.
    #[serde(default)]
    pub nodes_per_router: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogP {
    /// o: processor time to send or receive a message.
    #[serde(default, deserialize_with = "seconds")]
    pub overhead_s: Option<ParameterEstimate>,
    /// g: minimum time between two messages of one process.
    #[serde(default, deserialize_with = "seconds")]
    pub gap_s: Option<ParameterEstimate>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    OnSocket,
    OnNode,
    OffNode,
}

impl Locality {
    /// Nearest first.
    pub const ALL: [Locality; 3] = [Locality::OnSocket, Locality::OnNode, Locality::OffNode];

    pub const fn key(self) -> &'static str {
        match self {
            Locality::OnSocket => "on_socket",
            Locality::OnNode => "on_node",
            Locality::OffNode => "off_node",
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Locality::OnSocket => "on-socket",
            Locality::OnNode => "on-node",
            Locality::OffNode => "off-node",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// The message is sent within its envelope.
    Short,
    /// The message is sent before the match.
    Eager,
    /// The message is sent after the match.
    Rendezvous,
}

impl Protocol {
    pub const ALL: [Protocol; 3] = [Protocol::Short, Protocol::Eager, Protocol::Rendezvous];

    pub const fn key(self) -> &'static str {
        match self {
            Protocol::Short => "short",
            Protocol::Eager => "eager",
            Protocol::Rendezvous => "rendezvous",
        }
    }
}

impl Link {
    pub fn protocol(&self, bytes: u64) -> Protocol {
        if self.short_max_bytes.is_some_and(|max| bytes <= max) {
            Protocol::Short
        } else if self.eager_max_bytes.is_none_or(|max| bytes <= max) {
            Protocol::Eager
        } else {
            Protocol::Rendezvous
        }
    }

    pub fn transport(&self, protocol: Protocol) -> &Transport {
        match protocol {
            Protocol::Short => &self.short,
            Protocol::Eager => &self.eager,
            Protocol::Rendezvous => &self.rendezvous,
        }
    }

    pub fn transport_mut(&mut self, protocol: Protocol) -> &mut Transport {
        match protocol {
            Protocol::Short => &mut self.short,
            Protocol::Eager => &mut self.eager,
            Protocol::Rendezvous => &mut self.rendezvous,
        }
    }
}

impl Machine {
    pub fn new(name: impl Into<String>, provenance: Provenance) -> Self {
        Machine {
            format: FORMAT,
            name: name.into(),
            provenance,
            node: Node::default(),
            on_socket: Link::default(),
            on_node: Link::default(),
            off_node: Link::default(),
            queue_search: QueueSearch::default(),
            contention: Contention::default(),
            logp: LogP::default(),
        }
    }

    pub fn link(&self, locality: Locality) -> &Link {
        match locality {
            Locality::OnSocket => &self.on_socket,
            Locality::OnNode => &self.on_node,
            Locality::OffNode => &self.off_node,
        }
    }

    pub fn link_mut(&mut self, locality: Locality) -> &mut Link {
        match locality {
            Locality::OnSocket => &mut self.on_socket,
            Locality::OnNode => &mut self.on_node,
            Locality::OffNode => &mut self.off_node,
        }
    }

    pub(crate) fn missing(&self, parameter: impl Into<String>) -> Missing {
        Missing { machine: self.name.clone(), parameter: parameter.into() }
    }
}

/// The machine lacks a parameter that a model needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    pub machine: String,
    /// Key in the file.
    pub parameter: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing { machine, parameter } = self;
        // These parameters are not measured: the writer of the file adds them.
        let is_known = ["node.", "contention.nodes_per_router"];
        if is_known.iter().any(|key| parameter.starts_with(key)) {
            return write!(f, "the machine '{machine}' has no {parameter}\nhint: add it to the machine file");
        }
        write!(
            f,
            "the machine '{machine}' has no {parameter}: it was not measured\nhint: measure it with `matchpoint \
             calibrate`, or add it to the machine file"
        )
    }
}

impl std::error::Error for Missing {}

/// # Errors
/// The file cannot be read, is not TOML, or has an invalid number. The error has the position.
pub fn read(path: &Path) -> Result<Machine, FileError> {
    file::read(path)
}

/// The paper's machine.
pub fn blue_waters() -> Result<Machine, FileError> {
    parse(include_str!("../../../machines/blue-waters.toml"), BLUE_WATERS)
}

pub const BLUE_WATERS: &str = "blue-waters";

pub fn parse(text: &str, path: impl Into<PathBuf>) -> Result<Machine, FileError> {
    file::parse(text, &path.into())
}
