//! What to say of a path that no reader recognises.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::TraceError;

/// How compressed files and archives begin, and what unpacks them.
const ARCHIVES: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "tar -xJf, or xz -d"),
    (b"\x1f\x8b", "gzip", "tar -xzf, or gzip -d"),
    (b"BZh", "bzip2", "tar -xjf, or bzip2 -d"),
    (b"\x28\xb5\x2f\xfd", "zstd", "tar --zstd -xf, or zstd -d"),
    (b"PK\x03\x04", "zip", "unzip"),
];

/// Where a tar archive says that it is one.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// Says what a path holds instead of a trace.
pub(super) fn explain<'a>(path: &Path, known: impl Iterator<Item = &'a str>) -> TraceError {
    let known = known.collect::<Vec<_>>().join("; ");
    if path.is_dir() {
        let files = fs::read_dir(path).map_or(0, Iterator::count);
        let problem = format!("no trace is among the {files} files of the folder");
        return TraceError::new(path, problem, format!("give a folder or file of: {known}"));
    }
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut first));
    if let Err(error) = read {
        return TraceError::io(path, &error);
    }
    if let Some((name, unpack)) = archive(&first) {
        let advice = format!("unpack it first ({unpack}), then give the folder or file that came out");
        return TraceError::new(path, format!("this is a {name} archive"), advice);
    }
    TraceError::new(path, "this is no trace of a known form", format!("give a folder or file of: {known}"))
}

fn archive(first: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = ARCHIVES.iter().find(|(magic, _, _)| first.starts_with(magic));
    let tar = first.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
    found.map(|(_, name, unpack)| (*name, *unpack)).or(tar.then_some(("tar", "tar -xf")))
}
