//! Channel dependencies of paths, which a virtual layer must admit before it can carry their
//! packets.
//!
//! Only packets that can occur are counted: to end ports from every switch, to switches from
//! switches with end ports. LIDs on one switch that are reached over the same channels are
//! processed once.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::channels::{Dependency, DependencySet};
use crate::paths::weighted::LidTrees;
use crate::topology::graph::Graph;
use crate::topology::{Destination, Topology};

/// Paths of all packets by source and destination switch.
#[derive(Debug)]
pub(crate) struct PairPaths<'a> {
    pub(crate) graph: &'a Graph,
    lid_trees: &'a LidTrees,
    /// Index of each switch's first column in `columns`, and the total.
    first: Vec<usize>,
    /// Columns of each switch with distinct paths, and whether the LID is the switch's own
    /// (management packets only).
    columns: Vec<(usize, bool)>,
}

impl<'a> PairPaths<'a> {
    pub(crate) fn new(topo: &Topology, graph: &'a Graph, lid_trees: &'a LidTrees) -> Self {
        let lids: Vec<Destination> = lid_trees.destinations(topo).copied().collect();
        let distinct_columns = |dest: usize| {
            let mut columns: Vec<usize> = lid_trees.columns_on(dest).collect();
            columns.sort_by_key(|&c| (lids[c].port == PortNum::ZERO, c));
            let mut distinct: Vec<(usize, bool)> = Vec::new();
            for column in columns {
                let is_same_tree = |&(other, _): &(usize, bool)| {
                    let pairs = lid_trees.column(other).iter().zip(lid_trees.column(column));
                    pairs.enumerate().all(|(v, (&p, &q))| {
                        p == q
                            || v == dest
                            || graph.output_channel(v, p) == graph.output_channel(v, q)
                    })
                };
                if !distinct.iter().any(is_same_tree) {
                    distinct.push((column, lids[column].port == PortNum::ZERO));
                }
            }
            distinct
        };
        let columns_by_dest: Vec<Vec<(usize, bool)>> = (0..graph.len())
            .into_par_iter()
            .map(distinct_columns)
            .collect();
        let mut first = vec![0];
        let mut columns = Vec::new();
        for of_switch in columns_by_dest {
            columns.extend(of_switch);
            first.push(columns.len());
        }
        Self {
            graph,
            lid_trees,
            first,
            columns,
        }
    }

    fn columns_on(&self, dest: usize) -> &[(usize, bool)] {
        &self.columns[self.first[dest]..self.first[dest + 1]]
    }

    /// Whether a switch sends packets to a LID. Only switches with end ports send to management
    /// LIDs.
    fn sends_packets(&self, from: usize, management: bool) -> bool {
        !management || self.graph.hosts[from] > 0
    }

    /// Adds the dependencies of all packets from one switch to the LIDs on another.
    pub(crate) fn add_pair_dependencies(
        &self,
        from: usize,
        dest: usize,
        dependencies: &mut Vec<Dependency>,
    ) {
        for &(column, management) in self.columns_on(dest) {
            if self.sends_packets(from, management) {
                self.walk(from, dest, column, dependencies);
            }
        }
    }

    fn walk(&self, from: usize, dest: usize, column: usize, dependencies: &mut Vec<Dependency>) {
        let ports = self.lid_trees.column(column);
        let mut x = self.graph.output_channel(from, ports[from]);
        let mut v = self.graph.head(x);
        while v != dest {
            let y = self.graph.output_channel(v, ports[v]);
            dependencies.push((x, y));
            x = y;
            v = self.graph.head(y);
        }
    }

    /// All dependencies.
    pub(crate) fn all_dependencies(&self) -> DependencySet {
        let index = &self.graph.channels;
        let none = || DependencySet::empty(index);
        let add = |mut set: DependencySet, dest: usize| {
            let mut dependencies = Vec::new();
            for &(column, management) in self.columns_on(dest) {
                if management {
                    for from in
                        (0..self.graph.len()).filter(|&v| v != dest && self.sends_packets(v, true))
                    {
                        self.walk(from, dest, column, &mut dependencies);
                    }
                    continue;
                }
                let leaving: Vec<u32> = self
                    .lid_trees
                    .column(column)
                    .iter()
                    .enumerate()
                    .map(|(v, &p)| self.graph.output_channel(v, p))
                    .collect();
                for (v, &x) in leaving.iter().enumerate() {
                    if v == dest {
                        continue;
                    }
                    let next = self.graph.head(x);
                    if next != dest {
                        set.insert(index, (x, leaving[next]));
                    }
                }
            }
            for dependency in dependencies {
                set.insert(index, dependency);
            }
            set
        };
        let merge = |mut a: DependencySet, b: DependencySet| {
            a.union_with(&b);
            a
        };
        (0..self.graph.len())
            .into_par_iter()
            .fold(none, add)
            .reduce(none, merge)
    }
}
