//! Unicast delivery: follows packets by the LFTs, checks their VLs, and records channel
//! dependencies.
//!
//! Routing depends on the destination alone, so the paths to a LID form a tree and each switch is
//! visited once per LID. The VL of a hop depends on SL, input port and output port. The check
//! therefore propagates, from the sources towards the LID, the VLs on which packets of each SL
//! leave a switch.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::Verdict;
use super::channel_dependencies::ChannelDependencies;
use super::expectations::{Expectations, Traffic};
use super::links::LidOwners;
use super::scope::{LinkPeer, Scope};
use super::violation::{DeliveryFailure, Violation};
use super::vl_map::{Injector, VlMap};
use crate::spec::{NodeIdx, PortAt};

/// Delivery state of packets that start at a switch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The switch is on the path that is being followed.
    InProgress,
    /// Packets are delivered.
    Delivered,
    /// Packets are dropped, misdelivered, or loop.
    Failed,
}

/// A switch in the tree towards the current LID.
#[derive(Clone, Copy)]
struct TreeNode {
    /// LID for which the other fields are valid.
    lid: u16,
    delivery: Delivery,
    egress: PortNum,
    /// Input port of the next switch; `None` if the packet is delivered here.
    next: Option<PortAt>,
    /// SLs that map to an active VL on all hops from the next switch on (bit mask).
    open_sls: u16,
    /// SLs of packets that leave for the next switch (bit mask).
    used_sls: u16,
    /// By SL: VLs on which its packets leave (bit mask).
    vls: [u16; 16],
}

const UNVISITED: TreeNode = TreeNode {
    lid: 0,
    delivery: Delivery::Failed,
    egress: PortNum::DROP,
    next: None,
    open_sls: 0,
    used_sls: 0,
    vls: [0; 16],
};

/// The tree of paths to the current LID.
struct DeliveryTree<'a, 's> {
    scope: &'a Scope<'s>,
    vl_map: &'a VlMap,
    tree: Vec<TreeNode>,
    /// Switches of the tree, ordered by distance from the LID.
    order: Vec<NodeIdx>,
    path: Vec<NodeIdx>,
    lid: u16,
    owner: PortAt,
}

/// Switch, input port, output port and SL of a hop that maps the SL to no active VL.
type HopWithoutVl = (NodeIdx, u8, u8, u8);

/// SLs in use, and SLs without an active VL.
#[derive(Default)]
pub(super) struct VlFindings {
    /// SLs in use (bit mask).
    pub(super) used_sls: u16,
    /// By hop: number of unreachable LIDs, the first of them, and an end port that sends to it.
    hops_without_vl: BTreeMap<HopWithoutVl, (usize, u16, PortAt)>,
    /// End ports with an SL on which they cannot send.
    sources_without_vl: BTreeSet<(PortAt, u8)>,
}

impl VlFindings {
    /// Records a hop that maps an SL in use to no active VL.
    pub(super) fn record_hop_without_vl(&mut self, hop: HopWithoutVl, lid: Lid, source: PortAt) {
        let first = || (0, lid.raw(), source);
        self.hops_without_vl.entry(hop).or_insert_with(first).0 += 1;
    }

    /// Records an end port that maps an SL in use to no active VL.
    pub(super) fn record_source_without_vl(&mut self, end_port: PortAt, sl: u8) {
        self.sources_without_vl.insert((end_port, sl));
    }

    pub(super) fn report(self, scope: &Scope<'_>, vl_map: &VlMap, verdict: &mut Verdict) {
        for (end, sl) in self.sources_without_vl {
            let Some(slot) = scope.slot(end) else {
                continue;
            };
            let table = vl_map.table_for(slot, 0);
            verdict.violations.push(Violation::NoSourceVl {
                port: scope.state.name(end),
                sl: Sl(sl),
                vl: table.vl[usize::from(sl)],
                data_vls: table.data_vls,
            });
        }
        for ((node, input, output, sl), (lids, lid, source)) in self.hops_without_vl {
            let Some(slot) = scope.slot(PortAt { node, port: output }) else {
                continue;
            };
            let table = vl_map.table_for(slot, input);
            verdict.violations.push(Violation::NoVl {
                switch: scope.state.nodes[node].name.clone(),
                input: PortNum(input),
                output: PortNum(output),
                sl: Sl(sl),
                vl: table.vl[usize::from(sl)],
                data_vls: table.data_vls,
                lids,
                lid: Lid(lid),
                source_port: scope.state.name(source),
            });
        }
    }
}

