//! Tables that switches keep because they reject writes. They are a constraint on the routing.
//!
//! A routing is computed as usual; then [`KeptTables::apply`] replaces what the switches keep, and
//! the result is verified with it. If no engine passes in this way, no route leads through these
//! switches any more (`KeptTables::views`): each has one link, which only its own end ports use. A
//! channel that leaves such a switch depends on no other channel, whatever its tables are, so it is
//! part of no credit loop.
//!
//! Packets that a kept LFT entry would lose do not travel: all switches whose routes lead through
//! the entry drop them. The end ports of a switch whose SLtoVL tables drop even SL 0 are cut off in
//! the same way. Verification counts these pairs ([`crate::Proof::kept_unreachable`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::routing::Routing;
use crate::tables::{BLOCK_LIDS, Lft, Tables};
use crate::topology::{
    DATA_VLS_MAX, Destination, RemainingTopology, SwitchIdx, Topology, index_to_u16,
};
use crate::vl_plan::{SLS, SlToVl, SlToVlMaps, VlPlan};

/// The tables that one switch keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptSwitch {
    /// Entries of the LFT blocks that it keeps, by number.
    pub lft_blocks: BTreeMap<u16, [u8; BLOCK_LIDS]>,
    /// Its SLtoVL tables, if it keeps them.
    pub sl_to_vl: Option<SlToVlMaps>,
}

/// The tables that switches keep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptTables {
    switches: BTreeMap<SwitchIdx, KeptSwitch>,
    /// Switches whose end ports are cut off ([`Self::with_cut_off_switches`]).
    cut_off: BTreeSet<SwitchIdx>,
}

/// How routes use the switches that keep tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptSwitchUse {
    /// As other switches.
    #[default]
    Transit,
    /// No route leads through them; one link of each leads to their own end ports.
    EndPortsOnly,
}

impl KeptTables {
    /// Adds a switch.
    pub fn insert(&mut self, s: SwitchIdx, kept: KeptSwitch) {
        self.switches.insert(s, kept);
    }

    /// The tables that switches keep that remain after a loss, of which none is cut off yet.
    #[must_use]
    pub fn after_loss(&self, remaining: &RemainingTopology) -> Self {
        let switches = self.switches.iter();
        Self {
            switches: switches
                .filter_map(|(s, kept)| Some((remaining.find(*s)?, kept.clone())))
                .collect(),
            cut_off: BTreeSet::new(),
        }
    }

