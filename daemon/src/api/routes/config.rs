//! The resources of the configuration.

use core::time::Duration;
use std::time::SystemTime;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, Request, State as Shared};
use axum::response::Json;
use axum::routing::{get, post};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::command::{CommandKind, Consequence, REASON_LEN_MAX};
use ferrosm_api::config::{
    CONFIRM_WITHIN_S_MAX, ConfigChange, ConfigHistory, ConfigQuery, NewConfiguration,
};
use tokio::sync::oneshot;

use super::{Failed, Result, answer, invalid};
use crate::api::access::Client;
use crate::api::config::{ConfigAction, ConfigJob, ConfigOptions, ConfigRequest};
use crate::api::{CONFIG_BODY_MAX, Service};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/config", get(get_config).post(post_config))
        .route("/v1/config/{revision}/confirm", post(post_confirm))
        .route("/v1/config/{revision}/rollback", post(post_rollback))
}

/// The revisions of the configuration, the newest first.
#[utoipa::path(get, path = "/v1/config", responses((status = 200, body = Answer<ConfigHistory>)))]
pub(super) async fn get_config(Shared(service): Shared<Service>) -> Json<Answer<ConfigHistory>> {
    let history = ConfigHistory::clone(&service.config.history());
    answer(&service.published.state(), SystemTime::now(), history)
}

/// Puts a new configuration in force, or says what it would change. Nothing changes if it has an
/// error. The body has at most 32 MiB.
#[utoipa::path(post, path = "/v1/config", params(ConfigQuery), request_body = NewConfiguration, responses(
    (status = 200, body = Answer<ConfigChange>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
    (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_config(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ConfigQueryOf,
    request: Request,
) -> Result<ConfigChange> {
    let body = axum::body::to_bytes(request.into_body(), CONFIG_BODY_MAX)
        .await
        .map_err(|error| invalid(error.to_string()))?;
    let new: NewConfiguration =
        serde_json::from_slice(&body).map_err(|error| invalid(error.to_string()))?;
    execute(service, client, query, ConfigAction::Apply(new)).await
}

/// Keeps the configuration that is tried.
#[utoipa::path(post, path = "/v1/config/{revision}/confirm", params(("revision" = u64, Path, description = "The revision that is tried"), ConfigQuery),
    responses((status = 200, body = Answer<ConfigChange>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
        (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_confirm(
    service: Shared<Service>,
    client: Extension<Client>,
    revision: core::result::Result<InPath<u64>, PathRejection>,
    query: ConfigQueryOf,
) -> Result<ConfigChange> {
    let InPath(revision) = revision?;
    execute(service, client, query, ConfigAction::Confirm(revision)).await
}

/// Puts an earlier configuration in force. A trial ends.
#[utoipa::path(post, path = "/v1/config/{revision}/rollback", params(("revision" = u64, Path, description = "The revision to put in force"), ConfigQuery),
    responses((status = 200, body = Answer<ConfigChange>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
        (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_rollback(
    service: Shared<Service>,
    client: Extension<Client>,
    revision: core::result::Result<InPath<u64>, PathRejection>,
    query: ConfigQueryOf,
) -> Result<ConfigChange> {
    let InPath(revision) = revision?;
    execute(service, client, query, ConfigAction::Rollback(revision)).await
}

type ConfigQueryOf = core::result::Result<Query<ConfigQuery>, QueryRejection>;

/// Passes a request to the keeper and waits for its result.
async fn execute(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: ConfigQueryOf,
    action: ConfigAction,
) -> Result<ConfigChange> {
    let Query(query) = query?;
    let options = options(query, &client)?;
    let (jobs, place) = service.config.reserve();
    let jobs = jobs.ok_or_else(|| {
        ApiError::new(
            ErrorKind::NotReady,
            "the service waits for its local port, or is stopping",
            "`ferrosm status` shows what the service does.",
        )
    })?;
    let place = place.ok_or_else(|| {
        let message = "too many requests concern the configuration";
        ApiError::new(ErrorKind::Busy, message, "Try again later.")
    })?;
    let kind = match &action {
        ConfigAction::Apply(_) => CommandKind::ConfigApply,
        ConfigAction::Rollback(_) => CommandKind::ConfigRollback,
        ConfigAction::Confirm(_) => CommandKind::ConfigConfirm,
    };
    let id = (!options.is_dry_run).then(|| {
        let by = options.by.clone();
        let reason = options.reason.clone();
        service
            .commands
            .begin_named(kind, String::new(), kind.name(), by, reason)
    });
    let (result, done) = oneshot::channel();
    let request = ConfigRequest {
        id,
        action,
        options,
        result,
        place,
    };
    let stopping = || {
        ApiError::new(
            ErrorKind::Stopping,
            "the service stopped before the configuration was in force",
            "After the next start, `ferrosm config history` shows which revision is in force.",
        )
    };
    let sent = jobs.send(ConfigJob::Request(Box::new(request)));
    sent.map_err(|_| stopping())?;
    let change = done.await.map_err(|_| stopping())??;
    Ok(answer(
        &service.published.state(),
        SystemTime::now(),
        change,
    ))
}

/// Checks the query.
fn options(query: ConfigQuery, client: &Client) -> core::result::Result<ConfigOptions, Failed> {
    let within = query.confirm_within_s;
    if within.is_some_and(|seconds| !(1..=CONFIRM_WITHIN_S_MAX).contains(&seconds)) {
        let message = format!("confirm_within_s is from 1 to {CONFIRM_WITHIN_S_MAX}");
        return Err(invalid(message).into());
    }
    let reason_len = query.reason.as_ref().map(|reason| reason.chars().count());
    if reason_len.is_some_and(|len| len > REASON_LEN_MAX) {
        let message = format!("reason has at most {REASON_LEN_MAX} characters");
        return Err(invalid(message).into());
    }
    Ok(ConfigOptions {
        is_dry_run: query.dry_run,
        confirm_within: within.map(Duration::from_secs),
        replaces_edited: query.force,
        accepts_violations: query.accept == Some(Consequence::Invariant),
        by: client.to_string(),
        reason: query.reason,
    })
}
