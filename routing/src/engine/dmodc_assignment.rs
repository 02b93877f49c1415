//! Destinations dealt among the columns of a tree: a closed form for which way each LID comes down.
//!
//! End ports are numbered leaf by leaf, those of a part of the tree one after the other. The digits of such a number,
//! in the arities of the levels, are the columns in which its LID is routed: *trunk* is the chain of switches from its
//! leaf upwards through these columns. All switches send a LID to its trunk, as far out as they can, so on a full tree
//! a shift permutation meets on no cable, and what was lost elsewhere changes nothing.
//!
//! Where a trunk is broken, or cannot be reached, the next hops that are left are dealt in turn: by the digits of the
//! number, so that a switch spreads what it has to divert, and by the switch, so that what must be diverted around
//! one lost cable comes down by all the others. After Gliksberg and others, "High-quality fault resiliency in fat trees"
//! (Dmodc, 2020); that paper deals all destinations anew among what is left.
//!
//! End ports that are no hosts (on switches above the leaves, aggregation nodes, I/O ports where compute ports are named)
//! are numbered on their own and do not disturb the pattern of the others.

use ferrosm_mad::ids::PortNum;
use fixedbitset::FixedBitSet;

use crate::hints::Hints;
use crate::structure::tree::Tree;
use crate::topology::{Destination, SwitchIdx, Topology};

use super::cell::HopCell;
use super::graph::Graph;
use super::hop_matrix::HopMatrix;

/// No slot.
const NONE: u16 = u16::MAX;
/// The trunk has ended.
pub(crate) const TRUNK_END: u32 = u32::MAX;

/// Numbers, digits and trunks of all LIDs.
#[derive(Debug)]
pub(crate) struct DmodcAssignment {
    levels: usize,
    /// Whether every switch has all the columns above it that there are, and all cables to them.
    full: bool,
    /// LIDs that are no hosts on leaves.
    non_hosts: FixedBitSet,
    rank: Vec<u32>,
    /// By switch: where its row in `up` begins.
    up_base: Vec<usize>,
    /// By switch and column: its slot to the switch above in that column.
    up: Vec<u16>,
    /// By switch: its turn when something is dealt.
    turn: Vec<u32>,
    /// Place of each switch's first LID.
    base: Vec<usize>,
    /// By place of a LID and level: the column above that level.
    digit: Vec<u16>,
    /// By place and level: the cable to that column.
    link: Vec<u16>,
    /// By place: its turn when something is dealt.
    mix: Vec<u32>,
    /// By place and level: the switches of the trunk from the LID's own upwards, as far as it goes.
    trunks: Vec<u32>,
}

/// What is dealt to one LID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LidAssignment<'a> {
    digit: &'a [u16],
    link: &'a [u16],
    mix: u32,
}

impl DmodcAssignment {
    pub(crate) fn new<C: HopCell>(
        topo: &Topology,
        graph: &Graph,
        tree: &Tree,
        hints: &Hints,
        matrix: &HopMatrix<C>,
    ) -> Self {
        let n = graph.len();
        let levels = tree.levels();
        let mut assignment = Self {
            levels,
            full: tree.level_cables == 0,
            non_hosts: FixedBitSet::with_capacity(usize::from(u16::MAX) + 1),
            rank: tree.rank.clone(),
            up_base: Vec::with_capacity(n),
            up: Vec::new(),
            turn: turns(graph, tree),
            base: Vec::with_capacity(n),
            digit: Vec::new(),
            link: Vec::new(),
            mix: Vec::new(),
            trunks: Vec::new(),
        };
        for v in 0..n {
            let from = assignment.up.len();
            assignment.up_base.push(from);
            let rank = tree.rank[v];
            let arity = tree.arity[rank as usize] as usize;
            assignment.up.resize(from + arity, NONE);
            for (k, slot) in graph.slots(v).iter().enumerate() {
                let column = tree.column[slot.peer] as usize;
                if tree.rank[slot.peer] == rank + 1
                    && column < arity
                    && assignment.up[from + column] == NONE
                {
                    assignment.up[from + column] = u16::try_from(k).unwrap_or(NONE);
                }
            }
        }
        let below_top = |v: usize| tree.rank[v] as usize + 1 < levels;
        for v in (0..n).filter(|&v| below_top(v)) {
            let arity = tree.arity[tree.rank[v] as usize] as usize;
            assignment.full &= !assignment.up[assignment.up_base[v]..][..arity].contains(&NONE);
            let links = tree.cables[tree.rank[v] as usize] as usize;
            let mut above = graph.slots(v).iter();
            assignment.full &=
                above.all(|s| tree.rank[s.peer] <= tree.rank[v] || graph.ports(*s).len() >= links);
        }
        let mut lids = 0;
        for s in topo.switches() {
            assignment.base.push(lids);
            lids += topo.destinations_on(s).len();
        }
        let number = numbers(
            topo,
            graph,
            tree,
            hints,
            &assignment.base,
            lids,
            &mut assignment.non_hosts,
        );
        assignment.digit.reserve(lids * levels);
        assignment.link.reserve(lids * levels);
        assignment.mix.reserve(lids);
        assignment.trunks = vec![TRUNK_END; lids * levels];
        for s in topo.switches() {
            for d in topo.destinations_on(s) {
                let t = number[assignment.mix.len()];
                assignment.enter(t, tree);
                if d.port != PortNum::ZERO {
                    assignment.grow(s.index(), graph, matrix);
                }
            }
        }
        assignment
    }

