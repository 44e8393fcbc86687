//! Each script in `scripts/` runs on every engine, under the oracle.

use std::fs;
use std::path::{Path, PathBuf};

use matchpoint::engines;
use matchpoint::event::script;
use matchpoint_conformance::check_events;

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_engine_keeps_laws_in_every_script() {
    let scripts = scripts();
    assert!(!scripts.is_empty());
    for path in scripts {
        let text = fs::read_to_string(&path).unwrap();
        let events = script::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for spec in engines::REGISTRY {
            for name in [spec.name, "rank_array:order=per_source", "bins:n=1"] {
                let played = check_events(&|| engines::create(name).unwrap(), events.clone(), false, || {
                    path.display().to_string()
                });
                played.unwrap_or_else(|violation| panic!("{name}\n{violation}"));
            }
        }
    }
}

#[test]
fn every_script_has_comment() {
    for path in scripts() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{}: the first line is no comment", path.display());
    }
}
