//! Updates in several passes, where no order of the writes of one pass avoids loops and deadlocks.
//!
//! A switch is written in blocks of 64 LIDs, so that LIDs which need different orders are in each
//! other's way. Each pass moves some LIDs to their new routes and leaves the others on their old
//! ones; between two passes, all LIDs have a complete route. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use ferrosm_mad::ids::Lid;
use ferrosm_routing::update::transition::{self, Transition};
use ferrosm_routing::{Lft, Tables, Topology, VlPlan};

/// Most transitions that are planned for one update.
const PLANS_MAX: usize = 256;

/// Most LFT entries that all these plans evaluate, old and new ones as one.
const ENTRIES_MAX: usize = 1 << 28;

/// One pass: the tables after it, and the order of its writes, which drops no packet.
#[derive(Debug)]
pub(super) struct TablePass {
    pub(super) tables: Tables,
    pub(super) transition: Transition,
}

/// The passes from the installed tables to new ones on the same VLs. `None` if none are found.
pub(super) fn find_passes(
    topology: &Topology,
    installed: &[Option<Arc<Lft>>],
    new: &Tables,
    vl_plan: &VlPlan,
) -> Option<Vec<TablePass>> {
    let destinations = topology.destinations();
    let mut current: Tables = installed
        .iter()
        .zip(new)
        .map(|(old, new)| Arc::clone(old.as_ref().unwrap_or(new)))
        .collect();
    let changes = |lid: Lid| {
        let mut tables = current.iter().zip(new);
        tables.any(|(old, new)| old.get(lid) != new.get(lid))
    };
    let changed: Vec<Lid> = destinations
        .iter()
        .map(|d| d.lid)
        .filter(|lid| changes(*lid))
        .collect();
    let entries = (new.len() * destinations.len()).max(1);
    let mut plans_left = PLANS_MAX.min(ENTRIES_MAX / entries);
    let mut passes = Vec::new();
    let mut waiting = VecDeque::from([changed]);
    while !waiting.is_empty() {
        let mut postponed = Vec::new();
        let before = passes.len();
        while let Some(mut lids) = waiting.pop_front() {
            plans_left = plans_left.checked_sub(1)?;
            let next = with_new_entries(&current, new, &lids);
            let old: Vec<Option<Arc<Lft>>> = current.iter().cloned().map(Some).collect();
            match transition::plan(topology, &old, &next, vl_plan) {
                Transition::Drain { .. } if lids.len() > 1 => {
                    let half = lids.split_off(lids.len() / 2);
                    waiting.push_front(half);
                    waiting.push_front(lids);
                }
                // It may be possible after others have moved.
                Transition::Drain { .. } => postponed.extend(lids),
                transition @ (Transition::AnyOrder | Transition::Stages(_)) => {
                    passes.push(TablePass {
                        tables: next.clone(),
                        transition,
                    });
                    current = next;
                }
            }
        }
        if postponed.is_empty() {
            return Some(passes);
        }
        if passes.len() == before {
            return None;
        }
        waiting.push_back(postponed);
    }
    Some(passes)
}

/// The tables with the new entries of these LIDs.
fn with_new_entries(current: &Tables, new: &Tables, lids: &[Lid]) -> Tables {
    let tables = current.iter().zip(new);
    let with_entries = |(old, new): (&Arc<Lft>, &Arc<Lft>)| {
        if lids.iter().all(|lid| old.get(*lid) == new.get(*lid)) {
            return Arc::clone(old);
        }
        let mut lft = Lft::clone(old);
        for lid in lids {
            lft.set(*lid, new.get(*lid));
        }
        Arc::new(lft)
    };
    tables.map(with_entries).collect()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::PortNum;
    use ferrosm_routing::{SwitchIdx, TopologyBuilder};

    use super::*;

    /// Two switches in a triangle exchange who of them is first on the way to two LIDs behind the
    /// third one: each LID needs the opposite order of the two blocks.
    #[test]
    fn lids_of_one_block_that_need_opposite_orders_move_one_after_the_other() {
        let mut b = TopologyBuilder::new();
        let (x, y, z) = (
            b.switch(4, Lid(1)),
            b.switch(4, Lid(2)),
            b.switch(4, Lid(3)),
        );
        b.link((x, PortNum(1)), (y, PortNum(1)));
        b.link((x, PortNum(2)), (z, PortNum(1)));
        b.link((y, PortNum(2)), (z, PortNum(2)));
        b.end_port((z, PortNum(3)), Lid(4), 1);
        b.end_port((z, PortNum(4)), Lid(5), 1);
        let topo = b.build();
        // Each switch reaches the others directly.
        let table = |s: SwitchIdx, to_4: u8, to_5: u8| {
            let mut lft = Lft::drop_all(topo.top_lid());
            let direct = [[0, 1, 2], [1, 0, 2], [1, 2, 0]][s.index()];
            for (lid, port) in (1..).zip(direct) {
                lft.set(Lid(lid), PortNum(port));
            }
            lft.set(Lid(4), PortNum(to_4));
            lft.set(Lid(5), PortNum(to_5));
            Arc::new(lft)
        };
        // LID 4 moves from x over y to y over x, LID 5 the other way round.
        let old: Tables = vec![table(x, 1, 2), table(y, 2, 1), table(z, 3, 4)];
        let new: Tables = vec![table(x, 2, 1), table(y, 1, 2), table(z, 3, 4)];
        let installed: Vec<Option<Arc<Lft>>> = old.iter().cloned().map(Some).collect();
        let plan = VlPlan::single();
        let at_once = transition::plan(&topo, &installed, &new, &plan);
        assert!(matches!(at_once, Transition::Drain { .. }), "{at_once:?}");
        let passes = find_passes(&topo, &installed, &new, &plan).unwrap();
        assert_eq!(passes.len(), 2, "{passes:?}");
        assert_eq!(passes[1].tables, new);
        for pass in &passes {
            let is_staged = matches!(pass.transition, Transition::Stages(_));
            assert!(is_staged, "{:?}", pass.transition);
        }
    }
}
