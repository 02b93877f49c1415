//! Adoption of installed tables: verification that tables read back from the switches may stay.
//!
//! At takeover or restart, a subnet manager knows the installed tables and possibly their SLs and
//! VLs. It adopts them as a routing if they pass verification. Adoption does not improve routes and
//! changes no entry for a LID in use.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use super::reroute::REROUTED_LOAD_MAX;
use crate::kept::KeptTables;
use crate::messages::Describe;
use crate::routing::Routing;
use crate::tables::{Lft, Tables};
use crate::topology::{SwitchIdx, Topology};
use crate::verify::constraint::{OrderCheck, verify_with_constraint};
use crate::verify::{Proof, VerifyError};

/// Why installed tables are not adopted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// Some switch has no table.
    #[error("forwarding tables of some switches are unknown")]
    MissingTables,
    /// The routing needs more data VLs than are usable.
    #[error("too few data VLs")]
    TooFewVls,
    /// The tables fail verification.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A switch forwards a LID in use to a port that does not lead to it.
    #[error("some entries lead to unconnected ports or to switches without an entry")]
    DeadEnds,
    /// Incremental reroutes have overloaded a channel.
    #[error("too many routes on one channel")]
    Load,
}

impl Describe for AdoptError {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Verify(error) => error.describe(label),
            Self::MissingTables | Self::TooFewVls | Self::DeadEnds | Self::Load => self.to_string(),
        }
    }
}

/// Verifies installed tables, with the VL plan and the tree constraint of their engine, and returns
/// them as a routing of this graph. Entries for unused LIDs are removed. A tree constraint that the
/// tables do not satisfy becomes [`crate::TreeConstraint::Search`].
///
/// `vls` is the number of usable data VLs; `baseline_max_load` is
/// [`crate::VerifiedRun::baseline_max_load`].
///
/// # Errors
/// The tables cannot be adopted.
pub fn adopt(
    topo: &Topology,
    mut routing: Routing,
    vls: u8,
    baseline_max_load: u64,
) -> Result<(Routing, Proof), AdoptError> {
    if routing.tables.len() != topo.num_switches() {
        return Err(AdoptError::MissingTables);
    }
    if routing.vl_plan.vls > vls {
        return Err(AdoptError::TooFewVls);
    }
    routing.tables = without_unused_lids(topo, routing.tables);
    let proof =
        verify_with_constraint(topo, &mut routing, &KeptTables::default(), OrderCheck::Done)
            .map_err(AdoptError::Verify)?;
    if proof.idle_unreachable > 0 && has_dead_ends(topo, &routing.tables) {
        return Err(AdoptError::DeadEnds);
    }
    if baseline_max_load > 0 && proof.max_load > REROUTED_LOAD_MAX * baseline_max_load {
        return Err(AdoptError::Load);
    }
    Ok((routing, proof))
}

/// Whether an entry for the LID of a switch does not lead towards it. Switches without end ports
/// need no route to such a LID, but then drop its packets: any other entry is of an earlier fabric.
fn has_dead_ends(topo: &Topology, tables: &Tables) -> bool {
    let mut switch_lids = topo
        .destinations()
        .iter()
        .filter(|d| d.port == PortNum::ZERO);
    switch_lids.any(|d| {
        topo.switches().any(|s| {
            let port = tables[s.index()].get(d.lid);
            if s == d.switch {
                return port != d.port;
            }
            let next = topo.neighbor(s, port).map(|(peer, _)| peer);
            let continues =
                next.is_some_and(|next| tables[next.index()].get(d.lid) != PortNum::DROP);
            port != PortNum::DROP && !continues
        })
    })
}

