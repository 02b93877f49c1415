//! Metrics over HTTP: a thread that answers `GET /metrics`.
//!
//! The subnet is served without metrics if the address cannot be bound: the failure is logged and
//! binding retried. Each connection gets one response within a time limit; the number of
//! connections is bounded. Plain HTTP without authentication, only at the configured address.

use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tracing::{debug, error, info, warn};

use super::Metrics;

/// Path of the metrics.
const PATH: &str = "/metrics";
/// Content type of the metrics.
const CONTENT_TYPE_OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Concurrent connections; further ones wait in the accept queue.
const CONNECTIONS_MAX: usize = 8;
/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts to bind the address.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// Delay after a failed accept, so that a persistent failure does not consume the CPU.
const ACCEPT_DELAY: Duration = Duration::from_millis(100);

/// The running server; dropping it stops the thread.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts the server if an address is configured. A failure is logged; the subnet is served without
/// metrics.
#[must_use]
pub fn start_if_configured(listen: Option<SocketAddr>, metrics: &Metrics) -> Option<Server> {
    let started = Server::start(listen?, metrics.clone());
    started
        .map_err(|e| warn!(error = %e, "cannot start metrics thread"))
        .ok()
}

impl Server {
    /// Starts the thread, which binds the address in the background.
    ///
    /// # Errors
    /// The thread or its runtime cannot be started.
    pub fn start(listen: SocketAddr, metrics: Metrics) -> io::Result<Self> {
        let runtime: Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        // The sender is dropped to stop the server.
                        _ = stopped => {}
                        () = serve(listen, metrics) => {}
                    }
                });
            })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            error!(thread = "metrics", "thread panicked");
        }
    }
}

async fn serve(listen: SocketAddr, metrics: Metrics) {
    let listener = bind(listen, RETRY_INTERVAL).await;
    serve_connections(listener, metrics).await;
}

async fn serve_connections(listener: TcpListener, metrics: Metrics) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let metrics = metrics.clone();
                tokio::spawn(async move {
                    if let Ok(Err(e)) =
                        tokio::time::timeout(REQUEST_TIMEOUT, serve_connection(stream, metrics))
                            .await
                    {
                        debug!(error = %e, %from, "metrics request failed");
                    }
                    drop(permit);
                });
            }
            Err(e) => {
                debug!(error = %e, "cannot accept metrics connection");
                tokio::time::sleep(ACCEPT_DELAY).await;
            }
        }
    }
}

/// Binds the address, with retries.
async fn bind(listen: SocketAddr, retry_interval: Duration) -> TcpListener {
    let mut is_logged = false;
    loop {
        let bound = TcpListener::bind(listen).await;
        match bound.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => {
                info!(
                    url = format!("http://{address}{PATH}"),
                    "metrics listener started"
                );
                return listener;
            }
            Err(e) => {
                if !core::mem::replace(&mut is_logged, true) {
                    let retry_s = retry_interval.as_secs();
                    let effect = "no metrics until it succeeds";
                    warn!(error = e.to_string(), %listen, retry_s, effect, "cannot bind metrics listener");
                }
                tokio::time::sleep(retry_interval).await;
            }
        }
    }
}

/// Serves one request.
async fn serve_connection(stream: TcpStream, metrics: Metrics) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let metrics = metrics.clone();
        async move { Ok::<_, Infallible>(respond(request.method(), request.uri().path(), &metrics)) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn respond(method: &Method, path: &str, metrics: &Metrics) -> Response<Full<Bytes>> {
    if path != PATH {
        return plain_text(
            StatusCode::NOT_FOUND,
            "not found: metrics are at /metrics\n",
        );
    }
    if method != Method::GET && method != Method::HEAD {
        let mut response = plain_text(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD are allowed\n",
        );
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    match metrics.text() {
        Ok(text) => {
            let mut response = Response::new(Full::from(text));
            let content_type = HeaderValue::from_static(CONTENT_TYPE_OPENMETRICS);
            response.headers_mut().insert(CONTENT_TYPE, content_type);
            response
        }
        Err(e) => plain_text(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("cannot encode metrics: {e}\n"),
        ),
    }
}

fn plain_text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text.to_owned()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(future)
    }

    /// Sends a request and returns the response.
    async fn exchange(at: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    /// Other paths and methods are rejected; idle connections do not block others.
    #[test]
    fn only_the_metrics_path_is_served() {
        run(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let at = listener.local_addr().unwrap();
            let metrics = Metrics::default();
            tokio::spawn(serve_connections(listener, metrics));
            let mut idle = Vec::new();
            for _ in 0..CONNECTIONS_MAX - 1 {
                idle.push(TcpStream::connect(at).await.unwrap());
            }
            let page = exchange(at, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
            assert!(page.contains(CONTENT_TYPE_OPENMETRICS), "{page}");
            assert!(page.contains("ferrosm_served{} 0\n"), "{page}");
            assert!(page.ends_with("# EOF\n"), "{page}");
            let head = exchange(at, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(head.ends_with("\r\n\r\n"), "{head}");
            let other = exchange(at, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
            assert!(other.contains("at /metrics"), "{other}");
            let post = exchange(at, "POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
            assert!(post.to_lowercase().contains("allow: get, head"), "{post}");
            let garbage = exchange(at, "\r\n\0\u{ff}\r\n\r\n").await;
            assert!(!garbage.contains("200"), "{garbage}");
        });
    }

    /// An address in use is bound once it is free.
    #[test]
    fn binding_is_retried() {
        let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = taken.local_addr().unwrap();
        run(async {
            let mut binding = core::pin::pin!(bind(at, Duration::from_millis(1)));
            let attempt = tokio::time::timeout(Duration::from_millis(5), &mut binding);
            assert!(attempt.await.is_err(), "the address is in use");
            drop(taken);
            assert_eq!(binding.await.local_addr().unwrap(), at);
        });
    }
}
