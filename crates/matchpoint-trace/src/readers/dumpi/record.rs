//! Arguments of one call, read from the binary or the text form.

use super::ids::request;
use super::layout::Name;
use crate::call::{Call, Status};

/// Arguments of the current call. Arguments that its function does not have contain old values.
#[derive(Debug)]
pub(super) struct Record {
    scalars: [i32; Name::COUNT],
    /// Indexes of completed requests, or counts per process.
    pub list: Vec<i32>,
    /// Empty if the program ignored the statuses.
    pub statuses: Vec<Status>,
}

impl Default for Record {
    fn default() -> Self {
        Record { scalars: [0; Name::COUNT], list: Vec::new(), statuses: Vec::new() }
    }
}

impl Record {
    pub fn clear(&mut self) {
        self.list.clear();
        self.statuses.clear();
    }

    #[inline]
    pub fn get(&self, name: Name) -> i32 {
        self.scalars[name as usize]
    }

    #[inline]
    pub fn set(&mut self, name: Name, value: i32) {
        self.scalars[name as usize] = value;
    }

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
