//! Who gets which LIDs (behaviour rules 2.1 to 2.11).
//!
//! In order of preference: the LIDs that the map holds for the port's GUID, the LIDs that the port has already, the first
//! free ones. LIDs of ports that are absent now stay theirs, but what the map says of them is not always worth the same: what
//! this master has seen in force is so, what was kept or copied may be another subnet's, or old.

mod assign;

use std::collections::BTreeSet;

use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::{Lid, Lmc, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::lid_map::LidMap;
use crate::subnet::{PortRef, Subnet};
pub use assign::{AssignedLids, KnownLids, LidDemand, assign};

/// The result of [`plan`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LidPlan {
    /// Base LID and LMC of every end port that got one, the SM's own first.
    pub lids: Vec<(PortRef, Lid, Lmc)>,
    /// Ports for which no LIDs were left.
    pub without: Vec<PortRef>,
    /// Ports whose present LID belongs to another port, and that LID.
    pub conflicts: Vec<(PortRef, Lid)>,
    /// The map with everything that was given out.
    pub map: LidMap,
}

/// The highest LID that every switch can forward (rule 1.18).
#[must_use]
pub fn highest_lid(subnet: &Subnet) -> Lid {
    let cap = subnet
        .nodes()
        .filter_map(|(_, n)| n.switch_info())
        .map(|s| s.linear_fdb_cap)
        .filter(|cap| *cap > 0)
        .min()
        .unwrap_or(u16::MAX);
    Lid((cap - 1).min(Lid::UNICAST_MAX.0))
}

/// LMC of an end port: switch ports 0 have one LID unless they are enhanced and the operator wants more (rule 2.3).
#[must_use]
pub fn lmc_of(subnet: &Subnet, at: PortRef, cfg: &SmConfig) -> Lmc {
    let Some(node) = subnet.get(at.node) else {
        return Lmc(0);
    };
    let many =
        !node.is_switch() || (cfg.lmc_esp0 && node.switch_info().is_some_and(|s| s.enhanced_port0));
    if many { cfg.lmc } else { Lmc(0) }
}

/// End ports in the order in which LIDs are given out: the SM's own, then switch by switch, each followed by its
/// neighbours by port. The order depends on GUIDs and cables only, so the same cold fabric gets the same LIDs.
fn in_order(subnet: &Subnet) -> Vec<PortRef> {
    // How many LIDs a switch needs is known only when it has told its SwitchInfo.
    let told = |p: &PortRef| {
        let node = subnet.get(p.node);
        node.is_some_and(|n| !n.is_switch() || n.switch_raw.is_some())
    };
    let mut ports: Vec<PortRef> = subnet.end_ports().filter(told).collect();
    let key = |p: &PortRef| {
        let own = subnet.get(p.node).map(|n| n.info.node_guid);
        let behind = subnet
            .peer(*p)
            .filter(|_| p.port != PortNum::ZERO)
            .and_then(|s| Some((subnet.get(s.node)?.info.node_guid, s.port)));
        let (switch, port) = behind.map_or((own, PortNum::ZERO), |(g, port)| (Some(g), port));
        (Some(*p) != subnet.local(), switch, port, own, p.port)
    };
    ports.sort_by_cached_key(key);
    ports
}

/// Ports whose LIDs in the map were seen in force by this SM since it is master. Only these are sure to be right of ports that
/// are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reign {
    given: BTreeSet<PortGuid>,
}

impl Reign {
    /// Another SM may have given LIDs: nothing is sure any more.
    pub(crate) fn end(&mut self) {
        self.given.clear();
    }

    /// Another map is wanted: what it says otherwise is not in force.
    pub(crate) fn replace(&mut self, old: &LidMap, new: &LidMap) {
        self.given.retain(|guid| old.get(guid) == new.get(guid));
    }

