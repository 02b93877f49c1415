//! Closed-form assignment of destinations to the columns of a tree (D-mod-K for degraded trees).
//!
//! End ports are numbered leaf by leaf, subtree by subtree. The digits of the number, in the
//! arities of the levels, are the columns that route its LID; its *trunk* is the chain of switches
//! from its leaf upwards through these columns. A switch forwards a LID towards the highest switch
//! of its trunk that is on a shortest path. So on a full tree a shift permutation has no link
//! conflict, and losses elsewhere change nothing.
//!
//! Where a trunk is broken or unreachable, the remaining next hops are assigned in rotation: by the
//! digits of the number, so that a switch spreads the traffic it diverts, and by the switch, so
//! that traffic diverted around one lost link uses all the others. After Gliksberg and others,
//! "High-quality fault resiliency in fat trees" (Dmodc, 2020), which reassigns all destinations
//! among the remaining columns.
//!
//! End ports other than hosts on leaves (on switches above the leaves, aggregation nodes, I/O ports
//! if compute ports are named) are numbered separately and do not disturb the pattern.

use ferrosm_mad::ids::PortNum;
use fixedbitset::FixedBitSet;

use crate::hints::Hints;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::structure::tree::DetectedTree;
use crate::topology::graph::Graph;
use crate::topology::{Destination, SwitchIdx, Topology};

/// No slot.
const NONE: u16 = u16::MAX;
/// End of a trunk.
pub(crate) const TRUNK_END: u32 = u32::MAX;

/// Numbers, digits and trunks of all LIDs.
#[derive(Debug)]
pub(crate) struct DmodcAssignment {
    levels: usize,
    /// Whether every switch has all columns of its level above it, with all parallel links.
    full: bool,
    /// LIDs that are not hosts on leaves.
    non_hosts: FixedBitSet,
    rank: Vec<u32>,
    /// Index of each switch's row in `up`.
    up_base: Vec<usize>,
    /// By switch and column: slot to the switch above in that column.
    up: Vec<u16>,
    /// Rotation of each switch when next hops are assigned in rotation.
    rotation: Vec<u32>,
    /// Index of each switch's first LID.
    base: Vec<usize>,
    /// By LID index and level: column above that level.
    digit: Vec<u16>,
    /// By LID index and level: parallel link to that column.
    link: Vec<u16>,
    /// Rotation of each LID when next hops are assigned in rotation.
    lid_rotation: Vec<u32>,
    /// By LID index and level: switches of the trunk, from the LID's own switch upwards.
    trunks: Vec<u32>,
}

/// The digits of one LID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LidAssignment<'a> {
    digit: &'a [u16],
    link: &'a [u16],
    lid_rotation: u32,
}

impl DmodcAssignment {
    pub(crate) fn new<C: HopCell>(
        topo: &Topology,
        graph: &Graph,
        tree: &DetectedTree,
        hints: &Hints,
        matrix: &HopMatrix<C>,
    ) -> Self {
        let n = graph.len();
        let levels = tree.levels();
        let mut assignment = Self {
            levels,
            full: tree.level_links == 0,
            non_hosts: FixedBitSet::with_capacity(usize::from(u16::MAX) + 1),
            rank: tree.rank.clone(),
            up_base: Vec::with_capacity(n),
            up: Vec::new(),
            rotation: rotations(graph, tree),
            base: Vec::with_capacity(n),
            digit: Vec::new(),
            link: Vec::new(),
            lid_rotation: Vec::new(),
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
            let links = tree.parallel_links[tree.rank[v] as usize] as usize;
            let mut parents = graph.slots(v).iter();
            assignment.full &= parents
                .all(|s| tree.rank[s.peer] <= tree.rank[v] || graph.ports(*s).len() >= links);
        }
        let mut lids = 0;
        for s in topo.switches() {
            assignment.base.push(lids);
            lids += topo.destinations_on(s).len();
        }
        let number = number_end_ports(
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
        assignment.lid_rotation.reserve(lids);
        assignment.trunks = vec![TRUNK_END; lids * levels];
        for s in topo.switches() {
            for d in topo.destinations_on(s) {
                let t = number[assignment.lid_rotation.len()];
                assignment.push_digits(t, tree);
                if d.port != PortNum::ZERO {
                    assignment.extend_trunk(s.index(), graph, matrix);
                }
            }
        }
        assignment
    }

    /// Appends the digits of the next LID.
    fn push_digits(&mut self, mut t: u32, tree: &DetectedTree) {
        let mut lid_rotation = 0;
        for (arity, links) in tree.arity.iter().zip(&tree.parallel_links) {
            let digit = t % arity;
            t /= arity;
            // As in D-mod-K for PGFTs: parallel links consume no digit of the levels above.
            let link = t % links;
            self.digit.push(u16::try_from(digit).unwrap_or(0));
            self.link.push(u16::try_from(link).unwrap_or(0));
            lid_rotation += digit + link;
        }
        self.lid_rotation.push(lid_rotation + t);
    }

    /// Extends the trunk of the LID appended last.
    fn extend_trunk<C: HopCell>(&mut self, dest: usize, graph: &Graph, matrix: &HopMatrix<C>) {
        let digits = self.digit.len() - self.levels;
        let mut tip = dest;
        let levels = self.rank[dest] as usize..self.levels - 1;
        for (length, level) in levels.enumerate() {
            let digit = usize::from(self.digit[digits + level]);
            let slot = self.up[self.up_base[tip] + digit];
            if slot == NONE {
                break;
            }
            let parent = graph.slots(tip)[usize::from(slot)].peer;
            if matrix.cell(parent, dest).hops() != length + 1
                || !matrix.is_next_hop(parent, tip, dest)
            {
                break;
            }
            tip = parent;
            self.trunks[digits + length] = SwitchIdx::from_index(tip).0;
        }
    }

    /// Whether load balancing may move a LID: any LID if the tree is incomplete, otherwise only
    /// LIDs that are not hosts on leaves.
    pub(crate) fn may_move(&self, d: &Destination) -> bool {
        d.port != PortNum::ZERO && (!self.full || self.non_hosts.contains(usize::from(d.lid.raw())))
    }

    /// Trunks of the LIDs on a switch: a row per LID with the switches from its own upwards, then
    /// [`TRUNK_END`].
    #[inline(always)]
    pub(crate) fn trunks(&self, dest: usize, lids: usize) -> (&[u32], usize) {
        let from = self.base[dest] * self.levels;
        (&self.trunks[from..from + lids * self.levels], self.levels)
    }

    /// Digits of the `i`-th LID on a switch.
    #[inline(always)]
    pub(crate) fn lid(&self, dest: usize, i: usize) -> LidAssignment<'_> {
        let position = self.base[dest] + i;
        let levels = position * self.levels..(position + 1) * self.levels;
        LidAssignment {
            digit: &self.digit[levels.clone()],
            link: &self.link[levels],
            lid_rotation: self.lid_rotation[position],
        }
    }

