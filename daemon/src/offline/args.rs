//! What is routed, by which engines: the flags that all commands for offline routing have.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;
use ferrosm_opensm_compat::input::RoutingInputFiles;

use crate::config::parse_engine;

/// Flags of offline routing.
#[derive(Debug, Clone, Args)]
pub struct OfflineArgs {
    /// If the fabric is disconnected, route the part with this port: a name, NAME/PORT or GUID
    /// [default: the part with most hosts].
    #[arg(long, value_name = "PORT")]
    pub node: Option<String>,
    /// Routing engines, tried in this order until one succeeds: `auto` selects by topology; ftree,
    /// updn, dnup, minhop, dor, lash, torus-2QoS, dragonfly, diameter2, sssp, dfsssp, dmodc, nue,
    /// file; `no_fallback` disables the fallback engines. With --lfts-file, `file`.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "auto",
        default_value_if("lfts_file", ArgPredicate::IsPresent, "file"),
        value_parser = parse_engine
    )]
    pub engine: Vec<String>,
    /// Time limit of `auto` for comparing engines, such as 10s. Named engines have no limit.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub budget: humantime::Duration,
    /// Data VLs that an engine may use [default: as many as the links have].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub vls: Option<u8>,
    /// Files in OpenSM's formats.
    #[command(flatten)]
    pub files: FileArgs,
}

/// OpenSM input files.
#[derive(Debug, Clone, Default, Args)]
pub struct FileArgs {
    /// Node GUIDs of the root switches. This and the files below have OpenSM's formats.
    #[arg(long, value_name = "FILE")]
    pub root_guid_file: Option<PathBuf>,
    /// Ports of compute nodes.
    #[arg(long, value_name = "FILE")]
    pub cn_guid_file: Option<PathBuf>,
    /// Ports of I/O nodes.
    #[arg(long, value_name = "FILE")]
    pub io_guid_file: Option<PathBuf>,
    /// Order among switches of equal rank.
    #[arg(long, value_name = "FILE")]
    pub ids_guid_file: Option<PathBuf>,
    /// End ports to route first.
    #[arg(long, value_name = "FILE")]
    pub guid_routing_order_file: Option<PathBuf>,
    /// Hop weights of switch ports.
    #[arg(long, value_name = "FILE")]
    pub hop_weights_file: Option<PathBuf>,
    /// Order in which ports of a switch are tried.
    #[arg(long, value_name = "FILE")]
    pub port_search_ordering_file: Option<PathBuf>,
    /// Switch ports without load accounting.
    #[arg(long, value_name = "FILE")]
    pub port_prof_ignore_file: Option<PathBuf>,
    /// Torus dimensions: torus-2QoS.conf.
    #[arg(long, value_name = "FILE")]
    pub torus_config: Option<PathBuf>,
    /// LFTs for the engine `file`: opensm-lfts.dump.
    #[arg(long, value_name = "FILE")]
    pub lfts_file: Option<PathBuf>,
    /// SLtoVL tables for the engine `file`: opensm-sl2vl.dump.
    #[arg(long, value_name = "FILE", requires = "lfts_file")]
    pub sl2vl_file: Option<PathBuf>,
    /// Path SLs for the engine `file`: opensm-path-sl.dump.
    #[arg(long, value_name = "FILE", requires = "lfts_file")]
    pub path_sl_file: Option<PathBuf>,
}

impl FileArgs {
    /// The input files.
    #[must_use]
    pub fn input_files(&self) -> RoutingInputFiles {
        RoutingInputFiles {
            root_guid_file: self.root_guid_file.clone(),
            cn_guid_file: self.cn_guid_file.clone(),
            io_guid_file: self.io_guid_file.clone(),
            ids_guid_file: self.ids_guid_file.clone(),
            guid_routing_order_file: self.guid_routing_order_file.clone(),
            hop_weights_file: self.hop_weights_file.clone(),
            port_search_ordering_file: self.port_search_ordering_file.clone(),
            port_prof_ignore_file: self.port_prof_ignore_file.clone(),
            torus_config: self.torus_config.clone(),
            lfts_file: self.lfts_file.clone(),
            sl2vl_file: self.sl2vl_file.clone(),
            path_sl_file: self.path_sl_file.clone(),
        }
    }
}

impl OfflineArgs {
    /// The flags of `ferrosm route --engine ENGINES`, all others at their defaults.
    pub(crate) fn with_engines(engines: &[&str]) -> Self {
        Self {
            node: None,
            engine: engines.iter().map(|name| (*name).to_owned()).collect(),
            budget: core::time::Duration::from_secs(2).into(),
            vls: None,
            files: FileArgs::default(),
        }
    }
}
