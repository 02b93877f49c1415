//! Checks a routing by its dump files.
//!
//! The checker traces packets from every end port to every LID. It uses the LFTs, the path's SL and
//! the SL-to-VL table of each switch, and looks for cycles in the resulting channel dependency
//! graph. It shares no code with ferrosm, and works on fabrics on which `ibdmchk` is slow or
//! crashes. `tests/tests/ibsim/routing_judges.rs` tests it on dumps of OpenSM and on corrupted
//! dumps.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::programs::diags::{Kind, Net};
use crate::programs::routing_dumps::{Dumps, End, NO_PORT};

/// Maximum number of faults that are described; further faults are only counted.
const MAX_DESCRIBED: usize = 8;
/// VL 15: in an SL-to-VL table it means that packets are dropped (IBA vol. 1, 7.6.6).
const VL15: u8 = 15;

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Descriptions of the first faults; empty for a correct routing.
    pub faults: Vec<String>,
    pub num_faults: usize,
    /// (switch, LID) pairs without a path.
    pub unreachable: usize,
    /// Ports of end nodes that are attached to a switch.
    pub end_ports: usize,
    /// Highest number of switches on a path between two end ports.
    pub longest: usize,
    /// VLs that packets between end ports use on links between switches: highest VL + 1.
    pub vls: u8,
    /// Channels (switch, port, VL) on a cycle of the channel dependency graph, or reachable from
    /// one.
    pub cyclic: usize,
}

impl Verdict {
    /// Succeeds if there are no faults and at most `vls` VLs are used.
    ///
    /// # Errors
    /// The faults, or the excess of VLs.
    pub fn check(&self, vls: u8) -> Result<(), String> {
        if self.num_faults > 0 {
            return Err(format!(
                "{} faults:\n{}",
                self.num_faults,
                self.faults.join("\n")
            ));
        }
        if self.vls > vls {
            return Err(format!("{} VLs are used, {vls} were allowed", self.vls));
        }
        Ok(())
    }

    fn fault(&mut self, description: impl FnOnce() -> String) {
        self.num_faults += 1;
        if self.faults.len() < MAX_DESCRIBED {
            self.faults.push(description());
        }
    }
}

/// Checks the dumps of a routing of this fabric, or of its largest connected component.
#[must_use]
pub fn examine(fabric: &Net, dumps: &Dumps) -> Verdict {
    let mut verdict = Verdict::default();
    compare_cables(fabric, dumps, &mut verdict);
    let topology = Topology::new(dumps);
    verdict.end_ports = topology.senders.iter().map(Vec::len).sum();
    let mut dependencies = DependencyGraph::default();
    for to in topology.destinations(&mut verdict) {
        let arrivals = count_hops(&topology, &to, &mut verdict);
        trace_packets(
            &topology,
            dumps,
            &to,
            &arrivals,
            &mut dependencies,
            &mut verdict,
        );
    }
    verdict.cyclic = dependencies.on_cycles();
    if verdict.cyclic > 0 {
        let cyclic = verdict.cyclic;
        verdict.fault(|| format!("{cyclic} channels in credit loops"));
    }
    verdict
}

/// Checks that each link of the dumps exists in the fabric, and that the dumps have all links of
/// their nodes.
fn compare_cables(fabric: &Net, dumps: &Dumps, verdict: &mut Verdict) {
    let real: BTreeMap<End, End> = fabric
        .nodes
        .values()
        .flat_map(|node| {
            let ends = node.ports.iter();
            ends.map(|(&port, there)| ((node.guid, port), (there.peer, there.peer_port)))
        })
        .collect();
    for (end, peer) in &dumps.cables {
        if real.get(end) != Some(peer) {
            verdict.fault(|| format!("the fabric has no cable from {end:x?} to {peer:x?}"));
        }
    }
    for (end, peer) in &real {
        if dumps.nodes.contains_key(&end.0) && !dumps.cables.contains_key(end) {
            verdict.fault(|| format!("the dump has no cable from {end:x?} to {peer:x?}"));
        }
    }
    for node in fabric
        .nodes
        .values()
        .filter(|node| dumps.nodes.contains_key(&node.guid))
    {
        if (node.kind == Kind::Switch) != dumps.nodes.get(&node.guid).is_some_and(|n| n.switch) {
            verdict.fault(|| format!("{} has the wrong node type in the dump", node.description));
        }
    }
}

