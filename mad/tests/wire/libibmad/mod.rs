//! Comparison of layouts with those of libibmad, the library of infiniband-diags, where it has
//! them.
//!
//! The C library is loaded at run time: on random bytes, each field must have the value that
//! `mad_get_field` returns, and `mad_set_field` must write the same bits. Field numbers are those
//! of `enum MAD_FIELDS` in `infiniband/mad.h`.
#![expect(unsafe_code, reason = "calls into libibmad")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failing helper fails its test"
)]

use std::ffi::{c_int, c_uint, c_void};

use ferrosm_mad::attr::{
    ExtendedPortInfo, GuidInfo, LocalChangeDetails, NodeInfo, Notice, PortInfo, PortInfoExtended,
    PortStateDetails, SmInfo, SwitchInfo,
};
use ferrosm_mad::mad::MadHeader;
use ferrosm_mad::sa::{RmppHeader, SaHeader};
use ferrosm_mad::smp::{DirectedHeader, LidRoutedHeader};
use ferrosm_mad::wire::{Field, get_bits, set_bits};
use libloading::Library;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

mod perf;

type Get = unsafe extern "C" fn(*mut c_void, c_int, c_uint) -> u32;
type Get64 = unsafe extern "C" fn(*mut c_void, c_int, c_uint) -> u64;
type Set = unsafe extern "C" fn(*mut c_void, c_int, c_uint, u32);
type Set64 = unsafe extern "C" fn(*mut c_void, c_int, c_uint, u64);

/// Bytes of a MAD, which contain all listed fields.
type Bytes = [u8; 256];

struct Ibmad {
    get: Get,
    get64: Get64,
    set: Set,
    set64: Set64,
    has_xdr: bool,
    _library: Library,
}

impl Ibmad {
    fn load() -> Self {
        // SAFETY: the library's constructors have no preconditions.
        let library = unsafe { Library::new("libibmad.so.5") }.expect(
            "this test needs libibmad.so.5: install libibmad5 (Debian) or run scripts/test --install",
        );
        // SAFETY: the types are the declarations in infiniband/mad.h (an enum is an unsigned int).
        unsafe {
            Self {
                get: *library.get(b"mad_get_field\0").unwrap(),
                get64: *library.get(b"mad_get_field64\0").unwrap(),
                set: *library.get(b"mad_set_field\0").unwrap(),
                set64: *library.get(b"mad_set_field64\0").unwrap(),
                // XDR fields exist since rdma-core 50, like this function; older libraries would
                // read beyond their table.
                has_xdr: library
                    .get::<*const c_void>(b"mad_rpc_open_port2\0")
                    .is_ok(),
                _library: library,
            }
        }
    }

    fn get(&self, bytes: &mut Bytes, field: c_uint, width: usize) -> u64 {
        let bytes = bytes.as_mut_ptr().cast();
        // SAFETY: the field is in the library's table and ends within the 256 bytes.
        unsafe {
            if width == 64 {
                (self.get64)(bytes, 0, field)
            } else {
                (self.get)(bytes, 0, field).into()
            }
        }
    }

    fn set(&self, bytes: &mut Bytes, field: c_uint, width: usize, value: u64) {
        let bytes = bytes.as_mut_ptr().cast();
        // SAFETY: as above.
        unsafe {
            match u32::try_from(value) {
                Ok(value) if width < 64 => (self.set)(bytes, 0, field, value),
                _ => (self.set64)(bytes, 0, field, value),
            }
        }
    }
}

/// A layout and the corresponding fields of libibmad.
struct Layout {
    name: &'static str,
    fields: &'static [Field],
    /// Byte offset of the layout in libibmad's buffer.
    base: usize,
    /// Fields that libibmad has as well, with their numbers there.
    matching: &'static [(&'static str, c_uint)],
    /// Bit, width and number of libibmad's fields that are part of a field here.
    parts: &'static [(usize, usize, c_uint)],
    /// Fields that libibmad lacks or has at a wrong place, or that `parts` covers.
    other: &'static [&'static str],
}

