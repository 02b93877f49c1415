//! M_Key protection (IBA 14.2.4).

use std::time::Duration;

use ferrosm_mad::attr::{MKeyViolationDetails, Notice, NoticeType, PortInfo, TrapNumber, id};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut, Status};
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_sim::fabric::{DropReason, MadOutcome};
use ferrosm_sim::spec::PortAt;

use crate::rig::{Rig, chain, path_to};

const KEY: MKey = MKey::new(0xFEED);

fn protected(node: usize, bits: u8, lease: u16) -> Rig {
    let mut rig = Rig::new(&chain(1));
    rig.configure_chain();
    let end_port = if rig.fabric.is_switch(node) { 0 } else { 1 };
    let status = rig.change_port(&path_to(node), end_port, |info| {
        info.m_key = KEY;
        info.m_key_protect_bits = bits;
        info.m_key_lease_period = lease;
    });
    assert_eq!(status, Some(Status::OK));
    rig
}

#[test]
fn protection_levels_follow_the_specification() {
    for node in [1, 2] {
        for bits in 0..=3 {
            let mut rig = protected(node, bits, 0);
            let path = path_to(node);
            let port = PortNum(if node == 1 { 0 } else { 1 });
            let modifier = PortInfo::modifier(port).0;
            // Read with a wrong key.
            let reply = rig.get(&path, id::PORT_INFO, modifier);
            let seen = reply.map(|a| PortInfo::decode(smp::data(&a.mad)).m_key);
            let expected = match bits {
                0 => Some(KEY),
                1 => Some(MKey::NONE),
                _ => None,
            };
            assert_eq!(seen, expected, "node {node}, level {bits}");
            // Write with a wrong key.
            let info = rig.fabric.port_info(PortAt::new(node, port.0)).unwrap();
            let next = PortInfo {
                port_state: ferrosm_mad::attr::PortState::NoChange,
                port_physical_state: ferrosm_mad::attr::PhysState::NoChange,
                lid: Lid(30),
                ..info
            };
            rig.m_key = MKey::new(1);
            assert_eq!(rig.set(&path, id::PORT_INFO, modifier, next.encode()), None);
            assert_eq!(rig.fabric.lid(PortAt::new(node, port.0)).0, info.lid);
            let dropped = if bits < 2 { 1 } else { 2 };
            let after = rig.fabric.port_info(PortAt::new(node, port.0)).unwrap();
            assert_eq!(after.m_key_violations, dropped);
            assert_eq!(
                rig.fabric.counters(node).m_key_violations,
                u32::from(dropped)
            );
            // Read and write with the right key.
            rig.m_key = KEY;
            assert_eq!(rig.port_info(&path, port.0).m_key, KEY);
            assert_eq!(
                rig.set(&path, id::PORT_INFO, modifier, next.encode()),
                Some(Status::OK)
            );
            assert_eq!(rig.fabric.lid(PortAt::new(node, port.0)).0, Lid(30));
        }
    }
}

#[test]
fn switch_is_protected_by_the_m_key_of_port_0() {
    let mut rig = protected(1, 2, 0);
    assert!(rig.get(&path_to(1), id::LFT, 0).is_none());
    assert!(rig.get(&path_to(1), id::PORT_INFO, 2).is_none());
    assert!(
        rig.get(&path_to(2), id::NODE_INFO, 0).is_some(),
        "other nodes are not"
    );
    rig.m_key = KEY;
    assert!(rig.get(&path_to(1), id::LFT, 0).is_some());
}

#[test]
fn expired_lease_ends_protection() {
    let read = |rig: &mut Rig| rig.get(&path_to(2), id::NODE_INFO, 0).is_some();
    let mut rig = protected(2, 2, 10);
    assert!(!read(&mut rig), "the violation starts the lease");
    rig.now = rig.now + Duration::from_secs(9);
    rig.m_key = KEY;
    assert!(read(&mut rig), "the right key stops the lease");
    rig.m_key = MKey::NONE;
    rig.now = rig.now + Duration::from_secs(9);
    assert!(!read(&mut rig), "the violation restarts the lease");
    rig.now = rig.now + Duration::from_secs(9);
    assert!(!read(&mut rig), "a further violation does not prolong it");
    rig.now = rig.now + Duration::from_secs(1);
    assert!(read(&mut rig));
    let mut no_lease = protected(2, 2, 0);
    assert!(!read(&mut no_lease));
    no_lease.now = no_lease.now + Duration::from_secs(1_000_000);
    assert!(!read(&mut no_lease));
}

