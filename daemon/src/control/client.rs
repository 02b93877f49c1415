//! The client's side of the control socket.

use core::fmt;
use core::time::Duration;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{ControlReply, ControlRequest, REPLY_MAX, SOCKET_NAME, TRANSFER_TIMEOUT};
use crate::output::json;

/// Why there is no reply.
#[derive(Debug)]
pub enum ClientError {
    /// No service listens.
    NoService(io::Error),
    /// The socket belongs to another user.
    PermissionDenied(io::Error),
    /// The service ended before it replied.
    ServiceEnded,
    /// Anything else.
    Io(io::Error),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoService(e) | Self::PermissionDenied(e) | Self::Io(e) => e.fmt(f),
            Self::ServiceEnded => f.write_str("the service ended before it replied"),
        }
    }
}

/// Sends a request to the service of a state directory, and waits for its reply.
///
/// # Errors
/// If no service replies.
pub fn request(dir: &Path, request: ControlRequest) -> Result<ControlReply, ClientError> {
    let connected = UnixStream::connect(dir.join(SOCKET_NAME));
    let mut stream = connected.map_err(|e| {
        let kind = e.kind();
        if kind == io::ErrorKind::NotFound || kind == io::ErrorKind::ConnectionRefused {
            ClientError::NoService(e)
        } else if kind == io::ErrorKind::PermissionDenied {
            ClientError::PermissionDenied(e)
        } else {
            ClientError::Io(e)
        }
    })?;
    let wait = Duration::from_secs(request.wait_s).saturating_add(TRANSFER_TIMEOUT);
    let line = exchange(&mut stream, request, wait).map_err(|e| {
        let kind = e.kind();
        if kind == io::ErrorKind::BrokenPipe || kind == io::ErrorKind::ConnectionReset {
            ClientError::ServiceEnded
        } else {
            ClientError::Io(e)
        }
    })?;
    if line.is_empty() {
        return Err(ClientError::ServiceEnded);
    }
    serde_json::from_str(&line)
        .map_err(|e| ClientError::Io(io::Error::new(io::ErrorKind::InvalidData, e)))
}

fn exchange(
    stream: &mut UnixStream,
    request: ControlRequest,
    wait: Duration,
) -> io::Result<String> {
    stream.set_write_timeout(Some(TRANSFER_TIMEOUT))?;
    stream.set_read_timeout(Some(wait))?;
    let mut line = json::to_line(&request);
    // A service that is busy replies before it reads.
    let sent = stream.write_all(line.as_bytes());
    line.clear();
    let read = BufReader::new(stream.take(REPLY_MAX)).read_line(&mut line);
    if line.is_empty() {
        sent?;
        read?;
    }
    Ok(line)
}
