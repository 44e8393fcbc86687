//! Engines with kernels keep the laws on the emulation, also after failures.

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::emulation::{Emulation, HostMemory, Stopped};
use crate::laws;
use matchpoint::{
    Attempts, ContextId, Engine, Envelope, Event, Hints, Message, MsgId, Order, Rank, Receive, RecvId,
    Refused, Selector, Tag, Wild,
};
use matchpoint_conformance::{Options, check};
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::engine::{Fallback, set_listener};
use matchpoint_gpu::kernels::Kernel;
use matchpoint_gpu::machine::{FailureDuration, Grid, Machine};
use matchpoint_gpu::{Algorithm, Batch, Division, KernelEngine, Loaded, Matcher, Recorded, match_batch};

fn any(engine: &mut dyn Engine) -> &mut dyn Engine {
    engine
}

/// Short streams: the emulation launches a kernel for each of thousands of calls.
fn options() -> Options {
    Options { streams: 2, events: 150, depths: vec![9], ..Options::quick() }
}

fn keeps_laws(algorithm: Algorithm, matches: u64) {
    let Some(emulation) = Emulation::built() else { return };
    let report = laws::report(&Arc::new(emulation), algorithm, &options());
    assert!(report.matches > matches, "{}: {report:?}", algorithm.name());
}

#[test]
fn matrix_keeps_laws() {
    keeps_laws(Algorithm::Matrix, 1000);
}

#[test]
fn queues_by_source_keep_laws() {
    keeps_laws(Algorithm::Partitioned, 500);
}

#[test]
fn hashing_keeps_laws() {
    keeps_laws(Algorithm::Hash, 300);
}

#[test]
fn numbers_within_envelopes_keep_laws() {
    keeps_laws(Algorithm::Ordered, 1000);
}

/// A machine that fails after a number of launches, or is occupied at times.
struct Failing {
    inner: Emulation,
    left: AtomicU32,
    /// True if another process occupies the machine.
    is_taken: AtomicBool,
    /// Number of queries and launches between changes of `is_taken`; 0 for no changes.
    turns: AtomicU32,
    asked: AtomicU32,
    asked_for: Mutex<Vec<usize>>,
    /// Maximum size of an allocation.
    most_bytes: AtomicUsize,
}

impl Failing {
    fn turn(&self) -> bool {
        let turns = self.turns.load(Ordering::Relaxed);
        if turns > 0 && self.asked.fetch_add(1, Ordering::Relaxed) % turns == turns - 1 {
            self.is_taken.fetch_xor(true, Ordering::Relaxed);
        }
        self.is_taken.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
enum Failed {
    Gone,
    Taken,
    Memory,
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failed::Gone => "the card fell off the bus",
            Failed::Taken => "something else has the card",
            Failed::Memory => "there is not as much",
        })
    }
}

impl std::error::Error for Failed {}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        panic!("{stopped}")
    }
}

impl Machine for Failing {
    type Error = Failed;
    type Memory = HostMemory;

    fn allocate(&self, bytes: usize) -> Result<HostMemory, Failed> {
        self.asked_for.lock().unwrap().push(bytes);
        if bytes > self.most_bytes.load(Ordering::Relaxed) {
            return Err(Failed::Memory);
        }
        Ok(self.inner.allocate(bytes)?)
    }

    fn write(&self, memory: &mut HostMemory, bytes: &[u8]) -> Result<(), Failed> {
        Ok(self.inner.write(memory, bytes)?)
    }

    fn read(&self, memory: &HostMemory, bytes: &mut [u8]) -> Result<(), Failed> {
        Ok(self.inner.read(memory, bytes)?)
    }

    #[allow(unsafe_code)]
    unsafe fn launch<A: Copy>(
        &self,
        kernel: Kernel,
        layout: Layout,
        grid: Grid,
        arguments: &A,
    ) -> Result<(), Failed> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| Failed::Gone)?;
        if self.turn() {
            return Err(Failed::Taken);
        }
        // SAFETY: guaranteed by the caller.
        Ok(unsafe { self.inner.launch(kernel, layout, grid, arguments) }?)
    }

    fn failure_duration(error: &Failed) -> FailureDuration {
        match error {
            Failed::Gone => FailureDuration::Permanent,
            Failed::Taken => FailureDuration::WhileOccupied,
            Failed::Memory => FailureDuration::UntilMemory,
        }
    }

    fn is_occupied(&self) -> bool {
        self.turn()
    }

    fn shared_bytes_max(&self) -> u32 {
        self.inner.shared_bytes_max()
    }

    fn multiprocessors(&self) -> u32 {
        self.inner.multiprocessors()
    }
}

