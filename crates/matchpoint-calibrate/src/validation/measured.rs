//! Runs the communication operations of a prediction with MPI, and collects the measured times.

use std::time::{Duration, Instant};

use matchpoint_model::Setting;

use super::models::{self, ModelledTimes};
use super::played::{Played, SEED};
use super::searched::AttemptCounts;
use super::validated::{Application, Row, Searched, Times, Worst};
use crate::CalibrateError;
use crate::conversation::Conversation;
use crate::irregular::Arrived;
use crate::plan::{BATCH_S, Measurement, PostOrder, ROUNDS};

#[derive(Default)]
pub struct Measured {
    /// Times in seconds, by round.
    natural: Vec<Vec<f64>>,
    reversed: Vec<Vec<f64>>,
    arrivals: Vec<Vec<Arrived>>,
    pub took: Duration,
}

/// Measures all operations in rounds of random order. `goes_on` gets the number of completed measurements, their total,
/// and the next operation.
///
/// # Errors
/// The benchmark ends, or `goes_on` returns false.
pub fn all(
    benchmark: &mut Conversation,
    operations: &[Operation],
    budget_s: f64,
    goes_on: &mut dyn FnMut(usize, usize, &Operation) -> bool,
) -> Result<Vec<Measured>, CalibrateError> {
    let mut all: Vec<Measured> = operations.iter().map(|_| Measured::default()).collect();
    let each_s = budget_s / f64::from(ROUNDS);
    let total = operations.len() * ROUNDS as usize;
    let mut done = 0;
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..operations.len()).collect();
        fastrand::Rng::with_seed(SEED + u64::from(round)).shuffle(&mut order);
        for at in order {
            let (operation, into) = (&operations[at], &mut all[at]);
            if !goes_on(done, total, operation) {
                return Err(CalibrateError("interrupted".to_owned()));
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
    pub fn row(&self, operation: &Operation, setting: &Setting<'_>) -> Result<Row, CalibrateError> {
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
    ) -> Result<Row, CalibrateError> {
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
    ) -> Result<Row, CalibrateError> {
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

/// An operation that the ranks execute, and that the models predict.
pub struct Operation {
    pub application: Application,
    pub name: String,
    pub asked: Asked,
}

pub enum Asked {
    Exchange(Played),
    /// Algorithm 1 of the paper, between ranks 0 and 1.
    Volume(Measurement),
}

/// Attempts of a list for n messages of HighVolumePingPong. In random order, the mean.
pub fn volume_attempts(order: PostOrder, messages: u32) -> u64 {
    let n = u64::from(messages);
    match order {
        PostOrder::Equal => n,
        PostOrder::Reversed => n * (n + 1) / 2,
        PostOrder::Random => n * (n + 3) / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all orders of n messages, a list compares n (n + 3) ÷ 4 entries on average.
    #[test]
    fn volume_attempts_follow_order() {
        let of =
            [PostOrder::Equal, PostOrder::Reversed, PostOrder::Random].map(|order| volume_attempts(order, 5));
        assert_eq!(of, [5, 15, 10]);
        assert_eq!(volume_attempts(PostOrder::Random, 1), 1);
    }
}
