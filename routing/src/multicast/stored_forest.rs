//! The part of a [`SpanningForest`] that does not borrow the topology, to be stored with an
//! installed routing.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::forest::{
    LinkConstraint, SpanningForest, dependencies_of_routing, find_spanning_tree, grow_spanning_tree,
};
use crate::channels::dependencies_of_spanning_tree;
use crate::routing::{Routing, TreeConstraint};
use crate::topology::PortChannels;
use crate::topology::{PortSet, SwitchIdx, Topology};

/// The link constraint and SL of a [`SpanningForest`]. Immutable and shared.
#[derive(Debug, Clone)]
pub struct StoredForest {
    channels: Arc<PortChannels>,
    constraint: Arc<LinkConstraint>,
    sl: u8,
}

impl StoredForest {
    /// A forest with the links of `part`, a subgraph. Its trees are deadlock-free together with
    /// those of `beside`, another forest of the same routing. `topo` and `routing` are those of
    /// this forest; [`Self::forest`] of the result takes `part`. Its trees are disconnected where
    /// none is found.
    #[must_use]
    pub fn within(
        &self,
        topo: &Topology,
        routing: &Routing,
        part: &Topology,
        beside: Option<&Self>,
    ) -> Self {
        let constraint = self
            .grow_within(topo, routing, part, beside)
            .map_or_else(|| Arc::clone(&self.constraint), Arc::new);
        Self {
            channels: Arc::clone(part.port_channels()),
            constraint,
            sl: self.sl,
        }
    }

    fn grow_within(
        &self,
        topo: &Topology,
        routing: &Routing,
        part: &Topology,
        beside: Option<&Self>,
    ) -> Option<LinkConstraint> {
        let LinkConstraint::Tree(_) = &*self.constraint else {
            return None;
        };
        let mut graph = dependencies_of_routing(topo, &self.channels, routing)?;
        let channels = graph.channels;
        if let Some(LinkConstraint::Tree(up)) = beside.map(|beside| &*beside.constraint) {
            let trees = dependencies_of_spanning_tree(topo, channels, up, self.sl);
            if !graph.admit(&trees) {
                return None;
            }
        }
        let graphs = std::slice::from_mut(&mut graph);
        let (up, _) = grow_spanning_tree(part, channels, &[self.sl], graphs)?;
        Some(LinkConstraint::Tree(up))
    }

    /// The forest of the same routing. `topo` must be the topology passed to
    /// [`SpanningForest::new`].
    #[must_use]
    pub fn forest<'a>(&self, topo: &'a Topology) -> SpanningForest<'a> {
        SpanningForest {
            topo,
            channels: Arc::clone(&self.channels),
            constraint: Arc::clone(&self.constraint),
            sl: self.sl,
        }
    }
}

impl SpanningForest<'_> {
    /// The part that does not borrow the topology.
    #[must_use]
    pub fn to_stored(&self) -> StoredForest {
        StoredForest {
            channels: Arc::clone(&self.channels),
            constraint: Arc::clone(&self.constraint),
            sl: self.sl,
        }
    }

    /// Whether the entries of one group on all switches are part of one or several disjoint trees
    /// of this forest. If so, they are loop-free, and deadlock-free together with the routes and
    /// all other trees of the forest. Ports without a link to a switch are ignored.
    #[must_use]
    pub fn contains_entries(
        &self,
        entries: impl IntoIterator<Item = (SwitchIdx, PortSet)>,
    ) -> bool {
        // Uplink port of each switch.
        let mut uplinks: BTreeMap<usize, PortNum> = BTreeMap::new();
        for (s, ports) in entries {
            let v = s.index();
            for port in ports.iter().filter(|p| p.index() < self.channels.ports(v)) {
                let Some((peer, far)) = self.channels.peer(v, port.raw()) else {
                    continue;
                };
                let (child, up) = match &*self.constraint {
                    LinkConstraint::Order(order) if order.get(peer) < order.get(v) => (v, port),
                    LinkConstraint::Order(_) => (peer, PortNum(far)),
                    LinkConstraint::Tree(up) if up.get(v).copied().flatten() == Some(port) => {
                        (v, port)
                    }
                    LinkConstraint::Tree(up)
                        if up.get(peer).copied().flatten() == Some(PortNum(far)) =>
                    {
                        (peer, PortNum(far))
                    }
                    LinkConstraint::Tree(_) => return false,
                };
                if *uplinks.entry(child).or_insert(up) != up {
                    return false;
                }
            }
        }
        true
    }
}

/// Replaces [`TreeConstraint::Search`] by a spanning tree that is deadlock-free together with the
/// routes, if there is one. The tree uses SL `current_sl`, the SL of existing groups, if possible.
/// Takes about as long as a verification.
pub fn resolve_trees(topo: &Topology, routing: &mut Routing, current_sl: Option<u8>) {
    if routing.trees == TreeConstraint::Search
        && let Some((up, sl)) = find_spanning_tree(topo, topo.port_channels(), routing, current_sl)
    {
        routing.trees = TreeConstraint::Within { up, sl };
    }
}
