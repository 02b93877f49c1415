//! Checks a fabric by the output of infiniband-diags.
//!
//! The checker follows the forwarding tables as switches do, and shares no code with ferrosm.
//! `tests/tests/ibsim/judge_on_opensm.rs` tests it on OpenSM: fat trees must pass, and minhop on a
//! torus must have credit loops.

use std::collections::{BTreeMap, BTreeSet};

use crate::programs::diags::{Kind, Net, Node, Observed, Tables};

/// Highest unicast LID.
const LAST_UNICAST: u16 = 0xbfff;
/// Maximum number of faults in an error; further faults are only counted.
const MAX_DESCRIBED: usize = 12;

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Descriptions of the faults; empty for a correct fabric.
    pub faults: Vec<String>,
    /// Linked ports of CAs and routers.
    pub host_ports: usize,
    pub switches: usize,
    /// LIDs, including all LIDs of LMC ranges.
    pub lids: usize,
    /// (switch, LID) pairs whose path was followed.
    pub walked: usize,
    /// Highest number of switches on a path between two hosts.
    pub longest: usize,
    /// Channels (switch and output port) on a cycle of the dependency graph of all host-to-host
    /// paths on one VL, or reachable from one.
    pub cyclic_channels: usize,
}

impl Verdict {
    /// Succeeds if there are no faults.
    ///
    /// # Errors
    /// The faults.
    pub fn check(&self) -> Result<(), String> {
        if self.faults.is_empty() {
            return Ok(());
        }
        let first = &self.faults[..self.faults.len().min(MAX_DESCRIBED)];
        Err(format!(
            "{} faults:\n{}",
            self.faults.len(),
            first.join("\n")
        ))
    }
}

/// Checks LIDs, link states, all paths, forwarding loops, and credit loops on one VL.
#[must_use]
pub fn examine(seen: &Observed) -> Verdict {
    let mut verdict = Verdict {
        switches: seen.net.switches().count(),
        host_ports: seen.net.hosts().map(|node| node.ports.len()).sum(),
        ..Verdict::default()
    };
    let destinations = check_lids(&seen.net, &mut verdict);
    check_links(seen, &mut verdict);
    for switch in seen.net.switches() {
        if !seen.tables.0.contains_key(&switch.guid) {
            verdict.faults.push(format!(
                "no forwarding table of switch {}",
                switch.description
            ));
        }
    }
    let mut dependencies = DependencyGraph::default();
    for destination in &destinations {
        walk_to(seen, destination, &mut dependencies, &mut verdict);
    }
    verdict.cyclic_channels = dependencies.on_cycles();
    if verdict.cyclic_channels > 0 {
        verdict.faults.push(format!(
            "{} channels in credit loops",
            verdict.cyclic_channels
        ));
    }
    verdict
}

/// A LID and its location.
#[derive(Debug, Clone, Copy)]
struct Destination {
    lid: u16,
    /// The switch and port that deliver its packets; port 0 for the switch's own LID.
    home: (u64, u8),
    is_host: bool,
}

fn check_lids(net: &Net, verdict: &mut Verdict) -> Vec<Destination> {
    let mut owners: BTreeMap<u16, (u64, u8)> = BTreeMap::new();
    let mut destinations = Vec::new();
    for (owner, (base, lmc)) in net.lids() {
        let Some(node) = net.nodes.get(&owner.0) else {
            continue;
        };
        let name = format!("{} port {}", node.description, owner.1);
        let count = 1_u32 << lmc;
        let last = u32::from(base) + count - 1;
        if base == 0 || last > u32::from(LAST_UNICAST) || !u32::from(base).is_multiple_of(count) {
            verdict
                .faults
                .push(format!("{name} has LID {base}, LMC {lmc}"));
            continue;
        }
        let home = match node.kind {
            Kind::Switch => Some((node.guid, 0)),
            Kind::Ca | Kind::Router => delivering_switch(net, node, owner.1),
        };
        for lid in (base..=LAST_UNICAST).take(count as usize) {
            if let Some(other) = owners.insert(lid, owner) {
                verdict
                    .faults
                    .push(format!("LID {lid} is assigned to {name} and to {other:x?}"));
            }
            if let Some(home) = home {
                destinations.push(Destination {
                    lid,
                    home,
                    is_host: node.kind != Kind::Switch,
                });
            }
        }
    }
    verdict.lids = owners.len();
    destinations
}

