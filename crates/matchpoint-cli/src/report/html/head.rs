//! The beginning of the report: answer, key facts, advice.

use std::fmt::Write;

use matchpoint_replay::analysis::advice::Kind;
use matchpoint_replay::analysis::derived::{late_share, ratio, wildcard_receives};
use matchpoint_replay::analysis::verdict::{Answer, NEGLIGIBLE, WORTHWHILE};
use matchpoint_replay::format::{bytes, capital, count, counted, seconds, share, share_range};

use crate::report::escape::{escape, prose};
use crate::report::{Report, document};

/// Decades of the gauge, which begins at 0.01 %.
const GAUGE_DECADES: f64 = 4.0;
const GAUGE_FROM: f64 = 1e-4;

pub fn trace(report: &Report<'_>) -> String {
    let trace = &report.measurements.trace;
    let ranks = counted(u64::from(trace.ranks), "rank");
    let known = [trace.library.as_deref(), trace.command.as_deref(), trace.started.as_deref()];
    let facts = [trace.format.as_str(), &ranks].into_iter().chain(known.into_iter().flatten());
    let facts: Vec<String> = facts.map(|fact| format!("<span>{}</span>", escape(fact))).collect();
    format!("<b>{}</b> {}", escape(&trace.path), facts.join(" · "))
}

pub fn verdict(report: &Report<'_>) -> String {
    let verdict = &report.verdict;
    let (class, word) = match verdict.answer {
        Answer::Unknown => ("unknown", Answer::Unknown.word()),
        Answer::No | Answer::NoMessages => ("no", "No"),
        Answer::Little => ("little", "A little"),
        Answer::Yes => ("yes", "Yes"),
    };
    // The answer has a separate line, so the sentence omits the answer.
    let sentence = match verdict.answer {
        Answer::NoMessages => &verdict.text,
        _ => verdict.text.split_once(": ").map_or(verdict.text.as_str(), |(_, sentence)| sentence),
    };
    let measured = verdict.high > 0.0;
    format!(
        "<div class=\"answer {class}\"><p class=\"word\">{word}</p>\
         <p class=\"sentence\" id=\"verdict\" data-text=\"{}\">{}</p>{}</div>",
        escape(&verdict.text),
        prose(&capital(sentence)),
        if measured { gauge(report) } else { String::new() }
    )
}

fn gauge(report: &Report<'_>) -> String {
    let verdict = &report.verdict;
    let recorded = range(verdict.low, verdict.high, verdict.share);
    let legend = if verdict.high < GAUGE_FROM {
        format!(
            "The share of the run time, {}, is too small for this scale.",
            share_range(verdict.low, verdict.high)
        )
    } else {
        "Share of the run time, from warm to cold caches.".to_owned()
    };
    let mut ticks = String::new();
    for (value, label) in
        [(1e-4, "0.01 %"), (1e-3, "0.1 %"), (NEGLIGIBLE, "1 %"), (WORTHWHILE, "5 %"), (1.0, "100 %")]
    {
        let _ = write!(ticks, "<span style=\"left:{:.2}%\">{label}</span>", gauge_position(value));
    }
    format!(
        "<div class=\"gauge\" role=\"img\" aria-label=\"Share of the run time, {}\"><div class=\"track\">\
         <i class=\"zone no\" style=\"left:0;width:{no:.2}%\"></i>\
         <i class=\"zone little\" style=\"left:{no:.2}%;width:{little:.2}%\"></i>\
         <i class=\"zone yes\" style=\"left:{yes:.2}%;right:0\"></i>\
         {recorded}</div><div class=\"ticks\">{ticks}</div><p>{legend}</p></div>",
        escape(&share_range(verdict.low, verdict.high)),
        no = gauge_position(NEGLIGIBLE),
        little = gauge_position(WORTHWHILE) - gauge_position(NEGLIGIBLE),
        yes = gauge_position(WORTHWHILE),
    )
}

/// A bar from the low end to the high end, with a mark at the share. Empty below the scale.
fn range(low: f64, high: f64, share: f64) -> String {
    if high < GAUGE_FROM {
        return String::new();
    }
    let (from, to) = (gauge_position(low), gauge_position(high));
    let point = match share {
        share if share >= GAUGE_FROM => {
            format!("<i class=\"point\" style=\"left:{:.2}%\"></i>", gauge_position(share))
        }
        _ => String::new(),
    };
    let open = if low < GAUGE_FROM { " open" } else { "" };
    format!(
        "<i class=\"range{open}\" style=\"left:{from:.2}%;width:{:.2}%\"></i>{point}",
        (to - from).max(0.4)
    )
}

/// Position on the logarithmic gauge, in percent of its width.
fn gauge_position(share: f64) -> f64 {
    ((share.max(1e-12).log10() + GAUGE_DECADES) / GAUGE_DECADES * 100.0).clamp(0.0, 100.0)
}

pub fn facts(report: &Report<'_>) -> String {
    let measurements = report.measurements;
    let totals = &measurements.totals;
    let (any_source, _) = wildcard_receives(totals);
    let longest = |lengths: &mut dyn Iterator<Item = u64>| count(lengths.max().unwrap_or(0));
    let facts = [
        ("Ranks", count(measurements.trace.ranks.into())),
        ("Run time", seconds(measurements.elapsed_s)),
        ("Calls", count(measurements.trace.calls)),
        ("Messages", count(totals.sends)),
        ("Data", bytes(totals.bytes)),
        ("Late receives", share(late_share(totals))),
        ("MPI_ANY_SOURCE", share(ratio(any_source as f64, totals.receives as f64))),
        ("Longest posted queue", longest(&mut measurements.ranks.iter().map(|rank| rank.posted.length_max))),
        (
            "Longest unexpected queue",
            longest(&mut measurements.ranks.iter().map(|rank| rank.unexpected.length_max)),
        ),
    ];
    document::html::facts("facts", &facts)
}

pub fn advice(report: &Report<'_>) -> String {
    let list = |kind: Kind| {
        let of_kind = report.advice.iter().filter(move |advice| advice.kind == kind);
        of_kind
            .map(|advice| format!("<li><h3>{}</h3><p>{}</p></li>", prose(&advice.title), prose(&advice.text)))
            .collect::<String>()
    };
    let (change, limitations) = (list(Kind::Change), list(Kind::Limitation));
    let change = if change.is_empty() { "<li><p>No advice.</p></li>".to_owned() } else { change };
    let limitations = if limitations.is_empty() {
        String::new()
    } else {
        format!("<h2 class=\"second\">Limitations</h2><ul class=\"advice limitations\">{limitations}</ul>")
    };
    format!("<ol class=\"advice\">{change}</ol>{limitations}")
}
