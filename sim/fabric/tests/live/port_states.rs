//! PortInfo: state machine and checks of a Set.

use ferrosm_mad::attr::{
    CapMask, CapMask2, LinkSpeed, LinkWidth, MtuCode, PKeyBlock, PhysState, PortInfo, PortState, id,
};
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_sim::spec::PortAt;

use crate::rig::{Rig, chain, path_to};

const BAD: Option<Status> = Some(Status::BAD_FIELD);
const OK: Option<Status> = Some(Status::OK);

#[test]
fn state_transitions_follow_the_specification() {
    use PortState as S;
    let states = [S::Initialize, S::Armed, S::Active];
    let table = [
        // From, to, reply status, and the resulting state.
        (S::Initialize, S::NoChange, OK, S::Initialize),
        (S::Initialize, S::Down, OK, S::Initialize),
        (S::Initialize, S::Initialize, BAD, S::Initialize),
        (S::Initialize, S::Armed, OK, S::Armed),
        (S::Initialize, S::Active, BAD, S::Initialize),
        (S::Armed, S::NoChange, OK, S::Armed),
        (S::Armed, S::Down, OK, S::Initialize),
        (S::Armed, S::Initialize, BAD, S::Armed),
        (S::Armed, S::Armed, BAD, S::Armed),
        (S::Armed, S::Active, OK, S::Active),
        (S::Active, S::NoChange, OK, S::Active),
        (S::Active, S::Down, OK, S::Initialize),
        (S::Active, S::Initialize, BAD, S::Active),
        (S::Active, S::Armed, BAD, S::Active),
        (S::Active, S::Active, BAD, S::Active),
    ];
    for (from, to, reply, after) in table {
        let mut rig = Rig::new(&chain(2));
        for state in states.into_iter().skip(1).take_while(|s| *s <= from) {
            assert_eq!(rig.set_state(&path_to(1), 2, state), OK);
        }
        let at = PortAt::new(1, 2);
        assert_eq!(rig.fabric.port_info(at).unwrap().port_state, from);
        assert_eq!(rig.set_state(&path_to(1), 2, to), reply, "{from} to {to}");
        assert_eq!(
            rig.fabric.port_info(at).unwrap().port_state,
            after,
            "{from} to {to}"
        );
    }
}

#[test]
fn down_takes_both_ports_down_and_the_link_retrains() {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    for (at, changed) in [(PortAt::new(1, 2), 1), (PortAt::new(2, 1), 2)] {
        assert_eq!(
            rig.fabric.port_info(at).unwrap().port_state,
            PortState::Initialize
        );
        assert!(rig.fabric.switch_info(changed).unwrap().port_state_change);
    }
    assert_eq!(
        rig.fabric.port_info(PortAt::new(1, 1)).unwrap().port_state,
        PortState::Active
    );
}

#[test]
fn disabled_ports_stay_down_until_enabled() {
    let mut rig = Rig::new(&chain(2));
    let disable = |info: &mut PortInfo| {
        info.port_state = PortState::Down;
        info.port_physical_state = PhysState::Disabled;
    };
    assert_eq!(rig.change_port(&path_to(1), 2, disable), OK);
    assert!(!rig.fabric.link_up(PortAt::new(2, 1)));
    let peer = rig.fabric.port_info(PortAt::new(2, 1)).unwrap();
    assert_eq!(
        (peer.port_state, peer.port_physical_state),
        (PortState::Down, PhysState::Polling)
    );
    rig.fabric.restore(PortAt::new(1, 2)).unwrap();
    assert!(
        !rig.fabric.link_up(PortAt::new(1, 2)),
        "a restored cable has no effect"
    );
    let enable = |info: &mut PortInfo| info.port_physical_state = PhysState::Polling;
    assert_eq!(rig.change_port(&path_to(1), 2, enable), OK);
    assert!(rig.fabric.link_up(PortAt::new(2, 1)));
}

