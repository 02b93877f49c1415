//! Detours of two local hops around a missing local link.
//!
//! A switch sees the input and the output port of a packet, not whether it has crossed a global
//! link. So each pair of consecutive local hops is used on one side only: before the first global
//! hop, on the VL of packets that enter the fabric, or after the last one. On each side these turns
//! follow an order of the switches of the group: none leads from an earlier switch to a later one
//! and on to an earlier one. Therefore they form no cycle (as in up/down routing).

use std::collections::BTreeMap;

use super::groups::GroupGraph;

/// Switches through which packets travel between two members that are not neighbours.
#[derive(Debug, Default)]
struct Detours {
    /// Before a global hop.
    before: Vec<usize>,
    /// After a global hop, or to a destination in the same group.
    after: Vec<usize>,
}

/// The detours of all groups, by ordered pair of members.
#[derive(Debug)]
pub(super) struct LocalDetours(BTreeMap<(usize, usize), Detours>);

impl LocalDetours {
    pub(super) fn new(groups: &GroupGraph<'_>) -> Self {
        let mut detours = BTreeMap::new();
        for members in &groups.members {
            let missing = |from: usize| {
                let others = members.iter().filter(move |&&to| to != from);
                others.filter(move |&&to| groups.local_slot(from, to).is_none())
            };
            // Switches with all local links come first, because detours lead through earlier
            // switches.
            let mut order = members.clone();
            order.sort_by_key(|&v| (missing(v).count(), groups.index_of(v)));
            let mut position = vec![0; members.len()];
            for (i, &v) in order.iter().enumerate() {
                position[groups.index_of(v)] = i;
            }
            let position_of = |v: usize| position[groups.index_of(v)];
            for &from in members {
                for &to in missing(from) {
                    let last = position_of(from).max(position_of(to));
                    let through = order[..last].iter().copied().filter(|&x| {
                        groups.local_slot(from, x).is_some() && groups.local_slot(x, to).is_some()
                    });
                    let mut pair = Detours::default();
                    for (i, x) in through.enumerate() {
                        let side = if i % 2 == 0 {
                            &mut pair.after
                        } else {
                            &mut pair.before
                        };
                        side.push(x);
                    }
                    detours.insert((from, to), pair);
                }
            }
        }
        Self(detours)
    }

    /// Whether all members of each group are neighbours.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Switches through which packets may travel to a global link of `to`.
    pub(super) fn before(&self, from: usize, to: usize) -> &[usize] {
        self.0.get(&(from, to)).map_or(&[], |pair| &pair.before)
    }

    /// Switches through which packets may travel to their destination `to`.
    pub(super) fn after(&self, from: usize, to: usize) -> &[usize] {
        self.0.get(&(from, to)).map_or(&[], |pair| &pair.after)
    }
}
