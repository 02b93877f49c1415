//! The axes along which packets travel, in the order in which they do, and the place of every switch.

use crate::structure::grid::{DimKind, Grid};
use crate::topology::SwitchIdx;

use super::super::graph::Graph;

/// One axis. Unlike dimensions of a [`Grid`], rings may have three or four switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) kind: DimKind,
    pub(crate) size: usize,
}

/// Places of switches.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) axes: Vec<Axis>,
    /// Distance between neighbouring places along each axis.
    stride: Vec<usize>,
    place: Vec<usize>,
    switch_at: Vec<Option<usize>>,
    /// Neighbouring places that have a switch each and no cable, and places without a switch.
    pub(crate) whole: bool,
}

impl Frame {
    /// The grid as it was found.
    pub(crate) fn of(grid: &Grid, switches: usize) -> Self {
        let axes: Vec<Axis> = grid
            .dims
            .iter()
            .map(|d| Axis {
                kind: d.kind,
                size: d.size,
            })
            .collect();
        let coords = (0..switches).map(|s| grid.coords(SwitchIdx::at(s)).to_vec());
        Self::new(axes, coords, grid.is_whole())
    }

    /// Any axes, with the coordinates of each switch: no two may be the same, nor leave the axes.
    pub(crate) fn new(
        axes: Vec<Axis>,
        coords: impl Iterator<Item = Vec<usize>>,
        whole: bool,
    ) -> Self {
        let mut stride = vec![1];
        for axis in &axes {
            stride.push(stride.last().copied().unwrap_or(1) * axis.size);
        }
        let place: Vec<usize> = coords
            .map(|c| c.iter().zip(&stride).map(|(x, step)| x * step).sum())
            .collect();
        let mut switch_at = vec![None; stride.pop().unwrap_or(1)];
        for (s, &p) in place.iter().enumerate() {
            switch_at[p] = Some(s);
        }
        Self {
            axes,
            stride,
            place,
            switch_at,
            whole,
        }
    }

    /// How many switches there are.
    pub(crate) fn switches(&self) -> usize {
        self.place.len()
    }

    /// Where a switch is along an axis.
    pub(crate) fn along(&self, s: usize, axis: usize) -> usize {
        self.place[s] / self.stride[axis] % self.axes[axis].size
    }

    /// The line along an axis that a switch is in.
    pub(crate) fn line(&self, s: usize, axis: usize) -> usize {
        let (below, above) = (self.stride[axis], self.stride[axis] * self.axes[axis].size);
        self.place[s] / above * below + self.place[s] % below
    }

    /// How many lines there are along an axis.
    pub(crate) fn lines(&self, axis: usize) -> usize {
        self.switch_at.len() / self.axes[axis].size
    }

    /// The switch at a place in a line.
    pub(crate) fn at(&self, axis: usize, line: usize, along: usize) -> Option<usize> {
        let (below, above) = (self.stride[axis], self.stride[axis] * self.axes[axis].size);
        self.switch_at[line / below * above + along * below + line % below]
    }

    /// The axis of each slot of the graph.
    pub(crate) fn axis_of_slots(&self, graph: &Graph) -> Vec<usize> {
        let mut axes = Vec::with_capacity(graph.num_slots());
        for v in 0..graph.len() {
            for slot in graph.slots(v) {
                let differs = |&i: &usize| self.along(v, i) != self.along(slot.peer, i);
                axes.push((0..self.axes.len()).find(differs).unwrap_or(0));
            }
        }
        axes
    }
}
