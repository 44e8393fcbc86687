//! The `matchpoint` command.

use std::process::ExitCode;

use clap::Parser;
use matchpoint_cli::cli::{Cli, Command};
use matchpoint_cli::{analyze, check, engines, failure};

fn main() -> ExitCode {
    failure::exit_code(match Cli::parse().command {
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Engines => engines::run(),
    })
}
