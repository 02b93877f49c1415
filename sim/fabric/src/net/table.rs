//! Table of active faults and their effects on a packet.
//!
//! The table is consulted for each packet and each node that it passes. It does not access the
//! fabric.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::ids::AttrId;
use ferrosm_mad::time::Instant;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::HOP_TIME;
use crate::faults::{AgentFault, Faults, LinkFaults, TransportFault};
use crate::spec::{NodeIdx, PortAt};

/// Whether an event of probability `p` happens. Draws nothing if `p` is 0 or less.
pub(super) fn chance(rng: &mut ChaCha8Rng, p: f64) -> bool {
    if p <= 0.0 {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let drawn = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    p >= 1.0 || drawn < p
}

/// A random number below `limit`; 0 if `limit` is 0.
pub(super) fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    if limit == 0 {
        0
    } else {
        rng.next_u64() % limit
    }
}

/// A uniformly distributed duration below `time`.
pub(super) fn up_to(rng: &mut ChaCha8Rng, time: Duration) -> Duration {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(below(rng, nanos))
}

/// Location of a fault. A direction of a link is identified by the port where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultLocation {
    Fabric,
    Node(NodeIdx),
    Into(PortAt),
}

#[derive(Debug, Clone, Copy)]
struct AttrLoss {
    location: FaultLocation,
    attr: AttrId,
    loss: f64,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct FaultTable {
    /// Values without faults.
    fault_free: Faults,
    fault_free_hop_time: Duration,
    /// Faults of the whole fabric.
    pub(super) everywhere: Faults,
    pub(super) hop_time: Duration,
    nodes: BTreeMap<NodeIdx, Faults>,
    links: BTreeMap<PortAt, LinkFaults>,
    attrs: Vec<AttrLoss>,
    /// By receiving port of a link with drain time: when it can receive the next MAD.
    drained: BTreeMap<PortAt, Instant>,
    /// Waits for credits, by receiving port, that [`super::Net`] has not counted yet.
    pub(super) credit_waits: Vec<(PortAt, Duration)>,
}

/// Effects of the faults on a packet so far.
#[derive(Debug)]
pub(super) struct PacketEffects {
    pub(super) lost: bool,
    pub(super) duplicate: f64,
    pub(super) latency: Duration,
}

impl PacketEffects {
    pub(super) const fn new(lost: bool, latency: Duration) -> Self {
        Self {
            lost,
            duplicate: 0.0,
            latency,
        }
    }
}

impl FaultTable {
    pub(super) const fn new() -> Self {
        Self {
            fault_free: Faults::NONE,
            fault_free_hop_time: HOP_TIME,
            everywhere: Faults::NONE,
            hop_time: HOP_TIME,
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            attrs: Vec::new(),
            drained: BTreeMap::new(),
            credit_waits: Vec::new(),
        }
    }

    /// Sets the default latencies and processing times to zero and clears all faults.
    pub(super) fn make_instant(&mut self) {
        self.fault_free.service = Duration::ZERO;
        self.fault_free_hop_time = Duration::ZERO;
        self.heal_all();
    }

    /// Whether there are no faults.
    pub(super) fn is_fault_free(&self) -> bool {
        self.everywhere == self.fault_free
            && self.hop_time == self.fault_free_hop_time
            && self.is_uniform()
    }

    /// Whether no node, link or attribute has faults of its own.
    pub(super) fn is_uniform(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty() && self.attrs.is_empty()
    }

    pub(super) fn set_node(&mut self, node: NodeIdx, faults: Option<Faults>) {
        match faults {
            Some(faults) => self.nodes.insert(node, faults),
            None => self.nodes.remove(&node),
        };
    }

    /// The faults of the link direction that ends at a port.
    pub(super) fn link_mut(&mut self, into: PortAt) -> &mut LinkFaults {
        self.links.entry(into).or_default()
    }

    /// Removes entries without faults.
    pub(super) fn remove_default_entries(&mut self) {
        self.links.retain(|_, f| *f != LinkFaults::default());
        let links = &self.links;
        self.drained
            .retain(|at, _| links.get(at).is_some_and(|f| !f.drain.is_zero()));
    }

    fn node_mut(&mut self, node: NodeIdx) -> &mut Faults {
        let fabric_faults = self.everywhere.agent_only();
        self.nodes.entry(node).or_insert(fabric_faults)
    }

