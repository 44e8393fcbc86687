//! Tests of `matchpoint check` with Matchpoint's engines and with C libraries.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::{env, fs};

use matchpoint::engines::REGISTRY;
use matchpoint::event::script;
use matchpoint_conformance::Options;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::left_out::leave_out;
use crate::ran::{CommandOutput, MATCHPOINT, build_libraries, matchpoint, repository};

fn check(words: &str) -> CommandOutput {
    matchpoint(["check"].into_iter().chain(words.split(' ')))
}

/// The example of a C library with an engine, compiled with macros.
struct Example {
    library: String,
    _folder: TempDir,
}

impl Example {
    fn new(defined: &[&str]) -> Option<Example> {
        let folder = tempdir().unwrap();
        let library = folder.path().join("libforeign_list.so").display().to_string();
        let mut command = Command::new("cc");
        command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]);
        command.args(defined.iter().map(|word| format!("-D{word}")));
        command.arg("-I").arg(repository("crates/matchpoint-capi/include"));
        command.arg(repository("examples/c/foreign_list.c")).args(["-o", &library]);
        let Ok(output) = command.output() else {
            leave_out("no cc", "`apt-get install gcc`");
            return None;
        };
        assert!(output.status.success(), "{output:?}");
        Some(Example { library, _folder: folder })
    }

    fn check(&self, options: &[&str]) -> CommandOutput {
        matchpoint([&["check", "--library", &self.library], options].concat())
    }
}

#[test]
fn all_engines_are_checked_by_default() {
    let output = check("--streams=1 --events=100 --deep=300").succeed();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), REGISTRY.len() + 1);
    assert!(lines[REGISTRY.len()].starts_with("not covered: calls from several threads"), "{lines:?}");
    for (line, spec) in lines.iter().zip(REGISTRY) {
        assert!(line.starts_with(&format!("{}: ", spec.name)) && line.ends_with("no law broken"), "{line}");
    }
    for (arguments, first, count) in [
        ("bins:n=3 --streams=1 --events=100 --deep=0", "bins:n=3: ", 2),
        ("all bins:n=3 --streams=1 --events=10 --deep=0", "bins:n=3: ", REGISTRY.len() + 2),
        ("list -e bins:n=3 -e list --streams=0 --events=100 --deep=0", "list: ", 3),
    ] {
        let output = check(arguments);
        assert!(output.prints("bins:n=3: ").stdout.starts_with(first), "{output}");
        assert_eq!(output.stdout.lines().count(), count, "{output}");
    }
}

#[test]
fn help_has_number_of_streams() {
    let manual = fs::read_to_string(repository("docs/reference/check.md")).unwrap();
    let [all, least] = [200, 0].map(|streams| {
        let depths = vec![1, 2, 7, 70, 700];
        Options { streams, depths, deep: 70_000, ..Options::quick() }.streams_total()
    });
    let counts = format!("{},{:03} by default, {least} with ", all / 1000, all % 1000);
    for text in [&check("--help").stdout, &manual] {
        assert!(text.contains(&counts), "{text} lacks {counts}");
    }
    let output = check("list --streams=0 --deep=0");
    assert!(output.stdout.starts_with(&format!("list: {} streams", least - 4)), "{output}");
}

#[test]
fn long_check_reports_progress_without_terminal() {
    let mut command = Command::new(MATCHPOINT);
    command.args(["check", "list", "--streams=1000000", "--events=100", "--deep=0"]);
    let mut check = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(check.stderr.take().unwrap()).read_line(&mut line).unwrap();
    check.kill().unwrap();
    check.wait().unwrap();
    assert!(line.starts_with("matchpoint: list: ") && line.contains(" streams; next: "), "{line}");
}

#[test]
fn engine_is_checked_for_requested_order() {
    check("rank_array:order=per_source --streams=3 --deep=300 --order=per-source").succeed();
    let output = check("rank_array:order=per_source --streams=3 --order=total").exit(1);
    output.prints("although m1 matches and is older");
}

