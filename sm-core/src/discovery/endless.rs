//! Which port leads to switches without end, if the whole fabric is new to the SM.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::PortNum;
use rustc_hash::FxHashMap;

use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, Port, PortRef};

/// More ports of new switches than this behind a port, and no host, are endless: in a fabric, hosts
/// are a few switches away from any switch.
pub(crate) const WITHOUT_HOST_MAX: u32 = 16_384;

/// New switches to exclude, and the hosts that only they connect.
#[derive(Debug)]
pub(super) struct Endless {
    /// The port that alone leads to them.
    pub(super) port: PortRef,
    pub(super) nodes: BTreeSet<NodeIdx>,
    pub(super) has_host: bool,
}

/// The links of a sweep in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links<'a> {
    pub(super) fabric: &'a ObservedFabric,
    /// The port behind each port, as NodeInfo reported it. Endless switches contradict themselves,
    /// so that links may be missing in `fabric`.
    pub(super) neighbours: &'a BTreeMap<PortRef, PortRef>,
}

impl Links<'_> {
    fn peer(&self, p: PortRef) -> Option<PortRef> {
        let reported = self.neighbours.get(&p).copied();
        let reported = reported.filter(|to| self.fabric.get(to.node).is_some());
        reported.or_else(|| self.fabric.peer(p))
    }

    /// Whether nothing is known that contradicts a link from `p` to `to`. A device may report a
    /// copy of a NodeInfo.
    fn may_link(&self, p: PortRef, to: PortRef) -> bool {
        let is_back = |back: &PortRef| *back == p;
        let is_down = |port: &Port| port.known && !port.is_up();
        self.neighbours.get(&to).is_none_or(is_back)
            && self.fabric.peer(to).is_none_or(|back| is_back(&back))
            && !self.fabric.port(to).is_some_and(is_down)
    }

    fn is_switch(&self, n: NodeIdx) -> bool {
        self.fabric.get(n).is_some_and(Node::is_switch)
    }

    fn linked_nodes(&self, n: NodeIdx) -> impl Iterator<Item = NodeIdx> {
        let ports = self.fabric.get(n).map(Node::physical_ports);
        let peers = ports.into_iter().flatten();
        peers.filter_map(move |p| Some(self.peer(PortRef::new(n, p))?.node))
    }
}

/// Finds a port that alone leads (over a bridge of the graph) to more than `max` ports of new
/// switches, or to more than [`WITHOUT_HOST_MAX`] and no host. If most of them are behind one
/// further port like that, and there are hosts, it is that port: what is before it is spared.
pub(super) fn find_endless(
    links: Links<'_>,
    new_switches: &BTreeMap<NodeIdx, PortRef>,
    max: u32,
) -> Option<Endless> {
    let visits = Search::new(links, new_switches).run();
    let is_bridge = |i: usize| i > 0 && visits[i].low == i;
    let is_endless =
        |v: &Visit| v.new_ports > max || (v.hosts == 0 && v.new_ports > WITHOUT_HOST_MAX);
    let mut at = (0..visits.len()).find(|i| is_bridge(*i) && is_endless(&visits[*i]))?;
    let has_host = visits[at].hosts > 0;
    if has_host {
        // Of two ports that are not behind each other, only one leads to most of the ports.
        for i in at + 1..visits[at].end {
            if is_bridge(i) && visits[i].new_ports > visits[at].new_ports / 2 {
                at = i;
            }
        }
    }
    let (port, _) = visits[at].link?;
    let behind = visits.get(at..visits[at].end)?;
    let mut nodes: BTreeSet<NodeIdx> = behind.iter().map(|v| v.node).collect();
    let hosts: Vec<NodeIdx> = nodes
        .iter()
        .flat_map(|n| links.linked_nodes(*n))
        .filter(|n| !links.is_switch(*n))
        .collect();
    for host in hosts {
        if links.linked_nodes(host).all(|n| nodes.contains(&n)) {
            nodes.insert(host);
        }
    }
    Some(Endless {
        port,
        nodes,
        has_host,
    })
}

