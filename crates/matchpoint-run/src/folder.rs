//! The folder of a job: Matchpoint libraries that the job's processes load, and reports of the processes.
//!
//! libfabric loads every file `*-fi.so` from the folders in `FI_PROVIDER_PATH`, which replaces the default
//! folders. Intel's libfabric accepts one folder only. The job therefore has one folder with links to
//! Matchpoint's provider, and to the MPI library's providers that the core provider needs. Links may be
//! invalid on other hosts, so a job on several hosts has copies of Matchpoint's libraries.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::RunError;
use crate::hosts::Hosts;

/// A Matchpoint library that processes load at run time.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Name in messages.
    pub what: &'static str,
    /// File in cargo's target folder.
    pub built: &'static str,
    /// File below `lib/matchpoint`.
    pub installed: &'static str,
    /// Environment variable with the path.
    pub variable: &'static str,
    /// The cargo package.
    pub package: &'static str,
}

/// The libfabric provider.
pub const PROVIDER: Library = Library {
    what: "the provider that libfabric loads",
    built: "libmatchpoint_fabric.so",
    installed: "libmatchpoint-fi.so",
    variable: "MATCHPOINT_PROVIDER_FILE",
    package: "matchpoint-fabric",
};

/// The core of overflow matching.
pub const CORE: Library = Library {
    what: "the core of overflow matching",
    built: "libmatchpoint_overflow.so",
    installed: "libmatchpoint_overflow.so",
    variable: "MATCHPOINT_CORE_FILE",
    package: "matchpoint-overflow",
};

/// Dropping the value removes a temporary folder.
#[derive(Debug)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    /// `None` if the user chose the folder.
    temporary: Option<TempDir>,
    /// All processes run on this host: links instead of copies.
    links: bool,
}

impl Library {
    /// `named`, else next to the `matchpoint` command, else installed with the command.
    ///
    /// # Errors
    /// The file does not exist at any of these places.
    pub fn find(&self, named: Option<PathBuf>, program: &Path) -> Result<PathBuf, RunError> {
        if let Some(path) = named {
            let found = path.canonicalize();
            return found
                .map_err(|error| RunError(format!("{} is {}: {error}", self.variable, path.display())));
        }
        let folder_of_program = program.parent().unwrap_or(Path::new("."));
        let built = [folder_of_program.join(self.built), folder_of_program.join("deps").join(self.built)];
        // Operating systems have three names for this folder.
        let libraries =
            ["lib".to_owned(), "lib64".to_owned(), format!("lib/{}-linux-gnu", env::consts::ARCH)];
        let installed = libraries.map(|library| {
            folder_of_program.join("..").join(library).join("matchpoint").join(self.installed)
        });
        let mut places = built.iter().chain(&installed);
        places.find_map(|path| path.canonicalize().ok()).ok_or_else(|| {
            RunError(format!(
                "{} is missing: neither {} next to {} nor ../lib/matchpoint/{}\nhint: build it with cargo build --release \
                 -p {}, install it with scripts/install, or name it in {}",
                self.what,
                self.built,
                program.display(),
                self.installed,
                self.package,
                self.variable
            ))
        })
    }
}

/// LD_PRELOAD separates paths by spaces and colons.
fn is_unloadable(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':')
}

fn unloadable_path(path: &Path) -> RunError {
    RunError(format!(
        "LD_PRELOAD does not support '{}', a path with a space or a colon\nhint: name another folder with --folder",
        path.display()
    ))
}

impl Folder {
    /// Creates the folder, at `named` or as a temporary folder.
    ///
    /// # Errors
    /// The folder cannot be created, or LD_PRELOAD cannot contain its path.
    pub fn make(named: Option<&Path>, hosts: &Hosts) -> Result<Folder, RunError> {
        if let Some(path) = named.filter(|path| is_unloadable(path)) {
            return Err(unloadable_path(path));
        }
        let folder = match named {
            Some(path) => {
                fs::create_dir_all(path).map_err(|error| RunError::file(path, &error))?;
                let path = path.canonicalize().map_err(|error| RunError::file(path, &error))?;
                Folder { path, temporary: None, links: false }
            }
            None => make_temporary(hosts)?,
        };
        if is_unloadable(&folder.path) {
            return Err(unloadable_path(&folder.path));
        }
        let reports = folder.reports();
        fs::create_dir_all(&reports).map_err(|error| RunError::file(&reports, &error))?;
        folder.forget_reports()?;
        Ok(folder)
    }

