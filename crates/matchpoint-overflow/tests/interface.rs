//! The core's C interface, in processes with separate environments.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::process::Command;

use matchpoint_overflow::interface::{
    CORE_MATCHED, CORE_POSTED, CORE_QUEUED, CORE_UNEXPECTED, CORE_VERSION, CoreCounts, CoreEnvelope,
    CoreFunctions,
};
use matchpoint_overflow::matchpoint_core;
use serde_json::{Value, json};

const COUNTS: CoreCounts = CoreCounts {
    receives: 10,
    overflowed: 4,
    given_back: 1,
    give_backs: 1,
    taken: 3,
    watches: 2,
    limit_named: 32,
    limit_any: -1,
    eager_bytes: 1024,
    synchronous: 1,
    entry_named_ns: 1.5,
    entry_any_ns: 0.0,
    overflow_ns: 500.25,
    rank: 3,
    off: 2,
};

fn functions() -> &'static CoreFunctions {
    // SAFETY: the table is a static of the library.
    unsafe { &*matchpoint_core() }
}

/// Runs an ignored test of this file in a process with these variables.
fn run(test: &str, variables: &[(&str, &Path)]) {
    let status = Command::new(std::env::current_exe().expect("the test has a path"))
        .args(["--exact", test, "--ignored"])
        .envs(variables.iter().copied())
        .status()
        .expect("the test starts");
    assert!(status.success(), "{test}");
}

/// The report in a folder, and the number of files there.
fn report(folder: &Path) -> (Value, usize) {
    let files: Vec<_> =
        std::fs::read_dir(folder).expect("it exists").map(|file| file.unwrap().path()).collect();
    let json = files.iter().find(|path| path.extension().is_some_and(|e| e == "json")).expect("a report");
    (serde_json::from_slice(&std::fs::read(json).unwrap()).expect("JSON"), files.len())
}

#[test]
#[ignore = "reads the environment that another test sets"]
fn play() {
    let core = functions();
    assert_eq!(core.version, CORE_VERSION);
    let mut error: [c_char; 100] = [0; 100];
    extern "C" fn each(ids: *mut c_void, id: u64) {
        // SAFETY: `argument` below.
        unsafe { &mut *ids.cast::<Vec<u64>>() }.push(id);
    }
    let envelope = |source, tag| CoreEnvelope { context: 0, source, tag };
    let (mut id, mut ids) = (0, Vec::<u64>::new());
    let argument = (&raw mut ids).cast();
    // SAFETY: one thread, and arguments that live until each call returns.
    unsafe {
        let opened = (core.open)(&COUNTS, error.as_mut_ptr(), error.len());
        assert!(!opened.is_null(), "{:?}", CStr::from_ptr(error.as_ptr()));
        // Measurements of the shim before the first report are not counted.
        assert_eq!((core.post)(opened, 1, &envelope(1, 2), &mut id), CORE_QUEUED);
        assert_eq!((core.arrive)(opened, 100, &envelope(1, 2), &mut id), CORE_MATCHED);
        (core.report)(opened);
        for receive in 1..=64 {
            assert_eq!((core.post)(opened, receive, &envelope(1, 2), &mut id), CORE_QUEUED);
        }
        assert_eq!((core.arrive)(opened, 100, &envelope(1, 2), &mut id), CORE_MATCHED);
        assert_eq!(id, 1);
        for message in 101..=103 {
            assert_eq!((core.arrive)(opened, message, &envelope(1, 3), &mut id), CORE_QUEUED);
        }
        assert_eq!((core.probe)(opened, &envelope(-1, -1)), 101);
        assert_eq!((core.take)(opened, &envelope(-1, 3)), 101);
        assert_eq!((core.take)(opened, &envelope(-1, 4)), 0);
        assert_eq!((core.post)(opened, 65, &envelope(-1, -1), &mut id), CORE_MATCHED);
        assert_eq!(id, 102);
        assert!((core.cancel)(opened, 2, &envelope(1, 2)));
        assert!(!(core.cancel)(opened, 2, &envelope(1, 2)));
        (core.visit)(opened, CORE_POSTED, each, argument);
        (core.visit)(opened, CORE_UNEXPECTED, each, argument);
        (core.report)(opened);
        if let Some(folder) = std::env::var_os("MATCHPOINT_REPORT") {
            assert_eq!(report(Path::new(&folder)).0["endpoints"][0]["open"], true);
        }
        (core.close_context)(opened, 0);
        (core.close)(opened);
    }
    assert_eq!(ids, (3..=64).chain([103]).collect::<Vec<_>>());
}