/// An engine on a machine that fails after a number of launches.
fn failing(
    machine: &Arc<Failing>,
    algorithm: Algorithm,
    kernels: u32,
    other: Option<&str>,
) -> Box<dyn Engine> {
    machine.left.store(kernels, Ordering::Relaxed);
    Box::new(Fallback::new(KernelEngine::new(machine.clone(), algorithm), other, true).unwrap())
}

fn machine() -> Option<Arc<Failing>> {
    Some(Arc::new(Failing {
        inner: Emulation::built()?,
        left: AtomicU32::new(0),
        is_taken: AtomicBool::new(false),
        turns: AtomicU32::new(0),
        asked: AtomicU32::new(0),
        asked_for: Mutex::default(),
        most_bytes: AtomicUsize::new(usize::MAX),
    }))
}

/// The laws hold for a failure at any time: the fallback engine gets all queued entries in order and every
/// assertion.
#[test]
fn substitute_takes_all_queued_entries() {
    let Some(machine) = machine() else { return };
    for (algorithm, other) in [(Algorithm::Ordered, "hybrid"), (Algorithm::Hash, "list")] {
        for kernels in [0, 1, 20, 60] {
            let options = options();
            let report = check(&|| failing(&machine, algorithm, kernels, Some(other)), &options);
            report.unwrap_or_else(|violation| panic!("{} {kernels}\n{violation}", algorithm.name()));
        }
    }
}

#[test]
fn occupied_machine_matches_again_later() {
    let Some(machine) = machine() else { return };
    for (algorithm, other, turns) in [(Algorithm::Ordered, "hybrid", 5), (Algorithm::Hash, "list", 3)] {
        machine.turns.store(turns, Ordering::Relaxed);
        let report = check(&|| failing(&machine, algorithm, u32::MAX, Some(other)), &options());
        let report = report.unwrap_or_else(|violation| panic!("{}\n{violation}", algorithm.name()));
        let streams = report.substitute.unwrap().streams;
        assert!(0 < streams && streams < report.streams, "{streams} of {}", report.streams);
    }
}

#[test]
fn next_call_uses_machine_again() {
    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, u32::MAX, Some("list"));
    let batches = |engine: &dyn Engine| engine.statistics()[0];
    for tag in 0..20 {
        engine.post(receive(tag, Wild::Is(Rank(1)), tag)).unwrap();
    }
    assert_eq!(engine.arrive_message(message(3, 3)), Ok(Some(RecvId(3))));
    let held = engine.footprint().now_bytes();
    machine.is_taken.store(true, Ordering::Relaxed);
    assert_eq!(engine.arrive_message(message(4, 4)), Ok(Some(RecvId(4))));
    assert_eq!(engine.arrive_message(message(30, 30)), Ok(None));
    assert_eq!(engine.substitute(), Some("list"));
    let hints = Hints { no_any_source: true, ..Hints::default() };
    engine.set_hints(HERE, hints).unwrap();
    let compared = engine.attempts();
    assert!(compared.posted > 0);
    assert!(engine.footprint().now_bytes() > held, "what waits for the machine keeps its memory");
    let peak = engine.footprint().peak_bytes;
    machine.is_taken.store(false, Ordering::Relaxed);
    assert_eq!(engine.arrive_message(message(5, 5)), Ok(Some(RecvId(5))));
    assert_eq!((engine.substitute(), batches(&*engine)), (None, ("batches_matched", 3.0)));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (17, 1));
    assert_eq!(engine.post(receive(40, Wild::Any, 30)), Err(Refused::Hint), "it was asserted meanwhile");
    assert_eq!(engine.post(receive(40, Wild::Is(Rank(1)), 30)), Ok(Some(MsgId(30))));
    assert_eq!((engine.attempts(), engine.footprint().peak_bytes >= peak), (compared, true));
    // The closed context stays closed after a second occupation.
    machine.is_taken.store(true, Ordering::Relaxed);
    assert_eq!(engine.arrive_message(message(6, 6)), Ok(Some(RecvId(6))));
    engine.close(HERE, &mut matchpoint::Drained::default());
    machine.is_taken.store(false, Ordering::Relaxed);
    assert_eq!(engine.post(receive(41, Wild::Any, 30)), Ok(None));
    assert_eq!(engine.substitute(), None);
    assert!(engine.attempts().posted > compared.posted);
}

