//! What a node does with a packet that reached it: its agents or its I/O unit answer, a program at the port gets it,
//! or it is thrown away.

use ferrosm_mad::mad::{Address, MadIn, Method, MgmtClass, Status};
use ferrosm_mad::time::Instant;

use super::{Delivery, DropReason, Fabric, Packet};
use crate::spec::PortAt;

/// What a node does with a packet that reached it.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "passed by value once, never stored: a box would allocate per MAD"
)]
pub enum AcceptOutcome {
    /// The packet was turned into the answer, ready to travel back.
    Reply,
    /// It is for a program at the port.
    Deliver(Delivery),
    /// The node consumed it and sends no reply.
    Consumed,
    /// It was thrown away.
    Dropped(DropReason),
}

impl Fabric {
    /// Lets the node that a packet reached deal with it.
    ///
    /// Where the reaction is [`AcceptOutcome::Reply`] the packet became the answer.
    pub fn accept(&mut self, packet: &mut Packet, now: Instant) -> AcceptOutcome {
        self.now = self.now.max(now);
        let node = &self.nodes[packet.at.node];
        if !node.powered {
            return self.dropped(DropReason::NoPower);
        }
        let end = PortAt {
            node: packet.at.node,
            port: node.end_port(packet.at.port),
        };
        if let Err(reason) = self.admit(end, packet) {
            return self.dropped(reason);
        }
        if self.is_for_io_unit(packet) {
            let status = self.io_unit(packet);
            packet.answer(status);
            return AcceptOutcome::Reply;
        }
        if !packet.is_for_agent() {
            if packet.is_for_sm() && self.ports[self.end_slot(end)].clients == 0 {
                // Where no SM runs the SMA has no such attribute, as a host's kernel and a switch
                // without a manager answer.
                packet.answer(Status::BAD_METHOD_ATTR);
                return AcceptOutcome::Reply;
            }
            return self.deliver(end, packet);
        }
        // An agent knows only this base version, says so, and does not look at the rest.
        if packet.mad.as_bytes()[0] != 1 {
            packet.mad.as_bytes_mut()[0] = 1;
            packet.answer(Status::BAD_VERSION);
            return AcceptOutcome::Reply;
        }
        if packet.mad.mgmt_class() == MgmtClass::Perf {
            let status = self.pma(end, packet);
            packet.answer(status);
            return AcceptOutcome::Reply;
        }
        if packet.mad.method() == Method::TrapRepress {
            if !self.m_key_admits(end, packet, now) {
                return self.dropped(DropReason::MKey);
            }
            self.repress(end, packet);
            return AcceptOutcome::Consumed;
        }
        let Some(status) = self.sma(end, packet, now) else {
            return self.dropped(DropReason::MKey);
        };
        packet.answer(status);
        AcceptOutcome::Reply
    }

    fn dropped(&mut self, reason: DropReason) -> AcceptOutcome {
        self.totals.drop_one(reason);
        AcceptOutcome::Dropped(reason)
    }

    fn deliver(&mut self, end: PortAt, packet: &Packet) -> AcceptOutcome {
        let slot = self.end_slot(end);
        if packet.datagram.is_none() {
            if packet.mad.as_bytes()[0] != 1 {
                return self.dropped(DropReason::Malformed);
            }
            if self.ports[slot].clients == 0 {
                return self.dropped(DropReason::NoClient);
            }
        }
        self.totals.delivered += 1;
        let own = self.ports[slot].lid().0;
        let path_bits = if packet.dlid.is_unicast() {
            packet.dlid.0.wrapping_sub(own)
        } else {
            0
        };
        AcceptOutcome::Deliver(Delivery {
            at: end,
            qpn: packet.dest_qpn,
            pkey: packet.pkey,
            grh: packet.grh,
            datagram: packet.datagram,
            mad: MadIn {
                from: Address {
                    lid: packet.slid,
                    qpn: packet.src_qpn,
                    sl: packet.sl,
                    path_bits: u8::try_from(path_bits).unwrap_or(0),
                },
                mad: packet.mad,
            },
        })
    }
}