    /// Whether no switch keeps a table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty()
    }

    /// Whether a switch keeps SLtoVL tables.
    pub(crate) fn has_sl_to_vl(&self) -> bool {
        self.switches.values().any(|kept| kept.sl_to_vl.is_some())
    }

    /// The switches that keep tables.
    pub fn switches(&self) -> impl Iterator<Item = SwitchIdx> + '_ {
        self.switches.keys().copied()
    }

    /// Cuts off the switches whose end ports cannot send or receive.
    #[must_use]
    pub fn with_cut_off_switches(mut self, topo: &Topology) -> Self {
        let is_cut_off = |(s, kept): &(&SwitchIdx, &KeptSwitch)| {
            let links = topo.links(**s);
            if links.is_empty() {
                return !kept.passes_sl_0(topo, **s, None);
            }
            let mut ports = links.iter().map(|link| link.port);
            !ports.any(|port| kept.passes_sl_0(topo, **s, Some(port)))
        };
        let cut_off = self.switches.iter().filter(is_cut_off);
        self.cut_off = cut_off.map(|(s, _)| *s).collect();
        self
    }

    /// The graphs for which engines are tried, in this order. An LFT that is kept usually fits no
    /// routing that leads through its switch.
    pub(crate) fn views(&self, topo: &Topology) -> Vec<(KeptSwitchUse, Topology)> {
        let full = (KeptSwitchUse::Transit, topo.clone());
        if self.is_empty() {
            return vec![full];
        }
        let home_ports = self
            .switches
            .iter()
            .map(|(&s, kept)| (s, self.home_port(topo, s, kept)))
            .collect();
        let one_link = (KeptSwitchUse::EndPortsOnly, topo.with_limited(&home_ports));
        let keeps_lft = |kept: &KeptSwitch| !kept.lft_blocks.is_empty();
        if !self.cut_off.is_empty() || self.switches.values().any(keeps_lft) {
            vec![one_link, full]
        } else {
            vec![full, one_link]
        }
    }

    /// The only link of a switch in [`KeptSwitchUse::EndPortsOnly`]: the one to which most kept
    /// entries lead, preferably not to another switch that keeps tables.
    fn home_port(&self, topo: &Topology, s: SwitchIdx, kept: &KeptSwitch) -> Option<PortNum> {
        let entries = |port: PortNum| {
            let entries = kept.lft_blocks.values().flatten();
            entries.filter(|entry| **entry == port.raw()).count()
        };
        let best = topo.links(s).iter().max_by_key(|link| {
            let is_other = !self.switches.contains_key(&link.peer);
            let lowest_first = u8::MAX - link.port.raw();
            (
                kept.passes_sl_0(topo, s, Some(link.port)),
                is_other,
                entries(link.port),
                lowest_first,
            )
        });
        best.map(|link| link.port)
    }

    /// Data VLs up to which VL = SL in every SLtoVL table that a switch keeps, at least 1. Switches
    /// that are cut off do not count.
    pub(crate) fn identity_vls(&self, topo: &Topology) -> u8 {
        let mut vls = DATA_VLS_MAX;
        let switches = self.switches.iter();
        for (&s, kept) in switches.filter(|(s, _)| !self.cut_off.contains(s)) {
            let Some(maps) = &kept.sl_to_vl else {
                continue;
            };
            for link in topo.links(s) {
                for input in inputs(topo, s, link.port) {
                    let map = maps.get(input, link.port);
                    let prefix = (0u8..).zip(map).take_while(|(sl, vl)| sl == vl).count();
                    vls = vls.min(u8::try_from(prefix).unwrap_or(DATA_VLS_MAX));
                }
            }
        }
        vls.max(1)
    }

    /// Replaces what the switches keep in a routing of this graph.
    pub fn apply(&self, topo: &Topology, routing: &mut Routing) {
        for (&s, kept) in &self.switches {
            if !kept.lft_blocks.is_empty() {
                apply_lft(topo, &mut routing.tables, s, &kept.lft_blocks);
            }
        }
        self.apply_sl_to_vl(topo, &mut routing.vl_plan);
        for &s in &self.cut_off {
            self.cut_off(topo, &mut routing.tables, s);
        }
    }

    /// Drops packets to and from the end ports of a switch.
    fn cut_off(&self, topo: &Topology, tables: &mut Tables, s: SwitchIdx) {
        let keeps = |v: SwitchIdx, lid: Lid| {
            let blocks = self.switches.get(&v).map(|kept| &kept.lft_blocks);
            blocks.is_some_and(|blocks| blocks.contains_key(&block_of(lid)))
        };
        for d in topo.destinations() {
            for (v, lft) in topo.switches().zip(tables.iter_mut()) {
                let is_own_lid = d.switch == s && d.port == PortNum::ZERO;
                let is_concerned = (v == s || d.switch == s) && !(v == s && is_own_lid);
                if is_concerned && lft.get(d.lid) != PortNum::DROP && !keeps(v, d.lid) {
                    Arc::make_mut(lft).set(d.lid, PortNum::DROP);
                }
            }
        }
    }

    /// Whether a routing has what the switches keep.
    #[must_use]
    pub fn are_in(&self, topo: &Topology, routing: &Routing) -> bool {
        let mut applied = routing.clone();
        self.apply(topo, &mut applied);
        applied.tables == routing.tables && applied.vl_plan == routing.vl_plan
    }

    /// Sets the SLtoVL tables of a plan to the kept ones, if they differ on an SL of the plan.
    fn apply_sl_to_vl(&self, topo: &Topology, plan: &mut VlPlan) {
        let used = plan.path_sl.used_sls() | ((1u16 << plan.vls.min(15)) - 1);
        let mut differing: BTreeMap<SwitchIdx, SlToVlMaps> = BTreeMap::new();
        let mut vls = plan.vls;
        for (&s, kept) in &self.switches {
            let Some(maps) = kept
                .sl_to_vl
                .as_ref()
                .filter(|_| s.index() < topo.num_switches())
            else {
                continue;
            };
            let mut planned = SlToVlMaps::uniform(topo.num_ports(s), [DATA_VLS_MAX; SLS]);
            let mut differs = false;
            let links = topo.links(s).iter().map(|l| l.port);
            for output in links.chain(topo.end_ports(s).iter().map(|e| e.port)) {
                let is_link = topo.neighbor(s, output).is_some();
                for input in inputs(topo, s, output) {
                    let wanted = plan.map(topo, s, input, output);
                    // A VL that the link does not operate drops packets.
                    let operated = |vl: u8| {
                        if vl < topo.vls(s, output) {
                            vl
                        } else {
                            DATA_VLS_MAX
                        }
                    };
                    let map = maps.get(input, output).map(operated);
                    for sl in (0..SLS).filter(|sl| used >> sl & 1 == 1) {
                        differs |= map[sl] != wanted[sl];
                        if is_link && map[sl] < DATA_VLS_MAX {
                            vls = vls.max(map[sl] + 1);
                        }
                    }
                    planned.set(input, output, map);
                }
            }
            if differs {
                differing.insert(s, planned);
            }
        }
        if differing.is_empty() {
            return;
        }
        let planned = |s: SwitchIdx| {
            if let Some(maps) = differing.remove(&s) {
                return maps;
            }
            if let SlToVl::PerPorts(switches) = &plan.sl_to_vl
                && let Some(maps) = switches.get(s.index())
            {
                return maps.clone();
            }
            let map = core::array::from_fn(|sl| {
                let sl = u8::try_from(sl).unwrap_or(0);
                plan.vl(s, PortNum::ZERO, PortNum::ZERO, sl)
            });
            SlToVlMaps::uniform(topo.num_ports(s), map)
        };
        let switches = topo.switches().map(planned).collect();
        plan.sl_to_vl = SlToVl::PerPorts(switches);
        plan.vls = vls;
    }

    /// Whether packets of the pair (`from`, `dest`) may be lost at the entry of switch `at`: `at`
    /// keeps this entry, or it drops packets that would be lost at a later switch.
    pub(crate) fn excuses(
        &self,
        from: SwitchIdx,
        dest: &Destination,
        at: SwitchIdx,
        entry: PortNum,
    ) -> bool {
        let block = block_of(dest.lid);
        let keeps = |kept: &KeptSwitch| kept.lft_blocks.contains_key(&block);
        let drops = entry == PortNum::DROP;
        self.switches.get(&at).is_some_and(keeps)
            || (drops && self.switches.values().any(keeps))
            || (drops && [from, dest.switch].iter().any(|s| self.cut_off.contains(s)))
    }

    /// LIDs that some switch with end ports does not reach because of kept entries, ascending.
    #[must_use]
    pub fn unreachable_lids(&self, topo: &Topology, tables: &Tables) -> Vec<Lid> {
        let blocks: BTreeSet<u16> = self
            .switches
            .values()
            .flat_map(|k| k.lft_blocks.keys())
            .copied()
            .collect();
        let of_blocks = topo
            .destinations()
            .iter()
            .filter(|d| blocks.contains(&block_of(d.lid)) || self.cut_off.contains(&d.switch));
        let is_lost = |d: &&Destination| {
            topo.switches()
                .any(|from| !topo.end_ports(from).is_empty() && !reaches(topo, tables, from, d))
        };
        of_blocks.filter(is_lost).map(|d| d.lid).collect()
    }
}

