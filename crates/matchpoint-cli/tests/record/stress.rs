//! Programs that are hard on the rings of the recorder. Every call is in the trace.

use matchpoint_trace::native;

use crate::counts::Counts;
use crate::job::{Job, is_whole, number};
use crate::mpi;

/// A call of 100 000 MPI requests exceeds half a ring, so the recorder allocates memory for the call. Rings of 262 144
/// words wrap around at calls of all lengths. Threads end after few calls.
#[test]
fn huge_wrapping_and_short_calls_are_recorded() {
    mpi::each(|mpi| {
        for (arguments, receives) in
            [(["--huge", "100000"], 8000), (["--wraps", "12000"], 100_000), (["--threads", "2000"], 4000)]
        {
            let ran = Job::of(mpi, 2, &mpi.program("stress")).args(arguments).counting().succeed();
            let report = ran.report();
            let what = format!("{ran}");
            Counts::read(&ran.prefix(), 2).agree(&report, &what);
            is_whole(&report, &what);
            assert!(number(&report, "receives") >= receives, "{what}");
            let files = native::summaries(&ran.trace()).unwrap();
            assert!(files.iter().all(|file| file.end.as_ref().unwrap().left_out == 0), "{what}");
        }
    });
}
