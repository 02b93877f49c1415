//! The resource of links that open the page.

use std::time::{Instant, SystemTime};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::routing::post;
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::web::{WebLogin, WebLoginQuery};

use super::{Result, answer};
use crate::api::Service;
use crate::api::access::Client;
use crate::api::sessions::{LINK_TIME, PageUser};

pub(super) fn router() -> Router<Service> {
    Router::new().route("/v1/web/login", post(post_login))
}

/// Makes a link that opens the page once, with the role of the client. Only clients of the Unix
/// socket get one.
#[utoipa::path(post, path = "/v1/web/login", params(WebLoginQuery), responses(
    (status = 200, body = Answer<WebLogin>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
    (status = 409, body = ErrorAnswer)))]
pub(super) async fn post_login(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<WebLoginQuery>, QueryRejection>,
) -> Result<WebLogin> {
    let Query(WebLoginQuery { role: wanted }) = query?;
    let Client::User { uid, .. } = client else {
        let message = "a link is made at the Unix socket of the service only";
        let remedy = "Run `ferrosm web login` on the host of the service.";
        return Err(ApiError::new(ErrorKind::Forbidden, message, remedy).into());
    };
    if let Some(wanted) = wanted {
        client.require(wanted, &service.client_roles)?;
    }
    let role = wanted
        .or_else(|| service.client_roles.of(&client))
        .ok_or_else(|| ApiError::new(ErrorKind::Internal, "a client without role", ""))?;
    let address = service.sessions.address().ok_or_else(|| {
        let remedy = "Set `web.listen` in the configuration and restart the service; if it is set, its log says why the address cannot be bound.";
        ApiError::new(ErrorKind::Conflict, "the page is not served", remedy)
    })?;
    let user = PageUser { uid, role };
    let secret = service.sessions.make_link(user, Instant::now())?;
    let state = service.published.state();
    let link = WebLogin {
        url: format!("http://{address}/#login={secret}"),
        session_role: role,
        valid_s: LINK_TIME.as_secs(),
    };
    Ok(answer(&state, SystemTime::now(), link))
}
