//! Location of the ranks, and pairs of ranks for each locality (§3).

use matchpoint_model::Locality;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPlace {
    pub rank: u32,
    /// The lowest rank with shared memory (`MPI_COMM_TYPE_SHARED`, MPI-4.1 §7.4.2), or with the same kernel
    /// and host name.
    pub node: u32,
    pub host: String,
    /// Package (socket) of the rank's cores. `None` if there are several, or if Linux does not report the
    /// package.
    pub package: Option<u32>,
    /// 0 if Linux does not report the number.
    pub packages: u32,
    pub cpus: u32,
}

/// Two ranks; the first sends first.
pub type Pair = (u32, u32);

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranks(pub Vec<RankPlace>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    pub placement: Locality,
    /// Reason and hint.
    pub why: String,
}

impl Ranks {
    /// In the order of their lowest ranks.
    pub fn nodes(&self) -> Vec<Vec<&RankPlace>> {
        let mut nodes: Vec<Vec<&RankPlace>> = Vec::new();
        for place in &self.0 {
            match nodes.iter_mut().find(|node| node[0].node == place.node) {
                Some(node) => node.push(place),
                None => nodes.push(vec![place]),
            }
        }
        nodes
    }

    pub fn locality_of(one: &RankPlace, other: &RankPlace) -> Option<Locality> {
        if one.node != other.node {
            return Some(Locality::OffNode);
        }
        match (one.package, other.package) {
            // A rank without binding on a node with one package.
            _ if one.packages == 1 => Some(Locality::OnSocket),
            (Some(one), Some(other)) if one == other => Some(Locality::OnSocket),
            (Some(_), Some(_)) => Some(Locality::OnNode),
            _ => None,
        }
    }

    pub fn pair(&self, placement: Locality) -> Result<Pair, Absent> {
        let pairs = self.0.iter().flat_map(|one| self.0.iter().map(move |other| (one, other)));
        let mut ordered = pairs.filter(|(one, other)| one.rank < other.rank);
        let found = ordered.find(|(one, other)| Ranks::locality_of(one, other) == Some(placement));
        found
            .map(|(one, other)| (one.rank, other.rank))
            .ok_or_else(|| Absent { placement, why: self.why_absent(placement) })
    }

    fn why_absent(&self, placement: Locality) -> String {
        let nodes = self.nodes();
        if placement == Locality::OffNode {
            return format!("all {} ranks are on one node; name two hosts to the launcher", self.0.len());
        }
        let Some(node) = nodes.iter().find(|node| node.len() > 1) else {
            return "no node has two ranks; start two or more on each".to_owned();
        };
        let packages = node[0].packages;
        let unbound = node.iter().any(|place| place.package.is_none());
        match (placement, packages) {
            (Locality::OnNode, 1) => "the nodes have one socket".to_owned(),
            (_, 0) => "Linux does not say on which socket a core is".to_owned(),
            _ if unbound => format!(
                "the nodes have {packages} sockets, and ranks may run on several of them; bind them (MPICH: -bind-to core, \
                 Open MPI: --bind-to core)"
            ),
            (Locality::OnNode, _) => {
                "all ranks of a node are on one socket; start more, or map them by socket".to_owned()
            }
            _ => "no two ranks are on one socket; start more of them".to_owned(),
        }
    }

    /// The nearest pair, for measurements that do not depend on the locality. The locality of two unbound
    /// ranks on a node is unknown.
    pub fn closest_pair(&self) -> Option<(Option<Locality>, Pair)> {
        let known = Locality::ALL[..2].iter();
        let mut near = known.filter_map(|&placement| Some((Some(placement), self.pair(placement).ok()?)));
        let unknown = || {
            let nodes = self.nodes();
            let node = nodes.iter().find(|node| node.len() > 1)?;
            Some((None, (node[0].rank, node[1].rank)))
        };
        let far = || Some((Some(Locality::OffNode), self.pair(Locality::OffNode).ok()?));
        near.next().or_else(unknown).or_else(far)
    }

    /// The most distant pair, for measurements of the network.
    pub fn farthest_pair(&self) -> Option<(Option<Locality>, Pair)> {
        let known = Locality::ALL.into_iter().rev();
        let far = known.filter_map(|locality| Some((Some(locality), self.pair(locality).ok()?))).next();
        far.or_else(|| self.closest_pair())
    }

    pub fn pairs_between(&self, from: usize, to: usize) -> Vec<Pair> {
        let nodes = self.nodes();
        let (Some(from), Some(to)) = (nodes.get(from), nodes.get(to)) else { return Vec::new() };
        from.iter().zip(to).map(|(one, other)| (one.rank, other.rank)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Ranks for tests, by node: packages of the node, and the package of each rank.
    pub(crate) fn ranks(nodes: &[(u32, &[Option<u32>])]) -> Ranks {
        let mut places = Vec::new();
        for (index, (packages, ranks)) in nodes.iter().enumerate() {
            let node = places.len() as u32;
            for package in *ranks {
                let rank = places.len() as u32;
                let host = format!("n{index}");
                places.push(RankPlace { rank, node, host, package: *package, packages: *packages, cpus: 1 });
            }
        }
        Ranks(places)
    }

    #[test]
    fn pairs_are_found_by_placement() {
        let two_nodes = ranks(&[(2, &[Some(0), Some(0), Some(1)]), (2, &[Some(0), Some(1)])]);
        assert_eq!(two_nodes.pair(Locality::OnSocket), Ok((0, 1)));
        assert_eq!(two_nodes.pair(Locality::OnNode), Ok((0, 2)));
        assert_eq!(two_nodes.pair(Locality::OffNode), Ok((0, 3)));
        assert_eq!(two_nodes.pairs_between(0, 1), [(0, 3), (1, 4)]);
        assert_eq!(two_nodes.pairs_between(0, 2), []);
    }

    #[test]
    fn one_socket_is_known_without_binding() {
        let unbound = ranks(&[(1, &[None, None])]);
        assert_eq!(unbound.pair(Locality::OnSocket), Ok((0, 1)));
        assert!(unbound.pair(Locality::OnNode).unwrap_err().why.contains("one socket"));
        assert!(unbound.pair(Locality::OffNode).unwrap_err().why.contains("two hosts"));
    }

    #[test]
    fn unbound_ranks_have_unknown_sockets() {
        let unbound = ranks(&[(2, &[None, None])]);
        for placement in [Locality::OnSocket, Locality::OnNode] {
            assert!(unbound.pair(placement).unwrap_err().why.contains("bind-to core"));
        }
        assert_eq!(unbound.closest_pair(), Some((None, (0, 1))));
        assert_eq!(ranks(&[(1, &[None])]).closest_pair(), None);
    }
}
