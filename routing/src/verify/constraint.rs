//! Verification of a routing together with the multicast trees that its engine permits.

use rayon::prelude::*;

use ferrosm_mad::ids::PortNum;

use super::{Proof, TreePorts, VerifyError, verify_all};
use crate::kept::KeptTables;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::Tables;
use crate::topology::{PortSet, SwitchIdx, Topology};

/// Whether tables are compared with the switch order of [`TreeConstraint::Ordered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderCheck {
    Done,
    /// The engine has just computed the tables from this order, and no switch keeps another one.
    Omitted,
}

/// Verifies tables, and with them the spanning tree of [`TreeConstraint::Within`]. A constraint
/// that does not hold becomes [`TreeConstraint::Search`].
///
/// # Errors
/// As [`super::verify()`].
pub(crate) fn verify_with_constraint(
    topo: &Topology,
    routing: &mut Routing,
    kept: &KeptTables,
    order_check: OrderCheck,
) -> Result<Proof, VerifyError> {
    let verify = |routing: &Routing, trees: &[TreePorts]| {
        verify_all(topo, &routing.tables, &routing.vl_plan, trees, Some(kept))
    };
    match &routing.trees {
        TreeConstraint::Search => {}
        TreeConstraint::Ordered(order) => {
            if order_check == OrderCheck::Done && !is_up_down(topo, &routing.tables, order) {
                routing.trees = TreeConstraint::Search;
            }
        }
        TreeConstraint::Within { up, sl } => {
            if let Some(tree) = spanning_tree_ports(topo, up, *sl)
                && let Ok(proof) = verify(routing, &[tree])
            {
                return Ok(proof);
            }
            routing.trees = TreeConstraint::Search;
        }
    }
    verify(routing, &[])
}

/// Whether every route is up/down in a switch order (given by position): a switch that is reached
/// downwards forwards downwards.
fn is_up_down(topo: &Topology, tables: &Tables, order: &[u32]) -> bool {
    if order.len() != topo.num_switches() {
        return false;
    }
    let next = |v: usize, lid| {
        let port = tables[v].get(lid);
        let (peer, _) = topo.neighbor(SwitchIdx::from_index(v), port)?;
        Some(peer.index())
    };
    topo.destinations().par_iter().all(|d| {
        let own_switch = d.switch.index();
        (0..order.len()).filter(|v| *v != own_switch).all(|v| {
            let Some(u) = next(v, d.lid) else { return true };
            // Equal positions are neither up nor down.
            let down = order[u] > order[v];
            let up = order[u] < order[v];
            let goes_down = || next(u, d.lid).is_none_or(|w| order[w] > order[u]);
            up || (down && (u == own_switch || goes_down()))
        })
    })
}

/// MFT entries of a spanning tree with every end port as a member; `None` if a link of the tree
/// does not exist.
fn spanning_tree_ports(topo: &Topology, up: &[Option<PortNum>], sl: u8) -> Option<TreePorts> {
    if up.len() != topo.num_switches() {
        return None;
    }
    let mut ports = vec![PortSet::new(); up.len()];
    for (v, port) in up.iter().enumerate() {
        if let Some(port) = port {
            let (peer, peer_port) = topo.neighbor(SwitchIdx::from_index(v), *port)?;
            ports[v].insert(*port);
            ports[peer.index()].insert(peer_port);
        }
    }
    for (v, set) in ports.iter_mut().enumerate() {
        set.insert(PortNum::ZERO);
        topo.end_ports(SwitchIdx::from_index(v))
            .iter()
            .for_each(|end_port| set.insert(end_port.port));
    }
    let ports = topo.switches().zip(ports).collect();
    Some(TreePorts { sl, ports })
}