#[test]
#[ignore = "reads the environment that another test sets"]
fn fail() {
    let mut error: [c_char; 30] = [1; 30];
    // SAFETY: the buffer has the given size.
    let opened = unsafe { (functions().open)(&COUNTS, error.as_mut_ptr(), error.len()) };
    assert!(opened.is_null());
    // SAFETY: the function terminates the text.
    let error = unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned();
    assert_eq!(error, "there is no engine `tree`; th");
}

#[test]
fn unknown_engine_fails_with_truncated_reason() {
    run("fail", &[("MATCHPOINT_ENGINE", Path::new("tree"))]);
}

#[test]
fn close_writes_report_and_arrivals() {
    let folder = tempfile::tempdir().unwrap();
    let (reports, arrivals) = (folder.path().join("reports"), folder.path().join("arrivals"));
    std::fs::create_dir(&reports).unwrap();
    std::fs::create_dir(&arrivals).unwrap();
    run("play", &[("MATCHPOINT_REPORT", &reports), ("MATCHPOINT_ARRIVALS", &arrivals)]);
    let (report, files) = report(&reports);
    assert_eq!(files, 1);
    assert_eq!(
        (&report["schema"], &report["rank"], &report["unmatched"]),
        (&json!(1), &json!(3), &json!([]))
    );
    let expected = json!({
        "receives": 10, "overflowed": 4, "given_back": 1, "give_backs": 1, "taken": 3, "watches": 2,
        "limit_named": 32, "limit_any": null, "eager_bytes": 1024, "synchronous": true,
        "entry_named_ns": 1.5, "entry_any_ns": null, "overflow_ns": 500.25, "off": "library",
    });
    assert_eq!(report["overflow"], expected);
    let endpoint = &report["endpoints"][0];
    for (name, value) in [
        ("front_end", json!("overflow")),
        ("engine", json!("hybrid")),
        ("open", json!(false)),
        ("posts", json!(65)),
        ("posts_hit", json!(1)),
        ("arrivals", json!(4)),
        ("arrivals_hit", json!(1)),
        ("probes", json!(3)),
        ("posted_max", json!(64)),
        ("unexpected_max", json!(3)),
        ("posted_left", json!(0)),
        ("unexpected_left", json!(0)),
    ] {
        assert_eq!(endpoint[name], value, "{name}");
    }
    assert!(endpoint["matching_ns"].as_f64().unwrap() > 0.0, "68 operations contain a sample");
    let file = std::fs::read_dir(&arrivals).unwrap().next().expect("one file").unwrap().path();
    let bytes = std::fs::read(file).unwrap();
    // 3 matches, 1 receive cancelled, 62 receives removed with their context.
    assert_eq!((&bytes[..4], bytes.len()), (&b"MPar"[..], 16 + 16 * (3 + 1 + 62)));
}

#[test]
fn full_table_is_replaced_by_hybrid() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Path::new("optimistic:capacity=16,bins=3");
    run("play", &[("MATCHPOINT_REPORT", folder.path()), ("MATCHPOINT_ENGINE", engine)]);
    assert_eq!(report(folder.path()).0["endpoints"][0]["engine"], "hybrid");
}
