//! Complete calibrations with a fake benchmark of a synthetic machine.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use crate::synthetic_machine;
use crate::synthetic_machine::{SyntheticMachine, nodes};
use matchpoint_calibrate::conversation::Conversation;
use matchpoint_calibrate::plan::{Settings, rounds};
use matchpoint_calibrate::ranks::Ranks;
use matchpoint_calibrate::raw::Raw;
use matchpoint_calibrate::session::{Request, Step};

/// A benchmark that exits after `answers` measurements. `wrong` replaces the time of the third measurement.
fn benchmark(topology: &Ranks, answers: usize, wrong: Option<&'static str>) -> Conversation {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let topology = topology.clone();
    thread::spawn(move || {
        let mut out = theirs.try_clone().unwrap();
        let mut say = |line: String| writeln!(out, "MPCAL1 {line}");
        let _ = say(format!("hello ranks={} tick_s=1e-9 mpi=made up 1.0", topology.0.len()));
        for place in &topology.0 {
            let package = place.package.map_or(-1, |package| package as i32);
            let (rank, node, packages) = (place.rank, place.node, place.packages);
            let _ = say(format!(
                "rank {rank} node={node} package={package} packages={packages} cpus=1 host={}",
                place.host
            ));
        }
        let _ = say("ready".to_owned());
        let asked = BufReader::new(theirs).lines().map_while(Result::ok);
        for (index, line) in asked.take(answers).take_while(|line| line != "quit").enumerate() {
            let number = line.split(' ').nth(1).unwrap();
            let time = wrong.filter(|_| index == 2).unwrap_or("1e-6 2e-6 3e-6");
            // Messages up to ten bytes are eager.
            let _ = match line.strip_prefix("send ") {
                Some(words) => {
                    let bytes: u32 = words.split(' ').nth(1).unwrap().parse().unwrap();
                    say(format!("sent {number} {}", u8::from(bytes <= 10)))
                }
                None => say(format!("measured {number} {time}")),
            };
        }
    });
    let input = ours.try_clone().unwrap();
    Conversation::new(ours, input, |_| {})
}

fn request(folder: &Path) -> Request {
    Request {
        raw: folder.join("machine.raw.jsonl"),
        replace: false,
        settings: Settings { bytes_max: 64, messages_max: 10, rounds: 2, ..Settings::default() },
        command: vec!["mpiexec".to_owned()],
        host: "made up".to_owned(),
    }
}

fn run(request: &Request, benchmark: Conversation) -> Result<usize, String> {
    let earlier = request.earlier().map_err(|error| error.to_string())?;
    let mut steps = 0;
    let mut step = |step: Step<'_>| {
        assert!(step.done < step.total);
        steps += 1;
        true
    };
    let session = request.begin(earlier, benchmark).map_err(|error| error.to_string())?;
    session.measure(&mut step).map_err(|error| error.to_string())?;
    Ok(steps)
}

#[test]
fn interrupted_session_resumes_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (request, ranks) = (request(folder.path()), nodes(2, 2));
    let all = rounds(&ranks, &request.settings).len();
    let error = run(&request, benchmark(&ranks, 7, None)).unwrap_err();
    assert!(error.contains("ended before the last measurement"), "{error}");
    let raw = Raw::read(&request.raw).unwrap();
    assert_eq!((raw.measured.len(), raw.complete, raw.missing().len()), (7, false, all - 7));
    assert_eq!(run(&request, benchmark(&ranks, usize::MAX, None)).unwrap(), all - 7);
    let raw = Raw::read(&request.raw).unwrap();
    assert!(raw.complete && raw.missing().is_empty());
    assert_eq!(raw.measured.len(), all);
    let at_once: Vec<u32> = raw.sent_at_once.iter().map(|tried| tried.at_once_max_bytes).collect();
    assert_eq!(at_once, [10, 10], "on a node, and between nodes");
    let error = run(&request, benchmark(&ranks, usize::MAX, None)).unwrap_err();
    assert!(error.contains("--from") && error.contains("--replace"), "{error}");
    let again = Request { replace: true, ..request };
    assert_eq!(run(&again, benchmark(&ranks, usize::MAX, None)).unwrap(), all);
}

/// The session keeps whole lines, and makes each missing measurement once.
#[test]
fn session_resumes_from_file_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (request, ranks) = (request(folder.path()), nodes(1, 2));
    run(&request, benchmark(&ranks, usize::MAX, None)).unwrap();
    let whole = std::fs::read(&request.raw).unwrap();
    let all = Raw::read(&request.raw).unwrap().measured.len();
    let head = whole.iter().position(|&byte| byte == b'\n').unwrap();
    for end in (0..whole.len() - 1).step_by(41) {
        std::fs::write(&request.raw, &whole[..end]).unwrap();
        if end <= head {
            let error = run(&request, benchmark(&ranks, usize::MAX, None)).unwrap_err();
            assert!(error.contains("line 1") && error.contains("--replace"), "{error}");
            continue;
        }
        run(&request, benchmark(&ranks, usize::MAX, None)).unwrap();
        let raw = Raw::read(&request.raw).unwrap();
        assert!(raw.complete && raw.missing().is_empty(), "cut off at {end}");
        assert_eq!(raw.measured.len(), all, "cut off at {end}");
    }
}

