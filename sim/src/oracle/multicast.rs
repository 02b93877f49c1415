//! Follows multicast packets by the tables: does every member get one copy, and nobody else any.
//!
//! A packet is copied at each switch to all ports of its entry but the one that it came in by. It
//! is walked from every switch at which somebody sends. Copies hold channels as other packets do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::Verdict;
use super::cycle::Channels;
use super::delivery::LaneFacts;
use super::expect::{Expectations, ExpectedGroup};
use super::lanes::{Injector, Lanes};
use super::scope::{Scope, Way};
use super::violation::MulticastFault;
use crate::spec::{NodeIdx, PortAt};

/// What all walks share.
struct Case<'a, 's> {
    scope: &'a Scope<'s>,
    lanes: &'a Lanes,
    /// By node: the end ports that send there.
    injectors: Vec<Vec<Injector>>,
    /// By node: the number of the walk that passed it last.
    passed: Vec<u32>,
    /// By slot: the number of the walk that brought a copy last, and how many.
    copies: Vec<(u32, u32)>,
    walks: u32,
}

/// What went wrong on a walk.
#[derive(Default)]
struct Copies {
    /// An end port that got more than one.
    twice: Option<PortAt>,
    /// A switch that the packet came to again.
    again: Option<NodeIdx>,
}

/// Checks multicast, and tells which channels wait for which.
pub(super) fn check(
    scope: &Scope<'_>,
    expect: &Expectations,
    lanes: &Lanes,
    channels: &mut Channels<'_, '_>,
    facts: &mut LaneFacts,
    verdict: &mut Verdict,
) {
    let mut users: BTreeMap<Lid, Vec<NodeIdx>> = BTreeMap::new();
    for node in &scope.switches {
        for mlid in scope.state.nodes[*node].mft.keys() {
            users.entry(*mlid).or_default().push(*node);
        }
        check_top(scope, *node, verdict);
    }
    let expected = expect.groups.as_deref().unwrap_or_default();
    let mut mlids: BTreeSet<Lid> = users.keys().copied().collect();
    mlids.extend(expected.iter().map(|g| g.mlid));
    if mlids.is_empty() {
        return;
    }
    let mut case = Case {
        scope,
        lanes,
        injectors: vec![Vec::new(); scope.state.nodes.len()],
        passed: vec![0; scope.state.nodes.len()],
        copies: vec![(0, 0); scope.slots()],
        walks: 0,
    };
    for node in &scope.switches {
        case.injectors[*node] = lanes.injectors(scope, *node, true);
    }
    for mlid in mlids {
        let switches = users.remove(&mlid).unwrap_or_default();
        let groups: Vec<&ExpectedGroup> = expected.iter().filter(|g| g.mlid == mlid).collect();
        let group = if expect.groups.is_none() {
            believed(scope, mlid, &switches)
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
            joined(scope, &groups)
        };
        check_entries(scope, &group, &switches, verdict);
        case.check_copies(&group, channels, facts, verdict);
    }
}

/// All groups of an MLID as one, without members that are out of reach.
fn joined(scope: &Scope<'_>, groups: &[&ExpectedGroup]) -> ExpectedGroup {
    let judged = |at: &&PortAt| scope.end_ports.binary_search(at).is_ok();
    let mut all = ExpectedGroup::new(groups[0].mlid, []);
    all.sl = groups[0].sl;
    for group in groups {
        all.members.extend(group.members.iter().filter(judged));
        all.senders.extend(group.senders.iter().filter(judged));
    }
    all
}

/// The group that the tables speak of: whoever is in an entry is a member.
fn believed(scope: &Scope<'_>, mlid: Lid, switches: &[NodeIdx]) -> ExpectedGroup {
    let mut group = ExpectedGroup::new(mlid, []);
    for node in switches {
        for port in scope.state.nodes[*node].mft[&mlid].iter() {
            let at = PortAt { node: *node, port };
            match scope.way(at) {
                _ if port == 0 => drop(group.members.insert(at)),
                Way::End(end) => drop(group.members.insert(end)),
                Way::Switch(_) | Way::Nowhere => {}
            }
        }
    }
    group
}

fn check_top(scope: &Scope<'_>, node: NodeIdx, verdict: &mut Verdict) {
    let facts = &scope.state.nodes[node];
    let top = facts.switch_info.multicast_fdb_top;
    if let Some((mlid, _)) = facts.mft.last_key_value()
        && facts.has_multicast_top()
        && mlid.raw() > top
    {
        let fault = MulticastFault::AboveTop {
            switch: facts.name.clone(),
            mlid: *mlid,
            top,
        };
        verdict.violations.push(fault.into());
    }
}

/// Each port of an entry leads to a switch or to somebody who may get a copy.
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
            let end = match scope.way(at) {
                _ if port == 0 => at,
                Way::Switch(_) => continue,
                Way::End(end) => end,
                Way::Nowhere => {
                    let (switch, port) = (switch(), PortNum(port));
                    let fault = MulticastFault::UnconnectedPort { mlid, switch, port };
                    verdict.violations.push(fault.into());
                    continue;
                }
            };
            if !group.members.contains(&end) && !group.senders.contains(&end) {
                let (switch, end) = (switch(), scope.state.name(end));
                let fault = MulticastFault::NonMember { mlid, switch, end };
                verdict.violations.push(fault.into());
            }
        }
    }
}

