//! The resources of the API, and their OpenAPI document.

mod access;
mod capture;
pub(super) mod change;
mod config;
mod events;
mod explain;
mod group;
mod invariants;
mod keys;
mod observed;
mod plan;
mod sa;
mod structure;
mod web;
mod what_if;

use core::time::Duration;
use std::time::SystemTime;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use ferrosm_api::access::ClientRole;
use ferrosm_api::alarm::{
    AcknowledgeQuery, Alarm, ForgetQuery, Forgotten, NotifyResult, NotifyTest, NotifyTestQuery,
};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind, ListQuery, Page};
use ferrosm_api::change::{ChangeQuery, Changes, Diff, DiffQuery};
use ferrosm_api::command::{
    Command as CommandEntry, CommandKind, Commands, Consequence, FullSweepQuery, REASON_LEN_MAX,
    Removal, TakeoverQuery, WAIT_S_DEFAULT, WAIT_S_MAX, WriteQuery,
};
use ferrosm_api::key::RotationPlan;
use ferrosm_core::report::foreign_settings::RemovalKind;
use ferrosm_core::{Command, CommandFailure};
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tokio::time::timeout;
use utoipa::OpenApi;

use super::access::Client;
use super::commands::{CommandRequest, CommandResult, SmRequest};
use super::list::invalid;
use super::published::{State, ready};
use super::{Service, commands, forget, list, rfc3339, status};

/// The resources.
pub(super) fn router(service: Service) -> Router {
    Router::new()
        .route("/v1/openapi.json", get(openapi))
        .merge(observed::router())
        .merge(change::router())
        .merge(keys::router())
        .merge(what_if::router())
        .merge(plan::router())
        .route("/v1/events", get(events::get_events))
        .route("/v1/changes", get(get_changes))
        .route("/v1/diff", get(get_diff))
        .route("/v1/alarms", get(get_alarms))
        .route("/v1/alarms/{id}/ack", post(post_acknowledge))
        .route("/v1/forget", post(post_forget))
        .route("/v1/notify/test", post(post_notify_test))
        .route("/v1/commands", get(get_commands))
        .route("/v1/commands/{number}", get(get_command))
        .route("/v1/sweep", post(post_sweep))
        .route("/v1/reroute", post(post_reroute))
        .route("/v1/handover", post(post_handover))
        .route("/v1/takeover", post(post_takeover))
        .merge(config::router())
        .merge(explain::router())
        .merge(group::router())
        .merge(capture::router())
        .merge(sa::router())
        .merge(structure::router())
        .merge(web::router())
        .merge(invariants::router())
        .fallback(no_resource)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(
            service.clone(),
            access::check_role,
        ))
        .with_state(service)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "ferrosm",
        description = "The API of a running ferrosm service. Reads answer from the published state and send no MAD, except with `fresh` and for plans. `x-role` is the role that an operation needs."
    ),
    paths(
        observed::get_status,
        observed::get_health,
        observed::get_sms,
        observed::get_limits,
        observed::get_nodes,
        observed::get_ports,
        observed::get_links,
        observed::get_where,
        observed::get_path,
        group::get_groups,
        group::get_group_members,
        group::get_host,
        explain::get_route,
        explain::get_engine,
        explain::get_sweep,
        explain::get_node,
        explain::get_port,
        explain::get_alarm,
        observed::get_partitions,
        observed::get_members,
        change::put_partition,
        change::delete_partition,
        change::patch_members,
        change::get_maintenance,
        change::post_drain,
        change::post_undrain,
        change::post_disable,
        change::post_enable,
        change::get_limits,
        change::post_set,
        change::post_unset,
        keys::get_keys,
        keys::post_rotate,
        what_if::get_what_if,
        what_if::post_what_if,
        what_if::get_single_losses,
        plan::get_plan,
        events::get_events,
        get_changes,
        get_diff,
        get_alarms,
        post_acknowledge,
        post_forget,
        post_notify_test,
        get_commands,
        get_command,
        post_sweep,
        post_reroute,
        post_handover,
        post_takeover,
        config::get_config,
        config::post_config,
        config::post_confirm,
        config::post_rollback,
        capture::get_capture,
        capture::post_start,
        capture::post_stop,
        sa::get_clients,
        sa::post_limit,
        structure::get_structure,
        structure::get_load,
        structure::get_drawing,
        web::post_login,
        invariants::get_invariants
    ),
    components(schemas(Removal, Consequence, RotationPlan))
)]
struct Document;