#[test]
fn another_job_cannot_resume() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path());
    run(&request, benchmark(&nodes(2, 2), 5, None)).unwrap_err();
    let error = run(&request, benchmark(&nodes(2, 4), usize::MAX, None)).unwrap_err();
    assert!(error.contains("where the ranks are") && error.contains("--replace"), "{error}");
    let mut other = request.clone();
    other.settings.bytes_max = 128;
    let error = run(&other, benchmark(&nodes(2, 2), usize::MAX, None)).unwrap_err();
    assert!(error.contains("what is to be measured"), "{error}");
    assert_eq!(Raw::read(&request.raw).unwrap().measured.len(), 5);
}

#[test]
fn interrupt_ends_session_between_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let (request, ranks) = (request(folder.path()), nodes(1, 2));
    let session = request.begin(None, benchmark(&ranks, usize::MAX, None)).unwrap();
    let error = session.measure(&mut |step| step.done < 3).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    assert_eq!(Raw::read(&request.raw).unwrap().measured.len(), 3);
}

#[test]
fn one_process_cannot_exchange_messages() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path());
    let error = run(&request, benchmark(&nodes(1, 1), usize::MAX, None)).unwrap_err();
    assert!(error.contains("an exchange needs two") && error.contains("-n 2"), "{error}");
    assert!(!request.raw.exists());
}

#[test]
fn invalid_times_are_refused() {
    for wrong in ["-1e-6", "0", "nan", "inf", "1e-6 -0.5"] {
        let folder = tempfile::tempdir().unwrap();
        let request = request(folder.path());
        let error = run(&request, benchmark(&nodes(1, 2), usize::MAX, Some(wrong))).unwrap_err();
        assert!(error.contains("impossible measurement") && error.contains(" bytes: "), "{wrong}: {error}");
        assert_eq!(Raw::read(&request.raw).unwrap().measured.len(), 2, "{wrong}");
    }
}

#[test]
fn damaged_file_reports_line() {
    let folder = tempfile::tempdir().unwrap();
    let request = request(folder.path());
    run(&request, benchmark(&nodes(1, 2), usize::MAX, None)).unwrap();
    let whole = std::fs::read_to_string(&request.raw).unwrap();
    let second = whole.lines().nth(1).unwrap();
    let damaged = |from: &str, to: &str| {
        assert!(second.contains(from), "{from} is not in {second}");
        whole.replacen(second, &second.replacen(from, to, 1), 1)
    };
    for (text, told) in [
        (damaged("1e-6", "-1e-6"), "line 2: -0.000001 s is not a time of a message"),
        (damaged("1e-6", "NaN"), "line 2: expected"),
        (damaged("1e-6", "null"), "line 2: "),
        (damaged("[[0,1]]", "[[0,2]]"), "line 2: the pair 0, 2 is not of the 2 ranks"),
        (damaged("[[0,1]]", "[]"), "line 2: `messages` and `pairs`"),
        (damaged("\"bytes\":", "\"bytes\":-"), "line 2: "),
        (damaged("\"round\":0", "\"round\":2"), "line 2: round 2 of 2"),
        (damaged("\"part\":\"", "\"part\":\"x"), "line 2: unknown variant"),
        (whole.replacen("calibration", "recording", 1), "line 1: this is matchpoint recording"),
        (whole.replacen("\"version\":2", "\"version\":1", 1), "not matchpoint calibration 2"),
        (format!("{whole}{second}\n"), "after the last one"),
        (String::new(), "line 1: no complete line"),
        ("not json\n".to_owned(), "line 1: expected"),
    ] {
        let error = Raw::parse(&text, Path::new("machine.raw.jsonl")).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("--replace"), "{told}: {error}");
    }
    let error = Raw::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("check the path"), "{error}");
    std::fs::write(&request.raw, b"\xff\xfe").unwrap();
    assert!(Raw::read(&request.raw).unwrap_err().to_string().contains("is not text"));
}

#[test]
fn measured_times_are_read_back() {
    let raw = SyntheticMachine::blue_waters().raw(nodes(1, 2), Settings::default(), 5);
    assert_eq!(raw.missing(), []);
    assert!(
        raw.measured.iter().all(|measured| measured.seconds.len() == synthetic_machine::BATCHES as usize)
    );
}

/// Times in the file have the full precision of the measurement.
#[test]
fn file_keeps_precision_of_settings() {
    let topology = nodes(1, 2);
    for part in 1..100 {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request(folder.path());
        request.settings.budget_s = f64::from(part) / 100.0 / 7.0;
        run(&request, benchmark(&topology, 3, None)).unwrap_err();
        let earlier = request.earlier().unwrap_or_else(|error| panic!("{part}: {error}"));
        assert_eq!(earlier.unwrap().measured.len(), 3);
    }
}
