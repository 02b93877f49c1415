//! The resources for drawings of the fabric.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use clap::ValueEnum;
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer};
use ferrosm_api::path::PathQuery;
use ferrosm_api::structure::{FabricStructure, LinkLoad};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Failed, Result, answer, invalid, ready, role_of};
use crate::api::access::Client;
use crate::api::drawing::{DrawingRequest, Emphasis};
use crate::api::{Service, path};
use crate::drawing::DrawingDetail;

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/structure", get(get_structure))
        .route("/v1/load", get(get_load))
        .route("/v1/drawing.svg", get(get_drawing))
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

/// The query of a drawing.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DrawingQuery {
    /// What a box stands for: `switches`, `groups` or `racks`; if absent, a switch if there are at
    /// most 60 (2,500 in a grid), otherwise a group.
    level: Option<String>,
    /// What is drawn strongly: `states` (default; what is not up), `alarms`, `load`, or `path`,
    /// which needs `from` and `to`.
    highlight: Option<String>,
    /// The port where the path begins: GUID, LID, name, or `name/port`.
    from: Option<String>,
    /// The port where it ends.
    to: Option<String>,
}

/// The fabric on one page, by its structure, as SVG.
#[utoipa::path(get, path = "/v1/drawing.svg", params(DrawingQuery), responses(
    (status = 200, body = String, content_type = "image/svg+xml"), (status = 400, body = ErrorAnswer),
    (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_drawing(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: core::result::Result<Query<DrawingQuery>, QueryRejection>,
) -> core::result::Result<Response, Failed> {
    let Query(query) = query?;
    let state = service.published.state();
    let emphasis = match query.highlight.as_deref().unwrap_or("states") {
        "states" => Emphasis::States,
        "alarms" => Emphasis::Alarms(service.alarms.list()),
        "load" => Emphasis::Load,
        "path" => {
            let path_query = PathQuery {
                from: query.from.unwrap_or_default(),
                to: query.to.unwrap_or_default(),
                at: None,
                fresh: false,
            };
            let found = path::path(ready(&state)?, &path_query)?;
            Emphasis::Path(Box::new(found.path))
        }
        other => {
            let expected = "states, alarms, load or path";
            return Err(invalid(format!("no highlight `{other}`: expected {expected}")).into());
        }
    };
    let request = DrawingRequest {
        detail: query.level.as_deref().map(detail).transpose()?,
        emphasis,
    };
    let role = role_of(&service, &client);
    let svg = service.predictor.drawing(&state, request, role).await?;
    Ok(([(CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

fn detail(level: &str) -> core::result::Result<DrawingDetail, ApiError> {
    DrawingDetail::from_str(level, false).map_err(|_| {
        let expected = "switches, groups or racks";
        invalid(format!("no level `{level}`: expected {expected}"))
    })
}
