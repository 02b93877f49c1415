//! Flags of `web`.

use clap::{Args, Subcommand, ValueEnum};

use super::ServiceDirArgs;

/// Flags of `web`.
#[derive(Debug, Clone, Args)]
pub struct WebArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: WebCommand,
}

/// Subcommands of `web`.
#[derive(Debug, Clone, Subcommand)]
pub enum WebCommand {
    /// Print a link that opens the page once, within 5 minutes, with your role.
    ///
    /// Root and the user of the service have the role admin, members of the group ferrosm the role
    /// view. The session ends after 12 hours, or when the service restarts.
    Login {
        /// Give the session a lower role, such as for a screen that everyone sees.
        #[arg(long, value_enum, value_name = "ROLE")]
        role: Option<RoleArg>,
        /// The service.
        #[command(flatten)]
        service: ServiceDirArgs,
        /// Print the JSON of the API.
        #[arg(long)]
        json: bool,
    },
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Read.
    View,
    /// Also sweep, drain, disable ports, acknowledge alarms.
    Operate,
    /// Everything.
    Admin,
}
