//! What requests must have before they reach a resource: a body of limited size, and over TCP no
//! sign of a page in a browser.

use axum::extract::{Request, State as Shared};
use axum::http::HeaderName;
use axum::http::header::ORIGIN;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ferrosm_api::access::ClientRole;
use ferrosm_api::answer::{ApiError, ErrorKind};

use super::access::Client;
use super::routes::Failed;
use super::{CONFIG_BODY_MAX, REQUEST_BODY_MAX, REQUEST_TIMEOUT, Service, WHAT_IF_BODY_MAX};

/// From where a page in a browser sent a request, which the browser adds.
pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Receives the body of a request in time, and refuses a long one.
pub(super) async fn receive_body(
    Shared(service): Shared<Service>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    let client = head.extensions.get::<Client>();
    let role = client.and_then(|client| service.client_roles.of(client));
    let len_max = match head.uri.path() {
        "/v1/config" if role == Some(ClientRole::Admin) => CONFIG_BODY_MAX,
        "/v1/whatif" if role.is_some() => WHAT_IF_BODY_MAX,
        _ => REQUEST_BODY_MAX,
    };
    let receive = axum::body::to_bytes(body, len_max);
    let error = match tokio::time::timeout(REQUEST_TIMEOUT, receive).await {
        Ok(Ok(body)) => return next.run(Request::from_parts(head, body.into())).await,
        Ok(Err(_)) => format!("request body longer than {len_max} bytes, or incomplete"),
        Err(_) => format!("request body not received within {REQUEST_TIMEOUT:?}"),
    };
    Failed::from(ApiError::new(ErrorKind::InvalidRequest, error, "")).into_response()
}

/// Refuses requests of pages in a browser: one that holds a certificate of a client would send it
/// with the request of any page.
pub(super) async fn refuse_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let site = headers.get(SEC_FETCH_SITE);
    if !headers.contains_key(ORIGIN) && site.is_none_or(|site| site == "none") {
        return next.run(request).await;
    }
    let error = ApiError::new(
        ErrorKind::Forbidden,
        "the request is from a page in a browser",
        "The page of ferrosm is served at another address (`[web]`).",
    );
    Failed::from(error).into_response()
}
