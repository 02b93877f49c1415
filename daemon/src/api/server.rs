//! The thread of the API, which serves the Unix socket.
//!
//! It has its own runtime, so that no client slows the SM down. The subnet is served without an API
//! if the socket cannot be created: the failure is logged.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tracing::{debug, error, info, warn};

use super::published::Published;
use super::{CLIENTS_MAX, HEAD_TIMEOUT, REQUEST_BODY_MAX, routes};

/// Delay after a failed accept: the process has no file descriptor left.
const ACCEPT_DELAY: core::time::Duration = core::time::Duration::from_secs(1);

/// The running server. Dropping it stops the thread and removes the socket.
#[derive(Debug)]
pub struct ApiServer {
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the API at a socket of a directory that this process has locked. A failure is logged.
#[must_use]
pub fn start(path: &Path, published: &Published) -> Option<ApiServer> {
    let started = ApiServer::start(path, published.clone());
    started
        .map_err(|error| {
            let effect = "`ferrosm status` and other questions are not answered";
            warn!(%error, path = %path.display(), effect, "cannot serve the API");
        })
        .ok()
}

impl ApiServer {
    fn start(path: &Path, published: Published) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            // A service that was killed leaves its socket.
            _ => {}
        }
        let listener = std::os::unix::net::UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let router = routes::router(published).layer(DefaultBodyLimit::max(REQUEST_BODY_MAX));
        let thread = std::thread::Builder::new()
            .name("api".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let listener = match UnixListener::from_std(listener) {
                        Ok(listener) => listener,
                        Err(error) => {
                            warn!(%error, "cannot serve the API");
                            return;
                        }
                    };
                    tokio::select! {
                        // The sender is dropped to stop the server.
                        _ = stopped => {}
                        () = serve(listener, router) => {}
                    }
                });
            })?;
        info!(socket = %path.display(), "API started");
        Ok(Self {
            path: path.to_owned(),
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            error!(thread = "api", "thread panicked");
        }
        // The file may have been removed by hand.
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(listener: UnixListener, router: Router) {
    let permits = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve_client(stream, router).await {
                        debug!(%error, "API connection failed");
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                warn!(%error, "cannot accept API client");
                tokio::time::sleep(ACCEPT_DELAY).await;
            }
        }
    }
}

/// Serves the requests of a client in turn.
async fn serve_client(stream: UnixStream, router: Router) -> hyper::Result<()> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Sends a request on a connection that then closes; returns the response.
    fn exchange(path: &Path, request: &str) -> String {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn get(path: &Path, target: &str) -> String {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        exchange(path, &request)
    }

    /// Before the fabric is discovered, the service answers for itself; errors are JSON; idle and
    /// broken clients do not keep others waiting.
    #[test]
    fn starting_service_answers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("api.sock");
        let server = start(&path, &Published::default()).unwrap();
        let idle: Vec<UnixStream> = (1..CLIENTS_MAX)
            .map(|_| UnixStream::connect(&path).unwrap())
            .collect();
        let status = get(&path, "/v1/status");
        assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
        assert!(status.contains("\"role\":\"discovering\""), "{status}");
        let health = get(&path, "/v1/health");
        assert!(health.contains("\"state\":\"unknown\""), "{health}");
        for target in ["/v1/limits", "/v1/nodes", "/v1/paths?from=1&to=2"] {
            let early = get(&path, target);
            assert!(early.starts_with("HTTP/1.1 503 "), "{early}");
            assert!(early.contains("\"kind\":\"not-ready\""), "{early}");
        }
        for (target, status, kind) in [
            ("/v1/absent", 404, "not-found"),
            ("/v1/paths?from=1", 400, "invalid-request"),
            ("/v1/links?limits=1", 400, "invalid-request"),
        ] {
            let refused = get(&path, target);
            assert!(
                refused.starts_with(&format!("HTTP/1.1 {status} ")),
                "{refused}"
            );
            assert!(
                refused.contains(&format!("\"kind\":\"{kind}\"")),
                "{refused}"
            );
            assert!(refused.contains("/v1/openapi.json"), "{refused}");
        }
        let post = "POST /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        assert!(exchange(&path, post).starts_with("HTTP/1.1 405 "));
        assert!(!exchange(&path, "\u{1}\r\n\r\n").contains("200"));
        let document = get(&path, "/v1/openapi.json");
        for resource in ["/v1/status", "/v1/links", "/v1/paths"] {
            assert!(document.contains(resource), "{document}");
        }
        drop((idle, server));
        assert!(!path.exists());
    }
}
