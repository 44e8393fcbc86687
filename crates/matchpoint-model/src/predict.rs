//! What an exchange costs every process: transport, queue search and contention, added up as in §5.
//!
//! A process pays for what it sends, one message after the other; for the search of its queues, as many entries as
//! messages come to it; and, if any of its messages leave the node, for the links that they share. The operation takes as
//! long as the process that takes longest.

use std::collections::HashMap;

use crate::contention::cube_link_bytes;
use crate::estimate::End;
use crate::exchange::{Exchange, Sent};
use crate::layout::Layout;
use crate::machine::{Locality, Machine, Missing};
use crate::queue::SearchOrder;
use crate::topology::{Cube, LinkId, Topology};
use crate::transport::Knowledge;

/// What an exchange is put on.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The parameters.
    pub machine: &'a Machine,
    /// Which process lies where.
    pub layout: Layout,
    /// The network; `None` is the paper's cube.
    pub topology: Option<&'a Topology>,
    /// What searching the queues takes.
    pub search: Search<'a>,
}

/// What searching the queues takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Search<'a> {
    /// A list of as many entries as messages come to a process, which come in this order.
    Order(SearchOrder),
    /// It is known, by process and, as [`End::ALL`], by the end of its interval.
    Known(&'a [[f64; 3]]),
}

/// Time by what it goes to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Split {
    /// Getting messages from process to process.
    pub transport_s: f64,
    /// Searching queues; 0 if the machine does not tell.
    pub queue_s: f64,
    /// Waiting for links; 0 if the machine does not tell.
    pub contention_s: f64,
}

impl Split {
    /// All of it.
    pub fn total_s(&self) -> f64 {
        self.transport_s + self.queue_s + self.contention_s
    }
}

/// One process of an exchange.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProcessCost {
    /// Messages it sends.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Those of them that leave the node.
    pub off_node_bytes: u64,
    /// Links that a byte of these passes, on average; 0 without any.
    pub hops_mean: f64,
    /// Messages it receives.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// What it pays.
    pub split: Split,
}

/// An exchange, costed.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// Every process.
    pub processes: Vec<ProcessCost>,
    /// The process that takes longest; the first of several.
    pub worst: u32,
    /// The longest time of any process, at each end of the intervals (as [`End::ALL`]).
    pub longest: [Split; 3],
    /// The longest transport of any process, as models see it that know less; `None` if the machine lacks what they need.
    pub postal_s: Option<f64>,
    /// See `postal_s`.
    pub max_rate_s: Option<f64>,
    /// ℓ: bytes that pass the link that most pass: equation 7's, or counted. 0 if nothing leaves a node.
    pub link_bytes: f64,
    /// h: links that a byte between nodes passes, on average.
    pub hops_mean: f64,
    /// What the machine could not tell, so that it is not in the times.
    pub missing: Vec<Missing>,
}

impl Prediction {
    /// Whether the machine could not tell the time of queue search, or a part of it.
    pub fn lacks_queue(&self) -> bool {
        self.lacks("queue_search")
    }

    /// The same of contention.
    pub fn lacks_contention(&self) -> bool {
        self.lacks("contention")
    }

    fn lacks(&self, section: &str) -> bool {
        self.missing.iter().any(|missing| missing.parameter.starts_with(section))
    }
}

/// Costs an exchange.
///
/// Linear in the messages, times the length of their routes.
///
/// # Errors
/// A process of the exchange, or its node, is not there; or the machine lacks a parameter of transport. Where it lacks γ
/// or δ, [`Prediction::missing`] says so.
pub fn predict(setting: &Setting<'_>, exchange: &Exchange) -> Result<Prediction, String> {
    check(setting, exchange)?;
    let counts = Counts::of(setting, exchange);
    let mut missing = Vec::new();
    let processes = counts.costs(setting, exchange, End::Value, Some(&mut missing))?;
    let (mut worst, mut longest) = (0, [Split::default(); 3]);
    for (at, end) in End::ALL.into_iter().enumerate() {
        let costs = counts.costs(setting, exchange, end, None)?;
        let last = longest_of(&costs);
        longest[at] = costs.get(last).map(|cost| cost.split).unwrap_or_default();
        worst = if end == End::Value { last as u32 } else { worst };
    }
    let known = |knowledge| {
        let sums = counts.transports(setting, exchange, knowledge, End::Value).ok()?;
        Some(sums.into_iter().fold(0.0, f64::max))
    };
    Ok(Prediction {
        processes,
        worst,
        longest,
        postal_s: known(Knowledge::Postal),
        max_rate_s: known(Knowledge::MaxRate),
        link_bytes: counts.links.max_bytes,
        hops_mean: counts.links.hops_mean,
        missing,
    })
}

