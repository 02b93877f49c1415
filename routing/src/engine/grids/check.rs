//! Whether packets that change lanes on their way, and those of one multicast tree, can wait for each other in a circle.
//!
//! For the engine's own decisions (which tree, whether a failed switch can be gone around); what is installed is judged
//! by [`crate::verify()`]. Every SL that a packet into a tree of paths may have travels along it as one bit of a set.

use rayon::prelude::*;

use super::super::graph::Graph;
use super::super::legs::Bits;
use super::paths::Paths;

/// Lanes of packets.
pub(crate) trait LaneRule: Sync {
    /// VLs between switches.
    fn vls(&self) -> usize;
    /// The SL from one switch to another.
    fn sl(&self, from: usize, dest: usize) -> u8;
    /// The VL on a channel that leaves along an axis, having come in along one, or from the switch itself.
    fn vl(&self, in_axis: Option<usize>, out_axis: usize, sl: u8) -> usize;
}

/// A spanning tree: the slot towards the root, and the SL of what travels in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub(crate) up: &'a [Option<usize>],
    pub(crate) sl: u8,
}

/// Dependencies between VLs of channels, as rows of bits.
struct Waits {
    vls: usize,
    /// First word of each channel's rows (one for each VL), and the total.
    base: Vec<usize>,
    /// Words of one row.
    words: Vec<usize>,
    head: Vec<usize>,
    back: Vec<usize>,
    axis: Vec<usize>,
}

impl Waits {
    fn new(graph: &Graph, axis: Vec<usize>, vls: usize) -> Self {
        let (mut base, mut words) = (vec![0], Vec::new());
        let (mut head, mut back) = (Vec::new(), Vec::new());
        for v in 0..graph.len() {
            for slot in graph.slots(v) {
                let row = (graph.slots(slot.peer).len() * vls).div_ceil(64);
                let here = graph.slots(slot.peer).iter().position(|s| s.peer == v);
                base.push(base.last().copied().unwrap_or(0) + row * vls);
                words.push(row);
                head.push(slot.peer);
                back.push(graph.first_slot(slot.peer) + here.unwrap_or(0));
            }
        }
        Self {
            vls,
            base,
            words,
            head,
            back,
            axis,
        }
    }

    fn add(&self, bits: &mut [u64], (x, vx): (usize, usize), (k, vy): (usize, usize)) {
        let bit = k * self.vls + vy;
        bits[self.base[x] + vx * self.words[x] + bit / 64] |= 1 << (bit % 64);
    }

    /// Kahn's algorithm.
    fn acyclic(&self, graph: &Graph, bits: &[u64]) -> bool {
        let count = self.head.len() * self.vls;
        let after = |node: usize| {
            let (x, vx) = (node / self.vls, node % self.vls);
            let row = self.base[x] + vx * self.words[x];
            let first = graph.first_slot(self.head[x]) * self.vls;
            (0..self.words[x])
                .flat_map(move |w| Bits(bits[row + w]).map(move |b| w * 64 + b))
                .map(move |bit| first + bit)
        };
        let mut waits_for = vec![0u32; count];
        (0..count).for_each(|x| after(x).for_each(|y| waits_for[y] += 1));
        let mut free: Vec<usize> = (0..count).filter(|&x| waits_for[x] == 0).collect();
        let mut done = 0;
        while let Some(x) = free.pop() {
            done += 1;
            for y in after(x) {
                waits_for[y] -= 1;
                if waits_for[y] == 0 {
                    free.push(y);
                }
            }
        }
        done == count
    }
}

