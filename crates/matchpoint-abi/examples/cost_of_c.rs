//! Measures the cost of the C interface: the time of a post and its matching arrival, called in Rust and
//! through `libmatchpoint`. Prints the minimum and the median (in parentheses) of 101 interleaved runs per
//! engine.
//!
//! `cargo build --release -p matchpoint-capi && cargo run --release -p matchpoint-abi --example cost_of_c
//! target/release/libmatchpoint.so`

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use matchpoint::{ContextId, Engine, MsgId, Pair, Rank, RecvId, Tag, engines};
use matchpoint_abi::Library;

const RUNS: usize = 101;
const PAIRS: u64 = 100_000;

fn ns_per_pair(engine: &mut dyn Engine) -> f64 {
    let (pair, tag) = black_box((Pair::new(ContextId(0), Rank(1)), Tag(1)));
    let begin = Instant::now();
    for id in 0..PAIRS {
        assert_eq!(engine.post_exact(RecvId(id), pair, tag), Ok(None));
        assert_eq!(engine.arrive(MsgId(id), pair, tag), Ok(Some(RecvId(id))));
    }
    begin.elapsed().as_nanos() as f64 / PAIRS as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the path of libmatchpoint.so is missing\nhint: cost_of_c target/release/libmatchpoint.so")?;
    let library = Library::load(Path::new(&path))?;
    for spec in engines::REGISTRY {
        let (mut rust_engine, mut c_engine) = (engines::create(spec.name)?, library.create(spec.name)?);
        let runs: Vec<[f64; 2]> = (0..RUNS)
            .map(|_| [ns_per_pair(black_box(&mut *rust_engine)), ns_per_pair(black_box(&mut c_engine))])
            .collect();
        let [rust, c] = [0, 1].map(|which| {
            let mut times: Vec<f64> = runs.iter().map(|run| run[which]).collect();
            times.sort_by(f64::total_cmp);
            (times[0], times[RUNS / 2])
        });
        println!(
            "{:<20} Rust {:5.1} ns ({:.1}), C {:5.1} ns ({:.1}): {:+.1} ns",
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
