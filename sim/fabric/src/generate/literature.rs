//! Checks shapes against their definitions in the literature: degrees, distances and common
//! ancestors.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::spec::NodeIdx;

/// The graph of switches and their links.
struct SwitchGraph {
    spec: FabricSpec,
    next: BTreeMap<NodeIdx, Vec<NodeIdx>>,
}

impl SwitchGraph {
    fn of(text: &str) -> Self {
        let spec = from_spec(text).unwrap();
        let mut next: BTreeMap<NodeIdx, Vec<NodeIdx>> = spec
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| n.kind == NodeType::Switch)
            .map(|(i, _)| (i, Vec::new()))
            .collect();
        for link in &spec.links {
            if next.contains_key(&link.a.node) && next.contains_key(&link.b.node) {
                next.get_mut(&link.a.node).unwrap().push(link.b.node);
                next.get_mut(&link.b.node).unwrap().push(link.a.node);
            }
        }
        Self { spec, next }
    }

    fn distances(&self, from: NodeIdx) -> BTreeMap<NodeIdx, usize> {
        let mut distances = BTreeMap::from([(from, 0)]);
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            let distance = distances[&at] + 1;
            for next in &self.next[&at] {
                if !distances.contains_key(next) {
                    distances.insert(*next, distance);
                    queue.push_back(*next);
                }
            }
        }
        distances
    }

    /// The largest distance between the switches whose names `selects` accepts.
    fn diameter(&self, selects: impl Fn(&str) -> bool) -> usize {
        let selected: BTreeSet<_> = self
            .next
            .keys()
            .filter(|n| selects(self.name(**n)))
            .collect();
        let eccentricity = |from: &NodeIdx| {
            let found = self.distances(*from);
            selected.iter().map(|to| found[to]).max().unwrap()
        };
        selected.iter().map(|n| eccentricity(n)).max().unwrap()
    }

    fn name(&self, node: NodeIdx) -> &str {
        &self.spec.nodes[node].description
    }

    fn named(&self, start: &str) -> Vec<NodeIdx> {
        let all = self.next.keys().copied();
        all.filter(|n| self.name(*n).starts_with(start)).collect()
    }

    fn degrees(&self) -> BTreeSet<usize> {
        self.next.values().map(Vec::len).collect()
    }

    fn is_simple(&self) -> bool {
        let twice = |list: &Vec<NodeIdx>| list.iter().collect::<BTreeSet<_>>().len() < list.len();
        !self
            .next
            .iter()
            .any(|(n, list)| twice(list) || list.contains(n))
    }
}

#[test]
fn slim_flies_have_diameter_two_and_the_degree_of_their_definition() {
    for (q, degree) in [
        (3, 5),
        (4, 6),
        (5, 7),
        (7, 11),
        (8, 12),
        (9, 13),
        (11, 17),
        (13, 19),
        (16, 24),
    ] {
        let graph = SwitchGraph::of(&format!("slim-fly:{q},1"));
        assert_eq!(graph.next.len(), 2 * q * q);
        assert_eq!(graph.degrees(), BTreeSet::from([degree]), "{q}");
        assert!(graph.is_simple(), "{q}");
        assert_eq!(graph.diameter(|_| true), 2, "{q}");
    }
}

#[test]
fn the_slim_fly_of_five_is_the_hoffman_singleton_graph() {
    // The only graph with 50 nodes, degree 7 and girth 5: adjacent nodes have no common neighbour,
    // other pairs one.
    let graph = SwitchGraph::of("slim-fly:5,1");
    for (a, of_a) in &graph.next {
        for (b, of_b) in graph.next.range(a + 1..) {
            let shared = of_a.iter().filter(|n| of_b.contains(n)).count();
            assert_eq!(shared, usize::from(!of_a.contains(b)));
        }
    }
}

#[test]
fn diameter_of_a_hyperx_is_its_number_of_dimensions() {
    for (text, degree, diameter) in [
        ("hyperx:3,4,1", 5, 2),
        ("hyperx:1,4,1", 3, 1),
        ("hyperx:3x3x3,1", 6, 3),
        ("hyperx:2x2x2x2,1", 4, 4),
    ] {
        let graph = SwitchGraph::of(text);
        assert!(graph.is_simple());
        assert_eq!(graph.degrees(), BTreeSet::from([degree]), "{text}");
        assert_eq!(graph.diameter(|_| true), diameter, "{text}");
    }
}

