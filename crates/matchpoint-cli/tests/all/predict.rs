//! Tests of `matchpoint predict`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use matchpoint::engines::REGISTRY;
use matchpoint_cli::cli::{self, try_parse};
use matchpoint_cli::failure::Failure;
use matchpoint_cli::predict;
use matchpoint_replay::Progress;
use matchpoint_trace::native::{Settings, Writer, file_name};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::bench::members;
use crate::left_out::leave_out;
use crate::ran::{CommandOutput, bundled, matchpoint, repository};

const LEVELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/levels");

fn predict(words: &str, more: &[&str]) -> CommandOutput {
    matchpoint(["predict"].into_iter().chain(words.split(' ')).chain(more.iter().copied()))
}

fn printed(ran: CommandOutput) -> String {
    let ran = ran.succeed();
    assert_eq!(ran.stderr, "", "{ran}");
    ran.stdout
}

fn json(words: &str, more: &[&str]) -> Value {
    serde_json::from_str(&printed(predict(words, &[more, &["--json", "-"]].concat()))).unwrap()
}

fn complaint(words: &str, more: &[&str]) -> String {
    let ran = predict(words, more);
    assert!(ran.code != Some(0) && ran.stdout.is_empty() && ran.errors() == 1, "{ran}");
    ran.stderr
}

/// The tag of a message between two ranks names a process, so there are at most as many processes as tags.
#[test]
fn played_processes_do_not_exceed_tags() {
    let validate =
        |processes| predict("validate levels -m blue-waters --processes", &[processes, "--", "mpiexec"]);
    validate("32769").exit(2).reports("must be a number of processes from 2 to 32768");
    let most = validate("32768");
    assert!(!most.stderr.contains("must be a number"), "{most}");
}

