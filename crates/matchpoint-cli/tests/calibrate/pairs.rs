//! Several pairs start each exchange together, so that the pairs share the link.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use matchpoint_calibrate::conversation::Conversation;
use matchpoint_calibrate::plan::{Measurement, Part, PostOrder};
use matchpoint_model::Locality;

use crate::mpi::{self, Mpi};

/// Seconds that each message occupies the emulated link (`link.c`).
const HELD_S: f64 = 0.02;

fn benchmark(mpi: &Mpi) -> PathBuf {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../matchpoint-calibrate/program/matchpoint_calibrate.c");
    let program = mpi::scratch().join("pairs");
    mpi::run(Command::new(mpi.mpicc()).args(["-std=gnu11", "-O2", "-Wall", "-o"]).arg(&program).arg(source));
    program
}

fn link(mpi: &Mpi) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calibrate/link.c");
    let library = mpi::scratch().join("link.so");
    mpi::run(Command::new(mpi.mpicc()).args(["-fPIC", "-shared", "-Wall", "-o"]).arg(&library).arg(source));
    library
}

/// Both messages of a direction share the link, so a direction takes the time of two messages.
#[test]
fn pairs_on_shared_link_slow_down() {
    let _alone = mpi::alone();
    let Some(mpi) = mpi::named("mpich-wheel") else { return };
    let folder = tempfile::tempdir_in(mpi::scratch()).unwrap();
    let mut command = Command::new(mpi.mpiexec());
    command.args(["-n", "4", "-genv", "LD_PRELOAD"]).arg(link(&mpi)).args(["-genv", "LINK_FOLDER"]);
    command.arg(folder.path()).arg(benchmark(&mpi));
    let mut job = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (output, input) = (job.stdout.take().unwrap(), job.stdin.take().unwrap());
    let mut conversation = Conversation::new(output, input, |_| {});
    conversation.hello().unwrap();
    let measurement = Measurement {
        part: Part::Injection,
        placement: Some(Locality::OffNode),
        pairs: vec![(0, 2), (1, 3)],
        order: PostOrder::Equal,
        messages: 1,
        bytes: 8,
    };
    let seconds = conversation.measure(0, &measurement, 10.0 * HELD_S, 20.0 * HELD_S).unwrap();
    drop(conversation);
    job.wait().unwrap();
    // Host load makes times longer, never shorter.
    assert!(seconds.iter().all(|&way_s| way_s > 1.9 * HELD_S), "{seconds:?}");
}
