//! Makes a [`View`] from what the subnet manager knows. Pure; linear in the number of ports.

use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType, PortInfo};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{LastRun, SwitchIdx};
use rustc_hash::FxHashMap;

use super::{EndPort, EndPortIdx, NodeView, PortIdx, PortView, SwitchView, View};
use crate::config::SmConfig;
use crate::sa::aliases::Aliases;
use crate::sa::keys::Keys;
use crate::sa::lanes::ReadLanes;
use crate::subnet::{Node, NodeIdx, Port, PortRef, Subnet};

/// What is not in the subnet itself.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The routing in force, and the node of each of its switches.
    pub run: Option<(Arc<LastRun>, Vec<NodeIdx>)>,
    /// Subnet managers, this one first.
    pub managers: Vec<SmInfoRecord>,
    /// Alias GUIDs.
    pub aliases: Arc<Aliases>,
    /// Tables of lanes that were read because a client asked.
    pub read_lanes: Arc<ReadLanes>,
}

impl View {
    /// The view of a subnet. `keys` gives the P_Keys of an end port, `None` where they are not known.
    #[must_use]
    pub fn new(
        subnet: &Subnet,
        cfg: &SmConfig,
        keys: &dyn Fn(PortRef) -> Option<Keys>,
        extra: Extra,
    ) -> Self {
        let routed = routed_nodes(&extra);
        let mut view = Self {
            prefix: cfg.subnet_prefix,
            packet_life_time: cfg.subnet_timeout,
            resp_time_value: cfg.subnet_timeout,
            local: None,
            managers: extra.managers,
            prefix_routes: Arc::clone(&cfg.prefix_routes),
            qos: cfg.qos.clone(),
            aliases: extra.aliases,
            read_lanes: extra.read_lanes,
            sm_key: cfg.sm_key,
            nodes: Vec::with_capacity(subnet.node_count()),
            ports: Vec::new(),
            end_ports: Vec::new(),
            by_lid: Vec::new(),
            by_guid: FxHashMap::default(),
            by_node_guid: FxHashMap::default(),
            run: extra.run.map(|(run, _)| run),
        };
        let mut places: FxHashMap<NodeIdx, u32> = FxHashMap::default();
        for (idx, node) in subnet.nodes() {
            let at = count(view.nodes.len());
            places.insert(idx, at);
            let first = count(view.ports.len());
            view.by_node_guid.insert(node.info.node_guid, at);
            view.nodes
                .push(node_view(node, first, routed.get(&idx).copied()));
            for (num, port) in (0u8..).zip(&node.ports) {
                view.ports.push(port_view(node, port, PortNum(num), at));
            }
            for num in node.end_ports() {
                let p = PortRef::new(idx, num);
                view.add_end_port(PortIdx(first + u32::from(num.0)), at, p, subnet, keys(p));
            }
        }
        for link in subnet.links() {
            let place = |p: PortRef| {
                let node = view.nodes.get(*places.get(&p.node)? as usize)?;
                (u16::from(p.port.0) < node.count)
                    .then(|| PortIdx(node.first + u32::from(p.port.0)))
            };
            if let Some((a, b)) = place(link.a).zip(place(link.b)) {
                view.ports[a.index()].peer = b;
                view.ports[b.index()].peer = a;
            }
        }
        view
    }

    fn add_end_port(
        &mut self,
        port: PortIdx,
        node: u32,
        at: PortRef,
        subnet: &Subnet,
        keys: Option<Keys>,
    ) {
        let Some(known) = subnet.port(at) else {
            return;
        };
        let info = known.info();
        let idx = EndPortIdx(count(self.end_ports.len()));
        let end = EndPort {
            port,
            node,
            guid: known.guid,
            lid: info.lid,
            lmc: info.lmc,
            keys,
        };
        if info.lid.is_unicast() {
            let (from, to) = (
                usize::from(info.lid.0),
                usize::from(info.lid.0) + usize::from(end.lids()),
            );
            if self.by_lid.len() < to {
                self.by_lid.resize(to, u32::MAX);
            }
            self.by_lid[from..to].fill(idx.0);
        }
        // A GUID that two ports claim stays with whom the subnet says.
        if subnet.port_by_guid(known.guid) == Some(at) {
            self.by_guid.insert(known.guid, idx);
        }
        if subnet.local() == Some(at) {
            self.local = Some(idx);
        }
        self.end_ports.push(end);
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn routed_nodes(extra: &Extra) -> FxHashMap<NodeIdx, SwitchIdx> {
    extra
        .run
        .iter()
        .flat_map(|(run, nodes)| nodes.iter().copied().zip(run.topo.switches()))
        .collect()
}

fn node_view(node: &Node, first: u32, routed: Option<SwitchIdx>) -> NodeView {
    let mut info = [0; 40];
    info.copy_from_slice(&node.info.encode()[..40]);
    let switch = (node.info.node_type == NodeType::Switch).then(|| {
        let mut raw = [0; 20];
        if let Some(read) = &node.switch_raw {
            raw.copy_from_slice(&read[..20]);
        }
        SwitchView {
            info: raw,
            lft: node.installed.clone(),
            mft: Arc::clone(&node.mft.known),
            routed,
        }
    });
    NodeView {
        guid: node.info.node_guid,
        node_type: node.info.node_type,
        info,
        description: node.description.encode(),
        switch,
        sl_to_vl: node.sl_to_vl.clone(),
        first,
        count: u16::try_from(node.ports.len()).unwrap_or(u16::MAX),
    }
}

fn port_view(node: &Node, port: &Port, num: PortNum, at: u32) -> PortView {
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
        peer: PortIdx::NONE,
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