    pub(super) fn set_transport_fault(&mut self, location: FaultLocation, change: TransportFault) {
        let faults = match location {
            FaultLocation::Fabric => &mut self.everywhere,
            FaultLocation::Node(node) => self.node_mut(node),
            FaultLocation::Into(at) => {
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
            TransportFault::Latency(time) if location == FaultLocation::Fabric => {
                self.hop_time = time
            }
            TransportFault::Latency(time) => faults.latency = time,
        }
    }

    pub(super) fn set_agent_fault(&mut self, node: Option<NodeIdx>, change: AgentFault) {
        let faults = match node {
            None => &mut self.everywhere,
            Some(node) => self.node_mut(node),
        };
        match change {
            AgentFault::Service(time) => faults.service = time,
            AgentFault::Backlog(limit) => faults.backlog = limit,
            AgentFault::Delay(time) => faults.delay = time,
            AgentFault::Hung(hung) => faults.hung = hung,
            AgentFault::Refuse(status) => {
                (faults.rejected_set_status, faults.rejected_attr) = (status, None);
            }
            AgentFault::RefuseAttr(attr, status) => {
                (faults.rejected_set_status, faults.rejected_attr) = (Some(status), Some(attr));
            }
            AgentFault::Garbage(kind, chance) => {
                faults.garbage = kind;
                faults.garbage_probability = chance;
            }
        }
    }

    pub(super) fn set_attr_loss(&mut self, location: FaultLocation, attr: AttrId, loss: f64) {
        self.attrs
            .retain(|a| (a.location, a.attr) != (location, attr));
        if loss > 0.0 {
            self.attrs.push(AttrLoss {
                location,
                attr,
                loss,
            });
        }
    }

    pub(super) fn heal_all(&mut self) {
        self.everywhere = self.fault_free;
        self.hop_time = self.fault_free_hop_time;
        self.nodes.clear();
        self.links.clear();
        self.attrs.clear();
        self.drained.clear();
    }

    pub(super) fn heal(&mut self, location: FaultLocation) {
        self.attrs.retain(|a| a.location != location);
        match location {
            FaultLocation::Fabric => self.heal_all(),
            FaultLocation::Node(node) => {
                self.nodes.remove(&node);
            }
            FaultLocation::Into(at) => {
                self.links.remove(&at);
                self.drained.remove(&at);
            }
        }
    }

    /// The faults of a node's agent.
    pub(super) fn agent(&self, node: NodeIdx) -> Faults {
        if self.nodes.is_empty() {
            return self.everywhere;
        }
        self.nodes.get(&node).copied().unwrap_or(self.everywhere)
    }

    /// Latency over `hops` links if the faults are uniform.
    pub(super) fn uniform_flight_time(&self, hops: u16) -> Duration {
        let hops = u32::from(hops);
        self.hop_time * hops + self.everywhere.latency * (hops + 1)
    }

    /// Starts a packet at a node.
    pub(super) fn start_packet(
        &self,
        node: NodeIdx,
        attr: AttrId,
        rng: &mut ChaCha8Rng,
    ) -> PacketEffects {
        let mut effects = PacketEffects {
            lost: chance(rng, self.everywhere.loss),
            duplicate: self.everywhere.duplicate,
            latency: self.everywhere.latency,
        };
        self.apply_node_faults(node, attr, &mut effects, rng);
        for a in &self.attrs {
            if a.location == FaultLocation::Fabric && a.attr == attr {
                effects.lost |= chance(rng, a.loss);
            }
        }
        effects
    }

    /// Applies the faults of the link direction that ends at `at`, and of the node, to a packet
    /// that arrives there.
    pub(super) fn enter_node(
        &mut self,
        at: PortAt,
        attr: AttrId,
        now: Instant,
        effects: &mut PacketEffects,
        rng: &mut ChaCha8Rng,
    ) {
        self.apply_node_faults(at.node, attr, effects, rng);
        let mut latency = self.hop_time;
        if let Some(link) = self.links.get(&at) {
            effects.lost |= chance(rng, link.loss);
            effects.duplicate = effects.duplicate.max(link.duplicate);
            latency = link.latency.unwrap_or(latency) + up_to(rng, link.jitter);
            if !link.drain.is_zero() {
                let arrival = now + effects.latency;
                let free = self.drained.entry(at).or_default();
                *free = (*free).max(arrival) + link.drain;
                let waited = free.since(arrival);
                latency += waited;
                self.credit_waits.push((at, waited));
            }
        }
        effects.latency += latency + self.everywhere.latency;
        for a in &self.attrs {
            if a.location == FaultLocation::Into(at) && a.attr == attr {
                effects.lost |= chance(rng, a.loss);
            }
        }
    }

    fn apply_node_faults(
        &self,
        node: NodeIdx,
        attr: AttrId,
        effects: &mut PacketEffects,
        rng: &mut ChaCha8Rng,
    ) {
        if let Some(faults) = self.nodes.get(&node) {
            effects.lost |= chance(rng, faults.loss);
            effects.latency += faults.latency;
        }
        for a in &self.attrs {
            if a.location == FaultLocation::Node(node) && a.attr == attr {
                effects.lost |= chance(rng, a.loss);
            }
        }
    }

    /// Probability of duplication and maximum jitter, of the fabric and both nodes.
    pub(super) fn duplication_and_jitter(&self, from: NodeIdx, to: NodeIdx) -> (f64, Duration) {
        let mut duplicate = self.everywhere.duplicate;
        let mut jitter = self.everywhere.jitter;
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
