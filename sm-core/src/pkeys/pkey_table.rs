//! The index of each P_Key in its table (docs/sm-behaviour.md 9.3 to 9.5).
//!
//! Programs on hosts address P_Keys by index, and IPoIB fails if the P_Key at index 0 changes. So a
//! P_Key in the table retains its index, a freed entry is reused only if the table has no unused
//! one, and index 0 changes only if its P_Key is not wanted any more. If the table is full, the
//! P_Key for index 0 and that of the default partition take the entries of the last ones.

use ferrosm_mad::ids::PKey;

use crate::config::partitions::members::WantedPKeys;
use crate::config::partitions::partition_of;

/// The desired contents of a P_Key table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyTablePlan {
    /// All entries.
    pub table: Vec<PKey>,
    /// P_Keys that do not fit.
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

/// Assigns wanted P_Keys to the entries of a table with the contents `current`, whose length is the
/// capacity.
#[must_use]
pub fn assign_pkey_indices(current: &[PKey], required: &WantedPKeys) -> PKeyTablePlan {
    let mut slots: Vec<Option<PKey>> = vec![None; current.len()];
    let mut unplaced: Vec<PKey> = Vec::new();
    let is_empty = |key: PKey| partition_of(key) == 0;

    // P_Keys in the table retain their index; then those that are in it with the other membership.
    for key in &required.keys {
        let at = (0..current.len()).find(|i| slots[*i].is_none() && current[*i] == *key);
        match at {
            Some(at) => slots[at] = Some(*key),
            None => unplaced.push(*key),
        }
    }
    unplaced.retain(|key| {
        let is_same_partition = |other: PKey| partition_of(other) == partition_of(*key);
        let at = (0..current.len()).find(|i| slots[*i].is_none() && is_same_partition(current[*i]));
        if let Some(at) = at {
            slots[at] = Some(*key);
        }
        at.is_none()
    });

    if let Some(first) = required.keys.first().copied()
        && let Some(at_0) = slots.first().copied()
        && at_0 != Some(first)
        && (at_0.is_none() || required.force_first)
    {
        // The displaced P_Key moves to the freed entry.
        match slots.iter().position(|s| *s == Some(first)) {
            Some(from) => slots[from] = at_0,
            None => {
                unplaced.retain(|key| *key != first);
                unplaced.extend(at_0);
            }
        }
        slots[0] = Some(first);
    }

    let is_used = |i: &usize| slots[*i].is_some() || !is_empty(current[*i]);
    let used_len = (0..current.len()).rev().find(is_used).map_or(0, |i| i + 1);
    let freed = (0..used_len).filter(|i| slots[*i].is_none());
    let free_indices: Vec<usize> = (used_len..current.len()).chain(freed).collect();
    let mut free_indices = free_indices.into_iter();
    let mut omitted = Vec::new();
    for key in unplaced {
        match free_indices.next() {
            Some(at) => slots[at] = Some(key),
            None => omitted.push(key),
        }
    }
    for (rank, key) in required.keys.iter().enumerate() {
        let is_essential = rank == 0 || partition_of(*key) == partition_of(PKey::DEFAULT_FULL);
        let omitted_at = omitted.iter().position(|omitted| omitted == key);
        let Some(at) = omitted_at.filter(|_| is_essential) else {
            continue;
        };
        let placed = |key: &PKey| slots.iter().rposition(|slot| *slot == Some(*key));
        let last = required.keys[rank + 1..].iter().rev().find_map(placed);
        if let Some(displaced) = last.and_then(|last| slots[last].replace(*key)) {
            omitted[at] = displaced;
            omitted.sort_by_key(|key| required.keys.iter().position(|wanted| wanted == key));
        }
    }
    PKeyTablePlan {
        table: slots.into_iter().map(|s| s.unwrap_or(EMPTY)).collect(),
        omitted,
    }
}

