//! Compares the fabric with models built from its description alone.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::{NodeInfo, NodeType, id};
use ferrosm_mad::ids::{Lid, Lmc, PortNum};
use ferrosm_mad::smp::{self, DrPath};
use ferrosm_sim::generate;
use ferrosm_sim::spec::{FabricSpec, PortAt};
use proptest::prelude::*;

use crate::rig::Rig;

/// Both directions of every link.
fn peers(spec: &FabricSpec) -> BTreeMap<PortAt, PortAt> {
    spec.links
        .iter()
        .flat_map(|l| [(l.a, l.b), (l.b, l.a)])
        .collect()
}

fn shapes() -> impl Strategy<Value = FabricSpec> {
    let shape = prop_oneof![
        Just("fat-tree:4"),
        Just("torus:3,3,1"),
        Just("ring:5,2;parallel=2;loopbacks=2;plugs=1"),
        Just("fat-tree2:8,4,3;sharp;spine-hosts=2"),
        Just("torus:3,2,1;routers=2;dual-port"),
    ];
    (shape, 0u64..9).prop_map(|(shape, seed)| {
        let join = if shape.contains(';') { ';' } else { '?' };
        generate::from_spec(&format!("{shape}{join}seed={seed}")).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A directed route ends where the links lead, or is dropped.
    #[test]
    fn directed_routes_follow_the_links(
        spec in shapes(),
        hops in proptest::collection::vec(0u8..12, 0..12),
    ) {
        let mut rig = Rig::new(&spec);
        let peers = peers(&spec);
        let is_switch = |n: usize| spec.nodes[n].kind == NodeType::Switch;
        let mut path = DrPath::LOCAL;
        let mut end = Some(rig.at);
        for (index, hop) in hops.into_iter().enumerate() {
            // The first hop of a CA must be its own port.
            let hop = if index == 0 && !is_switch(rig.at.node) { rig.at.port } else { hop };
            path = path.extend(PortNum(hop)).unwrap();
            end = end
                .filter(|at| index == 0 || is_switch(at.node))
                .and_then(|at| peers.get(&PortAt::new(at.node, hop)).copied());
        }
        let reply = rig.get(&path, id::NODE_INFO, 0);
        prop_assert_eq!(reply.is_some(), end.is_some());
        if let (Some(reply), Some(at)) = (reply, end) {
            let info = NodeInfo::decode(smp::data(&reply.mad));
            prop_assert_eq!(info.node_guid, spec.nodes[at.node].node_guid);
            prop_assert_eq!(info.local_port_num, PortNum(at.port));
        }
    }

    /// LID-routed packets follow the LFTs, even if these are wrong.
    #[test]
    fn lid_routed_packets_follow_the_lfts(
        spec in shapes(),
        random_entries in proptest::collection::vec(any::<u16>(), 40),
        top in 0u16..12,
        lid in 1u16..10,
    ) {
        let mut rig = Rig::new(&spec);
        let peers = peers(&spec);
        let is_switch = |n: usize| spec.nodes[n].kind == NodeType::Switch;
        // Some nodes have LIDs; LFT entries are random, mostly existing ports.
        let end_port = |n: usize| PortAt::new(n, u8::from(!is_switch(n)));
        let owners: BTreeMap<u16, PortAt> =
            (1..10).zip((0..spec.nodes.len()).map(end_port)).collect();
        for (lid, at) in &owners {
            rig.fabric.set_lid(*at, Lid(*lid), Lmc(0)).unwrap();
        }
        let table = |node: usize, lid: u16| {
            let drawn = random_entries[(node * 7 + usize::from(lid)) % random_entries.len()];
            (drawn % (u16::from(spec.nodes[node].num_ports) + 3)) as u8
        };
        let mut tops = BTreeMap::new();
        for node in (0..spec.nodes.len()).filter(|n| is_switch(*n)) {
            for lid in 0..12 {
                rig.fabric.corrupt_lft(node, Lid(lid), table(node, lid));
            }
            tops.insert(node, top);
        }
        set_tops(&mut rig, &spec, top);
        let walk = |from: PortAt, lid: u16| -> Option<PortAt> {
            let owner = owners.get(&lid).copied();
            if !is_switch(from.node) && owner == Some(from) {
                return owner;
            }
            let mut at = if is_switch(from.node) { from } else { *peers.get(&from)? };
            let mut seen = BTreeSet::new();
            while is_switch(at.node) {
                if lid > tops[&at.node] || !seen.insert(at.node) {
                    return None;
                }
                match table(at.node, lid) {
                    0 => return owner.filter(|o| o.node == at.node),
                    port => at = *peers.get(&PortAt::new(at.node, port))?,
                }
            }
            owner.filter(|o| *o == at)
        };
        let expected = walk(rig.at, lid).and_then(|there| {
            let own = owners.iter().find(|(_, at)| **at == rig.at).map(|(lid, _)| *lid)?;
            walk(there, own).map(|_| there)
        });
        let reply = rig.by_lid(Lid(lid)).1;
        let answered = reply.map(|a| NodeInfo::decode(smp::data(&a.mad)).node_guid);
        prop_assert_eq!(answered, expected.map(|at| spec.nodes[at.node].node_guid));
    }
}

/// Writes LinearFDBTop of every reachable switch.
fn set_tops(rig: &mut Rig, spec: &FabricSpec, top: u16) {
    for (node, path) in discover(rig, spec) {
        if spec.nodes[node].kind == NodeType::Switch {
            let mut info = rig.switch_info(&path);
            info.linear_fdb_top = top;
            rig.set(&path, id::SWITCH_INFO, 0, info.encode()).unwrap();
        }
    }
}

/// Discovers all nodes and a DR path to each by Get(NodeInfo).
fn discover(rig: &mut Rig, spec: &FabricSpec) -> Vec<(usize, DrPath)> {
    let by_guid: BTreeMap<_, _> = spec
        .nodes
        .iter()
        .enumerate()
        .map(|(n, s)| (s.node_guid, n))
        .collect();
    let mut seen = BTreeSet::new();
    let mut results = Vec::new();
    let mut routes = std::collections::VecDeque::from([DrPath::LOCAL]);
    while let Some(path) = routes.pop_front() {
        let Some(reply) = rig.get(&path, id::NODE_INFO, 0) else {
            continue;
        };
        let info = NodeInfo::decode(smp::data(&reply.mad));
        let node = by_guid[&info.node_guid];
        if !seen.insert(node) {
            continue;
        }
        results.push((node, path));
        let ports = match (info.node_type, path.is_empty()) {
            (NodeType::Switch, _) => 1..=info.num_ports,
            (_, true) => info.local_port_num.0..=info.local_port_num.0,
            (_, false) => continue,
        };
        routes.extend(ports.filter_map(|port| path.extend(PortNum(port))));
    }
    results
}
