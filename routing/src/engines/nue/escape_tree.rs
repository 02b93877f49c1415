//! Start of the dependency graph: an order of the switches, and the escape tree.
//!
//! The switches are in an up/down order as for `updn`, which defines an order of the channels; all
//! paths that climb, then descend, agree with it. In the escape tree, the parent of every switch is
//! above it. The dependencies of the tree are added first, so every destination stays reachable
//! over it; multicast uses it as well.

use ferrosm_mad::ids::PortNum;

use super::network::Network;
use crate::channels::VirtualLayer;
use crate::paths::up_down::ordered::positions;

/// Order of the switches (by position) and the channel of each switch to its parent in the escape
/// tree.
#[derive(Debug)]
pub(super) struct EscapeTree {
    position: Vec<u32>,
    up: Vec<Option<u32>>,
}

impl EscapeTree {
    /// `order` has all switches of a connected graph from the root down: each one but the first has
    /// a neighbour before it.
    pub(super) fn new(net: &Network, order: &[usize]) -> Self {
        let position = positions(order);
        let mut up = vec![None; net.n];
        let mut depth = vec![0u32; net.n];
        for &v in order {
            let parents = net
                .channels
                .leaving(v)
                .filter(|&c| position[net.channels.head[c as usize] as usize] < position[v]);
            let peer = |c: u32| net.channels.head[c as usize] as usize;
            up[v] = parents.min_by_key(|&c| (depth[peer(c)], position[peer(c)]));
            depth[v] = up[v].map_or(0, |c| depth[peer(c)] + 1);
        }
        Self { position, up }
    }

    /// A dependency graph without dependencies.
    pub(super) fn dependency_graph_without_tree(
        &self,
        net: &Network,
        visits_max: usize,
    ) -> VirtualLayer {
        let order = net.channels.up_then_down(&self.position);
        VirtualLayer::with_order(&net.channels, &order).limited_to(visits_max)
    }

    /// A dependency graph with the dependencies of the escape tree.
    pub(super) fn dependency_graph(&self, net: &Network, visits_max: usize) -> VirtualLayer {
        let mut cdg = self.dependency_graph_without_tree(net, visits_max);
        for v in 0..net.n {
            let up_channel = self.up[v];
            let children: Vec<u32> = net
                .channels
                .leaving(v)
                .filter(|&c| {
                    self.up[net.channels.head[c as usize] as usize]
                        == Some(net.channels.reverse[c as usize])
                })
                .collect();
            for &child in &children {
                let into = net.channels.reverse[child as usize];
                if let Some(up_channel) = up_channel {
                    cdg.insert(&net.channels, (into, up_channel));
                    let down = net.channels.reverse[up_channel as usize];
                    cdg.insert(&net.channels, (down, child));
                }
                for &other in children.iter().filter(|&&other| other != child) {
                    cdg.insert(&net.channels, (into, other));
                }
            }
        }
        cdg
    }

    /// The escape tree as ports towards the root, by [`SwitchIdx`](crate::SwitchIdx).
    pub(super) fn ports_up(&self, net: &Network) -> Vec<Option<PortNum>> {
        let mut ports = vec![None; net.n];
        for (v, up) in self.up.iter().enumerate() {
            let port = up.and_then(|c| net.ports(c as usize).first().copied());
            ports[net.switch[v].index()] = port.map(PortNum);
        }
        ports
    }

    /// Position of each switch, by [`SwitchIdx`](crate::SwitchIdx).
    pub(super) fn positions(&self, net: &Network) -> Vec<u32> {
        let mut positions = vec![0; net.n];
        for (v, &position) in self.position.iter().enumerate() {
            positions[net.switch[v].index()] = position;
        }
        positions
    }
}
