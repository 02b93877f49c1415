//! At which index of a P_Key table each key goes (rules 9.3 to 9.5).
//!
//! Programs on hosts know keys by index, and IPoIB breaks when the one at index 0 changes. So a key that is in the table stays where
//! it is, a place that a key has left is used again only when there is no other, and index 0 is touched only if what is there is
//! wanted no more.

use ferrosm_mad::ids::PKey;

use super::members::WantedPKeys;
use super::partition_of;

/// A table as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyTablePlan {
    /// All entries.
    pub table: Vec<PKey>,
    /// Keys for which there was no room.
    pub omitted: Vec<PKey>,
}

impl PKeyTablePlan {
    /// Entries in use.
    #[must_use]
    pub fn used(&self) -> usize {
        let keys = self.table.iter().filter(|k| partition_of(**k) != 0);
        keys.count()
    }
}

const EMPTY: PKey = PKey(0);

/// Places keys in a table that holds `now`; its length is the room that there is.
#[must_use]
pub fn assign_pkey_indices(now: &[PKey], wanted: &WantedPKeys) -> PKeyTablePlan {
    let mut slots: Vec<Option<PKey>> = vec![None; now.len()];
    let mut homeless: Vec<PKey> = Vec::new();
    let is_empty = |key: PKey| partition_of(key) == 0;

    // What is there stays; then what is there with another membership.
    for key in &wanted.keys {
        let at = (0..now.len()).find(|i| slots[*i].is_none() && now[*i] == *key);
        match at {
            Some(at) => slots[at] = Some(*key),
            None => homeless.push(*key),
        }
    }
    homeless.retain(|key| {
        let same = |other: PKey| partition_of(other) == partition_of(*key);
        let at = (0..now.len()).find(|i| slots[*i].is_none() && same(now[*i]));
        if let Some(at) = at {
            slots[at] = Some(*key);
        }
        at.is_none()
    });

    if let Some(first) = wanted.keys.first().copied()
        && let Some(at_0) = slots.first().copied()
        && at_0 != Some(first)
        && (at_0.is_none() || wanted.force_first)
    {
        // Whoever is displaced takes the place that becomes free.
        match slots.iter().position(|s| *s == Some(first)) {
            Some(from) => slots[from] = at_0,
            None => {
                homeless.retain(|key| *key != first);
                homeless.extend(at_0);
            }
        }
        slots[0] = Some(first);
    }

    let used = |i: &usize| slots[*i].is_some() || !is_empty(now[*i]);
    let end = (0..now.len()).rev().find(used).map_or(0, |i| i + 1);
    let freed = (0..end).filter(|i| slots[*i].is_none());
    let places: Vec<usize> = (end..now.len()).chain(freed).collect();
    let mut places = places.into_iter();
    let mut omitted = Vec::new();
    for key in homeless {
        match places.next() {
            Some(at) => slots[at] = Some(key),
            None => omitted.push(key),
        }
    }
    PKeyTablePlan {
        table: slots.into_iter().map(|s| s.unwrap_or(EMPTY)).collect(),
        omitted,
    }
}

