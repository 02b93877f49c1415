//! A few orders of the switches, each by distance from a root of its own, the roots far from each other.
//!
//! Paths that climb such an order and then descend never form a circle (up/down routing). LidTrees that keep to one of a
//! few orders, and pairs put on one lane by the order that both their paths keep to, need few lanes.

use super::super::cell::HopCell;
use super::super::graph::Graph;
use super::super::hop_matrix::HopMatrix;
use super::super::neighbors::NeighborChannels;
use crate::channels::Dependency;

/// How many orders.
const ORDERS: usize = 4;

/// Which channels climb in which order.
#[derive(Debug)]
pub(crate) struct SwitchOrders {
    /// One bit for each order, by channel.
    up: Vec<u8>,
    /// The bits that stand for an order.
    orders: u8,
}

/// What is known of a path's rest: the orders that it keeps to, and those in which it climbs at all.
pub(crate) type SuffixOrders = (u8, u8);

impl SwitchOrders {
    /// Every order.
    pub(crate) const ALL: u8 = (1 << ORDERS) - 1;

    pub(crate) fn new<C: HopCell>(
        graph: &Graph,
        matrix: &HopMatrix<C>,
        channels: &NeighborChannels,
    ) -> Self {
        let n = graph.len();
        let reach = |v: usize| matrix.row(v).iter().map(|c| c.hops()).sum::<usize>();
        let mut roots: Vec<usize> = Vec::new();
        roots.extend((0..n).min_by_key(|&v| (reach(v), graph.lid_rank[v])));
        while roots.len() < ORDERS && !roots.is_empty() {
            let apart = |v: usize| {
                let mut hops: Vec<usize> =
                    roots.iter().map(|&r| matrix.cell(r, v).hops()).collect();
                hops.sort_unstable();
                (hops, n - graph.lid_rank[v])
            };
            roots.extend((0..n).max_by_key(|&v| apart(v)));
        }
        let mut up = vec![0; channels.index.len()];
        for (k, &root) in roots.iter().enumerate() {
            let place = |v: u32| (matrix.cell(root, v as usize), graph.lid_rank[v as usize]);
            for (x, up) in up.iter_mut().enumerate() {
                *up |= u8::from(place(channels.index.head[x]) < place(channels.index.tail[x])) << k;
            }
        }
        let orders = Self::ALL >> (ORDERS - roots.len().min(ORDERS));
        Self { up, orders }
    }

    /// One order alone: the switches from the top. The others are kept by every path.
    pub(crate) fn single(graph: &Graph, channels: &NeighborChannels, order: &[usize]) -> Self {
        let mut place = vec![0; graph.len()];
        for (i, &v) in order.iter().enumerate() {
            place[v] = i;
        }
        let climbs = |x: usize| {
            place[channels.index.head[x] as usize] < place[channels.index.tail[x] as usize]
        };
        Self {
            up: (0..channels.index.len())
                .map(|x| u8::from(climbs(x)))
                .collect(),
            orders: 1,
        }
    }

    /// What is known of a path that begins with this channel, from what is known of its rest.
    #[inline(always)]
    pub(crate) fn before(&self, x: u32, (kept, climbs): SuffixOrders) -> SuffixOrders {
        let up = self.up[x as usize];
        (kept & (up | !climbs), up | climbs)
    }

    /// The orders that all these dependencies keep to.
    pub(crate) fn kept_by(&self, dependencies: &[Dependency]) -> u8 {
        let kept = |&(x, y): &Dependency| self.up[x as usize] | !self.up[y as usize];
        dependencies
            .iter()
            .map(kept)
            .fold(self.orders, |all, kept| all & kept)
    }
}
