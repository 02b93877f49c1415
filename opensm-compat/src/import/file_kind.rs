//! Which file of OpenSM a text is.

use std::path::Path;

use super::conf;
use super::start_files;
use crate::options;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `opensm.conf`.
    Conf,
    /// Shell variables of a start script.
    Variables,
    /// A script with commands.
    Script,
    /// The file that this option names.
    Input(&'static str),
    /// Records that `ferrosm state import` reads.
    State,
    /// Names of nodes.
    NodeNames,
    /// Port groups, topologies or chains of NVIDIA's SM.
    NvidiaPolicy,
}

/// Names of OpenSM's caches and dumps.
const STATE_FILES: [&str; 4] = ["guid2lid", "guid2mkey", "neighbors", "opensm-sa.dump"];

/// Words in the names of files, with the option that names such a file.
const NAME_WORDS: [(&str, &str); 13] = [
    ("partition", "partition_config_file"),
    ("qos", "qos_policy_file"),
    ("prefix", "prefix_routes_file"),
    ("torus", "torus_config"),
    ("root", "root_guid_file"),
    ("spine", "root_guid_file"),
    ("order", "guid_routing_order_file"),
    ("weight", "hop_weights_file"),
    ("search", "port_search_ordering_file"),
    ("ignore", "port_prof_ignore_file"),
    ("ids", "ids_guid_file"),
    ("cn", "cn_guid_file"),
    ("io", "io_guid_file"),
];

/// The kind of a file, from its content, and from its name if the content does not decide.
#[must_use]
pub fn detect(path: &Path, file: &[u8]) -> Option<FileKind> {
    let name = path.file_name().map_or_else(String::new, |name| {
        name.to_string_lossy().to_ascii_lowercase()
    });
    if STATE_FILES.contains(&&*name) {
        return Some(FileKind::State);
    }
    let text = String::from_utf8_lossy(file);
    let first_words = || {
        text.lines()
            .take(conf::LINES_MAX)
            .filter_map(|line| line.split_whitespace().next())
    };
    let begins = |words: &[&str]| first_words().any(|word| words.contains(&word));
    if begins(&["port-group", "topology", "unicast-step"]) && !begins(&["port-groups"]) {
        return Some(FileKind::NvidiaPolicy);
    }
    if begins(&[
        "qos-ulps",
        "qos-levels",
        "qos-match-rules",
        "port-groups",
        "qos-setup",
    ]) {
        return Some(FileKind::Input("qos_policy_file"));
    }
    if begins(&[
        "xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link",
    ]) {
        return Some(FileKind::Input("torus_config"));
    }
    if text.lines().any(is_partition_line) {
        return Some(FileKind::Input("partition_config_file"));
    }
    if start_files::has_only_variables(&text) {
        return Some(FileKind::Variables);
    }
    if start_files::is_script(&text) {
        return Some(FileKind::Script);
    }
    if first_words().any(|word| options::by_name(word).is_some()) {
        return Some(FileKind::Conf);
    }
    if text.starts_with("Unicast lids") {
        return Some(FileKind::Input("lfts_file"));
    }
    if name.contains("name-map") || text.lines().any(is_node_name_line) {
        return Some(FileKind::NodeNames);
    }
    let stem = name.trim_end_matches(".conf").trim_end_matches(".txt");
    let words: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let by_name = NAME_WORDS.iter().find(|(word, _)| {
        words
            .iter()
            .any(|part| part.trim_end_matches('s') == word.trim_end_matches('s'))
    });
    if let Some((_, option)) = by_name {
        return Some(FileKind::Input(option));
    }
    (stem.contains("opensm")).then_some(FileKind::Conf)
}

/// `NAME=PKEY, FLAGS : MEMBERS`, or its beginning.
fn is_partition_line(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    let Some((head, _)) = line.split_once(':') else {
        return false;
    };
    head.contains("=0x") || head.trim_start().starts_with("Default")
}

/// `GUID "NAME"`.
fn is_node_name_line(line: &str) -> bool {
    line.trim_start()
        .split_once(char::is_whitespace)
        .is_some_and(|(guid, name)| guid.starts_with("0x") && name.trim_start().starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, text: &str) -> Option<FileKind> {
        detect(Path::new(name), text.as_bytes())
    }

    #[test]
    fn content_decides_before_the_name() {
        use FileKind::{Conf, Input, NodeNames, NvidiaPolicy, Script, State, Variables};
        for (name, text, expected) in [
            ("x", "# c\nsm_priority 5\n", Conf),
            ("/etc/rdma/opensm.conf.1", "priority 15\n", Conf),
            ("opensm", "PRIORITY=1\nGUIDS=\"0x1\"\n", Variables),
            ("rc.local", "opensm -B\n", Script),
            (
                "x",
                "Default=0x7fff,ipoib : ALL=full;\r\n",
                Input("partition_config_file"),
            ),
            (
                "x",
                "Vault=0x21,ipoib\n : 0x21=full;\nDefault=0x7fff:ALL;",
                Input("partition_config_file"),
            ),
            (
                "x",
                "qos-ulps\n default : 0\nend-qos-ulps\n",
                Input("qos_policy_file"),
            ),
            (
                "pgrp_policy.conf",
                "port-group\nname: a\nend-port-group\n",
                NvidiaPolicy,
            ),
            ("root_guid.conf", "top_switches\n", Input("root_guid_file")),
            ("roots.txt", "0x1\n", Input("root_guid_file")),
            ("guid2lid", "0x1 0x2 0x2\n", State),
            ("x", "0x0002c90300aa0001 \"leaf 1\"\n", NodeNames),
            ("prefix-routes.conf", "* *\n", Input("prefix_routes_file")),
        ] {
            assert_eq!(kind(name, text), Some(expected), "{name}: {text}");
        }
        assert_eq!(kind("list", "0x1\n"), None);
    }
}
