//! An endpoint: accepts clients, and serves their requests in turn.
//!
//! Bounds: a number of clients, beyond which a client gets an error and is disconnected; a time for
//! each TLS handshake, each request head, and each write to a client that does not read.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use axum::Router;
use ferrosm_replication::https::ServerTls;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, ServerConnection};
use tokio_rustls::server::TlsStream;
use tracing::{debug, info, warn};

use super::Closing;

/// Time to receive a request head; a connection without a request is closed after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time within which a client must read something of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed accept: the process has no file descriptor left.
const ACCEPT_DELAY: Duration = Duration::from_secs(1);
/// Interval between attempts to bind an address.
const BIND_INTERVAL: Duration = Duration::from_secs(10);
/// Time for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Most TLS handshakes at the same time.
const HANDSHAKES_MAX: usize = 64;
/// Sent to a client beyond the bound.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 82\r\n\r\n\
    {\"error\":{\"kind\":\"busy\",\"message\":\"too many clients\",\"remedy\":\"Try again later.\"}}";

/// Connections of a kind of clients.
#[derive(Debug, Clone)]
pub struct Slots(Arc<Semaphore>);

impl Slots {
    /// At most `n` connections.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self(Arc::new(Semaphore::new(n)))
    }

    pub(crate) fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}

/// Serves a router on a TCP address. Binding is retried: an address may not exist yet. `path` is
/// the resource that the log names. `bound` is called with the address once it is bound.
pub async fn serve_tcp(
    address: SocketAddr,
    path: &str,
    router: Router,
    slots: Slots,
    bound: impl FnOnce(SocketAddr),
    mut closing: Closing,
) {
    let listener = tokio::select! {
        listener = bind(address, "http", path, BIND_INTERVAL) => listener,
        _ = closing.changed() => return,
    };
    if let Ok(address) = listener.local_addr() {
        bound(address);
    }
    serve_listener(listener, router, slots, closing).await;
}

/// Serves a router on a bound TCP address.
async fn serve_listener(listener: TcpListener, router: Router, slots: Slots, mut closing: Closing) {
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.changed() => break,
        };
        match accepted {
            Ok((stream, _)) => match slots.take() {
                Some(slot) => serve_connection(stream, router.clone(), slot, &connections),
                None => reject(|| TcpStream::try_write(&stream, BUSY)),
            },
            Err(error) => accept_failed(&error).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves a Unix socket. `admit` selects what a client may use, and the slots of its kind.
pub async fn serve_unix(
    listener: UnixListener,
    admit: impl Fn(&UnixStream) -> io::Result<(Router, Slots)>,
    mut closing: Closing,
) {
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.changed() => break,
        };
        let admitted = accepted.and_then(|(stream, _)| {
            let (router, slots) = admit(&stream)?;
            Ok((stream, router, slots))
        });
        match admitted {
            Ok((stream, router, slots)) => match slots.take() {
                Some(slot) => serve_connection(stream, router, slot, &connections),
                None => reject(|| UnixStream::try_write(&stream, BUSY)),
            },
            Err(error) => accept_failed(&error).await,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves a TCP address over TLS. `admit` selects what the client with a certificate may use, and
/// the slots of its kind.
/// Binding is retried: an address may not exist yet.
///
/// A client beyond the bound gets an error once it has shown its certificate. If too many clients
/// are about to do that, the first of them is disconnected.
pub async fn serve_tls(
    address: SocketAddr,
    path: &str,
    tls: Arc<ServerTls>,
    admit: impl Fn(&ServerConnection, SocketAddr) -> (Router, Slots),
    mut closing: Closing,
) {
    let listener = tokio::select! {
        listener = bind(address, "https", path, BIND_INTERVAL) => listener,
        _ = closing.changed() => return,
    };
    let connections = GracefulShutdown::new();
    let mut handshakes = JoinSet::new();
    let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    oldest_first.retain(|handshake| !handshake.is_finished());
                    if oldest_first.len() >= HANDSHAKES_MAX
                        && let Some(oldest) = oldest_first.pop_front()
                    {
                        oldest.abort();
                    }
                    if let Some(config) = tls.current() {
                        let handshake = accept_tls(config, stream, peer);
                        oldest_first.push_back(handshakes.spawn(handshake));
                    }
                }
                Err(error) => accept_failed(&error).await,
            },
            Some(ended) = handshakes.join_next() => {
                let Ok(Some((stream, peer))) = ended else {
                    continue;
                };
                let (router, slots) = admit(stream.get_ref().1, peer);
                match slots.take() {
                    Some(slot) => serve_connection(stream, router, slot, &connections),
                    None => drop(tokio::spawn(reject_tls(stream))),
                }
            }
            _ = closing.changed() => break,
        }
    }
    drop((listener, handshakes));
    connections.shutdown().await;
}