#[test]
fn call_after_occupation_matches_without_substitute() {
    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, u32::MAX, None);
    assert_eq!(engine.post(receive(1, Wild::Any, 7)), Ok(None));
    machine.is_taken.store(true, Ordering::Relaxed);
    assert_eq!(engine.arrive_message(message(1, 7)), Err(Refused::Full));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (1, 0));
    machine.is_taken.store(false, Ordering::Relaxed);
    assert_eq!(engine.arrive_message(message(1, 7)), Ok(Some(RecvId(1))));
}

/// The host searches for a probe while the machine is occupied. The occupation is no reason to refuse a later
/// call.
#[test]
fn failed_probe_does_not_stop_later_calls() {
    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, u32::MAX, Some("list"));
    let elsewhere = ContextId(4);
    let hints = Hints { no_unexpected: true, ..Hints::default() };
    engine.set_hints(elsewhere, hints).unwrap();
    assert_eq!(engine.arrive_message(message(1, 1)), Ok(None));
    machine.is_taken.store(true, Ordering::Relaxed);
    assert_eq!(engine.probe(&receive(0, Wild::Any, 1).selector), Some(MsgId(1)));
    machine.is_taken.store(false, Ordering::Relaxed);
    let refused = Message::new(MsgId(3), Envelope::new(elsewhere, Rank(1), Tag(2)));
    let mut out = Vec::new();
    assert_eq!(engine.arrive_batch(&[message(2, 2), refused], &mut out), Err(Refused::Hint));
    assert_eq!((out, engine.unexpected_len(), engine.substitute()), (vec![None], 2, None));
}

/// An allocation by the driver takes as long as matching.
#[test]
fn machine_memory_is_reused_and_counted() {
    let Some(machine) = machine() else { return };
    machine.left.store(u32::MAX, Ordering::Relaxed);
    for algorithm in Algorithm::ALL {
        let mut engine = KernelEngine::new(machine.clone(), algorithm);
        let mut asked = |entries: u64| {
            machine.asked_for.lock().unwrap().clear();
            for id in 0..entries {
                any(&mut engine).post(receive(id, Wild::Is(Rank(1)), id)).unwrap();
            }
            let messages: Vec<Message> = (0..entries).map(|tag| message(tag, tag)).collect();
            let before = engine.footprint().now_bytes();
            let mut out = Vec::new();
            engine.arrive_batch(&messages, &mut out).unwrap();
            assert!(out.iter().all(Option::is_some), "{}", algorithm.name());
            let more = engine.footprint().now_bytes() - before;
            (machine.asked_for.lock().unwrap().clone(), more)
        };
        let (first, grown) = asked(100);
        assert!(first.contains(&800) && grown == first.iter().sum::<usize>() as u64, "{first:?} {grown}");
        for entries in [100, 7, 100] {
            assert_eq!(asked(entries).0, Vec::<usize>::new(), "{}", algorithm.name());
        }
        // Growth at least doubles.
        let (second, _) = asked(101);
        assert!(second.contains(&1600) && !second.contains(&808), "{second:?}");
        // 128 entries have as many queues by source as 101 entries.
        assert_eq!(asked(128).0, Vec::<usize>::new(), "{}", algorithm.name());
        assert!(asked(1000).0.contains(&8000), "more than twice, if so much is needed");
    }
}

