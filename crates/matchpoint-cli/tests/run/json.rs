//! `docs/reference/run.md` describes every member of the JSON.

use std::collections::BTreeSet;
use std::fs;

use matchpoint_cli::report::run::{Run, json, terminal, verdict};
use matchpoint_replay::analysis::verdict::Answer;
use matchpoint_run::report::{Endpoint, Overflow, Process};
use serde_json::Value;

use crate::ran::repository;

fn process(rank: u64) -> Process {
    let endpoint = Endpoint {
        front_end: "peer".to_owned(),
        engine: "hybrid".to_owned(),
        elapsed_ns: 1_000_000_000,
        matching_ns: 1000.0 * (rank + 1) as f64,
        bytes_max: 2048,
        posts: 1000,
        posts_hit: 100,
        arrivals: 1000,
        arrivals_hit: 900,
        posted_max: 26,
        unexpected_max: 7,
        posted_sum: 9000,
        unexpected_sum: 1000,
        ..Endpoint::default()
    };
    Process {
        host: "a".to_owned(),
        pid: rank,
        rank: Some(rank),
        endpoints: vec![endpoint],
        ..Process::default()
    }
}

fn members(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                members(value, &path, found);
            }
        }
        Value::Array(array) if !array.is_empty() && array[0].is_object() => {
            array.iter().for_each(|value| members(value, &format!("{path}[]"), found));
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn json_members_are_documented() {
    let mut processes: Vec<Process> = (0..3).map(process).collect();
    processes.push(Process { unmatched: vec!["too old".to_owned()], ..Process::default() });
    processes.push(Process { overflow: Some(Overflow::default()), ..process(4) });
    let run = Run::new(&processes, Some(5));
    let job = serde_json::json!({
        "mpi": "MPICH", "mpi_version": "5.0.2", "position": "below", "mpi_library": "/x", "libfabric": "2.5", "core": "shm", "exit_status": 0,
        "compared": [{ "way": "ours", "seconds": [1.5], "left_out": null }]
    });
    let document = json::document(&job, &run, &verdict::verdict(&run));
    let mut found = BTreeSet::new();
    members(&document, "", &mut found);
    let page = fs::read_to_string(repository("docs/reference/run.md")).unwrap();
    let described: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || "_.[]".contains(c)))
        .collect();
    for member in &found {
        assert!(described.contains(member), "docs/reference/run.md does not describe {member}");
    }
    for name in described.iter().filter(|name| name.contains('.') || name.contains("[]")) {
        assert!(found.contains(name), "docs/reference/run.md describes {name}, which is not there");
    }
}

#[test]
fn worst_rank_is_first_row() {
    let run = Run::new(&(0..20).map(process).collect::<Vec<_>>(), Some(21));
    let verdict = verdict::verdict(&run);
    assert_eq!((verdict.answer, verdict.rank), (Answer::No, Some(19)));
    let text = terminal::render(&run, &verdict, false);
    assert!(text.contains("10 more ranks: --stats"), "{text}");
    assert!(text.contains("1 of 21 processes wrote no report"), "{text}");
    assert!(text.find("\n19 ").unwrap() < text.find("\n18 ").unwrap(), "{text}");
    assert!(!text.contains("\n0 "), "{text}");
    assert!(terminal::render(&run, &verdict, true).contains("\n0 "));
}

#[test]
fn several_worlds_show_pid() {
    let of = |ranks: [Option<u64>; 2]| {
        let processes = ranks.map(|rank| Process { rank, ..process(1) });
        let run = Run::new(&processes, None);
        terminal::render(&run, &verdict::verdict(&run), true).contains("Several processes have")
    };
    assert!(of([Some(0), Some(0)]), "as after MPI_Comm_spawn");
    assert!(!of([Some(0), Some(1)]));
    assert!(!of([None, None]), "programs of libfabric's, say");
}

#[test]
fn costly_rank_is_verdict() {
    let mut slow = process(1);
    slow.endpoints[0].matching_ns = 2e7;
    slow.endpoints[0].posted_sum = 1 << 30;
    let verdict = verdict::verdict(&Run::new(&[process(0), slow], None));
    assert_eq!((verdict.answer, verdict.rank), (Answer::Little, Some(1)));
    assert!(verdict.text.starts_with("A little: matching costs 2 % of"), "{}", verdict.text);
}

#[test]
fn few_messages_have_no_share() {
    let mut few = process(0);
    (few.endpoints[0].posts, few.endpoints[0].arrivals) = (3, 4);
    let verdict = verdict::verdict(&Run::new(&[few], None));
    assert_eq!(verdict.share, None);
    assert!(
        verdict.text.contains("7 searches at rank 0, the worst, are too few to time"),
        "{}",
        verdict.text
    );
    assert_eq!(verdict::verdict(&Run::new(&[], None)).answer, Answer::NoMessages);
}

fn overflowing(rank: u64, overflowed: u64) -> Process {
    let overflow = Overflow { receives: 1000, overflowed, taken: 10, ..Overflow::default() };
    Process { overflow: Some(overflow), ..process(rank) }
}

#[test]
fn overflow_has_separate_columns() {
    let run = Run::new(&[overflowing(0, 10), overflowing(1, 250)], Some(2));
    let verdict = verdict::verdict(&run);
    assert_eq!((verdict.answer, verdict.rank), (Answer::No, Some(1)));
    assert!(
        verdict.text.starts_with("25 % of 1,000 receives of rank 1 overflowed to `hybrid`"),
        "{}",
        verdict.text
    );
    let text = terminal::render(&run, &verdict, false);
    assert!(text.contains("receives  overflowed  given back  messages"), "{text}");
    assert!(!text.contains("arrivals"), "{text}");
}

#[test]
fn given_back_receives_gain_nothing() {
    let text = |given_back| {
        let mut of = overflowing(0, 250);
        of.overflow.as_mut().unwrap().given_back = given_back;
        verdict::verdict(&Run::new(&[of], None)).text
    };
    assert!(text(250).contains("All were given back"), "{}", text(250));
    assert!(text(50).contains("50 receives were given back to the MPI library"), "{}", text(50));
    assert!(!text(0).contains("given back"), "{}", text(0));
}

#[test]
fn verdict_says_that_overflow_was_off() {
    let mut of = overflowing(0, 0);
    of.overflow.as_mut().unwrap().off = Some("program".to_owned());
    let text = verdict::verdict(&Run::new(&[of], None)).text;
    assert!(text.starts_with("Overflow matching was off: the program imports"), "{text}");
}

#[test]
fn unfinished_rank_gives_unknown_answer() {
    let answer = |run: Run| verdict::verdict(&run).answer;
    assert_eq!(answer(Run::new(&[overflowing(0, 0)], None)), Answer::No);
    let mut open = overflowing(0, 0);
    open.endpoints[0].open = true;
    assert_eq!(answer(Run::new(&[open], None)), Answer::Unknown);
}