    /// A path of the library that all hosts of the job can read, of a copy if necessary.
    ///
    /// # Errors
    /// The library cannot be copied.
    pub fn share(&self, library: &Path) -> Result<PathBuf, RunError> {
        if self.links {
            return Ok(library.to_owned());
        }
        let name = library.file_name().expect("a library has a name");
        let at = self.path.join(name);
        replace_file(library, &at)?;
        Ok(at)
    }

    /// Adds `provider` for libfabric, and the providers in `folders` that `core` needs.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn add_providers(&self, provider: &Path, core: &str, folders: &[PathBuf]) -> Result<(), RunError> {
        let providers = self.providers();
        fs::create_dir_all(&providers).map_err(|error| RunError::file(&providers, &error))?;
        remove_files(&providers, &["-fi.so"])?;
        self.add_files(self.links, provider, core, folders)
    }

    fn add_files(
        &self,
        link: bool,
        provider: &Path,
        core: &str,
        folders: &[PathBuf],
    ) -> Result<(), RunError> {
        let own = self.providers().join(PROVIDER.installed);
        if link {
            symlink(provider, &own).map_err(|error| RunError::file(&own, &error))?;
        } else {
            replace_file(provider, &own)?;
        }
        for part in core.split(';').map(|part| part.trim_start_matches("ofi_")) {
            for (name, file) in folders.iter().flat_map(|folder| provider_files(folder)) {
                let at = self.providers().join(&name);
                // The first folder with a provider takes precedence, as in libfabric.
                if name.starts_with(&format!("lib{part}-")) && !at.exists() {
                    symlink(&file, &at).map_err(|error| RunError::file(&at, &error))?;
                }
            }
        }
        Ok(())
    }

    /// The folder for `FI_PROVIDER_PATH`.
    pub fn providers(&self) -> PathBuf {
        self.path.join("providers")
    }

    /// The folder for `MATCHPOINT_REPORT` and `MATCHPOINT_ARRIVALS`.
    pub fn reports(&self) -> PathBuf {
        self.path.join("reports")
    }

    /// Removes the reports of an earlier job.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn forget_reports(&self) -> Result<(), RunError> {
        remove_files(&self.reports(), &[".json", ".txt", ".bin"])
    }

    /// Only a temporary folder is removed.
    pub fn stays(&self) -> bool {
        self.temporary.is_none()
    }
}

/// Creates a temporary folder. If the job runs on this host, it is in the system's temporary folder.
/// Otherwise it is in the working directory, which hosts of a cluster usually share.
fn make_temporary(hosts: &Hosts) -> Result<Folder, RunError> {
    let place = if hosts.here { env::temp_dir() } else { PathBuf::from(".") };
    let made = Builder::new().prefix("matchpoint-run-").tempdir_in(&place);
    let made = made.map_err(|error| RunError::file(&place, &error))?;
    let path = made.path().canonicalize().map_err(|error| RunError::file(&place, &error))?;
    Ok(Folder { path, temporary: Some(made), links: hosts.here })
}

/// Copies a file to a new file that then takes the name. Running processes keep the old file, which they have mapped.
fn replace_file(from: &Path, to: &Path) -> Result<(), RunError> {
    let folder = to.parent().unwrap_or(Path::new("."));
    let copied = NamedTempFile::new_in(folder).and_then(|copy| {
        fs::copy(from, copy.path())?;
        copy.persist(to).map_err(|error| error.error)
    });
    copied.map(drop).map_err(|error| RunError::file(to, &error))
}

