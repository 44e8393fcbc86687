use std::path::{Component, Path, PathBuf};

use super::Complaints;
use crate::repository::{File, root};

/// Every relative link of a Markdown file leads to a file, and its anchor to a heading.
pub fn links(files: &[File]) -> Complaints {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is("md")) {
        for (number, target) in targets(file) {
            if let Some(what) = broken(files, file, target) {
                complaints.push(format!("{}:{number}: {target}: {what}", file.path));
            }
        }
    }
    Ok(complaints)
}

/// Links outside of code blocks, and their lines.
fn targets(file: &File) -> Vec<(usize, &str)> {
    let (mut targets, mut is_code) = (Vec::new(), false);
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let parts = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            targets.extend(parts.map(|(target, _)| (number, target)));
        }
    }
    targets
}

fn broken(files: &[File], from: &File, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&from.path).parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { PathBuf::from(&from.path) } else { plain(&folder.join(path)) };
    if !root().join(&path).exists() {
        return Some("there is no such file");
    }
    let page = files.iter().find(|file| Path::new(&file.path) == path)?;
    let has_heading =
        || page.text.lines().filter(|line| line.starts_with('#')).any(|heading| slug(heading) == anchor);
    (!anchor.is_empty() && !has_heading()).then_some("there is no such heading")
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The anchor of a heading, in the form of code hosts.
fn slug(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        other if other.is_alphanumeric() => Some(other),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Reports paths and names that are valid on one machine only.
pub fn machines(files: &[File]) -> Complaints {
    // The pieces keep this file free of these words.
    let words = ["/wo|rk/", "/ro|ot/", "/ho|me/", "pkg|.dev", "regis|try.npm", "artifact|-regis|try"]
        .map(|word| word.replace('|', ""));
    let mut complaints = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            let found = words.iter().filter(|word| line.contains(word.as_str()));
            complaints
                .extend(found.map(|word| format!("{}:{number}: `{word}` is of one machine only", file.path)));
        }
    }
    Ok(complaints)
}

/// No line ends in spaces.
pub fn spaces(files: &[File]) -> Complaints {
    let ours =
        files.iter().filter(|file| !file.path.starts_with("traces/") && !file.path.contains("/golden/"));
    let ends = |line: &str| line.ends_with([' ', '\t']);
    Ok(ours
        .flat_map(|file| {
            file.lines()
                .filter(move |(_, line)| ends(line))
                .map(|(number, _)| format!("{}:{number}: space at the end of the line", file.path))
        })
        .collect())
}

/// No file has a mark of an unresolved merge.
pub fn conflicts(files: &[File]) -> Complaints {
    // The pieces keep this file free of these marks.
    let marks = [["<<<<", "<<< "], [">>>>", ">>> "]].map(|pieces| pieces.concat());
    let is_mark = |line: &str| marks.iter().any(|mark| line.starts_with(mark.as_str()));
    let marked = files.iter().flat_map(|file| {
        let lines = file.lines().filter(move |(_, line)| is_mark(line));
        lines.map(|(number, _)| format!("{}:{number}: mark of an unresolved merge", file.path))
    });
    Ok(marked.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> File {
        File { path: "docs/page.md".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn links_are_found_outside_code() {
        let page = page("see [a](b.md), [c](d.md#e)\n```\n[f](g.md)\n```\n");
        assert_eq!(targets(&page), [(1, "b.md"), (1, "d.md#e")]);
    }

    #[test]
    fn unresolved_merges_are_reported() {
        let ours = format!("{} HEAD\nours\n", "<".repeat(7));
        assert_eq!(conflicts(&[page(&ours)]).unwrap(), ["docs/page.md:1: mark of an unresolved merge"]);
        assert!(conflicts(&[page("a <<<<<<< b\n=======\n")]).unwrap().is_empty());
    }

    #[test]
    fn broken_links_are_reported() {
        let from = page("# What it is\n");
        assert_eq!(broken(&[], &from, "https://example.org"), None);
        assert_eq!(broken(&[], &from, "../Cargo.toml"), None);
        assert!(broken(&[], &from, "Cargo.toml").is_some());
        let files = [page("# What `it` is\n"), File { path: "README.md".to_owned(), text: String::new() }];
        assert_eq!(slug("## What `it` is: §1"), "what-it-is-1");
        assert!(broken(&files, &from, "../README.md#here").is_some());
    }
}
