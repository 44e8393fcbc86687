//! Finds the MPI library of a command, and its libfabric, in files and in the launcher's version, without
//! running an MPI program.

use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use matchpoint_record::launcher::Launcher;
use matchpoint_record::linked;

use crate::error::RunError;
use crate::loader;
use crate::strings::Strings;

/// Only vendors with different settings are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// MPICH and derived libraries with the same settings (Cray MPICH, MVAPICH from version 3 on).
    Mpich,
    /// Open MPI.
    OpenMpi,
    /// MPICH with Intel's libfabric.
    Intel,
}

impl Vendor {
    /// The vendor's name, for output.
    pub fn name(self) -> &'static str {
        match self {
            Vendor::Mpich => "MPICH",
            Vendor::OpenMpi => "Open MPI",
            Vendor::Intel => "Intel MPI",
        }
    }

    /// MPICH and derived libraries share an ABI.
    fn has_same_abi(self, other: Vendor) -> bool {
        (self == Vendor::OpenMpi) == (other == Vendor::OpenMpi)
    }
}

/// `5.0.11`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(pub String);

impl Version {
    /// Major and minor. A part that does not parse is 0.
    pub fn numbers(&self) -> (u32, u32) {
        let mut parts = self.0.split('.').map(|part| part.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An MPI library and its libfabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Vendor of the MPI library.
    pub vendor: Vendor,
    /// Version of the MPI library.
    pub version: Option<Version>,
    /// Path of the MPI library.
    pub library: PathBuf,
    /// Libfabric that the MPI library loads, if found.
    pub fabric: Option<PathBuf>,
    /// MPICH's configured device (`ch4:ucx,ofi`), if in the library file.
    pub device: Option<String>,
    /// The launcher is from an MPI library, not from a batch system.
    pub own_launcher: bool,
}

impl Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.vendor.name()),
            None => f.write_str(self.vendor.name()),
        }
    }
}

/// The alternative if the provider cannot be put below the MPI library.
pub const ALTERNATIVE: &str = "omit --below to run above any MPI; --below needs MPICH (4.1 or later, built with \
                           --with-device=ch4:ofi), Open MPI (4.1 or later, with libfabric) or Intel MPI";

/// Finds the MPI library of a command. `mpicc` is the user's compiler.
///
/// # Errors
/// The command is missing, its MPI library is missing or unknown, or launcher and application have different
/// MPI libraries.
pub fn find(command: &[String], mpicc: Option<&Path>) -> Result<Stack, RunError> {
    let Some(first) = command.first() else {
        return Err(RunError("no command\nhint: put the command after --".to_owned()));
    };
    let Some(launcher) = Launcher::of(command) else {
        return Err(RunError(Launcher::not_found(first)));
    };
    let application = linked::application(command).map(|(path, _)| path);
    let own_launcher = launcher.is_of_library() && application.as_ref() != launcher.path.first();
    let launcher_identity = if own_launcher { identify_launcher(&launcher.path[0]) } else { None };
    let compilers = match mpicc {
        Some(mpicc) => vec![mpicc.to_owned()],
        None if own_launcher => launcher.compilers(),
        None => Vec::new(),
    };
    // Files next to a batch system's launcher, or next to a shell, belong to no MPI library.
    let around: &[PathBuf] = if own_launcher { &launcher.path } else { &[] };
    // Loaded by the application, unless the launcher changes the path.
    let of_application = application.iter().flat_map(|path| loader::dependencies(path, &[]));
    let of_application: Vec<PathBuf> =
        of_application.filter(|(name, _)| is_mpi(name)).map(|(_, path)| path).collect();
    if let (Some((vendor, _)), Some(application), Some(library)) =
        (&launcher_identity, &application, of_application.first())
    {
        let other =
            identify_library(library).map(|(other, ..)| other).filter(|other| !other.has_same_abi(*vendor));
        if let Some(other) = other {
            return Err(mismatch_error(first, *vendor, application, other, library));
        }
    }
    let candidates = of_application
        .into_iter()
        .chain(compilers.iter().flat_map(|compiler| of_compiler(compiler)))
        .chain(around.iter().rev().flat_map(|path| libraries_near(path)));
    for library in candidates {
        let Some((vendor, version, device)) = identify_library(&library) else { continue };
        if launcher_identity.as_ref().is_none_or(|(launcher, _)| *launcher == vendor) {
            let version = launcher_identity.and_then(|(_, version)| version).or(version);
            let fabric = fabric(vendor, &library);
            return Ok(Stack { vendor, version, library, fabric, device, own_launcher });
        }
    }
    Err(unknown_error(first, launcher_identity.as_ref()))
}

