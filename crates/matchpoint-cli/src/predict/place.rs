//! The machine, the network, and the placement of processes on nodes.

use std::num::NonZeroU32;
use std::path::Path;

use matchpoint_model::machine::{self, BLUE_WATERS};
use matchpoint_model::{Layout, Locality, Machine, Search, SearchOrder, Setting, Topology};

use crate::cli::On;
use crate::failure::Failure;

/// The options about the machine.
pub struct Place {
    /// Parameters.
    pub machine: Machine,
    topology: Option<Topology>,
    ppn: NonZeroU32,
    sockets: NonZeroU32,
    network: String,
}

impl Place {
    /// Reads the files.
    ///
    /// # Errors
    /// A file cannot be read, or the placement of processes is unknown.
    pub fn read(on: &On) -> Result<Self, Failure> {
        let machine = read_machine(&on.machine)?;
        let lacks = |key: &str, option: &str| {
            // A calibration on one host does not show the processes per node of others.
            let one_host = if machine.farthest() == Locality::OffNode {
                ""
            } else {
                " (it was measured within one node)"
            };
            Failure::Message(format!(
                "the machine '{}' has no {key}{one_host}\nhint: use {option}, or add {key} to the machine file",
                machine.name
            ))
        };
        let ppn = on.ppn.or_else(|| machine.node.processes.and_then(NonZeroU32::new));
        let sockets = on.sockets.or_else(|| machine.node.sockets.and_then(NonZeroU32::new));
        let ppn = ppn.ok_or_else(|| lacks("node.processes", "--ppn"))?;
        let sockets = sockets.ok_or_else(|| lacks("node.sockets", "--sockets"))?;
        let topology = on.topology.as_deref().map(Topology::read).transpose()?;
        let network = match &on.topology {
            Some(path) => format!("{}, with routes of messages", path.display()),
            None => "a cube of a 3-D torus, as in the paper".to_owned(),
        };
        Ok(Place { machine, topology, ppn, sockets, network })
    }

    /// Description of the network.
    pub fn network(&self) -> String {
        self.network.clone()
    }

    /// Placement of this number of processes.
    pub fn layout(&self, processes: NonZeroU32) -> Layout {
        Layout { processes, ppn: self.ppn, sockets: self.sockets }
    }

    /// The error for a missing parameter. If one node has no room for the processes, and the machine was measured
    /// within one node, that is the reason; else `problem`.
    pub fn missing_parameter(&self, processes: NonZeroU32, problem: String) -> Failure {
        let nodes = processes.get().div_ceil(self.ppn.get());
        if nodes == 1 || self.machine.farthest() == Locality::OffNode {
            return Failure::Message(problem);
        }
        Failure::Message(format!(
            "{processes} processes with {} per node need {nodes} nodes, but the machine '{}' was measured within one\nhint: \
             use --ppn {processes} if a node has room for the processes, or calibrate with ranks on several nodes",
            self.ppn, self.machine.name
        ))
    }

    /// Processes per node.
    pub fn per_node(&self, processes: u32) -> u64 {
        self.ppn.get().min(processes).into()
    }

    /// The input of a prediction with a search order.
    pub fn setting(&self, processes: NonZeroU32, order: SearchOrder) -> Setting<'_> {
        self.setting_of(processes, Search::Order(order))
    }

    /// The input of a prediction with any search model.
    pub fn setting_of<'a>(&'a self, processes: NonZeroU32, search: Search<'a>) -> Setting<'a> {
        Setting {
            machine: &self.machine,
            layout: self.layout(processes),
            topology: self.topology.as_ref(),
            search,
        }
    }
}

/// Reads a machine file. The paper's machine needs none.
///
/// # Errors
/// The file cannot be read, or is not a machine file.
pub fn read_machine(path: &Path) -> Result<Machine, Failure> {
    let is_built_in = path == Path::new(BLUE_WATERS) && !path.exists();
    Ok(if is_built_in { machine::blue_waters() } else { machine::read(path) }?)
}
