//! The resources of the SA's clients.

use std::time::SystemTime;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::routing::{get, post};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer};
use ferrosm_api::sa::{SaClients, SaClientsQuery, SaLimit, SaLimitQuery};

use super::{Result, answer, check_reason, ready};
use crate::api::access::Client;
use crate::api::{Service, sa_clients};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/sa/clients", get(get_clients))
        .route("/v1/sa/limit", post(post_limit))
}

/// The clients of the SA that send most requests now.
#[utoipa::path(get, path = "/v1/sa/clients", params(SaClientsQuery), responses(
    (status = 200, body = Answer<SaClients>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_clients(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<SaClientsQuery>, QueryRejection>,
) -> Result<SaClients> {
    let Query(SaClientsQuery { top }) = query?;
    let clients = sa_clients::clients(&service, top)?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), clients))
}

/// Limits the requests of one client, until a time or the end of the service, or ends that.
#[utoipa::path(post, path = "/v1/sa/limit", params(SaLimitQuery), responses(
    (status = 200, body = Answer<SaLimit>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_limit(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<SaLimitQuery>, QueryRejection>,
) -> Result<SaLimit> {
    let Query(query) = query?;
    check_reason(query.reason.as_deref())?;
    let state = service.published.state();
    let limit = sa_clients::limit(&service, client, ready(&state)?, query)?;
    Ok(answer(&state, SystemTime::now(), limit))
}
