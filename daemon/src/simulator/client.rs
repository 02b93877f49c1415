//! Client side of the requests, for `ferrosm attach`.

use std::os::unix::net::UnixStream;

use ferrosm_channel::frames::{self, ClientRequest, ServerReply, VERSION};

use crate::failure::Failure;

/// Lists the files below `/sys/class` of a host with these channel adapters.
///
/// # Errors
/// The server rejects the request (unknown node), or the connection fails.
pub fn list_files(
    server: &UnixStream,
    nodes: &[String],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    frames::send_magic(server).map_err(connection_failure)?;
    let hello = ClientRequest::Hello {
        version: VERSION,
        nodes: nodes.to_vec(),
        pid: std::process::id(),
        program: "ferrosm attach".to_owned(),
    };
    let reply = exchange(server, &hello)?;
    if let ServerReply::Refused(reason) = reply {
        return Err(Failure::runtime(reason));
    }
    if reply != ServerReply::Done {
        return Err(unexpected_reply());
    }
    let listed = exchange(server, &ClientRequest::ListFiles)?;
    let ServerReply::Files(files) = listed else {
        return Err(unexpected_reply());
    };
    Ok(files)
}

fn exchange(server: &UnixStream, request: &ClientRequest) -> Result<ServerReply, Failure> {
    frames::send(server, &request.encode(), &[]).map_err(connection_failure)?;
    let frame = frames::receive(server).map_err(connection_failure)?;
    let (frame, _) = frame.ok_or_else(|| Failure::runtime("the server closed the connection"))?;
    ServerReply::decode(&frame).map_err(connection_failure)
}

fn connection_failure(error: impl std::fmt::Display) -> Failure {
    Failure::runtime(format!("connection to the server failed: {error}"))
}

fn unexpected_reply() -> Failure {
    Failure::with_hint(
        "unexpected reply from the server",
        "Use the `ferrosm` program that serves the fabric.",
    )
}
