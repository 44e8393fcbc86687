//! Every function of the format, in several versions: see `data/README.md`.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use liblzma::read::XzDecoder;
use matchpoint_trace::Call;

use crate::traces::{REAL, calls, compare, opened, unplaced};

pub fn files(extension: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumpi/data");
    let packed = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let mut found = Vec::new();
    for path in packed {
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(name) = name.strip_suffix(&format!(".{extension}.xz")) {
            let mut bytes = Vec::new();
            XzDecoder::new(File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
            found.push((name.to_owned(), bytes));
        }
    }
    assert!(!found.is_empty());
    found.sort();
    found
}

fn read_file(name: &str, extension: &str, bytes: &[u8]) -> Vec<Call> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{extension}"));
    fs::write(&path, bytes).unwrap();
    let trace = opened(&path);
    unplaced(calls(&*trace, trace.present()[0]))
}

#[test]
fn functions_are_read_as_by_dumpi2ascii() {
    for ((name, binary), (_, text)) in files("bin").into_iter().zip(files("txt")) {
        let (ours, theirs) = (read_file(&name, "bin", &binary), read_file(&name, "txt", &text));
        let mut functions: Vec<_> = ours.iter().map(|call| call.function).collect();
        functions.sort();
        functions.dedup();
        assert_eq!(functions.len(), 289, "{name}");
        compare(&name, &ours, &theirs);
    }
}

#[test]
fn binary_and_text_agree_call_by_call() {
    for (name, real) in REAL.iter() {
        for file in &real.texts {
            let binary = opened(&real.folder);
            let text = opened(file);
            let rank = text.present()[0];
            let (ours, theirs) = (calls(&*binary, rank), calls(&*text, rank));
            compare(&format!("{name}, rank {rank}"), &unplaced(ours), &unplaced(theirs));
        }
    }
}
