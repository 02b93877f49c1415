//! The [`WholeFabric`] of a snapshot or of a description.

use std::collections::BTreeMap;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::ids::Lid;
use ferrosm_routing::{Hints, Topology, TopologyBuilder};

use crate::api::fabric;
use crate::api::structure::{SwitchTopology, structure};
use crate::whole_fabric::WholeFabric;

/// Unicast LIDs.
const LIDS: u16 = 0xbfff;

impl WholeFabric {
    /// The fabric of a snapshot.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot) -> Self {
        let slots: Vec<u32> = snapshot
            .slots()
            .filter(|slot| snapshot.is_switch(*slot))
            .collect();
        let topology = switch_topology(snapshot, &slots);
        let graph = SwitchTopology {
            topology: &topology,
            hints: &Hints::default(),
            slots: &slots,
        };
        let nodes = snapshot
            .slots()
            .map(|slot| fabric::node_of_snapshot(snapshot, slot));
        let links = snapshot.links().iter();
        Self {
            nodes: nodes.collect(),
            links: links
                .map(|link| fabric::link_of_snapshot(snapshot, *link))
                .collect(),
            structure: structure(snapshot, &graph),
        }
    }

    /// The fabric of a description. It has no PortState: all links are up.
    #[cfg(feature = "simulator")]
    #[must_use]
    pub fn of_description(description: &ferrosm_sim::spec::FabricSpec) -> Self {
        use crate::offline::spec;

        let observed = spec::observed(description);
        let mut fabric = Self::of_snapshot(&spec::snapshot(&observed, None, None));
        for link in &mut fabric.links {
            link.state = ferrosm_api::fabric::LinkState::Up;
        }
        fabric
    }
}

/// The switches as a graph, with LIDs that only number the end ports.
fn switch_topology(snapshot: &Snapshot, slots: &[u32]) -> Topology {
    let mut lids = (0..LIDS).cycle().map(|n| Lid(1 + n));
    let mut builder = TopologyBuilder::new();
    let mut by_slot = BTreeMap::new();
    for slot in slots {
        let num_ports = snapshot.node(*slot).node_info().num_ports;
        let lid = lids.next().unwrap_or(Lid::NONE);
        by_slot.insert(*slot, builder.switch(num_ports, lid));
    }
    for link in snapshot.links() {
        let [a, b] = [link.a, link.b].map(|end| Some((*by_slot.get(&end.node())?, end.num())));
        match (a, b) {
            (Some(a), Some(b)) => {
                builder.link(a, b);
            }
            (Some(at), None) | (None, Some(at)) => {
                builder.end_port(at, lids.next().unwrap_or(Lid::NONE), 1);
            }
            (None, None) => {}
        }
    }
    builder.build()
}
