//! Tables that switches keep because they reject writes. They are a constraint on the routing.
//!
//! A routing is computed as usual; then [`KeptTables::apply`] replaces what the switches keep, and the result is verified with it. If
//! no engine passes in this way, no route leads through these switches any more ([`KeptTables::views`]): each has one link, which only
//! its own end ports use. A channel that leaves such a switch depends on no other channel, whatever its tables are, so it is part of no
//! credit loop.
//!
//! Packets that a kept LFT entry would lose do not travel: all switches whose routes lead through the entry drop them. Verification
//! counts these pairs ([`crate::Proof::kept_unreachable`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::engine::Routing;
use crate::tables::{BLOCK_LIDS, Lft, Tables};
use crate::topology::{DATA_VLS_MAX, Destination, SwitchIdx, Topology};
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
pub struct KeptTables(BTreeMap<SwitchIdx, KeptSwitch>);

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
        self.0.insert(s, kept);
    }

    /// Whether no switch keeps a table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The switches that keep tables.
    pub fn switches(&self) -> impl Iterator<Item = SwitchIdx> + '_ {
        self.0.keys().copied()
    }

    /// The graphs for which engines are tried, in this order. An LFT that is kept usually fits no routing that leads through its switch.
    pub(crate) fn views(&self, topo: &Topology) -> Vec<(KeptSwitchUse, Topology)> {
        let full = (KeptSwitchUse::Transit, topo.clone());
        if self.is_empty() {
            return vec![full];
        }
        let one_link = self.0.iter().map(|(&s, kept)| (s, self.home_port(topo, s, kept)));
        let one_link = topo.with_limited(&one_link.collect());
        let one_link = (KeptSwitchUse::EndPortsOnly, one_link);
        if self.0.values().any(|kept| !kept.lft_blocks.is_empty()) {
            vec![one_link, full]
        } else {
            vec![full, one_link]
        }
    }

    /// The only link of a switch in [`KeptSwitchUse::EndPortsOnly`]: the one to which most kept entries lead, preferably not to another
    /// switch that keeps tables.
    fn home_port(&self, topo: &Topology, s: SwitchIdx, kept: &KeptSwitch) -> Option<PortNum> {
        let entries = |port: PortNum| {
            let entries = kept.lft_blocks.values().flatten();
            entries.filter(|entry| **entry == port.raw()).count()
        };
        let is_passable = |port: PortNum| {
            let maps = kept.sl_to_vl.as_ref();
            maps.is_none_or(|maps| {
                let mut hosts = topo.end_ports(s).iter();
                hosts.all(|host| {
                    maps.get(host.port, port)[0] < topo.vls(s, port)
                        && maps.get(port, host.port)[0] < topo.vls(s, host.port)
                })
            })
        };
        let links = topo.links(s).iter();
        let best = links.max_by_key(|link| {
            let is_other = !self.0.contains_key(&link.peer);
            let lowest_first = u8::MAX - link.port.raw();
            (is_passable(link.port), is_other, entries(link.port), lowest_first)
        });
        best.map(|link| link.port)
    }

    /// Data VLs up to which every SLtoVL table that is kept has VL = SL, at least 1.
    pub(crate) fn identity_vls(&self, topo: &Topology) -> u8 {
        let mut vls = DATA_VLS_MAX;
        for (&s, kept) in &self.0 {
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
        for (&s, kept) in &self.0 {
            if !kept.lft_blocks.is_empty() {
                apply_lft(topo, &mut routing.tables, s, &kept.lft_blocks);
            }
        }
        self.apply_sl_to_vl(topo, &mut routing.vl_plan);
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
        let used = plan.path_sl.used_sls() | ((1u32 << plan.vls.min(15)) - 1) as u16;
        let mut differing: BTreeMap<SwitchIdx, SlToVlMaps> = BTreeMap::new();
        let mut vls = plan.vls;
        for (&s, kept) in &self.0 {
            let Some(maps) = kept.sl_to_vl.as_ref().filter(|_| s.index() < topo.num_switches())
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
                    let operated = |vl: u8| if vl < topo.vls(s, output) { vl } else { DATA_VLS_MAX };
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

    /// Whether packets to a LID may be lost at a switch: it keeps the entry, or drops packets that another switch would lose.
    pub(crate) fn excuses(&self, at: SwitchIdx, entry: PortNum, lid: Lid) -> bool {
        let block = block_of(lid);
        let keeps = |kept: &KeptSwitch| kept.lft_blocks.contains_key(&block);
        self.0.get(&at).is_some_and(keeps)
            || (entry == PortNum::DROP && self.0.values().any(keeps))
    }

    /// LIDs that some switch with end ports does not reach because of kept entries, ascending.
    #[must_use]
    pub fn unreachable_lids(&self, topo: &Topology, tables: &Tables) -> Vec<Lid> {
        let blocks: BTreeSet<u16> = self.0.values().flat_map(|k| k.lft_blocks.keys()).copied().collect();
        let of_blocks = topo.destinations().iter();
        let of_blocks = of_blocks.filter(|d| blocks.contains(&block_of(d.lid)));
        let is_lost = |d: &&Destination| {
            topo.switches().any(|from| {
                !topo.end_ports(from).is_empty() && !reaches(topo, tables, from, d)
            })
        };
        of_blocks.filter(is_lost).map(|d| d.lid).collect()
    }
}

/// Input ports of packets for an output of a switch.
fn inputs(topo: &Topology, s: SwitchIdx, output: PortNum) -> impl Iterator<Item = PortNum> + '_ {
    let links = topo.links(s).iter().map(|l| l.port);
    let end_ports = topo.end_ports(s).iter().map(|e| e.port);
    let inputs = core::iter::once(PortNum::ZERO).chain(links).chain(end_ports);
    inputs.filter(move |input| *input != output)
}

fn block_of(lid: Lid) -> u16 {
    lid.raw() / BLOCK_LIDS as u16
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

/// Sets the kept entries of a switch. If one leads elsewhere than the planned one, and packets are lost or loop there, all switches whose
/// routes lead through the switch drop packets to that LID.
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
    let changed = topo.destinations().iter();
    for d in changed.filter(|d| kept.get(d.lid) != planned.get(d.lid)) {
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
