//! The service that a command is for: where it is, and what to do if it does not answer.

use core::time::Duration;
use std::path::PathBuf;

use ferrosm_api::answer::ErrorKind;
use ferrosm_replication::tls::TlsFiles;
use hyper::Method;
use serde::de::DeserializeOwned;

use super::config;
use crate::api::client::{ApiEndpoint, AskError, Call, ReceivedAnswer};
use crate::cli::{ServiceDirArgs, state_dir_from_environment};
use crate::failure::Failure;

/// The service that flags, or otherwise the environment, name.
pub(super) fn endpoint(service: &ServiceDirArgs) -> Result<ApiEndpoint, Failure> {
    let is_local = service.state_dir.is_some() || service.config.is_some();
    let from_environment = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let url = service
        .api
        .clone()
        .or_else(|| from_environment("FERROSM_API").filter(|_| !is_local));
    let Some(url) = url else {
        return Ok(ApiEndpoint::Local {
            state_dir: state_dir(service)?,
        });
    };
    let file = |flag: &Option<PathBuf>, name: &str, variable: &str| {
        flag.clone()
            .or_else(|| from_environment(variable).map(PathBuf::from))
            .ok_or_else(|| Failure::Usage(format!("--api needs --{name} FILE, or {variable}")))
    };
    let files = TlsFiles {
        ca: file(&service.api_ca, "api-ca", "FERROSM_API_CA")?,
        certificate: file(&service.api_cert, "api-cert", "FERROSM_API_CERT")?,
        key: file(&service.api_key, "api-key", "FERROSM_API_KEY")?,
    };
    ApiEndpoint::remote(&url, files).map_err(Failure::Usage)
}

/// The state directory of a service.
pub(super) fn state_dir(service: &ServiceDirArgs) -> Result<PathBuf, Failure> {
    let from_environment = || state_dir_from_environment(service.config.is_some());
    match service.state_dir.clone().or_else(from_environment) {
        Some(dir) => Ok(dir),
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
fn no_service(endpoint: &ApiEndpoint) -> Failure {
    Failure::NoService {
        message: format!("no ferrosm service runs with {endpoint}"),
        hint: match endpoint {
            ApiEndpoint::Local { .. } => {
                "Start it (`ferrosm run`), or name its state directory with --state-dir or its configuration with --config."
            }
            ApiEndpoint::Remote { .. } => {
                "Start it (`ferrosm run`) with `api.listen` in its configuration, or name its address with --api."
            }
        }
        .to_owned(),
    }
}

/// Sends a request that no command of the SM has to wait for, and waits for the answer.
pub(super) fn send<T: DeserializeOwned>(
    service: &ServiceDirArgs,
    method: Method,
    resource: &str,
    query: &[(&str, String)],
) -> Result<ReceivedAnswer<T>, Failure> {
    let endpoint = endpoint(service)?;
    let call = Call {
        endpoint: &endpoint,
        method,
        resource,
        query,
        wait: Duration::ZERO,
    };
    call.send().map_err(|e| failure(service, &endpoint, e))
}

/// Why there is no answer.
pub(super) fn failure(
    service: &ServiceDirArgs,
    endpoint: &ApiEndpoint,
    error: AskError,
) -> Failure {
    match error {
        AskError::NoService => no_service(endpoint),
        AskError::PermissionDenied(socket) => Failure::with_hint(
            format!("cannot open {}: permission denied", socket.display()),
            "Run the command as root, as the user of the service, or as a member of the group ferrosm.",
        ),
        AskError::Answered(error) if error.kind == ErrorKind::InvalidRequest => {
            Failure::Usage(error.message)
        }
        AskError::Answered(error) => Failure::with_hint(error.message, error.remedy),
        AskError::Failed(reason) => Failure::with_hint(
            format!("no answer from the service with {endpoint}: {reason}"),
            match (endpoint, &service.state_dir) {
                (ApiEndpoint::Remote { .. }, _) => {
                    "Check the address, that the certificates are valid, and that the clocks agree. The log of the service at level debug says why it refuses a certificate."
                }
                (ApiEndpoint::Local { .. }, Some(_)) => {
                    "Check that the service and this command are of the same version."
                }
                (ApiEndpoint::Local { .. }, None) => {
                    "Check that the service and this command are of the same version, or name the service with --state-dir."
                }
            },
        ),
    }
}
