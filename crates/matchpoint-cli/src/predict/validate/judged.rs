//! Errors of models, and reasons why a more detailed model is not better.

use matchpoint_calibrate::validation::{Application, Judgement, ModelError, Row, Step};
use matchpoint_replay::analysis::derived::ratio;
use matchpoint_replay::format::digits;

/// Errors that differ by less, half of the last shown digit, are equal.
const SAME: f64 = 0.005;

pub(super) fn judge(rows: &[Row]) -> Vec<Judgement> {
    let of = |application| rows.iter().filter(|row| row.application == application).collect::<Vec<_>>();
    let all = Application::ALL.into_iter().map(|application| (application, of(application)));
    all.filter(|(_, rows)| !rows.is_empty())
        .map(|(application, rows)| judgement(application, &rows))
        .collect()
}

fn judgement(application: Application, rows: &[&Row]) -> Judgement {
    let errors: [Option<ModelError>; 6] = std::array::from_fn(|at| off(rows, at));
    let within = |row: &&&Row| (row.interval.0..=row.interval.1).contains(&row.measured.typical_s);
    let is_worse = |at: usize| {
        let (before, error) = (errors[at - 1], errors[at]);
        before.zip(error).filter(|(before, error)| error.absolute > before.absolute + SAME)
    };
    let reasons = (1..errors.len()).filter_map(|at| is_worse(at).map(|(before, _)| reason(rows, at, before)));
    Judgement {
        application,
        rows: rows.len(),
        errors,
        within: rows.iter().filter(within).count(),
        reasons: reasons.collect(),
    }
}

/// The error of a model. `None`: the machine lacks a parameter for some row.
fn off(rows: &[&Row], at: usize) -> Option<ModelError> {
    let relative = |row: &&Row| row.modelled[at].map(|time| time / row.measured.typical_s - 1.0);
    let all: Option<Vec<f64>> = rows.iter().map(relative).collect();
    let all = all?;
    let mean = |of: fn(f64) -> f64| ratio(all.iter().copied().map(of).sum(), all.len() as f64);
    Some(ModelError { absolute: mean(f64::abs), signed: mean(|error| error) })
}

fn reason(rows: &[&Row], at: usize, before: ModelError) -> String {
    let step = Step::ALL[at];
    let above = rows.iter().filter(|row| row.modelled[at - 1] > Some(row.measured.typical_s)).count();
    let state = format!("the previous model was too slow in {above} of {} rows", rows.len());
    let title = step.title();
    match step {
        Step::Queue => format!("{title}: {state}{}.", entries(rows)),
        Step::Attempts => {
            format!("{title}: {} ({} of the entries of γ n²).", less_or_more(rows, at), compared(rows))
        }
        _ if before.signed > 0.0 => format!("{title}: {state}, and this step adds time."),
        _ => format!("{title}: with its parameters, messages are faster than measured."),
    }
}

fn less_or_more(rows: &[&Row], at: usize) -> &'static str {
    let sum = |at: usize| rows.iter().filter_map(|row| row.modelled[at]).sum::<f64>();
    match sum(at) < sum(at - 1) {
        true => "the excess of γ n² had compensated for missing costs, and fewer entries were compared",
        false => "more entries were compared, and the previous model was too slow",
    }
}

fn entries(rows: &[&Row]) -> String {
    match rows.iter().any(|row| row.received > 1) {
        false => ", and no rank received more than one message, so there was no search".to_owned(),
        true => format!("; {} of the entries of γ n² were compared", compared(rows)),
    }
}

/// Mean attempts ÷ (n² ÷ 2), over rows with counted attempts.
fn compared(rows: &[&Row]) -> String {
    let counted = rows.iter().filter_map(|row| row.searched.map(|searched| searched.natural));
    let (compared, bound) = counted.fold((0.0, 0.0), |(compared, bound), worst| {
        let n = f64::from(worst.received);
        (compared + worst.attempts as f64, bound + n * n / 2.0)
    });
    format!("{} %", digits(ratio(compared, bound) * 100.0))
}

#[cfg(test)]
mod tests {
    use matchpoint_model::Split;

    use super::*;
    use matchpoint_calibrate::validation::{Searched, Times, Worst};

    fn row(measured_s: f64, modelled: [Option<f64>; 6]) -> Row {
        let worst = Worst { process: 0, received: 10, attempts: 25 };
        Row {
            application: Application::Spmv,
            name: "0".to_owned(),
            played: None,
            messages: 20,
            bytes: 160,
            received: 10,
            measured: Times::of(&[vec![measured_s]]),
            reversed: None,
            modelled,
            split: Split::default(),
            interval: (0.9, 1.5),
            searched: Some(Searched { natural: worst, reversed: None }),
        }
    }

    #[test]
    fn errors_are_relative_to_measured_times() {
        let modelled = |time| [Some(time), None, Some(time), Some(time), Some(time), Some(time)];
        let judged = judge(&[row(1.0, modelled(1.5)), row(2.0, modelled(1.0))]);
        let [of] = &judged[..] else { panic!("{judged:?}") };
        assert_eq!(of.errors[0], Some(ModelError { absolute: 0.5, signed: 0.0 }));
        assert_eq!(of.errors[1], None, "the machine lacks a parameter");
        assert_eq!((of.rows, of.within), (2, 1));
        assert_eq!(of.reasons, [""; 0]);
    }

    #[test]
    fn worse_model_is_explained() {
        let judged = judge(&[row(1.0, [0.9, 0.8, 1.1, 1.6, 1.7, 1.15].map(Some))]);
        let [max_rate, queue, contention] = &judged[0].reasons[..] else { panic!("{judged:?}") };
        assert!(max_rate.starts_with("max-rate: with its parameters, messages are faster"), "{max_rate}");
        assert!(queue.contains("in 1 of 1 rows; 50.0 % of the entries of γ n² were compared"), "{queue}");
        assert!(contention.starts_with("+ contention: the previous model was too slow"), "{contention}");
        let hidden = judge(&[row(1.0, [0.2, 0.2, 0.2, 1.0, 1.0, 0.6].map(Some))]);
        assert!(hidden[0].reasons[0].starts_with("+ attempts: the excess of γ n²"), "{hidden:?}");
    }
}
