//! Checks of the language of pages, comments and test names.

use super::Complaints;
use crate::repository::File;

/// Words and phrases that are hard to understand.
const TELL_TALES: &[&str] = &[
    "who",
    "whoever",
    "whose",
    "nobody",
    "somebody",
    "told",
    "tells",
    "says",
    "beside",
    "lies",
    "stands",
    "reckon",
    "in vain",
    "as it is",
    "as they were",
    "of its own",
    "of their own",
    "has to do with",
    "comes to",
];
/// Maximum tell-tales in 1000 words of a page.
const TELL_TALES_MAX: f64 = 1.0;
/// Maximum mean words of a sentence.
const SENTENCE_WORDS_MAX: f64 = 20.0;
/// Maximum words: README, page about an engine, other page, all pages.
const README_WORDS_MAX: usize = 900;
const ENGINE_PAGE_WORDS_MAX: usize = 700;
const PAGE_WORDS_MAX: usize = 2500;
const MANUAL_WORDS_MAX: usize = 45_000;
/// Maximum words of a test name, and longer names per 100 names.
const TEST_NAME_WORDS_MAX: usize = 7;
const LONG_TEST_NAMES_MAX: usize = 10;

/// Maximum tell-tales in 1000 words of comments.
const COMMENT_TELL_TALES_MAX: f64 = 0.1;

#[derive(Default)]
struct Prose {
    words: usize,
    sentences: usize,
    tell_tales: usize,
}

impl Prose {
    /// A paragraph, a list item, a heading or a row of a table.
    fn add(&mut self, paragraph: &str) {
        let words: Vec<String> = paragraph.split_whitespace().map(str::to_lowercase).collect();
        let is_end =
            |word: &&String| word.trim_end_matches([')', '*', '`', '"']).ends_with(['.', '!', '?', ':']);
        self.words += words.len();
        self.sentences += words.iter().filter(is_end).count().max(usize::from(!words.is_empty()));
        let plain: Vec<&str> =
            words.iter().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
        let text = format!(" {} ", plain.join(" "));
        self.tell_tales +=
            TELL_TALES.iter().map(|phrase| text.matches(&format!(" {phrase} ")).count()).sum::<usize>();
    }

    fn tell_tales_per_1000(&self) -> f64 {
        1000.0 * self.tell_tales as f64 / self.words.max(1) as f64
    }
}

fn pages(files: &[File]) -> impl Iterator<Item = &File> {
    let is_page = |path: &str| path.starts_with("docs/") && path != "docs/SUMMARY.md" || path == "README.md";
    files.iter().filter(move |file| file.is("md") && is_page(&file.path))
}

/// The paragraphs of a page, without code, tables and quoted words.
fn paragraphs(page: &File) -> Vec<String> {
    let (mut paragraphs, mut is_code) = (vec![String::new()], false);
    for (_, line) in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("```") || line.starts_with('|') {
            continue;
        }
        if line.is_empty()
            || line.starts_with(['#', '*', '-', '>'])
            || line.starts_with(|c: char| c.is_ascii_digit())
        {
            paragraphs.push(String::new());
        }
        let last = paragraphs.last_mut().expect("never empty");
        last.push(' ');
        last.push_str(&without_quoted(line));
    }
    paragraphs
}

/// Quoted code and output count as one word.
fn without_quoted(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.map(|(nth, part)| if nth % 2 == 0 { part } else { "`code`" }).collect()
}

/// Pages and sentences are short and have few tell-tales.
pub fn manual(files: &[File]) -> Complaints {
    let (mut complaints, mut all_words) = (Vec::new(), 0);
    for page in pages(files) {
        let mut prose = Prose::default();
        paragraphs(page).iter().for_each(|paragraph| prose.add(paragraph));
        let words = page.text.split_whitespace().filter(|word| *word != "|").count();
        let words_max = match page.path.as_str() {
            "README.md" => README_WORDS_MAX,
            path if path.starts_with("docs/reference/engines/") => ENGINE_PAGE_WORDS_MAX,
            _ => PAGE_WORDS_MAX,
        };
        let mean = prose.words as f64 / prose.sentences.max(1) as f64;
        all_words += words;
        let mut complain = |what: String| complaints.push(format!("{}: {what}", page.path));
        if words > words_max {
            complain(format!("{words} words, at most {words_max}"));
        }
        if mean > SENTENCE_WORDS_MAX {
            complain(format!("sentences have {mean:.1} words, at most {SENTENCE_WORDS_MAX}"));
        }
        if prose.tell_tales_per_1000() > TELL_TALES_MAX {
            complain(format!("{:.1} tell-tales in 1000 words", prose.tell_tales_per_1000()));
        }
    }
    if all_words > MANUAL_WORDS_MAX {
        complaints.push(format!("docs: {all_words} words, at most {MANUAL_WORDS_MAX}"));
    }
    Ok(complaints)
}

