//! Files that OpenSM's tools and site scripts read: `opensm-subnet.lst`, `opensm.fdbs`, `opensm-lfts.dump`,
//! `opensm-lid-matrix.dump`, where more than one lane is used `opensm-sl2vl.dump` and `opensm-path-sl.dump`, and of fat
//! trees `opensm-ftree-ca-order.dump`.
//!
//! Each is written beside its place and moved there, so a reader sees a whole file. The forms are OpenSM's, also where
//! they are odd. ibdmchk reads the list of the subnet, `opensm.fdbs`, SLs and VLs, OpenSM's engine `file` tables and matrix.

mod ca_order;
mod fdbs;
mod lfts;
mod lid_matrix;
mod path_sl;
mod sl2vl;
mod subnet_lst;

use std::path::Path;

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, PortNum};

use crate::atomic;
use crate::failure::Failure;
use crate::output::view::{At, Node, View};

/// Writes all of them into a directory, which is made where it is missing. Lanes and orders of tables that were there
/// before, and are not these, are removed where these have none.
///
/// # Errors
/// If a file cannot be written; the one that was there before stays.
pub fn write(view: &View, dir: &Path) -> Result<(), Failure> {
    let refuse = |name: &str, e: std::io::Error| {
        Failure::job(format!("cannot write {}: {e}", dir.join(name).display()))
    };
    make_dir(dir)?;
    let owners = Owners::new(view);
    for (name, render) in FILES {
        atomic::write(&dir.join(name), |out| render(view, &owners, out))
            .map_err(|e| refuse(name, e))?;
    }
    let single = view
        .lanes
        .as_ref()
        .is_none_or(|of| of.run.routing.lanes.is_single());
    let ordered = ca_order::is_there(view);
    let some = LANE_FILES.map(|(name, render)| (name, render, !single));
    let order: (&str, Render, bool) = (CA_ORDER, ca_order::render, ordered);
    for (name, render, wanted) in some.into_iter().chain([order]) {
        let path = dir.join(name);
        if !wanted {
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(refuse(name, e)),
                Ok(()) | Err(_) => {}
            }
        } else {
            atomic::write(&path, |out| render(view, &owners, out)).map_err(|e| refuse(name, e))?;
        }
    }
    Ok(())
}

/// Makes the directory where it is missing.
///
/// # Errors
/// If it cannot be made.
pub fn make_dir(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|e| {
        Failure::with_hint(
            format!("cannot create dump directory {}: {e}", dir.display()),
            "Name another directory with --dump-dir.",
        )
    })
}

type Render = fn(&View, &Owners, &mut dyn std::io::Write) -> std::io::Result<()>;

const FILES: [(&str, Render); 4] = [
    ("opensm-subnet.lst", subnet_lst::render),
    ("opensm.fdbs", fdbs::render),
    ("opensm-lfts.dump", lfts::render),
    ("opensm-lid-matrix.dump", lid_matrix::render),
];

/// Only where there is more than one lane.
const LANE_FILES: [(&str, Render); 2] = [
    ("opensm-sl2vl.dump", sl2vl::render),
    ("opensm-path-sl.dump", path_sl::render),
];

/// Only of fat trees.
const CA_ORDER: &str = "opensm-ftree-ca-order.dump";

/// OpenSM's words for kinds of nodes.
fn kind(node: &Node) -> &'static str {
    match node.kind {
        NodeType::Switch => "Switch",
        NodeType::Router => "Router",
        _ => "Channel Adapter",
    }
}

/// Who owns which LID.
struct Owners {
    /// By LID: the end port.
    by_lid: Vec<Option<At>>,
}

impl Owners {
    fn new(view: &View) -> Self {
        let mut by_lid: Vec<Option<At>> = Vec::new();
        for (index, node) in view.nodes.iter().enumerate() {
            for end in node.end_ports.iter().filter(|e| e.lid.is_unicast()) {
                let first = usize::from(end.lid.0);
                let after = first + (1 << end.lmc.0.min(7));
                by_lid.resize(by_lid.len().max(after), None);
                for owner in &mut by_lid[first..after] {
                    owner.get_or_insert(At {
                        node: index,
                        port: end.port,
                    });
                }
            }
        }
        Self { by_lid }
    }

