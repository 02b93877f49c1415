//! The links that multicast trees of one routing may use: the tree constraint of its engine, or a
//! spanning tree found here.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use crate::channels::{
    RoutedDependencies, VlChannelNumbers, admit_in_all, dependencies_of_tables,
    dependencies_of_tree,
};
use crate::routing::{Routing, TreeConstraint};
use crate::tables::Lft;
use crate::topology::PortChannels;
use crate::topology::{PortSet, SwitchIdx, SwitchLink, Topology};

/// Maximum number of roots tried in the search for a spanning tree.
const ROOTS_MAX: usize = 12;

/// The links that multicast trees of one routing may use. Any number of trees of one forest is
/// deadlock-free together with the routes.
#[derive(Debug)]
pub struct SpanningForest<'a> {
    pub(super) topo: &'a Topology,
    pub(super) channels: Arc<PortChannels>,
    pub(super) constraint: Arc<LinkConstraint>,
    /// SL of the groups.
    pub sl: u8,
}

/// The link constraint.
#[derive(Debug)]
pub(super) enum LinkConstraint {
    /// The parent of each switch comes before it in this switch order (by position).
    Order(Vec<u32>),
    /// Trees are parts of one spanning tree: the port towards the root, by switch.
    Tree(Vec<Option<PortNum>>),
}

/// No spanning tree is deadlock-free together with the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no spanning tree found that is deadlock-free together with the routes")]
pub struct NoSpanningForest;

impl<'a> SpanningForest<'a> {
    /// The forest of the engine's tree constraint. For [`TreeConstraint::Search`], a spanning tree
    /// that is deadlock-free together with the routes: central roots are tried first, each with
    /// every SL that has a VL.
    ///
    /// # Errors
    /// There is no such spanning tree.
    pub fn new(topo: &'a Topology, routing: &Routing) -> Result<Self, NoSpanningForest> {
        let channels = Arc::clone(topo.port_channels());
        let (constraint, sl) = match &routing.trees {
            TreeConstraint::Ordered(order) => (LinkConstraint::Order(order.clone()), 0),
            TreeConstraint::Within { up, sl } => (LinkConstraint::Tree(up.clone()), *sl),
            TreeConstraint::Search => {
                let (up, sl) =
                    find_spanning_tree(topo, &channels, routing, None).ok_or(NoSpanningForest)?;
                (LinkConstraint::Tree(up), sl)
            }
        };
        Ok(Self {
            topo,
            channels,
            constraint: Arc::new(constraint),
            sl,
        })
    }
}

/// Finds a spanning tree (of each connected component) whose dependencies form no cycle with those
/// of the routes. It uses `current_sl`, if possible, because members of existing groups send on
/// that SL.
pub(super) fn find_spanning_tree(
    topo: &Topology,
    ports: &PortChannels,
    routing: &Routing,
    current_sl: Option<u8>,
) -> Option<(Vec<Option<PortNum>>, u8)> {
    let mut graph = dependencies_of_routing(topo, ports, routing)?;
    let channels = graph.channels;
    let sls = u8::try_from(channels.packets.num_vls().min(16)).unwrap_or(1);
    let current_sl = current_sl.filter(|sl| *sl < sls);
    let other_sls = (0..sls).filter(|sl| current_sl != Some(*sl)).collect();
    let mut tries = current_sl.map(|sl| vec![sl]).into_iter().chain([other_sls]);
    tries.find_map(|sls: Vec<u8>| {
        grow_spanning_tree(topo, channels, &sls, std::slice::from_mut(&mut graph))
    })
}

/// The dependencies of the routes.
pub(super) fn dependencies_of_routing<'a>(
    topo: &Topology,
    ports: &'a PortChannels,
    routing: &'a Routing,
) -> Option<RoutedDependencies<'a>> {
    let channels = VlChannelNumbers::new(ports, &routing.vl_plan);
    let rows: Vec<&Lft> = routing.tables.iter().map(AsRef::as_ref).collect();
    let dependencies = dependencies_of_tables(topo, channels, &rows, topo.destinations());
    RoutedDependencies::new(channels, dependencies)
}