async fn openapi() -> Response {
    let mut document = Document::openapi();
    access::describe(&mut document);
    Json(document).into_response()
}

/// An error, as the response to a request.
pub(super) struct Failed(ApiError);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = match self.0.kind {
            ErrorKind::InvalidRequest | ErrorKind::InvalidConfiguration | ErrorKind::Ambiguous => {
                StatusCode::BAD_REQUEST
            }
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::NotLoggedIn => StatusCode::UNAUTHORIZED,
            ErrorKind::Changed
            | ErrorKind::NotApplicable
            | ErrorKind::NotMaster
            | ErrorKind::MastershipLost
            | ErrorKind::AlreadyMaster
            | ErrorKind::NoLink
            | ErrorKind::RoutingFailed
            | ErrorKind::NotHandedOver
            | ErrorKind::Conflict
            | ErrorKind::CutsOff
            | ErrorKind::Superseded => StatusCode::CONFLICT,
            ErrorKind::NotReady | ErrorKind::Busy | ErrorKind::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
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
        Self(invalid(rejection.body_text()))
    }
}

impl From<JsonRejection> for Failed {
    fn from(rejection: JsonRejection) -> Self {
        Self(invalid(rejection.body_text()))
    }
}

impl From<PathRejection> for Failed {
    fn from(rejection: PathRejection) -> Self {
        Self(invalid(rejection.body_text()))
    }
}

type Result<T> = core::result::Result<Json<Answer<T>>, Failed>;
type ListOf = core::result::Result<Query<ListQuery>, QueryRejection>;

fn answer<T>(state: &State, at: SystemTime, body: T) -> Json<Answer<T>> {
    let at = state.read_again_at.unwrap_or(at);
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

/// What changed, also in earlier runs: the last changes that match, the oldest first.
#[utoipa::path(get, path = "/v1/changes", params(ChangeQuery), responses(
    (status = 200, body = Answer<Changes>), (status = 400, body = ErrorAnswer)))]
async fn get_changes(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<ChangeQuery>, QueryRejection>,
) -> Result<Changes> {
    let Query(query) = query?;
    let now = SystemTime::now();
    let changes = service.changes.select(&query, now)?;
    let state = service.published.state();
    Ok(answer(&state, now, changes))
}

/// The difference between two times: nodes and links with another state, and other changes.
#[utoipa::path(get, path = "/v1/diff", params(DiffQuery), responses(
    (status = 200, body = Answer<Diff>), (status = 400, body = ErrorAnswer)))]
async fn get_diff(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<DiffQuery>, QueryRejection>,
) -> Result<Diff> {
    let Query(query) = query?;
    let now = SystemTime::now();
    let diff = service.changes.diff(&query, now)?;
    let state = service.published.state();
    Ok(answer(&state, now, diff))
}

/// The alarms: the most severe first, then those that were cleared, the newest first.
#[utoipa::path(get, path = "/v1/alarms", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Alarm>>), (status = 400, body = ErrorAnswer)))]
async fn get_alarms(Shared(service): Shared<Service>, query: ListOf) -> Result<Page<Value>> {
    let Query(query) = query?;
    let page = list::page(service.alarms.list(), &query)?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), page))
}

