//! The API of the running service: JSON over HTTP/1.1 on a Unix socket ([`ferrosm_api`],
//! docs/api.md).
//!
//! [`published`] is what the service publishes and the API answers from; answers are computed on
//! the thread of the API ([`server`]) and send no MAD. [`client`] is the other side, for the
//! commands that ask the service.
//!
//! | module | contents |
//! |---|---|
//! | [`published`], `history` | published state; what went down or left |
//! | `routes`, `list` | resources and their OpenAPI document; queries of lists |
//! | `lookup`, `names` | ports and nodes by GUID, LID or name; their names |
//! | `fabric`, `path`, `status` | answers |

pub mod client;
mod fabric;
mod history;
mod list;
mod lookup;
mod names;
mod path;
pub mod published;
#[allow(
    unused_qualifications,
    reason = "utoipa's attribute expands to paths that are in scope"
)]
mod routes;
pub mod server;
mod status;

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of the socket in its directory.
pub const SOCKET_NAME: &str = "api.sock";
/// Longest request body, in bytes.
pub const REQUEST_BODY_MAX: usize = 65_536;
/// Most clients connected at the same time; further ones wait.
pub const CLIENTS_MAX: usize = 32;
/// Time to receive a request head; a connection without a request is closed after it.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The socket of a service: in its runtime directory if it has one, otherwise in its state
/// directory.
#[must_use]
pub fn socket_path(state_dir: &Path) -> PathBuf {
    state_dir.join(SOCKET_NAME)
}

/// A time in UTC, in milliseconds (RFC 3339).
fn rfc3339(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}
