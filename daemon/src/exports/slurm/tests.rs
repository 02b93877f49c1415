//! Properties of topology.conf, on generated and damaged fabrics.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::fabric::{LinkEnd, LinkState};
use ferrosm_mad::attr::NodeType;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim::spec::FabricSpec;
use proptest::prelude::*;

use super::*;
use crate::host_list::host_list;

fn export(spec: &FabricSpec, kind: SlurmTopologyKind) -> SlurmTopology {
    SlurmTopology::new(
        &WholeFabric::of_description(spec),
        kind,
        &NodeNaming::default(),
    )
}

/// The names of a host list with commas, read without the code that writes it.
fn names(list: &str) -> Vec<String> {
    let mut depth = 0;
    let parts = list.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts.flat_map(|part| host_list(part).unwrap()).collect()
}

/// Checks that the lines are one tree with each host once; returns the hosts.
fn check_tree(topology: &SlurmTopology) -> BTreeSet<String> {
    let mut parent: BTreeMap<String, String> = BTreeMap::new();
    let mut known = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for line in &topology.lines {
        let (name, below) = line.split_once(' ').unwrap();
        let name = name.strip_prefix("SwitchName=").unwrap().to_owned();
        assert!(known.insert(name.clone()), "{name} twice");
        let (key, list) = below.split_once('=').unwrap();
        for child in names(list) {
            match key {
                "Nodes" => assert!(hosts.insert(child.clone()), "{child} twice"),
                "Switches" => {
                    // Children are in lines before: there is no cycle.
                    assert!(known.contains(&child), "{child} is not known");
                    let other = parent.insert(child.clone(), name.clone());
                    assert_eq!(other, None, "{child} has two parents");
                }
                _ => panic!("{line}"),
            }
        }
    }
    let tops = known.iter().filter(|name| !parent.contains_key(*name));
    assert!(tops.count() <= 1, "{:#?}", topology.lines);
    hosts
}

fn hosts_of(spec: &FabricSpec) -> BTreeSet<String> {
    let hosts = spec.nodes.iter().filter(|node| node.kind == NodeType::Ca);
    let words = hosts.filter(|node| !node.description.contains("Aggregation Node"));
    words
        .map(|node| node.description.split(' ').next().unwrap().to_owned())
        .collect()
}

