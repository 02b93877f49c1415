//! Encoding and decoding of every attribute.
//!
//! Unless a test says "by hand", the bytes were recorded with ibsim 0.10 and OpenSM 3.3.23. The
//! property tests cover all layouts.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use ferrosm_mad::attr::{
    CapMask, CapMask2, ExtendedPortInfo, FecMode, GuidInfo, KeyViolationDetails, LedInfo, LftBlock,
    LinkErrorDetails, LinkSpeedWidthPairs, LocalChangeDetails, MKeyViolationDetails, MftBlock,
    MtuCode, NodeDescription, NodeInfo, NodeType, Notice, NoticeType, PKeyBlock, PhysState,
    PortInfo, PortInfoExtended, PortState, PortStateDetails, SlToVl, SmInfo, SmState, SwitchInfo,
    SwitchPKeyDetails, SystemImageDetails, TrapNumber, VendorDiag, VlArb, VlArbEntry,
};
use ferrosm_mad::ids::{
    AttrId, AttrMod, Gid, GidPrefix, Lid, MKey, NodeGuid, PKey, PortGuid, PortNum, Qpn, Sl,
    SystemImageGuid, Vl,
};
use ferrosm_mad::mad::MadHeader;
use ferrosm_mad::sa::{RmppHeader, SaHeader};
use ferrosm_mad::smp::{DirectedHeader, LidRoutedHeader};
use ferrosm_mad::wire::{Field, set_bits};
use proptest::prelude::*;

/// `N` bytes from hexadecimal digits, padded with zeros.
fn hex<const N: usize>(text: &str) -> [u8; N] {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|d| u8::try_from(d).unwrap())
        .collect();
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    bytes
}

/// The bytes decode to the value, and the value encodes to the bytes.
macro_rules! both_ways {
    ($layout:ident, $hex:expr, $value:expr) => {{
        let (bytes, value): (_, $layout) = (hex($hex), $value);
        assert_eq!($layout::decode(&bytes), value);
        assert_eq!(value.encode(), bytes);
    }};
}

#[test]
fn node_info_of_a_switch() {
    both_ways!(
        NodeInfo,
        "01010208 0002c90300000140 0002c90300000140 0002c90300000140 0008d2f0 000000a1 010002c9",
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: NodeType::Switch,
            num_ports: 8,
            system_image_guid: SystemImageGuid(0x0002_c903_0000_0140),
            node_guid: NodeGuid(0x0002_c903_0000_0140),
            port_guid: PortGuid(0x0002_c903_0000_0140),
            partition_cap: 8,
            device_id: 54000,
            revision: 0xA1,
            local_port_num: PortNum(1),
            vendor_id: 0x2C9,
        }
    );
}

#[test]
fn node_description() {
    let text = NodeDescription::decode(&hex::<64>("65646765302d30"));
    assert_eq!(text.to_string(), "edge0-0");
    assert_eq!(
        NodeDescription::new("edge0-0").encode(),
        hex("65646765302d30")
    );
}

#[test]
fn switch_info() {
    both_ways!(
        SwitchInfo,
        "78000000 040000d0 00000090 00000040 38",
        SwitchInfo {
            linear_fdb_cap: 30720,
            multicast_fdb_cap: 1024,
            linear_fdb_top: 208,
            life_time_value: 18,
            partition_enforcement_cap: 64,
            filter_raw_inbound_cap: true,
            filter_raw_outbound_cap: true,
            enhanced_port0: true,
            ..SwitchInfo::default()
        }
    );
}

#[test]
fn port_info_of_a_channel_adapter() {
    both_ways!(
        PortInfo,
        "0000000000000000 fe80000000000000 0001 0001 0050c04a 0000 0ff9 01 03 1f 02 74 52 00 47 40 40 00 08 08 04
         e0 40 0000 0000 0000 20 1f 00 00 0000 00 000000 0030 47 07",
        PortInfo {
            gid_prefix: GidPrefix::DEFAULT,
            lid: Lid(1),
            master_sm_lid: Lid(1),
            capability_mask: CapMask(0x0050_C04A),
            m_key_lease_period: 4089,
            local_port_num: PortNum(1),
            link_width_enabled: 3,
            link_width_supported: 31,
            link_width_active: 2,
            link_speed_supported: 7,
            port_state: PortState::Active,
            port_physical_state: PhysState::LinkUp,
            link_down_default_state: 2,
            link_speed_active: 4,
            link_speed_enabled: 7,
            neighbor_mtu: MtuCode::Mtu2048,
            vl_cap: 4,
            vl_arbitration_high_cap: 8,
            vl_arbitration_low_cap: 8,
            mtu_cap: MtuCode::Mtu2048,
            vl_stall_count: 7,
            operational_vls: 4,
            guid_cap: 32,
            subnet_timeout: 31,
            capability_mask2: CapMask2(0x30),
            link_speed_ext_active: 4,
            link_speed_ext_supported: 7,
            link_speed_ext_enabled: 7,
            ..PortInfo::default()
        }
    );
}

