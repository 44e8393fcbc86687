//! `matchpoint bench`: measures engines on standard workloads.

pub mod defaults;
mod files;

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use matchpoint::Event;
use matchpoint_bench::callers::{CallerOptions, callers};
use matchpoint_bench::latency::{Latencies, LatencyOptions, StageEnd, latency};
use matchpoint_bench::offload::{OffloadOptions, offload};
use matchpoint_bench::rate::{RateOptions, Scenario, rates};
use matchpoint_bench::workloads::{self, trace};
use matchpoint_bench::{Job, Options, Outcome, Results};
use matchpoint_gpu::card::{Card, CardError};
use matchpoint_gpu::figures;
use matchpoint_replay::{Arrivals, LogGp, Progress, events};

use self::files::Files;
use crate::absent::print_missing_ranks;
use crate::analyze::stop_on_interrupt;
use crate::cli::{
    ALL, Bench, CallerBench, EngineBench, GpuBench, LatencyBench, Measurement, OffloadBench, RateBench,
    TRACE, expand_all, without_duplicates,
};
use crate::failure::Failure;
use crate::load::{Load, too_few_processors};
use crate::progress::bar;
use crate::report::bench::{engines, gpu, latency, plot, rate, threads, through_c};

/// Maximum number of played events of a trace. More may not fit into memory.
const EVENTS_MAX: usize = 2_000_000;

const LATENCY_REPETITIONS: usize = 3;

pub fn run(arguments: &Bench) -> Result<(), Failure> {
    let progress = Arc::new(Progress::default());
    stop_on_interrupt(&progress);
    match &arguments.measurement {
        None => measure_engines(&arguments.engines, &progress),
        Some(Measurement::Engines(arguments)) => measure_engines(arguments, &progress),
        Some(Measurement::Latency(arguments)) => measure_latency(arguments, &progress),
        Some(Measurement::Rate(arguments)) => measure_rate(arguments, &progress),
        Some(Measurement::Callers(arguments)) => measure_callers(arguments, &progress),
        Some(Measurement::Offload(arguments)) => measure_offload(arguments, &progress),
        Some(Measurement::Gpu(arguments)) => measure_on_card(arguments, &progress),
    }
}

fn measure_engines(arguments: &EngineBench, progress: &Progress) -> Result<(), Failure> {
    let mut files = Files::prepare([None, arguments.json.as_deref(), arguments.plot.as_deref()])?;
    let is_through_c = arguments.through.is_some();
    let of_trace = arguments.workloads.iter().find(|name| name.starts_with(TRACE));
    if let Some(name) = of_trace.filter(|_| is_through_c) {
        return Err(Failure::usage(format!("--through c runs only the standard workloads, not '{name}'")));
    }
    let jobs = jobs(arguments, progress)?;
    files.may_draw(&jobs)?;
    let (results, load) = measured(progress, |report| match is_through_c {
        true => {
            let engines = engines(&arguments.engines, &defaults::THROUGH_C);
            let options = Options { engines, budget: arguments.budget, is_cold: false };
            matchpoint_bench::through_c::run(&options, &jobs, report)
        }
        false => matchpoint_bench::run(&options(arguments), &jobs, report).map_err(|error| error.to_string()),
    })?;
    let svg = plot::svg(&results);
    let (document, json) = match is_through_c {
        true => (through_c::document(&results, load, &svg), through_c::json(&results, load)),
        false => (engines::document(&results, load, &svg), engines::json(&results, load)),
    };
    files.mention_undrawn(&results);
    files.draw(&svg, &document)?;
    files.finish(&document, &json)?;
    fail_if_wrong(wrong_results(&results))
}

fn measure_rate(arguments: &RateBench, progress: &Progress) -> Result<(), Failure> {
    let mut files = Files::prepare(arguments.files.paths())?;
    let many = |numbers: &[u32]| numbers.iter().map(|&number| number as usize).collect();
    let options = RateOptions {
        engines: engines(&arguments.engines, &defaults::RATED),
        threads: threads_or_defaults(&arguments.threads),
        windows: many(&arguments.windows),
        work_ns: arguments.work_ns.clone(),
        scenarios: Scenario::ALL.to_vec(),
        messages: arguments.sequences.messages as usize,
        repeats: arguments.repeats.repeats as usize,
        cold: arguments.cold,
        depth: arguments.sequences.depth as usize,
        repetitions: arguments.repeats.repetitions as usize,
    };
    warn_of_few_processors(options.threads_most());
    let (rates, load) = measured(progress, |report| rates(&options, report))?;
    let svg = plot::rate::svg(&rates);
    let document = rate::document(&rates, load, &svg);
    files.write_csv(|out| rate::csv(&rates, out))?;
    files.draw(&svg, &document)?;
    files.finish(&document, &rate::json(&rates, load))?;
    fail_if_wrong(rates.rates.iter().filter_map(|rate| {
        let wrong = rate.wrong.as_ref()?;
        Some(format!("{} matched incorrectly in scenario '{}': {wrong}", rate.engine, rate.scenario.title()))
    }))
}

