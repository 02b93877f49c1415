//! `ferrosm attach`: executes a libibumad program that sees the channel adapters of a simulated
//! host.
//!
//! The program replaces this process, so that signals, exit status and terminal are its own.

use std::io;
use std::os::unix::process::CommandExt;

use ferrosm_sim_server::attachment::{self, AttachError};
use ferrosm_sim_server::paths;

use super::server_failure;
use crate::cli::AttachArgs;
use crate::failure::Failure;

/// Runs the command; returns only if the program cannot be started.
///
/// # Errors
/// The server, node, library or program does not exist.
pub(super) fn run(args: &AttachArgs) -> Result<(), Failure> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::Usage("no program given".to_owned()))?;
    let socket = paths::socket(args.socket.socket.as_deref());
    let mut command = attachment::command(&socket, &args.node, program).map_err(failure)?;
    let error = command.args(arguments).exec();
    Err(Failure::NotRun {
        message: format!("cannot run {}: {error}", program.display()),
        missing: error.kind() == io::ErrorKind::NotFound,
    })
}

fn failure(error: AttachError) -> Failure {
    match error {
        AttachError::Server(error) => server_failure(error),
        AttachError::NoLibrary(_) => Failure::with_hint(
            error,
            format!(
                "Install {} (crate ferrosm-attach) in the directory of this program, or set {} to its path.",
                paths::LIBRARY,
                paths::LIBRARY_ENV
            ),
        ),
        AttachError::Path { .. } | AttachError::OwnPath(_) | AttachError::Sysfs { .. } => {
            Failure::runtime(error)
        }
    }
}
