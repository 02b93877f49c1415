//! The kernel's RMPP: multi-segment messages (IBA 13.6, Linux `mad_rmpp.c`), for agents with RMPP
//! version 1 that do not implement it themselves.
//!
//! [`send`] is one outgoing message, [`receive`] the incoming messages of all agents; this module
//! dispatches received packets.

pub(super) mod receive;
pub(super) mod send;

use ferrosm_mad::mad::{Mad, MadHeader};
use ferrosm_mad::sa::{RmppHeader, RmppStatus, RmppType};

use super::queue::Body;
use super::receive::MadOrigin;
use super::register::AgentIdx;
use super::{UmadLayer, class};
use crate::fabric::{Fabric, Packet};
use send::AckEffect;

/// Receive window in segments: an eighth of the kernel's receive queue.
const WINDOW: u32 = 64;

impl UmadLayer {
    /// Handles an RMPP packet for an agent; returns a message when it is complete.
    pub(super) fn receive_rmpp(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
    ) -> Option<(MadOrigin, Body)> {
        let header = RmppHeader::from_mad(mad.as_bytes());
        let abort = |reason| Some((reason, true));
        let failed = if header.version != RmppHeader::VERSION {
            abort(RmppStatus::Unv)
        } else {
            match header.rmpp_type {
                RmppType::Data => return self.receive_data(fabric, agent, origin, mad, &header),
                RmppType::Ack => self.receive_ack(fabric, agent, origin, mad, &header),
                RmppType::Stop if header.status == RmppStatus::ResX.0 => {
                    Some((RmppStatus::ResX, false))
                }
                RmppType::Abort if header.status >= RmppStatus::T2L.0 && header.status <= 127 => {
                    Some((RmppStatus(header.status), false))
                }
                RmppType::Stop | RmppType::Abort => abort(RmppStatus::IllegalStatus),
                _ => abort(RmppStatus::BadType),
            }
        };
        if let Some((reason, notify)) = failed {
            self.abort_send(fabric, agent, origin, mad);
            if notify {
                self.reply(fabric, origin, abort_reply(mad, reason));
            }
        }
        None
    }

    /// Aborts the segmented send that a packet belongs to, without notice to the program.
    fn abort_send(&mut self, fabric: &Fabric, agent: AgentIdx, origin: &MadOrigin, mad: &Mad) {
        let Some(slot) = self.find_send(fabric, agent, origin, mad.as_bytes()) else {
            return;
        };
        let send = self.sends.slab.get(slot);
        let segments = send.and_then(|s| s.segments.as_deref());
        if segments.is_some_and(|s| !s.all_acknowledged()) {
            self.finish_send(slot);
        }
    }

    /// Returns the reason if the transfer must be aborted, and whether to notify the peer.
    fn receive_ack(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &MadOrigin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(RmppStatus, bool)> {
        let segment = header.segment_number;
        let window = header.payload_length;
        if header.status != 0 {
            return Some((RmppStatus::IllegalStatus, true));
        }
        if window < segment {
            return Some((RmppStatus::W2S, true));
        }
        let Some(slot) = self.find_send(fabric, agent, origin, mad.as_bytes()) else {
            if segment == 0 {
                self.receptions.set_reply_window(agent, origin, mad, window);
            }
            return None;
        };
        let send = self.sends.slab.get_mut(slot)?;
        let effect = match &mut send.segments {
            Some(segments) => segments.acknowledge(segment, window),
            None => AckEffect::Repeated,
        };
        match effect {
            AckEffect::OutsideWindow => return Some((RmppStatus::S2B, true)),
            AckEffect::Old => {}
            AckEffect::Repeated => self.reply(fabric, origin, double_sided_ack(mad)),
            AckEffect::All => {
                if send.timeout.is_zero() {
                    self.finish_send(slot);
                } else {
                    let timeout = send.timeout;
                    self.arm(slot, timeout);
                    self.reply(fabric, origin, double_sided_ack(mad));
                }
            }
            AckEffect::Some { progress } => {
                if progress {
                    send.retries_left = send.retries;
                }
                self.queue_segments(fabric, slot);
            }
        }
        None
    }

    /// The next segment of a send; queues the send again if the window allows.
    pub(super) fn next_segment(&mut self, slot: usize, serial: u64) -> Option<Packet> {
        let send = self.sends.slab.get_mut(slot)?;
        let timeout = send.ack_timeout();
        if send.serial != serial {
            return None;
        }
        let segments = send.segments.as_mut()?;
        segments.is_queued = false;
        if segments.all_acknowledged() {
            // Acknowledged while it was queued; the timer for the response is running.
            return None;
        }
        let mut packet = send.packet;
        let is_sent = segments.may_send();
        if is_sent {
            segments.fill_next(&mut packet.mad);
        }
        if segments.may_send() {
            segments.is_queued = true;
            self.outbox
                .push_back(super::Outgoing::Segments { send: slot, serial });
        } else {
            self.arm(slot, timeout);
        }
        is_sent.then_some(packet)
    }
}

/// The headers of a received packet, reversed for a reply, without data.
fn reply_headers(mad: &Mad) -> (Mad, RmppHeader) {
    let mut reply = Mad::new(&MadHeader::default());
    let len = class::data_offset(mad.mgmt_class());
    let bytes = reply.as_bytes_mut();
    bytes[..len].copy_from_slice(&mad.as_bytes()[..len]);
    bytes[3] ^= 0x80;
    let header = RmppHeader {
        first: false,
        last: false,
        active: true,
        ..RmppHeader::from_mad(bytes)
    };
    (reply, header)
}

/// ACK of all segments up to `segment`, with a window up to `window`.
fn acknowledgement(mad: &Mad, segment: u32, window: u32) -> Mad {
    let (mut reply, header) = reply_headers(mad);
    RmppHeader {
        rmpp_type: RmppType::Ack,
        segment_number: segment,
        payload_length: window,
        ..header
    }
    .write_to(reply.as_bytes_mut());
    reply
}

/// ACK of the final ACK of a double-sided transfer: the peer now sends the response (IBA 13.6.6.3,
/// kernel `ack_ds_ack`).
fn double_sided_ack(mad: &Mad) -> Mad {
    let (mut reply, header) = reply_headers(mad);
    RmppHeader {
        segment_number: 0,
        payload_length: 1,
        ..header
    }
    .write_to(reply.as_bytes_mut());
    reply
}

/// ABORT of a packet's transfer.
fn abort_reply(mad: &Mad, reason: RmppStatus) -> Mad {
    let (mut reply, header) = reply_headers(mad);
    RmppHeader {
        version: RmppHeader::VERSION,
        rmpp_type: RmppType::Abort,
        status: reason.0,
        segment_number: 0,
        payload_length: 0,
        ..header
    }
    .write_to(reply.as_bytes_mut());
    reply
}
