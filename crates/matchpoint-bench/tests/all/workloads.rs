//! Workloads equal their description in `docs/reference/bench.md` and never change.

use matchpoint::event::script;
use matchpoint::{
    ContextId, Engine, Envelope, Event, Message, MsgId, Outcome, Rank, Receive, RecvId, Selector, Tag, Wild,
    engines,
};
use matchpoint_bench::script::{ANY, Key, NONE, Part, Phase, Script};
use matchpoint_bench::workloads::{self, Job, WORKLOADS, Workload, trace};

fn job(text: &str) -> Job {
    workloads::parse(text).unwrap().pop().unwrap()
}

fn keys(phase: &Phase) -> &[Key] {
    match phase {
        Phase::Posts(keys) | Phase::Arrivals(keys) | Phase::Pairs(keys) => &keys.keys,
        Phase::EngineCalls(_) => &[],
    }
}

/// Plays a phase without code of the tested crate.
fn play(engine: &mut dyn Engine, phase: &Phase) -> Vec<u32> {
    let (Phase::Posts(list) | Phase::Arrivals(list) | Phase::Pairs(list)) = phase else {
        panic!("a standard workload has keys");
    };
    let mut results = Vec::new();
    for (id, key) in (u64::from(list.first_id)..).zip(&list.keys) {
        if !matches!(phase, Phase::Arrivals(_)) {
            let found = engine.post(Receive::new(RecvId(id), list.form.selector(*key))).unwrap();
            results.push(found.map_or(NONE, |message| message.0 as u32));
        }
        if !matches!(phase, Phase::Posts(_)) {
            let found = engine.arrive_message(Message::new(MsgId(id), list.form.envelope(*key))).unwrap();
            results.push(found.map_or(NONE, |receive| receive.0 as u32));
        }
    }
    results
}

fn small() -> Vec<Job> {
    let sizes = |name: &str| match name {
        "gather" | "gather_one_tag" => [1, 7, 30],
        _ => [4, 9, 300],
    };
    WORKLOADS
        .iter()
        .flat_map(|workload| sizes(workload.name).map(|n| Job::Standard { workload, n }))
        .collect()
}

#[test]
fn round_has_results_of_list() {
    for job in small() {
        let Script { parts, expected, matched, .. } = job.script();
        let [Part { setup, round, receives_left, messages_left }] = &parts[..] else { panic!("{job}") };
        assert!(receives_left.is_empty() && messages_left.is_empty());
        let mut engine = engines::create("list").unwrap();
        for phase in setup {
            play(&mut *engine, phase);
        }
        let before = (engine.posted_len(), engine.unexpected_len());
        for _ in 0..3 {
            let found: Vec<u32> = round.iter().flat_map(|phase| play(&mut *engine, phase)).collect();
            assert_eq!(found, expected[0], "{job}");
            assert_eq!((engine.posted_len(), engine.unexpected_len()), before, "{job}");
            assert_eq!(2 * matched, found.len(), "{job}: every message finds its receive");
        }
    }
}

#[test]
fn sizes_count_documented_units() {
    let part = |text: &str| job(text).script().parts.pop().unwrap();
    assert_eq!(keys(&part("last:64").setup[0]).len(), 64);
    assert_eq!(keys(&part("last:64").round[0])[0], Key::new(0, 64));
    assert_eq!(keys(&part("last_sources:64").round[0])[0], Key::new(64, 0));
    for (text, messages) in
        [("in_order:100", 100), ("many_sources:64", 256), ("unexpected:100", 100), ("gather:10", 640)]
    {
        assert_eq!(job(text).script().matched, messages, "{text}");
    }
    assert_eq!(job("halo:26").script().matched, 16 * 26 * 3);
    for text in ["masks:64", "unexpected_masks:64", "contexts:64"] {
        assert_eq!(job(text).script().matched, 4 * 64, "{text}");
    }
    assert!(matches!(part("unexpected:100").round[0], Phase::Arrivals(_)));
    assert!(keys(&part("unexpected_any:100").round[1]).iter().all(|key| key.source == ANY));
    assert!(keys(&part("posted_any:100").round[0]).iter().all(|key| key.source == ANY));
}

#[test]
fn one_percent_of_receives_have_wildcards() {
    let part = job("wild:4096").script().parts.pop().unwrap();
    let receives = keys(&part.round[0]);
    let share = |count: usize| count as f64 / receives.len() as f64;
    let from_any = share(receives.iter().filter(|key| key.source == ANY).count());
    let any_tag = share(receives.iter().filter(|key| key.tag == ANY).count());
    assert!((0.008..0.012).contains(&from_any), "{from_any}");
    assert!((0.008..0.012).contains(&any_tag), "{any_tag}");
    let left_over = keys(&part.round[2]).len();
    assert!(left_over > 0 && left_over < receives.len() / 10, "{left_over}");
    assert_eq!(left_over, keys(&part.round[3]).len());
}

