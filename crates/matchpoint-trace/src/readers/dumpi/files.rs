//! Files of a DUMPI trace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::meta::Meta;
use crate::error::TraceError;

#[derive(Debug)]
pub(super) struct Files {
    pub path: PathBuf,
    pub by_rank: BTreeMap<u32, PathBuf>,
    pub meta: Option<Meta>,
    pub prefix: String,
}

#[derive(Debug)]
pub(super) enum TraceFiles {
    Ranks(Files),
    SingleRank(PathBuf),
}

/// `path` is a folder, a `.meta` file, or the file of one rank.
pub(super) fn find(path: &Path) -> Result<TraceFiles, TraceError> {
    if path.is_dir() {
        find_files(path)
    } else if has_extension(path, "meta") {
        files_of_meta(path, path).map(TraceFiles::Ranks)
    } else {
        Ok(TraceFiles::SingleRank(path.to_owned()))
    }
}

pub(super) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

pub(super) fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let entries = fs::read_dir(folder).map_err(|error| TraceError::io(folder, &error))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

pub(super) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut bytes));
    read.map(|_| bytes).unwrap_or_default()
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn rank_in_name(path: &Path) -> Option<(String, u32)> {
    let name = file_name(path);
    let stem = name.strip_suffix(".bin").or_else(|| name.strip_suffix(".BIN"))?;
    let (prefix, rank) = stem.rsplit_once('-')?;
    let digits = !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| rank.parse().ok()).flatten().map(|rank| (prefix.to_owned(), rank))
}

pub(super) fn meta_of(path: &Path) -> Option<(PathBuf, u32)> {
    let (prefix, rank) = rank_in_name(path)?;
    let meta = path.with_file_name(format!("{prefix}.meta"));
    meta.is_file().then_some((meta, rank))
}

fn find_files(folder: &Path) -> Result<TraceFiles, TraceError> {
    let files = list_folder(folder)?;
    let metas: Vec<&PathBuf> = files.iter().filter(|file| has_extension(file, "meta")).collect();
    match metas[..] {
        [] => without_meta(folder, &files),
        [meta] => files_of_meta(folder, meta).map(TraceFiles::Ranks),
        _ => Err(several_traces(folder, "traces", metas.iter().map(|meta| file_name(meta)))),
    }
}

pub(super) fn several_traces(
    folder: &Path,
    kind: &str,
    names: impl ExactSizeIterator<Item = String>,
) -> TraceError {
    let count = names.len();
    let mut shown: Vec<String> = names.take(10).collect();
    if count > shown.len() {
        shown.push("…".to_owned());
    }
    let problem = format!("the folder contains {count} {kind}: {}", shown.join(", "));
    TraceError::new(
        folder,
        problem,
        format!("name one of these, such as {}", folder.join(&shown[0]).display()),
    )
}

fn without_meta(folder: &Path, files: &[PathBuf]) -> Result<TraceFiles, TraceError> {
    let binaries: Vec<&PathBuf> = files.iter().filter(|file| has_extension(file, "bin")).collect();
    let mut by_prefix: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for (file, (prefix, rank)) in binaries.iter().filter_map(|file| Some((file, rank_in_name(file)?))) {
        by_prefix.entry(prefix).or_default().insert(rank, (*file).clone());
    }
    let unnumbered = binaries.len() - by_prefix.values().map(BTreeMap::len).sum::<usize>();
    match (by_prefix.len(), unnumbered) {
        (0, 0) => {
            let advice = "give the folder, .meta or .bin file that sst-dumpi wrote";
            Err(TraceError::new(folder, "the folder contains no trace", advice))
        }
        (0, 1) => Ok(TraceFiles::SingleRank(binaries[0].clone())),
        (1, 0) => {
            let (prefix, by_rank) = by_prefix.pop_first().unwrap_or_default();
            Ok(TraceFiles::Ranks(Files { path: folder.to_owned(), by_rank, meta: None, prefix }))
        }
        _ => Err(several_traces(
            folder,
            "traces without a .meta file",
            binaries.iter().map(|file| file_name(file)),
        )),
    }
}

fn files_of_meta(path: &Path, meta_path: &Path) -> Result<Files, TraceError> {
    let meta = Meta::read(meta_path)?;
    let folder = meta_path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let numbered: Vec<_> =
        list_folder(folder)?.into_iter().filter_map(|file| Some((rank_in_name(&file)?, file))).collect();
    let own = meta_path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let prefixes = [meta.prefix.clone().unwrap_or(own.clone()), own];
    for prefix in &prefixes {
        let of_prefix = numbered.iter().filter(|((found, _), _)| found == prefix);
        let by_rank: BTreeMap<u32, PathBuf> =
            of_prefix.map(|((_, rank), file)| (*rank, file.clone())).collect();
        if !by_rank.is_empty() {
            return Ok(Files { path: path.to_owned(), by_rank, meta: Some(meta), prefix: prefix.clone() });
        }
    }
    let problem = format!("no file {}-0000.bin, or of another rank, next to it", prefixes[0]);
    Err(TraceError::new(meta_path, problem, "put the .bin files into the folder of the .meta file"))
}
