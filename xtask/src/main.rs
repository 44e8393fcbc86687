//! Repository tasks: `cargo xtask --help`.

use std::path::PathBuf;

use clap::Parser;
use xtask::{
    Failure, amplify, bench, book, engines, instructions, licenses, notices, record, run, tidy, truth,
};

/// Repository tasks.
#[derive(Parser)]
enum Chore {
    /// Make a long DUMPI trace of a short one: repeat the calls between MPI_Init and MPI_Finalize.
    Amplify {
        /// Folder of a DUMPI trace, unpacked.
        from: PathBuf,
        /// Folder to write to; created if missing.
        to: PathBuf,
        /// Number of repetitions.
        #[arg(long, default_value_t = 60)]
        times: u32,
    },
    /// Measure the speed and memory of `matchpoint analyze` on long traces, and write a record.
    BenchAnalyze(bench::Arguments),
    /// Measure every engine on every workload with `matchpoint bench`, and write a record.
    BenchEngines(engines::Arguments),
    /// Measure the cost of recording per call, with real MPI libraries, and write a record.
    BenchRecord(record::Arguments),
    /// Measure messages under `matchpoint run`, with real MPI libraries, and write a record.
    BenchRun(run::Arguments),
    /// Build the manual as a book in target/book, and check its links.
    Book(book::Arguments),
    /// Print a table of times from such a record, for an engine's page.
    EngineTable(engines::Table),
    /// Count instructions of engines per message, with valgrind, and compare with the record.
    Instructions(instructions::Arguments),
    /// Check that the licence of every dependency permits distribution.
    Licenses,
    /// Write the licence texts of all crates in the binaries to a file, for packages.
    Notices {
        /// File to write.
        to: PathBuf,
    },
    /// Compare the matching cost reported by `matchpoint analyze` with the time saved without searches.
    TestVerdict(truth::Arguments),
    /// Check links, file sizes, the import table, unsafe code, and language.
    Tidy,
}

fn main() -> Result<(), Failure> {
    match Chore::parse() {
        Chore::Amplify { from, to, times } => amplify::amplify(&from, &to, times),
        Chore::BenchAnalyze(arguments) => bench::run(&arguments),
        Chore::BenchEngines(arguments) => engines::run(&arguments),
        Chore::BenchRecord(arguments) => record::run(&arguments),
        Chore::BenchRun(arguments) => run::run(&arguments),
        Chore::Book(arguments) => verdict(book::build(&arguments)?),
        Chore::EngineTable(arguments) => engines::table(&arguments),
        Chore::Instructions(arguments) => instructions::run(&arguments),
        Chore::Licenses => verdict(licenses::complaints()?),
        Chore::Notices { to } => notices::write(&to),
        Chore::TestVerdict(arguments) => truth::run(&arguments),
        Chore::Tidy => verdict(tidy::complaints()?),
    }
}

fn verdict(complaints: Vec<String>) -> Result<(), Failure> {
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() { Ok(()) } else { Err(format!("{} complaints", complaints.len()).into()) }
}
