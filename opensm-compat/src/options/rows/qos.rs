//! QoS: the policy and the tables.

use super::super::FlagValue::{Required, Sets};
use super::super::value::LONG;
use super::super::value::ValueFormat::{Boolean, Signed, Text};
use super::{Equivalent, NotNeeded, OpenSmOption, file};

/// Keys for these tables do not exist yet.
const TABLES: Equivalent =
    Equivalent::fabric("QoS tables are not imported: VLs serve deadlock avoidance only");

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("qos", Boolean, "FALSE", Equivalent::fabric("OpenSM then writes QoS tables to all ports, which is not imported; a QoS policy (-Y FILE) applies without it"))
        .flag("qos", Some('Q'), Sets("TRUE")),
    OpenSmOption::new("qos_policy_file", Text, "/etc/opensm/qos-policy.conf", file("qos.policy-file").run_flag("-Y")
        .differs("The policy applies without `qos`. No file is read unless the key names one. Its SLs apply if the routing uses one VL."))
        .flag("qos_policy_file", Some('Y'), Required)
        .requires("qos"),
    OpenSmOption::new("suppress_sl2vl_mad_status_errors", Boolean, "FALSE", NotNeeded("a switch that rejects SLtoVL tables is reported once, and routed with the table that it keeps")).requires("qos"),
    OpenSmOption::new("qos_max_vls", LONG, "0", TABLES).requires("qos"),
    OpenSmOption::new("qos_high_limit", Signed, "-1", TABLES).requires("qos"),
    OpenSmOption::new("qos_vlarb_high", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_vlarb_low", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_sl2vl", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_ca_max_vls", LONG, "0", TABLES).requires("qos"),
    OpenSmOption::new("qos_ca_high_limit", Signed, "-1", TABLES).requires("qos"),
    OpenSmOption::new("qos_ca_vlarb_high", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_ca_vlarb_low", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_ca_sl2vl", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_sw0_max_vls", LONG, "0", TABLES).requires("qos"),
    OpenSmOption::new("qos_sw0_high_limit", Signed, "-1", TABLES).requires("qos"),
    OpenSmOption::new("qos_sw0_vlarb_high", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_sw0_vlarb_low", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_sw0_sl2vl", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_swe_max_vls", LONG, "0", TABLES).requires("qos"),
    OpenSmOption::new("qos_swe_high_limit", Signed, "-1", TABLES).requires("qos"),
    OpenSmOption::new("qos_swe_vlarb_high", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_swe_vlarb_low", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_swe_sl2vl", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_rtr_max_vls", LONG, "0", TABLES).requires("qos"),
    OpenSmOption::new("qos_rtr_high_limit", Signed, "-1", TABLES).requires("qos"),
    OpenSmOption::new("qos_rtr_vlarb_high", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_rtr_vlarb_low", Text, "(null)", TABLES).requires("qos"),
    OpenSmOption::new("qos_rtr_sl2vl", Text, "(null)", TABLES).requires("qos"),
];
