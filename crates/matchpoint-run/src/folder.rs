//! The folder of a run: what libfabric loads providers from, and where processes put their reports.
//!
//! libfabric loads every file whose name ends in `-fi.so` from the folders of `FI_PROVIDER_PATH`, which replaces its
//! own; Intel's takes one folder only. So there is one, with links: to our provider, and to those of the MPI that the
//! core needs. On other hosts a link to our provider may lead nowhere, and it is copied instead.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::error::RunError;
use crate::hosts::Hosts;

/// What our provider is called as a file that libfabric loads, and where it is installed.
const NAME: &str = "libmatchpoint-fi.so";
/// What cargo calls it.
const BUILT: &str = "libmatchpoint_fabric.so";
/// Names the provider, where it lies elsewhere.
pub const VARIABLE: &str = "MATCHPOINT_PROVIDER_FILE";

/// A folder that is there; it goes when this is dropped, unless the user named it.
#[derive(Debug)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    /// Its own.
    temporary: Option<TempDir>,
}

/// The provider's file: what the environment names, what lies beside the command, or what was installed with it.
///
/// # Errors
/// There is none.
pub fn provider(named: Option<PathBuf>, program: &Path) -> Result<PathBuf, RunError> {
    if let Some(path) = named {
        let found = path.canonicalize();
        return found.map_err(|error| RunError(format!("{VARIABLE} is {}: {error}", path.display())));
    }
    let beside = program.parent().unwrap_or(Path::new("."));
    let built = [beside.join(BUILT), beside.join("deps").join(BUILT)];
    // Systems have three names for the folder of libraries.
    let libraries = ["lib".to_owned(), "lib64".to_owned(), format!("lib/{}-linux-gnu", env::consts::ARCH)];
    let installed = libraries.map(|library| beside.join("..").join(library).join("matchpoint").join(NAME));
    let mut places = built.iter().chain(&installed);
    places.find_map(|path| path.canonicalize().ok()).ok_or_else(|| {
        RunError(format!(
            "the provider that libfabric is to load is neither {BUILT} beside {} nor ../lib/matchpoint/{NAME}: build it \
             with cargo build --release -p matchpoint-fabric, install it with scripts/install, or name it in {VARIABLE}",
            program.display()
        ))
    })
}

impl Folder {
    /// Makes one, at `named` or in a place that will do, with links to `provider` and to what `core` needs of `folders`.
    ///
    /// # Errors
    /// It cannot be made, or libfabric could not be told its name.
    pub fn make(
        named: Option<&Path>,
        hosts: &Hosts,
        provider: &Path,
        core: &str,
        folders: &[PathBuf],
    ) -> Result<Folder, RunError> {
        let folder = match named {
            Some(path) => {
                fs::create_dir_all(path).map_err(|error| RunError::file(path, &error))?;
                let path = path.canonicalize().map_err(|error| RunError::file(path, &error))?;
                Folder { path, temporary: None }
            }
            None => temporary(hosts)?,
        };
        if folder.path.to_string_lossy().contains(':') {
            return Err(RunError(format!(
                "{}: a colon separates folders in FI_PROVIDER_PATH; name another with --folder",
                folder.path.display()
            )));
        }
        for path in [folder.providers(), folder.reports()] {
            fs::create_dir_all(&path).map_err(|error| RunError::file(&path, &error))?;
        }
        empty(&folder.providers(), &["-fi.so"])?;
        folder.forget_reports()?;
        folder.fill(hosts.here && named.is_none(), provider, core, folders)?;
        Ok(folder)
    }

    fn fill(&self, link: bool, provider: &Path, core: &str, folders: &[PathBuf]) -> Result<(), RunError> {
        let own = self.providers().join(NAME);
        let done = if link { symlink(provider, &own) } else { fs::copy(provider, &own).map(drop) };
        done.map_err(|error| RunError::file(&own, &error))?;
        for part in core.split(';').map(|part| part.trim_start_matches("ofi_")) {
            for (name, file) in folders.iter().flat_map(|folder| files(folder)) {
                let at = self.providers().join(&name);
                // The first folder that has it, as libfabric would.
                if name.starts_with(&format!("lib{part}-")) && !at.exists() {
                    symlink(&file, &at).map_err(|error| RunError::file(&at, &error))?;
                }
            }
        }
        Ok(())
    }

