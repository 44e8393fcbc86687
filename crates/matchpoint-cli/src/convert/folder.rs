//! Output formats with a folder and one file per rank.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use matchpoint_replay::Progress;
use matchpoint_replay::members::Members;
use matchpoint_trace::call::Action;
use matchpoint_trace::native::layout::fields;
use matchpoint_trace::native::manifest::{self, Manifest, RankFile};
use matchpoint_trace::{Function, Trace, dumpi, native};
use tempfile::{Builder, TempDir};

use super::origin::Origin;
use super::ranks::{Written, each_call, each_rank, failed};
use crate::cli::Format;
use crate::failure::{Failure, folder_of};
use crate::progress;

const PREFIX: &str = "dumpi";

pub(super) struct Folder {
    path: PathBuf,
    staged: TempDir,
}

impl Folder {
    pub fn reserve(path: &Path) -> Result<Self, Failure> {
        let writing = |error: io::Error| Failure::writing(path, &error);
        match fs::read_dir(path) {
            Ok(_) if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) => {
                let problem =
                    format!("'{}' is not empty\nhint: name another folder, or remove it", path.display());
                return Err(Failure::Message(problem));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(writing(error)),
        }
        let mut builder = Builder::new();
        builder.prefix(".matchpoint-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let staged = builder.tempdir_in(folder_of(path)).map_err(writing)?;
        Ok(Folder { path: path.to_owned(), staged })
    }

    pub fn fill(self, trace: &dyn Trace, to: Format, progress: &Progress) -> Result<Written, Failure> {
        let passes = if to == Format::Native { 2 } else { 1 };
        progress.bytes_total.store(trace.description().bytes * passes, Relaxed);
        let written = progress::shown(progress, || match to {
            Format::Native => self.native(trace, progress),
            _ => self.dumpi(trace, progress),
        })?;
        if progress.stopped() {
            return Err(Failure::Interrupted);
        }
        let Folder { path, staged } = self;
        fs::rename(staged.path(), &path).map_err(|error| Failure::writing(&path, &error))?;
        let _ = staged.keep();
        Ok(written)
    }

    fn create(&self, name: &str) -> Result<BufWriter<File>, Failure> {
        let file = File::create(self.staged.path().join(name));
        let file = file.map_err(|error| Failure::writing(&self.path.join(name), &error))?;
        Ok(BufWriter::with_capacity(256 << 10, file))
    }

    fn failed(&self, name: &str, progress: &Progress, error: &io::Error) -> Failure {
        failed(progress, error, |error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                let path = self.path.join(name);
                Failure::Message(format!("'{}' cannot represent a call: {error}", path.display()))
            }
            _ => Failure::writing(&self.path.join(name), error),
        })
    }

    fn dumpi(&self, trace: &dyn Trace, progress: &Progress) -> Result<Written, Failure> {
        let size = trace.description().ranks;
        let origin = Origin::of(trace);
        let ranks = each_rank(trace, |_, rank| {
            let name = dumpi::file_name(PREFIX, rank);
            let settings = dumpi::Settings { rank, size, host: String::new(), started_s: 0 };
            let file = self.create(&name)?;
            let write = || {
                let mut writer = dumpi::Writer::new(file, settings)?;
                let calls = each_call(trace, &origin, rank, progress, |call| writer.call(call))?;
                let (_, deviations) = writer.finish()?;
                Ok((calls, deviations))
            };
            write().map_err(|error: io::Error| self.failed(&name, progress, &error))
        })?;
        let name = format!("{PREFIX}.meta");
        let meta = dumpi::meta(PREFIX, size, 0);
        let mut file = self.create(&name)?;
        let put = file.write_all(meta.as_bytes()).and_then(|()| file.flush());
        put.map_err(|error| self.failed(&name, progress, &error))?;
        let mut deviations = dumpi::Deviations::default();
        ranks.iter().for_each(|(_, of_rank)| deviations.add(of_rank));
        let mut notes = deviations.notes();
        notes.extend(origin.lost(Format::Dumpi));
        Ok(Written { calls: ranks.iter().map(|(calls, _)| calls).sum(), notes })
    }

    fn native(&self, trace: &dyn Trace, progress: &Progress) -> Result<Written, Failure> {
        let members = Members::of(trace, progress)?;
        let description = trace.description();
        let origin = Origin::of(trace);
        let files = each_rank(trace, |index, rank| {
            let name = native::file_name(rank);
            let settings = native::Settings {
                clock_error_ns: description.clock_error_ns,
                null_looks_any: description.null_looks_any,
                ..native::Settings::of(rank, description.ranks)
            };
            let file = self.create(&name)?;
            let mut members = members.rank(index);
            let write = || {
                let mut writer = native::Writer::new(file, settings)?;
                let (mut complete, mut unnamed) = (false, 0);
                let calls = each_call(trace, &origin, rank, progress, |call| {
                    members.list(call);
                    complete |= call.function == Function::Finalize;
                    // In the native format, a call of this function has arguments.
                    if call.action == Action::Other && !fields(call.function).is_empty() {
                        call.function = Function::Unknown;
                        unnamed += 1;
                    }
                    writer.call(call)
                })?;
                writer.finish(if complete { "finalize" } else { "exit" })?;
                let bytes = fs::metadata(self.staged.path().join(&name))?.len();
                Ok((RankFile { rank, file: name.clone(), bytes, calls, complete }, unnamed))
            };
            write().map_err(|error: io::Error| self.failed(&name, progress, &error))
        })?;
        let unnamed: u64 = files.iter().map(|(_, unnamed)| unnamed).sum();
        let files: Vec<RankFile> = files.into_iter().map(|(file, _)| file).collect();
        let calls = files.iter().map(|file| file.calls).sum();
        self.manifest(origin.manifest(), description.ranks, files, progress)?;
        let note = format!(
            "{unnamed} calls lost their function name: the original has no arguments of these calls."
        );
        let mut notes = if unnamed > 0 { vec![note] } else { Vec::new() };
        notes.extend(origin.lost(Format::Native));
        Ok(Written { calls, notes })
    }

    fn manifest(
        &self,
        of_run: Manifest,
        ranks: u32,
        files: Vec<RankFile>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let manifest = Manifest {
            format: manifest::FORMAT.to_owned(),
            version: native::VERSION,
            state: "finished".to_owned(),
            ranks: Some(ranks),
            files,
            ..of_run
        };
        let mut file = self.create(manifest::FILE)?;
        let put = serde_json::to_writer_pretty(&mut file, &manifest).map_err(io::Error::from);
        let put = put.and_then(|()| file.write_all(b"\n")).and_then(|()| file.flush());
        put.map_err(|error| self.failed(manifest::FILE, progress, &error))
    }
}
