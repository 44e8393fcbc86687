//! Tests of the command: exit codes, messages, files.

use std::fs;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::ran::{bundled, file, matchpoint, repository, words};

#[test]
fn help_has_example() {
    for (command, example) in [
        ("analyze", "matchpoint analyze traces/lulesh-27 --html report.html"),
        ("predict", "matchpoint predict spmv A.mtx --machine blue-waters --processes 512"),
        ("profile", "matchpoint profile traces/fillboundary-27 -o app.partners"),
        ("profile", "-e list -e partner:mode=static,profile=app.partners"),
    ] {
        matchpoint([command, "--help"]).succeed().prints(example);
    }
}

#[test]
fn help_fits_80_columns() {
    let bench = ["engines", "latency", "rate", "callers", "offload", "gpu"].map(|of| format!("bench {of}"));
    let predict = ["spmv", "spgemm", "amg", "trace", "figures", "validate"].map(|of| format!("predict {of}"));
    let commands = "record top run analyze bench calibrate predict convert profile check engines";
    for command in commands.split(' ').chain(bench.iter().chain(&predict).map(String::as_str)) {
        for help in ["-h", "--help"] {
            let output = matchpoint(command.split(' ').chain([help]));
            assert!(output.width() <= 80, "{output}");
        }
    }
}

#[test]
fn help_explains_numbers_around_dashes() {
    for (command, what) in [
        ("calibrate --help", "The -n after -- is an option of the launcher"),
        ("predict --help", "The -n after -- is an option of the launcher"),
        ("predict validate --help", "With fewer ranks, two ranks exchange the messages"),
        ("predict --help", "set --ppn to the number of processes"),
    ] {
        let help = words(&matchpoint(command.split(' ')).stdout);
        assert!(help.contains(what), "{help}");
    }
}

