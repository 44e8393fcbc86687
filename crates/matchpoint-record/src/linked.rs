//! Detection of the MPI library that an executable is linked with.

use std::fs;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM};
use object::read::elf::{Dyn, FileHeader, Sym};
use object::{Endianness, StringTable};

use crate::launcher::in_path;

/// MPI libraries that share a binary interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// MPI's standard interface (MPI-5.0 §20): `libmpi_abi.so`.
    StandardAbi,
    /// MPICH and derived libraries (Intel MPI, MVAPICH, Cray MPI): `libmpi.so.12`, `libmpich.so.12`.
    Mpich,
    /// Open MPI: `libmpi.so.40`.
    OpenMpi,
}

impl Family {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Family::StandardAbi => "MPI's standard ABI",
            Family::Mpich => "MPICH or a compatible MPI",
            Family::OpenMpi => "Open MPI",
        }
    }

    fn of_library(name: &str) -> Option<Family> {
        let version = |prefix: &str| name.strip_prefix(prefix)?.split('.').next()?.parse::<u32>().ok();
        // Cray and other vendors add the compiler's name: libmpi_cray.so.12, libmpi_gnu_123.so.12. IBM's
        // library is Open MPI.
        let vendor_compilers = ["cray", "gnu", "intel", "aocc", "nvidia"];
        let vendor = name.strip_prefix("libmpi_").unwrap_or_default();
        if vendor_compilers.iter().any(|compiler| vendor.starts_with(compiler)) {
            return Some(Family::Mpich);
        }
        match (version("libmpi.so.").or(version("libmpi_ibm.so.").map(|_| 40)), version("libmpich.so.")) {
            _ if name.starts_with("libmpi_abi.so") => Some(Family::StandardAbi),
            // Open MPI has version 40 since its version 4. MPICH and compatible libraries have 12.
            (Some(version), _) if version >= 20 => Some(Family::OpenMpi),
            (Some(_), _) | (_, Some(_)) => Some(Family::Mpich),
            _ => None,
        }
    }
}

/// The first word that is an executable linked directly with an MPI library, and the family of the library.
pub fn application(words: &[String]) -> Option<(PathBuf, Family)> {
    words.iter().find_map(|word| {
        let path = in_path(word)?;
        let family = needed(&path)?.iter().find_map(|library| Family::of_library(library))?;
        Some((path, family))
    })
}

/// Libraries that do not use MPI.
const SYSTEM_LIBRARIES: &[&str] = &[
    "ld-linux",
    "libacl",
    "libattr",
    "libc",
    "libcap",
    "libdl",
    "libgcc_s",
    "libm",
    "libpthread",
    "librt",
    "libselinux",
    "libstdc++",
    "libtinfo",
];

/// Functions that start programs or open libraries.
const STARTING_FUNCTIONS: &[&str] = &["dlopen", "dlmopen", "fork", "vfork", "clone", "system", "popen"];

/// True if a program cannot call MPI: the program depends on system libraries only, opens no libraries and
/// starts no programs.
pub fn is_without_mpi(path: &Path) -> bool {
    let is_system_library = |library: &String| {
        let name = library.split(".so").next().unwrap_or_default();
        SYSTEM_LIBRARIES
            .iter()
            .any(|known| name == *known || (*known == "ld-linux" && name.starts_with(known)))
    };
    let is_starting = |name: &String| {
        STARTING_FUNCTIONS.contains(&name.as_str())
            || name.starts_with("exec")
            || name.starts_with("posix_spawn")
    };
    // A static executable has no dynamic symbols to check.
    needed(path).is_some_and(|libraries| !libraries.is_empty() && libraries.iter().all(is_system_library))
        && imported(path).is_some_and(|names| !names.iter().any(is_starting))
}

fn imported(path: &Path) -> Option<Vec<String>> {
    let file = fs::read(path).ok()?;
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM).ok()?;
    let undefined = symbols.iter().filter(|symbol| symbol.is_undefined(endian));
    let name = |symbol| Some(String::from_utf8_lossy(symbols.symbol_name(endian, symbol).ok()?).into_owned());
    Some(undefined.filter_map(name).collect())
}

/// The libraries that an executable names; `None` if the file is no executable.
fn needed(path: &Path) -> Option<Vec<String>> {
    let file = fs::read(path).ok()?;
    let data = file.as_slice();
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings: StringTable<'_> = sections.strings(endian, data, strings).ok()?;
    let names = entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    Some(
        names
            .filter_map(|entry| {
                Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned())
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_names_give_family() {
        assert_eq!(Family::of_library("libmpi.so.12"), Some(Family::Mpich));
        assert_eq!(Family::of_library("libmpich.so.12"), Some(Family::Mpich));
        assert_eq!(Family::of_library("libmpi.so.40"), Some(Family::OpenMpi));
        assert_eq!(Family::of_library("libmpi_abi.so.1"), Some(Family::StandardAbi));
        assert_eq!(Family::of_library("libmpi_cray.so.12"), Some(Family::Mpich));
        assert_eq!(Family::of_library("libmpi_gnu_123.so.12"), Some(Family::Mpich));
        assert_eq!(Family::of_library("libmpi_ibm.so.3"), Some(Family::OpenMpi));
        assert_eq!(Family::of_library("libmpi_mpifh.so.40"), None);
        assert_eq!(Family::of_library("libmpiP.so.3"), None);
        assert_eq!(Family::of_library("libmpifort.so.12"), None);
        assert_eq!(Family::of_library("libc.so.6"), None);
    }

    #[test]
    fn system_program_is_without_mpi() {
        assert!(is_without_mpi(&in_path("ls").unwrap()));
        for may in ["sh", "env", "Cargo.toml"] {
            assert!(!is_without_mpi(&in_path(may).unwrap_or(may.into())), "{may}");
        }
        assert!(!is_without_mpi(&std::env::current_exe().unwrap()));
    }

    #[test]
    fn executable_lists_needed_libraries() {
        let own = std::env::current_exe().unwrap();
        assert!(needed(&own).unwrap().iter().any(|name| name.starts_with("libc.so")));
        assert_eq!(needed(Path::new("Cargo.toml")), None);
    }
}
