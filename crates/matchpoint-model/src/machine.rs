//! A machine: the parameters of the models, measured once, kept as a TOML file.
//!
//! `docs/reference/machine.md` describes the file. Parameters that were not measured are absent. A model that needs an absent
//! parameter returns [`Missing`] and never uses a default.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, limit, rate, seconds, time};

mod file;

pub use file::MachineError;

/// The version of the format that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// The parameters of one machine.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Version of the format: [`FORMAT`].
    pub format: u32,
    /// What people call it.
    pub name: String,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// How processes lie on a node.
    #[serde(default)]
    pub node: Node,
    /// Between processes of one socket.
    #[serde(default)]
    pub on_socket: Link,
    /// Between sockets of one node.
    #[serde(default)]
    pub on_node: Link,
    /// Between nodes.
    #[serde(default)]
    pub off_node: Link,
    /// What searching the queues costs.
    #[serde(default)]
    pub queue_search: QueueSearch,
    /// What it costs to share links of the network.
    #[serde(default)]
    pub contention: Contention,
    /// What LogP and LogGP have beyond latency and rate.
    #[serde(default)]
    pub logp: LogP,
}

/// Where the numbers of a machine come from.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Who measured.
    pub who: String,
    /// When: a date, as `2026-11-22`.
    pub when: String,
    /// On which host or hosts: processor, cores, network, operating system.
    pub host: String,
    /// Under which MPI library, with its version and transport.
    pub mpi: String,
    /// How: which programs, how often, what was fitted.
    pub how: String,
    /// How much confidence the intervals have: 0.95 is 95 %. Needed if there are intervals.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// What a reader should know: full sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Provenance {
    /// Who measured it and when, or when alone where nobody said who.
    pub fn by(&self) -> String {
        if self.who.is_empty() || self.who == "unknown" {
            self.when.clone()
        } else {
            format!("{}, {}", self.who, self.when)
        }
    }
}

/// How processes lie on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Sockets of a node.
    #[serde(default)]
    pub sockets: Option<u32>,
    /// Processes per node, where the user names no other number.
    #[serde(default)]
    pub processes: Option<u32>,
}

/// How messages get from one process to another: three protocols, by the size of the message (§2 of the paper).
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The largest message sent within its envelope. Absent: no protocol of that kind was told apart.
    #[serde(default)]
    pub short_max_bytes: Option<u64>,
    /// The largest message sent at once; larger ones wait for their receive. Absent: none waits.
    #[serde(default)]
    pub eager_max_bytes: Option<u64>,
    /// Sent within the envelope.
    #[serde(default)]
    pub short: Transport,
    /// Sent at once.
    #[serde(default)]
    pub eager: Transport,
    /// Sent when the receive is there.
    #[serde(default)]
    pub rendezvous: Transport,
}

/// The parameters of the max-rate model (equation 2) under one protocol.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// α: time to start a message.
    #[serde(default, deserialize_with = "seconds")]
    pub alpha_s: Option<Estimate>,
    /// R_b: rate between two processes, 1 ÷ β of the postal model.
    #[serde(default, deserialize_with = "rate")]
    pub rate_bytes_per_s: Option<Estimate>,
    /// R_N: rate at which all processes of a node together get data off it; `inf` where no limit was seen. Messages
    /// within a node need none.
    #[serde(default, deserialize_with = "limit")]
    pub node_rate_bytes_per_s: Option<Estimate>,
}

/// What searching the queues costs.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSearch {
    /// γ of equation 3: n messages, received in the opposite order of their receives, cost γ n².
    #[serde(default, deserialize_with = "seconds")]
    pub gamma_s: Option<Estimate>,
    /// Time to compare one entry. Absent: 2 γ, for that order compares n (n + 1) ÷ 2 entries.
    #[serde(default, deserialize_with = "seconds")]
    pub attempt_s: Option<Estimate>,
    /// γ as several numbers of messages tell it, ascending: an entry costs more where queues no longer lie in a cache.
    /// Empty: one γ stands for all, as in the paper.
    #[serde(default)]
    pub by_messages: Vec<GammaAt>,
}

/// γ as one number of messages at once tells it.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GammaAt {
    /// So many at once.
    pub messages: u32,
    /// γ of equation 3 there.
    #[serde(deserialize_with = "time")]
    pub gamma_s: Estimate,
}

/// What it costs to share links of the network.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// δ of equation 5: time per byte that has to pass one link.
    #[serde(default, deserialize_with = "seconds")]
    pub delta_s_per_byte: Option<Estimate>,
    /// Nodes that share a router: the 2 of equation 7.
    #[serde(default)]
    pub nodes_per_router: Option<u32>,
}

