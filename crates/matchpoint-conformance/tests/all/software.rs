//! Tests of `full=software`: engines with a full table fall back to software, compared with `list`.

use matchpoint::{
    ContextId, Drained, Engine, Entry, Envelope, Hints, Message, MsgId, Queue, Rank, Receive, RecvId,
    Refused, Selector, Tag, Wild, engines,
};

use crate::against_list::{EngineAndList, engine, play, statistic};

const NAMES: [&str; 4] = [
    "optimistic:capacity=4,bins=3,full=software",
    "optimistic:capacity=4,full=software",
    "optimistic_parallel:threads=3,capacity=4,full=software",
    "optimistic_parallel:threads=2,block=3,by=optimism,capacity=4,full=software",
];

fn queued(engine: &dyn Engine) -> Vec<Entry> {
    let mut entries = Vec::new();
    for queue in [Queue::Posted, Queue::Unexpected] {
        engine.visit(queue, &mut |entry| entries.push(entry));
    }
    entries
}

/// Runs a script on both engines and compares results and queues.
fn assert_same_results(tested: &mut dyn Engine, list: &mut dyn Engine, text: &str) {
    assert_eq!(play(tested, text), play(list, text), "{text}");
    assert_eq!(queued(tested), queued(list), "{text}");
}

#[test]
fn full_table_uses_software_until_empty() {
    for name in NAMES {
        let (mut tested, mut list) = (engine(name), engine("list"));
        let mut play_both = |text: &str| {
            assert_same_results(&mut *tested, &mut *list, text);
            let reported = ["fell_back", "fell_back_moved"].map(|key| statistic(&*tested, key));
            (tested.substitute().map(str::to_owned), reported)
        };
        let software = || Some("hybrid".to_owned());
        // Fills the table with receives of every wildcard class.
        let full = "arrive m1 0/9/9 \n arrive m2 0/?/8
             post r1 0/*/1 \n post r2 0/1/1 \n post r3 0/1/* \n post r4 0/*/0x3~0xf0";
        assert_eq!(play_both(full), (None, [0.0, 0.0]), "{name}");
        assert_eq!(play_both("post r5 0/1/1"), (software(), [1.0, 6.0]), "{name}");
        // Every migrated entry is found.
        let script = "probe 0/9/* \n arrive_batch m3=0/1/1 m4=0/1/1 m5=0/1/1 m6=0/1/7 m7=0/4/0x53
             readdress m2 0/?/8 6 \n probe 0/6/8 \n cancel r3 0/1/* \n retract m1 0/9/9 \n matched_probe 0/*/8";
        assert_eq!(play_both(script), (software(), [1.0, 6.0]), "{name}");
        assert_eq!(play_both("post r6 0/*/7 \n arrive m8 0/1/1"), (None, [1.0, 6.0]), "{name}");
        // The engine uses its table again, until the table is full again.
        assert_eq!(play_both("post r7 0/9/9 \n post r8 0/*/2"), (None, [1.0, 6.0]), "{name}");
        let again = "post r9 0/1/1 \n post r10 0/1/1 \n post r11 0/1/1 \n arrive m10 0/1/1";
        assert_eq!(play_both(again), (software(), [2.0, 10.0]), "{name}");
        assert_eq!(play_both("close 0"), (None, [2.0, 10.0]), "{name}");
    }
}

/// Small batches fit into the table sometimes.
#[test]
fn changing_loads_match_like_list() {
    let (seeds, rounds) = if cfg!(miri) { (1, 2) } else { (20, 40) };
    for name in NAMES {
        let played = (0..seeds).map(|seed| EngineAndList::played(name, seed, rounds, &[2, 3, 5, 12]));
        let fell_back: f64 = played.map(|two| statistic(&*two.ours, "fell_back")).sum();
        assert!(cfg!(miri) || fell_back > 40.0, "{name} fell back {fell_back} times");
    }
}