#[test]
fn correct_library_passes_with_missing_calls_named() {
    let Some(example) = Example::new(&[]) else { return };
    let output = example.check(&["--streams=20", "--deep=2000"]).succeed();
    output.prints("no law broken");
    let lacks = output.stdout.lines().nth(1).unwrap();
    assert!(lacks.contains("not checked") && lacks.contains("mp_retract") && !lacks.contains("cancel"));
}

#[test]
fn fault_is_shown_by_shortest_script() {
    for (mistake, law, shortest) in [
        (
            "BUG_DIRECTED_FIRST",
            "An arriving message takes the oldest",
            "post r1 0/*/0\npost r2 0/0/0\narrive m1 0/0/0\n",
        ),
        (
            "BUG_LIFO",
            "takes the oldest unexpected message",
            "arrive m1 0/0/0\narrive m2 0/0/0\npost r1 0/0/0\n",
        ),
        ("BUG_STALE_CANCEL", "Cancel returns true and removes the receive", "cancel r1 0/0/0\n"),
        ("BUG_STATUS", "mp_probe returned 17", "arrive m1 0/0/0\nprobe 0/0/0\n"),
    ] {
        let Some(example) = Example::new(&[mistake]) else { return };
        let folder = tempdir().unwrap();
        let scripts = folder.path().join("scripts").display().to_string();
        let output = example.check(&["--streams=5", "--save", &scripts]).exit(1);
        output.prints(law);
        assert!(!output.stdout.contains("panicked"), "no C library panics: {output}");
        assert!(output.stdout.ends_with(shortest), "{mistake}: {output}");
        let saved: Vec<_> = fs::read_dir(&scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
        let text = fs::read_to_string(&saved[0]).unwrap();
        assert_eq!(saved.len(), 1);
        assert_eq!(script::print(&script::parse(&text).unwrap()), shortest);
    }
}

/// The queues of this library are wrong only with several engines.
#[test]
fn shared_queues_of_library_are_found() {
    let Some(example) = Example::new(&["BUG_SHARED"]) else { return };
    let output = example.check(&["--streams=5", "--deep=300"]).exit(1);
    output.prints("Calls on one engine do not change another engine").prints("interleaved on two engines\n");
    let script = output.stdout.lines().filter(|line| line.starts_with(['p', 'a']));
    assert_eq!(script.count(), 1, "{output}");
}

#[test]
fn manual_has_number_of_streams() {
    let shapes = matchpoint_conformance::generate::SHAPES.len() as u64;
    let manual = fs::read_to_string(repository("docs/reference/check.md")).unwrap();
    let everywhere = |streams: &u64| {
        let relabelled = (0..*streams).filter(|stream| stream % 2 == 1);
        let seeds = relabelled.flat_map(|stream| stream * shapes..(stream + 1) * shapes);
        seeds.map(|seed| seed % 64).collect::<BTreeSet<_>>().len() == 64
    };
    let least = (1..).find(everywhere).unwrap();
    for expected in [format!("of {shapes} shapes:"), format!("(`--streams {least}`)")] {
        assert!(manual.contains(&expected), "docs/reference/check.md lacks \"{expected}\"");
    }
}

#[test]
fn uncheckable_library_is_one_error() {
    let lost = check("--library ./no/such.so");
    assert!(lost.stderr.starts_with("error: cannot load ./no/such.so: "), "{lost}");
    let unknown = check("lost");
    unknown.reports("there is no engine `lost`");
    let mut outputs = vec![lost, unknown];
    for (defined, arguments, expected) in [
        (&["LACKS_PROBE"][..], &[][..], "its table of functions has no probe"),
        (&["ABI_VERSION=7"], &[], "has version 7 of the C interface, this program has version 0"),
        (&[], &["fast"], "there is one engine here, without a name"),
    ] {
        let Some(example) = Example::new(defined) else { return };
        let output = example.check(arguments);
        output.reports(expected);
        outputs.push(output);
    }
    for output in outputs {
        assert_eq!(output.fail(2).stdout, "");
    }
}

#[test]
fn check_result_is_available_as_json() {
    let asked = "list rank_array:order=per_source --order=total --streams=3 --deep=0 --json=-";
    let json = check(asked).exit(1).json();
    let [list, relaxed] = [0, 1].map(|at| &json["engines"][at]);
    assert_eq!((json["schema"].as_u64(), list["engine"].as_str()), (Some(1), Some("list")));
    assert!(list["matches"].as_u64() > Some(1000) && list["law_broken"].is_null());
    let broken = &relaxed["law_broken"];
    assert!(broken["law"].as_str().unwrap().contains("takes the oldest unexpected message"), "{broken}");
    assert_eq!(broken["script"].as_array().unwrap().len(), 3, "{broken}");
    for played in ["streams", "events", "matches"] {
        assert!(relaxed[played].as_u64() > Some(1), "{played}: {json}");
    }
    let folder = tempdir().unwrap();
    let file = folder.path().join("found.json").display().to_string();
    let output = check(&format!("list --streams=1 --deep=0 --json {file}")).succeed();
    output.prints("no law broken");
    assert!(fs::read_to_string(&file).unwrap().contains("\"law_broken\": null"));
    // A slow check also prints lines of progress.
    let lines = output.stderr.lines().filter(|line| !line.starts_with("matchpoint: list: "));
    assert!(lines.eq([format!("matchpoint: wrote {file}")]), "{output}");
}

#[test]
fn wrong_option_is_not_broken_law() {
    check("--streams=many").exit(2);
    check("--help").prints("Exit codes: 0 no law is broken; 1 a law is broken");
}

#[cfg(unix)]
#[test]
fn crashing_library_does_not_end_command() {
    let Some(example) = Example::new(&["BUG_CRASH"]) else { return };
    let output = example.check(&[]).exit(1);
    output.reports("crashed in the stream 'cancel in reverse, 1 entries' (signal: 6");
    let first = format!("{}: BREAKS A LAW\n# It crashed (signal: 6", example.library);
    assert!(output.stdout.starts_with(&first), "{output}");
    assert!(output.stdout.ends_with("# First seen in: cancel in reverse, 1 entries\n"), "{output}");

    let folder = tempdir().unwrap();
    let file = folder.path().join("found.json").display().to_string();
    let printed = example.check(&["--json", "-"]);
    example.check(&["--json", &file]).prints("BREAKS A LAW");
    for text in [&printed.stdout, &fs::read_to_string(&file).unwrap()] {
        let json: Value = serde_json::from_str(text).unwrap();
        let engine = &json["engines"][0];
        let broken = &engine["law_broken"];
        assert_eq!(broken["stream"], "cancel in reverse, 1 entries", "{json}");
        assert!(broken["how"].as_str().unwrap().starts_with("It crashed (signal: 6"), "{json}");
        assert!(broken["law"].is_string() && broken["script"].as_array().unwrap().is_empty(), "{json}");
        assert!(engine["streams"].as_u64() > Some(1) && engine["engine"] == *example.library, "{json}");
    }
}

#[test]
fn trail_has_only_played_stream() {
    let Some(example) = Example::new(&[]) else { return };
    let folder = tempdir().unwrap();
    let trail = folder.path().join("trail").display().to_string();
    example.check(&["--trail", &trail, "--streams=1", "--events=9", "--deep=5"]).succeed();
    let trail = fs::read_to_string(trail).unwrap();
    assert!(trail.lines().count() == 1 && trail.ends_with(", 5 entries\n"), "{trail}");
}

#[test]
fn libmatchpoint_keeps_every_law() {
    let built = build_libraries(&["matchpoint-capi"]);
    let name = format!("{}matchpoint{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let library = built.join(name).display().to_string();
    let engines: Vec<_> =
        REGISTRY.iter().map(|spec| spec.name).chain(["rank_array:order=per_source"]).collect();
    // `.ci/deep` sets the variable.
    let streams = ["--streams=4", "--streams=20"][usize::from(env::var_os("MATCHPOINT_TEST_LONG").is_some())];
    let options = ["check", "--library", &library, streams, "--deep=2000"];
    let output = matchpoint([&options[..], &engines].concat()).succeed();
    assert_eq!(output.stdout.matches("no law broken").count(), engines.len());
    assert!(!output.stdout.contains("not checked"), "{output}");
}