#[test]
fn expired_lease_clears_the_level_but_not_the_key() {
    let mut rig = protected(2, 3, 1);
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    rig.now = rig.now + Duration::from_secs(1);
    assert_eq!(
        rig.port_info(&path_to(2), 1).m_key,
        KEY,
        "protection level 0 shows the key"
    );
    let status = rig.change_port(&path_to(2), 1, |info| info.m_key = MKey::NONE);
    assert_eq!(status, None, "but a write requires it");
}

#[test]
fn new_m_key_ends_the_lease() {
    let mut rig = protected(2, 2, 10);
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    rig.m_key = KEY;
    let next = MKey::new(0xBEEF);
    assert_eq!(
        rig.change_port(&path_to(2), 1, |info| info.m_key = next),
        Some(Status::OK)
    );
    rig.now = rig.now + Duration::from_secs(20);
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    rig.m_key = next;
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_some());
}

#[test]
fn m_key_violations_saturate_and_are_cleared_by_zero() {
    let mut rig = protected(2, 2, 0);
    let at = PortAt::new(2, 1);
    for _ in 0..3 {
        assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    }
    rig.m_key = KEY;
    for (written, left) in [(3, 3), (9, 3), (0, 0)] {
        let status = rig.change_port(&path_to(2), 1, |info| info.m_key_violations = written);
        assert_eq!(status, Some(Status::OK));
        let info = rig.fabric.port_info(at).unwrap();
        assert_eq!(info.m_key_violations, left, "written {written}");
    }
}

#[test]
fn sm_info_requests_bypass_the_m_key_check() {
    let mut rig = protected(2, 3, 0);
    rig.fabric.attach(PortAt::new(2, 1)).unwrap();
    let request = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let (outcome, out) = rig.send(&MadOut {
        to: Address::DIRECTED,
        mad: request.directed(&path_to(2), Tid(5)),
    });
    assert_eq!(outcome, MadOutcome::Delivered);
    assert_eq!(out[0].at, PortAt::new(2, 1));
}

#[test]
fn violations_are_reported_by_trap_256() {
    let mut rig = protected(2, 2, 0);
    rig.m_key = MKey::new(0xBAD);
    assert!(rig.get(&path_to(2), id::LED_INFO, 1).is_none());
    let notice = Notice::decode(smp::data(&rig.advance()[0].mad));
    assert_eq!(notice.trap_number, TrapNumber::BadMKey);
    assert_eq!(notice.notice_type, NoticeType::Security);
    assert_eq!(notice.issuer_lid, Lid(3));
    let mut dr_return_path = [0; 30];
    dr_return_path[..2].copy_from_slice(&[1, 1]);
    let expected = MKeyViolationDetails {
        lid: Lid(3),
        dr_slid: Lid::PERMISSIVE,
        method: 1,
        attr_id: id::LED_INFO,
        attr_mod: AttrMod(1),
        m_key: MKey::new(0xBAD),
        dr_notice: true,
        dr_path_truncated: false,
        dr_hop_count: 2,
        dr_return_path,
    };
    assert_eq!(MKeyViolationDetails::decode(&notice.data_details), expected);
}

#[test]
fn return_path_in_trap_256_has_at_most_30_hops() {
    let far = 32;
    let mut rig = Rig::new(&chain(far - 1));
    rig.configure_chain();
    let path = path_to(far);
    let lock = |info: &mut PortInfo| {
        info.m_key = KEY;
        info.m_key_protect_bits = 2;
    };
    assert_eq!(rig.change_port(&path, 1, lock), Some(Status::OK));
    assert!(rig.get(&path, id::NODE_INFO, 0).is_none());
    let details = |rig: &mut Rig| {
        let trap = rig.advance()[0];
        rig.m_key = KEY;
        assert_eq!(rig.repress(&trap), MadOutcome::Consumed);
        rig.m_key = MKey::NONE;
        let notice = Notice::decode(smp::data(&trap.mad));
        MKeyViolationDetails::decode(&notice.data_details)
    };
    let reported = details(&mut rig);
    assert!(reported.dr_notice && reported.dr_path_truncated);
    assert_eq!(
        (reported.dr_hop_count, reported.dr_return_path),
        (30, [1; 30])
    );
    rig.now = rig.now + Duration::from_secs(2);
    assert_eq!(rig.by_lid(Lid(33)).0, MadOutcome::Dropped(DropReason::MKey));
    let reported = details(&mut rig);
    assert!(!reported.dr_notice && !reported.dr_path_truncated);
    assert_eq!(
        (reported.dr_hop_count, reported.dr_return_path),
        (0, [0; 30])
    );
    assert_eq!(reported.dr_slid, Lid(1), "the requester");
}