    /// The highest LID that is owned.
    fn top(&self) -> usize {
        self.by_lid.len().saturating_sub(1)
    }

    /// Who owns a LID.
    fn owner(&self, lid: Lid) -> Option<At> {
        self.by_lid.get(usize::from(lid.0)).copied().flatten()
    }

    /// Owned LIDs in order.
    fn iter(&self) -> impl Iterator<Item = (Lid, At)> + '_ {
        self.by_lid
            .iter()
            .enumerate()
            .filter_map(|(lid, at)| Some((Lid(u16::try_from(lid).ok()?), (*at)?)))
    }
}

/// Switches that have a table, with the entry of a LID, `None` where the table drops it.
fn entry(node: &Node, lid: Lid) -> Option<PortNum> {
    let port = node.lft.as_ref()?.get(lid);
    (port.0 <= node.num_ports).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use ferrosm_mad::ids::Lmc;
    use ferrosm_routing::{Kept, Lanes, LastRun, Lft, PathSl, Routing, TopologyBuilder, Trees};

    /// Host 1 and host 2 on one switch, LIDs 7, 9 and 2.
    pub(super) fn star() -> View {
        let mut spec = ferrosm_sim::generate::from_spec("star:2").unwrap();
        let mut lids = [Lid(7), Lid(9)].into_iter();
        for node in &mut spec.nodes {
            let lid = if node.kind == NodeType::Switch {
                Lid(2)
            } else {
                lids.next().unwrap()
            };
            node.lids = vec![(lid, Lmc(0))];
        }
        let mut view = View::of_spec(&spec);
        let ends: Vec<(Lid, PortNum)> = view
            .links
            .iter()
            .map(|l| {
                let (host, port) = if view.nodes[l.a.node].is_switch() {
                    (l.b, l.a)
                } else {
                    (l.a, l.b)
                };
                (view.nodes[host.node].end_port(host.port).lid, port.port)
            })
            .collect();
        let mut lft = Lft::drop_all(Lid(9));
        lft.set(Lid(2), PortNum::ZERO);
        for (lid, port) in ends {
            lft.set(lid, port);
        }
        let switch = view.nodes.iter_mut().find(|n| n.is_switch()).unwrap();
        switch.lft = Some(Arc::new(lft));
        view
    }

    /// The same with lanes: LID 7 is on SL 1, all others on SL 0; SL n is on VL n mod `vls`.
    pub(super) fn laned(vls: u8) -> View {
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
            lanes: Lanes::modulo(vls, PathSl::ByLid(Arc::from(sls.as_slice()))),
            order: None,
            trees: Trees::Search,
            notes: Vec::new(),
        };
        let run = LastRun {
            topo: Arc::new(b.build()),
            routing,
            busiest: 0,
            kept: Kept::new(),
        };
        view.lanes = Some(crate::output::view::Lanes::new(Arc::new(run), &[2]));
        view
    }

    pub(super) fn text(render: Render, view: &View) -> String {
        let mut out = Vec::new();
        render(view, &Owners::new(view), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_files_are_written() {
        let dir = crate::testing::TempDir::new("dump");
        let names = |view: &View| {
            write(view, &dir.path().join("made")).unwrap();
            let mut names: Vec<String> = std::fs::read_dir(dir.path().join("made"))
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let always = [
            "opensm-lfts.dump",
            "opensm-lid-matrix.dump",
            "opensm-subnet.lst",
            "opensm.fdbs",
        ];
        assert_eq!(names(&star()), always);
        let lanes = names(&laned(2));
        assert_eq!(lanes.len(), 6);
        assert!(lanes.contains(&"opensm-sl2vl.dump".to_owned()), "{lanes:?}");
        assert_eq!(
            names(&laned(1)),
            always,
            "no lanes of other tables are left"
        );
    }
}