#[test]
fn invalid_fields_are_rejected_without_effect() {
    type Change = fn(&mut PortInfo);
    let ca: [(&str, Change); 11] = [
        ("LID 0", |i| i.lid = Lid(0)),
        ("multicast LID", |i| i.lid = Lid(0xC000)),
        ("LID not aligned to LMC", |i| {
            i.lid = Lid(5);
            i.lmc.0 = 1;
        }),
        ("LIDs beyond the unicast range", |i| {
            i.lid = Lid(0xBFF8);
            i.lmc.0 = 7;
        }),
        ("SM LID is multicast", |i| i.master_sm_lid = Lid(0xC001)),
        ("MTU above the cap", |i| i.neighbor_mtu = MtuCode(6)),
        ("MTU 0", |i| i.neighbor_mtu = MtuCode(0)),
        ("VLs above the cap", |i| i.operational_vls = 5),
        ("unsupported speed", |i| i.link_speed_ext_enabled = 8),
        ("unsupported width", |i| i.link_width_enabled = 8),
        ("physical state LinkUp", |i| {
            i.port_physical_state = PhysState::LinkUp
        }),
    ];
    for (description, change) in ca {
        let mut rig = Rig::new(&chain(1));
        rig.change_port(&path_to(2), 1, |i| i.lid = Lid(4)).unwrap();
        let before = rig.fabric.port_info(PortAt::new(2, 1));
        let status = rig.change_port(&path_to(2), 1, |info| {
            info.lid = Lid(4);
            info.vl_high_limit = 9;
            change(info);
        });
        assert_eq!(status, BAD, "{description}");
        assert_eq!(
            rig.fabric.port_info(PortAt::new(2, 1)),
            before,
            "{description}"
        );
    }
}

#[test]
fn base_port_0_has_no_lmc_and_enhanced_port_0_has() {
    for enhanced in [false, true] {
        let mut spec = chain(1);
        spec.nodes[1].enhanced_port0 = enhanced;
        let mut rig = Rig::new(&spec);
        let path = path_to(1);
        assert_eq!(rig.change_port(&path, 0, |i| i.lid = Lid(8)), OK);
        for state in [PortState::Down, PortState::Armed, PortState::Active] {
            assert_eq!(rig.set_state(&path, 0, state), BAD);
        }
        let lmc = rig.change_port(&path, 0, |i| i.lmc.0 = 3);
        assert_eq!(lmc, if enhanced { OK } else { BAD });
    }
}

#[test]
fn nonexistent_ports_are_invalid_modifiers() {
    let mut rig = Rig::new(&chain(1));
    for (node, port) in [(1, 5u32), (1, 255), (1, 256), (2, 3), (2, 0x101)] {
        let reply = rig.get(&path_to(node), id::PORT_INFO, port).unwrap();
        assert_eq!(
            reply.mad.status(),
            Status::BAD_FIELD,
            "node {node} port {port}"
        );
    }
}

#[test]
fn addresses_of_external_switch_ports_are_not_stored() {
    let mut rig = Rig::new(&chain(1));
    assert_eq!(rig.change_port(&path_to(1), 1, |i| i.lid = Lid(9)), OK);
    assert_eq!(rig.fabric.port_info(PortAt::new(1, 1)).unwrap().lid, Lid(0));
    assert_eq!(rig.fabric.lid(PortAt::new(1, 1)).0, Lid(0));
}

