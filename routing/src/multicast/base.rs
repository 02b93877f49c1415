//! A forest without the fabric that it stands on, to be kept for as long as a routing is in force.
//!
//! What is found once for each routing is here; it is shared and never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::forest::{Kind, search};
use super::{PortSet, SpanningForest};
use crate::channels::PortChannels;
use crate::engine::{Routing, TreeConstraint};
use crate::topology::{SwitchIdx, Topology};

/// What a [`SpanningForest`] goes by.
#[derive(Debug, Clone)]
pub struct TreeBase {
    channels: Arc<PortChannels>,
    kind: Arc<Kind>,
    sl: u8,
}

impl TreeBase {
    /// The forest of the same routing. `topo` must be the graph that [`SpanningForest::new`] was given.
    #[must_use]
    pub fn forest<'a>(&self, topo: &'a Topology) -> SpanningForest<'a> {
        SpanningForest {
            topo,
            channels: Arc::clone(&self.channels),
            kind: Arc::clone(&self.kind),
            sl: self.sl,
        }
    }
}

impl SpanningForest<'_> {
    /// What it goes by, to be kept.
    #[must_use]
    pub fn ground(&self) -> TreeBase {
        TreeBase {
            channels: Arc::clone(&self.channels),
            kind: Arc::clone(&self.kind),
            sl: self.sl,
        }
    }

    /// Whether the entries of one group, of all switches that have any, are part of one tree of this forest (or of several
    /// that do not touch): nothing loops by them, and they are safe together with the routes and with all other trees of
    /// the forest. Ports without a cable to a switch do not matter.
    #[must_use]
    pub fn holds(&self, entries: impl IntoIterator<Item = (SwitchIdx, PortSet)>) -> bool {
        // The port by which each switch hangs on another.
        let mut ups: BTreeMap<usize, PortNum> = BTreeMap::new();
        for (s, ports) in entries {
            let v = s.index();
            for port in ports.iter().filter(|p| p.index() < self.channels.ports(v)) {
                let Some((peer, far)) = self.channels.peer(v, port.raw()) else {
                    continue;
                };
                let (below, up) = match &*self.kind {
                    Kind::Order(order) if order.get(peer) < order.get(v) => (v, port),
                    Kind::Order(_) => (peer, PortNum(far)),
                    Kind::Tree(up) if up.get(v).copied().flatten() == Some(port) => (v, port),
                    Kind::Tree(up) if up.get(peer).copied().flatten() == Some(PortNum(far)) => {
                        (peer, PortNum(far))
                    }
                    Kind::Tree(_) => return false,
                };
                if *ups.entry(below).or_insert(up) != up {
                    return false;
                }
            }
        }
        true
    }
}

/// Makes a promise of what can be kept for a routing whose engine promised nothing: one spanning tree that goes together
/// with the routes, if one is found, on the SL that groups have `now` where that can be. Takes about as long as a proof where there
/// is something to do.
pub fn resolve_trees(topo: &Topology, routing: &mut Routing, now: Option<u8>) {
    if routing.trees == TreeConstraint::Search
        && let Some((up, sl)) = search(topo, &PortChannels::new(topo), routing, now)
    {
        routing.trees = TreeConstraint::Within { up, sl };
    }
}
