//! Which faults there are, and what they do to a packet on its way.
//!
//! The table is looked up for each packet and each node that it passes. It draws from the generator
//! that it is given and knows no fabric.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::ids::AttrId;
use ferrosm_mad::time::Instant;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::HOP_TIME;
use crate::faults::{AgentFault, Faults, LinkFaults, TransportFault};
use crate::spec::{NodeIdx, PortAt};

/// Whether something of this chance happens. Impossible and certain things draw nothing.
pub(super) fn chance(rng: &mut ChaCha8Rng, p: f64) -> bool {
    if p <= 0.0 {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let drawn = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    p >= 1.0 || drawn < p
}

/// 0 to `limit` - 1, or 0.
pub(super) fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    if limit == 0 {
        0
    } else {
        rng.next_u64() % limit
    }
}

/// An even share of a time.
pub(super) fn up_to(rng: &mut ChaCha8Rng, time: Duration) -> Duration {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(below(rng, nanos))
}

/// A place as packets meet it: one direction of a cable is known by the port that it enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    Fabric,
    Node(NodeIdx),
    Into(PortAt),
}

#[derive(Debug, Clone, Copy)]
struct AttrLoss {
    spot: Spot,
    attr: AttrId,
    loss: f64,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct FaultTable {
    /// What a fabric without faults does.
    calm: Faults,
    calm_hop_time: Duration,
    pub(super) all: Faults,
    pub(super) hop_time: Duration,
    nodes: BTreeMap<NodeIdx, Faults>,
    links: BTreeMap<PortAt, LinkFaults>,
    attrs: Vec<AttrLoss>,
    /// When the receiver behind a slowly drained cable takes the next MAD.
    drained: BTreeMap<PortAt, Instant>,
    /// Waiting for credits before a port was entered, since last asked.
    pub(super) waits: Vec<(PortAt, Duration)>,
}

/// What a packet has met so far.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) lost: bool,
    pub(super) duplicate: f64,
    pub(super) flight: Duration,
}

impl Trip {
    pub(super) const fn new(lost: bool, flight: Duration) -> Self {
        Self {
            lost,
            duplicate: 0.0,
            flight,
        }
    }
}

impl FaultTable {
    pub(super) const fn new() -> Self {
        Self {
            calm: Faults::NONE,
            calm_hop_time: HOP_TIME,
            all: Faults::NONE,
            hop_time: HOP_TIME,
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            attrs: Vec::new(),
            drained: BTreeMap::new(),
            waits: Vec::new(),
        }
    }

    /// From now on a fabric without faults takes no time for anything.
    pub(super) fn make_instant(&mut self) {
        self.calm.service = Duration::ZERO;
        self.calm_hop_time = Duration::ZERO;
        self.heal_all();
    }

    /// Whether nothing goes wrong anywhere.
    pub(super) fn is_calm(&self) -> bool {
        self.all == self.calm && self.hop_time == self.calm_hop_time && self.is_even()
    }

    /// Whether all places are alike.
    pub(super) fn is_even(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty() && self.attrs.is_empty()
    }

    pub(super) fn set_node(&mut self, node: NodeIdx, faults: Option<Faults>) {
        match faults {
            Some(faults) => self.nodes.insert(node, faults),
            None => self.nodes.remove(&node),
        };
    }

    /// The faults of what enters a port, to be changed.
    pub(super) fn link_mut(&mut self, into: PortAt) -> &mut LinkFaults {
        self.links.entry(into).or_default()
    }

    /// Forgets faults that are none.
    pub(super) fn tidy(&mut self) {
        self.links.retain(|_, f| *f != LinkFaults::default());
        let links = &self.links;
        self.drained
            .retain(|at, _| links.get(at).is_some_and(|f| !f.drain.is_zero()));
    }

    fn node_mut(&mut self, node: NodeIdx) -> &mut Faults {
        let like_all = self.all.agent_only();
        self.nodes.entry(node).or_insert(like_all)
    }

    pub(super) fn change_wire(&mut self, spot: Spot, change: TransportFault) {
        let faults = match spot {
            Spot::Fabric => &mut self.all,
            Spot::Node(node) => self.node_mut(node),
            Spot::Into(at) => {
                let link = self.link_mut(at);
                match change {
                    TransportFault::Loss(loss) => link.loss = loss,
                    TransportFault::Duplicate(chance) => link.duplicate = chance,
                    TransportFault::Jitter(time) => link.jitter = time,
                    TransportFault::Latency(time) => link.latency = Some(time),
                }
                return;
            }
        };
        match change {
            TransportFault::Loss(loss) => faults.loss = loss,
            TransportFault::Duplicate(chance) => faults.duplicate = chance,
            TransportFault::Jitter(time) => faults.jitter = time,
            TransportFault::Latency(time) if spot == Spot::Fabric => self.hop_time = time,
            TransportFault::Latency(time) => faults.latency = time,
        }
    }

