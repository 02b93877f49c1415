//! Multicast delivery: each member receives exactly one copy of a packet, other end ports receive
//! none.
//!
//! A switch copies a packet to all ports of its MFT entry except the input port. At each switch,
//! the check follows one packet for all senders with equal SLtoVL tables ([`Injector`]) and records
//! its channel dependencies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::Verdict;
use super::channel_dependencies::ChannelDependencies;
use super::delivery::VlFindings;
use super::expectations::{Expectations, ExpectedGroup};
use super::scope::{LinkPeer, Scope};
use super::violation::MulticastFault;
use super::vl_map::{Injector, VlMap};
use crate::spec::{NodeIdx, PortAt};

/// State shared by all followed packets.
struct MulticastCheck<'a, 's> {
    scope: &'a Scope<'s>,
    vl_map: &'a VlMap,
    /// By node: the ports through which end ports send.
    injectors: Vec<Vec<Injector>>,
    /// By node: number of the packet that last reached it.
    last_visit: Vec<u32>,
    /// By slot: number of the packet that last reached it, and how many copies of that packet
    /// reached it.
    copies: Vec<(u32, u32)>,
    /// Number of the packet being followed; 0 before the first.
    packet: u32,
}

/// Excess copies of one packet.
#[derive(Default)]
struct CopyFaults {
    /// An end port that received more than one copy.
    duplicate_at: Option<PortAt>,
    /// A switch that the packet reached more than once.
    revisited: Option<NodeIdx>,
}

/// Checks multicast delivery and records channel dependencies.
pub(super) fn check(
    scope: &Scope<'_>,
    expect: &Expectations,
    vl_map: &VlMap,
    channels: &mut ChannelDependencies<'_, '_>,
    findings: &mut VlFindings,
    verdict: &mut Verdict,
) {
    let mut switches_by_mlid: BTreeMap<Lid, Vec<NodeIdx>> = BTreeMap::new();
    for node in &scope.switches {
        for mlid in scope.state.nodes[*node].mft.keys() {
            switches_by_mlid.entry(*mlid).or_default().push(*node);
        }
        check_mft_top(scope, *node, verdict);
    }
    let expected = expect.groups.as_deref().unwrap_or_default();
    let mut mlids: BTreeSet<Lid> = switches_by_mlid.keys().copied().collect();
    mlids.extend(expected.iter().map(|g| g.mlid));
    if mlids.is_empty() {
        return;
    }
    let mut check = MulticastCheck {
        scope,
        vl_map,
        injectors: vec![Vec::new(); scope.state.nodes.len()],
        last_visit: vec![0; scope.state.nodes.len()],
        copies: vec![(0, 0); scope.slots()],
        packet: 0,
    };
    for node in &scope.switches {
        check.injectors[*node] = vl_map.injectors(scope, *node, true);
    }
    for mlid in mlids {
        let switches = switches_by_mlid.remove(&mlid).unwrap_or_default();
        let groups: Vec<&ExpectedGroup> = expected.iter().filter(|g| g.mlid == mlid).collect();
        let group = if expect.groups.is_none() {
            group_from_tables(scope, mlid, &switches)
        } else if groups.is_empty() {
            let example = switches.first().map(|n| scope.state.nodes[*n].name.clone());
            let fault = MulticastFault::StaleMlid {
                mlid,
                switches: switches.len(),
                example: example.unwrap_or_default(),
            };
            verdict.violations.push(fault.into());
            continue;
        } else {
            merge_groups(scope, &groups)
        };
        check_entries(scope, &group, &switches, verdict);
        check.check_delivery(&group, channels, findings, verdict);
    }
}

/// Merges all groups of an MLID, without members outside of the scope, and those at a switch whose
/// MFT cannot hold the MLID.
fn merge_groups(scope: &Scope<'_>, groups: &[&ExpectedGroup]) -> ExpectedGroup {
    let mlid = groups[0].mlid;
    let can_hold = |node: NodeIdx| scope.state.nodes[node].can_hold_mlid(mlid);
    let is_in_scope = |at: &&PortAt| {
        scope.end_ports.binary_search(at).is_ok() && scope.switch_of(**at).is_none_or(can_hold)
    };
    let mut all = ExpectedGroup::new(mlid, []);
    all.sl = groups[0].sl;
    for group in groups {
        all.members.extend(group.members.iter().filter(is_in_scope));
        all.senders.extend(group.senders.iter().filter(is_in_scope));
    }
    all
}

