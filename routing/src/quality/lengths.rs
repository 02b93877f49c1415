//! Lengths of routes, and how many routes use the links, from the tables alone. On one thread, so
//! that it may run beside a routing job.

use ferrosm_mad::ids::{Lid, PortNum};

use super::loads::{LOST, PairLoads, Tree, UNKNOWN};
use super::paths::RoutedPaths;
use crate::tables::Tables;
use crate::topology::{SwitchIdx, Topology};

/// Follows the routes of all end ports, each by its base LID.
pub struct RouteLengths<'a> {
    paths: RoutedPaths<'a>,
    /// Indices of hosts, by LID.
    by_lid: Vec<usize>,
    tree: Tree,
}

/// Routes over the channels between switches. A channel is a link in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkLoads {
    /// Routes over the busiest channel.
    pub busiest: u64,
    /// Routes over all channels, added up.
    pub total: u64,
    /// Number of channels.
    pub channels: u64,
}

impl<'a> RouteLengths<'a> {
    #[must_use]
    pub fn new(topo: &Topology, tables: &'a Tables) -> Self {
        let paths = RoutedPaths::new(topo, tables);
        Self {
            by_lid: paths.by_lid(),
            tree: Tree::new(&paths),
            paths,
        }
    }

    /// Follows the routes to an end port, by its base LID. Returns whether there is one.
    pub fn compute_to(&mut self, lid: Lid) -> bool {
        let hosts = &self.paths.hosts;
        let Ok(at) = self.by_lid.binary_search_by_key(&lid, |&h| hosts[h].lid) else {
            return false;
        };
        let host = hosts[self.by_lid[at]];
        self.tree.compute(&self.paths, &host);
        true
    }

    /// Links between switches on the route from a switch with end ports to the end port of
    /// [`Self::compute_to`]; `None` if packets do not arrive.
    #[must_use]
    pub fn hops_from(&self, s: SwitchIdx) -> Option<u32> {
        let hops = *self.tree.hops.get(s.index())?;
        (hops != UNKNOWN && hops != LOST).then_some(hops)
    }

    /// The loads of the links between switches.
    pub fn loads(&mut self) -> LinkLoads {
        let loads = self.pair_loads();
        LinkLoads {
            busiest: loads.load.iter().copied().max().unwrap_or(0),
            total: loads.load.iter().sum(),
            channels: self.paths.num_links(),
        }
    }

    /// The load of each channel between switches: its switch, output port, and routes.
    pub fn channel_loads(&mut self) -> Vec<(SwitchIdx, PortNum, u64)> {
        let loads = self.pair_loads().load;
        self.paths
            .channels()
            .map(|(s, port, channel)| (s, port, loads[channel]))
            .collect()
    }

    fn pair_loads(&mut self) -> PairLoads {
        let mut loads = PairLoads::empty(self.paths.num_channels());
        for to in &self.paths.hosts {
            self.tree.compute(&self.paths, to);
            self.tree.count(&self.paths, to, &mut loads);
        }
        loads
    }
}
