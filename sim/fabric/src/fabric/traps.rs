//! Traps: notices to the master SM, repeated until repressed (IBA 13.4.9, 14.2.5.1).
//!
//! A port sends a trap to its MasterSMLID by the forwarding tables, so an unconfigured port sends
//! none, and a wrong LFT loses it. As in `drivers/infiniband/hw/qib/qib_mad.c`, only an Active port
//! (or port 0 of a switch) sends traps (o14-3.2.1), and two traps of a port are at least a
//! SubnetTimeOut apart (o14-2). A pending trap is not queued twice. Pending traps are also the
//! port's notice queue, which an SM can read and clear if the agent has IsNoticeSupported (13.4.8).

use std::time::Duration;

use ferrosm_mad::attr::{
    CapMask, KeyViolationDetails, LinkErrorDetails, LocalChangeDetails, MKeyViolationDetails,
    Notice, NoticeType, PortInfo, PortState, PortStateDetails, SwitchPKeyDetails,
    SystemImageDetails, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Lid, PortNum, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadOut, Method, MgmtClass};
use ferrosm_mad::smp::{self, DATA_OFFSET};
use ferrosm_mad::time::Instant;

use super::{Fabric, Packet, Timer};
use crate::index::index_to_u32;
use crate::spec::PortAt;

/// Maximum number of pending notices of a node; further ones are dropped.
const MAX_NOTICES: usize = 100;
/// Length of the return path in trap 256.
const DR_PATH_LEN: u8 = 30;

type Details = [u8; 54];

#[derive(Debug, Clone)]
pub(super) struct PendingTrap {
    end_port: PortAt,
    notice: [u8; 64],
    due: (Instant, u64),
}

impl Fabric {
    /// Sends a trap of a port: 128 to 131, 144, 145; other numbers are sent without details.
    ///
    /// `at` is the port that the trap reports; a switch sends it from port 0.
    pub fn inject_trap(&mut self, at: PortAt, number: TrapNumber) {
        self.raise_trap(at, number);
    }

    /// Number of pending traps.
    #[must_use]
    pub fn pending_traps(&self) -> usize {
        self.traps.len()
    }

    pub(crate) fn raise_trap(&mut self, at: PortAt, number: TrapNumber) {
        self.raise_trap_with(at, number, 0);
    }

    /// As [`Fabric::raise_trap`], with the ChangeFlags of trap 144.
    pub(crate) fn raise_trap_with(&mut self, at: PortAt, number: TrapNumber, change_flags: u16) {
        if self.slot(at).is_none() {
            return;
        }
        let slot = self.end_slot(at);
        let info = PortInfo::decode(&self.ports[slot].info);
        let lid = info.lid;
        let details = match number {
            TrapNumber::LinkStateChange => PortStateDetails { lid }.encode(),
            TrapNumber::LocalLinkIntegrity
            | TrapNumber::BufferOverrun
            | TrapNumber::FlowControl => LinkErrorDetails {
                lid,
                port_num: PortNum(at.port),
            }
            .encode(),
            TrapNumber::LocalChange => {
                let needed = if change_flags == 0 {
                    CapMask::CAP_MASK_NOTICE
                } else {
                    CapMask::OTHER_LOCAL_CHANGES
                };
                if !info.capability_mask.has(needed) {
                    return;
                }
                LocalChangeDetails {
                    lid,
                    other_local_changes: change_flags != 0,
                    capability_mask: info.capability_mask,
                    change_flags,
                    capability_mask2: info.capability_mask2.0,
                }
                .encode()
            }
            TrapNumber::SystemImageGuid => SystemImageDetails {
                lid,
                system_image_guid: self.nodes[at.node].system_image_guid,
            }
            .encode(),
            _ => [0; 54],
        };
        self.queue_trap(at, number, details);
    }

