//! Keys of the subnet, LIDs and parameters of links.

use super::super::FlagValue::{Hexadecimal, Required};
use super::super::conversion::Conversion;
use super::super::value::ValueFormat::{Boolean, Hex64, Secret};
use super::super::value::{BYTE, HEX_BYTE, WORD};
use super::{Equivalent, NotNeeded, OpenSmOption, flag, whole};

const fn opt(
    name: &'static str,
    format: super::super::value::ValueFormat,
    default: &'static str,
    equivalent: Equivalent,
) -> OpenSmOption {
    OpenSmOption::new(name, format, default, equivalent)
}

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    opt("guid", Hex64, "0x0000000000000000", Equivalent::key("port.guid", Conversion::Hex).run_flag("--port-guid")
        .differs("Without a GUID ferrosm serves the only port with a link, and none if several have one; OpenSM serves the first one."))
        .flag("guid", Some('g'), Hexadecimal),
    opt("m_key", Secret, "0x0000000000000000", Equivalent::key("subnet.m-key", Conversion::Secret)),
    opt("m_key_lease_period", WORD, "0", Equivalent::key("subnet.m-key-lease-period", Conversion::Time { unit: super::super::conversion::TimeUnit::Seconds, min: 0, max: 65_535, zero: true })),
    opt("m_key_protection_level", BYTE, "0", whole("subnet.m-key-protect-bits", 0, 3)),
    opt("m_key_lookup", Boolean, "TRUE", NotNeeded("M_Keys of ports are persisted, and always tried; `ferrosm state import guid2mkey` imports OpenSM's")),
    opt("sm_key", Secret, "0x0000000000000001", Equivalent::key("sm.sm-key", Conversion::Secret)
        .differs("It is also the key of trusted SA clients (OpenSM: `sa_key`)."))
        .flag("smkey", Some('k'), Hexadecimal),
    opt("sa_key", Secret, "0x0000000000000001", Equivalent::fabric("SA clients are trusted by `sm.sm-key`: a separate key is not imported")),
    opt("subnet_prefix", Hex64, "0xfe80000000000000", Equivalent::key("subnet.prefix", Conversion::Hex))
        .flag("subnet_prefix", None, Hexadecimal),
    opt("lmc", BYTE, "0", whole("lids.lmc", 0, 7).run_flag("--lmc"))
        .flag("lmc", Some('l'), Required),
    opt("lmc_esp0", Boolean, "FALSE", flag("lids.lmc-esp0")),
    opt("sm_sl", BYTE, "0", Equivalent::fabric("the routing selects the SL of paths to the SM"))
        .flag("sm_sl", None, Required),
    opt("packet_life_time", HEX_BYTE, "0x12", whole("links.packet-life-time", 0, 31)),
    opt("vl_stall_count", HEX_BYTE, "0x07", whole("links.vl-stall-count", 0, 7)),
    opt("leaf_vl_stall_count", HEX_BYTE, "0x07", whole("links.leaf-vl-stall-count", 0, 7)),
    opt("head_of_queue_lifetime", HEX_BYTE, "0x12", whole("links.hoq-life", 0, 31)),
    opt("leaf_head_of_queue_lifetime", HEX_BYTE, "0x10", whole("links.leaf-hoq-life", 0, 31)),
    opt("max_op_vls", BYTE, "5", whole("links.max-operational-vls", 1, 5)),
    opt("force_link_speed", BYTE, "15", Equivalent::fabric("ferrosm leaves LinkSpeedEnabled as it is; OpenSM's default enables all supported speeds")),
    opt("force_link_speed_ext", BYTE, "31", Equivalent::fabric("ferrosm leaves LinkSpeedExtEnabled as it is; OpenSM's default enables all supported speeds")),
    opt("force_link_width", BYTE, "255", Equivalent::fabric("ferrosm leaves LinkWidthEnabled as it is; OpenSM's default enables all supported widths")),
    opt("fdr10", BYTE, "1", Equivalent::fabric("ferrosm leaves FDR10 as it is; OpenSM's default enables it where supported")),
    opt("subnet_timeout", BYTE, "18", whole("subnet.timeout", 0, 31)),
    opt("local_phy_errors_threshold", HEX_BYTE, "0x08", whole("links.local-phy-errors", 0, 15)),
    opt("overrun_errors_threshold", HEX_BYTE, "0x08", whole("links.overrun-errors", 0, 15)),
    opt("use_mfttop", Boolean, "TRUE", NotNeeded("MulticastFDBTop is written where the switch has it")),
];
