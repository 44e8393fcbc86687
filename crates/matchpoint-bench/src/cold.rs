//! Single engine calls with flushed caches: the cost of a call after a compute phase (fuzzy paper §VI-A).
//!
//! The program writes a buffer of several times the private caches. The first- and second-level data caches and the
//! TLBs then have no data of the engine. A large shared last-level cache keeps the data, so a miss costs an access
//! there. The first-level instruction cache keeps its instructions.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::player::{self, Engines};
use crate::random::{Random, SEED};
use crate::script::{EngineCall, Phase, Script};

const FLUSH_BYTES: usize = 16 << 20;

const LINE: usize = 64;

const CALLS: usize = 8;

pub(crate) struct Flush(Vec<u8>);

impl Flush {
    pub fn new() -> Self {
        Flush(vec![1; FLUSH_BYTES.max(4 * private_bytes())])
    }

    pub fn flush(&mut self) {
        for line in self.0.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        black_box(&self.0);
    }
}

/// Size of the second-level cache from Linux, or 0.
fn private_bytes() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").unwrap_or_default();
    let kibibytes = text.trim().strip_suffix('K').and_then(|number| number.parse().ok());
    kibibytes.unwrap_or(0_usize) << 10
}

/// Times of single calls in nanoseconds, without the time to read the clock.
#[derive(Default)]
pub(crate) struct Singles {
    pub posts: Vec<f64>,
    pub arrivals: Vec<f64>,
}

pub(crate) fn clock_ns() -> f64 {
    let shortest = (0..1000).map(|_| Instant::now().elapsed()).min().unwrap_or(Duration::ZERO);
    shortest.as_nanos() as f64
}

/// Times random calls of a round with cold caches. Returns the sum of all results.
pub(crate) fn round(
    engines: &mut Engines,
    script: &Script,
    flush: &mut Flush,
    repetition: usize,
    singles: &mut Singles,
) -> player::Sum {
    let total = script.calls();
    let mut random = Random::new(SEED + repetition as u64);
    let mut chosen: Vec<usize> = (0..CALLS.min(total)).map(|_| random.below(total)).collect();
    chosen.sort_unstable();
    let mut chosen = chosen.into_iter().peekable();
    let (mut number, mut sum) = (0, 0_u64);
    let clock_ns = clock_ns();
    for (engine, part) in engines.iter_mut().zip(&script.parts) {
        for phase in &part.round {
            for at in 0..phase.calls() {
                let mut is_timed = false;
                while chosen.next_if_eq(&number).is_some() {
                    is_timed = true;
                }
                number += 1;
                if !is_timed {
                    sum = sum.wrapping_add(player::step(&mut **engine, phase, at));
                    continue;
                }
                flush.flush();
                // A real caller also has the clock's page and the arguments in its caches.
                black_box((Instant::now(), touch(phase, at)));
                let started = Instant::now();
                let found = player::step(&mut **engine, phase, at);
                let elapsed_ns = (started.elapsed().as_nanos() as f64 - clock_ns).max(0.0);
                sum = sum.wrapping_add(found);
                match is_post(phase, at) {
                    Some(true) => singles.posts.push(elapsed_ns),
                    Some(false) => singles.arrivals.push(elapsed_ns),
                    None => {}
                }
            }
        }
        player::clean(&mut **engine, part);
    }
    sum
}

fn touch(phase: &Phase, at: usize) -> u64 {
    match phase {
        Phase::Posts(keys) | Phase::Arrivals(keys) => u64::from(black_box(keys.keys[at]).tag),
        Phase::Pairs(keys) => u64::from(black_box(keys.keys[at / 2]).tag),
        Phase::EngineCalls(calls) => match black_box(calls[at]) {
            EngineCall::Post(id, _) | EngineCall::Arrive(id, _) => id.into(),
            _ => 0,
        },
    }
}

fn is_post(phase: &Phase, at: usize) -> Option<bool> {
    match phase {
        Phase::Posts(_) => Some(true),
        Phase::Arrivals(_) => Some(false),
        Phase::Pairs(_) => Some(at % 2 == 0),
        Phase::EngineCalls(calls) => match calls[at] {
            EngineCall::Post(..) => Some(true),
            EngineCall::Arrive(..) => Some(false),
            _ => None,
        },
    }
}