    /// Enters the digits of the next LID.
    fn enter(&mut self, mut t: u32, tree: &Tree) {
        let mut mix = 0;
        for (arity, links) in tree.arity.iter().zip(&tree.cables) {
            let digit = t % arity;
            t /= arity;
            // As D-mod-K of PGFTs has it: cables take no digit away from the levels above.
            let link = t % links;
            self.digit.push(u16::try_from(digit).unwrap_or(0));
            self.link.push(u16::try_from(link).unwrap_or(0));
            mix += digit + link;
        }
        self.mix.push(mix + t);
    }

    /// Grows the trunk of the LID that was entered last.
    fn grow<C: HopCell>(&mut self, dest: usize, graph: &Graph, matrix: &HopMatrix<C>) {
        let digits = self.digit.len() - self.levels;
        let (mut tip, mut length) = (dest, 0);
        for level in self.rank[dest] as usize..self.levels - 1 {
            let digit = usize::from(self.digit[digits + level]);
            let slot = self.up[self.up_base[tip] + digit];
            if slot == NONE {
                break;
            }
            let above = graph.slots(tip)[usize::from(slot)].peer;
            if matrix.cell(above, dest).hops() != length + 1
                || !matrix.is_next_hop(above, tip, dest)
            {
                break;
            }
            tip = above;
            self.trunks[digits + length] = SwitchIdx::at(tip).0;
            length += 1;
        }
    }

    /// Whether another balance can be better for a LID: always where something is missing, else only for what is no host
    /// on a leaf.
    pub(crate) fn may_move(&self, d: &Destination) -> bool {
        d.port != PortNum::ZERO && (!self.full || self.non_hosts.contains(usize::from(d.lid.raw())))
    }

    /// The trunks of the LIDs on a switch: a row of so many switches for each, upwards from its own, [`TRUNK_END`] beyond the
    /// end.
    #[inline(always)]
    pub(crate) fn trunks(&self, dest: usize, lids: usize) -> (&[u32], usize) {
        let from = self.base[dest] * self.levels;
        (&self.trunks[from..from + lids * self.levels], self.levels)
    }

