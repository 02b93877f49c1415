//! Whether tables that are in the switches may stay: what an engine would have to prove of its own, and what it promises.
//!
//! A subnet manager that takes a fabric over knows what is installed, and perhaps with which lanes it was meant. That is taken
//! for a routing if it is one. It never makes it better, and it never changes an entry for a LID that somebody has.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::engine::{Routing, TreeConstraint};
use crate::multicast::PortSet;
use crate::select::REPAIRED_LOAD_MAX;
use crate::tables::{Lft, Tables};
use crate::topology::{SwitchIdx, Topology};
use crate::verify::{Proof, TreePorts, VerifyError, verify_with_trees};

/// Why tables cannot stay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// There is not a table for each switch.
    #[error("not all tables are known")]
    MissingTables,
    /// They need more data VLs than may be used now.
    #[error("there are fewer data VLs than it needs")]
    TooFewVls,
    /// They do not pass the proof.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Repairs have put too much on one cable.
    #[error("too many routes share one cable")]
    Load,
}

impl AdoptError {
    /// One sentence, with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Verify(failure) => failure.describe(label),
            Self::MissingTables | Self::TooFewVls | Self::Load => self.to_string(),
        }
    }
}

/// Takes tables as they are installed, with the lanes and promises that they were made with, for a routing of this graph. Entries
/// for LIDs that nobody has are dropped. A promise of trees that the tables do not keep any more is not made again.
///
/// `vls` are the data VLs that may be used; `busiest` is [`crate::LastRun::baseline_max_load`].
///
/// # Errors
/// They cannot stay.
pub fn adopt(
    topo: &Topology,
    mut routing: Routing,
    vls: u8,
    busiest: u64,
) -> Result<(Routing, Proof), AdoptError> {
    if routing.tables.len() != topo.num_switches() {
        return Err(AdoptError::MissingTables);
    }
    if routing.vl_plan.vls > vls {
        return Err(AdoptError::TooFewVls);
    }
    routing.tables = without_strangers(topo, routing.tables);
    let (tables, lanes) = (&routing.tables, &routing.vl_plan);
    let tree = match &routing.trees {
        TreeConstraint::Within { up, sl } => spanning(topo, up, *sl),
        TreeConstraint::Ordered(_) | TreeConstraint::Search => None,
    };
    let mut kept = match &routing.trees {
        TreeConstraint::Search => true,
        TreeConstraint::Ordered(order) => climbs_first(topo, tables, order),
        TreeConstraint::Within { .. } => tree.is_some(),
    };
    let mut proof = verify_with_trees(topo, tables, lanes, tree.as_slice());
    if proof.is_err() && tree.is_some() {
        kept = false;
        proof = verify_with_trees(topo, tables, lanes, &[]);
    }
    let proof = proof.map_err(AdoptError::Verify)?;
    if busiest > 0 && proof.max_load > REPAIRED_LOAD_MAX * busiest {
        return Err(AdoptError::Load);
    }
    if !kept {
        routing.trees = TreeConstraint::Search;
    }
    Ok((routing, proof))
}

