//! The resources of the API, and their OpenAPI document.

use std::time::SystemTime;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind, ListQuery, Page};
use ferrosm_api::fabric::{Link, Node, Port, Where};
use ferrosm_api::path::{Path, PathQuery};
use ferrosm_api::status::{Health, Limits, Sms, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, OpenApi};

use super::published::{FabricState, Published, State};
use super::{fabric, list, lookup, path, rfc3339, status};

/// The resources.
pub(super) fn router(published: Published) -> Router {
    Router::new()
        .route("/v1/openapi.json", get(openapi))
        .route("/v1/status", get(get_status))
        .route("/v1/health", get(get_health))
        .route("/v1/sms", get(get_sms))
        .route("/v1/limits", get(get_limits))
        .route("/v1/nodes", get(get_nodes))
        .route("/v1/ports", get(get_ports))
        .route("/v1/links", get(get_links))
        .route("/v1/where", get(get_where))
        .route("/v1/paths", get(get_path))
        .fallback(no_resource)
        .method_not_allowed_fallback(no_method)
        .with_state(published)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "ferrosm",
        description = "The API of a running ferrosm service. Reads answer from the published state and send no MAD."
    ),
    paths(
        get_status, get_health, get_sms, get_limits, get_nodes, get_ports, get_links, get_where,
        get_path
    )
)]
struct Document;

async fn openapi() -> Response {
    Json(Document::openapi()).into_response()
}

/// An error, as the response to a request.
struct Failed(ApiError);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = match self.0.kind {
            ErrorKind::InvalidRequest | ErrorKind::Ambiguous => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::NotReady | ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(ErrorAnswer { error: self.0 })).into_response()
    }
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<QueryRejection> for Failed {
    fn from(rejection: QueryRejection) -> Self {
        Self(ApiError {
            kind: ErrorKind::InvalidRequest,
            message: rejection.body_text(),
            remedy: "GET /v1/openapi.json describes all queries.".to_owned(),
        })
    }
}

type Result<T> = core::result::Result<Json<Answer<T>>, Failed>;
type ListOf = core::result::Result<Query<ListQuery>, QueryRejection>;

fn answer<T>(state: &State, at: SystemTime, body: T) -> Json<Answer<T>> {
    let age = SystemTime::now().duration_since(at).unwrap_or_default();
    Json(Answer {
        revision: state.revision,
        at: rfc3339(at),
        age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
        role: status::role(state.role),
        master: status::other_master(state),
        body,
    })
}

/// The published fabric.
fn ready(state: &State) -> core::result::Result<&FabricState, ApiError> {
    state.fabric.as_ref().ok_or_else(|| ApiError {
        kind: ErrorKind::NotReady,
        message: format!("the fabric is not discovered yet: {}", state.activity),
        remedy: "Ask again in a moment; `ferrosm status` shows what the SM does.".to_owned(),
    })
}

/// A list of the published fabric.
fn listed<T: Serialize, I: IntoIterator<Item = T>>(
    published: &Published,
    query: ListOf,
    rows: impl FnOnce(&FabricState) -> I,
) -> Result<Page<Value>> {
    let Query(query) = query?;
    let state = published.state();
    let fabric = ready(&state)?;
    let page = list::page(rows(fabric), &query)?;
    Ok(answer(&state, fabric.at, page))
}

/// What the service is and does.
#[utoipa::path(get, path = "/v1/status", responses((status = 200, body = Answer<Status>)))]
async fn get_status(Shared(published): Shared<Published>) -> Json<Answer<Status>> {
    let state = published.state();
    answer(&state, state.at, status::status(&state))
}

/// Whether everything that was seen since this SM became master is up, addressed and routed.
#[utoipa::path(get, path = "/v1/health", responses((status = 200, body = Answer<Health>)))]
async fn get_health(Shared(published): Shared<Published>) -> Json<Answer<Health>> {
    let state = published.state();
    answer(&state, state.at, status::health(&state))
}

/// The SMs of the subnet, this one first.
#[utoipa::path(get, path = "/v1/sms", responses((status = 200, body = Answer<Sms>)))]
async fn get_sms(Shared(published): Shared<Published>) -> Json<Answer<Sms>> {
    let state = published.state();
    answer(&state, state.at, status::sms(&state))
}

/// How near limits of the fabric are.
#[utoipa::path(get, path = "/v1/limits", responses(
    (status = 200, body = Answer<Limits>), (status = 503, body = ErrorAnswer)))]
async fn get_limits(Shared(published): Shared<Published>) -> Result<Limits> {
    let state = published.state();
    let fabric = ready(&state)?;
    Ok(answer(&state, fabric.at, status::limits(fabric)))
}

/// The nodes of the subnet, and those that left it since this SM became master.
#[utoipa::path(get, path = "/v1/nodes", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Node>>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn get_nodes(Shared(published): Shared<Published>, query: ListOf) -> Result<Page<Value>> {
    listed(&published, query, |fabric| {
        fabric::nodes(fabric).collect::<Vec<_>>()
    })
}

/// The ports of the subnet.
#[utoipa::path(get, path = "/v1/ports", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Port>>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn get_ports(Shared(published): Shared<Published>, query: ListOf) -> Result<Page<Value>> {
    listed(&published, query, |fabric| {
        fabric::ports(&fabric.snapshot).collect::<Vec<_>>()
    })
}

/// The links of the subnet, and those that went down since this SM became master.
#[utoipa::path(get, path = "/v1/links", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Link>>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn get_links(Shared(published): Shared<Published>, query: ListOf) -> Result<Page<Value>> {
    listed(&published, query, |fabric| {
        fabric::links(fabric).collect::<Vec<_>>()
    })
}

/// The query of a place.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WhereQuery {
    /// GUID of a port or node, LID, name, or `name/port`.
    name: String,
}

/// Where ports are: all that have a name, GUID or LID.
#[utoipa::path(get, path = "/v1/where", params(WhereQuery), responses(
    (status = 200, body = Answer<Where>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn get_where(
    Shared(published): Shared<Published>,
    query: core::result::Result<Query<WhereQuery>, QueryRejection>,
) -> Result<Where> {
    let Query(query) = query?;
    let state = published.state();
    let fabric = ready(&state)?;
    let snapshot = &fabric.snapshot;
    let found = lookup::end_ports(fabric, &query.name)?;
    let places = found.into_iter().map(|at| fabric::place(snapshot, at));
    let items = places.collect();
    Ok(answer(&state, fabric.at, Where { items }))
}

/// The path of packets between two ports, from the tables that the switches have.
#[utoipa::path(get, path = "/v1/paths", params(PathQuery), responses(
    (status = 200, body = Answer<Path>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn get_path(
    Shared(published): Shared<Published>,
    query: core::result::Result<Query<PathQuery>, QueryRejection>,
) -> Result<Path> {
    let Query(query) = query?;
    let state = published.state();
    let fabric = ready(&state)?;
    let path = path::path(fabric, &query)?;
    Ok(answer(&state, fabric.at, path))
}

async fn no_resource(uri: Uri) -> Failed {
    Failed(ApiError {
        kind: ErrorKind::NotFound,
        message: format!("no resource {}", uri.path()),
        remedy: "GET /v1/openapi.json lists the resources.".to_owned(),
    })
}

async fn no_method(uri: Uri) -> Failed {
    Failed(ApiError {
        kind: ErrorKind::MethodNotAllowed,
        message: format!("{} has no such method", uri.path()),
        remedy: "GET /v1/openapi.json lists the methods of each resource.".to_owned(),
    })
}
