//! Memory-mapped files.

#![allow(unsafe_code)] // memory-mapped files need unsafe code

use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::TraceError;

/// A memory-mapped file. Clones share the bytes.
#[derive(Clone)]
pub(super) struct Map(Arc<Mmap>);

impl Map {
    pub fn open(path: &Path) -> Result<Map, TraceError> {
        let file = File::open(path).map_err(|error| TraceError::io(path, &error))?;
        // SAFETY: the map is private and only read. Its bytes change only if another program writes to or
        // truncates a finished trace. Every value is checked at its use, so a changed byte has the effect of
        // a damaged file.
        let map = unsafe { Mmap::map(&file) };
        map.map(|map| Map(Arc::new(map))).map_err(|error| TraceError::io(path, &error))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
