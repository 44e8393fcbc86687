//! Chores of the repository: `cargo xtask --help`.

use std::path::PathBuf;

use clap::Parser;
use xtask::{Failure, amplify, bench, book, engines, instructions, licenses, record, run, tidy, truth};

/// Chores of the repository.
#[derive(Parser)]
enum Chore {
    /// Make a long DUMPI trace of a short one, by repeating what happens between MPI_Init and MPI_Finalize.
    Amplify {
        /// Folder of a DUMPI trace, unpacked.
        from: PathBuf,
        /// Folder to write to; made if it is not there.
        to: PathBuf,
        /// How often.
        #[arg(long, default_value_t = 60)]
        times: u32,
    },
    /// Measure the speed and memory of `matchpoint analyze` on long traces, and write a record.
    BenchAnalyze(bench::Arguments),
    /// Measure every engine on every workload with `matchpoint bench`, and write a record.
    BenchEngines(engines::Arguments),
    /// Measure what recording adds to a call, with real MPI libraries, and write a record.
    BenchRecord(record::Arguments),
    /// Measure messages under `matchpoint run`, with real MPI libraries, and write a record.
    BenchRun(run::Arguments),
    /// Build the manual as a book in target/book, and check its links.
    Book(book::Arguments),
    /// Print a table of times for an engine's page, made of such a record.
    EngineTable(engines::Table),
    /// Count what engines execute for a message, with valgrind, and compare with the record.
    Instructions(instructions::Arguments),
    /// Check that every dependency has a licence that we may pass on.
    Licenses,
    /// Compare what `matchpoint analyze` says that matching costs with what is saved without the searches.
    TestVerdict(truth::Arguments),
    /// Check what no compiler checks: links, file sizes, the import table, where `unsafe` is.
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
