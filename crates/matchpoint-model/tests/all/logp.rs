//! LogP and LogGP: parameters of a machine, and times.

use matchpoint_model::logp::{LogGp, LogP};
use matchpoint_model::machine;
use matchpoint_model::{End, Machine, ParameterEstimate};

fn assert_near(found: f64, right: f64) {
    assert!((found / right - 1.0).abs() < 1e-9, "{found:e}, not {right:e}");
}

/// The paper's machine, with o and g.
fn blue_waters() -> Machine {
    let mut machine = machine::blue_waters().unwrap();
    machine.logp.overhead_s = Some(ParameterEstimate::within(0.5e-6, 0.4e-6, 0.6e-6));
    machine.logp.gap_s = Some(ParameterEstimate::exact(0.25e-6));
    machine
}

/// α of the smallest messages between nodes is 2.3 µs, R_b of the largest 2.9 GB/s.
#[test]
fn parameters_equal_those_of_machine() {
    let found = blue_waters().as_loggp(End::Value).unwrap();
    assert_near(found.small.latency_s, 1.3e-6);
    assert_near(found.small.overhead_s, 0.5e-6);
    assert_near(found.small.gap_s, 0.25e-6);
    assert_near(found.gap_per_byte_s, 1.0 / 2.9e9);
    let ends = End::ALL.map(|end| blue_waters().as_logp(end).unwrap());
    assert_near(ends[0].overhead_s, 0.4e-6);
    assert_near(ends[2].latency_s, 1.1e-6);
}

/// The time of a message equals α for any o.
#[test]
fn message_time_equals_postal_model() {
    let network = blue_waters().as_loggp(End::Value).unwrap();
    assert_near(network.message_s(0.0), 2.3e-6);
    assert_near(network.message_s(1.0), 2.3e-6);
    assert_near(network.message_s(1e6 + 1.0), 2.3e-6 + 1e6 / 2.9e9);
}

/// The slower of processor and network limits a sender.
#[test]
fn messages_leave_at_slower_rate() {
    let of = |overhead_s, gap_s| LogP { latency_s: 4.0, overhead_s, gap_s };
    assert_eq!(of(1.0, 3.0).messages_s(11.0), 30.0 + 2.0 + 4.0);
    assert_eq!(of(2.0, 1.0).messages_s(11.0), 20.0 + 4.0 + 4.0);
    assert_eq!(of(2.0, 1.0).messages_s(0.0), 0.0);
    let large = LogGp { small: of(2.0, 1.0), gap_per_byte_s: 0.5 };
    assert_eq!(large.message_s(5.0), 2.0 + 4.0 * 0.5 + 4.0 + 2.0);
}

#[test]
fn latency_is_not_negative() {
    assert_eq!(LogP::of(1.0, 0.75, 0.5).latency_s, 0.0);
}

#[test]
fn missing_parameter_is_reported() {
    let told = |machine: &Machine| machine.as_loggp(End::Value).unwrap_err().parameter;
    let mut machine = blue_waters();
    machine.logp.gap_s = None;
    assert_eq!(told(&machine), "logp.gap_s");
    machine.logp.overhead_s = None;
    assert_eq!(told(&machine), "logp.overhead_s");
    let mut machine = blue_waters();
    machine.off_node.rendezvous.rate_bytes_per_s = None;
    machine.off_node.eager.rate_bytes_per_s = None;
    machine.off_node.short.rate_bytes_per_s = None;
    assert_eq!(told(&machine), "off_node.eager.rate_bytes_per_s");
}