fn from_any_source(id: u64) -> Receive {
    Receive::new(RecvId(id), Selector::new(ContextId(0), Wild::Any, Wild::Is(Tag(1))))
}

fn post_any_source(engine: &mut dyn Engine, id: u64) -> Result<Option<MsgId>, Refused> {
    engine.post(from_any_source(id))
}

/// Posts or cancels one receive more than the capacity.
fn set_overload(engine: &mut dyn Engine, are_posted: bool) {
    for id in 50..55 {
        let selector = Selector::new(ContextId(7), Wild::Is(Rank(1)), Wild::Is(Tag(id)));
        let receive = Receive::new(RecvId(id), selector);
        if are_posted {
            assert_eq!(engine.post(receive), Ok(None));
        } else {
            assert!(engine.cancel(&receive));
        }
    }
    assert_eq!(engine.substitute().is_some(), are_posted);
}

#[test]
fn assertions_hold_in_both_engines() {
    let hints = Hints { no_any_source: true, ..Hints::default() };
    for name in NAMES {
        // The assertion is made in the table or in software.
        for is_made_in_software in [false, true] {
            let mut engine = engine(name);
            if is_made_in_software {
                set_overload(&mut *engine, true);
            }
            engine.set_hints(ContextId(0), hints).unwrap();
            assert_eq!(post_any_source(&mut *engine, 1), Err(Refused::Hint), "{name}");
            set_overload(&mut *engine, !is_made_in_software);
            assert_eq!(post_any_source(&mut *engine, 1), Err(Refused::Hint), "{name}");
            // The close removes the assertion in both engines.
            engine.close(ContextId(0), &mut Drained::default());
            assert_eq!(post_any_source(&mut *engine, 1), Ok(None), "{name}");
            assert!(engine.cancel(&from_any_source(1)));
            set_overload(&mut *engine, is_made_in_software);
            assert_eq!(post_any_source(&mut *engine, 1), Ok(None), "{name}");
        }
    }
}

#[test]
fn refused_assertion_holds_in_neither_engine() {
    let hints = |no_any_source, no_any_tag| Hints { no_any_source, no_any_tag, ..Hints::default() };
    for name in NAMES {
        for is_in_software in [false, true] {
            let mut engine = engine(name);
            engine.set_hints(ContextId(0), hints(false, true)).unwrap();
            if is_in_software {
                set_overload(&mut *engine, true);
            }
            assert_eq!(post_any_source(&mut *engine, 1), Ok(None), "{name}");
            assert_eq!(engine.set_hints(ContextId(0), hints(true, false)), Err(Refused::Hint), "{name}");
            assert!(engine.cancel(&from_any_source(1)));
            set_overload(&mut *engine, !is_in_software);
            assert_eq!(
                post_any_source(&mut *engine, 1),
                Ok(None),
                "{name}: the refused assertion does not hold"
            );
            let any_tag = Selector::new(ContextId(0), Wild::Is(Rank(1)), Wild::Any);
            let posted = engine.post(Receive::new(RecvId(2), any_tag));
            assert_eq!(posted, Err(Refused::Hint), "{name}: the earlier assertion holds");
        }
    }
}

#[test]
fn migration_attempts_are_not_counted() {
    for name in NAMES {
        let mut engine = engines::create_counting(name).unwrap();
        play(
            &mut *engine,
            "post r1 0/*/1 \n post r2 0/*/1 \n post r3 0/*/1 \n post r4 0/*/1 \n arrive m1 0/9/9",
        );
        let before = engine.attempts();
        play(&mut *engine, "post r5 0/*/1");
        assert!(engine.substitute().is_some(), "{name}");
        assert_eq!(engine.attempts().posted, before.posted, "{name}: attempts of the migration count");
        play(&mut *engine, "arrive m2 0/9/9");
        assert!(engine.attempts().posted > before.posted, "{name}: attempts in software do not count");
    }
}

fn message(context: u32, id: u64) -> Message {
    Message::new(MsgId(id), Envelope::new(ContextId(context), Rank((id % 5) as u32), Tag(id)))
}