#[test]
fn gathered_messages_keep_order_per_source() {
    let part = job("gather:50").script().parts.pop().unwrap();
    let mut next = [0; 50];
    let arriving = keys(&part.round[0]);
    for key in arriving {
        assert_eq!(key.tag, next[key.source as usize]);
        next[key.source as usize] += 1;
    }
    assert!(arriving.windows(2).filter(|pair| pair[0].source != pair[1].source).count() > arriving.len() / 2);
}

fn as_text(phase: &Phase) -> Vec<String> {
    let (Phase::Posts(list) | Phase::Arrivals(list) | Phase::Pairs(list)) = phase else { return Vec::new() };
    let is_posted = !matches!(phase, Phase::Arrivals(_));
    let word = |&key: &Key| match is_posted {
        true => list.form.selector(key).to_string(),
        false => list.form.envelope(key).to_string(),
    };
    list.keys.iter().map(word).collect()
}

#[test]
fn masks_and_communicators_have_requested_number() {
    for (text, expected) in [("masks:1024", 1024), ("unexpected_masks:64", 64), ("contexts:1000", 1000)] {
        let part = job(text).script().parts.pop().unwrap();
        let posts = part.round.iter().find(|phase| matches!(phase, Phase::Posts(_))).unwrap();
        let Phase::Posts(list) = posts else { unreachable!("it was found") };
        let distinct: std::collections::HashSet<String> = list
            .keys
            .iter()
            .map(|&key| match (list.form.selector(key).tag(), list.form.selector(key).context()) {
                (Wild::Masked(mask), _) => format!("{:x}", mask.ignore),
                (_, context) => format!("context {}", context.0),
            })
            .collect();
        assert_eq!(distinct.len(), expected, "{text}");
        let all: std::collections::HashSet<String> = as_text(posts).into_iter().collect();
        assert_eq!(all.len(), list.keys.len(), "{text}: two receives are equal");
    }
}

/// Users compare times over years, so a changed workload needs another name.
#[test]
fn workloads_are_unchanged() {
    let (first, later) = WORKLOADS.split_at(14);
    assert_eq!(fingerprint(first), 0xAF9B_F9EA_2ADD_A317, "{:#x}", fingerprint(first));
    assert_eq!(fingerprint(later), LATER, "{:#x}", fingerprint(later));
}

fn fingerprint(of: &'static [Workload]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01B3);
    let jobs = of.iter().flat_map(|workload| workload.sizes.iter().map(|&n| Job::Standard { workload, n }));
    for job in jobs {
        job.name().bytes().for_each(|byte| add(byte.into()));
        for part in job.script().parts {
            for phase in part.setup.iter().chain(&part.round) {
                add(phase.calls() as u64);
                keys(phase).iter().for_each(|key| add(u64::from(key.source) << 32 | u64::from(key.tag)));
            }
        }
    }
    hash
}

const LATER: u64 = 0x5C76_3C95_4B77_07F7;

#[test]
fn wrong_name_is_reported_with_valid_names() {
    for (text, told) in [
        ("lost", "unknown workload 'lost'\nhint: use last, "),
        (
            "last:many",
            "'many' is not a size of workload 'last'\nhint: use the number of older receives, 0 to ",
        ),
        ("gather:0", "use the number of sources, 1 to 65536"),
        ("in_order:99999999999999999999", "is not a size"),
    ] {
        let error = workloads::parse(text).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    assert_eq!(workloads::parse("last").unwrap().len(), 6);
}

#[test]
fn trace_is_played_with_recorded_results() {
    let events = script::parse(
        "post r1 0/3/7\n arrive m1 0/3/7\n arrive m1 1/4/1\n probe 1/*/*\n matched_probe 1/*/*\n post r1 0/*/*\n \
         cancel r1 0/*/*\n cancel r1 0/*/*\n post r2 0/1/1\n arrive m9 0/9/9\n arrive m8 0/8/8\n retract m8 0/8/8",
    )
    .unwrap();
    let mut engine = engines::create("list").unwrap();
    let played: Vec<(Event, Outcome)> =
        events.into_iter().map(|event| (event.clone(), event.play(&mut *engine))).collect();
    let script = trace::script(&[played]);
    assert_eq!(script.matched, 2);
    assert_eq!(script.expected[0], [NONE, 0, NONE, 1, 1, NONE, 0, NONE, NONE, NONE, NONE, 0]);
    let part = &script.parts[0];
    let left = |id, source| (id, Envelope::new(ContextId(0), Rank(source), Tag(source.into())));
    assert_eq!(part.receives_left, [left(2, 1)].map(|(id, of)| (id, Selector::exactly(&of))));
    assert_eq!(part.messages_left, [left(2, 9)]);
    let job = Job::Recorded { name: "trace:here".to_owned(), script };
    let options = matchpoint_bench::Options {
        engines: vec!["list".to_owned(), "bins".to_owned()],
        budget: std::time::Duration::from_millis(20),
        is_cold: false,
    };
    let results = matchpoint_bench::run(&options, &[job], &mut |_, _, _| true).unwrap().unwrap();
    assert!(results.cells.iter().all(|cell| cell.outcome.ns().is_some()), "{:?}", results.cells);
}
