//! Tori and meshes with dimension-ordered routes, and the paper's cube.

use super::link::LinkId;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// Number of routers in each dimension, fastest-varying first.
    pub dimensions: Vec<u32>,
    /// The last router of a row has a link to the first.
    pub is_torus: bool,
    pub nodes_per_router: u32,
}

impl Grid {
    pub fn nodes(&self) -> u64 {
        let routers =
            self.dimensions.iter().fold(1_u64, |routers, &size| routers.saturating_mul(size.into()));
        routers.saturating_mul(self.nodes_per_router.into())
    }

    pub fn router(&self, node: u32) -> u32 {
        node / self.nodes_per_router
    }

    /// The shorter direction in every dimension, the first dimension first. If both are equally long,
    /// upwards.
    pub fn route(&self, from: u32, to: u32, each: &mut dyn FnMut(LinkId)) {
        let (mut at, mut stride) = (u64::from(from), 1_u64);
        let (mut rest_from, mut rest_to) = (from, to);
        for &size in &self.dimensions {
            let (mut here, there) = (rest_from % size, rest_to % size);
            (rest_from, rest_to) = (rest_from / size, rest_to / size);
            let up = (there + size - here) % size;
            let is_up = if self.is_torus { up <= size - up } else { there > here };
            while here != there {
                let next = if is_up { (here + 1) % size } else { (here + size - 1) % size };
                let next_at = at + u64::from(next) * stride - u64::from(here) * stride;
                each((at, next_at));
                (here, at) = (next, next_at);
            }
            stride *= u64::from(size);
        }
    }
}

/// The smallest cube of routers for all nodes, within a larger torus (figure 8). No route wraps around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cube {
    side: u32,
    nodes_per_router: u32,
}

impl Cube {
    /// `nodes_per_router` is at least 1.
    pub fn of(nodes: u32, nodes_per_router: u32) -> Self {
        let routers = nodes.div_ceil(nodes_per_router).max(1);
        let side =
            (1..=routers).find(|&side| u64::from(side).pow(3) >= u64::from(routers)).unwrap_or(routers);
        Cube { side, nodes_per_router }
    }

    pub fn side(&self) -> u32 {
        self.side
    }

    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let place = |node: u32| {
            let router = node / self.nodes_per_router;
            [router % self.side, router / self.side % self.side, router / self.side / self.side]
        };
        place(from).into_iter().zip(place(to)).map(|(one, other)| one.abs_diff(other)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(grid: &Grid, from: u32, to: u32) -> usize {
        let mut links = Vec::new();
        grid.route(from, to, &mut |link| links.push(link));
        assert_eq!(
            links.first().map_or(u64::from(to), |link| link.0),
            u64::from(if links.is_empty() { to } else { from })
        );
        assert!(links.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!(links.last().map_or(u64::from(to), |link| link.1), u64::from(to));
        links.len()
    }

    #[test]
    fn message_of_figure_8_traverses_four_links() {
        let cube = Cube::of(27 * 2, 2);
        assert_eq!(cube.side(), 3);
        assert_eq!(cube.hops(3 * 2, 11 * 2), 4);
        let mesh = Grid { dimensions: vec![3, 3, 3], is_torus: false, nodes_per_router: 2 };
        assert_eq!(hops(&mesh, 3, 11), 4);
        let torus = Grid { is_torus: true, ..mesh };
        assert_eq!(hops(&torus, 3, 11), 3);
    }

    #[test]
    fn cube_hops_equal_mesh_hops() {
        let (cube, mesh) =
            (Cube::of(64, 1), Grid { dimensions: vec![4, 4, 4], is_torus: false, nodes_per_router: 1 });
        for from in 0..64 {
            for to in 0..64 {
                assert_eq!(cube.hops(from, to) as usize, hops(&mesh, from, to), "{from} {to}");
            }
        }
    }

    #[test]
    fn torus_routes_are_shortest() {
        let torus = Grid { dimensions: vec![5, 4], is_torus: true, nodes_per_router: 1 };
        for from in 0..20 {
            for to in 0..20 {
                assert!(hops(&torus, from, to) <= 2 + 2, "{from} {to}");
            }
        }
        assert_eq!(hops(&torus, 0, 4), 1);
    }
}
