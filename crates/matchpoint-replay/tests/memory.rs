//! What a replay holds: no more than 64 MiB, 16 KiB for each rank and 64 bytes for each message that waits, whatever the
//! length of the trace; and what engines keep of a message that waits, once where it is counted and once where it is
//! timed.
//!
//! Traces are made up while they are read, so that all that grows is the replay. One test, because the system tells the
//! memory of a process, not of a test.
#![cfg(target_os = "linux")]

mod program;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use matchpoint_replay::{Arrivals, LogGp, Options, Progress, profile, replay};
use matchpoint_trace::call::*;
use matchpoint_trace::{Call, Description, Function, RankReader, Trace, TraceError};
use program::{from, to};

/// Anonymous memory of this process, in bytes.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux tells it");
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// A trace whose calls are computed from their number: `None` behind the last.
struct MadeUp<F> {
    description: Description,
    present: Vec<u32>,
    call: F,
    /// Streams begun, to tell the passes; memory before the first call of the last one, and the most since.
    begun: AtomicUsize,
    before: AtomicU64,
    most: AtomicU64,
}

struct MadeUpRank<'a, F> {
    trace: &'a MadeUp<F>,
    rank: u32,
    next: u64,
    simulated: bool,
}

/// Calls between two looks at the memory, of all ranks together.
const CALLS_PER_LOOK: u64 = 4096;

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> MadeUp<F> {
    fn new(ranks: u32, call: F) -> Self {
        let description = Description {
            format: "made up".into(),
            path: PathBuf::from("memory"),
            ranks,
            missing: Vec::new(),
            bytes: 1,
            calls_left_out: 0,
            clock_error_ns: None,
            null_looks_any: true,
            notes: Vec::new(),
        };
        let [before, most] = [0, 0].map(AtomicU64::new);
        let begun = AtomicUsize::new(0);
        MadeUp { description, present: (0..ranks).collect(), call, begun, before, most }
    }

    fn look(&self) {
        self.most.fetch_max(anonymous(), Relaxed);
    }
}

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> Trace for MadeUp<F> {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let begun = self.begun.fetch_add(1, Relaxed);
        if begun == self.present.len() {
            self.before.store(anonymous(), Relaxed);
        }
        Ok(Box::new(MadeUpRank { trace: self, rank, next: 0, simulated: begun >= self.present.len() }))
    }
}

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> RankReader for MadeUpRank<'_, F> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        call.requests.clear();
        call.completions.clear();
        (call.enter_ns, call.leave_ns) = (self.next as i64 * 1000, self.next as i64 * 1000 + 100);
        let is_there = (self.trace.call)(self.rank, self.next, call);
        self.next += 1;
        if self.simulated && (self.next % CALLS_PER_LOOK == u64::from(self.rank) || !is_there) {
            self.trace.look();
        }
        Ok(is_there)
    }

    fn position(&self) -> u64 {
        0
    }
}

fn send(call: &mut Call, args: SendArgs, request: Option<u32>) {
    call.function = if request.is_some() { Function::Isend } else { Function::Send };
    call.action = Action::Send { args, request: request.map(RequestId) };
}

fn receive(call: &mut Call, args: ReceiveArgs, request: Option<u32>) {
    call.function = if request.is_some() { Function::Irecv } else { Function::Recv };
    call.action = Action::Receive { args, request: request.map(RequestId), status: None };
}

/// One rank sends so many messages of a thousand kinds, and the other receives none of them but one, later.
fn waiting(messages: u64) -> MadeUp<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    MadeUp::new(2, move |rank, at, call| {
        if rank == 0 {
            send(call, to(1, (at % 1000) as i32), None);
            return at < messages;
        }
        call.enter_ns += at as i64 * 2000 * messages as i64;
        call.leave_ns = call.enter_ns + 100;
        receive(call, from(0, at as i32), None);
        at < 2
    })
}

/// Ranks of a cube, each of which exchanges a message with each of its 26 neighbours, again and again.
fn cube(edge: u32, times: u64) -> MadeUp<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    const PEERS: u64 = 26;
    MadeUp::new(edge.pow(3), move |rank, at, call| {
        let (time, step) = (at / (2 * PEERS + 1), at % (2 * PEERS + 1));
        let neighbour = |number: u64| {
            let number = number as u32 + u32::from(number >= PEERS / 2);
            let moved = |axis: u32| {
                let (unit, digit) = (edge.pow(axis), 3u32.pow(axis));
                (rank / unit + edge - 1 + number / digit % 3) % edge * unit
            };
            moved(0) + moved(1) + moved(2)
        };
        if step < PEERS {
            receive(call, from(neighbour(step), (PEERS - 1 - step) as i32), Some(1 + step as u32));
        } else if step < 2 * PEERS {
            let direction = step - PEERS;
            send(call, to(neighbour(direction), direction as i32), Some(1 + step as u32));
        } else {
            call.function = Function::Waitall;
            call.action = Action::Complete { awaits: Await::All, blocking: true };
            call.requests.extend((1..=2 * PEERS as u32).map(RequestId));
            call.completions.extend((0..2 * PEERS as u32).map(|index| Completion { index, status: None }));
        }
        time < times
    })
}

fn options() -> Options {
    Options {
        engines: vec!["bins".into()],
        sampled: false,
        arrivals: Arrivals::Simulated,
        loggp: LogGp::default(),
        compare_arrivals: false,
    }
}

#[test]
fn memory_is_bounded_by_ranks_and_waiting_messages() {
    // The simulation by itself, which is all that a profile takes.
    let messages = 1_000_000;
    let trace = waiting(messages);
    profile(&trace, Arrivals::Simulated, LogGp::default(), &Progress::default()).unwrap();
    let each = (trace.most.load(Relaxed) - trace.before.load(Relaxed)) as f64 / messages as f64;
    println!("{each:.1} bytes for each of {messages} waiting messages");
    assert!(each <= 66.0, "{each}");

    // `bins` keeps a message in 64 bytes.
    let trace = waiting(messages);
    replay(&trace, &options(), &Progress::default()).unwrap();
    let each = (trace.most.load(Relaxed) - trace.before.load(Relaxed)) as f64 / messages as f64;
    println!("{each:.1} bytes for each of {messages} waiting messages, and in an engine");
    // Engines that play again hold 32 MiB before they are let go.
    assert!(each <= 66.0 + 2.0 * 64.0 + f64::from(48 << 20) / messages as f64, "{each}");

    for (edge, times) in [(4, 100), (4, 400), (10, 12), (16, 3)] {
        let trace = cube(edge, times);
        let run = replay(&trace, &options(), &Progress::default()).unwrap();
        let ranks = u64::from(edge.pow(3));
        assert_eq!(run.engines[0].matched, ranks * 26 * times);
        let limit = (64 << 20) + ranks * (16 << 10) + ranks * 26 * 64;
        let most = trace.most.load(Relaxed);
        println!("{ranks} ranks, {times} times: {} of {} KiB", most >> 10, limit >> 10);
        assert!(most <= limit, "{ranks} ranks: {} of {} KiB", most >> 10, limit >> 10);
    }
}
