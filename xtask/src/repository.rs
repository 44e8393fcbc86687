//! Content of the repository: its files, and cargo's metadata of its packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;

/// Build outputs, and files of fuzzers.
const FOREIGN_FOLDERS: [&str; 6] = ["target", ".git", "corpus", "artifacts", "coverage", "node_modules"];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

pub struct File {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    pub fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

pub fn files() -> Result<Vec<File>, Failure> {
    let (mut files, mut folders) = (Vec::new(), vec![root().to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() && !FOREIGN_FOLDERS.iter().any(|name| entry.file_name() == **name) {
                folders.push(path);
            } else if kind.is_file() {
                files.extend(text_file(path)?);
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn text_file(path: PathBuf) -> Result<Option<File>, Failure> {
    let is_report = path.parent() == Some(root()) && path.ends_with("report.html");
    if is_report || path.ends_with(".git") {
        return Ok(None);
    }
    // Other files are data, such as traces and pictures.
    let Ok(text) = String::from_utf8(fs::read(&path)?) else { return Ok(None) };
    let path = path.strip_prefix(root())?.to_string_lossy().replace('\\', "/");
    Ok(Some(File { path, text }))
}

/// `cargo metadata`, with the dependencies of all features if `deep`.
pub fn metadata(deep: bool) -> Result<Value, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(root());
    command.arg(if deep { "--all-features" } else { "--no-deps" });
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
