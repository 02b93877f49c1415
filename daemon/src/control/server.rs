//! The service's side of the control socket: accepts clients and passes their commands to the
//! driver.

use core::time::Duration;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tracing::warn;

use super::{
    CLIENTS_MAX, CommandRequest, ControlReply, ControlRequest, REQUEST_MAX, Reason, SOCKET_NAME,
    TRANSFER_TIMEOUT, WAIT_MAX,
};
use crate::output::json;

/// Delay after a failed accept: the process has no file descriptor left.
const ACCEPT_RETRY: Duration = Duration::from_secs(1);
/// Time to send the last replies when the service ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// A control socket that accepts clients. The file is removed when this is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    /// Dropped to close the socket.
    open: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl ControlSocket {
    /// Creates the socket in a state directory whose lock this process holds. Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open(dir: &Path, requests: mpsc::Sender<CommandRequest>) -> io::Result<Self> {
        let path = dir.join(SOCKET_NAME);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            // A service that was killed leaves its socket.
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let (open, closed) = oneshot::channel();
        let server = tokio::spawn(serve(listener, requests, closed));
        Ok(Self { path, open, server })
    }

    /// Accepts no more clients, and waits for a short time until all replies are sent.
    pub async fn close(self) {
        // The file may have been removed by hand.
        let _ = std::fs::remove_file(&self.path);
        drop(self.open);
        // Fails only if the server panicked.
        let _ = self.server.await;
    }
}

async fn serve(
    listener: UnixListener,
    requests: mpsc::Sender<CommandRequest>,
    mut closed: oneshot::Receiver<()>,
) {
    let mut clients = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if clients.len() < CLIENTS_MAX => {
                    clients.spawn(serve_client(stream, requests.clone()));
                }
                Ok((stream, _)) => reject(stream),
                Err(error) => {
                    warn!(%error, "cannot accept control client");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            },
            Some(_) = clients.join_next() => {}
            _ = &mut closed => break,
        }
    }
    drop((listener, requests));
    let sent = async { while clients.join_next().await.is_some() {} };
    // Clients that read no replies are disconnected.
    let _ = timeout(CLOSE_TIMEOUT, sent).await;
}

/// Rejects a client beyond [`CLIENTS_MAX`] without waiting for it.
fn reject(stream: UnixStream) {
    let reply = ControlReply::failed(Reason::Busy, "too many control clients");
    if let Ok(mut stream) = stream.into_std() {
        // Fails only if the client is gone.
        let _ = stream.write_all(json::to_line(&reply).as_bytes());
    }
}

/// Serves the requests of a client in turn.
async fn serve_client(stream: UnixStream, requests: mpsc::Sender<CommandRequest>) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut read).take(REQUEST_MAX);
        let received = timeout(TRANSFER_TIMEOUT, limited.read_until(b'\n', &mut line)).await;
        let Ok(Ok(1..)) = received else {
            return;
        };
        let is_complete = line.ends_with(b"\n");
        let reply = if is_complete {
            match serde_json::from_slice(&line) {
                Ok(request) => execute(request, &requests).await,
                Err(e) => {
                    ControlReply::failed(Reason::InvalidRequest, format!("invalid request: {e}"))
                }
            }
        } else {
            let message = format!("request longer than {REQUEST_MAX} bytes, or without newline");
            ControlReply::failed(Reason::InvalidRequest, message)
        };
        let line = json::to_line(&reply);
        let sent = timeout(TRANSFER_TIMEOUT, write.write_all(line.as_bytes())).await;
        if !is_complete || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

/// Passes a command to the driver and waits for its result.
async fn execute(request: ControlRequest, requests: &mpsc::Sender<CommandRequest>) -> ControlReply {
    let (result, done) = oneshot::channel();
    let command = CommandRequest {
        command: request.command.into(),
        result,
    };
    let stopping = || ControlReply::failed(Reason::Stopping, "the service is stopping");
    if requests.send(command).await.is_err() {
        return stopping();
    }
    let wait = Duration::from_secs(request.wait_s.min(WAIT_MAX));
    match timeout(wait, done).await {
        Ok(Ok(result)) => ControlReply::from(result),
        Ok(Err(_)) => stopping(),
        Err(_) => {
            let message = format!("not complete after {} s, still in progress", wait.as_secs());
            ControlReply::failed(Reason::Timeout, message)
        }
    }
}