/// `None` for a port that is linked to another host.
fn delivering_switch(net: &Net, node: &Node, port: u8) -> Option<(u64, u8)> {
    let port = node.ports.get(&port)?;
    let peer = net.nodes.get(&port.peer)?;
    (peer.kind == Kind::Switch).then_some((port.peer, port.peer_port))
}

fn check_links(seen: &Observed, verdict: &mut Verdict) {
    let mut active = 0;
    for link in &seen.links {
        let end = format!("{} port {}", link.name, link.port);
        let linked = link.peer_lid.is_some();
        if linked && (link.state != "Active" || link.physical != "LinkUp") {
            verdict
                .faults
                .push(format!("{end} is {}/{}", link.state, link.physical));
        } else if !linked && link.state != "Down" {
            verdict
                .faults
                .push(format!("{end} has no link and is {}", link.state));
        }
        if link.lid == 0 || link.peer_lid == Some(0) {
            verdict.faults.push(format!("{end} or its peer has LID 0"));
        }
        active += usize::from(linked);
    }
    let num_end_ports: usize = seen.net.nodes.values().map(|node| node.ports.len()).sum();
    // iblinkinfo prints one line for each switch port and each host port.
    if active != num_end_ports {
        verdict.faults.push(format!(
            "iblinkinfo lists {active} linked ports, ibnetdiscover {num_end_ports}"
        ));
    }
}

/// Follows the paths to one LID from all switches. Results are cached, so each switch is visited
/// once.
fn walk_to(
    seen: &Observed,
    to: &Destination,
    dependencies: &mut DependencyGraph,
    verdict: &mut Verdict,
) {
    let mut known: BTreeMap<u64, Result<usize, String>> = BTreeMap::new();
    for source in seen.net.switches() {
        let mut path = Vec::new();
        let mut at = source.guid;
        let arrival = loop {
            if let Some(known) = known.get(&at) {
                break known.clone();
            }
            if path.contains(&at) {
                break Err("forwarding loop".to_owned());
            }
            path.push(at);
            match next_switch(&seen.net, &seen.tables, at, to) {
                Ok(Some(next)) => at = next,
                Ok(None) => {
                    known.insert(at, Ok(1));
                    path.pop();
                    break Ok(1);
                }
                Err(reason) => break Err(reason),
            }
        };
        for (back, &guid) in path.iter().rev().enumerate() {
            known.insert(guid, arrival.clone().map(|hops| hops + back + 1));
        }
    }
    verdict.walked += known.len();
    for source in seen.net.switches() {
        let hosts = hosts_at(&seen.net, source);
        match known.get(&source.guid) {
            // A switch without hosts does not need a path to another switch's LID: only
            // directed-route SMPs are sent there. It needs paths to hosts, for its traps and
            // responses.
            Some(Err(reason)) if to.is_host || hosts > 0 => verdict.faults.push(format!(
                "from {} to LID {}: {reason}",
                source.description, to.lid
            )),
            Some(Ok(hops)) if to.is_host && hosts > 0 => {
                verdict.longest = verdict.longest.max(*hops);
                dependencies.follow(seen, source.guid, to);
            }
            Some(_) | None => {}
        }
    }
}

fn hosts_at(net: &Net, switch: &Node) -> usize {
    let is_host = |guid| {
        net.nodes
            .get(guid)
            .is_some_and(|peer| peer.kind != Kind::Switch)
    };
    switch
        .ports
        .values()
        .filter(|port| is_host(&port.peer))
        .count()
}