impl KeptSwitch {
    /// Whether packets on SL 0 pass between the end ports of the switch, and between these and the
    /// link at a port.
    fn passes_sl_0(&self, topo: &Topology, s: SwitchIdx, link: Option<PortNum>) -> bool {
        self.sl_to_vl.as_ref().is_none_or(|maps| {
            let passes = |input, output| maps.get(input, output)[0] < topo.vls(s, output);
            let end_ports = || topo.end_ports(s).iter().map(|e| e.port);
            end_ports().all(|port| {
                let mut others = end_ports().filter(|other| *other != port).chain(link);
                others.all(|other| passes(port, other))
                    && link.is_none_or(|link| passes(link, port))
            })
        })
    }
}

/// Input ports of packets for an output of a switch.
fn inputs(topo: &Topology, s: SwitchIdx, output: PortNum) -> impl Iterator<Item = PortNum> + '_ {
    let links = topo.links(s).iter().map(|l| l.port);
    let end_ports = topo.end_ports(s).iter().map(|e| e.port);
    let inputs = core::iter::once(PortNum::ZERO)
        .chain(links)
        .chain(end_ports);
    inputs.filter(move |input| *input != output)
}

fn block_of(lid: Lid) -> u16 {
    index_to_u16(usize::from(lid.raw()) / BLOCK_LIDS)
}

