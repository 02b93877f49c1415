//! Forwarding by LFTs and MFTs, hop by hop.
//!
//! Forwarding reads tables and links, counts at both ports of every link, and modifies the packet.
//! It changes one port state: Armed becomes Active when data arrives (IBA 7.2.7). Management
//! packets (VL15) pass links from Initialize on. Data packets need Active ports, an active VL
//! (SL2VL, OperationalVLs), and at ports with partition enforcement a matching P_Key. A switch
//! never sends a packet to its input port.
//!
//! Not simulated: raw packets and their filters, MTU (all packets are MADs), credits and queues,
//! and routers that forward to another subnet (a router is an end node with an agent).

use std::collections::{BTreeSet, VecDeque};

use ferrosm_mad::attr::{PortInfo, PortState};
use ferrosm_mad::ids::{Lid, PortNum};

use super::port_counters::PortCounter;
use super::{DropReason, Fabric, POWER_ON_SL_TO_VL, Packet};
use crate::spec::PortAt;

const VL15: u8 = 15;

impl Fabric {
    /// Forwards a packet to its destination node.
    ///
    /// For multicast packets see [`Fabric::forward_multicast`].
    ///
    /// # Errors
    /// If the packet is dropped; its contents are then unspecified.
    #[inline]
    pub fn forward_unicast(&mut self, packet: &mut Packet) -> Result<(), DropReason> {
        self.forward_unicast_with(packet, |_| ())
    }

    /// As [`Fabric::forward_unicast`]; calls `on_entry` with every port by which the packet enters
    /// a node.
    ///
    /// # Errors
    /// If the packet is dropped.
    pub fn forward_unicast_with(
        &mut self,
        packet: &mut Packet,
        mut on_entry: impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        self.prepare_departure(packet)?;
        if packet.is_directed() {
            return self.forward_directed(packet, &mut on_entry);
        }
        if packet.is_multicast() {
            return Err(DropReason::NoRoute);
        }
        self.forward_by_lid(packet, &mut on_entry)
    }

    /// Checks a packet at the sender's port and sets its source LID.
    fn prepare_departure(&self, packet: &mut Packet) -> Result<(), DropReason> {
        packet.hops = 0;
        if self.slot(packet.at).is_none() {
            return Err(DropReason::LinkDown);
        }
        if !self.nodes[packet.at.node].powered {
            return Err(DropReason::NoPower);
        }
        if packet.is_smp() != packet.is_vl15() {
            return Err(DropReason::WrongQp);
        }
        // A reply already has the LID that the request was sent to.
        if packet.slid == Lid::NONE && !packet.is_directed() {
            packet.slid = self.source_lid(packet);
        }
        Ok(())
    }

    /// The sender's LID with its path bits; permissive if it has none.
    pub(super) fn source_lid(&self, packet: &Packet) -> Lid {
        match self.ports[self.end_slot(packet.at)].lid() {
            Lid::NONE => Lid::PERMISSIVE,
            lid => Lid(lid.0.wrapping_add(u16::from(packet.path_bits))),
        }
    }

    /// Passes a packet over the link of a port and counts it at both ports.
    #[inline]
    pub(super) fn cross_link(
        &mut self,
        packet: &mut Packet,
        egress: u8,
        vl: u8,
    ) -> Result<(), DropReason> {
        let node = &self.nodes[packet.at.node];
        if egress == 0 || egress > node.num_ports {
            return Err(DropReason::LinkDown);
        }
        let slot = node.base + usize::from(egress);
        let cable_end = self.cable_ends[slot];
        if !cable_end.up {
            self.add_errors(
                PortAt::new(packet.at.node, egress),
                PortCounter::InactiveDiscards,
                1,
            );
            return Err(DropReason::LinkDown);
        }
        packet.at = PortAt {
            node: cable_end.node as usize,
            port: cable_end.port,
        };
        packet.hops += 1;
        let peer = self.nodes[packet.at.node].base + usize::from(cable_end.port);
        self.count(packet, slot, peer, vl);
        Ok(())
    }

