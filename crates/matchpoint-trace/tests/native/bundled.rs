//! Real DUMPI traces, written in Matchpoint's format and read again.

use std::fs;
use std::path::{Path, PathBuf};

use matchpoint_trace::native::{Settings, Writer, file_name};
use matchpoint_trace::{Call, Trace};

use crate::streams::canonical;
use crate::traces::{REAL, calls, compare, opened};

fn convert(trace: &dyn Trace, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for &rank in trace.present() {
        let file = fs::File::create(folder.join(file_name(rank))).unwrap();
        let mut writer = Writer::new(file, Settings::of(rank, trace.description().ranks)).unwrap();
        let (mut stream, mut call) = (trace.rank(rank).unwrap(), Call::default());
        while stream.read(&mut call).unwrap() {
            writer.call(&call).unwrap();
        }
        writer.finish("finalize").unwrap();
    }
    folder
}

/// Calls of one thread: the order of calls of different threads may differ from the order of their entries.
fn of_thread(calls: &[Call], thread: u16) -> Vec<Call> {
    calls.iter().filter(|call| call.thread == thread).cloned().collect()
}

#[test]
fn real_traces_are_equal_in_native_format() {
    for (name, real) in REAL.iter() {
        let dumpi = opened(&real.folder);
        let native = opened(&convert(&*dumpi, name));
        assert_eq!(native.present(), dumpi.present(), "{name}");
        assert_eq!(native.description().ranks, dumpi.description().ranks, "{name}");
        assert_eq!(native.description().notes, [""; 0], "{name}");
        for &rank in dumpi.present() {
            let (ours, theirs) = (calls(&*native, rank), calls(&*dumpi, rank));
            assert_eq!(ours.len(), theirs.len(), "{name}, rank {rank}");
            let several = theirs.iter().any(|call| call.thread != theirs[0].thread);
            if several {
                for thread in 0..4 {
                    let (ours, theirs) = (of_thread(&ours, thread), of_thread(&theirs, thread));
                    let functions = |calls: &[Call]| {
                        calls.iter().map(|call| (call.function, call.enter_ns)).collect::<Vec<_>>()
                    };
                    assert_eq!(functions(&ours), functions(&theirs), "{name}, rank {rank}, thread {thread}");
                }
                continue;
            }
            compare(&format!("{name}, rank {rank}"), &canonical(&ours), &canonical(&theirs));
        }
    }
}
