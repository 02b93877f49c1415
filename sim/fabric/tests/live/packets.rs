//! Checks that ports perform in addition to forwarding: queue pairs, P_Keys, GIDs, VLs, port
//! states, multicast copies.

use ferrosm_mad::attr::{
    KeyViolationDetails, MftBlock, Notice, PKeyBlock, PortState, SlToVl, SwitchPKeyDetails,
    TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Gid, GidPrefix, Lid, PKey, PortGuid, PortNum, Qpn, Sl, Tid, Vl};
use ferrosm_mad::mad::{Address, MadIn, MadOut, Status};
use ferrosm_mad::smp;
use ferrosm_sim::fabric::{
    Delivery, DropReason, GlobalRouteHeader, MadOutcome, Packet, PortCounter,
};
use ferrosm_sim::spec::{FabricSpec, PortAt};

use crate::rig::{Rig, cable, chain, node, path_to, sa_query};

/// The CA at the far end of the chain.
const FAR: PortAt = PortAt { node: 4, port: 1 };

pub(crate) fn configured() -> Rig {
    let mut rig = Rig::new(&chain(3));
    rig.configure_chain();
    rig.fabric.attach(FAR).unwrap();
    rig.advance();
    rig
}

/// An SA query from LID 1 to a program on QP1.
fn query(rig: &Rig, dlid: u16) -> Packet {
    let mad = sa_query();
    let to = Address {
        qpn: Qpn(1),
        ..Address::smp(Lid(dlid))
    };
    Packet::new(rig.at, &MadOut { to, mad })
}

fn send(rig: &mut Rig, packet: Packet) -> (MadOutcome, Vec<Delivery>) {
    let mut out = Vec::new();
    let outcome = rig.fabric.handle_packet(packet, rig.now, &mut out);
    (outcome, out)
}

fn with_pkey(rig: &Rig, pkey: u16) -> Packet {
    let mut packet = query(rig, 5);
    packet.pkey = PKey(pkey);
    packet
}

fn set_pkeys(rig: &mut Rig, node: usize, port: u8, keys: &[u16]) {
    let mut block = PKeyBlock {
        keys: [PKey(0); 32],
    };
    for (cell, key) in block.keys.iter_mut().zip(keys) {
        *cell = PKey(*key);
    }
    let status = rig.set(
        &path_to(node),
        id::PKEY_TABLE,
        u32::from(port) << 16,
        block.encode(),
    );
    assert_eq!(status, Some(Status::OK));
}

fn notice(mad: &MadIn) -> Notice {
    Notice::decode(smp::data(&mad.mad))
}

#[test]
fn classes_on_the_wrong_queue_pair_are_dropped() {
    let mut rig = configured();
    let mut packet = query(&rig, 5);
    packet.dest_qpn = Qpn(0);
    assert_eq!(
        send(&mut rig, packet).0,
        MadOutcome::Dropped(DropReason::WrongQp)
    );
    let request = smp::SmpRequest::get(id::NODE_INFO, AttrMod(0), rig.m_key);
    packet = query(&rig, 5);
    packet.mad = request.lid_routed(Tid(1));
    assert_eq!(
        send(&mut rig, packet).0,
        MadOutcome::Dropped(DropReason::WrongQp)
    );
}

#[test]
fn deliveries_contain_address_and_p_key() {
    let mut rig = configured();
    let mut packet = query(&rig, 5);
    packet.sl = Sl(2);
    packet.src_qpn = Qpn(0x1234);
    let (outcome, out) = send(&mut rig, packet);
    assert_eq!(outcome, MadOutcome::Delivered);
    assert_eq!(
        (out[0].at, out[0].qpn, out[0].pkey),
        (FAR, Qpn(1), PKey(0xFFFF))
    );
    assert_eq!(out[0].mad.from.qpn, Qpn(0x1234));
    assert_eq!((out[0].mad.from.lid, out[0].mad.from.sl), (Lid(1), Sl(2)));
}

#[test]
fn end_ports_check_p_keys() {
    let mut rig = configured();
    set_pkeys(&mut rig, 4, 0, &[0x7FFF, 0x8001, 0x0002]);
    for (pkey, is_accepted) in [
        (0xFFFF, true),
        (0x7FFF, false),
        (0x8001, true),
        (0x0001, true),
        (0x8002, true),
        (0x0002, false),
        (0x8003, false),
        (0x8000, false),
    ] {
        let packet = with_pkey(&rig, pkey);
        let expected = if is_accepted {
            MadOutcome::Delivered
        } else {
            MadOutcome::Dropped(DropReason::PKey)
        };
        assert_eq!(send(&mut rig, packet).0, expected, "{pkey:#x}");
    }
    assert_eq!(rig.fabric.port_info(FAR).unwrap().p_key_violations, 4);
    assert_eq!(
        rig.by_lid(Lid(5)).0,
        MadOutcome::Replied,
        "QP0 has no P_Key"
    );
}