#[test]
fn version_is_printed() {
    assert_eq!(matchpoint(["--version"]).stdout.trim(), concat!("matchpoint ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_engine_is_listed() {
    let output = matchpoint(["engines"]).succeed();
    for engine in matchpoint::engines::REGISTRY.iter().chain(matchpoint_gpu::engines::SPECS) {
        output.prints(engine.name);
    }
    for (kind, _) in matchpoint::concurrent::KINDS {
        output.prints(kind);
    }
}

#[test]
fn engines_are_listed_as_text_and_json() {
    let output = matchpoint(["engines", "list", "bins:n=3"]);
    let names: Vec<&str> = output.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(names.len() == 2 && names[0].starts_with("list ") && names[1].starts_with("bins "), "{names:?}");
    matchpoint(["engines", "lost"]).exit(2).reports("there is no engine `lost`");
    assert!(matchpoint(["engines"]).width() <= 80);
    let json = matchpoint(["engines", "bins", "locked", "--json", "-"]).json();
    let bins = &json["engines"][0];
    let parameter = &bins["parameters"][0];
    assert_eq!((&json["schema"], &bins["name"]), (&1.into(), &"bins".into()));
    assert_eq!((&parameter["key"], &parameter["default"]), (&"n".into(), &"256".into()));
    assert!(bins["summary"].is_string() && parameter["meaning"].is_string(), "{json}");
    assert_eq!(json["engines"].as_array().unwrap().len(), 1);
    assert_eq!(json["concurrent"][0]["name"], "locked:engine=NAME", "{json}");
    let docs = fs::read_to_string(repository("docs/reference/json.md")).unwrap();
    let docs = docs.split("`matchpoint engines --json").nth(1).unwrap();
    for member in json.as_object().unwrap().keys().chain(bins.as_object().unwrap().keys()) {
        assert!(docs.contains(&format!("`{member}")), "{member}");
    }
}

/// Options of another measurement are errors. Errors of numbers contain the range and an example.
#[test]
fn wrong_word_is_usage_error() {
    for (arguments, expected) in [
        ("bench --threads 4", "use matchpoint bench rate or matchpoint bench callers"),
        ("bench --entries 5000", "use matchpoint bench latency"),
        ("bench --budget-kib 7", "use matchpoint bench offload"),
        ("bench --depth 9", "use matchpoint bench rate or matchpoint bench offload"),
        ("bench --gpu -w", "use matchpoint bench gpu"),
        ("check --deep 99999999999", "10000000"),
        ("analyze x --arrivals never", "use simulated"),
        ("analyze x --engine lost", "there is no engine `lost`"),
        ("analyze x --loggp Q=1", "no parameter `Q`"),
        ("analyze x --loggp L=x", "a number from 0, such as L=1500"),
        ("check --streams x", "'x' for '--streams <N>': must be a whole number from 0, such as 20000"),
        ("check --events 0", "must be a whole number from 1 to 10000000, such as 1000"),
        ("check --seed -1", "invalid value '-1' for '--seed <S>': must be a whole number"),
        ("calibrate --rounds 0 -- mpiexec", "must be a whole number from 1 to 100, such as 5"),
        ("calibrate --seconds -1 -- mpiexec", "must be 0.001 to 60 seconds, such as 0.5"),
        ("run --compare 0 -- mpiexec", "must be a whole number from 1, such as 3"),
        ("run -e gpu_matrix -- true", "cannot use 'gpu_matrix'"),
        ("top x --rows -3", "must be a whole number from 0, such as 20"),
        ("predict spmv a.mtx --ppn 0", "must be a whole number from 1, such as 16"),
        ("record --limit -2 -- mpiexec", "must be a number of bytes"),
    ] {
        matchpoint(arguments.split(' ')).exit(2).reports(expected);
    }
}

fn count(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

/// The input does not exist either, so the order of the checks shows.
#[test]
fn unwritable_file_is_reported_before_work() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let (missing, below_file, itself) = (file(&folder, "none/x"), file(&folder, "file/x"), file(&folder, ""));
    for (path, expected) in [
        (&missing, "(mkdir -p), or name another file"),
        (&below_file, "file' is not a folder"),
        (&itself, "name a file in this folder"),
    ] {
        for arguments in [
            &["analyze", "x", "--engine=list", "--json", path][..],
            &["analyze", "x", "--engine=list", "--html", path],
            &["profile", "no/trace", "-o", path],
            &["convert", "no/trace", "--to", "csv", "-o", path],
            &["check", "--json", path],
            &["run", "--json", path, "--", "true"],
            &["calibrate", "-o", path, "--", "true"],
            &["calibrate", "-o", &file(&folder, "m.toml"), "--raw", path, "--", "true"],
            &["predict", "trace", "no/trace", "-m", "blue-waters", "--json", path],
        ] {
            let output = matchpoint(arguments);
            output.reports("cannot write ").reports(expected).reports(path);
            assert_eq!(output.errors(), 1, "{output}");
            if arguments[0] == "analyze" {
                output.exit(1);
            }
        }
    }
    matchpoint(["analyze", "x", "--engine=list", "--html", &itself]).reports("it is a folder");
    assert!(folder.path().is_dir());
}

#[test]
fn missing_dashes_give_hint() {
    for (arguments, hint) in [
        (
            &["record", "mpiexec", "-n", "3", "./my app"][..],
            "use matchpoint record -- mpiexec -n 3 './my app'",
        ),
        (&["record", "-o", "a.trace", "mpiexec", "./a"], "use matchpoint record -o a.trace -- mpiexec ./a"),
        (&["calibrate", "mpiexec", "-n", "2"], "use matchpoint calibrate -- mpiexec -n 2"),
        (&["calibrate", "mpiexec", "--", "-n", "2"], "use matchpoint calibrate -- mpiexec -n 2"),
        (&["calibrate", "-n", "2", "--", "mpiexec"], "matchpoint calibrate -- mpiexec -n …"),
        (
            &["predict", "validate", "levels", "-m", "m.toml", "mpiexec"],
            "use matchpoint predict validate levels -m m.toml -- mpiexec",
        ),
    ] {
        let message = matchpoint(arguments).fail(2).stderr;
        assert!(message.ends_with(&format!("{hint}\n")), "{message}");
    }
    matchpoint(["record", "--replce", "--", "true"]).reports("--replace");
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
        let message = matchpoint(["bench", word]).fail(2).stderr;
        let expected = format!("the {what} '{word}' needs an option\nhint: use {option}\n");
        assert!(message.ends_with(&expected), "{message}");
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
    let message = matchpoint(["analyze", &file(&folder, "")]).stderr;
    assert!(
        message.contains("halo.trace") && !message.contains("bin") && !message.contains("src"),
        "{message}"
    );
}

#[test]
fn tables_are_not_written_over_file() {
    let folder = tempdir().unwrap();
    let source = file(&folder, "ring.c");
    fs::write(&source, "").unwrap();
    let output = matchpoint(["analyze", "x", "--engine=list", "--csv", &source]);
    output.reports("ring.c' exists and is not a folder");
}

#[test]
fn missing_trace_is_one_line() {
    let folder = tempdir().unwrap();
    let [trace, json, html, csv] =
        ["nothing", "out.json", "out.html", "tables"].map(|name| file(&folder, name));
    let files = ["--json", &json, "--html", &html, "--csv", &csv];
    let message = matchpoint([&["analyze", &trace, "--engine=list"], &files[..]].concat()).fail(1).stderr;
    assert!(message.starts_with("error: "), "{message}");
    assert_eq!(count(&folder), 0);
}

#[test]
fn two_reports_need_two_files() {
    let folder = tempdir().unwrap();
    let (file, trace) = (file(&folder, "report"), bundled("npb-is-16"));
    for files in [["--json", &file, "--html", &file], ["--html", "-", "--csv", &file]] {
        matchpoint([&["analyze", &trace], &files[..]].concat()).exit(2).reports("hint: name a ");
        assert_eq!(count(&folder), 0);
    }
}

const NO_CARD: &str = "gpu_ordered:card=999";

#[test]
fn missing_card_engine_names_alternatives() {
    for arguments in
        [&["check", NO_CARD][..], &["bench", "-w", "last:8", "-e", NO_CARD], &["analyze", "x", "-e", NO_CARD]]
    {
        let output = matchpoint(arguments).exit(2);
        output.reports("engine `gpu_ordered`: ").reports(" card");
        output.reports("use gpu_ordered:fallback=hybrid to run without a card");
    }
    matchpoint(["check", "gpu_ordered:card=999,fallback=no_such"]).reports("there is no engine `no_such`");
}

#[test]
fn substitute_of_card_is_reported_once() {
    let with_fallback = format!("{NO_CARD},fallback=hybrid");
    for arguments in [
        &["check", &with_fallback, "--streams", "1"][..],
        &["bench", "-w", "last:8", "-w", "wild:64", "-e", "list", "-e", &with_fallback, "--budget", "0.01"],
    ] {
        let output = matchpoint(arguments).succeed();
        assert_eq!(output.stderr.matches("hybrid replaces gpu_ordered: ").count(), 1, "{output}");
    }
}

#[test]
fn reports_name_substitute_of_card() {
    let folder = tempdir().unwrap();
    let (json, html) = (file(&folder, "a.json"), file(&folder, "a.html"));
    let with_fallback = format!("{NO_CARD},fallback=list");
    let engines = ["-e", "list", "-e", &with_fallback, "--json", &json, "--html", &html];
    let output = matchpoint([&["analyze", &bundled("lulesh-27")], &engines[..]].concat()).succeed();
    let message = words(&output.stdout);
    assert!(message.contains(&format!("`list` matched instead of `{with_fallback}`")), "{message}");
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("<code>list</code> matched instead of"), "no substitute");
    let json: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let [list, instead] = [0, 1].map(|at| &json["engines"][at]);
    assert_eq!((list["substitute"].as_str(), instead["substitute"].as_str()), (None, Some("list")));
    assert_eq!((list["substitute_ranks"].as_u64(), instead["substitute_ranks"].as_u64()), (None, Some(27)));
    assert!(list["posted"]["attempts"].as_u64().unwrap() > 0, "{list}");
    assert_eq!(list["posted"]["attempts"], instead["posted"]["attempts"]);
    assert_eq!(list["posted"]["searches"], instead["posted"]["searches"]);
    assert!(instead["bytes_max"].as_u64() > list["bytes_max"].as_u64(), "{instead}");
}

#[test]
fn check_names_substitute_of_card() {
    let check = |engine: &str| {
        let few = ["--streams", "1", "--events", "100", "--deep", "0", "--order", "total"];
        let value = matchpoint([&["check", engine, "--json", "-"], &few[..]].concat()).json();
        (value["engines"][0].clone(), matchpoint([&["check", engine], &few[..]].concat()).stdout)
    };
    let (kept, text) = check(&format!("{NO_CARD},fallback=list"));
    assert_eq!((kept["substitute"].as_str(), &kept["substitute_streams"]), (Some("list"), &kept["streams"]));
    assert!(text.starts_with(&format!("list for {NO_CARD},fallback=list: ")), "{text}");
    assert!(!text.contains("at the end of"), "{text}");
    let (broken, text) = check(&format!("{NO_CARD},fallback=rank_array:order=per_source"));
    assert_eq!(broken["substitute"], "rank_array:order=per_source", "{broken}");
    assert!(broken["law_broken"].is_object() && broken["substitute_streams"].is_null(), "{broken}");
    assert!(text.contains("rank_array:order=per_source for gpu_ordered"), "{text}");
    assert!(text.contains("BREAKS A LAW"), "{text}");
    let (own, text) = check("list");
    assert_eq!((own.get("substitute"), text.starts_with("list: ")), (Some(&Value::Null), true));
    // The table of the engine becomes full in some streams only.
    let (some, text) = check("optimistic:bins=4,capacity=8,full=software");
    let streams = some["substitute_streams"].as_u64().unwrap();
    assert!((1..some["streams"].as_u64().unwrap()).contains(&streams), "{some}");
    assert_eq!(some["substitute"], "hybrid", "{some}");
    assert!(text.contains(&format!("at the end of {streams} of ")), "{text}");
}

/// The engine refuses the any-source receives of the workload. The substitute accepts the receives.
#[test]
fn demand_of_engine_is_no_fault() {
    let engine = "gpu_partitioned:card=999,fallback=list";
    matchpoint(["bench", "-w", "posted_any:64", "-e", engine]).succeed().prints("differs");
}
