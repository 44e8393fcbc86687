//! Printable strings of a library.

use std::fs;
use std::path::Path;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

/// Constants of a library. Empty if the file cannot be read.
pub(crate) struct Strings(Vec<u8>);

impl Strings {
    pub(crate) fn of(path: &Path) -> Strings {
        Strings(read_constants(path).unwrap_or_default())
    }

    /// Iterates over the printable strings with at least four characters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let runs = self.0.split(|byte| !matches!(byte, b'\t' | b' '..=b'~'));
        runs.filter(|run| run.len() >= 4).filter_map(|run| std::str::from_utf8(run).ok())
    }
}

/// The sections `.rodata` and `.data`, and their parts.
fn read_constants(path: &Path) -> Option<Vec<u8>> {
    let file = fs::read(path).ok()?;
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        if name.starts_with(b".rodata") || name.starts_with(b".data") {
            found.extend_from_slice(section.data(endian, data).unwrap_or_default());
            found.push(0);
        }
    }
    Some(found)
}