/// The newest speed field takes precedence: ibsim's port above is 4X HDR, an old one 1X SDR.
#[test]
fn rates_are_formatted_as_width_speed_and_gbps() {
    let hdr = PortInfo {
        link_width_active: 2,
        link_speed_active: 4,
        link_speed_ext_active: 4,
        ..PortInfo::default()
    };
    assert_eq!(hdr.rate().unwrap().to_string(), "4X HDR 200 Gb/s");
    let sdr = PortInfo {
        link_width_active: 1,
        link_speed_active: 1,
        ..PortInfo::default()
    };
    assert_eq!(sdr.rate().unwrap().to_string(), "1X SDR 2.5 Gb/s");
    assert_eq!(PortInfo::default().rate(), None, "no link");
}

#[test]
fn guid_info() {
    let mut info = GuidInfo::default();
    info.guids[0] = PortGuid(0x0002_c904_0000_0501);
    both_ways!(GuidInfo, "0002c90400000501", info);
}

/// By hand: ibsim's devices have no FDR10.
#[test]
fn mellanox_extended_port_info() {
    both_ways!(
        ExtendedPortInfo,
        "00000001 00000001 00000001 00000001",
        ExtendedPortInfo {
            state_change_enable: 1,
            link_speed_supported: 1,
            link_speed_enabled: 1,
            link_speed_active: 1,
        }
    );
}

#[test]
fn sl_to_vl() {
    let vls = core::array::from_fn(|sl| Vl(u8::try_from(sl % 8).unwrap()));
    both_ways!(SlToVl, "01234567 01234567", SlToVl { vls });
}

#[test]
fn vl_arbitration() {
    let mut table = VlArb::default();
    for vl in 1..8 {
        table.entries[usize::from(vl)] = VlArbEntry {
            vl: Vl(vl),
            weight: 4,
        };
    }
    both_ways!(VlArb, "0000 0104 0204 0304 0404 0504 0604 0704", table);
}

#[test]
fn p_key_table() {
    let mut block = PKeyBlock::default();
    block.keys[0] = PKey::DEFAULT_FULL;
    both_ways!(PKeyBlock, "ffff", block);
}

#[test]
fn linear_forwarding_table() {
    let bytes: [u8; 64] = hex(
        "ff01050505050505050505050505050606060602060606060606060507070707
         0307070707070707050808080804080808080808080600050505050505050505",
    );
    let block = LftBlock::decode(&bytes);
    assert_eq!(
        (block.ports[0], block.ports[1]),
        (PortNum::DROP, PortNum(1))
    );
    assert_eq!(
        (block.ports[54], block.ports[63]),
        (PortNum::ZERO, PortNum(5))
    );
    assert_eq!(block.encode(), bytes);
}

/// By hand: MLID 0xC001 leaves through ports 1 and 15.
#[test]
fn multicast_forwarding_table() {
    let mut block = MftBlock::default();
    block.masks[1] = 1 << 1 | 1 << 15;
    both_ways!(MftBlock, "0000 8002", block);
}

/// By hand from ibsim's layout: a master of priority 14 with a key.
#[test]
fn sm_info() {
    both_ways!(
        SmInfo,
        "0002c90400000501 1122334455667788 0000002a e3",
        SmInfo {
            guid: PortGuid(0x0002_c904_0000_0501),
            sm_key: MKey::new(0x1122_3344_5566_7788),
            act_count: 42,
            priority: 14,
            sm_state: SmState::Master,
        }
    );
}

/// By hand: no simulated device supports them.
#[test]
fn vendor_diag_and_led_info() {
    let mut diag_data = [0; 62];
    diag_data[0] = 0xAB;
    both_ways!(
        VendorDiag,
        "0002 ab",
        VendorDiag {
            next_index: 2,
            diag_data
        }
    );
    both_ways!(LedInfo, "80", LedInfo { led_mask: true });
}

