//! Writes OpenSM's dumps ([`ferrosm_opensm_compat::dump`]) into a directory.
//!
//! Each file is replaced atomically, so that a reader sees a complete file.

pub mod worker;

use std::path::Path;

use ferrosm_opensm_compat::dump::{DumpFile, FabricDump};
use ferrosm_opensm_compat::view::FabricView;

use crate::atomic;
use crate::failure::Failure;

/// Which files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every file, of any size: for a command that writes them once.
    Full,
    /// Without files of more than [`PAIRS_MAX`] entries, whose size grows with sources x LIDs: for
    /// a service that writes dumps after each sweep (the LID matrix of 1,620 switches has 390 MB).
    Bounded,
}

/// Most entries of a file that a service writes after each sweep: some 20 MB.
pub const PAIRS_MAX: usize = 1 << 21;

/// Writes the dumps into a directory, which is created if missing. Removes dumps that do not apply
/// to this routing and those that are too large for the extent; returns the names of the latter.
///
/// # Errors
/// A file cannot be written; its previous version is unchanged.
pub fn write(view: &FabricView, dir: &Path, extent: Extent) -> Result<Vec<&'static str>, Failure> {
    make_dir(dir)?;
    let dump = FabricDump::new(view);
    let mut skipped = Vec::new();
    for file in DumpFile::ALL {
        let path = dir.join(file.name());
        let applies = dump.applies(file);
        let too_large = applies && extent == Extent::Bounded && dump.num_pairs(file) > PAIRS_MAX;
        let written = if applies && !too_large {
            atomic::write(&path, |out| dump.render(file, out))
        } else {
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
                Ok(()) | Err(_) => Ok(()),
            }
        };
        written.map_err(|e| Failure::runtime(format!("cannot write {}: {e}", path.display())))?;
        if too_large {
            skipped.push(file.name());
        }
    }
    Ok(skipped)
}

/// Creates the directory if it is missing.
///
/// # Errors
/// The directory cannot be created.
pub fn make_dir(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|e| {
        Failure::with_hint(
            format!("cannot create dump directory {}: {e}", dir.display()),
            "Name another directory with --dump-dir.",
        )
    })
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use ferrosm_mad::attr::NodeType;
    use ferrosm_mad::ids::{Lid, Lmc};

    use super::*;
    use crate::cli::OfflineArgs;
    use crate::offline;
    use crate::testing::TempDir;

    const PATHS: &str = DumpFile::PathSl.name();

    fn applies(view: &FabricView) -> bool {
        FabricDump::new(view).applies(DumpFile::CaOrder)
    }

    fn ca_order(view: &FabricView) -> String {
        let mut out = Vec::new();
        let dump = FabricDump::new(view);
        dump.render(DumpFile::CaOrder, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn routed(spec: &str, engine: &str) -> FabricView {
        let args = OfflineArgs::with_engines(spec, &[engine]);
        offline::route(&args).unwrap().view
    }

    /// Every host is listed once, leaf by leaf and without aggregation nodes; leaves are padded to
    /// the size of the fullest.
    #[test]
    fn ca_order_lists_hosts_leaf_by_leaf() {
        for (spec, per_leaf, dummies) in [("fat-tree:4;sharp", 2, 0), ("fat-tree2:8,3,3", 3, 0)] {
            let view = routed(spec, "dmodc");
            assert!(applies(&view));
            let text = ca_order(&view);
            let lines: Vec<&str> = text.lines().collect();
            let hosts = view.nodes.iter().filter(|n| n.name().starts_with("host"));
            assert_eq!(lines.len(), hosts.clone().count(), "{text}");
            for host in hosts {
                let line = format!("0x{:04x}\t{}", host.end_ports[0].lid.0, host.name());
                assert!(lines.contains(&line.as_str()), "{line}\n{text}");
            }
            assert_eq!(text.matches("DUMMY").count(), dummies);
            let leaf_of = |line: &str| {
                let name = line.split('\t').nth(1).unwrap();
                let at = view.nodes.iter().position(|n| n.name() == name).unwrap();
                view.link_ends()[at][0].peer.node
            };
            for leaf in lines.chunks(per_leaf) {
                assert!(
                    leaf.iter().all(|l| leaf_of(l) == leaf_of(leaf[0])),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn ca_order_pads_leaves_and_exists_for_tree_engines_only() {
        let mut view = routed("fat-tree:4", "ftree");
        let host = view.nodes.iter().position(|n| !n.is_switch()).unwrap();
        view.nodes[host].kind = NodeType::Router;
        let text = ca_order(&view);
        assert_eq!(text.lines().count(), 16);
        assert_eq!(text.matches("0xFFFF\tDUMMY\n").count(), 1, "{text}");
        assert!(!applies(&routed("ring:5,1", "updn")));
    }

    #[test]
    fn all_files_are_written() {
        let dir = TempDir::new("dump");
        let single_vl = routed("star:2", "minhop");
        let two_vls = routed("ring:5,1", "lash");
        let names = |view: &FabricView| {
            write(view, &dir.path().join("made"), Extent::Full).unwrap();
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
        assert_eq!(names(&single_vl), always);
        let all_files = names(&two_vls);
        assert_eq!(all_files.len(), 6);
        assert!(
            all_files.contains(&"opensm-sl2vl.dump".to_owned()),
            "{all_files:?}"
        );
        assert_eq!(
            names(&single_vl),
            always,
            "VL dumps of the previous routing are removed"
        );
    }

    #[test]
    fn bounded_extent_skips_large_files() {
        let mut view = routed("ring:5,1", "lash");
        let dir = TempDir::new("dump-bounded");
        let write = |view: &FabricView, extent| write(view, dir.path(), extent).unwrap();
        assert_eq!(write(&view, Extent::Bounded), [""; 0]);
        assert!(dir.path().join(PATHS).exists());
        // All LIDs are in use: 128 per end port.
        let host = view.nodes.iter().find(|n| !n.is_switch()).unwrap().clone();
        for lid in (128..0xBF80u16).step_by(128) {
            let mut larger = host.clone();
            larger.end_ports[0].lid = Lid(lid);
            larger.end_ports[0].lmc = Lmc(7);
            view.nodes.push(larger);
        }
        assert_eq!(write(&view, Extent::Bounded), [PATHS]);
        assert!(
            !dir.path().join(PATHS).exists(),
            "the stale dump is removed"
        );
    }
}
