//! The folder of a trace: creation, checks, and the manifest after the job.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use matchpoint_trace::SearchCost;
use matchpoint_trace::native::manifest::{self, Manifest, RankFile};
use matchpoint_trace::native::{self, Summary};

use crate::error::RecordError;
use crate::sites;

/// Creates the folder, or removes an earlier trace. Returns true for a new folder.
pub(crate) fn create(path: &Path, replace: bool) -> Result<bool, RecordError> {
    let failed = |error: std::io::Error| RecordError::of_file(path, &error);
    let found = check(path, replace)?;
    let is_new = !path.exists();
    if is_new {
        fs::create_dir(path).map_err(failed)?;
    }
    remove(&found).map_err(failed)?;
    Ok(is_new)
}

/// Checks that a trace can be written to `path`. Returns the files of an earlier trace.
pub(crate) fn check(path: &Path, replace: bool) -> Result<Vec<PathBuf>, RecordError> {
    if !path.exists() {
        // Parent folders are not created, because the trace of a mistyped path is hard to find.
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        return match above.filter(|above| !above.exists()) {
            Some(above) => Err(RecordError(format!(
                "cannot create '{}': no folder '{}'\nhint: create the folder, or name another folder for the trace",
                path.display(),
                above.display()
            ))),
            None => Ok(Vec::new()),
        };
    }
    if !path.is_dir() {
        return Err(RecordError(format!(
            "'{}' exists and is not a folder\nhint: name another folder for the trace",
            path.display()
        )));
    }
    let entries = list_entries(path).map_err(|error| RecordError::of_file(path, &error))?;
    let all = entries.iter().all(|entry| is_trace_file(entry));
    if !entries.is_empty() && (!replace || !all) {
        let advice = if all {
            "name another folder for the trace, or use --replace"
        } else {
            "name another folder for the trace"
        };
        return Err(RecordError(format!("'{}' is not empty\nhint: {advice}", path.display())));
    }
    Ok(entries)
}

/// Removes the folder of a job that recorded nothing.
pub(crate) fn remove_unused(path: &Path, is_new: bool) {
    // A folder with other files stays.
    let _ = fs::remove_file(path.join(manifest::FILE));
    if is_new {
        let _ = fs::remove_dir(path);
    }
}

/// True for an entry that a recording creates: rank files, manifests, call sites, links, and folders of
/// spawned processes with only such entries.
fn is_trace_file(entry: &Path) -> bool {
    if is_spawned(entry) && !entry.is_symlink() {
        return list_entries(entry)
            .is_ok_and(|inside| inside.iter().all(|entry| !is_spawned(entry) && is_trace_file(entry)));
    }
    is_link(entry)
        || entry.is_file()
            && (entry.file_name().is_some_and(|name| name == manifest::FILE || name == sites::FILE)
                || entry.extension().is_some_and(|it| it == "mpt" || it == native::arrivals::EXTENSION))
}

fn remove(found: &[PathBuf]) -> std::io::Result<()> {
    found.iter().try_for_each(|entry| {
        if entry.is_dir() && !entry.is_symlink() {
            remove(&list_entries(entry)?)?;
            return fs::remove_dir(entry);
        }
        fs::remove_file(entry)
    })
}

fn list_entries(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}

/// True for a folder of spawned processes (`spawned-1`), or of a further job of the command (`job-2`).
fn is_spawned(entry: &Path) -> bool {
    spawned_number(entry).is_some() && entry.is_dir()
}

fn spawned_number(entry: &Path) -> Option<(&str, u32)> {
    let (what, number) = entry.file_name()?.to_str()?.split_once('-')?;
    Some((what, number.parse().ok()?)).filter(|_| matches!(what, "spawned" | "job"))
}

/// Symbolic links that processes create during the job to agree on settings.
const LINKS: &[&str] = &["job", "clocks"];

fn is_link(entry: &Path) -> bool {
    entry.is_symlink() && entry.file_name().is_some_and(|name| LINKS.iter().any(|link| name == *link))
}

/// Removes the links, after all processes have ended.
pub(crate) fn remove_links(path: &Path) {
    for link in LINKS.iter().map(|link| path.join(link)).filter(|link| is_link(link)) {
        // A link that cannot be removed has no effect.
        let _ = fs::remove_file(link);
    }
}

/// Folders of spawned processes and further jobs, in numeric order.
pub(crate) fn spawned(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        list_entries(path).unwrap_or_default().into_iter().filter(|entry| is_spawned(entry)).collect();
    found.sort_by(|one, other| spawned_number(one).cmp(&spawned_number(other)));
    found
}

