//! Metrics over HTTP: `GET /metrics`.
//!
//! Plain HTTP without authentication, only at the configured address, and nothing but this path.

use core::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::Metrics;
use crate::http::HttpThread;
use crate::http::endpoint::{self, Slots};

/// Path of the metrics.
const PATH: &str = "/metrics";
/// Content type of the metrics.
const CONTENT_TYPE_OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Concurrent connections.
const CONNECTIONS_MAX: usize = 8;

/// Serves the metrics if an address is configured.
pub fn serve_if_configured(
    http: Option<&HttpThread>,
    listen: Option<SocketAddr>,
    metrics: &Metrics,
) {
    if let Some((http, listen)) = http.zip(listen) {
        let router = router(metrics.clone());
        let slots = Slots::new(CONNECTIONS_MAX);
        http.serve(|closing| endpoint::serve_tcp(listen, PATH, router, slots, |_| {}, closing));
    }
}

fn router(metrics: Metrics) -> Router {
    Router::new()
        .route(PATH, get(get_metrics))
        .fallback(no_resource)
        .method_not_allowed_fallback(no_method)
        .with_state(metrics)
}

async fn get_metrics(State(metrics): State<Metrics>) -> Response {
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, CONTENT_TYPE_OPENMETRICS)], text).into_response(),
        Err(e) => {
            let text = format!("cannot encode metrics: {e}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

async fn no_resource() -> (StatusCode, &'static str) {
    (
        StatusCode::NOT_FOUND,
        "not found: metrics are at /metrics\n",
    )
}

async fn no_method() -> Response {
    let text = "only GET and HEAD are allowed\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")], text).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    /// Sends a request; returns the status, one header and the body.
    async fn exchange(method: &str, path: &str) -> (u16, String, String) {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).unwrap();
        let service = TowerToHyperService::new(router(Metrics::default()));
        let response = service.call(request).await.unwrap();
        let status = response.status().as_u16();
        let header = if status == 405 { ALLOW } else { CONTENT_TYPE };
        let header = response.headers()[header].to_str().unwrap().to_owned();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, header, String::from_utf8(body.to_vec()).unwrap())
    }

    /// Other paths and methods are rejected.
    #[test]
    fn only_the_metrics_path_is_served() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let (status, content_type, page) = exchange("GET", "/metrics").await;
            assert_eq!((status, &content_type[..]), (200, CONTENT_TYPE_OPENMETRICS));
            assert!(page.contains("ferrosm_served{} 0\n"), "{page}");
            assert!(page.ends_with("# EOF\n"), "{page}");
            let (status, _, body) = exchange("HEAD", "/metrics").await;
            assert_eq!((status, &body[..]), (200, ""));
            let (status, _, body) = exchange("GET", "/").await;
            assert_eq!(status, 404);
            assert!(body.contains("at /metrics"), "{body}");
            let (status, allowed, _) = exchange("POST", "/metrics").await;
            assert_eq!(status, 405);
            assert_eq!(allowed.to_uppercase().replace(' ', ""), "GET,HEAD");
        });
    }
}
