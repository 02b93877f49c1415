//! The resources that change partitions and what is in service.

use core::time::Duration;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, patch, post, put};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::command::{
    ChangePlan, ChangeWriteQuery, Command as CommandEntry, CommandOrPlan, Consequence, WriteQuery,
};
use ferrosm_api::maintenance::{
    DrainRequest, MaintenanceItems, PortDisableRequest, PortLimitsItems, PortLimitsRequest,
    ServiceRequest,
};
use ferrosm_api::partition::{MemberChanges, PartitionDefinition};
use ferrosm_api::what_if::NamedPorts;
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::{CommandFailure, OperatorChange, PlannedChange};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{BodyOf, Failed, Turn, answer, check, execute_in_turn, ready, reserve};
use crate::api::access::Client;
use crate::api::commands::{self, PlanRequest, SmRequest};
use crate::api::names::end_port_name;
use crate::api::published::{FabricState, State};
use crate::api::{Service, intent_check, maintenance, port_limits, requests};
use crate::what_if::PORTS_NAMED_MAX;

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
        .route("/v1/ports/limits", get(get_limits))
        .route("/v1/ports/set", post(post_set))
        .route("/v1/ports/unset", post(post_unset))
}

/// How long a change waits for its turn.
const TURN_WAIT_MAX: Duration = Duration::from_secs(30);

type ChangeOf = core::result::Result<Query<ChangeWriteQuery>, QueryRejection>;
type Executed = core::result::Result<Response, Failed>;

/// Creates a partition, or replaces one that such a request created. Complete when its P_Keys are
/// in the tables of its members.
#[utoipa::path(put, path = "/v1/partitions/{partition}",
    params(("partition" = String, Path, description = "Its name"), ChangeWriteQuery), request_body = PartitionDefinition, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn put_partition(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: ChangeOf,
    body: BodyOf<PartitionDefinition>,
) -> Executed {
    let InPath(name) = name?;
    let Json(definition) = body?;
    let turn = turn(&service).await?;
    let state = service.published.state();
    let change = requests::put_partition(ready(&state)?, name, definition)?;
    carry_out(service.clone(), client, query, change, turn).await
}

/// Changes the members of a partition that a request created.
#[utoipa::path(patch, path = "/v1/partitions/{partition}/members",
    params(("partition" = String, Path, description = "Name or P_Key"), ChangeWriteQuery), request_body = MemberChanges, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn patch_members(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: ChangeOf,
    body: BodyOf<MemberChanges>,
) -> Executed {
    let InPath(name) = name?;
    let Json(member_changes) = body?;
    let turn = turn(&service).await?;
    let state = service.published.state();
    let change = requests::change_members(ready(&state)?, &state, &name, &member_changes)?;
    carry_out(service.clone(), client, query, change, turn).await
}

/// Removes a partition that a request created.
#[utoipa::path(delete, path = "/v1/partitions/{partition}",
    params(("partition" = String, Path, description = "Name or P_Key"), ChangeWriteQuery), responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn delete_partition(
    service: Shared<Service>,
    client: Extension<Client>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: ChangeOf,
) -> Executed {
    let InPath(name) = name?;
    let turn = turn(&service).await?;
    let state = service.published.state();
    let change = requests::remove_partition(&state, &name)?;
    carry_out(service.clone(), client, query, change, turn).await
}

/// What is out of service.
#[utoipa::path(get, path = "/v1/maintenance", responses((status = 200, body = Answer<MaintenanceItems>)))]
pub(super) async fn get_maintenance(
    Shared(service): Shared<Service>,
) -> Json<Answer<MaintenanceItems>> {
    let state = service.published.state();
    answer(&state, state.at, maintenance::items(&state.maintenance))
}

/// Takes a switch or link out of the routes. Complete when no route uses it.
#[utoipa::path(post, path = "/v1/drain", params(ChangeWriteQuery), request_body = DrainRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_drain(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<DrainRequest>,
) -> Executed {
    let drain =
        |state: &State, request, reason: &str| requests::drain(ready(state)?, request, reason);
    carry_out_request(service, client, query, body, drain).await
}

