//! The OTF2 reader, with an archive written by OTF2's library. Without that library, or a compiler for
//! `write.c`, the tests are skipped.
#![cfg(feature = "otf2")]

#[path = "../../../matchpoint-cli/tests/left_out/mod.rs"]
mod left_out;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use matchpoint_trace::call::{
    Action, Await, CommId, Completion, NewComm, Peer, ReceiveArgs, RequestId, SendArgs, SendMode, Status,
    TagArg,
};
use matchpoint_trace::{Call, Function, Trace, open};

use left_out::leave_out;

static WRITTEN: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("otf2");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("write");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/otf2/write.c");
    let compiled = Command::new("cc").arg(source).arg("-o").arg(&program).arg("-lotf2").output();
    if !compiled.is_ok_and(|compiled| compiled.status.success()) {
        return None;
    }
    let archive = folder.join("archive");
    assert!(Command::new(program).arg(&archive).status().unwrap().success());
    Some(archive)
});

fn archive() -> Option<&'static Path> {
    if WRITTEN.is_none() {
        leave_out("no compiler, or no OTF2", "`apt-get install gcc libotf2-trace-dev`");
    }
    WRITTEN.as_deref()
}

fn calls(trace: &dyn Trace, rank: u32) -> Vec<Call> {
    let (mut stream, mut calls, mut call) = (trace.rank(rank).unwrap(), Vec::new(), Call::default());
    while stream.read(&mut call).unwrap() {
        calls.push(call.clone());
    }
    assert_eq!(stream.position() > 0, !calls.is_empty());
    calls
}

fn send(mode: SendMode, dest: u32, tag: i32, comm: u32, bytes: u64) -> SendArgs {
    SendArgs { mode, dest: Peer::Rank(dest), tag, comm: CommId(comm), bytes: Some(bytes) }
}

fn receive(source: u32, tag: i32, comm: u32, bytes: u64) -> ReceiveArgs {
    ReceiveArgs { source: Peer::Rank(source), tag: TagArg::Is(tag), comm: CommId(comm), bytes: Some(bytes) }
}

fn status(source: u32, tag: i32, bytes: u64) -> Option<Status> {
    Some(Status { source: Peer::Rank(source), tag: TagArg::Is(tag), bytes: Some(bytes), cancelled: false })
}

fn created() -> Action {
    let how = NewComm::Listed { own: 2, tag: Some(4) };
    Action::CommCreate { parent: CommId::NULL, how, comm: CommId(4), request: None }
}

const WAITALL: Action = Action::Complete { awaits: Await::All, blocking: true };

#[test]
fn archive_has_written_description() {
    let Some(archive) = archive() else { return };
    let trace = open(archive).unwrap();
    let description = trace.description();
    assert_eq!((description.ranks, trace.present()), (2, &[0, 1][..]));
    assert_eq!(description.format, "OTF2 (inferred)");
    assert!(description.notes[0].contains("inferred"));
    assert!(description.bytes > 1000);
    assert_eq!(calls(&*open(&archive.join("traces.otf2")).unwrap(), 1), calls(&*trace, 1));
}

