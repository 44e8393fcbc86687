//! The launcher of a command, and the compiler and header of the launcher's MPI library.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The launcher of a command: the first word that is a launcher of an MPI library, else the first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Name in the command.
    pub name: String,
    /// The path, then the targets of its symbolic links.
    pub path: Vec<PathBuf>,
    /// Index of the word in the command. Earlier words are wrappers (`nice`, `env A=1`, `timeout 60`).
    pub at: usize,
}

/// Launchers of MPI libraries. A suffix is that of the compiler (`mpirun.openmpi` and `mpicc.openmpi`).
const LAUNCHERS: &[&str] = &["mpiexec.hydra", "mpiexec", "mpirun", "orterun", "prterun"];

const LINKS: usize = 40;

impl Launcher {
    /// The error for a first word that is no command.
    pub fn not_found(name: &str) -> String {
        if name.starts_with('-') {
            return format!(
                "'{name}' follows --, where a launcher is expected\nhint: put options of matchpoint before --, as in -- mpiexec -n 4"
            );
        }
        format!("no such command: '{name}'\nhint: check the name and the path")
    }

    /// The launcher of a command; `None` if the first word is no command.
    pub fn of(words: &[String]) -> Option<Launcher> {
        let first = Launcher::find(words.first()?)?;
        if first.is_of_library() {
            return Some(first);
        }
        let later = words.iter().enumerate().skip(1).filter(|(_, word)| is_launcher(word.as_ref()));
        let later = later.filter_map(|(at, word)| Some(Launcher { at, ..Launcher::find(word)? })).next();
        Some(later.unwrap_or(first))
    }

    /// Finds a command as a shell does, and follows its symbolic links.
    fn find(name: &str) -> Option<Launcher> {
        let found = in_path(name)?;
        let mut path = vec![found];
        while path.len() < LINKS {
            let last = path.last().expect("the list starts with one path");
            let Ok(link) = std::fs::read_link(last) else { break };
            let next = last.parent().map_or(link.clone(), |folder| folder.join(&link));
            path.push(next);
        }
        Some(Launcher { name: name.to_owned(), path, at: 0 })
    }

    /// Compilers of the launcher's MPI library, most likely first.
    ///
    /// The target of a link takes precedence over the link, as in Debian's alternatives; a name with suffix
    /// takes precedence over a name without. A batch system's launcher has no compiler: an `mpicc` in its
    /// folder may belong to any MPI library.
    pub fn compilers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if !self.is_of_library() {
            return found;
        }
        for path in self.path.iter().rev() {
            found.extend(suffix(path).and_then(|suffix| existing_sibling(path, &format!("mpicc{suffix}"))));
        }
        if !found.is_empty() {
            return found;
        }
        self.path.iter().filter_map(|path| existing_sibling(path, "mpicc")).collect()
    }

    /// Folders `include` next to `bin` with the header, for packages without a compiler.
    pub fn headers(&self) -> Vec<PathBuf> {
        if !self.is_of_library() {
            return Vec::new();
        }
        let include_folder = |path: &PathBuf| Some(path.parent()?.parent()?.join("include"));
        self.path.iter().filter_map(include_folder).filter(|folder| folder.join("mpi.h").is_file()).collect()
    }

    /// True for a launcher of an MPI library, false for a batch system's launcher.
    pub fn is_of_library(&self) -> bool {
        is_launcher(&self.path[0])
    }
}

fn is_launcher(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    LAUNCHERS.iter().any(|launcher| name.starts_with(launcher))
}

/// Suffix of a launcher: `.openmpi` for `mpirun.openmpi`.
fn suffix(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let suffix = LAUNCHERS.iter().find_map(|launcher| name.strip_prefix(launcher))?;
    (!suffix.is_empty()).then_some(suffix)
}

fn existing_sibling(path: &Path, name: &str) -> Option<PathBuf> {
    let sibling = path.parent()?.join(name);
    sibling.is_file().then_some(sibling)
}

/// The file that a shell runs for this name.
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

    fn create_file(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap();
    }

    #[test]
    fn alternatives_have_compiler_of_same_library() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        for name in ["mpicc", "mpicc.openmpi", "mpicc.mpich", "orterun"] {
            create_file(&bin.join(name));
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
            create_file(&root.path().join(name));
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
        create_file(&root.path().join("bin/mpicc"));
        create_file(&root.path().join("bin/mpiexec"));
        create_file(&root.path().join("include/mpi.h"));
        let launcher = Launcher::find(root.path().join("bin/mpiexec").to_str().unwrap()).unwrap();
        assert_eq!(launcher.compilers(), [root.path().join("bin/mpicc")]);
        assert_eq!(launcher.headers(), [root.path().join("include")]);
        assert!(launcher.is_of_library());
    }
}
