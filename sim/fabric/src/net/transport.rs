//! Transport of packets through the fabric, with random faults.

use std::time::Duration;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::{Mad, Method};
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET};
use rand::Rng;

use super::queue::QueuedEvent;
use super::table::{PacketEffects, below, chance, up_to};
use super::{MadEvent, Net, TraceEvent};
use crate::fabric::{AcceptOutcome, Delivery, Packet, PortCounter};
use crate::faults::{Faults, Garbage};
use crate::spec::PortAt;

/// Unit of PortXmitWait: about one flit time.
const XMIT_WAIT_TICK: Duration = Duration::from_nanos(20);

impl Net {
    /// Transports a packet: it arrives later, possibly twice, or is lost.
    pub(super) fn transport(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        if packet.is_multicast() {
            return self.transport_multicast(&packet, out);
        }
        if self.is_instant_now {
            return self.transport_instantly(packet, out);
        }
        let from = packet.at;
        self.trace_event(MadEvent::Sent, from, &packet);
        let (result, effects) = if self.table.is_uniform() {
            let lost = chance(&mut self.rng, self.table.everywhere.loss);
            let result = self.fabric.forward_unicast(&mut packet);
            let latency = self.table.uniform_flight_time(packet.hops);
            (result, PacketEffects::new(lost, latency))
        } else {
            let attr = packet.mad.attr_id();
            let Self {
                fabric,
                rng,
                table,
                now,
                ..
            } = self;
            let mut effects = table.start_packet(from.node, attr, rng);
            let result = fabric.forward_unicast_with(&mut packet, |at| {
                table.enter_node(at, attr, *now, &mut effects, rng);
            });
            (result, effects)
        };
        self.count_credit_waits();
        if let Err(reason) = result {
            self.fabric.count_drop(reason);
            self.trace_event(MadEvent::Dropped(reason), packet.at, &packet);
            return;
        }
        if effects.lost {
            self.trace_event(MadEvent::Lost, packet.at, &packet);
            return;
        }
        self.schedule_arrival(&packet, from, &effects);
    }

    /// Transports a multicast packet: a copy arrives at each port to which the MFTs forward it.
    ///
    /// Faults on the path lose copies. Latencies of individual links and nodes do not apply to
    /// copies.
    fn transport_multicast(&mut self, packet: &Packet, out: &mut Vec<Delivery>) {
        let from = packet.at;
        self.trace_event(MadEvent::Sent, from, packet);
        let attr = packet.mad.attr_id();
        let mut copies = Vec::new();
        let Self {
            fabric,
            rng,
            table,
            now,
            ..
        } = self;
        let sender_effects = table.start_packet(from.node, attr, rng);
        let result = fabric.forward_multicast_with(packet, &mut copies, |at| {
            let mut effects = PacketEffects::new(false, Duration::ZERO);
            table.enter_node(at, attr, *now, &mut effects, rng);
            !effects.lost
        });
        self.count_credit_waits();
        if let Err(reason) = result {
            self.fabric.count_drop(reason);
            return self.trace_event(MadEvent::Dropped(reason), from, packet);
        }
        for copy in copies {
            if sender_effects.lost {
                self.trace_event(MadEvent::Lost, copy.at, &copy);
            } else if self.is_instant_now {
                self.serve(copy, out);
            } else {
                let latency = self.table.uniform_flight_time(copy.hops);
                self.schedule_arrival(&copy, from, &PacketEffects::new(false, latency));
            }
        }
    }

    /// Schedules the arrival of a packet and possibly of a duplicate.
    fn schedule_arrival(&mut self, packet: &Packet, from: PortAt, effects: &PacketEffects) {
        let (duplicate, jitter) = self.table.duplication_and_jitter(from.node, packet.at.node);
        let copies = 1 + u32::from(chance(&mut self.rng, duplicate.max(effects.duplicate)));
        for _ in 0..copies {
            let extra = up_to(&mut self.rng, jitter);
            let index = self.queue.insert(*packet);
            let when = self.now + effects.latency + extra;
            self.queue.push(when, QueuedEvent::Arrive(index));
        }
    }

    /// Adds the time spent waiting for credits to the senders' XmitWait.
    fn count_credit_waits(&mut self) {
        while let Some((into, waited)) = self.table.credit_waits.pop() {
            if let Some(sender) = self.fabric.peer(into) {
                let ticks = u64::try_from(waited.as_nanos() / XMIT_WAIT_TICK.as_nanos())
                    .unwrap_or(u64::MAX);
                self.fabric.add_errors(sender, PortCounter::XmitWait, ticks);
            }
        }
    }