/// The batch's additional memory is freed, and the peak includes it.
#[test]
fn refused_batch_keeps_machine_memory() {
    let Some(machine) = machine() else { return };
    machine.left.store(u32::MAX, Ordering::Relaxed);
    for algorithm in Algorithm::ALL {
        machine.most_bytes.store(usize::MAX, Ordering::Relaxed);
        let mut engine = KernelEngine::new(machine.clone(), algorithm);
        let mut out = Vec::new();
        let messages = |count: u64| -> Vec<Message> { (0..count).map(|tag| message(tag, tag)).collect() };
        (0..100)
            .for_each(|id| assert_eq!(any(&mut engine).post(receive(id, Wild::Is(Rank(1)), id)), Ok(None)));
        engine.arrive_batch(&messages(100), &mut out).unwrap();
        assert!(out.iter().all(Option::is_some));
        (0..4000)
            .for_each(|id| assert_eq!(any(&mut engine).post(receive(id, Wild::Is(Rank(1)), id)), Ok(None)));
        let before = engine.footprint();
        let mut peak = before.peak_bytes;
        // The messages fit into memory, the receives do not.
        machine.most_bytes.store(20_000, Ordering::Relaxed);
        for _ in 0..2 {
            machine.asked_for.lock().unwrap().clear();
            assert_eq!(engine.arrive_batch(&messages(2000), &mut out), Err(Refused::Memory));
            assert!(machine.asked_for.lock().unwrap().contains(&16_000), "messages had memory");
            let after = engine.footprint();
            assert_eq!(after.now_bytes(), before.now_bytes(), "{}", algorithm.name());
            assert_eq!(after.peak_bytes, before.now_bytes() + 16_000 - 800, "{}", algorithm.name());
            assert!(after.peak_bytes >= peak, "it fell");
            peak = after.peak_bytes;
        }
        assert_eq!((engine.posted_len(), engine.unexpected_len(), out.len()), (4000, 0, 100));
        // The receive matches none of a small batch's messages, so the earlier memory suffices.
        let mut left = matchpoint::Drained::default();
        engine.close(HERE, &mut left);
        (0..100)
            .for_each(|id| assert_eq!(any(&mut engine).post(receive(id, Wild::Is(Rank(1)), id)), Ok(None)));
        machine.asked_for.lock().unwrap().clear();
        engine.arrive_batch(&messages(100), &mut out).unwrap();
        assert_eq!(*machine.asked_for.lock().unwrap(), Vec::<usize>::new(), "{}", algorithm.name());
        assert!(out[100..].iter().all(Option::is_some) && engine.footprint().peak_bytes >= peak);
    }
}

/// Earlier content of larger and smaller batches, in both layouts and with every method, does not change
/// results.
#[test]
fn reused_memory_matches_like_new_memory() {
    let Some(emulation) = Emulation::built() else { return };
    let rng = &mut fastrand::Rng::with_seed(11);
    let mut matcher = Matcher::default();
    let mut bytes = 0;
    for turn in 0..20 {
        // The whole card, one block with several parts, and one block with one part.
        let entries = [9000, 40, 2500, 3, 700][turn % 5] + rng.usize(..40);
        let layout = Layout::ALL[rng.usize(..2)];
        let has_wildcards = rng.bool();
        let (mut envelopes, mut selectors) = (Vec::new(), Vec::new());
        for _ in 0..entries {
            let mut envelope = || Envelope::new(HERE, Rank(rng.u64(..40) as u32), Tag(rng.u64(..200)));
            envelopes.push(envelope());
            let asked = envelope();
            let source = if has_wildcards && rng.u32(..50) == 0 { Wild::Any } else { Wild::Is(asked.source) };
            selectors.push(Selector::new(HERE, source, Wild::Is(asked.tag)));
        }
        let batch = Batch::in_layout(layout, &envelopes, &selectors).unwrap();
        let algorithm = if turn % 7 == 6 { Algorithm::Matrix } else { Algorithm::Ordered };
        let matched = matcher.match_batch(&emulation, algorithm, &batch, turn as u64).unwrap();
        assert_eq!(Ok(matched), match_batch(&emulation, algorithm, &batch, turn as u64), "{turn}: {entries}");
        assert!(matcher.bytes() >= bytes);
        bytes = matcher.bytes();
    }
}

/// An empty side does not use entries of the batch before.
#[test]
fn divided_batch_may_have_empty_side() {
    let Some(emulation) = Emulation::built() else { return };
    let envelopes: Vec<Envelope> =
        (0..2000).map(|tag| Envelope::new(HERE, Rank(tag % 7), Tag(tag.into()))).collect();
    let selectors: Vec<Selector> = envelopes.iter().map(Selector::exactly).collect();
    let load = |messages: usize, receives: usize| {
        let batch = Batch::in_layout(Layout::Packed, &envelopes[..messages], &selectors[..receives]).unwrap();
        Loaded::new(&emulation, &batch, &[]).unwrap()
    };
    let mut first = load(2000, 2000);
    let mut division = Division::new(&emulation, &first).unwrap();
    division.launch(&emulation, &mut first, 5).unwrap();
    assert!(first.matched(&emulation).unwrap().iter().all(|&message| message != NONE));
    for (messages, receives) in [(0, 2000), (2000, 0), (0, 0)] {
        let mut batch = load(messages, receives);
        division.fit(&emulation, &batch).unwrap();
        division.launch(&emulation, &mut batch, 5).unwrap();
        assert_eq!(batch.matched(&emulation).unwrap(), vec![NONE; receives], "{messages}, {receives}");
    }
}

