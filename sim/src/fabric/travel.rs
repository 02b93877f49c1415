//! How packets move: directed routes hop by hop (IBA 14.2.2), everything else by the forwarding
//! tables.
//!
//! It reads tables and links and changes the packet only. Management packets (VL15) pass trained
//! links in any state from Initialize on; data packets need Active ports and a lane.

use ferrosm_mad::attr::{PortState, id};
use ferrosm_mad::ids::{Gid, Lid, PKey, PortNum, Qpn, Sl};
use ferrosm_mad::mad::{Address, Mad, MadIn, MadOut, Method, MgmtClass, Status};
use ferrosm_mad::smp::MAX_HOPS;
use ferrosm_mad::time::Instant;

use super::{Delivery, DropReason, Fabric, POWER_ON_SL_TO_VL};
use crate::spec::PortAt;

const HOP_POINTER: usize = 6;
const HOP_COUNT: usize = 7;
const DR_LIDS: std::ops::Range<usize> = 32..36;
const INITIAL_PATH: usize = 128;
const RETURN_PATH: usize = 192;

/// The global route header of a packet (IBA 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grh {
    /// Source GID.
    pub sgid: Gid,
    /// Destination GID.
    pub dgid: Gid,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Routers that it may still pass.
    pub hop_limit: u8,
}

/// A MAD on its way.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The sender's port; once it has travelled, the port by which it came in.
    pub at: PortAt,
    /// Links passed in the last journey.
    pub hops: u16,
    /// The receiver's queue pair.
    pub dest_qpn: Qpn,
    /// The sender's queue pair.
    pub src_qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Destination LID; permissive on directed routes.
    pub dlid: Lid,
    /// Source LID; permissive on directed routes.
    pub slid: Lid,
    /// Low bits of the sender's own LID.
    pub path_bits: u8,
    /// P_Key of the base transport header; nobody looks at it on QP0.
    pub pkey: PKey,
    /// Global route header, where there is one.
    pub grh: Option<Grh>,
    /// The content; directed routes change in it as it travels.
    pub mad: Mad,
}

impl Packet {
    /// A MAD that a program at a port sends: default P_Key, no GRH.
    #[must_use]
    pub fn new(at: PortAt, out: &MadOut) -> Self {
        Self {
            at,
            hops: 0,
            dest_qpn: out.to.qpn,
            src_qpn: Qpn(u32::from(out.to.qpn.0 != 0)),
            sl: out.to.sl,
            dlid: out.to.lid,
            slid: Lid::NONE,
            path_bits: out.to.path_bits,
            pkey: PKey::DEFAULT_FULL,
            grh: None,
            mad: out.mad,
        }
    }

    /// Turns the addresses round for an answer.
    fn turn(&mut self) {
        std::mem::swap(&mut self.dlid, &mut self.slid);
        if let Some(grh) = &mut self.grh {
            std::mem::swap(&mut grh.sgid, &mut grh.dgid);
            grh.hop_limit = 0xFF;
        }
        std::mem::swap(&mut self.dest_qpn, &mut self.src_qpn);
    }

    /// Whether the management agent of the node that it reaches takes it; a program at the port
    /// gets the rest: responses, traps, what is for an SM (SMInfo), and every other class.
    #[must_use]
    pub fn is_for_agent(&self) -> bool {
        let (class, method) = (self.mad.mgmt_class(), self.mad.method());
        let is_smp = class == MgmtClass::SubnLid || class == MgmtClass::SubnDirected;
        let is_for_sm =
            self.mad.attr_id() == id::SM_INFO && (method == Method::Get || method == Method::Set);
        is_smp && !method.is_response() && method != Method::Trap && !is_for_sm
    }

    /// Turns a request into its answer, ready to travel back. The data stays as it is.
    pub(crate) fn answer(&mut self, status: Status) {
        let directed = self.is_directed();
        let method = self.mad.method();
        let b = self.mad.as_bytes_mut();
        b[3] = if method == Method::Set {
            Method::GetResp.0
        } else {
            method.0 | 0x80
        };
        b[4..6].copy_from_slice(&(status.0 | if directed { 0x8000 } else { 0 }).to_be_bytes());
        self.turn();
    }

    fn is_directed(&self) -> bool {
        self.mad.mgmt_class() == MgmtClass::SubnDirected
    }
}

/// What a node does with a packet that reached it.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "passed by value once, never stored: a box would allocate per MAD"
)]
pub enum Reaction {
    /// The packet was turned into the answer, ready to travel back.
    Answer,
    /// It is for a program at the port.
    Deliver(Delivery),
    /// It was taken, without an answer.
    Taken,
    /// It was thrown away.
    Dropped(DropReason),
}

