//! The resulting configuration file: the keys that differ from ferrosm's defaults, each with a
//! comment that names the line of OpenSM's configuration.

use ferrosm_core::config::partitions::partition_group::GroupSpec;
use ferrosm_core::config::partitions::{MemberSelector, Partition};
use ferrosm_mad::sa::multicast::mgid;

use super::evaluation::{Imported, Setting};
use super::finding::shown;
use crate::options::conversion::TomlValue;

/// Sections in the order of ferrosm's own file.
const SECTIONS: [&str; 12] = [
    "port",
    "sm",
    "subnet",
    "lids",
    "routing",
    "partitions",
    "qos",
    "links",
    "sweep",
    "sa",
    "files",
    "log",
];

/// Whether keys such as the M_Key are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    Written,
    /// Comments stand for them, and for the keys that need them.
    Omitted,
}

/// Keys that ferrosm rejects without an M_Key.
const NEED_M_KEY: [&str; 2] = ["subnet.m-key-lease-period", "subnet.m-key-protect-bits"];

/// The file. `header` is the text of its first comment.
#[must_use]
pub fn render(imported: &Imported, header: &str, secrets: Secrets) -> String {
    let mut text: String = header.lines().map(|line| format!("# {line}\n")).collect();
    for section in SECTIONS {
        let prefix = format!("{section}.");
        let mut body = String::new();
        for setting in &imported.settings {
            if let Some(name) = setting.key.strip_prefix(&prefix) {
                body.push_str(&key_lines(imported, setting, name, secrets));
            }
        }
        for (key, remark) in &imported.remarks {
            if key.starts_with(&prefix) {
                body.push_str(&format!("# {}\n", one_line(remark)));
            }
        }
        if !body.is_empty() {
            text.push_str(&format!("\n[{section}]\n{body}"));
        }
    }
    for partition in &imported.partitions {
        text.push_str(&partition_entry(partition));
    }
    text
}

fn key_lines(imported: &Imported, setting: &Setting, name: &str, secrets: Secrets) -> String {
    let mut lines: String = setting
        .sources
        .iter()
        .map(|source| format!("# {}\n", one_line(source)))
        .collect();
    let is_secret = matches!(setting.value, TomlValue::Secret(_));
    let m_key = imported.value("subnet.m-key").is_some();
    let needs_key = m_key && NEED_M_KEY.contains(&setting.key);
    if secrets == Secrets::Omitted && is_secret {
        lines.push_str(&format!(
            "# {name} is set; not shown. `-o FILE` writes it.\n"
        ));
    } else if secrets == Secrets::Omitted && needs_key {
        lines.push_str(&format!("# {name} = {} (needs m-key)\n", setting.value));
    } else {
        lines.push_str(&format!("{name} = {}\n", setting.value.to_toml()));
    }
    lines
}

/// A comment has one line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// An entry `[[partition]]`.
#[must_use]
pub fn partition_entry(partition: &Partition) -> String {
    let mut text = format!(
        "\n[[partition]]\nname = {}\npkey = {:#06x}\n",
        TomlValue::Text(entry_name(partition)),
        partition.number
    );
    if partition.index0 {
        text.push_str("index0 = true\n");
    }
    let ip_group = partition.groups.iter().find(|group| is_ip(group));
    let mut flags = Vec::new();
    if partition.sl.0 != 0 {
        flags.push(format!("sl={}", partition.sl.0));
    }
    if let Some(group) = ip_group {
        flags.push(format!("mtu={}", group.mtu.0));
        flags.push(format!("rate={}", group.rate.0));
    }
    if !flags.is_empty() {
        text.push_str(&format!("flags = {}\n", TomlValue::List(flags)));
    }
    let members: Vec<String> = partition
        .members
        .iter()
        .map(|(selector, membership)| format!("{}={membership}", selector_word(*selector)))
        .collect();
    text.push_str(&format!("members = {}\n", TomlValue::List(members)));
    let groups: Vec<String> = partition.groups.iter().map(group_words).collect();
    if !groups.is_empty() {
        text.push_str(&format!("groups = {}\n", TomlValue::List(groups)));
    }
    text
}

/// A name without characters of OpenSM's grammar.
#[must_use]
pub fn entry_name(partition: &Partition) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    match !partition.name.is_empty() && partition.name.chars().all(is_plain) {
        true => partition.name.trim().to_owned(),
        false => format!("{:#06x}", partition.number),
    }
}

/// Whether a group has an IPv4 or IPv6 signature.
#[must_use]
pub fn is_ip(group: &GroupSpec) -> bool {
    matches!(group.mgid.mgid_signature(), mgid::IPV4 | mgid::IPV6)
}

/// A member as OpenSM writes it.
#[must_use]
pub fn selector_word(selector: MemberSelector) -> String {
    match selector {
        MemberSelector::Port(guid) => guid.to_string(),
        MemberSelector::All => "ALL".to_owned(),
        MemberSelector::AllCas => "ALL_CAS".to_owned(),
        MemberSelector::AllSwitches => "ALL_SWITCHES".to_owned(),
        MemberSelector::AllRouters => "ALL_ROUTERS".to_owned(),
        MemberSelector::SmPort => "SELF".to_owned(),
        MemberSelector::PortRange(range) => range.to_string(),
    }
}

/// A group with all its flags, as OpenSM writes them after `mgid=`.
#[must_use]
pub fn group_words(group: &GroupSpec) -> String {
    let mut words = vec![
        group.mgid.to_string(),
        format!("mtu={}", group.mtu.0),
        format!("rate={}", group.rate.0),
        format!("sl={}", group.sl.0),
    ];
    for (name, value) in [
        ("Q_Key", group.qkey),
        ("TClass", group.tclass.into()),
        ("FlowLabel", group.flow_label),
    ] {
        if value != 0 {
            words.push(format!("{name}={value:#x}"));
        }
    }
    words.join(",")
}

/// The first comment of a file.
#[must_use]
pub fn header(sources: &[String]) -> String {
    let sources: Vec<String> = sources.iter().map(|source| shown(source)).collect();
    format!(
        "Imported by `ferrosm config import` from {}.\nOnly keys that differ from ferrosm's defaults. Check it with `ferrosm config check`.",
        sources.join(", ")
    )
}
