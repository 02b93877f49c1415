//! Installed multicast entries during an update of unicast tables. The removed entries equal those
//! of an independent check, which builds the dependency graph of every phase of the update; the
//! remaining entries form no credit loop.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "test helpers"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::*;
use crate::oracle::{VirtualChannel, dependencies};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::update::transition::groups::{
    GroupEntries, Replacement, mft_entries_to_clear,
};
use ferrosm_routing::update::transition::{Transition, plan_with, trees_in_all_phases};
use ferrosm_routing::{
    Lft, PathSl, PortSet, RerouteCache, Routing, SwitchIdx, Tables, Topology, TreeConstraint,
    VerifiedRun, VlPlan, changed_blocks,
};
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use proptest::prelude::*;

type DependencyGraph = DiGraphMap<VirtualChannel, ()>;

const fn at(s: usize) -> SwitchIdx {
    SwitchIdx(s as u32)
}

/// Union of two dependency graphs.
fn union(a: &DependencyGraph, b: &DependencyGraph) -> DependencyGraph {
    let mut graph = a.clone();
    graph.extend(b.all_edges());
    graph
}

/// Dependencies of a group's packets at one of its switches: packets that arrive over a tree link
/// leave over all others.
fn group_dependencies_at(
    topo: &Topology,
    vl_plan: &VlPlan,
    group: &GroupEntries,
    s: SwitchIdx,
) -> DependencyGraph {
    let mut dependencies = DependencyGraph::new();
    let vl = group.sl % vl_plan.vls.max(1);
    let Some((_, ports)) = group.ports.iter().find(|p| p.0 == s) else {
        return dependencies;
    };
    let links: Vec<PortNum> = ports
        .iter()
        .filter(|p| p.0 <= topo.num_ports(s) && topo.neighbor(s, *p).is_some())
        .collect();
    for &input in &links {
        let (u, peer_port) = topo.neighbor(s, input).unwrap();
        for out in links.iter().filter(|out| **out != input) {
            dependencies.add_edge((u.0, peer_port.0, vl), (s.0, out.0, vl), ());
        }
    }
    dependencies
}

fn group_dependencies(topo: &Topology, vl_plan: &VlPlan, group: &GroupEntries) -> DependencyGraph {
    let parts = group.ports.iter();
    parts.fold(DependencyGraph::new(), |all, (s, _)| {
        union(&all, &group_dependencies_at(topo, vl_plan, group, *s))
    })
}

/// Dependencies if every switch may use any of the next hops that `next` returns for a LID.
fn mixed_dependencies(
    topo: &Topology,
    vl_plan: &VlPlan,
    next: impl Fn(usize, Lid) -> Vec<PortNum>,
) -> DependencyGraph {
    let mut dependencies = DependencyGraph::new();
    for d in topo.destinations() {
        let vl = vl_plan.sl(at(0), d) % vl_plan.vls.max(1);
        let next_hops = |s: SwitchIdx| -> Vec<(SwitchIdx, PortNum)> {
            let ports = next(s.index(), d.lid).into_iter();
            let links = ports.filter(|p| s != d.switch && topo.neighbor(s, *p).is_some());
            links.map(|p| (s, p)).collect()
        };
        let sends = |s: &SwitchIdx| d.port != PortNum::ZERO || !topo.end_ports(*s).is_empty();
        let mut seen = BTreeSet::new();
        let mut pending: Vec<_> = topo.switches().filter(sends).flat_map(next_hops).collect();
        while let Some((s, p)) = pending.pop() {
            if !seen.insert((s, p)) {
                continue;
            }
            for (t, q) in next_hops(topo.neighbor(s, p).unwrap().0) {
                dependencies.add_edge((s.0, p.0, vl), (t.0, q.0, vl), ());
                pending.push((t, q));
            }
        }
    }
    dependencies
}

/// Tables, the order of writes between them, and the installed groups.
struct Case {
    topo: Arc<Topology>,
    old: Vec<Option<Arc<Lft>>>,
    new: Tables,
    vl_plan: VlPlan,
    cache: RerouteCache,
    transition: Transition,
    groups: Vec<GroupEntries>,
}

