//! Engines whose matching kernels do keep the laws, on the host that plays a card; and what becomes of them when it fails.

#[path = "kernels/emulation.rs"]
mod emulation;
#[path = "kernels/laws.rs"]
mod laws;

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use emulation::{Emulation, HostMemory, Stopped};
use matchpoint::{
    Attempts, ContextId, Engine, Envelope, Event, Hints, Message, MsgId, Order, Rank, Receive, RecvId,
    Refused, Selector, Tag, Wild,
};
use matchpoint_conformance::{Options, check};
use matchpoint_gpu::batch::{Layout, NONE};
use matchpoint_gpu::engine::{Fallback, listen};
use matchpoint_gpu::kernels::Kernel;
use matchpoint_gpu::machine::{Grid, Machine};
use matchpoint_gpu::{Algorithm, KernelEngine, Loaded, Recorded};

/// Each of thousands of calls is a kernel, whose threads a host runs one by one: half a minute in all.
fn options() -> Options {
    Options { streams: 2, events: 150, depths: vec![9], ..Options::quick() }
}

fn keeps_the_laws(algorithm: Algorithm, matches: u64) {
    let Some(emulation) = Emulation::built() else { return };
    let report = laws::report(&Arc::new(emulation), algorithm, &options());
    assert!(report.matches > matches, "{}: {report:?}", algorithm.name());
}

#[test]
fn the_matrix_keeps_the_laws() {
    keeps_the_laws(Algorithm::Matrix, 1000);
}

#[test]
fn queues_by_source_keep_the_laws() {
    keeps_the_laws(Algorithm::Partitioned, 500);
}

#[test]
fn hashing_keeps_the_laws() {
    keeps_the_laws(Algorithm::Hash, 300);
}

#[test]
fn numbers_within_envelopes_keep_the_laws() {
    keeps_the_laws(Algorithm::Ordered, 1000);
}

/// A machine that starts so many kernels, and fails from then on.
struct Failing {
    inner: Emulation,
    left: AtomicU32,
}

#[derive(Debug)]
struct Failed;

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the card fell off the bus")
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
        left.map_err(|_| Failed)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { self.inner.launch(kernel, layout, grid, arguments) }?)
    }

    fn shared_bytes_most(&self) -> u32 {
        self.inner.shared_bytes_most()
    }

    fn multiprocessors(&self) -> u32 {
        self.inner.multiprocessors()
    }
}

/// The engine of a machine that fails after so many kernels.
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
    Some(Arc::new(Failing { inner: Emulation::built()?, left: AtomicU32::new(0) }))
}

/// Whenever the machine fails, the laws hold: the other engine has all that was queued, in order, and every assertion.
#[test]
fn another_engine_takes_over_with_all_that_is_queued() {
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
fn an_engine_in_the_place_of_a_card_that_is_not_there_keeps_its_laws() {
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
fn without_another_what_would_be_matched_is_refused_and_nothing_is_lost() {
    let Some(machine) = machine() else { return };
    let mut engine = failing(&machine, Algorithm::Ordered, 1, None);
    assert_eq!(engine.post(receive(1, Wild::Any, 7)), Ok(None));
    assert_eq!(engine.arrive(message(1, 8)), Ok(None));
    // The machine fails here.
    assert_eq!(engine.arrive(message(2, 7)), Err(Refused::Full));
    assert_eq!(engine.post(receive(2, Wild::Any, 8)), Err(Refused::Full));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (1, 1));
    // Probes have no error to give; the host knows.
    let selector = receive(0, Wild::Any, 8).selector;
    assert_eq!(engine.probe(&selector), Some(MsgId(1)));
    assert_eq!(engine.matched_probe(&selector), Some(MsgId(1)));
    assert!(engine.cancel(RecvId(1)));
    assert_eq!((engine.posted_len(), engine.unexpected_len()), (0, 0));
    assert_eq!(engine.post(receive(2, Wild::Any, 8)), Err(Refused::Full), "not even what needs no machine");
}

/// What it searches is counted as if it had been asked for by its own name, from when it takes over.
#[test]
fn who_takes_the_place_of_a_machine_is_named_and_counts() {
    let play = |engine: &mut dyn Engine, from: u64| {
        for tag in from..20 {
            engine.post(receive(tag, Wild::Is(Rank(1)), tag)).unwrap();
        }
        for tag in (from..20).rev() {
            assert_eq!(engine.arrive(message(tag, tag)), Ok(Some(RecvId(tag))));
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
    // The machine fails here, and all twenty are compared.
    assert_eq!(engine.arrive(message(0, 0)), Ok(None));
    assert_eq!((engine.substitute(), engine.attempts().posted), (Some("list"), 20));
}

#[test]
fn the_user_is_told_once() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    listen(|sentence| TOLD.lock().unwrap().push(sentence.to_owned()));
    for _ in 0..3 {
        Fallback::<Failing>::without_machine(Algorithm::Matrix, "list", false, "there is none").unwrap();
    }
    let told = TOLD.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(Fallback::<Failing>::without_machine(Algorithm::Matrix, "no such", false, "").is_err());
}

#[test]
fn what_breaks_a_demand_is_refused() {
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
        assert_eq!(engine.post(receive(1, Wild::Any, 1)), answer(no_any_source), "{}", algorithm.name());
        assert_eq!(engine.post(any_tag), answer(no_any_tag), "{}", algorithm.name());
        // To take an assertion back does not help.
        assert_eq!(engine.set_hints(HERE, Hints::default()), Ok(()));
        assert_eq!(engine.post(receive(3, Wild::Any, 1)), answer(no_any_source), "{}", algorithm.name());
        let relaxed = algorithm == Algorithm::Hash;
        assert_eq!(engine.order(), if relaxed { Order::None } else { Order::Total });
    }
}

#[test]
fn a_batch_is_one_kernel_and_its_messages_are_delivered() {
    let Some(emulation) = Emulation::built() else { return };
    let machine = Arc::new(emulation);
    for algorithm in Algorithm::ALL {
        let mut engine = KernelEngine::new(machine.clone(), algorithm);
        for id in 0..50 {
            engine.post(receive(id, Wild::Is(Rank(1)), id)).unwrap();
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

/// Batches of an application, one after the other by one block: as many pairs as an engine of the processor finds.
#[test]
fn batches_of_an_application_are_matched_as_it_had_them() {
    let Some(emulation) = Emulation::built() else { return };
    let rng = &mut fastrand::Rng::with_seed(5);
    let events: Vec<Event> = (0..600)
        .map(|id| {
            let (source, tag) = (Rank(rng.u64(..6)), rng.u64(..5));
            match rng.u32(..20) {
                0 => Event::Probe(receive(id, Wild::Is(source), tag).selector),
                1 => Event::Cancel(RecvId(rng.u64(..id + 1))),
                2..11 => Event::Post(receive(id, Wild::Is(source), tag)),
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
