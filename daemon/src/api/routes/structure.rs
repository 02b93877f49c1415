//! The resources for drawings of the fabric.

use axum::extract::State as Shared;
use axum::routing::get;
use axum::{Extension, Router};
use ferrosm_api::answer::{Answer, ErrorAnswer};
use ferrosm_api::structure::{FabricStructure, LinkLoad};

use super::{Result, answer, ready, role_of};
use crate::api::Service;
use crate::api::access::Client;

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/structure", get(get_structure))
        .route("/v1/load", get(get_load))
}

/// The structure that the SM detects from the links: where each switch is in a tree, grid or
/// dragonfly.
#[utoipa::path(get, path = "/v1/structure", responses(
    (status = 200, body = Answer<FabricStructure>), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_structure(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
) -> Result<FabricStructure> {
    let state = service.published.state();
    let fabric = ready(&state)?;
    let structure = service
        .predictor
        .structure(&state, role_of(&service, &client))
        .await?;
    Ok(answer(&state, fabric.at, structure))
}

/// The routes over each link between switches, in each direction.
#[utoipa::path(get, path = "/v1/load", responses(
    (status = 200, body = Answer<LinkLoad>), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_load(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
) -> Result<LinkLoad> {
    let state = service.published.state();
    let fabric = ready(&state)?;
    let load = service
        .predictor
        .load(&state, role_of(&service, &client))
        .await?;
    Ok(answer(&state, fabric.at, load))
}
