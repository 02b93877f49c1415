//! What a loss of links or nodes, or other routing engines, would do to a fabric: names of links
//! and nodes in, figures and names out. The routing is predicted by
//! [`ferrosm_core::routing::what_if`]. Sends no MAD, and reads nothing but its arguments.

mod additions;
mod elements;
mod single_losses;

use ferrosm_api::answer::ApiError;
use ferrosm_api::invariant::{InvariantState, InvariantStatus};
use ferrosm_api::object::ObjectName;
use ferrosm_api::what_if::{NamedPorts, RoutingInForce, TableChanges, WhatIf, WhatIfRequest};
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::config::partitions::Partitions;
use ferrosm_core::routing::what_if::{
    Cancellation, PredictedRoutes, Prediction, RoutingBasis, WhatIfQuestion, what_if,
};
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;
use ferrosm_routing::connectivity::EndPortAt;
use ferrosm_routing::{Loss, Proof, SwitchIdx, VerifiedRun};

use crate::invariants::Invariant;
use crate::invariants::check::{CheckedFabric, CheckedRoutes, check, newly_violated};

use additions::AddedElements;
pub use elements::LostElements;
pub use single_losses::single_loss_effects;

/// Most ports that an answer names.
pub const PORTS_NAMED_MAX: usize = 1000;
/// Most nodes and links in a request.
pub const ELEMENTS_MAX: usize = 256;

/// A fabric and its routing, and what must hold.
#[derive(Debug, Clone, Copy)]
pub struct RoutedFabric<'a> {
    pub snapshot: &'a Snapshot,
    pub basis: &'a RoutingBasis,
    pub partitions: &'a Partitions,
    pub invariants: &'a [Invariant],
}

/// Predicts what a loss and additions would do.
///
/// # Errors
/// If a name is unknown or ambiguous, or a port has another cable.
pub fn predict(
    fabric: RoutedFabric<'_>,
    request: &WhatIfRequest,
    cancellation: &Cancellation,
) -> Result<WhatIf, ApiError> {
    let lost = LostElements::find(fabric, &request.without)?;
    let added = AddedElements::find(fabric, &request.added, &lost.loss)?;
    let question = WhatIfQuestion {
        loss: lost.loss.clone(),
        additions: added.additions.clone(),
        engines: request.engine.clone(),
        from_scratch: request.reroute,
        ..WhatIfQuestion::default()
    };
    let prediction = what_if(fabric.basis, &question, cancellation);
    Ok(fabric.answer(lost, added, prediction))
}

/// Predicts what happens when an operator drains a switch or a link. A drained switch keeps its own
/// LIDs, so the routes differ from those after its loss.
///
/// # Errors
/// If the name is unknown or ambiguous.
pub fn predict_drain(
    fabric: RoutedFabric<'_>,
    name: &str,
    cancellation: &Cancellation,
) -> Result<WhatIf, ApiError> {
    let lost = LostElements::find(fabric, &[name.to_owned()])?;
    let question = WhatIfQuestion {
        loss: Loss {
            links: lost.loss.links.clone(),
            ..Loss::default()
        },
        drained: lost.loss.switches.iter().copied().collect(),
        is_maintenance: true,
        ..WhatIfQuestion::default()
    };
    let prediction = what_if(fabric.basis, &question, cancellation);
    Ok(fabric.answer(lost, AddedElements::default(), prediction))
}

/// Predicts what happens when an operator puts a drained switch or link back. `None` if it is not
/// in the fabric.
#[must_use]
pub fn predict_undrain(
    fabric: RoutedFabric<'_>,
    target: MaintenanceTarget,
    cancellation: &Cancellation,
) -> Option<WhatIf> {
    let snapshot = fabric.snapshot;
    let slot = snapshot.by_node_guid(target.node())?;
    let mut question = WhatIfQuestion {
        is_maintenance: true,
        ..WhatIfQuestion::default()
    };
    match target.port() {
        None => {
            let _ = question.undrained.insert(fabric.switch(slot)?);
        }
        Some(number) => {
            let at = snapshot.port_by_num(slot, number)?;
            let peer = snapshot.peer(at)?;
            let ends = [fabric.switch_port(at)?, fabric.switch_port(peer)?];
            let (switch, port) = ends[0];
            // Routes use it although it is drained.
            if fabric.basis.graph().neighbor(switch, port).is_some() {
                return None;
            }
            question.additions.links.push(ends);
        }
    }
    let prediction = what_if(fabric.basis, &question, cancellation);
    let lost = LostElements::default();
    Some(fabric.answer(lost, AddedElements::default(), prediction))
}

