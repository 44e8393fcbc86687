//! Tests of `matchpoint predict`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use matchpoint::engines::REGISTRY;
use matchpoint_cli::cli::{self, try_parse};
use matchpoint_cli::failure::Failure;
use matchpoint_cli::predict::predict;
use matchpoint_replay::Progress;
use matchpoint_trace::native::{Settings, Writer, file_name};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::left_out::leave_out;

fn levels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/levels")
}

fn matchpoint(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_matchpoint")).arg("predict").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output of a successful run without messages.
fn printed(arguments: &[&str]) -> String {
    let output = matchpoint(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json", "-"]].concat())).unwrap()
}

/// The error of a failed run without output.
fn complaint(arguments: &[&str]) -> String {
    let output = matchpoint(arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{complaint}");
    complaint
}

/// Two ranks play all processes, and distinguish messages by tag.
#[test]
fn played_processes_do_not_exceed_tags() {
    let validate = |processes| {
        let of = ["validate", "levels", "-m", "blue-waters", "--processes", processes, "--", "mpiexec"];
        let output = matchpoint(&of);
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = validate("32769");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("must be a number of processes from 2 to 32768"), "{said}");
    let (_, said) = validate("32768");
    assert!(!said.contains("must be a number"), "{said}");
}

/// A folder with a tridiagonal matrix of 8 rows.
fn tridiagonal() -> (TempDir, String) {
    let folder = tempdir().unwrap();
    let mut matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n8 8 15\n8 8\n".to_owned();
    (1..8).for_each(|row| matrix += &format!("{row} {row}\n{} {row}\n", row + 1));
    let path = folder.path().join("a.mtx");
    fs::write(&path, matrix).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

fn close(one: &Value, other: f64) -> bool {
    (one.as_f64().unwrap() - other).abs() <= 1e-9 * other.abs()
}

#[test]
fn tridiagonal_matrix_equals_manual_result() {
    let (_folder, matrix) = tridiagonal();
    let on = ["--machine", "blue-waters", "--ppn", "1", "--processes", "4"];
    let spmv = json(&[&["spmv", &matrix], &on[..]].concat());
    let row = &spmv["rows"][0];
    assert_eq!((row["messages"].as_u64(), row["bytes"].as_u64()), (Some(6), Some(48)));
    assert_eq!((row["matrix_rows"].as_u64(), row["matrix_entries"].as_u64()), (Some(8), Some(22)));
    // Process 1 sends an element to both sides, and receives two messages.
    assert_eq!(row["worst_process"], 1);
    assert!(close(&row["time"]["transport_s"], 2.0 * (2.3e-6 + 8.0 / 1.3e9)));
    assert!(close(&row["time"]["queue_s"], 8.4e-9 * 4.0));
    // Two of six messages cross the link between the two routers.
    let hops: f64 = 2.0 / 6.0;
    assert!(close(&row["hops_mean"], hops));
    assert!(close(&row["time"]["contention_s"], 1e-10 * 2.0 * hops.powi(3) * 12.0));
    let spgemm = json(&[&["spgemm", &matrix], &on[..]].concat());
    // Rows of three entries: a length, three columns, three values.
    assert_eq!(spgemm["rows"][0]["bytes"].as_u64(), Some(6 * (4 + 3 * 12)));
    let within = json(&["spmv", &matrix, "-m", "blue-waters", "-n", "1"]);
    assert_eq!(within["rows"][0]["time"]["total_s"], 0.0);
}

#[test]
fn search_order_is_selectable() {
    let (_folder, matrix) = tridiagonal();
    let queue = |order| {
        let on = ["--machine", "blue-waters", "--processes", "4", "--order", order];
        json(&[&["spmv", &matrix], &on[..]].concat())["rows"][0]["time"]["queue_s"].as_f64().unwrap()
    };
    let attempt = 2.0 * 8.4e-9;
    for (order, expected) in [("bound", 2.0), ("reversed", 3.0), ("third", 2.0), ("in_order", 2.0)] {
        assert!((queue(order) - attempt * expected).abs() < 1e-15, "{order}");
    }
}

#[test]
fn partition_is_used() {
    let (folder, matrix) = tridiagonal();
    let partition = folder.path().join("rows");
    // Odd and even rows alternate, so the other side needs all eight.
    fs::write(&partition, "0\n1\n".repeat(4)).unwrap();
    let partition = partition.display().to_string();
    let of = json(&["spmv", &matrix, "-m", "blue-waters", "-n", "2", "--partition", &partition]);
    assert_eq!((of["rows"][0]["messages"].as_u64(), of["rows"][0]["bytes"].as_u64()), (Some(2), Some(64)));
}

#[test]
fn amg_predicts_every_level() {
    let levels = levels().display().to_string();
    let amg = json(&["amg", &levels, "--machine", "blue-waters", "--processes", "64"]);
    let of =
        |key: &str| amg["rows"].as_array().unwrap().iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("operation"), ["spmv", "spmv", "spmv", "spgemm", "spgemm", "spgemm"]);
    assert_eq!(of("matrix_rows"), [300, 55, 10, 300, 55, 10]);
    // Levels with fewer rows use fewer processes.
    assert_eq!(of("processes"), [64, 55, 10, 64, 55, 10]);
    for row in amg["rows"].as_array().unwrap() {
        let (time, processes) = (&row["time"], row["per_process"].as_array().unwrap());
        let total = |process: &Value| {
            ["transport_s", "queue_s", "contention_s"]
                .iter()
                .map(|part| process[part].as_f64().unwrap())
                .sum::<f64>()
        };
        let longest = processes.iter().map(total).fold(0.0, f64::max);
        assert!(close(&time["total_s"], longest), "{row}");
        assert_eq!(processes.iter().map(|of| of["sent"].as_u64().unwrap()).sum::<u64>(), row["messages"]);
        assert_eq!(
            processes.iter().map(|of| of["received_bytes"].as_u64().unwrap()).sum::<u64>(),
            row["bytes"]
        );
    }
    // On level 1 every process has one row, and receives a message per other column.
    let level = fs::read_to_string(Path::new(&levels).join("A1.mtx")).unwrap();
    let entries = level.lines().filter(|line| !line.starts_with('%')).skip(1);
    let off_diagonal = entries.filter(|line| line.split_once(' ').is_some_and(|(row, column)| row != column));
    assert_eq!(amg["rows"][1]["messages"].as_u64(), Some(off_diagonal.count() as u64));
}

#[test]
fn repeated_number_is_predicted_once() {
    let (_folder, matrix) = tridiagonal();
    let predicted = json(&["spmv", &matrix, "-m", "blue-waters", "--scale", "4,2,4"]);
    let names: Vec<_> = predicted["rows"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["4", "2"]);
}

#[test]
fn scale_reports_engine_memory() {
    let (_folder, matrix) = tridiagonal();
    let scale = json(&["spmv", &matrix, "-m", "blue-waters", "--ppn", "2", "--scale", "2,8"]);
    assert_eq!(scale["rows"].as_array().unwrap().len(), 2);
    let engines = scale["engines"].as_array().unwrap();
    assert_eq!(engines.len(), 2 * matchpoint::engines::REGISTRY.len());
    let list = engines.iter().find(|row| row["engine"] == "list" && row["processes"] == 8).unwrap();
    assert_eq!((list["messages"].as_u64(), list["attempts_reversed"].as_u64()), (Some(2), Some(3)));
    assert!(engines.iter().all(|row| row["node_bytes"].as_u64() > Some(0)));
}

#[test]
fn traces_are_split_by_phases_and_engines() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/lulesh-8").display().to_string();
    let of = ["trace", &trace, "-m", "blue-waters", "--ppn", "4", "--phases", "3", "--scale", "64,8,64"];
    let predicted = json(&of);
    let rows = predicted["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    let transport = |row: &Value| row["time"]["transport_s"].as_f64().unwrap();
    assert!(rows.iter().map(transport).sum::<f64>() > 0.0);
    for row in rows {
        let ends = ["time_shortest", "time", "time_longest"].map(|end| row[end]["queue_s"].as_f64().unwrap());
        assert!(ends[0] <= ends[1] && ends[1] <= ends[2], "{row}");
    }
    let engines = predicted["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().map(|row| row["engine"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["list", "hybrid", "MPI library", "list", "hybrid", "list", "hybrid"],
        "each number once"
    );
    assert_eq!(engines[0]["attempts_recorded"], engines[2]["attempts_recorded"]);
    assert!(engines[4]["node_bytes_all_peers"].as_u64() > Some(0));
    // Memory for other numbers of processes is one table, and legends match the columns.
    let page = printed(&of);
    let lines = |with: &str| page.lines().filter(|line| line.starts_with(with)).count();
    assert_eq!(
        (lines("Engines, "), lines("Engines, memory of a node by number of processes")),
        (2, 1),
        "{page}"
    );
    assert!(page.contains("compared: entries") && !page.contains("reversed: entries"), "{page}");
    // The answer names the engine of the time.
    let answer = page.split("\n\n").next().unwrap().replace('\n', " ");
    let said = "Queue search of `list` on this host: ";
    assert!(answer.contains(said) && answer.contains("MPI library of Blue Waters: "), "{answer}");
}

/// Calls that never returned are missing, so the absence of messages proves nothing.
#[test]
fn unfinished_trace_without_messages_is_reported() {
    let printed_of = |ended: u32| {
        let folder = tempdir().unwrap();
        for rank in 0..2 {
            let file = fs::File::create(folder.path().join(file_name(rank))).unwrap();
            let writer = Writer::new(file, Settings::of(rank, 2)).unwrap();
            if rank < ended {
                writer.finish("finalize").unwrap();
            }
        }
        printed(&["trace", &folder.path().display().to_string(), "-m", "blue-waters"])
    };
    let whole = printed_of(2);
    assert!(
        whole.starts_with("No messages: no process of this trace sends a message to another process.\n"),
        "{whole}"
    );
    assert!(!whole.contains("Time of the slowest process") && !whole.contains("0.1 ns"), "{whole}");
    let hung = printed_of(1);
    assert!(
        hung.starts_with("Cannot tell: the trace contains no message") && hung.contains("Trace all ranks."),
        "{hung}"
    );
}

#[test]
fn all_engines_follow_named_engines() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/lulesh-8").display().to_string();
    let of =
        ["trace", &trace, "-m", "blue-waters", "--phases", "1", "-e", "all", "-e", "bins:n=3", "-e", "bins"];
    let predicted = json(&of);
    let names = predicted["engines"].as_array().unwrap().iter().map(|row| row["engine"].as_str().unwrap());
    let ours: Vec<&str> = names.filter(|name| *name != "MPI library").collect();
    assert_eq!(ours[..2], ["bins:n=3", "bins"]);
    assert_eq!(ours.len(), REGISTRY.len() + 1, "each once: {ours:?}");
}

/// The replay uses the machine's network, if the file contains it.
#[test]
fn trace_is_replayed_on_machine_network() {
    let folder = tempdir().unwrap();
    let machine = folder.path().join("m.toml");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/blue-waters.toml");
    let logp = "\n[logp]\noverhead_s = 3e-7\ngap_s = 5e-7\n";
    fs::write(&machine, fs::read_to_string(published).unwrap() + logp).unwrap();
    let machine = machine.display().to_string();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/lulesh-8").display().to_string();
    let notes = |options: &[&str]| {
        json(&[&["trace", &trace, "-e", "list", "--phases", "1"], options].concat())["notes"].to_string()
    };
    // L: α of the shortest messages minus both overheads. G: of the longest.
    let printed_notes = notes(&["-m", &machine]);
    assert!(
        printed_notes.contains("the machine's network: L=1700")
            && printed_notes.contains("o=300,g=500,G=0.3448"),
        "{printed_notes}"
    );
    assert!(printed_notes.contains("S=7999"), "{printed_notes}");
    let printed_notes = notes(&["-m", &machine, "--loggp", "L=5"]);
    assert!(
        printed_notes.contains("the network L=5,o=300") && printed_notes.contains("(--loggp)"),
        "{printed_notes}"
    );
    let printed_notes = notes(&["-m", "blue-waters"]);
    assert!(printed_notes.contains("an assumed network (L=1000,"), "{printed_notes}");
}

/// γ depends on the number of messages.
#[test]
fn search_cost_depends_on_messages() {
    let (folder, matrix) = tridiagonal();
    let machine = folder.path().join("m.toml");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/blue-waters.toml");
    let table = "gamma_s = 8.4e-09\nby_messages = [{ messages = 2, gamma_s = 1e-9 }, { messages = 3, gamma_s = 5e-9 }]";
    let text = fs::read_to_string(published).unwrap();
    assert!(text.contains("gamma_s = 8.4e-09"));
    fs::write(&machine, text.replace("gamma_s = 8.4e-09", table)).unwrap();
    let machine = machine.display().to_string();
    let spmv = json(&["spmv", &matrix, "--machine", &machine, "--processes", "4"]);
    assert!(close(&spmv["rows"][0]["time"]["queue_s"], 1e-9 * 4.0));
}

#[test]
fn summaries_fit_terminal() {
    let folder = tempdir().unwrap();
    let page = folder.path().join("amg.html").display().to_string();
    let levels = levels().display().to_string();
    let output =
        matchpoint(&["amg", &levels, "--machine", "blue-waters", "--processes", "32", "--html", &page]);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), format!("matchpoint: wrote {page}\n"));
    let summary = text(&output.stdout);
    let widest = summary.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{summary}");
    assert!(summary.contains("spmv 0") && summary.contains("Blue Waters"), "{summary}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("class=\"parts\"") && page.ends_with("</html>\n") && !page.contains("http://"));
}

