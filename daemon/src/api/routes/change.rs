//! The resources that change partitions and what is in service.

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::response::{Json, Response};
use axum::routing::{get, patch, post, put};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer};
use ferrosm_api::command::{Command as CommandEntry, WriteQuery};
use ferrosm_api::maintenance::{
    DrainRequest, MaintenanceItems, PortDisableRequest, ServiceRequest,
};
use ferrosm_api::partition::{MemberChanges, PartitionDefinition};

use super::{Failed, WriteOf, answer, execute, ready};
use crate::api::access::Client;
use crate::api::{Service, requests};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route(
            "/v1/partitions/{partition}",
            put(put_partition).delete(delete_partition),
        )
        .route("/v1/partitions/{partition}/members", patch(patch_members))
        .route("/v1/maintenance", get(get_maintenance))
        .route("/v1/drain", post(post_drain))
        .route("/v1/undrain", post(post_undrain))
        .route("/v1/ports/disable", post(post_disable))
        .route("/v1/ports/enable", post(post_enable))
}

/// A body, or why it is none.
type BodyOf<T> = core::result::Result<Json<T>, JsonRejection>;
type Executed = core::result::Result<Response, Failed>;

/// Creates a partition, or replaces one that such a request created. Complete when its P_Keys are
/// in the tables of its members.
#[utoipa::path(put, path = "/v1/partitions/{partition}",
    params(("partition" = String, Path, description = "Its name"), WriteQuery), request_body = PartitionDefinition, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn put_partition(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: WriteOf,
    body: BodyOf<PartitionDefinition>,
) -> Executed {
    let InPath(name) = name?;
    let Json(definition) = body?;
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::put_partition(ready(&state)?, name, definition)?;
    execute(service.clone(), client, query, command).await
}

/// Changes the members of a partition that a request created.
#[utoipa::path(patch, path = "/v1/partitions/{partition}/members",
    params(("partition" = String, Path, description = "Name or P_Key"), WriteQuery), request_body = MemberChanges, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn patch_members(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: WriteOf,
    body: BodyOf<MemberChanges>,
) -> Executed {
    let InPath(name) = name?;
    let Json(member_changes) = body?;
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::change_members(ready(&state)?, &state, &name, &member_changes)?;
    execute(service.clone(), client, query, command).await
}

/// Removes a partition that a request created.
#[utoipa::path(delete, path = "/v1/partitions/{partition}",
    params(("partition" = String, Path, description = "Name or P_Key"), WriteQuery), responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn delete_partition(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: WriteOf,
) -> Executed {
    let InPath(name) = name?;
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::remove_partition(&state, &name)?;
    execute(service.clone(), client, query, command).await
}

/// What is out of service.
#[utoipa::path(get, path = "/v1/maintenance", responses((status = 200, body = Answer<MaintenanceItems>)))]
pub(super) async fn get_maintenance(
    Shared(service): Shared<Service>,
) -> Json<Answer<MaintenanceItems>> {
    let state = service.published.state();
    answer(&state, state.at, requests::maintenance(&state))
}

/// Takes a switch or link out of the routes. Complete when no route uses it.
#[utoipa::path(post, path = "/v1/drain", params(WriteQuery), request_body = DrainRequest, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_drain(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
    body: BodyOf<DrainRequest>,
) -> Executed {
    let Json(request) = body?;
    let state = service.published.state();
    let command = requests::drain(ready(&state)?, request, reason(&query))?;
    execute(service, client, query, command).await
}

/// Puts a drained switch or link back.
#[utoipa::path(post, path = "/v1/undrain", params(WriteQuery), request_body = ServiceRequest, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_undrain(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
    body: BodyOf<ServiceRequest>,
) -> Executed {
    let Json(request) = body?;
    let command = requests::undrain(&service.published.state(), &request)?;
    execute(service, client, query, command).await
}

/// Disables a port, after its routes are moved.
#[utoipa::path(post, path = "/v1/ports/disable", params(WriteQuery), request_body = PortDisableRequest, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_disable(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
    body: BodyOf<PortDisableRequest>,
) -> Executed {
    let Json(request) = body?;
    let state = service.published.state();
    let command = requests::disable_port(ready(&state)?, request, reason(&query))?;
    execute(service, client, query, command).await
}

/// Enables a port that a request disabled.
#[utoipa::path(post, path = "/v1/ports/enable", params(WriteQuery), request_body = ServiceRequest, responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_enable(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
    body: BodyOf<ServiceRequest>,
) -> Executed {
    let Json(request) = body?;
    let command = requests::enable_port(&service.published.state(), &request)?;
    execute(service, client, query, command).await
}

/// The reason in a query, or nothing.
fn reason(query: &WriteOf) -> &str {
    let query = query.as_ref().ok();
    let reason = query.and_then(|Query(query)| query.reason.as_deref());
    reason.unwrap_or_default()
}
