//! What ibnetdiscover printed of a fabric, compared with the text that the fabric was loaded from.

use std::collections::{BTreeMap, BTreeSet};

use crate::diags::{Kind, Net};

/// Compares nodes, ports, peers, LIDs, widths and speeds of `written`, the text that a fabric was loaded from, with `found`, what
/// ibnetdiscover printed of it. Adds a line to `wrong` for each difference.
pub fn compare(name: &str, written: &str, found: &str, wrong: &mut Vec<String>) {
    let (mut paper, seen) = match (Net::parse(written), Net::parse(found)) {
        (Ok(paper), Ok(seen)) => (paper, seen),
        (Err(reason), _) | (_, Err(reason)) => {
            wrong.push(format!("{name}: {reason}"));
            return;
        }
    };
    keep_visible(&mut paper, written);
    for (guid, node) in &paper.nodes {
        if seen.nodes.get(guid) != Some(node) {
            let other = seen.nodes.get(guid);
            wrong.push(format!("{name}: written {node:?}, found {other:?}"));
        }
    }
    if seen.nodes.len() != paper.nodes.len() {
        wrong.push(format!(
            "{name}: {} nodes written, {} found",
            paper.nodes.len(),
            seen.nodes.len()
        ));
    }
    let (written, found) = (speeds(written), speeds(found));
    for (end, speed) in &found {
        let paper = written.get(end);
        if paper != Some(speed) {
            wrong.push(format!("{name}: {end:?}: written {paper:?}, found {speed}"));
        }
    }
}

/// Width and speed of each linked port, as `4xHDR`.
fn speeds(text: &str) -> BTreeMap<(String, String), String> {
    let mut node = String::new();
    let mut all = BTreeMap::new();
    for line in text.lines() {
        if let Some(port) = line.strip_prefix('[') {
            let port = port.split(']').next().unwrap_or_default();
            let speed = line.rsplit(' ').next().unwrap_or_default();
            all.insert((node.clone(), port.to_owned()), speed.to_owned());
        } else if let Some((_, rest)) = line.split_once('"') {
            rest.split('"')
                .next()
                .unwrap_or_default()
                .clone_into(&mut node);
        }
    }
    all
}

/// Keeps what ibnetdiscover sees from the first node of a text: it passes switches, not channel adapters, and starts at port 1.
fn keep_visible(net: &mut Net, text: &str) {
    let first = text.lines().find_map(|line| {
        let id = line.split_once('"')?.1.split_once('"')?.0;
        u64::from_str_radix(id.get(2..18)?, 16).ok()
    });
    let mut todo: Vec<u64> = first.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(guid) = todo.pop() {
        let Some(node) = net.nodes.get(&guid) else {
            continue;
        };
        let is_first = seen.is_empty();
        if seen.insert(guid) && (is_first || node.kind == Kind::Switch) {
            let through = |number: u8| node.kind == Kind::Switch || number == 1;
            let ports = node.ports.iter().filter(|(number, _)| through(**number));
            todo.extend(ports.map(|(_, port)| port.peer));
        }
    }
    net.nodes.retain(|guid, _| seen.contains(guid));
    for node in net.nodes.values_mut() {
        node.ports.retain(|_, port| seen.contains(&port.peer));
    }
}
