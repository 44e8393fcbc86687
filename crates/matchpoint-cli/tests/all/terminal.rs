//! The summary on a terminal equals the golden file.

use std::{env, fs};

use matchpoint_cli::report::{Report, terminal};
use matchpoint_replay::Measurements;

use crate::synthetic;

fn plain(ranks: u32) -> String {
    let measurements = Measurements { places: Vec::new(), ..synthetic::run(ranks) };
    rendered(&measurements)
}

fn rendered(measurements: &Measurements) -> String {
    anstream::adapter::strip_str(&terminal::render(&Report::new(measurements))).to_string()
}

#[test]
fn eight_ranks_equal_golden_file() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/eight_ranks.txt");
    let text = plain(8);
    if env::var_os("MATCHPOINT_UPDATE").is_some() {
        fs::write(golden, &text).unwrap();
    }
    let agreed = fs::read_to_string(golden).unwrap();
    assert!(text == agreed, "the summary changed (MATCHPOINT_UPDATE=1 accepts it):\n{text}");
}

#[test]
fn summary_of_any_size_fits_screen() {
    for (ranks, lines) in [(8, 78), (1024, 95)] {
        let text = plain(ranks);
        assert!(text.lines().count() <= lines, "{} lines", text.lines().count());
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{widest}");
    }
}

#[test]
fn call_sites_are_shown() {
    let text = rendered(&synthetic::run(8));
    let row = text.lines().find(|line| line.starts_with("exchange (exchange.c:94)")).expect(&text);
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert_eq!(cells.last(), Some(&"26"), "{row}");
    assert!(text.contains("halo+0x2210"), "{text}");
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("Call sites: 60 % halo+0x2210, 40 % exchange (exchange.c:94)."), "{flowing}");
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}