#[test]
fn diameter_of_a_dragonfly_is_three() {
    // One link per pair of groups: G = A * H + 1.
    for (a, h) in [(4, 2), (3, 3), (6, 1), (2, 1)] {
        let g = a * h + 1;
        let graph = SwitchGraph::of(&format!("dragonfly:{a},{g},{h},1"));
        assert!(graph.is_simple());
        assert_eq!(graph.degrees(), BTreeSet::from([a - 1 + h]));
        assert_eq!(graph.diameter(|_| true), 3, "{a},{g},{h}");
    }
}

#[test]
fn leaves_of_a_dragonfly_plus_are_two_hops_apart_in_a_group_and_three_between_groups() {
    let graph = SwitchGraph::of("dragonfly+:9,4,4,2,1");
    assert!(graph.is_simple());
    assert_eq!(graph.diameter(|name| name.starts_with("leaf-3-")), 2);
    assert_eq!(graph.diameter(|name| name.starts_with("leaf-")), 3);
    for spine in graph.named("spine-") {
        assert_eq!(graph.next[&spine].len(), 4 + 2);
    }
}

#[test]
fn diameter_of_a_grid_follows_from_its_sides() {
    for (text, diameter) in [
        ("torus:5,4,3,1", 2 + 2 + 1),
        ("torus:2,2", 2),
        ("mesh:5,4,3,1", 4 + 3 + 2),
        ("ring:7", 3),
        ("ring:8", 4),
    ] {
        assert_eq!(SwitchGraph::of(text).diameter(|_| true), diameter, "{text}");
    }
}

#[test]
fn diameter_of_a_fat_tree_is_four_and_all_ports_are_used() {
    let graph = SwitchGraph::of("fat-tree:6");
    assert_eq!(graph.diameter(|n| n.starts_with("leaf-")), 4);
    let mut cables = vec![0; graph.spec.nodes.len()];
    for link in &graph.spec.links {
        cables[link.a.node] += 1;
        cables[link.b.node] += 1;
    }
    assert!(graph.next.keys().all(|n| cables[*n] == 6));
    // Every core is a common ancestor of two leaves in different pods: (K/2)^2 paths.
    let pair = (graph.named("leaf-0-0")[0], graph.named("leaf-5-2")[0]);
    let (from, to) = (graph.distances(pair.0), graph.distances(pair.1));
    let cores = graph.named("core-");
    let between = cores.iter().filter(|c| from[c] == 2 && to[c] == 2);
    assert_eq!(between.count(), 9);
}

/// Ancestors of a level 1 switch, by level.
fn ancestors(graph: &SwitchGraph, leaf: NodeIdx, levels: usize) -> Vec<BTreeSet<NodeIdx>> {
    let mut sets = vec![BTreeSet::from([leaf])];
    for level in 2..=levels {
        let start = format!("level{level}-");
        let up = sets
            .last()
            .unwrap()
            .iter()
            .flat_map(|n| &graph.next[n])
            .filter(|n| graph.name(**n).starts_with(&start));
        sets.push(up.copied().collect());
    }
    sets
}

#[test]
fn common_ancestors_of_pgft_leaves_follow_from_its_widths() {
    // The first two have constant bisection: Mi Pi = Wi+1 Pi+1 below every level but the top.
    for (m, w, p) in [
        ([4, 4, 2], [1, 4, 4], [1, 1, 1]),
        ([6, 3, 4], [1, 3, 3], [1, 2, 1]),
        ([2, 3, 2], [1, 2, 3], [1, 3, 2]),
    ] {
        let list = |n: [usize; 3]| format!("{},{},{}", n[0], n[1], n[2]);
        let graph = SwitchGraph::of(&format!("pgft:{}/{}/{}", list(m), list(w), list(p)));
        let leaves = graph.named("level1-");
        assert_eq!(leaves.len(), m[1] * m[2]);
        for (i, a) in leaves.iter().enumerate() {
            for b in &leaves[i + 1..] {
                let (of_a, of_b) = (ancestors(&graph, *a, 3), ancestors(&graph, *b, 3));
                let common_level = (1..=3)
                    .find(|l| !of_a[l - 1].is_disjoint(&of_b[l - 1]))
                    .unwrap();
                // The highest label digit in which they differ determines the level of their common
                // ancestors.
                let digits = |n: &NodeIdx| {
                    graph
                        .name(*n)
                        .split('-')
                        .skip(1)
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                };
                let (da, db) = (digits(a), digits(b));
                let expected = if da[0] == db[0] { 2 } else { 3 };
                assert_eq!(common_level, expected);
                let common = of_a[common_level - 1]
                    .intersection(&of_b[common_level - 1])
                    .count();
                assert_eq!(common, w[1..common_level].iter().product::<usize>());
            }
        }
        // Links between two nodes of adjacent levels: exactly Pi, or none.
        for (level, parallel) in [(1, p[1]), (2, p[2])] {
            let start = format!("level{}-", level + 1);
            for node in graph.named(&format!("level{level}-")) {
                let mut times = BTreeMap::new();
                for up in graph.next[&node]
                    .iter()
                    .filter(|n| graph.name(**n).starts_with(&start))
                {
                    *times.entry(up).or_insert(0) += 1;
                }
                assert_eq!(times.len(), w[level]);
                assert!(times.values().all(|n| *n == parallel));
            }
        }
    }
}