fn tridiagonal() -> (TempDir, String) {
    let folder = tempdir().unwrap();
    let mut matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n8 8 15\n8 8\n".to_owned();
    (1..8).for_each(|row| matrix += &format!("{row} {row}\n{} {row}\n", row + 1));
    let path = folder.path().join("a.mtx");
    fs::write(&path, matrix).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn close(one: &Value, other: f64) -> bool {
    (one.as_f64().unwrap() - other).abs() <= 1e-9 * other.abs()
}

#[test]
fn tridiagonal_matrix_equals_manual_result() {
    let (_folder, matrix) = tridiagonal();
    let spmv = json("spmv -m blue-waters --ppn 1 --processes 4", &[&matrix]);
    let row = &spmv["rows"][0];
    assert_eq!((row["messages"].as_u64(), row["bytes"].as_u64()), (Some(6), Some(48)));
    assert_eq!((row["matrix_rows"].as_u64(), row["matrix_entries"].as_u64()), (Some(8), Some(22)));
    // Process 1 sends one element to each neighbour, and receives two messages.
    assert_eq!(row["worst_process"], 1);
    assert!(close(&row["time"]["transport_s"], 2.0 * (2.3e-6 + 8.0 / 1.3e9)));
    assert!(close(&row["time"]["queue_s"], 8.4e-9 * 4.0));
    // Two of six messages cross the link between the two routers.
    let hops: f64 = 2.0 / 6.0;
    assert!(close(&row["hops_mean"], hops));
    assert!(close(&row["time"]["contention_s"], 1e-10 * 2.0 * hops.powi(3) * 12.0));
    let spgemm = json("spgemm -m blue-waters --ppn 1 --processes 4", &[&matrix]);
    // A message has a row of three entries: a length, three columns, three values.
    assert_eq!(spgemm["rows"][0]["bytes"].as_u64(), Some(6 * (4 + 3 * 12)));
    let within = json("spmv -m blue-waters -n 1", &[&matrix]);
    assert_eq!(within["rows"][0]["time"]["total_s"], 0.0);
}

#[test]
fn search_order_is_selectable() {
    let (_folder, matrix) = tridiagonal();
    let queue = |order| {
        let of = json("spmv -m blue-waters --processes 4", &[&matrix, "--order", order]);
        of["rows"][0]["time"]["queue_s"].as_f64().unwrap()
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
    // Odd and even rows alternate, so each process needs four elements of the other.
    fs::write(&partition, "0\n1\n".repeat(4)).unwrap();
    let partition = partition.display().to_string();
    let of = json("spmv -m blue-waters -n 2", &[&matrix, "--partition", &partition]);
    assert_eq!((of["rows"][0]["messages"].as_u64(), of["rows"][0]["bytes"].as_u64()), (Some(2), Some(64)));
}

#[test]
fn amg_predicts_every_level() {
    let amg = json("amg --machine blue-waters --processes 64", &[LEVELS]);
    let of = |member| members(&amg["rows"], member);
    assert_eq!(of("operation"), ["spmv", "spmv", "spmv", "spgemm", "spgemm", "spgemm"]);
    assert_eq!(of("matrix_rows"), [300, 55, 10, 300, 55, 10]);
    // Levels with fewer rows than processes use fewer processes.
    assert_eq!(of("processes"), [64, 55, 10, 64, 55, 10]);
    for row in amg["rows"].as_array().unwrap() {
        let processes = &row["per_process"];
        let total = |process: &Value| {
            let parts =
                ["transport_s", "queue_s", "contention_s"].map(|part| process[part].as_f64().unwrap());
            parts.iter().sum::<f64>()
        };
        let longest = processes.as_array().unwrap().iter().map(total).fold(0.0, f64::max);
        assert!(close(&row["time"]["total_s"], longest), "{row}");
        let sum = |member| members(processes, member).iter().map(|of| of.as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("sent"), sum("received_bytes")), (number(&row["messages"]), number(&row["bytes"])));
    }
    // On level 1 every process has one row, and receives one message for each entry outside the diagonal.
    let level = fs::read_to_string(Path::new(LEVELS).join("A1.mtx")).unwrap();
    let entries = level.lines().filter(|line| !line.starts_with('%')).skip(1);
    let off_diagonal = entries.filter(|line| line.split_once(' ').is_some_and(|(row, column)| row != column));
    assert_eq!(amg["rows"][1]["messages"].as_u64(), Some(off_diagonal.count() as u64));
}

#[test]
fn repeated_number_is_predicted_once() {
    let (_folder, matrix) = tridiagonal();
    let predicted = json("spmv -m blue-waters --scale 4,2,4", &[&matrix]);
    assert_eq!(members(&predicted["rows"], "name"), ["4", "2"]);
}

#[test]
fn scale_reports_engine_memory() {
    let (_folder, matrix) = tridiagonal();
    let scale = json("spmv -m blue-waters --ppn 2 --scale 2,8", &[&matrix]);
    assert_eq!(scale["rows"].as_array().unwrap().len(), 2);
    let engines = scale["engines"].as_array().unwrap();
    assert_eq!(engines.len(), 2 * REGISTRY.len());
    let list = engines.iter().find(|row| row["engine"] == "list" && row["processes"] == 8).unwrap();
    assert_eq!((list["messages"].as_u64(), list["attempts_reversed"].as_u64()), (Some(2), Some(3)));
    assert!(engines.iter().all(|row| row["node_bytes"].as_u64() > Some(0)));
}

#[test]
fn traces_are_split_by_phases_and_engines() {
    let of = "trace -m blue-waters --ppn 4 --phases 3 --scale 64,8,64";
    let trace = bundled("lulesh-8");
    let predicted = json(of, &[&trace]);
    let rows = predicted["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    let transport = |row: &Value| row["time"]["transport_s"].as_f64().unwrap();
    assert!(rows.iter().map(transport).sum::<f64>() > 0.0);
    for row in rows {
        let ends = ["time_shortest", "time", "time_longest"].map(|end| row[end]["queue_s"].as_f64().unwrap());
        assert!(ends[0] <= ends[1] && ends[1] <= ends[2], "{row}");
    }
    let engines = predicted["engines"].as_array().unwrap();
    let names = ["list", "hybrid", "MPI library", "list", "hybrid", "list", "hybrid"];
    assert_eq!(members(&predicted["engines"], "engine"), names, "each number once");
    assert_eq!(engines[0]["attempts_recorded"], engines[2]["attempts_recorded"]);
    assert!(engines[4]["node_bytes_all_peers"].as_u64() > Some(0));
    let page = printed(predict(of, &[&trace]));
    let lines = |with: &str| page.lines().filter(|line| line.starts_with(with)).count();
    assert_eq!(lines("Engines, "), 2, "{page}");
    assert_eq!(lines("Engines, memory of a node by number of processes"), 1, "{page}");
    assert!(page.contains("compared: entries") && !page.contains("reversed: entries"), "{page}");
    let answer = page.split("\n\n").next().unwrap().replace('\n', " ");
    let expected = "Queue search of `list` on this host: ";
    assert!(answer.contains(expected) && answer.contains("MPI library of Blue Waters: "), "{answer}");
}

/// MPI calls that never returned are missing, so messages may be missing too.
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
        printed(predict("trace -m blue-waters", &[folder.path().to_str().unwrap()]))
    };
    let whole = printed_of(2);
    let expected = "No messages: no process of this trace sends a message to another process.\n";
    assert!(whole.starts_with(expected), "{whole}");
    assert!(!whole.contains("Time of the slowest process") && !whole.contains("0.1 ns"), "{whole}");
    let hung = printed_of(1);
    assert!(hung.starts_with("Cannot tell: the trace contains no message"), "{hung}");
    assert!(hung.contains("Trace all ranks."), "{hung}");
}

