//! Files appear whole or not at all: written under another name in the same folder, renamed at the end.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;

/// The files of one run. What is not [committed](Self::commit) leaves no trace when this is dropped.
#[derive(Default)]
pub struct Outputs {
    staged: Vec<Staged>,
    made_folders: Vec<PathBuf>,
    /// What goes to standard output: not before the files have their names.
    printed: Option<Vec<u8>>,
}

/// Where an output goes: its number among the files, or standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(Option<usize>);

impl Place {
    /// Whether that is standard output.
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
    /// A pipe or a device cannot be replaced by a file.
    Direct(File),
}

impl Outputs {
    /// Makes room for a file; `-` is standard output. Called before the replay, so that a path without permission fails
    /// early.
    ///
    /// # Errors
    /// Its folder does not exist, or may not be written to.
    pub fn reserve(&mut self, path: &Path) -> Result<Place, Failure> {
        if is_stdout(path) {
            return Ok(Place(None));
        }
        let sink = open(path).map_err(|error| Failure::writing(path, &error))?;
        self.staged.push(Staged { path: path.to_owned(), sink });
        Ok(Place(Some(self.staged.len() - 1)))
    }

    /// The same of an option that may not be given.
    ///
    /// # Errors
    /// As of [`reserve`](Self::reserve).
    pub fn reserve_if(&mut self, path: Option<&Path>) -> Result<Option<Place>, Failure> {
        path.map(|path| self.reserve(path)).transpose()
    }

    /// Makes a folder, unless it is there. What comes of the work may be the first to be written there, hours later: so whoever
    /// cannot write there learns it now.
    ///
    /// # Errors
    /// It cannot be made, or not be written to, or something else has its name.
    pub fn folder(&mut self, path: &Path) -> Result<(), Failure> {
        if path.is_dir() {
            return match temporary(&path.join("file")) {
                Ok(_) => Ok(()),
                Err(error) => {
                    let problem =
                        format!("cannot write into {}: {error}; name another folder", path.display());
                    Err(Failure::Message(problem))
                }
            };
        }
        if path.exists() {
            let problem =
                format!("{} is there, and no folder, which is to be written: name another", path.display());
            return Err(Failure::Message(problem));
        }
        fs::create_dir(path).map_err(|error| Failure::writing(path, &error))?;
        self.made_folders.push(path.to_owned());
        Ok(())
    }

    /// Whether a file could be made there, which is not.
    ///
    /// # Errors
    /// As of [`reserve`](Self::reserve).
    pub fn try_out(&self, path: &Path) -> Result<(), Failure> {
        open(path).map(drop).map_err(|error| Failure::writing(path, &error))
    }

    /// Writes to a reserved place.
    ///
    /// # Errors
    /// The disk is full, or a reader of the pipe is gone.
    pub fn fill(
        &mut self,
        place: Place,
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

    /// Gives every file its name.
    ///
    /// # Errors
    /// A rename fails; the files renamed before it stay.
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

    /// Gives every file its name, prints `text`, or what was written to standard output in its place, and reports the files.
    ///
    /// # Errors
    /// As of [`commit`](Self::commit), or standard output is closed.
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
            // Only if empty: a file that somebody put there meanwhile is not ours to remove.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn open(path: &Path) -> io::Result<Sink> {
    match fs::metadata(path) {
        Ok(known) if known.is_dir() => Err(io::Error::other("it is a folder")),
        Ok(known) if !known.is_file() => File::options().write(true).open(path).map(Sink::Direct),
        _ => temporary(path).map(Sink::Temporary),
    }
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    builder.prefix(".matchpoint-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets (the umask still applies): a report is meant to be passed around.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Columns of the terminal that standard output is, if it is one.
pub fn columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map(|(width, _)| usize::from(width.0)).filter(|&width| width > 0)
}

/// Whether a path means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
