//! Which cables trees may use, for one routing: the promise of its engine, or one that is found here.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use crate::channels::{
    PortChannels, RoutedDependencies, VirtualChannels, dependencies_of_spanning_tree,
    dependencies_of_tables,
};
use crate::engine::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::{SwitchIdx, Topology};

/// Roots that are tried for a spanning tree that goes together with the routes.
const ROOTS_MAX: usize = 12;

/// What trees of one routing are made of. Any number of trees of one forest is safe together, and with the routes.
#[derive(Debug)]
pub struct SpanningForest<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: Arc<PortChannels>,
    pub(super) kind: Arc<Kind>,
    /// The SL that groups get.
    pub sl: u8,
}

/// What a forest goes by.
#[derive(Debug)]
pub(super) enum Kind {
    /// Each switch hangs on one before it.
    Order(Vec<u32>),
    /// Parts of one spanning tree: ports towards the root.
    Tree(Vec<Option<PortNum>>),
}

/// No trees are safe together with the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no spanning tree was found that cannot deadlock together with the routes")]
pub struct NoSpanningForest;

impl<'a> SpanningForest<'a> {
    /// What the engine promised, or else ([`TreeConstraint::Search`]) one spanning tree on one SL that passes the proof together
    /// with the routes: roots in the middle of the fabric first, every SL that there is a VL for.
    ///
    /// # Errors
    /// None is found.
    pub fn new(topo: &'a Topology, routing: &Routing) -> Result<Self, NoSpanningForest> {
        let channels = PortChannels::new(topo);
        let (kind, sl) = match &routing.trees {
            TreeConstraint::Ordered(order) => (Kind::Order(order.clone()), 0),
            TreeConstraint::Within { up, sl } => (Kind::Tree(up.clone()), *sl),
            TreeConstraint::Search => {
                let (up, sl) = search(topo, &channels, routing, None).ok_or(NoSpanningForest)?;
                (Kind::Tree(up), sl)
            }
        };
        Ok(Self {
            topo,
            channels: Arc::new(channels),
            kind: Arc::new(kind),
            sl,
        })
    }
}

/// A spanning tree (of each part of the fabric) whose dependencies and those of the routes have no circle; on the SL that groups
/// have now, if that can be: their members were told it.
pub(super) fn search(
    topo: &Topology,
    ports: &PortChannels,
    routing: &Routing,
    now: Option<u8>,
) -> Option<(Vec<Option<PortNum>>, u8)> {
    let channels = VirtualChannels::new(ports, &routing.vl_plan);
    let rows: Vec<&Lft> = routing.tables.iter().map(AsRef::as_ref).collect();
    let dependencies = dependencies_of_tables(topo, channels, &rows, topo.destinations());
    let mut graph = RoutedDependencies::new(channels, dependencies)?;
    let sls = u8::try_from(channels.packets.count().min(16)).unwrap_or(1);
    let now = now.filter(|sl| *sl < sls);
    let others: Vec<u8> = (0..sls).filter(|sl| now != Some(*sl)).collect();
    let roots = middle_first(topo);
    let tries = now.map(|sl| vec![sl]).into_iter().chain([others]);
    for (sls, root) in tries.flat_map(|sls| {
        let roots = roots.iter().take(ROOTS_MAX);
        roots.map(move |root| (sls.clone(), *root))
    }) {
        for deep in [false, true] {
            let up = spanning(topo, root, deep);
            for &sl in &sls {
                let tree = dependencies_of_spanning_tree(topo, channels, &up, sl);
                if graph.admit(&tree) {
                    return Some((up, sl));
                }
            }
        }
    }
    None
}

/// Switches by the sum of their distances to all end ports, then by LID.
fn middle_first(topo: &Topology) -> Vec<SwitchIdx> {
    let mut sum = vec![0u64; topo.num_switches()];
    for from in topo.switches().filter(|&s| !topo.end_ports(s).is_empty()) {
        let weight = topo.end_ports(from).len() as u64;
        let hops = distances(topo, from);
        for (sum, hops) in sum.iter_mut().zip(hops) {
            *sum += weight * u64::from(hops.min(1 << 16));
        }
    }
    let mut all = topo.by_lid();
    all.sort_by_key(|&s| sum[s.index()]);
    all
}

/// Hops from a switch to all, `u32::MAX` where there is no way.
pub(super) fn distances(topo: &Topology, from: SwitchIdx) -> Vec<u32> {
    let mut hops = vec![u32::MAX; topo.num_switches()];
    hops[from.index()] = 0;
    let mut queue = vec![from];
    let mut at = 0;
    while let Some(&s) = queue.get(at) {
        at += 1;
        for link in topo.links(s) {
            if hops[link.peer.index()] == u32::MAX {
                hops[link.peer.index()] = hops[s.index()] + 1;
                queue.push(link.peer);
            }
        }
    }
    hops
}

/// A spanning tree, breadth first or depth first; parts of the fabric that the root is not in have trees of their own.
fn spanning(topo: &Topology, root: SwitchIdx, deep: bool) -> Vec<Option<PortNum>> {
    let mut up = vec![None; topo.num_switches()];
    let mut seen = vec![false; topo.num_switches()];
    for start in std::iter::once(root).chain(topo.switches()) {
        if std::mem::replace(&mut seen[start.index()], true) {
            continue;
        }
        // (switch, next of its cables to look at): the first entry is expanded in breadth, the last in depth.
        let mut work = std::collections::VecDeque::from([(start, 0usize)]);
        while let Some((s, cable)) = if deep {
            work.pop_back()
        } else {
            work.pop_front()
        } {
            let Some(link) = topo.links(s).get(cable) else {
                continue;
            };
            if deep {
                work.push_back((s, cable + 1));
            } else {
                work.push_front((s, cable + 1));
            }
            if !std::mem::replace(&mut seen[link.peer.index()], true) {
                up[link.peer.index()] = Some(link.peer_port);
                work.push_back((link.peer, 0));
            }
        }
    }
    up
}
