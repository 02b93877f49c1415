//! Channel dependencies of packets on a multicast tree.

use ferrosm_mad::ids::PortNum;

use super::dependencies::Dependency;
use super::vls::VlChannelNumbers;
use crate::topology::{PortSet, SwitchIdx, Topology};

/// Channel dependencies of packets with this SL on a spanning tree. `up` is the port of each switch
/// towards the root.
pub(crate) fn dependencies_of_spanning_tree(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    up: &[Option<PortNum>],
    sl: u8,
) -> Vec<Dependency> {
    let mut ports = vec![PortSet::new(); up.len()];
    for (v, port) in up.iter().enumerate() {
        if let Some(port) = port
            && let Some((peer, far)) = channels.ports.peer(v, port.raw())
        {
            ports[v].insert(*port);
            ports[peer].insert(PortNum(far));
        }
    }
    dependencies_of_tree(topo, channels, sl, 0..up.len(), |v| ports[v])
}

/// Channel dependencies of packets with this SL on all trees in which the parent of each switch
/// comes before it in `order`.
pub(crate) fn dependencies_of_ordered_trees(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    order: &[u32],
    sl: u8,
) -> Vec<Dependency> {
    let links = |s: SwitchIdx| topo.links(s).iter().map(|link| link.port).collect();
    let ports: Vec<PortSet> = topo.switches().map(links).collect();
    // A switch has one parent in a tree, and one link to each neighbour.
    let is_below = |u: usize, v: usize| order.get(u) > order.get(v);
    let turns = |from, at, to| from != to && (is_below(from, at) || is_below(to, at));
    dependencies_of_turns(topo, channels, sl, 0..ports.len(), |v| ports[v], turns)
}

/// Channel dependencies of packets that arrive on any port of a tree and leave on all others.
/// `ports` returns the tree ports of each of `switches`; ports to end ports are ignored.
pub(crate) fn dependencies_of_tree(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    sl: u8,
    switches: impl Iterator<Item = usize>,
    ports: impl Fn(usize) -> PortSet,
) -> Vec<Dependency> {
    dependencies_of_turns(topo, channels, sl, switches, ports, |_, _, _| true)
}

/// As [`dependencies_of_tree`], for turns from a switch over one of `switches` to another switch
/// that satisfy `turns`.
fn dependencies_of_turns(
    topo: &Topology,
    channels: VlChannelNumbers<'_>,
    sl: u8,
    switches: impl Iterator<Item = usize>,
    ports: impl Fn(usize) -> PortSet,
    turns: impl Fn(usize, usize, usize) -> bool,
) -> Vec<Dependency> {
    let links = channels.ports;
    let mut dependencies = Vec::new();
    for v in switches {
        let tree_links: Vec<(u8, usize, u8)> = ports(v)
            .iter()
            .filter_map(|p| links.peer(v, p.raw()).map(|(u, q)| (p.raw(), u, q)))
            .collect();
        for &(input, u, peer_port) in &tree_links {
            // VLs on which packets arrive, for all input ports at the previous switch.
            let mut vls = 0u16;
            let host_ports = topo
                .end_ports(SwitchIdx::from_index(u))
                .iter()
                .map(|e| e.port);
            for from in ports(u).iter().chain(host_ports).chain([PortNum::ZERO]) {
                if from.raw() != peer_port {
                    vls |= channels
                        .packets
                        .vl(u, from.raw(), peer_port, sl)
                        .map_or(0, |vl| 1 << vl);
                }
            }
            let channel = links.output_channel(u, peer_port);
            let others = tree_links.iter().filter(|c| c.0 != input);
            for &(out, ..) in others.filter(|c| turns(u, v, c.1)) {
                let Some(out_vl) = channels.packets.vl(v, input, out, sl) else {
                    continue;
                };
                let vls = (0u8..16).filter(|vl| vls >> vl & 1 == 1);
                let next = channels.on_vl(links.output_channel(v, out), out_vl);
                dependencies.extend(vls.map(|vl| (channels.on_vl(channel, vl), next)));
            }
        }
    }
    dependencies
}
