//! Options that only NVIDIA's SM has (MLNX_OFED, UFM). OpenSM reports them as unrecognized and
//! ignores them. The list is that of public manuals and may be incomplete.

use super::super::Availability::Nvidia;
use super::super::value::ValueFormat::Text;
use super::{Equivalent, OpenSmOption};

const fn option(name: &'static str, reason: &'static str) -> OpenSmOption {
    OpenSmOption::new(name, Text, "", Equivalent::fabric(reason)).availability(Nvidia)
}

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    option("ar_mode", "adaptive routing is not configured"),
    option("ar_sl_mask", "adaptive routing is not configured"),
    option("shield_mode", "fast link fault recovery is not configured"),
    option("sharp_enabled", "SHARP is not configured"),
    option("master_sm_priority", "`sm.master-priority`"),
    option("allowed_sm_guids", "`sm.allowed-guids`"),
    option("m_key_per_port", "one M_Key applies to all ports: `subnet.m-key`"),
    option("pgrp_policy_file", "port groups are not read: list GUIDs in the root GUID file"),
    option("topo_policy_file", "routing chains are not supported: one engine per subnet"),
    option("rch_policy_file", "routing chains are not supported: one engine per subnet"),
    option("device_configuration_file", "devices have no settings of their own"),
    option("hm_ports_health_policy_file", "`ferrosm links` lists flapping links; ports are not isolated"),
    option("held_back_sw_file", "switches are not held back"),
    option("router_policy_file", "routers are in `routing.prefix-routes-file`"),
    option("tenants_policy_file", "tenants are not supported"),
    option("congestion_control_policy_file", "congestion control is not configured"),
    option("enhanced_qos_policy_file", "rate limits of virtual ports are not configured"),
    option("mc_roots_file", "roots of multicast trees are computed"),
    option("mc_primary_root_guid", "roots of multicast trees are computed"),
    option("mc_secondary_root_guid", "roots of multicast trees are computed"),
    option("topo_config_file", "the topology is detected"),
    option("validate_conf_files", "invalid files are always rejected"),
    option("enable_inc_mc_routing", "multicast trees are always changed incrementally"),
    option("consolidate_ipv4_mask", "IPv4 groups keep MLIDs of their own"),
    option("default_mcg_mtu", "the broadcast group has the MTU of its partition"),
    option("default_mcg_rate", "the broadcast group has the rate of its partition"),
    option("sa_rate_threshold", "`sa.max-requests-per-host-s`"),
    option("sa_enhanced_trust_model", "clients with the SM_Key are trusted"),
    option("sa_check_sgid_spoofing", "source GIDs are not compared with LIDs"),
    option("sm_db_dump", "`ferrosm state export`"),
    option("virt_enabled", "virtual ports are not configured"),
    option("nvlink_enable", "NVLink is not supported"),
    option("log_num_backlogs", "limits of the log are those of the journal"),
    option("enable_performance_logging", "the log and the metrics have the times"),
    option("sweep_every_hup_signal", "SIGHUP reloads; `ferrosm sweep` sweeps"),
];
