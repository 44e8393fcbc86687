//! The `matchpoint` command.

use std::process::ExitCode;

use matchpoint_cli::cli::{self, Command};
use matchpoint_cli::{
    analyze, bench, calibrate, check, convert, engines, failure, generate, predict, profile, record, run, top,
};

fn main() -> ExitCode {
    engines::make_known();
    failure::exit_code(match cli::parse().command {
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::AskLibfabric { library } => run::ask_libfabric(&library),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Engines(arguments) => engines::run(&arguments),
    })
}