/// Whether packets from a switch reach a LID.
fn reaches(topo: &Topology, tables: &Tables, from: SwitchIdx, d: &Destination) -> bool {
    let mut at = from;
    for _ in 0..=tables.len() {
        let port = tables[at.index()].get(d.lid);
        if at == d.switch {
            return port == d.port;
        }
        let Some((next, _)) = topo.neighbor(at, port) else {
            return false;
        };
        at = next;
    }
    false
}

/// Sets the kept entries of a switch. If one leads elsewhere than the planned one, and packets are
/// lost or loop there, all switches whose routes lead through the switch drop packets to that LID.
fn apply_lft(
    topo: &Topology,
    tables: &mut Tables,
    s: SwitchIdx,
    blocks: &BTreeMap<u16, [u8; BLOCK_LIDS]>,
) {
    let Some(planned) = tables.get(s.index()).cloned() else {
        return;
    };
    let mut entries = planned.entries().to_vec();
    for (&block, kept) in blocks {
        let first = usize::from(block) * BLOCK_LIDS;
        let used = kept.iter().rposition(|port| *port != PortNum::DROP.raw());
        let end = used.map_or(0, |last| first + last + 1);
        if entries.len() < end {
            entries.resize(end, PortNum::DROP.raw());
        }
        for (entry, port) in entries.iter_mut().skip(first).zip(kept) {
            *entry = *port;
        }
    }
    let kept = Arc::new(Lft::from_entries(entries));
    if kept == planned {
        return;
    }
    tables[s.index()] = Arc::clone(&kept);
    for d in topo
        .destinations()
        .iter()
        .filter(|d| kept.get(d.lid) != planned.get(d.lid))
    {
        if reaches(topo, tables, s, d) {
            continue;
        }
        let passes = |tables: &Tables, from: SwitchIdx| {
            let mut at = from;
            for _ in 0..tables.len() {
                if at == s {
                    return true;
                }
                let Some((next, _)) = topo.neighbor(at, tables[at.index()].get(d.lid)) else {
                    return false;
                };
                at = next;
            }
            true
        };
        let through: Vec<SwitchIdx> = topo
            .switches()
            .filter(|&from| from != s && from != d.switch && passes(tables, from))
            .collect();
        for from in through {
            Arc::make_mut(&mut tables[from.index()]).set(d.lid, PortNum::DROP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::engine_by_name;
    use crate::request::RoutingRequest;
    use crate::select::route_with;
    use crate::topology::TopologyBuilder;
    use crate::verify::verify_with_kept;

    const SIDE: u32 = 4;
    const KEEPER: SwitchIdx = SwitchIdx(5);

    /// A torus of 16 switches with LIDs 1 to 16 and a host each, with LIDs 64 to 79.
    fn torus() -> Topology {
        let mut b = TopologyBuilder::new();
        let lid = |base: u16, i: u32| Lid(base + u16::try_from(i).unwrap());
        let s: Vec<SwitchIdx> = (0..SIDE * SIDE).map(|i| b.switch(5, lid(1, i))).collect();
        for i in 0..SIDE * SIDE {
            let x = i % SIDE;
            let y = i / SIDE;
            let east = s[(y * SIDE + (x + 1) % SIDE) as usize];
            let south = s[((y + 1) % SIDE * SIDE + x) as usize];
            b.link((s[i as usize], PortNum(1)), (east, PortNum(2)));
            b.link((s[i as usize], PortNum(3)), (south, PortNum(4)));
            b.end_port((s[i as usize], PortNum(5)), lid(64, i), 1);
        }
        b.build()
    }

    fn keeping(kept: KeptSwitch) -> KeptTables {
        let mut tables = KeptTables::default();
        tables.insert(KEEPER, kept);
        tables
    }

    /// Every engine in turn routes around a switch that keeps the LFT of another engine.
    #[test]
    fn routing_with_a_kept_lft_has_its_entries_and_is_verified() {
        let topo = torus();
        for before in ["updn", "nue", "dfsssp", "dor"] {
            let engine = engine_by_name(before).unwrap();
            let old = engine.route(&RoutingRequest::new(&topo)).unwrap();
            let lft = &old.tables[KEEPER.index()];
            let lft_blocks = (0..lft.num_blocks()).map(|block| (block, lft.block(block)));
            let kept = keeping(KeptSwitch {
                lft_blocks: lft_blocks.collect(),
                sl_to_vl: None,
            });
            for after in ["updn", "nue", "dfsssp", "lash", "auto"] {
                let request = RoutingRequest::new(&topo).with_kept(&kept);
                let (routing, proof) = route_with(&[after], &request).chosen.unwrap();
                assert_eq!(routing.tables[KEEPER.index()], *lft, "{before} {after}");
                assert_eq!(proof.kept_unreachable, 0, "{before} {after}");
                let tables = &routing.tables;
                let vl_plan = &routing.vl_plan;
                verify_with_kept(&topo, tables, vl_plan, &kept).unwrap();
                assert!(kept.are_in(&topo, &routing));
            }
        }
    }

    /// Kept entries that drop packets: hosts of this switch do not reach the LIDs, all others do.
    /// If the switch drops packets to its own host, nobody reaches that.
    #[test]
    fn lids_that_a_kept_lft_loses_are_named() {
        let topo = torus();
        let engine = engine_by_name("updn").unwrap();
        let old = engine.route(&RoutingRequest::new(&topo)).unwrap();
        for (lid, lost_pairs) in [(70, 1), (64 + 5, 16)] {
            let mut block = old.tables[KEEPER.index()].block(1);
            block[lid - 64] = PortNum::DROP.raw();
            let kept = keeping(KeptSwitch {
                lft_blocks: BTreeMap::from([(1, block)]),
                sl_to_vl: None,
            });
            let request = RoutingRequest::new(&topo).with_kept(&kept);
            let (routing, proof) = route_with(&["auto"], &request).chosen.unwrap();
            assert_eq!(proof.kept_unreachable, lost_pairs);
            let lost = kept.unreachable_lids(&topo, &routing.tables);
            assert_eq!(lost, [Lid(u16::try_from(lid).unwrap())]);
        }
    }

    /// A switch in the middle of a chain keeps an LFT without the LID of a new host at one end:
    /// only the new host is not reached from the other end.
    #[test]
    fn kept_lft_of_a_cut_switch_loses_only_its_missing_lids() {
        let mut b = TopologyBuilder::new();
        let s: Vec<SwitchIdx> = (1..=3).map(|lid| b.switch(4, Lid(lid))).collect();
        b.link((s[0], PortNum(1)), (s[1], PortNum(1)));
        b.link((s[1], PortNum(2)), (s[2], PortNum(1)));
        for (i, lid) in [64, 65, 66].into_iter().enumerate() {
            b.end_port((s[i], PortNum(3)), Lid(lid), 1);
        }
        b.end_port((s[2], PortNum(4)), Lid(67), 1);
        let topo = b.build();
        let engine = engine_by_name("updn").unwrap();
        let old = engine.route(&RoutingRequest::new(&topo)).unwrap();
        let mut block = old.tables[1].block(1);
        block[3] = PortNum::DROP.raw();
        let mut kept = KeptTables::default();
        kept.insert(
            s[1],
            KeptSwitch {
                lft_blocks: BTreeMap::from([(1, block)]),
                sl_to_vl: None,
            },
        );
        let request = RoutingRequest::new(&topo).with_kept(&kept);
        let (routing, proof) = route_with(&["auto"], &request).chosen.unwrap();
        assert_eq!(kept.unreachable_lids(&topo, &routing.tables), [Lid(67)]);
        assert_eq!(proof.kept_unreachable, 2);
        assert_eq!(routing.tables[0].get(Lid(67)), PortNum::DROP);
    }

    /// SLtoVL tables of another plan, of one VL, and tables that drop all SLs but one.
    #[test]
    fn routing_with_kept_sl_to_vl_tables_is_verified() {
        type SlMap = fn(u8) -> u8;
        let topo = torus();
        let maps = |map: SlMap| {
            let sls = core::array::from_fn(|sl| map(u8::try_from(sl).unwrap()));
            SlToVlMaps::uniform(5, sls)
        };
        let tables: [(&str, SlMap); 4] = [
            ("SL", |sl| sl.min(14)),
            ("modulo 2", |sl| sl % 2),
            ("VL 0", |_| 0),
            ("VL 3", |_| 3),
        ];
        for (name, map) in tables {
            let kept = keeping(KeptSwitch {
                lft_blocks: BTreeMap::new(),
                sl_to_vl: Some(maps(map)),
            });
            for engine in ["auto", "nue", "dfsssp", "lash", "torus-2QoS", "updn"] {
                let request = RoutingRequest::new(&topo).with_kept(&kept).with_vls(8);
                let selection = route_with(&[engine], &request);
                let (routing, _) = selection
                    .chosen
                    .unwrap_or_else(|| panic!("{name} {engine}"));
                let used = routing.vl_plan.path_sl.used_sls();
                for output in (1..=5).map(PortNum) {
                    for input in (0..=5).map(PortNum).filter(|i| *i != output) {
                        let planned = routing.vl_plan.map(&topo, KEEPER, input, output);
                        for sl in (0..16_u8).filter(|sl| used >> sl & 1 == 1) {
                            assert_eq!(planned[usize::from(sl)], map(sl), "{name} {engine}");
                        }
                    }
                }
            }
        }
    }

    /// The SLtoVL tables of a switch drop all packets: its end ports are not reached, all others
    /// are.
    #[test]
    fn end_ports_behind_sl_to_vl_tables_that_drop_everything_are_cut_off() {
        let topo = torus();
        for engine in ["auto", "nue", "lash"] {
            let kept = keeping(KeptSwitch {
                lft_blocks: BTreeMap::new(),
                sl_to_vl: Some(SlToVlMaps::uniform(5, [DATA_VLS_MAX; SLS])),
            })
            .with_cut_off_switches(&topo);
            let request = RoutingRequest::new(&topo).with_kept(&kept).with_vls(8);
            let (routing, proof) = route_with(&[engine], &request).chosen.unwrap();
            assert_ne!(proof.kept_unreachable, 0, "{engine}");
            let lost = kept.unreachable_lids(&topo, &routing.tables);
            assert_eq!(lost, [5 + 1, 64 + 5].map(Lid), "{engine}");
            for d in topo.destinations().iter().filter(|d| d.switch != KEEPER) {
                let mut others = topo.switches().filter(|from| *from != KEEPER);
                let reached = others.all(|from| reaches(&topo, &routing.tables, from, d));
                assert!(reached, "{engine}");
            }
        }
    }
}