#[test]
fn enabled_speeds_and_widths_apply_at_the_next_training() {
    let mut rig = Rig::new(&chain(1));
    let at = PortAt::new(2, 1);
    assert_eq!(
        rig.fabric.port_info(at).unwrap().speed(),
        Some(LinkSpeed::Hdr)
    );
    assert_eq!(
        rig.change_port(&path_to(1), 2, |i| i.link_speed_ext_enabled = 1),
        OK
    );
    assert_eq!(
        rig.fabric.port_info(at).unwrap().speed(),
        Some(LinkSpeed::Hdr)
    );
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    assert_eq!(
        rig.fabric.port_info(at).unwrap().speed(),
        Some(LinkSpeed::Fdr)
    );
    assert_eq!(
        rig.change_port(&path_to(1), 2, |i| i.link_speed_ext_enabled = 30),
        OK
    );
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    assert_eq!(
        rig.fabric.port_info(at).unwrap().speed(),
        Some(LinkSpeed::Qdr)
    );
    assert_eq!(
        rig.change_port(&path_to(1), 2, |i| i.link_speed_ext_enabled = 31),
        OK
    );
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    assert_eq!(
        rig.fabric.port_info(at).unwrap().speed(),
        Some(LinkSpeed::Hdr)
    );
}

#[test]
fn links_train_at_the_speed_of_the_cable() {
    for speed in LinkSpeed::ALL {
        let mut spec = chain(1);
        spec.links[1].speed = speed;
        let rig = Rig::new(&spec);
        let at = PortAt::new(2, 1);
        let info = rig.fabric.port_info(at).unwrap();
        let expected = if speed == LinkSpeed::Fdr10 {
            LinkSpeed::Qdr
        } else {
            speed
        };
        assert_eq!(info.speed(), Some(expected));
        assert_eq!(rig.fabric.is_fdr10(at), speed == LinkSpeed::Fdr10);
    }
}

#[test]
fn client_reregister_is_counted_and_not_stored() {
    let mut rig = Rig::new(&chain(1));
    for n in 1..=2 {
        let status = rig.change_port(&path_to(2), 1, |i| {
            i.lid = Lid(4);
            i.client_reregister = true;
        });
        assert_eq!(status, OK);
        assert!(!rig.port_info(&path_to(2), 1).client_reregister);
        assert_eq!(rig.fabric.client_reregisters(PortAt::new(2, 1)), n);
    }
}

#[test]
fn set_reply_contains_client_reregister_if_supported() {
    let mut spec = chain(1);
    spec.nodes[2].options.fewer_capabilities = CapMask::CLIENT_REREGISTER;
    let mut rig = Rig::new(&spec);
    for (node, port, shown) in [(0, 1, true), (1, 0, true), (1, 2, false), (2, 1, false)] {
        let path = path_to(node);
        let mut info = rig.port_info(&path, port);
        info.lid = Lid(4);
        info.port_state = PortState::NoChange;
        info.port_physical_state = PhysState::NoChange;
        info.client_reregister = true;
        let request = SmpRequest::set(
            id::PORT_INFO,
            PortInfo::modifier(PortNum(port)),
            rig.m_key,
            info.encode(),
        );
        let reply = rig.request(&path, &request).unwrap();
        assert_eq!(reply.mad.status(), Status::OK);
        let reported = PortInfo::decode(smp::data(&reply.mad)).client_reregister;
        assert_eq!(reported, shown, "node {node} port {port}");
        assert!(!rig.port_info(&path, port).client_reregister);
    }
    assert_eq!(rig.fabric.client_reregisters(PortAt::new(2, 1)), 0);
}

#[test]
fn port_state_change_is_set_by_the_link_but_not_by_a_set() {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    rig.advance();
    let disable = |info: &mut PortInfo| info.port_physical_state = PhysState::Disabled;
    assert_eq!(rig.change_port(&path_to(1), 2, disable), OK);
    let changed = |rig: &Rig, node| rig.fabric.switch_info(node).unwrap().port_state_change;
    assert!(!changed(&rig, 1), "the change was commanded by a Set");
    assert!(changed(&rig, 2), "this port saw the link go down");
    assert_eq!(rig.fabric.pending_traps(), 1);
    let enable = |info: &mut PortInfo| info.port_physical_state = PhysState::Polling;
    assert_eq!(rig.change_port(&path_to(1), 2, enable), OK);
    assert!(changed(&rig, 1), "the link went to Initialize by itself");
}

