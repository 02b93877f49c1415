//! Resources of the published state, also of an earlier time.

use core::time::Duration;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::routing::get;
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind, ListQuery, Page, TimeQuery};
use ferrosm_api::fabric::{Link, Node, Port, Where};
use ferrosm_api::partition::{PartitionMember, Partitions};
use ferrosm_api::path::{Path, PathQuery};
use ferrosm_api::status::{Health, Limits, Sms, Status};
use ferrosm_core::{Command, CommandFailure};
use ferrosm_fabric::snapshot::EarlierTables;
use ferrosm_mad::ids::PortNum;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;
use utoipa::IntoParams;

use super::{ListOf, Result, answer, ready, reserve};
use crate::api::commands::{self, CommandRequest, SmRequest};
use crate::api::published::{FabricState, State};
use crate::api::{Service, fabric, list, lookup, partition, path, status};

/// Longest time that the SM takes to read the fabric again, sweeps before it included.
const REFRESH_TIME_MAX: Duration = Duration::from_secs(60);

/// A query that may name an earlier time, or why it is none.
type TimeOf = core::result::Result<Query<TimeQuery>, QueryRejection>;

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/status", get(get_status))
        .route("/v1/health", get(get_health))
        .route("/v1/sms", get(get_sms))
        .route("/v1/limits", get(get_limits))
        .route("/v1/nodes", get(get_nodes))
        .route("/v1/ports", get(get_ports))
        .route("/v1/links", get(get_links))
        .route("/v1/where", get(get_where))
        .route("/v1/paths", get(get_path))
        .route("/v1/partitions", get(get_partitions))
        .route("/v1/partitions/{partition}/members", get(get_members))
}

/// What the service is and does.
#[utoipa::path(get, path = "/v1/status", params(TimeQuery), responses(
    (status = 200, body = Answer<Status>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
pub(super) async fn get_status(Shared(service): Shared<Service>, query: TimeOf) -> Result<Status> {
    let Query(query) = query?;
    let state = state_of(&service, &query, EarlierTables::Any).await?;
    let alarms = query.at.is_none().then_some(&service.alarms);
    let recorded_since = service.published.fabric_recorded_since();
    let status = status::status(&state, alarms, recorded_since);
    Ok(answer(&state, state.at, status))
}

/// Whether everything that was seen in the last days (`health.expect`) is up, addressed and routed.
#[utoipa::path(get, path = "/v1/health", params(TimeQuery), responses(
    (status = 200, body = Answer<Health>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
pub(super) async fn get_health(Shared(service): Shared<Service>, query: TimeOf) -> Result<Health> {
    let Query(query) = query?;
    let state = state_of(&service, &query, EarlierTables::Any).await?;
    let alarms = query.at.is_none().then_some(&service.alarms);
    Ok(answer(&state, state.at, status::health(&state, alarms)))
}

/// The SMs of the subnet, this one first.
#[utoipa::path(get, path = "/v1/sms", params(TimeQuery), responses(
    (status = 200, body = Answer<Sms>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
pub(super) async fn get_sms(Shared(service): Shared<Service>, query: TimeOf) -> Result<Sms> {
    let Query(query) = query?;
    let state = state_of(&service, &query, EarlierTables::Any).await?;
    Ok(answer(&state, state.at, status::sms(&state)))
}

/// How near limits of the fabric are.
#[utoipa::path(get, path = "/v1/limits", params(TimeQuery), responses(
    (status = 200, body = Answer<Limits>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_limits(Shared(service): Shared<Service>, query: TimeOf) -> Result<Limits> {
    let Query(query) = query?;
    let state = state_of(&service, &query, EarlierTables::Any).await?;
    let fabric = ready(&state)?;
    let groups = match query.at {
        None => Some(service.registrations.groups().await?),
        Some(_) => None,
    };
    let limits = status::limits(fabric, groups.as_deref());
    Ok(answer(&state, fabric.at, limits))
}

/// The nodes of the subnet, and those that left it in the last days (`health.expect`).
#[utoipa::path(get, path = "/v1/nodes", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Node>>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_nodes(
    Shared(service): Shared<Service>,
    query: ListOf,
) -> Result<Page<Value>> {
    listed(&service, query, |fabric, _, query| {
        list::page_of_rows(fabric::node_rows(fabric), query)
    })
    .await
}

/// The ports of the subnet.
#[utoipa::path(get, path = "/v1/ports", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Port>>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_ports(
    Shared(service): Shared<Service>,
    query: ListOf,
) -> Result<Page<Value>> {
    listed(&service, query, |fabric, _, query| {
        list::page_of_rows(fabric::port_rows(&fabric.snapshot), query)
    })
    .await
}

/// The links of the subnet, and those that went down in the last days (`health.expect`).
#[utoipa::path(get, path = "/v1/links", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Link>>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_links(
    Shared(service): Shared<Service>,
    query: ListOf,
) -> Result<Page<Value>> {
    listed(&service, query, |fabric, state, query| {
        let rows = fabric::link_rows(fabric, &state.maintenance);
        list::page_of_rows(rows, query)
    })
    .await
}

/// The query of a place.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WhereQuery {
    /// GUID of a port or node, LID, name, or `name/port`.
    name: String,
    /// The place at this time, in UTC (RFC 3339); now if absent.
    at: Option<String>,
    /// The SM first reads again what it knows (a light sweep, and the sweep of what it finds).
    /// Needs the role `operate`; not with `at`.
    #[serde(default)]
    #[param(required = false)]
    fresh: bool,
}