const BURST: usize = 16;

fn threads_or_defaults(threads: &[u32]) -> Vec<usize> {
    if threads.is_empty() {
        return defaults::threads();
    }
    threads.iter().map(|&threads| threads as usize).collect()
}

fn measure_callers(arguments: &CallerBench, progress: &Progress) -> Result<(), Failure> {
    let files = Files::prepare([None, arguments.json.as_deref(), None])?;
    let options = CallerOptions {
        engines: engines(&arguments.engines, &defaults::CONCURRENT),
        callers: threads_or_defaults(&arguments.threads),
        burst: BURST,
        bursts: arguments.repeats.repeats as usize,
        repetitions: arguments.repeats.repetitions as usize,
    };
    warn_of_few_processors(options.callers.iter().max().copied());
    let (rates, load) = measured(progress, |report| callers(&options, report))?;
    files.finish(&threads::callers(&rates), &threads::callers_json(&rates, load))?;
    let wrong = rates.rates.iter().filter(|rate| !rate.is_right);
    fail_if_wrong(wrong.map(|rate| format!("{} matched incorrectly", rate.engine)))
}

fn measure_offload(arguments: &OffloadBench, progress: &Progress) -> Result<(), Failure> {
    let files = Files::prepare([None, arguments.json.as_deref(), None])?;
    let options = OffloadOptions {
        engines: engines(&arguments.engines, &defaults::OFFLOADED),
        budget_bytes: arguments.budget_kib.saturating_mul(1024),
        messages: arguments.sequences.messages as usize,
        depth: arguments.sequences.depth as usize,
        repeats: arguments.repeats.repeats as usize,
        repetitions: arguments.repeats.repetitions as usize,
    };
    let (costs, load) = measured(progress, |report| offload(&options, report))?;
    files.finish(&threads::offload(&options, &costs), &threads::offload_json(&options, &costs, load))?;
    let wrong = costs.iter().filter(|cost| !cost.is_right);
    fail_if_wrong(wrong.map(|cost| format!("{} matched incorrectly", cost.engine)))
}

fn measure_on_card(arguments: &GpuBench, progress: &Progress) -> Result<(), Failure> {
    let mut files = Files::prepare(arguments.files.paths())?;
    let jobs = jobs_on_card(arguments, progress)?;
    let (on_card, load) = match &arguments.from {
        Some(path) => measured_before(path, &jobs)?,
        None => measured_now(arguments.card, &jobs, progress)?,
    };
    let svg = plot::gpu::svg(&on_card);
    let document = gpu::document(&on_card, &svg);
    files.write_csv(|out| gpu::csv(&on_card, out))?;
    files.draw(&svg, &document)?;
    files.finish(&document, &gpu::json(&on_card, load))?;
    let others = on_card.others.len();
    if let Some(first) = on_card.others.first() {
        anstream::eprintln!(
            "matchpoint: {others} other measurements of that file are not shown, such as {first}"
        );
    }
    match on_card.missing() {
        // The command writes the measured part before this error.
        Some(missing) if on_card.has_failed() => Err(Failure::Message(format!("incomplete: {missing}"))),
        Some(missing) => {
            anstream::eprintln!("matchpoint: incomplete: {missing}");
            Ok(())
        }
        None => Ok(()),
    }
}

fn jobs_on_card(arguments: &GpuBench, progress: &Progress) -> Result<Vec<figures::Job>, Failure> {
    if arguments.workloads.is_empty() {
        return Ok(figures::jobs());
    }
    let mut jobs = Vec::new();
    for name in &arguments.workloads {
        let path = name.strip_prefix(TRACE).ok_or_else(|| {
            Failure::usage(format!(
                "a card does not run the workload '{name}'\nhint: omit -w, or use -w trace:PATH"
            ))
        })?;
        let ranks = events_of(name, Path::new(path), progress)?;
        let processes: Vec<Vec<Event>> =
            ranks.into_iter().map(|rank| rank.into_iter().map(|(event, _)| event).collect()).collect();
        let of_trace = figures::recorded_jobs(name, &processes)?;
        if of_trace.is_empty() {
            return Err(no_match(name));
        }
        let is_cut = |job: &figures::Job| matches!(&job.what, figures::Subject::Recorded { batches, .. } if batches.is_cut);
        if of_trace.iter().any(is_cut) {
            anstream::eprintln!(
                "matchpoint: {name}: batches of more than {} messages and receives are omitted",
                figures::RECORDED_MAX
            );
        }
        jobs.extend(of_trace);
    }
    Ok(jobs)
}

