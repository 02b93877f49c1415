//! The tree of switches that Slurm gets.
//!
//! The lowest ones are *attachments*: a leaf switch, or the leaves that the same hosts are
//! connected to with their rails. A host whose rails are at leaves of several attachments belongs
//! to the one with most of them, so that one host with unusual cables or a missing link changes
//! nothing else. Above are the parts of the structure, level by level, and one switch at the top.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::structure::StructureKind;

use super::names::{HostsByName, NodeNaming};
use crate::exports::natural_order::natural_order;
use crate::whole_fabric::FabricIndex;

/// A switch in topology.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlurmSwitch {
    pub(super) name: String,
    pub(super) hosts: Vec<String>,
    /// Names of the switches below it; none if it has hosts.
    pub(super) children: Vec<String>,
}

/// All switches: each after those below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) switches: Vec<SlurmSwitch>,
    /// The name of the one that stands for no switch: its hosts have no link to any.
    no_switch: Option<String>,
}

impl Hierarchy {
    pub(super) fn new(index: &FabricIndex<'_>, hosts: HostsByName, naming: &NodeNaming) -> Self {
        let mut builder = Builder {
            index,
            naming,
            taken: BTreeSet::new(),
            switches: Vec::new(),
            no_switch: None,
        };
        let mut nodes = builder.attachments(hosts);
        for level in levels(index) {
            nodes = builder.group(nodes, &level);
        }
        if nodes.len() > 1 {
            let top = format!("level{}", builder.height() + 1);
            builder.add(&top, &nodes);
        }
        Self {
            switches: builder.switches,
            no_switch: builder.no_switch,
        }
    }

    /// The switches with hosts.
    pub(super) fn with_hosts(&self) -> impl Iterator<Item = &SlurmSwitch> {
        let is_real = |switch: &SlurmSwitch| self.no_switch.as_ref() != Some(&switch.name);
        let lowest = self.switches.iter().filter(|s| s.children.is_empty());
        lowest.filter(move |switch| is_real(switch))
    }

    /// Hosts that have no link to a switch.
    pub(super) fn unconnected_hosts(&self) -> &[String] {
        let mut switches = self.switches.iter();
        let found = switches.find(|switch| self.no_switch.as_ref() == Some(&switch.name));
        found.map_or(&[], |switch| &switch.hosts)
    }
}

/// Sets of switches that belong together at a level: a part for each switch that has one.
struct Level {
    /// What its switches are called if they have no name in common.
    word: String,
    part: BTreeMap<usize, usize>,
}

/// The levels of the structure, from the lowest.
fn levels(index: &FabricIndex<'_>) -> Vec<Level> {
    let structure = &index.fabric.structure;
    let placed = || {
        let places = structure.switches.iter();
        places.filter_map(|place| Some((index.node(&place.guid)?, place)))
    };
    match structure.kind {
        StructureKind::Tree => (1..structure.levels.saturating_sub(1))
            .map(|top| {
                let is_below = |node: usize| {
                    index
                        .place(node)
                        .and_then(|p| p.level)
                        .is_some_and(|l| l <= top)
                };
                let members: Vec<usize> = placed()
                    .map(|(node, _)| node)
                    .filter(|n| is_below(*n))
                    .collect();
                let mut parts = Parts::default();
                for node in members {
                    parts.add(node);
                    for other in index.switches_at(node).filter(|n| is_below(*n)) {
                        parts.join(node, other);
                    }
                }
                Level {
                    word: format!("level{}", top + 1),
                    part: parts.by_member(),
                }
            })
            .collect(),
        StructureKind::Dragonfly => vec![Level {
            word: "group".to_owned(),
            part: placed()
                .filter_map(|(node, place)| Some((node, place.group?)))
                .collect(),
        }],
        StructureKind::Grid => {
            let sizes = structure.dimensions.iter().map(|dimension| dimension.size);
            let longest = sizes.clone().max();
            let along = sizes.clone().position(|size| Some(size) == longest);
            let is_plane = structure.dimensions.len() > 1;
            let Some(along) = along.filter(|_| is_plane) else {
                return Vec::new();
            };
            let part =
                placed().filter_map(|(node, place)| Some((node, *place.coordinates.get(along)?)));
            vec![Level {
                word: "plane".to_owned(),
                part: part.collect(),
            }]
        }
        StructureKind::Unknown => Vec::new(),
    }
}

/// Disjoint sets.
#[derive(Debug, Default)]
struct Parts {
    parent: BTreeMap<usize, usize>,
}

impl Parts {
    fn add(&mut self, member: usize) {
        self.parent.entry(member).or_insert(member);
    }

    /// The member that stands for the set of a member: the least one.
    fn of(&mut self, member: usize) -> usize {
        self.add(member);
        let mut root = member;
        while self.parent[&root] != root {
            root = self.parent[&root];
        }
        self.parent.insert(member, root);
        root
    }

