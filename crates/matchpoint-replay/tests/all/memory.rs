//! Memory of a replay with the engine `bins`. For traces of any length, it is at most 64 MiB, 16 KiB per rank
//! and 64 bytes per message in flight.
//!
//! Traces are generated while they are read. Each case has its own process, because the system reports memory
//! by process. `MATCHPOINT_TEST_MESSAGES=10000000` sets the number of messages.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::program::{from, to};
use matchpoint_replay::{Arrivals, LogGp, Measurements, Options, Progress, profile, replay};
use matchpoint_trace::call::*;
use matchpoint_trace::{Call, Description, Function, RankReader, Trace, TraceError};

/// Anonymous memory of this process, in bytes.
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux tells it");
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

struct GeneratedTrace<F> {
    description: Description,
    present: Vec<u32>,
    call: F,
    /// Number of opened streams, to count passes; memory before the first call of the last pass, and its
    /// peak.
    opened: AtomicUsize,
    before: AtomicU64,
    peak: AtomicU64,
}

struct GeneratedRank<'a, F> {
    trace: &'a GeneratedTrace<F>,
    rank: u32,
    next: u64,
    simulated: bool,
}

const CALLS_PER_MEASUREMENT: u64 = 4096;

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> GeneratedTrace<F> {
    fn new(ranks: u32, call: F) -> Self {
        let description = Description {
            format: "made up".into(),
            path: PathBuf::from("memory"),
            ranks,
            bytes: 1,
            null_looks_any: true,
            ..Description::default()
        };
        let [before, peak] = [0, 0].map(AtomicU64::new);
        let opened = AtomicUsize::new(0);
        GeneratedTrace { description, present: (0..ranks).collect(), call, opened, before, peak }
    }

    fn measure_memory(&self) {
        self.peak.fetch_max(anonymous_bytes(), Relaxed);
    }
}

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> Trace for GeneratedTrace<F> {
    fn description(&self) -> &Description {
        &self.description
    }

    fn present(&self) -> &[u32] {
        &self.present
    }

    fn rank(&self, rank: u32) -> Result<Box<dyn RankReader + '_>, TraceError> {
        let opened = self.opened.fetch_add(1, Relaxed);
        if opened == self.present.len() {
            self.before.store(anonymous_bytes(), Relaxed);
        }
        Ok(Box::new(GeneratedRank { trace: self, rank, next: 0, simulated: opened >= self.present.len() }))
    }
}

impl<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync> RankReader for GeneratedRank<'_, F> {
    fn read(&mut self, call: &mut Call) -> Result<bool, TraceError> {
        call.requests.clear();
        call.completions.clear();
        (call.enter_ns, call.leave_ns) = (self.next as i64 * 1000, self.next as i64 * 1000 + 100);
        let is_there = (self.trace.call)(self.rank, self.next, call);
        self.next += 1;
        if self.simulated && (self.next % CALLS_PER_MEASUREMENT == u64::from(self.rank) || !is_there) {
            self.trace.measure_memory();
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

fn delay(call: &mut Call, messages: u64) {
    call.enter_ns += messages as i64 * 4000;
    call.leave_ns = call.enter_ns + 100;
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum ReceiveOrder {
    None,
    InOrder,
    /// Receives by tag, which leave gaps everywhere in the queue.
    ByTag,
    Alternating,
}

const TAGS: u64 = 1000;

fn waiting(
    pairs: u32,
    messages: u64,
    order: ReceiveOrder,
) -> GeneratedTrace<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    let each = messages / u64::from(pairs);
    GeneratedTrace::new(2 * pairs, move |rank, at, call| {
        let tag = |at: u64| (at % TAGS) as i32;
        if rank % 2 == 0 {
            let more = if order == ReceiveOrder::Alternating { each } else { 0 };
            if at >= each {
                delay(call, each);
            }
            send(call, to(rank + 1, tag(at)), None);
            return at < each + more;
        }
        if at > 0 {
            delay(call, each);
        }
        let (tag, received) = match order {
            ReceiveOrder::None => (tag(at), 2),
            ReceiveOrder::InOrder => (tag(at), each),
            ReceiveOrder::ByTag => (tag(at / (each / TAGS).max(1)), each / TAGS * TAGS),
            ReceiveOrder::Alternating => (tag(at * 7), each),
        };
        receive(call, from(rank - 1, tag), None);
        at < received
    })
}

fn posted(messages: u64) -> GeneratedTrace<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    GeneratedTrace::new(2, move |rank, at, call| {
        let tag = (at % TAGS) as i32;
        if rank == 0 {
            if at > 0 {
                delay(call, messages);
            }
            send(call, to(1, tag), None);
            return at < messages;
        }
        receive(call, from(0, tag), Some(at as u32));
        at < messages
    })
}

fn communicators(times: u64) -> GeneratedTrace<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    GeneratedTrace::new(2, move |rank, at, call| {
        let comm = CommId(10 + at as u32 / 3);
        match (at % 3, rank) {
            (0, _) => {
                call.function = Function::Comm_dup;
                let (parent, how) = (CommId::WORLD, NewComm::Dup);
                call.action = Action::CommCreate { parent, how, comm, request: None };
            }
            (1, 0) => send(call, SendArgs { comm, ..to(1, 0) }, None),
            (1, _) => receive(call, ReceiveArgs { comm, ..from(0, 0) }, None),
            _ => {
                call.function = Function::Comm_free;
                call.action = Action::CommFree { comm };
            }
        }
        at < 3 * times
    })
}

