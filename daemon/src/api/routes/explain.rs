//! Resources that say why something is as it is.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::routing::get;
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer};
use ferrosm_api::explain::{
    AlarmExplanation, AlarmQuery, EngineExplanation, EngineQuery, ObjectExplanation, ObjectQuery,
    RouteExplanation, RouteQuery, SweepExplanation, SweepQuery,
};

use super::{Result, answer, ready, role_of};
use crate::api::access::Client;
use crate::api::explain::ObjectSources;
use crate::api::published::State;
use crate::api::what_if::ComputedRoutes;
use crate::api::{Service, explain};

/// A query, or why it is not one.
type Asked<T> = core::result::Result<Query<T>, QueryRejection>;

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/explain/route", get(get_route))
        .route("/v1/explain/engine", get(get_engine))
        .route("/v1/explain/sweep", get(get_sweep))
        .route("/v1/explain/node", get(get_node))
        .route("/v1/explain/port", get(get_port))
        .route("/v1/explain/alarm", get(get_alarm))
}

/// The routes computed anew, if a query wants them.
async fn computed_anew(
    service: &Service,
    state: &State,
    client: &Client,
    is_wanted: bool,
) -> core::result::Result<Option<ComputedRoutes>, ApiError> {
    match is_wanted {
        true => {
            let role = role_of(service, client);
            service.predictor.reroute(state, role).await.map(Some)
        }
        false => Ok(None),
    }
}

fn explain_object(
    service: &Service,
    explain: impl FnOnce(ObjectSources<'_>) -> core::result::Result<ObjectExplanation, ApiError>,
) -> Result<ObjectExplanation> {
    let state = service.published.state();
    let fabric = ready(&state)?;
    let explained = explain(ObjectSources {
        state: &state,
        fabric,
        alarms: &service.alarms,
        changes: &service.changes,
    })?;
    Ok(answer(&state, fabric.at, explained))
}

/// Why packets between two ports take their path: since when each switch forwards them so, because
/// of what, and what other ports would be as short.
#[utoipa::path(get, path = "/v1/explain/route", params(RouteQuery), responses(
    (status = 200, body = Answer<RouteExplanation>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_route(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: Asked<RouteQuery>,
) -> Result<RouteExplanation> {
    let Query(query) = query?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let computed = computed_anew(&service, &state, &client, query.reroute).await?;
    let explained = explain::route(fabric, &service.sweeps, &query, computed.as_ref())?;
    Ok(answer(&state, fabric.at, explained))
}

/// Why a routing engine is in use: the engines that were compared, and what changed its routes
/// since.
#[utoipa::path(get, path = "/v1/explain/engine", params(EngineQuery), responses(
    (status = 200, body = Answer<EngineExplanation>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_engine(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: Asked<EngineQuery>,
) -> Result<EngineExplanation> {
    let Query(query) = query?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let computed = computed_anew(&service, &state, &client, query.reroute).await?;
    let explained = explain::engine(fabric, computed.as_ref())?;
    Ok(answer(&state, fabric.at, explained))
}

/// Why a sweep ran, what it found, and what it wrote.
#[utoipa::path(get, path = "/v1/explain/sweep", params(SweepQuery), responses(
    (status = 200, body = Answer<SweepExplanation>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
pub(super) async fn get_sweep(
    Shared(service): Shared<Service>,
    query: Asked<SweepQuery>,
) -> Result<SweepExplanation> {
    let Query(query) = query?;
    let state = service.published.state();
    let explained = explain::sweep(&service.sweeps, &query)?;
    Ok(answer(&state, state.at, explained))
}

/// What is known about a node, also one that left the subnet.
#[utoipa::path(get, path = "/v1/explain/node", params(ObjectQuery), responses(
    (status = 200, body = Answer<ObjectExplanation>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_node(
    Shared(service): Shared<Service>,
    query: Asked<ObjectQuery>,
) -> Result<ObjectExplanation> {
    let Query(query) = query?;
    explain_object(&service, |sources| sources.node(&query))
}

/// What is known about a port: its link, its routes, and what is wrong with it.
#[utoipa::path(get, path = "/v1/explain/port", params(ObjectQuery), responses(
    (status = 200, body = Answer<ObjectExplanation>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_port(
    Shared(service): Shared<Service>,
    query: Asked<ObjectQuery>,
) -> Result<ObjectExplanation> {
    let Query(query) = query?;
    explain_object(&service, |sources| sources.port(&query))
}

/// Why an alarm was raised, what it explains, and what to do.
#[utoipa::path(get, path = "/v1/explain/alarm", params(AlarmQuery), responses(
    (status = 200, body = Answer<AlarmExplanation>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
pub(super) async fn get_alarm(
    Shared(service): Shared<Service>,
    query: Asked<AlarmQuery>,
) -> Result<AlarmExplanation> {
    let Query(query) = query?;
    let state = service.published.state();
    let explained = explain::alarm(&service.alarms, &service.changes, &query)?;
    Ok(answer(&state, state.at, explained))
}
