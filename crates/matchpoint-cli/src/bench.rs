//! `matchpoint bench`: engines on the standard workloads.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use matchpoint_bench::{Options, Results, workloads};

use crate::cli::Bench;
use crate::delivery::is_stdout;
use crate::failure::Failure;
use crate::output::Outputs;
use crate::report::bench::{json, terminal};

const TEMPLATE: &str = "{bar:20} {pos} of {len} workloads  {msg}  {eta} left";

/// Runs the command.
///
/// # Errors
/// A file cannot be written, or an engine answered wrongly.
pub fn run(arguments: &Bench) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    let file = |path: &Path, outputs: &mut Outputs| outputs.reserve(path);
    let to_file = arguments.json.as_deref().filter(|path| !is_stdout(path));
    let to_file = to_file.map(|path| file(path, &mut outputs)).transpose()?;
    let results = measure(arguments)?;
    if let Some(index) = to_file {
        outputs.fill(index, |out| json::write(&results, out))?;
    }
    let written = outputs.commit()?;
    let mut out = anstream::stdout().lock();
    let printed = if arguments.json.as_deref().is_some_and(is_stdout) {
        json::write(&results, &mut out)
    } else {
        out.write_all(terminal::render(&results).as_bytes())
    };
    for path in written {
        anstream::eprintln!("matchpoint: wrote {}", path.display());
    }
    printed.and_then(|()| out.flush()).map_err(|error| Failure::printing(&error))?;
    wrong(&results)
}

fn options(arguments: &Bench) -> Result<Options, Failure> {
    let registered = matchpoint::engines::REGISTRY.iter().map(|spec| spec.name.to_owned());
    let engines = if arguments.engines.is_empty() { registered.collect() } else { arguments.engines.clone() };
    let named: Result<Vec<_>, String> =
        arguments.workloads.iter().map(|text| workloads::parse(text)).collect();
    let mut workloads = named.map_err(Failure::Message)?.concat();
    if workloads.is_empty() {
        workloads = workloads::all();
    }
    let budget = Duration::try_from_secs_f64(arguments.budget)
        .ok()
        .filter(|budget| *budget >= Duration::from_millis(1))
        .ok_or_else(|| {
            Failure::Message(format!(
                "--budget {} is no time; give seconds, 0.001 at least",
                arguments.budget
            ))
        })?;
    Ok(Options { engines, workloads, budget })
}

fn measure(arguments: &Bench) -> Result<Results, Failure> {
    let options = options(arguments)?;
    let bar = io::stderr().is_terminal().then(|| {
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(0).with_style(style)
    });
    let results = matchpoint_bench::run(&options, &mut |done, total, next| {
        if let Some(bar) = &bar {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            bar.set_message(next.to_owned());
            bar.tick();
        }
        true
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    results.map_err(|error| Failure::Message(error.to_string()))?.ok_or(Failure::Interrupted)
}

fn wrong(results: &Results) -> Result<(), Failure> {
    let wrong: Vec<String> = results
        .cells
        .iter()
        .filter_map(|cell| match &cell.outcome {
            matchpoint_bench::Outcome::Wrong(what) => {
                Some(format!("{} answers wrongly on {}:{}: {what}", cell.engine, cell.workload, cell.n))
            }
            _ => None,
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Message(wrong.join("; "))) }
}