/// The fabric with switches numbered from 0.
struct Topology<'a> {
    switches: Vec<u64>,
    tables: Vec<&'a [u8]>,
    /// By switch and port: the neighbour switch and its port.
    next: Vec<HashMap<u8, (usize, u8)>>,
    /// By switch: the attached ports of end nodes, with the switch's port.
    senders: Vec<Vec<(u8, End)>>,
    owners: Vec<(u16, End)>,
    index: HashMap<u64, usize>,
    cables: &'a BTreeMap<End, End>,
}

/// A LID, and the switch and port that deliver its packets; port 0 for the switch's own LID.
struct Destination {
    lid: u16,
    switch: usize,
    port: u8,
}

impl<'a> Topology<'a> {
    fn new(dumps: &'a Dumps) -> Self {
        let switches: Vec<u64> = dumps
            .nodes
            .iter()
            .filter(|(_, node)| node.switch)
            .map(|(&guid, _)| guid)
            .collect();
        let index: HashMap<u64, usize> = switches
            .iter()
            .enumerate()
            .map(|(i, &guid)| (guid, i))
            .collect();
        let tables = switches
            .iter()
            .map(|guid| dumps.tables.get(guid).map_or(&[][..], Vec::as_slice));
        let mut next = vec![HashMap::new(); switches.len()];
        let mut senders = vec![Vec::new(); switches.len()];
        for (&(guid, port), &(peer, peer_port)) in &dumps.cables {
            let Some(&switch) = index.get(&guid) else {
                continue;
            };
            match index.get(&peer) {
                Some(&there) => {
                    next[switch].insert(port, (there, peer_port));
                }
                None => senders[switch].push((port, (peer, peer_port))),
            }
        }
        let owned = |(&guid, node): (&u64, &crate::programs::routing_dumps::Node)| {
            let lids = node.lids.iter();
            lids.map(|(&port, &lid)| (lid, (guid, port)))
                .collect::<Vec<_>>()
        };
        Self {
            tables: tables.collect(),
            next,
            senders,
            owners: dumps.nodes.iter().flat_map(owned).collect(),
            index,
            switches,
            cables: &dumps.cables,
        }
    }

    fn destinations(&self, verdict: &mut Verdict) -> Vec<Destination> {
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        for &(lid, end) in &self.owners {
            let home = if self.index.contains_key(&end.0) {
                Some(&end)
            } else {
                self.cables.get(&end)
            };
            let location = home.and_then(|&(guid, port)| Some((*self.index.get(&guid)?, port)));
            if let Some((switch, port)) = location {
                if lid == 0 || !seen.insert(lid) {
                    verdict.fault(|| format!("{end:x?} has LID {lid}, which is 0 or a duplicate"));
                }
                entries.push(Destination { lid, switch, port });
            }
        }
        entries
    }

    fn out(&self, switch: usize, lid: u16) -> u8 {
        self.tables[switch]
            .get(usize::from(lid))
            .copied()
            .unwrap_or(NO_PORT)
    }
}

/// Counts the switches on the path from each switch to a LID; `None` without a path. A missing path
/// is a fault if packets are sent from the switch to the LID.
fn count_hops(
    topology: &Topology<'_>,
    to: &Destination,
    verdict: &mut Verdict,
) -> Vec<Option<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Arrives(usize),
        Lost,
        Loops,
    }
    let mut states = vec![State::New; topology.switches.len()];
    for from in 0..topology.switches.len() {
        let mut at = from;
        let mut path = Vec::new();
        let mut end = loop {
            match states[at] {
                State::New => {}
                State::Open => break State::Loops,
                known @ (State::Arrives(_) | State::Lost | State::Loops) => break known,
            }
            states[at] = State::Open;
            path.push(at);
            let out = topology.out(at, to.lid);
            if at == to.switch {
                break if out == to.port {
                    State::Arrives(0)
                } else {
                    State::Lost
                };
            }
            match topology.next[at].get(&out) {
                Some(&(next, _)) => at = next,
                None => break State::Lost,
            }
        };
        for s in path.into_iter().rev() {
            if let State::Arrives(crossed) = end {
                end = State::Arrives(crossed + 1);
            }
            states[s] = end;
        }
    }
    let mut arrivals = Vec::with_capacity(states.len());
    for (switch, state) in states.into_iter().enumerate() {
        // A switch without end nodes does not need a path to another switch's LID: no packets are
        // sent on it.
        let has_senders = !topology.senders[switch].is_empty();
        if let State::Arrives(crossed) = state {
            if has_senders && to.port != 0 {
                verdict.longest = verdict.longest.max(crossed);
            }
            arrivals.push(Some(crossed));
            continue;
        }
        arrivals.push(None);
        if to.port != 0 || has_senders {
            verdict.unreachable += 1;
            let how = if state == State::Loops {
                "loops"
            } else {
                "does not arrive"
            };
            verdict.fault(|| {
                format!(
                    "from switch {:016x} to LID {}: {how}",
                    topology.switches[switch], to.lid
                )
            });
        }
    }
    arrivals
}

