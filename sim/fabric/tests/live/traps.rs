//! Traps: forwarded by LFTs, repeated until repressed.

use std::time::Duration;

use ferrosm_mad::attr::{
    CapMask, LinkErrorDetails, LocalChangeDetails, Notice, NoticeType, PortInfo, PortState,
    PortStateDetails, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortNum, SystemImageGuid};
use ferrosm_mad::mad::{MadIn, Method, Status};
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_sim::fabric::{DropReason, LocalChange, MadOutcome};
use ferrosm_sim::spec::PortAt;

use crate::rig::{Rig, chain, path_to};

/// SubnetTimeOut after power-on: 4.096 us * 2^18.
const SPACING: Duration = Duration::from_nanos(4096 << 18);

fn configured() -> Rig {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    rig.advance();
    rig
}

fn notice(mad: &MadIn) -> Notice {
    assert_eq!(
        (mad.mad.method(), mad.mad.attr_id()),
        (Method::Trap, id::NOTICE)
    );
    Notice::decode(smp::data(&mad.mad))
}

#[test]
fn link_down_sets_port_state_change_and_sends_trap_128() {
    let mut rig = configured();
    assert!(!rig.fabric.switch_info(2).unwrap().port_state_change);
    rig.fabric.cut(PortAt::new(2, 2)).unwrap();
    assert!(rig.fabric.switch_info(2).unwrap().port_state_change);
    assert!(!rig.fabric.switch_info(1).unwrap().port_state_change);
    let traps = rig.advance();
    assert_eq!(traps.len(), 1);
    let n = notice(&traps[0]);
    assert_eq!(
        (n.trap_number, n.issuer_lid),
        (TrapNumber::LinkStateChange, Lid(3))
    );
    assert_eq!(PortStateDetails::decode(&n.data_details).lid, Lid(3));
    assert_eq!(traps[0].from.lid, Lid(3));
}

#[test]
fn port_state_change_is_cleared_by_writing_1() {
    let mut rig = configured();
    rig.fabric.bounce(PortAt::new(2, 2)).unwrap();
    for (written, left) in [(false, true), (true, false)] {
        let mut info = rig.switch_info(&path_to(2));
        info.port_state_change = written;
        assert_eq!(
            rig.set(&path_to(2), id::SWITCH_INFO, 0, info.encode()),
            Some(Status::OK)
        );
        assert_eq!(rig.fabric.switch_info(2).unwrap().port_state_change, left);
    }
}

#[test]
fn traps_repeat_at_subnet_timeout_until_repressed() {
    let mut rig = configured();
    rig.fabric.cut(PortAt::new(2, 2)).unwrap();
    let first = rig.advance()[0];
    for _ in 0..3 {
        rig.now = rig.now + (SPACING - Duration::from_nanos(1));
        assert!(rig.advance().is_empty());
        rig.now = rig.now + Duration::from_nanos(1);
        assert_eq!(rig.advance(), [first], "the same trap with the same TID");
    }
    assert_eq!(rig.repress(&first), MadOutcome::Consumed);
    assert_eq!(rig.fabric.pending_traps(), 0);
    rig.now = rig.now + SPACING * 9;
    assert!(rig.advance().is_empty());
}

#[test]
fn repress_with_wrong_tid_or_m_key_has_no_effect() {
    let mut rig = configured();
    rig.fabric.cut(PortAt::new(2, 2)).unwrap();
    let first = rig.advance()[0];
    let mut other = first;
    let mut header = other.mad.header();
    header.tid.0 += 1;
    other.mad.set_header(&header);
    assert_eq!(rig.repress(&other), MadOutcome::Consumed);
    assert_eq!(rig.fabric.pending_traps(), 1);
    let key = MKey::new(9);
    assert_eq!(
        rig.change_port(&path_to(2), 0, |i| i.m_key = key),
        Some(Status::OK)
    );
    assert_eq!(rig.repress(&first), MadOutcome::Dropped(DropReason::MKey));
    assert_eq!(
        rig.fabric.pending_traps(),
        1 + 1,
        "and reported by its own trap"
    );
    rig.m_key = key;
    assert_eq!(rig.repress(&first), MadOutcome::Consumed);
    assert_eq!(rig.fabric.pending_traps(), 1);
}

