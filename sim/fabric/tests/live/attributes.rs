//! Attributes and fields that differ between nodes: hardware models, old agents, options; and
//! requests that agents reject because of a node's sizes.

use ferrosm_mad::attr::{
    CapMask, CapMask2, ExtendedPortInfo, FecMode, GuidInfo, LinkSpeed, LinkSpeedWidthPairs,
    LocalChangeDetails, MftBlock, NodeDescription, NodeInfo, NodeType, Notice, PKeyBlock,
    PhysState, PortInfo, PortInfoExtended, PortState, SlToVl, SwitchInfo, VlArb, VlArbEntry, id,
};
use ferrosm_mad::ids::{AttrId, Lid, PKey, PortGuid, PortNum, Vl};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp;
use ferrosm_sim::hardware::{HARDWARE_MODELS, HardwareCaps, caps};
use ferrosm_sim::spec::{AgentModel, FabricSpec, PortAt};

use crate::rig::{Rig, chain, path_to};

const OK: Option<Status> = Some(Status::OK);
const BAD: Option<Status> = Some(Status::BAD_FIELD);
const NONE: Option<Status> = Some(Status::BAD_METHOD_ATTR);

fn read(rig: &mut Rig, node: usize, attr: AttrId, modifier: u32) -> [u8; 64] {
    let reply = rig.get(&path_to(node), attr, modifier).unwrap();
    assert_eq!(reply.mad.status(), Status::OK, "{attr} {modifier:#x}");
    *smp::data(&reply.mad)
}

fn status(rig: &mut Rig, node: usize, attr: AttrId, modifier: u32) -> Option<Status> {
    let reply = rig.get(&path_to(node), attr, modifier);
    reply.map(|a| a.mad.status())
}

/// A chain of one switch; `change` modifies the hardware caps of a node.
fn with_caps(node: usize, change: impl FnOnce(&mut HardwareCaps)) -> Rig {
    let mut spec = chain(1);
    let mut caps = spec.nodes[node].caps();
    change(&mut caps);
    spec.nodes[node].options.caps = Some(caps);
    Rig::new(&spec)
}

#[test]
fn hardware_models_report_their_identity_and_sizes() {
    for model in HARDWARE_MODELS {
        let node = if model.kind == NodeType::Switch { 1 } else { 2 };
        let mut spec = chain(1);
        spec.nodes[node].vendor_id = model.vendor_id;
        spec.nodes[node].device_id = model.device_id;
        for link in &mut spec.links {
            link.speed = model.max_speed;
        }
        let mut rig = Rig::new(&spec);
        let c = model.caps;
        let info = NodeInfo::decode(&read(&mut rig, node, id::NODE_INFO, 0));
        let reported = (info.vendor_id, info.device_id, info.partition_cap);
        let expected = (model.vendor_id, model.device_id, c.partition_cap);
        assert_eq!(reported, expected, "{}", model.family);
        assert_eq!(info.revision, c.revision);
        let end = if node == 1 { 0 } else { 1 };
        let port = rig.port_info(&path_to(node), end);
        assert_eq!(port.mtu_cap, c.mtu_cap);
        assert_eq!((port.vl_cap, port.guid_cap), (c.vl_cap, c.guid_cap));
        let extended = model.max_speed > LinkSpeed::Fdr10;
        assert_eq!(
            port.capability_mask.has(CapMask::EXTENDED_SPEEDS),
            extended,
            "{}",
            model.family
        );
        let linked = rig.port_info(&path_to(node), 1);
        let speed = model.max_speed;
        assert_ne!(speed, LinkSpeed::Fdr10, "it would be reported as QDR");
        assert_eq!(linked.speed(), Some(speed), "{}", model.family);
        if node == 1 {
            let info = SwitchInfo::decode(&read(&mut rig, 1, id::SWITCH_INFO, 0));
            let reported = (info.linear_fdb_cap, info.multicast_fdb_cap);
            assert_eq!(reported, (c.linear_fdb_cap, c.multicast_fdb_cap));
        }
    }
}

#[test]
fn unknown_models_have_default_caps() {
    let ca = caps(NodeType::Ca, 0x1234, 1);
    assert!(!ca.ext_port_info && ca.linear_fdb_cap == 0);
    let switch = caps(NodeType::Switch, 0x02C9, 0xFFFF);
    assert!(switch.ext_port_info && switch.linear_fdb_cap == 0xC000);
}

