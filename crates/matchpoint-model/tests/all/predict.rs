//! Costs of exchanges, compared with sums computed by hand.

use std::path::Path;

use crate::common::{blue_waters, layout};
use matchpoint_model::{
    End, Exchange, Layout, Machine, ParameterEstimate, Search, SearchOrder, Sent, Setting, Topology, predict,
};
use proptest::prelude::*;

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

fn setting(machine: &Machine, layout: Layout) -> Setting<'_> {
    Setting { machine, layout, topology: None, search: Search::Order(SearchOrder::Bound) }
}

fn four_node_setting(machine: &Machine) -> Setting<'_> {
    Setting { search: Search::Order(SearchOrder::Third), ..setting(machine, layout(4, 1, 1)) }
}

/// Four processes on each of four nodes, two nodes per router: three messages of each kind.
#[test]
fn small_exchange_costs_sum_by_hand() {
    let machine = blue_waters();
    let setting = setting(&machine, layout(16, 4, 2));
    let exchange = Exchange {
        messages: vec![
            Sent::one(0, 1, 100),
            Sent::one(0, 2, 1000),
            Sent::one(0, 8, 10_000),
            Sent::one(5, 0, 8),
        ],
    };
    let predicted = predict(&setting, &exchange).unwrap();
    assert_eq!(predicted.worst, 0);
    let first = predicted.processes[0];
    assert_eq!((first.sent, first.sent_bytes, first.off_node_bytes), (3, 11_100, 10_000));
    assert_eq!((first.received, first.received_bytes), (1, 8));
    let on_socket = 4.4e-7 + 100.0 / 2.2e9;
    let on_node = 1.2e-6 + 1000.0 / 9.6e8;
    let off_node = 3.0e-6 + 10_000.0 / 2.9e9;
    assert!(close(first.split.transport_s, on_socket + on_node + off_node));
    assert!(close(first.split.queue_s, 8.4e-9));
    // Nodes 0 and 2 are one link apart. Node 1 sends 8 bytes to node 0, at the same router.
    let hops = 10_000.0 / 10_008.0;
    assert!(close(predicted.hops_mean, hops) && close(first.hops_mean, 1.0));
    let link = 2.0 * hops.powi(3) * (10_008.0 / 16.0) * 4.0;
    assert!(close(predicted.link_bytes, link) && close(first.split.contention_s, 1e-10 * link));
    assert!(predicted.missing.is_empty());
    let all_between_nodes =
        (2.3e-6 + 100.0 / 1.3e9) + (7.0e-6 + 1000.0 / 7.5e8) + (3.0e-6 + 10_000.0 / 2.9e9);
    assert!(close(predicted.postal_s.unwrap(), all_between_nodes));
}

/// All messages leave the node.
#[test]
fn max_rate_counts_all_senders() {
    let machine = blue_waters();
    let setting = setting(&machine, layout(16, 8, 2));
    // On the first node, two processes send within their socket, two to other nodes.
    let bytes = 10_000;
    let messages =
        vec![Sent::one(0, 1, bytes), Sent::one(1, 0, bytes), Sent::one(2, 8, bytes), Sent::one(3, 9, bytes)];
    let predicted = predict(&setting, &Exchange { messages }).unwrap();
    let four_share = 3.0e-6 + 4.0 * 10_000.0 / 6.6e9;
    assert!(close(predicted.max_rate_s.unwrap(), four_share), "{predicted:?}");
}

#[test]
fn missing_machine_parameters_are_reported() {
    let mut machine = blue_waters();
    machine.contention.delta_s_per_byte = None;
    machine.queue_search.gamma_s = None;
    let exchange = Exchange { messages: vec![Sent::one(0, 3, 100)] };
    let predicted = predict(&four_node_setting(&machine), &exchange).unwrap();
    let missing: Vec<&str> = predicted.missing.iter().map(|missing| missing.parameter.as_str()).collect();
    assert_eq!(missing, ["contention.delta_s_per_byte", "queue_search.gamma_s, nor queue_search.attempt_s"]);
    machine.off_node.short.alpha_s = None;
    let error = predict(&four_node_setting(&machine), &exchange).unwrap_err();
    assert!(error.contains("no off_node.short.alpha_s"), "{error}");
    let within = Setting { layout: layout(4, 4, 1), ..four_node_setting(&machine) };
    let predicted = predict(&within, &exchange).unwrap();
    assert_eq!((predicted.postal_s, predicted.missing.len()), (None, 1));
}

#[test]
fn nodes_per_router_have_no_default() {
    let mut machine = blue_waters();
    machine.contention.nodes_per_router = None;
    let setting = Setting { search: Search::Order(SearchOrder::Third), ..setting(&machine, layout(2, 1, 1)) };
    let predicted = predict(&setting, &Exchange { messages: vec![Sent::one(0, 1, 100)] }).unwrap();
    assert_eq!(predicted.missing[0].parameter, "contention.nodes_per_router");
    assert_eq!(predicted.processes[0].split.contention_s, 0.0);
}