/// The tables without entries for LIDs that nobody has.
fn without_strangers(topo: &Topology, tables: Tables) -> Tables {
    let mut owned = vec![false; usize::from(topo.top_lid().raw()) + 1];
    for d in topo.destinations() {
        owned[usize::from(d.lid.raw())] = true;
    }
    let clean = |table: Arc<Lft>| {
        let strange = |(lid, port): (usize, &u8)| {
            *port != PortNum::DROP.raw() && !owned.get(lid).copied().unwrap_or(false)
        };
        if !table.entries().iter().enumerate().any(strange) {
            return table;
        }
        let entries = table.entries().iter().enumerate();
        let entries: Vec<u8> = entries
            .map(|(lid, port)| {
                if strange((lid, port)) {
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

/// Whether every route first climbs and descends then, in an order of the switches (their places): whoever is sent to downwards
/// sends on downwards.
fn climbs_first(topo: &Topology, tables: &Tables, order: &[u32]) -> bool {
    if order.len() != topo.num_switches() {
        return false;
    }
    let next = |v: usize, lid| {
        let port = tables[v].get(lid);
        let (peer, _) = topo.neighbor(SwitchIdx::at(v), port)?;
        Some(peer.index())
    };
    topo.destinations().par_iter().all(|d| {
        let here = d.switch.index();
        (0..order.len()).filter(|v| *v != here).all(|v| {
            let Some(u) = next(v, d.lid) else { return true };
            // Equal places would be no order.
            let down = order[u] > order[v];
            let up = order[u] < order[v];
            let goes_down = || next(u, d.lid).is_none_or(|w| order[w] > order[u]);
            up || (down && (u == here || goes_down()))
        })
    })
}

/// A spanning tree as tables would have it if every end port were a member; `None` if a cable of it is not there.
fn spanning(topo: &Topology, up: &[Option<PortNum>], sl: u8) -> Option<TreePorts> {
    if up.len() != topo.num_switches() {
        return None;
    }
    let mut ports = vec![PortSet::new(); up.len()];
    for (v, port) in up.iter().enumerate() {
        if let Some(port) = port {
            let (peer, far) = topo.neighbor(SwitchIdx::at(v), *port)?;
            ports[v].insert(*port);
            ports[peer.index()].insert(far);
        }
    }
    for (v, set) in ports.iter_mut().enumerate() {
        set.insert(PortNum::ZERO);
        let ends = topo.end_ports(SwitchIdx::at(v)).iter();
        ends.for_each(|end| set.insert(end.port));
    }
    let ports = topo.switches().zip(ports).collect();
    Some(TreePorts { sl, ports })
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lid;

    use super::*;
    use crate::engine::{Request, engine_by_name};
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
        engine.route(&Request::new(topo)).unwrap()
    }

    #[test]
    fn what_an_engine_made_stays_to_the_letter() {
        let topo = square();
        for engine in ["updn", "nue", "dfsssp"] {
            let routing = routed(&topo, engine);
            let (adopted, _) = adopt(&topo, routing.clone(), 15, 0).unwrap();
            assert_eq!(adopted.tables, routing.tables, "{engine}");
            assert_eq!(adopted.trees, routing.trees, "{engine}");
            assert_eq!(adopted.vl_plan, routing.vl_plan, "{engine}");
        }
    }

    /// Every route goes round clockwise: everybody is reached, and packets can wait for each other in a circle.
    #[test]
    fn tables_that_can_deadlock_do_not() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        for s in topo.switches() {
            let mut table = Lft::clone(&routing.tables[s.index()]);
            for d in topo.destinations().iter().filter(|d| d.switch != s) {
                table.set(d.lid, PortNum(1));
            }
            routing.tables[s.index()] = Arc::new(table);
        }
        let refused = adopt(&topo, routing, 15, 0).unwrap_err();
        let AdoptError::Verify(failure) = refused else {
            panic!("{refused}");
        };
        assert!(failure.cycle.is_some());
    }

    #[test]
    fn other_reasons_why_they_do_not() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        let (_, proof) = adopt(&topo, routing.clone(), 15, 0).unwrap();
        assert!(adopt(&topo, routing.clone(), 15, proof.max_load).is_ok());
        let little = proof.max_load / REPAIRED_LOAD_MAX - 1;
        assert_eq!(
            adopt(&topo, routing.clone(), 15, little).err(),
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

    /// A LID that nobody has is dropped, all others stay; an order that the tables do not keep is no promise.
    #[test]
    fn leftovers_go_and_broken_promises_too() {
        let topo = square();
        let mut routing = routed(&topo, "updn");
        let mut entries = routing.tables[0].entries().to_vec();
        entries.resize(101, PortNum::DROP.raw());
        entries[100] = 1;
        routing.tables[0] = Arc::new(Lft::from_entries(entries));
        let TreeConstraint::Ordered(order) = &routing.trees else {
            panic!("up and down has an order");
        };
        let turned = order.iter().map(|place| 100 - place).collect();
        routing.trees = TreeConstraint::Ordered(turned);
        let (adopted, _) = adopt(&topo, routing.clone(), 15, 0).unwrap();
        assert_eq!(adopted.tables[0].get(Lid(100)), PortNum::DROP);
        assert_eq!(adopted.tables[1..], routing.tables[1..]);
        assert_eq!(adopted.trees, TreeConstraint::Search);
    }
}