/// Measures the jobs. After a failure of the GPU no further job runs. Without a measured job, the first error is
/// returned.
fn measured_now<'a>(
    ordinal: usize,
    jobs: &'a [figures::Job],
    progress: &Progress,
) -> Result<(gpu::OnCard<'a>, Option<f64>), Failure> {
    let card = Card::open(ordinal)?;
    let description = card.description()?;
    let jobs: Vec<&figures::Job> = jobs.iter().filter(|job| job.fits(description.multiprocessors)).collect();
    let (on_card, load) = measured(progress, |report| -> Result<_, CardError> {
        let (measured, lacking, others) = (Vec::with_capacity(jobs.len()), Vec::new(), Vec::new());
        let mut on_card = gpu::OnCard { card: description, measured, lacking, others };
        let (mut is_over, mut first) = (None, None);
        for (done, &job) in jobs.iter().enumerate() {
            if !report(done, jobs.len(), &job.label) {
                return Ok(None);
            }
            let why = match &is_over {
                Some(before) => format!("not tried after {before}"),
                None => match job.measure(&card) {
                    Ok(measured) => {
                        on_card.measured.push((job, measured));
                        continue;
                    }
                    Err(error) => {
                        first.get_or_insert_with(|| error.clone());
                        is_over = error.is_card_failure().then(|| format!("`{}` failed", job.label));
                        error.to_string()
                    }
                },
            };
            on_card.lacking.push(gpu::Lacking { job, why, has_failed: true });
        }
        match first.filter(|_| on_card.measured.is_empty()) {
            Some(error) => Err(error),
            None => Ok(Some(on_card)),
        }
    })?;
    Ok((on_card, load))
}

fn measured_before<'a>(
    path: &Path,
    jobs: &'a [figures::Job],
) -> Result<(gpu::OnCard<'a>, Option<f64>), Failure> {
    let unread = |why: String| {
        let path = path.display();
        Failure::Message(format!(
            "cannot read '{path}': {why}\nhint: give --from a complete file of `matchpoint bench gpu --json`"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
    let document: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| unread(format!("no JSON, or incomplete ({error})")))?;
    let load = document["load"].as_f64();
    Ok((gpu::read(&document, jobs).map_err(unread)?, load))
}

fn warn_of_few_processors(threads: Option<usize>) {
    if let Some(warning) = threads.and_then(too_few_processors) {
        anstream::eprintln!("matchpoint: {warning}");
    }
}

/// With a progress bar. Also returns the host load before, and warns about a high load.
fn measured<T, E: Display>(
    progress: &Progress,
    measure: impl FnOnce(&mut dyn FnMut(usize, usize, &str) -> bool) -> Result<Option<T>, E>,
) -> Result<(T, Option<f64>), Failure> {
    let load = Load::now();
    if let Some(warning) = load.and_then(Load::warning) {
        anstream::eprintln!("matchpoint: {warning}");
    }
    let bar = bar("{pos} of {len}  {msg}");
    let results = measure(&mut |done, total, next| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(next.to_owned());
        !progress.stopped()
    });
    bar.finish_and_clear();
    let results = results.map_err(|error| Failure::Message(error.to_string()))?;
    Ok((results.ok_or(Failure::Interrupted)?, load.map(|load| load.average)))
}

fn engines(named: &[String], usual: &[&str]) -> Vec<String> {
    let usual: Vec<String> = usual.iter().map(|&name| name.to_owned()).collect();
    expand_all(if named.is_empty() { &usual } else { named })
}

fn options(arguments: &EngineBench) -> Options {
    Options {
        engines: engines(&arguments.engines, &[ALL]),
        budget: arguments.budget,
        is_cold: arguments.cold,
    }
}

/// # Errors
/// A trace or an engine cannot be used, an engine matched incorrectly, or [`Progress::stop`] was called.
pub fn results(arguments: &EngineBench, progress: &Progress) -> Result<Results, Failure> {
    let jobs = jobs(arguments, progress)?;
    let report = &mut |done, total, _: &str| {
        progress.bytes.store(done as u64, Relaxed);
        progress.bytes_total.store(total as u64, Relaxed);
        !progress.stopped()
    };
    let results = matchpoint_bench::run(&options(arguments), &jobs, report)?;
    let results = results.ok_or(Failure::Interrupted)?;
    fail_if_wrong(wrong_results(&results)).map(|()| results)
}

fn measure_latency(arguments: &LatencyBench, progress: &Progress) -> Result<(), Failure> {
    let files = Files::prepare([None, arguments.json.as_deref(), None])?;
    let options = LatencyOptions {
        engines: engines(&arguments.engines, &[ALL]),
        entries: arguments.entries as usize,
        repetitions: LATENCY_REPETITIONS,
        budget: arguments.budget,
    };
    let (latencies, load) = measured(progress, |report| latency(&options, report))?;
    files.finish(&latency::document(&latencies), &latency::json(&latencies, load))?;
    fail_if_wrong(wrong_calls(&latencies))
}

fn jobs(arguments: &EngineBench, progress: &Progress) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    for name in &without_duplicates(&arguments.workloads) {
        match name.strip_prefix(TRACE) {
            Some(path) => jobs.push(recorded(name, Path::new(path), progress)?),
            None => jobs.extend(workloads::parse(name).map_err(Failure::Message)?),
        }
    }
    Ok(if jobs.is_empty() { workloads::all() } else { jobs })
}