/// Indices of the bits that are set, ascending.
pub(super) fn bits(mask: u16) -> impl Iterator<Item = u8> {
    let mut remaining = mask;
    std::iter::from_fn(move || {
        let bit = u8::try_from(remaining.trailing_zeros()).unwrap_or(16);
        remaining &= remaining.wrapping_sub(1);
        (bit < 16).then_some(bit)
    })
}

impl DeliveryTree<'_, '_> {
    /// Follows a packet from a switch.
    fn follow(&mut self, start: NodeIdx) -> Delivery {
        let mut at = start;
        self.path.clear();
        let outcome = loop {
            let node_state = &mut self.tree[at];
            if node_state.lid == self.lid {
                break match node_state.delivery {
                    Delivery::Delivered => Delivery::Delivered,
                    Delivery::InProgress | Delivery::Failed => Delivery::Failed,
                };
            }
            (node_state.lid, node_state.delivery, node_state.used_sls) =
                (self.lid, Delivery::InProgress, 0);
            self.path.push(at);
            let (egress, step) = self.next_hop(at);
            let node_state = &mut self.tree[at];
            node_state.egress = egress;
            node_state.next = None;
            match step {
                Ok(Some(next)) => {
                    node_state.next = Some(next);
                    at = next.node;
                }
                Ok(None) => break Delivery::Delivered,
                Err(_) => break Delivery::Failed,
            }
        };
        for node in &self.path {
            self.tree[*node].delivery = outcome;
        }
        self.order.extend(self.path.drain(..).rev());
        outcome
    }

    /// Output port, and the input port of the next switch; `None` if the packet is delivered.
    fn next_hop(&self, node: NodeIdx) -> (PortNum, Result<Option<PortAt>, Stop>) {
        let egress = self.scope.state.nodes[node].egress(self.lid);
        let port = egress.raw();
        let local = PortAt { node, port };
        let step = if egress == PortNum::DROP {
            Err(Stop::Dropped)
        } else if egress == PortNum::ZERO {
            if local == self.owner {
                Ok(None)
            } else {
                Err(Stop::WrongEndPort(local))
            }
        } else {
            match self.scope.peer_of(local) {
                LinkPeer::Switch(next) => Ok(Some(next)),
                LinkPeer::EndPort(end) if end == self.owner => Ok(None),
                LinkPeer::EndPort(end) => Err(Stop::WrongEndPort(end)),
                LinkPeer::None => Err(Stop::Unconnected(egress)),
            }
        };
        (egress, step)
    }

    /// Follows a packet from a switch to find why it is not delivered.
    fn explain_failure(&self, start: NodeIdx) -> DeliveryFailure {
        let state = self.scope.state;
        let name = |node: NodeIdx| state.nodes[node].name.clone();
        let mut passed = vec![false; state.nodes.len()];
        let mut at = start;
        while !passed[at] {
            passed[at] = true;
            match self.next_hop(at).1 {
                Ok(Some(next)) => at = next.node,
                Ok(None) => break,
                Err(Stop::Dropped) => return DeliveryFailure::Dropped(name(at)),
                Err(Stop::Unconnected(port)) => {
                    return DeliveryFailure::UnconnectedPort {
                        switch: name(at),
                        port,
                    };
                }
                Err(Stop::WrongEndPort(end)) => {
                    return DeliveryFailure::WrongEndPort {
                        switch: name(at),
                        end: state.name(end),
                    };
                }
            }
        }
        DeliveryFailure::Loop(name(at))
    }

    /// SLs that map to an active VL from an input port to the output port for the current LID.
    fn usable_sls_at(&self, at: PortAt) -> u16 {
        let egress = self.tree[at.node].egress;
        let out = PortAt {
            node: at.node,
            port: egress.raw(),
        };
        match self.scope.slot(out) {
            // Within a switch no VL is used.
            Some(slot) if egress != PortNum::ZERO => {
                self.vl_map.table_for(slot, at.port).usable_sls
            }
            _ => u16::MAX,
        }
    }

    /// Computes `open_sls` of all switches of the tree.
    fn compute_open_sls(&mut self) {
        for index in 0..self.order.len() {
            let node = self.order[index];
            let node_state = &self.tree[node];
            let open_sls = match node_state.next {
                _ if node_state.delivery != Delivery::Delivered => 0,
                None => u16::MAX,
                Some(next) => self.usable_sls_at(next) & self.tree[next.node].open_sls,
            };
            self.tree[node].open_sls = open_sls;
        }
    }

