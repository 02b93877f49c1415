//! Which partitions two ports share (IBA 10.9.3; behaviour rules 7.9, 7.10, 9.8).
//!
//! Two ports may talk in a partition if both have a key of it and at least one is a full member. The same rule decides who may
//! see whom in subnet administration.

use std::sync::Arc;

use ferrosm_mad::ids::PKey;

use super::message::partition_number;

const FULL: u16 = 0x8000;

/// The keys of a port, for lookups: by partition, full membership first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeySet(Arc<[PKey]>);

impl PKeySet {
    /// From a P_Key table in any order; empty entries do not count.
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

    /// The keys, by partition.
    #[must_use]
    pub fn all(&self) -> &[PKey] {
        &self.0
    }

    /// Whether it is a member of a key's partition, in any way.
    #[must_use]
    pub fn has_partition(&self, key: PKey) -> bool {
        self.membership(key).is_some()
    }

    /// The best membership in a key's partition.
    fn membership(&self, key: PKey) -> Option<PKey> {
        let at = self
            .0
            .partition_point(|k| partition_number(*k) < partition_number(key));
        self.0
            .get(at)
            .copied()
            .filter(|k| partition_number(*k) == partition_number(key))
    }

    /// Whether both may talk in some partition.
    #[must_use]
    pub fn shares_partition(&self, other: &Self) -> bool {
        self.common_pkey(other).is_some()
    }

    /// The first partition in which both may talk, with the membership that `self` has.
    #[must_use]
    pub fn common_pkey(&self, other: &Self) -> Option<PKey> {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match partition_number(**x).cmp(&partition_number(**y)) {
                core::cmp::Ordering::Less => a.next(),
                core::cmp::Ordering::Greater => b.next(),
                core::cmp::Ordering::Equal => {
                    // Both lists have full membership first, so these are the best of each.
                    if (x.0 | y.0) & FULL != 0 {
                        return Some(**x);
                    }
                    let both = partition_number(**x);
                    while a.next_if(|k| partition_number(**k) == both).is_some() {}
                    b.next()
                }
            };
        }
        None
    }

    /// Whether both may talk in the partition of this key.
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
    fn an_empty_entry_is_no_partition() {
        assert!(!keys(&[0, 0x8000]).shares_partition(&keys(&[0x8000])));
    }

    proptest! {
        /// As a loop over all pairs of keys says.
        #[test]
        fn sharing_is_what_all_pairs_say(
            a in prop::collection::vec(prop::sample::select(&[0u16, 1, 2, 3, 0x8001, 0x8002, 0x8003, 0xFFFF, 0x7FFF][..]), 0..6),
            b in prop::collection::vec(prop::sample::select(&[0u16, 1, 2, 3, 0x8001, 0x8002, 0x8003, 0xFFFF, 0x7FFF][..]), 0..6),
        ) {
            let together = |x: u16, y: u16| x & 0x7FFF == y & 0x7FFF && x & 0x7FFF != 0 && (x | y) & FULL != 0;
            let pairs: Vec<u16> = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)))
                .filter(|(x, y)| together(*x, *y)).map(|(x, _)| x & 0x7FFF).collect();
            let (ka, kb) = (keys(&a), keys(&b));
            prop_assert_eq!(ka.shares_partition(&kb), !pairs.is_empty());
            prop_assert_eq!(ka.common_pkey(&kb).map(partition_number), pairs.iter().min().copied());
            for key in [1u16, 2, 3, 0x7FFF] {
                prop_assert_eq!(ka.shares_pkey(&kb, PKey(key)), pairs.contains(&key));
            }
        }
    }
}
