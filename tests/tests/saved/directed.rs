//! Discovery with directed Get(NodeInfo) only, compared with the connectivity of the fabric.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::attr::{NodeInfo, NodeType, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::{FabricSpec, PortAt};

/// Indices of the nodes that reply to Get(NodeInfo) from the default port of the fabric, and that
/// port.
pub(crate) fn answering(spec: &FabricSpec) -> Result<(BTreeSet<usize>, PortAt), String> {
    let mut fabric = Fabric::new(spec).map_err(|error| error.to_string())?;
    let at = fabric.default_port();
    fabric.attach(at).map_err(|error| error.to_string())?;
    let guids = spec.nodes.iter().enumerate();
    let by_guid: BTreeMap<_, _> = guids.map(|(n, node)| (node.node_guid, n)).collect();
    let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
    let mut tids = (1..).map(Tid);
    let mut results = BTreeSet::new();
    let mut paths = VecDeque::from([DrPath::LOCAL]);
    while let (Some(path), Some(tid)) = (paths.pop_front(), tids.next()) {
        let mad = request.directed(&path, tid);
        let to = Address::DIRECTED;
        let mut out = Vec::new();
        fabric.handle(at, &MadOut { to, mad }, Instant::START, &mut out);
        let Some(answer) = out.first() else {
            continue;
        };
        let info = NodeInfo::decode(smp::data(&answer.mad.mad));
        if !results.insert(by_guid[&info.node_guid]) {
            continue;
        }
        let ports = match (info.node_type, path.is_empty()) {
            (NodeType::Switch, _) => 1..=info.num_ports,
            (_, true) => info.local_port_num.0..=info.local_port_num.0,
            (_, false) => continue,
        };
        paths.extend(ports.filter_map(|port| path.extend(PortNum(port))));
    }
    Ok((results, at))
}

/// Indices of the nodes connected with `from`. Paths lead through switches only.
pub(crate) fn connected(spec: &FabricSpec, from: PortAt) -> BTreeSet<usize> {
    let links = spec.links.iter();
    let peers: BTreeMap<PortAt, PortAt> = links.flat_map(|l| [(l.a, l.b), (l.b, l.a)]).collect();
    let is_switch = |node: usize| spec.nodes[node].kind == NodeType::Switch;
    let mut reached = BTreeSet::from([from.node]);
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        let ports = if is_switch(at.node) {
            1..=spec.nodes[at.node].num_ports
        } else {
            at.port..=at.port
        };
        let ends = ports.filter_map(|port| peers.get(&PortAt::new(at.node, port)));
        for end in ends {
            if reached.insert(end.node) && is_switch(end.node) {
                next.push(*end);
            }
        }
    }
    reached
}