/// Acknowledges an alarm: an operator knows of it. It stays until what is wrong has ended.
#[utoipa::path(post, path = "/v1/alarms/{id}/ack",
    params(("id" = u64, Path, description = "Number of the alarm"), AcknowledgeQuery),
    responses((status = 200, body = Answer<Alarm>), (status = 400, body = ErrorAnswer),
        (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
async fn post_acknowledge(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    id: core::result::Result<InPath<u64>, PathRejection>,
    query: core::result::Result<Query<AcknowledgeQuery>, QueryRejection>,
) -> Result<Alarm> {
    let InPath(id) = id?;
    let Query(query) = query?;
    check_reason(query.reason.as_deref())?;
    let by = client.to_string();
    let alarm = service.alarms.acknowledge(id, by.clone(), &query)?;
    let message = format!("alarm {id} acknowledged: {}", alarm.object.name);
    service
        .commands
        .record(CommandKind::Acknowledge, by, query.reason, message);
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), alarm))
}

/// Expects a node or link no longer that is gone: its alarm ends.
#[utoipa::path(post, path = "/v1/forget", params(ForgetQuery), responses(
    (status = 200, body = Answer<Forgotten>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
async fn post_forget(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<ForgetQuery>, QueryRejection>,
) -> Result<Forgotten> {
    let Query(query) = query?;
    check_reason(query.reason.as_deref())?;
    let forgotten = forget::forget(&service, &client, query)?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), forgotten))
}

/// Sends a test to a target of `[[notify]]`, or to all, once. The answer comes when it is sent, or
/// after 30 s.
#[utoipa::path(post, path = "/v1/notify/test", params(NotifyTestQuery), responses(
    (status = 200, body = Answer<NotifyTest>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
async fn post_notify_test(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<NotifyTestQuery>, QueryRejection>,
) -> Result<NotifyTest> {
    let Query(NotifyTestQuery { name }) = query?;
    let items = service.notifier.test(name.clone()).await;
    let message = match items.len() {
        0 => "no target: nothing was sent".to_owned(),
        _ => sent_tests(&items),
    };
    let by = client.to_string();
    let log = &service.commands;
    log.record(CommandKind::NotifyTest, by, None, message);
    if items.is_empty() {
        let message = match name {
            Some(name) => format!("no entry [[notify]] is named `{name}`"),
            None => "the configuration has no entry [[notify]]".to_owned(),
        };
        let remedy = "Add an entry to the configuration, then reload it.";
        return Err(ApiError::new(ErrorKind::NotFound, message, remedy).into());
    }
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), NotifyTest { items }))
}

/// `pager sent; mail failed`.
fn sent_tests(items: &[NotifyResult]) -> String {
    let results = items.iter().map(|item| {
        let result = match item.error {
            None => "sent",
            Some(_) => "failed",
        };
        format!("{} {result}", item.name)
    });
    results.collect::<Vec<String>>().join("; ")
}

/// The role of a client that may read.
fn role_of(service: &Service, client: &Client) -> ClientRole {
    let role = service.client_roles.of(client);
    role.unwrap_or(ClientRole::View)
}

/// The commands that the service remembers, the newest first.
#[utoipa::path(get, path = "/v1/commands", responses((status = 200, body = Answer<Commands>)))]
async fn get_commands(Shared(service): Shared<Service>) -> Json<Answer<Commands>> {
    let state = service.published.state();
    let items = service.commands.recent();
    answer(&state, SystemTime::now(), Commands { items })
}

/// A command that the service remembers.
#[utoipa::path(get, path = "/v1/commands/{number}", params(("number" = u64, Path, description = "Number of the command")),
    responses((status = 200, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer), (status = 404, body = ErrorAnswer)))]
