//! Checks that no compiler makes. A check is one function and one line of [`CHECKS`].

mod architecture;
mod circles;
mod code;
mod engines;
mod language;
mod prose;
mod returns;

use crate::Failure;
use crate::repository::{self, File};

/// Each complaint begins with the path of a file.
type Complaints = Result<Vec<String>, Failure>;

const CHECKS: &[fn(&[File]) -> Complaints] = &[
    prose::links,
    prose::machines,
    prose::spaces,
    prose::conflicts,
    language::manual,
    language::comments,
    language::test_names,
    code::sizes,
    engines::pages,
    code::fuzz_targets,
    code::unsafety,
    code::printing,
    returns::early,
    circles::circles,
    architecture::descriptions,
    architecture::imports,
    architecture::map,
];

pub fn complaints() -> Complaints {
    let files = repository::files()?;
    let mut all = Vec::new();
    for check in CHECKS {
        all.extend(check(&files)?);
    }
    Ok(all)
}

/// The lines of a section in ARCHITECTURE.md: the first text in backticks of each line.
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