/// ibsim's trap 144 after setting the IsSM bit.
#[test]
fn notice_of_a_local_change() {
    let bytes: [u8; 64] = hex("84000001 0090 0001 0000 00000001 00000050c04a");
    let notice = Notice::decode(&bytes);
    assert!(notice.is_generic);
    assert_eq!(notice.notice_type, NoticeType::Informational);
    assert_eq!(
        (notice.producer_type, notice.trap_number),
        (1, TrapNumber::LocalChange)
    );
    assert_eq!(notice.issuer_lid, Lid(1));
    let details = LocalChangeDetails::decode(&notice.data_details);
    assert_eq!((details.lid, details.change_flags), (Lid(1), 0));
    assert!(details.capability_mask.has(CapMask::IS_SM));
    assert_eq!(notice.encode(), bytes);
}

/// By hand: the details fill the attribute.
#[test]
fn details_of_other_traps() {
    both_ways!(PortStateDetails, "0011", PortStateDetails { lid: Lid(17) });
    both_ways!(
        LinkErrorDetails,
        "0000 0011 24",
        LinkErrorDetails {
            lid: Lid(17),
            port_num: PortNum(36)
        }
    );
    both_ways!(
        LocalChangeDetails,
        "0000 0011 00 01 00000002 8009 0030",
        LocalChangeDetails {
            lid: Lid(17),
            other_local_changes: true,
            capability_mask: CapMask(CapMask::IS_SM),
            change_flags: 0x8000
                | LocalChangeDetails::NODE_DESCRIPTION
                | LocalChangeDetails::SM_PRIORITY,
            capability_mask2: 0x30,
        }
    );
    both_ways!(
        SystemImageDetails,
        "0000 0011 0000 0002c90300000140",
        SystemImageDetails {
            lid: Lid(17),
            system_image_guid: SystemImageGuid(0x0002_c903_0000_0140),
        }
    );
    let mut dr_return_path = [0; 30];
    dr_return_path[29] = 7;
    both_ways!(
        MKeyViolationDetails,
        "0000 0011 ffff 02 00 0015 80000001 1122334455667788 00 9e
         0000000000 0000000000 0000000000 0000000000 0000000000 0000000007",
        MKeyViolationDetails {
            lid: Lid(17),
            dr_slid: Lid::PERMISSIVE,
            method: 2,
            attr_id: AttrId(0x15),
            attr_mod: AttrMod(0x8000_0001),
            m_key: MKey::new(0x1122_3344_5566_7788),
            dr_notice: true,
            dr_path_truncated: false,
            dr_hop_count: 30,
            dr_return_path,
        }
    );
    assert_eq!(Notice::LEN, 10 + MKeyViolationDetails::LEN);
}

/// By hand, from the structures of Linux and OpenSM.
#[test]
fn details_of_key_traps() {
    let gid = |n| Gid::new(GidPrefix::DEFAULT, PortGuid(n));
    both_ways!(
        KeyViolationDetails,
        "0000 0011 0022 80010000 30 000001 00 abcdef
         fe80000000000000 0000000000000001 fe80000000000000 0000000000000002",
        KeyViolationDetails {
            lid1: Lid(17),
            lid2: Lid(34),
            key: 0x8001_0000,
            sl: Sl(3),
            qp1: Qpn(1),
            qp2: Qpn(0xAB_CDEF),
            gid1: gid(1),
            gid2: gid(2),
        }
    );
    both_ways!(
        SwitchPKeyDetails,
        "00ff 0011 0022 8001 30 000001 00 abcdef
         fe80000000000000 0000000000000001 fe80000000000000 0000000000000002 0007 24",
        SwitchPKeyDetails {
            data_valid: SwitchPKeyDetails::WITH_GRH,
            lid1: Lid(17),
            lid2: Lid(34),
            pkey: PKey(0x8001),
            sl: Sl(3),
            qp1: Qpn(1),
            qp2: Qpn(0xAB_CDEF),
            gid1: gid(1),
            gid2: gid(2),
            switch_lid: Lid(7),
            port_num: PortNum(36),
        }
    );
}

/// By hand: FEC of an HDR link, and a table for two ports.
#[test]
fn extended_port_attributes() {
    both_ways!(
        PortInfoExtended,
        "00000001 0002 0002 0002 000c 0004 000c 0008 000c 000c",
        PortInfoExtended {
            cap_mask: PortInfoExtended::CAP_FEC,
            fec_mode_active: FecMode::Rs,
            fdr_fec_mode_supported: 2,
            fdr_fec_mode_enabled: 2,
            edr_fec_mode_supported: 12,
            edr_fec_mode_enabled: 4,
            hdr_fec_mode_supported: 12,
            hdr_fec_mode_enabled: 8,
            ndr_fec_mode_supported: 12,
            ndr_fec_mode_enabled: 12,
        }
    );
    let mut port_mask = [0; 32];
    port_mask[31] = 6;
    both_ways!(
        LinkSpeedWidthPairs,
        "01 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000006 03 03 02",
        LinkSpeedWidthPairs {
            num_tables: 1,
            port_mask,
            speed_2_5: 3,
            speed_5: 3,
            speed_10: 2,
        }
    );
}