async fn get_command(
    Shared(service): Shared<Service>,
    number: core::result::Result<InPath<u64>, PathRejection>,
) -> Result<CommandEntry> {
    let InPath(number) = number?;
    let state = service.published.state();
    let entry = service.commands.get(number).ok_or_else(|| {
        ApiError::new(
            ErrorKind::NotFound,
            format!("no command {number} since the start of the service"),
            "The audit log has all commands.",
        )
    })?;
    Ok(answer(&state, SystemTime::now(), entry))
}

/// A body, or why it is none.
type BodyOf<T> = core::result::Result<Json<T>, JsonRejection>;

/// A query of a write, or why it is none.
type WriteOf = core::result::Result<Query<WriteQuery>, QueryRejection>;

/// Sweeps the whole fabric. Devices that do not respond stay in the subnet, except with `exclude`.
#[utoipa::path(post, path = "/v1/sweep", params(FullSweepQuery), responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn post_sweep(
    service: Shared<Service>,
    client: Extension<Client>,
    query: core::result::Result<Query<FullSweepQuery>, QueryRejection>,
) -> core::result::Result<Response, Failed> {
    let Query(query) = query?;
    let command = if query.exclude {
        Command::Exclude
    } else {
        Command::Sweep
    };
    execute(service, client, Ok(Query(query.into())), command).await
}

/// Sweeps the whole fabric and computes routes without regard to the installed ones.
#[utoipa::path(post, path = "/v1/reroute", params(WriteQuery), responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn post_reroute(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
) -> core::result::Result<Response, Failed> {
    execute(service, client, query, Command::Reroute).await
}

/// Hands over mastership to another SM and becomes standby.
#[utoipa::path(post, path = "/v1/handover", params(WriteQuery), responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn post_handover(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
) -> core::result::Result<Response, Failed> {
    execute(service, client, query, Command::Handover).await
}