#[test]
fn sleeping_port_trains_with_a_polling_one_only() {
    let mut rig = Rig::new(&chain(2));
    let (a, b) = (PortAt::new(1, 2), PortAt::new(2, 1));
    let sleep = |info: &mut PortInfo| info.port_physical_state = PhysState::Sleep;
    assert_eq!(rig.change_port(&path_to(1), 2, sleep), OK);
    assert!(rig.fabric.link_up(a), "the other port polls");
    let by_default = |info: &mut PortInfo| info.link_down_default_state = 1;
    assert_eq!(rig.change_port(&path_to(2), 1, by_default), OK);
    rig.fabric.bounce(a).unwrap();
    assert!(rig.fabric.link_up(a), "one sleeps, one polls");
    assert_eq!(rig.change_port(&path_to(1), 2, by_default), OK);
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    for at in [a, b] {
        let info = rig.fabric.port_info(at).unwrap();
        let state = (info.port_state, info.port_physical_state);
        assert_eq!(state, (PortState::Down, PhysState::Sleep));
    }
    let poll = |info: &mut PortInfo| info.port_physical_state = PhysState::Polling;
    assert_eq!(rig.change_port(&path_to(1), 2, poll), OK);
    assert!(rig.fabric.link_up(b));
}

#[test]
fn links_without_a_common_speed_stay_down() {
    let mut rig = Rig::new(&chain(2));
    let only = |legacy: u8| {
        move |info: &mut PortInfo| {
            info.link_speed_enabled = legacy;
            info.link_speed_ext_enabled = 30;
        }
    };
    assert_eq!(rig.change_port(&path_to(2), 1, only(1)), OK);
    assert_eq!(rig.change_port(&path_to(1), 2, only(2)), OK);
    assert!(rig.fabric.link_up(PortAt::new(2, 1)), "not retrained yet");
    assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
    assert!(!rig.fabric.link_up(PortAt::new(2, 1)));
    assert_eq!(rig.change_port(&path_to(1), 2, only(3)), OK);
    let info = rig.fabric.port_info(PortAt::new(2, 1)).unwrap();
    assert_eq!(info.port_state, PortState::Initialize);
    assert_eq!(info.speed(), Some(LinkSpeed::Sdr));
}

#[test]
fn links_use_the_widest_common_width() {
    for (enabled, width) in [(0xFF, 4), (1, 1), (16, 2), (1 | 16, 2), (2 | 1, 4)] {
        let mut rig = Rig::new(&chain(2));
        let set = |info: &mut PortInfo| info.link_width_enabled = enabled;
        assert_eq!(rig.change_port(&path_to(1), 2, set), OK);
        assert_eq!(rig.set_state(&path_to(1), 2, PortState::Down), OK);
        let info = rig.fabric.port_info(PortAt::new(2, 1)).unwrap();
        assert_eq!(info.width(), Some(LinkWidth(width)), "{enabled:#x}");
    }
}

/// LinkSpeedActive and Supported, legacy, extended and second extended, with the specification's
/// codes.
#[test]
fn speeds_are_reported_in_their_fields() {
    let table = [
        (LinkSpeed::Sdr, [1, 0, 0], [1, 0, 0]),
        (LinkSpeed::Ddr, [2, 0, 0], [3, 0, 0]),
        (LinkSpeed::Qdr, [4, 0, 0], [7, 0, 0]),
        (LinkSpeed::Fdr10, [4, 0, 0], [7, 0, 0]),
        (LinkSpeed::Fdr, [0, 1, 0], [7, 1, 0]),
        (LinkSpeed::Edr, [0, 2, 0], [7, 3, 0]),
        (LinkSpeed::Hdr, [0, 4, 0], [7, 7, 0]),
        (LinkSpeed::Ndr, [0, 8, 0], [7, 15, 0]),
        (LinkSpeed::Xdr, [0, 0, 1], [7, 15, 1]),
    ];
    for (speed, active, supported) in table {
        let mut spec = chain(1);
        for link in &mut spec.links {
            link.speed = speed;
        }
        let mut rig = Rig::new(&spec);
        let i = rig.port_info(&path_to(1), 2);
        let reported = [
            i.link_speed_active,
            i.link_speed_ext_active,
            i.link_speed_ext_active2,
        ];
        assert_eq!(reported, active, "{speed:?}");
        let reported_supported = [
            i.link_speed_supported,
            i.link_speed_ext_supported,
            i.link_speed_ext_supported2,
        ];
        assert_eq!(reported_supported, supported, "{speed:?}");
        let mask = rig.port_info(&path_to(2), 1).capability_mask2;
        assert_eq!(mask.has(CapMask2::LINK_SPEED_XDR), speed == LinkSpeed::Xdr);
        assert_eq!(mask.has(CapMask2::LINK_SPEED_NDR), speed >= LinkSpeed::Ndr);
        assert_eq!(mask.has(CapMask2::LINK_SPEED_HDR), speed >= LinkSpeed::Hdr);
    }
}