/// A group whose members are the end ports in the MFT entries.
fn group_from_tables(scope: &Scope<'_>, mlid: Lid, switches: &[NodeIdx]) -> ExpectedGroup {
    let mut group = ExpectedGroup::new(mlid, []);
    for node in switches {
        for port in scope.state.nodes[*node].mft[&mlid].iter() {
            let at = PortAt { node: *node, port };
            match scope.peer_of(at) {
                _ if port == 0 => drop(group.members.insert(at)),
                LinkPeer::EndPort(end) => drop(group.members.insert(end)),
                LinkPeer::Switch(_) | LinkPeer::None => {}
            }
        }
    }
    group
}

fn check_mft_top(scope: &Scope<'_>, node: NodeIdx, verdict: &mut Verdict) {
    let snapshot = &scope.state.nodes[node];
    let top = snapshot.switch_info.multicast_fdb_top;
    if let Some((mlid, _)) = snapshot.mft.last_key_value()
        && snapshot.has_multicast_top()
        && mlid.raw() > top
    {
        let fault = MulticastFault::AboveTop {
            switch: snapshot.name.clone(),
            mlid: *mlid,
            top,
        };
        verdict.violations.push(fault.into());
    }
}

/// Checks that each port of an MFT entry leads to a switch, a member or a sender.
fn check_entries(
    scope: &Scope<'_>,
    group: &ExpectedGroup,
    switches: &[NodeIdx],
    verdict: &mut Verdict,
) {
    let mlid = group.mlid;
    for node in switches {
        let switch = || scope.state.nodes[*node].name.clone();
        for port in scope.state.nodes[*node].mft[&mlid].iter() {
            let at = PortAt { node: *node, port };
            let end = match scope.peer_of(at) {
                _ if port == 0 => at,
                LinkPeer::Switch(_) => continue,
                LinkPeer::EndPort(end) => end,
                LinkPeer::None => {
                    let switch = switch();
                    let port = PortNum(port);
                    let fault = MulticastFault::UnconnectedPort { mlid, switch, port };
                    verdict.violations.push(fault.into());
                    continue;
                }
            };
            if !group.members.contains(&end) && !group.senders.contains(&end) {
                let switch = switch();
                let end = scope.state.name(end);
                let fault = MulticastFault::NonMember { mlid, switch, end };
                verdict.violations.push(fault.into());
            }
        }
    }
}

impl MulticastCheck<'_, '_> {
    /// Checks that each member receives one copy of the packets of every other end port of the
    /// group.
    fn check_delivery(
        &mut self,
        group: &ExpectedGroup,
        channels: &mut ChannelDependencies<'_, '_>,
        findings: &mut VlFindings,
        verdict: &mut Verdict,
    ) {
        let mut loop_reported = false;
        let mut missed: Option<MulticastFault> = None;
        for node in self.sender_switches(group) {
            let injectors = std::mem::take(&mut self.injectors[node]);
            for injector in &injectors {
                let sends =
                    |end: &PortAt| group.members.contains(end) || group.senders.contains(end);
                let mut senders = injector.ports.iter().zip(&injector.ends);
                let Some((port, first)) = senders.find(|(_, end)| sends(end)) else {
                    continue;
                };
                let sl = group.sl.raw() & 0xF;
                if injector.usable_sls >> sl & 1 == 0 {
                    findings.record_source_without_vl(*first, sl);
                    continue;
                }
                findings.used_sls |= 1 << sl;
                let entry = PortAt { node, port: *port };
                let copies = self.follow_packet(entry, *first, group, channels, findings);
                let location = copies
                    .revisited
                    .map(|n| self.scope.state.nodes[n].name.clone());
                let duplicate = copies.duplicate_at.map(|end| self.scope.state.name(end));
                let location = location.or(duplicate);
                if let Some(location) = location.filter(|_| !loop_reported) {
                    loop_reported = true;
                    let fault = MulticastFault::Loop {
                        mlid: group.mlid,
                        sender: self.scope.state.name(*first),
                        location,
                    };
                    verdict.violations.push(fault.into());
                }
                missed = missed.or_else(|| self.find_missed_members(group, injector));
            }
            self.injectors[node] = injectors;
        }
        verdict.violations.extend(missed.map(Into::into));
    }

    /// The switches with senders of the group.
    fn sender_switches(&self, group: &ExpectedGroup) -> BTreeSet<NodeIdx> {
        let ends = group.members.iter().chain(&group.senders);
        let at = ends.filter_map(|end| match self.scope.peer_of(*end) {
            _ if self.scope.state.nodes[end.node].is_switch() => Some(end.node),
            LinkPeer::Switch(port) => Some(port.node),
            LinkPeer::EndPort(_) | LinkPeer::None => None,
        });
        at.collect()
    }