    pub(super) fn forward_by_lid(
        &mut self,
        packet: &mut Packet,
        on_entry: &mut impl FnMut(PortAt),
    ) -> Result<(), DropReason> {
        let dlid = packet.dlid;
        let node = &self.nodes[packet.at.node];
        let mut input = 0;
        if dlid == Lid::PERMISSIVE && packet.is_vl15() {
            // From a CA, the node at the other end of the link receives the packet.
            self.cross_link(packet, packet.at.port, VL15)?;
            on_entry(packet.at);
            return Ok(());
        }
        if !dlid.is_unicast() {
            return Err(DropReason::NoRoute);
        }
        if node.is_switch() {
            packet.at.port = 0;
            if self.ports[node.base].owns(dlid) {
                return Ok(());
            }
        } else {
            let port = &self.ports[node.base + usize::from(packet.at.port)];
            if port.owns(dlid) {
                return Ok(());
            }
            self.forward_to_link(packet, 0, packet.at.port)?;
            on_entry(packet.at);
            input = packet.at.port;
        }
        for _ in 0..=self.switches {
            let node = &self.nodes[packet.at.node];
            let deliver_if_owned = |slot: usize| {
                if self.ports[slot].owns(dlid) {
                    Ok(())
                } else {
                    Err(DropReason::WrongLid)
                }
            };
            let Some(switch) = &node.switch else {
                return deliver_if_owned(node.base + usize::from(packet.at.port));
            };
            let egress = switch.egress(dlid);
            if egress == 0 {
                return deliver_if_owned(node.base);
            }
            if egress > node.num_ports {
                self.add_errors(packet.at, PortCounter::DlidMappingErrors, 1);
                return Err(DropReason::NoRoute);
            }
            if egress == input {
                self.add_errors(packet.at, PortCounter::LoopingErrors, 1);
                return Err(DropReason::Loop);
            }
            self.forward_to_link(packet, input, egress)?;
            on_entry(packet.at);
            input = packet.at.port;
        }
        Err(DropReason::Loop)
    }

    /// Passes a packet from the input port of a node through its output port over the link.
    fn forward_to_link(
        &mut self,
        packet: &mut Packet,
        input: u8,
        egress: u8,
    ) -> Result<(), DropReason> {
        if packet.is_vl15() {
            return self.cross_link(packet, egress, VL15);
        }
        let vl = self.check_departure(packet, input, egress)?;
        self.cross_link(packet, egress, vl)?;
        self.check_arrival(packet)
    }

    /// Checks whether a data packet may leave by a port, and returns its VL.
    fn check_departure(
        &mut self,
        packet: &Packet,
        input: u8,
        egress: u8,
    ) -> Result<u8, DropReason> {
        let node = &self.nodes[packet.at.node];
        let out = PortAt::new(packet.at.node, egress);
        let is_switch = node.is_switch();
        let port = &self.ports[node.base + usize::from(egress)];
        if port.state() != PortState::Active {
            self.add_errors(out, PortCounter::InactiveDiscards, 1);
            return Err(DropReason::NotActive);
        }
        let sl = packet.sl.0 & 0xF;
        let byte = port.sl_to_vl(input)[usize::from(sl / 2)];
        let vl = if sl & 1 == 0 { byte >> 4 } else { byte & 0xF };
        // OperationalVLs 1 to 5 stands for 1, 2, 4, 8 and 15 VLs.
        let data_vls = match PortInfo::operational_vls.read(&port.info) {
            5 => 15,
            code => 1u8 << code.saturating_sub(1).min(3),
        };
        if vl >= data_vls {
            self.add_errors(packet.at, PortCounter::VlMappingErrors, 1);
            return Err(DropReason::NoVl);
        }
        let is_enforced = PortInfo::partition_enforcement_outbound.read(&port.info);
        if is_switch && is_enforced && !port.forwards_pkey(packet.pkey) {
            self.add_errors(out, PortCounter::XmitConstraintErrors, 1);
            self.raise_switch_p_key_violation(out, packet);
            return Err(DropReason::PKey);
        }
        Ok(vl)
    }

    /// Checks whether the receiving port accepts a data packet.
    fn check_arrival(&mut self, packet: &Packet) -> Result<(), DropReason> {
        let node = &self.nodes[packet.at.node];
        let is_switch = node.is_switch();
        let port = &mut self.ports[node.base + usize::from(packet.at.port)];
        match port.state() {
            PortState::Active => {}
            PortState::Armed => port.set_state(PortState::Active),
            _ => return Err(DropReason::NotActive),
        }
        let is_enforced = PortInfo::partition_enforcement_inbound.read(&port.info);
        if is_switch && is_enforced && !port.forwards_pkey(packet.pkey) {
            self.add_errors(packet.at, PortCounter::RcvConstraintErrors, 1);
            self.raise_switch_p_key_violation(packet.at, packet);
            return Err(DropReason::PKey);
        }
        Ok(())
    }

