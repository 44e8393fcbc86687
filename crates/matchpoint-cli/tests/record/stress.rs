//! Programs that are hard on the rings of the recorder. Every call is in the trace.

use matchpoint_trace::native;

use crate::counts::Counts;
use crate::job::{Job, is_whole, number};
use crate::mpi;

fn compare(arguments: &[&str], receives: u64) {
    mpi::each(|mpi| {
        let ran = Job::of(mpi, 2, &mpi.program("stress")).args(arguments).counting().succeed();
        let report = ran.report();
        let what = format!("{ran}");
        Counts::read(&ran.prefix(), 2).agree(&report, &what);
        is_whole(&report, &what);
        assert!(number(&report, "receives") >= receives, "{what}");
        let files = native::summaries(&ran.trace()).unwrap();
        assert!(files.iter().all(|file| file.end.as_ref().unwrap().left_out == 0), "{what}");
    });
}

/// A call of 100 000 MPI requests exceeds half a ring, so the recorder allocates memory for the call.
#[test]
fn huge_calls_are_recorded() {
    compare(&["--huge", "100000"], 8000);
}

/// Rings of 262 144 words wrap around at calls of all lengths.
#[test]
fn calls_across_ring_end_are_recorded() {
    compare(&["--wraps", "12000"], 100_000);
}

#[test]
fn calls_of_short_threads_are_recorded() {
    compare(&["--threads", "2000"], 4000);
}