fn remove_files(folder: &Path, endings: &[&str]) -> Result<(), RunError> {
    let failed = |error| RunError::file(folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if endings.iter().any(|ending| entry.file_name().to_string_lossy().ends_with(ending)) {
            fs::remove_file(entry.path()).map_err(|error| RunError::file(&entry.path(), &error))?;
        }
    }
    Ok(())
}

/// Returns the providers in a folder, sorted. `folder` may also be one file.
fn provider_files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let paths = if folder.is_file() { vec![folder.to_owned()] } else { entries.collect() };
    let named = paths.into_iter().filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)));
    let mut found: Vec<_> = named.filter(|(name, _)| name.ends_with("-fi.so")).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_host() -> Hosts {
        Hosts { count: 1, here: true, why: String::new() }
    }

    fn create_file(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        path.to_owned()
    }

    fn provider_names(folder: &Folder) -> Vec<String> {
        provider_files(&folder.providers()).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn folder_has_only_needs_of_core() {
        let root = tempfile::tempdir().unwrap();
        let provider = create_file(&root.path().join(PROVIDER.built));
        for name in ["libtcp-fi.so", "librxm-fi.so", "libshm-fi.so", "libverbs-1.1-fi.so", "libtcp.so"] {
            create_file(&root.path().join("lib").join(name));
        }
        let lib = [root.path().join("lib")];
        let folder = Folder::make(None, &this_host()).unwrap();
        folder.add_providers(&provider, "tcp;ofi_rxm", &lib).unwrap();
        assert_eq!(provider_names(&folder), [PROVIDER.installed, "librxm-fi.so", "libtcp-fi.so"]);
        let path = folder.path.clone();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn named_folder_stays_and_is_renewed() {
        let root = tempfile::tempdir().unwrap();
        let provider = create_file(&root.path().join(PROVIDER.built));
        let named = root.path().join("run");
        let other = create_file(&named.join("mine"));
        for _ in 0..2 {
            let folder = Folder::make(Some(&named), &this_host()).unwrap();
            folder.add_providers(&provider, "shm", &[]).unwrap();
            assert_eq!(fs::read_dir(folder.reports()).unwrap().count(), 0);
            assert!(!fs::symlink_metadata(folder.providers().join(PROVIDER.installed)).unwrap().is_symlink());
            create_file(&folder.reports().join("old.json"));
        }
        assert!(other.exists());
        let shared = named.join(PROVIDER.built);
        fs::write(&shared, "old").unwrap();
        let mapped = fs::File::open(&shared).unwrap();
        Folder::make(Some(&named), &this_host()).unwrap().share(&provider).unwrap();
        assert_eq!((mapped.metadata().unwrap().len(), fs::read(&shared).unwrap().len()), (3, 0));
        let colon = root.path().join("a:b");
        let message = Folder::make(Some(&colon), &this_host()).unwrap_err().to_string();
        assert!(message.contains("--folder"), "{message}");
    }

    #[test]
    fn provider_is_found_near_command() {
        let root = tempfile::tempdir().unwrap();
        let program = create_file(&root.path().join("bin/matchpoint"));
        let message = PROVIDER.find(None, &program).unwrap_err().to_string();
        assert!(message.contains("cargo build") && message.contains(PROVIDER.variable), "{message}");
        for library in [&format!("lib/{}-linux-gnu", env::consts::ARCH), "lib64", "lib"] {
            let path = root.path().join(library).join("matchpoint/libmatchpoint-fi.so");
            let installed = create_file(&path).canonicalize().unwrap();
            assert_eq!(PROVIDER.find(None, &program).unwrap(), installed);
        }
        let folder_of_program =
            create_file(&root.path().join("bin").join(PROVIDER.built)).canonicalize().unwrap();
        assert_eq!(PROVIDER.find(None, &program).unwrap(), folder_of_program);
        assert!(PROVIDER.find(Some(root.path().join("none")), &program).is_err());
    }
}