/// PortInfo with and without bit 31, of a port with an HDR link.
#[test]
fn agent_models_handle_bit_31_differently() {
    let table = [
        (AgentModel::Current, LinkSpeed::Hdr, LinkSpeed::Hdr, true),
        (AgentModel::OnRequest, LinkSpeed::Hdr, LinkSpeed::Qdr, true),
        (
            AgentModel::IgnoresExtendedSpeeds,
            LinkSpeed::Qdr,
            LinkSpeed::Qdr,
            false,
        ),
    ];
    for (agent, with, without, has_bit) in table {
        let mut spec = chain(1);
        spec.nodes[2].options.agent = agent;
        let mut rig = Rig::new(&spec);
        let info = rig.port_info(&path_to(2), 1);
        assert_eq!(info.speed(), Some(with), "{agent:?}");
        assert_eq!(
            info.capability_mask.has(CapMask::EXTENDED_SPEEDS),
            has_bit,
            "{agent:?}"
        );
        let plain = PortInfo::decode(&read(&mut rig, 2, id::PORT_INFO, 1));
        assert_eq!(plain.speed(), Some(without), "{agent:?}");
        let hidden = plain.link_speed_ext_supported == 0 && plain.link_speed_ext_enabled == 0;
        assert_eq!(hidden, agent != AgentModel::Current, "{agent:?}");
    }
}

#[test]
fn agent_that_rejects_bit_31_replies_without_it() {
    let mut spec = chain(1);
    spec.nodes[1].options.agent = AgentModel::RejectsExtendedSpeeds;
    let mut rig = Rig::new(&spec);
    for port in 0..=2 {
        let modifier = PortInfo::modifier(PortNum(port)).0;
        assert_eq!(status(&mut rig, 1, id::PORT_INFO, modifier), BAD);
        let info = PortInfo::decode(&read(&mut rig, 1, id::PORT_INFO, port.into()));
        assert!(!info.capability_mask.has(CapMask::EXTENDED_SPEEDS));
        assert_eq!(info.link_speed_ext_supported, 0);
        if port != 0 {
            assert_eq!(info.speed(), Some(LinkSpeed::Qdr), "port {port}");
        }
    }
    let mut info = PortInfo::decode(&read(&mut rig, 1, id::PORT_INFO, 2));
    info.port_state = PortState::Armed;
    info.port_physical_state = PhysState::NoChange;
    assert_eq!(rig.set(&path_to(1), id::PORT_INFO, 2, info.encode()), OK);
    let state = rig.fabric.port_info(PortAt::new(1, 2)).unwrap().port_state;
    assert_eq!(state, PortState::Armed);
}

#[test]
fn set_without_bit_31_keeps_extended_speeds() {
    for (modifier, enabled) in [(1, 7), (PortInfo::modifier(PortNum(1)).0, 1)] {
        let mut spec = chain(1);
        spec.nodes[2].options.agent = AgentModel::OnRequest;
        let mut rig = Rig::new(&spec);
        let mut info = rig.port_info(&path_to(2), 1);
        info.lid = Lid(4);
        info.port_state = PortState::NoChange;
        info.port_physical_state = PhysState::NoChange;
        info.link_speed_ext_enabled = 1;
        assert_eq!(
            rig.set(&path_to(2), id::PORT_INFO, modifier, info.encode()),
            OK
        );
        let info = rig.fabric.port_info(PortAt::new(2, 1)).unwrap();
        assert_eq!(info.link_speed_ext_enabled, enabled);
    }
}

#[test]
fn node_description_can_be_set_if_supported_and_is_reported() {
    let text = NodeDescription::new("rack 7").encode();
    let mut rig = Rig::new(&chain(1));
    assert_eq!(rig.set(&path_to(2), id::NODE_DESCRIPTION, 0, text), NONE);
    let mut spec = chain(1);
    spec.nodes[2].options.more_capabilities2 = CapMask2::SET_NODE_DESCRIPTION;
    let mut rig = Rig::new(&spec);
    rig.configure_chain();
    rig.advance();
    assert_eq!(rig.set(&path_to(2), id::NODE_DESCRIPTION, 1, text), NONE);
    assert_eq!(rig.fabric.description(2), NodeDescription::new("node 2"));
    assert_eq!(rig.set(&path_to(2), id::NODE_DESCRIPTION, 0, text), OK);
    assert_eq!(rig.fabric.description(2), NodeDescription::new("rack 7"));
    let notice = Notice::decode(smp::data(&rig.advance()[0].mad));
    let details = LocalChangeDetails::decode(&notice.data_details);
    assert_eq!(details.change_flags, LocalChangeDetails::NODE_DESCRIPTION);
    assert_eq!(rig.set(&path_to(2), id::NODE_DESCRIPTION, 0, text), OK);
    assert_eq!(
        rig.fabric.pending_traps(),
        1,
        "an unchanged text is not reported"
    );
}

