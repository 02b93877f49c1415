//! The axes of a grid in the order of routing, and the position of every switch.

use crate::structure::grid::{DimKind, Grid};
use crate::topology::SwitchIdx;
use crate::topology::graph::Graph;

/// An axis. A ring may have three or four switches, which [`Grid`] represents as a full dimension
/// or as two dimensions of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) kind: DimKind,
    pub(crate) size: usize,
}

/// Positions of the switches along the axes.
#[derive(Debug, Clone)]
pub(crate) struct GridCoordinates {
    pub(crate) axes: Vec<Axis>,
    /// Index distance between adjacent positions of each axis.
    stride: Vec<usize>,
    position: Vec<usize>,
    switch_at: Vec<Option<usize>>,
    /// Whether every position has a switch and all adjacent positions are linked.
    pub(crate) is_complete: bool,
}

impl GridCoordinates {
    /// The coordinates of the switches of a detected grid.
    pub(crate) fn from_grid(grid: &Grid, switches: usize) -> Self {
        let axes: Vec<Axis> = grid
            .dims
            .iter()
            .map(|d| Axis {
                kind: d.kind,
                size: d.size,
            })
            .collect();
        let coords = (0..switches).map(|s| grid.coords(SwitchIdx::from_index(s)).to_vec());
        Self::new(axes, coords, grid.is_complete())
    }

    /// Coordinates along any axes. `coords` are distinct for each switch and within the sizes of
    /// the axes.
    pub(crate) fn new(
        axes: Vec<Axis>,
        coords: impl Iterator<Item = Vec<usize>>,
        is_complete: bool,
    ) -> Self {
        let mut stride = vec![1];
        for axis in &axes {
            stride.push(stride.last().copied().unwrap_or(1) * axis.size);
        }
        let position: Vec<usize> = coords
            .map(|c| c.iter().zip(&stride).map(|(x, step)| x * step).sum())
            .collect();
        let mut switch_at = vec![None; stride.pop().unwrap_or(1)];
        for (s, &p) in position.iter().enumerate() {
            switch_at[p] = Some(s);
        }
        Self {
            axes,
            stride,
            position,
            switch_at,
            is_complete,
        }
    }

    /// Number of switches.
    pub(crate) fn switches(&self) -> usize {
        self.position.len()
    }

    /// Position of a switch along an axis.
    pub(crate) fn along(&self, s: usize, axis: usize) -> usize {
        self.position[s] / self.stride[axis] % self.axes[axis].size
    }

    /// The line along an axis that contains a switch.
    pub(crate) fn line(&self, s: usize, axis: usize) -> usize {
        let stride = self.stride[axis];
        let outer_stride = self.stride[axis] * self.axes[axis].size;
        self.position[s] / outer_stride * stride + self.position[s] % stride
    }

    /// Number of lines along an axis.
    pub(crate) fn lines(&self, axis: usize) -> usize {
        self.switch_at.len() / self.axes[axis].size
    }

    /// The switch at a position of a line.
    pub(crate) fn switch_on_line(&self, axis: usize, line: usize, along: usize) -> Option<usize> {
        let stride = self.stride[axis];
        let outer_stride = self.stride[axis] * self.axes[axis].size;
        self.switch_at[line / stride * outer_stride + along * stride + line % stride]
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
