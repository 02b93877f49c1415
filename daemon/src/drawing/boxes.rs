//! What is drawn: boxes that stand for one or more switches, and bundles of the links between them.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::structure::StructureKind;

use super::DrawingDetail;
use crate::whole_fabric::FabricIndex;

/// Hosts up to which each of them is drawn.
const HOSTS_DRAWN_MAX: usize = 1500;

/// A switch, or several that are drawn as one.
#[derive(Debug, Clone, Default)]
pub(super) struct SwitchBox {
    /// Its switches. A node without a switch next to it has a box of its own.
    pub(super) nodes: Vec<usize>,
    /// Hosts that are drawn next to it, or counted in its label.
    pub(super) hosts: Vec<usize>,
    pub(super) aggregation_nodes: usize,
    /// Its level in a tree, from the leaves.
    pub(super) level: usize,
    pub(super) group: Option<usize>,
    pub(super) coordinates: Vec<usize>,
    /// Its name, if it stands for several switches.
    pub(super) group_name: String,
    /// Its switches that have hosts.
    pub(super) leaves: usize,
}

impl SwitchBox {
    /// What it stands for: `18 leaves, 324 hosts`.
    pub(super) fn counts(&self) -> String {
        let mut parts = Vec::new();
        let mut add = |count: usize, one: &str, many: &str| {
            if count > 0 {
                let word = if count == 1 { one } else { many };
                parts.push(format!("{count} {word}"));
            }
        };
        if self.nodes.len() > 1 {
            add(self.leaves, "leaf", "leaves");
            let others = self.nodes.len() - self.leaves;
            match self.leaves {
                0 => add(others, "switch", "switches"),
                _ => add(others, "other switch", "other switches"),
            }
        }
        add(self.hosts.len(), "host", "hosts");
        add(
            self.aggregation_nodes,
            "aggregation node",
            "aggregation nodes",
        );
        parts.join(", ")
    }
}

/// The links between two boxes.
#[derive(Debug, Clone)]
pub(super) struct LinkBundle {
    pub(super) ends: [usize; 2],
    pub(super) links: Vec<usize>,
}

/// All boxes, and the bundles between them.
#[derive(Debug)]
pub(super) struct Boxes {
    pub(super) boxes: Vec<SwitchBox>,
    pub(super) bundles: Vec<LinkBundle>,
    /// The box that each node is drawn as, or next to.
    pub(super) box_of: BTreeMap<usize, usize>,
    /// Whether each host is drawn.
    pub(super) draws_hosts: bool,
    /// Whether boxes stand for several switches.
    pub(super) is_grouped: bool,
}

impl Boxes {
    pub(super) fn new(index: &FabricIndex<'_>, detail: DrawingDetail) -> Self {
        let switches = index.switches();
        let keys = match detail {
            DrawingDetail::Switches => switches.iter().map(|s| format!("{s}")).collect(),
            DrawingDetail::Groups => group_keys(index, &switches),
            DrawingDetail::Racks => switches.iter().map(|s| rack(index.name(*s))).collect(),
        };
        let mut boxes: Vec<SwitchBox> = Vec::new();
        let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
        let mut box_of = BTreeMap::new();
        for (switch, key) in switches.iter().zip(keys) {
            let at = *by_key.entry(key).or_insert(boxes.len());
            if at == boxes.len() {
                boxes.push(SwitchBox::default());
            }
            boxes[at].nodes.push(*switch);
            box_of.insert(*switch, at);
        }
        for node in 0..index.fabric.nodes.len() {
            if index.is_switch(node) {
                continue;
            }
            let home = index.switches_at(node).next();
            let Some(at) = home.map(|home| box_of[&home]) else {
                box_of.insert(node, boxes.len());
                boxes.push(SwitchBox {
                    nodes: vec![node],
                    ..SwitchBox::default()
                });
                continue;
            };
            box_of.insert(node, at);
            match index.is_host(node) {
                true => boxes[at].hosts.push(node),
                false => boxes[at].aggregation_nodes += 1,
            }
        }
        for own in &mut boxes {
            complete(index, own);
        }
        name_groups(index, &mut boxes);
        let num_hosts: usize = boxes.iter().map(|own| own.hosts.len()).sum();
        let is_grouped = boxes.iter().any(|own| own.nodes.len() > 1);
        Self {
            bundles: bundles(index, &box_of),
            boxes,
            box_of,
            draws_hosts: num_hosts <= HOSTS_DRAWN_MAX && !is_grouped,
            is_grouped,
        }
    }
}