impl Case {
    fn new(topo: Topology, old: &Tables, new: &Tables, vl_plan: VlPlan) -> Self {
        let old: Vec<Option<Arc<Lft>>> = old.iter().cloned().map(Some).collect();
        let cache = RerouteCache::new();
        let transition = plan_with(&topo, &old, new, &vl_plan, &cache);
        Self {
            topo: Arc::new(topo),
            old,
            new: new.clone(),
            vl_plan,
            cache,
            transition,
            groups: Vec::new(),
        }
    }

    fn replacement<'a>(&'a self, cache: &'a RerouteCache) -> Replacement<'a> {
        Replacement {
            topo: &self.topo,
            old: &self.old,
            new: &self.new,
            vl_plan: &self.vl_plan,
            cache,
            transition: &self.transition,
        }
    }

    fn removed_entries(&self, cache: &RerouteCache) -> Vec<Vec<SwitchIdx>> {
        mft_entries_to_clear(self.replacement(cache), &self.groups)
    }

    /// Whether all trees of a constraint are deadlock-free together with the routes of each phase.
    fn admits_trees(&self, trees: &TreeConstraint) -> bool {
        let dependencies = match trees {
            TreeConstraint::Within { up, sl } => {
                let up = up.iter().enumerate();
                let up = up.filter_map(|(s, port)| Some((s, (*port)?))).collect();
                group_dependencies(&self.topo, &self.vl_plan, &group_over(&self.topo, &up, *sl))
            }
            TreeConstraint::Ordered(order) => turns_of_order(&self.topo, order),
            TreeConstraint::Search => return false,
        };
        let phases = self.phases();
        phases
            .iter()
            .all(|phase| !is_cyclic_directed(&union(phase, &dependencies)))
    }

    /// Cached result of the verification of the new tables.
    fn cached_result(&self) -> RerouteCache {
        let run = VerifiedRun {
            topo: Arc::clone(&self.topo),
            routing: Routing {
                engine: "by hand",
                tables: self.new.clone(),
                vl_plan: self.vl_plan.clone(),
                order: None,
                trees: TreeConstraint::default(),
                diagnostics: Vec::new(),
            },
            baseline_max_load: 0,
            cache: RerouteCache::new(),
        };
        run.prepare();
        run.cache
    }

    fn old_lft(&self, v: usize) -> &Lft {
        self.old[v].as_ref().unwrap_or(&self.new[v])
    }

    /// Dependencies of each phase of the update, with all entries that may be in use during it.
    fn phases(&self) -> Vec<DependencyGraph> {
        let stages: &[Vec<(SwitchIdx, u16)>] = match &self.transition {
            Transition::Stages(stages) => stages,
            Transition::AnyOrder | Transition::Drain { .. } => &[],
        };
        let stage = |v: usize, lid: Lid| {
            let block = (at(v), lid.0 / 64);
            stages.iter().position(|blocks| blocks.contains(&block))
        };
        (0..stages.len().max(1))
            .map(|current| {
                mixed_dependencies(&self.topo, &self.vl_plan, |v, lid| {
                    let old_port = match &self.transition {
                        Transition::Drain { first, .. } => first[v].get(lid),
                        Transition::AnyOrder | Transition::Stages(_) => self.old_lft(v).get(lid),
                    };
                    let new_port = self.new[v].get(lid);
                    match stage(v, lid).map(|stage| stage.cmp(&current)) {
                        Some(core::cmp::Ordering::Less) => vec![new_port],
                        Some(core::cmp::Ordering::Greater) => vec![old_port],
                        Some(core::cmp::Ordering::Equal) | None => vec![old_port, new_port],
                    }
                })
            })
            .collect()
    }

    /// One group after the other: all of its entries stay if possible, otherwise as many of its
    /// switches as possible.
    fn expected(&self) -> Vec<Vec<SwitchIdx>> {
        let mut phases = self.phases();
        let mut fits = |added: &DependencyGraph| {
            let graphs: Vec<DependencyGraph> = phases.iter().map(|m| union(m, added)).collect();
            let free = !graphs.iter().any(is_cyclic_directed);
            if free {
                phases = graphs;
            }
            free
        };
        let mut to_clear = Vec::new();
        for group in &self.groups {
            let mut removed = Vec::new();
            if !fits(&group_dependencies(&self.topo, &self.vl_plan, group)) {
                let fits_alone =
                    |s: SwitchIdx| group_dependencies_at(&self.topo, &self.vl_plan, group, s);
                let switches = group.ports.iter().map(|p| p.0);
                removed.extend(switches.filter(|s| !fits(&fits_alone(*s))));
            }
            to_clear.push(removed);
        }
        to_clear
    }

