//! Checks for circles of files: no file of a circle can be read first.

use std::collections::{BTreeMap, BTreeSet};

use super::Complaints;
use crate::repository::File;

/// Path of a module, such as `["engines", "bins"]`. Empty for the crate root.
type Module = Vec<String>;

/// Reports circles of files in a crate.
pub fn circles(files: &[File]) -> Complaints {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &str>> = BTreeMap::new();
    for file in files {
        let Some((folder, module)) = module_of(&file.path) else { continue };
        crates.entry(folder).or_default().insert(module, &file.text);
    }
    let mut found = Vec::new();
    for (folder, modules) in &crates {
        for circle in circles_of(modules) {
            let all: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            found.push(format!("{folder}/src: files use each other: {}", all.join(", ")));
        }
    }
    Ok(found)
}

/// The folder of the crate, and the module of a source file.
fn module_of(path: &str) -> Option<(&str, Module)> {
    let (folder, rest) = path.strip_suffix(".rs")?.split_once("/src/")?;
    let mut module: Module = rest.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    (folder == "xtask" || folder.starts_with("crates/")).then_some((folder, module))
}

/// Sets of modules that reach each other.
fn circles_of(modules: &BTreeMap<Module, &str>) -> BTreeSet<Vec<Module>> {
    let edges: BTreeMap<&Module, BTreeSet<Module>> =
        modules.iter().map(|(module, text)| (module, used_by(module, text, modules))).collect();
    let reached = |from: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for next in edges.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &Module| {
        let mutual = |other: &&Module| reached[module].contains(*other) && reached[*other].contains(module);
        modules.keys().filter(mutual).cloned().collect::<Vec<_>>()
    };
    modules.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// Modules that a file uses, without re-exports and tests.
fn used_by(own: &Module, text: &str, modules: &BTreeMap<Module, &str>) -> BTreeSet<Module> {
    let code = code_of(text);
    let mut used = BTreeSet::new();
    for path in paths_of(&code) {
        let mut parts = path.split("::").map(str::trim).peekable();
        let child = |first: &str| [own.as_slice(), &[first.to_owned()]].concat();
        let mut at: Module = match parts.peek() {
            Some(&"crate") => Vec::new(),
            Some(&("self" | "super")) => own.clone(),
            Some(first) if modules.contains_key(&child(first)) => own.clone(),
            _ => continue,
        };
        while let Some(part @ ("crate" | "self" | "super")) = parts.peek().copied() {
            if part == "super" {
                at.pop();
            }
            parts.next();
        }
        for part in parts {
            at.push(part.to_owned());
            if !modules.contains_key(&at) {
                at.pop();
                break;
            }
        }
        if at != *own && modules.contains_key(&at) {
            used.insert(at);
        }
    }
    used
}

/// Code without comments, strings and tests.
fn code_of(text: &str) -> String {
    let text = text.split("]\nmod tests {").next().unwrap_or(text);
    let mut code = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line);
        let outside = line.split('"').step_by(2);
        code.push_str(&outside.collect::<Vec<_>>().join("\"\""));
        code.push('\n');
    }
    code
}

/// Paths of `use` declarations without re-exports, and other paths from `crate`, `self` or `super`.
fn paths_of(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for statement in code.split(';') {
        let begin = statement
            .rfind("use ")
            .filter(|&at| statement[..at].trim_end().is_empty() || ends_item(statement, at));
        match begin {
            Some(at) => {
                let is_public =
                    statement[..at].trim_end().ends_with(")") || statement[..at].trim_end().ends_with("pub");
                let tree: String = statement[at + 4..].split_whitespace().collect::<Vec<_>>().join(" ");
                if !is_public {
                    expand("", &tree, &mut paths);
                }
                paths.extend(inline(&statement[..at]));
            }
            None => paths.extend(inline(statement)),
        }
    }
    paths
}

/// Whether an item ends before this position, or only an attribute or a visibility is before it.
fn ends_item(statement: &str, at: usize) -> bool {
    let before = statement[..at].trim_end();
    before.ends_with(['}', ']', ')', '{']) || before.ends_with("pub")
}

fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((stem, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        paths.push(format!("{before}{path}"));
        return;
    };
    let before = format!("{before}{}", stem.trim());
    let (mut depth, mut from) = (0, 0);
    let body = rest.rsplit_once('}').map_or(rest, |(body, _)| body);
    for (at, letter) in body.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&before, body[from..at].trim(), paths);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !body[from..].trim().is_empty() {
        expand(&before, body[from..].trim(), paths);
    }
}

fn inline(code: &str) -> Vec<String> {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = code.split(|letter: char| !is_path(letter));
    let is_local =
        |word: &&str| ["crate::", "self::", "super::"].iter().any(|before| word.starts_with(before));
    words.filter(is_local).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        let files: Vec<File> = files.iter().map(file).collect();
        circles(&files).unwrap().into_iter().filter(|line| line.contains("crates/a/")).collect()
    }

    #[test]
    fn circle_of_two_is_found() {
        let one = ("crates/a/src/one.rs", "use crate::two::{Two, other::Third};\n");
        assert_eq!(complaints(&[one, ("crates/a/src/two.rs", "use crate::one::One;\n")]).len(), 1);
        assert_eq!(
            complaints(&[one, ("crates/a/src/two.rs", "fn f() {\n    super::one::f();\n}\n")]).len(),
            1
        );
    }

    #[test]
    fn parent_and_child_are_a_circle() {
        let parent = ("crates/a/src/p/mod.rs", "mod c;\n\nuse self::c::Child;\n");
        assert_eq!(complaints(&[parent, ("crates/a/src/p/c.rs", "use super::Parent;\n")]).len(), 1);
        assert_eq!(complaints(&[parent, ("crates/a/src/p/c.rs", "use std::fmt;\n")]).len(), 0);
    }

    #[test]
    fn reexports_tests_and_comments_do_not_count() {
        let one = ("crates/a/src/one.rs", "// crate::two::Two\npub use crate::two::Two;\n");
        let two = ("crates/a/src/two.rs", "use crate::one::One;\n");
        assert_eq!(complaints(&[one, two]).len(), 0);
        for condition in ["test", "all(test, not(loom))"] {
            let tested = format!("#[cfg({condition})]\nmod tests {{\n    use crate::two::Two;\n}}\n");
            assert_eq!(complaints(&[("crates/a/src/one.rs", &tested), two]).len(), 0);
        }
    }
}
