//! The preloaded library in real processes: Debian's InfiniBand tools, and this test program itself as a client that does
//! with a device what programs do.
//!
//! The server is a small one of the tests' own ([`server`]), so that what is seen here is the library's doing.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests are tests"
)]

mod client;
mod server;
mod tools;

use std::path::PathBuf;
use std::process::{Command, Output};

use server::Server;

/// The library that was built with this test, or the one that `FERROSM_ATTACH_LIB` names: that of the release profile differs,
/// because panics abort there (`pthread_cancel` unwinds in another way).
fn library() -> PathBuf {
    if let Some(named) = std::env::var_os("FERROSM_ATTACH_LIB") {
        return std::path::absolute(named).unwrap();
    }
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let candidates = [deps, deps.parent().unwrap()].map(|dir| dir.join("libferrosm_attach.so"));
    candidates
        .iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("none of {candidates:?} is there"))
        .clone()
}

/// A command that is attached to the server.
fn attached(server: &Server, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library())
        .env("FERROSM_SIM_SOCKET", server.socket())
        .env("FERROSM_SIM_NODES", "h1\nh2 \"q\"")
        .env("FERROSM_SIM_SYSFS", server.skeleton());
    command
}

fn text(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
