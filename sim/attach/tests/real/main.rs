//! The preload library in real processes: Debian's InfiniBand tools, and this test program as a
//! client.
//!
//! A minimal server ([`server`]) runs in the test process.
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

/// The library of this build, or `FERROSM_ATTACH_LIB`: in the release profile, panics abort, and
/// `pthread_cancel` unwinds differently.
fn library() -> PathBuf {
    if let Some(library_variable) = std::env::var_os("FERROSM_ATTACH_LIB") {
        return std::path::absolute(library_variable).unwrap();
    }
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let candidates = [deps, deps.parent().unwrap()].map(|dir| dir.join("libferrosm_attach.so"));
    candidates
        .iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("none of {candidates:?} exists"))
        .clone()
}

/// A command that is attached to the server.
fn attached(server: &Server, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library())
        .env("FERROSM_SIM_SOCKET", server.socket())
        .env("FERROSM_SIM_NODES", "h1\nh2 \"q\"")
        .env("FERROSM_SIM_SYSFS", server.sysfs_directory());
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
