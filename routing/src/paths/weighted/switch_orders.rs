//! A few up/down orders of the switches, each by distance from its own root; the roots are far from
//! each other.
//!
//! Paths that climb in one order and then descend never form a cycle (up/down routing). Paths that
//! follow one of a few orders need few VLs if pairs are assigned by the order that both their paths
//! follow.

use crate::channels::Dependency;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::topology::graph::Graph;

/// Number of orders.
const ORDERS: usize = 4;

/// The channels that climb in each order.
#[derive(Debug)]
pub(crate) struct SwitchOrders {
    /// By channel, one bit for each order.
    up: Vec<u8>,
    /// Bits in use.
    orders: u8,
}

/// For the rest of a path: the orders that it follows, and the orders in which it climbs.
pub(crate) type SuffixOrders = (u8, u8);

impl SwitchOrders {
    /// All orders.
    pub(crate) const ALL: u8 = (1 << ORDERS) - 1;

    pub(crate) fn new<C: HopCell>(graph: &Graph, matrix: &HopMatrix<C>) -> Self {
        let n = graph.len();
        let total_hops = |v: usize| matrix.row(v).iter().map(|c| c.hops()).sum::<usize>();
        let mut roots: Vec<usize> = Vec::new();
        roots.extend((0..n).min_by_key(|&v| (total_hops(v), graph.lid_rank[v])));
        while roots.len() < ORDERS && !roots.is_empty() {
            let distances = |v: usize| {
                let mut hops: Vec<usize> =
                    roots.iter().map(|&r| matrix.cell(r, v).hops()).collect();
                hops.sort_unstable();
                (hops, n - graph.lid_rank[v])
            };
            roots.extend((0..n).max_by_key(|&v| distances(v)));
        }
        let mut up = vec![0; graph.channels.len()];
        for (k, &root) in roots.iter().enumerate() {
            let position = |v: u32| (matrix.cell(root, v as usize), graph.lid_rank[v as usize]);
            for (x, up) in up.iter_mut().enumerate() {
                *up |=
                    u8::from(position(graph.channels.head[x]) < position(graph.channels.tail[x]))
                        << k;
            }
        }
        let orders = Self::ALL >> (ORDERS - roots.len().min(ORDERS));
        Self { up, orders }
    }

    /// A single order, from the root down. Every path counts as following the unused ones.
    pub(crate) fn single(graph: &Graph, order: &[usize]) -> Self {
        let mut position = vec![0; graph.len()];
        for (i, &v) in order.iter().enumerate() {
            position[v] = i;
        }
        let climbs = |x: usize| {
            position[graph.channels.head[x] as usize] < position[graph.channels.tail[x] as usize]
        };
        Self {
            up: (0..graph.channels.len())
                .map(|x| u8::from(climbs(x)))
                .collect(),
            orders: 1,
        }
    }

    /// Prepends a channel to a path with these properties.
    #[inline(always)]
    pub(crate) fn prepend(&self, x: u32, (followed, climbs): SuffixOrders) -> SuffixOrders {
        let up = self.up[x as usize];
        (followed & (up | !climbs), up | climbs)
    }

    /// Orders that all these dependencies follow.
    pub(crate) fn followed_by(&self, dependencies: &[Dependency]) -> u8 {
        let followed = |&(x, y): &Dependency| self.up[x as usize] | !self.up[y as usize];
        dependencies
            .iter()
            .map(followed)
            .fold(self.orders, |orders, mask| orders & mask)
    }
}
