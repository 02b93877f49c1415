//! State and behaviour of the devices: SMAs reply, links train, switches forward.
//!
//! [`Fabric`] owns the state of all devices. It forwards by the LFTs and MFTs that were written to
//! the switches, so wrong tables lose packets as on hardware. Callers pass the time. It draws no
//! random numbers and has no faults of its own; [`crate::net`] injects faults.
//!
//! [`Fabric::handle`] forwards a MAD and its reply immediately. [`Fabric::forward_unicast`] and
//! [`Fabric::accept`] are its two steps, for callers that let time pass between them.

mod accept;
mod admit;
mod cables;
mod counters;
mod directed;
mod emulation;
mod forwarding;
mod links;
mod local;
mod node;
mod node_changes;
mod packet;
mod port_counters;
mod read;
mod traps;

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, NodeDescription, NodeType};
use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;

pub use accept::AcceptOutcome;
pub use counters::{DropReason, NodeCounters, Totals};
pub use emulation::Emulation;
pub(crate) use links::CableEnd;
use links::{ModelLink, NO_LINK};
pub use local::LocalChange;
pub(crate) use node::{ModelNode, ModelPort, POWER_ON_SL_TO_VL, Switch, power_on_vl_arb};
pub use packet::{Datagram, Delivery, GlobalRouteHeader, Packet};
pub(crate) use port_counters::{CounterWidth, RawCounts, Sampler};
pub use port_counters::{PortCounter, PortCounters};
use traps::PendingTrap;

use crate::spec::{FabricSpec, LinkSpec, NodeIdx, NodeSpec, PortAt};

/// Why a description of a fabric is invalid or a change is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The fabric has no nodes.
    #[error("a fabric needs at least one node")]
    Empty,
    /// The node has more than 254 ports.
    #[error("node {node} has {ports} ports, more than the maximum of 254")]
    TooManyPorts {
        node: NodeIdx,
        /// Number of its ports.
        ports: u8,
    },
    /// The node has fewer GUIDs than end ports.
    #[error("node {node} has {have} port GUIDs, but needs {need}")]
    MissingGuids {
        node: NodeIdx,
        /// Given GUIDs.
        have: usize,
        /// Required GUIDs: 1 for a switch, one per port for other nodes.
        need: usize,
    },
    /// Unsupported node type.
    #[error("node {0} is not a CA, switch or router")]
    UnknownKind(NodeIdx),
    /// The port does not exist.
    #[error("node number {} has no port {}", .0.node, .0.port)]
    NoSuchPort(PortAt),
    /// The port has a cable, a program or an SM.
    #[error("port {} of node number {} is in use", .0.port, .0.node)]
    PortInUse(PortAt),
    /// The port has no cable.
    #[error("port {} of node number {} has no cable", .0.port, .0.node)]
    NoCable(PortAt),
}

/// Outcome of a MAD in [`Fabric::handle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadOutcome {
    /// A node replied, and the reply was delivered.
    Replied,
    /// It was delivered to a program; copies of a multicast packet were sent.
    Delivered,
    /// A node consumed it without a reply (TrapRepress).
    Consumed,
    /// It or its reply was dropped.
    Dropped(DropReason),
}

/// A future event of the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Train(u32),
    Trap { node: u32, tid: u64 },
}

/// All devices of a subnet and the cables between them.
#[derive(Debug, Clone)]
pub struct Fabric {
    pub(crate) nodes: Vec<ModelNode>,
    /// Ports of all nodes; see [`ModelNode::base`].
    pub(crate) ports: Vec<ModelPort>,
    /// By port slot: cable end.
    pub(crate) cable_ends: Vec<CableEnd>,
    /// By port slot: counters.
    pub(crate) raw_counts: Vec<RawCounts>,
    links: Vec<Option<ModelLink>>,
    timers: BTreeMap<(Instant, u64), Timer>,
    timer_seq: u64,
    traps: BTreeMap<(u32, u64), PendingTrap>,
    training: Duration,
    switches: u32,
    pub(crate) totals: Totals,
    /// The latest time that was passed in.
    pub(crate) now: Instant,
}

