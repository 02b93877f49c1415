//! Incoming messages: putting segments together and acknowledging them.
//!
//! A reception is known by its sender, TID, class and method. Once complete it is remembered for a
//! while, so that repeated segments are acknowledged again and not taken for a new message.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::mad::{MAD_LEN, Mad};
use ferrosm_mad::sa::{RmppHeader, RmppStatus};
use slab::Slab;

use super::{WINDOW, acknowledgement, refusal};
use crate::fabric::{Fabric, Packet};
use crate::umad::queue::{Body, QUEUE_LONG_BYTES};
use crate::umad::receive::Origin;
use crate::umad::register::AgentIdx;
use crate::umad::store::TimerKey;
use crate::umad::{Timer, UmadLayer, class};

/// A whole reception may take so long.
const TOTAL_TIME: Duration = Duration::from_secs(40);
/// A complete reception is remembered so long.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Receptions of one agent, remembered ones included; first segments beyond are dropped. The
/// kernel's bound is its memory.
const MAX_RECVS: usize = 200_000;
const FULL_PAYLOAD: u32 = 220;

/// Agent, TID, class, class version, method, LID and QP of the sender.
type Key = (AgentIdx, u64, u8, u8, u8, u16, u32);

#[derive(Debug)]
struct Recv {
    key: Key,
    /// The last segment up to which there is no gap.
    segment: u32,
    acknowledged: u32,
    /// The last segment that may come.
    window: u32,
    /// Segments that the reply may begin with (double-sided transfers).
    reply_window: u32,
    timer: Option<TimerKey>,
    /// `None` once complete.
    partial: Option<Box<Partial>>,
}

#[derive(Debug)]
struct Partial {
    origin: Origin,
    first: Mad,
    /// The first segment, then the data of those that follow without a gap.
    bytes: Vec<u8>,
    /// Header of the last of them.
    header: RmppHeader,
    /// Those beyond a gap; the window bounds them.
    early: BTreeMap<u32, Mad>,
}

/// The receptions of all agents.
#[derive(Debug, Default)]
pub(in crate::umad) struct Recvs {
    slab: Slab<Recv>,
    keys: BTreeMap<Key, usize>,
}

fn key(agent: AgentIdx, origin: &Origin, mad: &Mad) -> Key {
    let b = mad.as_bytes();
    let (lid, qpn) = (origin.from.lid.0, origin.from.qpn.0);
    (agent, class::tid(b), b[1], b[2], b[3], lid, qpn)
}

impl Recvs {
    /// The first window of a response: what the requester said at the end of its own message.
    pub(in crate::umad) fn window_of_reply(&self, packet: &Packet, agent: AgentIdx) -> u32 {
        let b = packet.mad.as_bytes();
        if b[3] & 0x80 == 0 {
            return 1;
        }
        let (tid, class, version) = (class::tid(b), b[1], b[2]);
        let requests =
            (agent, tid, class, version, 0, 0, 0)..(agent, tid, class, version, 0x80, 0, 0);
        self.keys
            .range(requests)
            .find(|(key, _)| key.5 == packet.dlid.0)
            .and_then(|(_, place)| self.slab.get(*place))
            .map_or(1, |recv| recv.reply_window)
    }

    pub(super) fn set_reply_window(
        &mut self,
        agent: AgentIdx,
        origin: &Origin,
        mad: &Mad,
        window: u32,
    ) {
        let place = self.keys.get(&key(agent, origin, mad));
        if let Some(recv) = place.and_then(|p| self.slab.get_mut(*p))
            && recv.partial.is_none()
        {
            recv.reply_window = window;
        }
    }

    fn of_agent(&self, agent: AgentIdx) -> impl Iterator<Item = usize> + '_ {
        let first = (agent, 0, 0, 0, 0, 0, 0);
        let last = (agent, u64::MAX, 0xFF, 0xFF, 0xFF, u16::MAX, u32::MAX);
        self.keys.range(first..=last).map(|(_, place)| *place)
    }
}

impl Partial {
    fn len(&self) -> usize {
        self.bytes.len() + self.early.len() * MAD_LEN
    }

    fn append(&mut self, mad: &Mad, offset: usize) {
        self.bytes.extend_from_slice(&mad.as_bytes()[offset..]);
        self.header = RmppHeader::from_mad(mad.as_bytes());
    }
}

