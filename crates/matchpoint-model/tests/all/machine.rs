//! The file of a machine: reading, writing, errors.

use std::path::Path;

use matchpoint_model::machine::{self, GammaAt, Link, Locality, Machine, Protocol, Provenance, Transport};
use matchpoint_model::{End, ParameterEstimate};
use proptest::prelude::*;

fn blue_waters() -> Machine {
    machine::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines/blue-waters.toml")).unwrap()
}

/// Table 1 of the paper: within a socket, within a node, between nodes, each α and R_b.
const TABLE_1: [(Protocol, [(f64, f64); 3]); 3] = [
    (Protocol::Short, [(4.4e-7, 2.2e9), (8.3e-7, 4.8e8), (2.3e-6, 1.3e9)]),
    (Protocol::Eager, [(5.3e-7, 3.2e9), (1.2e-6, 9.6e8), (7.0e-6, 7.5e8)]),
    (Protocol::Rendezvous, [(1.7e-6, 6.2e9), (2.5e-6, 6.2e9), (3.0e-6, 2.9e9)]),
];

#[test]
fn blue_waters_is_table_1() {
    let machine = blue_waters();
    assert_eq!(machine::blue_waters().as_ref(), Ok(&machine));
    for (protocol, row) in TABLE_1 {
        for (locality, (alpha_s, rate_bytes_per_s)) in Locality::ALL.into_iter().zip(row) {
            let transport = machine.link(locality).transport(protocol);
            assert_eq!(
                transport.alpha_s,
                Some(ParameterEstimate::exact(alpha_s)),
                "{locality:?} {protocol:?}"
            );
            assert_eq!(transport.rate_bytes_per_s, Some(ParameterEstimate::exact(rate_bytes_per_s)));
            assert_eq!(transport.node_rate_bytes_per_s.is_some(), locality == Locality::OffNode);
        }
    }
    let limit = |protocol| machine.off_node.transport(protocol).node_rate_bytes_per_s.unwrap().value;
    assert_eq!(Protocol::ALL.map(limit), [f64::INFINITY, f64::INFINITY, 6.6e9]);
    assert_eq!(machine.queue_search.gamma_s, Some(ParameterEstimate::exact(8.4e-9)));
    assert_eq!(machine.contention.delta_s_per_byte, Some(ParameterEstimate::exact(1.0e-10)));
    assert_eq!(machine.contention.nodes_per_router, Some(2));
}

#[test]
fn protocols_change_at_their_switch_points() {
    let link = blue_waters().off_node;
    let expected = [
        (0, Protocol::Short),
        (499, Protocol::Short),
        (500, Protocol::Eager),
        (7999, Protocol::Eager),
        (8000, Protocol::Rendezvous),
    ];
    for (bytes, protocol) in expected {
        assert_eq!(link.protocol(bytes), protocol, "{bytes}");
    }
    let one_protocol = Link::default();
    assert_eq!(one_protocol.protocol(1 << 40), Protocol::Eager);
}

const LEAST: &str = "format = 1
name = \"x\"

[provenance]
who = \"w\"
when = \"2026-11-22\"
host = \"h\"
mpi = \"m\"
how = \"h\"
";

#[test]
fn error_names_line() {
    let cases = [
        ("[off_node.eager]\nalpha_s = -1e-6\n", "line 11: -0.000001 is invalid: a time is"),
        ("[off_node.eager]\nalpha_s = nan\n", "line 11: NaN is invalid: a time is"),
        ("[off_node.eager]\nalpha_s = inf\n", "line 11: inf is invalid: a time is"),
        ("[off_node.eager]\nrate_bytes_per_s = 0\n", "line 11: 0 is invalid: a rate is"),
        ("[off_node.eager]\nrate_bytes_per_s = inf\n", "line 11: inf is invalid: a rate is"),
        ("[off_node.eager]\nnode_rate_bytes_per_s = nan\n", "line 11: NaN is invalid: a rate is"),
        ("[off_node.eager]\nalpha_s = \"fast\"\n", "line 11: invalid type: string"),
        ("[off_node.eager]\nalpha = 1\n", "line 11: unknown field `alpha`"),
        ("[off_node]\nshort_max_bytes = -1\n", "line 11: invalid value: integer `-1`"),
        (
            "[off_node]\nshort_max_bytes = 9\neager_max_bytes = 8\n",
            "line 11: off_node.short_max_bytes, 9, exceeds",
        ),
        (
            "[queue_search]\ngamma_s = { value = 1, low = 2, high = 3 }\n",
            "line 11: the interval from 2e0 to 3e0",
        ),
        ("[queue_search]\ngamma_s = { value = 1, low = 1 }\n", "line 11: missing field `high`"),
        (
            "[queue_search]\ngamma_s = { value = 1, low = 1, high = 1 }\n",
            "line 4: there are intervals, but no provenance.confidence says",
        ),
        ("[contention]\nnodes_per_router = 0\n", "line 11: contention.nodes_per_router is 0"),
        ("[node]\nsockets = 99999999999\n", "line 11: invalid value: integer `99999999999`"),
        ("[node\n", "line 10: "),
        (
            "[queue_search]\nby_messages = [{ messages = 9, gamma_s = -1 }]\n",
            "line 11: -1 is invalid: a time is",
        ),
        (
            "[queue_search]\nby_messages = [\n{ messages = 9, gamma_s = 1 },\n{ messages = 9, gamma_s = 1 }]\n",
            "line 11: queue_search.by_messages: its messages are [9, 9]",
        ),
        (
            "[queue_search]\nby_messages = [{ messages = 0, gamma_s = 1 }]\n",
            "line 11: queue_search.by_messages",
        ),
        ("[queue_search.engines.list]\nattempt_s = 1\n", "unknown field `engines`"),
    ];
    for (text, expected) in cases {
        let error = machine::parse(&format!("{LEAST}{text}"), "some.toml").unwrap_err().to_string();
        assert!(error.starts_with("cannot read 'some.toml'") && error.contains(expected), "{text}: {error}");
    }
    let old = machine::parse(&LEAST.replace("format = 1", "format = 7"), "some.toml").unwrap_err();
    assert!(
        old.to_string().contains("some.toml', line 1: format = 7, but this version reads format 1"),
        "{old}"
    );
}

