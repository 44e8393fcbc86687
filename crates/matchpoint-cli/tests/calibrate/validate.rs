//! Tests of `matchpoint predict validate`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::errors::{HELLO, launcher as script};
use crate::jobs::launcher;
use crate::mpi;
use crate::ran::matchpoint;
use crate::setting::{CommandOutput, MATCHPOINT, Setting};

const APPLICATIONS: [&str; 6] =
    ["spmv", "spgemm", "gather", "high_volume_equal", "high_volume_reversed", "high_volume_random"];

/// Writes a machine file with parameters of eager messages within a socket.
fn machine(setting: &Setting, host: &str) -> String {
    let path = setting.path("machine.toml");
    let text = format!(
        "format = 1\nname = \"made up\"\n[provenance]\nwho = \"a test\"\nwhen = \"2026-11-22\"\nhost = \"{host}\"\n\
         mpi = \"none 1.0\"\nhow = \"made up\"\nnotes = [\"Times scatter.\"]\n[on_socket.eager]\nalpha_s = 1e-6\nrate_bytes_per_s = 1e10\n\
         [queue_search]\ngamma_s = 1e-9\n"
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn levels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/levels")
}

fn validate(setting: &Setting, machine: &str, options: &[&str], launcher: &[String]) -> CommandOutput {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "200", MATCHPOINT, "predict", "validate"]).arg(levels()).args(["-m", machine]);
    // On a host with several sockets, ranks may be on any socket.
    command.args(["--sockets", "1", "--seconds", "0.001", "--max-messages", "10"]).args(options);
    command.args(["--json".as_ref(), setting.path("validated.json").as_os_str()]).arg("--").args(launcher);
    CommandOutput::of(command.env("XDG_CACHE_HOME", mpi::cache()))
}

fn rows<'a>(of: &'a Value, application: &str) -> Vec<&'a Value> {
    of["rows"].as_array().unwrap().iter().filter(|row| row["application"] == application).collect()
}

fn check_row(row: &Value) {
    let of = |key: &str| row["measured"][key].as_f64().unwrap();
    assert!(of("typical_s") > 0.0 && of("low_s") <= of("median_s"), "{row}");
    let modelled = |step: &str| row["modelled_s"][step].as_f64().unwrap_or_else(|| panic!("{step}: {row}"));
    assert_eq!(modelled("postal"), modelled("node_aware"), "{row}");
    assert!(
        modelled("queue") >= modelled("node_aware") && modelled("contention") == modelled("queue"),
        "{row}"
    );
    let (n, attempts) =
        (row["searched"]["received"].as_u64().unwrap(), row["searched"]["attempts"].as_u64().unwrap());
    assert!((n..=n * (n + 1) / 2).contains(&attempts), "{row}");
}

#[test]
fn two_rank_operations_are_measured_and_modelled() {
    mpi::each(|mpi| {
        let setting = Setting::new();
        let page = setting.path("validated.html").display().to_string();
        let machine = machine(&setting, "nowhere");
        let ran = validate(&setting, &machine, &["--html", &page], &launcher(mpi, "2")).succeed();
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran}");
        // Each table has one header, so no table is split for its width.
        let headers = |word: &str| ran.stdout.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((headers("application "), headers("operation ")), (1, 3), "{ran}");
        let of = setting.json("validated.json");
        assert_eq!(
            (of["schema"].as_u64(), of["job"]["ranks"].as_u64(), of["processes"].as_u64()),
            (Some(1), Some(2), Some(2))
        );
        let count = |application| rows(&of, application).len();
        assert_eq!(APPLICATIONS.map(count), [3, 3, 3, 6, 6, 6]);
        of["rows"].as_array().unwrap().iter().for_each(check_row);
        for row in rows(&of, "spmv") {
            assert_eq!((row["messages"].as_u64(), row["received"].as_u64()), (Some(2), Some(1)), "{row}");
            assert!(row["played_process"].is_null());
            assert_eq!(row["searched"]["attempts"], 1, "{row}");
        }
        assert_eq!(of["errors"].as_array().unwrap().len(), 6);
        let notes = of["notes"].to_string();
        assert!(notes.contains("but the job ran on ") && notes.contains("under none 1.0"), "{notes}");
        assert!(notes.contains("does not test δ ℓ") && notes.contains("Times scatter."), "{notes}");
        let page = fs::read_to_string(&page).unwrap();
        assert!(page.contains("measured above, modelled below") && !page.contains("NaN"), "{page}");
        assert!(page.ends_with("</html>\n") && !page.contains("http://"));
    });
}

