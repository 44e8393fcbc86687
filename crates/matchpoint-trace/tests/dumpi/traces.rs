//! Real traces from `traces/` and, if present, from `shared/traces` next to the repository.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use liblzma::read::XzDecoder;
use matchpoint_trace::{Call, RankReader, Trace, TraceError, open};

pub struct Real {
    pub folder: PathBuf,
    /// Output of `dumpi2ascii` for some files of the trace.
    pub texts: Vec<PathBuf>,
}

pub static REAL: LazyLock<BTreeMap<String, Real>> = LazyLock::new(|| {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    let mut found = BTreeMap::new();
    for folder in sources() {
        // A folder with a manifest is a trace in Matchpoint's format.
        let is_dumpi = |path: &Path| path.is_dir() && !path.join("manifest.json").exists();
        for entry in fs::read_dir(&folder).unwrap().flatten().filter(|entry| is_dumpi(&entry.path())) {
            let name = entry.file_name().into_string().unwrap();
            let real = unpack(&entry.path(), &unpacked.join(&name));
            let known: &mut Real =
                found.entry(name).or_insert(Real { folder: real.folder, texts: Vec::new() });
            known.texts.extend(real.texts);
        }
    }
    if found.is_empty() {
        println!("no traces are at hand: nothing was compared");
    }
    found
});

fn sources() -> Vec<PathBuf> {
    let above = |name: &str| {
        let mut parents = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1);
        parents.find_map(|parent| Some(parent.join(name)).filter(|folder| folder.is_dir()))
    };
    ["traces", "shared/traces"].into_iter().filter_map(above).collect()
}

fn unpack(from: &Path, to: &Path) -> Real {
    fs::create_dir_all(to).unwrap();
    let (mut folder, mut texts) = (from.to_owned(), Vec::new());
    for file in fs::read_dir(from).unwrap().flatten().map(|entry| entry.path()) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".tar.xz") {
            folder = to.join("raw");
            tar::Archive::new(XzDecoder::new(File::open(&file).unwrap())).unpack(&folder).unwrap();
        } else if let Some(name) = name.strip_suffix(".xz") {
            let text = to.join(name);
            let mut bytes = Vec::new();
            XzDecoder::new(File::open(&file).unwrap()).read_to_end(&mut bytes).unwrap();
            fs::write(&text, bytes).unwrap();
            texts.push(text);
        }
    }
    Real { folder: innermost(folder), texts }
}

fn innermost(folder: PathBuf) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    match &entries[..] {
        [only] if only.path().is_dir() => only.path(),
        _ => folder,
    }
}

pub fn read_all(stream: &mut dyn RankReader) -> Result<Vec<Call>, TraceError> {
    let (mut calls, mut call) = (Vec::new(), Call::default());
    while stream.read(&mut call)? {
        calls.push(call.clone());
    }
    Ok(calls)
}

pub fn calls(trace: &dyn Trace, rank: u32) -> Vec<Call> {
    read_all(&mut *trace.rank(rank).unwrap()).unwrap()
}

pub fn compare(name: &str, ours: &[Call], theirs: &[Call]) {
    for (at, (one, other)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(one, other, "{name}, call {at}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}");
}

/// Calls without their offsets in the file.
pub fn unplaced(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().map(|call| Call { offset: 0, ..call }).collect()
}

pub fn opened(path: &Path) -> Box<dyn Trace> {
    open(path).unwrap_or_else(|error| panic!("{error}"))
}