#[test]
fn invalid_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.toml");
    assert!(machine::read(&path).unwrap_err().to_string().contains("name a machine file"));
    std::fs::write(&path, vec![b' '; 2 << 20]).unwrap();
    assert!(machine::read(&path).unwrap_err().to_string().contains("more than 1048576 bytes"));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(machine::read(&path).unwrap_err().to_string().contains("is TOML"));
}

/// The interval is unbounded if bytes have no measurable cost.
#[test]
fn rate_may_have_infinite_end() {
    let open = format!(
        "{}confidence = 0.95\n[on_socket.eager]\nrate_bytes_per_s = {{ value = 1e9, low = 1e9, high = inf }}\n",
        LEAST
    );
    let machine = machine::parse(&open, "some.toml").unwrap();
    assert_eq!(
        machine.on_socket.eager.rate_bytes_per_s,
        Some(ParameterEstimate::within(1e9, 1e9, f64::INFINITY))
    );
    assert_eq!(machine::parse(&machine.to_toml(), "written.toml"), Ok(machine));
}

#[test]
fn interval_ends_give_extreme_times() {
    let estimate = ParameterEstimate::within(2.0, 1.0, 4.0);
    assert_eq!(End::ALL.map(|end| estimate.time(end)), [1.0, 2.0, 4.0]);
    assert_eq!(End::ALL.map(|end| estimate.rate(end)), [4.0, 2.0, 1.0]);
}

fn estimate() -> impl Strategy<Value = Option<ParameterEstimate>> {
    let spread = prop::option::of((0.0..1.0, 1.0..9.0));
    prop::option::of((1e-12..1e12, spread).prop_map(|(value, spread)| match spread {
        None => ParameterEstimate::exact(value),
        Some((down, up)) => ParameterEstimate::within(value, value * down, value * up),
    }))
}

prop_compose! {
    fn transport()(alpha_s in estimate(), rate in estimate(), limit in estimate(), unlimited: bool) -> Transport {
        // The low end of a rate is above 0.
        let above = |estimate: Option<ParameterEstimate>| estimate.filter(|of| of.interval.is_none_or(|(low, _)| low > 0.0));
        Transport {
            alpha_s,
            rate_bytes_per_s: above(rate),
            node_rate_bytes_per_s: if unlimited { Some(ParameterEstimate::exact(f64::INFINITY)) } else { above(limit) },
        }
    }
}

prop_compose! {
    fn link()(short in transport(), eager in transport(), rendezvous in transport(),
              short_max in prop::option::of(0..500_u64), eager_max in prop::option::of(500..u64::from(u32::MAX)))
              -> Link {
        Link { short_max_bytes: short_max, eager_max_bytes: eager_max, short, eager, rendezvous }
    }
}

prop_compose! {
    fn any_machine()(name in "\\PC*", note in ".*", on_socket in link(), off_node in link(), gamma_s in estimate(),
                     by_messages in prop::collection::btree_map(1..9999_u32, estimate(), 0..5), delta in estimate(),
                     sockets in prop::option::of(1..9_u32)) -> Machine {
        let provenance = Provenance { confidence: Some(0.95), notes: vec![note], ..Provenance::default() };
        let mut machine = Machine { on_socket, off_node, ..Machine::new(name, provenance) };
        machine.node.sockets = sockets;
        machine.queue_search.gamma_s = gamma_s;
        let at = |(messages, gamma_s): (u32, Option<ParameterEstimate>)| Some(GammaAt { messages, gamma_s: gamma_s? });
        machine.queue_search.by_messages = by_messages.into_iter().filter_map(at).collect();
        machine.contention.delta_s_per_byte = delta;
        machine
    }
}

proptest! {
    #[test]
    fn written_machine_is_read_back(machine in any_machine()) {
        let text = machine.to_toml();
        prop_assert_eq!(machine::parse(&text, "written.toml").map_err(|error| error.to_string()), Ok(machine), "{}", text);
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = machine::parse(&text, "any.toml");
        let _ = machine::parse(&format!("{LEAST}{text}"), "any.toml");
    }
}
