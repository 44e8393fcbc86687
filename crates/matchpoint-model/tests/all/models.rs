//! Formulas, compared with values in the paper and with general properties.

use crate::common::blue_waters;
use matchpoint_model::contention::{contention_s, cube_link_bytes};
use matchpoint_model::machine::GammaAt;
use matchpoint_model::memory::{OPEN_MPI_BYTES_PER_PEER, node_bytes};
use matchpoint_model::queue::{SearchOrder, bound_s};
use matchpoint_model::transport::{TransportModel, max_rate_s, postal_s};
use matchpoint_model::{End, Locality, Machine, ParameterEstimate};
use proptest::prelude::*;

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

#[test]
fn reversed_messages_search_840_ms() {
    let searched = blue_waters().search_s(SearchOrder::Bound, 10_000, End::Value).unwrap();
    assert!(close(searched, 0.84), "{searched}");
}

#[test]
fn node_bounds_rendezvous_of_16_processes() {
    let machine = blue_waters();
    let message = |active| machine.message_s(Locality::OffNode, 1e5, active, End::Value).unwrap();
    assert!(close(message(1), 3.0e-6 + 1e5 / 2.9e9));
    assert!(close(message(2), 3.0e-6 + 1e5 / 2.9e9), "2 × 2.9e9 < 6.6e9: still postal");
    assert!(close(message(16), 3.0e-6 + 16.0 * 1e5 / 6.6e9));
    // Eager messages have no node limit.
    let eager = |active| machine.message_s(Locality::OffNode, 5000.0, active, End::Value).unwrap();
    assert!(close(eager(16), eager(1)));
}

#[test]
fn coarse_model_takes_all_as_internode() {
    let machine = blue_waters();
    let of = |model| machine.modelled_message_s(model, Locality::OnSocket, 1e5, 16, End::Value).unwrap();
    let [postal, max_rate, node_aware] = TransportModel::ALL.map(of);
    assert!(node_aware < postal && postal < max_rate, "{postal} {max_rate} {node_aware}");
    assert!(close(node_aware, 1.7e-6 + 1e5 / 6.2e9));
}

#[test]
fn one_socket_machine_makes_models_equal() {
    let mut machine = blue_waters();
    (machine.on_node, machine.off_node) = Default::default();
    assert_eq!(machine.farthest(), Locality::OnSocket);
    let of = |model| machine.modelled_message_s(model, Locality::OnSocket, 1e5, 16, End::Value).unwrap();
    let [postal, max_rate, node_aware] = TransportModel::ALL.map(of);
    assert!(close(postal, max_rate) && close(max_rate, node_aware));
    machine.on_node = blue_waters().on_node;
    assert_eq!(machine.farthest(), Locality::OnNode);
}

#[test]
fn entries_that_orders_compare() {
    assert_eq!(SearchOrder::ALL.map(|order| order.attempts(9)), [40.5, 45.0, 27.0, 9.0]);
    assert_eq!(SearchOrder::ALL.map(|order| order.attempts(0)), [0.0; 4]);
    for order in SearchOrder::ALL {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    assert!("sorted".parse::<SearchOrder>().unwrap_err().contains("bound, reversed, third, in_order"));
}

#[test]
fn unmeasured_parameters_are_not_invented() {
    let machine = Machine::new("bare", matchpoint_model::machine::Provenance::default());
    let lacks = |result: Result<f64, matchpoint_model::Missing>, key: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(&format!("'bare' has no {key}")), "{error}");
    };
    lacks(machine.message_s(Locality::OffNode, 8.0, 1, End::Value), "off_node.eager.alpha_s");
    lacks(machine.search_s(SearchOrder::Bound, 8, End::Value), "queue_search.gamma_s");
    lacks(machine.search_s(SearchOrder::Third, 8, End::Value), "queue_search.gamma_s, nor");
    lacks(machine.contention_s(8.0, End::Value), "contention.delta_s_per_byte");
    let mut machine = blue_waters();
    machine.off_node.rendezvous.node_rate_bytes_per_s = None;
    assert!(machine.message_s(Locality::OffNode, 1e5, 1, End::Value).is_ok());
    lacks_limit(machine.message_s(Locality::OffNode, 1e5, 2, End::Value));
}

fn lacks_limit(result: Result<f64, matchpoint_model::Missing>) {
    assert_eq!(result.unwrap_err().parameter, "off_node.rendezvous.node_rate_bytes_per_s");
}