/// A switch, in the order of the search.
#[derive(Debug)]
struct Visit {
    node: NodeIdx,
    num_ports: u8,
    /// The two ends of the link that it was reached over; `None` for the first switch.
    link: Option<(PortRef, PortRef)>,
    /// The last port that was followed.
    port: u8,
    /// The first switch that it, or a switch behind it, has a further link to.
    low: usize,
    /// The first switch after it that is not behind it.
    end: usize,
    /// Ports of new switches: its own and those behind it.
    new_ports: u32,
    /// Hosts at it and behind it.
    hosts: u32,
}

/// A depth-first search from the SM for bridges (Tarjan). SMPs do not pass through hosts.
#[derive(Debug)]
struct Search<'a> {
    links: Links<'a>,
    new_switches: &'a BTreeMap<NodeIdx, PortRef>,
    visits: Vec<Visit>,
    index_of: FxHashMap<NodeIdx, usize>,
    /// The switches between the first and the current one.
    stack: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(links: Links<'a>, new_switches: &'a BTreeMap<NodeIdx, PortRef>) -> Self {
        Self {
            links,
            new_switches,
            visits: Vec::new(),
            index_of: FxHashMap::default(),
            stack: Vec::new(),
        }
    }

    /// The switches in the order in which they are reached.
    fn run(mut self) -> Vec<Visit> {
        let Some(local) = self.links.fabric.local() else {
            return self.visits;
        };
        let next_to_host = self.links.peer(local).map(|peer| peer.node);
        let mut candidates = [Some(local.node), next_to_host].into_iter().flatten();
        let Some(first) = candidates.find(|n| self.links.is_switch(*n)) else {
            return self.visits;
        };
        self.reach(first, None);
        while let Some(at) = self.stack.last().copied() {
            self.follow_next_port(at);
        }
        self.visits
    }

    fn reach(&mut self, node: NodeIdx, link: Option<(PortRef, PortRef)>) {
        let index = self.visits.len();
        let num_ports = self.links.fabric.get(node).map_or(0, |n| n.info.num_ports);
        let is_new = self.new_switches.contains_key(&node);
        self.index_of.insert(node, index);
        self.stack.push(index);
        self.visits.push(Visit {
            node,
            num_ports,
            link,
            port: 0,
            low: index,
            end: index + 1,
            new_ports: if is_new { u32::from(num_ports) } else { 0 },
            hosts: 0,
        });
    }

    fn follow_next_port(&mut self, at: usize) {
        let visit = &mut self.visits[at];
        if visit.port == visit.num_ports {
            self.leave(at);
            return;
        }
        visit.port += 1;
        let port = PortRef::new(visit.node, PortNum(visit.port));
        let Some(peer) = self.links.peer(port) else {
            return;
        };
        if visit.link == Some((peer, port)) {
            // The way back.
            return;
        }
        if !self.links.is_switch(peer.node) {
            visit.hosts += 1;
        } else if let Some(known) = self.index_of.get(&peer.node) {
            if self.links.may_link(port, peer) {
                visit.low = visit.low.min(*known);
            }
        } else {
            self.reach(peer.node, Some((port, peer)));
        }
    }

    fn leave(&mut self, at: usize) {
        self.stack.pop();
        let end = self.visits.len();
        let visit = &mut self.visits[at];
        visit.end = end;
        let (low, new_ports, hosts) = (visit.low, visit.new_ports, visit.hosts);
        if let Some(before) = self.stack.last() {
            let before = &mut self.visits[*before];
            before.low = before.low.min(low);
            before.new_ports += new_ports;
            before.hosts += hosts;
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, NodeType};
    use ferrosm_mad::ids::NodeGuid;
    use ferrosm_mad::smp::DrPath;

    use super::*;

    /// A fabric in which `links` connect the next free ports of switches by number.
    struct Model {
        fabric: ObservedFabric,
        switches: Vec<NodeIdx>,
        next_port: Vec<u8>,
        /// What ports report as the port behind them.
        reported: BTreeMap<PortRef, PortRef>,
    }

    impl Model {
        fn new(switches: u64) -> Self {
            let mut fabric = ObservedFabric::default();
            let nodes = (0..switches).map(|i| add(&mut fabric, NodeType::Switch, 1 + i));
            let switches: Vec<NodeIdx> = nodes.collect();
            fabric.set_local(PortRef::new(switches[0], PortNum::ZERO));
            let next_port = vec![1; switches.len()];
            Self {
                fabric,
                switches,
                next_port,
                reported: BTreeMap::new(),
            }
        }

        fn port(&mut self, switch: usize) -> PortRef {
            self.next_port[switch] += 1;
            PortRef::new(self.switches[switch], PortNum(self.next_port[switch] - 1))
        }

        fn link(&mut self, a: usize, b: usize) -> PortRef {
            let (a, b) = (self.port(a), self.port(b));
            self.fabric.connect(a, b);
            a
        }

        fn host(&mut self, switch: usize) -> NodeIdx {
            let guid = 0x10_0000 + u64::try_from(self.fabric.node_count()).unwrap();
            let host = add(&mut self.fabric, NodeType::Ca, guid);
            let at = self.port(switch);
            self.fabric.connect(at, PortRef::new(host, PortNum(1)));
            host
        }

        fn find(&self, max: u32) -> Option<Endless> {
            let new = self
                .switches
                .iter()
                .map(|n| (*n, PortRef::new(*n, PortNum::ZERO)));
            let links = Links {
                fabric: &self.fabric,
                neighbours: &self.reported,
            };
            find_endless(links, &new.collect(), max)
        }
    }

    fn add(fabric: &mut ObservedFabric, node_type: NodeType, guid: u64) -> NodeIdx {
        let info = NodeInfo {
            node_type,
            num_ports: 10,
            node_guid: NodeGuid(guid),
            ..NodeInfo::default()
        };
        fabric.add_node(Node::new(info, DrPath::LOCAL))
    }

    /// Switches 0 and 1 are linked twice, 2 hangs on 1, and 3 to 9 are behind 2.
    fn with_tree() -> (Model, PortRef) {
        let mut model = Model::new(10);
        model.link(0, 1);
        model.link(0, 1);
        model.link(1, 2);
        let entry = model.link(2, 3);
        for i in 4..10 {
            model.link((i + 2) / 2, i);
        }
        (model, entry)
    }

    #[test]
    fn port_that_leads_to_most_switches_is_found() {
        let (mut model, entry) = with_tree();
        let near = model.host(2);
        let far = model.host(9);
        assert!(model.find(80).is_none(), "80 ports are behind switch 1");
        let found = model.find(60).unwrap();
        assert_eq!(found.port, entry, "switch 2 and its host are spared");
        assert!(found.has_host && found.nodes.contains(&far) && !found.nodes.contains(&near));
        assert_eq!(found.nodes.len(), 8);
    }

    /// Switches that a second link connects to the rest are part of the fabric.
    #[test]
    fn switches_with_two_links_to_the_rest_are_spared() {
        let (mut model, _) = with_tree();
        model.host(9);
        model.link(9, 0);
        model.link(8, 0);
        assert!(model.find(60).is_none());
    }

    /// A switch that reports a copy of another one's NodeInfo has no second link to it.
    #[test]
    fn copied_node_info_is_no_link() {
        let (mut model, entry) = with_tree();
        model.host(9);
        let (from, copied) = (model.port(9), PortRef::new(model.switches[0], PortNum(1)));
        model.reported.insert(from, copied);
        assert_eq!(model.find(60).unwrap().port, entry);
    }

    #[test]
    fn host_with_a_further_link_is_spared() {
        let (mut model, entry) = with_tree();
        let host = model.host(9);
        let at = model.port(0);
        model.fabric.connect(at, PortRef::new(host, PortNum(2)));
        let found = model.find(60).unwrap();
        assert_eq!(found.port, entry);
        assert!(!found.nodes.contains(&host));
    }
}
