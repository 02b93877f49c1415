//! Turns that packets may take on an incomplete grid without a credit loop.
//!
//! Turns in dimension order are always permitted. The dependencies that they can cause on any SL
//! form the initial channel dependency graph, which is acyclic: along a line by the datelines,
//! between lines by the order of the axes. Another turn is added to the graph on all VLs on which
//! packets can arrive, together with the turn after it. A packet on a detour can pass a ring on the
//! VL of another part of the ring; `detour_check` adds these dependencies.

use std::collections::BTreeSet;

use super::vls::GridVls;
use crate::channels::{DependencySet, VirtualLayer, VlChannels};
use crate::paths::grid::coordinates::GridCoordinates;
use crate::paths::grid::lines::{Lines, NONE, crosses_dateline};
use crate::structure::grid::DimKind;
use crate::topology::graph::Graph;
use crate::topology::{ChannelIndex, index_to_u32};

/// Maximum number of channels that all searches visit: a few seconds. Then only turns that agree
/// with the order found so far are permitted.
const VISITS_MAX: usize = 50_000_000;

/// Maximum number of channels that one limited search finds.
const FOUND_MAX: usize = 500;

/// The channel dependency graph of the turns permitted so far.
pub(super) struct Turns<'a> {
    graph: &'a Graph,
    pub(super) vls: &'a GridVls,
    /// Axis of each channel.
    pub(super) axis: Vec<usize>,
    /// Channels on each VL, in the order of the LIDs of their switches: limited searches depend on
    /// the order.
    index: ChannelIndex,
    /// Number of each channel in that order.
    number: Vec<usize>,
    layer: VirtualLayer,
    /// Turns with the channel after them, and turns with any, that would close a cycle.
    rejected: BTreeSet<(usize, usize, Option<usize>)>,
    rejected_with_any: DependencySet,
}

impl<'a> Turns<'a> {
    /// The turns in dimension order; `None` if they form a cycle, which is a defect.
    pub(super) fn new(
        graph: &'a Graph,
        coordinates: &GridCoordinates,
        lines: &[Lines],
        vls: &'a GridVls,
    ) -> Option<Self> {
        let axis = coordinates.axis_of_slots(graph);
        let index = channels_on_vls(&graph.channels_in_order(&graph.by_lid), vls.base());
        let mut number = vec![0; graph.num_slots()];
        let channels: Vec<usize> = graph
            .by_lid
            .iter()
            .flat_map(|&v| graph.first_slot(v)..graph.first_slot(v + 1))
            .collect();
        for (at, &channel) in channels.iter().enumerate() {
            number[channel] = at;
        }
        let mut base = BaseTurns {
            graph,
            coordinates,
            vls,
            axis: &axis,
            index: &index,
            number: &number,
            dependencies: DependencySet::empty(&index),
        };
        for (axis, lines) in lines.iter().enumerate() {
            base.add_lines(axis, lines);
        }
        base.add_turns();
        let dependencies = base.dependencies;
        let mut order = dependencies.topological_order(&index);
        if order.len() < index.len() {
            return None;
        }
        // Channels after a turn come last among those of the next axis, so that few channels change
        // their position when a turn is added.
        order.sort_by_key(|&channel| {
            let axis = axis[channels[channel as usize / vls.base()]];
            let is_after_turn = channel as usize % vls.base() >= vls.ordered;
            (axis + usize::from(is_after_turn), is_after_turn)
        });
        let mut layer = VirtualLayer::with_order(&index, &order).limited_to(VISITS_MAX);
        for dependency in dependencies.iter(&index) {
            layer.insert(&index, dependency);
        }
        Some(Self {
            graph,
            vls,
            axis,
            index,
            number,
            layer,
            rejected: BTreeSet::new(),
            rejected_with_any: DependencySet::empty(&graph.channels),
        })
    }

    /// All permitted dependencies, of the channels of the graph on each of the base VLs.
    pub(super) fn to_dependencies(&self) -> DependencySet {
        let base = self.vls.base();
        let channels = VlChannels::new(&self.graph.channels, base);
        let mut dependencies = DependencySet::empty(&channels);
        let mut channel_of = vec![0; self.number.len()];
        for (channel, &number) in self.number.iter().enumerate() {
            channel_of[number] = channel * base;
        }
        let renumbered = |x: u32| {
            let x = x as usize;
            index_to_u32(channel_of[x / base] + x % base)
        };
        for (x, y) in self.layer.dependencies().iter(&self.index) {
            dependencies.insert(&channels, (renumbered(x), renumbered(y)));
        }
        dependencies
    }