/// What LogP and LogGP have beyond latency and rate.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogP {
    /// o: time that a processor spends on sending or receiving one message.
    #[serde(default, deserialize_with = "seconds")]
    pub overhead_s: Option<Estimate>,
    /// g: least time between two messages of one process.
    #[serde(default, deserialize_with = "seconds")]
    pub gap_s: Option<Estimate>,
}

/// Where sender and receiver lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// On one socket.
    OnSocket,
    /// On two sockets of one node.
    OnNode,
    /// On two nodes.
    OffNode,
}

impl Locality {
    /// All, nearest first.
    pub const ALL: [Locality; 3] = [Locality::OnSocket, Locality::OnNode, Locality::OffNode];

    /// The table of the file.
    pub const fn key(self) -> &'static str {
        match self {
            Locality::OnSocket => "on_socket",
            Locality::OnNode => "on_node",
            Locality::OffNode => "off_node",
        }
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Locality::OnSocket => "on-socket",
            Locality::OnNode => "on-node",
            Locality::OffNode => "off-node",
        }
    }
}

/// How a message is sent, by its size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// Within its envelope.
    Short,
    /// At once.
    Eager,
    /// When its receive is there.
    Rendezvous,
}

impl Protocol {
    /// All, by the size of messages.
    pub const ALL: [Protocol; 3] = [Protocol::Short, Protocol::Eager, Protocol::Rendezvous];

    /// The table of the file.
    pub const fn key(self) -> &'static str {
        match self {
            Protocol::Short => "short",
            Protocol::Eager => "eager",
            Protocol::Rendezvous => "rendezvous",
        }
    }
}

impl Link {
    /// The protocol that sends a message of this size.
    pub fn protocol(&self, bytes: u64) -> Protocol {
        if self.short_max_bytes.is_some_and(|max| bytes <= max) {
            Protocol::Short
        } else if self.eager_max_bytes.is_none_or(|max| bytes <= max) {
            Protocol::Eager
        } else {
            Protocol::Rendezvous
        }
    }

    /// The parameters of a protocol.
    pub fn transport(&self, protocol: Protocol) -> &Transport {
        match protocol {
            Protocol::Short => &self.short,
            Protocol::Eager => &self.eager,
            Protocol::Rendezvous => &self.rendezvous,
        }
    }

    /// The parameters of a protocol, to fill in.
    pub fn transport_mut(&mut self, protocol: Protocol) -> &mut Transport {
        match protocol {
            Protocol::Short => &mut self.short,
            Protocol::Eager => &mut self.eager,
            Protocol::Rendezvous => &mut self.rendezvous,
        }
    }
}

impl Machine {
    /// A machine of which nothing is known yet.
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

    /// Between processes that lie so.
    pub fn link(&self, locality: Locality) -> &Link {
        match locality {
            Locality::OnSocket => &self.on_socket,
            Locality::OnNode => &self.on_node,
            Locality::OffNode => &self.off_node,
        }
    }

    /// The same, to fill in.
    pub fn link_mut(&mut self, locality: Locality) -> &mut Link {
        match locality {
            Locality::OnSocket => &mut self.on_socket,
            Locality::OnNode => &mut self.on_node,
            Locality::OffNode => &mut self.off_node,
        }
    }

    /// What to say of a parameter that is not there.
    pub(crate) fn missing(&self, parameter: impl Into<String>) -> Missing {
        Missing { machine: self.name.clone(), parameter: parameter.into() }
    }
}

/// A parameter that a model needs and that nobody measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The machine's name.
    pub machine: String,
    /// The key in its file.
    pub parameter: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing { machine, parameter } = self;
        // The rest is measured.
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

/// Reads the file of a machine.
///
/// # Errors
/// It cannot be read, is no TOML, or a number in it cannot be right; the error says where.
pub fn read(path: &Path) -> Result<Machine, MachineError> {
    file::read(path)
}

/// The machine that the paper measured, which is known by the name `blue-waters`.
///
/// # Errors
/// None, as a test makes sure.
pub fn blue_waters() -> Result<Machine, MachineError> {
    parse(include_str!("../../../machines/blue-waters.toml"), BLUE_WATERS)
}

/// The name of the paper's machine.
pub const BLUE_WATERS: &str = "blue-waters";

/// Reads a machine from the text of a file; `path` is for errors.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, path: impl Into<PathBuf>) -> Result<Machine, MachineError> {
    file::parse(text, &path.into())
}
