//! Who a client is, and what it may do.

use core::fmt;

use ferrosm_api::answer::{ApiError, ErrorKind};
use nix::unistd::{Uid, User, geteuid};
use tokio::net::unix::UCred;

/// A client of the Unix socket, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    uid: u32,
    pid: Option<i32>,
}

impl Client {
    pub(super) fn of_socket(credentials: &UCred) -> Self {
        Self {
            uid: credentials.uid(),
            pid: credentials.pid(),
        }
    }

    /// Root and the user of the service may do everything; others may read.
    #[must_use]
    pub fn is_admin(self) -> bool {
        self.uid == 0 || self.uid == geteuid().as_raw()
    }

    /// Refuses clients that may only read.
    pub(super) fn require_admin(self) -> Result<(), ApiError> {
        if self.is_admin() {
            return Ok(());
        }
        Err(ApiError::new(
            ErrorKind::Forbidden,
            // Without its name: a name service may hang.
            format!("user {} may only read", self.uid),
            "Run the command as root or as the user of the service.",
        ))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match User::from_uid(Uid::from_raw(self.uid)) {
            Ok(Some(user)) => f.write_str(&user.name)?,
            Ok(None) | Err(_) => write!(f, "user {}", self.uid)?,
        }
        match self.pid {
            Some(pid) => write!(f, " (process {pid})"),
            None => Ok(()),
        }
    }
}
