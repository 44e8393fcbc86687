//! The network: links between two nodes, and bytes on each link.
//!
//! Without a file, routers fill a cube of a torus (figure 8), and equation 7 gives the load, as in the paper.
//! With a file (`docs/reference/predict.md`) every message has a route, and the loads are counted.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use crate::file_error::FileError;

mod fat_tree;
mod file;
mod graph;
mod grid;
mod link;

pub use grid::Cube;
pub use link::LinkId;

use fat_tree::FatTree;
use graph::Graph;
use grid::Grid;

#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    kind: Kind,
    routes: HashMap<(u32, u32), Vec<u32>>,
}

#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Grid(Grid),
    FatTree(FatTree),
    Graph(Graph),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    kind: KindName,
    #[serde(default)]
    dimensions: Vec<u32>,
    #[serde(default)]
    nodes_per_router: Option<u32>,
    #[serde(default)]
    arity: Option<u32>,
    #[serde(default)]
    levels: Option<u32>,
    #[serde(default)]
    links: Vec<(u32, u32)>,
    #[serde(default)]
    nodes: Vec<u32>,
    #[serde(default)]
    routes: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindName {
    Torus,
    Mesh,
    FatTree,
    Graph,
}

impl Topology {
    /// # Errors
    /// The file cannot be read or is invalid. The error has the position.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        file::read(path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        file::parse(text, path)
    }

    pub fn nodes(&self) -> u64 {
        match &self.kind {
            Kind::Grid(grid) => grid.nodes(),
            Kind::FatTree(tree) => tree.nodes(),
            Kind::Graph(graph) => graph.nodes(),
        }
    }

    /// Routes to node `to`, which must be less than [`nodes`](Topology::nodes). Linear in the links of a
    /// graph: callers handle all routes to one destination together.
    pub fn routes_to(&self, to: u32) -> RoutesTo<'_> {
        let next = match &self.kind {
            Kind::Graph(graph) => graph.next_routers_towards(graph.router(to)),
            Kind::Grid(_) | Kind::FatTree(_) => Vec::new(),
        };
        RoutesTo { topology: self, to, next }
    }

    fn router(&self, node: u32) -> u32 {
        match &self.kind {
            Kind::Grid(grid) => grid.router(node),
            Kind::FatTree(tree) => tree.router(node),
            Kind::Graph(graph) => graph.router(node),
        }
    }
}

#[derive(Clone, Debug)]
pub struct RoutesTo<'a> {
    topology: &'a Topology,
    to: u32,
    /// For a graph: the next router of each router.
    next: Vec<u32>,
}

impl RoutesTo<'_> {
    /// Calls `each` with every link between routers, in order.
    pub fn route(&self, from: u32, each: &mut dyn FnMut(LinkId)) {
        let RoutesTo { topology, to, next } = self;
        let (first, last) = (topology.router(from), topology.router(*to));
        match (&topology.kind, topology.routes.get(&(first, last))) {
            (_, Some(routers)) => {
                routers.windows(2).for_each(|pair| each((pair[0].into(), pair[1].into())));
            }
            (Kind::Grid(grid), None) => grid.route(first, last, each),
            (Kind::FatTree(tree), None) => tree.route(from, *to, each),
            (Kind::Graph(_), None) => {
                let mut at = first;
                while at != last {
                    let then = next[at as usize];
                    each((at.into(), then.into()));
                    at = then;
                }
            }
        }
    }
}
