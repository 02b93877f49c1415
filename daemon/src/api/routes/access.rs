//! The role that each request needs. The router, the OpenAPI document and docs/api.md follow from
//! this table.

use axum::extract::{MatchedPath, Query, Request, State as Shared};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use ferrosm_api::access::ClientRole;
use ferrosm_api::answer::{ApiError, ErrorKind};
use serde::Deserialize;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};

use super::Failed;
use crate::api::Service;
use crate::api::access::Client;

/// Reads of the fabric, not of what is published: they need `operate`, as fresh ones do.
const READS_OF_FABRIC: &[&str] = &["/v1/plan"];

/// The role that each write needs. Reads need `view`, except those of the fabric.
pub(super) const WRITES: &[(Method, &str, ClientRole)] = &[
    // It changes nothing, but has a body.
    (Method::POST, "/v1/whatif", ClientRole::View),
    // The session gets no more than the role of the client.
    (Method::POST, "/v1/web/login", ClientRole::View),
    (Method::POST, "/v1/sweep", ClientRole::Operate),
    (Method::POST, "/v1/reroute", ClientRole::Operate),
    (Method::POST, "/v1/drain", ClientRole::Operate),
    (Method::POST, "/v1/undrain", ClientRole::Operate),
    (Method::POST, "/v1/ports/disable", ClientRole::Operate),
    (Method::POST, "/v1/ports/enable", ClientRole::Operate),
    (Method::POST, "/v1/ports/set", ClientRole::Operate),
    (Method::POST, "/v1/ports/unset", ClientRole::Operate),
    (Method::POST, "/v1/alarms/{id}/ack", ClientRole::Operate),
    (Method::POST, "/v1/forget", ClientRole::Operate),
    (Method::POST, "/v1/notify/test", ClientRole::Operate),
    (Method::POST, "/v1/sa/limit", ClientRole::Operate),
    (Method::POST, "/v1/capture/start", ClientRole::Admin),
    (Method::POST, "/v1/capture/stop", ClientRole::Admin),
    (Method::PUT, "/v1/partitions/{partition}", ClientRole::Admin),
    (
        Method::DELETE,
        "/v1/partitions/{partition}",
        ClientRole::Admin,
    ),
    (
        Method::PATCH,
        "/v1/partitions/{partition}/members",
        ClientRole::Admin,
    ),
    (Method::POST, "/v1/keys/{key}/rotate", ClientRole::Admin),
    (Method::POST, "/v1/handover", ClientRole::Admin),
    (Method::POST, "/v1/takeover", ClientRole::Admin),
    (Method::POST, "/v1/config", ClientRole::Admin),
    (
        Method::POST,
        "/v1/config/{revision}/confirm",
        ClientRole::Admin,
    ),
    (
        Method::POST,
        "/v1/config/{revision}/rollback",
        ClientRole::Admin,
    ),
];

/// Whether a read has the SM send requests first. Other parameters are for the resource.
#[derive(Deserialize)]
struct Freshness {
    #[serde(default)]
    fresh: bool,
}

/// The role that a request needs.
fn needed(method: &Method, path: &str) -> ClientRole {
    if [Method::GET, Method::HEAD].contains(method) {
        return match READS_OF_FABRIC.contains(&path) {
            true => ClientRole::Operate,
            false => ClientRole::View,
        };
    }
    let row = WRITES
        .iter()
        .find(|(of, at, _)| of == method && *at == path);
    // The least surprise for a missing row, which a test finds.
    row.map_or(ClientRole::Admin, |(_, _, role)| *role)
}

/// Refuses requests of clients without the role that they need.
pub(super) async fn check_role(
    Shared(service): Shared<Service>,
    request: Request,
    next: Next,
) -> Result<Response, Failed> {
    let extensions = request.extensions();
    let client = extensions
        .get::<Client>()
        .ok_or_else(|| ApiError::new(ErrorKind::Internal, "a client without identity", ""))?;
    // A path that is no resource is refused later.
    let path = extensions.get::<MatchedPath>();
    let mut role = path.map_or(ClientRole::View, |path| {
        needed(request.method(), path.as_str())
    });
    let freshness = Query::<Freshness>::try_from_uri(request.uri());
    if freshness.is_ok_and(|Query(query)| query.fresh) {
        role = role.max(ClientRole::Operate);
    }
    client.require(role, &service.client_roles)?;
    Ok(next.run(request).await)
}

/// Adds the role to each operation of the document, as `x-role`, and the answer without it.
pub(super) fn describe(document: &mut OpenApi) {
    let error = Ref::from_schema_name("ErrorAnswer");
    let forbidden = ResponseBuilder::new()
        .content("application/json", Content::new(Some(error)))
        .build();
    for (path, item) in &mut document.paths.paths {
        let operations = [
            (Method::GET, &mut item.get),
            (Method::POST, &mut item.post),
            (Method::PUT, &mut item.put),
            (Method::PATCH, &mut item.patch),
            (Method::DELETE, &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                let role = needed(&method, path).name();
                let extension = ExtensionsBuilder::new().add("x-role", role).build();
                operation.extensions = Some(extension);
                let responses = &mut operation.responses.responses;
                responses
                    .entry("403".to_owned())
                    .or_insert_with(|| RefOr::T(forbidden.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use utoipa::OpenApi as _;

    use super::*;
    use crate::api::routes::Document;

    /// Each write of the document has a row, and each row is a write of the document.
    #[test]
    fn each_write_has_a_role() {
        let mut document = Document::openapi();
        describe(&mut document);
        let mut writes = 0;
        for (path, item) in &document.paths.paths {
            let operations = [
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            for (method, _) in operations.iter().filter(|(_, found)| found.is_some()) {
                let has_row = |(of, at, _): &(Method, &str, ClientRole)| of == method && at == path;
                assert!(WRITES.iter().any(has_row), "{method} {path}");
                writes += 1;
            }
        }
        assert_eq!(WRITES.len(), writes);
        let text = document.to_json().unwrap();
        assert!(text.contains("\"x-role\":\"operate\""), "{text}");
        let status = &document.paths.paths["/v1/status"];
        let get = status.get.as_ref().unwrap();
        assert!(get.responses.responses.contains_key("403"));
    }

    /// docs/api.md lists the writes of each role.
    #[test]
    fn roles_are_documented() {
        let doc = include_str!("../../../../docs/api.md");
        for role in [ClientRole::Operate, ClientRole::Admin] {
            let mut rows: Vec<String> = Vec::new();
            for (method, path, _) in WRITES.iter().filter(|(_, _, of)| *of == role) {
                rows.push(format!("`{method} {path}`"));
            }
            if role == ClientRole::Operate {
                rows.extend(READS_OF_FABRIC.iter().map(|path| format!("`GET {path}`")));
            }
            let row = format!("`{}` | {}", role.name(), rows.join(", "));
            assert!(doc.contains(&row), "missing in docs/api.md:\n{row}");
        }
    }
}