    /// A plan is carried out: whatever has the LIDs that it is to have.
    pub(crate) fn confirm(&mut self, subnet: &Subnet, map: &LidMap) {
        let ports = subnet.end_ports().filter_map(|p| subnet.port(p));
        for port in ports.filter(|port| port.known) {
            let info = port.info();
            if map.get(&port.guid) == Some(&(info.lid, info.lmc)) {
                self.given.insert(port.guid);
            }
        }
    }
}

/// Gives every end port its LIDs.
///
/// `map` is what is known from before, and `reign` what of it is sure; with `reassign` neither they nor the LIDs that ports have
/// are honoured.
#[must_use]
pub fn plan(
    subnet: &Subnet,
    map: &LidMap,
    reign: &Reign,
    cfg: &SmConfig,
    reassign: bool,
) -> LidPlan {
    let ports = in_order(subnet);
    let demand = |p: &PortRef| {
        let port = subnet.port(*p);
        LidDemand {
            guid: port.map_or(PortGuid(0), |port| port.guid),
            lmc: lmc_of(subnet, *p, cfg),
            has: port.map_or(Lid::NONE, |port| port.info().lid),
            in_use: port.is_some_and(|port| port.state() == PortState::Active),
            is_own: Some(*p) == subnet.local(),
        }
    };
    let demands: Vec<LidDemand> = ports.iter().map(demand).collect();
    let ends = subnet.end_ports().filter_map(|p| subnet.port(p));
    let known = KnownLids {
        map,
        reign,
        // A switch that has not told enough is here all the same.
        here: ends.map(|port| port.guid).collect(),
        highest: highest_lid(subnet),
    };
    let assigned = assign(&demands, &known, reassign);
    let mut out = LidPlan {
        map: assigned.map,
        ..LidPlan::default()
    };
    for i in assigned.conflicts {
        out.conflicts.push((ports[i], demands[i].has));
    }
    for ((p, demand), lid) in ports.into_iter().zip(&demands).zip(assigned.lids) {
        match lid {
            Some(lid) => out.lids.push((p, lid, demand.lmc)),
            None => out.without.push(p),
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
    use crate::subnet::Node;

    /// A switch with `has.len()` CAs whose ports come with the LIDs in `has`; the SM is on the first.
    fn star(has: &[u16]) -> Subnet {
        let mut subnet = Subnet::default();
        let hosts = u8::try_from(has.len()).unwrap();
        let mut switch = Node::new(info(NodeType::Switch, 1000, hosts), DrPath::LOCAL);
        let cap = SwitchInfo {
            linear_fdb_cap: 49152,
            ..SwitchInfo::default()
        };
        switch.switch_raw = Some(cap.encode());
        switch.ports[0].known = true;
        switch.ports[0].guid = PortGuid(1000);
        let s = subnet.add_node(switch);
        for (i, lid) in (1u8..).zip(has) {
            let mut ca = Node::new(info(NodeType::Ca, u64::from(i), 1), DrPath::LOCAL);
            ca.ports[1].known = true;
            ca.ports[1].guid = PortGuid(u64::from(i));
            ca.ports[1].raw = PortInfo {
                lid: Lid(*lid),
                ..PortInfo::default()
            }
            .encode()
            .into();
            let c = subnet.add_node(ca);
            subnet.connect(PortRef::new(s, PortNum(i)), PortRef::new(c, PortNum(1)));
            if i == 1 {
                subnet.set_local(PortRef::new(c, PortNum(1)));
            }
        }
        subnet
    }

    fn info(node_type: NodeType, guid: u64, num_ports: u8) -> NodeInfo {
        NodeInfo {
            node_type,
            num_ports,
            node_guid: NodeGuid(guid),
            ..NodeInfo::default()
        }
    }

    fn plan_of(subnet: &Subnet, map: &LidMap) -> LidPlan {
        let cfg = SmConfig::default();
        plan(subnet, map, &Reign::default(), &cfg, false)
    }

    fn lid_of(plan: &LidPlan, guid: u64) -> Option<Lid> {
        plan.map.get(&PortGuid(guid)).map(|l| l.0)
    }

    /// Two ports come up with LID 7: one keeps it, the other gets a new one, and nobody else moves.
    #[test]
    fn a_conflict_moves_one_port_only() {
        let plan = plan(
            &star(&[5, 7, 7, 9]),
            &LidMap::new(),
            &Reign::default(),
            &SmConfig::default(),
            false,
        );
        assert_eq!(
            (lid_of(&plan, 1), lid_of(&plan, 4)),
            (Some(Lid(5)), Some(Lid(9)))
        );
        let twins: BTreeSet<_> = [lid_of(&plan, 2), lid_of(&plan, 3)].into();
        assert!(twins.contains(&Some(Lid(7))) && twins.len() == 2);
        assert_eq!(plan.conflicts.len(), 1);
    }

    /// A port that is away keeps its LID; a stranger that comes with it gets another.
    #[test]
    fn an_absent_port_keeps_its_lid() {
        let mut map = LidMap::from([
            (PortGuid(77), (Lid(3), Lmc(0))),
            (PortGuid(2), (Lid(9), Lmc(0))),
        ]);
        let plan = plan_of(&star(&[3, 0]), &map);
        assert_eq!(lid_of(&plan, 77), Some(Lid(3)));
        assert_ne!(lid_of(&plan, 1), Some(Lid(3)));
        // Nobody is here who is in the map: it is of another subnet. Its LIDs are kept only where they are free.
        map.remove(&PortGuid(2));
        let plan = plan_of(&star(&[3, 0]), &map);
        assert_eq!((lid_of(&plan, 77), lid_of(&plan, 1)), (None, Some(Lid(3))));
        assert_eq!(
            plan_of(&star(&[4, 0]), &map).map.get(&PortGuid(77)),
            map.get(&PortGuid(77))
        );
    }

    /// No LID is left, because absent ports hold them all: one of them gives way, and rather one that was never seen.
    #[test]
    fn absent_ports_give_way_when_no_lid_is_left() {
        let mut subnet = star(&[1, 2]);
        let s = subnet.node_by_guid(NodeGuid(1000)).unwrap();
        let small = SwitchInfo {
            linear_fdb_cap: 6,
            ..SwitchInfo::default()
        };
        subnet.get_mut(s).unwrap().switch_raw = Some(small.encode());
        let map: LidMap = [(1, 1), (2, 2), (77, 3), (78, 4), (79, 5)]
            .map(|(guid, lid)| (PortGuid(guid), (Lid(lid), Lmc(0))))
            .into();
        let mut reign = Reign::default();
        reign.given.insert(PortGuid(77));
        let plan = plan(&subnet, &map, &reign, &SmConfig::default(), false);
        assert!(plan.without.is_empty());
        assert_eq!(lid_of(&plan, 1000), Some(Lid(4)));
        assert_eq!(
            [77, 78, 79].map(|guid| lid_of(&plan, guid)),
            [Some(Lid(3)), None, Some(Lid(5))]
        );
    }

    /// A port is away, and a stranger comes that carries data under its LID. What this master has seen in force stays, and the
    /// stranger is named; what is only kept or copied gives way, as before and after the reign.
    #[test]
    fn an_active_stranger_takes_no_lid_that_this_master_gave() {
        let map = LidMap::from([
            (PortGuid(1), (Lid(3), Lmc(0))),
            (PortGuid(2), (Lid(4), Lmc(0))),
        ]);
        let mut reign = Reign::default();
        let with_stranger = |lid: u16| {
            let mut subnet = star(&[lid]);
            let at = subnet.local().unwrap();
            let port = subnet.port_mut(at).unwrap();
            port.guid = PortGuid(99);
            let mut info = port.info();
            info.port_state = PortState::Active;
            port.raw = info.encode().into();
            subnet
        };
        let meet = |reign: &Reign, lid: u16| {
            let plan = plan(
                &with_stranger(lid),
                &map,
                reign,
                &SmConfig::default(),
                false,
            );
            let told: Vec<Lid> = plan.conflicts.iter().map(|(_, lid)| *lid).collect();
            (lid_of(&plan, 99) == Some(Lid(lid)), told)
        };
        let wins = (true, vec![]);
        assert_eq!(meet(&reign, 3), wins, "nothing is sure yet");
        // Of two ports one has what the map says.
        reign.confirm(&star(&[3, 7]), &map);
        assert_eq!(meet(&reign, 3), (false, vec![Lid(3)]));
        assert_eq!(meet(&reign, 4), wins, "it was never in force");
        // Another map gives the port other LIDs.
        let mut other = map.clone();
        other.insert(PortGuid(1), (Lid(8), Lmc(0)));
        let mut moved = reign.clone();
        moved.replace(&map, &other);
        assert_eq!(moved, Reign::default());
        reign.end();
        assert_eq!(meet(&reign, 3), wins, "another master may have given it");
    }

    /// The map goes before what the port says.
    #[test]
    fn the_map_goes_first() {
        let map = LidMap::from([(PortGuid(1), (Lid(40), Lmc(0)))]);
        let plan = plan_of(&star(&[5, 6]), &map);
        assert_eq!(
            (lid_of(&plan, 1), lid_of(&plan, 2)),
            (Some(Lid(40)), Some(Lid(6)))
        );
    }

    /// A switch that forwards 8 LIDs and 10 ports: seven are served, the rest is named.
    #[test]
    fn exhaustion_is_told() {
        let mut subnet = star(&[0; 9]);
        let s = subnet.node_by_guid(NodeGuid(1000)).unwrap();
        let small = SwitchInfo {
            linear_fdb_cap: 8,
            ..SwitchInfo::default()
        };
        subnet.get_mut(s).unwrap().switch_raw = Some(small.encode());
        let plan = plan_of(&subnet, &LidMap::new());
        assert_eq!((plan.lids.len(), plan.without.len()), (7, 3));
        assert!(plan.lids.iter().all(|(_, lid, _)| lid.0 < 8));
    }

    proptest! {
        /// Whatever LIDs ports come with and the map holds: ranges are legal, aligned, disjoint, the SM's port is first, and
        /// planning again on the result changes nothing.
        #[test]
        fn ranges_are_legal_and_stable(
            has in prop::collection::vec(0u16..40, 1..12),
            map in prop::collection::btree_map(1u64..20, (0u16..60, 0u8..3), 0..8),
            lmc in 0u8..4,
            sure in prop::collection::btree_set(1u64..20, 0..20),
        ) {
            let subnet = star(&has);
            let map: LidMap =
                map.into_iter().map(|(g, (l, m))| (PortGuid(g), (Lid(l), Lmc(m)))).collect();
            let cfg = SmConfig { lmc: Lmc(lmc), ..SmConfig::default() };
            let mut reign = Reign { given: sure.into_iter().map(PortGuid).collect() };
            let first = plan(&subnet, &map, &reign, &cfg, false);
            prop_assert!(first.without.is_empty());
            prop_assert_eq!(first.lids.len(), has.len() + 1);
            prop_assert_eq!(Some(first.lids[0].0), subnet.local());
            let mut owned = BTreeSet::new();
            for (lid, lmc) in first.map.values() {
                prop_assert!(lid.is_unicast());
                prop_assert_eq!(lid.0 % (1 << lmc.0), 0);
                for l in lid.0..lid.0 + (1 << lmc.0) {
                    prop_assert!(owned.insert(l), "LID {} twice", l);
                }
            }
            reign.replace(&map, &first.map);
            let again = plan(&subnet, &first.map, &reign, &cfg, false);
            prop_assert_eq!(&again.map, &first.map);
        }
    }
}
