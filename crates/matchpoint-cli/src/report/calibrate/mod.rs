//! The reports of `matchpoint calibrate`: one format, one file.

mod chart;
mod charts;
pub mod html;
pub mod json;
pub mod terminal;

use matchpoint_calibrate::fit::Range;
use matchpoint_calibrate::fit::parameters::{Link, Parameters};
use matchpoint_calibrate::fit::rates::NodeRate;
use matchpoint_calibrate::machine::protocols;
use matchpoint_calibrate::raw::Raw;
use matchpoint_model::machine::Machine;

use crate::format::{bytes, digits, seconds};

/// What was measured, and what was made of it.
pub struct Calibration<'a> {
    /// What was measured.
    pub raw: &'a Raw,
    /// What was fitted.
    pub parameters: &'a Parameters,
    /// The file that it becomes.
    pub machine: &'a Machine,
}

/// The columns of [`rows`].
const HEADER: [&str; 7] = ["", "up to", "α", "", "R_b", "", "R_N"];

/// One for each protocol of each link.
fn rows(parameters: &Parameters) -> Vec<Vec<String>> {
    parameters.links.iter().flat_map(link_rows).collect()
}

fn link_rows(link: &Link) -> Vec<Vec<String>> {
    let names = protocols(link.segments.len());
    let row = |(index, segment): (usize, &matchpoint_calibrate::fit::protocols::Segment)| {
        let (alpha, beta) = (segment.alpha_s, segment.beta_s_per_byte);
        let node = link.node_rates.get(index).map_or_else(|| "·".to_owned(), node_rate);
        vec![
            format!("{} {}", link.placement.name(), names[index].key()),
            bytes(segment.bytes.1.into()),
            if alpha.value > 0.0 { seconds(alpha.value) } else { "0".to_owned() },
            margin(&alpha),
            if beta.value > 0.0 { rate(1.0 / beta.value) } else { "∞".to_owned() },
            margin(&beta),
            node,
        ]
    };
    link.segments.iter().enumerate().map(row).collect()
}

fn node_rate(rate_: &NodeRate) -> String {
    match rate_ {
        NodeRate::Limit(range) => format!("{} {}", rate(range.value), margin(range)),
        NodeRate::NotMet { .. } | NodeRate::NotToBeSeen => "∞".to_owned(),
    }
}

/// Bytes per second, in powers of ten as networks have them.
fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        small if small < 1e6 => format!("{} kB/s", digits(small / 1e3)),
        middle if middle < 1e9 => format!("{} MB/s", digits(middle / 1e6)),
        large => format!("{} GB/s", digits(large / 1e9)),
    }
}

/// How far the interval reaches, on its wider side.
fn margin(range: &Range) -> String {
    let wider = (range.high - range.value).max(range.value - range.low) / range.value;
    match wider * 100.0 {
        wide if !wide.is_finite() => "± ?".to_owned(),
        wide if wide >= 999.5 => "> 1000 %".to_owned(),
        wide => format!("± {} %", if wide < 0.995 { format!("{wide:.1}") } else { format!("{wide:.0}") }),
    }
}

/// Queue search in a sentence.
fn search(parameters: &Parameters) -> Option<String> {
    let search = parameters.search.as_ref()?;
    let gamma = search.gamma_s();
    let mut text = format!(
        "γ = {} {}: {} for each entry that is compared",
        seconds(gamma.value),
        margin(&gamma),
        seconds(search.attempt_s.value)
    );
    if let Some(share) = search.random_share.filter(|share| *share > 0.0) {
        text += &format!(
            "; random order costs {:.0} % of reversed order (one list searched from its beginning: 50 %)",
            share * 100.0
        );
    }
    Some(text)
}

/// Contention in a sentence.
fn contention(parameters: &Parameters) -> Option<String> {
    let delta = parameters.contention.as_ref()?.each_s;
    Some(format!("δ = {:.3e} s for each byte over a shared link, {}", delta.value, margin(&delta)))
}

/// Where the ranks were, in words.
fn where_(raw: &Raw) -> String {
    let nodes = raw.head.ranks.nodes();
    let ranks = raw.head.ranks.0.len();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("{} on {}", plural(ranks, "rank"), plural(nodes.len(), "node"))
}