    pub(crate) fn raise_m_key_violation(&mut self, end_port: PortAt, packet: &Packet) {
        let mad = &packet.mad;
        let directed = mad.mgmt_class() == MgmtClass::SubnDirected;
        let hops = if directed { mad.as_bytes()[7] } else { 0 };
        let mut path = [0; DR_PATH_LEN as usize];
        if directed {
            let len = usize::from(hops.min(DR_PATH_LEN));
            path[..len].copy_from_slice(&smp::return_path(mad)[1..=len]);
        }
        let details = MKeyViolationDetails {
            lid: self.ports[self.end_slot(end_port)].lid(),
            // A LID-routed request has no DrSLID; its source LID takes that place.
            dr_slid: if directed {
                Lid(u16::from_be_bytes([mad.as_bytes()[32], mad.as_bytes()[33]]))
            } else {
                packet.slid
            },
            method: mad.method().0,
            attr_id: mad.attr_id(),
            attr_mod: mad.attr_mod(),
            m_key: smp::m_key(mad),
            dr_notice: directed,
            dr_path_truncated: hops > DR_PATH_LEN,
            dr_hop_count: hops.min(DR_PATH_LEN),
            dr_return_path: path,
        };
        self.queue_trap(end_port, TrapNumber::BadMKey, details.encode());
    }

    /// Handles a packet with a wrong P_Key at an end port: increments P_KeyViolations and raises
    /// trap 257, unless MulticastPKeyTrapSuppressionEnabled suppresses it for multicast packets.
    ///
    /// Does nothing if `at` does not exist.
    pub(crate) fn raise_p_key_violation(&mut self, at: PortAt, packet: &Packet) {
        let Some(suppression) = self.count_violation(at, |info| &mut info.p_key_violations) else {
            return;
        };
        let is_multicast = !packet.dlid.is_unicast() && packet.dlid != Lid::PERMISSIVE;
        if suppression && is_multicast {
            return;
        }
        let details = key_violation(packet, packet.pkey.0.into());
        self.queue_trap(at, TrapNumber::BadPKey, details.encode());
    }

    /// Handles a packet with a wrong Q_Key at an end port: increments Q_KeyViolations and raises
    /// trap 258.
    ///
    /// Does nothing if `at` does not exist.
    pub(crate) fn raise_q_key_violation(&mut self, at: PortAt, packet: &Packet, q_key: u32) {
        if self
            .count_violation(at, |info| &mut info.q_key_violations)
            .is_some()
        {
            let details = key_violation(packet, q_key);
            self.queue_trap(at, TrapNumber::BadQKey, details.encode());
        }
    }

    /// Raises trap 259 for a packet that the external switch port `at` dropped because of its
    /// P_Key, if the switch has IsP_KeySwitchExternalPortTrapSupported.
    pub(crate) fn raise_switch_p_key_violation(&mut self, at: PortAt, packet: &Packet) {
        if self.slot(at).is_none() {
            return;
        }
        let info = PortInfo::decode(&self.ports[self.end_slot(at)].info);
        if !info.capability_mask.has(CapMask::SWITCH_PKEY_TRAP) {
            return;
        }
        let (valid, grh) = match packet.grh {
            Some(grh) => (SwitchPKeyDetails::WITH_GRH, grh),
            None => (
                SwitchPKeyDetails::WITHOUT_GRH,
                super::GlobalRouteHeader::default(),
            ),
        };
        let details = SwitchPKeyDetails {
            data_valid: valid,
            lid1: packet.slid,
            lid2: packet.dlid,
            pkey: packet.pkey,
            sl: packet.sl,
            qp1: packet.src_qpn,
            qp2: packet.dest_qpn,
            gid1: grh.sgid,
            gid2: grh.dgid,
            switch_lid: info.lid,
            port_num: PortNum(at.port),
        };
        self.queue_trap(at, TrapNumber::SwitchBadPKey, details.encode());
    }

    /// Increments a violation counter at the end port of `at`; returns whether its P_Key traps for
    /// multicast are suppressed.
    fn count_violation(
        &mut self,
        at: PortAt,
        counter: impl FnOnce(&mut PortInfo) -> &mut u16,
    ) -> Option<bool> {
        self.slot(at)?;
        let slot = self.end_slot(at);
        let mut suppressed = false;
        self.ports[slot].update(|info| {
            suppressed = info.multicast_pkey_trap_suppression != 0;
            let counter = counter(info);
            *counter = counter.saturating_add(1);
        });
        Some(suppressed)
    }

