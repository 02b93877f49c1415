//! Where the dependency graph starts from: an order of the switches, and the escape tree.
//!
//! The switches are put in an up/down order (as for `updn`); all paths that climb, then descend, agree with the order of
//! channels that follows from it. The escape tree hangs every switch on one above it. Its dependencies are used before
//! all others, so every destination stays reachable on it whatever else is used; and multicast goes along it.

use ferrosm_mad::ids::PortNum;

use super::network::Network;
use crate::channels::{VirtualLayer, narrow};

/// The order of the switches (by place) and, for each switch, the channel to the one above in the escape tree.
#[derive(Debug)]
pub(super) struct EscapeTree {
    place: Vec<usize>,
    up: Vec<Option<u32>>,
}

impl EscapeTree {
    /// `order` holds all switches of a connected graph, from the top: each but the first has a neighbour before it.
    pub(super) fn new(net: &Network, order: &[usize]) -> Self {
        let mut place = vec![0; net.n];
        for (i, &v) in order.iter().enumerate() {
            place[v] = i;
        }
        let (mut up, mut depth) = (vec![None; net.n], vec![0u32; net.n]);
        for &v in order {
            let above = net
                .channels
                .leaving(v)
                .filter(|&c| place[net.channels.head[c as usize] as usize] < place[v]);
            let peer = |c: u32| net.channels.head[c as usize] as usize;
            up[v] = above.min_by_key(|&c| (depth[peer(c)], place[peer(c)]));
            depth[v] = up[v].map_or(0, |c| depth[peer(c)] + 1);
        }
        Self { place, up }
    }

    /// A dependency graph in which nothing is used. First in its order are the channels that lead up, the lowest
    /// switches' first, then those that lead down, the highest switches' first.
    pub(super) fn dependency_graph_without_tree(
        &self,
        net: &Network,
        visits_max: usize,
    ) -> VirtualLayer {
        let mut order: Vec<u32> = (0..narrow(net.channels.len())).collect();
        order.sort_by_key(|&c| {
            let tail = self.place[net.channels.tail[c as usize] as usize];
            let climbs = self.place[net.channels.head[c as usize] as usize] < tail;
            if climbs {
                (0, net.n - tail, c)
            } else {
                (1, tail, c)
            }
        });
        VirtualLayer::with_order(&net.channels, &order, visits_max)
    }

    /// The same, and the escape tree is used.
    pub(super) fn dependency_graph(&self, net: &Network, visits_max: usize) -> VirtualLayer {
        let mut cdg = self.dependency_graph_without_tree(net, visits_max);
        for v in 0..net.n {
            let own = self.up[v];
            let children = net.channels.leaving(v).filter(|&c| {
                self.up[net.channels.head[c as usize] as usize]
                    == Some(net.channels.back[c as usize])
            });
            let children: Vec<u32> = children.collect();
            for &child in &children {
                let into = net.channels.back[child as usize];
                if let Some(own) = own {
                    cdg.insert(&net.channels, (into, own));
                    let down = net.channels.back[own as usize];
                    cdg.insert(&net.channels, (down, child));
                }
                for &other in children.iter().filter(|&&other| other != child) {
                    cdg.insert(&net.channels, (into, other));
                }
            }
        }
        cdg
    }

    /// The escape tree as ports towards the root, by the topology's numbers of switches.
    pub(super) fn ports_up(&self, net: &Network) -> Vec<Option<PortNum>> {
        let mut ports = vec![None; net.n];
        for (v, up) in self.up.iter().enumerate() {
            let port = up.and_then(|c| net.ports(c as usize).first().copied());
            ports[net.switch[v].index()] = port.map(PortNum);
        }
        ports
    }

    /// Each switch's place, by the topology's numbers of switches.
    pub(super) fn places(&self, net: &Network) -> Vec<u32> {
        let mut places = vec![0; net.n];
        for (v, &place) in self.place.iter().enumerate() {
            places[net.switch[v].index()] = narrow(place);
        }
        places
    }
}
