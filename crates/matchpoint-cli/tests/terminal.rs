//! The summary on a terminal, against the one we agreed to.

mod synthetic;

use std::{env, fs};

use matchpoint_cli::report::{Report, terminal};

fn plain(ranks: u32) -> String {
    let measurements = synthetic::run(ranks);
    anstream::adapter::strip_str(&terminal::render(&Report::new(&measurements))).to_string()
}

#[test]
fn eight_ranks_look_as_agreed() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/eight_ranks.txt");
    let text = plain(8);
    if env::var_os("MATCHPOINT_UPDATE").is_some() {
        fs::write(golden, &text).unwrap();
    }
    let agreed = fs::read_to_string(golden).unwrap();
    assert!(text == agreed, "the summary changed (MATCHPOINT_UPDATE=1 accepts it):\n{text}");
}

#[test]
fn a_summary_fits_one_screen_at_any_size() {
    for (ranks, lines) in [(8, 78), (1024, 95)] {
        let text = plain(ranks);
        assert!(text.lines().count() <= lines, "{} lines", text.lines().count());
        let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{widest}");
    }
}
