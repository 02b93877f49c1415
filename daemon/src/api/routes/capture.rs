//! The resources of captures and rings.

use core::time::Duration;
use std::time::SystemTime;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::routing::{get, post};
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::capture::{
    CAPTURE_MIB_DEFAULT, CAPTURE_MIB_MAX, CAPTURE_NAME_MAX, CaptureQuery, CaptureStopQuery,
    Captures,
};
use ferrosm_api::command::CommandKind;
use tokio::time::timeout;

use super::{Failed, Result, answer, check_reason, invalid};
use crate::api::Service;
use crate::api::access::Client;
use crate::rings::{CaptureRefusal, CaptureReply, CaptureRequest};

/// Time in which the disk must answer.
const DISK_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/capture", get(get_capture))
        .route("/v1/capture/start", post(post_start))
        .route("/v1/capture/stop", post(post_stop))
}

/// The capture on demand, and the rings that are always on.
#[utoipa::path(get, path = "/v1/capture", responses(
    (status = 200, body = Answer<Captures>), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_capture(Shared(service): Shared<Service>) -> Result<Captures> {
    let captures = reply(service.rings.status()).await?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), captures))
}

/// Starts a capture of all MADs of the local port on QP0, in a new file of the state directory.
#[utoipa::path(post, path = "/v1/capture/start", params(CaptureQuery), responses(
    (status = 200, body = Answer<Captures>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
    (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_start(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<CaptureQuery>, QueryRejection>,
) -> Result<Captures> {
    let Query(query) = query?;
    check_reason(query.reason.as_deref())?;
    let request = request(&query)?;
    let message = format!(
        "capture {}, at most {} bytes",
        request.name, request.max_bytes
    );
    let captures = reply(service.rings.start_capture(request)).await?;
    let by = client.to_string();
    let kind = CommandKind::CaptureStart;
    let _ = service.commands.record(kind, by, query.reason, message);
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), captures))
}

/// Ends the capture.
#[utoipa::path(post, path = "/v1/capture/stop", params(CaptureStopQuery), responses(
    (status = 200, body = Answer<Captures>), (status = 400, body = ErrorAnswer), (status = 403, body = ErrorAnswer),
    (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_stop(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<CaptureStopQuery>, QueryRejection>,
) -> Result<Captures> {
    let Query(query) = query?;
    check_reason(query.reason.as_deref())?;
    let captures = reply(service.rings.stop_capture()).await?;
    let ended = captures.capture.as_ref();
    let message = ended.map_or_else(String::new, |c| format!("{}: {} MADs", c.file, c.packets));
    let by = client.to_string();
    let kind = CommandKind::CaptureStop;
    let _ = service.commands.record(kind, by, query.reason, message);
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), captures))
}

/// Checks the query of a start.
fn request(query: &CaptureQuery) -> core::result::Result<CaptureRequest, ApiError> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let default_name = || format!("capture-{}.pcapng", now.replace(':', ""));
    let name = query.file.clone().unwrap_or_else(default_name);
    let is_valid = |c: char| c.is_ascii_alphanumeric() || ['.', '-', '_'].contains(&c);
    if name.is_empty()
        || name.len() > CAPTURE_NAME_MAX
        || name.starts_with('.')
        || !name.chars().all(is_valid)
    {
        return Err(invalid(format!(
            "file is a name of at most {CAPTURE_NAME_MAX} letters, digits, `.`, `-` and `_`, which does not begin with `.`: \
             the file is in the state directory"
        )));
    }
    let mib = query.max_mib.unwrap_or(CAPTURE_MIB_DEFAULT);
    if !(1..=CAPTURE_MIB_MAX).contains(&mib) {
        return Err(invalid(format!("max_mib is from 1 to {CAPTURE_MIB_MAX}")));
    }
    Ok(CaptureRequest {
        name,
        max_bytes: u64::from(mib) << 20,
    })
}

/// Waits for the thread that writes.
async fn reply(reply: Option<CaptureReply>) -> core::result::Result<Captures, Failed> {
    let not_ready = || {
        ApiError::new(
            ErrorKind::NotReady,
            "the service cannot write captures: it is stopping, or its thread for them did not start",
            "The log of the service says why.",
        )
    };
    let reply = reply.ok_or_else(not_ready)?;
    let answered = timeout(DISK_TIMEOUT, reply).await.map_err(|_| {
        let message = format!("the disk does not answer within {DISK_TIMEOUT:?}");
        ApiError::new(
            ErrorKind::Busy,
            message,
            "Check the disk of the state directory.",
        )
    })?;
    let result = answered.map_err(|_| not_ready())?;
    Ok(result.map_err(|refusal| error(&refusal))?)
}

fn error(refusal: &CaptureRefusal) -> ApiError {
    match refusal {
        CaptureRefusal::Runs(file) => ApiError::new(
            ErrorKind::Conflict,
            format!("a capture runs already, in {}", file.display()),
            "End it with `ferrosm capture stop`.",
        ),
        CaptureRefusal::NoneRuns => ApiError::new(
            ErrorKind::NotApplicable,
            "no capture runs",
            "`ferrosm capture status` shows the last one.",
        ),
        CaptureRefusal::NoPort => ApiError::new(
            ErrorKind::NotReady,
            "the service waits for its local port",
            "`ferrosm status` shows what the service does.",
        ),
        CaptureRefusal::Exists(file) => ApiError::new(
            ErrorKind::Conflict,
            format!("{} exists", file.display()),
            "An existing file is not replaced. Name another file, or remove this one.",
        ),
        CaptureRefusal::Io(file, e) => ApiError::new(
            ErrorKind::Internal,
            format!("cannot create {}: {e}", file.display()),
            "Check the disk of the state directory.",
        ),
    }
}
