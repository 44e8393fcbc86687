//! Conversion of the parameters to the file of a machine.

use matchpoint_model::Protocol;
use matchpoint_model::estimate::ParameterEstimate;
use matchpoint_model::machine::{GammaAt, Machine, Provenance};

use crate::fit::Range;
use crate::fit::parameters::{Link, Parameters};
use crate::fit::protocols::Segment;
use crate::fit::rates::NodeRate;
use crate::fit::robust::CONFIDENCE;
use crate::raw::Raw;

pub fn machine(name: &str, who: &str, raw: &Raw, parameters: &Parameters) -> Machine {
    let mut machine = Machine::new(name, provenance(who, raw, parameters));
    let nodes = raw.head.ranks.nodes();
    machine.node.sockets = nodes.first().map(|node| node[0].packages).filter(|&packages| packages > 0);
    // On one node, the number of started processes does not show the processes per node.
    let is_several = nodes.len() > 1;
    machine.node.processes = nodes.iter().map(|node| node.len() as u32).max().filter(|_| is_several);
    for link in &parameters.links {
        add(&mut machine, link);
    }
    if let Some(search) = &parameters.search {
        machine.queue_search.gamma_s = seconds(search.gamma_s());
        let at = |(messages, gamma_s)| Some(GammaAt { messages, gamma_s: seconds(gamma_s)? });
        machine.queue_search.by_messages = search.gamma_by_messages().into_iter().filter_map(at).collect();
    }
    machine.contention.delta_s_per_byte =
        parameters.contention.as_ref().and_then(|cost| seconds(cost.each_s));
    machine.logp.overhead_s = parameters.logp.and_then(|logp| seconds(logp.overhead_s));
    machine.logp.gap_s = parameters.logp.and_then(|logp| seconds(logp.gap_s));
    machine
}

fn add(machine: &mut Machine, found: &Link) {
    let link = machine.link_mut(found.placement);
    link.eager_max_bytes = found.at_once_max_bytes.map(u64::from);
    for (index, segment) in found.segments.iter().enumerate() {
        let is_last = index + 1 == found.segments.len();
        let largest = (!is_last).then_some(u64::from(segment.bytes.1));
        match segment.protocol {
            Protocol::Short => link.short_max_bytes = largest,
            // Without a test, the fitted sizes determine the limit.
            Protocol::Eager => link.eager_max_bytes = link.eager_max_bytes.or(largest),
            Protocol::Rendezvous => {}
        }
        let transport = link.transport_mut(segment.protocol);
        transport.alpha_s = seconds(segment.alpha_s);
        transport.rate_bytes_per_s = rate(segment);
        transport.node_rate_bytes_per_s = found.node_rates.get(index).and_then(node_rate);
    }
}

/// `None` if the interval is unbounded: without an interval, the value would count as exact.
fn seconds(range: Range) -> Option<ParameterEstimate> {
    range.is_bounded().then(|| ParameterEstimate::within(range.value, range.low, range.high))
}

/// If the time per byte may be 0, the smallest rate that fits. `None` if any rate fits, or if the interval is
/// unbounded.
fn rate(segment: &Segment) -> Option<ParameterEstimate> {
    let beta = segment.beta_s_per_byte;
    if beta.high <= 0.0 || !beta.is_bounded() {
        return None;
    }
    let (least, most) = (1.0 / beta.high, 1.0 / beta.low);
    let value = if beta.value > 0.0 { 1.0 / beta.value } else { least };
    Some(ParameterEstimate::within(value, least, most))
}

fn node_rate(rate: &NodeRate) -> Option<ParameterEstimate> {
    match rate {
        // The rate has no upper end if the time per byte may be 0.
        NodeRate::Limit(range) => Some(ParameterEstimate::within(range.value, range.low, range.high)),
        NodeRate::NotMet { .. } | NodeRate::Latency => Some(ParameterEstimate::exact(f64::INFINITY)),
        NodeRate::NotMeasured => None,
    }
}

fn provenance(who: &str, raw: &Raw, parameters: &Parameters) -> Provenance {
    let head = &raw.head;
    let settings = &head.settings;
    Provenance {
        who: who.to_owned(),
        when: head.started.split('T').next().unwrap_or_default().to_owned(),
        host: hosts(raw),
        mpi: head.mpi.clone(),
        how: format!(
            "matchpoint calibrate {} under `{}`: ping-pong to {} bytes, HighVolumePingPong to {} messages; {} rounds, of which \
             each is the mean of the closest half of its batches, and their median counts, or, where batches are few, the \
             least of all; fitted by Huber's method to relative residuals",
            env!("CARGO_PKG_VERSION"),
            head.command.join(" "),
            settings.bytes_max,
            settings.messages_max,
            settings.rounds
        ),
        confidence: Some(CONFIDENCE),
        notes: parameters.warnings.clone(),
    }
}

/// Hosts in a line such as `n001, n002 (AMD EPYC, 2 cores, linux x86_64)`.
fn hosts(raw: &Raw) -> String {
    const NAMED: usize = 4;
    let nodes = raw.head.ranks.nodes();
    let mut names: Vec<&str> = nodes.iter().map(|node| node[0].host.as_str()).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more} ({})", names.join(", "), raw.head.host)
}

#[cfg(test)]
mod tests {
    use matchpoint_model::End;

    use super::*;

    fn rate_of(value: f64, low: f64, high: f64) -> Option<ParameterEstimate> {
        let none = Range { value: 0.0, low: 0.0, high: 0.0 };
        let beta_s_per_byte = Range { value, low, high };
        rate(&Segment {
            protocol: Protocol::Short,
            bytes: (0, 64),
            alpha_s: none,
            beta_s_per_byte,
            residuals: Vec::new(),
            scale: 0.0,
        })
    }

    #[test]
    fn unbounded_value_is_omitted() {
        assert_eq!(seconds(Range { value: 1e-6, low: 0.0, high: f64::INFINITY }), None);
        assert_eq!(rate_of(0.125, 0.0, f64::INFINITY), None);
    }

    #[test]
    fn node_rate_keeps_infinite_end() {
        let open = Range { value: 4e9, low: 1e9, high: f64::INFINITY };
        let written = node_rate(&NodeRate::Limit(open)).unwrap();
        assert_eq!((written.rate(End::Shortest), written.rate(End::Longest)), (f64::INFINITY, 1e9));
        assert_eq!(node_rate(&NodeRate::Latency), Some(ParameterEstimate::exact(f64::INFINITY)));
        assert_eq!(node_rate(&NodeRate::NotMeasured), None);
    }

    #[test]
    fn free_bytes_have_no_rate() {
        assert_eq!(rate_of(0.0, 0.0, 0.0), None);
        assert_eq!(rate_of(0.0, 0.0, f64::INFINITY), None);
        assert_eq!(rate_of(0.0, 0.0, 0.25), Some(ParameterEstimate::within(4.0, 4.0, f64::INFINITY)));
    }
}