    /// Members without a copy of the packet that [`Self::follow_packet`] followed for the senders
    /// of `injector`. The fault names one of these senders, other than the member without a copy.
    fn find_missed_members(
        &self,
        group: &ExpectedGroup,
        injector: &Injector,
    ) -> Option<MulticastFault> {
        let sends = |end: &&PortAt| group.members.contains(*end) || group.senders.contains(*end);
        let received = |end: &PortAt| {
            let slot = self.scope.slot(*end);
            slot.is_some_and(|slot| self.copies[slot].0 == self.packet)
        };
        let without: Vec<&PortAt> = group.members.iter().filter(|m| !received(m)).collect();
        if without.is_empty() {
            return None;
        }
        let senders: Vec<_> = injector.ends.iter().filter(sends).collect();
        // A sender does not receive its own packet, so the fault needs another sender of the
        // injector.
        let sender = senders
            .iter()
            .find(|s| without.iter().any(|member| member != *s))?;
        let mut without = without.iter().filter(|member| *member != sender);
        let example = without.next()?;
        Some(MulticastFault::MemberNotReached {
            mlid: group.mlid,
            sender: self.scope.state.name(**sender),
            missed: 1 + without.count(),
            members: group.members.len() - usize::from(group.members.contains(sender)),
            example: self.scope.state.name(**example),
        })
    }

    /// Counts a copy at an end port.
    fn count_copy(&mut self, end_port: PortAt, copies: &mut CopyFaults) {
        let Some(slot) = self.scope.slot(end_port) else {
            return;
        };
        let (packet, count) = &mut self.copies[slot];
        if *packet != self.packet {
            (*packet, *count) = (self.packet, 0);
        }
        *count += 1;
        if *count > 1 {
            copies.duplicate_at = copies.duplicate_at.or(Some(end_port));
        }
    }

    /// Follows a packet from an end port at switch port `entry`, and its copies. Unlike a switch,
    /// it also copies the packet to `entry`: one packet then represents all senders of an injector,
    /// which each receive the packets of the others.
    fn follow_packet(
        &mut self,
        entry: PortAt,
        sender: PortAt,
        group: &ExpectedGroup,
        channels: &mut ChannelDependencies<'_, '_>,
        findings: &mut VlFindings,
    ) -> CopyFaults {
        let Sl(sl) = Sl(group.sl.raw() & 0xF);
        self.packet += 1;
        let mut copies = CopyFaults::default();
        // Input port, and the channel that the packet arrived on.
        let mut queue: VecDeque<(PortAt, Option<(PortAt, u8)>)> = VecDeque::from([(entry, None)]);
        self.last_visit[entry.node] = self.packet;
        while let Some((at, from)) = queue.pop_front() {
            let node = &self.scope.state.nodes[at.node];
            let mut egress = node.multicast_egress(group.mlid, at.port);
            if from.is_none() && node.multicast_egress(group.mlid, u8::MAX).contains(at.port) {
                egress.insert(at.port);
            }
            for port in egress.iter() {
                let out = PortAt {
                    node: at.node,
                    port,
                };
                let peer = self.scope.peer_of(out);
                if port == 0 {
                    self.count_copy(out, &mut copies);
                    continue;
                }
                let Some(slot) = self.scope.slot(out).filter(|_| peer != LinkPeer::None) else {
                    continue;
                };
                let table = self.vl_map.table_for(slot, at.port);
                let vl = table.vl[usize::from(sl)];
                // Switches never send the copy to `entry`, so its VL does not matter.
                if out != entry && vl >= table.data_vls {
                    findings.record_hop_without_vl(
                        (at.node, at.port, port, sl),
                        group.mlid,
                        sender,
                    );
                    continue;
                }
                match peer {
                    LinkPeer::None => {}
                    LinkPeer::EndPort(end) => self.count_copy(end, &mut copies),
                    LinkPeer::Switch(next) => {
                        if let Some((channel, arrival_vl)) = from {
                            channels.add(channel, arrival_vl, port, vl);
                        }
                        if self.last_visit[next.node] == self.packet {
                            copies.revisited = copies.revisited.or(Some(next.node));
                        } else {
                            self.last_visit[next.node] = self.packet;
                            queue.push_back((next, Some((out, vl))));
                        }
                    }
                }
            }
        }
        copies
    }
}
