//! The libraries that the dynamic loader would load, found without running the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names and paths of all direct and indirect dependencies, with `folders` searched first. Empty if the file
/// is not dynamic or `ldd` is missing.
pub(crate) fn dependencies(file: &Path, folders: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut command = Command::new("ldd");
    command.arg(file).stdin(Stdio::null()).stderr(Stdio::null()).env_remove("LD_PRELOAD");
    if !folders.is_empty() {
        let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let own = std::env::split_paths(&own).filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(path) = std::env::join_paths(folders.iter().cloned().chain(own)) {
            command.env("LD_LIBRARY_PATH", path);
        }
    }
    let Ok(output) = command.output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_line).collect()
}

/// `libfabric.so.1 => /usr/lib/libfabric.so.1 (0x00007f…)`
fn parse_line(line: &str) -> Option<(String, PathBuf)> {
    let (name, rest) = line.trim().split_once(" => ")?;
    let (path, _) = rest.rsplit_once(" (0x")?;
    path.starts_with('/').then(|| (name.to_owned(), PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ldd_lines_are_parsed() {
        let found = parse_line("\tlibfabric.so.1 => /opt/a (b)/libfabric.so.1 (0x00007f936e717000)");
        assert_eq!(found, Some(("libfabric.so.1".to_owned(), PathBuf::from("/opt/a (b)/libfabric.so.1"))));
        assert_eq!(parse_line("\tlibmpi.so.12 => not found"), None);
        assert_eq!(parse_line("\tlinux-vdso.so.1 (0x00007f936e850000)"), None);
    }

    #[test]
    fn test_program_needs_c_library() {
        let own = std::env::current_exe().unwrap();
        assert!(
            dependencies(&own, &[]).iter().any(|(name, path)| name.starts_with("libc.so") && path.is_file())
        );
    }
}
