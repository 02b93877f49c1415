//! The verdict on a routing, from the files in which it was left.
//!
//! Every packet is followed as switches and channel adapters would send it on: from every port of every end node to every
//! LID, by the tables, on the VL that the SL of the path takes at every switch. What waits for what is then looked at lane
//! by lane. It shares no code with ferrosm, and is quick where `ibdmchk` is slow or crashes. It is proven on OpenSM's own
//! dumps, and on dumps spoiled on purpose (`tests/routing_judges.rs`).

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::diags::{Kind, Net};
use crate::routing_dumps::{Dumps, End, NOWHERE};

/// Faults that are told one by one; the rest is counted.
const TOLD: usize = 8;
/// The VL of packets that are dropped (IBA 7.6.6), and of management.
const NO_DATA: u8 = 15;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// A sentence each, a handful at most; none is a sound routing.
    pub faults: Vec<String>,
    /// How many faults there are.
    pub num_faults: usize,
    /// (switch, LID) pairs without a way.
    pub unreachable: usize,
    /// Ports of end nodes that are cabled to a switch.
    pub end_ports: usize,
    /// Most switches on a path between two end ports.
    pub longest: usize,
    /// Lanes that packets between end ports take on cables between switches: highest VL + 1.
    pub vls: u8,
    /// Channels (switch, port, VL) on a cycle of what waits for what.
    pub cyclic: usize,
}

impl Verdict {
    /// No faults, and no more lanes than allowed.
    ///
    /// # Errors
    /// The faults.
    pub fn sound(&self, vls: u8) -> Result<(), String> {
        if self.num_faults > 0 {
            return Err(format!(
                "{} faults:\n{}",
                self.num_faults,
                self.faults.join("\n")
            ));
        }
        if self.vls > vls {
            return Err(format!("{} lanes are used, {vls} were allowed", self.vls));
        }
        Ok(())
    }

    fn fault(&mut self, what: impl FnOnce() -> String) {
        self.num_faults += 1;
        if self.faults.len() < TOLD {
            self.faults.push(what());
        }
    }
}

/// Judges dumps of a routing of this fabric (or of its largest island).
#[must_use]
pub fn examine(fabric: &Net, dumps: &Dumps) -> Verdict {
    let mut verdict = Verdict::default();
    same_cables(fabric, dumps, &mut verdict);
    let plan = Plan::new(dumps);
    verdict.end_ports = plan.senders.iter().map(Vec::len).sum();
    let mut waits = Waits::default();
    for to in plan.destinations(&mut verdict) {
        let arrivals = arrive(&plan, &to, &mut verdict);
        follow(&plan, dumps, &to, &arrivals, &mut waits, &mut verdict);
    }
    verdict.cyclic = waits.on_cycles();
    if verdict.cyclic > 0 {
        let cyclic = verdict.cyclic;
        verdict.fault(|| format!("{cyclic} channels in credit loops"));
    }
    verdict
}

/// The dumps tell of cables of the fabric, and of all cables of the nodes that they name.
fn same_cables(fabric: &Net, dumps: &Dumps, verdict: &mut Verdict) {
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
            verdict.fault(|| format!("{} is no switch, or is one", node.description));
        }
    }
}

/// The fabric by numbers.
struct Plan<'a> {
    switches: Vec<u64>,
    tables: Vec<&'a [u8]>,
    /// What is behind each port of each switch: a switch and its port.
    next: Vec<HashMap<u8, (usize, u8)>>,
    /// Ports of end nodes at each switch, with the switch's port.
    senders: Vec<Vec<(u8, End)>>,
    owners: Vec<(u16, End)>,
    index: HashMap<u64, usize>,
    cables: &'a BTreeMap<End, End>,
}

/// A LID, and the switch and port that deliver it: port 0 for the switch itself.
struct Destination {
    lid: u16,
    switch: usize,
    port: u8,
}

impl<'a> Plan<'a> {
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
        let owned = |(&guid, node): (&u64, &crate::routing_dumps::Node)| {
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
        let mut all = Vec::new();
        for &(lid, end) in &self.owners {
            let home = if self.index.contains_key(&end.0) {
                Some(&end)
            } else {
                self.cables.get(&end)
            };
            let place = home.and_then(|&(guid, port)| Some((*self.index.get(&guid)?, port)));
            if let Some((switch, port)) = place {
                if lid == 0 || !seen.insert(lid) {
                    verdict.fault(|| {
                        format!("{end:x?} has LID {lid}, which is nobody's or another's")
                    });
                }
                all.push(Destination { lid, switch, port });
            }
        }
        all
    }

    fn out(&self, switch: usize, lid: u16) -> u8 {
        self.tables[switch]
            .get(usize::from(lid))
            .copied()
            .unwrap_or(NOWHERE)
    }
}

