//! Why packets between two ports take their path.

use std::collections::{BTreeMap, VecDeque};

use ferrosm_api::answer::ApiError;
use ferrosm_api::explain::{EntryReason, RouteExplanation, RouteQuery};
use ferrosm_api::path::PathQuery;
use ferrosm_fabric::snapshot::{EndPortIdx, PortIdx, Snapshot};
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};

use super::reroute_of;
use crate::api::path::FoundPath;
use crate::api::published::FabricState;
use crate::api::sweep_log::SweepLog;
use crate::api::what_if::ComputedRoutes;
use crate::api::{lookup, path, rfc3339};

/// Explains the path between two ports. `computed` are the routes computed anew, if wanted.
pub(in crate::api) fn route(
    fabric: &FabricState,
    sweeps: &SweepLog,
    query: &RouteQuery,
    computed: Option<&ComputedRoutes>,
) -> Result<RouteExplanation, ApiError> {
    let ends = PathQuery {
        from: query.from.clone(),
        to: query.to.clone(),
        at: None,
        fresh: false,
    };
    let FoundPath { path, slots } = path::path(fabric, &ends)?;
    let target = lookup::end_port(fabric, &query.to)?;
    let distances = Distances::to(&fabric.snapshot, target);
    let lid = Lid(path.lid);
    let new_routes = computed.and_then(|computed| computed.as_ref().ok());
    let entries = path.hops.iter().zip(slots).map(|(hop, slot)| {
        let guid = fabric.snapshot.node(slot).guid;
        let mut reason = entry_reason(fabric, sweeps, guid, lid);
        let out = PortNum(hop.out_port);
        let shortest = distances.shortest_ports(slot);
        reason.detour = !shortest.contains(&out);
        let others = shortest.into_iter().filter(|port| *port != out);
        reason.other_shortest_ports = others.map(|port| port.0).collect();
        reason.after_reroute = new_routes.and_then(|routes| {
            let mut tables = routes.nodes.iter().zip(&routes.tables);
            let (_, lft) = tables.find(|(node, _)| node.slot() == slot)?;
            Some(lft.get(lid).0)
        });
        reason
    });
    Ok(RouteExplanation {
        entries: entries.collect(),
        path,
        known_since: fabric.routes.known_since().map(rfc3339),
        reroute: computed.map(reroute_of),
    })
}

fn entry_reason(
    fabric: &FabricState,
    sweeps: &SweepLog,
    switch: NodeGuid,
    lid: Lid,
) -> EntryReason {
    let Some(change) = fabric.routes.last_change(switch, lid) else {
        return EntryReason::default();
    };
    let sweep = sweeps.get(Some(change.sweep));
    let causes = sweep.map(|sweep| [&sweep.causes[..], &sweep.found[..]].concat());
    EntryReason {
        since: Some(rfc3339(change.at)),
        sweep: Some(change.sweep),
        causes: causes.unwrap_or_default(),
        before: change.before.map(|port| port.0),
        ..EntryReason::default()
    }
}

/// Links between switches on shortest paths to an end port.
struct Distances<'s> {
    snapshot: &'s Snapshot,
    /// The port itself.
    target: PortIdx,
    /// Links to its switch, by the slot of each switch.
    links: BTreeMap<u32, u32>,
}

impl<'s> Distances<'s> {
    fn to(snapshot: &'s Snapshot, target: EndPortIdx) -> Self {
        let target = snapshot.end_port(target).port;
        let root = match snapshot.is_switch(target.node()) {
            true => Some(target.node()),
            false => snapshot.peer(target).map(PortIdx::node),
        };
        let mut links = BTreeMap::new();
        let mut queue: VecDeque<(u32, u32)> = root.map(|root| (root, 0)).into_iter().collect();
        while let Some((slot, distance)) = queue.pop_front() {
            if !snapshot.is_switch(slot) || links.contains_key(&slot) {
                continue;
            }
            links.insert(slot, distance);
            let peers = snapshot.linked_ports(slot).map(|(_, peer)| peer.node());
            queue.extend(peers.map(|peer| (peer, distance + 1)));
        }
        Self {
            snapshot,
            target,
            links,
        }
    }

    /// The ports of a switch that begin a shortest path.
    fn shortest_ports(&self, slot: u32) -> Vec<PortNum> {
        let Some(distance) = self.links.get(&slot) else {
            return Vec::new();
        };
        if *distance == 0 {
            let own = (self.target.node() == slot).then_some(PortNum::ZERO);
            let attached = self.snapshot.peer(self.target).map(PortIdx::num);
            return own.or(attached).into_iter().collect();
        }
        let linked = self.snapshot.linked_ports(slot);
        linked
            .filter(|(_, peer)| self.links.get(&peer.node()) == Some(&(distance - 1)))
            .map(|(num, _)| num)
            .collect()
    }
}