#[test]
fn wrong_p_keys_are_reported() {
    let mut rig = configured();
    let mut packet = with_pkey(&rig, 0x8123);
    packet.sl = Sl(3);
    let dgid = Gid::new(GidPrefix::DEFAULT, rig.fabric.port_guid(FAR));
    let sgid = Gid::new(GidPrefix::DEFAULT, rig.fabric.port_guid(rig.at));
    packet.grh = Some(GlobalRouteHeader {
        sgid,
        dgid,
        ..GlobalRouteHeader::default()
    });
    send(&mut rig, packet);
    let traps = rig.advance();
    assert_eq!(traps.len(), 1);
    let n = notice(&traps[0]);
    assert_eq!((n.trap_number, n.issuer_lid), (TrapNumber::BadPKey, Lid(5)));
    let d = KeyViolationDetails::decode(&n.data_details);
    assert_eq!((d.lid1, d.lid2, d.key), (Lid(1), Lid(5), 0x8123));
    assert_eq!((d.sl, d.qp1, d.qp2), (Sl(3), Qpn(1), Qpn(1)));
    assert_eq!((d.gid1, d.gid2), (sgid, dgid));
}

#[test]
fn wrong_q_keys_are_counted_and_reported() {
    let mut rig = configured();
    let packet = query(&rig, 5);
    rig.fabric.q_key_violation(FAR, 0x77, &packet);
    assert_eq!(rig.fabric.port_info(FAR).unwrap().q_key_violations, 1);
    let traps = rig.advance();
    let n = notice(&traps[0]);
    assert_eq!(n.trap_number, TrapNumber::BadQKey);
    assert_eq!(KeyViolationDetails::decode(&n.data_details).key, 0x77);
}

/// Restricts a port of switch 2 to partition 1.
fn enforce(rig: &mut Rig, port: u8, inbound: bool) {
    set_pkeys(rig, 2, port, &[0x8001]);
    let status = rig.change_port(&path_to(2), port, |info| {
        info.partition_enforcement_inbound = inbound;
        info.partition_enforcement_outbound = !inbound;
    });
    assert_eq!(status, Some(Status::OK));
}

#[test]
fn partition_enforcement_drops_counts_and_reports() {
    for (port, inbound) in [(1, true), (2, false)] {
        let mut rig = configured();
        enforce(&mut rig, port, inbound);
        set_pkeys(&mut rig, 4, 0, &[0xFFFF, 0x8001]);
        let right = with_pkey(&rig, 0x8001);
        assert_eq!(send(&mut rig, right).0, MadOutcome::Delivered);
        let invalid = with_pkey(&rig, 0xFFFF);
        assert_eq!(
            send(&mut rig, invalid).0,
            MadOutcome::Dropped(DropReason::PKey)
        );
        assert_eq!(rig.by_lid(Lid(5)).0, MadOutcome::Replied);
        let at = PortAt::new(2, port);
        let c = rig.fabric.port_counters(at);
        assert_eq!(
            (c.rcv_constraint_errors, c.xmit_constraint_errors),
            if inbound { (1, 0) } else { (0, 1) }
        );
        let traps = rig.advance();
        assert_eq!(traps.len(), 1);
        let n = notice(&traps[0]);
        assert_eq!(n.trap_number, TrapNumber::SwitchBadPKey);
        let d = SwitchPKeyDetails::decode(&n.data_details);
        assert_eq!((d.lid1, d.lid2, d.pkey), (Lid(1), Lid(5), PKey(0xFFFF)));
        assert_eq!((d.switch_lid, d.port_num), (Lid(3), PortNum(port)));
    }
}