impl Fabric {
    /// Builds a fabric with trained links: ports are in Initialize, tables are empty.
    ///
    /// # Errors
    /// If the description is inconsistent.
    pub fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        if spec.nodes.is_empty() {
            return Err(SpecError::Empty);
        }
        let mut fabric = Self {
            nodes: Vec::with_capacity(spec.nodes.len()),
            ports: Vec::new(),
            cable_ends: Vec::new(),
            raw_counts: Vec::new(),
            links: Vec::with_capacity(spec.links.len()),
            timers: BTreeMap::new(),
            timer_seq: 0,
            traps: BTreeMap::new(),
            training: Duration::ZERO,
            switches: 0,
            totals: Totals::default(),
            now: Instant::START,
        };
        let mut hardware = vec![(None, 0u8); spec.nodes.len()];
        for link in &spec.links {
            for port in [link.a, link.b] {
                let Some((speed, widths)) = hardware.get_mut(port.node) else {
                    return Err(SpecError::NoSuchPort(port));
                };
                *speed = Some(speed.map_or(link.speed, |s: LinkSpeed| s.max(link.speed)));
                *widths |= link.width.bit();
            }
        }
        for (node, (speed, widths)) in spec.nodes.iter().zip(hardware) {
            fabric.insert_node(node, speed.unwrap_or(LinkSpeed::Edr), widths)?;
        }
        for link in &spec.links {
            fabric.add_cable(*link)?;
        }
        Ok(fabric)
    }

    /// Sets the training time of links; zero by default.
    pub const fn set_link_training(&mut self, time: Duration) {
        self.training = time;
    }

    fn insert_node(
        &mut self,
        spec: &NodeSpec,
        max_speed: LinkSpeed,
        widths_used: u8,
    ) -> Result<NodeIdx, SpecError> {
        let index = self.nodes.len();
        let is_switch = spec.kind == NodeType::Switch;
        if !is_switch && spec.kind != NodeType::Ca && spec.kind != NodeType::Router {
            return Err(SpecError::UnknownKind(index));
        }
        if spec.num_ports > 254 {
            return Err(SpecError::TooManyPorts {
                node: index,
                ports: spec.num_ports,
            });
        }
        let need = if is_switch {
            1
        } else {
            usize::from(spec.num_ports)
        };
        if spec.port_guids.len() < need {
            return Err(SpecError::MissingGuids {
                node: index,
                have: spec.port_guids.len(),
                need,
            });
        }
        self.nodes.push(ModelNode {
            kind: spec.kind,
            powered: true,
            num_ports: spec.num_ports,
            base: self.ports.len(),
            guid: spec.node_guid,
            system_image_guid: spec.system_image_guid,
            vendor_id: spec.vendor_id,
            device_id: spec.device_id,
            options: spec.options,
            caps: spec.caps(),
            enhanced_port0: spec.enhanced_port0,
            description: NodeDescription::new(&spec.description).encode(),
            switch: is_switch.then(|| Box::new(Switch::new(spec))),
            max_speed,
            counters: NodeCounters::default(),
            emulator: None,
            trap_tid: 0,
        });
        self.switches += u32::from(is_switch);
        let widths = node::width_mask(max_speed, widths_used);
        for port in 0..=spec.num_ports {
            let mut p = node::power_on_port(spec, port, max_speed, widths);
            let lid_index = if is_switch {
                Some(0)
            } else {
                usize::from(port).checked_sub(1)
            };
            if (port == 0 || !is_switch)
                && let Some((lid, lmc)) = lid_index.and_then(|i| spec.lids.get(i))
            {
                node::restore_lid(&mut p, *lid, *lmc);
            }
            self.ports.push(p);
            self.raw_counts.push(RawCounts::default());
            self.cable_ends.push(CableEnd {
                node: 0,
                link: NO_LINK,
                port: 0,
                up: false,
                counts_each: false,
                sent: 0,
                received: 0,
            });
        }
        Ok(index)
    }

    /// Adds a powered node without cables and returns its index.
    ///
    /// # Errors
    /// If the description is inconsistent.
    pub fn add_node(&mut self, spec: &NodeSpec, speed: LinkSpeed) -> Result<NodeIdx, SpecError> {
        self.insert_node(spec, speed, 0)
    }

    /// Forwards a MAD from a program's port, processes it at its destination, and forwards the
    /// reply, all at `now`.
    ///
    /// Deliveries to programs are appended to `out`. Traps caused by the MAD are sent by the next
    /// [`Fabric::advance`].
    pub fn handle(
        &mut self,
        at: PortAt,
        mad: &MadOut,
        now: Instant,
        out: &mut Vec<Delivery>,
    ) -> MadOutcome {
        self.totals.sent += 1;
        let mut packet = Packet::new(at, mad);
        self.complete(&mut packet, now, out)
    }

    /// As [`Fabric::handle`], for a packet with arbitrary headers.
    pub fn handle_packet(
        &mut self,
        mut packet: Packet,
        now: Instant,
        out: &mut Vec<Delivery>,
    ) -> MadOutcome {
        self.totals.sent += 1;
        self.complete(&mut packet, now, out)
    }

    /// Forwards a multicast packet to all programs that the MFTs lead to, at `now`.
    ///
    /// # Errors
    /// If no copy left the sender's port.
    pub fn multicast(
        &mut self,
        packet: &Packet,
        now: Instant,
        out: &mut Vec<Delivery>,
    ) -> Result<(), DropReason> {
        let mut arrived = Vec::new();
        self.forward_multicast(packet, &mut arrived)?;
        for mut copy in arrived {
            if let AcceptOutcome::Deliver(delivery) = self.accept(&mut copy, now) {
                out.push(delivery);
            }
        }
        Ok(())
    }

    fn complete(
        &mut self,
        packet: &mut Packet,
        now: Instant,
        out: &mut Vec<Delivery>,
    ) -> MadOutcome {
        if packet.is_multicast() && !packet.is_vl15() {
            return match self.multicast(packet, now, out) {
                Ok(()) => MadOutcome::Delivered,
                Err(reason) => {
                    self.totals.drop_one(reason);
                    MadOutcome::Dropped(reason)
                }
            };
        }
        if let Err(reason) = self.forward_unicast(packet) {
            self.totals.drop_one(reason);
            return MadOutcome::Dropped(reason);
        }
        match self.accept(packet, now) {
            AcceptOutcome::Reply => {}
            AcceptOutcome::Deliver(delivery) => {
                out.push(delivery);
                return MadOutcome::Delivered;
            }
            AcceptOutcome::Consumed => return MadOutcome::Consumed,
            AcceptOutcome::Dropped(reason) => return MadOutcome::Dropped(reason),
        }
        if let Err(reason) = self.forward_unicast(packet) {
            self.totals.drop_one(reason);
            return MadOutcome::Dropped(reason);
        }
        match self.accept(packet, now) {
            AcceptOutcome::Deliver(delivery) => {
                out.push(delivery);
                MadOutcome::Replied
            }
            AcceptOutcome::Dropped(reason) => MadOutcome::Dropped(reason),
            AcceptOutcome::Reply | AcceptOutcome::Consumed => MadOutcome::Consumed,
        }
    }

    /// Advances the time without processing timers, before a change that starts a timer.
    pub fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    pub(crate) const fn count_drop(&mut self, reason: DropReason) {
        self.totals.drop_one(reason);
    }

    /// Time of the next [`Fabric::advance`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Processes timers due at `now`: links come up, traps are sent and forwarded.
    pub fn advance(&mut self, now: Instant, out: &mut Vec<Delivery>) {
        let mut packets = Vec::new();
        self.process_timers(now, &mut packets);
        for mut packet in packets {
            self.complete(&mut packet, now, out);
        }
    }

    /// Processes timers due at `now`; traps are appended to `packets` for
    /// [`Fabric::forward_unicast`].
    pub fn process_timers(&mut self, now: Instant, packets: &mut Vec<Packet>) {
        self.now = self.now.max(now);
        // A trap that is due again immediately (a zero timer) waits for the next call.
        let last = self.timer_seq;
        while let Some((&key, &timer)) = self.timers.first_key_value() {
            if key.0 > now || key.1 > last {
                break;
            }
            self.timers.remove(&key);
            match timer {
                Timer::Train(link) => self.train_if_possible(link),
                Timer::Trap { node, tid } => self.send_trap(node, tid, now, packets),
            }
        }
    }

    fn set_timer(&mut self, at: Instant, timer: Timer) -> (Instant, u64) {
        self.timer_seq += 1;
        self.timers.insert((at, self.timer_seq), timer);
        (at, self.timer_seq)
    }

    /// Index of a port in vectors over all ports.
    #[inline]
    pub(crate) fn slot(&self, at: PortAt) -> Option<usize> {
        let node = self.nodes.get(at.node)?;
        (at.port <= node.num_ports).then(|| node.base + usize::from(at.port))
    }

    /// Slot of the end port for packets that entered a node by port `at`.
    #[inline]
    pub(crate) fn end_slot(&self, at: PortAt) -> usize {
        let node = &self.nodes[at.node];
        node.base + usize::from(node.end_port(at.port))
    }

    /// Description of the cable at a port.
    #[must_use]
    pub fn cable_at(&self, at: PortAt) -> Option<LinkSpec> {
        let cable_end = self.cable_ends.get(self.slot(at)?)?;
        self.links
            .get(cable_end.link as usize)?
            .as_ref()
            .map(|l| l.spec)
    }
}
