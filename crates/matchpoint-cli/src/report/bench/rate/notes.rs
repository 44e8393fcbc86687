//! Notes and extra tables of the message-rate report.

use matchpoint_bench::rate::{NO_MATCHING, Rate, Rates, Scenario};
use matchpoint_replay::format::digits;

use super::{charts, label};
use crate::report::bench::tables::substitute;
use crate::report::document::Rows;

pub fn legend(rates: &Rates) -> String {
    let mut legend =
        "Work: requested with --work-ns. The thread that delivers a message multiplies for about that time."
            .to_owned();
    if rates.options.engines.iter().any(|name| name == NO_MATCHING) {
        legend += &format!(
            " {NO_MATCHING}: no matching, one thread delivers; the upper bound of single-threaded engines."
        );
    }
    legend
}

/// Best rate of several threads ÷ best rate of one thread. Empty if either is missing.
pub fn paid(rates: &Rates) -> Option<Rows<(usize, u32)>> {
    let paid = |&(window, work_ns): &(usize, u32), scenario: Scenario| {
        several_by_one(rates.rates.iter().filter(|rate| {
            (rate.window, rate.work_ns, rate.scenario) == (window, work_ns, scenario)
                && rate.full.is_none()
                && rate.wrong.is_none()
        }))
    };
    let (charts, scenarios) = (charts(rates), &rates.options.scenarios);
    let is_paid = |chart| scenarios.iter().any(|&scenario| !paid(chart, scenario).is_empty());
    charts.iter().any(is_paid).then(|| {
        let rows = Rows::of(charts).column("", |(window, work_ns)| format!("window {window}, {work_ns} ns"));
        let cell = |scenario| move |chart: &(usize, u32)| paid(chart, scenario);
        scenarios.iter().fold(rows, |rows, &scenario| rows.column(scenario.title(), cell(scenario)))
    })
}

fn several_by_one<'a>(here: impl Iterator<Item = &'a Rate>) -> String {
    let (mut several, mut alone): (Option<&Rate>, Option<&Rate>) = (None, None);
    for rate in here.filter(|rate| rate.engine != NO_MATCHING) {
        let best = match rate.threads {
            Some(2..) => &mut several,
            _ => &mut alone,
        };
        if best.is_none_or(|best| best.rate.median < rate.rate.median) {
            *best = Some(rate);
        }
    }
    let (Some(several), Some(alone)) = (several, alone) else { return String::new() };
    let overlap = several.rate.p25 <= alone.rate.p75 && alone.rate.p25 <= several.rate.p75;
    let ratio = digits(several.rate.median / alone.rate.median.max(f64::MIN_POSITIVE));
    format!("{}{ratio} ({})", if overlap { "≈ " } else { "" }, several.threads.unwrap_or(0))
}

pub fn counted(rates: &Rates) -> Vec<(String, String)> {
    let note = |rate: &Rate| {
        let counts = rate.counted.iter().filter(|(_, count)| *count > 0.0);
        let counts: Vec<String> = counts.map(|(name, count)| format!("{name} {}", digits(*count))).collect();
        let Rate { window, work_ns, .. } = rate;
        let what =
            || format!("{}, {}, window {window}, work {work_ns} ns", label(rate), rate.scenario.title());
        (!counts.is_empty()).then(|| (what(), counts.join(", ")))
    };
    rates.rates.iter().filter_map(note).collect()
}

pub fn substitutes(rates: &Rates) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for sentence in rates.rates.iter().filter_map(|rate| substitute(&rate.engine, rate.substitute.as_deref()))
    {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

pub fn here(rates: &Rates) -> String {
    let options = &rates.options;
    let is_more = |&window: &usize| options.messages_in(window) > options.messages;
    format!(
        "{} processors; {} messages in a sequence{}, {} sequences in a repetition, {} repetitions, {} receives in \
         front{}. Receives are posted before the time begins; it ends when the last message is delivered.",
        rates.processors,
        options.messages,
        if options.windows.iter().any(is_more) { ", as many times that as fit into a window" } else { "" },
        options.repeats,
        options.repetitions,
        options.depth,
        if options.cold { ", caches flushed before messages arrive" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use matchpoint_bench::statistics::RateSpread;

    use super::*;

    fn rate(engine: &str, threads: Option<usize>, median: f64) -> Rate {
        Rate {
            window: 128,
            messages: 100,
            work_ns: 0,
            scenario: Scenario::NoConflict,
            engine: engine.to_owned(),
            substitute: None,
            threads,
            rate: RateSpread { median, p25: median - 1.0, p75: median + 1.0 },
            samples: 9,
            counted: Vec::new(),
            full: None,
            wrong: None,
        }
    }

    #[test]
    fn thread_rates_are_compared_with_best_single() {
        let mut rates = vec![
            rate(NO_MATCHING, None, 500.0),
            rate("list", None, 100.0),
            rate("parallel", Some(1), 200.0),
            rate("parallel", Some(2), 150.0),
        ];
        assert_eq!(several_by_one(rates.iter()), "0.750 (2)");
        rates.push(rate("parallel", Some(4), 400.0));
        assert_eq!(several_by_one(rates.iter()), "2.00 (4)");
        assert_eq!(several_by_one(rates[..3].iter()), "", "no engine has several");
    }
}
