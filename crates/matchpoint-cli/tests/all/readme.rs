//! README.md shows the current output, except times.

use std::fs;
use std::process::Command;

use crate::ran::{CommandOutput, MATCHPOINT, repository};

fn shown_and_printed() -> (String, String) {
    let readme = fs::read_to_string(repository("README.md")).unwrap();
    let (_, example) = readme.split_once("```text\nNo: ").expect("the example begins with its answer");
    let (shown, _) = example.split_once("```").unwrap();
    let mut command = Command::new(MATCHPOINT);
    command.current_dir(repository("")).args(["analyze", "traces/lulesh-27"]);
    (shown.to_owned(), CommandOutput::of(&mut command).succeed().stdout)
}

/// Name, attempts, attempts per search, and memory of each engine. Only the name of `hybrid` is compared, because its
/// hash key is random.
fn engines(text: &str) -> Vec<Vec<&str>> {
    let (_, table) = text.split_once("\nEngine ").expect("a table of engines");
    let rows = table.lines().skip(1).take_while(|line| !line.starts_with("compared: "));
    rows.map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["hybrid", ..] => vec!["hybrid"],
            [name, compared, per_search, .., memory, unit] => vec![name, compared, per_search, memory, unit],
            _ => panic!("no line of the table: {line}"),
        }
    })
    .collect()
}

fn counted(text: &str) -> Vec<&str> {
    let (_, rest) = text.split_once("\nTrace ").expect("what the trace is");
    let (counted, _) = rest.split_once("\nEngine ").expect("a table of engines");
    counted.lines().filter(|&line| line != "…").collect()
}

#[test]
fn readme_shows_current_output() {
    let (shown, printed) = shown_and_printed();
    assert!(engines(&shown).len() > 10);
    assert_eq!(engines(&shown), engines(&printed));
    let now = counted(&printed);
    for line in counted(&shown) {
        assert!(now.contains(&line), "README.md shows `{line}`, printed is:\n{}", now.join("\n"));
    }
}