/// Two ranks exchange the messages that `predict amg` counts for one process.
#[test]
fn one_process_of_many_is_played() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let setting = Setting::new();
    let machine = machine(&setting, "nowhere");
    validate(&setting, &machine, &["-n", "20"], &launcher(&mpi, "2")).succeed();
    let of = setting.json("validated.json");
    of["rows"].as_array().unwrap().iter().for_each(check_row);
    let levels = levels().display().to_string();
    let options = ["-n", "20", "--ppn", "20", "--sockets", "1", "--json", "-", &levels];
    let predicted = matchpoint([&["predict", "amg", "-m", &machine], &options[..]].concat()).json();
    let expected = predicted["rows"].as_array().unwrap();
    let played: Vec<&Value> =
        ["spmv", "spgemm"].into_iter().flat_map(|application| rows(&of, application)).collect();
    assert_eq!(played.len(), expected.len());
    for (row, expected) in played.into_iter().zip(expected) {
        let process = &expected["per_process"][row["played_process"].as_u64().unwrap() as usize];
        let of = |key: &str| process[key].as_u64().unwrap();
        assert!(row["searched"]["received"].as_u64() <= row["received"].as_u64(), "{row}");
        assert_eq!(row["searched"]["received"], of("received"), "{row}");
        assert_eq!(row["messages"], of("sent") + of("received"), "{row}");
        assert_eq!(row["bytes"], of("sent_bytes") + of("received_bytes"), "{row}");
        let n = of("received");
        // A reversed receive order mirrors the positions of the matches: with n posted receives, k attempts become n + 1 − k.
        let attempts = |key: &str| row[key]["attempts"].as_u64().unwrap();
        assert_eq!(attempts("searched") + attempts("searched_reversed"), n * (n + 3) / 2, "{row}");
    }
    assert_eq!(rows(&of, "gather")[0]["searched"]["received"], 19);
}

#[test]
fn every_rank_is_a_process() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    let setting = Setting::new();
    let machine = machine(&setting, "nowhere");
    validate(&setting, &machine, &[], &launcher(&mpi, "3")).succeed();
    let of = setting.json("validated.json");
    of["rows"].as_array().unwrap().iter().for_each(check_row);
    let gather = rows(&of, "gather")[0];
    assert_eq!((gather["messages"].as_u64(), gather["received"].as_u64()), (Some(2), Some(2)));
    assert_eq!(gather["searched"]["process"], 0);
}

#[test]
fn obstacle_is_reported_in_one_line() {
    let setting = Setting::new();
    let machine = machine(&setting, "n0");
    let three = HELLO.replace("rank in 0 1;", "rank in 0 1 2;").replace("ranks=2", "ranks=3");
    for (options, script_text, message) in [
        (&[][..], "exit 3", "did not start (exit code 3)"),
        (&[], &format!("{HELLO}\nread line; exit 4"), "ended before the last measurement (exit code 4)"),
        (
            &[],
            &format!("{HELLO}\nread line; echo 'MPCAL1 refused no memory'; read line"),
            "the benchmark failed: no memory",
        ),
        (
            &[],
            &format!("{HELLO}\necho 'MPCAL1 exchanged 7 1'; read line"),
            "unexpected output of the benchmark: 'exchanged 7 1'",
        ),
        (
            &["-n", "2"],
            &format!("{three}\nread line"),
            "the job has 3 ranks, more than the requested 2 processes",
        ),
        (&[], &three.replace("node=0", "node=$((rank % 2))"), "rank 2 is on 'n0'"),
    ] {
        let launcher = script(&setting, script_text);
        let complaint = validate(&setting, &machine, options, &[launcher]).complaint();
        assert!(complaint.contains(message), "{message}: {complaint}");
    }
    assert!(!setting.path("validated.json").exists());
    let launcher = [script(&setting, "exit 0")];
    let complaint = validate(&setting, "nowhere.toml", &[], &launcher).complaint();
    assert!(complaint.contains("nowhere.toml': No such file"), "{complaint}");
    let complaint = validate(&setting, &machine, &[], &["no-such-mpiexec".to_owned()]).complaint();
    assert!(complaint.contains("no such command: 'no-such-mpiexec'"), "{complaint}");
    // The command reads the damaged level while the job waits, and then ends the job.
    let damaged = setting.path("levels");
    fs::create_dir_all(&damaged).unwrap();
    fs::write(damaged.join("A0.mtx"), "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 1\n")
        .unwrap();
    let mut command = Command::new(MATCHPOINT);
    command.args(["predict", "validate"]).arg(&damaged).args(["-m", &machine, "--"]);
    let waits = script(&setting, &format!("{HELLO}\nwhile read line; do :; done"));
    let complaint = CommandOutput::of(command.arg(waits).env("XDG_CACHE_HOME", mpi::cache()));
    let complaint = complaint.complaint();
    assert!(complaint.contains("A0.mtx") && complaint.contains("the file ends after"), "{complaint}");
    let of_root = ["predict", "validate", "/", "-m", &machine, "--", "mpiexec", "-n", "2"];
    matchpoint(of_root).reports("/' contains no A0.mtx");
}
