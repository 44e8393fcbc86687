//! Files of a trace in Matchpoint's format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TraceError;
use crate::native::manifest::{self, Manifest};
use crate::native::{MOST_RANKS, VERSION, is_rank_file, rank_of};

#[derive(Debug)]
pub(super) struct Files {
    pub path: PathBuf,
    pub by_rank: BTreeMap<u32, PathBuf>,
    pub manifest: Option<Manifest>,
    /// The rank of the file that the user passed.
    pub only: Option<u32>,
}

/// Finds the files of a trace. `path` is a folder, a manifest, or the file of one rank.
pub(super) fn find(path: &Path) -> Result<Files, TraceError> {
    if path.is_dir() {
        return find_files(path, path);
    }
    if is_manifest(path) {
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return find_files(path, folder);
    }
    let rank = rank_of(path).unwrap_or(0);
    let by_rank = BTreeMap::from([(rank, path.to_owned())]);
    Ok(Files { path: path.to_owned(), by_rank, manifest: None, only: Some(rank) })
}

pub(super) fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == manifest::FILE)
}

fn find_files(path: &Path, folder: &Path) -> Result<Files, TraceError> {
    let manifest = read_manifest(&folder.join(manifest::FILE))?;
    let entries = fs::read_dir(folder).map_err(|error| TraceError::io(folder, &error))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| is_rank_file(file) && file.is_file())
        .collect();
    found.sort();
    let mut by_rank: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for file in found {
        let Some(rank) = rank_of(&file) else { continue };
        if rank >= MOST_RANKS {
            let problem = format!("the name of a file has rank {rank}");
            return Err(TraceError::new(&file, problem, "rename that file, or remove it"));
        }
        if let Some(other) = by_rank.insert(rank, file) {
            let problem = format!("two files of rank {rank}: {}", other.display());
            return Err(TraceError::new(folder, problem, "remove one of them"));
        }
    }
    if by_rank.is_empty() && manifest.is_none() {
        let problem = "no file is named like rank-00000.mpt";
        return Err(TraceError::new(folder, problem, "rename the files, or give one of them"));
    }
    Ok(Files { path: path.to_owned(), by_rank, manifest, only: None })
}

fn read_manifest(path: &Path) -> Result<Option<Manifest>, TraceError> {
    let Ok(text) = fs::read(path) else { return Ok(None) };
    let advice = "correct it, or remove it: the files of the ranks do not need it";
    let json: Result<serde_json::Value, _> = serde_json::from_slice(&text);
    let json =
        json.map_err(|error| TraceError::new(path, format!("the manifest is no JSON: {error}"), advice))?;
    let version = json.get("version").and_then(serde_json::Value::as_u64);
    if let Some(version) = version.filter(|version| *version > u64::from(VERSION)) {
        let problem =
            format!("the trace has version {version}, but this command reads versions up to {VERSION}");
        let advice = "read it with the version of Matchpoint that recorded it, or a newer one";
        return Err(TraceError::new(path, problem, advice));
    }
    let manifest: Manifest = serde_json::from_value(json)
        .map_err(|error| TraceError::new(path, format!("not the manifest of a trace: {error}"), advice))?;
    if manifest.format != manifest::FORMAT {
        let problem = format!("not the manifest of a trace: its format is `{}`", manifest.format);
        return Err(TraceError::new(path, problem, advice));
    }
    match manifest.ranks {
        Some(ranks) if !(1..=MOST_RANKS).contains(&ranks) => {
            Err(TraceError::new(path, format!("the manifest has {ranks} processes"), advice))
        }
        _ => Ok(Some(manifest)),
    }
}