impl Fabric {
    /// Carries a packet from the node where it is to the node where its way ends.
    ///
    /// # Errors
    /// If it is lost; the packet is then of no further use.
    #[inline]
    pub fn travel(&mut self, packet: &mut Packet) -> Result<(), DropReason> {
        self.travel_seen(packet, |_| ())
    }

    /// As [`Fabric::travel`]; every port by which the packet enters a node is shown to `seen`.
    ///
    /// # Errors
    /// If it is lost.
    pub fn travel_seen(
        &mut self,
        packet: &mut Packet,
        mut seen: impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        packet.hops = 0;
        if self.slot(packet.at).is_none() {
            return Err(DropReason::LinkDown);
        }
        if !self.nodes[packet.at.node].powered {
            return Err(DropReason::NoPower);
        }
        if packet.is_directed() {
            let returning = packet.mad.as_bytes()[4] & 0x80 != 0;
            if returning != packet.mad.method().is_response() {
                return Err(DropReason::Malformed);
            }
            if !returning {
                self.directed_out(packet, &mut seen)
            } else {
                self.directed_back(packet, &mut seen)
            }
        } else {
            // The answer of an agent already has the LID that was asked.
            if packet.slid == Lid::NONE {
                let lid = self.ports[self.end_slot(packet.at)].lid();
                packet.slid = Lid(lid.0.wrapping_add(u16::from(packet.path_bits)));
            }
            self.by_lid(packet, &mut seen)
        }
    }

    #[inline]
    fn cross(&self, packet: &mut Packet, egress: u8) -> Result<(), DropReason> {
        let node = &self.nodes[packet.at.node];
        if egress == 0 || egress > node.num_ports {
            return Err(DropReason::LinkDown);
        }
        let wire = self.wires[node.base + usize::from(egress)];
        if !wire.up {
            return Err(DropReason::LinkDown);
        }
        packet.at = PortAt {
            node: wire.node as usize,
            port: wire.port,
        };
        packet.hops += 1;
        Ok(())
    }

    fn directed_out(
        &self,
        packet: &mut Packet,
        seen: &mut impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        let b = packet.mad.as_bytes();
        let count = b[HOP_COUNT];
        if b[HOP_POINTER] != 0
            || usize::from(count) > MAX_HOPS
            || b[DR_LIDS] != [0xFF; 4]
            || packet.dlid != Lid::PERMISSIVE
            || b[0] != 1
        {
            return Err(DropReason::Malformed);
        }
        packet.slid = Lid::PERMISSIVE;
        for hop in 1..=usize::from(count) {
            let egress = packet.mad.as_bytes()[INITIAL_PATH + hop];
            let node = &self.nodes[packet.at.node];
            if !node.is_switch() && (hop > 1 || egress != packet.at.port) {
                return Err(DropReason::NotASwitch);
            }
            self.cross(packet, egress)?;
            packet.mad.as_bytes_mut()[RETURN_PATH + hop] = packet.at.port;
            seen(packet.at);
        }
        packet.mad.as_bytes_mut()[HOP_POINTER] = count + 1;
        Ok(())
    }

    fn directed_back(
        &self,
        packet: &mut Packet,
        seen: &mut impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        let b = packet.mad.as_bytes();
        let count = b[HOP_COUNT];
        if usize::from(count) > MAX_HOPS
            || b[HOP_POINTER] != count + 1
            || b[DR_LIDS] != [0xFF; 4]
            || b[0] != 1
        {
            return Err(DropReason::Malformed);
        }
        packet.slid = Lid::PERMISSIVE;
        for hop in (1..=usize::from(count)).rev() {
            let egress = packet.mad.as_bytes()[RETURN_PATH + hop];
            let node = &self.nodes[packet.at.node];
            let first = hop == usize::from(count);
            if !node.is_switch() && (!first || egress != packet.at.port) {
                return Err(DropReason::NotASwitch);
            }
            self.cross(packet, egress)?;
            seen(packet.at);
        }
        packet.mad.as_bytes_mut()[HOP_POINTER] = 0;
        Ok(())
    }

