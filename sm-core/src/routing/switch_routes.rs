//! Updates that first clear routes which only switches use, where no order of the writes avoids
//! loops and deadlocks.
//!
//! Around drained switches, some switches without end ports reach a part of the end ports only over
//! a detour through leaves, and are reached the same way. These detours conflict with those of the
//! new routing. They carry nothing but management packets, so they are cleared before the others
//! change, and no packet between end ports is dropped. Pure.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use ferrosm_routing::{Destination, Lft, SwitchIdx, Tables, Topology, VlPlan};

use super::passes::{TablePass, find_passes};

/// The update after the routes were cleared.
#[derive(Debug)]
pub(super) struct ClearedUpdate {
    /// The installed tables without the cleared routes.
    pub(super) first: Vec<Arc<Lft>>,
    /// From `first` to the new tables.
    pub(super) passes: Vec<TablePass>,
    /// Number of LIDs with cleared routes.
    pub(super) lids: usize,
}

/// Clears changing routes from switches to end ports that carry no packets of end ports, whatever
/// the order of the writes, and if that is not enough, all changing routes to switches. `None` if
/// the update still needs a drain.
pub(super) fn clear_switch_routes(
    topology: &Topology,
    installed: &[Option<Arc<Lft>>],
    new: &Tables,
    vl_plan: &VlPlan,
) -> Option<ClearedUpdate> {
    [false, true].into_iter().find_map(|clears_switch_lids| {
        let cleared = cleared(topology, installed, new, clears_switch_lids);
        let old: Vec<Option<Arc<Lft>>> = cleared.first.iter().cloned().map(Some).collect();
        let passes = find_passes(topology, &old, new, vl_plan)?;
        Some(ClearedUpdate { passes, ..cleared })
    })
}

fn cleared(
    topology: &Topology,
    installed: &[Option<Arc<Lft>>],
    new: &Tables,
    clears_switch_lids: bool,
) -> ClearedUpdate {
    // The table of a new switch is unknown, and counts as unchanged.
    let old: Tables = installed
        .iter()
        .zip(new)
        .map(|(old, new)| Arc::clone(old.as_ref().unwrap_or(new)))
        .collect();
    let mut first: Vec<Lft> = old.iter().map(|lft| Lft::clone(lft)).collect();
    let mut lids = 0;
    for dest in topology.destinations() {
        let is_switch_lid = dest.port == PortNum::ZERO;
        let changes = |s: &SwitchIdx| old[s.index()].get(dest.lid) != new[s.index()].get(dest.lid);
        let changing: Vec<SwitchIdx> = topology.switches().filter(changes).collect();
        if changing.is_empty() || (is_switch_lid && !clears_switch_lids) {
            continue;
        }
        let is_used = match is_switch_lid {
            true => vec![false; old.len()],
            false => used_switches(topology, [&old, new], dest),
        };
        let mut has_cleared = false;
        for s in changing.into_iter().filter(|s| !is_used[s.index()]) {
            has_cleared |= first[s.index()].get(dest.lid) != PortNum::DROP;
            first[s.index()].set(dest.lid, PortNum::DROP);
        }
        lids += usize::from(has_cleared);
    }
    let unchanged_or_new = |(lft, old): (Lft, &Arc<Lft>)| match lft == **old {
        true => Arc::clone(old),
        false => Arc::new(lft),
    };
    ClearedUpdate {
        first: first.into_iter().zip(&old).map(unchanged_or_new).collect(),
        passes: Vec::new(),
        lids,
    }
}

/// The switches that packets of end ports to a LID can reach while each switch forwards by its
/// entry in one or the other of two sets of tables.
fn used_switches(topology: &Topology, both: [&Tables; 2], dest: &Destination) -> Vec<bool> {
    let has_end_ports = |s: &SwitchIdx| !topology.end_ports(*s).is_empty();
    let mut waiting: Vec<SwitchIdx> = topology.switches().filter(has_end_ports).collect();
    let mut is_used = vec![false; topology.num_switches()];
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut is_used[at.index()], true) && at != dest.switch {
            let ports = both.map(|tables| tables[at.index()].get(dest.lid));
            let next = ports.map(|port| topology.neighbor(at, port));
            waiting.extend(next.into_iter().flatten().map(|(peer, _)| peer));
        }
    }
    is_used
}