/// Puts a drained switch or link back.
#[utoipa::path(post, path = "/v1/undrain", params(ChangeWriteQuery), request_body = ServiceRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_undrain(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<ServiceRequest>,
) -> Executed {
    let undrain = |state: &State, request, _: &str| requests::undrain(state, &request);
    carry_out_request(service, client, query, body, undrain).await
}

/// Disables a port, after its routes are moved.
#[utoipa::path(post, path = "/v1/ports/disable", params(ChangeWriteQuery), request_body = PortDisableRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_disable(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<PortDisableRequest>,
) -> Executed {
    let disable = |state: &State, request, reason: &str| {
        requests::disable_port(ready(state)?, request, reason)
    };
    carry_out_request(service, client, query, body, disable).await
}

/// Enables a port that a request disabled.
#[utoipa::path(post, path = "/v1/ports/enable", params(ChangeWriteQuery), request_body = ServiceRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_enable(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<ServiceRequest>,
) -> Executed {
    let enable = |state: &State, request, _: &str| requests::enable_port(state, &request);
    carry_out_request(service, client, query, body, enable).await
}

/// The limits of links at ports.
#[utoipa::path(get, path = "/v1/ports/limits", responses((status = 200, body = Answer<PortLimitsItems>)))]
pub(super) async fn get_limits(Shared(service): Shared<Service>) -> Json<Answer<PortLimitsItems>> {
    let state = service.published.state();
    answer(&state, state.at, port_limits::items(&state))
}

/// Limits the link at a port. Complete when the limits are written; a link that trains for them is
/// up later.
#[utoipa::path(post, path = "/v1/ports/set", params(ChangeWriteQuery), request_body = PortLimitsRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_set(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<PortLimitsRequest>,
) -> Executed {
    let set = |state: &State, request, reason: &str| {
        port_limits::set(state, ready(state)?, &request, reason)
    };
    carry_out_request(service, client, query, body, set).await
}

/// Ends the limits of a port.
#[utoipa::path(post, path = "/v1/ports/unset", params(ChangeWriteQuery), request_body = ServiceRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_unset(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<ServiceRequest>,
) -> Executed {
    let unset = |state: &State, request, _: &str| port_limits::unset(state, &request);
    carry_out_request(service, client, query, body, unset).await
}

/// The reason in a query, or nothing.
fn reason(query: &ChangeOf) -> &str {
    let query = query.as_ref().ok();
    let reason = query.and_then(|Query(query)| query.reason.as_deref());
    reason.unwrap_or_default()
}

/// Carries out the change that a request asks for.
async fn carry_out_request<R>(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<R>,
    change: impl FnOnce(&State, R, &str) -> core::result::Result<OperatorChange, ApiError>,
) -> Executed {
    let Json(request) = body?;
    let turn = turn(&service).await?;
    let change = change(&service.published.state(), request, reason(&query))?;
    carry_out(service, client, query, change, turn).await
}

/// Executes a change, or says what it would do. A change that would violate an invariant is not
/// executed, unless the client accepts that.
async fn carry_out(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    change: OperatorChange,
    turn: Turn,
) -> Executed {
    let Query(query) = query?;
    let dry_run = query.dry_run;
    let accept = query.accept;
    let query = WriteQuery::from(query);
    if !dry_run {
        check(&service, &query)?;
        if accept != Some(Consequence::Invariant) {
            check_invariants(&service, &change).await?;
        }
        let query = Ok(Query(query));
        return execute_in_turn(service, client, query, change.into(), Some(turn)).await;
    }
    check(&service, &query)?;
    let plan = plan(&service, change).await?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), plan).into_response())
}

/// Waits for the turn of a change.
pub(in crate::api) async fn turn(service: &Service) -> core::result::Result<Turn, ApiError> {
    let turn = Arc::clone(&service.change_turn).lock_owned();
    timeout(TURN_WAIT_MAX, turn).await.map_err(|_| {
        let waited_s = TURN_WAIT_MAX.as_secs();
        let message = format!("another change has not ended within {waited_s} s");
        let remedy = "`ferrosm commands` shows it. Nothing was changed; try again.";
        ApiError::new(ErrorKind::Busy, message, remedy)
    })
}