#[test]
fn pending_traps_are_merged_and_traps_are_rate_limited() {
    let mut rig = configured();
    rig.fabric.bounce(PortAt::new(2, 2)).unwrap();
    rig.fabric.bounce(PortAt::new(2, 2)).unwrap();
    assert_eq!(rig.fabric.pending_traps(), 1);
    let traps = rig.advance();
    assert_eq!(traps.len(), 1);
    assert_eq!(rig.repress(&traps[0]), MadOutcome::Consumed);
    rig.fabric.bounce(PortAt::new(2, 2)).unwrap();
    assert!(rig.advance().is_empty(), "before the minimum interval");
    rig.now = rig.now + SPACING;
    assert_eq!(rig.advance().len(), 1);
}

#[test]
fn trap_128_needs_lid_sm_lid_and_route() {
    let mut unconfigured = Rig::new(&chain(2));
    unconfigured.fabric.cut(PortAt::new(2, 2)).unwrap();
    assert!(unconfigured.advance().is_empty());
    let mut rig = configured();
    rig.fabric.corrupt_lft(1, Lid(1), 0xFF);
    rig.fabric.cut(PortAt::new(2, 2)).unwrap();
    assert!(
        rig.advance().is_empty(),
        "the LFT of the switch in between drops it"
    );
    rig.fabric.corrupt_lft(1, Lid(1), 1);
    rig.now = rig.now + SPACING;
    assert_eq!(rig.advance().len(), 1, "the repetition is delivered");
}

#[test]
fn commanded_state_changes_send_no_trap() {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    assert!(rig.advance().is_empty());
    assert!(!rig.fabric.switch_info(1).unwrap().port_state_change);
    assert_eq!(
        rig.fabric.port_info(PortAt::new(1, 2)).unwrap().port_state,
        PortState::Active
    );
}

#[test]
fn injected_traps_have_their_details() {
    let mut rig = configured();
    rig.fabric
        .inject_trap(PortAt::new(1, 2), TrapNumber::LocalLinkIntegrity);
    let trap = rig.advance()[0];
    let details = LinkErrorDetails::decode(&notice(&trap).data_details);
    assert_eq!((details.lid, details.port_num), (Lid(2), PortNum(2)));
    assert_eq!(rig.repress(&trap), MadOutcome::Consumed);
    rig.fabric.set_description(3, "renamed");
    let trap = rig.advance()[0];
    let n = notice(&trap);
    assert_eq!(
        (n.trap_number, n.issuer_lid),
        (TrapNumber::LocalChange, Lid(4))
    );
    let details = LocalChangeDetails::decode(&n.data_details);
    assert!(details.other_local_changes);
    assert_eq!(details.change_flags, LocalChangeDetails::NODE_DESCRIPTION);
    assert_eq!(rig.repress(&trap), MadOutcome::Consumed);
    rig.fabric.set_system_image_guid(3, SystemImageGuid(7));
    rig.now = rig.now + SPACING;
    assert_eq!(
        notice(&rig.advance()[0]).trap_number,
        TrapNumber::SystemImageGuid
    );
}

#[test]
fn setting_is_sm_sends_trap_144() {
    let mut rig = configured();
    rig.fabric.set_is_sm(PortAt::new(3, 1), true).unwrap();
    let n = notice(&rig.advance()[0]);
    let details = LocalChangeDetails::decode(&n.data_details);
    assert_eq!(n.trap_number, TrapNumber::LocalChange);
    assert!(details.capability_mask.has(CapMask::IS_SM));
}

#[test]
fn reboot_resets_the_node_and_neighbours_report_it() {
    let mut rig = configured();
    assert_eq!(
        rig.change_port(&path_to(2), 0, |i| i.m_key = MKey::new(9)),
        Some(Status::OK)
    );
    rig.fabric.reboot(2);
    let info = rig.fabric.switch_info(2).unwrap();
    assert_eq!((info.linear_fdb_top, info.port_state_change), (0, true));
    assert_eq!(rig.fabric.lft(2), []);
    assert_eq!(rig.fabric.lid(PortAt::new(2, 0)).0, Lid(0));
    assert_eq!(rig.port_info(&path_to(2), 0).m_key, MKey::NONE);
    for at in [
        PortAt::new(1, 2),
        PortAt::new(2, 1),
        PortAt::new(2, 2),
        PortAt::new(3, 1),
    ] {
        assert_eq!(
            rig.fabric.port_info(at).unwrap().port_state,
            PortState::Initialize
        );
    }
    let traps = rig.advance();
    assert_eq!(traps.len(), 1);
    assert_eq!(
        notice(&traps[0]).issuer_lid,
        Lid(2),
        "switch 1 reports it; switch 2 has no LID"
    );
}

