//! Recomputes the verdict of recorded runs: compared entries × cost of an entry ÷ run time (`scripts/test-verdict` is
//! longer).

use std::fmt::Write;

use matchpoint::{Envelope, Event, Message, Receive, Selector, Wild};
use matchpoint_replay::{Arrivals, LogGp, Progress, events};
use serde_json::Value;

use crate::job::{Job, JobOutput, number};
use crate::mpi::{self, Mpi};
use crate::search::measuring_pairs;

const RANKS: u32 = 4;

struct Queues {
    is_open_mpi: bool,
    posted: Vec<Receive>,
    unexpected: Vec<Message>,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    posted: u64,
    unexpected: u64,
    low_ns: f64,
    high_ns: f64,
}

/// MPICH compares every entry until one matches. Open MPI's ob1 compares only entries of one source. No receive is from
/// any source.
impl Queues {
    fn is_compared(&self, selector: &Selector, envelope: &Envelope) -> bool {
        !self.is_open_mpi
            || selector.source() == Wild::Is(envelope.source) && is_of_context(selector, envelope)
    }

    fn arrive(&mut self, message: Message) -> u64 {
        let mut compared = 0;
        for at in 0..self.posted.len() {
            let selector = &self.posted[at].selector;
            compared += u64::from(self.is_compared(selector, &message.envelope));
            if selector.matches(&message.envelope) {
                self.posted.remove(at);
                return compared;
            }
        }
        self.unexpected.push(message);
        compared
    }

    fn post(&mut self, receive: Receive) -> u64 {
        assert_ne!(receive.selector.source(), Wild::Any);
        let mut compared = 0;
        for at in 0..self.unexpected.len() {
            let envelope = &self.unexpected[at].envelope;
            compared += u64::from(self.is_compared(&receive.selector, envelope));
            if receive.selector.matches(envelope) {
                self.unexpected.remove(at);
                return compared;
            }
        }
        self.posted.push(receive);
        compared
    }
}

fn is_of_context(selector: &Selector, envelope: &Envelope) -> bool {
    selector.context() == envelope.context
}

/// The cost of a search from `library_cost` of the JSON. The cost of an entry is interpolated over the logarithm of the
/// length.
fn search_ns(curve: &Value, entries: u64) -> (f64, f64) {
    let numbers = |name: &str| -> Vec<f64> {
        curve[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let (lengths, warm_ns) = (numbers("lengths"), numbers("warm_ns"));
    let cold_ns = curve["cold_ns"].as_f64().unwrap();
    assert_eq!((&lengths[..], warm_ns.len()), (&[64.0, 256.0, 1024.0][..], 3), "{curve}");
    let length = entries as f64;
    let doublings = |from: f64| (length / from).log2();
    let low_ns = if length <= 64.0 {
        warm_ns[0]
    } else if length <= 256.0 {
        warm_ns[0] + (warm_ns[1] - warm_ns[0]) / 2.0 * doublings(64.0)
    } else {
        let slope = (warm_ns[2] - warm_ns[1]) / 2.0;
        warm_ns[1] + if length <= 1024.0 { slope } else { slope.max(0.0) } * doublings(256.0)
    };
    let low_ns = low_ns.clamp(0.0, cold_ns.max(0.0));
    let high_ns = low_ns.max(cold_ns * (1.0 + doublings(1024.0).max(0.0)));
    (length * low_ns, length * high_ns)
}

fn recompute(ran: &JobOutput, mpi: &Mpi, cost: &Value) -> Vec<Spent> {
    let trace = matchpoint_trace::open(&ran.trace()).unwrap();
    let arrivals = Arrivals::best_of(trace.as_ref());
    let read = events(trace.as_ref(), arrivals, LogGp::default(), None, usize::MAX, &Progress::default());
    let (ranks, _) = read.unwrap();
    let spend = |events: &[_]| {
        let mut queues = Queues { is_open_mpi: mpi.is_open_mpi(), posted: vec![], unexpected: vec![] };
        let mut spent = Spent::default();
        for (event, _) in events {
            let (compared, curve) = match *event {
                Event::Arrive(message) => (queues.arrive(message), &cost["posted"]),
                Event::Post(receive) => (queues.post(receive), &cost["unexpected"]),
                ref other => panic!("{other:?}"),
            };
            let is_arrival = matches!(event, Event::Arrive(_));
            *(if is_arrival { &mut spent.posted } else { &mut spent.unexpected }) += compared;
            if compared > 0 {
                let (low_ns, high_ns) = search_ns(curve, compared);
                (spent.low_ns, spent.high_ns) = (spent.low_ns + low_ns, spent.high_ns + high_ns);
            }
        }
        assert_eq!((queues.posted.len(), queues.unexpected.len()), (0, 0));
        spent
    };
    ranks.iter().map(|rank| spend(&rank.events)).collect()
}

fn real(value: &Value, path: &str) -> f64 {
    let found = value.pointer(&format!("/{}", path.replace('.', "/")));
    found.and_then(Value::as_f64).unwrap_or_else(|| panic!("no number {path}"))
}

fn assert_near(value: f64, expected: f64, what: &str) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value}, expected {expected}: {what}");
}