    fn by_lid(&self, packet: &mut Packet, seen: &mut impl FnMut(PortAt)) -> Result<(), DropReason> {
        if packet.mad.as_bytes()[0] != 1 {
            return Err(DropReason::Malformed);
        }
        let is_data = packet.dest_qpn.0 != 0;
        let dlid = packet.dlid;
        if !dlid.is_unicast() {
            return Err(DropReason::NoRoute);
        }
        let node = &self.nodes[packet.at.node];
        if !node.is_switch() {
            let slot = node.base + usize::from(packet.at.port);
            if self.ports[slot].owns(dlid) {
                return Ok(());
            }
            if is_data && self.ports[slot].state() != PortState::Active {
                return Err(DropReason::NotActive);
            }
            self.cross(packet, packet.at.port)?;
            self.check_data_arrival(packet, is_data)?;
            seen(packet.at);
        } else {
            packet.at.port = 0;
        }
        for _ in 0..=self.switches {
            let node = &self.nodes[packet.at.node];
            let Some(switch) = &node.switch else {
                let slot = node.base + usize::from(packet.at.port);
                let mine = self.ports[slot].owns(dlid);
                return if mine {
                    Ok(())
                } else {
                    Err(DropReason::NotMine)
                };
            };
            let egress = switch.egress(dlid);
            if egress == 0 {
                let mine = self.ports[node.base].owns(dlid);
                return if mine {
                    Ok(())
                } else {
                    Err(DropReason::NotMine)
                };
            }
            if egress > node.num_ports {
                return Err(DropReason::NoRoute);
            }
            if is_data {
                self.check_data_departure(packet, egress)?;
            }
            self.cross(packet, egress)?;
            self.check_data_arrival(packet, is_data)?;
            seen(packet.at);
        }
        Err(DropReason::Loop)
    }

    fn check_data_arrival(&self, packet: &Packet, is_data: bool) -> Result<(), DropReason> {
        let node = &self.nodes[packet.at.node];
        let state = self.ports[node.base + usize::from(packet.at.port)].state();
        if is_data && state != PortState::Active {
            return Err(DropReason::NotActive);
        }
        Ok(())
    }

    fn check_data_departure(&self, packet: &Packet, egress: u8) -> Result<(), DropReason> {
        let port = &self.ports[self.nodes[packet.at.node].base + usize::from(egress)];
        if port.state() != PortState::Active {
            return Err(DropReason::NotActive);
        }
        let sl = packet.sl.0 & 0xF;
        let byte = port.sl_to_vl(packet.at.port)[usize::from(sl / 2)];
        let vl = if sl & 1 == 0 { byte >> 4 } else { byte & 0xF };
        // OperationalVLs 1 to 5 is 1, 2, 4, 8 or 15 lanes.
        let lanes = match port.info[43] >> 4 {
            5 => 15,
            code => 1u8 << code.saturating_sub(1).min(3),
        };
        if vl < lanes {
            Ok(())
        } else {
            Err(DropReason::NoLane)
        }
    }

    /// Lets the node that a packet reached deal with it.
    ///
    /// Where the reaction is [`Reaction::Answer`] the packet became the answer.
    pub fn accept(&mut self, packet: &mut Packet, now: Instant) -> Reaction {
        self.now = self.now.max(now);
        let node = &self.nodes[packet.at.node];
        if !node.powered {
            return self.dropped(DropReason::NoPower);
        }
        let end = PortAt {
            node: packet.at.node,
            port: node.end_port(packet.at.port),
        };
        if !packet.is_for_agent() {
            return self.deliver(end, packet);
        }
        let method = packet.mad.method();
        if method == Method::TrapRepress {
            if !self.m_key_admits(end, packet, now) {
                return self.dropped(DropReason::MKey);
            }
            self.repress(end, packet);
            return Reaction::Taken;
        }
        let Some(status) = self.sma(end, packet, now) else {
            return self.dropped(DropReason::MKey);
        };
        packet.answer(status);
        Reaction::Answer
    }

    fn dropped(&mut self, reason: DropReason) -> Reaction {
        self.totals.drop_one(reason);
        Reaction::Dropped(reason)
    }

    fn deliver(&mut self, end: PortAt, packet: &Packet) -> Reaction {
        let slot = self.end_slot(end);
        if self.ports[slot].clients == 0 {
            return self.dropped(DropReason::NoClient);
        }
        self.totals.delivered += 1;
        let own = self.ports[slot].lid().0;
        let path_bits = if packet.is_directed() {
            0
        } else {
            packet.dlid.0.wrapping_sub(own)
        };
        Reaction::Deliver(Delivery {
            at: end,
            qpn: packet.dest_qpn,
            pkey: packet.pkey,
            grh: packet.grh,
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

impl super::Port {
    /// The table for packets from an input port, two service levels a byte.
    #[inline]
    pub(crate) fn sl_to_vl(&self, input: u8) -> &[u8; 8] {
        let Some(tables) = &self.tables else {
            return &POWER_ON_SL_TO_VL;
        };
        match tables.sl_to_vl.as_slice() {
            [] => &POWER_ON_SL_TO_VL,
            [all] => all,
            each => each.get(usize::from(input)).unwrap_or(&POWER_ON_SL_TO_VL),
        }
    }
}

const _: () = assert!(PortNum::DROP.0 == 0xFF, "no egress port is above 254");
