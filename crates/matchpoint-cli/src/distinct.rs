//! Checks that outputs do not overwrite each other.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, folder_of};
use crate::output::is_stdout;

/// The file need not exist.
pub fn canonical(path: &Path) -> PathBuf {
    match (path.canonicalize(), folder_of(path).canonicalize(), path.file_name()) {
        (Ok(path), ..) => path,
        (Err(_), Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

pub fn check_distinct(options: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut named: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in options {
        let Some(path) = *path else { continue };
        let place = if is_stdout(path) { path.to_owned() } else { canonical(path) };
        if let Some((other, _)) = named.iter().find(|(_, taken)| *taken == place) {
            let what =
                if is_stdout(path) { "standard output".to_owned() } else { path.display().to_string() };
            return Err(Failure::usage(format!(
                "{other} and {option} both name '{what}'\nhint: name a separate file for each"
            )));
        }
        named.push((option, place));
    }
    Ok(())
}

/// Only the JSON may go to standard output.
pub fn json_and_page(json: Option<&Path>, page: Option<&Path>) -> Result<(), Failure> {
    if page.is_some_and(is_stdout) {
        let problem = "--html cannot go to standard output\nhint: name a file";
        return Err(Failure::usage(problem.to_owned()));
    }
    check_distinct(&[("--json", json), ("--html", page)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_paths_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("there"), "").unwrap();
        for (one, other, is_same) in
            [("a", "./a", true), ("there", "./there", true), ("a", "b", false), ("there", "b", false)]
        {
            let (one, other) = (file(one), file(other));
            let result = check_distinct(&[("--json", Some(&one)), ("--csv", None), ("--plot", Some(&other))]);
            assert_eq!(result.is_err(), is_same, "{one:?} {other:?}");
        }
        let dash = Some(Path::new("-"));
        assert!(check_distinct(&[("--json", dash), ("--csv", dash)]).is_err());
        assert!(check_distinct(&[("--json", dash), ("--csv", Some(&file("a")))]).is_ok());
    }
}
