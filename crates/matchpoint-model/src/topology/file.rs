//! The file of a network, with checks.

use std::collections::HashMap;
use std::path::Path;

use super::{FatTree, File, Graph, Grid, Kind, KindName, Topology};
use crate::file_error::FileError;
use crate::lines::{line_of, parse_toml};

const FORMAT: u32 = 1;

/// Known networks listed link by link are smaller.
const BYTES_MAX: u64 = 64 << 20;

/// Known networks have fewer dimensions.
const DIMENSIONS_MAX: usize = 8;

/// Maximum number of routers that link ids can distinguish.
const ROUTERS_MAX: u64 = 1 << 31;

const HINT: &str = "see docs/reference/predict.md";

pub(super) fn read(path: &Path) -> Result<Topology, FileError> {
    let failed = |problem: String| failure(path, None, &problem);
    let bytes = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if bytes > BYTES_MAX {
        return Err(failed(format!("{bytes} bytes, too large for a network file")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    parse(&text, path)
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Topology, FileError> {
    let file: File = parse_toml(text).map_err(|(line, problem)| failure(path, line, &problem))?;
    build_topology(file).map_err(|(key, problem)| failure(path, line_of(text, "", key), &problem))
}

fn failure(path: &Path, line: Option<u64>, problem: &str) -> FileError {
    FileError { path: path.to_owned(), line, problem: format!("{problem}\nhint: {HINT}") }
}

/// The key to report, and the problem.
type Problem = (&'static str, String);

fn build_topology(file: File) -> Result<Topology, Problem> {
    if file.format != FORMAT {
        return Err(("format", format!("format = {}, but this version reads format {FORMAT}", file.format)));
    }
    let kind = match file.kind {
        KindName::Torus => Kind::Grid(build_grid(&file, true)?),
        KindName::Mesh => Kind::Grid(build_grid(&file, false)?),
        KindName::FatTree => Kind::FatTree(fat_tree(&file)?),
        KindName::Graph => Kind::Graph(build_graph(&file)?),
    };
    let routes = match &kind {
        Kind::Graph(graph) => collect_routes(graph, file.routes).map_err(|problem| ("routes", problem))?,
        _ if !file.routes.is_empty() => return Err(("routes", "routes are of a graph only".to_owned())),
        _ => HashMap::new(),
    };
    Ok(Topology { kind, routes })
}

/// Keys of another kind of network are errors.
fn check_no_other_keys(file: &File, of_graph: bool, of_tree: bool, of_grid: bool) -> Result<(), Problem> {
    let stray = [
        (!of_grid && !file.dimensions.is_empty(), "dimensions"),
        (!of_grid && file.nodes_per_router.is_some(), "nodes_per_router"),
        (!of_tree && file.arity.is_some(), "arity"),
        (!of_tree && file.levels.is_some(), "levels"),
        (!of_graph && !file.links.is_empty(), "links"),
        (!of_graph && !file.nodes.is_empty(), "nodes"),
    ];
    let stray = stray.into_iter().find(|(is_stray, _)| *is_stray);
    stray.map_or(Ok(()), |(_, key)| Err((key, format!("`{key}` is of another kind of network"))))
}

fn build_grid(file: &File, is_torus: bool) -> Result<Grid, Problem> {
    check_no_other_keys(file, false, false, true)?;
    let nodes_per_router = file.nodes_per_router.unwrap_or(1);
    let dimensions = file.dimensions.clone();
    if dimensions.is_empty()
        || dimensions.len() > DIMENSIONS_MAX
        || dimensions.contains(&0)
        || nodes_per_router == 0
    {
        let problem = format!(
            "dimensions = {dimensions:?}, nodes_per_router = {nodes_per_router}: 1 to {DIMENSIONS_MAX} dimensions are \
             needed, each of 1 router at least, with 1 node at least"
        );
        return Err(("dimensions", problem));
    }
    let grid = Grid { dimensions, is_torus, nodes_per_router };
    check_node_count(grid.nodes(), "the dimensions").map_err(|problem| ("dimensions", problem))?;
    Ok(grid)
}

fn fat_tree(file: &File) -> Result<FatTree, Problem> {
    check_no_other_keys(file, false, true, false)?;
    let (arity, levels) = (file.arity.unwrap_or(0), file.levels.unwrap_or(0));
    if arity < 2 || levels < 1 {
        return Err(("arity", "a fat tree needs arity, 2 at least, and levels, 1 at least".to_owned()));
    }
    let tree = FatTree { arity, levels };
    check_node_count(tree.nodes(), "arity and levels").map_err(|problem| ("arity", problem))?;
    Ok(tree)
}

fn check_node_count(nodes: u64, of: &str) -> Result<(), String> {
    let is_more = nodes > ROUTERS_MAX;
    if is_more {
        Err(format!("{of} give {nodes} nodes, but at most {ROUTERS_MAX} are supported"))
    } else {
        Ok(())
    }
}

fn build_graph(file: &File) -> Result<Graph, Problem> {
    check_no_other_keys(file, true, false, false)?;
    if file.nodes.is_empty() {
        return Err(("nodes", "a graph needs nodes: the router of each node".to_owned()));
    }
    Graph::new(&file.links, file.nodes.clone()).map_err(|problem| ("nodes", problem))
}

fn collect_routes(graph: &Graph, listed: Vec<Vec<u32>>) -> Result<HashMap<(u32, u32), Vec<u32>>, String> {
    let mut routes = HashMap::new();
    for route in listed {
        let (Some(&first), Some(&last)) = (route.first(), route.last()) else {
            return Err("an empty route".to_owned());
        };
        if let Some(gap) = route.windows(2).find(|pair| !graph.has_link(pair[0], pair[1])) {
            return Err(format!("the route {route:?} has no link from {} to {}", gap[0], gap[1]));
        }
        if routes.insert((first, last), route).is_some() {
            return Err(format!("two routes from router {first} to {last}"));
        }
    }
    Ok(routes)
}