/// The table of a switch port has the P_Key of the limited member behind it. Packets of full
/// members pass it in both directions, and the end port decides about the membership.
#[test]
fn switch_ports_with_enforcement_ignore_the_membership_bit() {
    for (port, inbound) in [(1, true), (2, false)] {
        let mut rig = configured();
        enforce(&mut rig, port, inbound);
        set_pkeys(&mut rig, 2, port, &[0x0001]);
        for (far_key, key, outcome) in [
            (0x8001, 0x0001, MadOutcome::Delivered),
            (0x0001, 0x8001, MadOutcome::Delivered),
            (0x0001, 0x0001, MadOutcome::Dropped(DropReason::PKey)),
            (0x8001, 0x8002, MadOutcome::Dropped(DropReason::PKey)),
        ] {
            set_pkeys(&mut rig, 4, 0, &[0xFFFF, far_key]);
            let packet = with_pkey(&rig, key);
            assert_eq!(send(&mut rig, packet).0, outcome, "{far_key:#x} {key:#x}");
        }
        let c = rig.fabric.port_counters(PortAt::new(2, port));
        let violations = c.rcv_constraint_errors + c.xmit_constraint_errors;
        assert_eq!(violations, 1, "only the other partition");
    }
}

#[test]
fn enforcement_applies_to_its_direction_only() {
    let mut rig = configured();
    enforce(&mut rig, 1, false);
    let packet = query(&rig, 5);
    assert_eq!(
        send(&mut rig, packet).0,
        MadOutcome::Delivered,
        "it enters by port 1, which has outbound enforcement only"
    );
}

#[test]
fn packets_to_other_gids_are_dropped() {
    let mut rig = configured();
    let own_port_guid = rig.fabric.port_guid(FAR);
    let status = rig.change_port(&path_to(4), 1, |info| {
        info.gid_prefix = GidPrefix(0x1234_5678_0000_0000);
    });
    assert_eq!(status, Some(Status::OK));
    let mut guids = [0; 64];
    guids[8..16].copy_from_slice(&0x000A_11A5_u64.to_be_bytes());
    assert_eq!(
        rig.set(&path_to(4), id::GUID_INFO, 0, guids),
        Some(Status::OK)
    );
    let other = rig.fabric.port_guid(rig.at);
    for (prefix, guid, is_accepted) in [
        (GidPrefix::DEFAULT, own_port_guid, true),
        (GidPrefix(0x1234_5678_0000_0000), own_port_guid, true),
        (
            GidPrefix(0x1234_5678_0000_0000),
            PortGuid(0x000A_11A5),
            true,
        ),
        (GidPrefix(0x99), own_port_guid, false),
        (GidPrefix::DEFAULT, other, false),
        (GidPrefix::DEFAULT, PortGuid(0), false),
    ] {
        let mut packet = query(&rig, 5);
        packet.grh = Some(GlobalRouteHeader {
            dgid: Gid::new(prefix, guid),
            ..GlobalRouteHeader::default()
        });
        let expected = if is_accepted {
            MadOutcome::Delivered
        } else {
            MadOutcome::Dropped(DropReason::WrongGid)
        };
        assert_eq!(send(&mut rig, packet).0, expected, "{prefix} {guid}");
    }
}

#[test]
fn only_data_activates_an_armed_port() {
    let mut rig = configured();
    let armed = PortAt::new(2, 1);
    rig.fabric.corrupt_port_state(armed, PortState::Armed);
    assert_eq!(rig.by_lid(Lid(2)).0, MadOutcome::Replied);
    rig.get(&path_to(4), id::NODE_INFO, 0).unwrap();
    let state = |rig: &Rig| rig.fabric.port_info(armed).unwrap().port_state;
    assert_eq!(
        state(&rig),
        PortState::Armed,
        "management packets do not activate it"
    );
    let packet = query(&rig, 5);
    assert_eq!(send(&mut rig, packet).0, MadOutcome::Delivered);
    assert_eq!(state(&rig), PortState::Active);
    rig.fabric.corrupt_port_state(armed, PortState::Initialize);
    assert_eq!(
        send(&mut rig, packet).0,
        MadOutcome::Dropped(DropReason::NotActive)
    );
    assert_eq!(state(&rig), PortState::Initialize);
}

#[test]
fn hosts_drop_packets_without_an_active_vl() {
    let mut rig = configured();
    let table = SlToVl {
        vls: std::array::from_fn(|sl| Vl(sl as u8)),
    };
    assert_eq!(
        rig.set(&path_to(0), id::SL_TO_VL, 0, table.encode()),
        Some(Status::OK)
    );
    let mut packet = query(&rig, 5);
    for (vls, sl, is_accepted) in [(4, 7, true), (3, 4, false), (3, 3, true), (1, 1, false)] {
        let status = rig.change_port(&path_to(0), 1, |info| info.operational_vls = vls);
        assert_eq!(status, Some(Status::OK));
        packet.sl = Sl(sl);
        let expected = if is_accepted {
            MadOutcome::Delivered
        } else {
            MadOutcome::Dropped(DropReason::NoVl)
        };
        assert_eq!(send(&mut rig, packet).0, expected, "VLs {vls}, SL {sl}");
    }
}