/// The part of the tree: a crate, or a folder of the root.
fn part(file: &File) -> &str {
    let folders = if file.path.starts_with("crates/") { 2 } else { 1 };
    file.path.match_indices('/').nth(folders - 1).map_or("", |(at, _)| &file.path[..at])
}

fn parts(files: &[File]) -> Vec<&str> {
    let mut parts: Vec<&str> = files.iter().filter(|file| file.is("rs")).map(part).collect();
    parts.dedup();
    parts
}

/// Comments have few tell-tales.
pub fn comments(files: &[File]) -> Complaints {
    let mut complaints = Vec::new();
    for name in parts(files) {
        let mut prose = Prose::default();
        for file in files.iter().filter(|file| file.is("rs") && part(file) == name) {
            let comments = file.lines().filter_map(|(_, line)| line.trim_start().strip_prefix("//"));
            comments.for_each(|line| prose.add(&without_quoted(line.trim_start_matches(['/', '!']))));
        }
        let found = prose.tell_tales_per_1000();
        if found > COMMENT_TELL_TALES_MAX {
            complaints.push(format!(
                "{name}: {found:.1} tell-tales in 1000 words of comments, at most {COMMENT_TELL_TALES_MAX}"
            ));
        }
    }
    Ok(complaints)
}

/// Names of tests have few words.
pub fn test_names(files: &[File]) -> Complaints {
    let mut complaints = Vec::new();
    for name in parts(files) {
        let in_part = files.iter().filter(|file| file.is("rs") && part(file) == name);
        let names: Vec<&str> = in_part.flat_map(|file| tests_of(&file.text)).collect();
        let long: Vec<&&str> =
            names.iter().filter(|test| test.split('_').count() > TEST_NAME_WORDS_MAX).collect();
        if long.len() * 100 > names.len() * LONG_TEST_NAMES_MAX {
            complaints.push(format!("{name}: test names of more than {TEST_NAME_WORDS_MAX} words: {long:?}"));
        }
    }
    Ok(complaints)
}

fn tests_of(source: &str) -> impl Iterator<Item = &str> {
    let after = source.split("#[test]").skip(1);
    after.filter_map(|rest| {
        let rest = rest.split_once("fn ")?.1;
        rest.split_once('(').map(|(name, _)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: String) -> File {
        File { path: path.to_owned(), text }
    }

    #[test]
    fn long_sentences_of_page_are_counted() {
        let sentence = |words: usize| format!("{}.\n\n", vec!["word"; words].join(" "));
        let short = page("docs/short.md", sentence(20).repeat(3));
        let long = page("docs/long.md", sentence(21).repeat(3) + "```\nin code.\n```\n");
        assert!(manual(&[short]).unwrap().is_empty());
        assert!(manual(&[long]).unwrap()[0].starts_with("docs/long.md: sentences have 21.0 words"));
    }

    #[test]
    fn tell_tales_outside_quotes_are_counted() {
        let quoted = page("docs/quoted.md", "The program prints `nobody lies`.".to_owned());
        let unclear = page("docs/unclear.md", "The user is told in vain.".to_owned());
        assert!(manual(&[quoted]).unwrap().is_empty());
        assert_eq!(manual(&[unclear]).unwrap().len(), 1);
    }

    #[test]
    fn long_engine_page_is_reported() {
        let text = |words: usize| "Word. ".repeat(words);
        assert!(manual(&[page("docs/reference/engines/a.md", text(700))]).unwrap().is_empty());
        assert_eq!(manual(&[page("docs/reference/engines/a.md", text(701))]).unwrap().len(), 1);
        assert!(manual(&[page("docs/a.md", text(701))]).unwrap().is_empty());
    }

    #[test]
    fn comments_and_names_are_checked_by_part() {
        let name = ["word"; 8].join("_");
        let source = format!("// Nobody is told.\n#[test]\nfn {name}() {{}}\n");
        let files = [page("crates/new/src/lib.rs", source)];
        assert!(comments(&files).unwrap()[0].starts_with("crates/new: "));
        assert!(test_names(&files).unwrap()[0].contains(&name));
    }
}
