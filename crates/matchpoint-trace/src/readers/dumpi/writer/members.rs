//! Communicators with listed members, written as splits with the same result.

use std::collections::HashMap;

use super::numbers::UNDEFINED;
use crate::call::{Call, CommId, NewComm};
use crate::function::Function;

pub(super) struct Members {
    rank: u32,
    known: HashMap<CommId, Vec<i32>>,
}

impl Members {
    pub fn of(rank: u32, size: u32) -> Self {
        let world = (0..size as i32).collect();
        Members { rank, known: HashMap::from([(CommId::WORLD, world), (CommId::SELF, vec![rank as i32])]) }
    }

    pub fn made(&mut self, parent: CommId, how: NewComm, new: CommId, integers: &[i32]) {
        let members = match how {
            NewComm::Dup => self.known.get(&parent).cloned(),
            NewComm::Listed { own, .. } if own as usize == integers.len() => Some(integers.to_vec()),
            _ => None,
        };
        match members.filter(|_| new != CommId::NULL) {
            Some(members) => self.known.insert(new, members),
            None => self.known.remove(&new),
        };
    }

    pub fn freed(&mut self, comm: CommId) {
        if comm.0 > CommId::SELF.0 {
            self.known.remove(&comm);
        }
    }

    /// Color and key of the split: the lowest member, and the position of this process.
    pub fn color(&self, own: &[i32], new: CommId) -> (i32, i32) {
        if new == CommId::NULL {
            return (UNDEFINED, 0);
        }
        let color = own.iter().copied().filter(|&rank| rank >= 0).min().unwrap_or(0);
        let key = own.iter().position(|&rank| u32::try_from(rank) == Ok(self.rank));
        (color, key.map_or(0, |key| key as i32))
    }

    /// Written function, the same at all members of the parent. A grid or graph over the whole parent is
    /// unchanged.
    pub fn function(&self, call: &Call, parent: CommId, how: NewComm) -> Function {
        let NewComm::Listed { own, .. } = how else { return call.function };
        let only_own = own as usize == call.integers.len() && parent != CommId::NULL;
        match call.function {
            Function::Cart_create | Function::Graph_create
                if self.known.get(&parent) == Some(&call.integers) =>
            {
                call.function
            }
            Function::Cart_create
            | Function::Graph_create
            | Function::Cart_sub
            | Function::Comm_create
            | Function::Comm_split_type
            | Function::Dist_graph_create
            | Function::Dist_graph_create_adjacent
                if only_own =>
            {
                Function::Comm_split
            }
            other => other,
        }
    }

    pub fn listed(function: Function) -> bool {
        matches!(function, Function::Comm_split | Function::Cart_create | Function::Graph_create)
    }
}
