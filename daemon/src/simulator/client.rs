//! A client's side of the requests, for `ferrosm attach`.

use std::os::unix::net::UnixStream;

use ferrosm_channel::frames::{self, Reply, Request, VERSION};

use crate::failure::Failure;

/// The files below `/sys/class` that a host with these channel adapters has.
///
/// # Errors
/// If the server refuses (no such node), or is gone.
pub fn list_files(
    server: &UnixStream,
    nodes: &[String],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    frames::send_magic(server).map_err(gone)?;
    let hello = Request::Hello {
        version: VERSION,
        nodes: nodes.to_vec(),
        pid: std::process::id(),
        program: "ferrosm attach".to_owned(),
    };
    let greeted = ask(server, &hello)?;
    if let Reply::Refused(why) = greeted {
        return Err(Failure::job(why));
    }
    if greeted != Reply::Done {
        return Err(strange(&greeted));
    }
    let listed = ask(server, &Request::ListFiles)?;
    let Reply::Files(files) = listed else {
        return Err(strange(&listed));
    };
    Ok(files)
}

fn ask(server: &UnixStream, request: &Request) -> Result<Reply, Failure> {
    frames::send(server, &request.encode(), &[]).map_err(gone)?;
    let answer = frames::receive(server).map_err(gone)?;
    let (frame, _) = answer.ok_or_else(|| Failure::job("the server ended the connection"))?;
    Reply::decode(&frame).map_err(gone)
}

fn gone(error: impl std::fmt::Display) -> Failure {
    Failure::job(format!("talking to the server: {error}"))
}

fn strange(reply: &Reply) -> Failure {
    Failure::job(format!(
        "the server gave an answer to something else: {reply:?}"
    ))
}
