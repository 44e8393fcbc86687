//! What the C interface costs: a post and the arrival that matches it, by a call of the trait and by a call of
//! `libmatchpoint`, interleaved. For every engine, the least and the median of 101 runs.
//!
//! `cargo build --release -p matchpoint-capi && cargo run --release -p matchpoint-abi --example cost_of_c
//! target/release/libmatchpoint.so`
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::CString;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use libloading::Library;
use matchpoint::{ContextId, Engine, MsgId, Rank, Receive, RecvId, Tag, Wild, engines};
use matchpoint_abi::symbols::{Arrive, Create, Post};
use matchpoint_abi::types::{Envelope, MP_MATCHED, MP_OK, MP_QUEUED, Opaque, Selector};

const RUNS: usize = 101;
const PAIRS: u64 = 100_000;

/// The functions of the library, and an engine of it.
struct Foreign {
    engine: *mut Opaque,
    post: Post,
    arrive: Arrive,
}

fn foreign(library: &Library, name: &str) -> Result<Foreign, Box<dyn Error>> {
    let (name, mut engine) = (CString::new(name)?, ptr::null_mut());
    // SAFETY: the types are those of matchpoint.h; a C string, room for a pointer, no room for an error.
    unsafe {
        let create = *library.get::<Create>(b"mp_engine_create")?;
        assert_eq!(create(name.as_ptr(), &mut engine, ptr::null_mut(), 0), MP_OK);
        let (post, arrive) = (*library.get(b"mp_engine_post")?, *library.get(b"mp_engine_arrive")?);
        Ok(Foreign { engine, post, arrive })
    }
}

fn through_c(Foreign { engine, post, arrive }: &Foreign) {
    let selector = Selector { source: 1, tag: 1, ..Selector::default() };
    let envelope = Envelope { source: 1, tag: 1, ..Envelope::default() };
    let (selector, envelope, mut found) = (black_box(selector), black_box(envelope), 0);
    for pair in 0..PAIRS {
        // SAFETY: the library's engine, used by this thread only; the structs outlive the calls.
        unsafe {
            assert_eq!(post(*engine, pair, &selector, &mut found), MP_QUEUED);
            assert_eq!(arrive(*engine, pair, &envelope, &mut found), MP_MATCHED);
        }
    }
}

fn through_rust(engine: &mut dyn Engine) {
    let (source, tag) = black_box((Rank(1), Tag(1)));
    let selector = matchpoint::Selector::new(ContextId(0), Wild::Is(source), Wild::Is(tag));
    let envelope = matchpoint::Envelope::new(ContextId(0), source, tag);
    for pair in 0..PAIRS {
        assert_eq!(engine.post(Receive::new(RecvId(pair), selector)), Ok(None));
        assert_eq!(
            engine.arrive_message(matchpoint::Message::new(MsgId(pair), envelope)),
            Ok(Some(RecvId(pair)))
        );
    }
}

fn ns_per_pair(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64 / PAIRS as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which libmatchpoint.so?")?;
    // SAFETY: it is ours.
    let library = unsafe { Library::new(std::path::Path::new(&path).canonicalize()?)? };
    for spec in engines::REGISTRY {
        let there = foreign(&library, spec.name)?;
        let mut here = engines::create(spec.name)?;
        let mut runs: Vec<[f64; 2]> = Vec::new();
        for _ in 0..RUNS {
            runs.push([
                ns_per_pair(|| through_rust(black_box(&mut *here))),
                ns_per_pair(|| through_c(&there)),
            ]);
        }
        let [rust, c] = [0, 1].map(|which| {
            let mut of: Vec<f64> = runs.iter().map(|run| run[which]).collect();
            of.sort_by(f64::total_cmp);
            (of[0], of[RUNS / 2])
        });
        println!(
            "{:<12} Rust {:5.1} ns ({:.1}), C {:5.1} ns ({:.1}): {:+.1} ns",
            spec.name,
            rust.0,
            rust.1,
            c.0,
            c.1,
            c.0 - rust.0
        );
    }
    Ok(())
}