    /// Dependencies of the packets of the entries that stay.
    fn remaining_dependencies(&self, cleared: &[Vec<SwitchIdx>]) -> DependencyGraph {
        let mut graph = DependencyGraph::new();
        for (group, cleared) in self.groups.iter().zip(cleared) {
            for (s, _) in group.ports.iter().filter(|p| !cleared.contains(&p.0)) {
                graph = union(
                    &graph,
                    &group_dependencies_at(&self.topo, &self.vl_plan, group, *s),
                );
            }
        }
        graph
    }

    /// Writes blocks in random order; returns the dependencies of unicast packets meanwhile.
    fn write(
        &self,
        state: &mut Tables,
        to: &Tables,
        blocks: &[(usize, u16)],
        rng: &mut Lcg,
    ) -> DependencyGraph {
        let mut blocks = blocks.to_vec();
        let mut graph = dependencies(&self.topo, state, &self.vl_plan);
        while !blocks.is_empty() {
            let (s, block) = blocks.swap_remove(rng.below(blocks.len()));
            write_block(&mut state[s], &to[s], block);
            graph = union(&graph, &dependencies(&self.topo, state, &self.vl_plan));
        }
        graph
    }

    /// Follows the plan, and checks all entries in use during each step together with the groups
    /// that stay.
    fn follow(&self, remaining: &DependencyGraph, seed: u64) {
        let mut rng = Lcg(seed);
        let mut state: Tables = (0..self.new.len())
            .map(|v| Arc::new(self.old_lft(v).clone()))
            .collect();
        let differ = |state: &Tables, to: &Tables| -> Vec<(usize, u16)> {
            let blocks_of = |(v, lft): (usize, &Arc<Lft>)| {
                changed_blocks(Some(&state[v]), lft)
                    .map(|b| (v, b))
                    .collect::<Vec<_>>()
            };
            to.iter().enumerate().flat_map(blocks_of).collect()
        };
        let mut steps: Vec<(Tables, Vec<(usize, u16)>)> = Vec::new();
        match &self.transition {
            Transition::AnyOrder => steps.push((self.new.clone(), differ(&state, &self.new))),
            Transition::Stages(stages) => {
                let mut blocks: Vec<Vec<(usize, u16)>> = stages
                    .iter()
                    .map(|stage| stage.iter().map(|&(s, b)| (s.index(), b)).collect())
                    .collect();
                // Blocks outside of all stages are written at any time.
                let named: BTreeSet<(usize, u16)> = blocks.iter().flatten().copied().collect();
                for free in differ(&state, &self.new) {
                    if !named.contains(&free) {
                        let stage = rng.below(blocks.len());
                        blocks[stage].push(free);
                    }
                }
                steps.extend(blocks.into_iter().map(|b| (self.new.clone(), b)));
            }
            Transition::Drain { first, .. } => {
                steps.push((first.clone(), differ(&state, first)));
                steps.push((self.new.clone(), differ(first, &self.new)));
            }
        }
        for (to, blocks) in steps {
            let dependencies = self.write(&mut state, &to, &blocks, &mut rng);
            assert!(
                !is_cyclic_directed(&union(&dependencies, remaining)),
                "{:?}",
                self.transition
            );
        }
        assert_eq!(state, self.new);
    }
}

/// Tables in which all packets follow one spanning tree.
fn tree_tables(topo: &Topology, up: &BTreeMap<usize, PortNum>) -> Tables {
    let mut tables = vec![Lft::drop_all(topo.top_lid()); topo.num_switches()];
    for d in topo.destinations() {
        for (s, port) in up {
            tables[*s].set(d.lid, *port);
        }
        tables[d.switch.index()].set(d.lid, d.port);
        let mut from = d.switch;
        while let Some(port) = up.get(&from.index()) {
            let (parent, peer_port) = topo.neighbor(from, *port).unwrap();
            tables[parent.index()].set(d.lid, peer_port);
            from = parent;
        }
    }
    tables.into_iter().map(Arc::new).collect()
}