fn mismatch_error(
    launcher: &str,
    vendor: Vendor,
    application: &Path,
    other: Vendor,
    library: &Path,
) -> RunError {
    RunError(format!(
        "'{launcher}' starts jobs of {}, but '{}' is linked with {} ({})\nhint: use the launcher of its MPI",
        vendor.name(),
        application.display(),
        other.name(),
        library.display()
    ))
}

fn unknown_error(launcher: &str, launcher_identity: Option<&(Vendor, Option<Version>)>) -> RunError {
    RunError(match launcher_identity {
        Some((vendor, _)) => format!(
            "'{launcher}' belongs to {}, but its library was not found\nhint: name its compiler with --mpicc, or \
             {ALTERNATIVE}",
            vendor.name()
        ),
        None => format!(
            "no known MPI library: no word after '{launcher}' is a program linked with one\nhint: name the compiler \
             of the MPI with --mpicc, or {ALTERNATIVE}"
        ),
    })
}

fn is_mpi(name: &str) -> bool {
    ["libmpi.so", "libmpich.so", "libmpi_abi.so"].iter().any(|prefix| name.starts_with(prefix))
}

/// The compiler prints its command line.
fn of_compiler(compiler: &Path) -> Vec<PathBuf> {
    let output = Command::new(compiler).arg("-show").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let Ok(output) = output else { return Vec::new() };
    let line = String::from_utf8_lossy(&output.stdout).replace('"', "");
    let folders = line.split_whitespace().filter_map(|word| word.strip_prefix("-L")).map(PathBuf::from);
    folders.flat_map(|folder| libraries_in(&folder)).collect()
}

fn libraries_near(launcher: &Path) -> Vec<PathBuf> {
    let Some(root) = launcher.parent().and_then(Path::parent) else { return Vec::new() };
    let folders = ["lib", "lib64", "lib/release", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
    folders.iter().flat_map(|folder| libraries_in(&root.join(folder))).collect()
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let names = ["libmpi.so", "libmpi.so.12", "libmpi.so.40", "libmpich.so", "libmpich.so.12"];
    names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

/// Identifies a library by its strings.
fn identify_library(library: &Path) -> Option<(Vendor, Option<Version>, Option<String>)> {
    let strings = Strings::of(library);
    let has = |what: &str| strings.iter().any(|text| text.contains(what));
    let vendor = match () {
        () if has("Intel(R) MPI Library") => Vendor::Intel,
        () if strings.iter().any(|text| text.starts_with("MPICH Version")) => Vendor::Mpich,
        () if strings.iter().any(|text| text.starts_with("Open MPI")) => Vendor::OpenMpi,
        () => return None,
    };
    let device = strings.iter().find_map(|text| text.split_once("--with-device=")).map(|(_, rest)| rest);
    let device = device.map(|rest| rest.split([' ', '\'']).next().unwrap_or(rest).to_owned());
    let version = strings.iter().find(|text| is_version(text)).map(|text| Version(text.to_owned()));
    let version = version.filter(|_| vendor != Vendor::Intel);
    Some((vendor, version, device))
}

/// `5.0.11`, `4.2.0rc1`
fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let starts = |part: &str| part.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) && part.len() < 8;
    parts.len() == 3 && digits(parts[0]) && digits(parts[1]) && starts(parts[2])
}

