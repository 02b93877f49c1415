//! OpenSM's input files.
//!
//! Parsers are pure functions from text to parts of [`GuidHints`]. They accept what OpenSM accepts,
//! with comments and blank lines. Where OpenSM drops an invalid line or stops reading, and then
//! routes with less information, they return an error with its position. GUIDs are resolved when
//! routes are computed.
//!
//! | module | contents |
//! |---|---|
//! | [`guids`] | lists of GUIDs, and of GUIDs with numbers |
//! | [`torus`] | `torus-2QoS.conf` |
//! | [`lfts`] | LFTs from `opensm-lfts.dump` |
//! | [`sls`] | `opensm-sl2vl.dump` and path SLs |
//! | [`partitions`] | `partitions.conf` |
//! | [`qos_policy`] | `qos-policy.conf` |
//! | [`prefix_routes`] | `prefix-routes.conf` |
//! | `line` | words of a line, with columns |
//! | `span` | parts of a text, possibly several lines, with positions |

pub mod guids;
pub mod lfts;
mod line;
pub mod partitions;
pub mod prefix_routes;
pub mod qos_policy;
pub mod sls;
mod span;
pub mod torus;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_core::config::hints::{GuidHints, GuidTables};

use crate::error::{InputError, InputFileError};

/// Reads the content of a file.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Paths of the routing input files; `None` if not configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingInputFiles {
    /// Root switches.
    pub root_guid_file: Option<PathBuf>,
    /// Ports of compute nodes.
    pub cn_guid_file: Option<PathBuf>,
    /// Ports of I/O nodes.
    pub io_guid_file: Option<PathBuf>,
    /// Order of switches of equal rank.
    pub ids_guid_file: Option<PathBuf>,
    /// End ports in the order in which they are routed.
    pub guid_routing_order_file: Option<PathBuf>,
    /// Hop counts of switch ports.
    pub hop_weights_file: Option<PathBuf>,
    /// Order of ports of a switch.
    pub port_search_ordering_file: Option<PathBuf>,
    /// Switch ports excluded from load balancing.
    pub port_prof_ignore_file: Option<PathBuf>,
    /// Shape of a torus.
    pub torus_config: Option<PathBuf>,
    /// LFTs for the engine `file`.
    pub lfts_file: Option<PathBuf>,
    /// SLtoVL tables for the engine `file`.
    pub sl2vl_file: Option<PathBuf>,
    /// Path SLs for the engine `file`.
    pub path_sl_file: Option<PathBuf>,
}

impl RoutingInputFiles {
    /// Reads all files. Returns the hints, and warnings about contents without effect.
    ///
    /// # Errors
    /// All errors of all files, and the warnings.
    pub fn read(
        &self,
        file: ReadFile<'_>,
    ) -> Result<(GuidHints, Vec<InputFileError>), Vec<InputFileError>> {
        let mut hints = GuidHints::default();
        let mut tables = GuidTables::default();
        let mut errors = Vec::new();
        for (path, if_empty) in [
            (&self.root_guid_file, "the roots are detected"),
            (&self.cn_guid_file, "no port counts as a compute node"),
            (&self.io_guid_file, "no port counts as an I/O node"),
            (&self.guid_routing_order_file, "the order stays as it is"),
        ] {
            read(
                file,
                path,
                |text| Err::<(), _>(guids::ignored_content(text, if_empty)),
                &mut errors,
                |()| {},
            );
        }
        // A file that cannot be read is reported once, below.
        errors.retain(InputFileError::is_warning);
        let e = &mut errors;
        read(file, &self.root_guid_file, guids::node_guids, e, |v| {
            hints.roots = v
        });
        read(file, &self.cn_guid_file, guids::port_guids, e, |v| {
            hints.compute_ports = Some(v);
        });
        read(file, &self.io_guid_file, guids::port_guids, e, |v| {
            hints.io = Some(v)
        });
        read(file, &self.ids_guid_file, guids::switch_ids, e, |v| {
            hints.ids = v
        });
        read(
            file,
            &self.guid_routing_order_file,
            guids::port_guids,
            e,
            |v| {
                hints.routing_order = v;
            },
        );
        read(file, &self.hop_weights_file, guids::hop_weights, e, |v| {
            hints.hop_weights = v;
        });
        read(
            file,
            &self.port_search_ordering_file,
            guids::port_order,
            e,
            |v| {
                hints.port_order = v;
            },
        );
        read(
            file,
            &self.port_prof_ignore_file,
            guids::switch_ports,
            e,
            |v| {
                hints.load_balance_ignored = v;
            },
        );
        read(file, &self.torus_config, torus::parse, e, |v| {
            hints.torus = Some(v);
        });
        read(file, &self.lfts_file, lfts::parse, e, |v| {
            (tables.lfts, tables.owners) = v;
        });
        read(file, &self.sl2vl_file, sls::parse_sl2vl, e, |v| {
            tables.sl2vl = v
        });
        read(file, &self.path_sl_file, sls::parse_path_sl, e, |v| {
            tables.path_sl = v
        });

        for (path, key) in [
            (&self.sl2vl_file, "sl2vl_file"),
            (&self.path_sl_file, "path_sl_file"),
        ] {
            if let (Some(path), None) = (path, &self.lfts_file) {
                let path = path.clone();
                errors.push(InputFileError::RequiresLftsFile { path, key });
            }
        }
        if !errors.iter().all(InputFileError::is_warning) {
            return Err(errors);
        }
        hints.file = (tables != GuidTables::default()).then(|| Arc::new(tables));
        Ok((hints, errors))
    }
}