/// A random tree: the port towards the parent of every switch but one.
fn some_tree(topo: &Topology, rng: &mut Lcg) -> BTreeMap<usize, PortNum> {
    let n = topo.num_switches();
    let mut up = BTreeMap::new();
    let mut in_tree = vec![rng.below(n)];
    while in_tree.len() < n {
        let links = topo.links(at(in_tree[rng.below(in_tree.len())]));
        let link = links[rng.below(links.len())];
        if !in_tree.contains(&link.peer.index()) {
            up.insert(link.peer.index(), link.peer_port);
            in_tree.push(link.peer.index());
        }
    }
    up
}

/// A group whose packets use all links of a tree.
fn group_over(topo: &Topology, up: &BTreeMap<usize, PortNum>, sl: u8) -> GroupEntries {
    let mut ports: BTreeMap<SwitchIdx, PortSet> = BTreeMap::new();
    for (s, port) in up {
        let (parent, peer_port) = topo.neighbor(at(*s), *port).unwrap();
        ports.entry(at(*s)).or_default().insert(*port);
        ports.entry(parent).or_default().insert(peer_port);
    }
    GroupEntries {
        sl,
        ports: ports.into_iter().collect(),
    }
}

/// Two trees, random VLs per LID, and groups that were compatible with the old tree.
fn random_case(n: usize, extra: usize, seed: u64, vls: u8, groups: usize) -> Case {
    let mut rng = Lcg(seed);
    let topo = random(n, extra, n, seed).build();
    let sls = (0..=topo.top_lid().0).map(|_| rng.below(usize::from(vls)) as u8);
    let vl_plan = match vls {
        1 => VlPlan::single(),
        _ => VlPlan::modulo(vls, PathSl::ByLid(sls.collect())),
    };
    let old = tree_tables(&topo, &some_tree(&topo, &mut rng));
    let new = tree_tables(&topo, &some_tree(&topo, &mut rng));
    let mut case = Case::new(topo, &old, &new, vl_plan);
    let mut with_others = dependencies(&case.topo, &old, &case.vl_plan);
    for _ in 0..groups {
        let up = some_tree(&case.topo, &mut rng);
        let group = group_over(&case.topo, &up, rng.below(usize::from(vls)) as u8);
        let combined = union(
            &with_others,
            &group_dependencies(&case.topo, &case.vl_plan, &group),
        );
        if !is_cyclic_directed(&combined) {
            with_others = combined;
            case.groups.push(group);
        }
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// The removed entries are those of the independent check, with and without the cached
    /// verification.
    #[test]
    fn removed_entries_are_those_that_close_credit_loops(
        n in 3usize..8, extra in 1usize..8, seed: u64, vls in 1u8..3, groups in 1usize..6,
    ) {
        let case = random_case(n, extra, seed, vls, groups);
        let expected = case.expected();
        prop_assert_eq!(&case.removed_entries(&case.cache), &expected);
        prop_assert_eq!(&case.removed_entries(&case.cached_result()), &expected);
    }

    /// With the entries that stay, no credit loop can form, in any order of writes within the plan.
    #[test]
    fn remaining_entries_form_no_credit_loop(
        n in 3usize..8, extra in 1usize..8, seed: u64, groups in 1usize..6,
    ) {
        let case = random_case(n, extra, seed, 1, groups);
        let remaining = case.remaining_dependencies(&case.removed_entries(&case.cache));
        for order in 0..2 {
            case.follow(&remaining, seed ^ order);
        }
    }
}

/// Turns of packets that, once they go down in an order of switches, never go up again. A tree has
/// one link between two switches.
fn turns_of_order(topo: &Topology, order: &[u32]) -> DependencyGraph {
    let mut graph = DependencyGraph::new();
    for s in topo.switches() {
        let is_above = |peer: SwitchIdx| order[peer.index()] < order[s.index()];
        for (input, out) in topo
            .links(s)
            .iter()
            .flat_map(|input| topo.links(s).iter().map(move |out| (input, out)))
        {
            if input.peer != out.peer && !(is_above(input.peer) && is_above(out.peer)) {
                let arrives = (input.peer.0, input.peer_port.0, 0);
                graph.add_edge(arrives, (s.0, out.port.0, 0), ());
            }
        }
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// The trees of an incomplete update are deadlock-free in each of its phases, and are those of
    /// the new routes if possible.
    #[test]
    fn trees_of_an_incomplete_update_form_no_credit_loop(
        n in 3usize..8, extra in 1usize..8, seed: u64, vls in 1u8..3, is_ordered: bool,
    ) {
        let case = random_case(n, extra, seed, vls, 1);
        let mut rng = Lcg(seed);
        let trees = if is_ordered {
            let mut order: Vec<u32> = (0..n as u32).collect();
            (1..n).for_each(|i| order.swap(i, rng.below(i + 1)));
            TreeConstraint::Ordered(order)
        } else {
            let up = some_tree(&case.topo, &mut rng);
            let up = (0..n).map(|s| up.get(&s).copied()).collect();
            TreeConstraint::Within { up, sl: rng.below(usize::from(vls)) as u8 }
        };
        let chosen = trees_in_all_phases(case.replacement(&case.cache), &trees);
        if case.admits_trees(&trees) {
            prop_assert_eq!(chosen, Some(trees));
        } else if let Some(chosen) = chosen {
            prop_assert!(case.admits_trees(&chosen));
            prop_assert_eq!(chosen.sl(), trees.sl());
        }
    }
}

/// If new trees turn where the old routes may not, the trees follow the old and new routes until
/// the update is complete.
#[test]
fn trees_of_an_incomplete_update_suit_old_and_new_routes() {
    let case = triangle();
    let up = |turn: usize| {
        let up = turns_at(&case.topo, turn);
        let up = (0..3).map(|s| up.get(&s).copied()).collect();
        TreeConstraint::Within { up, sl: 0 }
    };
    for (turn, is_admitted) in [(1, true), (2, true), (0, false)] {
        let chosen = trees_in_all_phases(case.replacement(&case.cache), &up(turn));
        assert!(case.admits_trees(chosen.as_ref().unwrap()), "{turn}");
        assert_eq!(chosen == Some(up(turn)), is_admitted, "{turn}");
    }
}

/// The link from a switch of a ring to the next, as a link from child to parent.
fn to_next(topo: &Topology, s: usize) -> (usize, PortNum) {
    let next = at((s + 1) % topo.num_switches());
    let link = topo.links(at(s)).iter().find(|l| l.peer == next).unwrap();
    (s, link.port)
}

/// Three switches in a ring: a tree of the two links of switch `turn`, so packets turn only there.
fn turns_at(topo: &Topology, turn: usize) -> BTreeMap<usize, PortNum> {
    // The link from the previous switch to `turn`, and the link from the next switch to `turn`.
    let (before, next) = ((turn + 2) % 3, (turn + 1) % 3);
    let (_, out) = to_next(topo, turn);
    let peer_port = topo.neighbor(at(turn), out).unwrap().1;
    BTreeMap::from([to_next(topo, before), (next, peer_port)])
}

/// Routes turn at switch 1 and later at switch 2, so nothing may turn at switch 0 meanwhile. The
/// group that turns there loses only this entry; the group that turns at switch 1 stays.
fn triangle() -> Case {
    let topo = ring(3, 1).build();
    let (old, new) = (
        tree_tables(&topo, &turns_at(&topo, 1)),
        tree_tables(&topo, &turns_at(&topo, 2)),
    );
    let mut case = Case::new(topo, &old, &new, VlPlan::single());
    case.groups = [1, 0]
        .map(|turn| group_over(&case.topo, &turns_at(&case.topo, turn), 0))
        .into();
    case
}

#[test]
fn only_the_conflicting_entry_is_removed() {
    let case = triangle();
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![at(0)]]);
    assert_eq!(case.expected(), [vec![], vec![at(0)]]);
}

/// A group on its own VL cannot conflict with routes.
#[test]
fn group_on_its_own_vl_has_no_conflict() {
    let mut case = triangle();
    case.vl_plan = VlPlan::modulo(2, PathSl::Uniform(0));
    case.groups[1].sl = 1;
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![]]);
    case.groups[1].sl = 2;
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![at(0)]]);
}

/// If nothing is written, or the switches are new, no entry is removed.
#[test]
fn unchanged_tables_remove_no_entry() {
    let mut case = triangle();
    case.new = case.old.iter().flatten().cloned().collect();
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![]]);
    let mut case = triangle();
    case.old = vec![None; 3];
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![]]);
}

/// Entries with ports that the switch does not have are ignored.
#[test]
fn entries_with_invalid_ports_are_ignored() {
    let mut case = triangle();
    for (_, ports) in &mut case.groups[1].ports {
        *ports = ports.iter().map(|p| PortNum(p.0 + 200)).collect();
    }
    assert_eq!(case.removed_entries(&case.cache), [vec![], vec![]]);
}
