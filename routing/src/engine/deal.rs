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

use super::cell::Cell;
use super::graph::Graph;
use super::legs::Legs;

/// No slot.
const NONE: u16 = u16::MAX;
/// The trunk has ended.
pub(crate) const END: u32 = u32::MAX;

/// Numbers, digits and trunks of all LIDs.
#[derive(Debug)]
pub(crate) struct Deal {
    levels: usize,
    /// Whether every switch has all the columns above it that there are, and all cables to them.
    full: bool,
    /// LIDs that are no hosts on leaves.
    odd: FixedBitSet,
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
    cable: Vec<u16>,
    /// By place: its turn when something is dealt.
    mix: Vec<u32>,
    /// By place and level: the switches of the trunk from the LID's own upwards, as far as it goes.
    trunks: Vec<u32>,
}

/// What is dealt to one LID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share<'a> {
    digit: &'a [u16],
    cable: &'a [u16],
    mix: u32,
}

impl Deal {
    pub(crate) fn new<C: Cell>(
        topo: &Topology,
        graph: &Graph,
        tree: &Tree,
        hints: &Hints,
        legs: &Legs<C>,
    ) -> Self {
        let n = graph.len();
        let levels = tree.levels();
        let mut deal = Self {
            levels,
            full: tree.level_cables == 0,
            odd: FixedBitSet::with_capacity(usize::from(u16::MAX) + 1),
            rank: tree.rank.clone(),
            up_base: Vec::with_capacity(n),
            up: Vec::new(),
            turn: turns(graph, tree),
            base: Vec::with_capacity(n),
            digit: Vec::new(),
            cable: Vec::new(),
            mix: Vec::new(),
            trunks: Vec::new(),
        };
        for v in 0..n {
            let from = deal.up.len();
            deal.up_base.push(from);
            let rank = tree.rank[v];
            let arity = tree.arity[rank as usize] as usize;
            deal.up.resize(from + arity, NONE);
            for (k, slot) in graph.slots(v).iter().enumerate() {
                let column = tree.column[slot.peer] as usize;
                if tree.rank[slot.peer] == rank + 1
                    && column < arity
                    && deal.up[from + column] == NONE
                {
                    deal.up[from + column] = u16::try_from(k).unwrap_or(NONE);
                }
            }
        }
        let below_top = |v: usize| tree.rank[v] as usize + 1 < levels;
        for v in (0..n).filter(|&v| below_top(v)) {
            let arity = tree.arity[tree.rank[v] as usize] as usize;
            deal.full &= !deal.up[deal.up_base[v]..][..arity].contains(&NONE);
            let cables = tree.cables[tree.rank[v] as usize] as usize;
            let mut above = graph.slots(v).iter();
            deal.full &=
                above.all(|s| tree.rank[s.peer] <= tree.rank[v] || graph.ports(*s).len() >= cables);
        }
        let mut lids = 0;
        for s in topo.switches() {
            deal.base.push(lids);
            lids += topo.destinations_on(s).len();
        }
        let number = numbers(topo, graph, tree, hints, &deal.base, lids, &mut deal.odd);
        deal.digit.reserve(lids * levels);
        deal.cable.reserve(lids * levels);
        deal.mix.reserve(lids);
        deal.trunks = vec![END; lids * levels];
        for s in topo.switches() {
            for d in topo.destinations_on(s) {
                let t = number[deal.mix.len()];
                deal.enter(t, tree);
                if d.port != PortNum::ZERO {
                    deal.grow(s.index(), graph, legs);
                }
            }
        }
        deal
    }

    /// Enters the digits of the next LID.
    fn enter(&mut self, mut t: u32, tree: &Tree) {
        let mut mix = 0;
        for (arity, cables) in tree.arity.iter().zip(&tree.cables) {
            let digit = t % arity;
            t /= arity;
            // As D-mod-K of PGFTs has it: cables take no digit away from the levels above.
            let cable = t % cables;
            self.digit.push(u16::try_from(digit).unwrap_or(0));
            self.cable.push(u16::try_from(cable).unwrap_or(0));
            mix += digit + cable;
        }
        self.mix.push(mix + t);
    }

    /// Grows the trunk of the LID that was entered last.
    fn grow<C: Cell>(&mut self, dest: usize, graph: &Graph, legs: &Legs<C>) {
        let digits = self.digit.len() - self.levels;
        let (mut tip, mut length) = (dest, 0);
        for level in self.rank[dest] as usize..self.levels - 1 {
            let digit = usize::from(self.digit[digits + level]);
            let slot = self.up[self.up_base[tip] + digit];
            if slot == NONE {
                break;
            }
            let above = graph.slots(tip)[usize::from(slot)].peer;
            if legs.cell(above, dest).hops() != length + 1 || !legs.may_go(above, tip, dest) {
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
        d.port != PortNum::ZERO && (!self.full || self.odd.contains(usize::from(d.lid.raw())))
    }

    /// The trunks of the LIDs on a switch: a row of so many switches for each, upwards from its own, [`END`] beyond the
    /// end.
    #[inline(always)]
    pub(crate) fn trunks(&self, dest: usize, lids: usize) -> (&[u32], usize) {
        let from = self.base[dest] * self.levels;
        (&self.trunks[from..from + lids * self.levels], self.levels)
    }

    /// What is dealt to the `i`th LID on a switch.
    #[inline(always)]
    pub(crate) fn share(&self, dest: usize, i: usize) -> Share<'_> {
        let place = self.base[dest] + i;
        let levels = place * self.levels..(place + 1) * self.levels;
        Share {
            digit: &self.digit[levels.clone()],
            cable: &self.cable[levels],
            mix: self.mix[place],
        }
    }

    /// The slot of a switch to the column that a LID is meant for.
    #[inline(always)]
    pub(crate) fn meant(&self, v: usize, share: &Share<'_>) -> Option<usize> {
        let digit = usize::from(share.digit[self.rank[v] as usize]);
        let slot = self.up[self.up_base[v] + digit];
        (slot != NONE).then_some(usize::from(slot))
    }

    /// Which of so many is next, where what was meant for a LID is not to be had.
    #[inline(always)]
    pub(crate) fn instead(&self, v: usize, share: &Share<'_>, of: u32) -> u32 {
        (share.mix + self.turn[v] + 1) % of.max(1)
    }

    /// Which of so many parallel cables between two switches a LID takes.
    #[inline(always)]
    pub(crate) fn cable(&self, v: usize, peer: usize, share: &Share<'_>, cables: usize) -> usize {
        if cables < 2 {
            return 0;
        }
        let meant = usize::from(share.cable[self.rank[v].min(self.rank[peer]) as usize]);
        if meant < cables && self.rank[v] != self.rank[peer] {
            meant
        } else {
            (meant + share.mix as usize + self.turn[v] as usize) % cables
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
    odd: &mut FixedBitSet,
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
                odd.insert_range(raw..raw + same_port.len());
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
