//! Makes a [`View`] from what the subnet manager knows, and from the view before. Pure; linear in the ports of nodes that were
//! touched, and a glance at each other node.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType, PortInfo};
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::LastRun;

use super::ends::Ends;
use super::images;
use super::levels::Levels;
use super::relays::Relay;
use super::{EndPort, NodeView, Place, PortIdx, PortView, SwitchView, View};
use crate::config::SmConfig;
use crate::routing_origin::RoutingOrigin;
use crate::sa::aliases::Aliases;
use crate::sa::keys::Keys;
use crate::sa::lanes::ReadLanes;
use crate::subnet::{Node, NodeIdx, Port, PortRef, Subnet};

/// What is not in the subnet itself.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The routing in force, and the node of each of its switches.
    pub run: Option<(Arc<LastRun>, Vec<NodeIdx>)>,
    /// Where that routing comes from.
    pub origin: Option<Arc<RoutingOrigin>>,
    /// Subnet managers, this one first.
    pub managers: Vec<SmInfoRecord>,
    /// Alias GUIDs.
    pub aliases: Arc<Aliases>,
    /// Tables of lanes that were read because a client asked.
    pub read_lanes: Arc<ReadLanes>,
}

/// A view to be made, and the one before.
struct Maker<'a> {
    subnet: &'a Subnet,
    keys: &'a dyn Fn(PortRef) -> Option<Keys>,
    before: Option<&'a View>,
}

impl View {
    /// The view of a subnet. `keys` gives the P_Keys of an end port, `None` where they are not known.
    ///
    /// `before` is the last view of the same [`Subnet`], from which what did not change is taken: of nodes that nobody has
    /// touched since, nothing is looked at. It must be `None` if `keys` would now say something else of such a node.
    #[must_use]
    pub fn new(
        subnet: &Subnet,
        cfg: &SmConfig,
        keys: &dyn Fn(PortRef) -> Option<Keys>,
        extra: Extra,
        before: Option<&Self>,
    ) -> Self {
        let maker = Maker {
            subnet,
            keys,
            before,
        };
        let nodes = maker.nodes();
        let ends = maker.ends(&nodes);
        let local = subnet.local().and_then(|p| ends.at_port(port_idx(p)));
        Self {
            prefix: cfg.subnet_prefix,
            packet_life_time: cfg.subnet_timeout,
            resp_time_value: cfg.subnet_timeout,
            local,
            managers: extra.managers,
            prefix_routes: Arc::clone(&cfg.prefix_routes),
            partitions: Arc::clone(&cfg.partitions),
            qos: cfg.qos.clone(),
            aliases: extra.aliases,
            read_lanes: extra.read_lanes,
            sm_key: cfg.sm_key,
            levels: Levels::of_run(extra.run, nodes.len()),
            origin: extra.origin,
            nodes: nodes.into(),
            ends,
            guids: subnet.guids_revision(),
        }
    }
}

impl Maker<'_> {
    /// What the view before has at a place.
    fn place_before(&self, place: usize) -> Option<&Place> {
        self.before?.nodes.get(place)
    }

    fn nodes(&self) -> Vec<Place> {
        let vacant = Place::new(Arc::new(NodeView::vacant()), 0, None);
        let mut nodes: Vec<Place> = Vec::with_capacity(self.subnet.node_count());
        for (idx, node) in self.subnet.nodes() {
            let before = self.place_before(idx.index());
            nodes.resize(idx.index(), vacant.clone());
            nodes.push(match before {
                Some(same) if same.revision == node.revision() => same.clone(),
                _ => Place::new(
                    self.node(idx, node, before.map(|p| &p.node)),
                    node.revision(),
                    before,
                ),
            });
        }
        nodes
    }

    /// A node that may have changed, with as much of what was there before as is still so.
    fn node(&self, idx: NodeIdx, node: &Node, before: Option<&Arc<NodeView>>) -> Arc<NodeView> {
        // Most nodes that were touched say what they said: that is seen without making anything.
        let kept = before.filter(|b| self.says_same(idx, node, &b.ports));
        let ports = kept.map_or_else(|| self.ports(idx, node), |b| Arc::clone(&b.ports));
        let view = node_view(node, ports);
        match before {
            Some(before) if view.same(before) => Arc::clone(before),
            _ => Arc::new(view),
        }
    }

    /// Whether the ports of a node are as they were.
    fn says_same(&self, idx: NodeIdx, node: &Node, before: &[PortView]) -> bool {
        let same = |(port, was): (&Port, &PortView)| {
            port.raw == was.raw
                && (port.known, port.fdr10, port.checks_keys)
                    == (was.known, was.fdr10, was.checks_keys)
                && port.keys == was.keys
                && port.vl_arbitration == was.vl_arbitration
                && self.peer(PortRef::new(idx, was.num)) == was.peer
        };
        node.ports.len() == before.len() && node.ports.iter().zip(before).all(same)
    }

    fn peer(&self, at: PortRef) -> PortIdx {
        self.subnet.peer(at).map_or(PortIdx::NONE, port_idx)
    }

    fn ports(&self, idx: NodeIdx, node: &Node) -> Arc<[PortView]> {
        let ports = (0u8..).map(PortNum).zip(&node.ports);
        let ports = ports.map(|(num, port)| {
            let peer = self.peer(PortRef::new(idx, num));
            port_view(node, port, (place(idx), num), peer)
        });
        ports.collect()
    }

    /// The end ports: those of the view before, if none of them changed.
    fn ends(&self, nodes: &[Place]) -> Arc<Ends> {
        if let Some(before) = self.before
            && before.guids == self.subnet.guids_revision()
            && self.subnet.nodes().all(|(idx, node)| {
                self.untouched(idx, node) || self.same_ends(idx, node, before, nodes)
            })
        {
            return Arc::clone(&before.ends);
        }
        let mut ends = Ends::with_capacity(nodes.len());
        for (idx, node) in self.subnet.nodes() {
            ends.put_node(node.info.node_guid, place(idx));
            let mut add = |end: EndPort| {
                // A GUID that two ports claim stays with whom the subnet says.
                let named = self.subnet.port_by_guid(end.guid).map(port_idx) == Some(end.port);
                ends.push(end, named);
            };
            match self.before {
                Some(before) if self.untouched(idx, node) => {
                    let same = before.ends.of_node(place(idx));
                    same.iter().cloned().for_each(&mut add);
                }
                _ => self.ends_of(idx, node).for_each(&mut add),
            }
        }
        Arc::new(ends)
    }

    /// Whether the end ports of a node are those of the view before. Their P_Keys follow from what the node and its ports say.
    fn same_ends(&self, idx: NodeIdx, node: &Node, before: &View, nodes: &[Place]) -> bool {
        let ends = before.ends.of_node(place(idx));
        let places = before.nodes.get(idx.index()).zip(nodes.get(idx.index()));
        let Some((was, is)) = places.map(|(was, is)| (&was.node, &is.node)) else {
            return false;
        };
        if images::of_node(was) != images::of_node(is) {
            return false;
        }
        if !Arc::ptr_eq(&was.ports, &is.ports) || was.info != is.info {
            return self.ends_of(idx, node).eq(ends.iter().cloned());
        }
        let there = node
            .end_ports()
            .map(|num| (num, node.ports[num.index()].guid));
        there.eq(ends.iter().map(|e| (e.port.num(), e.guid)))
    }

    /// Whether nobody has touched a node since the view before.
    fn untouched(&self, idx: NodeIdx, node: &Node) -> bool {
        let before = self.place_before(idx.index());
        before.is_some_and(|p| p.revision == node.revision())
    }

    fn ends_of<'a>(&'a self, idx: NodeIdx, node: &'a Node) -> impl Iterator<Item = EndPort> + 'a {
        node.end_ports().map(move |num| {
            let port = &node.ports[num.index()];
            let info = port.info();
            EndPort {
                port: PortIdx::new(place(idx), num),
                node: place(idx),
                guid: port.guid,
                lid: info.lid,
                lmc: info.lmc,
                keys: (self.keys)(PortRef::new(idx, num)),
            }
        })
    }
}

