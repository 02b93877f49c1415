//! Congestion control.

use super::super::FlagValue::{Required, Sets};
use super::super::value::ValueFormat::{Boolean, Mask, Secret, Structure};
use super::super::value::{BYTE, HEX_BYTE, HEX_LONG, HEX_WORD, LONG, WORD};
use super::{Equivalent, OpenSmOption};

const NONE: Equivalent = Equivalent::fabric("ferrosm does not configure congestion control");

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("congestion_control", Boolean, "FALSE", NONE)
        .flag("congestion_control", None, Sets("TRUE")),
    OpenSmOption::new("cc_key", Secret, "0x0000000000000000", NONE).requires("congestion_control")
        .flag("cc_key", None, Required),
    OpenSmOption::new("cc_max_outstanding_mads", LONG, "500", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_control_map", HEX_LONG, "0x0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_victim_mask", Mask, "0x0000000000000000000000000000000000000000000000000000000000000000", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_credit_mask", Mask, "0x0000000000000000000000000000000000000000000000000000000000000000", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_threshold", HEX_BYTE, "0x00", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_packet_size", BYTE, "0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_credit_starvation_threshold", HEX_BYTE, "0x00", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_credit_starvation_return_delay", Structure, "0:0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_sw_cong_setting_marking_rate", WORD, "0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_port_control", HEX_WORD, "0x0000", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_control_map", HEX_WORD, "0x0000", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_ccti_timer", Structure, "0 0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_ccti_increase", Structure, "0 0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_trigger_threshold", Structure, "0 0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_ca_cong_setting_ccti_min", Structure, "0 0", NONE).requires("congestion_control"),
    OpenSmOption::new("cc_cct", Structure, "(null)", NONE).requires("congestion_control"),
];