/// Where ports are: all that have a name, GUID or LID.
#[utoipa::path(get, path = "/v1/where", params(WhereQuery), responses(
    (status = 200, body = Answer<Where>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_where(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<WhereQuery>, QueryRejection>,
) -> Result<Where> {
    let Query(query) = query?;
    let time = TimeQuery {
        at: query.at.clone(),
        fresh: query.fresh,
    };
    let state = state_of(&service, &time, EarlierTables::Any).await?;
    let fabric = ready(&state)?;
    let snapshot = &fabric.snapshot;
    let found = lookup::end_ports(fabric, &query.name)?;
    // A switch has one end port, port 0, and may be named by any of its ports.
    let named = query.name.rsplit_once('/');
    let number = named.and_then(|(_, port)| port.parse().ok().map(PortNum));
    let places = found
        .into_iter()
        .map(|at| fabric::place(snapshot, at, number));
    let items = places.collect();
    Ok(answer(&state, fabric.at, Where { items }))
}

/// The path of packets between two ports, from the tables that the switches have.
#[utoipa::path(get, path = "/v1/paths", params(PathQuery), responses(
    (status = 200, body = Answer<Path>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_path(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<PathQuery>, QueryRejection>,
) -> Result<Path> {
    let Query(query) = query?;
    let time = TimeQuery {
        at: query.at.clone(),
        fresh: query.fresh,
    };
    let state = state_of(&service, &time, EarlierTables::Restored).await?;
    let fabric = ready(&state)?;
    let path = path::path(fabric, &query)?.path;
    Ok(answer(&state, fabric.at, path))
}

/// The partitions that are configured or have members.
#[utoipa::path(get, path = "/v1/partitions", params(TimeQuery), responses(
    (status = 200, body = Answer<Partitions>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_partitions(
    Shared(service): Shared<Service>,
    query: TimeOf,
) -> Result<Partitions> {
    let Query(query) = query?;
    let state = state_of(&service, &query, EarlierTables::Any).await?;
    let fabric = ready(&state)?;
    let found = partition::partitions(fabric, &state);
    Ok(answer(&state, fabric.at, found))
}

/// The members of a partition, as the P_Key tables of ports have them.
#[utoipa::path(get, path = "/v1/partitions/{partition}/members",
    params(("partition" = String, Path, description = "Name in the configuration, or P_Key with or without the membership bit"), ListQuery),
    responses((status = 200, body = Answer<Page<PartitionMember>>), (status = 400, body = ErrorAnswer),
        (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_members(
    Shared(service): Shared<Service>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: ListOf,
) -> Result<Page<Value>> {
    let InPath(name) = name?;
    listed(&service, query, |fabric, state, query| {
        list::page(partition::members(fabric, state, &name)?, query)
    })
    .await
}

/// A list of the published fabric.
async fn listed(
    service: &Service,
    query: ListOf,
    page: impl FnOnce(&FabricState, &State, &ListQuery) -> core::result::Result<Page<Value>, ApiError>,
) -> Result<Page<Value>> {
    let Query(mut query) = query?;
    let time = TimeQuery {
        at: query.at.take(),
        fresh: core::mem::take(&mut query.fresh),
    };
    let state = state_of(service, &time, EarlierTables::Any).await?;
    let fabric = ready(&state)?;
    let page = page(fabric, &state, &query)?;
    Ok(answer(&state, fabric.at, page))
}

/// The state at the time of a query, or the current one, which the SM reads again first if it is to
/// be fresh.
async fn state_of(
    service: &Service,
    query: &TimeQuery,
    tables: EarlierTables,
) -> core::result::Result<Arc<State>, ApiError> {
    match query.at.as_deref() {
        Some(_) if query.fresh => Err(list::invalid("fresh is about now: leave out `at`")),
        Some(text) => service.published.state_at(list::time(text)?, tables),
        None if query.fresh => {
            refresh(service).await?;
            let mut state = service.published.state();
            Arc::make_mut(&mut state).read_again_at = Some(SystemTime::now());
            Ok(state)
        }
        None => Ok(service.published.state()),
    }
}

/// Has the SM read again what it knows.
async fn refresh(service: &Service) -> core::result::Result<(), ApiError> {
    let id = service.commands.number();
    let (result, done) = oneshot::channel();
    let command = Command::Refresh;
    let kind = commands::kind(&command);
    reserve(service)?.send(SmRequest::Execute(CommandRequest {
        id,
        command,
        result,
    }));
    match timeout(REFRESH_TIME_MAX, done).await {
        Ok(Ok(Ok(_))) => Ok(()),
        Ok(Ok(Err(failure))) => Err(commands::refusal(kind, &failure)),
        Ok(Err(_)) => Err(commands::refusal(kind, &CommandFailure::Stopping)),
        Err(_) => {
            let waited_s = REFRESH_TIME_MAX.as_secs();
            Err(ApiError::new(
                ErrorKind::Busy,
                format!("the SM has not read the fabric again within {waited_s} s"),
                "`ferrosm status` shows what it does; without `fresh` it answers at once.",
            ))
        }
    }
}