#[test]
fn substitute_of_missing_card_keeps_laws() {
    for algorithm in Algorithm::ALL {
        let make = || -> Box<dyn Engine> {
            Box::new(
                Fallback::<Failing>::without_machine(algorithm, "hybrid", true, "there is none").unwrap(),
            )
        };
        assert_eq!(make().demands(), algorithm.demands());
        check(&make, &options()).unwrap_or_else(|violation| panic!("{}\n{violation}", algorithm.name()));
    }
}

const HERE: ContextId = ContextId(3);

fn receive(id: u64, source: Wild<Rank>, tag: u64) -> Receive {
    Receive::new(RecvId(id), Selector::new(HERE, source, Wild::Is(Tag(tag))))
}

fn message(id: u64, tag: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(HERE, Rank(1), Tag(tag)))
}

#[test]
fn call_without_substitute_is_refused() {
    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, 1, None);
    assert_eq!(engine.post(receive(1, Wild::Any, 7)), Ok(None));
    assert_eq!(engine.arrive_message(message(1, 8)), Ok(None));
    // This call lets the machine fail.
    assert_eq!(engine.arrive_message(message(2, 7)), Err(Refused::Full));
    assert_eq!(engine.post(receive(2, Wild::Any, 8)), Err(Refused::Full));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (1, 1));
    // A probe cannot return an error, so the host searches.
    let selector = receive(0, Wild::Any, 8).selector;
    assert_eq!(engine.probe(&selector), Some(MsgId(1)));
    assert_eq!(engine.matched_probe(&selector), Some(MsgId(1)));
    assert!(engine.cancel(&receive(1, Wild::Any, 7)));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
    assert_eq!(engine.post(receive(2, Wild::Any, 8)), Err(Refused::Full), "not even what needs no machine");
}

/// The fallback engine counts as if the application used it directly.
#[test]
fn substitute_is_named_and_counted() {
    let play = |engine: &mut dyn Engine, from: u64| {
        for tag in from..20 {
            engine.post(receive(tag, Wild::Is(Rank(1)), tag)).unwrap();
        }
        for tag in (from..20).rev() {
            assert_eq!(engine.arrive_message(message(tag, tag)), Ok(Some(RecvId(tag))));
        }
    };
    let mut list = matchpoint::engines::create_counting("list").unwrap();
    play(&mut *list, 0);
    assert!(list.attempts().posted > 100);
    let without =
        |counts| Fallback::<Failing>::without_machine(Algorithm::Ordered, "list", counts, "none").unwrap();
    let mut engine = without(true);
    play(&mut engine, 0);
    assert_eq!((engine.substitute(), engine.attempts()), (Some("list"), list.attempts()));
    assert!(engine.footprint().now_bytes() > list.footprint().now_bytes());
    let mut silent = without(false);
    play(&mut silent, 0);
    assert_eq!(silent.attempts(), Attempts::default());

    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, 0, Some("list"));
    for tag in 20..40 {
        engine.post(receive(tag, Wild::Is(Rank(1)), tag)).unwrap();
    }
    assert_eq!((engine.substitute(), engine.attempts()), (None, Attempts::default()));
    // This call lets the machine fail. The fallback engine compares all twenty entries.
    assert_eq!(engine.arrive_message(message(0, 0)), Ok(None));
    assert_eq!((engine.substitute(), engine.attempts().posted), (Some("list"), 20));
}

#[test]
fn replacement_is_reported_once() {
    static REPORTED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    set_listener(|sentence| REPORTED.lock().unwrap().push(sentence.to_owned()));
    for _ in 0..3 {
        Fallback::<Failing>::without_machine(Algorithm::Matrix, "list", false, "there is none").unwrap();
    }
    let told = REPORTED.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(Fallback::<Failing>::without_machine(Algorithm::Matrix, "no such", false, "").is_err());
}