/// A client over TLS, and its address.
type TlsClient = (TlsStream<TcpStream>, SocketAddr);

/// The handshake of a client; `None` if it fails.
async fn accept_tls(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    peer: SocketAddr,
) -> Option<TlsClient> {
    let accepting = TlsAcceptor::from(config).accept(stream);
    match timeout(HANDSHAKE_TIMEOUT, accepting).await {
        Ok(Ok(stream)) => Some((stream, peer)),
        Ok(Err(error)) => {
            debug!(%error, %peer, "TLS handshake failed");
            None
        }
        Err(_) => {
            debug!(%peer, "TLS handshake timed out");
            None
        }
    }
}

/// Tells a client that there are too many.
async fn reject_tls(mut stream: TlsStream<TcpStream>) {
    let rejecting = async {
        stream.write_all(BUSY).await?;
        stream.shutdown().await
    };
    // Fails only if the client is gone, or does not read.
    let _ = timeout(WRITE_TIMEOUT, rejecting).await;
}

async fn accept_failed(error: &io::Error) {
    warn!(%error, "cannot accept HTTP client");
    tokio::time::sleep(ACCEPT_DELAY).await;
}

/// Tells a client that there are too many, without waiting for it.
fn reject(write: impl FnOnce() -> io::Result<usize>) {
    // Fails only if the client is gone.
    let _ = write();
}

/// Starts to serve the requests of a client.
fn serve_connection<S>(
    stream: S,
    router: Router,
    slot: OwnedSemaphorePermit,
    connections: &GracefulShutdown,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(router),
        );
    let watched = connections.watch(served);
    tokio::spawn(async move {
        if let Err(error) = watched.await {
            debug!(%error, "HTTP connection failed");
        }
        drop(slot);
    });
}

/// Binds the address, with retries.
async fn bind(
    listen: SocketAddr,
    scheme: &str,
    path: &str,
    retry_interval: Duration,
) -> TcpListener {
    let mut is_logged = false;
    loop {
        let bound = TcpListener::bind(listen).await;
        match bound.and_then(|listener| Ok((listener.local_addr()?, listener))) {
            Ok((address, listener)) => {
                info!(
                    url = format!("{scheme}://{address}{path}"),
                    "HTTP listener started"
                );
                return listener;
            }
            Err(error) => {
                if !core::mem::replace(&mut is_logged, true) {
                    let retry_s = retry_interval.as_secs();
                    warn!(%error, %listen, retry_s, "cannot bind HTTP listener");
                }
                tokio::time::sleep(retry_interval).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::routing::get;
    use tokio::io::AsyncReadExt;

    use super::*;

    const CLIENTS: usize = 4;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(future)
    }

    async fn exchange(at: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    /// Idle clients do not keep others out until there are too many, and a client beyond the bound
    /// gets an error. An endpoint that closes ends.
    #[test]
    fn clients_are_bounded() {
        run(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let at = listener.local_addr().unwrap();
            let router = Router::new().route("/", get(|| async { "here" }));
            let (open, closing) = tokio::sync::watch::channel(());
            let slots = Slots::new(CLIENTS);
            let endpoint = tokio::spawn(serve_listener(listener, router, slots, closing));
            let mut idle = Vec::new();
            for _ in 0..CLIENTS - 1 {
                idle.push(TcpStream::connect(at).await.unwrap());
            }
            let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            assert!(exchange(at, request).await.ends_with("here"));
            assert!(!exchange(at, "\r\n\0\u{ff}\r\n\r\n").await.contains("200"));
            idle.push(TcpStream::connect(at).await.unwrap());
            let refused = exchange(at, "").await;
            assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
            let body = refused.split_once("\r\n\r\n").unwrap().1;
            assert!(
                refused.contains(&format!("content-length: {}\r\n", body.len())),
                "{refused}"
            );
            drop((idle, open));
            endpoint.await.unwrap();
        });
    }

    /// An address in use is bound once it is free.
    #[test]
    fn binding_is_retried() {
        let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = taken.local_addr().unwrap();
        run(async {
            let mut binding = core::pin::pin!(bind(at, "http", "/", Duration::from_millis(1)));
            let attempt = timeout(Duration::from_millis(5), &mut binding);
            assert!(attempt.await.is_err(), "the address is in use");
            drop(taken);
            assert_eq!(binding.await.local_addr().unwrap(), at);
        });
    }
}
