//! The P_Keys of an end port.

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{PKey, PortGuid};
use rustc_hash::FxHashMap;

use crate::config::partitions::{
    DEFAULT_PARTITION, FULL, MemberSelector, Membership, Partition, Partitions, PortGuidRange,
};

/// The properties of an end port that select its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPortFacts {
    pub guid: PortGuid,
    pub node_type: NodeType,
    /// Whether it is the port of the SM.
    pub is_sm_port: bool,
}

/// The P_Keys that a port should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPKeys {
    /// In order of precedence: the P_Key for index 0, that of the default partition, then by
    /// number.
    pub keys: Vec<PKey>,
    /// Whether the first P_Key replaces another wanted P_Key at index 0.
    pub force_first: bool,
}

/// A member entry: its position in the list, and the membership.
type Entry = (usize, Membership);

/// Member entries of all partitions, indexed so that the lookup for one port is independent of the
/// number of ports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MemberIndex {
    /// By partition: the last entry of each selector other than a GUID.
    kinds: Vec<KindEntries>,
    /// By GUID: the partitions, each with its last entry for the port.
    ports: FxHashMap<PortGuid, Vec<(usize, Entry)>>,
    /// Ranges of GUIDs, by their first GUID.
    ranges: Vec<RangeEntry>,
    /// Partitions with entries that select ports by kind.
    common: Vec<usize>,
}

/// A range of GUIDs in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RangeEntry {
    range: PortGuidRange,
    /// The highest GUID of this range and of all before it.
    highest: PortGuid,
    partition: usize,
    entry: Entry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct KindEntries {
    all_ports: Option<Entry>,
    cas: Option<Entry>,
    switches: Option<Entry>,
    routers: Option<Entry>,
    sm_port: Option<Entry>,
}

impl MemberIndex {
    pub(super) fn new(list: &[Partition]) -> Self {
        let mut rules = Self::default();
        for (at, partition) in list.iter().enumerate() {
            let mut kinds = KindEntries::default();
            for (order, (selector, membership)) in partition.members.iter().enumerate() {
                let entry = (order, *membership);
                match selector {
                    MemberSelector::All => kinds.all_ports = Some(entry),
                    MemberSelector::AllCas => kinds.cas = Some(entry),
                    MemberSelector::AllSwitches => kinds.switches = Some(entry),
                    MemberSelector::AllRouters => kinds.routers = Some(entry),
                    MemberSelector::SmPort => kinds.sm_port = Some(entry),
                    MemberSelector::PortRange(range) => rules.ranges.push(RangeEntry {
                        range: *range,
                        highest: range.last,
                        partition: at,
                        entry,
                    }),
                    MemberSelector::Port(guid) => {
                        let named = rules.ports.entry(*guid).or_default();
                        named.retain(|(partition, _)| *partition != at);
                        named.push((at, entry));
                    }
                }
            }
            if kinds != KindEntries::default() {
                rules.common.push(at);
            }
            rules.kinds.push(kinds);
        }
        rules.ranges.sort_by_key(|entry| entry.range);
        let mut highest = PortGuid::default();
        for entry in &mut rules.ranges {
            highest = highest.max(entry.range.last);
            entry.highest = highest;
        }
        rules
    }

    /// The partitions whose ranges contain a GUID, each with the entry. The time depends on the
    /// number of ranges that overlap, not on that of all.
    fn of_ranges(&self, guid: PortGuid) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let begun = self
            .ranges
            .partition_point(|entry| entry.range.first <= guid);
        self.ranges[..begun]
            .iter()
            .rev()
            .take_while(move |entry| entry.highest >= guid)
            .filter(move |entry| entry.range.contains(guid))
            .map(|entry| (entry.partition, entry.entry))
    }

    /// The partitions of a port, ascending, with the membership of the last entry that selects it.
    fn memberships(&self, port: &EndPortFacts) -> Vec<(usize, Membership)> {
        let named: &[(usize, Entry)] = self.ports.get(&port.guid).map_or(&[], Vec::as_slice);
        let mut found: Vec<(usize, Entry)> = named.to_vec();
        found.extend(self.of_ranges(port.guid));
        for &at in &self.common {
            let kinds = self.kinds[at];
            let of_node = match port.node_type {
                NodeType::Ca => kinds.cas,
                NodeType::Switch => kinds.switches,
                NodeType::Router => kinds.routers,
                _ => None,
            };
            let sm_port = kinds.sm_port.filter(|_| port.is_sm_port);
            let entries = [kinds.all_ports, of_node, sm_port].into_iter().flatten();
            found.extend(entries.map(|entry| (at, entry)));
        }
        // The last entry of each partition decides.
        found.sort_unstable_by_key(|(at, (order, _))| (*at, core::cmp::Reverse(*order)));
        found.dedup_by_key(|(at, _)| *at);
        found
            .into_iter()
            .map(|(at, (_, membership))| (at, membership))
            .collect()
    }
}