    /// Slot of a switch to the column of a LID.
    #[inline(always)]
    pub(crate) fn preferred_slot(&self, v: usize, lid: &LidAssignment<'_>) -> Option<usize> {
        let digit = usize::from(lid.digit[self.rank[v] as usize]);
        let slot = self.up[self.up_base[v] + digit];
        (slot != NONE).then_some(usize::from(slot))
    }

    /// Index of the next hop, out of `count`, for a LID whose column is unavailable.
    #[inline(always)]
    pub(crate) fn alternative(&self, v: usize, lid: &LidAssignment<'_>, count: u32) -> u32 {
        (lid.lid_rotation + self.rotation[v] + 1) % count.max(1)
    }

    /// Index of the parallel link between two switches that a LID uses.
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
        let preferred = usize::from(lid.link[self.rank[v].min(self.rank[peer]) as usize]);
        if preferred < links && self.rank[v] != self.rank[peer] {
            preferred
        } else {
            (preferred + lid.lid_rotation as usize + self.rotation[v] as usize) % links
        }
    }
}

/// Rotation of each switch: different, as far as possible, within a level for switches of one
/// subtree and of one column.
fn rotations(graph: &Graph, tree: &DetectedTree) -> Vec<u32> {
    let mut rotation = vec![0; graph.len()];
    let mut next = vec![0u32; tree.levels()];
    let leaves = tree.leaves.iter().map(|s| s.index());
    let mut placed = FixedBitSet::with_capacity(graph.len());
    for v in leaves.chain(graph.by_lid.iter().copied()) {
        if placed.put(v) {
            continue;
        }
        let level = tree.rank[v] as usize;
        let width = tree.arity.get(level + 1).copied().unwrap_or(1).max(1);
        rotation[v] = next[level] % width + next[level] / width;
        next[level] += 1;
    }
    rotation
}

/// By LID index: number of the end port in its class.
fn number_end_ports(
    topo: &Topology,
    graph: &Graph,
    tree: &DetectedTree,
    hints: &Hints,
    base: &[usize],
    lids: usize,
    non_hosts: &mut FixedBitSet,
) -> Vec<u32> {
    let mut number = vec![0; lids];
    let mut io: Vec<u16> = hints.io.iter().flatten().map(|l| l.raw()).collect();
    io.sort_unstable();
    let mut compute: Option<Vec<u16>> = hints
        .compute_ports
        .as_ref()
        .filter(|c| !c.is_empty())
        .map(|c| c.iter().map(|l| l.raw()).collect());
    if let Some(compute) = &mut compute {
        compute.sort_unstable();
    }
    let mut is_leaf = FixedBitSet::with_capacity(graph.len());
    tree.leaves.iter().for_each(|s| is_leaf.insert(s.index()));
    // Hosts on leaves, I/O ports, others.
    let mut next = [0u32; 3];
    let other_switches = graph.by_lid.iter().copied().filter(|&v| !is_leaf[v]);
    for v in tree.leaves.iter().map(|s| s.index()).chain(other_switches) {
        let s = SwitchIdx::from_index(v);
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
            for (offset, position) in (0u32..).zip(base[v] + i..base[v] + i + same_port.len()) {
                number[position] = next[class] + offset;
            }
            next[class] += 1;
        }
    }
    number
}

/// LIDs of a switch grouped by port, with the index of the first.
fn by_port(topo: &Topology, s: SwitchIdx) -> impl Iterator<Item = (usize, &[Destination])> {
    let mut at = 0;
    topo.destinations_on(s)
        .chunk_by(|a, b| a.port == b.port)
        .map(move |group| {
            at += group.len();
            (at - group.len(), group)
        })
}