/// Records a program, and compares the report with the recomputed values. Returns the compared entries of both queues.
fn compare(mpi: &Mpi, program: &str, arguments: &[&str]) -> [u64; 2] {
    let ran = Job::of(mpi, RANKS, &mpi.example(program)).args(arguments).succeed();
    let report = ran.report();
    let (engine, cost, verdict) = (&report["engines"][0], &report["library_cost"], &report["verdict"]);
    let name = if mpi.is_open_mpi() { "rank_array" } else { "list" };
    assert_eq!((&engine["name"], real(engine, "sampled")), (&name.into(), 1.0), "{ran}");
    assert_eq!((number(cost, "pairs"), &cost["same_host"]), (measuring_pairs(RANKS), &true.into()), "{cost}");

    let spent = recompute(&ran, mpi, cost);
    let of_queue = |of: fn(&Spent) -> u64| spent.iter().map(of).sum::<u64>();
    let entries = [of_queue(|at| at.posted), of_queue(|at| at.unexpected)];
    assert_eq!(["posted", "unexpected"].map(|queue| number(&engine[queue], "attempts")), entries, "{ran}");

    let mut line = String::new();
    let ranks = report["ranks"].as_array().unwrap();
    for (rank, spent) in ranks.iter().zip(&spent) {
        let (at, what) = (&rank["engines"][0], format!("rank {}: {ran}\n{rank}", rank["rank"]));
        assert_eq!(number(at, "attempts"), spent.posted + spent.unexpected, "{what}");
        // The report uses the time of the engine if longer than the recomputed cost, as with short queues.
        let (low_ns, high_ns) = (real(at, "match_ns"), real(at, "match_cold_ns"));
        assert!(low_ns >= spent.low_ns * (1.0 - 1e-9) && high_ns >= spent.high_ns * (1.0 - 1e-9), "{what}");
        // With a long queue and cold caches, the engine needs at most a tenth of the library's time.
        if program == "alltoall_reverse" {
            assert_near(high_ns, spent.high_ns, &what);
        }
        write!(line, " {:.3}–{:.3}", low_ns / 1e6, high_ns / 1e6).unwrap();
    }
    check_verdict(verdict, ranks, real(&report, "crowding"), &ran.to_string());
    let [low, share, high] = ["low", "share", "high"].map(|end| real(verdict, end));
    eprintln!("  {program}: {entries:?} entries,{line} ms; share {share:.5} of {low:.5}–{high:.5}");
    entries
}

fn check_verdict(verdict: &Value, ranks: &[Value], crowding: f64, what: &str) {
    let costs = |end| ranks.iter().map(move |rank| real(&rank["engines"][0], end));
    // On a shared processor, a rank waits for the searches of the others.
    let share = |rank: &Value, end| {
        let shared_ns =
            if crowding > 1.0 { costs(end).sum::<f64>() * crowding / ranks.len() as f64 } else { 0.0 };
        // MPI_Init and MPI_Finalize match no message of the program.
        let (elapsed_ns, setup_ns) = (real(rank, "elapsed_s") * 1e9, real(rank, "setup_s") * 1e9);
        real(&rank["engines"][0], end).max(shared_ns).min(elapsed_ns - setup_ns) / elapsed_ns
    };
    let worst = &ranks[number(verdict, "rank") as usize];
    let [low, likely, high] = ["low", "share", "high"].map(|end| real(verdict, end));
    assert_near(low, share(worst, "match_ns"), what);
    assert_near(high, share(worst, "match_cold_ns"), what);
    assert!(low <= likely && likely <= high, "{verdict}: {what}");
    assert!(ranks.iter().all(|rank| share(rank, "match_ns") <= likely), "{verdict}: {what}");
}

/// The receive posted last for each source matches first. `list` also compares receives of other sources.
#[test]
fn reversed_receives_compare_documented_entries() {
    let (blocks, exchanges) = (200, 4);
    let ranks = u64::from(RANKS);
    let of_source = exchanges * ranks * ranks * blocks * (blocks + 1) / 2;
    let of_others = exchanges * ranks * (ranks * (ranks - 1) / 2) * blocks * blocks;
    mpi::each(|mpi| {
        let [posted, unexpected] = compare(mpi, "alltoall_reverse", &["--blocks", "200", "--rounds", "2"]);
        assert_eq!(unexpected, 0, "the barrier posts all receives first");
        let expected =
            if mpi.is_open_mpi() { of_source..=of_source } else { of_source..=of_source + of_others };
        assert!(expected.contains(&posted), "{posted}: {expected:?}");
    });
}

/// The messages of a source match in order. ob1 compares one entry each. MPICH also compares entries of other sources.
#[test]
fn gathered_messages_compare_documented_entries() {
    let (meshes, steps, senders) = (300, 3, u64::from(RANKS) - 1);
    let messages = senders * meshes * steps;
    let others = |step: u64, source: u64| {
        source * (steps - step - 1) * meshes + (senders - 1 - source) * (steps - step) * meshes
    };
    let of_others: u64 =
        (0..steps).flat_map(|step| (0..senders).map(move |source| others(step, source))).sum();
    mpi::each(|mpi| {
        let [posted, unexpected] = compare(mpi, "gather_fds", &["--meshes", "300", "--steps", "3"]);
        if mpi.is_open_mpi() {
            assert_eq!(posted + unexpected, messages);
        } else {
            let expected = messages..=messages + meshes * of_others;
            assert!(posted <= messages && expected.contains(&(posted + unexpected)), "{posted} {unexpected}");
        }
    });
}

/// Each step has one receive from each of 26 directions. At most the messages of two steps are in a queue.
#[test]
fn halo_compares_documented_entries() {
    let (steps, directions) = (20, 26);
    let messages = u64::from(RANKS) * steps * directions;
    mpi::each(|mpi| {
        let [posted, unexpected] = compare(mpi, "halo27", &["--steps", "20"]);
        assert!(
            (messages..=messages * 3 * directions).contains(&(posted + unexpected)),
            "{posted} {unexpected}"
        );
    });
}
