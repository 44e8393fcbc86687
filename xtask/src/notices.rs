//! Licence texts of the crates in the binaries. Packages with binaries contain these texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::repository::{metadata, packages, root, text};

/// Crates with binaries that are installed.
const INSTALLED: [&str; 4] =
    ["matchpoint-capi", "matchpoint-cli", "matchpoint-overflow", "matchpoint-fabric"];

/// Beginnings of file names with licence texts, in lower case.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

/// Writes the licence texts of all crates in the binaries, equal texts once.
///
/// # Errors
/// If cargo cannot list the crates, or if a file cannot be read or written.
pub fn write(to: &Path) -> Result<(), Failure> {
    let linked = linked()?;
    let mut crates_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = String::from(
        "Matchpoint's binaries contain the crates below, and Rust's standard library (MIT OR Apache-2.0).\n\n",
    );
    for package in packages(&metadata(true)?).filter(|package| package["source"].is_string()) {
        let name = format!("{} v{}", text(package, "name"), text(package, "version"));
        if linked.contains(&name) {
            out += &format!("{name}: {}\n", text(package, "license"));
            let manifest = Path::new(text(package, "manifest_path"));
            for path in license_files(manifest.parent().ok_or("a manifest is in a folder")?)? {
                let text = String::from_utf8_lossy(&fs::read(path)?).trim().to_owned();
                crates_by_text.entry(text).or_default().push(name.clone());
            }
        }
    }
    for (text, mut crates) in crates_by_text {
        crates.dedup();
        out += &format!("\n{}\n{}:\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    Ok(fs::write(to, out)?)
}

/// Names and versions of the crates in the binaries.
fn linked() -> Result<BTreeSet<String>, Failure> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--edges=normal", "--prefix=none", "--format={p}"]).current_dir(root());
    let output = command.args(INSTALLED.map(|name| format!("--package={name}"))).output()?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// Licence files in a folder, and in its folders: some crates contain a library in C.
fn license_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut folders) = (Vec::new(), vec![(folder.to_owned(), true)]);
    while let Some((folder, is_first)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            if path.is_dir() && is_first {
                folders.push((path, false));
            } else if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_name_linked_crates_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path()).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(text.matches("\nclap_builder v").count(), 1);
        // The C library zstd, and a crate of tests only.
        assert!(text.contains("Copyright (c) Meta Platforms") && !text.contains("\ncbindgen v"));
    }
}
