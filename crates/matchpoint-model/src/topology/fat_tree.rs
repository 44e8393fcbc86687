//! Fat trees: k-ary n-trees with routes up to the first common switch and down again.

use super::link::LinkId;

/// k^n nodes, n levels of switches, k nodes per switch of the lowest level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FatTree {
    pub arity: u32,
    pub levels: u32,
}

/// Direction in a link's id.
const UP: u64 = 0;
const DOWN: u64 = 1;

impl FatTree {
    pub fn nodes(&self) -> u64 {
        u64::from(self.arity).saturating_pow(self.levels)
    }

    /// The switch of the lowest level.
    pub fn router(&self, node: u32) -> u32 {
        node / self.arity
    }

    /// Upwards, every switch selects the port by the next digit of the destination. Messages to one node
    /// therefore share links, and messages to different nodes spread over the tree.
    pub fn route(&self, from: u32, to: u32, each: &mut dyn FnMut(LinkId)) {
        let arity = u64::from(self.arity);
        let mut top = 0;
        let below = |node: u32, level: u32| u64::from(node) / arity.pow(level + 1);
        while below(from, top) != below(to, top) {
            top += 1;
        }
        // A switch of a level is one of the columns above a part of the nodes. The last digits of the
        // destination select the column.
        let column = |level: u32| u64::from(to) % arity.pow(level);
        let link = |direction: u64, part: u64, level: u32| {
            ((part << 1) | direction, (u64::from(level) << 32) | column(level + 1))
        };
        (0..top).for_each(|level| each(link(UP, below(from, level), level)));
        (0..top).rev().for_each(|level| each(link(DOWN, below(to, level), level)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn route_has_two_links_per_level() {
        let tree = FatTree { arity: 4, levels: 3 };
        assert_eq!(tree.nodes(), 64);
        for (from, to, expected) in [(0, 0, 0), (0, 3, 0), (0, 4, 2), (5, 15, 2), (0, 16, 4), (63, 0, 4)] {
            let mut links = 0;
            tree.route(from, to, &mut |_| links += 1);
            assert_eq!(links, expected, "{from} {to}");
        }
    }

    #[test]
    fn half_tree_permutation_loads_links_equally() {
        let tree = FatTree { arity: 4, levels: 3 };
        let mut loads: HashMap<LinkId, u32> = HashMap::new();
        for node in 0..64 {
            tree.route(node, (node + 32) % 64, &mut |link| *loads.entry(link).or_default() += 1);
        }
        assert!(loads.values().all(|&load| load == 1), "{loads:?}");
        assert_eq!(loads.len(), 64 * 4);
    }
}