#[test]
fn ca_reports_all_ports_with_separate_m_keys() {
    let mut rig = Rig::new(&chain(1));
    let path = path_to(2);
    let other = rig.port_info(&path, 2);
    assert_eq!(other.port_state, PortState::Down);
    assert_eq!(other.local_port_num, PortNum(1), "the input port");
    assert_eq!(rig.change_port(&path, 2, |i| i.lid = Lid(7)), OK);
    assert_eq!(rig.fabric.lid(PortAt::new(2, 2)).0, Lid(7));
    assert_eq!(rig.fabric.lid(PortAt::new(2, 1)).0, Lid(0));
    let lock = |i: &mut PortInfo| {
        i.lid = Lid(7);
        i.m_key = MKey::new(5);
        i.m_key_protect_bits = 2;
    };
    assert_eq!(rig.change_port(&path, 2, lock), OK);
    let modifier = PortInfo::modifier(PortNum(2)).0;
    assert!(rig.get(&path, id::PORT_INFO, modifier).is_none());
    assert!(rig.get(&path, id::NODE_INFO, 0).is_some());
    assert_eq!(
        rig.fabric
            .port_info(PortAt::new(2, 2))
            .unwrap()
            .m_key_violations,
        1
    );
    rig.m_key = MKey::new(5);
    assert_eq!(rig.port_info(&path, 2).m_key, MKey::new(5));
}

#[test]
fn switch_filters_require_their_capability() {
    for cap in [32, 0] {
        let mut spec = chain(1);
        let mut caps = spec.nodes[1].caps();
        caps.partition_enforcement_cap = cap;
        spec.nodes[1].options.caps = Some(caps);
        let mut rig = Rig::new(&spec);
        let set = |i: &mut PortInfo| {
            i.partition_enforcement_inbound = true;
            i.partition_enforcement_outbound = true;
            i.filter_raw_inbound = true;
        };
        assert_eq!(rig.change_port(&path_to(1), 2, set), OK);
        let i = rig.fabric.port_info(PortAt::new(1, 2)).unwrap();
        assert_eq!(i.partition_enforcement_inbound, cap != 0);
        assert_eq!(i.partition_enforcement_outbound, cap != 0);
        assert!(i.filter_raw_inbound);
        assert_eq!(rig.fabric.pkeys(PortAt::new(1, 2)).len(), cap.into());
        let modifier = PKeyBlock::modifier(0, PortNum(2)).0;
        let reply = rig.get(&path_to(1), id::PKEY_TABLE, modifier).unwrap();
        assert_eq!(reply.mad.status().is_ok(), cap != 0);
    }
}

#[test]
fn local_port_num_is_the_input_port() {
    let mut rig = Rig::new(&chain(2));
    assert_eq!(rig.port_info(&path_to(1), 2).local_port_num, PortNum(1));
    let back = "0,1,2,1".parse().unwrap();
    assert_eq!(rig.port_info(&back, 1).local_port_num, PortNum(2));
}
