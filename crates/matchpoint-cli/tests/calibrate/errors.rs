//! Each obstacle gives one error with a hint.

use std::fs;

use crate::mpi;
use crate::setting::{QUICK, Setting};

pub fn launcher(setting: &Setting, script: &str) -> String {
    let bin = setting.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = |name: &str, text: &str| {
        let path = bin.join(name);
        crate::ran::script(&path, text);
        path.display().to_string()
    };
    // The name of the compiled benchmark depends on this output, so each folder has its own benchmark.
    let compiler = format!(
        "echo '#define MPICH_VERSION \"{}\"'\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && touch \"$2\"; shift; done; true",
        bin.display()
    );
    program("mpicc", &compiler);
    program("mpiexec", script)
}

pub const HELLO: &str = "echo 'MPCAL1 hello ranks=2 tick_s=1e-9 mpi=none 1.0'
     for rank in 0 1; do echo \"MPCAL1 rank $rank node=0 package=0 packages=1 cpus=1 host=n0\"; done
     echo 'MPCAL1 ready'";

#[test]
fn missing_launcher_is_reported() {
    let complaint = Setting::new().run(&[], ["no-such-mpiexec", "-n", "2"]).complaint();
    assert!(complaint.contains("no such command: 'no-such-mpiexec'"), "{complaint}");
}

#[test]
fn failing_launcher_is_reported() {
    for (script, expected) in [
        ("echo 'no hosts today' >&2; exit 3", "the benchmark did not start (exit code 3)"),
        // A launcher line with a program starts the program, with the benchmark as an argument.
        ("exec echo I am an application", "give the launcher without a program, as in -- mpiexec -n 2"),
        (&format!("{HELLO}\nread line; echo 'MPCAL1 measured 0 nan'; read line"), "impossible measurement"),
        ("echo 'MPCAL1 goodbye'; read line", "unexpected output of the benchmark: 'goodbye'"),
    ] {
        let setting = Setting::new();
        let ran = setting.run(QUICK, [launcher(&setting, script)]);
        assert_eq!(ran.stderr.contains("no hosts today"), script.contains("no hosts today"), "{ran}");
        let complaint = ran.complaint();
        assert!(complaint.contains(expected), "{complaint}");
        assert!(!setting.path("machine.toml").exists());
        let has_raw = setting.path("machine.raw.jsonl").exists();
        assert!(!has_raw || !expected.contains("did not start"), "{complaint}");
    }
}

#[test]
fn interrupted_job_can_continue() {
    let setting = Setting::new();
    let script = format!("{HELLO}\nread line; echo 'MPCAL1 measured 0 1e-6 1e-6'; read line; exit 9");
    let complaint = setting.run(QUICK, [launcher(&setting, &script)]).complaint();
    assert!(
        complaint.contains("(exit code 9)") && complaint.contains("after the 1 measurement in"),
        "{complaint}"
    );
    assert_eq!(setting.raw().lines().count(), 2);
    let three = HELLO.replace("ranks=2", "ranks=3").replace("in 0 1;", "in 0 1 2;");
    let complaint = setting.run(QUICK, [launcher(&setting, &format!("{three}\nread line"))]).complaint();
    assert!(
        complaint.trim_end().ends_with("hint: repeat its command, or start again with --replace"),
        "{complaint}"
    );
}

#[test]
fn progress_without_terminal_is_one_line() {
    let setting = Setting::new();
    let ran = setting.run(QUICK, [launcher(&setting, &format!("{HELLO}\nread line; sleep 2; exit 9"))]);
    assert!(
        ran.stderr.contains("matchpoint: 0 of ") && ran.stderr.contains(" measurements; next: "),
        "{ran}"
    );
}

#[test]
fn no_compiler() {
    let setting = Setting::new();
    let mpiexec = launcher(&setting, "exit 0");
    let complaint = setting.run(&["--mpicc", "no-such-mpicc"], [&mpiexec]).complaint();
    assert!(complaint.contains("no-such-mpicc") && complaint.contains("--mpicc"), "{complaint}");
    let broken = setting.path("broken").display().to_string();
    let text = "echo \"$@\" | grep -q -- -dM && exit 0\necho 'mpi.h is odd' >&2; exit 1";
    crate::ran::script(broken.as_ref(), text);
    let complaint = setting.run(&["--mpicc", &broken], [&mpiexec]).complaint();
    let expected = "cannot compile the benchmark (exit status: 1): mpi.h is odd";
    assert!(complaint.contains(expected), "{complaint}");
}

