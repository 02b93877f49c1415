//! Dumps that OpenSM's tools and site scripts read: `opensm-subnet.lst`, `opensm.fdbs`,
//! `opensm-lfts.dump`, `opensm-lid-matrix.dump`; with several VLs `opensm-sl2vl.dump` and
//! `opensm-path-sl.dump`; for fat trees `opensm-ftree-ca-order.dump`.
//!
//! The formats are OpenSM's, peculiarities included. ibdmchk reads the subnet list, `opensm.fdbs`,
//! SLs and VLs; OpenSM's `file` engine reads LFTs and the LID matrix.

mod ca_order;
mod fdbs;
mod lfts;
mod lid_matrix;
mod path_sl;
mod sl2vl;
mod subnet_lst;
mod switch_graph;

use std::io::{self, Write};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot, SnapshotNode};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::Lft;

/// A dump file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DumpFile {
    /// `opensm-subnet.lst`: both ends of each link.
    SubnetList,
    /// `opensm.fdbs`: LFTs with hop counts.
    Fdbs,
    /// `opensm-lfts.dump`: LFTs.
    Lfts,
    /// `opensm-lid-matrix.dump`: hops from each switch to each LID.
    LidMatrix,
    /// `opensm-sl2vl.dump`: VL of each SL.
    SlToVl,
    /// `opensm-path-sl.dump`: SL from each end port to each LID.
    PathSl,
    /// `opensm-ftree-ca-order.dump`: hosts of a fat tree in order.
    CaOrder,
}

impl DumpFile {
    /// All dumps.
    pub const ALL: [Self; 7] = [
        Self::SubnetList,
        Self::Fdbs,
        Self::Lfts,
        Self::LidMatrix,
        Self::SlToVl,
        Self::PathSl,
        Self::CaOrder,
    ];

    /// Its file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SubnetList => "opensm-subnet.lst",
            Self::Fdbs => "opensm.fdbs",
            Self::Lfts => "opensm-lfts.dump",
            Self::LidMatrix => "opensm-lid-matrix.dump",
            Self::SlToVl => "opensm-sl2vl.dump",
            Self::PathSl => "opensm-path-sl.dump",
            Self::CaOrder => "opensm-ftree-ca-order.dump",
        }
    }
}

/// Renders the dumps of a snapshot.
pub struct FabricDump<'a> {
    snapshot: &'a Snapshot,
    owners: LidOwners,
}

impl<'a> FabricDump<'a> {
    /// Dumps of `snapshot`.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let owners = LidOwners::new(snapshot);
        Self { snapshot, owners }
    }

    /// Whether the dump exists for the routing of the snapshot.
    #[must_use]
    pub fn applies(&self, file: DumpFile) -> bool {
        match file {
            DumpFile::SubnetList | DumpFile::Fdbs | DumpFile::Lfts | DumpFile::LidMatrix => true,
            DumpFile::SlToVl | DumpFile::PathSl => {
                let routing = self.snapshot.installed_routing();
                routing.is_some_and(|r| !r.run.routing.vl_plan.is_single())
            }
            DumpFile::CaOrder => ca_order::applies(self.snapshot),
        }
    }

    /// Number of entries of dumps whose size is quadratic (sources × LIDs); 0 for the others.
    #[must_use]
    pub fn num_pairs(&self, file: DumpFile) -> usize {
        let lids = self.owners.iter().count();
        match file {
            DumpFile::LidMatrix => {
                let nodes = self.snapshot.nodes();
                let switches = nodes.filter(|n| n.installed_lft().is_some());
                switches.count().saturating_mul(lids)
            }
            DumpFile::PathSl => lids.saturating_mul(lids),
            DumpFile::SubnetList
            | DumpFile::Fdbs
            | DumpFile::Lfts
            | DumpFile::SlToVl
            | DumpFile::CaOrder => 0,
        }
    }

    /// Renders a dump.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn render(&self, file: DumpFile, out: &mut dyn Write) -> io::Result<()> {
        let render = match file {
            DumpFile::SubnetList => subnet_lst::render,
            DumpFile::Fdbs => fdbs::render,
            DumpFile::Lfts => lfts::render,
            DumpFile::LidMatrix => lid_matrix::render,
            DumpFile::SlToVl => sl2vl::render,
            DumpFile::PathSl => path_sl::render,
            DumpFile::CaOrder => ca_order::render,
        };
        render(self.snapshot, &self.owners, out)
    }
}

