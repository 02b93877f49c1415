//! One forwarding tree for each LID, as built by engines that weigh channels.
//!
//! Stored by LID (a column has the port of every switch), because building and walking both process
//! one LID at a time. Converted to forwarding tables at the end. Owned by one engine run.

use std::ops::Range;
use std::sync::Arc;

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::request::PreviousRouting;
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, Topology};

/// Output ports by LID and switch.
#[derive(Debug, Clone)]
pub(crate) struct LidTrees {
    n: usize,
    /// Index of each switch's first column, and the total.
    first: Vec<usize>,
    /// Column by column; [`PortNum::DROP`] where no port is chosen yet.
    ports: Vec<u8>,
}

impl LidTrees {
    /// No ports chosen, except at the switch of each LID.
    pub(crate) fn new(topo: &Topology) -> Self {
        let n = topo.num_switches();
        let mut first = vec![0];
        let mut columns = 0;
        for s in topo.switches() {
            columns += topo.destinations_on(s).len();
            first.push(columns);
        }
        let mut ports = vec![PortNum::DROP.raw(); columns * n];
        for s in topo.switches() {
            for (i, d) in topo.destinations_on(s).iter().enumerate() {
                ports[(first[s.index()] + i) * n + s.index()] = d.port.raw();
            }
        }
        Self { n, first, ports }
    }

    /// Columns of the LIDs on a switch, in the order of [`Topology::destinations_on`].
    pub(crate) fn columns_on(&self, dest: usize) -> Range<usize> {
        self.first[dest]..self.first[dest + 1]
    }

    /// Port of every switch towards one LID.
    pub(crate) fn column(&self, column: usize) -> &[u8] {
        &self.ports[column * self.n..][..self.n]
    }

    /// Mutable version of [`Self::column`].
    pub(crate) fn column_mut(&mut self, column: usize) -> &mut [u8] {
        &mut self.ports[column * self.n..][..self.n]
    }

    /// All columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &[u8]> {
        self.ports.chunks_exact(self.n.max(1))
    }

    /// The LID of each column.
    pub(crate) fn destinations<'a>(
        &self,
        topo: &'a Topology,
    ) -> impl Iterator<Item = &'a Destination> + use<'a> {
        topo.switches().flat_map(|s| topo.destinations_on(s))
    }

    /// Replaces columns with the installed ones where those still reach their LID from every
    /// switch.
    pub(crate) fn keep_installed_columns(&mut self, topo: &Topology, previous: &PreviousRouting) {
        let lids: Vec<Destination> = self.destinations(topo).copied().collect();
        let n = self.n;
        let columns = self.ports.par_chunks_exact_mut(n.max(1)).zip(lids);
        columns.for_each(|(ports, d)| {
            let installed = |v: usize| previous.table_of(v).map(|lft| lft.get(d.lid));
            let dest = d.switch.index();
            let differs = (0..n).any(|v| v != dest && installed(v) != Some(PortNum(ports[v])));
            if differs && reaches_all(topo, dest, &installed) {
                for v in (0..n).filter(|&v| v != dest) {
                    ports[v] = installed(v).map_or(PortNum::DROP, |port| port).raw();
                }
            }
        });
    }

    /// The forwarding tables. An unchanged table reuses the installed allocation.
    pub(crate) fn tables(&self, topo: &Topology, previous: &PreviousRouting) -> Tables {
        /// Number of switches whose tables are filled together: one cache line of each column.
        const ROWS_PER_BLOCK: usize = 64;
        let lids: Vec<usize> = self
            .destinations(topo)
            .map(|d| usize::from(d.lid.raw()))
            .collect();
        let starts: Vec<usize> = (0..self.n).step_by(ROWS_PER_BLOCK).collect();
        starts
            .into_par_iter()
            .flat_map_iter(|start| {
                let count = ROWS_PER_BLOCK.min(self.n - start);
                let mut rows = vec![Lft::drop_all(topo.top_lid()).into_entries(); count];
                for (column, &lid) in lids.iter().enumerate() {
                    let ports = &self.ports[column * self.n + start..][..count];
                    for (row, &port) in rows.iter_mut().zip(ports) {
                        row[lid] = port;
                    }
                }
                rows.into_iter().enumerate().map(move |(i, row)| {
                    let lft = Lft::from_entries(row);
                    match previous.table_of(start + i) {
                        Some(old) if **old == lft => Arc::clone(old),
                        Some(_) | None => Arc::new(lft),
                    }
                })
            })
            .collect()
    }
}

/// Whether packets from every switch reach `dest` through the ports that `via` returns.
fn reaches_all(topo: &Topology, dest: usize, via: &dyn Fn(usize) -> Option<PortNum>) -> bool {
    let n = topo.num_switches();
    // 0 unknown, 1 on the current path, 2 reaches the destination.
    let mut state = vec![0u8; n];
    state[dest] = 2;
    let mut path = Vec::new();
    for from in 0..n {
        let mut at = from;
        while state[at] == 0 {
            state[at] = 1;
            path.push(at);
            let next = via(at).and_then(|port| topo.neighbor(SwitchIdx::from_index(at), port));
            match next {
                Some((peer, _)) => at = peer.index(),
                None => return false,
            }
        }
        if state[at] == 1 {
            return false;
        }
        for v in path.drain(..) {
            state[v] = 2;
        }
    }
    true
}