/// Refuses a change that would violate an invariant.
pub(in crate::api) async fn check_invariants(
    service: &Service,
    change: &OperatorChange,
) -> core::result::Result<(), Failed> {
    if service.published.state().intent.invariants.is_empty() {
        return Ok(());
    }
    let ChangePlan { violations, .. } = plan(service, change.clone()).await?;
    intent_check::refuse(&violations)?;
    Ok(())
}

/// What a change would do. The SM decides whether it is possible; nothing is done.
async fn plan(
    service: &Service,
    change: OperatorChange,
) -> core::result::Result<ChangePlan, Failed> {
    let kind = commands::kind_of_change(&change);
    let target = commands::target_of_change(&change);
    let out_of_service = taken_out(&change);
    let in_service = put_back(&change);
    let (result, done) = oneshot::channel();
    reserve(service)?.send(SmRequest::Plan(PlanRequest { change, result }));
    let planned = done.await.unwrap_or(Err(CommandFailure::Stopping));
    let PlannedChange {
        p_key_ports,
        partitions,
        trains_link,
    } = planned.map_err(|failure| commands::refusal(kind, &failure))?;
    let state = service.published.state();
    let found = ready(&state)?;
    let named = p_key_ports
        .iter()
        .filter_map(|guid| found.snapshot.by_guid(*guid));
    let items = named
        .take(PORTS_NAMED_MAX)
        .map(|at| end_port_name(&found.snapshot, at));
    let ports = NamedPorts {
        total: p_key_ports.len() as u64,
        items: items.collect(),
    };
    let prediction = match out_of_service.and_then(|target| without(found, target)) {
        Some(name) => Some(service.predictor.predict_drain(&state, name).await?),
        None => match in_service {
            Some(target) => service.predictor.predict_undrain(&state, target).await?,
            None => None,
        },
    };
    let violations = match (&prediction, partitions) {
        (Some(predicted), _) => predicted.violations.clone(),
        (None, Some(partitions)) => {
            let invariants = state.intent.invariants.clone();
            let predictor = &service.predictor;
            predictor.violations(&state, invariants, partitions).await?
        }
        (None, None) => Vec::new(),
    };
    Ok(ChangePlan {
        kind,
        target,
        p_key_ports: ports,
        trains_link,
        prediction,
        violations,
    })
}

/// What a change takes out of service.
const fn taken_out(change: &OperatorChange) -> Option<MaintenanceTarget> {
    match change {
        OperatorChange::BeginMaintenance(entry) => Some(entry.target),
        OperatorChange::EndMaintenance(_)
        | OperatorChange::SetPortLimits(_)
        | OperatorChange::EndPortLimits(_)
        | OperatorChange::PutPartition(_)
        | OperatorChange::RemovePartition(_) => None,
    }
}

/// The drained switch or link that a change puts back. A port that is enabled has no link yet.
const fn put_back(change: &OperatorChange) -> Option<MaintenanceTarget> {
    match change {
        OperatorChange::EndMaintenance(
            target @ (MaintenanceTarget::Switch(_) | MaintenanceTarget::Link(..)),
        ) => Some(*target),
        OperatorChange::EndMaintenance(MaintenanceTarget::Port(..))
        | OperatorChange::BeginMaintenance(_)
        | OperatorChange::SetPortLimits(_)
        | OperatorChange::EndPortLimits(_)
        | OperatorChange::PutPartition(_)
        | OperatorChange::RemovePartition(_) => None,
    }
}

/// The switch or link for a prediction; `None` for a port without a link.
fn without(fabric: &FabricState, target: MaintenanceTarget) -> Option<String> {
    let node = target.node();
    let Some(num) = target.port() else {
        return Some(node.to_string());
    };
    let snapshot = &*fabric.snapshot;
    let port = snapshot.port_by_num(snapshot.by_node_guid(node)?, num)?;
    snapshot.peer(port)?;
    Some(format!("{node}/{num}"))
}