#[test]
fn permissive_lid_reaches_the_neighbour() {
    let mut rig = configured();
    let (outcome, reply) = rig.by_lid(Lid::PERMISSIVE);
    assert_eq!(outcome, MadOutcome::Replied);
    let info = ferrosm_mad::attr::NodeInfo::decode(smp::data(&reply.unwrap().mad));
    assert_eq!(info.node_guid, rig.fabric.node_guid(1));
    let packet = query(&rig, 0xFFFF);
    assert_eq!(
        send(&mut rig, packet).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
}

#[test]
fn ports_reach_themselves_without_tables() {
    let mut spec = chain(1);
    spec.nodes.swap(0, 1);
    for link in &mut spec.links {
        for port in [&mut link.a, &mut link.b] {
            port.node = [1, 0, 2][port.node];
        }
    }
    let mut rig = Rig::new(&spec);
    assert_eq!(rig.at, PortAt::new(0, 0), "a switch");
    let path = smp::DrPath::LOCAL;
    rig.change_port(&path, 0, |info| info.lid = Lid(9)).unwrap();
    assert_eq!(rig.by_lid(Lid(9)).0, MadOutcome::Replied);
    assert_eq!(
        rig.by_lid(Lid(8)).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
    let packet = query(&rig, 9);
    assert_eq!(send(&mut rig, packet).0, MadOutcome::Delivered);
}

const MLID: u16 = 0xC005;

/// Writes the MFT entry of [`MLID`] in a switch.
pub(crate) fn set_mft(rig: &mut Rig, node: usize, ports: u16) {
    let mut info = rig.switch_info(&path_to(node));
    info.multicast_fdb_top = 0xC01F;
    assert_eq!(
        rig.set(&path_to(node), id::SWITCH_INFO, 0, info.encode()),
        Some(Status::OK)
    );
    let mut block = MftBlock::decode(&[0; 64]);
    block.masks[usize::from(MLID & 0x1F)] = ports;
    assert_eq!(
        rig.set(&path_to(node), id::MFT, 0, block.encode()),
        Some(Status::OK)
    );
}

/// A packet to [`MLID`].
pub(crate) fn multicast_packet(rig: &Rig) -> Packet {
    let mut packet = query(rig, MLID);
    packet.dest_qpn = Qpn(0xFF_FFFF);
    packet
}

fn receivers(rig: &mut Rig, packet: Packet) -> Vec<PortAt> {
    let (_, out) = send(rig, packet);
    out.iter().map(|d| d.at).collect()
}

#[test]
fn multicast_copies_follow_the_mfts() {
    let mut rig = configured();
    rig.fabric.attach(PortAt::new(2, 0)).unwrap();
    for node in 1..=3 {
        set_mft(&mut rig, node, if node == 2 { 0b111 } else { 0b110 });
    }
    let packet = multicast_packet(&rig);
    let (outcome, out) = send(&mut rig, packet);
    assert_eq!(outcome, MadOutcome::Delivered);
    let at: Vec<_> = out.iter().map(|d| d.at).collect();
    assert_eq!(
        at,
        [PortAt::new(2, 0), FAR],
        "no copy returns to the sender"
    );
    assert_eq!(out[1].qpn, Qpn(0xFF_FFFF));
    assert_eq!(out[1].mad.from.path_bits, 0);
    let from_the_switch = Packet {
        at: PortAt::new(2, 0),
        ..packet
    };
    assert_eq!(receivers(&mut rig, from_the_switch), [rig.at, FAR]);
    set_mft(&mut rig, 3, 0b010);
    assert_eq!(receivers(&mut rig, packet), [PortAt::new(2, 0)]);
    let c = rig.fabric.port_counters(PortAt::new(2, 2));
    assert_eq!((c.multicast_xmit_pkts, c.multicast_rcv_pkts), (3, 0));
    assert_eq!(c.xmit_pkts, c.unicast_xmit_pkts + 3);
}

#[test]
fn mlids_beyond_the_table_use_the_default_ports() {
    let mut rig = configured();
    for node in 1..=3 {
        let mut info = rig.switch_info(&path_to(node));
        info.multicast_fdb_top = 0xBFFF;
        info.default_multicast_primary_port = PortNum(2);
        info.default_multicast_not_primary_port = PortNum(1);
        rig.set(&path_to(node), id::SWITCH_INFO, 0, info.encode())
            .unwrap();
    }
    let packet = multicast_packet(&rig);
    assert_eq!(receivers(&mut rig, packet), [FAR]);
    let back = Packet { at: FAR, ..packet };
    assert_eq!(
        receivers(&mut rig, back),
        [rig.at],
        "the input port is the primary port"
    );
}

#[test]
fn mlids_without_a_table_are_dropped() {
    let mut rig = configured();
    let packet = multicast_packet(&rig);
    assert_eq!(receivers(&mut rig, packet), []);
    assert_eq!(rig.fabric.totals().dropped(DropReason::NoRoute), 1);
    let c = rig.fabric.port_counters(PortAt::new(1, 1));
    assert_eq!((c.dlid_mapping_errors, c.rcv_switch_relay_errors), (1, 1));
}

/// Hosts 0, 4 and 5 at switches 1, 2 and 3, which form a triangle.
fn triangle() -> FabricSpec {
    use ferrosm_mad::attr::NodeType;
    let mut spec = FabricSpec::default();
    for index in 0..6 {
        let (kind, ports) = if (1..4).contains(&index) {
            (NodeType::Switch, 4)
        } else {
            (NodeType::Ca, 1)
        };
        spec.nodes.push(node(kind, index, ports));
    }
    for (a, b) in [
        ((0, 1), (1, 1)),
        ((4, 1), (2, 1)),
        ((5, 1), (3, 1)),
        ((1, 2), (2, 3)),
        ((2, 2), (3, 3)),
        ((3, 2), (1, 3)),
    ] {
        spec.links.push(cable(a, b));
    }
    spec
}

#[test]
fn mft_loops_cause_excess_copies() {
    let mut rig = Rig::new(&triangle());
    for node in 0..6 {
        let ports = if (1..4).contains(&node) { 1..=3 } else { 1..=1 };
        for port in ports {
            let at = PortAt::new(node, port);
            rig.fabric.corrupt_port_state(at, PortState::Active);
        }
    }
    for node in [4, 5] {
        rig.fabric.attach(PortAt::new(node, 1)).unwrap();
    }
    let routes = ["0,1", "0,1,2", "0,1,3"];
    let write = |rig: &mut Rig, masks: [u16; 3]| {
        for (route, mask) in routes.iter().zip(masks) {
            let path = route.parse().unwrap();
            let mut info = rig.switch_info(&path);
            info.multicast_fdb_top = 0xC01F;
            rig.set(&path, id::SWITCH_INFO, 0, info.encode()).unwrap();
            let mut block = MftBlock::decode(&[0; 64]);
            block.masks[usize::from(MLID & 0x1F)] = mask;
            rig.set(&path, id::MFT, 0, block.encode()).unwrap();
        }
    };
    let (four, five) = (PortAt::new(4, 1), PortAt::new(5, 1));
    // A tree with switch 1 in the middle.
    write(&mut rig, [0b1110, 0b1010, 0b0110]);
    let packet = multicast_packet(&rig);
    assert_eq!(receivers(&mut rig, packet), [four, five]);
    assert_eq!(rig.fabric.totals().dropped(DropReason::Loop), 0);
    // A loop over all sides of the triangle.
    write(&mut rig, [0b1110; 3]);
    let packet = multicast_packet(&rig);
    let (zero, at) = (rig.at, receivers(&mut rig, packet));
    assert_eq!(at, [four, five, five, four, zero, zero]);
    assert_ne!(rig.fabric.totals().dropped(DropReason::Loop), 0);
}

#[test]
fn injected_errors_are_added() {
    let mut rig = configured();
    let at = PortAt::new(1, 1);
    let before = rig.fabric.port_counters(at);
    rig.fabric
        .add_errors(at, PortCounter::LocalPhysicalErrors, 3);
    rig.fabric.add_errors(at, PortCounter::SymbolErrors, 70_000);
    let after = rig.fabric.port_counters(at);
    assert_eq!(after.local_physical_errors, 3);
    assert_eq!(after.rcv_errors, before.rcv_errors + 3);
    assert_eq!(after.symbol_errors, 70_000);
    rig.fabric.reboot(1);
    assert_eq!(rig.fabric.port_counters(at).symbol_errors, 0);
    let peer = rig.fabric.port_counters(PortAt::new(2, 1));
    assert_eq!(peer.link_downed, 1);
}
