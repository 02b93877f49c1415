//! Credit loop check for packets that change VLs along the path, optionally together with one
//! multicast tree.
//!
//! For decisions of the engine (choice of the tree, detour around a failed switch); the result is
//! verified by [`crate::verify()`]. The SLs that can occur at each switch of a destination tree are
//! tracked as a bit set.

use rayon::prelude::*;

use super::paths::GridPaths;
use crate::channels::{DependencySet, VlChannels};
use crate::topology::graph::Graph;
use crate::topology::index_to_u32;

/// SLs and VLs of a routing on a grid.
pub(crate) trait VlRule: Sync {
    /// Number of VLs between switches.
    fn vls(&self) -> usize;
    /// SL of packets from one switch to another.
    fn sl(&self, from: usize, dest: usize) -> u8;
    /// VL on a channel that leaves along `out_axis`, for packets that arrived along `in_axis` or
    /// from the switch itself (`None`).
    fn vl(&self, in_axis: Option<usize>, out_axis: usize, sl: u8) -> usize;
}

/// A spanning tree: slots towards the root, and the SL of its packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanningTree<'a> {
    pub(crate) up: &'a [Option<usize>],
    pub(crate) sl: u8,
}

/// Channel dependencies of all unicast packets.
pub(crate) struct CreditLoopCheck<'a> {
    graph: &'a Graph,
    vls: usize,
    /// Axis of each channel.
    axis: Vec<usize>,
    unicast: DependencySet,
}

impl<'a> CreditLoopCheck<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        axis: Vec<usize>,
        paths: &GridPaths,
        rule: &impl VlRule,
    ) -> Self {
        let index = &graph.channels;
        let channels = VlChannels::new(index, rule.vls());
        let empty = || DependencySet::empty(&channels);
        let unicast = (0..graph.len())
            .into_par_iter()
            .fold(empty, |mut dependencies, dest| {
                add_dependencies_to(
                    graph,
                    &channels,
                    &axis,
                    paths,
                    rule,
                    dest,
                    &mut dependencies,
                );
                dependencies
            })
            .reduce(empty, |mut a, b| {
                a.union_with(&b);
                a
            });
        Self {
            graph,
            vls: rule.vls(),
            axis,
            unicast,
        }
    }

    /// As [`Self::new`], with these dependencies of all unicast packets on the first `vls` VLs.
    pub(crate) fn from_dependencies(
        graph: &'a Graph,
        axis: Vec<usize>,
        unicast: DependencySet,
        vls: usize,
    ) -> Self {
        Self {
            graph,
            vls,
            axis,
            unicast,
        }
    }

    /// Whether the unicast packets alone are free of credit loops.
    pub(crate) fn is_unicast_acyclic(&self) -> bool {
        self.unicast
            .is_acyclic(&VlChannels::new(&self.graph.channels, self.vls))
    }

    /// Whether the unicast packets and a multicast tree together are free of credit loops.
    pub(crate) fn is_acyclic_with(&self, tree: SpanningTree<'_>, rule: &impl VlRule) -> bool {
        let graph = self.graph;
        let index = &graph.channels;
        let channels = VlChannels::new(index, self.vls);
        let mut dependencies = self.unicast.clone();
        // Channels of the tree by the switch that they leave.
        let mut branches: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
        for (v, up) in tree.up.iter().enumerate() {
            if let Some(k) = *up {
                let x = index.leaving(v).start + index_to_u32(k);
                branches[v].push(x);
                branches[index.head[x as usize] as usize].push(index.reverse[x as usize]);
            }
        }
        let axis_of = |channel: u32| self.axis[channel as usize];
        for leaving in &branches {
            for &x in leaving {
                let axis = axis_of(x);
                // Packets on this channel come from the switch's end ports or from its other
                // branches.
                let from = leaving.iter().filter(|&&other| other != x);
                let inputs = from.map(|&other| Some(axis_of(other)));
                let mut vls: Vec<usize> = inputs
                    .chain([None])
                    .map(|input| rule.vl(input, axis, tree.sl))
                    .collect();
                vls.sort_unstable();
                vls.dedup();
                for &y in &branches[index.head[x as usize] as usize] {
                    if y == index.reverse[x as usize] {
                        continue;
                    }
                    let to =
                        channels.on_vl(y, index_to_u32(rule.vl(Some(axis), axis_of(y), tree.sl)));
                    for &vx in &vls {
                        dependencies.insert(&channels, (channels.on_vl(x, index_to_u32(vx)), to));
                    }
                }
            }
        }
        dependencies.is_acyclic(&channels)
    }
}

/// Adds the dependencies of all packets to one switch.
fn add_dependencies_to(
    graph: &Graph,
    channels: &VlChannels<'_>,
    axis: &[usize],
    paths: &GridPaths,
    rule: &impl VlRule,
    dest: usize,
    dependencies: &mut DependencySet,
) {
    let n = graph.len();
    let column = paths.column(dest);
    let vls = rule.vls();
    let next_switch = |v: usize| {
        let slot = graph.slots(v).get(usize::from(column[v]));
        slot.filter(|_| v != dest).map(|s| s.peer)
    };
    let mut children = vec![0usize; n];
    (0..n)
        .filter_map(next_switch)
        .for_each(|next| children[next] += 1);
    // SLs of the packets on each switch's channel, by VL.
    let mut carried = vec![0u16; n * vls];
    let mut ready: Vec<usize> = (0..n).filter(|&v| children[v] == 0).collect();
    while let Some(v) = ready.pop() {
        let Some(next) = next_switch(v) else {
            continue;
        };
        let x = graph.first_slot(v) + usize::from(column[v]);
        if graph.hosts[v] > 0 || graph.hosts[dest] > 0 {
            let sl = rule.sl(v, dest);
            carried[v * vls + rule.vl(None, axis[x], sl)] |= 1 << sl;
        }
        children[next] -= 1;
        if children[next] == 0 {
            ready.push(next);
        }
        if next_switch(next).is_none() {
            continue;
        }
        let y = graph.first_slot(next) + usize::from(column[next]);
        for vx in 0..vls {
            for sl in 0u8..16 {
                if carried[v * vls + vx] >> sl & 1 == 1 {
                    let vy = rule.vl(Some(axis[x]), axis[y], sl);
                    let new = (
                        channels.on_vl(index_to_u32(x), index_to_u32(vx)),
                        channels.on_vl(index_to_u32(y), index_to_u32(vy)),
                    );
                    dependencies.insert(channels, new);
                    carried[next * vls + vy] |= 1 << sl;
                }
            }
        }
    }
}
