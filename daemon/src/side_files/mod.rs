//! Side files: what an operator says about the structure of a fabric, in the forms that OpenSM has for it.
//!
//! Parsers are pure functions from text to [`GuidHints`]' parts. They take what OpenSM takes, comments and blank lines
//! included, but a line that they do not understand is an error with its place: OpenSM stops reading there or drops
//! the line, and then routes as if it had been told less. Nothing here knows the fabric: GUIDs are looked up where the
//! routes are made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`guids`] | lists of GUIDs, and of GUIDs with numbers |
//! | [`torus`] | `torus-2QoS.conf` |
//! | [`lfts`] | forwarding tables from `opensm-lfts.dump` |
//! | [`lanes`] | `opensm-sl2vl.dump` and path SLs |
//! | [`partitions`] | `partitions.conf` |
//! | [`qos_policy`] | `qos-policy.conf` |
//! | [`prefix_routes`] | `prefix-routes.conf` |
//! | `pieces` | pieces of a text that goes over lines, and where they stand |
//! | `scan` | words of lines and where they stand |

pub mod guids;
pub mod lanes;
pub mod lfts;
pub mod partitions;
mod pieces;
pub mod prefix_routes;
pub mod qos_policy;
mod scan;
pub mod torus;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_core::plan::hints::{GuidHints, GuidTables};

use crate::config::ConfigErrors;

pub use scan::Wrong;

/// Which files there are; `None` for those that are not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideFiles {
    /// Root switches.
    pub root_guid_file: Option<PathBuf>,
    /// Ports of compute nodes.
    pub cn_guid_file: Option<PathBuf>,
    /// Ports of I/O nodes.
    pub io_guid_file: Option<PathBuf>,
    /// What tells switches of equal rank apart.
    pub ids_guid_file: Option<PathBuf>,
    /// End ports that are routed first.
    pub guid_routing_order_file: Option<PathBuf>,
    /// Hops that switch ports count as.
    pub hop_weights_file: Option<PathBuf>,
    /// The order in which ports of a switch are tried.
    pub port_search_ordering_file: Option<PathBuf>,
    /// Switch ports whose load does not count.
    pub port_prof_ignore_file: Option<PathBuf>,
    /// The shape of a torus.
    pub torus_config: Option<PathBuf>,
    /// Forwarding tables for the engine `file`.
    pub lfts_file: Option<PathBuf>,
    /// VLs of SLs for the engine `file`.
    pub sl2vl_file: Option<PathBuf>,
    /// SLs of paths for the engine `file`.
    pub path_sl_file: Option<PathBuf>,
}

