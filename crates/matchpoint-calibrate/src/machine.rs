//! The parameters as the file of a machine.

use matchpoint_model::estimate::Estimate;
use matchpoint_model::machine::{Locality, Machine, Protocol, Provenance};

use crate::fit::Range;
use crate::fit::parameters::{Link, Parameters};
use crate::fit::protocols::Segment;
use crate::fit::rates::NodeRate;
use crate::fit::robust::CONFIDENCE;
use crate::raw::Raw;
use crate::topology::Placement;

/// The file knows no rate that is infinite but R_N's, and none was ever met that is so large: an upper end that the
/// measurements leave open.
const OPEN_BYTES_PER_S: f64 = 1e15;

/// The machine whose parameters these are.
pub fn machine(name: &str, who: &str, raw: &Raw, parameters: &Parameters) -> Machine {
    let mut machine = Machine::new(name, provenance(who, raw, parameters));
    let nodes = raw.head.ranks.nodes();
    machine.node.sockets = nodes.first().map(|node| node[0].packages).filter(|&packages| packages > 0);
    machine.node.processes = nodes.iter().map(|node| node.len() as u32).max();
    for link in &parameters.links {
        add(&mut machine, link);
    }
    machine.queue_search.gamma_s = parameters.search.as_ref().map(|search| seconds(search.gamma_s()));
    machine.contention.delta_s_per_byte = parameters.contention.as_ref().map(|cost| seconds(cost.each_s));
    machine
}

/// What the segments of a link are called: one alone is eager, of two the second waits for its receive (§2).
pub fn protocols(segments: usize) -> &'static [Protocol] {
    match segments {
        1 => &[Protocol::Eager],
        2 => &[Protocol::Eager, Protocol::Rendezvous],
        _ => &Protocol::ALL,
    }
}

fn add(machine: &mut Machine, found: &Link) {
    let link = machine.link_mut(locality(found.placement));
    let protocols = protocols(found.segments.len());
    for (index, (segment, &protocol)) in found.segments.iter().zip(protocols).enumerate() {
        let largest = (index + 1 < found.segments.len()).then_some(u64::from(segment.bytes.1));
        match protocol {
            Protocol::Short => link.short_max_bytes = largest,
            Protocol::Eager => link.eager_max_bytes = largest,
            Protocol::Rendezvous => {}
        }
        let transport = link.transport_mut(protocol);
        transport.alpha_s = Some(seconds(segment.alpha_s));
        transport.rate_bytes_per_s = Some(rate(segment));
        transport.node_rate_bytes_per_s = found.node_rates.get(index).and_then(node_rate);
    }
}

fn locality(placement: Placement) -> Locality {
    match placement {
        Placement::OnSocket => Locality::OnSocket,
        Placement::OnNode => Locality::OnNode,
        Placement::OffNode => Locality::OffNode,
    }
}

fn seconds(range: Range) -> Estimate {
    if range.high.is_finite() {
        Estimate::within(range.value, range.low, range.high)
    } else {
        Estimate::exact(range.value)
    }
}

/// R_b. Where bytes cost nothing that could be measured, the least rate that fits.
fn rate(segment: &Segment) -> Estimate {
    let beta = segment.beta_s_per_byte;
    if !beta.high.is_finite() {
        return Estimate::exact((1.0 / beta.value).min(OPEN_BYTES_PER_S));
    }
    let least = (1.0 / beta.high).min(OPEN_BYTES_PER_S);
    let most = if beta.low > 0.0 { (1.0 / beta.low).min(OPEN_BYTES_PER_S) } else { OPEN_BYTES_PER_S };
    let value = if beta.value > 0.0 { (1.0 / beta.value).clamp(least, most) } else { least };
    Estimate::within(value, least, most)
}

fn node_rate(rate: &NodeRate) -> Option<Estimate> {
    match rate {
        NodeRate::Limit(range) if range.high.is_finite() => {
            Some(Estimate::within(range.value, range.low, range.high))
        }
        NodeRate::Limit(range) => Some(Estimate::exact(range.value)),
        NodeRate::NotMet { .. } | NodeRate::NotToBeSeen => Some(Estimate::exact(f64::INFINITY)),
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
            "matchpoint calibrate {} under `{}`: ping-pong to {} bytes, HighVolumePingPong to {} messages; means of the closest half of all \
             batches, fitted by Huber's method to relative residuals",
            env!("CARGO_PKG_VERSION"),
            head.command.join(" "),
            settings.bytes_max,
            settings.messages_max
        ),
        confidence: Some(CONFIDENCE),
        notes: parameters.warnings.clone(),
    }
}

/// `n001, n002 (AMD EPYC, 2 cores, linux x86_64)`
fn hosts(raw: &Raw) -> String {
    const NAMED: usize = 4;
    let nodes = raw.head.ranks.nodes();
    let mut names: Vec<&str> = nodes.iter().map(|node| node[0].host.as_str()).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more} ({})", names.join(", "), raw.head.host)
}
