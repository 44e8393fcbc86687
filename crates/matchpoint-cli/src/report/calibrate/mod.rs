//! The reports of `matchpoint calibrate`, one file per format.

mod charts;
pub mod document;
pub mod json;

use matchpoint_calibrate::fit::Range;
use matchpoint_calibrate::fit::parameters::{Link, LogP, Parameters, Search};
use matchpoint_calibrate::fit::protocols::Segment;
use matchpoint_calibrate::fit::rates::NodeRate;
use matchpoint_calibrate::raw::Raw;
use matchpoint_model::Protocol;
use matchpoint_model::machine::Machine;
use matchpoint_replay::format::{bytes, count, counted, digits, seconds};

use crate::report::document::Rows;

pub struct Calibration<'a> {
    pub raw: &'a Raw,
    pub parameters: &'a Parameters,
    pub machine: &'a Machine,
}

fn protocols(parameters: &Parameters) -> Rows<(&Link, usize, &Segment)> {
    let all = parameters
        .links
        .iter()
        .flat_map(|link| link.segments.iter().enumerate().map(move |(at, segment)| (link, at, segment)));
    // If the time per byte is below the scatter of the times, the rate is not determined.
    Rows::of(all)
        .column("", |(link, _, of)| format!("{} {}", link.placement.name(), of.protocol.key()))
        .column("up to", |(link, at, _)| bytes(largest(link, *at).into()))
        .column("α", |(.., of)| match of.alpha_s.value {
            positive if positive > 0.0 => seconds(positive),
            _ => "0".to_owned(),
        })
        .column("", |(.., of)| margin(&of.alpha_s))
        .column("R_b", |(.., of)| match of.beta_s_per_byte.may_be_zero() {
            true => "not determined".to_owned(),
            false => rate(1.0 / of.beta_s_per_byte.value),
        })
        .column("", |(.., of)| match of.beta_s_per_byte.may_be_zero() {
            true => String::new(),
            false => margin(&of.beta_s_per_byte),
        })
        .column("R_N", |(link, at, _)| link.node_rates.get(*at).map_or_else(|| "·".to_owned(), node_rate))
}

/// The largest measured message of a protocol, or the largest message that was tested for rendezvous.
fn largest(link: &Link, index: usize) -> u32 {
    let segment = &link.segments[index];
    match segment.protocol {
        Protocol::Eager => link.at_once_max_bytes.unwrap_or(segment.bytes.1),
        Protocol::Short | Protocol::Rendezvous => segment.bytes.1,
    }
}

fn node_rate(rate_: &NodeRate) -> String {
    match rate_ {
        NodeRate::Limit(range) => format!("{} {}", rate(range.value), margin(range)),
        NodeRate::NotMet { .. } | NodeRate::Latency => "∞".to_owned(),
        NodeRate::NotMeasured => "·".to_owned(),
    }
}

fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        small if small < 1e6 => format!("{} kB/s", digits(small / 1e3)),
        middle if middle < 1e9 => format!("{} MB/s", digits(middle / 1e6)),
        large => format!("{} GB/s", digits(large / 1e9)),
    }
}

fn margin(range: &Range) -> String {
    let wider = (range.high - range.value).max(range.value - range.low) / range.value;
    match wider * 100.0 {
        wide if !wide.is_finite() => "± ?".to_owned(),
        wide if wide >= 999.5 => "> ± 1000 %".to_owned(),
        wide => format!("± {} %", if wide < 0.995 { format!("{wide:.1}") } else { format!("{wide:.0}") }),
    }
}

fn search(parameters: &Parameters) -> Option<String> {
    let search = parameters.search.as_ref()?;
    let gamma = search.gamma_s();
    let mut text = format!(
        "γ = {} {}: {} per attempt{}",
        seconds(gamma.value),
        margin(&gamma),
        seconds(search.attempt_s.value),
        by_messages(search)
    );
    if let Some(share) = search.random_share.filter(|share| *share > 0.0) {
        text += &format!("; random order costs {:.0} % of reversed order (50 % for one list)", share * 100.0);
    }
    Some(text)
}

fn by_messages(search: &Search) -> String {
    let known = search.gamma_by_messages();
    match &known[..] {
        [] | [_] => String::new(),
        [(few, warm), .., (many, cold)] => format!(
            " ({} among {}, {} among {})",
            seconds(2.0 * warm.value),
            count((*few).into()),
            seconds(2.0 * cold.value),
            count((*many).into())
        ),
    }
}

fn logp(parameters: &Parameters) -> Option<String> {
    let LogP { overhead_s, gap_s } = parameters.logp?;
    Some(format!(
        "o = {} {}, per send; g = {} {}, between two messages of 8 bytes",
        seconds(overhead_s.value),
        margin(&overhead_s),
        seconds(gap_s.value),
        margin(&gap_s)
    ))
}

fn contention(parameters: &Parameters) -> Option<String> {
    let delta = parameters.contention.as_ref()?.each_s;
    Some(format!("δ = {:.3e} s per byte over a shared link, {}", delta.value, margin(&delta)))
}

fn where_(raw: &Raw) -> String {
    let nodes = raw.head.ranks.nodes();
    let ranks = raw.head.ranks.0.len();
    format!("{} on {}", counted(ranks as u64, "rank"), counted(nodes.len() as u64, "node"))
}
