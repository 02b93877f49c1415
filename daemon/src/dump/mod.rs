//! Files that OpenSM's tools and site scripts read: `opensm-subnet.lst`, `opensm.fdbs`, `opensm-lfts.dump`,
//! `opensm-lid-matrix.dump`, where more than one lane is used `opensm-sl2vl.dump` and `opensm-path-sl.dump`, and of fat
//! trees `opensm-ftree-ca-order.dump`.
//!
//! Each is written beside its place and moved there, so a reader sees a whole file. The forms are OpenSM's, also where
//! they are odd. ibdmchk reads the list of the subnet, `opensm.fdbs`, SLs and VLs, OpenSM's engine `file` tables and matrix.

pub mod beside;
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

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every file, however long it becomes: for someone who asked for it once.
    Whole,
    /// Without files that grow with sources x LIDs and would have more than [`PAIRS_MAX`] entries: for a service that writes
    /// them again and again (1,620 switches have a matrix of 390 MB).
    Bounded,
}

/// Most entries of a file that a service writes after each sweep: some 20 MB.
pub const PAIRS_MAX: usize = 1 << 21;

/// Writes all of them into a directory, which is made where it is missing. Lanes and orders of tables that were there
/// before, and are not these, are removed where these have none; so are files that are too long for the extent, whose names
/// are returned.
///
/// # Errors
/// If a file cannot be written; the one that was there before stays.
pub fn write(view: &View, dir: &Path, extent: Extent) -> Result<Vec<&'static str>, Failure> {
    let refuse = |name: &str, e: std::io::Error| {
        Failure::job(format!("cannot write {}: {e}", dir.join(name).display()))
    };
    make_dir(dir)?;
    let owners = Owners::new(view);
    let single = view
        .lanes
        .as_ref()
        .is_none_or(|of| of.run.routing.lanes.is_single());
    let switches = view.nodes.iter().filter(|n| n.lft.is_some()).count();
    let lids = owners.iter().count();
    let fits =
        |sources: usize| extent == Extent::Whole || sources.saturating_mul(lids) <= PAIRS_MAX;
    let matrix = fits(switches);
    let paths = !single && fits(lids);
    let files: [(&str, Render, bool); 7] = [
        ("opensm-subnet.lst", subnet_lst::render, true),
        ("opensm.fdbs", fdbs::render, true),
        ("opensm-lfts.dump", lfts::render, true),
        (MATRIX, lid_matrix::render, matrix),
        ("opensm-sl2vl.dump", sl2vl::render, !single),
        (PATHS, path_sl::render, paths),
        (
            "opensm-ftree-ca-order.dump",
            ca_order::render,
            ca_order::is_there(view),
        ),
    ];
    for (name, render, wanted) in files {
        let path = dir.join(name);
        if wanted {
            atomic::write(&path, |out| render(view, &owners, out)).map_err(|e| refuse(name, e))?;
        } else if let Err(e) = std::fs::remove_file(&path)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(refuse(name, e));
        }
    }
    let left_out = [(MATRIX, !matrix), (PATHS, !single && !paths)];
    Ok(left_out
        .into_iter()
        .filter_map(|(name, is)| is.then_some(name))
        .collect())
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

/// Hops from each switch to each LID.
const MATRIX: &str = "opensm-lid-matrix.dump";

/// The SL from each end port to each LID.
const PATHS: &str = "opensm-path-sl.dump";

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
            write(view, &dir.path().join("made"), Extent::Whole).unwrap();
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

    #[test]
    fn a_service_leaves_out_what_grows_with_the_square() {
        let mut view = laned(2);
        let dir = crate::testing::TempDir::new("dump-bounded");
        let write = |view: &View, extent| write(view, dir.path(), extent).unwrap();
        assert_eq!(write(&view, Extent::Bounded), [""; 0]);
        assert!(dir.path().join(PATHS).exists());
        // As many LIDs as there can be, at one end port each 128.
        let host = view.nodes.iter().find(|n| !n.is_switch()).unwrap().clone();
        for lid in (128..0xBF80u16).step_by(128) {
            let mut more = host.clone();
            more.end_ports[0].lid = Lid(lid);
            more.end_ports[0].lmc = Lmc(7);
            view.nodes.push(more);
        }
        assert_eq!(write(&view, Extent::Bounded), [PATHS]);
        assert!(
            !dir.path().join(PATHS).exists(),
            "an old one would be wrong"
        );
    }
}
