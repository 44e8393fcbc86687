//! Time to read a trace on one core: `cargo run --release -p matchpoint-trace --example read -- TRACE
//! [PASSES]`. A second path first gets the trace in Matchpoint's format.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use matchpoint_trace::native::{Settings, Writer, file_name};
use matchpoint_trace::{Call, Trace, open};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let trace = open(Path::new(&words[0])).unwrap_or_else(|error| panic!("{error}"));
    let passes = words.get(1).and_then(|passes| passes.parse().ok()).unwrap_or(3);
    if let Some(folder) = words.get(2) {
        convert(&*trace, Path::new(folder));
    }
    for _ in 0..passes {
        let (begun, mut calls, mut call) = (Instant::now(), 0u64, Call::default());
        for &rank in trace.present() {
            let mut stream = trace.rank(rank).unwrap_or_else(|error| panic!("{error}"));
            while stream.read(&mut call).unwrap_or_else(|error| panic!("{error}")) {
                calls += 1;
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let (bytes, millions) = (trace.description().bytes, calls as f64 / 1e6);
        let each = bytes as f64 / calls as f64;
        println!(
            "{calls} calls, {each:.1} bytes each, in {seconds:.3} s: {:.1} million a second",
            millions / seconds
        );
    }
}

fn convert(trace: &dyn Trace, folder: &Path) {
    fs::create_dir_all(folder).expect("the folder can be made");
    for &rank in trace.present() {
        let file = BufWriter::new(File::create(folder.join(file_name(rank))).expect("a file can be made"));
        let settings = Settings { null_looks_any: true, ..Settings::of(rank, trace.description().ranks) };
        let mut writer = Writer::new(file, settings).expect("the file can be written");
        let mut stream = trace.rank(rank).unwrap_or_else(|error| panic!("{error}"));
        let mut call = Call::default();
        while stream.read(&mut call).unwrap_or_else(|error| panic!("{error}")) {
            writer.call(&call).unwrap_or_else(|error| panic!("rank {rank}: {error}"));
        }
        writer.finish("finalize").expect("the file can be written");
    }
}
