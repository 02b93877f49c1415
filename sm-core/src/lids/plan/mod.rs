//! LID assignment (docs/sm-behaviour.md 2.1 to 2.11).
//!
//! In order of preference a port gets the LIDs of the LID map, its present LIDs, or the first free
//! ones. After a takeover the present LIDs of Active ports come first, because another SM assigned
//! them. LIDs of absent ports stay reserved. Entries that this master confirmed on devices have
//! precedence; persisted and replicated entries may be outdated or belong to another subnet.
//!
//! No LID changes because one switch has a small LFT: it only drops packets to LIDs that it cannot
//! hold. New LIDs are assigned so that the switch of each port can deliver them, as far as
//! possible.

mod assign;

use std::borrow::Cow;
use std::collections::BTreeSet;

use ferrosm_mad::attr::{PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::records::lid_map::LidMap;
use crate::report::ProblemKind;
pub use assign::{AssignedLids, KnownLids, LidDemand, LidPolicy, assign};
use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, PortRef};

/// The result of [`plan_lids`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LidPlan {
    /// Base LID and LMC of every end port with LIDs, the SM port first.
    pub lids: Vec<(PortRef, Lid, Lmc)>,
    /// Ports without LIDs, because none are available.
    pub without_lid: Vec<PortRef>,
    /// Ports whose present LID belongs to another port, and that LID.
    pub conflicts: Vec<(PortRef, Lid)>,
    /// The LID map with all assignments.
    pub map: LidMap,
    /// The earlier map is of another subnet: there are ports besides the SM's own, and the map
    /// contains none of them.
    pub is_map_of_other_subnet: bool,
}

impl LidPlan {
    /// The highest LID.
    #[must_use]
    pub fn top(&self) -> Lid {
        let last = |(_, lid, lmc): &(PortRef, Lid, Lmc)| Lid(lid.0 + ((1 << lmc.0) - 1));
        self.lids.iter().map(last).max().unwrap_or(Lid::NONE)
    }

    /// The switches that cannot hold an entry for each LID.
    pub fn limited_lfts<'s>(
        &self,
        fabric: &'s ObservedFabric,
    ) -> impl Iterator<Item = LimitedLft> + use<'s> {
        let top = self.top();
        let entries = fabric.nodes().map(|(node, n)| LimitedLft {
            node,
            entries: n.table_caps().lft,
        });
        entries.filter(move |limited| (1..=top.0).contains(&limited.entries))
    }

    /// What such a switch drops.
    #[must_use]
    pub fn lft_problem(&self, fabric: &ObservedFabric, limited: LimitedLft) -> ProblemKind {
        let LimitedLft { node, entries } = limited;
        let above = |(lid, lmc): (Lid, Lmc)| {
            let lids = (lid.0..=lid.0 + ((1 << lmc.0) - 1)).map(Lid);
            lids.filter(|lid| lid.0 >= entries)
        };
        let is_own = |p: PortRef| p.node == node || fabric.peer(p).is_some_and(|s| s.node == node);
        let (mut lids, mut own_lids) = (0, Vec::new());
        for (p, lid, lmc) in &self.lids {
            lids += above((*lid, *lmc)).count();
            if is_own(*p) {
                own_lids.extend(above((*lid, *lmc)));
            }
        }
        ProblemKind::LftTooSmall {
            entries,
            lids,
            own_lids: own_lids.len(),
            first_own: own_lids.into_iter().min(),
        }
    }
}

/// The highest LID that any switch can forward (docs/sm-behaviour.md 1.18). A switch with a smaller
/// LFT than others does not limit the LIDs of the fabric.
#[must_use]
pub fn highest_lid(fabric: &ObservedFabric) -> Lid {
    let caps = fabric.nodes().map(|(_, n)| n.table_caps().lft);
    let cap = caps.max().filter(|cap| *cap > 0).unwrap_or(u16::MAX);
    Lid((cap - 1).min(Lid::UNICAST_MAX.0))
}

/// The highest LID that the switch of an end port can deliver to it.
fn highest_deliverable(fabric: &ObservedFabric, at: PortRef) -> Lid {
    let switch = if at.port == PortNum::ZERO {
        Some(at.node)
    } else {
        fabric.peer(at).map(|peer| peer.node)
    };
    let caps = switch.and_then(|s| fabric.get(s)).map(Node::table_caps);
    let cap = caps.map_or(0, |caps| caps.lft);
    cap.checked_sub(1).map_or(Lid::UNICAST_MAX, Lid)
}

