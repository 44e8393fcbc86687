//! `matchpoint predict trace`: predicts the cost of the messages of a trace by phase, and the effect of another engine.
//!
//! The matching times are times of real engines with the events of the trace. A phase takes as long as its slowest
//! process, as if all processes began a phase together.

use std::num::NonZeroU32;

use matchpoint_model::{End, Exchange, Locality, Machine, Search, Sent, predict};
use matchpoint_replay::analysis::derived::{geometric_mean, ratio};
use matchpoint_replay::analysis::inconclusive::{Inconclusive, gaps};
use matchpoint_replay::format::{count, seconds, share};
use matchpoint_replay::measurements::{EngineAtRank, EngineMeasurements, RankMeasurements};
use matchpoint_replay::traffic::{PhaseTraffic, TrafficClasses, traffic};
use matchpoint_replay::{Arrivals, LogGp, Measurements, Options, Progress};
use matchpoint_trace::open;

use super::check_stop;
use super::engines;
use super::placement::Placement;
use super::predicted::{EngineRow, LIBRARY, Predicted, Row};
use super::sparse::begin;
use crate::cli::{PredictTrace, expand_all, without_duplicates};
use crate::failure::Failure;

/// Matching times of each process in seconds: low, likely, high.
type Times = Vec<[f64; 3]>;

const FROM_REPLAY: &str = "the replay on this host, warm to cold caches";
const FROM_LIBRARY: &str = "attempts of list × the cost of an entry in the machine's MPI library";

pub(super) fn trace(arguments: &PredictTrace, progress: &Progress) -> Result<Predicted, Failure> {
    let placement = Placement::read(&arguments.on)?;
    let (measured, phases) = measure(arguments, &placement, progress)?;
    let of = Traced { arguments, placement: &placement, measured: &measured, phases: &phases };
    let predicted = of.predicted()?;
    check_stop(progress)?;
    Ok(predicted)
}

fn measure(
    arguments: &PredictTrace,
    placement: &Placement,
    progress: &Progress,
) -> Result<(Measurements, Vec<PhaseTraffic>), Failure> {
    let trace = open(&arguments.trace)?;
    let options = Options {
        engines: expand_all(&arguments.engines),
        arrivals: arguments.arrivals,
        loggp: arguments.loggp.or_else(|| network(&placement.machine)).unwrap_or_default(),
        ..Options::default()
    };
    let size_limits = size_limits(placement);
    let classes = TrafficClasses { phases: arguments.phases, size_limits: &size_limits };
    Ok(traffic(trace.as_ref(), &options, classes, progress)?)
}

fn size_limits(placement: &Placement) -> Vec<u64> {
    let links = Locality::ALL.map(|locality| placement.machine.link(locality));
    let mut limits: Vec<u64> =
        links.iter().flat_map(|link| [link.short_max_bytes, link.eager_max_bytes]).flatten().collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

fn network(machine: &Machine) -> Option<LogGp> {
    let network = machine.as_loggp(End::Value).ok()?;
    let ns = |seconds: f64| seconds * 1e9;
    Some(LogGp {
        latency_ns: ns(network.small.latency_s),
        overhead_ns: ns(network.small.overhead_s),
        gap_ns: ns(network.small.gap_s),
        gap_per_byte_ns: ns(network.gap_per_byte_s),
        eager_bytes: machine.link(machine.farthest()).eager_max_bytes.unwrap_or(u64::MAX),
    })
}

struct Traced<'a> {
    arguments: &'a PredictTrace,
    placement: &'a Placement,
    measured: &'a Measurements,
    phases: &'a [PhaseTraffic],
}