fn place(idx: NodeIdx) -> u32 {
    u32::try_from(idx.index()).unwrap_or(u32::MAX)
}

fn port_idx(p: PortRef) -> PortIdx {
    PortIdx::new(place(p.node), p.port)
}

impl Place {
    pub(super) fn new(node: Arc<NodeView>, revision: u64, before: Option<&Self>) -> Self {
        let relay = Relay::new(&node, before.map(|b| (&*b.node, &b.relay)));
        Self {
            node,
            relay,
            revision,
        }
    }
}

impl NodeView {
    /// Nobody.
    fn vacant() -> Self {
        Self {
            guid: NodeGuid(0),
            node_type: NodeType::Ca,
            info: [0; 40],
            description: [0; 64],
            switch: None,
            sl_to_vl: BTreeMap::new(),
            ports: Arc::default(),
        }
    }
}

fn node_view(node: &Node, ports: Arc<[PortView]>) -> NodeView {
    let mut info = [0; 40];
    info.copy_from_slice(&node.info.encode()[..40]);
    let switch = (node.info.node_type == NodeType::Switch).then(|| {
        let mut raw = [0; 20];
        if let Some(read) = &node.switch_raw {
            raw.copy_from_slice(&read[..20]);
        }
        SwitchView {
            info: raw,
            lft: node.installed.clone().or_else(|| node.last_known.clone()),
            mft: Arc::clone(&node.mft.known),
        }
    });
    NodeView {
        guid: node.info.node_guid,
        node_type: node.info.node_type,
        info,
        description: node.description.encode(),
        switch,
        sl_to_vl: node.sl_to_vl.clone(),
        ports,
    }
}

fn port_view(node: &Node, port: &Port, (at, num): (u32, PortNum), peer: PortIdx) -> PortView {
    let info = port.info();
    let own = node.is_switch() && num == PortNum::ZERO;
    PortView {
        raw: port.raw,
        known: port.known,
        num,
        node: at,
        mtu: mtu(&info, own),
        rate_rank: rate_rank(port, own),
        keys: port.keys.clone(),
        checks_keys: port.checks_keys,
        vl_arbitration: port.vl_arbitration.clone(),
        peer,
        fdr10: port.fdr10,
    }
}

/// What packets through a port may be as long as: the link's MTU; of a switch's own port what it can take (rule 11.5).
fn mtu(info: &PortInfo, own: bool) -> MtuCode {
    let link = if own { info.mtu_cap } else { info.neighbor_mtu };
    if link == MtuCode(0) {
        info.mtu_cap.max(MtuCode::Mtu256)
    } else {
        link
    }
}

/// Place of the rate of a port among all. A switch's own port says a rate although it has no cable; one that says none limits
/// nothing that its links do not.
fn rate_rank(port: &Port, own: bool) -> u8 {
    let info = port.info();
    let mbps = info
        .width()
        .zip(port.speed())
        .map(|(width, speed)| u32::from(width.0) * speed.mbps());
    match mbps {
        Some(mbps) => rank(RateCode::at_most(mbps)),
        None if own => rank(RateCode::G1600),
        None => 0,
    }
}

fn rank(code: RateCode) -> u8 {
    code.rank().and_then(|i| u8::try_from(i).ok()).unwrap_or(0)
}
