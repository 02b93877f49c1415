//! Who a client is, and what it may do.

use core::fmt;
use core::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ferrosm_api::access::ClientRole;
use ferrosm_api::answer::{ApiError, ErrorKind};
use nix::unistd::{Uid, User, geteuid};
use tokio::net::unix::UCred;
use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::config::ApiClientEntry;

/// A client, as the kernel or its certificate identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// A client of the Unix socket.
    User { uid: u32, pid: Option<i32> },
    /// A client over TCP with a certificate.
    Certified {
        /// Common Names, then DNS names.
        names: Arc<[String]>,
        address: SocketAddr,
    },
    /// A client of UFM's calls with a password. It may do what these calls do.
    Login { user: Arc<str>, address: SocketAddr },
    /// A session of the page, which this user opened.
    Page { uid: u32, role: ClientRole },
}

impl Client {
    pub(super) fn of_socket(credentials: &UCred) -> Self {
        Self::User {
            uid: credentials.uid(),
            pid: credentials.pid(),
        }
    }

    /// The owner of a certificate that a CA of clients signed.
    pub(super) fn of_certificate(certificate: &CertificateDer<'_>, address: SocketAddr) -> Self {
        Self::Certified {
            names: names(certificate).into(),
            address,
        }
    }

    /// A client without a certificate, which has no role.
    pub(super) fn without_name(address: SocketAddr) -> Self {
        Self::Certified {
            names: Arc::new([]),
            address,
        }
    }

    /// Refuses clients without this role.
    pub(super) fn require(&self, needed: ClientRole, roles: &ClientRoles) -> Result<(), ApiError> {
        let role = roles.of(self);
        if role.is_some_and(|role| role >= needed) {
            return Ok(());
        }
        let refused = |message: String, remedy: String| {
            Err(ApiError::new(ErrorKind::Forbidden, message, remedy))
        };
        match (self, role) {
            // Without its name: a name service may hang.
            (Self::User { uid, .. }, _) => refused(
                format!("user {uid} may only read"),
                "Run the command as root or as the user of the service.".to_owned(),
            ),
            (Self::Login { user, .. }, _) => refused(
                format!("user {user} may only use UFM's calls"),
                "Use a certificate (`[api]`).".to_owned(),
            ),
            (Self::Page { role, .. }, _) => refused(
                format!("this session has the role {}", role.name()),
                format!(
                    "This needs the role {}: run `ferrosm web login` as root or as the user of the service.",
                    needed.name()
                ),
            ),
            (Self::Certified { names, .. }, None) => refused(
                format!("the certificate of {} has no role", subject(names)),
                "Add an entry [[api-client]] with this subject to the configuration, then reload it."
                    .to_owned(),
            ),
            (Self::Certified { names, .. }, Some(role)) => refused(
                format!("{} has the role {}", subject(names), role.name()),
                format!(
                    "This needs the role {}: change the entry [[api-client]] of this subject, then reload the configuration.",
                    needed.name()
                ),
            ),
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { uid, pid } => {
                f.write_str(&user_name(*uid))?;
                match pid {
                    Some(pid) => write!(f, " (process {pid})"),
                    None => Ok(()),
                }
            }
            Self::Login { user, address } => write!(f, "{user} ({address}, UFM's calls)"),
            Self::Certified { names, address } => write!(f, "{} ({address})", subject(names)),
            Self::Page { uid, .. } => write!(f, "{} (page)", user_name(*uid)),
        }
    }
}

/// The name of a user, or its number if it has none.
pub(super) fn user_name(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        Ok(None) | Err(_) => format!("user {uid}"),
    }
}

/// The name of the owner of a certificate.
fn subject(names: &[String]) -> String {
    match names.first() {
        // A name may have any characters.
        Some(name) => name.escape_debug().to_string(),
        None => "a client without a name".to_owned(),
    }
}

/// The Common Names and DNS names in a certificate.
fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    // The TLS library has verified it.
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
        return Vec::new();
    };
    let mut names: Vec<String> = parsed
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .map(str::to_owned)
        .collect();
    if let Ok(Some(alternative)) = parsed.subject_alternative_name() {
        let general = alternative.value.general_names.iter();
        names.extend(general.filter_map(|general_name| {
            let GeneralName::DNSName(name) = general_name else {
                return None;
            };
            Some((*name).to_owned())
        }));
    }
    names
}

/// The roles of clients with certificates. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ClientRoles(Arc<Mutex<Arc<[ApiClientEntry]>>>);

impl ClientRoles {
    /// These entries count from the next request on.
    pub fn configure(&self, entries: Vec<ApiClientEntry>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = entries.into();
    }

    /// What a client may do; `None`: nothing.
    pub(super) fn of(&self, client: &Client) -> Option<ClientRole> {
        match client {
            Client::User { uid, .. } if *uid == 0 || *uid == geteuid().as_raw() => {
                Some(ClientRole::Admin)
            }
            // The permissions of the socket let others connect.
            Client::User { .. } => Some(ClientRole::View),
            Client::Login { .. } => None,
            Client::Page { role, .. } => Some(*role),
            Client::Certified { names, .. } => {
                let entries = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
                let entry = entries.iter().find(|entry| names.contains(&entry.subject));
                entry.map(|entry| entry.role)
            }
        }
    }
}