#[test]
fn receive_against_assertion_is_refused() {
    let Some(emulation) = Emulation::built() else { return };
    let machine = Arc::new(emulation);
    let any_tag = Receive::new(RecvId(2), Selector::new(HERE, Wild::Is(Rank(1)), Wild::Any));
    for (algorithm, no_any_source, no_any_tag) in [
        (Algorithm::Matrix, false, false),
        (Algorithm::Partitioned, true, false),
        (Algorithm::Hash, true, true),
        (Algorithm::Ordered, false, false),
    ] {
        let mut engine = KernelEngine::new(machine.clone(), algorithm);
        let answer = |is_refused: bool| if is_refused { Err(Refused::Hint) } else { Ok(None) };
        assert_eq!(
            any(&mut engine).post(receive(1, Wild::Any, 1)),
            answer(no_any_source),
            "{}",
            algorithm.name()
        );
        assert_eq!(any(&mut engine).post(any_tag), answer(no_any_tag), "{}", algorithm.name());
        // Withdrawing an assertion does not help.
        assert_eq!(engine.set_hints(HERE, Hints::default()), Ok(()));
        assert_eq!(
            any(&mut engine).post(receive(3, Wild::Any, 1)),
            answer(no_any_source),
            "{}",
            algorithm.name()
        );
        let relaxed = algorithm == Algorithm::Hash;
        assert_eq!(engine.order(), if relaxed { Order::None } else { Order::Total });
    }
}

#[test]
fn batch_is_one_kernel() {
    let Some(emulation) = Emulation::built() else { return };
    let machine = Arc::new(emulation);
    for algorithm in Algorithm::ALL {
        let mut engine = KernelEngine::new(machine.clone(), algorithm);
        for id in 0..50 {
            any(&mut engine).post(receive(id, Wild::Is(Rank(1)), id)).unwrap();
        }
        let messages: Vec<Message> = (0..100).rev().map(|tag| message(tag, tag)).collect();
        let delivered = Mutex::new(Vec::new());
        let mut out = vec![None];
        engine
            .deliver_batch(&messages, &mut out, &|number, id| delivered.lock().unwrap().push((number, id)))
            .unwrap();
        let expected = |number: usize| (number >= 50).then(|| RecvId(99 - number as u64));
        assert_eq!(out[1..], (0..100).map(expected).collect::<Vec<_>>(), "{}", algorithm.name());
        let expected: Vec<(usize, RecvId)> = (50..100).map(|at| (at, expected(at).unwrap())).collect();
        assert_eq!(delivered.into_inner().unwrap(), expected);
        assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 50));
        assert_eq!(engine.statistics(), [("batches_matched", 1.0), ("entries_copied", 150.0)]);
    }
}

/// One block finds as many pairs as a CPU engine.
#[test]
fn application_batches_match_as_recorded() {
    let Some(emulation) = Emulation::built() else { return };
    let rng = &mut fastrand::Rng::with_seed(5);
    let mut posted = Vec::new();
    let events: Vec<Event> = (0..600)
        .map(|id| {
            let (source, tag) = (Rank(rng.u64(..6) as u32), rng.u64(..5));
            posted.push(receive(id, Wild::Is(source), tag));
            match rng.u32(..20) {
                0 => Event::Probe(posted[id as usize].selector),
                1 => Event::Cancel(posted[rng.u64(..id + 1) as usize]),
                2..11 => Event::Post(posted[id as usize]),
                _ => Event::Arrive(Message::new(MsgId(id), Envelope::new(HERE, source, Tag(tag)))),
            }
        })
        .collect();
    for entries in [10, 100] {
        let recorded = Recorded::of([&events], entries, 1 << 20).unwrap();
        assert!(recorded.matches > 150 && recorded.batches() > 10, "{}", recorded.matches);
        for algorithm in Algorithm::ALL {
            assert!(recorded.suits(algorithm));
            let queues = if algorithm == Algorithm::Partitioned { 4 } else { 1 };
            let (batch, segments) = recorded.stream(queues);
            let mut loaded = Loaded::new(&emulation, &batch, &segments).unwrap();
            loaded.launch(&emulation, algorithm, Grid { blocks: 1, threads: 64 }, 3).unwrap();
            let matched = loaded.matched(&emulation).unwrap();
            let pairs = matched.iter().filter(|&&message| message != NONE).count();
            assert_eq!(pairs, recorded.matches, "{} {entries}", algorithm.name());
        }
    }
}
