//! Calibrations on this host.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::left_out::leave_out;
use crate::mpi::{self, Mpi};
use crate::setting::{MATCHPOINT, QUICK, Setting};
pub fn launcher(mpi: &Mpi, ranks: &str) -> [String; 3] {
    [mpi.mpiexec().display().to_string(), "-n".to_owned(), ranks.to_owned()]
}

#[test]
fn host_is_measured_and_fitted() {
    mpi::each(|mpi| {
        let setting = Setting::new();
        let page = setting.path("machine.html").display().to_string();
        let ran = setting.run(&[QUICK, &["--html", &page]].concat(), launcher(mpi, "2")).succeed();
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran}");
        let news = ran.stderr.lines().filter(|line| !line.starts_with("matchpoint: ")).collect::<Vec<_>>();
        assert_eq!(news, [""; 0], "{ran}");
        let (json, machine) = (setting.json("machine.json"), setting.machine());
        assert_eq!((json["ranks"].as_u64(), json["complete"].as_bool()), (Some(2), Some(true)));
        let library = json["mpi"].as_str().unwrap();
        let is_right = if mpi.is_open_mpi() { library.contains("Open MPI") } else { library.contains("MPI") };
        assert!(is_right && machine.provenance.mpi == library, "{library}");
        // All ranks are on one host, on an unknown number of sockets.
        assert!(machine.off_node.eager.alpha_s.is_none());
        assert!(json["warnings"].to_string().contains("No off-node parameters"), "{json}");
        for link in json["links"].as_array().unwrap() {
            let first = &link["protocols"][0]["alpha_s"]["value"];
            let alpha = first.as_f64().unwrap();
            assert!((0.0..0.1).contains(&alpha), "{link}");
        }
        let html = std::fs::read_to_string(&page).unwrap();
        assert!(html.contains("Many messages at once") && !html.contains("NaN"), "{html}");
        let first = std::fs::read_to_string(setting.path("machine.toml")).unwrap();
        let raw = setting.path("machine.raw.jsonl").display().to_string();
        let again = setting.run(&["--from", &raw], [""; 0]).succeed();
        assert_eq!(std::fs::read_to_string(setting.path("machine.toml")).unwrap(), first, "{again}");
    });
}

#[test]
fn interrupted_calibration_continues() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::first() else { return };
    // A terminal sends SIGINT to the job too. SIGTERM reaches only the command.
    for (signal, code) in [(Signal::TERM, 1), (Signal::INT, 130)] {
        let setting = Setting::new();
        let words = setting.words(QUICK);
        // `timeout` would get the signal instead of the command.
        let mut command = Command::new(MATCHPOINT);
        command.args(&words[5..]).arg("--").args(launcher(&mpi, "2"));
        command.env("XDG_CACHE_HOME", mpi::cache());
        let mut job = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        let lines = || setting.path("machine.raw.jsonl").exists().then(|| setting.raw().lines().count());
        while lines().unwrap_or(0) < 8 {
            assert!(begin.elapsed() < Duration::from_secs(100), "nothing is measured");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(mpi::send_signal(job.id(), signal));
        let status = job.wait().unwrap();
        let mut message = String::new();
        job.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        if status.success() {
            eprintln!("left out: the measurement ended before the interrupt");
            continue;
        }
        assert!(message.contains("repeat the command to continue after the"), "{message}");
        assert_eq!(status.code(), Some(code), "{message}");
        assert!(!setting.path("machine.toml").exists());
        let before: Vec<String> = setting.raw().lines().map(str::to_owned).collect();
        let ran = setting.run(QUICK, launcher(&mpi, "2")).succeed();
        assert!(ran.stderr.contains("continuing '"), "{ran}");
        let after: Vec<String> = setting.raw().lines().map(str::to_owned).collect();
        assert_eq!(after[..before.len() - 1], before[..before.len() - 1]);
        assert!(setting.json("machine.json")["complete"].as_bool().unwrap());
    }
}

#[test]
fn rendezvous_limit_is_measured() {
    mpi::each(|mpi| {
        let setting = Setting::new();
        // Rendezvous begins at 4 to 64 KiB. With Intel MPI within a host, rendezvous begins at 8 MiB.
        let (most, bytes) = if mpi.name == "intel-wheel" { ("16M", 16 << 20) } else { ("1M", 1 << 20) };
        let options =
            ["--seconds", "0.005", "--max-bytes", most, "--max-messages", "10", "--total-bytes", "1K"];
        setting.run(&options, launcher(mpi, "2")).succeed();
        let (json, machine) = (setting.json("machine.json"), setting.machine());
        let Some(link) = json["links"].as_array().unwrap().first() else {
            leave_out("ranks may be on different sockets", "run the tests on a host with one socket");
            return;
        };
        let at_once = link["at_once_max_bytes"].as_u64().unwrap();
        assert!((64..bytes).contains(&at_once), "{link}");
        let last = link["protocols"].as_array().unwrap().last().unwrap();
        assert_eq!(last["protocol"], "rendezvous", "{link}");
        assert!(last["bytes_min"].as_u64().unwrap() > at_once, "{link}");
        assert_eq!(machine.on_socket.eager_max_bytes, Some(at_once));
        assert!(machine.logp.overhead_s.is_some() && machine.logp.gap_s.is_some());
        assert_eq!(machine.node.processes, None, "two were started, and a node may have more");
    });
}

#[test]
fn one_process_is_too_few() {
    mpi::each(|mpi| {
        let complaint = Setting::new().run(QUICK, launcher(mpi, "1")).complaint();
        assert!(complaint.contains("an exchange needs two"), "{complaint}");
    });
}