/// Eight nodes at four Geminis in a line. The first sends to the third, the second to the fourth: all bytes
/// use the middle link.
#[test]
fn line_of_figure_6_shares_middle_link() {
    let text = "format = 1\nkind = \"mesh\"\ndimensions = [4]\nnodes_per_router = 2\n";
    let line = Topology::parse(text, Path::new("line.toml")).unwrap();
    let machine = blue_waters();
    let setting = Setting { topology: Some(&line), ..setting(&machine, layout(128, 16, 2)) };
    let messages = (0..64).map(|from| Sent::one(from, from + 64, 1_000_000)).collect();
    let predicted = predict(&setting, &Exchange { messages }).unwrap();
    assert_eq!(predicted.link_bytes, 64e6);
    assert_eq!(predicted.hops_mean, 2.0);
    assert!(close(predicted.processes[0].split.contention_s, 64e6 * 1e-10));
}

#[test]
fn oversized_exchange_is_reported() {
    let machine = blue_waters();
    let small = "format = 1\nkind = \"fat_tree\"\narity = 2\nlevels = 1\n";
    let small = Topology::parse(small, Path::new("small.toml")).unwrap();
    let setting = Setting { topology: Some(&small), ..setting(&machine, layout(48, 16, 2)) };
    let error = predict(&setting, &Exchange::default()).unwrap_err();
    assert_eq!(error, "the network has 2 nodes, but 48 processes take 3");
    let setting = Setting { topology: None, ..setting };
    let error = predict(&setting, &Exchange { messages: vec![Sent::one(0, 48, 1)] }).unwrap_err();
    assert!(error.contains("process 48"), "{error}");
}

#[test]
fn intervals_of_parameters_are_intervals_of_times() {
    let mut machine = blue_waters();
    machine.off_node.short.alpha_s = Some(ParameterEstimate::within(2e-6, 1e-6, 4e-6));
    machine.off_node.short.rate_bytes_per_s = Some(ParameterEstimate::within(1e9, 0.5e9, 2e9));
    let setting = setting(&machine, layout(2, 1, 1));
    let predicted = predict(&setting, &Exchange { messages: vec![Sent::one(0, 1, 400)] }).unwrap();
    let [shortest, value, longest] = predicted.longest.map(|split| split.transport_s);
    assert!(close(shortest, 1e-6 + 2e-7) && close(value, 2e-6 + 4e-7) && close(longest, 4e-6 + 8e-7));
    assert_eq!(End::ALL[1], End::Value);
}

#[test]
fn grouped_messages_cost_as_single_messages() {
    let machine = blue_waters();
    let setting =
        Setting { search: Search::Order(SearchOrder::Third), ..setting(&machine, layout(32, 16, 2)) };
    let apart =
        Exchange { messages: vec![Sent::one(0, 16, 600), Sent::one(0, 16, 1000), Sent::one(0, 16, 2000)] };
    let joined = Exchange { messages: vec![Sent { from: 0, to: 16, messages: 3, bytes: 3600 }] };
    let [apart, joined] = [apart, joined].map(|exchange| predict(&setting, &exchange).unwrap());
    assert_eq!((joined.processes[0].sent, joined.processes[16].received), (3, 3));
    for at in 0..3 {
        assert!(close(apart.longest[at].total_s(), joined.longest[at].total_s()));
    }
}

#[test]
fn known_matching_times_are_used_unchanged() {
    let machine = blue_waters();
    let known = [[0.0; 3], [1.0, 2.0, 4.0]];
    let setting = Setting { search: Search::Known(&known), ..four_node_setting(&machine) };
    let predicted = predict(&setting, &Exchange { messages: vec![Sent::one(0, 1, 8)] }).unwrap();
    assert_eq!((predicted.worst, predicted.longest.map(|split| split.queue_s)), (1, [1.0, 2.0, 4.0]));
    assert_eq!(predicted.processes[0].split.queue_s, 0.0);
}

const NETWORKS: &[(&str, &str)] = &[
    ("format = 2\nkind = \"torus\"\n", "this version reads format 1"),
    ("format = 1\nkind = \"torus\"\n", "1 to 8 dimensions are needed"),
    ("format = 1\nkind = \"torus\"\ndimensions = [4, 0]\n", "each of 1 router at least"),
    ("format = 1\nkind = \"torus\"\ndimensions = [4000000, 4000000]\n", "at most 2147483648 are supported"),
    ("format = 1\nkind = \"torus\"\ndimensions = [4]\narity = 2\n", "`arity` is of another kind"),
    ("format = 1\nkind = \"ring\"\n", "line 2: unknown variant `ring`"),
    ("format = 1\nkind = \"fat_tree\"\narity = 1\nlevels = 3\n", "arity, 2 at least"),
    ("format = 1\nkind = \"graph\"\nlinks = [[0, 1]]\n", "a graph needs nodes"),
    ("format = 1\nkind = \"graph\"\nlinks = [[0, 1]]\nnodes = [4000000000]\n", "number routers from 0"),
    ("format = 1\nkind = \"graph\"\nlinks = [[0, 1], [2, 3]]\nnodes = [0, 2]\n", "router 2 is not connected"),
    (
        "format = 1\nkind = \"graph\"\nlinks = [[0, 1], [1, 2]]\nnodes = [0, 2]\nroutes = [[0, 2]]\n",
        "no link from 0 to 2",
    ),
    ("format = 1\nkind = \"mesh\"\ndimensions = [3]\nroutes = [[0, 1]]\n", "routes are of a graph only"),
];