    /// Copies a multicast packet hop by hop by the MFTs. A copy for each end port reached is
    /// appended to `arrived` in breadth-first order, ports ascending. The sender's port receives
    /// none.
    ///
    /// In tables with a loop, a copy that enters a switch by a port where a copy entered before is
    /// dropped; nodes behind the loop receive more than one copy. Packets to MLIDs beyond the table
    /// (above MulticastFDBTop, if it is set, or MulticastFDBCap) leave by
    /// DefaultMulticastPrimaryPort; those that entered by that port leave by
    /// DefaultMulticastNotPrimaryPort. Drops are counted in [`super::Totals`].
    ///
    /// # Errors
    /// If no copy left the sender's port.
    pub fn forward_multicast(
        &mut self,
        packet: &Packet,
        arrived: &mut Vec<Packet>,
    ) -> Result<(), DropReason> {
        self.forward_multicast_with(packet, arrived, |_| true)
    }

    /// As [`Fabric::forward_multicast`]; a copy that enters a node is lost if `on_entry` returns
    /// `false`.
    ///
    /// # Errors
    /// If no copy left the sender's port.
    pub fn forward_multicast_with(
        &mut self,
        packet: &Packet,
        arrived: &mut Vec<Packet>,
        mut on_entry: impl FnMut(PortAt) -> bool,
    ) -> Result<(), DropReason> {
        let mut first = *packet;
        self.prepare_departure(&mut first)?;
        if !first.is_multicast() || first.is_vl15() {
            return Err(DropReason::NoRoute);
        }
        if self.nodes[first.at.node].is_switch() {
            first.at.port = 0;
        } else {
            let egress = first.at.port;
            self.forward_to_link(&mut first, 0, egress)?;
            if !on_entry(first.at) {
                return Ok(());
            }
        }
        let mut entered = BTreeSet::new();
        let mut queue = VecDeque::from([first]);
        while let Some(copy) = queue.pop_front() {
            let at = copy.at;
            let node = &self.nodes[at.node];
            let Some(switch) = &node.switch else {
                arrived.push(copy);
                continue;
            };
            if !entered.insert((at.node, at.port)) {
                self.totals.drop_one(DropReason::Loop);
                continue;
            }
            let ports: Vec<u8> = (0..=node.num_ports)
                .filter(|port| {
                    *port != at.port && switch.is_multicast_egress(copy.dlid, at.port, *port)
                })
                .collect();
            if ports.is_empty() && !switch.is_multicast_egress(copy.dlid, at.port, at.port) {
                self.add_errors(at, PortCounter::DlidMappingErrors, 1);
                self.totals.drop_one(DropReason::NoRoute);
            }
            for egress in ports {
                let mut copy = copy;
                if egress == 0 {
                    copy.at.port = 0;
                    arrived.push(copy);
                    continue;
                }
                match self.forward_to_link(&mut copy, at.port, egress) {
                    Ok(()) if on_entry(copy.at) => queue.push_back(copy),
                    Ok(()) => {}
                    Err(reason) => self.totals.drop_one(reason),
                }
            }
        }
        Ok(())
    }
}

impl super::Switch {
    /// Whether the MFT forwards a multicast packet from `input` to `output`, which can be the same
    /// port.
    fn is_multicast_egress(&self, mlid: Lid, input: u8, output: u8) -> bool {
        let top = self.info.multicast_fdb_top;
        let index = usize::from(mlid.0 & 0x3FFF);
        let beyond =
            (top != 0 && mlid.0 > top) || index >= usize::from(self.info.multicast_fdb_cap);
        if beyond {
            let primary = self.info.default_multicast_primary_port.0;
            let port = if input == primary {
                self.info.default_multicast_not_primary_port.0
            } else {
                primary
            };
            return port == output;
        }
        let mask = self
            .mft
            .get(index * self.positions + usize::from(output) / 16);
        mask.is_some_and(|m| m >> (output % 16) & 1 != 0)
    }
}

impl super::ModelPort {
    /// SLtoVLMappingTable for an input port, two SLs per byte. A port with one data VL has no
    /// table: all SLs use VL 0.
    #[inline]
    pub(crate) fn sl_to_vl(&self, input: u8) -> &[u8; 8] {
        if self.has_one_data_vl() {
            return &[0; 8];
        }
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

const _: () = assert!(PortNum::DROP.0 == 0xFF, "the maximum port number is 254");