impl Traced<'_> {
    fn predicted(&self) -> Result<Predicted, Failure> {
        let first = self.measured.engines.first().ok_or_else(|| Failure::Message("no engine".to_owned()))?;
        let searched = format!("engine {}: {FROM_REPLAY}", first.name);
        let mut predicted = Predicted {
            row_name: "phase",
            without_messages: self.without_messages(),
            notes: self.notes(),
            ..begin("trace", self.subject(), self.placement, searched)
        };
        let has_messages =
            self.phases.iter().any(|phase| phase.flows.iter().any(|flow| flow.from != flow.to));
        for phase in (0..self.phases.len()).filter(|_| has_messages) {
            predicted.rows.push(self.row(phase)?);
        }
        for at in 0..self.measured.engines.len() {
            let times = self.times_of_run(at);
            predicted.engines.push(self.engine_row(&self.measured.engines[at], &times, FROM_REPLAY));
        }
        predicted.engines.extend(self.library()?);
        for processes in without_duplicates(&self.arguments.scale) {
            predicted.engines.extend(self.elsewhere(processes)?);
        }
        Ok(predicted)
    }

    fn without_messages(&self) -> String {
        match gaps(self.measured) {
            None => "No messages: no process of this trace sends a message to another process.".to_owned(),
            Some(Inconclusive { reason, action }) => {
                format!(
                    "Cannot tell: the trace contains no message between two processes, and {reason} {action}"
                )
            }
        }
    }

    fn subject(&self) -> String {
        let trace = &self.measured.trace;
        format!(
            "{}: {} ranks, run time {}, time in the replay {}",
            trace.path,
            count(trace.ranks.into()),
            seconds(self.measured.elapsed_s),
            seconds(self.measured.replayed_s)
        )
    }

    fn row(&self, phase: usize) -> Result<Row, Failure> {
        let sent = self.phases[phase].flows.iter().filter(|flow| flow.from != flow.to).map(|flow| Sent {
            from: flow.from,
            to: flow.to,
            messages: flow.messages,
            bytes: flow.bytes,
        });
        let exchange = Exchange { messages: sent.collect() };
        let ranks = NonZeroU32::new(self.measured.trace.ranks);
        let ranks = ranks.ok_or_else(|| Failure::Message("the trace has no ranks".to_owned()))?;
        let known = self.by_rank(&self.times(0, phase));
        let setting = self.placement.setting_of(ranks, Search::Known(&known));
        let prediction = predict(&setting, &exchange)
            .map_err(|problem| self.placement.missing_parameter(ranks, problem))?;
        let name = format!("{} at {}", phase + 1, seconds(self.phases[phase].begin_s));
        Ok(Row::new(name, "trace", self.placement.layout(ranks), &exchange, prediction))
    }

    fn by_rank(&self, times: &[[f64; 3]]) -> Times {
        let mut known = vec![[0.0; 3]; self.measured.trace.ranks as usize];
        for (rank, time) in self.measured.ranks.iter().zip(times) {
            known[rank.rank as usize] = *time;
        }
        known
    }

    fn times(&self, engine: usize, phase: usize) -> Times {
        let ranks = self.measured.engines[engine].ranks.iter().enumerate();
        let times = ranks.map(|(process, rank)| {
            let part = self.part(engine, phase, process);
            warm_to_cold(rank).map(|time| time * part)
        });
        times.collect()
    }

    fn part(&self, engine: usize, phase: usize, process: usize) -> f64 {
        let work = |phase: &PhaseTraffic| {
            let matching = &phase.matching[process];
            (matching.operations + matching.attempts[engine].unwrap_or(0)) as f64
        };
        ratio(work(&self.phases[phase]), self.phases.iter().map(work).sum())
    }

    fn times_of_run(&self, engine: usize) -> Times {
        let mut sums = vec![[0.0; 3]; self.measured.ranks.len()];
        for phase in 0..self.phases.len() {
            let times = self.times(engine, phase);
            sums.iter_mut().zip(times).for_each(|(sum, time)| (0..3).for_each(|at| sum[at] += time[at]));
        }
        sums
    }

    fn engine_row(&self, engine: &EngineMeasurements, times: &[[f64; 3]], from: &'static str) -> EngineRow {
        let processes = self.measured.trace.ranks;
        EngineRow {
            engine: engine.name.clone(),
            processes,
            messages: self.measured.ranks.iter().map(|rank| rank.messages).max().unwrap_or(0),
            attempts_recorded: Some(engine.posted.attempts + engine.unexpected.attempts),
            time_s: Some(longest(times)),
            time_from: Some(from),
            node_bytes: Some(engine.bytes_max * self.placement.per_node(processes)),
            ..EngineRow::default()
        }
    }

    /// `None`: `list` was not replayed.
    fn library(&self) -> Result<Option<EngineRow>, Failure> {
        let (machine, engines) = (&self.placement.machine, &self.measured.engines);
        let list = engines.iter().find(|engine| engine.name == "list");
        let (Some(list), Ok(_)) = (list, machine.attempt_s(1, End::Value)) else { return Ok(None) };
        let time = |(rank, own): (&EngineAtRank, &RankMeasurements), end| {
            // In reversed order, this number of messages has the same mean search length.
            let at_once = 2 * rank.attempts / own.messages.max(1);
            machine.attempt_s(at_once, end).map(|each_s| each_s * rank.attempts as f64)
        };
        let times =
            list.ranks.iter().zip(&self.measured.ranks).map(|rank| {
                Ok([time(rank, End::Shortest)?, time(rank, End::Value)?, time(rank, End::Longest)?])
            });
        let times = times.collect::<Result<Times, matchpoint_model::Missing>>()?;
        let row = self.engine_row(list, &times, FROM_LIBRARY);
        Ok(Some(EngineRow { engine: LIBRARY.to_owned(), node_bytes: None, ..row }))
    }

    fn elsewhere(&self, processes: NonZeroU32) -> Result<Vec<EngineRow>, Failure> {
        let of = |name: &String| engines::memory(name, processes, self.placement.per_node(processes.get()));
        expand_all(&self.arguments.engines).iter().map(of).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.measured.trace.notes.clone();
        if self.measured.totals.sends_without_size > 0 {
            notes.push(format!(
                "The trace does not contain the sizes of {}, which count as empty.",
                matchpoint_replay::format::counted(self.measured.totals.sends_without_size, "message")
            ));
        }
        let known: u64 = self.phases.iter().flat_map(|phase| &phase.flows).map(|flow| flow.messages).sum();
        if known < self.measured.totals.sends {
            notes.push(format!(
                "The trace does not contain the receivers of {}: the times omit them.",
                matchpoint_replay::format::counted(self.measured.totals.sends - known, "message")
            ));
        }
        if !self.measured.trace.missing.is_empty() {
            notes.push("The trace lacks ranks: the times omit their messages and searches.".to_owned());
        }
        for engine in self.measured.engines.iter().filter(|engine| engine.sampled < 1.0) {
            notes.push(format!(
                "Engine {} was stopped after {} of the searches; its times are extrapolated.",
                engine.name,
                share(engine.sampled)
            ));
        }
        notes.push(format!(
            "Matching times were measured on {}, with warm and with cold caches. The share of a phase is that of its calls \
             and attempts.",
            self.measured.host
        ));
        let is_simulated = self.arguments.arrivals == Arrivals::Simulated;
        notes.extend(is_simulated.then(|| match (self.arguments.loggp, network(&self.placement.machine)) {
            (Some(given), _) => format!("Messages arrive as in the network {given} (--loggp)."),
            (None, Some(own)) => format!("Messages arrive as in the machine's network: {own}."),
            (None, None) => {
                let assumed = LogGp::default();
                format!("Messages arrive as in an assumed network ({assumed}): the machine file has no logp.")
            }
        }));
        notes
    }
}

/// Seconds.
fn warm_to_cold(rank: &EngineAtRank) -> [f64; 3] {
    let (low, high) = (rank.match_ns.min(rank.match_cold_ns), rank.match_ns.max(rank.match_cold_ns));
    [low, geometric_mean(low, high), high].map(|ns| ns * 1e-9)
}

fn longest(times: &[[f64; 3]]) -> [f64; 3] {
    let at = |at: usize| times.iter().map(|time| time[at]).fold(0.0, f64::max);
    [at(0), at(1), at(2)]
}
