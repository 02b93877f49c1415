//! Processing of a packet by the node that it reached: an agent or the I/O unit replies, a program
//! receives it, or it is dropped.

use ferrosm_mad::mad::{Address, MadIn, Method, MgmtClass, Status};
use ferrosm_mad::time::Instant;

use super::{Delivery, DropReason, Fabric, Packet};
use crate::spec::PortAt;

/// Result of processing a packet.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "passed by value once, never stored: a box would allocate per MAD"
)]
pub enum AcceptOutcome {
    /// The packet was replaced by the reply, which must be forwarded.
    Reply,
    /// The packet is for a program at the port.
    Deliver(Delivery),
    /// The node consumed it and sends no reply.
    Consumed,
    /// The node dropped the packet.
    Dropped(DropReason),
}

impl Fabric {
    /// Processes a packet at the node that it reached. For [`AcceptOutcome::Reply`], `packet`
    /// becomes the reply.
    pub fn accept(&mut self, packet: &mut Packet, now: Instant) -> AcceptOutcome {
        self.now = self.now.max(now);
        let node = &self.nodes[packet.at.node];
        if !node.powered {
            return self.dropped(DropReason::NoPower);
        }
        let end_port = PortAt {
            node: packet.at.node,
            port: node.end_port(packet.at.port),
        };
        if let Err(reason) = self.check_admission(end_port, packet) {
            return self.dropped(reason);
        }
        if self.is_for_io_unit(packet) {
            let status = self.io_unit(packet);
            packet.make_reply(status);
            return AcceptOutcome::Reply;
        }
        if !packet.is_for_agent() {
            if packet.is_for_sm() && self.ports[self.end_slot(end_port)].clients == 0 {
                // Without an SM, the agent replies that the attribute is unsupported, as Linux and
                // managed switches do.
                packet.make_reply(Status::BAD_METHOD_ATTR);
                return AcceptOutcome::Reply;
            }
            return self.deliver(end_port, packet);
        }
        // The agent replies to other base versions without processing the request.
        if packet.mad.as_bytes()[0] != 1 {
            packet.mad.as_bytes_mut()[0] = 1;
            packet.make_reply(Status::BAD_VERSION);
            return AcceptOutcome::Reply;
        }
        if packet.mad.mgmt_class() == MgmtClass::Perf {
            let status = self.pma(end_port, packet);
            packet.make_reply(status);
            return AcceptOutcome::Reply;
        }
        if packet.mad.method() == Method::TrapRepress {
            if !self.check_m_key(end_port, packet, now) {
                return self.dropped(DropReason::MKey);
            }
            self.repress(end_port, packet);
            return AcceptOutcome::Consumed;
        }
        let Some(status) = self.sma(end_port, packet, now) else {
            return self.dropped(DropReason::MKey);
        };
        packet.make_reply(status);
        AcceptOutcome::Reply
    }

    fn dropped(&mut self, reason: DropReason) -> AcceptOutcome {
        self.totals.drop_one(reason);
        AcceptOutcome::Dropped(reason)
    }

    fn deliver(&mut self, end_port: PortAt, packet: &Packet) -> AcceptOutcome {
        let slot = self.end_slot(end_port);
        if packet.datagram.is_none() {
            if packet.mad.as_bytes()[0] != 1 {
                return self.dropped(DropReason::Malformed);
            }
            if self.ports[slot].clients == 0 {
                return self.dropped(DropReason::NoClient);
            }
        }
        self.totals.delivered += 1;
        let own_lid = self.ports[slot].lid().0;
        let path_bits = if packet.dlid.is_unicast() {
            packet.dlid.0.wrapping_sub(own_lid)
        } else {
            0
        };
        AcceptOutcome::Deliver(Delivery {
            at: end_port,
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