#[test]
fn invalid_networks_are_reported() {
    for (text, expected) in NETWORKS {
        let error = Topology::parse(text, Path::new("net.toml")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read 'net.toml'") && error.contains(expected), "{text}: {error}");
        assert!(
            error.starts_with("cannot read 'net.toml', line ") || expected.contains("need"),
            "{text}: {error}"
        );
    }
}

#[test]
fn graph_uses_shortest_paths_without_routes() {
    let square =
        "format = 1\nkind = \"graph\"\nlinks = [[0, 1], [1, 2], [2, 3], [3, 0]]\nnodes = [0, 1, 2, 3]\n";
    let route = |text: &str, from, to| {
        let network = Topology::parse(text, Path::new("net.toml")).unwrap();
        let mut links = Vec::new();
        network.routes_to(to).route(from, &mut |link| links.push(link));
        links
    };
    assert_eq!(route(square, 0, 3), [(0, 3)]);
    assert_eq!(route(square, 0, 2).len(), 2);
    let round = format!("{square}routes = [[0, 1, 2, 3]]\n");
    assert_eq!(route(&round, 0, 3), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(route(&round, 3, 0), [(3, 0)]);
}

/// The ring has more nodes than a table of all routes could hold. Each node sends a byte to three other nodes
/// on the shorter path.
#[test]
fn large_graph_is_searched_by_destination() {
    let nodes = 3000_u32;
    let list = |of: &dyn Fn(u32) -> String| (0..nodes).map(of).collect::<Vec<_>>().join(", ");
    let links = list(&|at| format!("[{at}, {}]", (at + 1) % nodes));
    let text = format!(
        "format = 1\nkind = \"graph\"\nlinks = [{links}]\nnodes = [{}]\n",
        list(&|at| at.to_string())
    );
    let ring = Topology::parse(&text, Path::new("ring.toml")).unwrap();
    let machine = blue_waters();
    let setting = Setting { topology: Some(&ring), ..setting(&machine, layout(nodes, 1, 1)) };
    let messages =
        (0..nodes).flat_map(|from| [1, 2, 1499].map(|by| Sent::one(from, (from + by) % nodes, 1))).collect();
    let predicted = predict(&setting, &Exchange { messages }).unwrap();
    assert_eq!(predicted.link_bytes, 1502.0);
    assert!(close(predicted.hops_mean, 1502.0 / 3.0));
}

fn exchanges() -> impl Strategy<Value = Vec<Sent>> {
    let message = (0..64_u32, 1..64_u32, 0..100_000_u64);
    prop::collection::vec(
        message.prop_map(|(from, by, bytes)| Sent::one(from, (from + by) % 64, bytes)),
        0..200,
    )
}

proptest! {
    #[test]
    fn prediction_is_complete_and_monotonic(messages in exchanges(), extra in 0..100_000_u64) {
        let machine = blue_waters();
        let setting = setting(&machine, layout(64, 8, 2));
        let exchange = Exchange { messages };
        let predicted = predict(&setting, &exchange).unwrap();
        let sum = |of: fn(&matchpoint_model::ProcessCost) -> u64| predicted.processes.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|process| process.sent), exchange.messages.len() as u64);
        prop_assert_eq!(sum(|process| process.received), exchange.messages.len() as u64);
        prop_assert_eq!(sum(|process| process.sent_bytes), exchange.bytes());
        let worst = predicted.processes[predicted.worst as usize].split.total_s();
        prop_assert!(predicted.processes.iter().all(|process| process.split.total_s() <= worst));
        let mut more = exchange.clone();
        more.messages.push(Sent::one(0, 1, extra));
        prop_assert!(predict(&setting, &more).unwrap().longest[1].total_s() >= worst);
    }

    /// On a mesh large enough for all nodes, a counted load is at most the sum of all bytes.
    #[test]
    fn counted_loads_are_within_bounds(messages in exchanges()) {
        let machine = blue_waters();
        let text = "format = 1\nkind = \"torus\"\ndimensions = [2, 2, 2]\n";
        let torus = Topology::parse(text, Path::new("torus.toml")).unwrap();
        let setting = Setting { topology: Some(&torus), ..setting(&machine, layout(64, 8, 2)) };
        let exchange = Exchange { messages };
        let predicted = predict(&setting, &exchange).unwrap();
        let off_node: u64 = predicted.processes.iter().map(|process| process.off_node_bytes).sum();
        prop_assert!(predicted.link_bytes <= off_node as f64);
        prop_assert!(predicted.hops_mean <= 3.0);
        // Some link carries at least the mean.
        prop_assert!(predicted.link_bytes >= predicted.hops_mean * off_node as f64 / 24.0 - 1e-6);
    }
}
