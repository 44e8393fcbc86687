//! What belongs to a launcher: the compiler and the header of its MPI.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What starts the processes of a job: the first word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// What was asked for.
    pub name: String,
    /// Where it is, and what that is a link to, and so on.
    pub path: Vec<PathBuf>,
}

/// Names that an `mpicc` may have a suffix of (`mpirun.openmpi` goes with `mpicc.openmpi`).
const LAUNCHERS: &[&str] = &["mpiexec.hydra", "mpiexec", "mpirun", "orterun", "prterun"];

/// Links to follow before giving up.
const LINKS: usize = 40;

impl Launcher {
    /// What to say of a command that [`find`](Self::find) does not find.
    pub fn not_found(name: &str) -> String {
        if name.starts_with('-') {
            return format!(
                "{name} stands behind --, where the launcher's name belongs, as in -- mpiexec -n 4; options of matchpoint \
                 stand before --"
            );
        }
        format!("{name}: no such command; check the name and the path")
    }

    /// Finds a command as a shell would.
    pub fn find(name: &str) -> Option<Launcher> {
        let found = in_path(name)?;
        let mut path = vec![found];
        while path.len() < LINKS {
            let last = path.last().expect("it is never empty");
            let Ok(link) = std::fs::read_link(last) else { break };
            let next = last.parent().map_or(link.clone(), |folder| folder.join(&link));
            path.push(next);
        }
        Some(Launcher { name: name.to_owned(), path })
    }

    /// Compilers that may belong to it, the likeliest first: what a link points to knows better than the link, as in
    /// Debian's alternatives, and a name with a suffix better than one without.
    pub fn compilers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for path in self.path.iter().rev() {
            found.extend(suffix(path).and_then(|suffix| sibling(path, &format!("mpicc{suffix}"))));
        }
        if !found.is_empty() {
            return found;
        }
        self.path.iter().filter_map(|path| sibling(path, "mpicc")).collect()
    }

    /// Folders that may hold the header of its MPI, where there is no compiler: packages keep `bin` and `include` together.
    pub fn headers(&self) -> Vec<PathBuf> {
        let beside = |path: &PathBuf| Some(path.parent()?.parent()?.join("include"));
        self.path.iter().filter_map(beside).filter(|folder| folder.join("mpi.h").is_file()).collect()
    }

    /// Whether it is one that MPI libraries bring, rather than a batch system's.
    pub fn is_of_library(&self) -> bool {
        let name = self.path[0].file_name().and_then(OsStr::to_str).unwrap_or_default();
        LAUNCHERS.iter().any(|launcher| name.starts_with(launcher))
    }
}

/// `.openmpi` of `mpirun.openmpi`.
fn suffix(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let suffix = LAUNCHERS.iter().find_map(|launcher| name.strip_prefix(launcher))?;
    (!suffix.is_empty()).then_some(suffix)
}

fn sibling(path: &Path, name: &str) -> Option<PathBuf> {
    let sibling = path.parent()?.join(name);
    sibling.is_file().then_some(sibling)
}

/// The file that a shell would run.
pub fn in_path(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return path.is_file().then_some(path);
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap();
    }

    #[test]
    fn alternatives_lead_to_the_compiler_of_the_same_library() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        for name in ["mpicc", "mpicc.openmpi", "mpicc.mpich", "orterun"] {
            touch(&bin.join(name));
        }
        fs::create_dir_all(root.path().join("alternatives")).unwrap();
        symlink("orterun", bin.join("mpirun.openmpi")).unwrap();
        symlink(bin.join("mpirun.openmpi"), root.path().join("alternatives/mpirun")).unwrap();
        symlink("../alternatives/mpirun", bin.join("mpirun")).unwrap();
        let launcher = Launcher::find(bin.join("mpirun").to_str().unwrap()).unwrap();
        assert_eq!(launcher.compilers(), [bin.join("mpicc.openmpi")]);
        assert!(launcher.is_of_library());
    }

    #[test]
    fn a_package_has_its_compiler_beside_its_launcher() {
        let root = tempfile::tempdir().unwrap();
        touch(&root.path().join("bin/mpicc"));
        touch(&root.path().join("bin/mpiexec"));
        touch(&root.path().join("include/mpi.h"));
        let launcher = Launcher::find(root.path().join("bin/mpiexec").to_str().unwrap()).unwrap();
        assert_eq!(launcher.compilers(), [root.path().join("bin/mpicc")]);
        assert_eq!(launcher.headers(), [root.path().join("include")]);
        assert!(launcher.is_of_library());
    }
}