/// Traces the packets of all end nodes to a LID, and adds the dependencies between their channels.
fn trace_packets(
    topology: &Topology<'_>,
    dumps: &Dumps,
    to: &Destination,
    arrivals: &[Option<usize>],
    dependencies: &mut DependencyGraph,
    verdict: &mut Verdict,
) {
    let mut followed: HashSet<(usize, u8, u8)> = HashSet::new();
    // With one VL, all packets from a switch to a LID use the same path.
    let is_single_vl = dumps.sls.is_none() && dumps.vls.is_none();
    let mut done = vec![false; topology.switches.len()];
    let starts = (0..topology.switches.len()).filter(|&s| arrivals[s].is_some());
    for (from, &(entry, sender)) in
        starts.flat_map(|s| topology.senders[s].iter().map(move |sender| (s, sender)))
    {
        if is_single_vl && done[from] || (from, entry) == (to.switch, to.port) {
            continue;
        }
        done[from] = true;
        let sl = match dumps.sl(sender, to.lid) {
            Some(sl) => sl,
            // Only management packets are sent to a switch's LID; the files may omit these paths.
            None if to.port == 0 => continue,
            None => {
                verdict.fault(|| format!("no SL from {sender:x?} to LID {}", to.lid));
                continue;
            }
        };
        let mut at = from;
        let mut input = entry;
        let mut before = None;
        loop {
            // Without SL-to-VL tables the VL does not depend on the input port.
            let step = (at, if dumps.vls.is_some() { input } else { 0 }, sl);
            let known = !followed.insert(step);
            let out = topology.out(at, to.lid);
            let vl = output_vl(dumps, topology.switches[at], input, out, sl);
            if vl.is_none_or(|vl| vl >= VL15) && out != 0 {
                verdict.fault(|| {
                    format!(
                        "switch {:016x} drops SL {sl} from port {input} to port {out}",
                        topology.switches[at]
                    )
                });
                break;
            }
            if at == to.switch {
                break;
            }
            let channel = (at, out, vl.unwrap_or(0));
            if let Some(before) = before {
                dependencies.add(before, channel);
            }
            verdict.vls = verdict.vls.max(channel.2 + 1);
            if known {
                // The rest of the path has been traced.
                break;
            }
            before = Some(channel);
            let Some(&(next, port)) = topology.next[at].get(&out) else {
                break;
            };
            (at, input) = (next, port);
        }
    }
}

/// The VL of an SL; `None` if the file has no row for these ports.
fn output_vl(dumps: &Dumps, switch: u64, input: u8, out: u8, sl: u8) -> Option<u8> {
    match &dumps.vls {
        None => Some(sl),
        Some(maps) => maps
            .get(&(switch, input, out))?
            .get(usize::from(sl))
            .copied(),
    }
}

/// A channel: switch, output port, VL.
type Channel = (usize, u8, u8);

/// The channel dependency graph.
#[derive(Default)]
struct DependencyGraph {
    number: HashMap<Channel, usize>,
    successors: Vec<HashSet<usize>>,
}

impl DependencyGraph {
    fn index(&mut self, channel: Channel) -> usize {
        let new = self.number.len();
        let index = *self.number.entry(channel).or_insert(new);
        if index == new {
            self.successors.push(HashSet::new());
        }
        index
    }

    fn add(&mut self, from: Channel, to: Channel) {
        let from = self.index(from);
        let to = self.index(to);
        self.successors[from].insert(to);
    }

    /// Repeatedly removes channels without predecessors; returns the number of remaining channels.
    fn on_cycles(&self) -> usize {
        let mut predecessors = vec![0_usize; self.successors.len()];
        for next in self.successors.iter().flatten() {
            predecessors[*next] += 1;
        }
        let mut free: Vec<usize> = (0..predecessors.len())
            .filter(|&c| predecessors[c] == 0)
            .collect();
        let mut left = predecessors.len();
        while let Some(channel) = free.pop() {
            left -= 1;
            for &next in &self.successors[channel] {
                predecessors[next] -= 1;
                if predecessors[next] == 0 {
                    free.push(next);
                }
            }
        }
        left
    }
}