#[test]
fn gamma_depends_on_number_of_messages() {
    let mut machine = blue_waters();
    let at = |messages, gamma_s| GammaAt {
        messages,
        gamma_s: ParameterEstimate::within(gamma_s, gamma_s / 2.0, gamma_s * 2.0),
    };
    machine.queue_search.by_messages = vec![at(100, 1e-9), at(10_000, 3e-9)];
    let gamma = |messages, end| machine.queue_search.gamma_at(messages, end).unwrap();
    for (messages, expected) in
        [(0, 1e-9), (2, 1e-9), (100, 1e-9), (1000, 2e-9), (10_000, 3e-9), (1 << 40, 3e-9)]
    {
        assert!(close(gamma(messages, End::Value), expected), "{messages}: {}", gamma(messages, End::Value));
    }
    assert!(close(gamma(1000, End::Shortest), 1e-9) && close(gamma(1000, End::Longest), 4e-9));
    let search = |order, messages| machine.search_s(order, messages, End::Value).unwrap();
    assert!(close(search(SearchOrder::Bound, 1000), 2e-9 * 1e6));
    assert!(close(search(SearchOrder::InOrder, 100), 2.0 * 1e-9 * 100.0));
    // Without numbers of messages, the paper's single γ applies.
    machine.queue_search.by_messages.clear();
    assert!(close(machine.search_s(SearchOrder::Bound, 1000, End::Value).unwrap(), 8.4e-3));
    assert!(close(machine.attempt_s(7, End::Value).unwrap(), 2.0 * 8.4e-9));
}

/// Table II of the fuzzy matching paper: nodes, processes per node, GiB of Open MPI per node.
#[test]
fn memory_of_open_mpi_is_table_2() {
    for (nodes, ppn, gibibytes) in
        [(4096, 68, 2.26), (8192, 68, 4.52), (8192, 136, 18.06), (8192, 272, 72.25)]
    {
        let bytes = node_bytes(nodes, ppn, OPEN_MPI_BYTES_PER_PEER);
        // The table has two decimals.
        assert!((bytes / 2_f64.powi(30) - gibibytes).abs() < 0.005, "{nodes} × {ppn}: {bytes}");
    }
}

proptest! {
    /// §3: "when ppn R_b is less than injection bandwidth, this model reduces to the postal model".
    #[test]
    fn max_rate_equals_postal_below_limit(
        alpha in 0.0..1e-3, rate in 1e6..1e11, active in 1..256_u32, spare in 1.0..9.0, bytes in 0.0..1e9,
    ) {
        let active = f64::from(active);
        let limited = max_rate_s(alpha, rate, spare * active * rate, active, bytes);
        prop_assert!(close(limited, postal_s(alpha, rate, bytes)));
    }

    #[test]
    fn max_rate_is_monotonic_above_postal(
        alpha in 0.0..1e-3, rate in 1e6..1e11, limit in 1e6..1e12, active in 1.0..256.0, bytes in 0.0..1e9,
        more in 1.0..9.0,
    ) {
        let time = max_rate_s(alpha, rate, limit, active, bytes);
        let least = postal_s(alpha, rate, bytes);
        prop_assert!(time >= least * (1.0 - 1e-12));
        prop_assert!(max_rate_s(alpha, rate, limit, active, bytes * more) >= time * (1.0 - 1e-12));
        prop_assert!(max_rate_s(alpha, rate, limit, active * more, bytes) >= time * (1.0 - 1e-12));
        // The node is the bottleneck.
        if active * rate >= limit {
            prop_assert!(close(time, alpha + active * bytes / limit));
        }
    }

    #[test]
    fn orders_are_sorted_by_cost(messages in 0..10_000_000_u64) {
        let [bound, reversed, third, in_order] = SearchOrder::ALL.map(|order| order.attempts(messages));
        prop_assert!(bound <= reversed && third <= reversed && in_order <= third);
        prop_assert!(reversed - bound <= messages as f64);
    }

    #[test]
    fn bound_is_quadratic(gamma in 1e-12..1e-6, messages in 1..100_000_u64, times in 1..100_u64) {
        let (one, many) = (bound_s(gamma, messages), bound_s(gamma, messages * times));
        prop_assert!(close(many, one * (times * times) as f64));
    }

    /// The costs are equal except for the matching entry.
    #[test]
    fn bound_equals_cost_of_reversed_order(messages in 1..100_000_u64) {
        let machine = blue_waters();
        let of = |order| machine.search_s(order, messages, End::Value).unwrap();
        let found = 8.4e-9 * messages as f64;
        prop_assert!(((of(SearchOrder::Reversed) - of(SearchOrder::Bound)) / found - 1.0).abs() < 1e-6);
    }

    #[test]
    fn contention_is_cubic_in_hops(
        hops in 0.0..50.0_f64, bytes in 0.0..1e9, ppn in 1.0..256.0, times in 1.0..9.0_f64,
    ) {
        let of = |hops: f64, bytes: f64, ppn: f64| contention_s(1e-10, cube_link_bytes(hops, bytes, ppn, 2.0));
        prop_assert!(close(of(hops * times, bytes, ppn), of(hops, bytes, ppn) * times.powi(3)));
        prop_assert!(close(of(hops, bytes * times, ppn), of(hops, bytes, ppn) * times));
        prop_assert!(close(of(hops, bytes, ppn * times), of(hops, bytes, ppn) * times));
        prop_assert!(close(of(1.0, bytes, ppn), 1e-10 * 2.0 * bytes * ppn));
    }
}