#[test]
fn nodes_without_power_do_not_reply() {
    let mut rig = configured();
    rig.fabric.power_off(2);
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    assert!(!rig.fabric.link_up(PortAt::new(3, 1)));
    rig.fabric.restore(PortAt::new(3, 1)).unwrap();
    assert!(!rig.fabric.link_up(PortAt::new(3, 1)));
    rig.fabric.power_on(2);
    assert!(rig.get(&path_to(3), id::NODE_INFO, 0).is_some());
}

#[test]
fn moved_cable_is_a_link_at_the_new_port() {
    let mut rig = configured();
    rig.fabric
        .move_cable(PortAt::new(2, 2), PortAt::new(1, 4))
        .unwrap();
    assert_eq!(rig.fabric.peer(PortAt::new(1, 4)), Some(PortAt::new(3, 1)));
    assert!(!rig.fabric.link_up(PortAt::new(2, 2)));
    assert!(
        rig.get(&"0,1,4".parse().unwrap(), id::NODE_INFO, 0)
            .is_some()
    );
}

#[test]
fn only_active_ports_send_traps() {
    let mut rig = configured();
    let host = PortAt::new(3, 1);
    rig.fabric.inject_trap(host, TrapNumber::FlowControl);
    rig.fabric.bounce(host).unwrap();
    assert!(
        rig.advance().iter().all(|t| notice(t).issuer_lid != Lid(4)),
        "the port is in Initialize"
    );
    assert_eq!(
        rig.fabric.pending_traps(),
        2,
        "the other one is of switch 2"
    );
    rig.fabric.inject_trap(host, TrapNumber::BufferOverrun);
    assert_eq!(rig.fabric.pending_traps(), 2, "no trap was added");
    for state in [PortState::Armed, PortState::Active] {
        assert_eq!(rig.set_state(&path_to(3), 1, state), Some(Status::OK));
        assert_eq!(rig.set_state(&path_to(2), 2, state), Some(Status::OK));
    }
    rig.now = rig.now + SPACING;
    let numbers: Vec<_> = rig
        .advance()
        .iter()
        .map(|t| notice(t).trap_number)
        .collect();
    assert!(numbers.contains(&TrapNumber::FlowControl));
}

#[test]
fn traps_require_the_capability() {
    let mut spec = chain(2);
    spec.nodes[3].options.fewer_capabilities = CapMask::TRAP;
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    rig.fabric
        .inject_trap(PortAt::new(3, 1), TrapNumber::LocalLinkIntegrity);
    assert_eq!(rig.fabric.pending_traps(), 0);
}

#[test]
fn local_changes_set_their_flag_in_trap_144() {
    let host = PortAt::new(3, 1);
    let table = [
        (LocalChange::LinkWidthEnabled(1), 2),
        (
            LocalChange::LinkSpeedEnabled {
                legacy: 7,
                extended: 1,
                extended2: 0,
            },
            4,
        ),
        (LocalChange::SmPriority, 8),
        (LocalChange::CapabilityMask2(0x0031), 0x20),
    ];
    for (change, flag) in table {
        let mut rig = configured();
        rig.fabric.local_change(host, change).unwrap();
        let n = notice(&rig.advance()[0]);
        assert_eq!(n.trap_number, TrapNumber::LocalChange);
        assert_eq!(n.notice_type, NoticeType::Informational);
        let details = LocalChangeDetails::decode(&n.data_details);
        assert!(details.other_local_changes);
        assert_eq!(details.change_flags, flag, "{change:?}");
        let pending = rig.fabric.pending_traps();
        if change != LocalChange::SmPriority {
            rig.fabric.local_change(host, change).unwrap();
            assert_eq!(rig.fabric.pending_traps(), pending);
        }
    }
    let mut rig = configured();
    let mask = rig.fabric.port_info(host).unwrap().capability_mask.0 | CapMask::SM_DISABLED;
    let change = LocalChange::CapabilityMask(mask);
    rig.fabric.local_change(host, change).unwrap();
    let n = notice(&rig.advance()[0]);
    let details = LocalChangeDetails::decode(&n.data_details);
    assert_eq!((details.capability_mask.0, details.change_flags), (mask, 0));
    assert!(!details.other_local_changes);
}

