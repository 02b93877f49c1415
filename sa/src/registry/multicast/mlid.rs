//! Allocation of MLIDs to groups (docs/sm-behaviour.md 1.18, 10.9, 10.10).
//!
//! A new group gets the lowest free MLID. If there is none that the largest MFT can hold, the group
//! shares the MLID of a group with the same partition and SL. Packets then reach the members of
//! both groups, and adapters filter by MGID. This costs bandwidth; without an MLID the group could
//! not be created.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_mad::ids::{Gid, Lid};
use ferrosm_mad::sa::multicast::mgid;

use crate::registry::group::{GroupParameters, MulticastGroup};

/// Lowest multicast LID.
pub const MLID_FIRST: u16 = 0xC000;
/// Number of multicast LIDs: 0xC000 to 0xFFFE.
pub const MLID_COUNT_MAX: u16 = 0x3FFF;

/// Groups by MLID.
#[derive(Debug, Clone)]
pub struct MlidAllocator {
    groups_by_mlid: BTreeMap<Lid, BTreeSet<Gid>>,
    /// All MLIDs below this one are in use.
    free_from: u16,
    count: u16,
    consolidate: bool,
    /// Most severe exhaustion that was reported and has not ended.
    reported: Option<MlidExhaustion>,
    /// `take_exhaustion` has not returned `reported` yet.
    report_pending: bool,
}

/// Fewer MLIDs than groups. Each variant is reported once, and again only after an eighth of the
/// MLIDs was free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MlidExhaustion {
    /// All MLIDs are in use; new groups share them.
    Shared {
        /// Number of MLIDs.
        count: u16,
    },
    /// A group was rejected because no group of its partition and SL has an MLID to share.
    Rejected {
        /// Number of MLIDs.
        count: u16,
    },
}

impl MlidExhaustion {
    /// Number of MLIDs: those of the largest MFT.
    #[must_use]
    pub const fn count(self) -> u16 {
        match self {
            Self::Shared { count } | Self::Rejected { count } => count,
        }
    }
}

impl Default for MlidAllocator {
    fn default() -> Self {
        Self {
            groups_by_mlid: BTreeMap::new(),
            free_from: MLID_FIRST,
            count: MLID_COUNT_MAX,
            consolidate: false,
            reported: None,
            report_pending: false,
        }
    }
}

impl MlidAllocator {
    pub(super) fn set_count(&mut self, count: u16) {
        self.count = count.min(MLID_COUNT_MAX);
    }

    pub(super) fn set_consolidate(&mut self, consolidate: bool) {
        self.consolidate = consolidate;
    }

    pub(super) fn used_mlids(&self) -> impl DoubleEndedIterator<Item = Lid> {
        self.groups_by_mlid.keys().copied()
    }

    pub(super) fn groups(&self, mlid: Lid) -> impl Iterator<Item = Gid> {
        self.groups_by_mlid
            .get(&mlid)
            .into_iter()
            .flatten()
            .copied()
    }

    pub(super) const fn count(&self) -> u16 {
        self.count
    }

    /// Whether a group that needs an MLID of its own can get one.
    pub(super) fn has_free(&mut self) -> bool {
        self.lowest_free().is_some()
    }

    pub(super) fn is_usable(&self, mlid: Lid) -> bool {
        (MLID_FIRST..MLID_FIRST.saturating_add(self.count)).contains(&mlid.0)
    }

    /// The MLID for a new group: the requested one if it is free, one shared by equal
    /// solicited-node groups, the lowest free one, or the one that the fewest groups of the same
    /// partition and SL share.
    pub(super) fn allocate(
        &mut self,
        gid: Gid,
        parameters: &GroupParameters,
        requested: Option<Lid>,
        groups: &BTreeMap<Gid, MulticastGroup>,
    ) -> Option<Lid> {
        let is_free = |l: &Lid| self.is_usable(*l) && !self.groups_by_mlid.contains_key(l);
        let mlid = requested
            .filter(is_free)
            .or_else(|| self.solicited_node_mlid(gid, parameters, groups))
            .or_else(|| self.lowest_free())
            .or_else(|| self.least_shared(parameters, groups));
        let count = self.count;
        match mlid {
            None => self.record_exhaustion(MlidExhaustion::Rejected { count }),
            Some(mlid)
                if self.groups_by_mlid.contains_key(&mlid) && self.lowest_free().is_none() =>
            {
                self.record_exhaustion(MlidExhaustion::Shared { count });
            }
            Some(_) => {}
        }
        let mlid = mlid?;
        self.groups_by_mlid.entry(mlid).or_default().insert(gid);
        Some(mlid)
    }