/// Grows a spanning tree (of each connected component) on one of these SLs that closes no cycle in
/// any of the graphs, and adds its dependencies to them. Central roots are tried first.
pub(crate) fn grow_spanning_tree(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    sls: &[u8],
    graphs: &mut [RoutedDependencies<'_>],
) -> Option<(Vec<Option<PortNum>>, u8)> {
    let roots = central_first(topo).into_iter().take(ROOTS_MAX);
    let shapes = roots.flat_map(|root| [(root, false), (root, true)]);
    for (root, depth_first) in shapes {
        for &sl in sls {
            let tree = GrowingTree::new(topo, channels, sl);
            if let Some(up) = tree.grow(root, depth_first, graphs) {
                return Some((up, sl));
            }
        }
    }
    None
}

/// A spanning tree to which links are added that close no cycle.
struct GrowingTree<'a> {
    topo: &'a Topology,
    channels: VlChannelNumbers<'a>,
    sl: u8,
    up: Vec<Option<PortNum>>,
    /// Ports of links of the tree, by switch.
    ports: Vec<PortSet>,
}

/// Switches by the sum of their distances to all end ports, then by LID.
fn central_first(topo: &Topology) -> Vec<SwitchIdx> {
    let mut sum = vec![0u64; topo.num_switches()];
    for from in topo.switches().filter(|&s| !topo.end_ports(s).is_empty()) {
        let weight = topo.end_ports(from).len() as u64;
        let hops = distances(topo, from);
        for (sum, hops) in sum.iter_mut().zip(hops) {
            *sum += weight * u64::from(hops.min(1 << 16));
        }
    }
    let mut switches = topo.by_lid();
    switches.sort_by_key(|&s| sum[s.index()]);
    switches
}

/// Hops from a switch to all switches; `u32::MAX` if unreachable.
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

impl<'a> GrowingTree<'a> {
    fn new(topo: &'a Topology, channels: VlChannelNumbers<'a>, sl: u8) -> Self {
        Self {
            topo,
            channels,
            sl,
            up: vec![None; topo.num_switches()],
            ports: vec![PortSet::new(); topo.num_switches()],
        }
    }

    /// Grows the tree of each connected component breadth first or depth first. `None`, with the
    /// graphs as before, if a switch cannot be attached.
    fn grow(
        mut self,
        root: SwitchIdx,
        depth_first: bool,
        graphs: &mut [RoutedDependencies<'_>],
    ) -> Option<Vec<Option<PortNum>>> {
        for graph in graphs.iter_mut() {
            graph.begin_group();
            graph.renew_visits();
        }
        // The switch where the tree of each switch starts.
        let mut tree_of = vec![None; self.topo.num_switches()];
        for start in std::iter::once(root).chain(self.topo.switches()) {
            if tree_of[start.index()].is_some() {
                continue;
            }
            tree_of[start.index()] = Some(start);
            // (switch, index of its next link): breadth first expands the first entry, depth first
            // the last.
            let mut pending = VecDeque::from([(start, 0usize)]);
            while let Some((s, next)) = if depth_first {
                pending.pop_back()
            } else {
                pending.pop_front()
            } {
                let Some(link) = self.topo.links(s).get(next) else {
                    continue;
                };
                if depth_first {
                    pending.push_back((s, next + 1));
                } else {
                    pending.push_front((s, next + 1));
                }
                if tree_of[link.peer.index()].is_none() && self.attach(s, *link, graphs) {
                    tree_of[link.peer.index()] = Some(start);
                    pending.push_back((link.peer, 0));
                }
            }
        }
        let is_split = |s: SwitchIdx| {
            let mut links = self.topo.links(s).iter();
            links.any(|link| tree_of[link.peer.index()] != tree_of[s.index()])
        };
        if self.topo.switches().any(is_split) {
            graphs.iter_mut().for_each(|graph| graph.remove_group());
            return None;
        }
        Some(self.up)
    }

    /// Attaches the switch at the other end of a link, unless that closes a cycle in one of the
    /// graphs.
    fn attach(
        &mut self,
        s: SwitchIdx,
        link: SwitchLink,
        graphs: &mut [RoutedDependencies<'_>],
    ) -> bool {
        let parent = s.index();
        let child = link.peer.index();
        self.ports[parent].insert(link.port);
        self.ports[child].insert(link.peer_port);
        // The VLs of packets that leave the parent may depend on its ports.
        let neighbours = self.ports[parent]
            .iter()
            .filter(|_| self.channels.packets.depend_on_ports())
            .filter_map(|p| self.channels.ports.peer(parent, p.raw()));
        let switches = neighbours.map(|(peer, _)| peer).chain([parent]);
        let ports = |v: usize| self.ports[v];
        let dependencies = dependencies_of_tree(self.topo, self.channels, self.sl, switches, ports);
        if admit_in_all(&dependencies, graphs) {
            self.up[child] = Some(link.peer_port);
            return true;
        }
        self.ports[parent].remove(link.port);
        self.ports[child].remove(link.peer_port);
        false
    }
}