    fn queue_trap(&mut self, at: PortAt, number: TrapNumber, details: Details) {
        let node = &mut self.nodes[at.node];
        let end_port = PortAt {
            node: at.node,
            port: node.end_port(at.port),
        };
        let port = &mut self.ports[node.base + usize::from(end_port.port)];
        let info = PortInfo::decode(&port.info);
        if !node.powered || !info.capability_mask.has(CapMask::TRAP) || !may_send(&info) {
            return;
        }
        let notice_type = match number {
            TrapNumber::LinkStateChange
            | TrapNumber::LocalLinkIntegrity
            | TrapNumber::BufferOverrun
            | TrapNumber::FlowControl => NoticeType::Urgent,
            TrapNumber::BadMKey
            | TrapNumber::BadPKey
            | TrapNumber::BadQKey
            | TrapNumber::SwitchBadPKey => NoticeType::Security,
            _ => NoticeType::Informational,
        };
        let notice = Notice {
            is_generic: true,
            notice_type,
            producer_type: node.kind.0.into(),
            trap_number: number,
            issuer_lid: info.lid,
            notice_toggle: false,
            notice_count: 0,
            data_details: details,
        }
        .encode();
        let Ok(index) = u32::try_from(at.node) else {
            return;
        };
        let mut waiting = 0;
        for (_, trap) in self.traps.range((index, 0)..=(index, u64::MAX)) {
            waiting += 1;
            if waiting == MAX_NOTICES || (trap.end_port == end_port && trap.notice == notice) {
                return;
            }
        }
        node.trap_tid += 1;
        let tid = node.trap_tid;
        let due = self.now.max(port.trap_gate);
        port.trap_gate = due + trap_spacing(&info);
        let due = self.set_timer(due, Timer::Trap { node: index, tid });
        self.traps.insert(
            (index, tid),
            PendingTrap {
                end_port,
                notice,
                due,
            },
        );
    }

    pub(super) fn send_trap(&mut self, node: u32, tid: u64, now: Instant, out: &mut Vec<Packet>) {
        let Some(trap) = self.traps.get(&(node, tid)).cloned() else {
            return;
        };
        let slot = self.end_slot(trap.end_port);
        let port = &mut self.ports[slot];
        let info = PortInfo::decode(&port.info);
        let has_lids = info.lid != Lid::NONE && info.master_sm_lid != Lid::NONE;
        if !has_lids || !self.nodes[trap.end_port.node].powered {
            self.traps.remove(&(node, tid));
            return;
        }
        let repeat_at = now + trap_spacing(&info);
        port.trap_gate = port.trap_gate.max(repeat_at);
        let due = self.set_timer(repeat_at, Timer::Trap { node, tid });
        if let Some(pending) = self.traps.get_mut(&(node, tid)) {
            pending.due = due;
        }
        if !may_send(&info) {
            return;
        }
        let mut mad = Mad::new(&MadHeader {
            base_version: 1,
            mgmt_class: MgmtClass::SubnLid,
            class_version: 1,
            method: Method::Trap,
            status: 0,
            class_specific: 0,
            tid: Tid(tid),
            attr_id: id::NOTICE,
            attr_mod: AttrMod(0),
        });
        mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + 64].copy_from_slice(&trap.notice);
        let to = Address {
            sl: info.master_sm_sl,
            ..Address::smp(info.master_sm_lid)
        };
        self.totals.traps += 1;
        out.push(Packet::new(trap.end_port, &MadOut { to, mad }));
    }

    /// Removes a trap that the SM repressed.
    pub(super) fn repress(&mut self, end_port: PortAt, packet: &Packet) {
        if let Ok(node) = u32::try_from(end_port.node) {
            self.remove_trap((node, packet.mad.tid().0));
        }
    }

    /// The notice at the head of an end port's queue, for Get(Notice); the empty notice if there is
    /// none.
    pub(crate) fn head_notice(&self, end_port: PortAt) -> [u8; 64] {
        let mut notices = self.notices_of(end_port);
        let toggle = self.ports[self.end_slot(end_port)].notice_toggle;
        let Some((_, head)) = notices.next() else {
            return Notice {
                notice_type: NoticeType::Empty,
                notice_toggle: toggle,
                ..Notice::default()
            }
            .encode();
        };
        Notice {
            notice_toggle: toggle,
            // saturates: a count of pending notices.
            notice_count: u16::try_from(1 + notices.count()).unwrap_or(u16::MAX),
            ..Notice::decode(&head.notice)
        }
        .encode()
    }

    /// Handles Set(Notice): with the toggle of the head, removes the head and stops its trap; with
    /// another toggle, the Set is a duplicate.
    pub(crate) fn clear_notice(&mut self, end_port: PortAt, toggle: bool) {
        let slot = self.end_slot(end_port);
        if self.ports[slot].notice_toggle != toggle {
            return;
        }
        let head = self.notices_of(end_port).next().map(|(key, _)| *key);
        if let Some(key) = head {
            self.remove_trap(key);
            self.ports[slot].notice_toggle = !toggle;
        }
    }

    fn notices_of(&self, end_port: PortAt) -> impl Iterator<Item = (&(u32, u64), &PendingTrap)> {
        let node = index_to_u32(end_port.node);
        let node_traps = self.traps.range((node, 0)..=(node, u64::MAX));
        node_traps.filter(move |(_, trap)| trap.end_port == end_port)
    }

    fn remove_trap(&mut self, key: (u32, u64)) {
        if let Some(trap) = self.traps.remove(&key) {
            self.timers.remove(&trap.due);
        }
    }

    pub(super) fn remove_traps(&mut self, node: usize) {
        let Ok(node) = u32::try_from(node) else {
            return;
        };
        let node_traps = self.traps.range((node, 0)..=(node, u64::MAX));
        let keys: Vec<_> = node_traps.map(|t| *t.0).collect();
        for key in keys {
            self.remove_trap(key);
        }
    }
}