#[test]
fn figures_are_drawn() {
    let folder = tempdir().unwrap();
    let output = matchpoint(&["figures", &folder.path().display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for number in [2, 3, 4, 5, 7, 9] {
        let picture = fs::read_to_string(folder.path().join(format!("figure-{number}.svg"))).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("<path class=\"line"), "{number}");
    }
}

/// A machine calibrated on one host, without parameters between nodes.
fn one_host(folder: &TempDir) -> String {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/blue-waters.toml");
    let text = fs::read_to_string(published).unwrap();
    let sections = text.split("\n[").filter(|section| !section.starts_with("off_node"));
    let path = folder.path().join("within.toml");
    fs::write(&path, sections.collect::<Vec<_>>().join("\n[")).unwrap();
    path.display().to_string()
}

#[test]
fn invalid_input_is_reported() {
    let (folder, matrix) = tridiagonal();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let general = "%%MatrixMarket matrix coordinate pattern general\n";
    let wide = file("wide.mtx", &format!("{general}2 3 3\n1 1\n2 2\n1 3\n"));
    let empty_row = file("empty.mtx", &format!("{general}3 3 3\n1 1\n1 2\n3 3\n"));
    let cut = file("cut.mtx", &format!("{general}3 3 4\n1 1\n2 2\n"));
    let absurd = file("absurd.mtx", &format!("{general}4000000000 4000000000 4000000000\n1 1\n"));
    let machine = file("nan.toml", "format = 1\nname = \"x\"\n[queue_search]\ngamma_s = nan\n");
    let bare = file(
        "bare.toml",
        "format = 1\nname = \"bare\"\n[provenance]\nwho = \"\"\nwhen = \"\"\nhost = \"\"\nmpi = \"\"\nhow = \"\"\n",
    );
    let rows = file("rows", "0\n1\n");
    let one_percent = file("one.mtx", "%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n");
    let packed = folder.path().join("a.mtx.gz");
    fs::write(&packed, b"\x1f\x8b\x08\x00\xff\xfe\x01\n").unwrap();
    let on = ["-m", "blue-waters", "-n", "2"];
    let spmv = |matrix: &str| complaint(&[&["spmv", matrix], &on[..]].concat());
    let within = one_host(&folder);
    for (complaint, expected) in [
        (
            complaint(&["spmv", &matrix, "-m", &within, "-n", "4", "--ppn", "2"]),
            "4 processes with 2 per node need 2 nodes, but the machine 'Blue Waters' was measured within one\nhint: \
             use --ppn 4",
        ),
        (spmv(&wide), "2 rows and 3 columns, but the product needs a square matrix"),
        (spmv(&one_percent), "begins with `%%MatrixMarket matrix`"),
        (spmv(&packed.display().to_string()), "compressed with gzip\nhint: unpack it: gunzip"),
        (spmv(&empty_row), "row 2 has no entry"),
        (spmv(&cut), "line 4: the file ends after 2 of 4 entries"),
        (spmv(&absurd), "86 bytes are too few for the declared 4000000000 entries"),
        (spmv("nowhere.mtx"), "nowhere.mtx': No such file"),
        (spmv(&folder.path().display().to_string()), "is not a file"),
        (complaint(&["spmv", &matrix, "-m", "blue-waters", "-n", "9"]), "8 rows are too few for 9 processes"),
        (complaint(&["spmv", &matrix, "-m", "nowhere.toml", "-n", "2"]), "nowhere.toml': No such file"),
        (complaint(&["spmv", &matrix, "-m", &machine, "-n", "2"]), "line 4: NaN is invalid"),
        (
            complaint(&["spmv", &matrix, "-m", &bare, "-n", "2"]),
            "'bare' has no node.processes\nhint: use --ppn",
        ),
        (
            complaint(&["spmv", &matrix, "-m", &bare, "-n", "2", "--ppn", "1", "--sockets", "1"]),
            "has no off_node.eager.alpha_s: it was not measured",
        ),
        (
            complaint(&["spmv", &matrix, "-m", "blue-waters", "-n", "2", "--partition", &rows]),
            "2 lines, but the matrix has 8 rows",
        ),
        (
            complaint(&["spgemm", &matrix, &wide, "-m", "blue-waters", "-n", "2"]),
            "a.mtx' has 8 columns, but ",
        ),
        (
            complaint(&["amg", &folder.path().display().to_string(), "-m", "blue-waters", "-n", "2"]),
            "contains no A0.mtx",
        ),
        (
            complaint(&["spmv", &matrix, "-m", "blue-waters", "-n", "2", "--html", "-"]),
            "--html cannot go to standard output",
        ),
    ] {
        assert!(complaint.contains(expected), "{complaint}");
    }
}

/// The script names missing Python packages in one line.
#[test]
fn level_script_names_missing_packages() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python/amg_levels.py");
    // Isolated from installed packages.
    let Ok(output) = Command::new("python3").args(["-I", "-S"]).arg(script).arg("levels").output() else {
        leave_out("no python3", "`apt-get install python3`");
        return;
    };
    let said = text(&output.stderr);
    assert_eq!(
        (output.status.code(), said.lines().filter(|line| !line.starts_with("hint: ")).count()),
        (Some(1), 1),
        "{said}"
    );
    assert!(said.contains("pip install scikit-fem pyamg"), "{said}");
}