/// A switch whose LFT is smaller than the highest LID of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedLft {
    /// The switch.
    pub node: NodeIdx,
    /// Entries of its LFT.
    pub entries: u16,
}

/// LMC that an end port gets: the configured one, or its own while a change of it waits for consent
/// (ADR 0039).
#[must_use]
pub fn lmc_of(fabric: &ObservedFabric, at: PortRef, cfg: &SmConfig) -> Lmc {
    let keeps_lmc = |node: &Node| node.kept_settings(at.port).lmc;
    if fabric.get(at.node).is_some_and(keeps_lmc)
        && let Some(port) = fabric.port(at)
    {
        return PortInfo::lmc.read(&port.raw);
    }
    configured_lmc(fabric, at, cfg)
}

/// Configured LMC of an end port: switch port 0 has one LID unless it is enhanced and `lmc_esp0` is
/// set (docs/sm-behaviour.md 2.3).
pub(crate) fn configured_lmc(fabric: &ObservedFabric, at: PortRef, cfg: &SmConfig) -> Lmc {
    let Some(node) = fabric.get(at.node) else {
        return Lmc(0);
    };
    let many = !node.is_switch() || (cfg.lmc_esp0 && node.has_enhanced_port0());
    if many { cfg.lmc } else { Lmc(0) }
}

/// End ports in the order of LID assignment: the SM port, then each switch followed by its
/// neighbours by port. The order depends on GUIDs and links only, so the same unconfigured fabric
/// gets the same LIDs.
fn assignment_order(fabric: &ObservedFabric) -> Vec<PortRef> {
    // The number of LIDs of a switch depends on its SwitchInfo.
    let is_ready = |p: &PortRef| {
        let node = fabric.get(p.node);
        node.is_some_and(|n| !n.is_switch() || n.switch_raw.is_some())
    };
    let mut ports: Vec<PortRef> = fabric.end_ports().filter(is_ready).collect();
    let key = |p: &PortRef| {
        let own_guid = fabric.get(p.node).map(|n| n.info.node_guid);
        let behind = fabric
            .peer(*p)
            .filter(|_| p.port != PortNum::ZERO)
            .and_then(|s| Some((fabric.get(s.node)?.info.node_guid, s.port)));
        let (switch, port) = behind.map_or((own_guid, PortNum::ZERO), |(g, port)| (Some(g), port));
        (Some(*p) != fabric.local(), switch, port, own_guid, p.port)
    };
    ports.sort_by_cached_key(key);
    ports
}

/// LIDs of Active end ports that are excluded: the ports may use them until they lose their
/// links.
fn excluded_lids(fabric: &ObservedFabric) -> Vec<(Lid, Lmc)> {
    let nodes = fabric.nodes().map(|(_, node)| node);
    let excluded = nodes.flat_map(Node::excluded_end_ports);
    let active = excluded.filter(|port| port.state() == PortState::Active);
    let lids = active.map(|port| (PortInfo::lid.read(&port.raw), PortInfo::lmc.read(&port.raw)));
    lids.filter(|(lid, _)| lid.is_unicast()).collect()
}

/// Ports whose LIDs in the map this SM has confirmed on the device while master. For absent ports
/// only these entries are certain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfirmedLids {
    ports: BTreeSet<PortGuid>,
    /// Ports whose entries are of another subnet, as long as they are absent.
    foreign: BTreeSet<PortGuid>,
    /// The last sweep in which a Set of this SM reached another port than the one it was for, until
    /// a later full sweep is complete.
    misdirected_in: Option<u32>,
}

impl ConfirmedLids {
    /// Another SM may have assigned LIDs: no entry is confirmed.
    pub(crate) fn clear(&mut self) {
        self.ports.clear();
    }

    /// A Set reached another port than the one it was for, which may have got its LID.
    pub(crate) const fn on_misdirected_set(&mut self, sweep: u32) {
        self.misdirected_in = Some(sweep);
    }

    /// Whether ports may have LIDs that were sent to other ones.
    pub(crate) const fn has_misdirected_sets(&self) -> bool {
        self.misdirected_in.is_some()
    }

