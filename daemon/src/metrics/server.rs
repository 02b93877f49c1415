//! Metrics over HTTP: a thread of its own that answers `GET /metrics`.
//!
//! Serving the fabric never depends on it. An address that cannot be had is told and tried again. Who asks gets one answer on a
//! connection; slow ones and more than a few at a time are not waited for. It is plain HTTP and knows no users: it listens where the
//! operator says, and nowhere otherwise.

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
use tracing::{debug, info, warn};

use super::Metrics;

/// Where the metrics are.
const PATH: &str = "/metrics";
/// The form of the text.
const FORM: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Connections at a time; others wait in the system's queue.
const CONNECTIONS: usize = 8;
/// Time for one question and its answer.
const WITHIN: Duration = Duration::from_secs(10);
/// Time until an address that was not to be had is tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// Time after a connection that could not be taken: without it, one that stays so would take the processor.
const PAUSE: Duration = Duration::from_millis(100);

/// The running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves them where the settings of a process that goes on say so. What keeps it from that is told, and keeps no fabric from being
/// served.
#[must_use]
pub fn start_if_configured(listen: Option<SocketAddr>, metrics: &Metrics) -> Option<Server> {
    let started = Server::start(listen?, metrics.clone());
    started
        .map_err(|e| warn!(error = %e, "cannot start metrics thread"))
        .ok()
}

impl Server {
    /// Starts it. Whether the address can be had shows later.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(listen: SocketAddr, metrics: Metrics) -> io::Result<Self> {
        let runtime: Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = crate::threads::start("metrics", move || {
            runtime.block_on(async {
                tokio::select! {
                    // Also where nobody can tell any more.
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
        crate::threads::join(&mut self.thread, "metrics");
    }
}

async fn serve(listen: SocketAddr, metrics: Metrics) {
    let listener = listener(listen, AGAIN).await;
    answer_all(listener, metrics).await;
}

async fn answer_all(listener: TcpListener, metrics: Metrics) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let metrics = metrics.clone();
                tokio::spawn(async move {
                    if let Ok(Err(e)) = tokio::time::timeout(WITHIN, answer(stream, metrics)).await
                    {
                        debug!(error = %e, %from, "metrics request failed");
                    }
                    drop(place);
                });
            }
            Err(e) => {
                debug!(error = %e, "cannot accept metrics connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Listens as soon as it can.
async fn listener(listen: SocketAddr, again: Duration) -> TcpListener {
    let mut told = false;
    loop {
        let tried = TcpListener::bind(listen).await;
        match tried.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => {
                info!(
                    url = format!("http://{address}{PATH}"),
                    "metrics listener started"
                );
                return listener;
            }
            Err(e) => {
                if !core::mem::replace(&mut told, true) {
                    warn!(error = %e, %listen, "cannot bind metrics listener");
                }
                tokio::time::sleep(again).await;
            }
        }
    }
}

/// One question, one answer.
async fn answer(stream: TcpStream, metrics: Metrics) -> hyper::Result<()> {
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
        return say(
            StatusCode::NOT_FOUND,
            "metrics of ferrosm are at /metrics\n",
        );
    }
    if method != Method::GET && method != Method::HEAD {
        let mut refusal = say(StatusCode::METHOD_NOT_ALLOWED, "metrics can only be read\n");
        let allowed = HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        return refusal;
    }
    match metrics.text() {
        Ok(text) => {
            let mut response = Response::new(Full::from(text));
            let form = HeaderValue::from_static(FORM);
            response.headers_mut().insert(CONTENT_TYPE, form);
            response
        }
        Err(e) => say(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("no metrics: {e}\n"),
        ),
    }
}

fn say(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(words.to_owned()));
    *response.status_mut() = status;
    let form = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, form);
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn run<T>(what: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(what)
    }

    /// What comes back when this is said.
    async fn said(at: SocketAddr, words: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Who asks for something else is told where the metrics are, and who says nothing keeps nobody waiting.
    #[test]
    fn one_page_is_served_and_nothing_else() {
        run(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let at = listener.local_addr().unwrap();
            let metrics = Metrics::default();
            let _of = metrics.for_fabric(Some("a"));
            tokio::spawn(answer_all(listener, metrics));
            let mut silent = Vec::new();
            for _ in 0..CONNECTIONS - 1 {
                silent.push(TcpStream::connect(at).await.unwrap());
            }
            let page = said(at, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
            assert!(page.contains(FORM), "{page}");
            assert!(page.contains("ferrosm_served{fabric=\"a\"} 0\n"), "{page}");
            assert!(page.ends_with("# EOF\n"), "{page}");
            let head = said(at, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(head.ends_with("\r\n\r\n"), "{head}");
            let other = said(at, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
            assert!(other.contains("at /metrics"), "{other}");
            let post = said(at, "POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert!(post.starts_with("HTTP/1.1 405 "), "{post}");
            assert!(post.to_lowercase().contains("allow: get, head"), "{post}");
            let garbage = said(at, "\r\n\0\u{ff}\r\n\r\n").await;
            assert!(!garbage.contains("200"), "{garbage}");
        });
    }

    /// An address that somebody else has is had when that one ends.
    #[test]
    fn an_address_is_tried_again() {
        let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = taken.local_addr().unwrap();
        run(async {
            let mut waits = core::pin::pin!(listener(at, Duration::from_millis(1)));
            let tries = tokio::time::timeout(Duration::from_millis(5), &mut waits);
            assert!(tries.await.is_err(), "somebody else listens there");
            drop(taken);
            assert_eq!(waits.await.local_addr().unwrap(), at);
        });
    }
}