    fn join(&mut self, a: usize, b: usize) {
        let [a, b] = [self.of(a), self.of(b)];
        self.parent.insert(a.max(b), a.min(b));
    }

    fn by_member(mut self) -> BTreeMap<usize, usize> {
        let members: Vec<usize> = self.parent.keys().copied().collect();
        members
            .into_iter()
            .map(|member| (member, self.of(member)))
            .collect()
    }
}

/// A switch of the file that has no parent yet.
struct Unparented {
    name: String,
    /// Names of the leaves below it.
    leaf_names: Vec<String>,
    leaves: Vec<usize>,
}

struct Builder<'f> {
    index: &'f FabricIndex<'f>,
    naming: &'f NodeNaming,
    /// Names in use.
    taken: BTreeSet<String>,
    switches: Vec<SlurmSwitch>,
    /// [`Hierarchy::no_switch`].
    no_switch: Option<String>,
}

impl Builder<'_> {
    /// Adds the lowest switches, with all hosts.
    fn attachments(&mut self, hosts: HostsByName) -> Vec<Unparented> {
        let index = self.index;
        let leaves_of: BTreeMap<&str, Vec<usize>> = hosts
            .iter()
            .map(|(name, nodes)| {
                // A link that is down may be where the host was before.
                let of_up = nodes.iter().flat_map(|node| index.switches_at_up(*node));
                let mut leaves: Vec<usize> = of_up.collect();
                if leaves.is_empty() {
                    let all = nodes.iter().flat_map(|node| index.switches_at(*node));
                    leaves = all.collect();
                }
                (name.as_str(), leaves)
            })
            .collect();
        let attachment = attachments_of_leaves(&leaves_of);
        // By the leaf that stands for the attachment; `None`: hosts without a switch.
        let mut members: BTreeMap<Option<usize>, Vec<String>> = BTreeMap::new();
        for (name, leaves) in &leaves_of {
            let mut rails: BTreeMap<usize, usize> = BTreeMap::new();
            for leaf in leaves {
                *rails.entry(attachment[leaf]).or_default() += 1;
            }
            let most = rails.values().max().copied();
            let of = rails.iter().find(|(_, count)| Some(**count) == most);
            let hosts = members.entry(of.map(|(of, _)| *of)).or_default();
            hosts.push((*name).to_owned());
        }
        let mut found: Vec<Unparented> = Vec::new();
        let mut hosts_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let leaves_in = |of: Option<usize>| -> Vec<usize> {
            let own = attachment.iter().filter(|(_, own)| Some(**own) == of);
            own.map(|(leaf, _)| *leaf).collect()
        };
        let sets: Vec<(Vec<usize>, Vec<String>)> = members
            .into_iter()
            .map(|(of, hosts)| (leaves_in(of), hosts))
            .collect();
        let names: Vec<Vec<String>> = sets
            .iter()
            .map(|(leaves, _)| self.leaf_names(leaves))
            .collect();
        let stems = unique_stems(&names);
        for (((leaves, mut hosts), leaf_names), stem) in sets.into_iter().zip(names).zip(stems) {
            let wanted = match (&leaf_names[..], stem) {
                ([], _) => "no-switch".to_owned(),
                ([one], _) => one.clone(),
                (_, Some(stem)) => stem,
                ([first, ..], None) => first.clone(),
            };
            hosts.sort_by(|a, b| natural_order(a, b));
            let name = self.free_name(&wanted);
            if leaf_names.is_empty() {
                self.no_switch = Some(name.clone());
            }
            hosts_of.insert(name.clone(), hosts);
            found.push(Unparented {
                name,
                leaf_names,
                leaves,
            });
        }
        found.sort_by(|a, b| natural_order(&a.name, &b.name));
        for attachment in &found {
            self.switches.push(SlurmSwitch {
                name: attachment.name.clone(),
                hosts: hosts_of.remove(&attachment.name).unwrap_or_default(),
                children: Vec::new(),
            });
        }
        found
    }

    /// Adds a switch for each part of a level. Nothing if the parts are those of the level below,
    /// or there is only one.
    fn group(&mut self, nodes: Vec<Unparented>, level: &Level) -> Vec<Unparented> {
        let mut parts = Parts::default();
        // Parts have the numbers after those of the nodes.
        let offset = nodes.len();
        for (i, node) in nodes.iter().enumerate() {
            parts.add(i);
            for part in node.leaves.iter().filter_map(|leaf| level.part.get(leaf)) {
                parts.join(i, offset + part);
            }
        }
        let set: Vec<usize> = (0..offset).map(|i| parts.of(i)).collect();
        let count = set.iter().collect::<BTreeSet<_>>().len();
        if count == 1 || count == offset {
            return nodes;
        }
        let mut members: BTreeMap<usize, Vec<Unparented>> = BTreeMap::new();
        for (node, of) in nodes.into_iter().zip(set) {
            members.entry(of).or_default().push(node);
        }
        let members: Vec<Vec<Unparented>> = members.into_values().collect();
        let names: Vec<Vec<String>> = members
            .iter()
            .map(|nodes| {
                nodes
                    .iter()
                    .flat_map(|node| node.leaf_names.clone())
                    .collect()
            })
            .collect();
        let stems = unique_stems(&names);
        let mut found = Vec::new();
        for (number, (nodes, stem)) in members.into_iter().zip(stems).enumerate() {
            let stem = stem.unwrap_or_else(|| (number + 1).to_string());
            found.push(self.add(&format!("{}-{stem}", level.word), &nodes));
        }
        found
    }

    /// Adds a switch above others.
    fn add(&mut self, wanted: &str, nodes: &[Unparented]) -> Unparented {
        let name = self.free_name(wanted);
        self.switches.push(SlurmSwitch {
            name: name.clone(),
            hosts: Vec::new(),
            children: nodes.iter().map(|node| node.name.clone()).collect(),
        });
        Unparented {
            name,
            leaf_names: nodes
                .iter()
                .flat_map(|node| node.leaf_names.clone())
                .collect(),
            leaves: nodes.iter().flat_map(|node| node.leaves.clone()).collect(),
        }
    }

    /// Levels of switches so far.
    fn height(&self) -> usize {
        let mut height: BTreeMap<&str, usize> = BTreeMap::new();
        for switch in &self.switches {
            let below = switch.children.iter().map(|name| height[name.as_str()]);
            let own = 1 + below.max().unwrap_or(0);
            height.insert(&switch.name, own);
        }
        height.into_values().max().unwrap_or(0)
    }

    /// Names of switches, in order.
    fn leaf_names(&self, leaves: &[usize]) -> Vec<String> {
        let mut names: Vec<String> = leaves
            .iter()
            .map(|leaf| self.naming.switch_name(self.index, *leaf))
            .collect();
        names.sort_by(|a, b| natural_order(a, b));
        names
    }

    /// A name that no other switch has: the wanted one, or with a number.
    fn free_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}-{number}");
            number += 1;
        }
        name
    }
}