impl Partitions {
    /// The P_Keys of an end port. There is at least one, because all ports are in the default
    /// partition.
    #[must_use]
    pub fn wanted_p_keys(&self, port: &EndPortFacts) -> WantedPKeys {
        let mut ranked: Vec<(u8, PKey)> = Vec::new();
        let mut forced = false;
        for (at, membership) in self.rules.memberships(port) {
            let partition = &self.list[at];
            let first = partition.index0 && !forced;
            forced |= first;
            let rank = match (first, partition.number) {
                (true, _) => 0,
                (false, DEFAULT_PARTITION) => 1,
                (false, _) => 2,
            };
            let (full, limited) = (PKey(partition.number | FULL), PKey(partition.number));
            match membership {
                Membership::Limited => ranked.push((rank, limited)),
                Membership::Full => ranked.push((rank, full)),
                Membership::Both => {
                    ranked.push((rank, full));
                    if self.allow_both {
                        // The second P_Key of a partition has no precedence.
                        ranked.push((rank.max(2), limited));
                    }
                }
            }
        }
        ranked.sort_by_key(|(rank, key)| {
            (
                *rank,
                crate::config::partitions::partition_of(*key),
                key.0 & FULL == 0,
            )
        });
        WantedPKeys {
            keys: ranked.into_iter().map(|(_, key)| key).collect(),
            force_first: forced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::partitions::Enforcement;
    use proptest::prelude::*;

    fn facts(guid: u64, node_type: NodeType, is_sm_port: bool) -> EndPortFacts {
        EndPortFacts {
            guid: PortGuid(guid),
            node_type,
            is_sm_port,
        }
    }

    fn partitions(list: &[(u16, &[(MemberSelector, Membership)])], allow_both: bool) -> Partitions {
        let list = list.iter().map(|(number, members)| Partition {
            name: format!("p{number}"),
            number: *number,
            members: members.to_vec(),
            ..Partition::default()
        });
        Partitions::new(list.collect(), Enforcement::Both, allow_both).unwrap()
    }

    fn keys(partitions: &Partitions, port: &EndPortFacts) -> Vec<u16> {
        partitions
            .wanted_p_keys(port)
            .keys
            .iter()
            .map(|k| k.0)
            .collect()
    }

    #[test]
    fn unconfigured_ports_are_full_members_of_the_default_partition() {
        for node_type in [NodeType::Ca, NodeType::Switch, NodeType::Router] {
            let port = facts(1, node_type, false);
            assert_eq!(keys(&Partitions::default(), &port), [0xFFFF]);
        }
    }

    #[test]
    fn configured_ports_are_limited_members_except_the_sm_port() {
        let all = partitions(
            &[(5, &[(MemberSelector::Port(PortGuid(1)), Membership::Full)])],
            false,
        );
        assert_eq!(keys(&all, &facts(1, NodeType::Ca, false)), [0x7FFF, 0x8005]);
        assert_eq!(keys(&all, &facts(2, NodeType::Ca, false)), [0x7FFF]);
        assert_eq!(keys(&all, &facts(2, NodeType::Ca, true)), [0xFFFF]);
    }

    /// `Default=0x7fff : ALL=limited, SELF=limited`.
    #[test]
    fn sm_port_stays_full_member() {
        let members = [
            (MemberSelector::All, Membership::Limited),
            (MemberSelector::SmPort, Membership::Limited),
            (MemberSelector::Port(PortGuid(2)), Membership::Limited),
        ];
        let all = partitions(&[(0x7FFF, &members)], false);
        assert_eq!(keys(&all, &facts(2, NodeType::Ca, true)), [0xFFFF]);
        assert_eq!(keys(&all, &facts(3, NodeType::Ca, false)), [0x7FFF]);
    }

    #[test]
    fn later_entries_override_earlier_ones() {
        let port = MemberSelector::Port(PortGuid(1));
        let (full, limited) = (Membership::Full, Membership::Limited);
        for (members, expected) in [
            ([(port, full), (MemberSelector::All, limited)], 5),
            ([(MemberSelector::All, limited), (port, full)], 0x8005),
            (
                [
                    (MemberSelector::AllCas, full),
                    (MemberSelector::All, limited),
                ],
                5,
            ),
            (
                [
                    (MemberSelector::AllSwitches, full),
                    (MemberSelector::All, limited),
                ],
                5,
            ),
            ([(port, full), (port, limited)], 5),
        ] {
            let all = partitions(&[(5, &members)], false);
            let assigned = keys(&all, &facts(1, NodeType::Ca, false));
            assert_eq!(assigned, [0x7FFF, expected], "{members:?}");
        }
    }

    #[test]
    fn both_p_keys_only_if_allowed() {
        let members: &[_] = &[(MemberSelector::All, Membership::Both)];
        let port = facts(1, NodeType::Ca, false);
        assert_eq!(
            keys(&partitions(&[(5, members)], false), &port),
            [0x7FFF, 0x8005]
        );
        assert_eq!(
            keys(&partitions(&[(5, members)], true), &port),
            [0x7FFF, 0x8005, 5]
        );
    }

    #[test]
    fn flagged_partition_has_index_0() {
        let flagged = Partition {
            name: "a".to_owned(),
            number: 9,
            index0: true,
            members: vec![(MemberSelector::AllCas, Membership::Full)],
            ..Partition::default()
        };
        let all = Partitions::new(vec![flagged], Enforcement::Both, false).unwrap();
        let ca = all.wanted_p_keys(&facts(1, NodeType::Ca, false));
        assert!(ca.force_first && ca.keys[0] == PKey(0x8009));
        let switch = all.wanted_p_keys(&facts(2, NodeType::Switch, false));
        assert!(!switch.force_first && switch.keys == [PKey(0x7FFF)]);
    }

    fn range(first: u64, last: u64) -> PortGuidRange {
        PortGuidRange::new(PortGuid(first), PortGuid(last)).unwrap()
    }

    #[test]
    fn ranges_select_all_their_guids_and_no_other() {
        let full = Membership::Full;
        let limited = Membership::Limited;
        let ranged = |first, last| MemberSelector::PortRange(range(first, last));
        let all = partitions(
            &[
                (
                    5,
                    &[(ranged(0x20, 0x3F), full), (ranged(0x30, 0x30), limited)],
                ),
                (6, &[(ranged(0x10, 0x50), full)]),
            ],
            false,
        );
        let of = |guid| keys(&all, &facts(guid, NodeType::Ca, false));
        assert_eq!(of(0x0F), [0x7FFF]);
        assert_eq!(of(0x10), [0x7FFF, 0x8006]);
        assert_eq!(of(0x1F), [0x7FFF, 0x8006]);
        assert_eq!(of(0x20), [0x7FFF, 0x8005, 0x8006]);
        assert_eq!(of(0x30), [0x7FFF, 5, 0x8006], "a later entry decides");
        assert_eq!(of(0x3F), [0x7FFF, 0x8005, 0x8006]);
        assert_eq!(of(0x40), [0x7FFF, 0x8006]);
        assert_eq!(of(0x51), [0x7FFF]);
    }

    #[test]
    fn reversed_and_long_ranges_are_rejected() {
        use crate::config::partitions::{RANGE_GUIDS_MAX, RangeError};
        let new = |first, last| PortGuidRange::new(PortGuid(first), PortGuid(last));
        assert_eq!(new(2, 1), Err(RangeError::Reversed));
        assert_eq!(new(0, RANGE_GUIDS_MAX), Err(RangeError::TooLong));
        assert!(new(1, RANGE_GUIDS_MAX).is_ok());
        assert!(new(u64::MAX, u64::MAX).is_ok());
        assert_eq!(new(0, u64::MAX), Err(RangeError::TooLong));
    }

    fn member_selector() -> impl Strategy<Value = MemberSelector> {
        prop_oneof![
            (1..4u64, 0..3u64)
                .prop_map(|(first, more)| MemberSelector::PortRange(range(first, first + more))),
            (1..4u64).prop_map(|g| MemberSelector::Port(PortGuid(g))),
            Just(MemberSelector::All),
            Just(MemberSelector::AllCas),
            Just(MemberSelector::AllSwitches),
            Just(MemberSelector::AllRouters),
            Just(MemberSelector::SmPort),
        ]
    }

    fn membership() -> impl Strategy<Value = Membership> {
        prop::sample::select(&[Membership::Limited, Membership::Full, Membership::Both][..])
    }

    proptest! {
        #[test]
        fn last_entry_that_selects_a_port_decides(
            lists in prop::collection::vec(prop::collection::vec((member_selector(), membership()), 0..6), 1..4),
            guid in 1..4u64,
            kind in prop::sample::select(&[NodeType::Ca, NodeType::Switch, NodeType::Router][..]),
            own in any::<bool>(),
        ) {
            let port = facts(guid, kind, own);
            let list = lists.iter().zip(1u16..).map(|(members, number)| Partition {
                number,
                members: members.clone(),
                ..Partition::default()
            });
            let all = Partitions::new(list.collect(), Enforcement::Both, true).unwrap();
            let selects = |selector: &MemberSelector| match selector {
                MemberSelector::Port(g) => *g == port.guid,
                MemberSelector::All => true,
                MemberSelector::AllCas => kind == NodeType::Ca,
                MemberSelector::AllSwitches => kind == NodeType::Switch,
                MemberSelector::AllRouters => kind == NodeType::Router,
                MemberSelector::SmPort => own,
                MemberSelector::PortRange(range) => range.contains(port.guid),
            };
            let mut expected = vec![if own { 0xFFFF } else { 0x7FFF }];
            for (members, number) in lists.iter().zip(1u16..) {
                match members.iter().rev().find(|(selector, _)| selects(selector)).map(|(_, m)| m) {
                    None => {}
                    Some(Membership::Limited) => expected.push(number),
                    Some(Membership::Full) => expected.push(number | FULL),
                    Some(Membership::Both) => expected.extend([number | FULL, number]),
                }
            }
            let mut has = keys(&all, &port);
            has.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(has, expected);
        }
    }
}