fn may_send(info: &PortInfo) -> bool {
    info.lid != Lid::NONE && info.master_sm_lid != Lid::NONE && info.port_state == PortState::Active
}

fn key_violation(packet: &Packet, key: u32) -> KeyViolationDetails {
    let grh = packet.grh.unwrap_or_default();
    KeyViolationDetails {
        lid1: packet.slid,
        lid2: packet.dlid,
        key,
        sl: packet.sl,
        qp1: packet.src_qpn,
        qp2: packet.dest_qpn,
        gid1: grh.sgid,
        gid2: grh.dgid,
    }
}

/// SubnetTimeOut as a duration; at least 1 ms, so that 0 does not flood the fabric.
fn trap_spacing(info: &PortInfo) -> Duration {
    Duration::from_nanos(4096u64 << info.subnet_timeout).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid, Qpn, Sl};

    use super::*;
    use crate::fabric::GlobalRouteHeader;

    /// Two hosts and a switch with LIDs 1 to 3 and Active end ports; the SM is at host 0.
    fn fabric() -> Fabric {
        let spec = crate::generate::from_spec("star:2").unwrap();
        let mut fabric = Fabric::new(&spec).unwrap();
        for (lid, port) in (1..).zip(fabric.end_ports().collect::<Vec<_>>()) {
            let slot = fabric.end_slot(port);
            fabric.ports[slot].update(|info| {
                info.lid = Lid(lid);
                info.master_sm_lid = Lid(1);
                info.port_state = PortState::Active;
            });
        }
        fabric
    }

    fn packet(fabric: &Fabric, grh: Option<GlobalRouteHeader>) -> Packet {
        let at = fabric.end_ports().next().unwrap();
        let mut packet = Packet::new(
            at,
            &MadOut {
                to: Address {
                    lid: Lid(9),
                    qpn: Qpn(0x48),
                    sl: Sl(3),
                    path_bits: 0,
                },
                mad: Mad::new(&MadHeader::default()),
            },
        );
        packet.slid = Lid(7);
        packet.pkey = PKey(0x8001);
        packet.grh = grh;
        packet
    }

    fn grh() -> GlobalRouteHeader {
        GlobalRouteHeader {
            sgid: Gid::new(GidPrefix::DEFAULT, PortGuid(7)),
            dgid: Gid::new(GidPrefix::DEFAULT, PortGuid(9)),
            ..GlobalRouteHeader::default()
        }
    }

    fn only_notice(fabric: &Fabric) -> Notice {
        let mut traps = fabric.traps.values();
        let notice = Notice::decode(&traps.next().unwrap().notice);
        assert!(traps.next().is_none());
        assert_eq!(notice.notice_type, NoticeType::Security);
        notice
    }

    #[test]
    fn wrong_keys_at_an_end_port_are_counted_and_reported_with_addresses() {
        for grh in [None, Some(grh())] {
            let host = PortAt { node: 1, port: 1 };
            let expected = KeyViolationDetails {
                lid1: Lid(7),
                lid2: Lid(9),
                key: 0x8001,
                sl: Sl(3),
                qp1: Qpn(1),
                qp2: Qpn(0x48),
                gid1: grh.unwrap_or_default().sgid,
                gid2: grh.unwrap_or_default().dgid,
            };
            let mut f = fabric();
            let p = packet(&f, grh);
            f.raise_p_key_violation(host, &p);
            assert_eq!(f.port_info(host).unwrap().p_key_violations, 1);
            let notice = only_notice(&f);
            assert_eq!(notice.trap_number, TrapNumber::BadPKey);
            let details = KeyViolationDetails::decode(&notice.data_details);
            assert_eq!(details, expected);
            let mut f = fabric();
            f.raise_q_key_violation(host, &p, 0x8001_0000);
            assert_eq!(f.port_info(host).unwrap().q_key_violations, 1);
            let notice = only_notice(&f);
            assert_eq!(notice.trap_number, TrapNumber::BadQKey);
            let details = KeyViolationDetails::decode(&notice.data_details);
            let key = 0x8001_0000;
            assert_eq!(details, KeyViolationDetails { key, ..expected });
        }
    }

    #[test]
    fn trap_259_names_the_switch_port_that_dropped_the_packet() {
        for (grh, valid) in [(None, 0x3F), (Some(grh()), 0xFF)] {
            let mut f = fabric();
            let switch = (0..f.num_nodes()).find(|n| f.is_switch(*n)).unwrap();
            let at = PortAt {
                node: switch,
                port: 2,
            };
            let p = packet(&f, grh);
            f.raise_switch_p_key_violation(at, &p);
            let notice = only_notice(&f);
            assert_eq!(notice.trap_number, TrapNumber::SwitchBadPKey);
            assert_eq!(notice.producer_type, 2);
            let expected = SwitchPKeyDetails {
                data_valid: valid,
                lid1: Lid(7),
                lid2: Lid(9),
                pkey: PKey(0x8001),
                sl: Sl(3),
                qp1: Qpn(1),
                qp2: Qpn(0x48),
                gid1: grh.unwrap_or_default().sgid,
                gid2: grh.unwrap_or_default().dgid,
                switch_lid: f.lid(at).0,
                port_num: PortNum(2),
            };
            let details = SwitchPKeyDetails::decode(&notice.data_details);
            assert_eq!(details, expected);
            let slot = f.end_slot(at);
            f.remove_traps(switch);
            f.ports[slot].update(|i| i.capability_mask.0 &= !CapMask::SWITCH_PKEY_TRAP);
            f.raise_switch_p_key_violation(at, &p);
            assert_eq!(
                f.pending_traps(),
                0,
                "without the capability no trap is sent"
            );
        }
    }

    #[test]
    fn pkey_traps_of_multicast_can_be_suppressed() {
        let host = PortAt { node: 1, port: 1 };
        for (suppress, multicast, traps) in [(0, true, 1), (1, true, 0), (1, false, 1)] {
            let mut f = fabric();
            let slot = f.end_slot(host);
            f.ports[slot].update(|i| i.multicast_pkey_trap_suppression = suppress);
            let mut p = packet(&f, None);
            if multicast {
                p.dlid = Lid(0xC001);
            }
            f.raise_p_key_violation(host, &p);
            assert_eq!(f.port_info(host).unwrap().p_key_violations, 1);
            assert_eq!(f.pending_traps(), traps);
        }
    }
}
