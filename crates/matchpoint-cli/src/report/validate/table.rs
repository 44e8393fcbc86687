//! Common parts of the terminal and HTML reports.

use matchpoint_calibrate::validation::{Application, Judgement, Row, Step, Times, Validated, Worst};
use matchpoint_replay::format::{bytes, count, seconds};

use crate::report::document::Rows;

const NOTHING: &str = "·";

pub const ERRORS: &str = "Mean of |modelled − measured| ÷ measured over the operations; below it the mean of \
                          (modelled − measured) ÷ measured, positive if the model is too slow. within: operations \
                          with a measured time within the interval of the model with contention. HVPP: \
                          HighVolumePingPong.";

pub const TIMES: &str = "measured: an uninterrupted repetition of the slowest rank. quartiles: of all repetitions. \
                         reversed: with receives in reversed order. *: below the quartiles, because most repetitions \
                         were interrupted.";

pub const SEARCHES: &str = "n: messages received by the process with most attempts. compared: attempts of a list \
                            there, in arrival order. reversed: at the process with most attempts if receives are in \
                            reversed order.";

pub fn errors(validated: &Validated) -> Rows<(&Judgement, bool)> {
    let lines = validated.judgements.iter().flat_map(|of| [(of, false), (of, true)]);
    let rows = Rows::of(lines).column("application", |(of, is_signed)| match is_signed {
        true => format!("{} of {} within", of.within, of.rows),
        false => of.application.title().replace("HighVolumePingPong", "HVPP"),
    });
    Step::ALL.into_iter().fold(rows, |rows, step| {
        rows.column(step.title(), |(of, is_signed)| match (of.errors[step as usize], is_signed) {
            (Some(off), true) => percent(off.signed, true),
            (Some(off), false) => percent(off.absolute, false),
            (None, true) => String::new(),
            (None, false) => NOTHING.to_owned(),
        })
    })
}

fn percent(share: f64, signed: bool) -> String {
    let percent = share * 100.0;
    if signed { format!("{percent:+.0} %") } else { format!("{percent:.0} %") }
}

fn operations(validated: &Validated, is_shown: fn(Application) -> bool) -> Rows<&Row> {
    Rows::of(validated.rows.iter().filter(|row| is_shown(row.application)))
        .column("operation", |row| name(row))
}

pub fn measured(validated: &Validated, is_shown: fn(Application) -> bool) -> Rows<&Row> {
    operations(validated, is_shown)
        .column("messages", |row| count(row.messages))
        .column("bytes", |row| bytes(row.bytes))
        .column("measured", |row| typical(&row.measured))
        .column("quartiles", |Row { measured: of, .. }| {
            format!("{} to {}", seconds(of.low_s), seconds(of.high_s))
        })
        .column("reversed", |row| row.reversed.as_ref().map_or(NOTHING.to_owned(), typical))
}

pub fn modelled(validated: &Validated, is_shown: fn(Application) -> bool) -> Rows<&Row> {
    Step::ALL.into_iter().fold(operations(validated, is_shown), |rows, step| {
        rows.column(step.title(), |row| row.modelled[step as usize].map_or(NOTHING.to_owned(), seconds))
    })
}

fn typical(times: &Times) -> String {
    format!("{}{}", seconds(times.typical_s), if times.typical_s < times.low_s { " *" } else { "" })
}

/// `SpMV 2`, or `1,000 × 8 B, reversed`.
pub fn name(row: &Row) -> String {
    match row.application {
        Application::VolumeEqual => format!("{}, equal", row.name),
        Application::VolumeReversed => format!("{}, reversed", row.name),
        Application::VolumeRandom => format!("{}, random", row.name),
        // Sizes are whole numbers of KiB.
        Application::Gather => format!("gather {}", row.name.replace(".00 ", " ").replace(".0 ", " ")),
        other => format!("{} {}", other.title(), row.name),
    }
}

/// A line for each operation with both orders of receives.
pub fn searches(validated: &Validated) -> Rows<(&Row, Worst, Worst)> {
    let all = validated.rows.iter().filter_map(|row| {
        let of = row.searched?;
        Some((row, of.natural, of.reversed?))
    });
    let process = |worst: &Worst| count(u64::from(worst.process));
    let n = |of: &Worst| u64::from(of.received);
    Rows::of(all)
        .column("operation", |(row, ..)| name(row))
        .column("n", |(_, natural, _)| count(n(natural)))
        .column("n² ÷ 3", |(_, natural, _)| count(n(natural) * n(natural) / 3))
        .column("compared", |(_, natural, _)| count(natural.attempts))
        .column("at process", |(_, natural, _)| process(natural))
        .column("reversed", |(.., reversed)| count(reversed.attempts))
        .column("at process", |(.., reversed)| process(reversed))
}