#[test]
fn trace_is_replayed_on_machine_network() {
    let folder = tempdir().unwrap();
    let machine = folder.path().join("m.toml");
    let logp = "\n[logp]\noverhead_s = 3e-7\ngap_s = 5e-7\n";
    fs::write(&machine, blue_waters() + logp).unwrap();
    let machine = machine.display().to_string();
    let trace = bundled("lulesh-8");
    let notes = |options: &[&str]| {
        json("trace -e list --phases 1", &[&[trace.as_str()], options].concat())["notes"].to_string()
    };
    // L is α of the shortest messages minus both overheads. G is the time per byte of the longest messages.
    for (options, expected) in [
        (&["-m", &machine][..], "the machine's network: L=1700"),
        (&["-m", &machine], "o=300,g=500,G=0.3448"),
        (&["-m", &machine], "S=7999"),
        (&["-m", &machine, "--loggp", "L=5"], "the network L=5,o=300"),
        (&["-m", &machine, "--loggp", "L=5"], "(--loggp)"),
        (&["-m", "blue-waters"], "an assumed network (L=1000,"),
    ] {
        let notes = notes(options);
        assert!(notes.contains(expected), "{notes}");
    }
}

#[test]
fn search_cost_depends_on_messages() {
    let (folder, matrix) = tridiagonal();
    let machine = folder.path().join("m.toml");
    let table = "gamma_s = 8.4e-09\nby_messages = [{ messages = 2, gamma_s = 1e-9 }, { messages = 3, gamma_s = 5e-9 }]";
    let text = blue_waters();
    assert!(text.contains("gamma_s = 8.4e-09"));
    fs::write(&machine, text.replace("gamma_s = 8.4e-09", table)).unwrap();
    let machine = machine.display().to_string();
    let spmv = json("spmv --processes 4", &[&matrix, "--machine", &machine]);
    assert!(close(&spmv["rows"][0]["time"]["queue_s"], 1e-9 * 4.0));
}

#[test]
fn summaries_fit_terminal() {
    let folder = tempdir().unwrap();
    let page = folder.path().join("amg.html").display().to_string();
    let output = predict("amg -m blue-waters --processes 32", &[LEVELS, "--html", &page]).succeed();
    assert_eq!(output.stderr, format!("matchpoint: wrote {page}\n"));
    assert!(output.width() <= 80, "{output}");
    output.prints("spmv 0").prints("Blue Waters");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("class=\"parts\"") && page.ends_with("</html>\n") && !page.contains("http://"));
}

