//! Compares ibnetdiscover's output with the file from which the fabric was loaded.

use std::collections::{BTreeMap, BTreeSet};

use crate::programs::diags::{Kind, Net};

/// Compares nodes, ports, peers, LIDs, widths and speeds of a fabric file, `written`, with
/// ibnetdiscover's output, `found`. Adds a line to `mismatches` for each difference.
pub fn compare(name: &str, written: &str, found: &str, mismatches: &mut Vec<String>) {
    let (mut expected, seen) = match (Net::parse(written), Net::parse(found)) {
        (Ok(expected), Ok(seen)) => (expected, seen),
        (Err(reason), _) | (_, Err(reason)) => {
            mismatches.push(format!("{name}: {reason}"));
            return;
        }
    };
    retain_reachable(&mut expected, written);
    for (guid, node) in &expected.nodes {
        if seen.nodes.get(guid) != Some(node) {
            let other = seen.nodes.get(guid);
            mismatches.push(format!("{name}: written {node:?}, found {other:?}"));
        }
    }
    if seen.nodes.len() != expected.nodes.len() {
        mismatches.push(format!(
            "{name}: {} nodes written, {} found",
            expected.nodes.len(),
            seen.nodes.len()
        ));
    }
    let written = speeds(written);
    let found = speeds(found);
    for (end, speed) in &found {
        let expected = written.get(end);
        if expected != Some(speed) {
            mismatches.push(format!(
                "{name}: {end:?}: written {expected:?}, found {speed}"
            ));
        }
    }
}

/// Width and speed of each linked port, such as `4xHDR`.
fn speeds(text: &str) -> BTreeMap<(String, String), String> {
    let mut node = String::new();
    let mut map = BTreeMap::new();
    for line in text.lines() {
        if let Some(port) = line.strip_prefix('[') {
            let port = port.split(']').next().unwrap_or_default();
            let speed = line.rsplit(' ').next().unwrap_or_default();
            map.insert((node.clone(), port.to_owned()), speed.to_owned());
        } else if let Some((_, rest)) = line.split_once('"') {
            rest.split('"')
                .next()
                .unwrap_or_default()
                .clone_into(&mut node);
        }
    }
    map
}

/// Removes nodes and ports that ibnetdiscover cannot reach from the first node of a file.
/// ibnetdiscover discovers through switches, and through port 1 of its own adapter.
fn retain_reachable(net: &mut Net, text: &str) {
    let first = text.lines().find_map(|line| {
        let id = line.split_once('"')?.1.split_once('"')?.0;
        u64::from_str_radix(id.get(2..18)?, 16).ok()
    });
    let mut pending: Vec<u64> = first.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(guid) = pending.pop() {
        let Some(node) = net.nodes.get(&guid) else {
            continue;
        };
        let is_first = seen.is_empty();
        if seen.insert(guid) && (is_first || node.kind == Kind::Switch) {
            let through = |number: u8| node.kind == Kind::Switch || number == 1;
            let ports = node.ports.iter().filter(|(number, _)| through(**number));
            pending.extend(ports.map(|(_, port)| port.peer));
        }
    }
    net.nodes.retain(|guid, _| seen.contains(guid));
    for node in net.nodes.values_mut() {
        node.ports.retain(|_, port| seen.contains(&port.peer));
    }
}
