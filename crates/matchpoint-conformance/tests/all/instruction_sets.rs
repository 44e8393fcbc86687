//! Tests of `vector` and `fuzzy` with every instruction set of this processor, and of errors for others.

use std::process::Command;

use matchpoint::event::Event;
use matchpoint::{
    ContextId, Engine, Envelope, InstructionSet, Message, MsgId, Rank, Receive, RecvId, Selector, Tag, Wild,
    engines,
};
use matchpoint_conformance::{Choices, Options, check, generate};

const ENGINES: [&str; 6] = [
    "vector:",
    "fuzzy:bits=8,",
    "fuzzy:bits=16,",
    "fuzzy:bits=32,",
    "fuzzy:bits=8,fold=xor,",
    "fuzzy:bits=16,fold=xor,",
];

fn names() -> impl Iterator<Item = String> {
    for set in InstructionSet::ALL.into_iter().filter(|set| !set.is_available()) {
        eprintln!("not tested, because this processor has no such instructions: {}", set.name());
    }
    let sets = || InstructionSet::available().map(InstructionSet::name);
    ENGINES.iter().flat_map(move |engine| sets().map(move |set| format!("{engine}isa={set}")))
}

#[test]
fn every_instruction_set_keeps_laws() {
    for name in names() {
        let create = || engines::create(&name).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { depths: vec![1, 2, 7, 70, 300], ..Options::quick() };
        let report = check(&create, &options).unwrap_or_else(|violation| panic!("{name}\n{violation}"));
        assert!(report.matches > 10_000, "{name}: {report:?}");
    }
}

#[test]
fn attempts_equal_those_of_list() {
    let names: Vec<_> = names().collect();
    for (number, (_, shape)) in (0..).zip(generate::SHAPES) {
        let events: Vec<Event> = generate::stream(*shape, Choices::Seed(number), 1000);
        let attempts = |name: &str| {
            let mut engine = engines::create_counting(name).unwrap();
            events.iter().for_each(|event| drop(event.play(&mut *engine)));
            engine.attempts()
        };
        let expected = attempts("list");
        for name in &names {
            assert_eq!(attempts(name), expected, "{name}");
        }
    }
}

fn post(engine: &mut dyn Engine, id: u64, source: Wild<Rank>, tag: Wild<Tag>) {
    engine.post(Receive::new(RecvId(id), Selector::new(ContextId(0), source, tag))).unwrap();
}

fn arrive(engine: &mut dyn Engine, id: u64, source: u64, tag: u64) -> Option<RecvId> {
    engine
        .arrive_message(Message::new(MsgId(id), Envelope::new(ContextId(0), Rank(source as u32), Tag(tag))))
        .unwrap()
}

fn false_positives(engine: &dyn Engine) -> (f64, f64) {
    match engine.statistics()[..] {
        [("posted_false_positives", posted), ("unexpected_false_positives", unexpected)] => {
            (posted, unexpected)
        }
        ref other => panic!("{other:?}"),
    }
}

/// Number of failed verifications in a search that finds the receive after `first`.
fn count_false_positives(name: &str, first: (u64, u64), wanted: (u64, u64)) -> f64 {
    let mut engine = engines::create_counting(name).unwrap();
    // The oldest receive is compared without a kernel.
    post(&mut *engine, 0, Wild::Is(Rank(77)), Wild::Is(Tag(770)));
    for (id, (source, tag)) in [first, wanted, (78, 780)].into_iter().enumerate() {
        post(&mut *engine, 1 + id as u64, Wild::Is(Rank(source as u32)), Wild::Is(Tag(tag)));
    }
    assert_eq!(arrive(&mut *engine, 0, wanted.0, wanted.1), Some(RecvId(2)));
    false_positives(&*engine).0
}