#[test]
fn figures_are_drawn() {
    let folder = tempdir().unwrap();
    predict("figures", &[folder.path().to_str().unwrap()]).succeed();
    for number in [2, 3, 4, 5, 7, 9] {
        let picture = fs::read_to_string(folder.path().join(format!("figure-{number}.svg"))).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("<path class=\"line"), "{number}");
    }
}

fn blue_waters() -> String {
    fs::read_to_string(repository("machines/blue-waters.toml")).unwrap()
}

fn one_host(folder: &TempDir) -> String {
    let text = blue_waters();
    let sections = text.split("\n[").filter(|section| !section.starts_with("off_node"));
    let path = folder.path().join("within.toml");
    fs::write(&path, sections.collect::<Vec<_>>().join("\n[")).unwrap();
    path.display().to_string()
}

const SPMV: &str = "spmv -m blue-waters -n 2";

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
    let folder_path = folder.path().display().to_string();
    let within = one_host(&folder);
    for (words, more, expected) in [
        (
            "spmv -n 4 --ppn 2",
            &[&*matrix, "-m", &within][..],
            "4 processes with 2 per node need 2 nodes, but the machine 'Blue Waters' was measured within one\nhint: \
             use --ppn 4",
        ),
        (SPMV, &[&wide], "2 rows and 3 columns, but the product needs a square matrix"),
        (SPMV, &[&one_percent], "begins with `%%MatrixMarket matrix`"),
        (SPMV, &[packed.to_str().unwrap()], "compressed with gzip\nhint: unpack it: gunzip"),
        (SPMV, &[&empty_row], "row 2 has no entry"),
        (SPMV, &[&cut], "line 4: the file ends after 2 of 4 entries"),
        (SPMV, &[&absurd], "86 bytes are too few for the declared 4000000000 entries"),
        (SPMV, &["nowhere.mtx"], "nowhere.mtx': No such file"),
        (SPMV, &[&folder_path], "is not a file"),
        ("spmv -m blue-waters -n 9", &[&matrix], "8 rows are too few for 9 processes"),
        ("spmv -m nowhere.toml -n 2", &[&matrix], "nowhere.toml': No such file"),
        ("spmv -n 2", &[&matrix, "-m", &machine], "line 4: NaN is invalid"),
        ("spmv -n 2", &[&matrix, "-m", &bare], "'bare' has no node.processes\nhint: use --ppn"),
        (
            "spmv -n 2 --ppn 1 --sockets 1",
            &[&matrix, "-m", &bare],
            "has no off_node.eager.alpha_s: it was not measured",
        ),
        (SPMV, &[&matrix, "--partition", &rows], "2 lines, but the matrix has 8 rows"),
        ("spgemm -m blue-waters -n 2", &[&matrix, &wide], "a.mtx' has 8 columns, but "),
        ("amg -m blue-waters -n 2", &[&folder_path], "contains no A0.mtx"),
        (SPMV, &[&matrix, "--html", "-"], "--html cannot go to standard output"),
    ] {
        let complaint = complaint(words, more);
        assert!(complaint.contains(expected), "{complaint}");
    }
}

#[test]
fn level_script_names_missing_packages() {
    let script = repository("examples/python/amg_levels.py");
    // -I and -S hide the installed packages.
    let mut python = Command::new("python3");
    if python.arg("--version").output().is_err() {
        return leave_out("no python3", "`apt-get install python3`");
    }
    let mut python = Command::new("python3");
    let ran = CommandOutput::of(python.args(["-I", "-S"]).arg(script).arg("levels")).fail(1);
    ran.reports("pip install scikit-fem pyamg");
}

fn predicted(words: &[&str], progress: &Progress) -> Result<(), Failure> {
    let words: Vec<_> = ["matchpoint", "predict"].iter().chain(words).map(OsString::from).collect();
    let cli::Command::Predict(arguments) = try_parse(&words).unwrap().command else { panic!("{words:?}") };
    predict::predict(&arguments, progress).map(drop)
}

#[test]
fn stopped_prediction_is_interrupted() {
    let (_folder, matrix) = tridiagonal();
    let levels = LEVELS.to_owned();
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
