//! Engines and stand-ins of the C driver.

use std::collections::HashMap;
use std::time::Duration;

use matchpoint::{
    ContextId, Engine, Envelope, Message, MsgId, Rank, Receive, RecvId, Selector, Wild, engines,
};
use matchpoint_bench::random::Random;
use matchpoint_bench::script::{ANY, Form, Key, Keys, Phase};
use matchpoint_bench::through_c::{Phases, Player, is_stand_in, run, stand_ins};
use matchpoint_bench::workloads::{Job, WORKLOADS, parse};
use matchpoint_bench::{Options, Outcome};

const CALLS: usize = 6000;

/// One of this many keys has a wildcard where permitted.
const WILD: usize = 5;

fn form(random: &mut Random) -> Form {
    match random.below(4) {
        0 => Form::Contexts,
        1 => Form::Masks,
        _ => Form::World,
    }
}

fn phase(random: &mut Random, number: u32) -> Phase {
    let (is_post, form) = (random.below(2) == 0, form(random));
    let mut key = Key::new(random.below(6), random.below(4));
    if is_post && form == Form::World {
        key.source = if random.below(WILD) == 0 { ANY } else { key.source };
        key.tag = if random.below(WILD) == 0 { ANY } else { key.tag };
    }
    let keys = Keys { keys: vec![key], first_id: number, form };
    if is_post { Phase::Posts(keys) } else { Phase::Arrivals(keys) }
}

fn result_of(engine: &mut dyn Engine, phase: &Phase) -> u64 {
    match phase {
        Phase::Posts(Keys { keys, first_id, form }) => {
            let found = engine.post(Receive::new(RecvId(u64::from(*first_id)), form.selector(keys[0])));
            found.unwrap().map_or(0, |message| message.0 + 1)
        }
        Phase::Arrivals(Keys { keys, first_id, form }) => {
            let message = Message::new(MsgId(u64::from(*first_id)), form.envelope(keys[0]));
            engine.arrive_message(message).unwrap().map_or(0, |receive| receive.0 + 1)
        }
        _ => unreachable!("a stream has posts and arrivals"),
    }
}

fn stream(seed: u64) -> Vec<Phase> {
    let mut random = Random::new(seed);
    (0..CALLS).map(|at| phase(&mut random, at as u32)).collect()
}

#[test]
fn stand_ins_match_random_streams_as_list() {
    for seed in 0..20 {
        let stream = stream(seed);
        let phases = Phases::new(&stream).unwrap();
        let names = stand_ins().into_iter().filter(|name| *name != RANK_ARRAY).chain(["hybrid", "bins"]);
        let mut players: Vec<_> = names.map(|name| (name, Player::new(name, CALLS).unwrap())).collect();
        let mut list = engines::create("list").unwrap();
        let mut matched = [0; 2];
        for (at, phase) in stream.iter().enumerate() {
            let right = result_of(&mut *list, phase);
            matched[usize::from(matches!(phase, Phase::Posts(_)))] += usize::from(right > 0);
            for (name, player) in &mut players {
                assert_eq!(player.play_call(&phases, at, 0), right, "{name}, seed {seed}, call {at}");
            }
        }
        assert!(matched.iter().all(|matched| *matched > CALLS / 20), "both queues match: {matched:?}");
    }
}

const RANK_ARRAY: &str = "c:rank_array";

/// A receive takes the oldest message of its source. An any-source receive searches the sources in turn, and begins
/// after the source of the last any-source match.
#[derive(Default)]
struct SourcesInTurn {
    receives: Vec<(u64, Selector)>,
    messages: Vec<(u64, Envelope)>,
    last: HashMap<ContextId, Rank>,
}

impl SourcesInTurn {
    fn post(&mut self, number: u64, selector: Selector) -> u64 {
        let last = *self.last.entry(selector.context()).or_insert(Rank(0));
        // The least pair is the next source. The first of equal pairs is the oldest message.
        let turn = |envelope: &Envelope| (envelope.source <= last, envelope.source);
        let matching =
            self.messages.iter().enumerate().filter(|(_, (_, envelope))| selector.matches(envelope));
        let Some((at, _)) = matching.min_by_key(|(_, (_, envelope))| turn(envelope)) else {
            self.receives.push((number, selector));
            return 0;
        };
        let (message, envelope) = self.messages.remove(at);
        if selector.source() == Wild::Any {
            self.last.insert(selector.context(), envelope.source);
        }
        message + 1
    }