    pub(super) fn change_agent(&mut self, node: Option<NodeIdx>, change: AgentFault) {
        let faults = match node {
            None => &mut self.all,
            Some(node) => self.node_mut(node),
        };
        match change {
            AgentFault::Service(time) => faults.service = time,
            AgentFault::Backlog(most) => faults.backlog = most,
            AgentFault::Delay(time) => faults.delay = time,
            AgentFault::Hung(hung) => faults.hung = hung,
            AgentFault::Refuse(status) => faults.refuse_sets = status,
            AgentFault::Garbage(kind, chance) => {
                faults.garbage = kind;
                faults.garbage_chance = chance;
            }
        }
    }

    pub(super) fn set_attr_loss(&mut self, spot: Spot, attr: AttrId, loss: f64) {
        self.attrs.retain(|a| (a.spot, a.attr) != (spot, attr));
        if loss > 0.0 {
            self.attrs.push(AttrLoss { spot, attr, loss });
        }
    }

    pub(super) fn heal_all(&mut self) {
        self.all = self.calm;
        self.hop_time = self.calm_hop_time;
        self.nodes.clear();
        self.links.clear();
        self.attrs.clear();
        self.drained.clear();
    }

    pub(super) fn heal(&mut self, spot: Spot) {
        self.attrs.retain(|a| a.spot != spot);
        match spot {
            Spot::Fabric => self.heal_all(),
            Spot::Node(node) => {
                self.nodes.remove(&node);
            }
            Spot::Into(at) => {
                self.links.remove(&at);
                self.drained.remove(&at);
            }
        }
    }

    /// What the agent of a node does wrong.
    pub(super) fn agent(&self, node: NodeIdx) -> Faults {
        if self.nodes.is_empty() {
            return self.all;
        }
        self.nodes.get(&node).copied().unwrap_or(self.all)
    }

    /// Time that a packet takes over so many links where all places are alike.
    pub(super) fn even_flight(&self, hops: u16) -> Duration {
        let hops = u32::from(hops);
        self.hop_time * hops + self.all.latency * (hops + 1)
    }

    /// A packet begins its way at a node.
    pub(super) fn begin(&self, node: NodeIdx, attr: AttrId, rng: &mut ChaCha8Rng) -> Trip {
        let mut trip = Trip {
            lost: chance(rng, self.all.loss),
            duplicate: self.all.duplicate,
            flight: self.all.latency,
        };
        self.at_node(node, attr, &mut trip, rng);
        for a in &self.attrs {
            if a.spot == Spot::Fabric && a.attr == attr {
                trip.lost |= chance(rng, a.loss);
            }
        }
        trip
    }

    /// It enters a node.
    pub(super) fn enter(
        &mut self,
        at: PortAt,
        attr: AttrId,
        now: Instant,
        trip: &mut Trip,
        rng: &mut ChaCha8Rng,
    ) {
        self.at_node(at.node, attr, trip, rng);
        let mut latency = self.hop_time;
        if let Some(link) = self.links.get(&at) {
            trip.lost |= chance(rng, link.loss);
            trip.duplicate = trip.duplicate.max(link.duplicate);
            latency = link.latency.unwrap_or(latency) + up_to(rng, link.jitter);
            if !link.drain.is_zero() {
                let here = now + trip.flight;
                let free = self.drained.entry(at).or_default();
                *free = (*free).max(here) + link.drain;
                let waited = free.since(here);
                latency += waited;
                self.waits.push((at, waited));
            }
        }
        trip.flight += latency + self.all.latency;
        for a in &self.attrs {
            if a.spot == Spot::Into(at) && a.attr == attr {
                trip.lost |= chance(rng, a.loss);
            }
        }
    }

    fn at_node(&self, node: NodeIdx, attr: AttrId, trip: &mut Trip, rng: &mut ChaCha8Rng) {
        if let Some(faults) = self.nodes.get(&node) {
            trip.lost |= chance(rng, faults.loss);
            trip.flight += faults.latency;
        }
        for a in &self.attrs {
            if a.spot == Spot::Node(node) && a.attr == attr {
                trip.lost |= chance(rng, a.loss);
            }
        }
    }

    /// Chance of a second copy and the longest jitter, of the fabric and both ends.
    pub(super) fn spread(&self, from: NodeIdx, to: NodeIdx) -> (f64, Duration) {
        let (mut duplicate, mut jitter) = (self.all.duplicate, self.all.jitter);
        if !self.nodes.is_empty() {
            for node in [from, to] {
                if let Some(faults) = self.nodes.get(&node) {
                    duplicate = duplicate.max(faults.duplicate);
                    jitter = jitter.max(faults.jitter);
                }
            }
        }
        (duplicate, jitter)
    }
}