    /// What is dealt to the `i`th LID on a switch.
    #[inline(always)]
    pub(crate) fn lid(&self, dest: usize, i: usize) -> LidAssignment<'_> {
        let place = self.base[dest] + i;
        let levels = place * self.levels..(place + 1) * self.levels;
        LidAssignment {
            digit: &self.digit[levels.clone()],
            link: &self.link[levels],
            mix: self.mix[place],
        }
    }

    /// The slot of a switch to the column that a LID is meant for.
    #[inline(always)]
    pub(crate) fn preferred_slot(&self, v: usize, lid: &LidAssignment<'_>) -> Option<usize> {
        let digit = usize::from(lid.digit[self.rank[v] as usize]);
        let slot = self.up[self.up_base[v] + digit];
        (slot != NONE).then_some(usize::from(slot))
    }

    /// Which of so many is next, where what was meant for a LID is not to be had.
    #[inline(always)]
    pub(crate) fn alternative(&self, v: usize, lid: &LidAssignment<'_>, of: u32) -> u32 {
        (lid.mix + self.turn[v] + 1) % of.max(1)
    }

    /// Which of so many parallel cables between two switches a LID takes.
    #[inline(always)]
    pub(crate) fn link(
        &self,
        v: usize,
        peer: usize,
        lid: &LidAssignment<'_>,
        links: usize,
    ) -> usize {
        if links < 2 {
            return 0;
        }
        let meant = usize::from(lid.link[self.rank[v].min(self.rank[peer]) as usize]);
        if meant < links && self.rank[v] != self.rank[peer] {
            meant
        } else {
            (meant + lid.mix as usize + self.turn[v] as usize) % links
        }
    }
}

/// By switch: a number by which those of one level are told apart, such that those of one part of the tree, and those
/// of one column, have different ones as far as possible.
fn turns(graph: &Graph, tree: &Tree) -> Vec<u32> {
    let mut turn = vec![0; graph.len()];
    let mut next = vec![0u32; tree.levels()];
    let leaves = tree.leaves.iter().map(|s| s.index());
    let mut placed = FixedBitSet::with_capacity(graph.len());
    for v in leaves.chain(graph.by_lid.iter().copied()) {
        if placed.put(v) {
            continue;
        }
        let level = tree.rank[v] as usize;
        let wide = tree.arity.get(level + 1).copied().unwrap_or(1).max(1);
        turn[v] = next[level] % wide + next[level] / wide;
        next[level] += 1;
    }
    turn
}

/// By place of a LID: its number in the order of hosts.
fn numbers(
    topo: &Topology,
    graph: &Graph,
    tree: &Tree,
    hints: &Hints,
    base: &[usize],
    lids: usize,
    non_hosts: &mut FixedBitSet,
) -> Vec<u32> {
    let mut number = vec![0; lids];
    let mut io: Vec<u16> = hints.io.iter().flatten().map(|l| l.raw()).collect();
    io.sort_unstable();
    let mut compute: Option<Vec<u16>> = hints
        .compute
        .as_ref()
        .filter(|c| !c.is_empty())
        .map(|c| c.iter().map(|l| l.raw()).collect());
    if let Some(compute) = &mut compute {
        compute.sort_unstable();
    }
    let mut is_leaf = FixedBitSet::with_capacity(graph.len());
    tree.leaves.iter().for_each(|s| is_leaf.insert(s.index()));
    // Hosts on leaves, I/O ports, and the rest.
    let mut next = [0u32; 3];
    let others = graph.by_lid.iter().copied().filter(|&v| !is_leaf[v]);
    for v in tree.leaves.iter().map(|s| s.index()).chain(others) {
        let s = SwitchIdx::at(v);
        for (i, same_port) in by_port(topo, s) {
            let first = &same_port[0];
            if first.port == PortNum::ZERO {
                continue;
            }
            let base_lid = first.lid;
            let class = if io.binary_search(&base_lid.raw()).is_ok() {
                1
            } else if compute.as_ref().map_or_else(
                || is_leaf[v] && !tree.is_service(topo, s, first.port),
                |compute| compute.binary_search(&base_lid.raw()).is_ok(),
            ) {
                0
            } else {
                2
            };
            let raw = usize::from(base_lid.raw());
            if class != 0 || tree.is_service(topo, s, first.port) {
                non_hosts.insert_range(raw..raw + same_port.len());
            }
            for (offset, place) in (0u32..).zip(base[v] + i..base[v] + i + same_port.len()) {
                number[place] = next[class] + offset;
            }
            next[class] += 1;
        }
    }
    number
}

/// LIDs of a switch by port, with the place of the first.
fn by_port(topo: &Topology, s: SwitchIdx) -> impl Iterator<Item = (usize, &[Destination])> {
    let mut at = 0;
    topo.destinations_on(s)
        .chunk_by(|a, b| a.port == b.port)
        .map(move |same| {
            at += same.len();
            (at - same.len(), same)
        })
}