/// Returns the libfabric that an MPI library or its network plug-in loads.
fn fabric(vendor: Vendor, library: &Path) -> Option<PathBuf> {
    let library = library.canonicalize().unwrap_or_else(|_| library.to_owned());
    let folder = library.parent()?;
    let needed = |file: &Path| {
        let all = loader::dependencies(file, &[folder.to_owned()]);
        all.into_iter().find(|(name, _)| name.starts_with("libfabric.so")).map(|(_, path)| path)
    };
    match vendor {
        // Opened by name, in folders that the package's script adds to the loader's path.
        Vendor::Intel => {
            let places = [".", "../libfabric/lib", "../opt/mpi/libfabric/lib", "../../libfabric/lib"];
            places.iter().map(|place| folder.join(place).join("libfabric.so.1")).find(|path| path.is_file())
        }
        Vendor::Mpich => needed(&library),
        // Linked by Open MPI or one of its plug-ins.
        Vendor::OpenMpi => needed(&library).or_else(|| plug_in(folder).and_then(|file| needed(&file))),
    }
}

fn plug_in(folder: &Path) -> Option<PathBuf> {
    let entries =
        [folder.to_owned(), folder.join("openmpi/lib")].into_iter().filter_map(|at| fs::read_dir(at).ok());
    let folders = entries.flatten().flatten().map(|entry| entry.path());
    let folders = folders
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("openmpi")));
    folders.map(|path| path.join("mca_mtl_ofi.so")).find(|path| path.is_file())
}

const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Identifies a launcher by its output of `--version`.
fn identify_launcher(launcher: &Path) -> Option<(Vendor, Option<Version>)> {
    let mut command = Command::new(launcher);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let text = output_of(&mut command, VERSION_TIMEOUT)?;
    parse(&text)
}

/// `None` if the command does not run, or exceeds the time limit.
pub(crate) fn output_of(command: &mut Command, timeout: Duration) -> Option<String> {
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stdout, &mut bytes);
        bytes
    });
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Some(String::from_utf8_lossy(&reader.join().ok()?).into_owned())
}

fn parse(text: &str) -> Option<(Vendor, Option<Version>)> {
    let version = |word: Option<&str>| word.map(|word| Version(word.trim_end_matches([',', ')']).to_owned()));
    if text.contains("Intel(R) MPI Library") {
        let word = text.split("Version ").nth(1).and_then(|rest| rest.split_whitespace().next());
        return Some((Vendor::Intel, version(word)));
    }
    if text.contains("HYDRA build details") {
        let word = text.lines().find_map(|line| line.trim().strip_prefix("Version:"));
        return Some((Vendor::Mpich, version(word.map(str::trim))));
    }
    let marks = ["(Open MPI) ", "(OpenRTE) "];
    if let Some(rest) = marks.iter().find_map(|mark| text.split(mark).nth(1)) {
        return Some((Vendor::OpenMpi, version(rest.split_whitespace().next())));
    }
    text.contains("(PRRTE)").then_some((Vendor::OpenMpi, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launcher_version_identifies_vendor() {
        for (text, vendor, version) in [
            ("HYDRA build details:\n    Version:                 4.0.2\n", Vendor::Mpich, "4.0.2"),
            ("mpiexec (Open MPI) 5.0.11\n\nReport bugs", Vendor::OpenMpi, "5.0.11"),
            ("mpiexec.openmpi (OpenRTE) 4.1.4\n", Vendor::OpenMpi, "4.1.4"),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626",
                Vendor::Intel,
                "2021.18.1",
            ),
        ] {
            assert_eq!(parse(text), Some((vendor, Some(Version(version.to_owned())))));
        }
        assert_eq!(parse("prterun (PRRTE) 3.0.5"), Some((Vendor::OpenMpi, None)));
        assert_eq!(parse("slurm 23.02"), None);
    }

    #[test]
    fn versions_have_three_parts() {
        assert!(is_version("5.0.11") && is_version("4.2.0rc1"));
        assert!(!is_version("5.0") && !is_version("a.b.c") && !is_version("1.2.3.4") && !is_version("1.2."));
        assert_eq!(Version("4.1.4".to_owned()).numbers(), (4, 1));
    }

    #[test]
    fn command_without_mpi_is_refused() {
        let said = find(&["true".to_owned()], None).unwrap_err().to_string();
        assert!(said.contains("no known MPI library") && said.contains("omit --below"), "{said}");
        let said = find(&["no-such-launcher".to_owned()], None).unwrap_err().to_string();
        assert!(said.contains("no such command"), "{said}");
    }
}
