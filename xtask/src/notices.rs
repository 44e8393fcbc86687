//! Licence texts of the crates in the binaries, for packages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::repository::{metadata, packages, root, text};

/// Crates with installed binaries.
const INSTALLED: [&str; 5] =
    ["matchpoint-capi", "matchpoint-cli", "matchpoint-overflow", "matchpoint-fabric", "matchpoint-python"];

const FEATURE: &str = "matchpoint-python/module";

/// The MIT licence without its copyright line, for crates without a licence file.
const MIT: &str = "\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.";

const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];

pub fn write(to: &Path) -> Result<(), Failure> {
    let mut linked = linked()?;
    let mut crates_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = String::from(
        "Matchpoint's binaries contain the crates below, and Rust's standard library (MIT OR Apache-2.0).\n\n",
    );
    for package in packages(&metadata(true)?).filter(|package| package["source"].is_string()) {
        let name = format!("{} v{}", text(package, "name"), text(package, "version"));
        if linked.remove(&name) {
            out += &format!("{name}: {}\n", text(package, "license"));
            let manifest = Path::new(text(package, "manifest_path"));
            let mut texts = Vec::new();
            for path in license_files(manifest.parent().ok_or("a manifest is in a folder")?)? {
                texts.push(String::from_utf8_lossy(&fs::read(path)?).trim().to_owned());
            }
            if texts.is_empty() {
                texts.push(standard_text(package)?);
            }
            for text in texts {
                crates_by_text.entry(text).or_default().push(name.clone());
            }
        }
    }
    if let Some(name) = linked.first() {
        return Err(format!("cargo metadata has no '{name}', which a binary contains").into());
    }
    for (text, mut crates) in crates_by_text {
        crates.dedup();
        out += &format!("\n{}\n{}:\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    Ok(fs::write(to, out)?)
}

fn standard_text(package: &Value) -> Result<String, Failure> {
    let authors: Vec<_> =
        package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if text(package, "license") != "MIT" || authors.is_empty() {
        return Err(format!("the crate '{}' contains no licence text", text(package, "name")).into());
    }
    Ok(format!("The MIT License\n\nCopyright (c) {}\n\n{MIT}", authors.join(", ")))
}

/// Crates of other projects in the binaries.
fn linked() -> Result<BTreeSet<String>, Failure> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--edges=normal", "--prefix=none", "--format={p}"]).current_dir(root());
    command.arg("--features").arg(FEATURE);
    let output = command.args(INSTALLED.map(|name| format!("--package={name}"))).output()?;
    if !output.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    // Cargo prints the folders of Matchpoint's crates, and `proc-macro`, in parentheses.
    let foreign = lines.lines().filter(|line| !line.is_empty() && !line.contains("(/"));
    Ok(foreign.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// Licence files of a crate and of its folders, because some crates contain a C library.
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
        // The C library zstd is linked, and only tests use `cbindgen`.
        assert!(text.contains("Copyright (c) Meta Platforms") && !text.contains("\ncbindgen v"));
        // The Python module uses these crates.
        assert!(text.contains("\narrow-array v") && text.contains("\npyo3 v"));
        // The crate of this author has no licence file.
        assert!(text.contains("Copyright (c) Benjamin Sago <ogham@bsago.me>\n"));
    }

    #[test]
    fn crate_without_license_text_is_refused() {
        let crate_of =
            |license: &str| serde_json::json!({ "license": license, "name": "some", "authors": ["A"] });
        assert!(standard_text(&crate_of("MIT")).unwrap().contains("Copyright (c) A\n\nPermission"));
        let error = standard_text(&crate_of("Apache-2.0")).unwrap_err().to_string();
        assert_eq!(error, "the crate 'some' contains no licence text");
    }
}