/// The attachment of each leaf: leaves are one attachment if most hosts of each of them are
/// connected to the same leaves.
fn attachments_of_leaves(leaves_of: &BTreeMap<&str, Vec<usize>>) -> BTreeMap<usize, usize> {
    let mut counts: BTreeMap<usize, BTreeMap<BTreeSet<usize>, usize>> = BTreeMap::new();
    for leaves in leaves_of.values() {
        let set: BTreeSet<usize> = leaves.iter().copied().collect();
        for leaf in &set {
            *counts
                .entry(*leaf)
                .or_default()
                .entry(set.clone())
                .or_default() += 1;
        }
    }
    let usual: BTreeMap<usize, &BTreeSet<usize>> = counts
        .iter()
        .filter_map(|(leaf, sets)| {
            // Of equally many, the set with more leaves.
            let most = sets.iter().max_by_key(|(set, count)| (**count, set.len()));
            most.map(|(set, _)| (*leaf, set))
        })
        .collect();
    let mut parts = Parts::default();
    for (leaf, set) in &usual {
        parts.add(*leaf);
        for other in set.iter().filter(|other| usual[other] == *set) {
            parts.join(*leaf, *other);
        }
    }
    parts.by_member()
}

/// What the names of each set have in common, without their last numbers: `leaf-0` for `leaf-0-0`
/// and `leaf-0-1`. `None`: nothing, or the same as in another set.
fn unique_stems(sets: &[Vec<String>]) -> Vec<Option<String>> {
    let stems: Vec<Option<String>> = sets.iter().map(|names| stem(names)).collect();
    let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for stem in &stems {
        *counts.entry(stem.clone()).or_default() += 1;
    }
    let is_unique = |stem: &Option<String>| counts[stem] == 1;
    stems
        .iter()
        .map(|stem| stem.clone().filter(|_| is_unique(stem)))
        .collect()
}

fn stem(names: &[String]) -> Option<String> {
    let separators = ['-', '_', '.'];
    let cut = |name: &str| {
        let without_number = name.trim_end_matches(|c: char| c.is_ascii_digit());
        without_number.trim_end_matches(separators).to_owned()
    };
    let (first, others) = names.split_first()?;
    let mut stem = cut(first);
    for name in others {
        let name = cut(name);
        let common = stem
            .bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        if common < stem.len() || common < name.len() {
            // Not in the middle of a word or number.
            let shared = &stem[..common];
            let is_whole = [&stem, &name]
                .iter()
                .all(|n| n[common..].is_empty() || n[common..].starts_with(separators));
            let end = if is_whole {
                Some(common)
            } else {
                shared.rfind(separators)
            };
            stem = shared[..end.unwrap_or(0)]
                .trim_end_matches(separators)
                .to_owned();
        }
    }
    (!stem.is_empty()).then_some(stem)
}
