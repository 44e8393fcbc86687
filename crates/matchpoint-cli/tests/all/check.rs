//! Tests of `matchpoint check`: Matchpoint's engines, and libraries that are correct, faulty or unusable.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, str};

use matchpoint::engines::REGISTRY;
use matchpoint::event::script;
use tempfile::{TempDir, tempdir};

use crate::left_out::leave_out;

fn matchpoint(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The example of a foreign library, compiled with these definitions; `None` without a compiler.
struct Example {
    library: String,
    _folder: TempDir,
}

fn example(defined: &[&str]) -> Option<Example> {
    let folder = tempdir().unwrap();
    let library = folder.path().join("libforeign_list.so").display().to_string();
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]);
    command.args(defined.iter().map(|word| format!("-D{word}")));
    command.arg("-I").arg(root().join("crates/matchpoint-capi/include"));
    command.arg(root().join("examples/c/foreign_list.c")).args(["-o", &library]);
    let Ok(output) = command.output() else {
        leave_out("no cc", "`apt-get install gcc`");
        return None;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    Some(Example { library, _folder: folder })
}

#[test]
fn all_engines_are_checked_by_default() {
    let output = matchpoint(&["check", "--streams=1", "--events=100", "--deep=300"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let lines: Vec<_> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), REGISTRY.len() + 1);
    assert!(lines[REGISTRY.len()].starts_with("not covered: calls from several threads"), "{lines:?}");
    for (line, spec) in lines.iter().zip(REGISTRY) {
        assert!(line.starts_with(&format!("{}: ", spec.name)) && line.ends_with("no law broken"), "{line}");
    }
    let output = matchpoint(&["check", "bins:n=3", "--streams=1", "--events=100", "--deep=0"]);
    assert!(stdout(&output).starts_with("bins:n=3: ") && stdout(&output).lines().count() == 2);
    let output = matchpoint(&["check", "all", "bins:n=3", "--streams=1", "--events=10", "--deep=0"]);
    assert!(
        stdout(&output).starts_with("bins:n=3: ") && stdout(&output).lines().count() == REGISTRY.len() + 2
    );
    let output = matchpoint(&[
        "check",
        "list",
        "-e",
        "bins:n=3",
        "-e",
        "list",
        "--streams=0",
        "--events=100",
        "--deep=0",
    ]);
    let lines: Vec<_> = stdout(&output).lines().collect();
    assert!(
        lines[0].starts_with("list: ") && lines[1].starts_with("bins:n=3: ") && lines.len() == 3,
        "{lines:?}"
    );
}

#[test]
fn help_has_number_of_streams() {
    let help = matchpoint(&["check", "--help"]);
    let options = |streams| matchpoint_conformance::Options {
        streams,
        depths: vec![1, 2, 7, 70, 700],
        deep: 70_000,
        ..matchpoint_conformance::Options::quick()
    };
    let manual = fs::read_to_string(root().join("docs/reference/check.md")).unwrap();
    let [all, least] = [200, 0].map(|streams| options(streams).streams_total());
    let counts = format!("{},{:03} by default, {least} with ", all / 1000, all % 1000);
    for text in [stdout(&help), &manual] {
        assert!(text.contains(&counts), "{text} does not say {counts}");
    }
    let output = matchpoint(&["check", "list", "--streams=0", "--deep=0"]);
    assert!(stdout(&output).starts_with(&format!("list: {} streams", least - 4)), "{}", stdout(&output));
}

/// The log of a long check must show progress.
#[test]
fn long_check_reports_progress_without_terminal() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matchpoint"));
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
    let relaxed = "rank_array:order=per_source";
    assert!(
        matchpoint(&["check", relaxed, "--streams=3", "--deep=300", "--order=per-source"]).status.success()
    );
    let output = matchpoint(&["check", relaxed, "--streams=3", "--order=total"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("though m1 is older"), "{}", stdout(&output));
}

