//! Files that OpenSM's tools and site scripts read: `opensm-subnet.lst`, `opensm.fdbs`, `opensm-lfts.dump`.
//!
//! Each is written beside its place and moved there, so a reader sees a whole file. The forms are OpenSM's, also where
//! they are odd; ibdmchk reads the first two.

mod fdbs;
mod lfts;
mod subnet_lst;

use std::path::Path;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::atomic;
use crate::failure::Failure;
use crate::output::view::{At, Node, View};

/// Writes all three into a directory, which is made where it is missing.
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

const FILES: [(&str, Render); 3] = [
    ("opensm-subnet.lst", subnet_lst::render),
    ("opensm.fdbs", fdbs::render),
    ("opensm-lfts.dump", lfts::render),
];

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

    use ferrosm_mad::attr::NodeType;
    use ferrosm_mad::ids::Lmc;
    use ferrosm_routing::Lft;

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

    pub(super) fn text(render: Render, view: &View) -> String {
        let mut out = Vec::new();
        render(view, &Owners::new(view), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_files_are_written() {
        let dir = crate::testing::TempDir::new("dump");
        write(&star(), &dir.path().join("made")).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(dir.path().join("made"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs"]
        );
    }
}
