//! Finds tests that return without testing. A test may return early only after a report by `leave_out`.

use std::collections::BTreeSet;

use super::Complaints;
use crate::repository::File;

struct Function<'a> {
    name: &'a str,
    is_test: bool,
    line: usize,
    lines: Vec<&'a str>,
}

/// `return` statements of tests without a report before. Closures are ignored, because a closure may leave out one of
/// several cases.
pub fn early(files: &[File]) -> Complaints {
    let is_test = |file: &&File| file.path.ends_with(".rs") && file.path.contains("/tests/");
    let read: Vec<(&str, Vec<Function<'_>>)> =
        files.iter().filter(is_test).map(|file| (file.path.as_str(), functions(&file.text))).collect();
    let reporting = reporting(read.iter().flat_map(|(_, functions)| functions));
    let mut found = Vec::new();
    for (path, functions) in &read {
        for function in functions.iter().filter(|function| function.is_test) {
            for at in silent(function, &reporting) {
                let line = function.line + at;
                found.push(format!("{path}:{line}: {} returns without `leave_out`", function.name));
            }
        }
    }
    Ok(found)
}

/// The functions and methods of a file. A function ends at a brace with the indentation of its first line.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let signature =
            ["pub ", "pub(crate) ", "pub(super) "].iter().find_map(|before| code.strip_prefix(before));
        let Some(rest) = signature.unwrap_or(code).strip_prefix("fn ") else { continue };
        let name =
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or(rest);
        let indent = line.len() - code.len();
        let end = format!("{}}}", " ".repeat(indent));
        let body = lines[at..].iter().position(|line| *line == end).unwrap_or(0);
        let is_test = lines[..at]
            .iter()
            .rev()
            .take_while(|line| line.trim_start().starts_with("#["))
            .any(|line| line.trim() == "#[test]");
        all.push(Function { name, is_test, line: at + 1, lines: lines[at..=at + body].to_vec() });
    }
    all
}

/// Names of functions that call `leave_out`, directly or through other functions.
fn reporting<'a>(functions: impl Iterator<Item = &'a Function<'a>>) -> BTreeSet<&'a str> {
    let functions: Vec<&Function<'_>> = functions.collect();
    let mut names = BTreeSet::from(["leave_out"]);
    loop {
        let calls = |function: &&&Function<'_>| function.lines[1..].iter().any(|line| has_call(line, &names));
        let more: BTreeSet<&str> = functions.iter().filter(calls).map(|function| function.name).collect();
        let before = names.len();
        names.extend(more);
        if names.len() == before {
            return names;
        }
    }
}

fn has_call(line: &str, names: &BTreeSet<&str>) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let word = line[..at].rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
        word.is_some_and(|word| names.contains(word))
    })
}

/// Lines of a test that return without a report.
fn silent(test: &Function<'_>, reporting: &BTreeSet<&str>) -> Vec<usize> {
    let indent = test.lines[0].len() - test.lines[0].trim_start().len() + 4;
    let indent_of = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    let mut statement = 0;
    for (at, line) in test.lines.iter().enumerate().skip(1) {
        let code = line.trim();
        if indent_of(line) == indent && !code.starts_with(['}', '.', ')']) {
            statement = at;
        }
        let returns = code == "return;" || code.ends_with("{ return };");
        if returns && indent_of(line) <= indent + 4 {
            let has_report = test.lines[statement..=at].iter().any(|line| has_call(line, reporting));
            if !has_report {
                found.push(at);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(body: &str) -> usize {
        let helper = "pub fn tool() -> bool {\n    leave_out(\"no tool\", \"get it\");\n    false\n}\n";
        let text = format!("{helper}#[test]\nfn tool_works() {{\n{body}\n}}\n");
        early(&[File { path: "crates/a/tests/b.rs".to_owned(), text }]).unwrap().len()
    }

    #[test]
    fn silent_return_is_found() {
        assert_eq!(complaints("    if !is_root() {\n        return;\n    }\n    assert!(true);"), 1);
        assert_eq!(complaints("    let Some(card) = Card::first() else { return };"), 1);
        assert_eq!(complaints("    tool();\n    if !is_root() {\n        return;\n    }"), 1);
    }

    #[test]
    fn reported_return_passes() {
        assert_eq!(complaints("    if !tool() {\n        return;\n    }"), 0);
        assert_eq!(
            complaints("    if !is_root() {\n        leave_out(\"a\", \"b\");\n        return;\n    }"),
            0
        );
        assert_eq!(
            complaints(
                "    each(|mpi| {\n        if mpi.is_odd() {\n            return;\n        }\n    });"
            ),
            0
        );
    }
}