/// The keys that a switch port in front of an end port with this table has to let pass: a limited key is covered by the full one.
#[must_use]
pub fn enforcement_pkeys(table: &[PKey]) -> WantedPKeys {
    let full = |key: PKey| PKey(key.0 | super::FULL);
    let mut keys: Vec<PKey> = Vec::new();
    for key in table.iter().filter(|k| partition_of(**k) != 0) {
        let covered = full(*key) != *key && table.contains(&full(*key));
        if !covered && !keys.contains(key) {
            keys.push(*key);
        }
    }
    WantedPKeys {
        keys,
        force_first: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn keys(list: &[u16]) -> Vec<PKey> {
        list.iter().map(|k| PKey(*k)).collect()
    }

    fn placed(now: &[u16], wanted: &[u16], force_first: bool) -> (Vec<u16>, Vec<u16>) {
        let wanted = WantedPKeys {
            keys: keys(wanted),
            force_first,
        };
        let placed = assign_pkey_indices(&keys(now), &wanted);
        let raw = |list: &[PKey]| list.iter().map(|k| k.0).collect();
        (raw(&placed.table), raw(&placed.omitted))
    }

    #[test]
    fn keys_stay_and_new_ones_are_appended() {
        // (now, wanted, force, table, left out)
        type Case<'a> = (&'a [u16], &'a [u16], bool, &'a [u16], &'a [u16]);
        let cases: [Case<'_>; 10] = [
            // As it woke.
            (&[0xFFFF, 0, 0], &[0xFFFF], false, &[0xFFFF, 0, 0], &[]),
            // The membership changes, the index does not.
            (
                &[0xFFFF, 5, 0],
                &[0x7FFF, 0x8005],
                false,
                &[0x7FFF, 0x8005, 0],
                &[],
            ),
            // A hole is not filled while there is room behind.
            (
                &[0xFFFF, 0, 5, 0],
                &[0xFFFF, 5, 6],
                false,
                &[0xFFFF, 0, 5, 6],
                &[],
            ),
            // Nor is the place of a key that goes now.
            (
                &[0xFFFF, 4, 5, 0],
                &[0xFFFF, 5, 6],
                false,
                &[0xFFFF, 0, 5, 6],
                &[],
            ),
            // When there is none, it is.
            (
                &[0xFFFF, 0, 5],
                &[0xFFFF, 5, 6],
                false,
                &[0xFFFF, 6, 5],
                &[],
            ),
            (
                &[0xFFFF, 5],
                &[0xFFFF, 5, 6, 7],
                false,
                &[0xFFFF, 5],
                &[6, 7],
            ),
            // Another wanted key at index 0 stays there; nothing wanted does not.
            (&[5, 0xFFFF, 0], &[0xFFFF, 5], false, &[5, 0xFFFF, 0], &[]),
            (&[9, 5, 0xFFFF], &[0xFFFF, 5], false, &[0xFFFF, 5, 0], &[]),
            // indx0: the displaced key goes where the other was, or behind.
            (&[0xFFFF, 5, 0], &[5, 0xFFFF], true, &[5, 0xFFFF, 0], &[]),
            (&[0xFFFF, 6, 0], &[5, 0xFFFF, 6], true, &[5, 6, 0xFFFF], &[]),
        ];
        for (now, wanted, force, table, omitted) in cases {
            assert_eq!(
                placed(now, wanted, force),
                (table.to_vec(), omitted.to_vec()),
                "{now:04x?} {wanted:04x?}"
            );
        }
        assert_eq!(placed(&[], &[0xFFFF], false), (vec![], vec![0xFFFF]));
    }

    #[test]
    fn a_switch_lets_pass_what_the_port_has() {
        let pass = enforcement_pkeys(&keys(&[0xFFFF, 0x7FFF, 5, 0, 0x8006, 6, 5]));
        assert_eq!(pass.keys, keys(&[0xFFFF, 5, 0x8006]));
    }

    fn index_of(table: &[PKey], partition: u16) -> Option<usize> {
        table.iter().position(|k| partition_of(*k) == partition)
    }

    proptest! {
        /// Over any sequence of configurations no partition's key ever moves, the default partition's stays at index 0, every table
        /// holds exactly what is wanted and fits, and what is as it should be is left as it is.
        #[test]
        fn indices_never_move(
            cap in 1..12usize,
            steps in prop::collection::vec(prop::collection::btree_map(1..10u16, any::<bool>(), 0..9), 1..12),
            limited in any::<bool>(),
        ) {
            let mut table = vec![EMPTY; cap];
            table[0] = PKey::DEFAULT_FULL;
            for members in steps {
                let members: BTreeMap<u16, bool> = members;
                let default = if limited { PKey::DEFAULT_LIMITED } else { PKey::DEFAULT_FULL };
                let others = members.iter().map(|(n, full)| PKey(n | if *full { 0x8000 } else { 0 }));
                let wanted = WantedPKeys {
                    keys: core::iter::once(default).chain(others).collect(),
                    force_first: false,
                };
                let next = assign_pkey_indices(&table, &wanted);
                prop_assert_eq!(next.table.len(), cap);
                prop_assert_eq!(next.table[0], default);
                for key in &wanted.keys {
                    if let Some(before) = index_of(&table, partition_of(*key)) {
                        prop_assert_eq!(next.table[before], *key);
                    }
                }
                let has: BTreeSet<PKey> = next.table.iter().copied().filter(|k| *k != EMPTY).collect();
                let all: BTreeSet<PKey> = has.iter().chain(&next.omitted).copied().collect();
                prop_assert_eq!(&all, &wanted.keys.iter().copied().collect());
                prop_assert_eq!(has.len(), next.used(), "no key twice");
                prop_assert!(next.omitted.is_empty() || next.used() == cap);
                prop_assert_eq!(&assign_pkey_indices(&next.table, &wanted), &next);
                table = next.table;
            }
        }

        /// Whatever was in a table, afterwards it holds what is wanted and nothing else, the first key at index 0 where that is forced.
        #[test]
        fn any_table_is_mended(
            now in prop::collection::vec(prop::sample::select(&[0u16, 1, 0x8001, 2, 0x8002, 3, 0x7FFF, 0xFFFF, 0x8000][..]), 1..10),
            wanted in prop::collection::btree_set(prop::sample::select(&[1u16, 0x8001, 2, 0x8003, 0xFFFF][..]), 1..5),
            force_first in any::<bool>(),
        ) {
            let wanted = WantedPKeys { keys: wanted.into_iter().map(PKey).collect(), force_first };
            let placed = assign_pkey_indices(&keys(&now), &wanted);
            let mut has: Vec<PKey> = placed.table.iter().copied().filter(|k| *k != EMPTY).collect();
            prop_assert_eq!(has.len() + placed.omitted.len(), wanted.keys.len());
            has.extend(&placed.omitted);
            has.sort_unstable();
            let mut all = wanted.keys.clone();
            all.sort_unstable();
            prop_assert_eq!(has, all);
            prop_assert!(partition_of(placed.table[0]) != 0, "index 0 is never empty");
            prop_assert!(!force_first || placed.table[0] == wanted.keys[0]);
        }
    }
}
