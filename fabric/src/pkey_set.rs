//! P_Keys of a port, and the partitions that two ports share (IBA 10.9.3; docs/sm-behaviour.md 7.9,
//! 7.10, 9.8).
//!
//! Two ports can communicate in a partition if both have its P_Key and at least one is a full
//! member. The SA applies the same rule to the visibility of records.

use std::sync::Arc;

use ferrosm_mad::ids::PKey;
use serde::{Deserialize, Serialize};

const FULL: u16 = 0x8000;

/// The partition number of a P_Key (without the membership bit).
#[inline]
#[must_use]
pub const fn partition_number(key: PKey) -> u16 {
    key.0 & 0x7FFF
}

/// The P_Keys of a port, sorted by partition, full membership first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<PKey>")]
pub struct PKeySet(Arc<[PKey]>);

impl From<Vec<PKey>> for PKeySet {
    fn from(table: Vec<PKey>) -> Self {
        Self::new(table)
    }
}

impl PKeySet {
    /// From a P_Key table in any order; empty entries are ignored.
    #[must_use]
    pub fn new(table: impl IntoIterator<Item = PKey>) -> Self {
        let mut keys: Vec<PKey> = table
            .into_iter()
            .filter(|k| partition_number(*k) != 0)
            .collect();
        keys.sort_unstable_by_key(|k| (partition_number(*k), k.0 & FULL == 0));
        keys.dedup();
        Self(keys.into())
    }

    /// The P_Keys, by partition.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[PKey] {
        &self.0
    }

    /// Whether the port is a full or limited member of a P_Key's partition.
    #[must_use]
    pub fn has_partition(&self, key: PKey) -> bool {
        self.membership(key).is_some()
    }

    /// Whether the port accepts packets with the P_Key of another port: both are in its partition,
    /// and not both as limited members (IBA vol. 1, 10.9.3).
    #[must_use]
    pub fn accepts(&self, key: PKey) -> bool {
        self.membership(key)
            .is_some_and(|own| (own.0 | key.0) & FULL != 0)
    }

    /// The best membership in a P_Key's partition.
    fn membership(&self, key: PKey) -> Option<PKey> {
        let at = self
            .0
            .partition_point(|k| partition_number(*k) < partition_number(key));
        self.0
            .get(at)
            .copied()
            .filter(|k| partition_number(*k) == partition_number(key))
    }

    /// Whether the ports share a partition.
    #[inline]
    #[must_use]
    pub fn shares_partition(&self, other: &Self) -> bool {
        self.common_pkey(other).is_some()
    }

    /// The P_Key of the first shared partition, with the membership of `self`.
    #[inline]
    #[must_use]
    pub fn common_pkey(&self, other: &Self) -> Option<PKey> {
        let mut a = self.0.iter().peekable();
        let mut b = other.0.iter().peekable();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match partition_number(**x).cmp(&partition_number(**y)) {
                core::cmp::Ordering::Less => a.next(),
                core::cmp::Ordering::Greater => b.next(),
                core::cmp::Ordering::Equal => {
                    // Full membership comes first in both lists, so these are the best memberships.
                    if (x.0 | y.0) & FULL != 0 {
                        return Some(**x);
                    }
                    let partition = partition_number(**x);
                    while a.next_if(|k| partition_number(**k) == partition).is_some() {}
                    b.next()
                }
            };
        }
        None
    }

    /// Whether the ports share the partition of this P_Key.
    #[must_use]
    pub fn shares_pkey(&self, other: &Self, key: PKey) -> bool {
        self.membership(key)
            .zip(other.membership(key))
            .is_some_and(|(a, b)| (a.0 | b.0) & FULL != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(list: &[u16]) -> PKeySet {
        PKeySet::new(list.iter().map(|k| PKey(*k)))
    }

    #[test]
    fn two_limited_members_do_not_share() {
        let (full, limited) = (keys(&[0x8001]), keys(&[0x0001]));
        assert!(full.shares_partition(&limited) && limited.shares_partition(&full));
        assert!(!limited.shares_partition(&limited));
        assert_eq!(limited.common_pkey(&full), Some(PKey(1)));
    }

    #[test]
    fn empty_entries_are_ignored() {
        assert!(!keys(&[0, 0x8000]).shares_partition(&keys(&[0x8000])));
    }

    proptest! {
        /// Agrees with a comparison of all pairs of P_Keys.
        #[test]
        fn sharing_agrees_with_a_comparison_of_all_pairs(
            a in prop::collection::vec(prop::sample::select(&[0u16, 1, 2, 3, 0x8001, 0x8002, 0x8003, 0xFFFF, 0x7FFF][..]), 0..6),
            b in prop::collection::vec(prop::sample::select(&[0u16, 1, 2, 3, 0x8001, 0x8002, 0x8003, 0xFFFF, 0x7FFF][..]), 0..6),
        ) {
            let can_communicate = |x: u16, y: u16| x & 0x7FFF == y & 0x7FFF && x & 0x7FFF != 0 && (x | y) & FULL != 0;
            let pairs: Vec<u16> = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)))
                .filter(|(x, y)| can_communicate(*x, *y)).map(|(x, _)| x & 0x7FFF).collect();
            let (ka, kb) = (keys(&a), keys(&b));
            prop_assert_eq!(ka.shares_partition(&kb), !pairs.is_empty());
            prop_assert_eq!(ka.common_pkey(&kb).map(partition_number), pairs.iter().min().copied());
            for key in [1u16, 2, 3, 0x7FFF] {
                prop_assert_eq!(ka.shares_pkey(&kb, PKey(key)), pairs.contains(&key));
            }
        }
    }
}
