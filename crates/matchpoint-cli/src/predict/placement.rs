//! The machine, the network, and the placement of processes on nodes.

use std::num::NonZeroU32;
use std::path::Path;

use matchpoint_model::machine::{self, BLUE_WATERS};
use matchpoint_model::{Layout, Locality, Machine, Search, SearchOrder, Setting, Topology};

use crate::cli::On;
use crate::failure::Failure;

pub struct Placement {
    pub machine: Machine,
    topology: Option<Topology>,
    ppn: NonZeroU32,
    sockets: NonZeroU32,
    pub network: String,
}

impl Placement {
    pub fn read(on: &On) -> Result<Self, Failure> {
        let machine = read_machine(&on.machine)?;
        let lacks = |key: &str, option: &str| {
            // A calibration on one host does not contain the number of processes on other hosts.
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
        Ok(Placement { machine, topology, ppn, sockets, network })
    }

    pub fn layout(&self, processes: NonZeroU32) -> Layout {
        Layout { processes, ppn: self.ppn, sockets: self.sockets }
    }

    /// The error for a missing parameter. If the machine was measured within one node and the job needs several, the
    /// error contains this reason instead of `problem`.
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

    pub fn per_node(&self, processes: u32) -> u64 {
        self.ppn.get().min(processes).into()
    }

    pub fn setting(&self, processes: NonZeroU32, order: SearchOrder) -> Setting<'_> {
        self.setting_of(processes, Search::Order(order))
    }

    pub fn setting_of<'a>(&'a self, processes: NonZeroU32, search: Search<'a>) -> Setting<'a> {
        Setting {
            machine: &self.machine,
            layout: self.layout(processes),
            topology: self.topology.as_ref(),
            search,
        }
    }
}

/// Without a file, the machine of the paper is available.
pub fn read_machine(path: &Path) -> Result<Machine, Failure> {
    let is_built_in = path == Path::new(BLUE_WATERS) && !path.exists();
    Ok(if is_built_in { machine::blue_waters() } else { machine::read(path) }?)
}
