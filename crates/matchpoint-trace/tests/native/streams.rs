//! Calls that are written and read again.

use matchpoint_trace::native::{Settings, Writer};
use matchpoint_trace::readers::native::read_bytes;
use matchpoint_trace::{Call, Function, RankReader};

use crate::canonical::Canonical;
use crate::random::{Random, call};
use crate::traces::compare;

pub fn file(settings: &Settings, calls: &[Call]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), settings.clone()).unwrap();
    calls.iter().for_each(|call| writer.call(call).unwrap());
    writer.finish("finalize").unwrap()
}

pub fn read(bytes: &[u8]) -> Vec<Call> {
    let (mut stream, mut call, mut calls) = (read_bytes(bytes).unwrap(), Call::default(), Vec::new());
    while stream.read(&mut call).unwrap() {
        assert!(stream.position() <= bytes.len() as u64);
        calls.push(call.clone());
    }
    assert_eq!(stream.position(), bytes.len() as u64);
    calls
}

pub fn canonical(calls: &[Call]) -> Vec<Call> {
    let mut canonical = Canonical::default();
    calls.iter().map(|call| canonical.call(call)).collect()
}

fn settings(random: &mut Random) -> Settings {
    let level = random.below(2) as i32;
    Settings { level, block_bytes: 1 << random.below(14), ..Settings::of(3, 2000) }
}

#[test]
fn random_calls_survive_round_trip() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(400) as usize;
        let mut at_ns = random.below(1 << 40) as i64 - (1 << 39);
        let written: Vec<Call> = (0..count)
            .map(|_| {
                at_ns += random.short(40) as i64;
                let function = Function::ALL[random.below(Function::ALL.len() as u64) as usize];
                call(&mut random, function, at_ns)
            })
            .collect();
        let bytes = file(&settings(&mut random), &written);
        compare(&format!("seed {seed}"), &canonical(&read(&bytes)), &canonical(&written));
    }
}

#[test]
fn every_function_survives_round_trip() {
    let mut random = Random::new(1);
    for &function in Function::ALL {
        let written: Vec<Call> = (0..20).map(|at| call(&mut random, function, at)).collect();
        let bytes = file(&settings(&mut random), &written);
        compare(function.name(), &canonical(&read(&bytes)), &canonical(&written));
    }
}

#[test]
fn threads_are_ordered_by_entry() {
    for threads in [2, 5, 40] {
        for seed in 0..30 {
            let mut random = Random::new(seed);
            let mut at_ns = 0;
            let written: Vec<Call> = (0..500)
                .map(|_| {
                    at_ns += 1 + random.below(100) as i64;
                    let function = Function::ALL[random.below(100) as usize];
                    let thread = random.below(threads) as u16;
                    Call { thread, ..call(&mut random, function, at_ns) }
                })
                .collect();
            let bytes = file(&settings(&mut random), &written);
            compare(
                &format!("{threads} threads, seed {seed}"),
                &canonical(&read(&bytes)),
                &canonical(&written),
            );
        }
    }
}