    /// Adds packets that enter the tree by a switch port. Returns the SLs on which they are
    /// delivered.
    fn inject(&mut self, by: PortAt, sls: u16) -> u16 {
        let sls = sls & self.usable_sls_at(by) & self.tree[by.node].open_sls;
        let node_state = &mut self.tree[by.node];
        let out = PortAt {
            node: by.node,
            port: node_state.egress.raw(),
        };
        if node_state.next.is_some()
            && let Some(slot) = self.scope.slot(out)
        {
            let table = self.vl_map.table_for(slot, by.port);
            for sl in bits(sls).map(usize::from) {
                if node_state.used_sls >> sl & 1 == 0 {
                    node_state.used_sls |= 1 << sl;
                    node_state.vls[sl] = 0;
                }
                node_state.vls[sl] |= 1 << table.vl[sl];
            }
        }
        sls
    }

    /// Propagates the VLs in use towards the LID and records the channel dependencies.
    fn propagate_vls(&mut self, channels: &mut ChannelDependencies<'_, '_>) {
        for node in self.order.iter().rev().copied() {
            let TreeNode {
                used_sls,
                egress,
                next,
                vls,
                ..
            } = self.tree[node];
            let Some(next) = next.filter(|_| used_sls != 0) else {
                continue;
            };
            let next_node = &mut self.tree[next.node];
            let out = PortAt {
                node: next.node,
                port: next_node.egress.raw(),
            };
            let Some(slot) = self.scope.slot(out).filter(|_| next_node.next.is_some()) else {
                continue;
            };
            let table = self.vl_map.table_for(slot, next.port);
            let port = egress.raw();
            for sl in bits(used_sls).map(usize::from) {
                let vl = table.vl[sl];
                for from in bits(vls[sl]) {
                    channels.add(PortAt { node, port }, from, out.port, vl);
                }
                if next_node.used_sls >> sl & 1 == 0 {
                    next_node.used_sls |= 1 << sl;
                    next_node.vls[sl] = 0;
                }
                next_node.vls[sl] |= 1 << vl;
            }
        }
    }

    /// The first hop from an input port that maps `sl` to no active VL.
    fn first_hop_without_vl(&self, by: PortAt, sl: u8) -> Option<HopWithoutVl> {
        let mut at = by;
        // A delivered packet does not loop, so its path is at most as long as the tree.
        for _ in 0..=self.order.len() {
            if self.usable_sls_at(at) >> sl & 1 == 0 {
                let egress = self.tree[at.node].egress.raw();
                return Some((at.node, at.port, egress, sl));
            }
            at = self.tree[at.node].next?;
        }
        None
    }
}

/// Why a packet is not forwarded.
enum Stop {
    Dropped,
    Unconnected(PortNum),
    WrongEndPort(PortAt),
}

