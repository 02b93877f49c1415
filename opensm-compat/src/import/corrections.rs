//! Values that OpenSM replaces after it has read its file and its flags (`osm_subn_verify_config`).

use crate::options::value::leading_number;

/// A value that OpenSM replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    pub option: &'static str,
    /// The value that OpenSM uses.
    pub value: String,
    /// Why.
    pub reason: String,
}

/// An option with the largest valid value and what replaces larger ones.
struct Limit {
    option: &'static str,
    max: u64,
    replacement: &'static str,
}

const LIMITS: [Limit; 6] = [
    limit("lmc", 7, "0"),
    limit("sm_priority", 15, "0"),
    limit("fdr10", 2, "1"),
    limit("max_wire_smps", 0x7FFF_FFFF, "4"),
    limit("m_key_protection_level", 3, "2"),
    limit("max_rate_enum", 63, "63"),
];

const fn limit(option: &'static str, max: u64, replacement: &'static str) -> Limit {
    Limit {
        option,
        max,
        replacement,
    }
}

/// Options whose valid values have a gap between `max` and `all`.
const MASKS: [(&str, u64, u64, u64); 3] = [
    ("force_link_speed", 7, 15, 15),
    ("force_link_speed_ext", 7, 30, 31),
    ("force_link_width", 31, 255, 255),
];

const CONSOLES: [&str; 3] = ["off", "local", "loopback"];
const ENFORCEMENTS: [&str; 4] = ["both", "in", "out", "off"];

/// The corrections of a set of values.
#[must_use]
pub fn corrections(value: &dyn Fn(&str) -> String) -> Vec<Correction> {
    let mut found = Vec::new();
    let number = |name: &str| leading_number(&value(name)).value.unwrap_or(u64::MAX);
    for limit in LIMITS {
        if number(limit.option) > limit.max {
            let reason = format!("{} is above {}", value(limit.option), limit.max);
            found.push(correction(limit.option, limit.replacement, reason));
        }
    }
    if number("max_wire_smps") == 0 {
        let reason = "0 is no limit".to_owned();
        found.push(correction("max_wire_smps", "2147483647", reason));
    }
    for (option, max, gap_end, all) in MASKS {
        let mask = number(option);
        let is_valid = mask <= max || (gap_end..=all).contains(&mask);
        if !is_valid {
            let reason = format!("{mask} is reserved");
            found.push(correction(option, &all.to_string(), reason));
        }
    }
    for (option, least, replacement) in [
        ("perfmgr_sweep_time_s", 1, "180"),
        ("perfmgr_max_outstanding_queries", 1, "500"),
    ] {
        if number(option) < least {
            let reason = format!("{} is below {least}", value(option));
            found.push(correction(option, replacement, reason));
        }
    }
    found.extend(window_corrections(value));
    if value("qos") == "TRUE" {
        found.extend(table_corrections(value));
    }
    for (option, words, replacement) in [
        ("console", &CONSOLES[..], "off"),
        ("part_enforce", &ENFORCEMENTS[..], "both"),
    ] {
        let word = value(option);
        if !words.contains(&&*word) {
            let reason = format!("not one of {}", words.join(", "));
            found.push(correction(option, replacement, reason));
        }
    }
    if value("no_partition_enforcement") == "TRUE" {
        found.retain(|correction| correction.option != "part_enforce");
        if value("part_enforce") != "off" {
            let reason = "`no_partition_enforcement` is TRUE".to_owned();
            found.push(correction("part_enforce", "off", reason));
        }
    }
    found.extend(lease_corrections(&number, &found));
    found
}

/// Windows and times that depend on others.
fn window_corrections(value: &dyn Fn(&str) -> String) -> Vec<Correction> {
    let mut found = Vec::new();
    let number = |name: &str| leading_number(&value(name)).value.unwrap_or(u64::MAX);
    if number("max_wire_smps2") > 0x7FFF_FFFF {
        let smps = match number("max_wire_smps") {
            0 => "2147483647".to_owned(),
            above if above > 0x7FFF_FFFF => "4".to_owned(),
            smps => smps.to_string(),
        };
        let reason = format!("{} is above 2147483647", value("max_wire_smps2"));
        found.push(correction("max_wire_smps2", &smps, reason));
    }
    let timeout = value("transaction_timeout");
    if number("long_transaction_timeout") < number("transaction_timeout") {
        let reason = "shorter than transaction_timeout".to_owned();
        found.push(correction("long_transaction_timeout", &timeout, reason));
    }
    found
}