impl Case<'_, '_> {
    /// Each member gets one copy of what any other end port of the group sends.
    fn check_copies(
        &mut self,
        group: &ExpectedGroup,
        channels: &mut Channels<'_, '_>,
        facts: &mut LaneFacts,
        verdict: &mut Verdict,
    ) {
        let mut looped = false;
        let mut missed: Option<MulticastFault> = None;
        for node in self.senders_at(group) {
            let injectors = std::mem::take(&mut self.injectors[node]);
            for injector in &injectors {
                let sends =
                    |end: &PortAt| group.members.contains(end) || group.senders.contains(end);
                let mut senders = injector.ports.iter().zip(&injector.ends);
                let Some((port, first)) = senders.find(|(_, end)| sends(end)) else {
                    continue;
                };
                let sl = group.sl.raw() & 0xF;
                if injector.can_send >> sl & 1 == 0 {
                    facts.note_silent(*first, sl);
                    continue;
                }
                facts.used |= 1 << sl;
                let by = PortAt { node, port: *port };
                let copies = self.walk(by, *first, group, channels, facts);
                let place = copies.again.map(|n| self.scope.state.nodes[n].name.clone());
                let twice = copies.twice.map(|end| self.scope.state.name(end));
                let place = place.or(twice);
                if let Some(place) = place.filter(|_| !looped) {
                    looped = true;
                    let fault = MulticastFault::Loop {
                        mlid: group.mlid,
                        sender: self.scope.state.name(*first),
                        place,
                    };
                    verdict.violations.push(fault.into());
                }
                missed = missed.or_else(|| self.missed(group, injector));
            }
            self.injectors[node] = injectors;
        }
        verdict.violations.extend(missed.map(Into::into));
    }

    /// The switches at which somebody sends.
    fn senders_at(&self, group: &ExpectedGroup) -> BTreeSet<NodeIdx> {
        let ends = group.members.iter().chain(&group.senders);
        let at = ends.filter_map(|end| match self.scope.way(*end) {
            _ if self.scope.state.nodes[end.node].is_switch() => Some(end.node),
            Way::Switch(port) => Some(port.node),
            Way::End(_) | Way::Nowhere => None,
        });
        at.collect()
    }

    /// The members without a copy of what is sent by the ports of an injector, all of which send
    /// the same way; the walk started at all of them, so only others of its kind may be missing.
    fn missed(&self, group: &ExpectedGroup, injector: &Injector) -> Option<MulticastFault> {
        let sends = |end: &&PortAt| group.members.contains(*end) || group.senders.contains(*end);
        let got = |end: &PortAt| {
            let slot = self.scope.slot(*end);
            slot.is_some_and(|slot| self.copies[slot].0 == self.walks)
        };
        let without: Vec<&PortAt> = group.members.iter().filter(|m| !got(m)).collect();
        if without.is_empty() {
            return None;
        }
        let senders: Vec<_> = injector.ends.iter().filter(sends).collect();
        // A sender does not miss its own packet, but it does miss another's.
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

    /// A copy ends at an end port.
    fn arrive(&mut self, end: PortAt, copies: &mut Copies) {
        let Some(slot) = self.scope.slot(end) else {
            return;
        };
        let (walk, count) = &mut self.copies[slot];
        if *walk != self.walks {
            (*walk, *count) = (self.walks, 0);
        }
        *count += 1;
        if *count > 1 {
            copies.twice = copies.twice.or(Some(end));
        }
    }

    /// Follows a packet that comes in by a port of a switch, and its copies. The copy that would go
    /// back to the sender is made here, so that one walk serves all senders at alike ports.
    fn walk(
        &mut self,
        by: PortAt,
        sender: PortAt,
        group: &ExpectedGroup,
        channels: &mut Channels<'_, '_>,
        facts: &mut LaneFacts,
    ) -> Copies {
        let Sl(sl) = Sl(group.sl.raw() & 0xF);
        self.walks += 1;
        let mut copies = Copies::default();
        // The port by which the packet comes in, and the channel that it comes from.
        let mut queue: VecDeque<(PortAt, Option<(PortAt, u8)>)> = VecDeque::from([(by, None)]);
        self.passed[by.node] = self.walks;
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
                let way = self.scope.way(out);
                if port == 0 {
                    self.arrive(out, &mut copies);
                    continue;
                }
                let Some(slot) = self.scope.slot(out).filter(|_| way != Way::Nowhere) else {
                    continue;
                };
                let table = self.lanes.at(slot, at.port);
                let vl = table.vl[usize::from(sl)];
                // By the port that it came in by, the packet does not really leave.
                if out != by && vl >= table.lanes {
                    facts.note((at.node, at.port, port, sl), group.mlid, sender);
                    continue;
                }
                match way {
                    Way::Nowhere => {}
                    Way::End(end) => self.arrive(end, &mut copies),
                    Way::Switch(next) => {
                        if let Some((channel, lane)) = from {
                            channels.wait(channel, lane, port, vl);
                        }
                        if self.passed[next.node] == self.walks {
                            copies.again = copies.again.or(Some(next.node));
                        } else {
                            self.passed[next.node] = self.walks;
                            queue.push_back((next, Some((out, vl))));
                        }
                    }
                }
            }
        }
        copies
    }
}
