//! Runs the communication operations of a prediction with MPI, and collects the measured times.

use std::time::{Duration, Instant};

use matchpoint_bench::random::{Random, SEED};
use matchpoint_calibrate::conversation::Conversation;
use matchpoint_calibrate::irregular::Arrived;
use matchpoint_calibrate::plan::{BATCH_S, Measurement, ROUNDS};
use matchpoint_model::Setting;
use matchpoint_replay::format;

use super::models::{self, ModelledTimes};
use super::operations::{Asked, Operation, volume_attempts};
use super::played::Played;
use super::searched::AttemptCounts;
use super::validated::{Row, Searched, Times, Worst};
use crate::benchmark::{MeasurementProgress, ProgressSender};
use crate::failure::Failure;

#[derive(Default)]
pub(super) struct Measured {
    /// Times in seconds, by round.
    natural: Vec<Vec<f64>>,
    reversed: Vec<Vec<f64>>,
    arrivals: Vec<Vec<Arrived>>,
    took: Duration,
}

/// A note about operations that took longer than their budget.
pub(super) fn beyond_budget(all: &[Measured], budget_s: f64) -> Option<String> {
    let beyond: Vec<f64> = all
        .iter()
        .map(|one| one.took.as_secs_f64())
        .filter(|took_s| *took_s > SOME_MORE * budget_s)
        .collect();
    (!beyond.is_empty()).then(|| {
        format!(
            "{} of {} operations took longer than --seconds {budget_s}, {} in all: each of {ROUNDS} rounds needs three \
             repetitions.",
            beyond.len(),
            all.len(),
            format::seconds(beyond.iter().sum())
        )
    })
}

/// Tolerated excess for connections and requests.
const SOME_MORE: f64 = 2.0;

pub(super) fn all(
    benchmark: &mut Conversation,
    operations: &[Operation],
    budget_s: f64,
    progress: &ProgressSender,
) -> Result<Vec<Measured>, Failure> {
    let mut all: Vec<Measured> = operations.iter().map(|_| Measured::default()).collect();
    let each_s = budget_s / f64::from(ROUNDS);
    let total = operations.len() * ROUNDS as usize;
    let mut done = 0;
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..operations.len()).collect();
        Random::new(SEED + u64::from(round)).shuffle(&mut order);
        for at in order {
            let (operation, into) = (&operations[at], &mut all[at]);
            let next = format!("{} {}", operation.application.title(), operation.name);
            if !progress.show(MeasurementProgress { done, total, next }) {
                return Err(Failure::Interrupted);
            }
            let begin = Instant::now();
            match &operation.asked {
                Asked::Volume(measurement) => {
                    let seconds = benchmark.measure(done, measurement, BATCH_S.min(each_s), each_s)?;
                    into.natural.push(seconds);
                }
                Asked::Exchange(played) => {
                    let messages = &played.messages;
                    into.natural.push(benchmark.exchange(done, messages, each_s / 2.0)?);
                    into.reversed.push(benchmark.exchange(done, &played.reversed(), each_s / 2.0)?);
                    into.arrivals.push(benchmark.arrivals(done, messages)?);
                }
            }
            into.took += begin.elapsed();
            done += 1;
        }
    }
    Ok(all)
}

impl Measured {
    pub fn row(&self, operation: &Operation, setting: &Setting<'_>) -> Result<Row, Failure> {
        match &operation.asked {
            Asked::Volume(measurement) => self.of_volume(operation, measurement, setting),
            Asked::Exchange(played) => self.of_exchange(operation, played, setting),
        }
    }

    fn of_exchange(
        &self,
        operation: &Operation,
        played: &Played,
        setting: &Setting<'_>,
    ) -> Result<Row, Failure> {
        let exchange = played.exchange();
        let counts = AttemptCounts::of(&self.arrivals);
        let ranks = setting.layout.processes.get();
        let model = models::exchange(setting, &exchange, &counts.by_rank(ranks))?;
        let row = self.timed(operation, model);
        let received =
            played.messages.receivers().into_iter().map(|rank| played.messages.received(rank)).max();
        Ok(Row {
            played: played.process,
            messages: exchange.count(),
            bytes: exchange.bytes(),
            received: received.unwrap_or(0),
            reversed: Some(Times::of(&self.reversed)),
            searched: counts.worst(played),
            ..row
        })
    }

    fn of_volume(
        &self,
        operation: &Operation,
        of: &Measurement,
        setting: &Setting<'_>,
    ) -> Result<Row, Failure> {
        let (messages, bytes) = (u64::from(of.messages), u64::from(of.bytes));
        let attempts = volume_attempts(of.order, of.messages);
        let row = self.timed(operation, models::volume(setting, messages, bytes, attempts)?);
        let worst = Worst { process: 1, received: of.messages, attempts };
        Ok(Row {
            messages,
            bytes: messages * bytes,
            received: of.messages,
            searched: Some(Searched { natural: worst, reversed: None }),
            ..row
        })
    }

    fn timed(&self, operation: &Operation, model: ModelledTimes) -> Row {
        Row {
            application: operation.application,
            name: operation.name.clone(),
            played: None,
            messages: 0,
            bytes: 0,
            received: 0,
            measured: Times::of(&self.natural),
            reversed: None,
            modelled: model.modelled,
            split: model.split,
            interval: model.interval,
            searched: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlong_measurement_is_reported() {
        let took = |seconds| Measured { took: Duration::from_secs_f64(seconds), ..Measured::default() };
        assert_eq!(beyond_budget(&[took(0.1), took(0.3)], 0.2), None);
        let note = beyond_budget(&[took(0.1), took(1.5), took(2.5)], 0.2).unwrap();
        assert!(
            note.starts_with("2 of 3 operations took longer than --seconds 0.2, 4.00 s in all"),
            "{note}"
        );
    }
}
