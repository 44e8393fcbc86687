//! Cost of an exchange for every process: the sum of transport, queue search and contention, as in §5.
//!
//! A process pays for its sent messages, one after the other, and for the search of its queues, with one
//! entry per received message. If a message leaves the node, the process also pays for shared links. The
//! operation takes as long as the slowest process.

use std::collections::HashMap;

use crate::contention::cube_link_bytes;
use crate::estimate::End;
use crate::exchange::{Exchange, Sent};
use crate::layout::Layout;
use crate::machine::{Locality, Machine, Missing};
use crate::queue::SearchOrder;
use crate::topology::{Cube, LinkId, Topology};
use crate::transport::TransportModel;

#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub machine: &'a Machine,
    pub layout: Layout,
    /// `None` is the paper's cube.
    pub topology: Option<&'a Topology>,
    pub search: Search<'a>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Search<'a> {
    /// A list with one entry per received message, in this order.
    Order(SearchOrder),
    /// Known search times, by process and by end of the interval (as [`End::ALL`]).
    Known(&'a [[f64; 3]]),
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Split {
    pub transport_s: f64,
    /// 0 if the machine lacks the parameters.
    pub queue_s: f64,
    /// 0 if the machine lacks the parameters.
    pub contention_s: f64,
}

impl Split {
    pub fn total_s(&self) -> f64 {
        self.transport_s + self.queue_s + self.contention_s
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProcessCost {
    pub sent: u64,
    pub sent_bytes: u64,
    pub off_node_bytes: u64,
    /// Links per off-node byte; 0 without such bytes.
    pub hops_mean: f64,
    pub received: u64,
    pub received_bytes: u64,
    pub split: Split,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    pub processes: Vec<ProcessCost>,
    /// The first of the slowest processes.
    pub worst: u32,
    /// Time of the slowest process at each end of the intervals (as [`End::ALL`]).
    pub longest: [Split; 3],
    /// Longest transport time of a process in the postal model; `None` if the machine lacks a parameter.
    pub postal_s: Option<f64>,
    /// As `postal_s`, in the max-rate model.
    pub max_rate_s: Option<f64>,
    /// ℓ: bytes on the link with the highest load, by equation 7 or counted. 0 without off-node messages.
    pub link_bytes: f64,
    /// h: mean links of a byte between nodes.
    pub hops_mean: f64,
    /// Absent parameters. The times do not include their costs.
    pub missing: Vec<Missing>,
}

impl Prediction {
    pub fn lacks_queue(&self) -> bool {
        self.lacks_section("queue_search")
    }

    pub fn lacks_contention(&self) -> bool {
        self.lacks_section("contention")
    }

    fn lacks_section(&self, section: &str) -> bool {
        self.missing.iter().any(|missing| missing.parameter.starts_with(section))
    }
}

/// Estimates the cost of an exchange. Linear in the number of messages times the length of the routes.
///
/// # Errors
/// A process or node is out of range, or the machine lacks a parameter of transport. A missing γ or δ is
/// listed in [`Prediction::missing`].
pub fn predict(setting: &Setting<'_>, exchange: &Exchange) -> Result<Prediction, String> {
    check_ranges(setting, exchange)?;
    let counts = Counts::of(setting, exchange);
    let mut missing = Vec::new();
    let processes = counts.process_costs(setting, exchange, End::Value, Some(&mut missing))?;
    let (mut worst, mut longest) = (0, [Split::default(); 3]);
    for (at, end) in End::ALL.into_iter().enumerate() {
        let costs = counts.process_costs(setting, exchange, end, None)?;
        let last = longest_of(&costs);
        longest[at] = costs.get(last).map(|cost| cost.split).unwrap_or_default();
        worst = if end == End::Value { last as u32 } else { worst };
    }
    let longest_s = |model| {
        let sums = counts.transport_times(setting, exchange, model, End::Value).ok()?;
        Some(sums.into_iter().fold(0.0, f64::max))
    };
    Ok(Prediction {
        processes,
        worst,
        longest,
        postal_s: longest_s(TransportModel::Postal),
        max_rate_s: longest_s(TransportModel::MaxRate),
        link_bytes: counts.links.max_bytes,
        hops_mean: counts.links.hops_mean,
        missing,
    })
}

fn check_ranges(setting: &Setting<'_>, exchange: &Exchange) -> Result<(), String> {
    let Layout { processes, .. } = setting.layout;
    let last = exchange.messages.iter().map(|message| message.from.max(message.to)).max();
    if let Some(last) = last.filter(|&last| last >= processes.get()) {
        return Err(format!("process {last} sends or receives, but there are {processes} processes"));
    }
    let room = setting.topology.map_or(u64::MAX, Topology::nodes);
    let nodes = u64::from(setting.layout.nodes());
    if nodes > room {
        return Err(format!("the network has {room} nodes, but {processes} processes take {nodes}"));
    }
    Ok(())
}

fn longest_of(costs: &[ProcessCost]) -> usize {
    let total = |at: usize| costs[at].split.total_s();
    (1..costs.len()).fold(0, |longest, at| if total(at) > total(longest) { at } else { longest })
}

struct Counts {
    processes: Vec<ProcessCost>,
    /// For each node and locality: number of processes that send messages to this locality.
    active: Vec<[u32; 3]>,
    /// For each node: number of processes that send any message.
    senders: Vec<u32>,
    links: Links,
}

impl Counts {
    fn of(setting: &Setting<'_>, exchange: &Exchange) -> Self {
        let layout = setting.layout;
        let mut processes = vec![ProcessCost::default(); layout.processes.get() as usize];
        let mut sends = vec![[false; 3]; processes.len()];
        for &Sent { from, to, messages, bytes } in &exchange.messages {
            let locality = layout.locality(from, to);
            sends[from as usize][locality as usize] = true;
            let sender = &mut processes[from as usize];
            sender.sent += messages;
            sender.sent_bytes += bytes;
            if locality == Locality::OffNode {
                sender.off_node_bytes += bytes;
            }
            let receiver = &mut processes[to as usize];
            receiver.received += messages;
            receiver.received_bytes += bytes;
        }
        let mut active = vec![[0; 3]; layout.nodes() as usize];
        let mut senders = vec![0; active.len()];
        for (process, sends) in sends.into_iter().enumerate() {
            let node = layout.node(process as u32) as usize;
            (0..3).for_each(|at| active[node][at] += u32::from(sends[at]));
            senders[node] += u32::from(sends.contains(&true));
        }
        let links = Links::of(setting, exchange, &mut processes);
        Counts { processes, active, senders, links }
    }

    fn transport_times(
        &self,
        setting: &Setting<'_>,
        exchange: &Exchange,
        model: TransportModel,
        end: End,
    ) -> Result<Vec<f64>, Missing> {
        let mut sums = vec![0.0; self.processes.len()];
        for sent in &exchange.messages {
            let (from, bytes) = (sent.from, sent.mean_bytes());
            let locality = setting.layout.locality(from, sent.to);
            let node = setting.layout.node(from) as usize;
            let active = match model {
                TransportModel::NodeAware => self.active[node][locality as usize],
                // Both models treat every message as off-node.
                TransportModel::Postal | TransportModel::MaxRate => self.senders[node],
            };
            let each_s = setting.machine.modelled_message_s(model, locality, bytes, active, end)?;
            sums[from as usize] += each_s * sent.messages as f64;
        }
        Ok(sums)
    }

    fn process_costs(
        &self,
        setting: &Setting<'_>,
        exchange: &Exchange,
        end: End,
        missing: Option<&mut Vec<Missing>>,
    ) -> Result<Vec<ProcessCost>, String> {
        let transports = self.transport_times(setting, exchange, TransportModel::NodeAware, end);
        let transports = transports.map_err(|missing| missing.to_string())?;
        let mut costs = self.processes.clone();
        let mut lacks = Vec::new();
        let mut told = |time: Result<f64, Missing>| {
            time.unwrap_or_else(|missing| {
                if !lacks.contains(&missing) {
                    lacks.push(missing);
                }
                0.0
            })
        };
        for (process, cost) in costs.iter_mut().enumerate() {
            cost.split.transport_s = transports[process];
            cost.split.queue_s = match setting.search {
                Search::Known(times) => times.get(process).map_or(0.0, |times| times[end as usize]),
                Search::Order(_) if cost.received == 0 => 0.0,
                Search::Order(order) => told(setting.machine.search_s(order, cost.received, end)),
            };
            let link_bytes = self.links.of_process[process];
            if link_bytes > 0.0 {
                let time =
                    self.links.load.clone().and_then(|()| setting.machine.contention_s(link_bytes, end));
                cost.split.contention_s = told(time);
            }
        }
        if let Some(missing) = missing {
            *missing = lacks;
        }
        Ok(costs)
    }
}

struct Links {
    /// For each process: bytes on the link with the highest load on the process's routes.
    of_process: Vec<f64>,
    max_bytes: f64,
    hops_mean: f64,
    /// An error if equation 7 lacks the nodes per router.
    load: Result<(), Missing>,
}

impl Links {
    fn of(setting: &Setting<'_>, exchange: &Exchange, processes: &mut [ProcessCost]) -> Self {
        let layout = setting.layout;
        let mut pairs: HashMap<(u32, u32), u64> = HashMap::new();
        for &Sent { from, to, bytes, .. } in &exchange.messages {
            let (from, to) = (layout.node(from), layout.node(to));
            if from != to {
                *pairs.entry((from, to)).or_default() += bytes;
            }
        }
        let routes = Routes::of(setting, &pairs);
        let mut of_process = vec![0.0_f64; processes.len()];
        for &Sent { from, to, bytes, .. } in &exchange.messages {
            let Some((hops, link_bytes)) = routes.get(layout.node(from), layout.node(to)) else { continue };
            let sender = &mut processes[from as usize];
            sender.hops_mean += f64::from(*hops) * bytes as f64;
            let most = &mut of_process[from as usize];
            *most = most.max(*link_bytes);
        }
        let byte_hops: f64 = processes.iter().map(|process| process.hops_mean).sum();
        let off_node: f64 = processes.iter().map(|process| process.off_node_bytes as f64).sum();
        processes.iter_mut().filter(|process| process.off_node_bytes > 0).for_each(|process| {
            process.hops_mean /= process.off_node_bytes as f64;
        });
        let hops_mean = if off_node > 0.0 { byte_hops / off_node } else { 0.0 };
        let mut load = Ok(());
        if setting.topology.is_none() {
            if setting.machine.contention.nodes_per_router.is_none() {
                load = Err(setting.machine.missing("contention.nodes_per_router"));
            }
            let b = off_node / f64::from(layout.processes.get());
            let ppn = f64::from(layout.ppn.get().min(layout.processes.get()));
            let link_bytes = cube_link_bytes(hops_mean, b, ppn, nodes_per_router(setting.machine).into());
            let takes_part =
                |process: &ProcessCost| if process.off_node_bytes > 0 { link_bytes } else { 0.0 };
            of_process = processes.iter().map(takes_part).collect();
        }
        let max_bytes = of_process.iter().copied().fold(0.0, f64::max);
        Links { of_process, max_bytes, hops_mean, load }
    }
}

/// If missing, links are counted as with one node per router, and loads are unknown.
fn nodes_per_router(machine: &Machine) -> u32 {
    machine.contention.nodes_per_router.unwrap_or(1)
}

/// For each pair of nodes: number of links between the nodes, and bytes on the link with the highest load.
struct Routes(HashMap<(u32, u32), (u32, f64)>);

impl Routes {
    fn of(setting: &Setting<'_>, pairs: &HashMap<(u32, u32), u64>) -> Self {
        let Some(topology) = setting.topology else {
            let cube = Cube::of(setting.layout.nodes(), nodes_per_router(setting.machine));
            return Routes(
                pairs.keys().map(|&(from, to)| ((from, to), (cube.hops(from, to), 0.0))).collect(),
            );
        };
        // Sorted by destination: the routes to a node are computed once for all senders.
        let mut sorted: Vec<(u32, u32, u64)> =
            pairs.iter().map(|(&(from, to), &bytes)| (to, from, bytes)).collect();
        sorted.sort_unstable();
        let destinations = || sorted.chunk_by(|one, other| one.0 == other.0);
        let mut loads: HashMap<LinkId, u64> = HashMap::new();
        for to_one in destinations() {
            let ways = topology.routes_to(to_one[0].0);
            for &(_, from, bytes) in to_one {
                ways.route(from, &mut |link| *loads.entry(link).or_default() += bytes);
            }
        }
        let mut routes = HashMap::with_capacity(pairs.len());
        for to_one in destinations() {
            let ways = topology.routes_to(to_one[0].0);
            for &(to, from, _) in to_one {
                let (mut hops, mut most) = (0, 0);
                ways.route(from, &mut |link| {
                    hops += 1;
                    most = most.max(loads[&link]);
                });
                routes.insert((from, to), (hops, most as f64));
            }
        }
        Routes(routes)
    }

    fn get(&self, from: u32, to: u32) -> Option<&(u32, f64)> {
        self.0.get(&(from, to))
    }
}