/// The P_Keys that a switch port must accept for an end port with this table. A full P_Key covers
/// the limited one.
#[must_use]
pub fn enforcement_pkeys(table: &[PKey]) -> WantedPKeys {
    let full = |key: PKey| PKey(key.0 | crate::config::partitions::FULL);
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

    fn assigned(current: &[u16], wanted: &[u16], force_first: bool) -> (Vec<u16>, Vec<u16>) {
        let wanted = WantedPKeys {
            keys: keys(wanted),
            force_first,
        };
        let plan = assign_pkey_indices(&keys(current), &wanted);
        let raw = |list: &[PKey]| list.iter().map(|k| k.0).collect();
        (raw(&plan.table), raw(&plan.omitted))
    }

    #[test]
    fn p_keys_retain_their_index_and_new_ones_are_appended() {
        // (current, wanted, force, table, omitted)
        type Case<'a> = (&'a [u16], &'a [u16], bool, &'a [u16], &'a [u16]);
        let cases: [Case<'_>; 10] = [
            // Power-up contents.
            (&[0xFFFF, 0, 0], &[0xFFFF], false, &[0xFFFF, 0, 0], &[]),
            // The membership changes, the index does not.
            (
                &[0xFFFF, 5, 0],
                &[0x7FFF, 0x8005],
                false,
                &[0x7FFF, 0x8005, 0],
                &[],
            ),
            // A gap is not filled while entries at the end are unused.
            (
                &[0xFFFF, 0, 5, 0],
                &[0xFFFF, 5, 6],
                false,
                &[0xFFFF, 0, 5, 6],
                &[],
            ),
            // Nor is the entry of a P_Key that is removed in the same update.
            (
                &[0xFFFF, 4, 5, 0],
                &[0xFFFF, 5, 6],
                false,
                &[0xFFFF, 0, 5, 6],
                &[],
            ),
            // Without unused entries the gap is filled.
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
            // A wanted P_Key at index 0 stays there; an unwanted one is replaced.
            (&[5, 0xFFFF, 0], &[0xFFFF, 5], false, &[5, 0xFFFF, 0], &[]),
            (&[9, 5, 0xFFFF], &[0xFFFF, 5], false, &[0xFFFF, 5, 0], &[]),
            // indx0: the displaced P_Key takes the freed or the next entry.
            (&[0xFFFF, 5, 0], &[5, 0xFFFF], true, &[5, 0xFFFF, 0], &[]),
            (&[0xFFFF, 6, 0], &[5, 0xFFFF, 6], true, &[5, 6, 0xFFFF], &[]),
        ];
        for (current, wanted, force, table, omitted) in cases {
            assert_eq!(
                assigned(current, wanted, force),
                (table.to_vec(), omitted.to_vec()),
                "{current:04x?} {wanted:04x?}"
            );
        }
        assert_eq!(assigned(&[], &[0xFFFF], false), (vec![], vec![0xFFFF]));
        // The default partition is in a full table.
        let full = assigned(&[5, 6], &[0xFFFF, 5, 6], false);
        assert_eq!(full, (vec![5, 0xFFFF], vec![6]));
        let full = assigned(&[5], &[0xFFFF, 5], false);
        assert_eq!(full, (vec![0xFFFF], vec![5]));
    }

    #[test]
    fn enforcement_covers_the_p_keys_of_the_end_port() {
        let pass = enforcement_pkeys(&keys(&[0xFFFF, 0x7FFF, 5, 0, 0x8006, 6, 5]));
        assert_eq!(pass.keys, keys(&[0xFFFF, 5, 0x8006]));
    }

    fn index_of(table: &[PKey], partition: u16) -> Option<usize> {
        table.iter().position(|k| partition_of(*k) == partition)
    }

    proptest! {
        /// For any sequence of configurations no P_Key changes its index, that of the default
        /// partition stays at index 0, every table contains exactly the wanted P_Keys that fit, and
        /// a correct table is unchanged.
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
                let table_keys: BTreeSet<PKey> = next.table.iter().copied().filter(|k| *k != EMPTY).collect();
                let all_keys: BTreeSet<PKey> = table_keys.iter().chain(&next.omitted).copied().collect();
                prop_assert_eq!(&all_keys, &wanted.keys.iter().copied().collect());
                prop_assert_eq!(table_keys.len(), next.used(), "no duplicate P_Key");
                prop_assert!(next.omitted.is_empty() || next.used() == cap);
                prop_assert_eq!(&assign_pkey_indices(&next.table, &wanted), &next);
                table = next.table;
            }
        }

        /// From any contents, the table then contains the wanted P_Keys and no other, the first one
        /// at index 0 if that is forced.
        #[test]
        fn any_table_is_corrected(
            current in prop::collection::vec(prop::sample::select(&[0u16, 1, 0x8001, 2, 0x8002, 3, 0x7FFF, 0xFFFF, 0x8000][..]), 1..10),
            wanted in prop::collection::btree_set(prop::sample::select(&[1u16, 0x8001, 2, 0x8003, 0xFFFF][..]), 1..5),
            force_first in any::<bool>(),
        ) {
            let wanted = WantedPKeys { keys: wanted.into_iter().map(PKey).collect(), force_first };
            let plan = assign_pkey_indices(&keys(&current), &wanted);
            let mut has: Vec<PKey> = plan.table.iter().copied().filter(|k| *k != EMPTY).collect();
            prop_assert_eq!(has.len() + plan.omitted.len(), wanted.keys.len());
            has.extend(&plan.omitted);
            has.sort_unstable();
            let mut all = wanted.keys.clone();
            all.sort_unstable();
            prop_assert_eq!(has, all);
            prop_assert!(partition_of(plan.table[0]) != 0, "index 0 is never empty");
            prop_assert!(!force_first || plan.table[0] == wanted.keys[0]);
        }
    }
}
