//! The resources that change partitions and what is in service.

use std::time::SystemTime;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, patch, post, put};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer};
use ferrosm_api::command::{
    ChangePlan, ChangeWriteQuery, Command as CommandEntry, CommandOrPlan, Consequence, WriteQuery,
};
use ferrosm_api::maintenance::{
    DrainRequest, MaintenanceItems, PortDisableRequest, ServiceRequest,
};
use ferrosm_api::partition::{MemberChanges, PartitionDefinition};
use ferrosm_api::what_if::{NamedPorts, WhatIfRequest};
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::{Command, CommandFailure, PlannedChange};
use tokio::sync::oneshot;

use super::{BodyOf, Failed, answer, check, execute, ready, reserve};
use crate::api::access::Client;
use crate::api::commands::{self, PlanRequest, SmRequest};
use crate::api::names::end_port_name;
use crate::api::published::FabricState;
use crate::api::{Service, intent_check, requests};
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
}

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
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::put_partition(ready(&state)?, name, definition)?;
    carry_out(service.clone(), client, query, command).await
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
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::change_members(ready(&state)?, &state, &name, &member_changes)?;
    carry_out(service.clone(), client, query, command).await
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
    let _one_at_a_time = service.partition_changes.lock().await;
    let state = service.published.state();
    let command = requests::remove_partition(&state, &name)?;
    carry_out(service.clone(), client, query, command).await
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
#[utoipa::path(post, path = "/v1/drain", params(ChangeWriteQuery), request_body = DrainRequest, responses(
    (status = 200, body = Answer<CommandOrPlan>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_drain(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    body: BodyOf<DrainRequest>,
) -> Executed {
    let Json(request) = body?;
    let state = service.published.state();
    let command = requests::drain(ready(&state)?, request, reason(&query))?;
    carry_out(service, client, query, command).await
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
    let Json(request) = body?;
    let command = requests::undrain(&service.published.state(), &request)?;
    carry_out(service, client, query, command).await
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
    let Json(request) = body?;
    let state = service.published.state();
    let command = requests::disable_port(ready(&state)?, request, reason(&query))?;
    carry_out(service, client, query, command).await
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
    let Json(request) = body?;
    let command = requests::enable_port(&service.published.state(), &request)?;
    carry_out(service, client, query, command).await
}

/// The reason in a query, or nothing.
fn reason(query: &ChangeOf) -> &str {
    let query = query.as_ref().ok();
    let reason = query.and_then(|Query(query)| query.reason.as_deref());
    reason.unwrap_or_default()
}

/// Executes a change, or says what it would do. A change that would violate an invariant is not
/// executed, unless the client accepts that.
async fn carry_out(
    service: Shared<Service>,
    client: Extension<Client>,
    query: ChangeOf,
    command: Command,
) -> Executed {
    let Query(query) = query?;
    let dry_run = query.dry_run;
    let accept = query.accept;
    let query = WriteQuery::from(query);
    if !dry_run {
        check(&service, &query)?;
        let has_invariants = !service.published.state().intent.invariants.is_empty();
        if has_invariants && accept != Some(Consequence::Invariant) {
            let ChangePlan { violations, .. } = plan(&service, command.clone()).await?;
            intent_check::refuse(&violations)?;
        }
        return execute(service, client, Ok(Query(query)), command).await;
    }
    check(&service, &query)?;
    let plan = plan(&service, command).await?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), plan).into_response())
}

/// What a change would do. The SM decides whether it is possible; nothing is done.
async fn plan(service: &Service, command: Command) -> core::result::Result<ChangePlan, Failed> {
    let kind = commands::kind(&command);
    let target = commands::target(&command);
    let out_of_service = taken_out(&command);
    let (result, done) = oneshot::channel();
    reserve(service)?.send(SmRequest::Plan(PlanRequest { command, result }));
    let planned = done.await.unwrap_or(Err(CommandFailure::Stopping));
    let PlannedChange {
        p_key_ports,
        partitions,
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
        Some(without) => {
            let request = WhatIfRequest {
                without: vec![without],
                ..WhatIfRequest::default()
            };
            Some(service.predictor.predict(&state, request).await?)
        }
        None => None,
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
        prediction,
        violations,
    })
}

/// What a change takes out of service.
const fn taken_out(command: &Command) -> Option<MaintenanceTarget> {
    match command {
        Command::BeginMaintenance(entry) => Some(entry.target),
        Command::EndMaintenance(_)
        | Command::PutPartition(_)
        | Command::RemovePartition(_)
        | Command::Sweep
        | Command::Exclude
        | Command::Reroute
        | Command::Handover
        | Command::Takeover
        | Command::Stop
        | Command::AcceptRemoval(_)
        | Command::RotateMKey(_) => None,
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