#[test]
fn trap_144_requires_the_capability() {
    let mut spec = chain(2);
    spec.nodes[3].options.fewer_capabilities =
        CapMask::OTHER_LOCAL_CHANGES | CapMask::CAP_MASK_NOTICE;
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    rig.fabric.set_description(3, "renamed");
    rig.fabric.set_is_sm(PortAt::new(3, 1), true).unwrap();
    assert_eq!(rig.fabric.pending_traps(), 0);
}

#[test]
fn nodes_keep_at_most_100_notices() {
    let mut rig = configured();
    let key = |i: &mut PortInfo| {
        i.m_key = MKey::new(9);
        i.m_key_protect_bits = 2;
    };
    assert_eq!(rig.change_port(&path_to(3), 1, key), Some(Status::OK));
    for modifier in 0..150 {
        assert!(rig.get(&path_to(3), id::VENDOR_DIAG, modifier).is_none());
    }
    assert_eq!(rig.fabric.pending_traps(), 100);
}

#[test]
fn notices_are_read_and_removed_by_toggle() {
    let mut spec = chain(2);
    spec.nodes[2].options.more_capabilities = CapMask::NOTICE;
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    rig.advance();
    let path = path_to(2);
    let read = |rig: &mut Rig| {
        let reply = rig.get(&path, id::NOTICE, 0).unwrap();
        assert_eq!(reply.mad.status(), Status::OK);
        Notice::decode(smp::data(&reply.mad))
    };
    while rig.fabric.pending_traps() > 0 {
        rig.now = rig.now + SPACING;
        for trap in rig.advance() {
            rig.repress(&trap);
        }
    }
    assert_eq!(read(&mut rig).notice_type, NoticeType::Empty);
    for number in [TrapNumber::LocalLinkIntegrity, TrapNumber::BufferOverrun] {
        rig.fabric.inject_trap(PortAt::new(2, 1), number);
    }
    let clear = |rig: &mut Rig, toggle| {
        let data = Notice {
            notice_toggle: toggle,
            ..Notice::default()
        };
        let request = SmpRequest::set(id::NOTICE, AttrMod(0), MKey::NONE, data.encode());
        let reply = rig.request(&path, &request).unwrap();
        Notice::decode(smp::data(&reply.mad))
    };
    let first = read(&mut rig);
    assert_eq!(first.trap_number, TrapNumber::LocalLinkIntegrity);
    assert_eq!((first.notice_count, first.notice_toggle), (2, false));
    let same = clear(&mut rig, true);
    assert_eq!(same, first, "a wrong toggle is a duplicate Set");
    let second = clear(&mut rig, false);
    assert_eq!(second.trap_number, TrapNumber::BufferOverrun);
    assert_eq!((second.notice_count, second.notice_toggle), (1, true));
    assert_eq!(clear(&mut rig, true).notice_type, NoticeType::Empty);
    assert_eq!(
        rig.fabric.pending_traps(),
        0,
        "a cleared notice is not sent"
    );
}

#[test]
fn trap_rate_limit_is_per_port() {
    let mut spec = chain(1);
    spec.links.push(crate::rig::cable((2, 2), (1, 3)));
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    let path: smp::DrPath = "0,1,3".parse().unwrap();
    let address = |i: &mut PortInfo| {
        i.lid = Lid(7);
        i.master_sm_lid = Lid(1);
    };
    assert_eq!(rig.change_port(&path, 2, address), Some(Status::OK));
    for state in [PortState::Armed, PortState::Active] {
        assert_eq!(rig.set_state(&path, 2, state), Some(Status::OK));
    }
    for port in [1, 2] {
        rig.fabric
            .inject_trap(PortAt::new(2, port), TrapNumber::FlowControl);
    }
    let lids: Vec<_> = rig.advance().iter().map(|t| notice(t).issuer_lid).collect();
    assert_eq!(lids, [Lid(3), Lid(7)]);
}
