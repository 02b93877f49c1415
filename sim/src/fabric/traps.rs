//! Traps: notices to the master SM, repeated until it represses them (IBA 13.4.9, 14.2.5.1).
//!
//! A node sends a trap to its MasterSMLID through the forwarding tables, so before an SM configured
//! it there is none, and a wrong table loses it. Two traps of a node are at least a SubnetTimeout
//! apart.

use std::time::Duration;

use ferrosm_mad::attr::{
    LinkErrorDetails, LocalChangeDetails, MKeyViolationDetails, Notice, NoticeType, PortInfo,
    PortStateDetails, SystemImageDetails, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Lid, PortNum, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadOut, Method, MgmtClass};
use ferrosm_mad::smp::{self, DATA_OFFSET};
use ferrosm_mad::time::Instant;

use super::{Fabric, Packet, Timer};
use crate::spec::PortAt;

#[derive(Debug, Clone)]
pub(super) struct PendingTrap {
    end: PortAt,
    number: TrapNumber,
    notice: [u8; 64],
    due: (Instant, u64),
}

impl Fabric {
    /// Makes a port send a trap: 128 to 131, 144, 145; other numbers go out without details.
    ///
    /// `at` is the port that it tells about; on a switch the trap itself leaves from port 0.
    pub fn inject_trap(&mut self, at: PortAt, number: TrapNumber) {
        self.raise(at, number);
    }

    /// Traps that wait to be repressed.
    #[must_use]
    pub fn pending_traps(&self) -> usize {
        self.traps.len()
    }

    pub(crate) fn raise(&mut self, at: PortAt, number: TrapNumber) {
        self.raise_with(at, number, 0);
    }

    /// As [`Fabric::raise`] with the ChangeFlags of trap 144.
    pub(crate) fn raise_with(&mut self, at: PortAt, number: TrapNumber, change_flags: u16) {
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
            TrapNumber::LocalChange => LocalChangeDetails {
                lid,
                other_local_changes: change_flags != 0,
                capability_mask: info.capability_mask,
                change_flags,
                capability_mask2: info.capability_mask2.0,
            }
            .encode(),
            TrapNumber::SystemImageGuid => SystemImageDetails {
                lid,
                system_image_guid: self.nodes[at.node].system_image_guid,
            }
            .encode(),
            _ => [0; 54],
        };
        self.queue_trap(at, number, details);
    }

    pub(crate) fn raise_m_key_violation(&mut self, end: PortAt, packet: &Packet) {
        let mad = &packet.mad;
        let directed = mad.mgmt_class() == MgmtClass::SubnDirected;
        let hops = if directed { mad.as_bytes()[7] } else { 0 };
        let mut path = [0; 30];
        if directed {
            path.copy_from_slice(&smp::return_path(mad)[1..31]);
        }
        let details = MKeyViolationDetails {
            lid: self.ports[self.end_slot(end)].lid(),
            dr_slid: packet.slid,
            method: mad.method().0,
            attr_id: mad.attr_id(),
            attr_mod: mad.attr_mod(),
            m_key: smp::m_key(mad),
            dr_notice: directed,
            dr_path_truncated: hops > 30,
            dr_hop_count: hops,
            dr_return_path: path,
        };
        self.queue_trap(end, TrapNumber::BadMKey, details.encode());
    }

    fn queue_trap(&mut self, at: PortAt, number: TrapNumber, details: [u8; 54]) {
        let node = &mut self.nodes[at.node];
        let end = PortAt {
            node: at.node,
            port: node.end_port(at.port),
        };
        let port = &self.ports[node.base + usize::from(end.port)];
        if port.lid() == Lid::NONE || port.master_sm_lid() == Lid::NONE || !node.powered {
            return;
        }
        let (notice_type, producer_type) = match number {
            TrapNumber::LinkStateChange
            | TrapNumber::LocalLinkIntegrity
            | TrapNumber::BufferOverrun
            | TrapNumber::FlowControl => (NoticeType::Urgent, node.kind),
            TrapNumber::BadMKey
            | TrapNumber::BadPKey
            | TrapNumber::BadQKey
            | TrapNumber::SwitchBadPKey => (NoticeType::Security, node.kind),
            _ => (NoticeType::Informational, node.kind),
        };
        let notice = Notice {
            is_generic: true,
            notice_type,
            producer_type: producer_type.0.into(),
            trap_number: number,
            issuer_lid: port.lid(),
            notice_toggle: false,
            notice_count: 0,
            data_details: details,
        }
        .encode();
        let Ok(index) = u32::try_from(at.node) else {
            return;
        };
        let of_node = (index, 0)..=(index, u64::MAX);
        let waits = |t: &PendingTrap| t.number == number && t.notice == notice;
        if self.traps.range(of_node).any(|(_, t)| waits(t)) {
            return;
        }
        node.trap_tid += 1;
        let tid = node.trap_tid;
        let due = self.now.max(node.trap_gate);
        node.trap_gate = due + trap_spacing(port.info[51]);
        let due = self.set_timer(due, Timer::Trap { node: index, tid });
        self.traps.insert(
            (index, tid),
            PendingTrap {
                end,
                number,
                notice,
                due,
            },
        );
    }

    pub(super) fn send_trap(&mut self, node: u32, tid: u64, now: Instant, out: &mut Vec<Packet>) {
        let Some(trap) = self.traps.get(&(node, tid)).cloned() else {
            return;
        };
        let slot = self.end_slot(trap.end);
        let port = &self.ports[slot];
        let (lid, sm_lid) = (port.lid(), port.master_sm_lid());
        if lid == Lid::NONE || sm_lid == Lid::NONE || !self.nodes[trap.end.node].powered {
            self.traps.remove(&(node, tid));
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
            sl: PortInfo::decode(&port.info).master_sm_sl,
            ..Address::smp(sm_lid)
        };
        out.push(Packet::new(trap.end, &MadOut { to, mad }));
        let again = now + trap_spacing(port.info[51]);
        self.totals.traps += 1;
        self.nodes[trap.end.node].trap_gate = self.nodes[trap.end.node].trap_gate.max(again);
        let due = self.set_timer(again, Timer::Trap { node, tid });
        if let Some(pending) = self.traps.get_mut(&(node, tid)) {
            pending.due = due;
        }
    }

    /// The SM has seen the trap.
    pub(super) fn repress(&mut self, end: PortAt, packet: &Packet) {
        let Ok(node) = u32::try_from(end.node) else {
            return;
        };
        if let Some(trap) = self.traps.remove(&(node, packet.mad.tid().0)) {
            self.timers.remove(&trap.due);
        }
    }

    pub(super) fn forget_traps(&mut self, node: usize) {
        let Ok(node) = u32::try_from(node) else {
            return;
        };
        let tids: Vec<_> = self
            .traps
            .range((node, 0)..=(node, u64::MAX))
            .map(|t| *t.0)
            .collect();
        for key in tids {
            if let Some(trap) = self.traps.remove(&key) {
                self.timers.remove(&trap.due);
            }
        }
    }
}

/// SubnetTimeout as time; at least a millisecond, so that a zero does not flood the fabric.
fn trap_spacing(info_byte: u8) -> Duration {
    Duration::from_nanos(4096u64 << (info_byte & 0x1F)).max(Duration::from_millis(1))
}