#[test]
fn attributes_without_modifier_reject_nonzero_modifiers() {
    let mut rig = Rig::new(&chain(1));
    for attr in [id::NODE_INFO, id::NODE_DESCRIPTION, id::VENDOR_DIAG] {
        assert_eq!(status(&mut rig, 2, attr, 0), OK);
        assert_eq!(status(&mut rig, 2, attr, 1), BAD, "{attr}");
    }
}

#[test]
fn switch_rejects_invalid_tops_and_ports() {
    type Change = fn(&mut SwitchInfo);
    let illegal: [(&str, Change); 6] = [
        ("LinearFDBTop", |i| i.linear_fdb_top = 0xC000),
        ("DefaultPort", |i| i.default_port = PortNum(5)),
        ("primary port", |i| {
            i.default_multicast_primary_port = PortNum(5)
        }),
        ("other port", |i| {
            i.default_multicast_not_primary_port = PortNum(254)
        }),
        ("top below", |i| i.multicast_fdb_top = 0xBFFE),
        ("top beyond", |i| i.multicast_fdb_top = 0xC000 + 64),
    ];
    for (description, change) in illegal {
        let mut rig = with_caps(1, |c| c.multicast_fdb_cap = 64);
        let before = rig.fabric.switch_info(1).unwrap();
        let mut info = before;
        info.life_time_value = 5;
        change(&mut info);
        let set = rig.set(&path_to(1), id::SWITCH_INFO, 0, info.encode());
        assert_eq!(set, BAD, "{description}");
        assert_eq!(rig.fabric.switch_info(1), Some(before), "{description}");
    }
    let mut rig = with_caps(1, |c| c.multicast_fdb_cap = 64);
    let mut info = rig.fabric.switch_info(1).unwrap();
    info.multicast_fdb_top = 0xC03F;
    info.default_multicast_primary_port = PortNum(4);
    info.default_multicast_not_primary_port = PortNum(0);
    info.linear_fdb_top = 0xBFFF;
    info.port_state_change = true;
    let set = rig.set(&path_to(1), id::SWITCH_INFO, 0, info.encode());
    assert_eq!(set, OK);
    info.port_state_change = false;
    assert_eq!(rig.switch_info(&path_to(1)), info);
}

#[test]
fn read_only_fields_of_switch_info_are_unchanged() {
    let mut rig = Rig::new(&chain(1));
    let before = rig.switch_info(&path_to(1));
    let written = SwitchInfo {
        linear_fdb_cap: 7,
        random_fdb_cap: 7,
        multicast_fdb_cap: 7,
        lids_per_port: 7,
        partition_enforcement_cap: 7,
        optimized_sl_to_vl: 0,
        inbound_enforcement_cap: false,
        enhanced_port0: true,
        port_state_change: false,
        ..before
    };
    let set = rig.set(&path_to(1), id::SWITCH_INFO, 0, written.encode());
    assert_eq!(set, OK);
    assert_eq!(rig.switch_info(&path_to(1)), before);
}

#[test]
fn multicast_top_requires_its_capability() {
    let mut spec = chain(1);
    spec.nodes[1].options.fewer_capabilities = CapMask::MULTICAST_FDB_TOP;
    let mut rig = Rig::new(&spec);
    let mut info = rig.switch_info(&path_to(1));
    assert_eq!(info.multicast_fdb_top, 0);
    info.multicast_fdb_top = 0x1234;
    let set = rig.set(&path_to(1), id::SWITCH_INFO, 0, info.encode());
    assert_eq!(set, OK);
}