    /// The MLID that a group had before a restart, if it is free or used by a group of the same
    /// partition.
    pub(super) fn restore(
        &mut self,
        gid: Gid,
        parameters: &GroupParameters,
        mlid: Lid,
        groups: &BTreeMap<Gid, MulticastGroup>,
    ) -> Option<Lid> {
        let sharing = self.groups_by_mlid.get(&mlid).and_then(BTreeSet::first);
        // Sharing was checked when the MLID was allocated; comparing one group detects inconsistent
        // records.
        let is_compatible = |g: &MulticastGroup| {
            partition_number(g.parameters.pkey) == partition_number(parameters.pkey)
        };
        let fits = sharing.is_none_or(|gid| groups.get(gid).is_some_and(is_compatible));
        if !fits || !self.is_usable(mlid) {
            return None;
        }
        self.groups_by_mlid.entry(mlid).or_default().insert(gid);
        Some(mlid)
    }

    fn record_exhaustion(&mut self, kind: MlidExhaustion) {
        if self.reported.is_none_or(|reported| reported < kind) {
            self.reported = Some(kind);
            self.report_pending = true;
        }
    }

    /// Exhaustion to report, once.
    pub(super) fn take_exhaustion(&mut self) -> Option<MlidExhaustion> {
        self.reported
            .filter(|_| core::mem::take(&mut self.report_pending))
    }

    pub(super) fn release(&mut self, mlid: Lid, gid: Gid) {
        if let Some(gids) = self.groups_by_mlid.get_mut(&mlid) {
            gids.remove(&gid);
            if gids.is_empty() {
                self.groups_by_mlid.remove(&mlid);
                self.free_from = self.free_from.min(mlid.0);
                if self.groups_by_mlid.len() <= usize::from(self.count - self.count / 8) {
                    (self.reported, self.report_pending) = (None, false);
                }
            }
        }
    }

    fn lowest_free(&mut self) -> Option<Lid> {
        while self.groups_by_mlid.contains_key(&Lid(self.free_from)) {
            self.free_from += 1;
        }
        Some(Lid(self.free_from)).filter(|l| self.is_usable(*l))
    }

    /// The MLID of solicited-node groups of the same partition and scope whose parameters are
    /// equal.
    fn solicited_node_mlid(
        &self,
        gid: Gid,
        parameters: &GroupParameters,
        groups: &BTreeMap<Gid, MulticastGroup>,
    ) -> Option<Lid> {
        if !self.consolidate || !is_solicited_node(gid) {
            return None;
        }
        // These groups differ only in the last 24 bits, so they are adjacent.
        let mut first = gid;
        let mut last = gid;
        first.0[13..].fill(0);
        last.0[13..].fill(0xFF);
        groups
            .range(first..=last)
            .filter(|(_, g)| g.parameters == *parameters)
            .map(|(_, g)| g.mlid)
            .find(|mlid| self.is_usable(*mlid))
    }

    fn least_shared(
        &self,
        parameters: &GroupParameters,
        groups: &BTreeMap<Gid, MulticastGroup>,
    ) -> Option<Lid> {
        let is_compatible = |gid: &Gid| {
            groups.get(gid).is_some_and(|g| {
                partition_number(g.parameters.pkey) == partition_number(parameters.pkey)
                    && g.parameters.sl == parameters.sl
            })
        };
        self.groups_by_mlid
            .iter()
            .filter(|(mlid, gids)| self.is_usable(**mlid) && gids.iter().all(is_compatible))
            .min_by_key(|(mlid, gids)| (gids.len(), **mlid))
            .map(|(mlid, _)| *mlid)
    }
}

