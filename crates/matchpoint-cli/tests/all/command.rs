//! Tests of the command: exit codes, messages, files.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, str};

use tempfile::tempdir;

fn matchpoint(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn help_has_example() {
    let output = matchpoint(&["analyze", "--help"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("matchpoint analyze traces/lulesh-27 --html report.html"));
}

#[test]
fn help_fits_80_columns() {
    for command in [
        "record",
        "top",
        "run",
        "analyze",
        "bench",
        "calibrate",
        "predict",
        "convert",
        "profile",
        "check",
        "engines",
    ] {
        for help in ["-h", "--help"] {
            let output = matchpoint(&[command, help]);
            let wide = stdout(&output).lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{command} {help}");
        }
    }
}

/// All commands that start ranks and distribute rows explain both -n.
#[test]
fn help_explains_numbers_around_dashes() {
    let says = |command: &[&str], what: &str| {
        let output = matchpoint(command);
        let help = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(what), "{help}");
    };
    for command in ["calibrate", "predict"] {
        says(&[command, "--help"], "The -n after -- is an option of the launcher");
    }
    says(&["predict", "validate", "--help"], "With fewer ranks, two ranks exchange the messages");
    says(&["predict", "--help"], "set --ppn to the number of processes");
}

#[test]
fn version_is_printed() {
    assert_eq!(stdout(&matchpoint(&["--version"])).trim(), concat!("matchpoint ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_engine_is_listed() {
    let output = matchpoint(&["engines"]);
    assert!(output.status.success());
    for engine in matchpoint::engines::REGISTRY.iter().chain(matchpoint_gpu::engines::SPECS) {
        assert!(stdout(&output).contains(engine.name));
    }
    for (kind, _) in matchpoint::concurrent::KINDS {
        assert!(stdout(&output).contains(kind));
    }
}

#[test]
fn engines_are_listed_as_text_and_json() {
    let output = matchpoint(&["engines", "list", "bins:n=3"]);
    let names: Vec<&str> = stdout(&output).lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(names.len() == 2 && names[0].starts_with("list ") && names[1].starts_with("bins "), "{names:?}");
    let output = matchpoint(&["engines", "lost"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no engine `lost`"), "{}", stderr(&output));
    let page = matchpoint(&["engines"]);
    assert_eq!(stdout(&page).lines().find(|line| line.chars().count() > 80), None);
    let output = matchpoint(&["engines", "bins", "locked", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let bins = &json["engines"][0];
    assert_eq!((&json["schema"], &bins["name"]), (&1.into(), &"bins".into()));
    assert_eq!(
        (&bins["parameters"][0]["key"], &bins["parameters"][0]["default"]),
        (&"n".into(), &"256".into())
    );
    assert!(bins["summary"].is_string() && bins["parameters"][0]["meaning"].is_string(), "{json}");
    assert_eq!(json["engines"].as_array().unwrap().len(), 1);
    assert_eq!(json["concurrent"][0]["name"], "locked:engine=NAME", "{json}");
    let docs =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json.md")).unwrap();
    let docs = docs.split("`matchpoint engines --json").nth(1).unwrap();
    for member in json.as_object().unwrap().keys().chain(bins.as_object().unwrap().keys()) {
        assert!(docs.contains(&format!("`{member}")), "{member}");
    }
}

/// An option is not ignored in another measurement.
#[test]
fn bench_rejects_option_of_other_measurement() {
    for (arguments, missing) in [
        (["bench", "--threads", "4"], "use matchpoint bench rate or matchpoint bench callers"),
        (["bench", "--entries", "5000"], "use matchpoint bench latency"),
        (["bench", "--budget-kib", "7"], "use matchpoint bench offload"),
        (["bench", "--depth", "9"], "use matchpoint bench rate or matchpoint bench offload"),
        (["bench", "--gpu", "-w"], "use matchpoint bench gpu"),
        (["check", "--deep", "99999999999"], "10000000"),
    ] {
        let output = matchpoint(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(missing), "{}", stderr(&output));
    }
}

#[test]
fn wrong_word_is_usage_error() {
    for (arguments, named) in [
        (["analyze", "x", "--arrivals", "never"], "use simulated"),
        (["analyze", "x", "--engine", "lost"], "there is no engine `lost`"),
        (["analyze", "x", "--loggp", "Q=1"], "no parameter `Q`"),
    ] {
        let output = matchpoint(&arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(named), "{}", stderr(&output));
    }
}

/// Errors of numbers contain the range and an example.
#[test]
fn wrong_number_is_reported_with_range() {
    for (arguments, expected) in [
        (
            &["check", "--streams", "x"][..],
            "'x' for '--streams <N>': must be a whole number from 0, such as 20000",
        ),
        (&["check", "--events", "0"], "must be a whole number from 1 to 10000000, such as 1000"),
        (&["check", "--seed", "-1"], "invalid value '-1' for '--seed <S>': must be a whole number"),
        (&["calibrate", "--rounds", "0", "--", "mpiexec"], "must be a whole number from 1 to 100, such as 5"),
        (&["calibrate", "--seconds", "-1", "--", "mpiexec"], "must be 0.001 to 60 seconds, such as 0.5"),
        (&["run", "--compare", "0", "--", "mpiexec"], "must be a whole number from 1, such as 3"),
        (&["top", "x", "--rows", "-3"], "must be a whole number from 0, such as 20"),
        (&["predict", "spmv", "a.mtx", "--ppn", "0"], "must be a whole number from 1, such as 16"),
        (&["record", "--limit", "-2", "--", "mpiexec"], "must be a number of bytes"),
        (&["analyze", "x", "--loggp", "L=x"], "a number from 0, such as L=1500"),
    ] {
        let output = matchpoint(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

/// Reported before any work: these commands would fail later with another error.
#[test]
fn unwritable_file_is_reported_before_work() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (missing, below_file, itself) = (at("none/x"), at("file/x"), at(""));
    for (path, expected) in [
        (&missing, "(mkdir -p), or name another file"),
        (&below_file, "file' is not a folder"),
        (&itself, "name a file in this folder"),
    ] {
        for arguments in [
            &["profile", "no/trace", "-o", path][..],
            &["convert", "no/trace", "--to", "csv", "-o", path],
            &["check", "--json", path],
            &["run", "--json", path, "--", "true"],
            &["calibrate", "-o", path, "--", "true"],
            &["calibrate", "-o", &at("m.toml"), "--raw", path, "--", "true"],
            &["predict", "trace", "no/trace", "-m", "blue-waters", "--json", path],
        ] {
            let output = matchpoint(arguments);
            let said = stderr(&output);
            assert!(said.contains("cannot write ") && said.contains(expected), "{arguments:?}: {said}");
            assert_eq!(
                said.lines().filter(|line| !line.starts_with("hint: ")).count(),
                1,
                "{arguments:?}: {said}"
            );
        }
    }
}

#[test]
fn missing_dashes_give_hint() {
    for (arguments, named) in [
        (
            &["record", "mpiexec", "-n", "3", "./my app"][..],
            "use matchpoint record -- mpiexec -n 3 './my app'\n",
        ),
        (&["record", "-o", "a.trace", "mpiexec", "./a"], "use matchpoint record -o a.trace -- mpiexec ./a\n"),
        (&["calibrate", "mpiexec", "-n", "2"], "use matchpoint calibrate -- mpiexec -n 2\n"),
        (&["calibrate", "mpiexec", "--", "-n", "2"], "use matchpoint calibrate -- mpiexec -n 2\n"),
        (&["calibrate", "-n", "2", "--", "mpiexec"], "matchpoint calibrate -- mpiexec -n …\n"),
        (
            &["predict", "validate", "levels", "-m", "m.toml", "mpiexec"],
            "use matchpoint predict validate levels -m m.toml -- mpiexec\n",
        ),
    ] {
        let output = matchpoint(arguments);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(
            said.ends_with(named) && said.lines().filter(|line| !line.starts_with("hint: ")).count() == 1,
            "{said}"
        );
    }
    // A misspelled option is not an option of the launcher.
    assert!(stderr(&matchpoint(&["record", "--replce", "--", "true"])).contains("--replace"));
}

#[test]
fn measurement_is_named_with_its_option() {
    let folder = tempdir().unwrap();
    let trace = folder.path().to_str().unwrap();
    for (what, word, option) in [
        ("workload", "last", "-w last".to_owned()),
        ("workload", "masks:64", "-w masks:64".to_owned()),
        ("engine", "bins:n=64", "-e bins:n=64".to_owned()),
        ("trace", trace, format!("-w trace:{trace}")),
    ] {
        let output = matchpoint(&["bench", word]);
        let said = stderr(&output);
        assert!(
            said.ends_with(&format!("the {what} '{word}' needs an option\nhint: use {option}\n")),
            "{said}"
        );
        assert_eq!(
            (output.status.code(), said.lines().filter(|line| !line.starts_with("hint: ")).count()),
            (Some(2), 1)
        );
    }
}

#[test]
fn only_trace_folders_are_suggested() {
    let folder = tempdir().unwrap();
    for name in ["bin/tool", "halo.trace/rank-00000.mpt", "src/rank.c"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let output = matchpoint(&["analyze", &folder.path().display().to_string()]);
    let said = stderr(&output);
    assert!(said.contains("halo.trace") && !said.contains("bin") && !said.contains("src"), "{said}");
}

#[test]
fn tables_are_not_written_over_file() {
    let folder = tempdir().unwrap();
    let source = folder.path().join("ring.c");
    fs::write(&source, "").unwrap();
    let output = matchpoint(&["analyze", "x", "--engine=list", "--csv", &source.display().to_string()]);
    assert!(stderr(&output).contains("ring.c' exists and is not a folder"), "{}", stderr(&output));
}

#[test]
fn missing_trace_is_one_line() {
    let folder = tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let output = matchpoint(&[
        "analyze",
        &file("nothing"),
        "--engine=list",
        "--json",
        &file("out.json"),
        "--html",
        &file("out.html"),
        "--csv",
        &file("tables"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().filter(|line| !line.starts_with("hint: ")).count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn missing_folder_is_reported_before_replay() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("none/out.json");
    let output = matchpoint(&["analyze", "x", "--engine=list", "--json", &path.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot write") && stderr(&output).contains("none/out.json"));
}

#[test]
fn file_does_not_overwrite_folder() {
    let folder = tempdir().unwrap();
    let output =
        matchpoint(&["analyze", "x", "--engine=list", "--html", &folder.path().display().to_string()]);
    assert!(stderr(&output).contains("it is a folder"), "{}", stderr(&output));
    assert!(Path::new(folder.path()).is_dir());
}

#[test]
fn two_reports_need_two_files() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("report").display().to_string();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/npb-is-16");
    for arguments in [["--json", &file, "--html", &file], ["--html", "-", "--csv", &file]] {
        let output = matchpoint(&[&["analyze", trace], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("hint: name a "), "{}", stderr(&output));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// No host has this card, so the test is the same everywhere.
const NO_CARD: &str = "gpu_ordered:card=999";

#[test]
fn missing_card_engine_names_alternatives() {
    for arguments in [
        &["check", NO_CARD][..],
        &["bench", "-w", "last:8", "-e", NO_CARD],
        &["analyze", "traces/lulesh-27", "-e", NO_CARD],
    ] {
        let output = matchpoint(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains("engine `gpu_ordered`: ") && said.contains(" card"), "{said}");
        assert!(said.contains("use gpu_ordered:fallback=hybrid to run without a card"), "{said}");
    }
    let wrong = matchpoint(&["check", "gpu_ordered:card=999,fallback=no_such"]);
    assert!(stderr(&wrong).contains("there is no engine `no_such`"), "{}", stderr(&wrong));
}

#[test]
fn substitute_of_card_is_reported_once() {
    let with_fallback = format!("{NO_CARD},fallback=hybrid");
    for arguments in [
        &["check", &with_fallback, "--streams", "1"][..],
        &["bench", "-w", "last:8", "-w", "wild:64", "-e", "list", "-e", &with_fallback, "--budget", "0.01"],
    ] {
        let output = matchpoint(arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let expected = stderr(&output).matches("hybrid replaces gpu_ordered: ").count();
        assert_eq!(expected, 1, "{}", stderr(&output));
    }
}

#[test]
fn reports_name_substitute_of_card() {
    let folder = tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/lulesh-27");
    let with_fallback = format!("{NO_CARD},fallback=list");
    let output = matchpoint(&[
        "analyze",
        trace,
        "-e",
        "list",
        "-e",
        &with_fallback,
        "--json",
        &file("a.json"),
        "--html",
        &file("a.html"),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("`list` matched instead of `{with_fallback}`")), "{said}");
    let html = fs::read_to_string(file("a.html")).unwrap();
    assert!(html.contains("<code>list</code> instead"), "no substitute");
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(file("a.json")).unwrap()).unwrap();
    let [list, instead] = [0, 1].map(|at| &json["engines"][at]);
    assert_eq!((list["substitute"].as_str(), instead["substitute"].as_str()), (None, Some("list")));
    assert_eq!((list["substitute_ranks"].as_u64(), instead["substitute_ranks"].as_u64()), (None, Some(27)));
    assert!(list["posted"]["attempts"].as_u64().unwrap() > 0, "{list}");
    assert_eq!(list["posted"]["attempts"], instead["posted"]["attempts"]);
    assert_eq!(list["posted"]["searches"], instead["posted"]["searches"]);
    assert!(instead["bytes_max"].as_u64() > list["bytes_max"].as_u64(), "{instead}");
}

/// The result of a check names the engine that matched.
#[test]
fn check_names_substitute_of_card() {
    let check = |engine: &str, order: &str| {
        let few = ["--streams", "1", "--events", "100", "--deep", "0", "--order", order];
        let output = matchpoint(&[&["check", engine, "--json", "-"], &few[..]].concat());
        let text = matchpoint(&[&["check", engine], &few[..]].concat());
        let value: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
        (value["engines"][0].clone(), stdout(&text).to_owned())
    };
    let (kept, text) = check(&format!("{NO_CARD},fallback=list"), "total");
    assert_eq!((kept["substitute"].as_str(), &kept["substitute_streams"]), (Some("list"), &kept["streams"]));
    assert!(text.starts_with(&format!("list for {NO_CARD},fallback=list: ")), "{text}");
    assert!(!text.contains("at the end of"), "{text}");
    let (broken, text) = check(&format!("{NO_CARD},fallback=rank_array:order=per_source"), "total");
    assert_eq!(broken["substitute"], "rank_array:order=per_source", "{broken}");
    assert!(broken["law_broken"].is_object() && broken["substitute_streams"].is_null(), "{broken}");
    assert!(
        text.contains("rank_array:order=per_source for gpu_ordered") && text.contains("BREAKS A LAW"),
        "{text}"
    );
    let (own, text) = check("list", "total");
    assert_eq!((own.get("substitute"), text.starts_with("list: ")), (Some(&serde_json::Value::Null), true));
    // The table is full in some streams only.
    let (some, text) = check("optimistic:bins=4,capacity=8,full=software", "total");
    let streams = some["substitute_streams"].as_u64().unwrap();
    assert!(
        streams > 0 && streams < some["streams"].as_u64().unwrap() && some["substitute"] == "hybrid",
        "{some}"
    );
    assert!(text.contains(&format!("at the end of {streams} of ")), "{text}");
}

/// Its workload has any-source receives: refusing them is not a wrong answer.
#[test]
fn demand_of_engine_is_no_fault() {
    let output =
        matchpoint(&["bench", "-w", "posted_any:64", "-e", "gpu_partitioned:card=999,fallback=list"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("differs"), "{}", stdout(&output));
}

#[test]
fn job_rejects_engine_of_card() {
    let output = matchpoint(&["run", "-e", "gpu_matrix", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot use 'gpu_matrix'"), "{}", stderr(&output));
}
