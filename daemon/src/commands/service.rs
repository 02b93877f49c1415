//! The service that a command is for: where it is, and what to do if it does not answer.

use std::path::{Path, PathBuf};

use ferrosm_api::answer::ErrorKind;

use super::config;
use crate::api::client::AskError;
use crate::cli::ServiceDirArgs;
use crate::failure::Failure;

/// The state directory of a service.
pub(super) fn state_dir(service: &ServiceDirArgs) -> Result<PathBuf, Failure> {
    match &service.state_dir {
        Some(dir) => Ok(dir.clone()),
        None => match config::state_dir(service.config.as_deref()) {
            Err(Failure::Config(errors)) => Err(Failure::Unconfigured {
                message: errors.to_string(),
                hint: "Name the service by its state directory instead: --state-dir DIR."
                    .to_owned(),
            }),
            dir => dir,
        },
    }
}

/// No service runs with a state directory.
pub(super) fn no_service(dir: &Path) -> Failure {
    Failure::NoService {
        message: format!("no ferrosm service runs with state directory {}", dir.display()),
        hint: "Start it (`ferrosm run`), or name its state directory with --state-dir or its configuration with --config."
            .to_owned(),
    }
}

/// Why there is no answer.
pub(super) fn failure(service: &ServiceDirArgs, dir: &Path, error: AskError) -> Failure {
    match error {
        AskError::NoService => no_service(dir),
        AskError::PermissionDenied(socket) => Failure::with_hint(
            format!("cannot open {}: permission denied", socket.display()),
            "Run the command as root, as the user of the service, or as a member of the group ferrosm.",
        ),
        AskError::Answered(error) if error.kind == ErrorKind::InvalidRequest => {
            Failure::Usage(error.message)
        }
        AskError::Answered(error) => Failure::with_hint(error.message, error.remedy),
        AskError::Failed(reason) => Failure::with_hint(
            format!(
                "no answer from the service with state directory {}: {reason}",
                dir.display()
            ),
            match service.state_dir {
                Some(_) => "Check that the service and this command are of the same version.",
                None => {
                    "Check that the service and this command are of the same version, or name the service with --state-dir."
                }
            },
        ),
    }
}