pub fn facts(validated: &Validated) -> Vec<(&'static str, String)> {
    let (of, job) = (&validated.machine.provenance, &validated.job);
    let load = job.load.map_or(String::new(), |load| format!(", load {load} before"));
    vec![
        ("Of", validated.subject.clone()),
        ("Machine", format!("{}: {}; {}; {}", validated.machine.name, of.host, of.mpi, of.by())),
        (
            "Measured",
            format!(
                "{} on {}, {}{load}; {}",
                job.command.join(" "),
                job.nodes.join(", "),
                job.host,
                job.started
            ),
        ),
    ]
}

pub fn answer(validated: &Validated) -> String {
    let products = validated.judgements.iter().filter(|of| of.application <= Application::Spgemm);
    let answers: Vec<String> = products.filter_map(answer_of).collect();
    let of_levels = if answers.is_empty() {
        "No operation on the levels needs a message.".to_owned()
    } else {
        format!("Mean errors of modelled times: {}.", answers.join("; "))
    };
    let rest = rest(validated);
    if rest.is_empty() { of_levels } else { format!("{of_levels} Other operations: {rest}.") }
}

fn rest(validated: &Validated) -> String {
    let off = |is_selected: fn(Application) -> bool| -> Vec<f64> {
        let selected = validated.judgements.iter().filter(|of| is_selected(of.application));
        selected.filter_map(|of| Some(closest(of)?.1)).collect()
    };
    let gathers = off(|application| application == Application::Gather);
    let parts = [("gather", gathers), ("HighVolumePingPong", off(Application::is_volume))];
    let sentences = parts.iter().filter(|(_, off)| !off.is_empty()).map(|(name, off)| {
        let least = percent(off.iter().copied().fold(f64::INFINITY, f64::min), false);
        let most = percent(off.iter().copied().fold(0.0, f64::max), false);
        let range = if least == most { most } else { format!("{} to {most}", least.trim_end_matches(" %")) };
        format!("{name} {range} with its closest model")
    });
    sentences.collect::<Vec<_>>().join("; ")
}

/// The closest model, and its error. Among equal models, the most detailed.
fn closest(judgement: &Judgement) -> Option<(Step, f64)> {
    let steps = Step::ALL.into_iter().zip(judgement.errors).rev();
    let sentences = steps.filter_map(|(step, off)| Some((step, off?.absolute)));
    sentences.min_by_key(|(_, absolute)| (absolute * 1e3).round() as u64)
}

fn answer_of(judgement: &Judgement) -> Option<String> {
    let (step, least) = closest(judgement)?;
    let closest = format!("{} {} with {}", percent(least, false), direction(judgement, step), step.title());
    let title = judgement.application.title();
    Some(match judgement.errors[Step::Contention as usize] {
        Some(_) if step == Step::Contention => format!("{title}: {closest}, which has all parameters"),
        Some(all) => format!(
            "{title}: {} {} with all parameters, {closest}, the closest model",
            percent(all.absolute, false),
            direction(judgement, Step::Contention)
        ),
        None => format!("{title}: {closest}, the closest model; the machine lacks parameters of others"),
    })
}

fn direction(judgement: &Judgement, step: Step) -> &'static str {
    match judgement.errors[step as usize] {
        Some(off) if off.signed > 0.9 * off.absolute => "too long",
        Some(off) if off.signed < -0.9 * off.absolute => "too short",
        _ => "off",
    }
}

pub fn reasons(validated: &Validated) -> Vec<String> {
    let of = |of: &Judgement| {
        let title = of.application.title();
        of.reasons.iter().map(move |reason| format!("{title}, {reason}")).collect::<Vec<_>>()
    };
    validated.judgements.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use matchpoint_calibrate::validation::ModelError;

    #[test]
    fn time_below_quartiles_is_marked() {
        let times =
            |typical_s| Times { typical_s, median_s: 4e-3, low_s: 2e-3, high_s: 8e-3, repetitions: 9 };
        assert_eq!(typical(&times(1e-3)), format!("{} *", seconds(1e-3)));
        assert_eq!(typical(&times(3e-3)), seconds(3e-3));
    }

    #[test]
    fn closest_model_has_most_knowledge_among_equals() {
        let off = |absolute| Some(ModelError { absolute, signed: absolute });
        let errors = [off(0.4), off(0.3), None, off(0.3001), off(0.5), None];
        let of =
            Judgement { application: Application::Gather, rows: 3, errors, within: 0, reasons: Vec::new() };
        assert_eq!(closest(&of).map(|(step, _)| step), Some(Step::Queue));
    }
}