    /// A full sweep has configured all ports.
    pub(crate) fn on_full_sweep(&mut self, sweep: u32) {
        self.misdirected_in.take_if(|since| *since < sweep);
    }

    /// The entries of `map` that are not confirmed are of another subnet.
    pub(crate) fn mark_foreign(&mut self, map: &LidMap) {
        let unconfirmed = map.keys().filter(|guid| !self.ports.contains(*guid));
        self.foreign = unconfirmed.copied().collect();
    }

    /// `plan` replaces the map: changed entries are not confirmed, and those of present ports are
    /// not foreign.
    pub(crate) fn assign(&mut self, fabric: &ObservedFabric, map: &LidMap, plan: &LidPlan) {
        if plan.map != *map {
            self.replace(map, &plan.map);
        }
        if !self.foreign.is_empty() {
            let present = plan.lids.iter().filter_map(|(p, _, _)| fabric.port(*p));
            for port in present {
                self.foreign.remove(&port.guid);
            }
        }
    }

    fn replace(&mut self, old: &LidMap, new: &LidMap) {
        let is_unchanged = |guid: &PortGuid| old.get(guid) == new.get(guid);
        self.ports.retain(is_unchanged);
        self.foreign.retain(is_unchanged);
    }

    /// The entries of `map` to persist. Foreign ones are reserved, but not persisted: after a
    /// restart, the SM would treat them as those of absent ports of this subnet.
    pub(crate) fn without_foreign<'m>(&self, map: &'m LidMap) -> Cow<'m, LidMap> {
        if self.foreign.is_empty() {
            return Cow::Borrowed(map);
        }
        let own = map.iter().filter(|(guid, _)| !self.foreign.contains(guid));
        Cow::Owned(own.map(|(guid, lids)| (*guid, *lids)).collect())
    }

    /// A plan is in force: ports that report the LIDs of the map are confirmed.
    pub(crate) fn confirm(&mut self, fabric: &ObservedFabric, map: &LidMap) {
        let ports = fabric.end_ports().filter_map(|p| fabric.port(p));
        for port in ports.filter(|port| port.known) {
            let info = port.info();
            if map.get(&port.guid) == Some(&(info.lid, info.lmc)) {
                self.ports.insert(port.guid);
            }
        }
    }
}

