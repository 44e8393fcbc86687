//! Finds the folder of a trace.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use matchpoint_trace::native;
use matchpoint_trace::native::manifest;

use super::process;
use crate::RecordError;
use crate::recording::FOLDER;

/// The folder `target`, or the folder to which the process `target` or one of its descendants writes.
pub fn folder(target: &str) -> Result<PathBuf, RecordError> {
    let path = Path::new(target);
    let folder = match target.parse::<u32>() {
        // The name of a folder may be a number.
        Ok(pid) if !path.is_dir() => of_process(pid).map_err(RecordError)?,
        _ => of_path(path).map_err(RecordError)?,
    };
    check(&folder).map_err(RecordError)?;
    Ok(folder)
}

fn of_path(path: &Path) -> Result<PathBuf, String> {
    let known = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            format!("no such folder: '{}'\nhint: name the folder of a trace, or a process id", path.display())
        }
        _ => format!("cannot read '{}': {error}\nhint: check the path and its permissions", path.display()),
    })?;
    let inside = path.file_name().is_some_and(|name| name == manifest::FILE)
        || path.extension().is_some_and(|extension| extension == "mpt");
    if known.is_dir() {
        Ok(path.to_owned())
    } else if inside {
        Ok(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned())
    } else {
        Err(format!("'{}' is not the folder of a trace", path.display()))
    }
}

fn check(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| {
        format!("cannot read '{}': {error}\nhint: check the path and its permissions", folder.display())
    })?;
    let is_ours =
        |name: &OsStr| name == manifest::FILE || name.to_str().and_then(native::rank_of_file_name).is_some();
    if entries.flatten().any(|entry| is_ours(&entry.file_name())) {
        return Ok(());
    }
    Err(format!(
        "'{}' contains no recorded trace\nhint: name a trace of matchpoint record; top reads no other format",
        folder.display()
    ))
}

/// The only folder to which a process or its descendants write.
fn of_process(pid: u32) -> Result<PathBuf, String> {
    if !Path::new(&format!("/proc/{pid}")).exists() {
        return Err(format!(
            "no process {pid} on this host\nhint: name the folder of the trace, which also shows other hosts"
        ));
    }
    let started = started_by();
    let (mut next, mut refused, mut seen) = (VecDeque::from([pid]), false, 0);
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    while let Some(pid) = next.pop_front() {
        match fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => {
                if let Some(folder) = recorded_in(&environment) {
                    let folder = as_seen_here(folder, pid);
                    if found.iter().all(|(_, other)| *other != folder) {
                        found.push((pid, folder));
                    }
                    // The descendants of a recorded process belong to the same job.
                    continue;
                }
            }
            Err(error) => refused |= error.kind() == ErrorKind::PermissionDenied,
        }
        seen += 1;
        next.extend(started.get(&pid).into_iter().flatten());
    }
    match &found[..] {
        [] => {}
        [(_, folder)] => return Ok(folder.clone()),
        several => return Err(ask_which(pid, several)),
    }
    if refused {
        return Err(format!(
            "cannot read '/proc/{pid}/environ': permission denied\nhint: name the folder of the trace"
        ));
    }
    let those = if seen == 1 { "".to_owned() } else { format!(", nor are its {} child processes", seen - 1) };
    Err(format!(
        "process {pid} is not recorded{those}\nhint: start the job with matchpoint record, or name the folder of its trace"
    ))
}

fn ask_which(pid: u32, several: &[(u32, PathBuf)]) -> String {
    let named: Vec<String> =
        several.iter().map(|(pid, folder)| format!("{pid} ({})", folder.display())).collect();
    format!(
        "process {pid} started {} recorded jobs\nhint: name one of these processes: {}",
        several.len(),
        named.join(", ")
    )
}

/// Child processes by parent.
fn started_by() -> HashMap<u32, Vec<u32>> {
    let mut started: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(stat) = process::stat(pid.into()) {
            started.entry(stat.parent).or_default().push(pid);
        }
    }
    started.values_mut().for_each(|children| children.sort_unstable());
    started
}

fn recorded_in(environment: &[u8]) -> Option<PathBuf> {
    let of_name = |entry: &[u8]| {
        let value = entry.strip_prefix(FOLDER.as_bytes())?.strip_prefix(b"=")?;
        Some(PathBuf::from(OsStr::from_bytes(value)))
    };
    environment.split(|&byte| byte == 0).find_map(of_name).filter(|path| !path.as_os_str().is_empty())
}

/// A process in a container has another root folder.
fn as_seen_here(folder: PathBuf, pid: u32) -> PathBuf {
    let within = Path::new("/proc").join(pid.to_string()).join("root");
    match folder.strip_prefix("/") {
        Ok(rest) if !folder.is_dir() && within.join(rest).is_dir() => within.join(rest),
        _ => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_read_from_environment() {
        let environment = b"HOME=/x\0NOT_MATCHPOINT_RECORD_DIR=/no\0MATCHPOINT_RECORD_DIR=/a b/trace\0Z=1\0";
        assert_eq!(recorded_in(environment), Some(PathBuf::from("/a b/trace")));
        assert_eq!(recorded_in(b"MATCHPOINT_RECORD_DIR=\0"), None);
        assert_eq!(recorded_in(b""), None);
    }

    /// The process does not record, and two of its children do.
    #[test]
    fn several_jobs_give_error() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let start = |script: &str| std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let of = |folder: &Path| format!("{FOLDER}={} sleep 60 & ", folder.display());
        let mut one = start(&format!("{} wait", of(folders[0].path())));
        let mut two = start(&format!("{} {} wait", of(folders[0].path()), of(folders[1].path())));
        let begun = std::time::Instant::now();
        let found = |pid: u32, is_found: &dyn Fn(&Result<PathBuf, String>) -> bool| loop {
            let found = of_process(pid);
            if is_found(&found) || begun.elapsed().as_secs() > 20 {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let single = found(one.id(), &|found| found.is_ok());
        let asked =
            found(two.id(), &|found| found.as_ref().is_err_and(|said| said.contains("2 recorded jobs")));
        for shell in [&mut one, &mut two] {
            let children = started_by().remove(&shell.id()).unwrap_or_default();
            for child in children {
                let child = rustix::process::Pid::from_raw(child as i32).unwrap();
                let _ = rustix::process::kill_process(child, rustix::process::Signal::TERM);
            }
            shell.wait().unwrap();
        }
        assert_eq!(single, Ok(folders[0].path().to_owned()));
        let said = asked.unwrap_err();
        assert!(folders.iter().all(|folder| said.contains(folder.path().to_str().unwrap())), "{said}");
    }

    #[test]
    fn wrong_targets_give_distinct_errors() {
        let folder = tempfile::tempdir().unwrap();
        let said = |target: &Path| super::folder(target.to_str().unwrap()).unwrap_err().to_string();
        assert!(said(folder.path()).contains("contains no recorded trace"));
        assert!(said(&folder.path().join("none")).contains("no such folder"));
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        assert!(said(&folder.path().join("notes.txt")).contains("is not the folder of a trace"));
        fs::write(folder.path().join("rank-00000.mpt"), "").unwrap();
        assert!(super::folder(folder.path().join("rank-00000.mpt").to_str().unwrap()).is_ok());
    }
}
