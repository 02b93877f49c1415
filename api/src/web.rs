//! Links that open the page, and its sessions.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::access::ClientRole;

/// The query of a new link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WebLoginQuery {
    /// The role of the session, at most that of the client; its own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ClientRole>,
}

/// A link that opens the page once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebLogin {
    /// The link. What follows `#` is secret, and is not sent in the request of the page.
    pub url: String,
    /// The role of the session that it opens.
    pub session_role: ClientRole,
    /// It can be opened for this number of seconds.
    pub valid_s: u64,
}

/// What the page sends to open a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// What follows `#login=` in the link.
    pub link: String,
}

/// A session of the page. It ends when the service restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSession {
    /// Sent with every request in the header `x-ferrosm-token`, besides the cookie of the session.
    pub token: String,
    /// Its role.
    pub role: ClientRole,
    /// Who ran `ferrosm web login`.
    pub user: String,
    /// It ends after this number of seconds.
    pub valid_s: u64,
}
