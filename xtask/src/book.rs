//! Builds the manual as a book for mdBook.
//!
//! Pages and linked files are copied to `target/book/src` with their paths in the repository, so that links stay valid.
//! The help of each command becomes a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use crate::Failure;
use crate::repository::{self, File, root};

const MDBOOK: &str = "0.4.52";
const COMMANDS: &str = "docs/reference/commands.md";
const SUMMARY: &str = "docs/SUMMARY.md";

/// Builds the manual as a book in target/book.
#[derive(Parser)]
pub struct Arguments {
    /// The matchpoint command, for its help page.
    #[arg(long, default_value = "target/release/matchpoint")]
    matchpoint: PathBuf,
    /// The mdBook command [default: compiled once into target/tools].
    #[arg(long)]
    mdbook: Option<PathBuf>,
    /// Only compile mdBook.
    #[arg(long)]
    install: bool,
}

/// Builds the book, and returns pages without an entry in the table of contents, and broken links.
///
pub fn build(arguments: &Arguments) -> Result<Vec<String>, Failure> {
    let mdbook = match &arguments.mdbook {
        Some(mdbook) => mdbook.clone(),
        None => install()?,
    };
    if arguments.install {
        return Ok(Vec::new());
    }
    let (book, source) = (root().join("target/book"), root().join("target/book/src"));
    if book.exists() {
        fs::remove_dir_all(&book)?;
    }
    let files = repository::files()?;
    copy_pages(&files, &source)?;
    fs::copy(root().join("docs/book.toml"), book.join("book.toml"))?;
    let page = source.join(COMMANDS);
    fs::write(&page, fs::read_to_string(&page)? + &help(&root().join(&arguments.matchpoint))?)?;
    run(Command::new(mdbook).arg("build").arg(&book))?;
    let mut complaints = unlisted(&files);
    complaints.extend(broken_links(&book.join("book"))?);
    Ok(complaints)
}

fn install() -> Result<PathBuf, Failure> {
    let tools = root().join("target/tools");
    let mdbook = tools.join("bin/mdbook");
    if !mdbook.exists() {
        let mut cargo = Command::new("cargo");
        cargo.args([
            "install",
            "mdbook",
            "--version",
            MDBOOK,
            "--locked",
            "--no-default-features",
            "--features",
            "search",
        ]);
        run(cargo.arg("--root").arg(&tools))?;
    }
    Ok(mdbook)
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

fn copy_pages(files: &[File], source: &Path) -> Result<(), Failure> {
    let pages = files.iter().filter(|file| file.is("md"));
    let linked = files.iter().filter(|file| file.is("md")).flat_map(linked_files);
    let paths: BTreeSet<PathBuf> = pages.map(|page| PathBuf::from(&page.path)).chain(linked).collect();
    for path in paths {
        let (from, to) = (root().join(&path), source.join(index(&path.to_string_lossy())));
        if from.is_file() {
            fs::create_dir_all(to.parent().expect("a file is in a folder"))?;
            match path.extension() {
                Some(extension) if extension == "md" => fs::write(to, index(&fs::read_to_string(from)?))?,
                _ => drop(fs::copy(from, to)?),
            }
        }
    }
    fs::write(source.join("SUMMARY.md"), index(&summary(&fs::read_to_string(root().join(SUMMARY))?)))?;
    Ok(fs::remove_file(source.join(SUMMARY))?)
}

fn index(text: &str) -> String {
    text.replace("README.md)", "index.md)").replace("README.md#", "index.md#")
}

fn summary(text: &str) -> String {
    text.replace("](../", "](ROOT/").replace("](", "](docs/").replace("](docs/ROOT/", "](")
}

fn linked_files(page: &File) -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new("")).to_owned();
    let targets = page.text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.contains("://")).filter_map(move |target| {
        let path =
            root().join(&folder).join(target.split('#').next().unwrap_or(target)).canonicalize().ok()?;
        Some(path.strip_prefix(root().canonicalize().ok()?).ok()?.to_owned())
    })
}

fn help(matchpoint: &Path) -> Result<String, Failure> {
    let text = |command: &[&str]| -> Result<String, Failure> {
        let output = Command::new(matchpoint).args(command).arg("--help").env("COLUMNS", "100").output();
        let output = output
            .map_err(|error| format!("{}: {error} (build it, or --matchpoint)", matchpoint.display()))?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let overview = text(&[])?;
    let mut page = format!("\n```text\n{overview}```\n");
    for command in commands(&overview) {
        let help = text(&[command])?;
        page += &format!("\n## {command}\n\n```text\n{help}```\n");
        for part in commands(&help) {
            page += &format!("\n### {command} {part}\n\n```text\n{}```\n", text(&[command, part])?);
        }
    }
    Ok(page)
}

fn commands(help: &str) -> impl Iterator<Item = &str> {
    let listed =
        help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let names =
        listed.lines().filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help")
}

fn unlisted(files: &[File]) -> Vec<String> {
    let summary = files.iter().find(|file| file.path == SUMMARY).map_or("", |file| file.text.as_str());
    let pages = files.iter().filter_map(|file| file.path.strip_prefix("docs/").filter(|_| file.is("md")));
    pages
        .filter(|page| *page != "SUMMARY.md" && !summary.contains(&format!("({page})")))
        .map(|page| format!("docs/{page}: not in {SUMMARY}"))
        .collect()
}

fn broken_links(book: &Path) -> Result<Vec<String>, Failure> {
    let (mut complaints, mut folders) = (Vec::new(), vec![book.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let text = fs::read_to_string(&path)?;
                let targets = text.split("href=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
                let files = targets.map(|target| target.split('#').next().unwrap_or(target));
                let broken: BTreeSet<&str> = files
                    .filter(|file| !file.is_empty() && !file.contains(':') && !folder.join(file).exists())
                    .collect();
                complaints
                    .extend(broken.iter().map(|file| format!("{}: {file}: no such file", path.display())));
            }
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_relative_to_root() {
        assert_eq!(summary("[a](b.md) [c](../d.md)"), "[a](docs/b.md) [c](d.md)");
    }

    #[test]
    fn commands_are_read_from_help() {
        let help = "A tool\n\nCommands:\n  one    Does a\n         thing\n  two    Does more\n  help   Print\n\nOptions:\n  -h\n";
        assert_eq!(commands(help).collect::<Vec<_>>(), ["one", "two"]);
    }

    #[test]
    fn unlisted_page_is_reported() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [file(SUMMARY, "[a](a.md)"), file("docs/a.md", ""), file("docs/b.md", "")];
        assert_eq!(unlisted(&files), ["docs/b.md: not in docs/SUMMARY.md"]);
    }
}