#[test]
fn receives_have_envelope_of_message() {
    let Some(archive) = archive() else { return };
    let calls = calls(&*open(archive).unwrap(), 0);
    let begun = |args, request| Action::Receive { args, request: Some(RequestId(request)), status: None };
    let sent = |args, request| Action::Send { args, request: Some(RequestId(request)) };
    let both = Action::SendReceive {
        send: send(SendMode::Standard, 0, 8, 4, 16),
        receive: receive(0, 8, 4, 24),
        request: None,
        status: status(0, 8, 24),
    };
    let world = Action::Collective { comm: CommId::WORLD, root: None, bytes: Some(0), request: None };
    let other = Action::Send { args: send(SendMode::Synchronous, 1, 10, 1, 4), request: None };
    let found: Vec<(Function, u16, Action)> =
        calls.iter().map(|call| (call.function, call.thread, call.action)).collect();
    assert_eq!(
        found,
        [
            (Function::Init, 0, Action::Init),
            (Function::Irecv, 0, begun(receive(1, 6, 1, 30), 1)),
            (Function::Irecv, 0, begun(receive(1, 7, 1, 40), 2)),
            (Function::Isend, 0, sent(send(SendMode::Standard, 1, 5, 1, 800), 3)),
            (Function::Test, 0, Action::Complete { awaits: Await::All, blocking: false }),
            (Function::Waitall, 0, WAITALL),
            (Function::Comm_create_from_group, 0, created()),
            (Function::Sendrecv, 0, both),
            (Function::Isend, 0, sent(send(SendMode::Standard, 1, 9, 1, 8), 3)),
            (Function::Irecv, 0, begun(receive(1, 9, 1, 8), 1)),
            (Function::Waitall, 0, WAITALL),
            (Function::Cancel, 0, Action::Other),
            (Function::Wait, 0, WAITALL),
            (Function::Ssend, 1, other),
            (Function::Barrier, 0, world),
            (Function::Finalize, 0, Action::Finalize),
        ]
    );
    assert_eq!(calls[6].integers, [1, 0]);
    assert_eq!((calls[4].requests[..].to_vec(), calls[4].completions.len()), (vec![RequestId(2)], 0));
    assert_eq!(calls[5].requests, [2, 1, 3].map(RequestId));
    let done = |index, status| Completion { index, status };
    assert_eq!(calls[5].completions, [done(0, status(1, 7, 40)), done(1, status(1, 6, 30)), done(2, None)]);
    assert_eq!(calls[10].completions, [done(0, None), done(1, status(1, 9, 8))]);
    // A tick is 10 ns, and the clock starts at 1000.
    assert_eq!((calls[0].enter_ns, calls[0].leave_ns), (10, 20));
    assert!(calls.windows(2).all(|pair| pair[0].enter_ns <= pair[1].enter_ns));
}

#[test]
fn other_process_has_own_ranks() {
    let Some(archive) = archive() else { return };
    let calls = calls(&*open(archive).unwrap(), 1);
    let functions: Vec<Function> = calls.iter().map(|call| call.function).collect();
    use Function::{Barrier, Comm_create_from_group, Finalize, Init, Recv, Sendrecv, Ssend};
    assert_eq!(
        functions,
        [Init, Ssend, Ssend, Recv, Comm_create_from_group, Sendrecv, Ssend, Recv, Recv, Barrier, Finalize]
    );
    let received = Action::Receive { args: receive(0, 5, 1, 800), request: None, status: status(0, 5, 800) };
    assert_eq!((calls[3].action, calls[4].action), (received, created()));
}

#[test]
fn damaged_archive_is_error() {
    let Some(archive) = archive() else { return };
    let copy = archive.with_file_name("damaged");
    std::fs::create_dir_all(copy.join("traces")).unwrap();
    for name in ["traces.otf2", "traces.def", "traces/0.def", "traces/1.def", "traces/2.def"] {
        std::fs::copy(archive.join(name), copy.join(name)).unwrap();
    }
    for name in ["traces/1.evt", "traces/2.evt"] {
        std::fs::copy(archive.join(name), copy.join(name)).unwrap();
    }
    let events = std::fs::read(archive.join("traces/0.evt")).unwrap();
    std::fs::write(copy.join("traces/0.evt"), &events[..events.len() / 2]).unwrap();
    let trace = open(&copy).unwrap();
    let (mut call, mut read) = (Call::default(), 0);
    let failed = match trace.rank(0) {
        Err(error) => error,
        Ok(mut stream) => loop {
            match stream.read(&mut call) {
                Ok(true) => read += 1,
                Ok(false) => panic!("{read} calls of half a file, and no error"),
                Err(error) => break error,
            }
        },
    };
    assert!(failed.to_string().contains("copy all of the archive's folder again"), "{failed}");
    std::fs::write(copy.join("traces.def"), b"no definitions").unwrap();
    assert!(open(&copy).is_err());
    std::fs::write(copy.join("traces.otf2"), b"no anchor").unwrap();
    assert!(open(&copy).is_err());
}
