//! The linear algorithms, compared with their definitions by removal of every link and switch.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};
use proptest::prelude::*;

use super::single_losses::{Element, single_losses};
use super::*;
use crate::topology::TopologyBuilder;

/// A graph by the number of end ports of each switch, and its links.
fn graph(end_ports: &[u8], links: &[(usize, usize)]) -> Topology {
    let mut builder = TopologyBuilder::new();
    let lid = |i: usize| Lid(u16::try_from(i + 1).unwrap());
    let switches: Vec<SwitchIdx> = (0..end_ports.len())
        .map(|i| builder.switch(200, lid(i)))
        .collect();
    let mut next_port = vec![0u8; end_ports.len()];
    let mut port = |s: usize| {
        next_port[s] += 1;
        PortNum(next_port[s])
    };
    let mut next_lid = 1000;
    for (s, count) in end_ports.iter().enumerate() {
        for _ in 0..*count {
            next_lid += 1;
            builder.end_port((switches[s], port(s)), Lid(next_lid), 1);
        }
    }
    for &(a, b) in links.iter().filter(|(a, b)| a != b) {
        builder.link((switches[a], port(a)), (switches[b], port(b)));
    }
    builder.build()
}

/// The part of each switch, by a search; `None` for lost switches.
fn parts(topo: &Topology, loss: &Loss) -> Vec<Option<SwitchIdx>> {
    let mut part: Vec<Option<SwitchIdx>> = vec![None; topo.num_switches()];
    for start in topo.switches().filter(|s| !loss.switches.contains(s)) {
        let mut queue = vec![start];
        while let Some(s) = queue.pop() {
            if part[s.index()].is_some() {
                continue;
            }
            part[s.index()] = Some(start);
            let links = topo.links(s).iter().filter(|link| !loss.includes(s, link));
            queue.extend(links.map(|link| link.peer));
        }
    }
    part
}

fn end_ports(topo: &Topology, loss: &Loss) -> Vec<EndPortAt> {
    let all = topo.switches().flat_map(|s| {
        let ends = topo.end_ports(s).iter();
        ends.map(move |end| (s, end.port))
    });
    all.filter(|(s, port)| !loss.includes_end_port(*s, *port))
        .collect()
}

fn elements(topo: &Topology, loss: &Loss) -> Vec<Element> {
    let switches = topo.switches().filter(|s| !loss.switches.contains(s));
    let links = topo.switches().flat_map(|s| {
        let links = topo.links(s).iter();
        let first_ends = links.filter(move |link| {
            !loss.includes(s, link) && (s, link.port) < (link.peer, link.peer_port)
        });
        first_ends.map(move |link| Element::Link(s, link.port))
    });
    switches.map(Element::Switch).chain(links).collect()
}

fn with(loss: &Loss, element: Element) -> Loss {
    let mut both = loss.clone();
    let other = element.loss();
    both.switches.extend(other.switches);
    both.links.extend(other.links);
    both
}

/// By the definitions, with a search for each further loss.
fn by_definition(topo: &Topology, loss: &Loss) -> Connectivity {
    let ports = end_ports(topo, loss);
    let part = parts(topo, loss);
    let size = |of: Option<SwitchIdx>, part: &[Option<SwitchIdx>], ports: &[EndPortAt]| {
        let same = ports.iter().filter(|(s, _)| part[s.index()] == of);
        same.count() as u64
    };
    let starts: BTreeSet<SwitchIdx> = part.iter().copied().flatten().collect();
    let main = starts
        .iter()
        .copied()
        .max_by_key(|s| (size(Some(*s), &part, &ports), core::cmp::Reverse(*s)));
    let lacks_redundancy = |(s, _): &EndPortAt| {
        elements(topo, loss).into_iter().any(|element| {
            if element == Element::Switch(*s) {
                return false;
            }
            let more = with(loss, element);
            let left = end_ports(topo, &more);
            let after = parts(topo, &more);
            let same_part = left
                .iter()
                .filter(|(t, _)| part[t.index()] == part[s.index()]);
            let own = size(after[s.index()], &after, &left);
            2 * own <= same_part.count() as u64
        })
    };
    let in_main = |s: &SwitchIdx| main.is_some() && part[s.index()] == main;
    let all = end_ports(topo, &Loss::default());
    Connectivity {
        is_in_main_part: topo.switches().map(|s| in_main(&s)).collect(),
        connected_pairs: starts
            .iter()
            .map(|s| pairs(size(Some(*s), &part, &ports)))
            .sum(),
        cut_off: all
            .iter()
            .copied()
            .filter(|at| !in_main(&at.0) || !ports.contains(at))
            .collect(),
        cut_off_switches: topo
            .switches()
            .filter(|s| !loss.switches.contains(s) && !in_main(s))
            .collect(),
        without_redundancy: ports
            .iter()
            .copied()
            .filter(|at| in_main(&at.0) && lacks_redundancy(at))
            .collect(),
    }
}