    /// Limits the search for a cycle of each further turn; a turn that needs more is rejected.
    pub(super) fn limit_searches(&mut self) {
        self.layer.limit_searches(FOUND_MAX);
    }

    pub(super) fn on_vl(&self, channel: usize, vl: usize) -> u32 {
        index_to_u32(self.number[channel] * self.vls.base() + vl)
    }

    /// Whether a dependency of channels on VLs is in the graph.
    pub(super) fn contains(&self, x: u32, y: u32) -> bool {
        self.layer.contains(&self.index, (x, y))
    }

    /// Adds a dependency of channels on VLs unless it closes a cycle; returns whether it is in the
    /// graph.
    pub(super) fn add(&mut self, x: u32, y: u32) -> bool {
        self.layer.admit(&self.index, &[(x, y)])
    }

    /// Whether a turn is not one in dimension order.
    pub(super) fn is_irregular(&self, x: usize, y: usize) -> bool {
        let in_axis = self.axis[x];
        let out_axis = self.axis[y];
        let has_order = in_axis != out_axis || self.vls.has_order_along(in_axis);
        self.vls.is_against_order(in_axis, out_axis) || !has_order
    }

    /// Number of axes that a turn goes back, at least 1.
    pub(super) fn span(&self, x: usize, y: usize) -> u64 {
        (self.axis[x].saturating_sub(self.axis[y]) as u64).max(1)
    }

    /// Whether packets may turn from channel `x` to `y`, and leave the next switch over `z`; `None`
    /// if that is not known.
    pub(super) fn status(&self, x: usize, y: usize, z: Option<usize>) -> Option<bool> {
        if !self.is_irregular(x, y) || self.dependencies(x, y, z).all(|(x, y)| self.contains(x, y))
        {
            return Some(true);
        }
        let turn = (index_to_u32(x), index_to_u32(y));
        let is_rejected = self.rejected_with_any.contains(&self.graph.channels, turn)
            && self.rejected.contains(&(x, y, z));
        is_rejected.then_some(false)
    }

    /// As [`Self::status`]. Adds the dependencies of an unknown turn to the graph unless they close
    /// a cycle.
    pub(super) fn permits(&mut self, x: usize, y: usize, z: Option<usize>) -> bool {
        if let Some(is_permitted) = self.status(x, y, z) {
            return is_permitted;
        }
        let dependencies: Vec<(u32, u32)> = self.dependencies(x, y, z).collect();
        let is_permitted = self.layer.admit(&self.index, &dependencies);
        if !is_permitted {
            let turn = (index_to_u32(x), index_to_u32(y));
            self.rejected_with_any.insert(&self.graph.channels, turn);
            self.rejected.insert((x, y, z));
        }
        is_permitted
    }

    /// Dependencies of an irregular turn.
    fn dependencies(
        &self,
        x: usize,
        y: usize,
        z: Option<usize>,
    ) -> impl Iterator<Item = (u32, u32)> + '_ {
        let out_vls = self.out_vls(x, y);
        let turn_vl = self.vls.turn_vl.filter(|vl| out_vls.contains(vl));
        let next = turn_vl.zip(z).into_iter().flat_map(move |(turn_vl, z)| {
            let next_vls = self.out_vls(y, z);
            next_vls.map(move |to| (self.on_vl(y, turn_vl), self.on_vl(z, to)))
        });
        (0..self.vls.ordered)
            .flat_map(move |from| {
                let out_vls = out_vls.clone();
                out_vls.map(move |to| (self.on_vl(x, from), self.on_vl(y, to)))
            })
            .chain(next)
    }

    /// VLs on channel `y` after a turn from `x`.
    fn out_vls(&self, x: usize, y: usize) -> std::ops::Range<usize> {
        match self.vls.turn_vl {
            Some(vl) if self.vls.is_against_order(self.axis[x], self.axis[y]) => vl..vl + 1,
            _ => 0..self.vls.ordered,
        }
    }
}