fn without_links(mut spec: FabricSpec, lost: &[usize]) -> FabricSpec {
    for at in lost {
        if !spec.links.is_empty() {
            let at = at % spec.links.len();
            spec.links.swap_remove(at);
        }
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the fabric and its damage: a tree, with every host once; the order of nodes and
    /// links does not matter.
    #[test]
    fn any_fabric_is_one_tree_with_every_host_once(
        shape in prop::sample::select(vec![
            "fat-tree:4", "fat-tree:6", "fat-tree2:8,4,3", "xgft:3,4,5/1,2,3", "pgft:4,3/1,2/1,2",
            "rail-pods:2,4,8,2,0", "torus:4,3,2,2", "mesh:3,3,1", "hyperx:3,4,2", "dragonfly:4,9,2,2",
            "dragonfly+:5,2,2,2,3", "random:12,4,2,7", "ring:5,2", "star:7", "back-to-back",
            "fat-tree:4;sharp",
        ]),
        lost in prop::collection::vec(any::<usize>(), 0..40),
        turn in any::<usize>(),
    ) {
        let spec = without_links(from_spec(shape).unwrap(), &lost);
        let topology = export(&spec, SlurmTopologyKind::Tree);
        prop_assert_eq!(&check_tree(&topology), &hosts_of(&spec), "{:#?}", topology.lines);
        prop_assert_eq!(topology.unnamed.len(), 0);
        let mut turned = WholeFabric::of_description(&spec);
        let by = turn % turned.links.len().max(1);
        turned.links.rotate_left(by);
        let again = SlurmTopology::new(&turned, SlurmTopologyKind::Tree, &NodeNaming::default());
        prop_assert_eq!(&again.lines, &topology.lines);
        let blocks = export(&spec, SlurmTopologyKind::Block);
        let in_blocks: Vec<String> = blocks
            .lines
            .iter()
            .filter_map(|line| line.split_once(" Nodes="))
            .flat_map(|(_, list)| names(list))
            .collect();
        let distinct: BTreeSet<String> = in_blocks.iter().cloned().collect();
        prop_assert_eq!(in_blocks.len(), distinct.len());
        let mut all = distinct;
        all.extend(blocks.unconnected);
        prop_assert_eq!(all, hosts_of(&spec));
    }
}

#[test]
fn levels_of_a_tree_have_names_of_their_leaves() {
    let topology = export(&from_spec("fat-tree:4").unwrap(), SlurmTopologyKind::Tree);
    let expected = [
        "SwitchName=leaf-0-0 Nodes=host-0-0-[0-1]",
        "SwitchName=leaf-0-1 Nodes=host-0-1-[0-1]",
        "SwitchName=leaf-1-0 Nodes=host-1-0-[0-1]",
        "SwitchName=leaf-1-1 Nodes=host-1-1-[0-1]",
        "SwitchName=leaf-2-0 Nodes=host-2-0-[0-1]",
        "SwitchName=leaf-2-1 Nodes=host-2-1-[0-1]",
        "SwitchName=leaf-3-0 Nodes=host-3-0-[0-1]",
        "SwitchName=leaf-3-1 Nodes=host-3-1-[0-1]",
        "SwitchName=level2-leaf-0 Switches=leaf-0-[0-1]",
        "SwitchName=level2-leaf-1 Switches=leaf-1-[0-1]",
        "SwitchName=level2-leaf-2 Switches=leaf-2-[0-1]",
        "SwitchName=level2-leaf-3 Switches=leaf-3-[0-1]",
        "SwitchName=level3 Switches=level2-leaf-[0-3]",
    ];
    assert_eq!(topology.lines, expected);
}

/// Hosts with a rail on each of several leaves are one node, under one switch for these leaves; a
/// missing rail changes nothing.
#[test]
fn rails_of_a_host_are_merged() {
    let spec = from_spec("rail-pods:2,4,8,2,0").unwrap();
    let topology = export(&spec, SlurmTopologyKind::Tree);
    assert_eq!(topology.num_hosts, 8, "{:#?}", topology.lines);
    assert_eq!(topology.lines.len(), 3, "{:#?}", topology.lines);
    let host = spec
        .nodes
        .iter()
        .position(|node| node.kind == NodeType::Ca)
        .unwrap();
    let rail = spec
        .links
        .iter()
        .position(|link| [link.a.node, link.b.node].contains(&host));
    let damaged = without_links(spec, &[rail.unwrap()]);
    assert_eq!(
        export(&damaged, SlurmTopologyKind::Tree).lines,
        topology.lines
    );
}

/// A host whose adapter was moved is at the switch of its link that is up. Hosts without any link
/// are in no block.
#[test]
fn links_that_are_down_do_not_count() {
    let spec = from_spec("fat-tree2:4,4,2").unwrap();
    let mut fabric = WholeFabric::of_description(&spec);
    let naming = NodeNaming::default();
    let blocks = |fabric: &WholeFabric| {
        let topology = SlurmTopology::new(fabric, SlurmTopologyKind::Block, &naming);
        (topology.lines, topology.unconnected)
    };
    let (whole, none) = blocks(&fabric);
    assert_eq!(none.len(), 0);
    let is_host = |end: &LinkEnd| end.name.starts_with("host-");
    let at = |fabric: &WholeFabric| {
        let of_host = fabric
            .links
            .iter()
            .position(|l| is_host(&l.a) || is_host(&l.b));
        of_host.unwrap()
    };
    let link = at(&fabric);
    let mut left = fabric.links[link].clone();
    left.state = LinkState::Down;
    let other = fabric
        .links
        .iter()
        .rfind(|l| is_host(&l.a) || is_host(&l.b));
    let leaf = other.map(|l| if is_host(&l.a) { &l.b } else { &l.a });
    let leaf = leaf.unwrap().clone();
    let end = if is_host(&left.a) {
        &mut left.b
    } else {
        &mut left.a
    };
    assert_ne!(end.guid, leaf.guid);
    *end = leaf;
    fabric.links.insert(0, left);
    assert_eq!(blocks(&fabric), (whole.clone(), Vec::new()));

    fabric.links.remove(0);
    fabric.links.remove(link);
    let (lines, unconnected) = blocks(&fabric);
    assert_eq!(unconnected.len(), 1);
    assert_eq!(lines.len(), whole.len());
    assert!(
        lines.iter().all(|line| !line.contains("no-switch")),
        "{lines:?}"
    );
}

#[test]
fn substitutions_and_maps_name_hosts() {
    let mut spec = from_spec("star:3").unwrap();
    let hosts = spec
        .nodes
        .iter_mut()
        .filter(|node| node.kind == NodeType::Ca);
    let descriptions = [
        "node_a HCA-1",
        "node_b-ib0 mlx5_0",
        "MT4123 ConnectX6 Mellanox Technologies",
    ];
    for (host, description) in hosts.zip(descriptions) {
        description.clone_into(&mut host.description);
    }
    let fabric = WholeFabric::of_description(&spec);
    let mut naming = NodeNaming::default();
    let nodes = |naming: &NodeNaming| SlurmTopology::new(&fabric, SlurmTopologyKind::Tree, naming);
    let topology = nodes(&naming);
    assert!(
        topology.lines[0].ends_with("Nodes=node_a,node_b-ib0"),
        "{:?}",
        topology.lines
    );
    assert_eq!(topology.unnamed.len(), 1);
    naming
        .substitutions
        .push("s/(-ib0)? (mlx5|HCA).*//".parse().unwrap());
    naming
        .substitutions
        .push(r"s|node_(.)|n-\1|".parse().unwrap());
    let unnamed = fabric
        .nodes
        .iter()
        .find(|node| node.name.starts_with("MT"))
        .unwrap();
    naming
        .read_map(&format!("# map\n{} \"node_c\"\n", unnamed.guid))
        .unwrap();
    let topology = nodes(&naming);
    assert_eq!((topology.num_hosts, topology.unnamed.len()), (3, 0));
    assert!(naming.read_map("0x1 name").is_err());
    for text in ["", "s", "s/a/b", "s/(/b/", "s/a/b/x", "y/a/b/"] {
        assert!(text.parse::<names::Substitution>().is_err(), "{text}");
    }
}

/// A file in another order, with other ranges, comments and line breaks is the same; a moved host
/// is two lines.
#[test]
fn files_differ_by_what_they_say() {
    let read = |text: &str| TopologyFile::read(text).unwrap();
    let wanted =
        read("SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n4\nSwitchName=t Switches=a,b\n");
    let same = "# c\nswitchname=t Switches=a,b LinkSpeed=10\nSwitchName=b Nodes=n4 # x\nSwitchName=a \\\n Nodes=n3,n[1,2]\n";
    assert_eq!(difference(&read(same), &wanted), Vec::<String>::new());
    let moved = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b\n";
    assert_eq!(
        difference(&read(moved), &wanted),
        [
            "- SwitchName=a Nodes=n[1-2]",
            "+ SwitchName=a Nodes=n[1-3]",
            "- SwitchName=b Nodes=n[3-4]",
            "+ SwitchName=b Nodes=n4"
        ]
    );
    assert_eq!(difference(&read(""), &wanted).len(), 3);
    for text in [
        "SwitchName=a Nodes",
        "SwitchName=a Nodes=n[\n",
        "SwitchName=a\nSwitchName=a\n",
    ] {
        assert!(TopologyFile::read(text).is_err(), "{text}");
    }
}