fn recorded(name: &str, path: &Path, progress: &Progress) -> Result<Job, Failure> {
    let script = trace::script(&events_of(name, path, progress)?);
    if script.matched == 0 {
        return Err(no_match(name));
    }
    Ok(Job::Recorded { name: name.to_owned(), script })
}

fn no_match(name: &str) -> Failure {
    Failure::Message(format!("{name}: no message of this trace matches a receive"))
}

fn events_of(
    name: &str,
    path: &Path,
    progress: &Progress,
) -> Result<Vec<Vec<(Event, matchpoint::Outcome)>>, Failure> {
    let read = matchpoint_trace::open(path)?;
    print_missing_ranks(&format!("{name}: "), read.description(), "their messages are not played");
    let (ranks, has_more) =
        events(read.as_ref(), Arrivals::default(), LogGp::default(), None, EVENTS_MAX, progress)?;
    if has_more {
        anstream::eprintln!(
            "matchpoint: {name}: only the first {EVENTS_MAX} events are played; `matchpoint analyze` plays all"
        );
    }
    Ok(ranks.into_iter().map(|rank| rank.events).collect())
}

fn fail_if_wrong(wrong: impl Iterator<Item = String>) -> Result<(), Failure> {
    let mut wrong: Vec<String> = wrong.collect();
    wrong.dedup();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Message(wrong.join("; "))) }
}

fn wrong_calls(latencies: &Latencies) -> impl Iterator<Item = String> {
    let stages = latencies.engines.iter().flat_map(|of| of.stages.iter().map(move |stage| (of, stage)));
    stages.filter_map(|(of, stage)| match &stage.ended {
        Some(StageEnd::Wrong(what)) => {
            Some(format!("{} matched incorrectly while {}: {what}", of.engine, stage.what))
        }
        _ => None,
    })
}

fn wrong_results(results: &Results) -> impl Iterator<Item = String> {
    results.cells.iter().filter_map(|cell| match &cell.outcome {
        Outcome::Wrong(what) => {
            Some(format!("{} matched incorrectly in {}:{}: {what}", cell.engine, cell.workload, cell.n))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use matchpoint_bench::latency::{EngineLatency, Percentiles, Stage};

    use super::*;

    #[test]
    fn only_wrong_call_is_error() {
        let error = |ended: StageEnd| {
            let percentiles = Percentiles::default();
            let stages = vec![Stage { what: "receives are posted", percentiles, ended: Some(ended) }];
            let engine = "list".to_owned();
            let latencies = Latencies {
                entries: 1000,
                repetitions: 1,
                clock_ns: 20.0,
                nothing: percentiles,
                engines: vec![EngineLatency { engine, substitute: None, all: percentiles, stages }],
            };
            wrong_calls(&latencies).next()
        };
        let wrong = error(StageEnd::Wrong("call 3 found nothing, not number 3".to_owned()));
        let expected =
            "list matched incorrectly while receives are posted: call 3 found nothing, not number 3";
        assert_eq!(wrong.as_deref(), Some(expected));
        for other in [StageEnd::NotReached, StageEnd::Full(String::new()), StageEnd::Differs(String::new())] {
            assert_eq!(error(other), None);
        }
    }
}
