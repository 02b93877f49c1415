//! The I/O unit of a storage target, byte by byte (IBA 16.3.3).

use ferrosm_mad::attr::{Notice, TrapNumber};
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, Qpn, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadOut, Method, MgmtClass};
use ferrosm_mad::smp;
use ferrosm_sim::fabric::{DropReason, MadOutcome};

use crate::rig::{Rig, chain, path_to};

/// CA 2 of the chain, with LID 3 and node GUID 0x3000.
const TARGET: usize = 2;
const GUID: [u8; 8] = [0, 0, 0, 0, 0, 0, 0x30, 0];
const IS_DM: u32 = 1 << 19;

fn rig(is_target: bool) -> Rig {
    let mut spec = chain(1);
    spec.nodes[TARGET].options.srp_target = is_target;
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    rig.advance();
    rig
}

fn request(method: Method, attr: u16, modifier: u32) -> MadOut {
    let mad = Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass(6),
        class_version: 1,
        method,
        status: 0,
        class_specific: 0,
        tid: Tid(9),
        attr_id: AttrId(attr),
        attr_mod: AttrMod(modifier),
    });
    let to = Address {
        qpn: Qpn(1),
        ..Address::smp(Lid(3))
    };
    MadOut { to, mad }
}

fn send_request(rig: &mut Rig, method: Method, attr: u16, modifier: u32) -> (u16, Vec<u8>) {
    let (outcome, out) = rig.send(&request(method, attr, modifier));
    assert_eq!(outcome, MadOutcome::Replied);
    let mad = &out[0].mad.mad;
    assert_eq!((mad.method(), mad.tid()), (Method::GetResp, Tid(9)));
    (mad.status().0, mad.as_bytes()[64..].to_vec())
}

fn get(rig: &mut Rig, attr: u16, modifier: u32) -> Vec<u8> {
    let (status, data) = send_request(rig, Method::Get, attr, modifier);
    assert_eq!(status, 0, "{attr:#x} {modifier:#x}");
    data
}

#[test]
fn target_reports_unit_controller_and_service() {
    let mut rig = rig(true);
    assert_eq!(get(&mut rig, 1, 0)[..8], [1, 1, 0, 0, 0, 0, 0, 20]);

    let unit = get(&mut rig, 0x10, 0);
    assert_eq!(unit[..4], [0, 1, 16, 0], "change ID, slots, no option ROM");
    let slots: Vec<u8> = unit[4..12].iter().flat_map(|b| [b >> 4, b & 15]).collect();
    assert_eq!((slots[0], &slots[1..]), (1, &[0; 15][..]));

    let profile = get(&mut rig, 0x11, 1);
    assert_eq!(profile[..8], GUID);
    assert_eq!(profile[8..16], [0, 2, 0xC9, 0, 0, 0, 0xCB, 0x20]);
    assert_eq!(profile[28..36], [1, 0, 0x60, 0x9E, 1, 8, 0, 1], "SRP");
    assert_eq!(profile[54], 1, "services");
    assert!(profile[64..].starts_with(b"simulated SRP target\0"));

    let services = get(&mut rig, 0x12, 1 << 16);
    assert_eq!(&services[..25], b"SRP.T10:0000000000003000\0");
    assert_eq!(services[40..48], GUID);
    assert!(services[48..].iter().all(|b| *b == 0), "one service");
}

#[test]
fn missing_objects_have_an_error_status() {
    let mut rig = rig(true);
    for (method, attr, modifier, status) in [
        (Method::Get, 0x11, 0, 0x1C),
        (Method::Get, 0x11, 2, 0x100),
        (Method::Get, 0x11, 16, 0x100),
        (Method::Get, 0x11, 17, 0x1C),
        (Method::Get, 0x12, 0, 0x1C),
        (Method::Get, 0x12, 1 << 16 | 1 << 8, 0x100),
        (Method::Get, 0x12, 2 << 16, 0x100),
        (Method::Get, 0x13, 0, 0x0C),
        (Method::Set, 1, 0, 0x0C),
    ] {
        let (reported, data) = send_request(&mut rig, method, attr, modifier);
        assert_eq!(reported, status, "{attr:#x} {modifier:#x}");
        assert!(data.iter().all(|b| *b == 0));
    }
}

/// Without a target, requests are dropped and the CapabilityMask bit is clear; trap 144 reports
/// both changes.
#[test]
fn targets_can_be_started_and_stopped() {
    let mut rig = rig(false);
    let is_dm = |rig: &mut Rig| rig.port_info(&path_to(TARGET), 1).capability_mask.0 & IS_DM != 0;
    let request_mad = request(Method::Get, 1, 0);
    assert!(!is_dm(&mut rig));
    let no_receiver = MadOutcome::Dropped(DropReason::NoClient);
    assert_eq!(rig.send(&request_mad).0, no_receiver);
    for on in [true, false, false, true] {
        let before = is_dm(&mut rig);
        rig.fabric.set_srp_target(TARGET, on).unwrap();
        assert_eq!(is_dm(&mut rig), on);
        let reported = rig.advance();
        assert_eq!(reported.len(), usize::from(before != on));
        for trap in &reported {
            let notice = Notice::decode(smp::data(&trap.mad));
            assert_eq!(notice.trap_number, TrapNumber::LocalChange);
            assert_eq!(notice.issuer_lid, Lid(3));
            rig.repress(trap);
        }
        // Minimum interval between two traps of a port.
        rig.now = rig.now + core::time::Duration::from_secs(10);
        let outcome = if on { MadOutcome::Replied } else { no_receiver };
        assert_eq!(rig.send(&request_mad).0, outcome);
    }
    assert!(rig.fabric.set_srp_target(99, true).is_err());
    // The target is installed on the host and starts again with it.
    rig.fabric.reboot(TARGET);
    assert!(is_dm(&mut rig));
}
