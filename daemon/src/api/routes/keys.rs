//! The resources of management keys.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer};
use ferrosm_api::command::Command as CommandEntry;
use ferrosm_api::key::{Keys, NewKey, RotatedKey, RotationQuery};

use super::{BodyOf, Failed, answer, check_reason, execute};
use crate::api::access::Client;
use crate::api::{Service, keys};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/keys", get(get_keys))
        .route("/v1/keys/{key}/rotate", post(post_rotate))
}

/// Which keys are in force, and which ports and SMs have them. No answer contains a key.
#[utoipa::path(get, path = "/v1/keys", responses((status = 200, body = Answer<Keys>)))]
pub(super) async fn get_keys(Shared(service): Shared<Service>) -> Json<Answer<Keys>> {
    let state = service.published.state();
    answer(&state, state.at, keys::keys(&state))
}

/// Puts another key in force. It is persisted and replicated before devices or other SMs get it.
/// Complete when a sweep has written an M_Key, or asked the other SMs for their SM_Keys; ports that
/// are absent get it when they return. With `dry_run`, the answer is the plan.
#[utoipa::path(post, path = "/v1/keys/{key}/rotate", params(("key" = RotatedKey, Path, description = "The kind of key"), RotationQuery), request_body = NewKey, responses(
    (status = 200, body = Answer<CommandEntry>, description = "With `dry_run` a `RotationPlan`"), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_rotate(
    service: Shared<Service>,
    client: Extension<Client>,
    kind: core::result::Result<InPath<RotatedKey>, PathRejection>,
    query: core::result::Result<Query<RotationQuery>, QueryRejection>,
    body: BodyOf<NewKey>,
) -> core::result::Result<Response, Failed> {
    let InPath(kind) = kind?;
    let Query(query) = query?;
    let Json(new) = body?;
    let state = service.published.state();
    if query.dry_run {
        check_reason(query.reason.as_deref())?;
        let plan = keys::plan(&state, kind)?;
        return Ok((StatusCode::OK, answer(&state, state.at, plan)).into_response());
    }
    let command = keys::rotation(&state, kind, &new, query.accept)?;
    execute(service, client, Ok(Query(query.into())), command).await
}