/// Length of a message of so many segments, by PayloadLength of the last one.
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
        origin: &Origin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(Origin, Body)> {
        let refused = if header.status != 0 {
            Some(RmppStatus::IllegalStatus)
        } else if header.first != (header.segment_number == 1) {
            Some(RmppStatus::BadSegment)
        } else {
            None
        };
        if let Some(reason) = refused {
            self.reply(fabric, origin, refusal(mad, reason));
            return None;
        }
        match self.recvs.keys.get(&key(agent, origin, mad)).copied() {
            Some(place) => self.receive_next(fabric, agent, origin, mad, header, place),
            None if header.first => self.receive_first(fabric, agent, origin, mad, header),
            None => None,
        }
    }

    fn receive_first(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &Origin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(Origin, Body)> {
        let owner = self.agents.get_mut(agent)?;
        if owner.recvs >= MAX_RECVS {
            return None;
        }
        owner.recvs += 1;
        let key = key(agent, origin, mad);
        let window = if header.last { 1 } else { 1 + WINDOW };
        let partial = (!header.last).then(|| {
            Box::new(Partial {
                origin: *origin,
                first: *mad,
                bytes: mad.as_bytes().to_vec(),
                header: *header,
                early: BTreeMap::new(),
            })
        });
        let place = self.recvs.slab.insert(Recv {
            key,
            segment: 1,
            acknowledged: 1,
            window,
            reply_window: 1,
            timer: None,
            partial,
        });
        self.recvs.keys.insert(key, place);
        self.reply(fabric, origin, acknowledgement(mad, 1, window));
        if header.last {
            self.set_recv_timer(place, REMEMBERED, Timer::RecvCleanup(place));
            let offset = class::data_offset(mad.mgmt_class());
            let len = message_len(1, offset, header.payload_length);
            return Some((*origin, Body::Mad(*mad, len)));
        }
        self.set_recv_timer(place, TOTAL_TIME, Timer::RecvTimeout(place));
        self.charge(agent, MAD_LEN);
        None
    }

    fn receive_next(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &Origin,
        mad: &Mad,
        header: &RmppHeader,
        place: usize,
    ) -> Option<(Origin, Body)> {
        let number = header.segment_number;
        let recv = self.recvs.slab.get_mut(place)?;
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
        if number <= recv.segment || partial.early.contains_key(&number) {
            return None;
        }
        let offset = class::data_offset(mad.mgmt_class());
        let before = partial.len();
        if number != recv.segment + 1 {
            partial.early.insert(number, *mad);
            self.charge(agent, MAD_LEN);
            return None;
        }
        partial.append(mad, offset);
        recv.segment += 1;
        while let Some(mad) = partial.early.remove(&(recv.segment + 1)) {
            partial.append(&mad, offset);
            recv.segment += 1;
        }
        let (grown, is_last) = (partial.len(), partial.header.last);
        self.discharge(agent, before);
        if is_last {
            return self.complete_recv(fabric, place, offset);
        }
        self.charge(agent, grown);
        if self.is_full(agent) {
            self.give_up(fabric, place, RmppStatus::Unspecified);
            return None;
        }
        let recv = self.recvs.slab.get_mut(place)?;
        if recv.segment == recv.window {
            recv.window = recv.window.saturating_add(WINDOW);
            recv.acknowledged = recv.segment;
            let ack = acknowledgement(mad, recv.segment, recv.window);
            self.reply(fabric, origin, ack);
        }
        None
    }

    fn complete_recv(
        &mut self,
        fabric: &Fabric,
        place: usize,
        offset: usize,
    ) -> Option<(Origin, Body)> {
        let recv = self.recvs.slab.get_mut(place)?;
        let partial = *recv.partial.take()?;
        recv.acknowledged = recv.segment;
        let ack = acknowledgement(&partial.first, recv.segment, recv.window);
        let len = message_len(recv.segment, offset, partial.header.payload_length);
        self.set_recv_timer(place, REMEMBERED, Timer::RecvCleanup(place));
        self.reply(fabric, &partial.origin, ack);
        let mut bytes = partial.bytes;
        bytes.truncate(len);
        Some((partial.origin, Body::Long(bytes)))
    }

    fn set_recv_timer(&mut self, place: usize, after: Duration, what: Timer) {
        let timer = self.timers.set(self.now + after, what);
        if let Some(recv) = self.recvs.slab.get_mut(place)
            && let Some(old) = recv.timer.replace(timer)
        {
            self.timers.cancel(old);
        }
    }

    /// Counts bytes of incomplete messages of an agent's file.
    fn charge(&mut self, agent: AgentIdx, bytes: usize) {
        let file = self.agents.get(agent).map(|a| a.file);
        if let Some(open) = file.and_then(|f| self.files.get_mut(f.0)) {
            open.recv_bytes += bytes;
        }
    }

    fn discharge(&mut self, agent: AgentIdx, bytes: usize) {
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

    /// Ends an incomplete reception and tells the sender why.
    fn give_up(&mut self, fabric: &Fabric, place: usize, reason: RmppStatus) {
        if let Some(partial) = self.forget_recv(place) {
            self.reply(fabric, &partial.origin, refusal(&partial.first, reason));
        }
    }

    pub(in crate::umad) fn recv_timed_out(&mut self, fabric: &Fabric, place: usize) {
        self.give_up(fabric, place, RmppStatus::T2L);
    }

    pub(in crate::umad) fn recv_is_old(&mut self, place: usize) {
        self.forget_recv(place);
    }

    /// Forgets a reception; what there is of an incomplete one comes back.
    fn forget_recv(&mut self, place: usize) -> Option<Box<Partial>> {
        let recv = self.recvs.slab.try_remove(place)?;
        self.recvs.keys.remove(&recv.key);
        if let Some(timer) = recv.timer {
            self.timers.cancel(timer);
        }
        let agent = recv.key.0;
        if let Some(partial) = &recv.partial {
            self.discharge(agent, partial.len());
        }
        if let Some(owner) = self.agents.get_mut(agent) {
            owner.recvs -= 1;
        }
        recv.partial
    }

    pub(in crate::umad) fn cancel_recvs(&mut self, agent: AgentIdx) {
        let places: Vec<usize> = self.recvs.of_agent(agent).collect();
        for place in places {
            self.forget_recv(place);
        }
    }
}
