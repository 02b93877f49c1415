//! Detours of two local hops around a missing local link.
//!
//! A switch sees the input and the output port of a packet, not whether it has crossed a global
//! link. So each pair of consecutive local hops is used on one side only: before the first global
//! hop, on the VL of packets that enter the fabric, or after the last one. On each side these turns
//! follow an order of the switches of the group: none leads from an earlier switch to a later one
//! and on to an earlier one. Therefore they form no cycle (as in up/down routing). Orders are tried
//! until each missing link has detours on both sides.

use std::collections::BTreeMap;

use super::group_order::mix;
use super::groups::GroupGraph;

/// Orders that are tried for a group.
const ORDERS_MAX: u64 = 64;

/// Switches through which packets travel between two members that are not neighbours.
#[derive(Debug, Default)]
struct Detours {
    /// Before a global hop, or to a destination in the same group that no packet from a global link
    /// reaches in this way.
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
            let mut best = detours_of_group(groups, members, 0);
            for number in 1..ORDERS_MAX {
                if unserved(&best) == (0, 0, 0) {
                    break;
                }
                let other = detours_of_group(groups, members, number);
                if unserved(&other) < unserved(&best) {
                    best = other;
                }
            }
            detours.append(&mut best);
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

/// The detours of a group. `number` selects an order of the switches for each side.
fn detours_of_group(
    groups: &GroupGraph<'_>,
    members: &[usize],
    number: u64,
) -> BTreeMap<(usize, usize), Detours> {
    let is_missing = |from: usize, to: usize| from != to && groups.local_slot(from, to).is_none();
    // Detours lead through earlier switches: in the first order those with most local links.
    let positions = |seed: u64| {
        let mut order = members.to_vec();
        order.sort_by_key(|&v| {
            let missing = members.iter().filter(|&&to| is_missing(v, to)).count();
            let index = groups.index_of(v) as u64;
            if number == 0 {
                (missing as u64, index)
            } else {
                (mix((seed << 16) + index), index)
            }
        });
        let mut position = vec![0; members.len()];
        for (i, &v) in order.iter().enumerate() {
            position[groups.index_of(v)] = i;
        }
        position
    };
    let after = positions(2 * number);
    let before = positions(2 * number + 1);
    let is_legal = |position: &[usize], from: usize, x: usize, to: usize| {
        let at = |v: usize| position[groups.index_of(v)];
        at(x) < at(from).max(at(to))
    };
    let mut detours = BTreeMap::new();
    for &from in members {
        for &to in members.iter().filter(|&&to| is_missing(from, to)) {
            let mut pair = Detours::default();
            let mut either = Vec::new();
            for &x in members.iter().filter(|&&x| x != from && x != to) {
                if is_missing(from, x) || is_missing(x, to) {
                    continue;
                }
                match (
                    is_legal(&after, from, x, to),
                    is_legal(&before, from, x, to),
                ) {
                    (true, true) => either.push(x),
                    (true, false) => pair.after.push(x),
                    (false, true) => pair.before.push(x),
                    (false, false) => {}
                }
            }
            for x in either {
                let side = if pair.after.len() <= pair.before.len() {
                    &mut pair.after
                } else {
                    &mut pair.before
                };
                side.push(x);
            }
            detours.insert((from, to), pair);
        }
    }
    detours
}

/// Number of missing links without a detour, without one after a global hop, without one before.
fn unserved(detours: &BTreeMap<(usize, usize), Detours>) -> (usize, usize, usize) {
    let count = |is_unserved: fn(&Detours) -> bool| {
        detours.values().filter(|pair| is_unserved(pair)).count()
    };
    (
        count(|pair| pair.after.is_empty() && pair.before.is_empty()),
        count(|pair| pair.after.is_empty()),
        count(|pair| pair.before.is_empty()),
    )
}