/// The tables without entries for LIDs that are not in use.
fn without_unused_lids(topo: &Topology, tables: Tables) -> Tables {
    let mut owned = vec![false; usize::from(topo.top_lid().raw()) + 1];
    for d in topo.destinations() {
        owned[usize::from(d.lid.raw())] = true;
    }
    let clean = |table: Arc<Lft>| {
        let is_stale = |(lid, port): (usize, &u8)| {
            *port != PortNum::DROP.raw() && !owned.get(lid).copied().unwrap_or(false)
        };
        if !table.entries().iter().enumerate().any(is_stale) {
            return table;
        }
        let entries: Vec<u8> = table
            .entries()
            .iter()
            .enumerate()
            .map(|(lid, port)| {
                if is_stale((lid, port)) {
                    PortNum::DROP.raw()
                } else {
                    *port
                }
            })
            .collect();
        Arc::new(Lft::from_entries(entries))
    };
    tables.into_par_iter().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lid;

    use super::*;
    use crate::engines::engine_by_name;
    use crate::request::RoutingRequest;
    use crate::routing::TreeConstraint;
    use crate::topology::TopologyBuilder;

    /// A square of switches with a host of four LIDs on each.
    fn square() -> Topology {
        let mut b = TopologyBuilder::new();
        let s: Vec<SwitchIdx> = (1..=4).map(|lid| b.switch(4, Lid(lid))).collect();
        for i in 0..4 {
            b.link((s[i], PortNum(1)), (s[(i + 1) % 4], PortNum(2)));
            let lid = Lid(16 + 4 * u16::try_from(i).unwrap_or(0));
            b.end_port((s[i], PortNum(3)), lid, 4);
        }
        b.build()
    }

    fn routed(topo: &Topology, engine: &str) -> Routing {
        let engine = engine_by_name(engine).unwrap();
        engine.route(&RoutingRequest::new(topo)).unwrap()
    }

    #[test]
    fn engine_output_is_adopted_unchanged() {
        let topo = square();
        for engine in ["updn", "nue", "dfsssp"] {
            let routing = routed(&topo, engine);
            let (adopted, _) = adopt(&topo, routing.clone(), 15, 0).unwrap();
            assert_eq!(adopted.tables, routing.tables, "{engine}");
            assert_eq!(adopted.trees, routing.trees, "{engine}");
            assert_eq!(adopted.vl_plan, routing.vl_plan, "{engine}");
        }
    }

    /// All routes go clockwise: every LID is reachable, with a credit loop.
    #[test]
    fn tables_with_a_credit_loop_are_rejected() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        for s in topo.switches() {
            let mut table = Lft::clone(&routing.tables[s.index()]);
            for d in topo.destinations().iter().filter(|d| d.switch != s) {
                table.set(d.lid, PortNum(1));
            }
            routing.tables[s.index()] = Arc::new(table);
        }
        let rejected = adopt(&topo, routing, 15, 0).unwrap_err();
        let AdoptError::Verify(error) = rejected else {
            panic!("{rejected}");
        };
        assert!(error.cycle.is_some());
    }

    #[test]
    fn overload_and_missing_vls_or_tables_are_rejected() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        let (_, proof) = adopt(&topo, routing.clone(), 15, 0).unwrap();
        assert!(adopt(&topo, routing.clone(), 15, proof.max_load).is_ok());
        let low_load = proof.max_load / REROUTED_LOAD_MAX - 1;
        assert_eq!(
            adopt(&topo, routing.clone(), 15, low_load).err(),
            Some(AdoptError::Load)
        );
        routing.vl_plan.vls = 3;
        assert_eq!(
            adopt(&topo, routing.clone(), 2, 0).err(),
            Some(AdoptError::TooFewVls)
        );
        routing.vl_plan.vls = 1;
        routing.tables.pop();
        assert_eq!(
            adopt(&topo, routing, 2, 0).err(),
            Some(AdoptError::MissingTables)
        );
    }

    /// Two switches with a host on the first: the second needs no route to the LID of the first,
    /// but has one, to a port without a link.
    #[test]
    fn entries_to_unconnected_ports_are_rejected() {
        let mut b = TopologyBuilder::new();
        let [a, idle] = [1, 2].map(|lid| b.switch(4, Lid(lid)));
        b.link((a, PortNum(1)), (idle, PortNum(1)));
        b.end_port((a, PortNum(2)), Lid(3), 1);
        let topo = b.build();
        let with_entry = |port| {
            let mut routing = routed(&topo, "updn");
            let mut table = Lft::clone(&routing.tables[idle.index()]);
            table.set(Lid(1), port);
            routing.tables[idle.index()] = Arc::new(table);
            adopt(&topo, routing, 15, 0).map(|_| ())
        };
        assert_eq!(with_entry(PortNum(1)), Ok(()));
        assert_eq!(with_entry(PortNum::DROP), Ok(()));
        assert_eq!(with_entry(PortNum(2)), Err(AdoptError::DeadEnds));
    }

    #[test]
    fn unused_lids_and_violated_orders_are_dropped() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        let mut entries = routing.tables[0].entries().to_vec();
        entries.resize(101, PortNum::DROP.raw());
        entries[100] = 1;
        routing.tables[0] = Arc::new(Lft::from_entries(entries));
        let TreeConstraint::Ordered(order) = &routing.trees else {
            panic!("updn has an order");
        };
        let reversed = order.iter().map(|position| 100 - position).collect();
        routing.trees = TreeConstraint::Ordered(reversed);
        let (adopted, _) = adopt(&topo, routing.clone(), 15, 0).unwrap();
        assert_eq!(adopted.tables[0].get(Lid(100)), PortNum::DROP);
        assert_eq!(adopted.tables[1..], routing.tables[1..]);
        assert_eq!(adopted.trees, TreeConstraint::Search);
    }
}
