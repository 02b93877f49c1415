//! The plan of a start.

use std::time::SystemTime;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::routing::get;
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer};
use ferrosm_api::command::Removal;
use ferrosm_api::plan::{Plan, PlanQuery};
use ferrosm_core::report::foreign_settings::RemovalKind;
use serde_json::Value;

use super::{Result, answer, invalid, kind_of};
use crate::api::Service;
use crate::api::start_plan::StartPlanOptions;

pub(super) fn router() -> Router<Service> {
    Router::new().route("/v1/plan", get(get_plan))
}

/// What this SM would write to the fabric if it started now, with the configuration in force.
/// Nothing is written, but the fabric is read, which takes as long as a sweep, at most 60 s. One
/// plan is made at a time.
#[utoipa::path(get, path = "/v1/plan", params(PlanQuery), responses(
    (status = 200, body = Answer<Plan>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_plan(
    Shared(service): Shared<Service>,
    query: core::result::Result<Query<PlanQuery>, QueryRejection>,
) -> Result<Plan> {
    let Query(query) = query?;
    let names = query.accept.as_deref().unwrap_or_default().split(',');
    let named = names.filter(|name| !name.is_empty());
    let options = StartPlanOptions {
        accepted: named
            .map(removal)
            .collect::<core::result::Result<_, ApiError>>()?,
        lists_writes: query.full,
    };
    let plan = service.start_planner.plan(options).await?;
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), plan))
}

/// The removal with this name.
fn removal(name: &str) -> core::result::Result<RemovalKind, ApiError> {
    let named = serde_json::from_value::<Removal>(Value::from(name));
    named.map(kind_of).map_err(|_| {
        let expected = "p-key-removal, lmc-change, m-key-removal or qos-removal";
        invalid(format!("no removal `{name}`: expected {expected}"))
    })
}