#[test]
fn xgft_levels_have_the_defined_width() {
    let graph = SwitchGraph::of("xgft:3,4,5/1,2,3");
    let widths: Vec<_> = (1..=3)
        .map(|l| graph.named(&format!("level{l}-")).len())
        .collect();
    assert_eq!(widths, [4 * 5, 5 * 2, 2 * 3]);
    assert_eq!(graph.spec.ca_count(), 60);
    // Two parents of a host form two planes, which have only the hosts in common.
    let planes = SwitchGraph::of("xgft:3,2/2,2");
    let found = planes.distances(planes.named("level1-")[0]);
    assert_eq!(found.len() * 2, planes.next.len());
}

#[test]
fn pgft_links_are_numbered_round_robin() {
    // Zahavi's numbering: link k from child a to parent b uses up port b + k * W and down port a +
    // k * M.
    let graph = SwitchGraph::of("pgft:2,3/1,2/1,2");
    for link in &graph.spec.links {
        let ends =
            [link.a, link.b].map(|e| (graph.spec.nodes[e.node].description.as_str(), e.port));
        let Some((child, up)) = ends.iter().find(|e| e.0.starts_with("level1-")) else {
            continue;
        };
        let Some((parent, down)) = ends.iter().find(|e| e.0.starts_with("level2-")) else {
            continue;
        };
        let digit = |name: &str| name.split('-').nth(1).unwrap().parse::<u8>().unwrap();
        // Ports of the leaf's two hosts come first.
        let (up, down) = (up - 3, down - 1);
        assert_eq!(up % 2, digit(parent), "{ends:?}");
        assert_eq!(down % 3, digit(child), "{ends:?}");
        assert_eq!(up / 2, down / 3, "{ends:?}");
    }
}

#[test]
fn rails_of_gpu_pods_are_disjoint_below_the_spines() {
    // Scalable units of 32 servers with 8 GPUs: switch counts of NVIDIA's reference architecture.
    for (text, leaves, spines, cores) in [
        ("rail-pods:1,32,8", 8, 4, 0),
        ("rail-pods:2,32,8,8,0", 16, 8, 0),
        ("rail-pods:4,32,8,16,0", 32, 16, 0),
        ("rail-pods:16,32,8", 128, 128, 64),
    ] {
        let graph = SwitchGraph::of(text);
        let count = |part: &str| {
            let all = graph.next.keys();
            all.filter(|n| graph.name(**n).contains(part)).count()
        };
        assert_eq!(
            (count("leaf"), count("spine"), count("core")),
            (leaves, spines, cores),
            "{text}"
        );
        assert!(graph.next.values().all(|n| n.len() <= 64));
    }
    let graph = SwitchGraph::of("rail-pods:2,3,4");
    for link in &graph.spec.links {
        let link_ends = [link.a, link.b].map(|e| graph.spec.nodes[e.node].description.clone());
        let Some((server, rail)) = link_ends.iter().find_map(|e| e.split_once(" mlx5_")) else {
            continue;
        };
        let number: usize = server.strip_prefix("dgx").unwrap().parse().unwrap();
        let leaf = format!("pod{:02}-leaf{rail}", (number - 1) / 3);
        assert!(link_ends.contains(&leaf), "{link_ends:?}");
    }
    assert_eq!(graph.spec.nodes[0].description, "dgx01 mlx5_0");
    // Same rail: one leaf; other rail: through a spine; other pod: through a core.
    assert_eq!(graph.diameter(|n| n.starts_with("pod00-leaf")), 2);
    assert_eq!(graph.diameter(|n| n.contains("leaf")), 4);
}

#[test]
fn host_port_n_is_in_plane_n() {
    let spec = from_spec("fat-tree2:8,4,4;planes=3").unwrap();
    let mut seen = 0;
    for link in &spec.links {
        for (port, other) in [(link.a, link.b), (link.b, link.a)] {
            if spec.nodes[port.node].kind == NodeType::Ca {
                let plane = format!("plane-{} leaf", port.port - 1);
                assert!(spec.nodes[other.node].description.starts_with(&plane));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 16 * 3);
}