#[test]
fn help_has_examples() {
    let help = printed(&["--help"]);
    assert!(help.contains("matchpoint predict spmv A.mtx --machine blue-waters --processes 512"), "{help}");
}

/// A prediction in this process.
fn predicted(words: &[&str], progress: &Progress) -> Result<(), Failure> {
    let words: Vec<_> = ["matchpoint", "predict"].iter().chain(words).map(OsString::from).collect();
    let cli::Command::Predict(arguments) = try_parse(&words).unwrap().command else { panic!("{words:?}") };
    predict(&arguments, progress).map(drop)
}

#[test]
fn stopped_prediction_is_interrupted() {
    let (_folder, matrix) = tridiagonal();
    let levels = levels().display().to_string();
    for (what, path) in [("spmv", &matrix), ("spgemm", &matrix), ("amg", &levels)] {
        let words = [what, path, "-m", "blue-waters", "--processes", "4"];
        let progress = Progress::default();
        predicted(&words, &progress).unwrap();
        let (bytes, total) = (progress.bytes.into_inner(), progress.bytes_total.into_inner());
        assert!(bytes > 0 && bytes <= total, "{what}: {bytes} of {total} bytes");
        let progress = Progress::default();
        progress.stop();
        assert!(matches!(predicted(&words, &progress), Err(Failure::Interrupted)), "{what}");
    }
}