/// OpenSM's names of node types.
fn node_type_name(node: &SnapshotNode) -> &'static str {
    match node.node_type {
        NodeType::Switch => "Switch",
        NodeType::Router => "Router",
        _ => "Channel Adapter",
    }
}

/// The end port that owns each LID.
struct LidOwners {
    by_lid: Vec<Option<PortIdx>>,
}

impl LidOwners {
    fn new(snapshot: &Snapshot) -> Self {
        let mut by_lid: Vec<Option<PortIdx>> = Vec::new();
        for slot in snapshot.slots() {
            let end_ports = snapshot.reported_end_ports(slot);
            for end_port in end_ports.filter(|e| e.lid.is_unicast()) {
                let first = usize::from(end_port.lid.0);
                let end_lid = first + (1 << end_port.lmc.0.min(7));
                by_lid.resize(by_lid.len().max(end_lid), None);
                for owner in &mut by_lid[first..end_lid] {
                    owner.get_or_insert(PortIdx::new(slot, end_port.num));
                }
            }
        }
        Self { by_lid }
    }

    /// The highest LID with an owner.
    fn top(&self) -> usize {
        self.by_lid.len().saturating_sub(1)
    }

    /// The end port that owns a LID.
    fn owner(&self, lid: Lid) -> Option<PortIdx> {
        self.by_lid.get(usize::from(lid.0)).copied().flatten()
    }

    /// LIDs with an owner, ascending.
    fn iter(&self) -> impl Iterator<Item = (Lid, PortIdx)> + '_ {
        self.by_lid
            .iter()
            .enumerate()
            .filter_map(|(lid, at)| Some((Lid(u16::try_from(lid).ok()?), (*at)?)))
    }
}