/// Takes over a subnet that another SM has configured, or runs again after an SMInfo DISABLE.
#[utoipa::path(post, path = "/v1/takeover", params(TakeoverQuery), responses(
    (status = 200, body = Answer<CommandEntry>), (status = 202, body = Answer<CommandEntry>), (status = 400, body = ErrorAnswer),
    (status = 403, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
async fn post_takeover(
    service: Shared<Service>,
    client: Extension<Client>,
    query: core::result::Result<Query<TakeoverQuery>, QueryRejection>,
) -> core::result::Result<Response, Failed> {
    let Query(query) = query?;
    let command = match query.accept {
        Some(removal) => Command::AcceptRemoval(kind_of(removal)),
        None => Command::Takeover,
    };
    execute(service, client, Ok(Query(query.into())), command).await
}

const fn kind_of(removal: Removal) -> RemovalKind {
    match removal {
        Removal::PKeyRemoval => RemovalKind::PKeyRemoval,
        Removal::LmcChange => RemovalKind::LmcChange,
        Removal::MKeyRemoval => RemovalKind::MKeyRemoval,
        Removal::QosRemoval => RemovalKind::QosRemoval,
    }
}

/// The turn of a change: no other one is checked or executed until it has an effect on the state
/// that checks look at.
pub(super) type Turn = OwnedMutexGuard<()>;

/// The turn of a change ends with it, or after this time.
const TURN_MAX: Duration = Duration::from_secs(60);

/// Receives the result of a command. Its turn also ends with it if the client no longer waits.
fn end_with(
    turn: Turn,
    mut done: oneshot::Receiver<CommandResult>,
) -> oneshot::Receiver<CommandResult> {
    let (forward, result) = oneshot::channel();
    tokio::spawn(async move {
        let ended = timeout(TURN_MAX, &mut done).await;
        drop(turn);
        let received = match ended {
            Ok(received) => received,
            Err(_) => done.await,
        };
        if let Ok(received) = received {
            // The client may no longer wait.
            let _ = forward.send(received);
        }
    });
    result
}

/// Passes a command to the SM and waits for its result. Status 202: it is still in progress.
async fn execute(
    service: Shared<Service>,
    client: Extension<Client>,
    query: WriteOf,
    command: Command,
) -> core::result::Result<Response, Failed> {
    execute_in_turn(service, client, query, command, None).await
}

/// As [`execute`], for a command that may have a turn.
pub(super) async fn execute_in_turn(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: WriteOf,
    command: Command,
    turn: Option<Turn>,
) -> core::result::Result<Response, Failed> {
    let Query(query) = query?;
    check(&service, &query)?;
    let kind = commands::kind(&command);
    let place = reserve(&service)?;
    let id = service
        .commands
        .begin(&command, client.to_string(), query.reason);
    let (result, done) = oneshot::channel();
    place.send(SmRequest::Execute(CommandRequest {
        id,
        command,
        result,
    }));
    let done = match turn {
        Some(turn) => end_with(turn, done),
        None => done,
    };
    let wait = Duration::from_secs(query.wait_s.unwrap_or(WAIT_S_DEFAULT));
    let status = match timeout(wait, done).await {
        Ok(Ok(Ok(_))) => StatusCode::OK,
        Ok(Ok(Err(failure))) => return Err(commands::error(id, kind, &failure).into()),
        Ok(Err(_)) => {
            let stopping = CommandFailure::Stopping;
            let error = commands::error(id, kind, &stopping);
            service.commands.end(id, &Err(stopping));
            return Err(error.into());
        }
        Err(_) => StatusCode::ACCEPTED,
    };
    let entry = service.commands.get(id.0).ok_or_else(|| {
        let message = format!("command {} is no longer remembered", id.0);
        ApiError::new(ErrorKind::Internal, message, "The audit log has it.")
    })?;
    let state = service.published.state();
    Ok((status, answer(&state, SystemTime::now(), entry)).into_response())
}

/// A place in the queue of the loop of the SM. It is taken before a command gets a number: a
/// command with a number always reaches the queue.
fn reserve(service: &Service) -> core::result::Result<mpsc::OwnedPermit<SmRequest>, ApiError> {
    let requests = service.requests().ok_or_else(|| {
        ApiError::new(
            ErrorKind::NotReady,
            "the service waits for its local port, or is stopping",
            "`ferrosm status` shows what the service does.",
        )
    })?;
    requests.try_reserve_owned().map_err(|_| {
        let message = "too many commands wait for the SM";
        ApiError::new(ErrorKind::Busy, message, "Try again later.")
    })
}

/// Checks the reason of a write.
fn check_reason(reason: Option<&str>) -> core::result::Result<(), ApiError> {
    if reason.is_some_and(|reason| reason.chars().count() > REASON_LEN_MAX) {
        let message = format!("reason has at most {REASON_LEN_MAX} characters");
        return Err(invalid(message));
    }
    Ok(())
}

/// Checks the query of a write.
fn check(service: &Service, query: &WriteQuery) -> core::result::Result<(), ApiError> {
    if query.wait_s.is_some_and(|wait_s| wait_s > WAIT_S_MAX) {
        return Err(invalid(format!("wait_s is at most {WAIT_S_MAX}")));
    }
    check_reason(query.reason.as_deref())?;
    let revision = service.published.state().revision;
    match query.expect_revision {
        Some(expected) if expected != revision => Err(ApiError::new(
            ErrorKind::Changed,
            format!("the state has revision {revision}, not {expected}"),
            "Look at what changed, then send the command with the new revision.",
        )),
        Some(_) | None => Ok(()),
    }
}

async fn no_resource(uri: Uri) -> Failed {
    Failed(ApiError::new(
        ErrorKind::NotFound,
        format!("no resource {}", uri.path()),
        "GET /v1/openapi.json lists the resources.",
    ))
}

async fn no_method(uri: Uri) -> Failed {
    Failed(ApiError::new(
        ErrorKind::MethodNotAllowed,
        format!("{} has no such method", uri.path()),
        "GET /v1/openapi.json lists the methods of each resource.",
    ))
}
