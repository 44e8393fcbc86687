//! Output files that are complete or absent. A file is written under a temporary name in the same folder, and then
//! renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::failure::{Failure, folder_of};

/// Output files of a command. Without a [commit](Self::commit), the files are removed on drop.
#[derive(Default)]
pub struct Outputs {
    staged: Vec<Staged>,
    made_folders: Vec<PathBuf>,
    printed: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputId(Option<usize>);

impl OutputId {
    pub fn is_stdout(self) -> bool {
        self.0.is_none()
    }
}

struct Staged {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    Temporary(NamedTempFile),
    /// A pipe or a device, which a file cannot replace.
    Direct(File),
}

impl Outputs {
    /// Reserves a file before the work, so that errors are early. `-` is standard output.
    pub fn reserve(&mut self, path: &Path) -> Result<OutputId, Failure> {
        if is_stdout(path) {
            return Ok(OutputId(None));
        }
        let sink = open(path).map_err(|error| Failure::writing(path, &error))?;
        self.staged.push(Staged { path: path.to_owned(), sink });
        Ok(OutputId(Some(self.staged.len() - 1)))
    }

    pub fn reserve_if(&mut self, path: Option<&Path>) -> Result<Option<OutputId>, Failure> {
        path.map(|path| self.reserve(path)).transpose()
    }

    /// Creates a folder if necessary, and checks that files can be written there.
    pub fn folder(&mut self, path: &Path) -> Result<(), Failure> {
        if path.is_dir() {
            return match temporary(&path.join("file")) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let problem =
                        format!("cannot write to '{}': {error}\nhint: name another folder", path.display());
                    Err(Failure::Message(problem))
                }
            };
        }
        if path.exists() {
            let problem =
                format!("'{}' exists and is not a folder\nhint: name another folder", path.display());
            return Err(Failure::Message(problem));
        }
        fs::create_dir(path).map_err(|error| Failure::writing(path, &error))?;
        self.made_folders.push(path.to_owned());
        Ok(())
    }

    /// Checks that a file could be created, without creating the file.
    pub fn check_writable(&self, path: &Path) -> Result<(), Failure> {
        open(path).map(drop).map_err(|error| Failure::writing(path, &error))
    }

    pub fn fill(
        &mut self,
        place: OutputId,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(index) = place.0 else {
            return write(self.printed.insert(Vec::new())).map_err(|error| Failure::printing(&error));
        };
        let Staged { path, sink } = &mut self.staged[index];
        let file = match sink {
            Sink::Temporary(file) => file.as_file_mut(),
            Sink::Direct(file) => file,
        };
        let mut buffered = BufWriter::new(file);
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(|error| Failure::writing(path, &error))
    }

    /// Renames every temporary file. An error does not undo earlier renames.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, Failure> {
        self.made_folders.clear();
        let mut written = Vec::new();
        for Staged { path, sink } in self.staged.drain(..) {
            if let Sink::Temporary(file) = sink {
                file.persist(&path).map_err(|error| Failure::writing(&path, &error.error))?;
            }
            written.push(path);
        }
        Ok(written)
    }

    /// Renames the files. Prints `text`, or the reserved text for standard output, and the names of the files.
    pub fn finish(mut self, text: &str) -> Result<(), Failure> {
        let printed = self.printed.take();
        let written = self.commit()?;
        let mut out = anstream::stdout().lock();
        let printed = out.write_all(printed.as_deref().unwrap_or(text.as_bytes())).and_then(|()| out.flush());
        for path in written {
            anstream::eprintln!("matchpoint: wrote {}", path.display());
        }
        printed.map_err(|error| Failure::printing(&error))
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.staged.clear();
        for folder in &self.made_folders {
            // Removal fails if the folder contains files of others.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn open(path: &Path) -> io::Result<Sink> {
    match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(io::Error::other("it is a folder, not a file")),
        Ok(known) if !known.is_file() => File::options().write(true).open(path).map(Sink::Direct),
        _ => temporary(path).map(Sink::Temporary),
    }
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".matchpoint-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // New files have mode 0666 without the umask, and temporary files 0600.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(path))
}

pub fn print(text: &str) -> Result<(), Failure> {
    anstream::stdout().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

pub fn columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(width, _)| usize::from(width.0)).filter(|&width| width > 0)
}

pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The file need not exist.
pub fn canonical(path: &Path) -> PathBuf {
    match (path.canonicalize(), folder_of(path).canonicalize(), path.file_name()) {
        (Ok(path), ..) => path,
        (Err(_), Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

pub fn check_distinct(options: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut named: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in options {
        let Some(path) = *path else { continue };
        let place = if is_stdout(path) { path.to_owned() } else { canonical(path) };
        if let Some((other, _)) = named.iter().find(|(_, taken)| *taken == place) {
            let what =
                if is_stdout(path) { "standard output".to_owned() } else { path.display().to_string() };
            return Err(Failure::usage(format!(
                "{other} and {option} both name '{what}'\nhint: name a separate file for each"
            )));
        }
        named.push((option, place));
    }
    Ok(())
}

/// Only the JSON may go to standard output.
pub fn json_and_page(json: Option<&Path>, page: Option<&Path>) -> Result<(), Failure> {
    if page.is_some_and(is_stdout) {
        let problem = "--html cannot go to standard output\nhint: name a file";
        return Err(Failure::usage(problem.to_owned()));
    }
    check_distinct(&[("--json", json), ("--html", page)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_paths_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("there"), "").unwrap();
        for (one, other, is_same) in
            [("a", "./a", true), ("there", "./there", true), ("a", "b", false), ("there", "b", false)]
        {
            let (one, other) = (file(one), file(other));
            let result = check_distinct(&[("--json", Some(&one)), ("--csv", None), ("--plot", Some(&other))]);
            assert_eq!(result.is_err(), is_same, "{one:?} {other:?}");
        }
        let dash = Some(Path::new("-"));
        assert!(check_distinct(&[("--json", dash), ("--csv", dash)]).is_err());
        assert!(check_distinct(&[("--json", dash), ("--csv", Some(&file("a")))]).is_ok());
    }
}