/// Dependencies of all unicast packets, to be joined with those of trees.
pub(crate) struct Check<'a> {
    graph: &'a Graph,
    waits: Waits,
    unicast: Vec<u64>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        axis_of_slots: Vec<usize>,
        paths: &Paths,
        rule: &impl LaneRule,
    ) -> Self {
        let waits = Waits::new(graph, axis_of_slots, rule.vls());
        let size = waits.base.last().copied().unwrap_or(0);
        let unicast = (0..graph.len())
            .into_par_iter()
            .fold(
                || vec![0u64; size],
                |mut bits, dest| {
                    one_tree(graph, &waits, paths, rule, dest, &mut bits);
                    bits
                },
            )
            .reduce(
                || vec![0u64; size],
                |mut a, b| {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
                    a
                },
            );
        Self {
            graph,
            waits,
            unicast,
        }
    }

    /// Whether unicast packets alone are free of circles.
    pub(crate) fn unicast(&self) -> bool {
        self.waits.acyclic(self.graph, &self.unicast)
    }

    /// Whether they are together with a tree.
    pub(crate) fn with(&self, tree: Tree<'_>, rule: &impl LaneRule) -> bool {
        let (graph, waits) = (self.graph, &self.waits);
        let mut bits = self.unicast.clone();
        // Slots of each switch that belong to the tree.
        let mut branches: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
        for (v, up) in tree.up.iter().enumerate() {
            if let Some(k) = *up {
                let x = graph.first_slot(v) + k;
                branches[v].push(k);
                branches[waits.head[x]].push(waits.back[x] - graph.first_slot(waits.head[x]));
            }
        }
        for (v, slots) in branches.iter().enumerate() {
            for &k in slots {
                let x = graph.first_slot(v) + k;
                let axis = waits.axis[x];
                // From what v may have it: its own end ports, or its other branches.
                let from = slots.iter().filter(|&&j| j != k);
                let inputs = from.map(|&j| Some(waits.axis[graph.first_slot(v) + j]));
                let mut vls: Vec<usize> = inputs
                    .chain([None])
                    .map(|input| rule.vl(input, axis, tree.sl))
                    .collect();
                vls.sort_unstable();
                vls.dedup();
                let next = waits.head[x];
                for &j in &branches[next] {
                    let y = graph.first_slot(next) + j;
                    if y == waits.back[x] {
                        continue;
                    }
                    let vy = rule.vl(Some(axis), waits.axis[y], tree.sl);
                    vls.iter()
                        .for_each(|&vx| waits.add(&mut bits, (x, vx), (j, vy)));
                }
            }
        }
        waits.acyclic(graph, &bits)
    }
}

/// Adds the dependencies of all packets to one switch.
fn one_tree(
    graph: &Graph,
    waits: &Waits,
    paths: &Paths,
    rule: &impl LaneRule,
    dest: usize,
    bits: &mut [u64],
) {
    let n = graph.len();
    let (column, vls) = (paths.column(dest), rule.vls());
    let leads = |v: usize| {
        let slot = graph.slots(v).get(usize::from(column[v]));
        slot.filter(|_| v != dest).map(|s| s.peer)
    };
    let mut children = vec![0usize; n];
    (0..n)
        .filter_map(leads)
        .for_each(|next| children[next] += 1);
    // SLs of the packets on each switch's channel, by VL.
    let mut carried = vec![0u16; n * vls];
    let mut ready: Vec<usize> = (0..n).filter(|&v| children[v] == 0).collect();
    while let Some(v) = ready.pop() {
        let Some(next) = leads(v) else {
            continue;
        };
        let x = graph.first_slot(v) + usize::from(column[v]);
        if graph.hosts[v] > 0 || graph.hosts[dest] > 0 {
            let sl = rule.sl(v, dest);
            carried[v * vls + rule.vl(None, waits.axis[x], sl)] |= 1 << sl;
        }
        children[next] -= 1;
        if children[next] == 0 {
            ready.push(next);
        }
        if leads(next).is_none() {
            continue;
        }
        let k = usize::from(column[next]);
        let y = graph.first_slot(next) + k;
        for vx in 0..vls {
            for sl in 0u8..16 {
                if carried[v * vls + vx] >> sl & 1 == 1 {
                    let vy = rule.vl(Some(waits.axis[x]), waits.axis[y], sl);
                    waits.add(bits, (x, vx), (k, vy));
                    carried[next * vls + vy] |= 1 << sl;
                }
            }
        }
    }
}