    fn arrive(&mut self, number: u64, envelope: Envelope) -> u64 {
        let Some(at) = self.receives.iter().position(|(_, selector)| selector.matches(&envelope)) else {
            self.messages.push((number, envelope));
            return 0;
        };
        self.receives.remove(at).0 + 1
    }
}

#[test]
fn rank_array_searches_sources_in_turn() {
    for seed in 0..20 {
        let stream = stream(seed);
        let phases = Phases::new(&stream).unwrap();
        let mut player = Player::new(RANK_ARRAY, CALLS).unwrap();
        let (mut model, mut list) = (SourcesInTurn::default(), engines::create("list").unwrap());
        let mut differs = false;
        for (at, phase) in stream.iter().enumerate() {
            let right = match phase {
                Phase::Posts(keys) => model.post(keys.first_id.into(), keys.form.selector(keys.keys[0])),
                Phase::Arrivals(keys) => model.arrive(keys.first_id.into(), keys.form.envelope(keys.keys[0])),
                _ => unreachable!("a stream has posts and arrivals"),
            };
            differs |= right != result_of(&mut *list, phase);
            assert_eq!(player.play_call(&phases, at, 0), right, "seed {seed}, call {at}");
        }
        assert!(differs, "a receive from any source takes a message that is not the oldest");
    }
}

fn options(engines: &[&str], milliseconds: u64) -> Options {
    Options {
        engines: engines.iter().map(|name| (*name).to_owned()).collect(),
        budget: Duration::from_millis(milliseconds),
        is_cold: false,
    }
}

#[test]
fn stand_ins_match_each_workload_as_model() {
    let smallest = |workload: &'static matchpoint_bench::Workload| Job::Standard {
        workload,
        n: workload.sizes.iter().copied().find(|n| *n > 0).unwrap_or(1),
    };
    let jobs: Vec<Job> = WORKLOADS.iter().map(smallest).collect();
    let results = run(&options(&["hybrid"], 40), &jobs, &mut |_, _, _| true).unwrap().unwrap();
    assert_eq!(results.cells.len(), jobs.len() * (1 + stand_ins().len()));
    for cell in &results.cells {
        let is_right = matches!(cell.outcome, Outcome::Measured(_) | Outcome::TooSlow { .. });
        assert!(is_right, "{} on {}: {:?}", cell.engine, cell.workload, cell.outcome);
    }
    assert_eq!(results.engines[0], "hybrid");
    assert!(results.engines[1..].iter().all(|name| is_stand_in(name)) && !is_stand_in("list"));
}

#[test]
fn full_engine_has_no_times() {
    let jobs = parse("reverse:1024").unwrap();
    let results = run(&options(&["optimistic:capacity=16"], 20), &jobs, &mut |_, _, _| true);
    let cells = results.unwrap().unwrap().cells;
    assert!(matches!(&cells[0].outcome, Outcome::Full(_)), "{:?}", cells[0].outcome);
    assert!(matches!(&cells[1].outcome, Outcome::Measured(_)), "{:?}", cells[1].outcome);
}

#[test]
fn wrong_result_is_reported() {
    let mut script = parse("reverse:1024").unwrap().pop().unwrap().script();
    script.expected[0].swap(1024, 1025);
    let jobs = [Job::Recorded { name: "swapped".to_owned(), script }];
    let results = run(&options(&["hybrid"], 20), &jobs, &mut |_, _, _| true).unwrap().unwrap();
    for cell in &results.cells {
        let Outcome::Wrong(what) = &cell.outcome else { panic!("{}: {:?}", cell.engine, cell.outcome) };
        assert_eq!(what, "call 1024 found number 1023, not number 1022");
    }
}

#[test]
fn unknown_engine_is_error() {
    let jobs = parse("last:0").unwrap();
    let error = run(&options(&["lost"], 20), &jobs, &mut |_, _, _| true).unwrap_err();
    assert!(error.starts_with("there is no engine `lost`"), "{error}");
    assert!(Player::new("lost", 1).is_err_and(|error| error.starts_with("there is no engine `lost`")));
}

#[test]
fn stop_ends_measurement() {
    assert!(
        run(&options(&["hybrid"], 20), &parse("last:0").unwrap(), &mut |_, _, _| false).unwrap().is_none()
    );
}