/// Mask of the bits that belong to fields; reserved bits are 0.
fn field_bits(fields: &[Field]) -> [u8; 64] {
    let mut mask = [0; 64];
    for field in fields {
        for bit in field.bit..field.bit + field.width {
            set_bits(&mut mask, bit, 1, 1);
        }
    }
    mask
}

fn bytes_64() -> impl Strategy<Value = [u8; 64]> {
    proptest::collection::vec(any::<u8>(), 64).prop_map(|v| v.try_into().unwrap())
}

/// For each layout: encoded values decode to themselves, and encoding onto other bytes changes only
/// the fields' bits. Both use the single-field readers and writers. `without` names the bits of
/// every even byte that are reserved although they belong to a field.
macro_rules! layouts {
    ($($test:ident: $layout:ident $(, without $reserved:expr)?;)*) => {$(
        proptest! {
            #[test]
            fn $test(from in bytes_64(), onto in bytes_64()) {
                let value = $layout::decode(&from);
                prop_assert_eq!($layout::decode(&value.encode()), value);
                let mut written = onto;
                value.encode_onto(&mut written);
                let mask = field_bits($layout::FIELDS);
                for i in 0..64 {
                    let reserved = 0u8 $(| if i % 2 == 0 { $reserved } else { 0 })?;
                    let expected = from[i] & !reserved & mask[i] | onto[i] & !mask[i];
                    prop_assert_eq!(written[i], expected, "byte {}", i);
                }
            }
        }
    )*};
}

proptest! {
    /// The readers of single fields return what `decode` does; a writer changes its field only.
    #[test]
    fn single_fields_are_those_of_the_layout(raw in bytes_64(), state: u8, lid: u16) {
        let info = PortInfo::decode(&raw);
        prop_assert_eq!(PortInfo::m_key.read(&raw), info.m_key);
        prop_assert_eq!(PortInfo::lid.read(&raw), info.lid);
        prop_assert_eq!(PortInfo::port_state.read(&raw), info.port_state);
        prop_assert_eq!(PortInfo::link_round_trip_latency.read(&raw), info.link_round_trip_latency);
        let mut written = raw;
        PortInfo::lid.write(&mut written, Lid(lid));
        PortInfo::port_state.write(&mut written, PortState(state & 0xF));
        let mut expected = raw;
        let changed = PortInfo {
            lid: Lid(lid),
            port_state: PortState(state & 0xF),
            ..info
        };
        changed.encode_onto(&mut expected);
        prop_assert_eq!(written, expected);
    }
}

layouts! {
    mad_header_round_trip: MadHeader;
    directed_header_round_trip: DirectedHeader;
    lid_routed_header_round_trip: LidRoutedHeader;
    rmpp_header_round_trip: RmppHeader;
    sa_header_round_trip: SaHeader;
    node_info_round_trip: NodeInfo;
    switch_info_round_trip: SwitchInfo;
    port_info_round_trip: PortInfo;
    guid_info_round_trip: GuidInfo;
    extended_port_info_round_trip: ExtendedPortInfo;
    sl_to_vl_round_trip: SlToVl;
    // The upper half of an entry's first byte is reserved and written as zero.
    vl_arb_round_trip: VlArb, without 0xF0;
    p_key_block_round_trip: PKeyBlock;
    lft_block_round_trip: LftBlock;
    mft_block_round_trip: MftBlock;
    sm_info_round_trip: SmInfo;
    vendor_diag_round_trip: VendorDiag;
    led_info_round_trip: LedInfo;
    notice_round_trip: Notice;
    port_state_details_round_trip: PortStateDetails;
    link_error_details_round_trip: LinkErrorDetails;
    local_change_details_round_trip: LocalChangeDetails;
    system_image_details_round_trip: SystemImageDetails;
    m_key_violation_details_round_trip: MKeyViolationDetails;
    key_violation_details_round_trip: KeyViolationDetails;
    switch_pkey_details_round_trip: SwitchPKeyDetails;
    port_info_extended_round_trip: PortInfoExtended;
    link_speed_width_pairs_round_trip: LinkSpeedWidthPairs;
}
