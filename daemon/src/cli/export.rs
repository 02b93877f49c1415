//! Flags of `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::FabricSourceArgs;
use crate::exports::slurm::names::Substitution;

/// Flags of `export`.
#[derive(Debug, Clone, Args)]
pub struct FabricExportArgs {
    /// The format.
    #[command(subcommand)]
    pub command: FabricExportCommand,
}

/// Formats of `export`.
#[derive(Debug, Clone, Subcommand)]
pub enum FabricExportCommand {
    /// Print Slurm's topology.conf.
    ///
    /// Its switches are sets of switches: leaves with the same hosts, the parts of each level of a
    /// tree, the groups of a dragonfly, the planes of a grid. Hosts that have left the subnet are
    /// in it as long as they are expected (`health.expect`).
    Slurm(SlurmArgs),
    /// Print all links as CSV.
    Csv {
        /// The fabric.
        #[command(flatten)]
        fabric: FabricSourceArgs,
    },
    /// Print the fabric for Graphviz. For an image, pipe it to `sfdp -Tsvg` or `dot -Tsvg`.
    Dot {
        /// The fabric.
        #[command(flatten)]
        fabric: FabricSourceArgs,
    },
}

/// Flags of `export slurm`.
#[derive(Debug, Clone, Args)]
pub struct SlurmArgs {
    /// For topology/tree (the default).
    #[arg(long, conflicts_with = "block")]
    pub tree: bool,
    /// For topology/block (Slurm 23.11 and later): a block for each set of hosts at the same
    /// leaves.
    #[arg(long)]
    pub block: bool,
    /// How the name of a host follows from the NodeDescription of its adapters, as for `sed -E`;
    /// several are applied in order. Adapters with the same name are one host [default: the first
    /// word].
    #[arg(long, value_name = "s/RE/TEXT/")]
    pub names: Vec<Substitution>,
    /// File with names of nodes instead of their NodeDescriptions: lines of a node GUID and a name
    /// in quotes, as the node-name-map of OpenSM and infiniband-diags.
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Print only the lines in which this topology.conf differs from the fabric. Exit status: 1 if
    /// there are any.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// The fabric.
    #[command(flatten)]
    pub fabric: FabricSourceArgs,
}
