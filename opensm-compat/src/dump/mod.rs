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

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, PortNum};

use crate::view::{FabricNode, FabricView, PortLocation};

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

/// Renders the dumps of a view.
pub struct FabricDump<'a> {
    view: &'a FabricView,
    owners: LidOwners,
}

impl<'a> FabricDump<'a> {
    /// Dumps of `view`.
    #[must_use]
    pub fn new(view: &'a FabricView) -> Self {
        let owners = LidOwners::new(view);
        Self { view, owners }
    }

    /// Whether the dump exists for the routing of the view.
    #[must_use]
    pub fn applies(&self, file: DumpFile) -> bool {
        match file {
            DumpFile::SubnetList | DumpFile::Fdbs | DumpFile::Lfts | DumpFile::LidMatrix => true,
            DumpFile::SlToVl | DumpFile::PathSl => {
                let routing = self.view.routing.as_ref();
                routing.is_some_and(|r| !r.run.routing.vl_plan.is_single())
            }
            DumpFile::CaOrder => ca_order::applies(self.view),
        }
    }

    /// Number of entries of dumps whose size is quadratic (sources × LIDs); 0 for the others.
    #[must_use]
    pub fn num_pairs(&self, file: DumpFile) -> usize {
        let lids = self.owners.iter().count();
        match file {
            DumpFile::LidMatrix => {
                let switches = self.view.nodes.iter().filter(|n| n.lft.is_some()).count();
                switches.saturating_mul(lids)
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
        render(self.view, &self.owners, out)
    }
}

/// OpenSM's names of node types.
fn node_type_name(node: &FabricNode) -> &'static str {
    match node.kind {
        NodeType::Switch => "Switch",
        NodeType::Router => "Router",
        _ => "Channel Adapter",
    }
}

/// The end port that owns each LID.
struct LidOwners {
    /// By LID.
    by_lid: Vec<Option<PortLocation>>,
}

impl LidOwners {
    fn new(view: &FabricView) -> Self {
        let mut by_lid: Vec<Option<PortLocation>> = Vec::new();
        for (index, node) in view.nodes.iter().enumerate() {
            for end_port in node.end_ports.iter().filter(|e| e.lid.is_unicast()) {
                let first = usize::from(end_port.lid.0);
                let end_lid = first + (1 << end_port.lmc.0.min(7));
                by_lid.resize(by_lid.len().max(end_lid), None);
                for owner in &mut by_lid[first..end_lid] {
                    owner.get_or_insert(PortLocation {
                        node: index,
                        port: end_port.port,
                    });
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
    fn owner(&self, lid: Lid) -> Option<PortLocation> {
        self.by_lid.get(usize::from(lid.0)).copied().flatten()
    }

    /// LIDs with an owner, ascending.
    fn iter(&self) -> impl Iterator<Item = (Lid, PortLocation)> + '_ {
        self.by_lid
            .iter()
            .enumerate()
            .filter_map(|(lid, at)| Some((Lid(u16::try_from(lid).ok()?), (*at)?)))
    }
}

/// The output port of a switch for a LID; `None` if the LFT is unknown or drops packets to the LID.
fn lft_entry(node: &FabricNode, lid: Lid) -> Option<PortNum> {
    let port = node.lft.as_ref()?.get(lid);
    (port.0 <= node.num_ports).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use ferrosm_mad::attr::{LinkSpeed, LinkWidth};
    use ferrosm_mad::ids::{Lmc, NodeGuid, PortGuid, SystemImageGuid};
    use ferrosm_routing::{
        Lft, PathSl, RerouteCache, Routing, TopologyBuilder, TreeConstraint, VerifiedRun, VlPlan,
    };

    use crate::view::{FabricEndPort, FabricLink, InstalledRouting};

    fn node(kind: NodeType, guid: u64, num_ports: u8, lid: u16) -> FabricNode {
        let port = PortNum(u8::from(kind != NodeType::Switch));
        FabricNode {
            kind,
            description: format!("node {guid}"),
            guid: NodeGuid(0x100 + guid),
            system_image_guid: SystemImageGuid(0x200 + guid),
            vendor_id: 0x2C9,
            device_id: 4123,
            revision: 0,
            num_ports,
            enhanced_port0: false,
            end_ports: vec![FabricEndPort {
                port,
                guid: PortGuid(0x300 + guid),
                lid: Lid(lid),
                lmc: Lmc(0),
            }],
            lft: None,
        }
    }

    fn link(a: (usize, u8), b: (usize, u8)) -> FabricLink {
        let location = |(node, port)| PortLocation {
            node,
            port: PortNum(port),
        };
        FabricLink {
            a: location(a),
            b: location(b),
            width: Some(LinkWidth(4)),
            speed: Some(LinkSpeed::Hdr),
            state: None,
            vls: Some(4),
        }
    }

    /// Two hosts on one switch, with LIDs 7, 9 and 2.
    pub(super) fn star() -> FabricView {
        let mut lft = Lft::drop_all(Lid(9));
        for (lid, port) in [(2, 0), (7, 1), (9, 2)] {
            lft.set(Lid(lid), PortNum(port));
        }
        let mut switch = node(NodeType::Switch, 3, 36, 2);
        switch.lft = Some(Arc::new(lft));
        FabricView {
            nodes: vec![
                node(NodeType::Ca, 1, 1, 7),
                node(NodeType::Ca, 2, 1, 9),
                switch,
            ],
            links: vec![link((0, 1), (2, 1)), link((1, 1), (2, 2))],
            ..FabricView::default()
        }
    }

    /// Four switches in a ring with LIDs 1 to 4, each with a host.
    pub(super) fn ring() -> FabricView {
        let switches = (1..=4).map(|n| node(NodeType::Switch, n.into(), 36, n));
        let hosts = (5..=8).map(|n| node(NodeType::Ca, n.into(), 1, n));
        let ring = (0..4).map(|s| link((s, 1), ((s + 1) % 4, 2)));
        FabricView {
            nodes: switches.chain(hosts).collect(),
            links: ring
                .chain((0..4).map(|s| link((s, 3), (s + 4, 1))))
                .collect(),
            ..FabricView::default()
        }
    }

    /// [`star`] with VLs: LID 7 has SL 1, all others SL 0; SL n uses VL n mod `vls`.
    pub(super) fn star_with_vls(vls: u8) -> FabricView {
        let mut view = star();
        let mut b = TopologyBuilder::new();
        let s = b.switch(view.nodes[2].num_ports, Lid(2));
        for link in &view.links {
            let (at, host) = if link.a.node == 2 {
                (link.a, link.b)
            } else {
                (link.b, link.a)
            };
            b.end_port((s, at.port), view.nodes[host.node].end_ports[0].lid, 1);
        }
        let mut sls = [0u8; 10];
        sls[7] = 1;
        let routing = Routing {
            engine: "file",
            tables: view.nodes[2].lft.iter().cloned().collect(),
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
        view.routing = Some(InstalledRouting::new(Arc::new(run), &[2]));
        view
    }

    pub(super) fn text(
        render: fn(&FabricView, &LidOwners, &mut dyn Write) -> io::Result<()>,
        view: &FabricView,
    ) -> String {
        let mut out = Vec::new();
        render(view, &LidOwners::new(view), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sls_and_vls_are_dumped_only_with_several_vls() {
        let applies = |view: &FabricView| {
            let dump = FabricDump::new(view);
            DumpFile::ALL.map(|file| dump.applies(file))
        };
        let written = [true, true, true, true, false, false, false];
        assert_eq!(applies(&star()), written);
        assert_eq!(applies(&star_with_vls(1)), written);
        let with_vls = [true, true, true, true, true, true, false];
        assert_eq!(applies(&star_with_vls(2)), with_vls);
    }
}