#[test]
fn damaged_files_are_reported() {
    let setting = Setting::new();
    let raw = setting.path("other.jsonl").display().to_string();
    let from = |text: &str| {
        fs::write(&raw, text).unwrap();
        setting.run(&["--from", &raw], [""; 0])
    };
    assert!(from("").complaint().contains("line 1: no complete line"));
    assert!(from("{}\n").complaint().contains("line 1: missing field"));
    let head = r#"{"format":"matchpoint calibration","version":2,"command":["mpiexec"],"started":"2026-11-22T00:00:00Z",
        "mpi":"none 1.0","tick_s":1e-9,"host":"h","settings":{"bytes_max":64,"messages_max":3,"bytes_total":64,
        "batch_s":0.1,"budget_s":0.1,"rounds":1},"ranks":[{"rank":0,"node":0,"host":"n0","package":0,"packages":1,"cpus":1},
        {"rank":1,"node":0,"host":"n0","package":0,"packages":1,"cpus":1}]}"#
        .replace('\n', "");
    assert!(from(&format!("{head}\n")).complaint().contains("contains no measurements"));
    let none = head.replace(r#""messages_max":3"#, r#""messages_max":0"#);
    assert!(
        from(&format!("{none}\n"))
            .complaint()
            .contains("line 1: `bytes_max`, `messages_max`, `bytes_total` and `rounds` must")
    );
    let measured = |bytes: u32, time: &str| {
        format!(
            r#"{{"round":0,"part":"sizes","placement":"on_socket","pairs":[[0,1]],"order":"equal","messages":1,"bytes":{bytes},"seconds":[{time}]}}"#
        )
    };
    let damaged = format!("{head}\n{}\n{}\n", measured(1, "1e-6"), measured(2, "-2e-6"));
    assert!(from(&damaged).complaint().contains("line 3: -0.000002 s is not a time"));
    let one = format!("{head}\n{}\n{}", measured(1, "1e-6"), &measured(2, "2e-6")[..40]);
    let complaint = from(&one).complaint();
    assert!(complaint.contains("no parameter follows"), "{complaint}");
    assert!(complaint.contains("one size does not separate latency and rate"), "{complaint}");
    assert!(!setting.path("machine.toml").exists());
    // The time per byte is below the scatter of the measurements.
    let sizes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
    let times = sizes.iter().map(|&bytes| measured(bytes, if bytes % 3 == 0 { "1.03e-6" } else { "1e-6" }));
    let ran = from(&format!("{head}\n{}\n", times.collect::<Vec<_>>().join("\n"))).succeed();
    assert!(ran.stdout.contains("The calibration was interrupted"), "{ran}");
    assert!(
        ran.stdout.contains("not determined")
            && ran.stdout.contains("was not tested: protocols are named by"),
        "{ran}"
    );
    let (_, most) = setting.machine().on_socket.eager.rate_bytes_per_s.unwrap().interval.unwrap();
    assert!(most.is_infinite(), "{most}");
}

#[test]
fn files_must_be_distinct_and_writable() {
    let setting = Setting::new();
    let machine = setting.path("machine.toml").display().to_string();
    let complaint = setting.run(&["--html", &machine], ["mpiexec"]).complaint();
    assert!(complaint.contains("the output of two options"), "{complaint}");
    // The default name of the raw measurements counts as an output.
    let raw = setting.path("machine.raw.jsonl").display().to_string();
    let complaint = setting.run(&["--html", &raw], ["mpiexec"]).complaint();
    assert!(complaint.contains("the output of two options"), "{complaint}");
    let folder = setting.path(".").display().to_string();
    fs::write(&raw, "measured with care").unwrap();
    let again = format!("{folder}/./machine.raw.jsonl");
    let complaint = setting.run(&["--from", &raw, "--html", &again], [""; 0]).complaint();
    assert!(complaint.contains("the output of two options"), "{complaint}");
    assert_eq!(fs::read_to_string(&raw).unwrap(), "measured with care");
    let nowhere = setting.path("no/such/folder.html").display().to_string();
    let complaint = setting.run(&["--html", &nowhere], ["mpiexec"]).complaint();
    assert!(complaint.contains("cannot write"), "{complaint}");
}

#[test]
fn wrong_options_are_usage_errors() {
    let _alone = mpi::alone();
    let setting = Setting::new();
    for (options, expected) in [
        (&["--max-bytes", "0"][..], "must be 1 byte to 1G"),
        (&["--max-bytes", "2G"], "must be 1 byte to 1G"),
        (&["--max-messages", "40000"], "must be a whole number from 1 to 32767, such as 1000"),
        (&["--seconds", "nan"], "must be 0.001 to 60 seconds"),
        (&["--from", "x.jsonl", "--replace"], "cannot be used with"),
    ] {
        let ran = setting.run(options, ["mpiexec"]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
    }
    let ran = setting.run(&[], [""; 0]);
    assert_eq!(ran.code, Some(2), "{ran}");
}