/// Reads all of them.
///
/// # Errors
/// Everything that is wrong with any of them.
pub fn read(files: &SideFiles) -> Result<GuidHints, ConfigErrors> {
    let mut hints = GuidHints::default();
    let mut tables = GuidTables::default();
    let mut wrong = ConfigErrors::none();
    let mut take = Reader { wrong: &mut wrong };

    take.file(files.root_guid_file.as_deref(), guids::nodes, &mut |v| {
        hints.roots = v;
    });
    take.file(files.cn_guid_file.as_deref(), guids::ports, &mut |v| {
        hints.compute = Some(v);
    });
    take.file(files.io_guid_file.as_deref(), guids::ports, &mut |v| {
        hints.io = Some(v);
    });
    take.file(files.ids_guid_file.as_deref(), guids::ids, &mut |v| {
        hints.ids = v;
    });
    take.file(
        files.guid_routing_order_file.as_deref(),
        guids::ports,
        &mut |v| hints.routing_order = v,
    );
    take.file(
        files.hop_weights_file.as_deref(),
        guids::hop_weights,
        &mut |v| hints.hop_weights = v,
    );
    take.file(
        files.port_search_ordering_file.as_deref(),
        guids::port_order,
        &mut |v| hints.port_order = v,
    );
    take.file(
        files.port_prof_ignore_file.as_deref(),
        guids::switch_ports,
        &mut |v| hints.not_counted = v,
    );
    take.file(files.torus_config.as_deref(), torus::parse, &mut |v| {
        hints.torus = Some(v);
    });
    take.file(files.lfts_file.as_deref(), lfts::parse, &mut |v| {
        (tables.lfts, tables.owners) = v;
    });
    take.file(files.sl2vl_file.as_deref(), lanes::sl2vl, &mut |v| {
        tables.sl2vl = v;
    });
    take.file(files.path_sl_file.as_deref(), lanes::path_sl, &mut |v| {
        tables.path_sl = v;
    });

    for (lanes, name) in [
        (&files.sl2vl_file, "sl2vl_file"),
        (&files.path_sl_file, "path_sl_file"),
    ] {
        if let Some(path) = lanes
            && files.lfts_file.is_none()
        {
            wrong.add(
                path,
                None,
                format!("a {name} belongs to tables, and there is no lfts_file"),
            );
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    hints.file = (tables != GuidTables::default()).then(|| Arc::new(tables));
    Ok(hints)
}

type Parse<T> = fn(&str) -> Result<T, Vec<Wrong>>;

struct Reader<'a> {
    wrong: &'a mut ConfigErrors,
}

impl Reader<'_> {
    fn file<T>(&mut self, path: Option<&Path>, parse: Parse<T>, keep: &mut dyn FnMut(T)) {
        let Some(path) = path else { return };
        // Names in comments may be in any encoding; what counts is ASCII.
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => return self.wrong.add(path, None, format!("cannot read it: {e}")),
        };
        match parse(&text) {
            Ok(v) => keep(v),
            Err(errors) => {
                for e in errors {
                    self.wrong.add(path, e.at, e.what);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};

    #[test]
    fn every_file_lands_in_its_hint() {
        let dir = TempDir::new("side-files");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let files = SideFiles {
            root_guid_file: file("root", "0x1\n"),
            cn_guid_file: file("cn", "0x2\n"),
            io_guid_file: file("io", "# none\n"),
            ids_guid_file: file("ids", "0x1 7\n"),
            guid_routing_order_file: file("order", "0x3\n"),
            hop_weights_file: file("weights", "0x1 2 3\n"),
            port_search_ordering_file: file("search", "0x1 3 1\n"),
            port_prof_ignore_file: file("ignore", "0x1 4\n"),
            torus_config: file("torus", "torus 3 3 3\nxp_link 1 2\n"),
            lfts_file: file(
                "lfts",
                "Unicast lids [0-1] of switch Lid 1 guid 0x1 ('s'):\n0x0001 000 # x\n",
            ),
            sl2vl_file: None,
            path_sl_file: file("psl", "0x5 1 2\n"),
        };
        let hints = read(&files).unwrap();
        assert_eq!(hints.roots, [NodeGuid(1)]);
        assert_eq!(hints.compute, Some(vec![PortGuid(2)]));
        assert_eq!(hints.io, Some(Vec::new()));
        assert_eq!(hints.ids, [(NodeGuid(1), 7)]);
        assert_eq!(hints.routing_order, [PortGuid(3)]);
        assert_eq!(hints.hop_weights, [(NodeGuid(1), PortNum(2), 3)]);
        assert_eq!(
            hints.port_order,
            [(NodeGuid(1), vec![PortNum(3), PortNum(1)])]
        );
        assert_eq!(hints.not_counted, [(NodeGuid(1), PortNum(4))]);
        assert_eq!(hints.torus.unwrap().radix, [3, 3, 3]);
        let tables = hints.file.unwrap();
        assert_eq!((tables.lfts.len(), tables.path_sl.len()), (1, 1));
        assert!(read(&SideFiles::default()).unwrap().is_empty());
    }

    /// Two files with an error each, and one that is not there: three errors, each with its file.
    #[test]
    fn all_errors_are_told_with_their_files() {
        let dir = TempDir::new("side-files-bad");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("root"), "0x1\nspine2\n").unwrap();
        std::fs::write(at("weights"), "0x1 2 300\n").unwrap();
        std::fs::write(
            at("sl2vl"),
            "0xa0 1 1 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00\n",
        )
        .unwrap();
        let files = SideFiles {
            root_guid_file: Some(at("root")),
            cn_guid_file: Some(at("nowhere")),
            hop_weights_file: Some(at("weights")),
            sl2vl_file: Some(at("sl2vl")),
            ..SideFiles::default()
        };
        let told = read(&files).unwrap_err().to_string();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        let path = |name: &str| at(name).display().to_string();
        assert!(
            lines[0].starts_with(&format!("{}:2:1: ", path("root"))),
            "{told}"
        );
        assert!(
            lines[1].starts_with(&format!("{}: cannot read it", path("nowhere"))),
            "{told}"
        );
        assert!(
            lines[2].starts_with(&format!("{}:1:7: ", path("weights"))),
            "{told}"
        );
        assert!(lines[3].contains("there is no lfts_file"), "{told}");
    }
}