/// The channels on each of a number of VLs as channels of their own.
fn channels_on_vls(index: &ChannelIndex, vls: usize) -> ChannelIndex {
    let vls = index_to_u32(vls);
    let copies = |values: &[u32]| {
        let each = values
            .iter()
            .flat_map(|&value| (0..vls).map(move |_| value));
        each.collect()
    };
    let reverse = index.reverse.iter();
    ChannelIndex {
        first: index.first.iter().map(|first| first * vls).collect(),
        head: copies(&index.head),
        tail: copies(&index.tail),
        reverse: reverse
            .flat_map(|&channel| (0..vls).map(move |vl| channel * vls + vl))
            .collect(),
    }
}

/// Collects the dependencies of dimension order.
struct BaseTurns<'a> {
    graph: &'a Graph,
    coordinates: &'a GridCoordinates,
    vls: &'a GridVls,
    axis: &'a [usize],
    index: &'a ChannelIndex,
    number: &'a [usize],
    dependencies: DependencySet,
}

impl BaseTurns<'_> {
    fn add(&mut self, x: usize, from: usize, y: usize, to: usize) {
        let base = self.vls.base();
        let first = index_to_u32(self.number[x] * base + from);
        let second = index_to_u32(self.number[y] * base + to);
        self.dependencies.insert(self.index, (first, second));
    }

    /// Adds the dependencies within the lines of an axis.
    fn add_lines(&mut self, axis: usize, lines: &Lines) {
        let graph = self.graph;
        let coordinates = self.coordinates;
        let size = coordinates.axes[axis].size;
        let has_dateline = self.vls.has_dateline(axis);
        for line in 0..coordinates.lines(axis) {
            for a in 0..size {
                for b in (0..size).filter(|&b| b != a) {
                    let vl = usize::from(has_dateline && crosses_dateline(size, a, b));
                    let mut last: Option<usize> = None;
                    let mut at = a;
                    while at != b
                        && let Some(v) = coordinates.switch_on_line(axis, line, at)
                    {
                        let slot = lines.next(line, at, b);
                        if slot == NONE {
                            break;
                        }
                        let channel = graph.first_slot(v) + usize::from(slot);
                        if let Some(last) = last {
                            self.add(last, vl, channel, vl);
                        }
                        last = Some(channel);
                        at = coordinates.along(graph.slots(v)[usize::from(slot)].peer, axis);
                    }
                }
            }
        }
    }

    /// Adds the turns to later axes, and all dependencies in broken rings, which have no cycle.
    fn add_turns(&mut self) {
        let graph = self.graph;
        let is_broken = self.broken_lines();
        for v in 0..graph.len() {
            for x in graph.first_slot(v)..graph.first_slot(v + 1) {
                let at = graph.head(index_to_u32(x));
                let axis = self.axis[x];
                for y in graph.first_slot(at)..graph.first_slot(at + 1) {
                    if graph.head(index_to_u32(y)) == v {
                        continue;
                    }
                    if axis < self.axis[y] {
                        for from in 0..self.vls.ordered {
                            (0..self.vls.ordered).for_each(|to| self.add(x, from, y, to));
                        }
                    } else if axis == self.axis[y]
                        && is_broken[axis][self.coordinates.line(v, axis)]
                    {
                        (0..self.vls.ordered).for_each(|vl| self.add(x, vl, y, vl));
                    }
                }
            }
        }
    }

    /// By axis and line: whether a link of the ring is missing.
    fn broken_lines(&self) -> Vec<Vec<bool>> {
        let coordinates = self.coordinates;
        let mut links: Vec<Vec<usize>> = (0..coordinates.axes.len())
            .map(|axis| vec![0; coordinates.lines(axis)])
            .collect();
        for v in 0..self.graph.len() {
            for x in self.graph.first_slot(v)..self.graph.first_slot(v + 1) {
                let axis = self.axis[x];
                links[axis][coordinates.line(v, axis)] += 1;
            }
        }
        let is_broken = |axis: usize, links: usize| {
            coordinates.axes[axis].kind == DimKind::Ring && links < 2 * coordinates.axes[axis].size
        };
        links
            .iter()
            .enumerate()
            .map(|(axis, lines)| lines.iter().map(|&links| is_broken(axis, links)).collect())
            .collect()
    }
}
