//! The fabric that a command reads: that of a running service, or of a file.

use clap::Args;

use super::ServiceDirArgs;

/// The fabric that is read.
#[derive(Debug, Clone, Args)]
pub struct FabricSourceArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8, instead of the fabric of the running service.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with_all = ["state_dir", "config"])]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = super::needs_simulator))]
    pub from: Option<String>,
}