#[test]
fn colliding_keys_of_paper_are_distinguished() {
    // "A message from rank 2 with a tag of 1 becomes a false positive with a message from rank 1 with a tag
    // of 2." If the tag is the rank, every message collides with every other message.
    for name in ["fuzzy:bits=8", "fuzzy:bits=16", "fuzzy:bits=32", "vector"] {
        for (first, wanted) in
            [((2, 1), (1, 2)), ((2, 2), (1, 1)), ((1, 256), (1, 0)), ((1 << 24, 1), (0, 1))]
        {
            assert_eq!(count_false_positives(name, first, wanted), 0.0, "{name}, {first:?}");
        }
    }
    // The folded tags collide: 257 = 256 · 1 + 1 and 0.
    assert_eq!(count_false_positives("fuzzy:bits=32", (1, 257), (1, 0)), 1.0);
    assert_eq!(count_false_positives("fuzzy:bits=32,rank=16,tag=16", (1, 257), (1, 0)), 0.0);
}

#[test]
fn keys_equal_those_of_paper() {
    // The paper's keys: the lower bits of source and tag, combined by exclusive or.
    let pairs =
        [((2, 1), (1, 2)), ((2, 2), (1, 1)), ((1, 256), (1, 0)), ((1 << 24, 1), (0, 1)), ((3, 1), (1, 2))];
    for (name, expected) in
        [("fuzzy:fold=xor", [1.0, 1.0, 1.0, 1.0, 0.0]), ("fuzzy:bits=16,fold=xor", [1.0, 1.0, 0.0, 1.0, 0.0])]
    {
        for ((first, wanted), expected) in pairs.into_iter().zip(expected) {
            assert_eq!(count_false_positives(name, first, wanted), expected, "{name}, {first:?}");
        }
    }
}

/// Source and tag of the nth receive.
type Keys = fn(u64) -> (u64, u64);

const PATTERNS: [(&str, Keys); 14] = [
    ("the tag is the rank", |at| (at, at)),
    ("the tag is the rank and 1", |at| (at, at + 1)),
    ("the tag is the rank and 1000", |at| (at, at + 1000)),
    ("the tag is twice the rank", |at| (at, 2 * at)),
    ("the tag is thrice the rank", |at| (at, 3 * at)),
    ("the tag is a hundred times the rank", |at| (at, 100 * at)),
    ("the tag falls as the rank grows", |at| (at, 1000 - at)),
    ("the tag differs from the rank in a bit", |at| (at, at ^ 1)),
    ("one source, tags in a row", |at| (3, at)),
    ("one tag, sources in a row", |at| (at, 7)),
    ("four tags each", |at| (at / 4, at % 4)),
    ("26 neighbours, a tag for each step", |at| (at % 26, 100_000 + at / 26)),
    ("addresses a cache line apart", |at| (0x7F00_0000_1000 + 64 * at, 0)),
    ("tags in the upper half", |at| (1, at << 32)),
];

#[test]
fn common_patterns_have_distinct_keys() {
    for (pattern, keys) in PATTERNS {
        for (name, most) in [("fuzzy:bits=8", 32), ("fuzzy:bits=16", 1), ("fuzzy:bits=32", 1)] {
            let mut engine = engines::create_counting(name).unwrap();
            let each = || (0..64).map(|at| (keys(at), at));
            each().for_each(|((source, tag), id)| {
                post(&mut *engine, id, Wild::Is(Rank(source as u32)), Wild::Is(Tag(tag)));
            });
            // 64 random keys of 256 give 8 colliding pairs, each with one verification.
            each().rev().for_each(|((source, tag), id)| {
                assert_eq!(arrive(&mut *engine, id, source, tag), Some(RecvId(id)));
            });
            let (posted, _) = false_positives(&*engine);
            assert!(posted <= most.into(), "{name}: {posted} verified without a match where {pattern}");
        }
    }
}

