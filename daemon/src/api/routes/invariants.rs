//! The resource of the declared invariants.

use axum::Router;
use axum::extract::State as Shared;
use axum::response::Json;
use axum::routing::get;
use ferrosm_api::answer::Answer;
use ferrosm_api::invariant::Invariants;

use super::answer;
use crate::api::{Service, intent_check};

pub(super) fn router() -> Router<Service> {
    Router::new().route("/v1/invariants", get(get_invariants))
}

/// The declared invariants (`[[invariant]]`), and whether they hold. The master checks them after
/// each sweep.
#[utoipa::path(get, path = "/v1/invariants", responses((status = 200, body = Answer<Invariants>)))]
pub(super) async fn get_invariants(Shared(service): Shared<Service>) -> Json<Answer<Invariants>> {
    let state = service.published.state();
    answer(&state, state.at, intent_check::invariants(&state))
}