const LAYOUTS: &[Layout] = &[
    Layout {
        name: "MadHeader",
        fields: MadHeader::FIELDS,
        base: 0,
        matching: &[
            ("base_version", 7),
            ("mgmt_class", 6),
            ("class_version", 5),
            ("status", 8),
            ("tid", 13),
            ("attr_id", 14),
            ("attr_mod", 15),
        ],
        parts: &[(24, 1, 4), (25, 7, 3)],
        other: &["method", "class_specific"],
    },
    Layout {
        name: "DirectedHeader",
        fields: DirectedHeader::FIELDS,
        base: 0,
        matching: &[
            ("d", 12),
            ("hop_pointer", 10),
            ("hop_count", 9),
            ("m_key", 16),
            ("dr_slid", 18),
            ("dr_dlid", 17),
        ],
        parts: &[(33, 15, 11)],
        other: &[],
    },
    Layout {
        name: "LidRoutedHeader",
        fields: LidRoutedHeader::FIELDS,
        base: 0,
        matching: &[("m_key", 16)],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "RmppHeader",
        fields: RmppHeader::FIELDS,
        base: RmppHeader::OFFSET,
        matching: &[
            ("version", 147),
            ("rmpp_type", 148),
            ("resp_time", 149),
            ("status", 151),
            ("segment_number", 153),
            ("payload_length", 155),
        ],
        parts: &[(21, 3, 150)],
        other: &["last", "first", "active"],
    },
    Layout {
        name: "SaHeader",
        fields: SaHeader::FIELDS,
        base: SaHeader::OFFSET,
        matching: &[
            ("sm_key", 19),
            ("attribute_offset", 20),
            ("component_mask", 21),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "NodeInfo",
        fields: NodeInfo::FIELDS,
        base: 0,
        matching: &[
            ("base_version", 75),
            ("class_version", 76),
            ("node_type", 77),
            ("num_ports", 78),
            ("system_image_guid", 79),
            ("node_guid", 80),
            ("port_guid", 81),
            ("partition_cap", 82),
            ("device_id", 83),
            ("revision", 84),
            ("local_port_num", 85),
            ("vendor_id", 86),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "SwitchInfo",
        fields: SwitchInfo::FIELDS,
        base: 0,
        matching: &[
            ("linear_fdb_cap", 88),
            ("random_fdb_cap", 89),
            ("multicast_fdb_cap", 90),
            ("linear_fdb_top", 91),
            ("default_port", 92),
            ("default_multicast_primary_port", 93),
            ("default_multicast_not_primary_port", 94),
            ("life_time_value", 95),
            ("port_state_change", 96),
            ("optimized_sl_to_vl", 97),
            ("lids_per_port", 98),
            ("partition_enforcement_cap", 99),
            ("inbound_enforcement_cap", 100),
            ("outbound_enforcement_cap", 101),
            ("filter_raw_inbound_cap", 102),
            ("filter_raw_outbound_cap", 103),
            ("enhanced_port0", 104),
            ("multicast_fdb_top", 105),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortInfo",
        fields: PortInfo::FIELDS,
        base: 0,
        matching: &[
            ("m_key", 27),
            ("gid_prefix", 28),
            ("lid", 29),
            ("master_sm_lid", 30),
            ("capability_mask", 31),
            ("diag_code", 32),
            ("m_key_lease_period", 33),
            ("local_port_num", 34),
            ("link_width_enabled", 35),
            ("link_width_supported", 36),
            ("link_width_active", 37),
            ("link_speed_supported", 38),
            ("port_state", 39),
            ("port_physical_state", 40),
            ("link_down_default_state", 41),
            ("m_key_protect_bits", 42),
            ("lmc", 43),
            ("link_speed_active", 44),
            ("link_speed_enabled", 45),
            ("neighbor_mtu", 46),
            ("master_sm_sl", 47),
            ("vl_cap", 48),
            ("init_type", 49),
            ("vl_high_limit", 50),
            ("vl_arbitration_high_cap", 51),
            ("vl_arbitration_low_cap", 52),
            ("init_type_reply", 53),
            ("mtu_cap", 54),
            ("vl_stall_count", 55),
            ("hoq_life", 56),
            ("operational_vls", 57),
            ("partition_enforcement_inbound", 58),
            ("partition_enforcement_outbound", 59),
            ("filter_raw_inbound", 60),
            ("filter_raw_outbound", 61),
            ("m_key_violations", 62),
            ("p_key_violations", 63),
            ("q_key_violations", 64),
            ("guid_cap", 65),
            ("client_reregister", 66),
            ("multicast_pkey_trap_suppression", 67),
            ("subnet_timeout", 68),
            ("resp_time_value", 69),
            ("local_phy_errors", 70),
            ("overrun_errors", 71),
            ("max_credit_hint", 72),
            ("link_round_trip_latency", 73),
            ("capability_mask2", 323),
            ("link_speed_ext_active", 324),
            ("link_speed_ext_supported", 325),
            ("link_speed_ext_enabled", 326),
            ("link_speed_ext_active2", XDR_FIRST),
            ("link_speed_ext_supported2", 667),
            ("link_speed_ext_enabled2", 668),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "SmInfo",
        fields: SmInfo::FIELDS,
        base: 0,
        matching: &[
            ("guid", 142),
            ("sm_key", 143),
            ("act_count", 144),
            ("priority", 145),
            ("sm_state", 146),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "Notice",
        fields: Notice::FIELDS,
        base: 0,
        matching: &[
            ("is_generic", 110),
            ("notice_type", 111),
            ("producer_type", 112),
            ("trap_number", 113),
            ("issuer_lid", 114),
            ("notice_toggle", 115),
            ("notice_count", 116),
        ],
        parts: &[],
        other: &["data_details"],
    },
    Layout {
        name: "PortStateDetails",
        fields: PortStateDetails::FIELDS,
        base: NOTICE_DETAILS,
        matching: &[("lid", 118)],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "LocalChangeDetails",
        fields: LocalChangeDetails::FIELDS,
        base: NOTICE_DETAILS,
        matching: &[("lid", 119), ("capability_mask", 120)],
        parts: &[],
        other: &["other_local_changes", "change_flags", "capability_mask2"],
    },
    Layout {
        name: "GuidInfo",
        fields: GuidInfo::FIELDS,
        base: 0,
        matching: &[],
        parts: &[
            (0, 64, 305),
            (64, 64, 306),
            (128, 64, 307),
            (192, 64, 308),
            (256, 64, 309),
            (320, 64, 310),
            (384, 64, 311),
            (448, 64, 312),
        ],
        other: &["guids"],
    },
    Layout {
        name: "ExtendedPortInfo",
        fields: ExtendedPortInfo::FIELDS,
        base: 0,
        matching: &[
            ("state_change_enable", 515),
            ("link_speed_supported", 516),
            ("link_speed_enabled", 517),
            ("link_speed_active", 518),
        ],
        parts: &[],
        other: &[],
    },
    Layout {
        name: "PortInfoExtended",
        fields: PortInfoExtended::FIELDS,
        base: 0,
        matching: &[
            ("cap_mask", 616),
            ("fec_mode_active", 617),
            ("fdr_fec_mode_supported", 618),
            ("fdr_fec_mode_enabled", 619),
            ("edr_fec_mode_supported", 620),
            ("edr_fec_mode_enabled", 621),
        ],
        parts: &[],
        // libibmad counts bits from the low end of each 32-bit word and converts offsets by
        // `BITSOFFS`. Its HDR and NDR entries lack the conversion, so they read the other half of
        // their word.
        other: &[
            "hdr_fec_mode_supported",
            "hdr_fec_mode_enabled",
            "ndr_fec_mode_supported",
            "ndr_fec_mode_enabled",
        ],
    },
];

/// Byte offset of a Notice's details.
const NOTICE_DETAILS: usize = 10;
/// The first of the XDR fields, which old libraries lack.
const XDR_FIRST: c_uint = 666;
const XDR: std::ops::RangeInclusive<c_uint> = XDR_FIRST..=668;

/// The fields to compare: name, bit offset in the buffer, width, and number in libibmad.
fn comparisons(ibmad: &Ibmad) -> Vec<(String, usize, usize, c_uint)> {
    let mut list = Vec::new();
    for layout in LAYOUTS.iter().chain(perf::LAYOUTS) {
        for (name, number) in layout.matching {
            let field = layout.fields.iter().find(|f| f.name == *name).unwrap();
            list.push((
                format!("{}.{name}", layout.name),
                field.bit,
                field.width,
                *number,
                layout.base,
            ));
        }
        for (bit, width, number) in layout.parts {
            list.push((
                format!("{} bit {bit}", layout.name),
                *bit,
                *width,
                *number,
                layout.base,
            ));
        }
    }
    list.into_iter()
        .filter(|(.., number, _)| {
            let is_known = ibmad.has_xdr || !XDR.contains(number);
            if !is_known {
                println!("not compared: field {number} (XDR) is newer than the installed libibmad");
            }
            is_known
        })
        .map(|(name, bit, width, number, base)| (name, bit + 8 * base, width, number))
        .collect()
}

/// [`LAYOUTS`] names each field of each layout once.
#[test]
fn every_field_is_listed_once() {
    for layout in LAYOUTS.iter().chain(perf::LAYOUTS) {
        let mut listed: Vec<&str> = layout.matching.iter().map(|(name, _)| *name).collect();
        listed.extend(layout.other);
        listed.sort_unstable();
        let mut own_names: Vec<&str> = layout.fields.iter().map(|f| f.name).collect();
        own_names.sort_unstable();
        assert_eq!(listed, own_names, "{}", layout.name);
    }
}

/// Each field of random bytes has the value that libibmad reads.
#[test]
fn fields_decode_as_in_libibmad() {
    let ibmad = Ibmad::load();
    let list = comparisons(&ibmad);
    let bytes = proptest::collection::vec(any::<u8>(), 256);
    TestRunner::default()
        .run(&bytes, |bytes| {
            let mut bytes: Bytes = bytes.try_into().unwrap();
            for (name, bit, width, number) in &list {
                let ibmad_value = ibmad.get(&mut bytes, *number, *width);
                prop_assert_eq!(get_bits(&bytes, *bit, *width), ibmad_value, "{}", name);
            }
            Ok(())
        })
        .unwrap();
}

/// Writing a field over random bytes changes the same bits as libibmad.
#[test]
fn fields_encode_as_in_libibmad() {
    let ibmad = Ibmad::load();
    let list = comparisons(&ibmad);
    let input = (proptest::collection::vec(any::<u8>(), 256), any::<u64>());
    TestRunner::default()
        .run(&input, |(bytes, value)| {
            let bytes: Bytes = bytes.try_into().unwrap();
            for (name, bit, width, number) in &list {
                let value = if *width == 64 {
                    value
                } else {
                    value & ((1 << width) - 1)
                };
                let (mut own_bytes, mut ibmad_bytes) = (bytes, bytes);
                set_bits(&mut own_bytes, *bit, *width, value);
                ibmad.set(&mut ibmad_bytes, *number, *width, value);
                prop_assert_eq!(own_bytes, ibmad_bytes, "{}", name);
            }
            Ok(())
        })
        .unwrap();
}