#[test]
fn correct_library_passes_with_missing_calls_named() {
    let Some(example) = example(&[]) else { return };
    let output = matchpoint(&["check", "--library", &example.library, "--streams=20", "--deep=2000"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("no law broken"));
    let lacks = stdout(&output).lines().nth(1).unwrap();
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
        ("BUG_STALE_CANCEL", "Cancel is true if", "cancel r1 0/0/0\n"),
        ("BUG_STATUS", "mp_probe answered 17", "arrive m1 0/0/0\nprobe 0/0/0\n"),
    ] {
        let Some(example) = example(&[mistake]) else { return };
        let folder = tempdir().unwrap();
        let scripts = folder.path().join("scripts").display().to_string();
        let output = matchpoint(&["check", "--library", &example.library, "--streams=5", "--save", &scripts]);
        assert_eq!(output.status.code(), Some(1), "{mistake}");
        assert!(stdout(&output).contains(law), "{mistake}: {}", stdout(&output));
        assert!(!stdout(&output).contains("panicked"), "no C library panics: {}", stdout(&output));
        assert!(stdout(&output).ends_with(shortest), "{mistake}: {}", stdout(&output));
        let saved: Vec<_> = fs::read_dir(&scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
        let text = fs::read_to_string(&saved[0]).unwrap();
        assert_eq!(saved.len(), 1);
        assert_eq!(script::print(&script::parse(&text).unwrap()), shortest);
    }
}

/// Correct with one engine only.
#[test]
fn shared_queues_of_library_are_found() {
    let Some(example) = example(&["BUG_SHARED"]) else { return };
    let output = matchpoint(&["check", "--library", &example.library, "--streams=5", "--deep=300"]);
    let says = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{says}");
    assert!(says.contains("Calls on one engine do not change another engine"), "{says}");
    assert!(says.contains("by turns on two engines\n"), "{says}");
    let script: Vec<_> = says.lines().filter(|line| line.starts_with(['p', 'a'])).collect();
    assert_eq!(script.len(), 1, "{says}");
}

/// Numbers in the manual: shapes, and streams that put every bit into every position.
#[test]
fn manual_has_number_of_streams() {
    let shapes = matchpoint_conformance::generate::SHAPES.len() as u64;
    let manual = fs::read_to_string(root().join("docs/reference/check.md")).unwrap();
    let everywhere = |streams: &u64| {
        let relabelled = (0..*streams).filter(|stream| stream % 2 == 1);
        let seeds = relabelled.flat_map(|stream| stream * shapes..(stream + 1) * shapes);
        seeds.map(|seed| seed % 64).collect::<std::collections::BTreeSet<_>>().len() == 64
    };
    let least = (1..).find(everywhere).unwrap();
    for says in [format!("of {shapes} shapes:"), format!("(`--streams {least}`)")] {
        assert!(manual.contains(&says), "docs/reference/check.md does not say \"{says}\"");
    }
}

#[test]
fn uncheckable_library_is_one_error() {
    let lost = matchpoint(&["check", "--library", "./no/such.so"]);
    assert!(stderr(&lost).starts_with("error: cannot load ./no/such.so: "), "{}", stderr(&lost));
    let unknown = matchpoint(&["check", "lost"]);
    assert!(stderr(&unknown).contains("there is no engine `lost`"), "{}", stderr(&unknown));
    let mut outputs = vec![lost, unknown];
    for (defined, arguments, says) in [
        (&["LACKS_PROBE"][..], &[][..], "its table of functions has no probe"),
        (&["ABI_VERSION=7"], &[], "version 7 of the C interface, this is version 0"),
        (&[], &["fast"], "there is one engine here, without a name"),
    ] {
        let Some(example) = example(defined) else { return };
        let output = matchpoint(&[&["check", "--library", &example.library], arguments].concat());
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        outputs.push(output);
    }
    for output in outputs {
        assert_eq!(
            (
                output.status.code(),
                stderr(&output).lines().filter(|line| !line.starts_with("hint: ")).count()
            ),
            (Some(2), 1)
        );
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn check_result_is_available_as_json() {
    let relaxed = "rank_array:order=per_source";
    let asked = ["check", "list", relaxed, "--order=total", "--streams=3", "--deep=0", "--json=-"];
    let output = matchpoint(&asked);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((json["schema"].as_u64(), json["engines"][0]["engine"].as_str()), (Some(1), Some("list")));
    assert!(
        json["engines"][0]["matches"].as_u64() > Some(1000) && json["engines"][0]["law_broken"].is_null()
    );
    let broken = &json["engines"][1]["law_broken"];
    assert!(broken["law"].as_str().unwrap().contains("takes the oldest unexpected message"), "{broken}");
    assert_eq!(broken["script"].as_array().unwrap().len(), 3, "{broken}");
    for played in ["streams", "events", "matches"] {
        assert!(json["engines"][1][played].as_u64() > Some(1), "{played}: {json}");
    }
    let folder = tempdir().unwrap();
    let file = folder.path().join("found.json").display().to_string();
    let output = matchpoint(&["check", "list", "--streams=1", "--deep=0", "--json", &file]);
    assert!(output.status.success() && stdout(&output).contains("no law broken"));
    assert!(fs::read_to_string(&file).unwrap().contains("\"law_broken\": null"));
    // No progress bar in a pipe.
    assert_eq!(stderr(&output), format!("matchpoint: wrote {file}\n"));
}

#[test]
fn wrong_option_is_not_broken_law() {
    assert_eq!(matchpoint(&["check", "--streams=many"]).status.code(), Some(2));
    let help = matchpoint(&["check", "--help"]);
    assert!(stdout(&help).contains("Exit codes: 0 no law is broken; 1 a law is broken"), "{}", stdout(&help));
}

#[cfg(unix)]
#[test]
fn crashing_library_does_not_end_command() {
    let Some(example) = example(&["BUG_CRASH"]) else { return };
    let output = matchpoint(&["check", "--library", &example.library]);
    assert_eq!(output.status.code(), Some(1));
    let says = stderr(&output);
    assert!(says.contains("crashed in the stream 'cancel in reverse, 1 entries' (signal: 6"), "{says}");
    let expected = stdout(&output);
    assert!(
        expected.starts_with(&format!("{}: BREAKS A LAW\n# It crashed (signal: 6", example.library)),
        "{expected}"
    );
    assert!(expected.ends_with("# First seen in: cancel in reverse, 1 entries\n"), "{expected}");

    let folder = tempdir().unwrap();
    let file = folder.path().join("found.json").display().to_string();
    let printed = matchpoint(&["check", "--library", &example.library, "--json", "-"]);
    let written = matchpoint(&["check", "--library", &example.library, "--json", &file]);
    assert!(stdout(&written).contains("BREAKS A LAW"), "{}", stdout(&written));
    for text in [stdout(&printed), &fs::read_to_string(&file).unwrap()] {
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let engine = &json["engines"][0];
        let broken = &engine["law_broken"];
        assert_eq!(broken["stream"], "cancel in reverse, 1 entries", "{json}");
        assert!(broken["how"].as_str().unwrap().starts_with("It crashed (signal: 6"), "{json}");
        assert!(broken["law"].is_string() && broken["script"].as_array().unwrap().is_empty(), "{json}");
        assert!(
            engine["streams"].as_u64() > Some(1) && engine["engine"] == example.library.as_str(),
            "{json}"
        );
    }
}

/// A shorter name replaces a longer one completely.
#[test]
fn trail_has_only_played_stream() {
    let Some(example) = example(&[]) else { return };
    let folder = tempdir().unwrap();
    let trail = folder.path().join("trail").display().to_string();
    let quick = ["--streams=1", "--events=9", "--deep=5"];
    let asked = [&["check", "--library", &example.library, "--trail", &trail][..], &quick].concat();
    assert!(matchpoint(&asked).status.success());
    let trail = fs::read_to_string(trail).unwrap();
    assert!(trail.lines().count() == 1 && trail.ends_with(", 5 entries\n"), "{trail}");
}

/// Matchpoint's engines behind its C interface keep all laws, and all functions exist.
#[test]
fn libmatchpoint_keeps_every_law() {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_matchpoint"));
    let built = program.parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["build", "--locked", "--quiet", "--package", "matchpoint-capi"]);
    cargo.arg("--target-dir").arg(built.parent().unwrap());
    if built.ends_with("release") {
        cargo.arg("--release");
    }
    // Set by `scripts/test`.
    if env::var_os("MATCHPOINT_LIBRARIES_BUILT").is_none() {
        assert!(cargo.status().unwrap().success());
    }
    let name = format!("{}matchpoint{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let library = built.join(name).display().to_string();
    let engines: Vec<_> =
        REGISTRY.iter().map(|spec| spec.name).chain(["rank_array:order=per_source"]).collect();
    // Set by `.ci/deep`.
    let streams = ["--streams=4", "--streams=20"][usize::from(env::var_os("MATCHPOINT_TEST_LONG").is_some())];
    let output =
        matchpoint(&[&["check", "--library", &library, streams, "--deep=2000"], &engines[..]].concat());
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(stdout(&output).matches("no law broken").count(), engines.len());
    assert!(!stdout(&output).contains("not checked"), "{}", stdout(&output));
}
