//! Random programs: all messages match, no call is ended early, and engines agree, under every arrival order.
//! Processes could execute the events, so the traced program finished.

use crate::program::*;
use matchpoint_replay::{Arrivals, LogGp};
use matchpoint_trace::call::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    Message { from: u32, to: u32, tag: i32, bytes: u64, receive: Receive },
    Barrier,
    Compute { rank: u32, ns: i64 },
}

#[derive(Clone, Copy, Debug)]
enum Receive {
    Blocking,
    BlockingAnySource,
    Ahead,
    Late,
}

const RANKS: u32 = 4;

fn event() -> impl Strategy<Value = Event> {
    let receive = prop_oneof![
        Just(Receive::Blocking),
        Just(Receive::BlockingAnySource),
        Just(Receive::Ahead),
        Just(Receive::Late)
    ];
    let bytes = prop_oneof![4 => Just(8u64), 1 => Just(60_000u64)];
    let message = (0..RANKS, 1..RANKS, 0..2, bytes, receive).prop_map(|(from, step, tag, bytes, receive)| {
        // With equal tags, the replay could match another message.
        let tag = if matches!(receive, Receive::BlockingAnySource) { 2 } else { tag };
        Event::Message { from, to: (from + step) % RANKS, tag, bytes, receive }
    });
    prop_oneof![
        12 => message,
        1 => Just(Event::Barrier),
        3 => (0..RANKS, 0..50_000i64).prop_map(|(rank, ns)| Event::Compute { rank, ns }),
    ]
}

fn written(events: &[Event]) -> (Program, u64) {
    let mut ranks: Vec<Rank> = (0..RANKS).map(|_| Rank::new()).collect();
    let mut outstanding: Vec<Vec<u32>> = vec![Vec::new(); RANKS as usize];
    let mut requests = 1;
    let mut messages = 0;
    let mut apply = |rank: u32, act: &mut dyn FnMut(Rank) -> Rank| {
        let slot = &mut ranks[rank as usize];
        *slot = act(std::mem::take(slot));
    };
    for event in events {
        match *event {
            Event::Compute { rank, ns } => apply(rank, &mut |rank| rank.compute(ns)),
            Event::Barrier => (0..RANKS).for_each(|rank| apply(rank, &mut |rank| rank.barrier())),
            Event::Message { from: source, to: dest, tag, bytes, receive } => {
                messages += 1;
                requests += 1;
                let request = requests;
                let args = from(source, tag);
                if matches!(receive, Receive::Ahead | Receive::Late) {
                    apply(dest, &mut |rank| rank.irecv(args, request));
                }
                apply(source, &mut |rank| rank.send(SendArgs { bytes: Some(bytes), ..to(dest, tag) }));
                match receive {
                    Receive::Blocking => apply(dest, &mut |rank| rank.recv(args, status(source, tag))),
                    Receive::BlockingAnySource => {
                        apply(dest, &mut |rank| rank.recv(from_any(tag), status(source, tag)));
                    }
                    Receive::Ahead => apply(dest, &mut |rank| rank.wait(request, None)),
                    Receive::Late => outstanding[dest as usize].push(request),
                }
            }
        }
    }
    for (rank, requests) in (0..RANKS).zip(&outstanding) {
        apply(rank, &mut |rank| rank.waitall(requests));
    }
    (program(ranks), messages)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_program_is_replayed_to_end(events in prop::collection::vec(event(), 0..60)) {
        let (program, messages) = written(&events);
        for mode in Arrivals::ASSUMED {
            let run = program.replay(mode);
            prop_assert!(run.arrivals.ended_calls.is_empty(), "{mode}: {:?}", run.arrivals.ended_calls);
            for engine in &run.engines {
                prop_assert_eq!(engine.matched, messages, "{} {}", mode, &engine.name);
            }
        }
    }

    /// The replay also waits for sends that did not wait in the traced program.
    #[test]
    fn rendezvous_completes_all_programs(events in prop::collection::vec(event(), 0..60)) {
        let (program, messages) = written(&events);
        let run = program.replay_on(Arrivals::Simulated, LogGp { eager_bytes: 0, ..LogGp::default() });
        for engine in &run.engines {
            prop_assert_eq!(engine.matched, messages, "{}", &engine.name);
        }
    }
}
