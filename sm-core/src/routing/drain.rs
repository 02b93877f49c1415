//! Which routes an update of the routing drains: their packets are dropped for a packet lifetime
//! before the new entries are written, so that no packet on its old VL or route is in a switch
//! then. Pure.

use std::sync::Arc;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::update::transition::{self, Transition};
use ferrosm_routing::{Lft, RerouteCache, SwitchIdx, Tables, Topology, VlPlan};

use crate::report::routing_message::RoutingMessage;
use crate::routing::vl_change::VlChange;
use crate::routing::vl_plan::FabricVlPlan;

/// The LFTs from which an update starts, and the order of its writes.
#[derive(Debug)]
pub(super) struct VlTransition {
    /// The installed LFTs without routes whose VL changes; `None` if there are none.
    pub(super) drained: Option<Vec<Arc<Lft>>>,
    /// The LFTs that the transition starts from: `drained`, or the installed ones.
    pub(super) installed: Vec<Option<Arc<Lft>>>,
    pub(super) transition: Transition,
    /// Number of LIDs without routes in `drained`.
    pub(super) drained_lids: usize,
}

/// An update from the installed LFTs and VLs to a new routing.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoutingUpdate<'a> {
    pub(super) topology: &'a Topology,
    /// The node of each switch.
    pub(super) nodes: &'a [NodeIdx],
    pub(super) installed: &'a [Option<Arc<Lft>>],
    pub(super) previous_vls: Option<&'a FabricVlPlan>,
    pub(super) vl_plan: &'a VlPlan,
    /// The new tables.
    pub(super) tables: &'a Tables,
    /// Routes in use may be drained: those whose SL changes are, because packets on their old SL
    /// can deadlock with the new entries.
    pub(super) may_drain: bool,
    pub(super) cache: &'a RerouteCache,
}

impl RoutingUpdate<'_> {
    /// Finds an order of writes that drains as few routes as possible.
    pub(super) fn plan(self, messages: &mut Vec<RoutingMessage>) -> VlTransition {
        let vl_plan = self.vl_plan;
        let Some(before) = self.previous_vls else {
            return self.without_drain();
        };
        let (lids, sls_before) = match before.change_to(self.topology, self.nodes, vl_plan) {
            VlChange::None => return self.without_drain(),
            VlChange::UnusedSls => {
                messages.push(RoutingMessage::UnusedVlsFirst);
                return self.without_drain();
            }
            VlChange::PathSls(lids) => {
                let sls = before.sls_before(self.topology, self.nodes, vl_plan);
                (lids, Some(sls))
            }
            VlChange::UsedSlToVl => {
                let destinations = self.topology.destinations().iter();
                (destinations.map(|d| d.lid).collect(), None)
            }
        };
        let is_known = |lid: &Lid| {
            let mut tables = self.installed.iter().flatten();
            tables.any(|lft| lft.get(*lid) != PortNum::DROP)
        };
        let lids: Vec<Lid> = lids.into_iter().filter(is_known).collect();
        if lids.is_empty() {
            return self.without_drain();
        }
        messages.push(RoutingMessage::PathSlsChange);
        // Packets on their old SL stay on its VL. Only those that would enter a new route are
        // dropped.
        if let Some(mut sls) = sls_before.filter(|_| !self.may_drain) {
            let moved: Vec<Lid> = lids.iter().copied().filter(|l| self.moves(*l)).collect();
            for lid in &moved {
                sls.replace(self.topology, vl_plan, *lid, &self.rerouted_switches(*lid));
            }
            let drained = (!moved.is_empty()).then(|| self.tables_without(&moved, true));
            let installed = self.tables_to_start_from(drained.as_deref());
            let before = sls.into_path_sl();
            if let Some(transition) =
                transition::plan_for_sls(self.topology, &installed, self.tables, vl_plan, before)
            {
                if !moved.is_empty() {
                    let lids = moved.len();
                    messages.push(RoutingMessage::DrainedForVls { lids });
                }
                return VlTransition {
                    drained,
                    installed,
                    transition,
                    drained_lids: moved.len(),
                };
            }
        }
        messages.push(RoutingMessage::DrainedForVls { lids: lids.len() });
        let drained = self.tables_without(&lids, false);
        let installed = self.tables_to_start_from(Some(&drained));
        VlTransition {
            transition: self.transition_from(&installed),
            drained: Some(drained),
            installed,
            drained_lids: lids.len(),
        }
    }

    fn without_drain(self) -> VlTransition {
        let installed = self.installed.to_vec();
        VlTransition {
            drained: None,
            transition: self.transition_from(&installed),
            installed,
            drained_lids: 0,
        }
    }

    fn transition_from(self, installed: &[Option<Arc<Lft>>]) -> Transition {
        transition::plan_with(
            self.topology,
            installed,
            self.tables,
            self.vl_plan,
            self.cache,
        )
    }

    fn tables_to_start_from(self, drained: Option<&[Arc<Lft>]>) -> Vec<Option<Arc<Lft>>> {
        match drained {
            Some(tables) => tables.iter().cloned().map(Some).collect(),
            None => self.installed.to_vec(),
        }
    }

    /// Whether an installed entry of the LID changes.
    fn moves(self, lid: Lid) -> bool {
        let mut tables = self.installed.iter().zip(self.tables);
        tables.any(|(old, new)| old.as_ref().is_some_and(|old| old.get(lid) != new.get(lid)))
    }

    /// By switch: whether the new route to a LID has an entry that changes.
    fn rerouted_switches(self, lid: Lid) -> Vec<bool> {
        let tables = self.tables;
        let changes = |s: SwitchIdx| {
            let old = self.installed.get(s.index()).and_then(Option::as_ref);
            old.is_some_and(|old| old.get(lid) != tables[s.index()].get(lid))
        };
        let is_rerouted = |from: SwitchIdx| {
            let mut at = from;
            for _ in 0..tables.len() {
                if changes(at) {
                    return true;
                }
                let port = tables[at.index()].get(lid);
                match self.topology.neighbor(at, port) {
                    Some((next, _)) => at = next,
                    None => return false,
                }
            }
            false
        };
        self.topology.switches().map(is_rerouted).collect()
    }

    /// The installed tables without entries of these LIDs, all of them or `only_changed`. An
    /// unknown table counts as the new one.
    fn tables_without(self, lids: &[Lid], only_changed: bool) -> Vec<Arc<Lft>> {
        let tables = self.installed.iter().zip(self.tables);
        let without = |(old_lft, new_lft): (&Option<Arc<Lft>>, &Arc<Lft>)| {
            let mut lft = Lft::clone(old_lft.as_ref().unwrap_or(new_lft));
            for lid in lids {
                if !only_changed || lft.get(*lid) != new_lft.get(*lid) {
                    lft.set(*lid, PortNum::DROP);
                }
            }
            Arc::new(lft)
        };
        tables.map(without).collect()
    }
}

/// Number of LIDs with entries that `first` drops.
pub(super) fn dropped_lids(
    topology: &Topology,
    installed: &[Option<Arc<Lft>>],
    first: &[Arc<Lft>],
) -> usize {
    let changed: Vec<(&Lft, &Lft)> = installed
        .iter()
        .zip(first)
        .filter_map(|(old, new)| Some((old.as_deref()?, &**new)))
        .filter(|(old, new)| old != new)
        .collect();
    let is_dropped = |lid| {
        let mut tables = changed.iter();
        tables.any(|(old, new)| old.get(lid) != PortNum::DROP && new.get(lid) == PortNum::DROP)
    };
    let destinations = topology.destinations().iter();
    destinations.filter(|d| is_dropped(d.lid)).count()
}