/// Queues messages in a context without receives.
fn arrive(engine: &mut dyn Engine, context: u32, count: u64, mut each: impl FnMut(&dyn Engine)) {
    for id in 0..count {
        assert_eq!(engine.arrive_message(message(context, id)), Ok(None));
        each(engine);
    }
}

/// The reported peak is at least each sample, and not the sum of both engines' peaks. First software has much
/// memory and the table little; later the reverse.
#[test]
fn peak_covers_both_engines() {
    for name in NAMES {
        let mut engine = engine(name);
        let mut most = 0;
        let mut sample = |engine: &dyn Engine| most = engine.footprint().now_bytes().max(most);
        // The close during the fallback frees the memory of these communicators.
        for context in 100..400 {
            arrive(&mut *engine, context, 1, &mut sample);
            assert!(engine.retract(&message(context, 0)));
        }
        set_overload(&mut *engine, true);
        arrive(&mut *engine, 1, 9000, &mut sample);
        (100..400).for_each(|context| engine.close(ContextId(context), &mut Drained::default()));
        engine.close(ContextId(1), &mut Drained::default());
        // Each close frees memory.
        for _ in 0..3 {
            arrive(&mut *engine, 2, 100, &mut sample);
            engine.close(ContextId(2), &mut Drained::default());
        }
        set_overload(&mut *engine, false);
        arrive(&mut *engine, 3, 3000, &mut sample);
        let peak = engine.footprint().peak_bytes;
        assert!(peak >= most, "{name}: the reported peak is {peak} bytes, the largest sample {most}");
        assert!(
            peak <= most + most / 5,
            "{name}: the reported peak is {peak} bytes, the largest sample {most}"
        );
    }
}

/// The memory of the table is constant. Software allocates and frees memory between two samples.
#[test]
fn peak_includes_software_between_checks() {
    for name in NAMES {
        let (mut tested, mut software) = (engine(name), engine("hybrid"));
        set_overload(&mut *tested, true);
        for id in 50..55 {
            let selector = Selector::new(ContextId(7), Wild::Is(Rank(1)), Wild::Is(Tag(id)));
            assert_eq!(software.post(Receive::new(RecvId(id), selector)), Ok(None));
        }
        let mut more = 0;
        // The software engine then shrinks a little with each call.
        for engine in [&mut tested, &mut software] {
            for id in 100..9000 {
                let selector = Selector::new(ContextId(1), Wild::Is(Rank(3)), Wild::Is(Tag(id)));
                assert_eq!(engine.post(Receive::new(RecvId(id), selector)), Ok(None));
            }
            engine.fail_source(ContextId(1), Rank(3), &mut Drained::default());
        }
        for _ in 0..20 {
            [&mut tested, &mut software].into_iter().for_each(|engine| arrive(&mut **engine, 2, 100, |_| ()));
            let [of_both, of_software] = [&tested, &software].map(|engine| engine.footprint());
            let beside = of_both.now_bytes() - of_software.now_bytes();
            assert_eq!(of_both.peak_bytes, of_software.peak_bytes + beside, "{name}");
            more += u64::from(of_software.peak_bytes > of_software.now_bytes());
            for id in 0..100 {
                for engine in [&mut tested, &mut software] {
                    assert!(engine.retract(&message(2, id)));
                }
            }
        }
        assert!(more > 0, "{name}: software never had freed memory, so the test shows nothing");
    }
}

#[test]
fn unknown_value_of_full_is_error() {
    for name in ["optimistic:full=soft", "optimistic_parallel:full="] {
        let error = engines::create(name).map(|_| ()).expect_err(name).to_string();
        assert!(error.contains("is no value for `full`") && error.contains("refuse"), "{error}");
    }
    let mut engine = engine("optimistic:capacity=1,full=refuse");
    assert_eq!(
        (post_any_source(&mut *engine, 1), post_any_source(&mut *engine, 2)),
        (Ok(None), Err(Refused::Full))
    );
}