/// Numbers of the QoS tables, which OpenSM checks if `qos` is TRUE.
fn table_corrections(value: &dyn Fn(&str) -> String) -> Vec<Correction> {
    const SETS: [(&str, &str); 5] = [
        ("qos_max_vls", "qos_high_limit"),
        ("qos_ca_max_vls", "qos_ca_high_limit"),
        ("qos_sw0_max_vls", "qos_sw0_high_limit"),
        ("qos_swe_max_vls", "qos_swe_high_limit"),
        ("qos_rtr_max_vls", "qos_rtr_high_limit"),
    ];
    let mut found = Vec::new();
    for (max_vls, high_limit) in SETS {
        if value(max_vls).parse().is_ok_and(|vls: u32| vls > 15) {
            let reason = format!("{} is above 15", value(max_vls));
            found.push(correction(max_vls, "0", reason));
        }
        let limit: i32 = value(high_limit).parse().unwrap_or(-1);
        if limit != -1 && !(0..=255).contains(&limit) {
            let reason = format!("{limit} is not from 0 to 255");
            found.push(correction(high_limit, "-1", reason));
        }
    }
    found
}

/// A lease of the M_Key must be longer than the sweep interval.
fn lease_corrections(number: &dyn Fn(&str) -> u64, found: &[Correction]) -> Vec<Correction> {
    let mut further = Vec::new();
    let lease = number("m_key_lease_period");
    let protection = number("m_key_protection_level");
    let is_protected = protection > 0 || found.iter().any(|c| c.option == "m_key_protection_level");
    if !is_protected || lease == 0 {
        return further;
    }
    let mut interval = number("sweep_interval");
    if interval == 0 {
        interval = lease - 1;
        let reason = "the lease of the M_Key needs sweeps".to_owned();
        further.push(correction("sweep_interval", &interval.to_string(), reason));
    }
    if interval >= lease {
        let reason = format!("{lease} s is not longer than sweep_interval");
        let value = ((interval + 1) & 0xFFFF).to_string();
        further.push(correction("m_key_lease_period", &value, reason));
    }
    further
}

fn correction(option: &'static str, value: &str, reason: String) -> Correction {
    Correction {
        option,
        value: value.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    fn corrected(set: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let value = |name: &str| {
            let assigned = set.iter().find(|(option, _)| *option == name);
            assigned.map_or_else(
                || options::by_name(name).unwrap().default.to_owned(),
                |(_, value)| (*value).to_owned(),
            )
        };
        let found = corrections(&value).into_iter();
        found.map(|c| (c.option, c.value)).collect()
    }

    #[test]
    fn invalid_values_are_replaced_as_in_opensm() {
        assert_eq!(corrected(&[]), []);
        for (option, value, expected) in [
            ("lmc", "8", "0"),
            ("sm_priority", "16", "0"),
            ("max_wire_smps", "0", "2147483647"),
            ("m_key_protection_level", "4", "2"),
            ("force_link_speed", "8", "15"),
            ("force_link_width", "32", "255"),
            ("console", "telnet", "off"),
            ("part_enforce", "BOTH", "both"),
        ] {
            assert_eq!(
                corrected(&[(option, value)]),
                [(option, expected.to_owned())]
            );
        }
        assert_eq!(
            corrected(&[("no_partition_enforcement", "TRUE")]),
            [("part_enforce", "off".to_owned())]
        );
    }

    #[test]
    fn lease_is_longer_than_the_sweep_interval() {
        let lease = ("m_key_lease_period", "10");
        let level = ("m_key_protection_level", "2");
        assert_eq!(
            corrected(&[lease, level]),
            [("m_key_lease_period", "11".to_owned())]
        );
        assert_eq!(
            corrected(&[lease, level, ("sweep_interval", "0")]),
            [("sweep_interval", "9".to_owned())]
        );
        assert_eq!(corrected(&[lease]), []);
    }
}
