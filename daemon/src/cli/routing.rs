//! Flags of the commands that route a fabric on paper.

use std::path::PathBuf;

use clap::Args;
use ferrosm_opensm_compat::input::RoutingInputFiles;

use crate::config::value::Engine;

/// What is routed, and how.
#[derive(Debug, Clone, Args)]
pub struct HintArgs {
    /// A file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or a shape such as fat-tree:8.
    #[arg(long, value_name = "FILE|SPEC")]
    pub from: String,
    /// Route the part of the fabric that this port is on, where no cable joins all parts: a name, NAME/PORT or a GUID [default: the
    /// part with most end ports].
    #[arg(long, value_name = "PORT")]
    pub node: Option<String>,
    /// Routing engines in the order in which they are tried; `auto` recognises the fabric, `no_fallback` forbids the
    /// last resort.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "auto"
    )]
    pub engine: Vec<Engine>,
    /// Time that `auto` may spend on comparing engines, such as 10s. Engines that are named have no limit.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub budget: humantime::Duration,
    /// Data lanes that an engine may use; all that cables have if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub vls: Option<u8>,
    /// Files in OpenSM's forms.
    #[command(flatten)]
    pub files: FileArgs,
}

/// What an operator says of the structure: files in OpenSM's forms.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "What is known of the fabric (files as OpenSM has them)")]
pub struct FileArgs {
    /// Root switches.
    #[arg(long, value_name = "FILE")]
    pub root_guid_file: Option<PathBuf>,
    /// Ports of compute nodes.
    #[arg(long, value_name = "FILE")]
    pub cn_guid_file: Option<PathBuf>,
    /// Ports of I/O nodes.
    #[arg(long, value_name = "FILE")]
    pub io_guid_file: Option<PathBuf>,
    /// What tells switches of equal rank apart.
    #[arg(long, value_name = "FILE")]
    pub ids_guid_file: Option<PathBuf>,
    /// End ports that are routed first.
    #[arg(long, value_name = "FILE")]
    pub guid_routing_order_file: Option<PathBuf>,
    /// Hops that switch ports count as.
    #[arg(long, value_name = "FILE")]
    pub hop_weights_file: Option<PathBuf>,
    /// The order in which ports of a switch are tried.
    #[arg(long, value_name = "FILE")]
    pub port_search_ordering_file: Option<PathBuf>,
    /// Switch ports whose load does not count.
    #[arg(long, value_name = "FILE")]
    pub port_prof_ignore_file: Option<PathBuf>,
    /// The shape of a torus: torus-2QoS.conf.
    #[arg(long, value_name = "FILE")]
    pub torus_config: Option<PathBuf>,
    /// Forwarding tables for the engine `file`: opensm-lfts.dump.
    #[arg(long, value_name = "FILE")]
    pub lfts_file: Option<PathBuf>,
    /// VLs of SLs that go with them: opensm-sl2vl.dump.
    #[arg(long, value_name = "FILE", requires = "lfts_file")]
    pub sl2vl_file: Option<PathBuf>,
    /// SLs of paths that go with them: opensm-path-sl.dump.
    #[arg(long, value_name = "FILE", requires = "lfts_file")]
    pub path_sl_file: Option<PathBuf>,
}

/// Flags of `route`.
#[derive(Debug, Clone, Args)]
pub struct RouteArgs {
    /// What is routed, and how.
    #[command(flatten)]
    pub what: HintArgs,
    /// Write the fabric, its tables and (with more than one lane) its SLs and VLs there, in OpenSM's forms.
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// What is routed, and how.
    #[command(flatten)]
    pub what: HintArgs,
    /// Where packets start: a name, GUID or LID of a node or port.
    #[arg(value_name = "SRC", requires = "to")]
    pub source: Option<String>,
    /// Where they go.
    #[arg(value_name = "DST")]
    pub to: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

impl FileArgs {
    /// The files.
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
