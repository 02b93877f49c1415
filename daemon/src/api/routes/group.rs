//! Resources of multicast groups and hosts.

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as InPath, Query, State as Shared};
use axum::routing::get;
use ferrosm_api::answer::{Answer, ErrorAnswer, ListQuery, Page};
use ferrosm_api::group::{Group, GroupMember, Host};
use serde_json::Value;

use super::{ListOf, Result, answer, ready};
use crate::api::{Service, group, list};

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/v1/groups", get(get_groups))
        .route("/v1/groups/{group}/members", get(get_group_members))
        .route("/v1/hosts/{host}", get(get_host))
}

/// The multicast groups, as the SA has them.
#[utoipa::path(get, path = "/v1/groups", params(ListQuery), responses(
    (status = 200, body = Answer<Page<Group>>), (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_groups(
    Shared(service): Shared<Service>,
    query: ListOf,
) -> Result<Page<Value>> {
    let Query(query) = query?;
    let groups = service.registrations.groups().await?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let page = list::page(group::groups(&fabric.snapshot, &groups), &query)?;
    Ok(answer(&state, fabric.at, page))
}

/// The members of a multicast group.
#[utoipa::path(get, path = "/v1/groups/{group}/members",
    params(("group" = String, Path, description = "MGID, or MLID: all groups that share it"), ListQuery),
    responses((status = 200, body = Answer<Page<GroupMember>>), (status = 400, body = ErrorAnswer),
        (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_group_members(
    Shared(service): Shared<Service>,
    name: core::result::Result<InPath<String>, PathRejection>,
    query: core::result::Result<Query<ListQuery>, QueryRejection>,
) -> Result<Page<Value>> {
    let InPath(name) = name?;
    let Query(query) = query?;
    let groups = service.registrations.groups().await?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let page = list::page(group::members(&fabric.snapshot, &groups, &name)?, &query)?;
    Ok(answer(&state, fabric.at, page))
}

/// The ports of a host, with their partitions and multicast groups.
#[utoipa::path(get, path = "/v1/hosts/{host}",
    params(("host" = String, Path, description = "GUID of a port or node, LID, name, or name/port")),
    responses((status = 200, body = Answer<Host>), (status = 400, body = ErrorAnswer),
        (status = 404, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_host(
    Shared(service): Shared<Service>,
    name: core::result::Result<InPath<String>, PathRejection>,
) -> Result<Host> {
    let InPath(name) = name?;
    let groups = service.registrations.groups().await?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let host = group::host(fabric, &state, &groups, &name)?;
    Ok(answer(&state, fabric.at, host))
}