impl RoutedFabric<'_> {
    fn answer(&self, lost: LostElements, added: AddedElements, prediction: Prediction) -> WhatIf {
        let before = &prediction.connectivity_before;
        let after = &prediction.connectivity;
        let new_in = |ports: &[EndPortAt], known: &[EndPortAt]| {
            let new = ports.iter().filter(|at| known.binary_search(at).is_err());
            new.copied().collect::<Vec<EndPortAt>>()
        };
        let cut_off = new_in(&after.cut_off, &before.cut_off);
        let lose_redundancy = new_in(&after.without_redundancy, &before.without_redundancy);
        let routes = &prediction.routes;
        WhatIf {
            lost: lost.names,
            added: added.names,
            connected: after.cut_off_switches.is_empty(),
            // An addition may connect pairs that are not connected now.
            pairs_cut_off: before.connected_pairs.saturating_sub(after.connected_pairs),
            sm_cut_off: self
                .sm_port()
                .is_some_and(|at| self.is_cut_off(at, &lost.loss, &prediction)),
            cut_off: self.named(&cut_off),
            switches_cut_off: after
                .cut_off_switches
                .iter()
                .take(PORTS_NAMED_MAX)
                .map(|s| self.switch_name(*s))
                .collect(),
            lose_redundancy: self.named(&lose_redundancy),
            without_redundancy: before.without_redundancy.len() as u64,
            before: in_force(self.basis.run(), self.basis.proof()),
            after: routes.as_ref().ok().map(|r| in_force(&r.run, &r.proof)),
            failure: routes.as_ref().err().map(ToString::to_string),
            changes: routes
                .as_ref()
                .map_or_else(|_| TableChanges::default(), changes),
            violations: match routes {
                Ok(routes) => self.violations(CheckedRoutes::predicted(routes)),
                Err(_) => Vec::new(),
            },
        }
    }

    /// The invariants that hold now and would be violated with these routes.
    fn violations(&self, routes: CheckedRoutes<'_>) -> Vec<InvariantStatus> {
        let with = |routes| {
            let fabric = CheckedFabric {
                snapshot: self.snapshot,
                partitions: self.partitions,
                routes: Some(routes),
            };
            check(self.invariants, fabric)
        };
        let after = with(routes);
        let is_violated = |status: &InvariantStatus| status.state == InvariantState::Violated;
        if !after.iter().any(is_violated) {
            return Vec::new();
        }
        newly_violated(&with(CheckedRoutes::in_force(self.basis)), after)
    }

    /// The slot of a switch.
    fn slot(&self, s: SwitchIdx) -> u32 {
        self.basis.nodes()[s.index()].slot()
    }

    fn switch_name(&self, s: SwitchIdx) -> String {
        if s.index() >= self.basis.nodes().len() {
            return "an added switch".to_owned();
        }
        self.snapshot.node(self.slot(s)).name()
    }

    /// The switch port of the SM's own port, or port 0 of its switch.
    fn sm_port(&self) -> Option<EndPortAt> {
        let local = self.snapshot.end_port(self.snapshot.local?).port;
        let at = match self.snapshot.is_switch(local.node()) {
            true => local,
            false => self.snapshot.peer(local)?,
        };
        let nodes = self.basis.nodes().iter();
        let mut switches = self.basis.graph().switches().zip(nodes);
        let (s, _) = switches.find(|(_, node)| node.slot() == at.node())?;
        Some((s, at.num()))
    }

    fn is_cut_off(&self, (s, port): EndPortAt, loss: &Loss, prediction: &Prediction) -> bool {
        loss.includes_end_port(s, port) || !prediction.connectivity.is_in_main_part(s)
    }

    fn named(&self, ports: &[EndPortAt]) -> NamedPorts {
        let named = ports.iter().take(PORTS_NAMED_MAX);
        NamedPorts {
            total: ports.len() as u64,
            items: named
                .map(|(s, port)| self.end_port_name(*s, *port))
                .collect(),
        }
    }

    /// The end port that is attached to a switch port.
    fn end_port_name(&self, s: SwitchIdx, port: PortNum) -> ObjectName {
        let at = PortIdx::new(self.slot(s), port);
        let location = format!("{}/{port}", self.switch_name(s));
        match self.snapshot.peer(at) {
            Some(peer) => {
                let node = self.snapshot.node(peer.node());
                let end_port = self.snapshot.end_port_at(peer);
                ObjectName {
                    guid: end_port.map_or_else(
                        || node.guid.to_string(),
                        |at| self.snapshot.end_port(at).guid.to_string(),
                    ),
                    name: node.name(),
                    location,
                }
            }
            None => ObjectName {
                guid: String::new(),
                name: String::new(),
                location,
            },
        }
    }
}

fn in_force(run: &VerifiedRun, proof: &Proof) -> RoutingInForce {
    RoutingInForce {
        engine: run.routing.engine.to_owned(),
        is_rerouted: run
            .routing
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.as_reroute().is_some()),
        vls: run.routing.vl_plan.vls,
        busiest_routes: proof.max_load,
        hops: proof.max_hops,
        verified: proof.pairs,
    }
}

fn changes(routes: &PredictedRoutes) -> TableChanges {
    let changes = routes.changes;
    TableChanges {
        rerouted: !routes.is_of_engine,
        entries_moved: changes.entries_moved,
        destinations_moved: changes.destinations_moved,
        entries_removed: changes.entries_removed,
        entries_added: changes.entries_added,
        lft_blocks: changes.lft_blocks,
        sl_changes: changes.sl_changes,
        drained_lids: routes.drained_lids as u64,
    }
}
