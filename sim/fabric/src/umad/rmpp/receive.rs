//! Incoming messages: reassembly and acknowledgement of segments.
//!
//! A reception is identified by its sender, TID, class and method. A completed one is remembered
//! for a while, so that repeated segments are acknowledged again instead of starting a new message.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::mad::{MAD_LEN, Mad};
use ferrosm_mad::sa::{RmppHeader, RmppStatus};
use slab::Slab;

use super::{WINDOW, abort_reply, acknowledgement};
use crate::fabric::{Fabric, Packet};
use crate::umad::queue::{Body, QUEUE_LONG_BYTES};
use crate::umad::receive::MadOrigin;
use crate::umad::register::AgentIdx;
use crate::umad::store::TimerKey;
use crate::umad::{Timer, UmadLayer, class};

/// Timeout of a whole reception.
const RECEPTION_TIMEOUT: Duration = Duration::from_secs(40);
/// Time for which a completed reception is remembered.
const REMEMBER_TIME: Duration = Duration::from_secs(10);
/// Maximum number of receptions of one agent, including completed ones that are remembered; further
/// first segments are dropped. The kernel is limited by memory only.
const MAX_RECEPTIONS: usize = 200_000;
const FULL_PAYLOAD: u32 = 220;

/// Agent, TID, class, class version, method, LID and QPN of the sender.
type ReceptionKey = (AgentIdx, u64, u8, u8, u8, u16, u32);

#[derive(Debug)]
struct Reception {
    key: ReceptionKey,
    /// Last segment received without a gap.
    segment: u32,
    acknowledged: u32,
    /// Last segment in the window.
    window: u32,
    /// Initial window of the reply (double-sided transfers).
    reply_window: u32,
    timer: Option<TimerKey>,
    /// `None` once complete.
    partial: Option<Box<PartialMessage>>,
}

#[derive(Debug)]
struct PartialMessage {
    origin: MadOrigin,
    first: Mad,
    /// The first segment, then the data of the following segments without a gap.
    bytes: Vec<u8>,
    /// RMPP header of the last of these segments.
    header: RmppHeader,
    /// Segments after a gap, limited by the window.
    out_of_order: BTreeMap<u32, Mad>,
}

/// Receptions of all agents.
#[derive(Debug, Default)]
pub(in crate::umad) struct Receptions {
    slab: Slab<Reception>,
    keys: BTreeMap<ReceptionKey, usize>,
}

fn key(agent: AgentIdx, origin: &MadOrigin, mad: &Mad) -> ReceptionKey {
    let b = mad.as_bytes();
    let lid = origin.from.lid.0;
    let qpn = origin.from.qpn.0;
    (agent, class::tid(b), b[1], b[2], b[3], lid, qpn)
}

impl Receptions {
    /// Initial window of a response, which the last ACK of the request announced; 1 without one.
    pub(in crate::umad) fn window_of_reply(&self, packet: &Packet, agent: AgentIdx) -> u32 {
        let b = packet.mad.as_bytes();
        if b[3] & 0x80 == 0 {
            return 1;
        }
        let tid = class::tid(b);
        let class = b[1];
        let version = b[2];
        let requests =
            (agent, tid, class, version, 0, 0, 0)..(agent, tid, class, version, 0x80, 0, 0);
        self.keys
            .range(requests)
            .find(|(key, _)| key.5 == packet.dlid.0)
            .and_then(|(_, slot)| self.slab.get(*slot))
            .map_or(1, |recv| recv.reply_window)
    }

    pub(super) fn set_reply_window(
        &mut self,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
        window: u32,
    ) {
        let slot = self.keys.get(&key(agent, origin, mad));
        if let Some(recv) = slot.and_then(|p| self.slab.get_mut(*p))
            && recv.partial.is_none()
        {
            recv.reply_window = window;
        }
    }

    fn of_agent(&self, agent: AgentIdx) -> impl Iterator<Item = usize> + '_ {
        let first = (agent, 0, 0, 0, 0, 0, 0);
        let last = (agent, u64::MAX, 0xFF, 0xFF, 0xFF, u16::MAX, u32::MAX);
        self.keys.range(first..=last).map(|(_, slot)| *slot)
    }
}

