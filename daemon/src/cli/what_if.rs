//! Flags of `whatif`.

use clap::Args;

use super::ServiceDirArgs;
use crate::config::parse_engine;

/// Flags of `whatif`.
#[derive(Debug, Clone, Args)]
pub struct WhatIfArgs {
    /// A node or link that is lost: the name or GUID of a node, or one end of a link, such as
    /// `leaf-2-0/5`. Repeat it for several at once.
    #[arg(long, value_name = "NODE|LINK")]
    pub without: Vec<String>,
    /// Fabric file (as for --from) with the fabric as it would be: nodes and cables that it lacks
    /// are lost, those that only it has are added. `ferrosm topology --format ibnet` writes the
    /// present one.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with = "n_1")]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = super::needs_simulator))]
    pub with: Option<String>,
    /// Routing engines to try in this order, instead of what the SM would do.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_engine)]
    pub engine: Vec<String>,
    /// Compute all routes anew, as `ferrosm sweep --reroute` would, without regard to the routing
    /// in force: the answer then depends on the fabric and the configuration only.
    #[arg(long, conflicts_with = "n_1")]
    pub reroute: bool,
    /// Each single switch and link: what its loss cuts off and what loses its redundancy, and the
    /// routing for one of each class of equal position.
    #[arg(long = "n-1", conflicts_with_all = ["without", "engine"])]
    pub n_1: bool,
    /// Predict the routing for every switch and link.
    #[arg(long, requires = "n_1")]
    pub full: bool,
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8, instead of the fabric of the running service. It is routed as by `ferrosm
    /// route`; --config names the configuration with its partitions and invariants.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with = "state_dir")]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = super::needs_simulator))]
    pub from: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