/// Assigns LIDs to all end ports.
///
/// `map` contains earlier assignments, `confirmed_lids` the confirmed ones.
#[must_use]
pub fn plan_lids(
    fabric: &ObservedFabric,
    map: &LidMap,
    confirmed_lids: &ConfirmedLids,
    cfg: &SmConfig,
    policy: LidPolicy,
) -> LidPlan {
    let ports = assignment_order(fabric);
    // Port 0 of a switch is always Active.
    let forwards = |p: &PortRef| {
        let switch = fabric.get(p.node).and_then(Node::switch_info);
        switch.is_none_or(|info| info.linear_fdb_top > 0)
    };
    let master = |p: &PortRef| {
        let port = fabric.port(*p);
        port.map_or(Lid::NONE, |port| PortInfo::master_sm_lid.read(&port.raw))
    };
    let demand = |p: &PortRef| {
        let port = fabric.port(*p);
        LidDemand {
            guid: port.map_or(PortGuid(0), |port| port.guid),
            lmc: lmc_of(fabric, *p, cfg),
            current: port.map_or(Lid::NONE, |port| PortInfo::lid.read(&port.raw)),
            in_use: port.is_some_and(|port| port.state() == PortState::Active) && forwards(p),
            is_unused: !forwards(p) && !master(p).is_unicast(),
            master: master(p),
            is_own: Some(*p) == fabric.local(),
            deliverable: highest_deliverable(fabric, *p),
        }
    };
    let demands: Vec<LidDemand> = ports.iter().map(demand).collect();
    let end_ports = fabric.end_ports().filter_map(|p| fabric.port(p));
    let known = KnownLids {
        map,
        confirmed_lids,
        // Includes switches whose SwitchInfo was not read.
        present: end_ports.map(|port| port.guid).collect(),
        excluded: excluded_lids(fabric),
        highest: highest_lid(fabric),
    };
    let assigned = assign(&demands, &known, policy);
    let mut out = LidPlan {
        map: assigned.map,
        is_map_of_other_subnet: assigned.is_map_of_other_subnet,
        ..LidPlan::default()
    };
    for i in assigned.conflicts {
        out.conflicts.push((ports[i], demands[i].current));
    }
    for ((p, demand), lid) in ports.into_iter().zip(&demands).zip(assigned.lids) {
        match lid {
            Some(lid) => out.lids.push((p, lid, demand.lmc)),
            None => out.without_lid.push(p),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, NodeType, PortInfo, SwitchInfo};
    use ferrosm_mad::ids::NodeGuid;
    use ferrosm_mad::smp::DrPath;
    use proptest::prelude::*;

    use super::*;
    use ferrosm_fabric::observed::ExclusionReason;

    /// The LID of another SM.
    const OTHER_SM: Lid = Lid(0xB000);

    /// A switch with `has.len()` CAs whose ports have the LIDs in `has`, assigned by another SM;
    /// the SM is at the first.
    fn star(has: &[u16]) -> ObservedFabric {
        let mut fabric = ObservedFabric::default();
        let hosts = u8::try_from(has.len()).unwrap();
        let mut switch = Node::new(info(NodeType::Switch, 1000, hosts), DrPath::LOCAL);
        let cap = SwitchInfo {
            linear_fdb_cap: 49152,
            ..SwitchInfo::default()
        };
        switch.switch_raw = Some(cap.encode());
        switch.ports[0].known = true;
        switch.ports[0].guid = PortGuid(1000);
        let s = fabric.add_node(switch);
        for (i, lid) in (1u8..).zip(has) {
            let mut ca = Node::new(info(NodeType::Ca, u64::from(i), 1), DrPath::LOCAL);
            ca.ports[1].known = true;
            ca.ports[1].guid = PortGuid(u64::from(i));
            ca.ports[1].raw = PortInfo {
                lid: Lid(*lid),
                master_sm_lid: OTHER_SM,
                ..PortInfo::default()
            }
            .encode()
            .into();
            let c = fabric.add_node(ca);
            fabric.connect(PortRef::new(s, PortNum(i)), PortRef::new(c, PortNum(1)));
            if i == 1 {
                fabric.set_local(PortRef::new(c, PortNum(1)));
            }
        }
        fabric
    }

    fn info(node_type: NodeType, guid: u64, num_ports: u8) -> NodeInfo {
        NodeInfo {
            node_type,
            num_ports,
            node_guid: NodeGuid(guid),
            ..NodeInfo::default()
        }
    }

    fn plan_of(fabric: &ObservedFabric, map: &LidMap) -> LidPlan {
        let cfg = SmConfig::default();
        plan_lids(fabric, map, &ConfirmedLids::default(), &cfg, LidPolicy::Map)
    }

    fn lid_of(plan: &LidPlan, guid: u64) -> Option<Lid> {
        plan.map.get(&PortGuid(guid)).map(|l| l.0)
    }

    /// Two ports have LID 7: one retains it, the other gets a new one, and no other port changes.
    #[test]
    fn lid_conflict_changes_one_port_only() {
        let plan = plan_lids(
            &star(&[5, 7, 7, 9]),
            &LidMap::new(),
            &ConfirmedLids::default(),
            &SmConfig::default(),
            LidPolicy::Map,
        );
        assert_eq!(
            (lid_of(&plan, 1), lid_of(&plan, 4)),
            (Some(Lid(5)), Some(Lid(9)))
        );
        let twins: BTreeSet<_> = [lid_of(&plan, 2), lid_of(&plan, 3)].into();
        assert!(twins.contains(&Some(Lid(7))) && twins.len() == 2);
        assert_eq!(plan.conflicts.len(), 1);
    }

    /// The LID of an absent port stays reserved; a new port that has it gets another.
    #[test]
    fn lid_of_an_absent_port_stays_reserved() {
        let mut map = LidMap::from([
            (PortGuid(77), (Lid(3), Lmc(0))),
            (PortGuid(2), (Lid(9), Lmc(0))),
        ]);
        let plan = plan_of(&star(&[3, 0]), &map);
        assert_eq!(lid_of(&plan, 77), Some(Lid(3)));
        assert_ne!(lid_of(&plan, 1), Some(Lid(3)));
        // No port of the map is present: it belongs to another subnet. Its LIDs are reserved only
        // if they are free.
        map.remove(&PortGuid(2));
        let plan = plan_of(&star(&[3, 0]), &map);
        assert_eq!((lid_of(&plan, 77), lid_of(&plan, 1)), (None, Some(Lid(3))));
        assert_eq!(
            plan_of(&star(&[4, 0]), &map).map.get(&PortGuid(77)),
            map.get(&PortGuid(77))
        );
    }

    fn edit(fabric: &mut ObservedFabric, guid: u64, change: impl FnOnce(&mut PortInfo)) {
        let has_guid = |p: &PortRef| fabric.port(*p).is_some_and(|port| port.guid.0 == guid);
        let at = fabric.end_ports().find(has_guid).unwrap();
        let port = fabric.port_mut(at).unwrap();
        let mut info = port.info();
        change(&mut info);
        port.raw = info.encode().into();
    }

    /// No port of the map is present. Its entry does not yield to the LID of a switch that no SM
    /// has configured.
    #[test]
    fn lid_of_an_unconfigured_switch_is_not_taken_from_an_absent_port() {
        let map = LidMap::from([(PortGuid(77), (Lid(5), Lmc(0)))]);
        let mut fabric = star(&[3]);
        let with = |fabric: &ObservedFabric| {
            let plan = plan_of(fabric, &map);
            [1000, 77].map(|guid| lid_of(&plan, guid).map(|lid| lid.0))
        };
        edit(&mut fabric, 1000, |info| {
            info.port_state = PortState::Active;
            info.lid = Lid(5);
            info.master_sm_lid = OTHER_SM;
        });
        assert_eq!(with(&fabric), [Some(5), None]);
        edit(&mut fabric, 1000, |info| info.master_sm_lid = Lid::NONE);
        assert_eq!(with(&fabric), [Some(1), Some(5)]);
    }

    /// A Set for an absent port reached another port, which is Active with the LID of the absent
    /// one.
    #[test]
    fn misdirected_lid_stays_reserved() {
        let lids = |lid| (Lid(lid), Lmc(0));
        let map = LidMap::from([
            (PortGuid(1), lids(1)),
            (PortGuid(2), lids(4)),
            (PortGuid(77), lids(5)),
        ]);
        let mut fabric = star(&[1, 5]);
        edit(&mut fabric, 2, |info| info.port_state = PortState::Active);
        let with = |fabric: &ObservedFabric, map: &LidMap, confirmed_lids: &ConfirmedLids| {
            let cfg = SmConfig::default();
            let plan = plan_lids(fabric, map, confirmed_lids, &cfg, LidPolicy::ActivePorts);
            [2, 77].map(|guid| lid_of(&plan, guid).map(|lid| lid.0))
        };
        let mut confirmed_lids = ConfirmedLids::default();
        assert_eq!(with(&fabric, &map, &confirmed_lids), [Some(5), None]);
        for guid in [1, 2] {
            edit(&mut fabric, guid, |info| info.master_sm_lid = Lid(1));
        }
        assert_eq!(with(&fabric, &map, &confirmed_lids), [Some(4), Some(5)]);
        // Without a port in the map, the SM of another subnet may have had the same LID.
        let mut other_map = map;
        other_map.remove(&PortGuid(2));
        assert_eq!(with(&fabric, &other_map, &confirmed_lids), [Some(5), None]);
        confirmed_lids.on_misdirected_set(3);
        confirmed_lids.on_full_sweep(3);
        let [own, absent] = with(&fabric, &other_map, &confirmed_lids);
        assert!(own.is_some_and(|lid| lid != 5) && absent == Some(5));
        confirmed_lids.on_full_sweep(4);
        assert_eq!(with(&fabric, &other_map, &confirmed_lids), [Some(5), None]);
    }

    /// Entries of another subnet yield to the present LID of a port that joins later, although
    /// ports of this subnet are in the map by then.
    #[test]
    fn foreign_entries_yield_to_a_port_that_joins_later() {
        let foreign = LidMap::from([(PortGuid(77), (Lid(5), Lmc(0)))]);
        let first = plan_of(&star(&[3, 4]), &foreign);
        assert!(first.is_map_of_other_subnet);
        let mut confirmed_lids = ConfirmedLids::default();
        confirmed_lids.mark_foreign(&foreign);
        confirmed_lids.assign(&star(&[3, 4]), &foreign, &first);
        let joined = star(&[3, 4, 5]);
        let with = |confirmed_lids: &ConfirmedLids| {
            let plan = plan_lids(
                &joined,
                &first.map,
                confirmed_lids,
                &SmConfig::default(),
                LidPolicy::Map,
            );
            (plan.is_map_of_other_subnet, lid_of(&plan, 3))
        };
        assert_eq!(with(&confirmed_lids), (false, Some(Lid(5))));
        // After a restart, the SM would treat them as entries of this subnet.
        let persisted = confirmed_lids.without_foreign(&first.map);
        assert!(first.map.contains_key(&PortGuid(77)) && !persisted.contains_key(&PortGuid(77)));
        // The entry of an absent port of this subnet is reserved.
        assert_ne!(with(&ConfirmedLids::default()).1, Some(Lid(5)));
    }

    /// Absent ports have all LIDs: one is released, first an unconfirmed one.
    #[test]
    fn lids_of_absent_ports_are_released_when_lids_are_exhausted() {
        let mut fabric = star(&[1, 2]);
        let s = fabric.node_by_guid(NodeGuid(1000)).unwrap();
        let small = SwitchInfo {
            linear_fdb_cap: 6,
            ..SwitchInfo::default()
        };
        fabric.get_mut(s).unwrap().switch_raw = Some(small.encode());
        let map: LidMap = [(1, 1), (2, 2), (77, 3), (78, 4), (79, 5)]
            .map(|(guid, lid)| (PortGuid(guid), (Lid(lid), Lmc(0))))
            .into();
        let mut confirmed_lids = ConfirmedLids::default();
        confirmed_lids.ports.insert(PortGuid(77));
        let plan = plan_lids(
            &fabric,
            &map,
            &confirmed_lids,
            &SmConfig::default(),
            LidPolicy::Map,
        );
        assert!(plan.without_lid.is_empty());
        assert_eq!(lid_of(&plan, 1000), Some(Lid(4)));
        assert_eq!(
            [77, 78, 79].map(|guid| lid_of(&plan, guid)),
            [Some(Lid(3)), None, Some(Lid(5))]
        );
    }

    /// A port is absent, and a new Active port has its LID. A confirmed LID stays reserved, and the
    /// new port is reported; an unconfirmed one is released.
    #[test]
    fn active_port_does_not_take_a_confirmed_lid() {
        let map = LidMap::from([
            (PortGuid(1), (Lid(3), Lmc(0))),
            (PortGuid(2), (Lid(4), Lmc(0))),
        ]);
        let mut confirmed_lids = ConfirmedLids::default();
        let with_new_port = |lid: u16| {
            let mut fabric = star(&[lid]);
            let at = fabric.local().unwrap();
            let port = fabric.port_mut(at).unwrap();
            port.guid = PortGuid(99);
            let mut info = port.info();
            info.port_state = PortState::Active;
            port.raw = info.encode().into();
            fabric
        };
        let plan_for = |confirmed_lids: &ConfirmedLids, lid: u16| {
            let plan = plan_lids(
                &with_new_port(lid),
                &map,
                confirmed_lids,
                &SmConfig::default(),
                LidPolicy::Map,
            );
            let reported: Vec<Lid> = plan.conflicts.iter().map(|(_, lid)| *lid).collect();
            (lid_of(&plan, 99) == Some(Lid(lid)), reported)
        };
        let wins = (true, vec![]);
        assert_eq!(
            plan_for(&confirmed_lids, 3),
            wins,
            "nothing is confirmed yet"
        );
        // One of two ports has the LID of the map.
        confirmed_lids.confirm(&star(&[3, 7]), &map);
        assert_eq!(plan_for(&confirmed_lids, 3), (false, vec![Lid(3)]));
        assert_eq!(plan_for(&confirmed_lids, 4), wins, "never confirmed");
        // Another map has other LIDs for the port.
        let mut other_map = map.clone();
        other_map.insert(PortGuid(1), (Lid(8), Lmc(0)));
        let mut moved = confirmed_lids.clone();
        moved.replace(&map, &other_map);
        assert_eq!(moved, ConfirmedLids::default());
        confirmed_lids.clear();
        assert_eq!(
            plan_for(&confirmed_lids, 3),
            wins,
            "another master may have assigned it"
        );
    }

    /// A switch without forwarding tables does not use its LID, which stays reserved for an absent
    /// port although port 0 is Active.
    #[test]
    fn switch_without_tables_does_not_use_its_lid() {
        let map = LidMap::from([
            (PortGuid(2), (Lid(3), Lmc(0))),
            (PortGuid(77), (Lid(9), Lmc(0))),
        ]);
        let lid_with_top = |top: u16| {
            let mut fabric = star(&[4, 3]);
            let s = fabric.node_by_guid(NodeGuid(1000)).unwrap();
            let switch = fabric.get_mut(s).unwrap();
            let info = SwitchInfo {
                linear_fdb_top: top,
                linear_fdb_cap: 49152,
                ..SwitchInfo::default()
            };
            switch.switch_raw = Some(info.encode());
            let port0 = PortInfo {
                port_state: PortState::Active,
                lid: Lid(9),
                ..PortInfo::default()
            };
            switch.ports[0].raw = port0.encode().into();
            lid_of(&plan_of(&fabric, &map), 1000)
        };
        assert_eq!(lid_with_top(9), Some(Lid(9)));
        assert_ne!(lid_with_top(0), Some(Lid(9)));
    }

    /// With LMC 2, base LIDs are multiples of 4. Ports with other LIDs get new ones; two ports with
    /// LID 8 conflict.
    #[test]
    fn misaligned_lid_is_not_reported_as_conflict() {
        let cfg = SmConfig {
            lmc: Lmc(2),
            ..SmConfig::default()
        };
        for (lids, conflicts) in [([4, 5, 6], 0), ([4, 8, 8], 1)] {
            let (map, confirmed) = <(LidMap, ConfirmedLids)>::default();
            let plan = plan_lids(&star(&lids), &map, &confirmed, &cfg, LidPolicy::Map);
            assert_eq!((plan.lids.len(), plan.conflicts.len()), (4, conflicts));
        }
    }

    /// A port that needs more LIDs than before does not get those of a port that comes later.
    #[test]
    fn higher_lmc_takes_no_lid_of_another_port() {
        let map = LidMap::from([
            (PortGuid(1), (Lid(8), Lmc(0))),
            (PortGuid(3), (Lid(12), Lmc(2))),
        ]);
        let cfg = SmConfig {
            lmc: Lmc(2),
            ..SmConfig::default()
        };
        let plan_with = |map: &LidMap, confirmed_lids: &ConfirmedLids| {
            plan_lids(
                &star(&[8, 0, 12]),
                map,
                confirmed_lids,
                &cfg,
                LidPolicy::Map,
            )
        };
        let grown = plan_with(&map, &ConfirmedLids::default());
        assert_eq!(grown.conflicts, []);
        assert_eq!(lid_of(&grown, 1), Some(Lid(8)));
        assert_eq!(lid_of(&grown, 3), Some(Lid(12)));
        let mut taken = map;
        taken.insert(PortGuid(1000), (Lid(9), Lmc(0)));
        let grown = plan_with(&taken, &ConfirmedLids::default());
        assert_eq!(lid_of(&grown, 1000), Some(Lid(9)));
        assert_ne!(lid_of(&grown, 1), Some(Lid(8)));
    }

    /// An Active port with the GUID of another port is excluded, and retains its LIDs: no other
    /// port gets them.
    #[test]
    fn lid_of_an_excluded_active_port_is_not_assigned() {
        for policy in [LidPolicy::Map, LidPolicy::Reassign] {
            let mut fabric = star(&[6, 0, 0]);
            let ca = fabric.node_by_guid(NodeGuid(3)).unwrap();
            let port = fabric.port_mut(PortRef::new(ca, PortNum(1))).unwrap();
            let mut info = port.info();
            (info.port_state, info.lmc) = (PortState::Active, Lmc(1));
            (info.lid, port.guid) = (Lid(2), PortGuid(1));
            port.raw = info.encode().into();
            port.exclusion = Some(Box::new(ExclusionReason::DuplicatePortGuid(PortGuid(1))));
            let (map, confirmed, cfg) = <(LidMap, ConfirmedLids, SmConfig)>::default();
            let plan = plan_lids(&fabric, &map, &confirmed, &cfg, policy);
            let mut lids: Vec<u16> = plan.lids.iter().map(|(_, lid, _)| lid.0).collect();
            lids.sort_unstable();
            let expected = match policy {
                LidPolicy::Reassign => [1, 4, 5],
                LidPolicy::Map | LidPolicy::ActivePorts => [1, 4, 6],
            };
            assert_eq!(lids, expected, "{policy:?}");
        }
    }

    /// LIDs are exhausted. The reservation of an excluded Active port is released, but its LID is
    /// not assigned.
    #[test]
    fn lid_of_an_excluded_port_is_not_assigned_when_lids_are_exhausted() {
        let mut fabric = star(&[1, 0, 3]);
        let switch = fabric.node_by_guid(NodeGuid(1000)).unwrap();
        let small = SwitchInfo {
            linear_fdb_cap: 4,
            ..SwitchInfo::default()
        };
        fabric.get_mut(switch).unwrap().switch_raw = Some(small.encode());
        let ca = fabric.node_by_guid(NodeGuid(3)).unwrap();
        let port = fabric.port_mut(PortRef::new(ca, PortNum(1))).unwrap();
        let mut info = port.info();
        info.port_state = PortState::Active;
        port.raw = info.encode().into();
        port.exclusion = Some(Box::new(ExclusionReason::DuplicatePortGuid(PortGuid(1))));
        let map = LidMap::from([(PortGuid(3), (Lid(3), Lmc(0)))]);
        let plan = plan_of(&fabric, &map);
        assert!(plan.lids.iter().all(|(_, lid, _)| *lid != Lid(3)));
        assert_eq!((plan.lids.len(), plan.without_lid.len()), (2, 1));
    }

    #[test]
    fn lid_map_has_precedence_over_present_lids() {
        let map = LidMap::from([(PortGuid(1), (Lid(40), Lmc(0)))]);
        let plan = plan_of(&star(&[5, 6]), &map);
        assert_eq!(
            (lid_of(&plan, 1), lid_of(&plan, 2)),
            (Some(Lid(40)), Some(Lid(6)))
        );
    }

    /// A switch that forwards 8 LIDs with 10 ports: seven get LIDs, the others are reported.
    #[test]
    fn lid_exhaustion_is_reported() {
        let mut fabric = star(&[0; 9]);
        let s = fabric.node_by_guid(NodeGuid(1000)).unwrap();
        let small = SwitchInfo {
            linear_fdb_cap: 8,
            ..SwitchInfo::default()
        };
        fabric.get_mut(s).unwrap().switch_raw = Some(small.encode());
        let plan = plan_of(&fabric, &LidMap::new());
        assert_eq!((plan.lids.len(), plan.without_lid.len()), (7, 3));
        assert!(plan.lids.iter().all(|(_, lid, _)| lid.0 < 8));
    }

    proptest! {
        /// For any present LIDs and any map, ranges are legal, aligned and disjoint, the SM port is
        /// first, and a second plan is equal.
        #[test]
        fn ranges_are_legal_and_stable(
            has in prop::collection::vec(0u16..40, 1..12),
            map in prop::collection::btree_map(1u64..20, (0u16..60, 0u8..3), 0..8),
            lmc in 0u8..4,
            confirmed in prop::collection::btree_set(1u64..20, 0..20),
        ) {
            let fabric = star(&has);
            let map: LidMap =
                map.into_iter().map(|(g, (l, m))| (PortGuid(g), (Lid(l), Lmc(m)))).collect();
            let cfg = SmConfig { lmc: Lmc(lmc), ..SmConfig::default() };
            let mut confirmed_lids = ConfirmedLids { ports: confirmed.into_iter().map(PortGuid).collect(), ..ConfirmedLids::default() };
            let first = plan_lids(&fabric, &map, &confirmed_lids, &cfg, LidPolicy::Map);
            prop_assert!(first.without_lid.is_empty());
            prop_assert_eq!(first.lids.len(), has.len() + 1);
            prop_assert_eq!(Some(first.lids[0].0), fabric.local());
            let mut owned = BTreeSet::new();
            for (lid, lmc) in first.map.values() {
                prop_assert!(lid.is_unicast());
                prop_assert_eq!(lid.0 % (1 << lmc.0), 0);
                for l in lid.0..lid.0 + (1 << lmc.0) {
                    prop_assert!(owned.insert(l), "LID {} twice", l);
                }
            }
            confirmed_lids.replace(&map, &first.map);
            let again = plan_lids(&fabric, &first.map, &confirmed_lids, &cfg, LidPolicy::Map);
            prop_assert_eq!(&again.map, &first.map);
        }
    }
}
