use std::collections::BTreeMap;

use super::{Complaints, listed};
use crate::repository::{File, metadata, packages, root, text};

/// Every package has a description, and its root file starts with a summary.
pub fn descriptions(_: &[File]) -> Complaints {
    let mut complaints = Vec::new();
    for package in packages(&metadata(false)?) {
        let name = text(package, "name");
        if text(package, "description").is_empty() {
            complaints.push(format!("{name}: its manifest has no description"));
        }
        for target in package["targets"].as_array().into_iter().flatten() {
            let source = text(target, "src_path");
            if source.contains("/src/") && !std::fs::read_to_string(source)?.starts_with("//!") {
                complaints.push(format!("{source}: does not begin by saying what it is"));
            }
        }
    }
    Ok(complaints)
}

/// The import table lists every package and its imports from the workspace, and nothing else.
pub fn imports(files: &[File]) -> Complaints {
    let table: BTreeMap<&str, Vec<&str>> = listed(files, "Imports")?
        .into_iter()
        .map(|(name, rest)| (name, rest.split('`').skip(1).step_by(2).collect()))
        .collect();
    let metadata = metadata(false)?;
    let mut complaints = Vec::new();
    let mut packages_seen = Vec::new();
    for package in packages(&metadata) {
        let name = text(package, "name");
        packages_seen.push(name);
        let mut imports: Vec<&str> = package["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|dependency| text(dependency, "kind") != "dev" && is_ours(text(dependency, "path")))
            .map(|dependency| text(dependency, "name"))
            .collect();
        imports.sort_unstable();
        match table.get(name) {
            None => complaints.push(format!("ARCHITECTURE.md: the import table lacks {name}")),
            Some(listed) => {
                let mut listed = listed.clone();
                listed.sort_unstable();
                if listed != imports {
                    complaints.push(format!("ARCHITECTURE.md: {name} imports {imports:?}, not {listed:?}"));
                }
            }
        }
    }
    let gone = table.keys().filter(|name| !packages_seen.contains(*name));
    complaints.extend(gone.map(|name| format!("ARCHITECTURE.md: there is no package {name}")));
    Ok(complaints)
}

/// Paths in `src/`, `tests/`, `shim/`, `driver/` and `program/` exist in the crate above them.
pub fn map(files: &[File]) -> Complaints {
    let (mut complaints, mut folder) = (Vec::new(), String::new());
    for (first, rest) in listed(files, "Code map")? {
        let cell = rest.split('|').next().unwrap_or_default();
        let others = cell.split('`').skip(1).step_by(2);
        if first.starts_with("crates/") {
            folder = first.to_owned();
        }
        for path in [first].into_iter().chain(others) {
            let inner = ["src/", "tests/", "shim/", "driver/", "program/", "kernels/", "emulation/"];
            let is_inner = inner.iter().any(|inner| path.starts_with(inner));
            let whole = if is_inner { format!("{folder}{path}") } else { path.to_owned() };
            if !root().join(&whole).exists() {
                complaints.push(format!("ARCHITECTURE.md: the code map names {whole}, which is not there"));
            }
        }
    }
    Ok(complaints)
}

fn is_ours(path: &str) -> bool {
    std::path::Path::new(path).starts_with(root())
}