fn check(setting: &Setting<'_>, exchange: &Exchange) -> Result<(), String> {
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

/// The first of the processes that take longest.
fn longest_of(costs: &[ProcessCost]) -> usize {
    let total = |at: usize| costs[at].split.total_s();
    (1..costs.len()).fold(0, |longest, at| if total(at) > total(longest) { at } else { longest })
}

/// What does not depend on the parameters.
struct Counts {
    processes: Vec<ProcessCost>,
    /// By node and locality: processes that send such messages.
    active: Vec<[u32; 3]>,
    /// By node: processes that send any.
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

    /// By process: the sum of its messages' transport.
    fn transports(
        &self,
        setting: &Setting<'_>,
        exchange: &Exchange,
        knowledge: Knowledge,
        end: End,
    ) -> Result<Vec<f64>, Missing> {
        let mut sums = vec![0.0; self.processes.len()];
        for sent in &exchange.messages {
            let (from, bytes) = (sent.from, sent.mean_bytes());
            let locality = setting.layout.locality(from, sent.to);
            let node = setting.layout.node(from) as usize;
            let active = match knowledge {
                Knowledge::NodeAware => self.active[node][locality as usize],
                // They take every message for one between nodes.
                Knowledge::Postal | Knowledge::MaxRate => self.senders[node],
            };
            let each_s = setting.machine.message_known_s(knowledge, locality, bytes, active, end)?;
            sums[from as usize] += each_s * sent.messages as f64;
        }
        Ok(sums)
    }

    fn costs(
        &self,
        setting: &Setting<'_>,
        exchange: &Exchange,
        end: End,
        missing: Option<&mut Vec<Missing>>,
    ) -> Result<Vec<ProcessCost>, String> {
        let transports = self.transports(setting, exchange, Knowledge::NodeAware, end);
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

/// What passes the links of the network.
struct Links {
    /// By process: bytes on the link that most pass, of those that its messages take.
    of_process: Vec<f64>,
    max_bytes: f64,
    hops_mean: f64,
    /// Whether the loads can be told: equation 7 needs the nodes per router.
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

/// Nodes at each router. Where the machine does not say, links are counted as if each node had its own; loads are not told.
fn nodes_per_router(machine: &Machine) -> u32 {
    machine.contention.nodes_per_router.unwrap_or(1)
}

/// By pair of nodes: links between them, and the bytes on the one of these that most pass.
struct Routes(HashMap<(u32, u32), (u32, f64)>);

impl Routes {
    fn of(setting: &Setting<'_>, pairs: &HashMap<(u32, u32), u64>) -> Self {
        let Some(topology) = setting.topology else {
            let cube = Cube::of(setting.layout.nodes(), nodes_per_router(setting.machine));
            return Routes(
                pairs.keys().map(|&(from, to)| ((from, to), (cube.hops(from, to), 0.0))).collect(),
            );
        };
        // Destination by destination: the ways to each are found once for all that send there, and once more below.
        let mut sorted: Vec<(u32, u32, u64)> =
            pairs.iter().map(|(&(from, to), &bytes)| (to, from, bytes)).collect();
        sorted.sort_unstable();
        let destinations = || sorted.chunk_by(|one, other| one.0 == other.0);
        let mut loads: HashMap<LinkId, u64> = HashMap::new();
        for to_one in destinations() {
            let ways = topology.ways_to(to_one[0].0);
            for &(_, from, bytes) in to_one {
                ways.route(from, &mut |link| *loads.entry(link).or_default() += bytes);
            }
        }
        let mut routes = HashMap::with_capacity(pairs.len());
        for to_one in destinations() {
            let ways = topology.ways_to(to_one[0].0);
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