/// How many switches packets for a LID cross from each switch, `None` where they are lost; faults where they must arrive
/// and do not.
fn arrive(plan: &Plan<'_>, to: &Destination, verdict: &mut Verdict) -> Vec<Option<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Arrives(usize),
        Lost,
        Circles,
    }
    let mut states = vec![State::New; plan.switches.len()];
    for from in 0..plan.switches.len() {
        let (mut at, mut way) = (from, Vec::new());
        let mut end = loop {
            match states[at] {
                State::New => {}
                State::Open => break State::Circles,
                known @ (State::Arrives(_) | State::Lost | State::Circles) => break known,
            }
            states[at] = State::Open;
            way.push(at);
            let out = plan.out(at, to.lid);
            if at == to.switch {
                break if out == to.port {
                    State::Arrives(0)
                } else {
                    State::Lost
                };
            }
            match plan.next[at].get(&out) {
                Some(&(next, _)) => at = next,
                None => break State::Lost,
            }
        };
        for s in way.into_iter().rev() {
            if let State::Arrives(crossed) = end {
                end = State::Arrives(crossed + 1);
            }
            states[s] = end;
        }
    }
    let mut arrivals = Vec::with_capacity(states.len());
    for (switch, state) in states.into_iter().enumerate() {
        // A switch without end nodes need not reach another switch's LID: nothing sends there.
        let busy = !plan.senders[switch].is_empty();
        if let State::Arrives(crossed) = state {
            if busy && to.port != 0 {
                verdict.longest = verdict.longest.max(crossed);
            }
            arrivals.push(Some(crossed));
            continue;
        }
        arrivals.push(None);
        if to.port != 0 || busy {
            verdict.unreachable += 1;
            let how = if state == State::Circles {
                "circles"
            } else {
                "does not arrive"
            };
            verdict.fault(|| {
                format!(
                    "from switch {:016x} to LID {}: {how}",
                    plan.switches[switch], to.lid
                )
            });
        }
    }
    arrivals
}

/// Follows the packets of all end nodes to a LID, lane by lane.
fn follow(
    plan: &Plan<'_>,
    dumps: &Dumps,
    to: &Destination,
    arrivals: &[Option<usize>],
    waits: &mut Waits,
    verdict: &mut Verdict,
) {
    let mut followed: HashSet<(usize, u8, u8)> = HashSet::new();
    // One lane: all packets of a switch to a LID go one way.
    let alike = dumps.sls.is_none() && dumps.vls.is_none();
    let mut done = vec![false; plan.switches.len()];
    let starts = (0..plan.switches.len()).filter(|&s| arrivals[s].is_some());
    for (from, &(entry, sender)) in
        starts.flat_map(|s| plan.senders[s].iter().map(move |sender| (s, sender)))
    {
        if alike && done[from] || (from, entry) == (to.switch, to.port) {
            continue;
        }
        done[from] = true;
        let sl = match dumps.sl(sender, to.lid) {
            Some(sl) => sl,
            // Paths to a switch's own LID are management's, and files may leave them out.
            None if to.port == 0 => continue,
            None => {
                verdict.fault(|| format!("no SL from {sender:x?} to LID {}", to.lid));
                continue;
            }
        };
        let (mut at, mut input, mut before) = (from, entry, None);
        loop {
            // Without a table of VLs it does not matter where a packet comes in.
            let place = (at, if dumps.vls.is_some() { input } else { 0 }, sl);
            let known = !followed.insert(place);
            let out = plan.out(at, to.lid);
            let vl = lane(dumps, plan.switches[at], input, out, sl);
            if vl.is_none_or(|vl| vl >= NO_DATA) && out != 0 {
                verdict.fault(|| {
                    format!(
                        "switch {:016x} drops SL {sl} from port {input} to port {out}",
                        plan.switches[at]
                    )
                });
                break;
            }
            if at == to.switch {
                break;
            }
            let channel = (at, out, vl.unwrap_or(0));
            if let Some(before) = before {
                waits.add(before, channel);
            }
            verdict.vls = verdict.vls.max(channel.2 + 1);
            if known {
                // The rest was followed before.
                break;
            }
            before = Some(channel);
            let Some(&(next, port)) = plan.next[at].get(&out) else {
                break;
            };
            (at, input) = (next, port);
        }
    }
}

/// The VL of an SL; `None` where the file has no row.
fn lane(dumps: &Dumps, switch: u64, input: u8, out: u8, sl: u8) -> Option<u8> {
    match &dumps.vls {
        None => Some(sl),
        Some(maps) => maps
            .get(&(switch, input, out))?
            .get(usize::from(sl))
            .copied(),
    }
}

/// A channel and its lane: switch, port, VL.
type Channel = (usize, u8, u8);

/// Which channel waits for which.
#[derive(Default)]
struct Waits {
    number: HashMap<Channel, usize>,
    after: Vec<HashSet<usize>>,
}

impl Waits {
    fn index(&mut self, channel: Channel) -> usize {
        let new = self.number.len();
        let index = *self.number.entry(channel).or_insert(new);
        if index == new {
            self.after.push(HashSet::new());
        }
        index
    }

    fn add(&mut self, before: Channel, after: Channel) {
        let (before, after) = (self.index(before), self.index(after));
        self.after[before].insert(after);
    }

    /// Takes away what nothing waits for, until nothing more goes.
    fn on_cycles(&self) -> usize {
        let mut waiting = vec![0_usize; self.after.len()];
        for next in self.after.iter().flatten() {
            waiting[*next] += 1;
        }
        let mut free: Vec<usize> = (0..waiting.len()).filter(|&c| waiting[c] == 0).collect();
        let mut left = waiting.len();
        while let Some(channel) = free.pop() {
            left -= 1;
            for &next in &self.after[channel] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    free.push(next);
                }
            }
        }
        left
    }
}
