//! The resources of predictions.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State as Shared};
use axum::routing::get;
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer, ListQuery, Page};
use ferrosm_api::what_if::{SingleLossEffect, WhatIf, WhatIfQuery, WhatIfRequest};
use serde_json::Value;

use super::{ListOf, Result, answer, invalid, list, ready, role_of};
use crate::api::access::Client;
use crate::api::what_if::request;
use crate::api::{Service, WHAT_IF_BODY_MAX};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/whatif", get(get_what_if).post(post_what_if))
        .route("/v1/whatif/single-losses", get(get_single_losses))
}

/// What a loss, or another routing engine, would do. The routing is predicted as the SM would
/// compute it, and verified. One prediction is computed at a time for clients with the role `view`,
/// and one for all others.
#[utoipa::path(get, path = "/v1/whatif", params(WhatIfQuery), responses(
    (status = 200, body = Answer<WhatIf>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_what_if(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<WhatIfQuery>, QueryRejection>,
) -> Result<WhatIf> {
    let Query(query) = query?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let role = role_of(&service, &client);
    let predictor = &service.predictor;
    let predicted = predictor.predict(&state, request(&query), role).await?;
    Ok(answer(&state, fabric.at, predicted))
}

/// What the loss of each single switch and link would cut off, the worst first. Independent of
/// routes.
#[utoipa::path(get, path = "/v1/whatif/single-losses", params(ListQuery), responses(
    (status = 200, body = Answer<Page<SingleLossEffect>>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_single_losses(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: ListOf,
) -> Result<Page<Value>> {
    let Query(query) = query?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let role = role_of(&service, &client);
    let effects = service.predictor.single_losses(&state, role).await?;
    let page = list::page(effects, &query)?;
    Ok(answer(&state, fabric.at, page))
}

/// The same with nodes and cables that are added. Nothing changes. The body has at most 8 MiB.
#[utoipa::path(post, path = "/v1/whatif", request_body = WhatIfRequest, responses(
    (status = 200, body = Answer<WhatIf>), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 409, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn post_what_if(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    body: Request,
) -> Result<WhatIf> {
    let body = axum::body::to_bytes(body.into_body(), WHAT_IF_BODY_MAX)
        .await
        .map_err(|error| invalid(error.to_string()))?;
    let request: WhatIfRequest =
        serde_json::from_slice(&body).map_err(|error| invalid(error.to_string()))?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let role = role_of(&service, &client);
    let predicted = service.predictor.predict(&state, request, role).await?;
    Ok(answer(&state, fabric.at, predicted))
}