/// Reads a file if it is configured.
fn read<T>(
    file: ReadFile<'_>,
    path: &Option<PathBuf>,
    parse: impl FnOnce(&str) -> Result<T, Vec<InputError>>,
    errors: &mut Vec<InputFileError>,
    store: impl FnOnce(T),
) {
    let Some(path) = path else { return };
    match read_file(file, path, parse) {
        Ok(value) => store(value),
        Err(further) => errors.extend(further),
    }
}

/// Reads and parses the file at `path`. Comments may have any encoding; everything else is ASCII.
///
/// # Errors
/// All errors of the file.
pub fn read_file<T>(
    file: ReadFile<'_>,
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, Vec<InputError>>,
) -> Result<T, Vec<InputFileError>> {
    let bytes = file(path).map_err(|source| {
        let path = path.to_owned();
        vec![InputFileError::Unreadable { path, source }]
    })?;
    parse(&String::from_utf8_lossy(&bytes)).map_err(|errors| {
        let errors = errors.into_iter().map(|source| InputFileError::Invalid {
            path: path.to_owned(),
            source,
        });
        errors.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};

    #[test]
    fn each_file_sets_its_hint() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let files = RoutingInputFiles {
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
        let (hints, warnings) = files.read(&|path| std::fs::read(path)).unwrap();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let io = dir.path().join("io").display().to_string();
        assert_eq!(
            warnings,
            [format!(
                "{io}: no GUID in this file: no port counts as an I/O node"
            )]
        );
        assert_eq!(hints.roots, [NodeGuid(1)]);
        assert_eq!(hints.compute_ports, Some(vec![PortGuid(2)]));
        assert_eq!(hints.io, Some(Vec::new()));
        assert_eq!(hints.ids, [(NodeGuid(1), 7)]);
        assert_eq!(hints.routing_order, [PortGuid(3)]);
        assert_eq!(hints.hop_weights, [(NodeGuid(1), PortNum(2), 3)]);
        assert_eq!(
            hints.port_order,
            [(NodeGuid(1), vec![PortNum(3), PortNum(1)])]
        );
        assert_eq!(hints.load_balance_ignored, [(NodeGuid(1), PortNum(4))]);
        assert_eq!(hints.torus.unwrap().radix, [3, 3, 3]);
        let tables = hints.file.unwrap();
        assert_eq!((tables.lfts.len(), tables.path_sl.len()), (1, 1));
        let (none, warnings) = RoutingInputFiles::default()
            .read(&|path| std::fs::read(path))
            .unwrap();
        assert!(none.is_empty() && warnings.is_empty());
    }

    /// Errors in three files and a missing lfts_file are all reported, each with its path.
    #[test]
    fn all_errors_are_reported_with_their_paths() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("root"), "0x1\nspine2\n").unwrap();
        std::fs::write(at("weights"), "0x1 2 300\n").unwrap();
        std::fs::write(
            at("sl2vl"),
            "0xa0 1 1 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00\n",
        )
        .unwrap();
        let files = RoutingInputFiles {
            root_guid_file: Some(at("root")),
            cn_guid_file: Some(at("nowhere")),
            hop_weights_file: Some(at("weights")),
            sl2vl_file: Some(at("sl2vl")),
            ..RoutingInputFiles::default()
        };
        let lines: Vec<String> = files
            .read(&|path| std::fs::read(path))
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect();
        let report = lines.join("\n");
        assert_eq!(lines.len(), 4, "{report}");
        let path = |name: &str| at(name).display().to_string();
        assert!(
            lines[0].starts_with(&format!("{}:2:1: ", path("root"))),
            "{report}"
        );
        assert!(
            lines[1].starts_with(&format!("{}: cannot read file", path("nowhere"))),
            "{report}"
        );
        assert!(
            lines[2].starts_with(&format!("{}:1:7: ", path("weights"))),
            "{report}"
        );
        assert!(lines[3].contains("requires lfts_file"), "{report}");
    }
}