fn cube(edge: u32, times: u64) -> GeneratedTrace<impl Fn(u32, u64, &mut Call) -> bool + Send + Sync> {
    const PEERS: u64 = 26;
    GeneratedTrace::new(edge.pow(3), move |rank, at, call| {
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

#[derive(Clone, Copy, PartialEq, Debug)]
enum Case {
    Profile,
    /// Pairs of ranks with waiting messages.
    Waiting(u32, ReceiveOrder),
    Posted,
    Communicators(u64),
    /// Exchanges in a cube: edge length of the cube, and number of exchanges.
    Cube(u32, u64),
}

fn cases() -> Vec<Case> {
    use ReceiveOrder::*;
    let waiting =
        [1, 64].map(|pairs| [None, InOrder, ByTag, Alternating].map(|order| Case::Waiting(pairs, order)));
    let cubes = [(4, 100), (4, 400), (10, 12), (16, 3), (25, 2)].map(|(edge, times)| Case::Cube(edge, times));
    let communicators = [50_000, 500_000].map(Case::Communicators);
    [vec![Case::Profile, Case::Posted], communicators.to_vec(), waiting.concat(), cubes.to_vec()].concat()
}

const CASE: &str = "MATCHPOINT_TEST_MEMORY_CASE";

#[test]
fn ranks_and_pending_messages_bound_memory() {
    let messages = std::env::var("MATCHPOINT_TEST_MESSAGES").map_or(1_000_000, |n| n.parse().unwrap());
    if let Ok(case) = std::env::var(CASE) {
        return run(cases()[case.parse::<usize>().unwrap()], messages);
    }
    for (at, case) in cases().iter().enumerate() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(CASE, at.to_string());
        command.args(["--exact", "memory::ranks_and_pending_messages_bound_memory", "--nocapture"]);
        let output = command.output().unwrap();
        let output_text = String::from_utf8_lossy(&output.stdout);
        output_text.lines().filter(|line| line.contains("bytes each")).for_each(|line| println!("{line}"));
        assert!(
            output.status.success(),
            "{case:?}:\n{output_text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Replays a trace and polls the memory: a growing table exists twice for milliseconds only.
fn replay_and_measure<F: Fn(u32, u64, &mut Call) -> bool + Send + Sync>(
    trace: &GeneratedTrace<F>,
) -> Measurements {
    let options = Options { engines: vec!["bins".into()], ..Options::default() };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                if trace.opened.load(Relaxed) > trace.present.len() {
                    trace.measure_memory();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let run = replay(trace, &options, &Progress::default());
        is_over.store(true, Relaxed);
        run.unwrap()
    })
}

fn run(case: Case, messages: u64) {
    let (ranks, in_flight, peak) = match case {
        Case::Profile => {
            let trace = waiting(1, messages, ReceiveOrder::None);
            profile(&trace, Arrivals::Simulated, LogGp::default(), &Progress::default()).unwrap();
            let each = per(&trace, messages);
            println!("{messages} messages wait in the simulation: {each:.1} bytes each");
            // Only the first messages have records.
            assert!(each <= 18.0 + f64::from(8 << 20) / messages as f64, "{each}");
            return;
        }
        Case::Posted => {
            let trace = posted(messages);
            let run = replay_and_measure(&trace);
            println!(
                "{messages} receives are posted, each with a request: {:.1} bytes each",
                per(&trace, messages)
            );
            assert!(run.engines[0].posted.length_max >= messages - 2);
            return;
        }
        Case::Waiting(pairs, order) => {
            let trace = waiting(pairs, messages, order);
            let run = replay_and_measure(&trace);
            let of = &run.engines[0];
            let longest = of.unexpected.length_max * u64::from(pairs);
            assert!((messages * 99 / 100..=messages).contains(&longest), "{longest} are not {messages}");
            assert_eq!(of.disagreements, 0);
            assert!(messages < 1_000_000 || of.timed_counting > 0.5, "{}", of.timed_counting);
            print!(
                "{messages} messages wait at {pairs} ranks, taken {order:?}: {:.1} bytes each; ",
                per(&trace, messages)
            );
            (2 * pairs, messages, trace.peak.load(Relaxed))
        }
        Case::Communicators(times) => {
            let trace = communicators(times);
            let run = replay_and_measure(&trace);
            assert_eq!(run.engines[0].matched, times);
            let used = &run.communicators;
            assert_eq!(used.iter().map(|communicator| communicator.messages).sum::<u64>(), times);
            assert!(used.len() <= 65, "{}", used.len());
            assert!(used[0].origin.ends_with("one after the other)"), "{}", used[0].origin);
            let peak = trace.peak.load(Relaxed);
            println!("{times} communicators: {} KiB, 0 bytes each", peak >> 10);
            assert!(peak <= 34 << 20, "{} KiB", peak >> 10);
            return;
        }
        Case::Cube(edge, times) => {
            let trace = cube(edge, times);
            let run = replay_and_measure(&trace);
            let ranks = edge.pow(3);
            assert_eq!(run.engines[0].matched, u64::from(ranks) * 26 * times);
            (ranks, u64::from(ranks) * 26, trace.peak.load(Relaxed))
        }
    };
    let limit = (64 << 20) + u64::from(ranks) * (16 << 10) + in_flight * 64;
    // The lower limit reserves 15 % for unused memory of the allocator.
    let limit = if matches!(case, Case::Cube(..)) { limit / 100 * 85 } else { limit };
    println!("{ranks} ranks, {in_flight} messages of 64 bytes each: {} of {} KiB", peak >> 10, limit >> 10);
    assert!(peak <= limit, "{case:?}: {} of {} KiB", peak >> 10, limit >> 10);
}

fn per<F>(trace: &GeneratedTrace<F>, messages: u64) -> f64 {
    (trace.peak.load(Relaxed) - trace.before.load(Relaxed)) as f64 / messages as f64
}
