//! Writes OpenSM's dumps ([`ferrosm_opensm_compat::dump`]) into a directory.
//!
//! Each file is replaced atomically, so that a reader sees a complete file.

pub mod worker;

use std::path::Path;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_opensm_compat::dump::{DumpFile, FabricDump};

use crate::failure::Failure;
use ferrosm_store::atomic;

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
pub fn write(
    snapshot: &Snapshot,
    dir: &Path,
    extent: Extent,
) -> Result<Vec<&'static str>, Failure> {
    make_dir(dir)?;
    let dump = FabricDump::new(snapshot);
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
    use ferrosm_sim::generate::from_spec;
    use ferrosm_sim::spec::FabricSpec;

    use super::*;
    use crate::offline::args::OfflineArgs;
    use crate::offline::{self, OmittedNodes};
    use crate::testing::TempDir;
    use ferrosm_core::config::hints::GuidHints;

    const PATHS: &str = DumpFile::PathSl.name();

    fn applies(snapshot: &Snapshot) -> bool {
        FabricDump::new(snapshot).applies(DumpFile::CaOrder)
    }

    fn ca_order(snapshot: &Snapshot) -> String {
        let mut out = Vec::new();
        let dump = FabricDump::new(snapshot);
        dump.render(DumpFile::CaOrder, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn routed(spec: &str, engine: &str) -> Snapshot {
        routed_spec(&from_spec(spec).unwrap(), engine)
    }

    fn routed_spec(spec: &FabricSpec, engine: &str) -> Snapshot {
        let args = OfflineArgs::with_engines(&[engine]);
        let fabric = offline::spec::observed(spec);
        let (omitted, hints) = (OmittedNodes::default(), GuidHints::default());
        let routed = offline::route_fabric(fabric, omitted, &args, &hints);
        routed.unwrap().snapshot
    }

    /// Every host is listed once, leaf by leaf and without aggregation nodes; leaves are padded to
    /// the size of the fullest.
    #[test]
    fn ca_order_lists_hosts_leaf_by_leaf() {
        for (spec, per_leaf, dummies) in [("fat-tree:4;sharp", 2, 0), ("fat-tree2:8,3,3", 3, 0)] {
            let snapshot = routed(spec, "dmodc");
            assert!(applies(&snapshot));
            let text = ca_order(&snapshot);
            let lines: Vec<&str> = text.lines().collect();
            let is_host = |slot: &u32| snapshot.node(*slot).name().starts_with("host");
            let hosts: Vec<u32> = snapshot.slots().filter(is_host).collect();
            assert_eq!(lines.len(), hosts.len(), "{text}");
            for host in hosts.iter().copied() {
                let lid = snapshot.reported_end_ports(host).next().unwrap().lid;
                let line = format!("0x{:04x}\t{}", lid.0, snapshot.node(host).name());
                assert!(lines.contains(&line.as_str()), "{line}\n{text}");
            }
            assert_eq!(text.matches("DUMMY").count(), dummies);
            let leaf_of = |line: &str| {
                let name = line.split('\t').nth(1).unwrap();
                let host = hosts
                    .iter()
                    .find(|slot| snapshot.node(**slot).name() == name);
                let (_, peer) = snapshot.linked_ports(*host.unwrap()).next().unwrap();
                peer.node()
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
        let mut spec = from_spec("fat-tree:4").unwrap();
        let host = spec.nodes.iter_mut().find(|n| n.kind == NodeType::Ca);
        host.unwrap().kind = NodeType::Router;
        let text = ca_order(&routed_spec(&spec, "ftree"));
        assert_eq!(text.lines().count(), 16);
        assert_eq!(text.matches("0xFFFF\tDUMMY\n").count(), 1, "{text}");
        assert!(!applies(&routed("ring:5,1", "updn")));
    }

    #[test]
    fn all_files_are_written() {
        let dir = TempDir::new("dump");
        let single_vl = routed("star:2", "minhop");
        let two_vls = routed("ring:5,1", "lash");
        let names = |snapshot: &Snapshot| {
            write(snapshot, &dir.path().join("made"), Extent::Full).unwrap();
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
        let dir = TempDir::new("dump-bounded");
        let write = |snapshot: &Snapshot| write(snapshot, dir.path(), Extent::Bounded).unwrap();
        let mut spec = from_spec("ring:5,3").unwrap();
        assert_eq!(write(&routed_spec(&spec, "lash")), [""; 0]);
        assert!(dir.path().join(PATHS).exists());
        // Each host has 128 LIDs: 1,920 in all.
        for node in spec.nodes.iter_mut().filter(|n| n.kind == NodeType::Ca) {
            node.lids = vec![(Lid::NONE, Lmc(7))];
        }
        assert_eq!(write(&routed_spec(&spec, "lash")), [PATHS]);
        assert!(
            !dir.path().join(PATHS).exists(),
            "the stale dump is removed"
        );
    }
}
