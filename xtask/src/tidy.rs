//! Checks that no compiler makes. A check is one function and one line of [`CHECKS`]; each is a test too.

mod architecture;
mod circles;
mod code;
mod engines;
mod language;
mod prose;
mod returns;

use crate::Failure;
use crate::repository::{self, File};

/// The path of a file is first.
type Complaints = Result<Vec<String>, Failure>;

/// A requirement and its check.
pub struct Check {
    /// The requirement.
    pub name: &'static str,
    /// Returns complaints about files of the repository.
    pub complaints: fn(&[File]) -> Complaints,
}

/// All checks.
pub const CHECKS: &[Check] = &[
    Check { name: "links lead somewhere", complaints: prose::links },
    Check { name: "nothing of somebody's own machine", complaints: prose::machines },
    Check { name: "no space at the end of a line", complaints: prose::spaces },
    Check { name: "no unresolved merge", complaints: prose::conflicts },
    Check { name: "pages are short and plain", complaints: language::manual },
    Check { name: "comments are plain", complaints: language::comments },
    Check { name: "test names are short", complaints: language::test_names },
    Check { name: "files can be read in one sitting", complaints: code::sizes },
    Check { name: "every engine has a page, and a row of the table", complaints: engines::pages },
    Check { name: "every fuzz target is built", complaints: code::fuzz_targets },
    Check { name: "unsafe only where ARCHITECTURE.md says", complaints: code::unsafety },
    Check { name: "only the commands print or exit", complaints: code::printing },
    Check { name: "no test returns before it tests", complaints: returns::early },
    Check { name: "no circle of files but those that are known", complaints: circles::circles },
    Check { name: "every crate says what it is for", complaints: architecture::descriptions },
    Check { name: "imports as ARCHITECTURE.md says", complaints: architecture::imports },
    Check { name: "the code map is of what is there", complaints: architecture::map },
];

/// Complaints of all checks.
///
/// # Errors
/// If the repository cannot be read.
pub fn complaints() -> Complaints {
    let files = repository::files()?;
    let mut all = Vec::new();
    for check in CHECKS {
        all.extend((check.complaints)(&files)?);
    }
    Ok(all)
}

/// The list in a section of ARCHITECTURE.md: the first text between backquotes of each line.
fn listed<'a>(files: &'a [File], section: &str) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let page =
        files.iter().find(|file| file.path == "ARCHITECTURE.md").ok_or("there is no ARCHITECTURE.md")?;
    let heading = format!("\n## {section}\n");
    let (_, rest) =
        page.text.split_once(&heading).ok_or_else(|| format!("ARCHITECTURE.md has no section {section}"))?;
    let section = rest.split("\n## ").next().unwrap_or(rest);
    let quoted =
        |line: &'a str| line.trim_start_matches(['|', '-', '*', '·', ' ']).strip_prefix('`')?.split_once('`');
    Ok(section.lines().filter_map(quoted).collect())
}