/// The switch after `at` on the path; `None` if `at` delivers the packet.
fn next_switch(
    net: &Net,
    tables: &Tables,
    at: u64,
    to: &Destination,
) -> Result<Option<u64>, String> {
    let name = || {
        net.nodes
            .get(&at)
            .map(|node| node.description.clone())
            .unwrap_or_default()
    };
    let Some(out) = tables.out(at, to.lid) else {
        return Err(format!("no entry at {}", name()));
    };
    if (at, out) == to.home {
        return Ok(None);
    }
    let port = net.nodes.get(&at).and_then(|node| node.ports.get(&out));
    let Some(port) = port else {
        return Err(format!("port {out} of {} leads nowhere", name()));
    };
    match net.nodes.get(&port.peer) {
        Some(peer) if peer.kind == Kind::Switch => Ok(Some(port.peer)),
        Some(peer) => Err(format!("delivered by {} to {}", name(), peer.description)),
        None => Err(format!("port {out} of {} leads to an unknown node", name())),
    }
}

/// The channel dependency graph; a channel is a switch and an output port.
#[derive(Debug, Default)]
struct DependencyGraph {
    successors: BTreeMap<(u64, u8), BTreeSet<(u64, u8)>>,
    /// Per LID: switches from which the path has been followed.
    followed: BTreeSet<(u16, u64)>,
}

impl DependencyGraph {
    fn follow(&mut self, seen: &Observed, source: u64, to: &Destination) {
        let mut before = None;
        let mut at = source;
        while let (Some(out), Ok(Some(next))) = (
            seen.tables.out(at, to.lid),
            next_switch(&seen.net, &seen.tables, at, to),
        ) {
            if let Some(before) = before {
                self.successors.entry(before).or_default().insert((at, out));
            }
            if !self.followed.insert((to.lid, at)) {
                return;
            }
            before = Some((at, out));
            at = next;
        }
    }

    /// Repeatedly removes channels without predecessors; returns the number of remaining channels.
    fn on_cycles(&self) -> usize {
        let mut predecessors: BTreeMap<(u64, u8), usize> = BTreeMap::new();
        for (channel, successors) in &self.successors {
            predecessors.entry(*channel).or_default();
            for next in successors {
                *predecessors.entry(*next).or_default() += 1;
            }
        }
        let mut free: Vec<(u64, u8)> = predecessors
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(channel, _)| *channel)
            .collect();
        let mut left = predecessors.len();
        while let Some(channel) = free.pop() {
            left -= 1;
            for next in self.successors.get(&channel).into_iter().flatten() {
                if let Some(count) = predecessors.get_mut(next) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(*next);
                    }
                }
            }
        }
        left
    }
}

/// The path from a host's port to a LID by the tables: output port, next node and its input port of
/// each hop, as `ibtracert` prints them.
///
/// # Errors
/// If the path ends early, or has more hops than the fabric has nodes.
pub fn path(
    net: &Net,
    tables: &Tables,
    from: (u64, u8),
    lid: u16,
) -> Result<Vec<(u8, u64, u8)>, String> {
    let mut hops = Vec::new();
    let (mut node, mut out) = from;
    while hops.len() <= net.nodes.len() {
        let port = net
            .nodes
            .get(&node)
            .and_then(|node| node.ports.get(&out))
            .ok_or_else(|| format!("port {out} of {node:016x} leads nowhere"))?;
        hops.push((out, port.peer, port.peer_port));
        if net
            .nodes
            .get(&port.peer)
            .is_none_or(|peer| peer.kind != Kind::Switch)
        {
            return Ok(hops);
        }
        node = port.peer;
        out = tables
            .out(node, lid)
            .ok_or_else(|| format!("no entry at {node:016x}"))?;
        if out == 0 {
            return Ok(hops);
        }
    }
    Err(format!("forwarding loop on the path to LID {lid}"))
}
