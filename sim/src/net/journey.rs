//! How packets get through, and what goes wrong on the way: the part of the net that draws numbers.

use std::time::Duration;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::{Mad, Method};
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET};
use rand::Rng;

use super::queue::Key;
use super::table::{Trip, below, chance, up_to};
use super::{MadEvent, Net, TraceEvent};
use crate::fabric::{AcceptOutcome, Delivery, Packet, PortCounter};
use crate::faults::{Faults, Garbage};
use crate::spec::PortAt;

/// What PortXmitWait counts in: about a flit time of hardware.
const XMIT_WAIT_TICK: Duration = Duration::from_nanos(20);

impl Net {
    /// Sends a packet off: it arrives later, perhaps twice, or never.
    pub(super) fn journey(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        if packet.is_multicast() {
            return self.spread(&packet, out);
        }
        if self.plain {
            return self.rush(packet, out);
        }
        let from = packet.at;
        self.note(MadEvent::Sent, from, &packet);
        let (result, trip) = if self.table.is_even() {
            let lost = chance(&mut self.rng, self.table.all.loss);
            let result = self.fabric.travel(&mut packet);
            let flight = self.table.even_flight(packet.hops);
            (result, Trip::new(lost, flight))
        } else {
            let attr = packet.mad.attr_id();
            let Self {
                fabric,
                rng,
                table,
                now,
                ..
            } = self;
            let mut trip = table.begin(from.node, attr, rng);
            let result = fabric.travel_seen(&mut packet, |at| {
                table.enter(at, attr, *now, &mut trip, rng);
            });
            (result, trip)
        };
        self.count_waits();
        if let Err(reason) = result {
            self.fabric.count_drop(reason);
            self.note(MadEvent::Dropped(reason), packet.at, &packet);
            return;
        }
        if trip.lost {
            self.note(MadEvent::Lost, packet.at, &packet);
            return;
        }
        self.land(&packet, from, &trip);
    }

    /// Sends a multicast packet off: a copy arrives at each port that the tables lead to.
    ///
    /// Faults on the way lose copies; what a cable or node adds to the time of a packet, it does not
    /// add to that of a copy.
    fn spread(&mut self, packet: &Packet, out: &mut Vec<Delivery>) {
        let from = packet.at;
        self.note(MadEvent::Sent, from, packet);
        let attr = packet.mad.attr_id();
        let mut copies = Vec::new();
        let Self {
            fabric,
            rng,
            table,
            now,
            ..
        } = self;
        let begin = table.begin(from.node, attr, rng);
        let result = fabric.spread_seen(packet, &mut copies, |at| {
            let mut trip = Trip::new(false, Duration::ZERO);
            table.enter(at, attr, *now, &mut trip, rng);
            !trip.lost
        });
        self.count_waits();
        if let Err(reason) = result {
            self.fabric.count_drop(reason);
            return self.note(MadEvent::Dropped(reason), from, packet);
        }
        for copy in copies {
            if begin.lost {
                self.note(MadEvent::Lost, copy.at, &copy);
            } else if self.plain {
                self.serve(copy, out);
            } else {
                let flight = self.table.even_flight(copy.hops);
                self.land(&copy, from, &Trip::new(false, flight));
            }
        }
    }

    /// A packet that got through arrives once or twice, after its flight.
    fn land(&mut self, packet: &Packet, from: PortAt, trip: &Trip) {
        let (duplicate, jitter) = self.table.spread(from.node, packet.at.node);
        let copies = 1 + u32::from(chance(&mut self.rng, duplicate.max(trip.duplicate)));
        for _ in 0..copies {
            let extra = up_to(&mut self.rng, jitter);
            let index = self.queue.put(*packet);
            let when = self.now + trip.flight + extra;
            self.queue.push(when, Key::Arrive(index));
        }
    }

    /// The senders count what they waited for credits.
    fn count_waits(&mut self) {
        while let Some((into, waited)) = self.table.waits.pop() {
            if let Some(sender) = self.fabric.peer(into) {
                let ticks = waited.as_nanos() / XMIT_WAIT_TICK.as_nanos();
                let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
                self.fabric.add_errors(sender, PortCounter::XmitWait, ticks);
            }
        }
    }