impl PartialMessage {
    fn len(&self) -> usize {
        self.bytes.len() + self.out_of_order.len() * MAD_LEN
    }

    fn append(&mut self, mad: &Mad, offset: usize) {
        self.bytes.extend_from_slice(&mad.as_bytes()[offset..]);
        self.header = RmppHeader::from_mad(mad.as_bytes());
    }
}

/// Length of a message of `segments` segments, from PayloadLength of the last one.
fn message_len(segments: u32, offset: usize, last_payload: u32) -> usize {
    let padding = FULL_PAYLOAD.saturating_sub(last_payload);
    let whole = offset + segments as usize * (MAD_LEN - offset);
    whole.saturating_sub(padding as usize)
}

impl UmadLayer {
    pub(super) fn receive_data(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(MadOrigin, Body)> {
        let refused = if header.status != 0 {
            Some(RmppStatus::IllegalStatus)
        } else if header.first != (header.segment_number == 1) {
            Some(RmppStatus::BadSegment)
        } else {
            None
        };
        if let Some(reason) = refused {
            self.reply(fabric, origin, abort_reply(mad, reason));
            return None;
        }
        match self.receptions.keys.get(&key(agent, origin, mad)).copied() {
            Some(slot) => self.receive_next(fabric, agent, origin, mad, header, slot),
            None if header.first => self.receive_first(fabric, agent, origin, mad, header),
            None => None,
        }
    }

    fn receive_first(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(MadOrigin, Body)> {
        let owner = self.agents.get_mut(agent)?;
        if owner.receptions >= MAX_RECEPTIONS {
            return None;
        }
        owner.receptions += 1;
        let key = key(agent, origin, mad);
        let window = if header.last { 1 } else { 1 + WINDOW };
        let partial = (!header.last).then(|| {
            Box::new(PartialMessage {
                origin: *origin,
                first: *mad,
                bytes: mad.as_bytes().to_vec(),
                header: *header,
                out_of_order: BTreeMap::new(),
            })
        });
        let slot = self.receptions.slab.insert(Reception {
            key,
            segment: 1,
            acknowledged: 1,
            window,
            reply_window: 1,
            timer: None,
            partial,
        });
        self.receptions.keys.insert(key, slot);
        self.reply(fabric, origin, acknowledgement(mad, 1, window));
        if header.last {
            self.set_reception_timer(slot, REMEMBER_TIME, Timer::RecvCleanup(slot));
            let offset = class::data_offset(mad.mgmt_class());
            let len = message_len(1, offset, header.payload_length);
            return Some((*origin, Body::Mad(*mad, len)));
        }
        self.set_reception_timer(slot, RECEPTION_TIMEOUT, Timer::RecvTimeout(slot));
        self.add_recv_bytes(agent, MAD_LEN);
        None
    }

    fn receive_next(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
        header: &RmppHeader,
        slot: usize,
    ) -> Option<(MadOrigin, Body)> {
        let number = header.segment_number;
        let recv = self.receptions.slab.get_mut(slot)?;
        if number > recv.window {
            return None;
        }
        let Some(partial) = recv.partial.as_mut() else {
            recv.acknowledged = recv.segment;
            let ack = acknowledgement(mad, recv.segment, recv.window);
            self.reply(fabric, origin, ack);
            return None;
        };
        if number <= recv.acknowledged {
            recv.acknowledged = recv.segment;
            let ack = acknowledgement(mad, recv.segment, recv.window);
            self.reply(fabric, origin, ack);
            return None;
        }
        if number <= recv.segment || partial.out_of_order.contains_key(&number) {
            return None;
        }
        let offset = class::data_offset(mad.mgmt_class());
        let before = partial.len();
        if number != recv.segment + 1 {
            partial.out_of_order.insert(number, *mad);
            self.add_recv_bytes(agent, MAD_LEN);
            return None;
        }
        partial.append(mad, offset);
        recv.segment += 1;
        while let Some(mad) = partial.out_of_order.remove(&(recv.segment + 1)) {
            partial.append(&mad, offset);
            recv.segment += 1;
        }
        let after = partial.len();
        let is_last = partial.header.last;
        self.subtract_recv_bytes(agent, before);
        if is_last {
            return self.complete_reception(fabric, slot, offset);
        }
        self.add_recv_bytes(agent, after);
        if self.is_full(agent) {
            self.abort_reception(fabric, slot, RmppStatus::Unspecified);
            return None;
        }
        let recv = self.receptions.slab.get_mut(slot)?;
        if recv.segment == recv.window {
            recv.window = recv.window.saturating_add(WINDOW);
            recv.acknowledged = recv.segment;
            let ack = acknowledgement(mad, recv.segment, recv.window);
            self.reply(fabric, origin, ack);
        }
        None
    }

    fn complete_reception(
        &mut self,
        fabric: &Fabric,
        slot: usize,
        offset: usize,
    ) -> Option<(MadOrigin, Body)> {
        let recv = self.receptions.slab.get_mut(slot)?;
        let partial = *recv.partial.take()?;
        recv.acknowledged = recv.segment;
        let ack = acknowledgement(&partial.first, recv.segment, recv.window);
        let len = message_len(recv.segment, offset, partial.header.payload_length);
        self.set_reception_timer(slot, REMEMBER_TIME, Timer::RecvCleanup(slot));
        self.reply(fabric, &partial.origin, ack);
        let mut bytes = partial.bytes;
        bytes.truncate(len);
        Some((partial.origin, Body::Long(bytes)))
    }

    fn set_reception_timer(&mut self, slot: usize, after: Duration, timer_kind: Timer) {
        let timer = self.timers.set(self.now + after, timer_kind);
        if let Some(recv) = self.receptions.slab.get_mut(slot)
            && let Some(old) = recv.timer.replace(timer)
        {
            self.timers.cancel(old);
        }
    }

    /// Adds to the length of incomplete messages of an agent's file.
    fn add_recv_bytes(&mut self, agent: AgentIdx, bytes: usize) {
        let file = self.agents.get(agent).map(|a| a.file);
        if let Some(open) = file.and_then(|f| self.files.get_mut(f.0)) {
            open.recv_bytes += bytes;
        }
    }

    fn subtract_recv_bytes(&mut self, agent: AgentIdx, bytes: usize) {
        let file = self.agents.get(agent).map(|a| a.file);
        if let Some(open) = file.and_then(|f| self.files.get_mut(f.0)) {
            open.recv_bytes -= bytes;
        }
    }

    fn is_full(&self, agent: AgentIdx) -> bool {
        let file = self.agents.get(agent).map(|a| a.file);
        file.and_then(|f| self.files.get(f.0))
            .is_some_and(|open| open.queue.long_bytes() + open.recv_bytes > QUEUE_LONG_BYTES)
    }

    /// Aborts an incomplete reception and notifies the sender.
    fn abort_reception(&mut self, fabric: &Fabric, slot: usize, reason: RmppStatus) {
        if let Some(partial) = self.remove_reception(slot) {
            self.reply(fabric, &partial.origin, abort_reply(&partial.first, reason));
        }
    }

    pub(in crate::umad) fn reception_timed_out(&mut self, fabric: &Fabric, slot: usize) {
        self.abort_reception(fabric, slot, RmppStatus::T2L);
    }

    pub(in crate::umad) fn remove_old_reception(&mut self, slot: usize) {
        self.remove_reception(slot);
    }

    /// Removes a reception; returns the incomplete message, if any.
    fn remove_reception(&mut self, slot: usize) -> Option<Box<PartialMessage>> {
        let recv = self.receptions.slab.try_remove(slot)?;
        self.receptions.keys.remove(&recv.key);
        if let Some(timer) = recv.timer {
            self.timers.cancel(timer);
        }
        let agent = recv.key.0;
        if let Some(partial) = &recv.partial {
            self.subtract_recv_bytes(agent, partial.len());
        }
        if let Some(owner) = self.agents.get_mut(agent) {
            owner.receptions -= 1;
        }
        recv.partial
    }

    pub(in crate::umad) fn cancel_receptions(&mut self, agent: AgentIdx) {
        let slots: Vec<usize> = self.receptions.of_agent(agent).collect();
        for slot in slots {
            self.remove_reception(slot);
        }
    }
}
