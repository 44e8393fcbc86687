//! Arbitrary networks: routers, links, shortest paths.

use std::collections::VecDeque;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Graph {
    /// In ascending order.
    neighbours: Vec<Vec<u32>>,
    /// The router of each node.
    nodes: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Graph {
    /// A graph of bidirectional links, and the router of each node.
    ///
    /// # Errors
    /// A router with nodes is unreachable.
    pub fn new(links: &[(u32, u32)], nodes: Vec<u32>) -> Result<Self, String> {
        let named = links.iter().flat_map(|&(one, other)| [one, other]).chain(nodes.iter().copied());
        let routers = named.max().map_or(0, |last| last as usize + 1);
        // Router numbers may have gaps, but the entries in the file limit the memory.
        let listed = 2 * links.len() + nodes.len();
        if routers > listed {
            return Err(format!(
                "router {} is named, but the links have only {listed} routers: number routers from 0",
                routers - 1
            ));
        }
        let mut neighbours = vec![Vec::new(); routers];
        for &(one, other) in links {
            neighbours[one as usize].push(other);
            neighbours[other as usize].push(one);
        }
        neighbours.iter_mut().for_each(|of| {
            of.sort_unstable();
            of.dedup();
        });
        let graph = Graph { neighbours, nodes };
        let first = graph.nodes.first().copied();
        let next = first.map(|first| graph.next_routers_towards(first)).unwrap_or_default();
        let lost = graph.nodes.iter().find(|&&router| next[router as usize] == NOWHERE);
        lost.map_or(Ok(()), |lost| {
            Err(format!("router {lost} is not connected to the router of the first node"))
        })?;
        Ok(graph)
    }

    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    pub fn router(&self, node: u32) -> u32 {
        self.nodes[node as usize]
    }

    pub fn has_link(&self, one: u32, other: u32) -> bool {
        self.neighbours.get(one as usize).is_some_and(|of| of.binary_search(&other).is_ok())
    }

    /// For every router, the next router on a shortest path to `to`. Of several paths, the path with the
    /// lowest router numbers.
    pub fn next_routers_towards(&self, to: u32) -> Vec<u32> {
        let mut next = vec![NOWHERE; self.neighbours.len()];
        next[to as usize] = to;
        let mut queue = VecDeque::from([to]);
        while let Some(at) = queue.pop_front() {
            for &neighbour in &self.neighbours[at as usize] {
                if next[neighbour as usize] == NOWHERE {
                    next[neighbour as usize] = at;
                    queue.push_back(neighbour);
                }
            }
        }
        next
    }
}
