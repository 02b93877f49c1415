//! Client side of the server: the console, and the files of a host.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{fs, process};

use ferrosm_channel::frames::{self, ClientRequest, ServerReply, VERSION};

/// Why a request to the server failed.
#[derive(Debug, thiserror::Error)]
pub enum SimServerError {
    /// The socket belongs to another user.
    #[error("cannot open the simulated fabric {}: {source}", .path.display())]
    PermissionDenied {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No server listens on the socket.
    #[error("no simulated fabric at {}: {source}", .path.display())]
    NotServed {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The connection failed.
    #[error("connection to the server failed: {0}")]
    Connection(#[from] io::Error),
    /// The server rejected the request, for this reason.
    #[error("{0}")]
    Rejected(String),
    /// The server is of another build.
    #[error("unexpected reply from the server")]
    UnexpectedReply,
}

/// Connects to the server that listens on `path`.
///
/// # Errors
/// [`SimServerError::PermissionDenied`] or [`SimServerError::NotServed`].
pub(crate) fn connect(path: &Path) -> Result<UnixStream, SimServerError> {
    UnixStream::connect(path).map_err(|source| {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::PermissionDenied {
            SimServerError::PermissionDenied { path, source }
        } else {
            SimServerError::NotServed { path, source }
        }
    })
}

/// A connection to the console of the server.
#[derive(Debug)]
pub struct Console {
    stream: BufReader<UnixStream>,
}

impl Console {
    /// Connects to the server that listens on `path`.
    ///
    /// # Errors
    /// No server listens there.
    pub fn connect(path: &Path) -> Result<Self, SimServerError> {
        Ok(Self {
            stream: BufReader::new(connect(path)?),
        })
    }

    /// Sends a statement as one line. Returns the lines of the reply, and the reason if the server
    /// rejects the statement.
    ///
    /// # Errors
    /// The connection fails.
    pub fn send(&mut self, statement: &str) -> Result<(String, Option<String>), SimServerError> {
        let line = format!("{}\n", with_absolute_path(&statement.replace('\n', " ")));
        self.stream.get_mut().write_all(line.as_bytes())?;
        let mut output = String::new();
        loop {
            let start = output.len();
            if self.stream.read_line(&mut output)? == 0 {
                return Err(SimServerError::Closed);
            }
            let line = output[start..].trim_end_matches('\n');
            let rejection = line.strip_prefix("error: ").map(str::to_owned);
            if line == "ok" || rejection.is_some() {
                output.truncate(start);
                return Ok((output, rejection));
            }
        }
    }
}

/// `judge FILE` with an absolute path: the server may run in another directory.
fn with_absolute_path(statement: &str) -> String {
    let file = statement.trim().strip_prefix("judge ").map(str::trim);
    match file.and_then(|file| fs::canonicalize(file).ok()) {
        Some(path) => format!("judge {}", path.display()),
        None => statement.to_owned(),
    }
}

/// Lists the files below `/sys/class` of a host with these channel adapters.
pub(crate) fn list_files(
    server: &UnixStream,
    nodes: &[String],
) -> Result<Vec<(String, Vec<u8>)>, SimServerError> {
    frames::send_magic(server)?;
    let hello = ClientRequest::Hello {
        version: VERSION,
        nodes: nodes.to_vec(),
        pid: process::id(),
        program: "ferrosm attach".to_owned(),
    };
    let reply = exchange(server, &hello)?;
    if let ServerReply::Refused(reason) = reply {
        return Err(SimServerError::Rejected(reason));
    }
    if reply != ServerReply::Done {
        return Err(SimServerError::UnexpectedReply);
    }
    let listed = exchange(server, &ClientRequest::ListFiles)?;
    let ServerReply::Files(files) = listed else {
        return Err(SimServerError::UnexpectedReply);
    };
    Ok(files)
}

fn exchange(server: &UnixStream, request: &ClientRequest) -> Result<ServerReply, SimServerError> {
    frames::send(server, &request.encode(), &[])?;
    let (frame, _) = frames::receive(server)?.ok_or(SimServerError::Closed)?;
    ServerReply::decode(&frame).map_err(|_| SimServerError::UnexpectedReply)
}