#[test]
fn tables_have_the_size_of_their_caps() {
    let mut rig = with_caps(1, |c| {
        c.linear_fdb_cap = 128;
        c.multicast_fdb_cap = 32;
    });
    assert_eq!(status(&mut rig, 1, id::LFT, 1), OK);
    assert_eq!(status(&mut rig, 1, id::LFT, 2), BAD);
    assert_eq!(status(&mut rig, 1, id::MFT, MftBlock::modifier(0, 0).0), OK);
    assert_eq!(
        status(&mut rig, 1, id::MFT, MftBlock::modifier(1, 0).0),
        BAD
    );
    let mut rig = with_caps(2, |c| c.guid_cap = 10);
    let guids = GuidInfo {
        guids: core::array::from_fn(|i| PortGuid(0xA0 + i as u64)),
    };
    assert_eq!(rig.set(&path_to(2), id::GUID_INFO, 1, guids.encode()), OK);
    let stored = GuidInfo::decode(&read(&mut rig, 2, id::GUID_INFO, 1)).guids;
    assert_eq!(stored[..2], guids.guids[..2]);
    assert_eq!(stored[2..], [PortGuid(0); 6], "ten entries are supported");
    assert_eq!(status(&mut rig, 2, id::GUID_INFO, 2), BAD);
}

#[test]
fn p_keys_beyond_the_cap_are_empty_and_duplicates_are_stored() {
    let mut rig = with_caps(2, |c| c.partition_cap = 40);
    let all = PKeyBlock {
        keys: [PKey(0x8007); 32],
    };
    assert_eq!(rig.set(&path_to(2), id::PKEY_TABLE, 1, all.encode()), OK);
    let stored = PKeyBlock::decode(&read(&mut rig, 2, id::PKEY_TABLE, 1)).keys;
    assert_eq!(stored[..8], [PKey(0x8007); 8]);
    assert_eq!(stored[8..], [PKey(0); 24]);
    assert_eq!(status(&mut rig, 2, id::PKEY_TABLE, 2), BAD);
    assert_eq!(
        status(&mut rig, 2, id::PKEY_TABLE, 1 << 16),
        OK,
        "reserved for a CA"
    );
    let pkeys = rig.fabric.pkeys(PortAt::new(2, 1));
    assert_eq!((pkeys.len(), pkeys[0]), (40, PKey::DEFAULT_FULL));
}

#[test]
fn port_0_and_external_ports_have_separate_caps() {
    let mut rig = with_caps(1, |c| {
        c.partition_cap = 64;
        c.partition_enforcement_cap = 32;
    });
    for (block, port, expected) in [(1, 0, OK), (2, 0, BAD), (0, 1, OK), (1, 1, BAD)] {
        let modifier = PKeyBlock::modifier(block, PortNum(port)).0;
        assert_eq!(status(&mut rig, 1, id::PKEY_TABLE, modifier), expected);
    }
}

#[test]
fn arbitration_blocks_follow_from_the_caps() {
    let mut rig = with_caps(1, |c| {
        c.vl_arb_low_cap = 40;
        c.vl_arb_high_cap = 64;
    });
    let entry = |vl| VlArbEntry {
        vl: Vl(vl),
        weight: 9,
    };
    let full = VlArb {
        entries: [entry(3); 32],
    };
    for (block, count) in [(1, 32), (2, 8), (3, 32), (4, 32)] {
        let modifier = VlArb::modifier(block, PortNum(2)).0;
        assert_eq!(
            rig.set(&path_to(1), id::VL_ARBITRATION, modifier, full.encode()),
            OK
        );
        let stored = VlArb::decode(&read(&mut rig, 1, id::VL_ARBITRATION, modifier));
        let (written, remaining) = stored.entries.split_at(count);
        assert!(written.iter().all(|e| *e == entry(3)), "block {block}");
        assert!(remaining.iter().all(|e| *e == VlArbEntry::default()));
    }
    for block in [0, 5, 0xFF] {
        let modifier = VlArb::modifier(block, PortNum(2)).0;
        assert_eq!(status(&mut rig, 1, id::VL_ARBITRATION, modifier), BAD);
    }
    let mut bad = full;
    bad.entries[4] = entry(15);
    let modifier = VlArb::modifier(1, PortNum(3)).0;
    let before = read(&mut rig, 1, id::VL_ARBITRATION, modifier);
    assert_eq!(
        rig.set(&path_to(1), id::VL_ARBITRATION, modifier, bad.encode()),
        BAD,
        "VL15"
    );
    assert_eq!(read(&mut rig, 1, id::VL_ARBITRATION, modifier), before);
}