/// The output port of a switch with `num_ports` ports for a LID; `None` if its LFT drops packets to
/// the LID.
fn lft_entry(lft: &Lft, num_ports: u8, lid: Lid) -> Option<PortNum> {
    let port = lft.get(lid);
    (port.0 <= num_ports).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, PortRef};
    use ferrosm_fabric::snapshot::SnapshotExtras;
    use ferrosm_mad::attr::{LinkWidth, NodeDescription, NodeInfo, PortInfo};
    use ferrosm_mad::ids::{NodeGuid, PortGuid, SystemImageGuid};
    use ferrosm_mad::smp::DrPath;
    use ferrosm_routing::{
        PathSl, RerouteCache, Routing, TopologyBuilder, TreeConstraint, VerifiedRun, VlPlan,
    };

    fn node(node_type: NodeType, guid: u64, num_ports: u8, lid: u16) -> Node {
        let info = NodeInfo {
            node_type,
            num_ports,
            node_guid: NodeGuid(0x100 + guid),
            system_image_guid: SystemImageGuid(0x200 + guid),
            vendor_id: 0x2C9,
            device_id: 4123,
            ..NodeInfo::default()
        };
        let mut node = Node::new(info, DrPath::LOCAL);
        node.description = NodeDescription::new(&format!("node {guid}"));
        let hdr = PortInfo {
            lid: Lid(lid),
            link_width_active: LinkWidth(4).bit(),
            link_speed_ext_active: 4,
            ..PortInfo::default()
        };
        let end_port = PortNum(u8::from(node_type != NodeType::Switch));
        node.store_port_info(end_port, &hdr.encode());
        let port = &mut node.ports[end_port.index()];
        port.guid = PortGuid(0x300 + guid);
        port.known = true;
        node
    }

    fn fabric(
        nodes: impl IntoIterator<Item = Node>,
        links: impl IntoIterator<Item = [(usize, u8); 2]>,
    ) -> ObservedFabric {
        let mut fabric = ObservedFabric::default();
        let nodes: Vec<NodeIdx> = nodes.into_iter().map(|n| fabric.add_node(n)).collect();
        for link in links {
            let [a, b] = link.map(|(node, port)| PortRef::new(nodes[node], PortNum(port)));
            fabric.connect(a, b);
        }
        fabric
    }

    /// The node in a slot, for modification.
    pub(super) fn node_mut(fabric: &mut ObservedFabric, slot: u32) -> &mut Node {
        let node = fabric.node_at_index(slot).unwrap();
        fabric.get_mut(node).unwrap()
    }

    /// Two hosts on one switch, with LIDs 7, 9 and 2.
    pub(super) fn star() -> ObservedFabric {
        let mut lft = Lft::drop_all(Lid(9));
        for (lid, port) in [(2, 0), (7, 1), (9, 2)] {
            lft.set(Lid(lid), PortNum(port));
        }
        let mut switch = node(NodeType::Switch, 3, 36, 2);
        switch.lft.installed = Some(Arc::new(lft));
        let hosts = [node(NodeType::Ca, 1, 1, 7), node(NodeType::Ca, 2, 1, 9)];
        let links = [[(0, 1), (2, 1)], [(1, 1), (2, 2)]];
        fabric(hosts.into_iter().chain([switch]), links)
    }

    /// Four switches in a ring with LIDs 1 to 4, each with a host.
    pub(super) fn ring() -> ObservedFabric {
        let switches = (1..=4).map(|n| node(NodeType::Switch, n.into(), 36, n));
        let hosts = (5..=8).map(|n| node(NodeType::Ca, n.into(), 1, n));
        let ring = (0..4).map(|s| [(s, 1), ((s + 1) % 4, 2)]);
        let host_links = (0..4).map(|s| [(s, 3), (s + 4, 1)]);
        fabric(switches.chain(hosts), ring.chain(host_links))
    }

    pub(super) fn snapshot(fabric: &ObservedFabric) -> Snapshot {
        Snapshot::build(fabric, |_| None, SnapshotExtras::default(), None)
    }

    /// A snapshot of [`star`] with VLs: LID 7 has SL 1, all others SL 0; SL n uses VL n mod `vls`.
    pub(super) fn snapshot_with_vls(star: &ObservedFabric, vls: u8) -> Snapshot {
        let mut b = TopologyBuilder::new();
        let s = b.switch(36, Lid(2));
        b.end_port((s, PortNum(1)), Lid(7), 1);
        b.end_port((s, PortNum(2)), Lid(9), 1);
        let mut sls = [0u8; 10];
        sls[7] = 1;
        let routing = Routing {
            engine: "file",
            tables: star
                .switches()
                .filter_map(|(_, n)| n.lft.installed.clone())
                .collect(),
            vl_plan: VlPlan::modulo(vls, PathSl::ByLid(Arc::from(sls.as_slice()))),
            order: None,
            trees: TreeConstraint::Search,
            diagnostics: Vec::new(),
        };
        let run = VerifiedRun {
            topo: Arc::new(b.build()),
            routing,
            baseline_max_load: 0,
            cache: RerouteCache::new(),
        };
        let extras = SnapshotExtras {
            run: Some((Arc::new(run), vec![2])),
            ..SnapshotExtras::default()
        };
        Snapshot::build(star, |_| None, extras, None)
    }

    pub(super) fn text(
        render: fn(&Snapshot, &LidOwners, &mut dyn Write) -> io::Result<()>,
        snapshot: &Snapshot,
    ) -> String {
        let mut out = Vec::new();
        render(snapshot, &LidOwners::new(snapshot), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// GUID of the end port of the node in a slot.
    pub(super) fn port_guid(snapshot: &Snapshot, slot: u32) -> PortGuid {
        snapshot.reported_end_ports(slot).next().unwrap().guid
    }

    #[test]
    fn sls_and_vls_are_dumped_only_with_several_vls() {
        let applies = |snapshot: &Snapshot| {
            let dump = FabricDump::new(snapshot);
            DumpFile::ALL.map(|file| dump.applies(file))
        };
        let written = [true, true, true, true, false, false, false];
        assert_eq!(applies(&snapshot(&star())), written);
        assert_eq!(applies(&snapshot_with_vls(&star(), 1)), written);
        let with_vls = [true, true, true, true, true, true, false];
        assert_eq!(applies(&snapshot_with_vls(&star(), 2)), with_vls);
    }
}