fn small_graph() -> impl Strategy<Value = (Vec<u8>, Vec<(usize, usize)>)> {
    (2..9usize).prop_flat_map(|n| {
        let links = prop::collection::vec((0..n, 0..n), n - 1..3 * n);
        (prop::collection::vec(0..4u8, n), links)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn connectivity_is_as_defined((weights, links) in small_graph(), lost in 0..9usize) {
        let topo = graph(&weights, &links);
        let none = Loss::default();
        prop_assert_eq!(Connectivity::after(&topo, &none), by_definition(&topo, &none));
        let elements = elements(&topo, &none);
        let loss = elements[lost % elements.len()].loss();
        prop_assert_eq!(Connectivity::after(&topo, &loss), by_definition(&topo, &loss));
    }

    /// The effects of all single losses are those of a run for each of them.
    #[test]
    fn single_losses_are_those_of_separate_runs((weights, links) in small_graph()) {
        let topo = graph(&weights, &links);
        let before = Connectivity::after(&topo, &Loss::default());
        let redundant_before = |at: &EndPortAt| {
            !before.without_redundancy.contains(at) && !before.cut_off.contains(at)
        };
        for effect in single_losses(&topo) {
            let after = Connectivity::after(&topo, &effect.element.loss());
            let cut_off = after.cut_off.len() as u64 - before.cut_off.len() as u64;
            let pairs = before.connected_pairs - after.connected_pairs;
            prop_assert_eq!((effect.pairs_cut_off, effect.cut_off), (pairs, cut_off));
            let lost = after.without_redundancy.iter().filter(|at| redundant_before(at));
            if before.cut_off.is_empty() && !matches!(effect.element, Element::Link(s, port) if topo.neighbor(s, port).is_none()) {
                prop_assert_eq!(effect.lose_redundancy, lost.count() as u64, "{:?}", effect.element);
            }
        }
    }
}

/// Two spines, three leaves with two end ports: a leaf loses its redundancy with one uplink, all do
/// with a spine.
#[test]
fn redundancy_of_a_small_tree() {
    let links = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)];
    let topo = graph(&[0, 0, 2, 2, 2], &links);
    let before = Connectivity::after(&topo, &Loss::default());
    assert_eq!(
        (before.connected_pairs, before.without_redundancy.len()),
        (15, 0)
    );
    let effects = single_losses(&topo);
    let of = |element| *effects.iter().find(|e| e.element == element).unwrap();
    let switch = |i: u32| Element::Switch(SwitchIdx(i));
    let uplink = of(Element::Link(SwitchIdx(0), PortNum(1)));
    assert_eq!((uplink.pairs_cut_off, uplink.lose_redundancy), (0, 2));
    assert_eq!(
        (of(switch(0)).cut_off, of(switch(0)).lose_redundancy),
        (0, 6)
    );
    assert_eq!((of(switch(2)).cut_off, of(switch(2)).pairs_cut_off), (2, 9));
    let classes: BTreeSet<usize> = effects.iter().map(|e| e.class).collect();
    assert_eq!(
        classes.len(),
        4,
        "spines, leaves, uplinks, links of end ports"
    );
    assert_eq!(of(switch(0)).class, of(switch(1)).class);
}
