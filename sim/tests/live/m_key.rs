//! M_Key protection (IBA 14.2.4).

use std::time::Duration;

use ferrosm_mad::attr::{Notice, PortInfo, TrapNumber, id};
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp;
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
fn each_level_protects_as_much_as_it_says() {
    for node in [1, 2] {
        for bits in 0..=3 {
            let mut rig = protected(node, bits, 0);
            let path = path_to(node);
            let port = PortNum(if node == 1 { 0 } else { 1 });
            let modifier = PortInfo::modifier(port).0;
            // Read with a wrong key.
            let answer = rig.get(&path, id::PORT_INFO, modifier);
            let seen = answer.map(|a| PortInfo::decode(smp::data(&a.mad)).m_key);
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
            let now = rig.fabric.port_info(PortAt::new(node, port.0)).unwrap();
            assert_eq!(now.m_key_violations, dropped);
            assert_eq!(
                rig.fabric.counters(node).m_key_violations,
                u32::from(dropped)
            );
            // And with the right one.
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
fn a_switch_is_protected_by_the_key_of_its_port_0() {
    let mut rig = protected(1, 2, 0);
    assert!(rig.get(&path_to(1), id::LFT, 0).is_none());
    assert!(rig.get(&path_to(1), id::PORT_INFO, 2).is_none());
    assert!(
        rig.get(&path_to(2), id::NODE_INFO, 0).is_some(),
        "others are not"
    );
    rig.m_key = KEY;
    assert!(rig.get(&path_to(1), id::LFT, 0).is_some());
}

#[test]
fn the_lease_ends_protection_unless_the_right_key_comes_in_time() {
    let read = |rig: &mut Rig| rig.get(&path_to(2), id::NODE_INFO, 0).is_some();
    let mut rig = protected(2, 2, 10);
    assert!(!read(&mut rig), "the violation starts the lease");
    rig.now = rig.now + Duration::from_secs(9);
    rig.m_key = KEY;
    assert!(read(&mut rig), "the right key stops it");
    rig.m_key = MKey::NONE;
    rig.now = rig.now + Duration::from_secs(9);
    assert!(!read(&mut rig), "this starts it again");
    rig.now = rig.now + Duration::from_secs(9);
    assert!(!read(&mut rig), "and this does not prolong it");
    rig.now = rig.now + Duration::from_secs(1);
    assert!(read(&mut rig));
    let mut for_ever = protected(2, 2, 0);
    assert!(!read(&mut for_ever));
    for_ever.now = for_ever.now + Duration::from_secs(1_000_000);
    assert!(!read(&mut for_ever));
}

#[test]
fn a_violation_is_reported_by_trap_256() {
    let mut rig = protected(2, 2, 0);
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    let traps = rig.advance();
    let notice = Notice::decode(smp::data(&traps[0].mad));
    assert_eq!(notice.trap_number, TrapNumber::BadMKey);
    assert_eq!(notice.issuer_lid, Lid(3));
}