    /// Carries a packet and its answer to their ends at once: nothing is wrong, nothing takes time.
    fn rush(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        loop {
            self.note(MadEvent::Sent, packet.at, &packet);
            if let Err(reason) = self.fabric.travel(&mut packet) {
                self.fabric.count_drop(reason);
                self.note(MadEvent::Dropped(reason), packet.at, &packet);
                return;
            }
            match self.fabric.accept(&mut packet, self.now) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => return self.deliver(delivery, &packet, out),
                AcceptOutcome::Consumed => return,
                AcceptOutcome::Dropped(reason) => {
                    return self.note(MadEvent::Dropped(reason), packet.at, &packet);
                }
            }
        }
    }

    /// A packet reached its node: an agent takes its time, a program does not.
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
            return self.note(MadEvent::Lost, packet.at, &packet);
        }
        if self.busy_until.len() <= node {
            self.busy_until.resize(node + 1, self.now);
        }
        let start = self.busy_until[node].max(self.now);
        let done = start + faults.service;
        if faults.backlog != 0 && start.since(self.now) > faults.service * faults.backlog {
            let packet = self.queue.take(index);
            return self.note(MadEvent::Lost, packet.at, &packet);
        }
        self.busy_until[node] = done;
        if done == self.now {
            let packet = self.queue.take(index);
            self.serve(packet, out);
        } else {
            self.queue.push(done, Key::Serve(index));
        }
    }

    /// The node deals with a packet.
    pub(super) fn serve(&mut self, mut packet: Packet, out: &mut Vec<Delivery>) {
        let faults = self.table.agent(packet.at.node);
        if let Some(status) = faults.refuse_sets
            && packet.is_for_agent()
            && packet.mad.method() == Method::Set
        {
            packet.answer(status);
        } else {
            match self.fabric.accept(&mut packet, self.now) {
                AcceptOutcome::Reply => {}
                AcceptOutcome::Deliver(delivery) => return self.deliver(delivery, &packet, out),
                AcceptOutcome::Consumed => return,
                AcceptOutcome::Dropped(reason) => {
                    return self.note(MadEvent::Dropped(reason), packet.at, &packet);
                }
            }
        }
        self.garble(&faults, &mut packet.mad);
        if faults.delay.is_zero() {
            self.journey(packet, out);
        } else {
            let index = self.queue.put(packet);
            self.queue.push(self.now + faults.delay, Key::Depart(index));
        }
    }

    /// A program gets a MAD, and so does a foreign SM at its port; what is asked of an SM, it alone.
    fn deliver(&mut self, delivery: Delivery, packet: &Packet, out: &mut Vec<Delivery>) {
        self.note(MadEvent::Delivered, delivery.at, packet);
        // A subnet manager has no queue pairs but QP0 and QP1.
        let is_mad = delivery.datagram.is_none();
        let here = |f: &super::Foreign| is_mad && f.at == delivery.at && f.is_awake();
        let Some(index) = self.foreigners.iter().position(here) else {
            out.push(delivery);
            return;
        };
        let mad = &delivery.mad.mad;
        let method = mad.method();
        if mad.attr_id() != id::SM_INFO || (method != Method::Get && method != Method::Set) {
            out.push(delivery);
        }
        self.foreigners[index].handle_mad(delivery.mad, self.now);
        self.drain_foreigner(index, out);
    }

    /// Spoils an answer.
    fn garble(&mut self, faults: &Faults, mad: &mut Mad) {
        let Some(kind) = faults.garbage else { return };
        let rng = &mut self.rng;
        if !chance(rng, faults.garbage_chance) {
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
            | Garbage::Modifier => kind,
        };
        let mut header = mad.header();
        let noise = rng.next_u64();
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        match kind {
            Garbage::Data => {
                rng.fill_bytes(&mut mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + DATA_LEN]);
                return;
            }
            Garbage::Status => header.status |= 1 << (noise % 15),
            Garbage::Tid => header.tid.0 ^= noise | 1,
            Garbage::Attribute => header.attr_id = AttrId(header.attr_id.0 ^ (noise as u16 | 1)),
            Garbage::Modifier | Garbage::Any => header.attr_mod.0 ^= noise as u32 | 1,
        }
        mad.set_header(&header);
    }

    #[inline]
    fn note(&mut self, event: MadEvent, at: PortAt, packet: &Packet) {
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
