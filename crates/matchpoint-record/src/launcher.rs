//! What belongs to a launcher: the compiler and the header of its MPI.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What starts the processes of a job: the first word of a command that names a launcher of an MPI library, or else its first
/// word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// What was asked for.
    pub name: String,
    /// Where it is, and what that is a link to, and so on.
    pub path: Vec<PathBuf>,
    /// Which word of the command it is: those before it start it (`nice`, `env A=1`, `timeout 60`).
    pub at: usize,
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
                "'{name}' follows --, where the launcher's name belongs\nhint: put options of matchpoint before --, \
                 as in -- mpiexec -n 4"
            );
        }
        format!("no such command: '{name}'\nhint: check the name and the path")
    }

    /// Finds the launcher of a command. `None`: the first word is no command.
    pub fn of(words: &[String]) -> Option<Launcher> {
        let first = Launcher::find(words.first()?)?;
        if first.is_of_library() {
            return Some(first);
        }
        let later = words.iter().enumerate().skip(1).filter(|(_, word)| is_launcher(word.as_ref()));
        let later = later.filter_map(|(at, word)| Some(Launcher { at, ..Launcher::find(word)? })).next();
        Some(later.unwrap_or(first))
    }

    /// Finds a command as a shell would.
    fn find(name: &str) -> Option<Launcher> {
        let found = in_path(name)?;
        let mut path = vec![found];
        while path.len() < LINKS {
            let last = path.last().expect("it is never empty");
            let Ok(link) = std::fs::read_link(last) else { break };
            let next = last.parent().map_or(link.clone(), |folder| folder.join(&link));
            path.push(next);
        }
        Some(Launcher { name: name.to_owned(), path, at: 0 })
    }

    /// Compilers that may belong to it, the likeliest first: what a link points to knows better than the link, as in
    /// Debian's alternatives, and a name with a suffix better than one without. A batch
    /// system's launcher, or a command that is no launcher, has none: an `mpicc` in its folder may be of any MPI.
    pub fn compilers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if !self.is_of_library() {
            return found;
        }
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
        if !self.is_of_library() {
            return Vec::new();
        }
        let beside = |path: &PathBuf| Some(path.parent()?.parent()?.join("include"));
        self.path.iter().filter_map(beside).filter(|folder| folder.join("mpi.h").is_file()).collect()
    }

    /// Whether it is one that MPI libraries bring, rather than a batch system's.
    pub fn is_of_library(&self) -> bool {
        is_launcher(&self.path[0])
    }
}

fn is_launcher(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    LAUNCHERS.iter().any(|launcher| name.starts_with(launcher))
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
    fn alternatives_have_compiler_of_same_library() {
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
    fn wrapper_before_launcher_is_skipped() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
        for name in ["usr/nice", "usr/mpicc", "mpi/mpiexec", "mpi/mpicc"] {
            touch(&root.path().join(name));
        }
        let words =
            [file("usr/nice"), "-n".to_owned(), "5".to_owned(), file("mpi/mpiexec"), "./app".to_owned()];
        let launcher = Launcher::of(&words).unwrap();
        assert_eq!((launcher.at, launcher.compilers()), (3, vec![root.path().join("mpi/mpicc")]));
        let alone = Launcher::of(&words[..3]).unwrap();
        assert_eq!((alone.at, alone.compilers(), alone.headers()), (0, vec![], vec![]));
        assert_eq!(Launcher::of(&[file("usr/none")]), None);
    }

    #[test]
    fn package_has_compiler_next_to_launcher() {
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
