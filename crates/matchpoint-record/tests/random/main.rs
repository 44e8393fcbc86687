//! Test: the reader returns every recorded call and result of a program with random calls.
//!
//! A simulated MPI library returns results that the program chooses, so the test needs no MPI.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use matchpoint_record::recording::{Recording, Settings};
use matchpoint_trace::call::{Action, NewComm, Peer, RequestId, SendArgs, Status, TagArg};
use matchpoint_trace::{Call, Function};

/// Bytes of the first send of each thread of `program.c`.
const FIRST_BYTES: u64 = 777_777_777;

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn build(folder: &Path) -> PathBuf {
    let cc = || {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-I"]).arg(source_folder().join("../../shim/abi"));
        cc.current_dir(source_folder());
        cc
    };
    let (library, program) = (folder.join("libmpi_abi.so.0"), folder.join("program"));
    run(cc().args(["-fPIC", "-shared", "-Wl,-soname,libmpi_abi.so.0", "library.c", "-o"]).arg(&library));
    run(cc()
        .arg("program.c")
        .arg("-o")
        .arg(&program)
        .arg(&library)
        .args(["-Wl,-rpath,$ORIGIN", "-lpthread"]));
    program
}

/// Lines of text of a thread's calls, as `program.c` writes them. Requests are numbered in order of their
/// start, because ids are reused.
#[derive(Default)]
struct Lines {
    begun: BTreeMap<RequestId, usize>,
    next: usize,
    text: String,
}

fn format_peer(peer: Peer) -> String {
    match peer {
        Peer::Rank(rank) => rank.to_string(),
        Peer::Any => "any".to_owned(),
        Peer::Null => "null".to_owned(),
    }
}

fn tag(tag: TagArg) -> String {
    match tag {
        TagArg::Is(tag) => tag.to_string(),
        TagArg::Any => "any".to_owned(),
    }
}

fn status(status: Option<Status>) -> String {
    match status {
        None => "none".to_owned(),
        Some(status) if status.cancelled => "cancelled".to_owned(),
        Some(status) => format!("{},{},{}", format_peer(status.source), tag(status.tag), bytes(status.bytes)),
    }
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string())
}

impl Lines {
    fn begin(&mut self, request: Option<RequestId>) -> String {
        let Some(request) = request else { return String::new() };
        self.begun.insert(request, self.next);
        self.next += 1;
        format!(" #{}", self.next - 1)
    }

    fn add(&mut self, call: &Call) {
        let line = self.line(call);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn line(&mut self, call: &Call) -> String {
        let name = call.function.name().trim_start_matches("MPI_");
        match call.action {
            Action::Send { args, request } => {
                let request = self.begin(request);
                format!("{name} {} {} {}{request}", format_peer(args.dest), args.tag, bytes(args.bytes))
            }
            Action::Receive { args, request, status: received } => {
                let end =
                    if request.is_some() { self.begin(request) } else { format!(" {}", status(received)) };
                format!("{name} {} {} {}{end}", format_peer(args.source), tag(args.tag), bytes(args.bytes))
            }
            Action::Probe { args, found, status: reported, .. } => {
                let found = u8::from(found);
                format!("{name} {} {} {found} {}", format_peer(args.source), tag(args.tag), status(reported))
            }
            Action::Complete { .. } => {
                let mut line = name.to_owned();
                for request in &call.requests {
                    match self.begun.get(request) {
                        Some(number) if *request != RequestId::NULL => write!(line, " #{number}").unwrap(),
                        _ => line.push_str(" -"),
                    }
                }
                line.push_str(" |");
                for completion in &call.completions {
                    write!(line, " {}: {}", completion.index, status(completion.status)).unwrap();
                }
                line
            }
            Action::CommCreate { how: NewComm::Listed { own, tag }, .. } => {
                let mut line = format!("{name} {}", tag.unwrap());
                for rank in &call.integers[..own as usize] {
                    write!(line, " {rank}").unwrap();
                }
                line
            }
            _ => name.to_owned(),
        }
    }
}

#[test]
fn reader_returns_recorded_calls() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path());
    let truth = folder.path().join("truth");
    fs::create_dir(&truth).unwrap();
    let words = [&program, &truth, Path::new("30000"), Path::new("400")]
        .map(|word| word.to_str().unwrap().to_owned());
    let recording = Recording::prepare(
        Settings { output: folder.path().join("trace"), command: words.to_vec(), ..Settings::default() },
        &mut |_| (),
    );
    let recording = recording.unwrap();
    run(&mut recording.command());
    let recorded = recording.finish(Some(0)).unwrap();
    assert_eq!((recorded.ranks, recorded.left_out, recorded.incomplete), (2000, 0, vec![]));

    let trace = matchpoint_trace::open(&folder.path().join("trace")).unwrap();
    // Threads that run one after the other have the same number in the trace.
    let mut threads: BTreeMap<i32, Lines> = BTreeMap::new();
    let mut now: BTreeMap<u16, i32> = BTreeMap::new();
    let mut reader = trace.rank(0).unwrap();
    let mut call = Call::default();
    while reader.read(&mut call).unwrap() {
        let around = [Function::Init_thread, Function::Cancel, Function::Finalize];
        if !around.contains(&call.function) {
            if let Action::Send { args: SendArgs { tag, bytes: Some(FIRST_BYTES), .. }, request: None } =
                call.action
            {
                now.insert(call.thread, tag);
            }
            threads.entry(now[&call.thread]).or_default().add(&call);
        }
    }
    assert_eq!(threads.len(), 404);
    for (number, lines) in &threads {
        let expected = fs::read_to_string(truth.join(number.to_string())).unwrap();
        let differs = expected.lines().zip(lines.text.lines()).find(|(expected, read)| expected != read);
        if let Some((expected, read)) = differs {
            panic!("thread {number}: called\n{expected:.400}\nread\n{read:.400}");
        }
        assert_eq!(expected.lines().count(), lines.text.lines().count(), "thread {number}");
    }
}
