use std::collections::BTreeSet;

use super::{Complaints, listed};
use crate::repository::File;

const LINES_MAX: usize = 600;

/// Folders with code that may print and exit.
const MAY_PRINT: [&str; 2] = ["crates/matchpoint-cli/", "xtask/"];

const PRINTS: [&str; 6] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!(", "process::exit("];

/// No source file has more than [`LINES_MAX`] lines.
pub fn sizes(files: &[File]) -> Complaints {
    let source = files
        .iter()
        .filter(|file| ["rs", "js", "css", "html", "sh", "c", "cpp", "hpp"].iter().any(|kind| file.is(kind)));
    let long = source.filter(|file| file.lines().count() > LINES_MAX);
    Ok(long.map(|file| format!("{}: more than {LINES_MAX} lines", file.path)).collect())
}

/// `unsafe` occurs exactly in the files and folders that ARCHITECTURE.md lists.
pub fn unsafety(files: &[File]) -> Complaints {
    let listed: BTreeSet<&str> = listed(files, "Unsafe code")?.into_iter().map(|(path, _)| path).collect();
    let found: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.is("rs") && has_unsafe(file))
        .map(|file| file.path.as_str())
        .collect();
    let is_in = |path: &str, entry: &str| path == entry || entry.ends_with('/') && path.starts_with(entry);
    let stray = found
        .iter()
        .filter(|path| !listed.iter().any(|entry| is_in(path, entry)))
        .map(|path| format!("{path}: unsafe code that ARCHITECTURE.md does not list"));
    let gone = listed
        .iter()
        .filter(|entry| !found.iter().any(|path| is_in(path, entry)))
        .map(|entry| format!("ARCHITECTURE.md: {entry} has no unsafe code"));
    Ok(stray.chain(gone).collect())
}

fn has_unsafe(file: &File) -> bool {
    code(file).any(|(_, line)| {
        // `unsafe` begins a block, function, impl, trait or extern block. Names of lints and words in texts are
        // ignored.
        line.match_indices("unsafe ").any(|(at, word)| {
            let rest = &line[at + word.len()..];
            let is_word = !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let is_type = rest.starts_with("extern \"C\" fn(");
            let is_code = ["{", "fn", "impl", "trait", "extern"].iter().any(|next| rest.starts_with(next));
            is_word && is_code && !is_type
        })
    })
}

/// Libraries neither print nor exit.
pub fn printing(files: &[File]) -> Complaints {
    let libraries = files.iter().filter(|file| {
        file.is("rs")
            && file.path.contains("/src/")
            && !MAY_PRINT.iter().any(|path| file.path.starts_with(path))
    });
    let mut complaints = Vec::new();
    for file in libraries {
        let prints = code(file).filter(|(_, line)| PRINTS.iter().any(|word| line.contains(word)));
        complaints.extend(
            prints.map(|(number, _)| format!("{}:{number}: only the commands print or exit", file.path)),
        );
    }
    Ok(complaints)
}

/// Every fuzz target is in the manifest, because `cargo fuzz` needs their names.
pub fn fuzz_targets(files: &[File]) -> Complaints {
    let manifest = files.iter().find(|file| file.path == "fuzz/Cargo.toml");
    let named = |path: &str| manifest.is_some_and(|manifest| manifest.text.contains(&format!("\"{path}\"")));
    let targets = files.iter().filter_map(|file| Some((file, file.path.strip_prefix("fuzz/")?)));
    let stray = targets.filter(|(_, path)| path.starts_with("fuzz_targets/") && !named(path));
    Ok(stray
        .map(|(file, _)| format!("{}: fuzz/Cargo.toml has no [[bin]] with this path", file.path))
        .collect())
}

/// The lines before the tests of a file, without comments.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let until_tests = file.lines().take_while(|(_, line)| *line != "#[cfg(test)]");
    until_tests.map(|(number, line)| (number, line.split("//").next().unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "crates/matchpoint/src/some.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn unsafe_in_comments_is_ignored() {
        assert!(has_unsafe(&file("let map = unsafe { map() };")));
        assert!(has_unsafe(&file("pub unsafe fn map() {}")));
        assert!(has_unsafe(&file("pub unsafe extern \"C\" fn map() {}")));
        for talk in [
            "#![allow(unsafe_code)]",
            "// unsafe { map() }",
            "let text = \"an unsafe place\";",
            "type Map = unsafe extern \"C\" fn(usize);",
            "not_unsafe {}",
        ] {
            assert!(!has_unsafe(&file(talk)), "{talk}");
        }
    }

    #[test]
    fn tests_may_print() {
        assert_eq!(
            printing(&[file("fn f() {}\n#[cfg(test)]\nmod tests { println!(\"x\"); }")]).unwrap(),
            [""; 0]
        );
        assert_eq!(printing(&[file("fn f() { println!(\"x\"); }")]).unwrap().len(), 1);
    }
}