#[test]
fn vl_tables_do_not_exist_with_one_vl() {
    let mut rig = with_caps(2, |c| c.vl_cap = 1);
    assert_eq!(status(&mut rig, 2, id::SL_TO_VL, 0), NONE);
    assert_eq!(status(&mut rig, 2, id::VL_ARBITRATION, 1 << 16), NONE);
    let mut spec = chain(1);
    spec.nodes[2].options.fewer_capabilities = CapMask::SL_MAPPING;
    let mut rig = Rig::new(&spec);
    assert_eq!(status(&mut rig, 2, id::SL_TO_VL, 0), NONE);
    assert_eq!(status(&mut rig, 2, id::VL_ARBITRATION, 1 << 16), OK);
}

#[test]
fn optimized_sl_to_vl_sets_require_their_capability() {
    let table = SlToVl { vls: [Vl(2); 16] }.encode();
    for (optimized, expected) in [(0, BAD), (1, OK), (3, OK)] {
        let mut rig = with_caps(1, |c| c.optimized_sl_to_vl = optimized);
        for modifier in [0x2_0001, 0x1_0100, 0x3_0000] {
            let set = rig.set(&path_to(1), id::SL_TO_VL, modifier, table);
            assert_eq!(set, expected, "{modifier:#x}");
        }
        let single = SlToVl::modifier(PortNum(1), PortNum(2)).0;
        assert_eq!(rig.set(&path_to(1), id::SL_TO_VL, single, table), OK);
    }
}

/// Bit 16 alone: one input port, all output ports.
#[test]
fn sl_to_vl_of_one_input_is_set_for_all_outputs() {
    let mut rig = Rig::new(&chain(1));
    let table = SlToVl { vls: [Vl(4); 16] }.encode();
    assert_eq!(rig.set(&path_to(1), id::SL_TO_VL, 0x1_0300, table), OK);
    for output in 1..=4 {
        for input in 0..=4 {
            let vls = rig.fabric.sl_to_vl(PortAt::new(1, output), input).unwrap();
            assert_eq!(vls.vls[0] == Vl(4), input == 3, "{input} to {output}");
        }
    }
}

#[test]
fn attributes_require_their_capability() {
    let mut spec = chain(1);
    spec.nodes[2].options.fewer_capabilities = CapMask::LED_INFO;
    spec.nodes[2].options.fewer_capabilities2 = CapMask2::PORT_INFO_EXTENDED;
    let mut rig = Rig::new(&spec);
    for attr in [
        id::LED_INFO,
        id::PORT_INFO_EXTENDED,
        id::LINK_SPEED_WIDTH_PAIRS,
        id::NOTICE,
        id::RANDOM_FORWARDING,
        id::VENDOR_MADS,
        id::HIERARCHY_INFO,
        id::CABLE_INFO,
        AttrId(0xFF60),
        AttrId(0),
    ] {
        assert_eq!(status(&mut rig, 2, attr, 0), NONE, "{attr}");
    }
}

#[test]
fn fec_mode_follows_from_speed_and_enabled_modes() {
    let mut spec = chain(1);
    for link in &mut spec.links {
        link.speed = LinkSpeed::Edr;
    }
    let mut rig = Rig::new(&spec);
    let attr = id::PORT_INFO_EXTENDED;
    let info = PortInfoExtended::decode(&read(&mut rig, 1, attr, 2));
    assert_eq!(info.fec_mode_active, FecMode::Rs);
    assert_eq!(info.hdr_fec_mode_supported, 0, "HDR is not supported");
    assert_eq!(info.edr_fec_mode_enabled, info.edr_fec_mode_supported);
    let none = PortInfoExtended {
        edr_fec_mode_enabled: 1,
        ..info
    };
    assert_eq!(rig.set(&path_to(1), attr, 2, none.encode()), OK);
    let after = PortInfoExtended::decode(&read(&mut rig, 1, attr, 2));
    assert_eq!(after.fec_mode_active, FecMode::None);
    let beyond = PortInfoExtended {
        hdr_fec_mode_enabled: 4,
        ..after
    };
    assert_eq!(rig.set(&path_to(1), attr, 2, beyond.encode()), BAD);
    assert_eq!(status(&mut rig, 1, attr, 5), BAD);
}

