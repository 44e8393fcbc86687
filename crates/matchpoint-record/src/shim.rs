//! The recorder's sources, and the recorder compiled for MPI's standard binary interface.

use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Names below `shim/`, and contents.
pub(crate) const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The one that is compiled; it includes all others.
pub(crate) const MAIN: &str = "matchpoint_record.c";

/// For libraries with the standard binary interface.
pub(crate) const STANDARD_ABI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standard-abi.so"));

/// Writes sources into a folder.
pub(crate) fn unpack(sources: &[(&str, &str)], folder: &Path) -> io::Result<()> {
    for (name, content) in sources {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// Changes with any of the sources and with `more`.
pub(crate) fn fingerprint(sources: &[(&str, &str)], more: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    let sources = sources.iter().flat_map(|(name, content)| [name.as_bytes(), content.as_bytes()]);
    for part in sources.chain(more.iter().copied()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