/// Checks unicast delivery and records channel dependencies.
pub(super) fn check(
    scope: &Scope<'_>,
    expect: &Expectations,
    vl_map: &VlMap,
    owners: &LidOwners,
    channels: &mut ChannelDependencies<'_, '_>,
    verdict: &mut Verdict,
) -> VlFindings {
    let edges: Vec<NodeIdx> = scope
        .switches
        .iter()
        .copied()
        .filter(|s| scope.is_edge[*s])
        .collect();
    // Without hosts, packets between switches are checked.
    let default_sources = if edges.is_empty() {
        &scope.switches
    } else {
        &edges
    };
    let mut injectors: Vec<Vec<Injector>> = vec![Vec::new(); scope.state.nodes.len()];
    for node in &scope.switches {
        let port0 = expect.port0_traffic || edges.is_empty();
        injectors[*node] = vl_map.injectors(scope, *node, port0);
    }
    let mut findings = VlFindings::default();
    let mut deliveries = DeliveryTree {
        scope,
        vl_map,
        tree: vec![UNVISITED; scope.state.nodes.len()],
        order: Vec::new(),
        path: Vec::new(),
        lid: 0,
        owner: expect.sm,
    };
    for (lid, owner) in (0u16..).zip(owners) {
        let Some(owner) = *owner else { continue };
        (deliveries.lid, deliveries.owner) = (lid, owner);
        deliveries.order.clear();
        let to_switch = scope.state.nodes[owner.node].is_switch();
        let sources = if expect.port0_traffic && !to_switch {
            &scope.switches
        } else {
            default_sources
        };
        let mut failing = Vec::new();
        for source in sources {
            if deliveries.follow(*source) != Delivery::Delivered {
                failing.push(*source);
            }
        }
        deliveries.compute_open_sls();
        for source in sources {
            if deliveries.tree[*source].delivery == Delivery::Delivered {
                inject_from_switch(
                    &mut deliveries,
                    &injectors[*source],
                    *source,
                    expect,
                    &mut findings,
                );
            }
        }
        deliveries.propagate_vls(channels);
        let mut checked = sources.len();
        if expect.switches_reach_master && owner == expect.master && checked < scope.switches.len()
        {
            checked = scope.switches.len();
            for source in &scope.switches {
                if !scope.is_edge[*source] && deliveries.follow(*source) != Delivery::Delivered {
                    failing.push(*source);
                }
            }
        }
        // A switch drops packets to LIDs that its LFT cannot hold: those of its end ports, and
        // those to them.
        let cannot_hold = |node: NodeIdx| scope.state.nodes[node].lft_entries() <= lid;
        let is_unreachable = scope.switch_of(owner).is_some_and(cannot_hold);
        failing.retain(|source| !is_unreachable && !cannot_hold(*source));
        if let Some(first) = failing.first() {
            verdict.violations.push(Violation::Undelivered {
                lid: Lid(lid),
                port: scope.state.name(owner),
                failing: failing.len(),
                sources: checked,
                example: scope.state.nodes[*first].name.clone(),
                why: deliveries.explain_failure(*first),
            });
        }
    }
    findings
}

/// Adds packets from the end ports of a switch to the current LID.
fn inject_from_switch(
    deliveries: &mut DeliveryTree<'_, '_>,
    injectors: &[Injector],
    node: NodeIdx,
    expect: &Expectations,
    findings: &mut VlFindings,
) {
    let egress = deliveries.tree[node].egress;
    for injector in injectors {
        match &expect.traffic {
            Traffic::OneSl(sl) => {
                inject_one(deliveries, node, egress, *sl, injector, findings);
            }
            Traffic::Unknown => inject_one(deliveries, node, egress, Sl(0), injector, findings),
            Traffic::PerPath(table) => {
                // Ports of one injector have equal tables, so one port per SL suffices.
                let mut done_sls = 0u16;
                for (port, end) in injector.ports.iter().zip(&injector.ends) {
                    if *port != egress.raw()
                        && let Some(sl) = table.sl(*end, Lid(deliveries.lid))
                        && done_sls >> (sl.raw() & 0xF) & 1 == 0
                    {
                        done_sls |= 1 << (sl.raw() & 0xF);
                        let by = PortAt { node, port: *port };
                        inject_on_sl(deliveries, by, *end, sl, injector, findings);
                    }
                }
            }
            Traffic::AllSls => {
                if let Some((port, _)) = injector.source_avoiding(egress) {
                    findings.used_sls |=
                        deliveries.inject(PortAt { node, port }, injector.usable_sls);
                }
            }
        }
    }
}

/// Adds packets from one of the injector's end ports to the current LID on one SL.
fn inject_one(
    deliveries: &mut DeliveryTree<'_, '_>,
    node: NodeIdx,
    egress: PortNum,
    sl: Sl,
    injector: &Injector,
    findings: &mut VlFindings,
) {
    if let Some((port, end)) = injector.source_avoiding(egress) {
        inject_on_sl(
            deliveries,
            PortAt { node, port },
            end,
            sl,
            injector,
            findings,
        );
    }
}

/// Adds packets from an end port to the current LID on one SL.
fn inject_on_sl(
    deliveries: &mut DeliveryTree<'_, '_>,
    by: PortAt,
    end_port: PortAt,
    sl: Sl,
    injector: &Injector,
    findings: &mut VlFindings,
) {
    let sl = sl.raw() & 0xF;
    let bit = 1 << sl;
    findings.used_sls |= bit;
    if injector.usable_sls & bit == 0 {
        findings.record_source_without_vl(end_port, sl);
    } else if deliveries.inject(by, bit) == 0
        && let Some(hop) = deliveries.first_hop_without_vl(by, sl)
    {
        findings.record_hop_without_vl(hop, Lid(deliveries.lid), end_port);
    }
}