#[test]
fn fdr10_change_applies_at_the_next_training() {
    let mut spec = chain(1);
    for link in &mut spec.links {
        link.speed = LinkSpeed::Fdr10;
    }
    let mut rig = Rig::new(&spec);
    let at = PortAt::new(2, 1);
    let attr = id::MLNX_EXT_PORT_INFO;
    let off = |state_change_enable| {
        ExtendedPortInfo {
            state_change_enable,
            ..ExtendedPortInfo::default()
        }
        .encode()
    };
    assert_eq!(rig.set(&path_to(1), attr, 2, off(0)), OK);
    rig.fabric.bounce(at).unwrap();
    assert!(rig.fabric.is_fdr10(at), "StateChangeEnable was not set");
    assert_eq!(rig.set(&path_to(1), attr, 2, off(1)), OK);
    assert!(rig.fabric.is_fdr10(at));
    rig.fabric.bounce(at).unwrap();
    assert!(!rig.fabric.is_fdr10(at));
    let info = rig.fabric.port_info(at).unwrap();
    assert_eq!(info.speed(), Some(LinkSpeed::Qdr));
    let reported = ExtendedPortInfo::decode(&read(&mut rig, 1, attr, 2));
    assert_eq!(
        (reported.link_speed_enabled, reported.link_speed_active),
        (0, 0)
    );
}

#[test]
fn speed_width_pairs_match_port_info() {
    let mut spec = chain(1);
    spec.nodes[1].options.more_capabilities = CapMask::LINK_SPEED_WIDTH_PAIRS;
    let mut rig = Rig::new(&spec);
    let attr = id::LINK_SPEED_WIDTH_PAIRS;
    let pairs = LinkSpeedWidthPairs::decode(&read(&mut rig, 1, attr, 0));
    let widths = rig.port_info(&path_to(1), 2).link_width_supported;
    assert_eq!((pairs.num_tables, pairs.port_mask[31]), (1, 0b1_1110));
    let reported = [pairs.speed_2_5, pairs.speed_5, pairs.speed_10];
    assert_eq!(reported, [widths; 3]);
    assert_eq!(rig.set(&path_to(1), attr, 0, [0; 64]), NONE);
}

#[test]
fn round_trip_latency_requires_its_capability() {
    for bits in [0, CapMask::LINK_ROUND_TRIP_LATENCY] {
        let mut spec = chain(1);
        spec.nodes[2].options.more_capabilities = bits;
        let mut rig = Rig::new(&spec);
        let linked = rig.port_info(&path_to(2), 1).link_round_trip_latency;
        let bare = rig.port_info(&path_to(2), 2).link_round_trip_latency;
        assert_eq!(linked != 0, bits != 0);
        assert_eq!(bare, if bits == 0 { 0 } else { 0x00FF_FFFF });
    }
}

#[test]
fn multicast_trap_suppression_requires_its_capability() {
    for bits in [0, CapMask::MULTICAST_PKEY_TRAP_SUPPRESSION] {
        let mut spec = chain(1);
        spec.nodes[2].options.more_capabilities = bits;
        let mut rig = Rig::new(&spec);
        let set = rig.change_port(&path_to(2), 1, |i| {
            i.lid = Lid(4);
            i.multicast_pkey_trap_suppression = 1;
        });
        assert_eq!(set, OK);
        let info = rig.fabric.port_info(PortAt::new(2, 1)).unwrap();
        assert_eq!(info.multicast_pkey_trap_suppression != 0, bits != 0);
    }
}

/// The planes of an XDR adapter are ports with a common GUID.
#[test]
fn planes_of_an_adapter_share_a_port_guid() {
    let mut spec: FabricSpec = chain(1);
    let guid = spec.nodes[2].port_guids[0];
    spec.nodes[2].port_guids[1] = guid;
    spec.links.push(crate::rig::cable((2, 2), (1, 3)));
    let mut rig = Rig::new(&spec);
    for (route, port) in [("0,1,2", 1), ("0,1,3", 2)] {
        let path = route.parse().unwrap();
        let reply = rig.get(&path, id::NODE_INFO, 0).unwrap();
        let info = NodeInfo::decode(smp::data(&reply.mad));
        assert_eq!((info.port_guid, info.local_port_num.0), (guid, port));
    }
}

#[test]
fn router_replies_as_a_ca() {
    let mut spec = chain(1);
    spec.nodes[2].kind = NodeType::Router;
    let mut rig = Rig::new(&spec);
    let info = NodeInfo::decode(&read(&mut rig, 2, id::NODE_INFO, 0));
    assert_eq!(info.node_type, NodeType::Router);
    assert_eq!(status(&mut rig, 2, id::SWITCH_INFO, 0), NONE);
    assert_eq!(rig.change_port(&path_to(2), 1, |i| i.lid = Lid(9)), OK);
}