/// Completes a manifest from the rank files. Returns the summaries of the files.
pub(crate) fn describe(path: &Path, manifest: &mut Manifest) -> Result<Vec<Summary>, RecordError> {
    remove_links(path);
    let files = native::summaries(path).map_err(|error| RecordError(error.to_string()))?;
    let first = files.first();
    manifest.state = "finished".to_owned();
    manifest.ended = Some(format_time(SystemTime::now()));
    manifest.ranks = first.map(|file| file.head.size);
    manifest.mpi = first.and_then(|file| file.head.library_line()).unwrap_or_default();
    manifest.transport = first.map(|file| file.head.transport.clone()).unwrap_or_default();
    let searches: Vec<SearchCost> = files.iter().flat_map(|file| file.searches.iter().cloned()).collect();
    manifest.search = SearchCost::medians(&searches);
    manifest.files = files
        .iter()
        .map(|file| RankFile {
            rank: file.head.rank,
            file: native::file_name(file.head.rank),
            bytes: file.bytes,
            calls: file.calls,
            complete: file.end.as_ref().is_some_and(|end| end.reason == "finalize" && end.left_out == 0),
        })
        .collect();
    Ok(files)
}

/// Creates the manifest of spawned processes. Returns the summaries, and the result of writing the manifest.
pub(crate) fn describe_spawned(path: &Path) -> Result<(Vec<Summary>, Result<(), RecordError>), RecordError> {
    let mut manifest =
        Manifest { format: manifest::FORMAT.to_owned(), version: native::VERSION, ..Manifest::default() };
    let files = describe(path, &mut manifest)?;
    if let Some(head) = files.first().map(|file| &file.head) {
        let began = Duration::from_nanos(u64::try_from(head.started_ns).unwrap_or(0));
        manifest.command = vec![head.program.clone()];
        manifest.started = Some(format_time(SystemTime::UNIX_EPOCH + began));
    }
    let written = write(path, &manifest);
    Ok((files, written))
}

/// Writes the manifest atomically.
pub(crate) fn write(folder: &Path, manifest: &Manifest) -> Result<(), RecordError> {
    let path = folder.join(manifest::FILE);
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, manifest)?;
        // Readable by every user with access to the folder.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|error| RecordError::of_file(&path, &error))
}

pub(crate) fn format_time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_file(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn replace_changes_only_whole_trace() {
        let root = tempfile::tempdir().unwrap();
        let trace = root.path().join("trace");
        for file in [
            "manifest.json",
            "rank-00000.mpt",
            "rank-00000.mpa",
            "spawned-1/rank-00000.mpt",
            "spawned-1/manifest.json",
        ] {
            create_file(&trace.join(file));
        }
        let refused = create(&trace, false).unwrap_err();
        assert!(refused.to_string().contains("--replace"), "{refused}");
        std::os::unix::fs::symlink("target", trace.join("job")).unwrap();
        create(&trace, true).unwrap();
        assert!(list_entries(&trace).unwrap().is_empty());
        for other in ["notes.txt", "spawned-1/results", "spawned-1/spawned-1/rank-00000.mpt"] {
            let trace = root.path().join(other.replace('/', "_"));
            create_file(&trace.join("rank-00000.mpt"));
            create_file(&trace.join(other));
            let refused = create(&trace, true).unwrap_err();
            assert!(!refused.to_string().contains("--replace"), "{refused}");
            assert!(trace.join(other).exists() && trace.join("rank-00000.mpt").exists());
        }
    }

    #[test]
    fn trace_needs_existing_parent_folder() {
        let root = tempfile::tempdir().unwrap();
        let nowhere = root.path().join("no/trace");
        let refused = create(&nowhere, false).unwrap_err().to_string();
        assert!(refused.contains("no folder") && !root.path().join("no").exists(), "{refused}");
        let source = root.path().join("ring.c");
        fs::write(&source, "int main;").unwrap();
        for replace in [false, true] {
            let refused = create(&source, replace).unwrap_err().to_string();
            assert!(refused.contains("ring.c' exists and is not a folder"), "{refused}");
        }
        assert_eq!(fs::read(&source).unwrap(), b"int main;");
    }

    #[test]
    fn spawned_folders_are_in_numeric_order() {
        let root = tempfile::tempdir().unwrap();
        for name in ["spawned-10", "spawned-2", "spawned-x"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        fs::create_dir(root.path().join("job-2")).unwrap();
        fs::write(root.path().join("spawned-1"), "").unwrap();
        let found = ["job-2", "spawned-2", "spawned-10"].map(|name| root.path().join(name));
        assert_eq!(spawned(root.path()), found);
    }
}
