//! Traces in Matchpoint's format: equal results as from the original traces, and arrivals within their
//! intervals.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::traces::{REAL, opened};
use matchpoint_replay::members::Members;
use matchpoint_replay::{Arrivals, Measurements, Options, Progress, replay};
use matchpoint_trace::native::{Settings, Writer, file_name};
use matchpoint_trace::{Call, Trace};

fn convert(trace: &dyn Trace, name: &str, clock_error_ns: Option<u64>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let members = Members::of(trace, &Progress::default()).unwrap();
    for (index, &rank) in trace.present().iter().enumerate() {
        let file = BufWriter::new(File::create(folder.join(file_name(rank))).unwrap());
        let settings = Settings::of(rank, trace.description().ranks);
        let null_looks_any = trace.description().null_looks_any;
        let mut writer = Writer::new(file, Settings { clock_error_ns, null_looks_any, ..settings }).unwrap();
        let (mut stream, mut call) = (trace.rank(rank).unwrap(), Call::default());
        let mut members = members.rank(index);
        while stream.read(&mut call).unwrap() {
            members.list(&mut call);
            writer.call(&call).unwrap();
        }
        writer.finish("finalize").unwrap();
    }
    folder
}

fn replayed(trace: &dyn Trace, arrivals: Arrivals) -> Measurements {
    let engines = ["list", "bins:n=64", "rank_array"].map(String::from).to_vec();
    let options = Options { engines, arrivals, ..Options::default() };
    replay(trace, &options, &Progress::default()).unwrap()
}

/// Results that depend neither on the machine nor on the format of the trace.
fn comparable_results(mut run: Measurements, of_format: usize) -> String {
    run.trace.format.clear();
    run.trace.path.clear();
    run.trace.notes.drain(..of_format);
    run.trace.notes.retain(|note| !note.contains("contradict"));
    run.trace.calls_left_out = 0;
    run.trace.missing.iter_mut().for_each(|(_, why)| why.clear());
    run.timings = Default::default();
    run.communicators.iter_mut().for_each(|used| {
        used.origin.truncate(used.origin.find(',').unwrap_or(usize::MAX).min(used.origin.len()))
    });
    run.arrivals.intervals_known = false;
    for engine in &mut run.engines {
        (engine.match_ns, engine.match_cold_ns) = (0.0, 0.0);
        engine.ranks.iter_mut().for_each(|rank| (rank.match_ns, rank.match_cold_ns) = (0.0, 0.0));
    }
    format!("{run:#?}")
}

#[test]
fn results_equal_those_of_original_trace() {
    for (name, real) in REAL.iter() {
        let dumpi = opened(&real.folder);
        let native = opened(&convert(&*dumpi, name, None));
        for arrivals in Arrivals::ASSUMED {
            let [theirs, ours] = [&dumpi, &native].map(|trace| replayed(&**trace, arrivals));
            // DUMPI has the calls of several threads in the order of exit, Matchpoint's format in the order
            // of entry.
            if name.contains("mt") {
                assert_eq!(theirs.totals.sends, ours.totals.sends, "{name}, {arrivals}");
                if arrivals != Arrivals::AtWait {
                    assert_eq!(theirs.engines[0].matched, ours.engines[0].matched, "{name}, {arrivals}");
                }
                continue;
            }
            let theirs = comparable_results(theirs, dumpi.description().notes.len());
            let ours = comparable_results(ours, native.description().notes.len());
            let differs = theirs.lines().zip(ours.lines()).position(|(one, other)| one != other);
            if let Some(line) = differs {
                let around = |text: &str| {
                    text.lines().skip(line.saturating_sub(4)).take(8).collect::<Vec<_>>().join("\n")
                };
                panic!("{name}, {arrivals}:\n{}\nand not\n{}", around(&ours), around(&theirs));
            }
            assert_eq!(theirs.len(), ours.len(), "{name}, {arrivals}");
        }
    }
}

#[test]
fn arrivals_remain_within_intervals() {
    for (name, real) in REAL.iter() {
        let dumpi = opened(&real.folder);
        let native = opened(&convert(&*dumpi, &format!("{name}-clock"), Some(0)));
        let before = replayed(&*dumpi, Arrivals::Timestamps);
        let run = replayed(&*native, Arrivals::Timestamps);
        assert!(run.arrivals.intervals_known && !before.arrivals.intervals_known, "{name}");
        assert!(run.arrivals.ended_calls.is_empty(), "{name}: {:?}", run.arrivals.ended_calls);
        assert_eq!(run.engines[0].matched, before.engines[0].matched, "{name}");
        // `nersc-amg-27` has several clocks; threads of `osu_latency_mt-2` took messages of other threads.
        if !["nersc-amg-27", "osu_latency_mt-2"].contains(&name.as_str()) {
            assert_eq!(run.arrivals.arrivals_outside, 0, "{name}");
        }
        println!(
            "{name}: {} of {} moved, {} outside; {} s recorded, {} s replayed, {} s without",
            run.arrivals.arrivals_moved,
            run.totals.sends,
            run.arrivals.arrivals_outside,
            run.elapsed_s,
            run.replayed_s,
            before.replayed_s
        );
    }
}
