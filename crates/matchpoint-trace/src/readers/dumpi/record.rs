//! The arguments of one call, as the format names them: what the binary and the text form have in common.

use super::ids::request;
use super::layout::Name;
use crate::call::{Call, Status};

/// The arguments of one call. What belongs to another function's call is left from before, and not looked at.
#[derive(Debug)]
pub(super) struct Record {
    scalars: [i32; Name::COUNT],
    /// Indices of completed requests, or counts for each process.
    pub list: Vec<i32>,
    /// What was reported; empty if that was ignored.
    pub statuses: Vec<Status>,
}

impl Default for Record {
    fn default() -> Self {
        Record { scalars: [0; Name::COUNT], list: Vec::new(), statuses: Vec::new() }
    }
}

impl Record {
    /// Makes this ready for the next call.
    pub fn clear(&mut self) {
        self.list.clear();
        self.statuses.clear();
    }

    /// The value of an argument.
    #[inline]
    pub fn get(&self, name: Name) -> i32 {
        self.scalars[name as usize]
    }

    /// Sets it.
    #[inline]
    pub fn set(&mut self, name: Name, value: i32) {
        self.scalars[name as usize] = value;
    }

    /// Takes the elements of an argument that is an array to where they are of use, if anywhere.
    #[inline]
    pub fn extend(&mut self, call: &mut Call, name: Name, values: impl Iterator<Item = i32>) {
        match name {
            Name::requests => call.requests.extend(values.map(request)),
            Name::indices | Name::sendcounts | Name::recvcounts => self.list.extend(values),
            Name::ranks | Name::ranges | Name::dims | Name::remain_dims => call.integers.extend(values),
            _ => {}
        }
    }
}