    /// For `FI_PROVIDER_PATH`.
    pub fn providers(&self) -> PathBuf {
        self.path.join("providers")
    }

    /// For `MATCHPOINT_REPORT`, and `MATCHPOINT_ARRIVALS`.
    pub fn reports(&self) -> PathBuf {
        self.path.join("reports")
    }

    /// What processes of an earlier run have left there.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget_reports(&self) -> Result<(), RunError> {
        empty(&self.reports(), &[".json", ".txt", ".bin"])
    }

    /// The user named it: it stays.
    pub fn stays(&self) -> bool {
        self.temporary.is_none()
    }
}

/// On this host, where temporary files go; else here, which clusters let all hosts see more often than not.
fn temporary(hosts: &Hosts) -> Result<Folder, RunError> {
    let place = if hosts.here { env::temp_dir() } else { PathBuf::from(".") };
    let made = Builder::new().prefix("matchpoint-run-").tempdir_in(&place);
    let made = made.map_err(|error| RunError::file(&place, &error))?;
    let path = made.path().canonicalize().map_err(|error| RunError::file(&place, &error))?;
    Ok(Folder { path, temporary: Some(made) })
}

/// Of what ends in one of these.
fn empty(folder: &Path, endings: &[&str]) -> Result<(), RunError> {
    let failed = |error| RunError::file(folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if endings.iter().any(|ending| entry.file_name().to_string_lossy().ends_with(ending)) {
            fs::remove_file(entry.path()).map_err(|error| RunError::file(&entry.path(), &error))?;
        }
    }
    Ok(())
}

/// Providers in a folder, sorted; or the one file that was named.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
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

    fn here() -> Hosts {
        Hosts { count: 1, here: true, why: String::new() }
    }

    fn touch(path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        path.to_owned()
    }

    fn names(folder: &Folder) -> Vec<String> {
        files(&folder.providers()).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_the_core_needs_is_there_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let provider = touch(&root.path().join(BUILT));
        for name in ["libtcp-fi.so", "librxm-fi.so", "libshm-fi.so", "libverbs-1.1-fi.so", "libtcp.so"] {
            touch(&root.path().join("lib").join(name));
        }
        let lib = [root.path().join("lib")];
        let folder = Folder::make(None, &here(), &provider, "tcp;ofi_rxm", &lib).unwrap();
        assert_eq!(names(&folder), [NAME, "librxm-fi.so", "libtcp-fi.so"]);
        let path = folder.path.clone();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn one_that_the_user_names_stays_and_is_renewed() {
        let root = tempfile::tempdir().unwrap();
        let provider = touch(&root.path().join(BUILT));
        let named = root.path().join("run");
        let other = touch(&named.join("mine"));
        for _ in 0..2 {
            let folder = Folder::make(Some(&named), &here(), &provider, "shm", &[]).unwrap();
            assert_eq!(fs::read_dir(folder.reports()).unwrap().count(), 0);
            assert!(!fs::symlink_metadata(folder.providers().join(NAME)).unwrap().is_symlink());
            touch(&folder.reports().join("old.json"));
        }
        assert!(other.exists());
        let colon = root.path().join("a:b");
        let said = Folder::make(Some(&colon), &here(), &provider, "shm", &[]).unwrap_err().to_string();
        assert!(said.contains("--folder"), "{said}");
    }

    #[test]
    fn the_provider_is_beside_the_command_or_installed_with_it() {
        let root = tempfile::tempdir().unwrap();
        let program = touch(&root.path().join("bin/matchpoint"));
        let said = provider(None, &program).unwrap_err().to_string();
        assert!(said.contains("cargo build") && said.contains(VARIABLE), "{said}");
        for library in [&format!("lib/{}-linux-gnu", env::consts::ARCH), "lib64", "lib"] {
            let path = root.path().join(library).join("matchpoint/libmatchpoint-fi.so");
            let installed = touch(&path).canonicalize().unwrap();
            assert_eq!(provider(None, &program).unwrap(), installed);
        }
        let beside = touch(&root.path().join("bin").join(BUILT)).canonicalize().unwrap();
        assert_eq!(provider(None, &program).unwrap(), beside);
        assert!(provider(Some(root.path().join("none")), &program).is_err());
    }
}