/// FF1s:601B:pkey::1:FFxx:xxxx (RFC 4291, 2.7.1, in the form of RFC 4391).
fn is_solicited_node(gid: Gid) -> bool {
    gid.is_multicast()
        && gid.mgid_signature() == mgid::IPV6
        && gid.0[6..13] == [0, 0, 0, 0, 0, 1, 0xFF]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::MtuCode;
    use ferrosm_mad::ids::{PKey, Sl};
    use ferrosm_mad::sa::path::RateCode;
    use proptest::prelude::*;

    #[test]
    fn solicited_node_groups_are_recognized() {
        let group = |text: &str| {
            Gid(text
                .parse::<std::net::Ipv6Addr>()
                .map_or([0; 16], |a| a.octets()))
        };
        assert!(is_solicited_node(group("ff12:601b:ffff::1:ff12:3456")));
        assert!(!is_solicited_node(group("ff12:401b:ffff::1:ff12:3456")));
        assert!(!is_solicited_node(group("ff12:601b:ffff::1:fe12:3456")));
        assert!(!is_solicited_node(group("ff12:601b:ffff::1")));
    }

    fn parameters(pkey: u16, sl: u8) -> GroupParameters {
        GroupParameters {
            qkey: 0,
            mtu: MtuCode::Mtu2048,
            tclass: 0,
            pkey: PKey(pkey),
            rate: RateCode::G10,
            packet_life_time: 18,
            sl: Sl(sl),
            flow_label: 0,
            hop_limit: 0,
            scope: 2,
        }
    }

    /// A group without members.
    const fn group_on(mlid: Lid, parameters: GroupParameters) -> MulticastGroup {
        MulticastGroup {
            mlid,
            parameters,
            well_known: false,
            members: BTreeMap::new(),
        }
    }

    proptest! {
        /// Adds and removes groups with few MLIDs, whose number changes as switches join and leave.
        /// Free MLIDs are used before any is shared, only groups of equal partition and SL share,
        /// the least shared usable MLID is chosen, no group is rejected that could share, and
        /// exhaustion is reported only while it lasts.
        #[test]
        fn mlids_are_shared_between_groups_of_equal_partition_and_sl(
            steps in prop::collection::vec((0..40u8, 0..3u16, 0..2u8, any::<bool>()), 1..200),
            counts in prop::collection::vec(1..20u16, 1..4),
        ) {
            let mut groups: BTreeMap<Gid, MulticastGroup> = BTreeMap::new();
            let mut mlids = MlidAllocator::default();
            for (i, (id, pkey, sl, is_retained)) in steps.into_iter().enumerate() {
                let count = counts[i / 40 % counts.len()];
                mlids.set_count(count);
                let mut gid = Gid([0; 16]);
                (gid.0[0], gid.0[15]) = (0xFF, id);
                if let Some(group) = groups.remove(&gid) {
                    if !is_retained {
                        mlids.release(group.mlid, gid);
                        continue;
                    }
                    groups.insert(gid, group);
                    continue;
                }
                let parameters = parameters(0x8001 + pkey, sl);
                let is_compatible = |g: &&MulticastGroup| g.parameters == parameters;
                let users = |mlid: Lid| groups.values().filter(|g| g.mlid == mlid).count();
                // Groups retain MLIDs above a lower limit, but no further group gets them.
                let is_usable = |g: &&MulticastGroup| g.mlid.0 < MLID_FIRST + count;
                let in_use: BTreeSet<Lid> = groups.values().filter(is_usable).map(|g| g.mlid).collect();
                let usable = groups.values().filter(is_compatible).filter(is_usable);
                let fewest = usable.map(|g| users(g.mlid)).min();
                let allocated = mlids.allocate(gid, &parameters, None, &groups);
                match allocated {
                    Some(mlid) if in_use.len() < usize::from(count) => {
                        prop_assert!(!in_use.contains(&mlid) && mlid.0 < MLID_FIRST + count);
                    }
                    Some(mlid) => {
                        prop_assert!(mlid.0 < MLID_FIRST + count);
                        prop_assert!(groups.values().filter(|g| g.mlid == mlid).all(|g| is_compatible(&g)));
                        prop_assert_eq!(Some(users(mlid)), fewest);
                    }
                    None => prop_assert!(in_use.len() == usize::from(count) && fewest.is_none()),
                }
                let exhaustion = mlids.take_exhaustion();
                prop_assert!(exhaustion.is_none() || in_use.len() == usize::from(count));
                prop_assert!(mlids.take_exhaustion().is_none());
                if let Some(mlid) = allocated {
                    groups.insert(gid, group_on(mlid, parameters));
                }
            }
        }
    }

    /// Two solicited-node groups have the MLIDs 0xC000 and 0xC001. A further one shares the only
    /// MLID that remains below the limit.
    #[test]
    fn solicited_node_groups_share_usable_mlids_only() {
        let parameters = parameters(0x8001, 0);
        let mgid_of = |n: u8| {
            Gid([
                0xFF, 0x12, 0x60, 0x1B, 0x80, 1, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, n,
            ])
        };
        let mut groups = BTreeMap::new();
        let mut mlids = MlidAllocator::default();
        for n in [9, 1] {
            let mlid = mlids
                .allocate(mgid_of(n), &parameters, None, &groups)
                .unwrap();
            groups.insert(mgid_of(n), group_on(mlid, parameters));
        }
        mlids.set_consolidate(true);
        mlids.set_count(1);
        let shared = mlids.allocate(mgid_of(5), &parameters, None, &groups);
        assert_eq!(shared, Some(Lid(MLID_FIRST)));
        assert_eq!(groups[&mgid_of(1)].mlid, Lid(MLID_FIRST + 1));
    }

    #[test]
    fn exhaustion_is_reported_once_per_severity() {
        let mut mlids = MlidAllocator::default();
        mlids.set_count(16);
        let mut groups = BTreeMap::new();
        let mut reported = Vec::new();
        let mgid_of = |n: u8| Gid([0xFF, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for n in 0..30 {
            let parameters = parameters(if n < 25 { 0x8001 } else { 0x8002 }, 0);
            if let Some(mlid) = mlids.allocate(mgid_of(n), &parameters, None, &groups) {
                groups.insert(mgid_of(n), group_on(mlid, parameters));
            }
            reported.extend(mlids.take_exhaustion().map(|s| (n, s)));
        }
        let count = 16;
        assert_eq!(
            reported,
            [
                (16, MlidExhaustion::Shared { count }),
                (25, MlidExhaustion::Rejected { count })
            ]
        );
    }
}
