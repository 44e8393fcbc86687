//! Embedded sources of the recorder, and the recorder compiled for MPI's standard binary interface.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Names and contents of files.
pub type Sources = &'static [(&'static str, &'static str)];

/// Headers that other libraries for the profiling interface share: lookup of MPI functions, clocks.
pub const COMMON: Sources = include!(concat!(env!("OUT_DIR"), "/common.rs"));

/// Sources of the recorder.
pub(crate) const SOURCES: Sources = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The source file that includes all others.
pub(crate) const MAIN: &str = "matchpoint_record.c";

/// The recorder compiled for MPI's standard binary interface.
pub(crate) const STANDARD_ABI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standard-abi.so"));

pub(crate) fn unpack(sources: &[Sources], folder: &Path) -> io::Result<()> {
    for (name, content) in sources.iter().copied().flatten() {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// Hash of the sources and `more`.
pub(crate) fn fingerprint(sources: &[Sources], more: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    let files = sources.iter().copied().flatten();
    let sources = files.flat_map(|(name, content)| [name.as_bytes(), content.as_bytes()]);
    for part in sources.chain(more.iter().copied()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