    /// Transports a packet and its reply immediately, without faults and latency.
    fn transport_instantly(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        loop {
            self.trace_event(MadEvent::Sent, packet.at, &packet);
            if let Err(reason) = self.fabric.forward_unicast(&mut packet) {
                self.fabric.count_drop(reason);
                self.trace_event(MadEvent::Dropped(reason), packet.at, &packet);
                return;
            }
            match self.fabric.accept(&mut packet, self.now) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => return self.deliver(delivery, &packet, out),
                AcceptOutcome::Consumed => return,
                AcceptOutcome::Dropped(reason) => {
                    return self.trace_event(MadEvent::Dropped(reason), packet.at, &packet);
                }
            }
        }
    }

    /// Handles the arrival at a node: an agent takes its processing time, a program does not.
    pub(super) fn arrive(&mut self, index: u32, out: &mut Vec<Delivery>) {
        let packet = self.queue.peek(index);
        let node = packet.at.node;
        if !packet.is_for_agent() {
            let packet = self.queue.take(index);
            return self.serve(packet, out);
        }
        let faults = self.table.agent(node);
        if faults.hung {
            let packet = self.queue.take(index);
            return self.trace_event(MadEvent::Lost, packet.at, &packet);
        }
        if self.busy_until.len() <= node {
            self.busy_until.resize(node + 1, self.now);
        }
        let start = self.busy_until[node].max(self.now);
        let done = start + faults.service;
        if faults.backlog != 0 && start.since(self.now) > faults.service * faults.backlog {
            let packet = self.queue.take(index);
            return self.trace_event(MadEvent::Lost, packet.at, &packet);
        }
        self.busy_until[node] = done;
        if done == self.now {
            let packet = self.queue.take(index);
            self.serve(packet, out);
        } else {
            self.queue.push(done, QueuedEvent::Serve(index));
        }
    }

    /// Processes a packet at its node and sends the reply.
    pub(super) fn serve(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        let faults = self.table.agent(packet.at.node);
        let is_set = packet.mad.method() == Method::Set;
        if let Some(status) = faults.rejected_set_status
            && packet.is_for_agent()
            && is_set
            && faults
                .rejected_attr
                .is_none_or(|attr| packet.mad.attr_id() == attr)
        {
            packet.make_reply(status);
        } else {
            match self.fabric.accept(&mut packet, self.now) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => return self.deliver(delivery, &packet, out),
                AcceptOutcome::Consumed => return,
                AcceptOutcome::Dropped(reason) => {
                    return self.trace_event(MadEvent::Dropped(reason), packet.at, &packet);
                }
            }
        }
        if faults.garbage == Some(Garbage::UnusedBits) && is_set && packet.mad.status().is_ok() {
            change_unused_bits(&mut packet.mad);
        }
        self.corrupt_reply(&faults, &mut packet.mad);
        if faults.delay.is_zero() {
            self.transport(packet, out);
        } else {
            let index = self.queue.insert(packet);
            self.queue
                .push(self.now + faults.delay, QueuedEvent::Depart(index));
        }
    }

    /// Delivers a MAD to the program at a port and to a foreign SM there; SMInfo requests go to the
    /// foreign SM only.
    fn deliver(&mut self, delivery: Delivery, packet: &Packet, out: &mut Vec<Delivery>) {
        self.trace_event(MadEvent::Delivered, delivery.at, packet);
        // An SM uses QP0 and QP1 only.
        let is_mad = delivery.datagram.is_none();
        let is_receiver = |f: &super::ForeignSmSlot| is_mad && f.at == delivery.at && f.is_active();
        let Some(index) = self.foreign_sms.iter().position(is_receiver) else {
            out.push(delivery);
            return;
        };
        let mad = &delivery.mad.mad;
        let method = mad.method();
        if mad.attr_id() != id::SM_INFO || (method != Method::Get && method != Method::Set) {
            out.push(delivery);
        }
        self.foreign_sms[index].handle_mad(delivery.mad, self.now);
        self.drain_foreign_sm(index, out);
    }

    /// Corrupts a reply.
    fn corrupt_reply(&mut self, faults: &Faults, mad: &mut Mad) {
        let kind = faults.garbage.filter(|kind| *kind != Garbage::UnusedBits);
        let Some(kind) = kind else { return };
        let rng = &mut self.rng;
        if !chance(rng, faults.garbage_probability) {
            return;
        }
        let kind = match kind {
            Garbage::Any => match below(rng, 5) {
                0 => Garbage::Data,
                1 => Garbage::Status,
                2 => Garbage::Tid,
                3 => Garbage::Attribute,
                _ => Garbage::Modifier,
            },
            Garbage::Data
            | Garbage::Status
            | Garbage::Tid
            | Garbage::Attribute
            | Garbage::Modifier
            | Garbage::UnusedBits => kind,
        };
        let mut header = mad.header();
        let random = rng.next_u64();
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        match kind {
            Garbage::Data => {
                rng.fill_bytes(&mut mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + DATA_LEN]);
                return;
            }
            Garbage::Status => header.status |= 1 << (random % 15),
            Garbage::Tid => header.tid.0 ^= random | 1,
            Garbage::Attribute => header.attr_id = AttrId(header.attr_id.0 ^ (random as u16 | 1)),
            Garbage::Modifier | Garbage::UnusedBits | Garbage::Any => {
                header.attr_mod.0 ^= random as u32 | 1
            }
        }
        mad.set_header(&header);
    }

    #[inline]
    fn trace_event(&mut self, event: MadEvent, at: PortAt, packet: &Packet) {
        if self.trace.is_none() && self.observer.is_none() {
            return;
        }
        let event = TraceEvent {
            now: self.now,
            event,
            at,
            mad: &packet.mad,
            packet,
        };
        if let Some(trace) = &mut self.trace {
            trace.event(&event);
        }
        if let Some(observer) = &mut self.observer {
            observer(&event);
        }
    }
}

/// Changes bits of a table that have no effect, as some agents do.
fn change_unused_bits(mad: &mut Mad) {
    let attr = mad.attr_id();
    let data = &mut mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + DATA_LEN];
    match attr {
        // Entries that drop packets.
        id::LFT => data
            .iter_mut()
            .filter(|port| **port == 0xFF)
            .for_each(|port| *port = 0xFE),
        // Invalid P_Keys.
        id::PKEY_TABLE => {
            let entries = data.chunks_exact_mut(2);
            let invalid = entries.filter(|key| (key[0] & 0x7F, key[1]) == (0, 0));
            invalid.for_each(|key| key[0] = 0x80);
        }
        // Entries without weight, and reserved bits.
        id::VL_ARBITRATION => {
            for entry in data.chunks_exact_mut(2) {
                entry[0] = if entry[1] == 0 { 0xF0 } else { entry[0] | 0xF0 };
            }
        }
        _ => {}
    }
}
