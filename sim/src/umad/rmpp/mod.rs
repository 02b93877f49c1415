//! The kernel's RMPP: messages of many segments (IBA 13.6, `mad_rmpp.c`).
//!
//! For agents with RMPP version 1 that do not do it themselves. [`send`] is one outgoing message,
//! [`receive`] the incoming ones of all agents; here is what a packet does to either.

pub(super) mod receive;
pub(super) mod send;

use ferrosm_mad::mad::{Mad, MadHeader};
use ferrosm_mad::sa::{RmppHeader, RmppStatus, RmppType};

use super::queue::Body;
use super::receive::Origin;
use super::register::AgentIdx;
use super::{UmadLayer, class};
use crate::fabric::{Fabric, Packet};
use send::Acknowledged;

/// Segments that a receiver lets a sender be ahead: an eighth of the kernel's receive queue.
const WINDOW: u32 = 64;

impl UmadLayer {
    /// An RMPP packet for an agent; what comes out is a complete message.
    pub(super) fn receive_rmpp(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &Origin,
        mad: &Mad,
    ) -> Option<(Origin, Body)> {
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
        if let Some((reason, tell)) = failed {
            self.abort_send(fabric, agent, origin, mad);
            if tell {
                self.reply(fabric, origin, refusal(mad, reason));
            }
        }
        None
    }

    /// Ends the segmented send that a packet belongs to; the program hears nothing of it.
    fn abort_send(&mut self, fabric: &Fabric, agent: AgentIdx, origin: &Origin, mad: &Mad) {
        let Some(place) = self.find_send(fabric, agent, origin, mad.as_bytes()) else {
            return;
        };
        let send = self.sends.slab.get(place);
        let segments = send.and_then(|s| s.segments.as_deref());
        if segments.is_some_and(|s| !s.all_acknowledged()) {
            self.finish_send(place);
        }
    }

    /// Returns why the transfer is to be aborted, if it is, and whether the peer is told.
    fn receive_ack(
        &mut self,
        fabric: &Fabric,
        agent: AgentIdx,
        origin: &Origin,
        mad: &Mad,
        header: &RmppHeader,
    ) -> Option<(RmppStatus, bool)> {
        let (segment, window) = (header.segment_number, header.payload_length);
        if header.status != 0 {
            return Some((RmppStatus::IllegalStatus, true));
        }
        if window < segment {
            return Some((RmppStatus::W2S, true));
        }
        let Some(place) = self.find_send(fabric, agent, origin, mad.as_bytes()) else {
            if segment == 0 {
                self.recvs.set_reply_window(agent, origin, mad, window);
            }
            return None;
        };
        let send = self.sends.slab.get_mut(place)?;
        let acknowledged = match &mut send.segments {
            Some(segments) => segments.acknowledge(segment, window),
            None => Acknowledged::Repeated,
        };
        match acknowledged {
            Acknowledged::Nonsense => return Some((RmppStatus::S2B, true)),
            Acknowledged::Old => {}
            Acknowledged::Repeated => self.reply(fabric, origin, turnaround(mad)),
            Acknowledged::All => {
                if send.timeout.is_zero() {
                    self.finish_send(place);
                } else {
                    let timeout = send.timeout;
                    self.arm(place, timeout);
                    self.reply(fabric, origin, turnaround(mad));
                }
            }
            Acknowledged::Some { progress } => {
                if progress {
                    send.retries_left = send.retries;
                }
                self.queue_segments(fabric, place);
            }
        }
        None
    }

    /// The next segment of a send whose turn it is; another turn follows if the window allows.
    pub(super) fn next_segment(&mut self, place: usize, serial: u64) -> Option<Packet> {
        let send = self.sends.slab.get_mut(place)?;
        let timeout = send.ack_timeout();
        if send.serial != serial {
            return None;
        }
        let segments = send.segments.as_mut()?;
        segments.is_queued = false;
        if segments.all_acknowledged() {
            // The receiver was faster; the timer that waits for the answer runs.
            return None;
        }
        let mut packet = send.packet;
        let is_sent = segments.may_send();
        if is_sent {
            segments.fill_next(&mut packet.mad);
        }
        if segments.may_send() {
            segments.is_queued = true;
            self.outbox.push_back(super::Outgoing::Segments {
                send: place,
                serial,
            });
        } else {
            self.arm(place, timeout);
        }
        is_sent.then_some(packet)
    }
}

/// The headers of a received packet, turned round, with nothing behind them.
fn headers_back(mad: &Mad) -> (Mad, RmppHeader) {
    let mut back = Mad::new(&MadHeader::default());
    let len = class::data_offset(mad.mgmt_class());
    let bytes = back.as_bytes_mut();
    bytes[..len].copy_from_slice(&mad.as_bytes()[..len]);
    bytes[3] ^= 0x80;
    let header = RmppHeader {
        first: false,
        last: false,
        active: true,
        ..RmppHeader::from_mad(bytes)
    };
    (back, header)
}

/// ACK of a packet: everything up to `segment` is there, and the sender may go on to `window`.
fn acknowledgement(mad: &Mad, segment: u32, window: u32) -> Mad {
    let (mut back, header) = headers_back(mad);
    RmppHeader {
        rmpp_type: RmppType::Ack,
        segment_number: segment,
        payload_length: window,
        ..header
    }
    .write_to(back.as_bytes_mut());
    back
}

/// ACK of the last ACK: the direction turns (IBA 13.6.6.3).
fn turnaround(mad: &Mad) -> Mad {
    let (mut back, header) = headers_back(mad);
    RmppHeader {
        segment_number: 0,
        payload_length: 1,
        ..header
    }
    .write_to(back.as_bytes_mut());
    back
}

/// ABORT in answer to a packet.
fn refusal(mad: &Mad, reason: RmppStatus) -> Mad {
    let (mut back, header) = headers_back(mad);
    RmppHeader {
        version: RmppHeader::VERSION,
        rmpp_type: RmppType::Abort,
        status: reason.0,
        segment_number: 0,
        payload_length: 0,
        ..header
    }
    .write_to(back.as_bytes_mut());
    back
}
