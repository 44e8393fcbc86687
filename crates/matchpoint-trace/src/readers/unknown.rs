//! Messages for paths that no reader recognizes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::TraceError;

/// First bytes, name, and the command that unpacks the archive.
const ARCHIVES: &[(&[u8], &str, &str)] = &[
    (b"\xfd7zXZ\0", "xz", "tar -xJf, or xz -d"),
    (b"\x1f\x8b", "gzip", "tar -xzf, or gzip -d"),
    (b"BZh", "bzip2", "tar -xjf, or bzip2 -d"),
    (b"\x28\xb5\x2f\xfd", "zstd", "tar --zstd -xf, or zstd -d"),
    (b"PK\x03\x04", "zip", "unzip"),
];

const FOLDERS_NAMED: usize = 4;

/// Offset and bytes of the magic number in a tar archive.
const TAR: (usize, &[u8]) = (257, b"ustar");

pub(super) fn explain<'a>(
    path: &Path,
    known: impl Iterator<Item = &'a str>,
    is_known: &dyn Fn(&Path) -> bool,
) -> TraceError {
    let known = format!("name a folder or file of: {}", known.collect::<Vec<_>>().join("; "));
    if path.is_dir() {
        return of_folder(path, &known, is_known);
    }
    match first_bytes(path) {
        Err(error) => TraceError::io(path, &error),
        Ok(first) => {
            packed(path, &first).unwrap_or_else(|| TraceError::new(path, "unknown trace format", known))
        }
    }
}

fn of_folder(path: &Path, known: &str, is_known: &dyn Fn(&Path) -> bool) -> TraceError {
    let files: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|file| file.path()).collect();
    let inside = files.iter().filter(|file| file.is_file());
    let packed = inside.filter_map(|file| packed(file, &first_bytes(file).ok()?)).next();
    packed.unwrap_or_else(|| match folders(&files, is_known) {
        Some(folders) => TraceError::new(path, "no trace in this folder itself", format!("try {folders}")),
        None => TraceError::new(path, format!("no trace among its {} files", files.len()), known),
    })
}

fn folders(inside: &[PathBuf], is_known: &dyn Fn(&Path) -> bool) -> Option<String> {
    let traces = inside.iter().filter(|path| path.is_dir() && is_known(path));
    let mut folders: Vec<String> = traces.map(|path| path.display().to_string()).collect();
    folders.sort();
    let more = folders.len() > FOLDERS_NAMED;
    folders.truncate(FOLDERS_NAMED);
    let named = folders.join(", ");
    (!named.is_empty()).then(|| if more { format!("{named}, …") } else { named })
}

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    File::open(path)?.take(512).read_to_end(&mut first)?;
    Ok(first)
}

fn packed(path: &Path, first: &[u8]) -> Option<TraceError> {
    let (name, unpack) = archive(first)?;
    let advice = format!("unpack it first ({unpack}), then give the folder or file that came out");
    Some(TraceError::new(path, format!("this is a {name} archive"), advice))
}

fn archive(first: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = ARCHIVES.iter().find(|(magic, _, _)| first.starts_with(magic));
    let tar = first.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
    found.map(|(_, name, unpack)| (*name, *unpack)).or(tar.then_some(("tar", "tar -xf")))
}