/// Sets what follows from the switches of a box.
fn complete(index: &FabricIndex<'_>, own: &mut SwitchBox) {
    let places: Vec<_> = own
        .nodes
        .iter()
        .filter_map(|node| index.place(*node))
        .collect();
    own.level = places
        .iter()
        .filter_map(|place| place.level)
        .min()
        .unwrap_or(0);
    own.group = places.first().and_then(|place| place.group);
    own.coordinates = places
        .first()
        .map_or_else(Vec::new, |place| place.coordinates.clone());
    let homes: BTreeSet<usize> = own
        .hosts
        .iter()
        .flat_map(|host| index.switches_at(*host))
        .collect();
    own.leaves = own
        .nodes
        .iter()
        .filter(|node| homes.contains(*node))
        .count();
}

/// The group of each switch.
fn group_keys(index: &FabricIndex<'_>, switches: &[usize]) -> Vec<String> {
    let structure = &index.fabric.structure;
    let has_groups = structure.groups > 1;
    let neighbours = |switch: usize| {
        let others: BTreeSet<usize> = index.switches_at(switch).collect();
        let level = index.place(switch).and_then(|place| place.level);
        format!("{level:?} next to {others:?}")
    };
    let key = |switch: usize| match index.place(switch) {
        Some(place) if has_groups => match place.group {
            Some(group) => format!("group {group}"),
            None => format!("level {:?}", place.level),
        },
        Some(place) if structure.kind == StructureKind::Grid => {
            let sizes = structure.dimensions.iter().map(|dimension| dimension.size);
            let longest = sizes.clone().max();
            let along = sizes
                .clone()
                .position(|size| Some(size) == longest)
                .unwrap_or(0);
            format!("plane {:?}", place.coordinates.get(along))
        }
        Some(_) | None => neighbours(switch),
    };
    switches.iter().map(|switch| key(*switch)).collect()
}

/// A name without its last number: `r07-leaf` for `r07-leaf-12`.
fn rack(name: &str) -> String {
    let description = name.split_once(';').map_or(name, |(_, rest)| rest);
    let system = description.split(':').next().unwrap_or(description);
    let without_number = system.trim_end_matches(|c: char| c.is_ascii_digit());
    without_number
        .trim_end_matches(['-', '_', '.', '/', ' '])
        .to_owned()
}

/// Names boxes of several switches by what the names of their switches share, or by number.
fn name_groups(index: &FabricIndex<'_>, boxes: &mut [SwitchBox]) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (number, own) in boxes.iter_mut().enumerate() {
        if own.nodes.len() < 2 {
            continue;
        }
        // The leaves of a subtree name it.
        let lowest = own.nodes.iter().filter(|node| {
            index
                .place(**node)
                .and_then(|place| place.level)
                .unwrap_or(0)
                == own.level
        });
        let racks: Vec<String> = lowest.map(|node| rack(index.name(*node))).collect();
        let start = racks.iter().skip(1).fold(racks[0].clone(), |shared, name| {
            let pairs = shared.chars().zip(name.chars());
            let same: String = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
            match same == shared && same == *name {
                true => same,
                false => same
                    .trim_end_matches(|c: char| !"-_./ ".contains(c))
                    .to_owned(),
            }
        });
        let shared = start.trim_end_matches(['-', '_', '.', '/', ' ']).to_owned();
        own.group_name = match (own.group, shared.is_empty() || taken.contains(&shared)) {
            (_, false) => shared,
            (Some(group), true) => format!("group {group}"),
            (None, true) => format!("group {number}"),
        };
        taken.insert(own.group_name.clone());
    }
}

fn bundles(index: &FabricIndex<'_>, box_of: &BTreeMap<usize, usize>) -> Vec<LinkBundle> {
    let mut by_ends: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
    for link in 0..index.fabric.links.len() {
        let mut ends = index.ends(link).map(|node| box_of[&node]);
        ends.sort_unstable();
        if ends[0] != ends[1] {
            by_ends.entry(ends).or_default().push(link);
        }
    }
    by_ends
        .into_iter()
        .map(|(ends, links)| LinkBundle { ends, links })
        .collect()
}