#[test]
fn wildcard_does_not_cause_verification_of_block() {
    for name in ["fuzzy:bits=8", "fuzzy:bits=16", "fuzzy:bits=32", "vector"] {
        let mut engine = engines::create_counting(name).unwrap();
        for tag in 0..200 {
            let source = if tag % 50 == 30 { Wild::Any } else { Wild::Is(Rank(0)) };
            let tag_or_any = if tag % 50 == 40 { Wild::Any } else { Wild::Is(Tag(tag)) };
            let other = if tag % 50 == 40 { Wild::Is(Rank(9)) } else { source };
            post(&mut *engine, tag, other, tag_or_any);
        }
        for tag in (0..200).rev().filter(|tag| tag % 50 < 30) {
            assert_eq!(arrive(&mut *engine, tag, 0, tag), Some(RecvId(tag)), "{name}");
        }
        let (posted, _) = false_positives(&*engine);
        // 120 searches, each past up to 8 wildcard receives of 200. Random keys of 8 bits give 78 colliding
        // pairs.
        assert!(posted < 50.0, "{name}: {posted} verified without a match");
    }
}

#[test]
fn any_source_receive_compares_tags() {
    for name in ["fuzzy:bits=8", "fuzzy:bits=16", "fuzzy:bits=32", "vector"] {
        let mut engine = engines::create_counting(name).unwrap();
        (0..200).for_each(|tag| assert_eq!(arrive(&mut *engine, tag, tag * 7 % 13, tag), None));
        (0..200).rev().for_each(|tag| post(&mut *engine, tag, Wild::Any, Wild::Is(Tag(tag))));
        assert_eq!(engine.unexpected_len(), 0);
        let (_, unexpected) = false_positives(&*engine);
        let most = if name == "fuzzy:bits=8" { 20.0 } else { 0.0 };
        assert!(unexpected <= most, "{name}: {unexpected} of 200 verified without a match");
    }
}

#[test]
fn missing_instruction_set_is_refused() {
    let error = engines::create("fuzzy:isa=mmx").err().expect("there is no instruction set mmx").to_string();
    assert!(
        error.contains("isa=mmx is no instruction set; available are ") && error.contains("scalar"),
        "{error}"
    );
    for set in InstructionSet::ALL.iter().filter(|set| !set.is_available()) {
        let error =
            engines::create(&format!("vector:isa={}", set.name())).err().expect("refused").to_string();
        assert!(error.contains("not available here; available are "), "{error}");
    }
}

#[test]
fn meaningless_parameters_are_refused() {
    for name in [
        "fuzzy:bits=9",
        "fuzzy:bits=32,rank=30",
        "fuzzy:bits=32,rank=33,tag=0",
        "fuzzy:bits=8,rank=4,tag=4",
        "fuzzy:fold=product",
        "fuzzy:bits=32,fold=xor",
    ] {
        assert!(engines::create(name).is_err(), "{name}");
    }
    assert!(engines::create("fuzzy:bits=32,rank=0,tag=32").is_ok());
}

/// Run in a child process by the next test.
#[test]
#[ignore = "part of environment_forces_instruction_set"]
fn child_uses_forced_instruction_set() {
    for name in ["fuzzy", "vector", "fuzzy:isa=scalar"] {
        match engines::create(name) {
            Ok(_) => println!("{name}: made"),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

#[test]
fn environment_forces_instruction_set() {
    let output = |value: &str| {
        let program = std::env::current_exe().expect("the path of the test program");
        let output = Command::new(program)
            .args([
                "--exact",
                "instruction_sets::child_uses_forced_instruction_set",
                "--ignored",
                "--nocapture",
            ])
            .env("MATCHPOINT_ISA", value)
            .output();
        String::from_utf8_lossy(&output.expect("the child process runs").stdout).into_owned()
    };
    for value in ["scalar", ""] {
        let output = output(value);
        assert!(output.contains("fuzzy: made") && output.contains("vector: made"), "{value}: {output}");
    }
    let refused = output("altivec");
    assert!(
        refused.contains("fuzzy: ") && refused.contains("MATCHPOINT_ISA=altivec is no instruction set"),
        "{refused}"
    );
    assert!(refused.contains("fuzzy:isa=scalar: made"), "the parameter overrides the environment: {refused}");
}
