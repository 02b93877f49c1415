//! `ferrosm attach`: becomes a libibumad program that sees a simulated host's channel adapters.
//!
//! The files of `/sys` that the program will look for are laid out beside the server's socket; then this
//! process turns into the program, so that signals, status and terminal are the program's own.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::AttachArgs;
use crate::commands::sim_ctl::no_server;
use crate::failure::Failure;
use crate::simulator::{client, paths};

/// Runs the command; returns only if the program cannot be started.
///
/// # Errors
/// If there is no server, no such node, no library, or no such program.
pub fn run(args: &AttachArgs) -> Result<(), Failure> {
    let socket = paths::socket(args.socket.socket.as_deref());
    let socket = std::path::absolute(&socket)
        .map_err(|e| Failure::job(format!("{}: {e}", socket.display())))?;
    let library = library()?;
    let server = UnixStream::connect(&socket).map_err(|e| no_server(&socket, &e))?;
    let files = client::list_files(&server, &args.node)?;
    let sysfs = lay_out(&paths::directory(&socket), &args.node, &files).map_err(|e| {
        Failure::job(format!(
            "cannot lay out the files of the simulated host beside {}: {e}",
            socket.display()
        ))
    })?;
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::Usage("no program is named".to_owned()))?;
    let error = Command::new(program)
        .args(arguments)
        .env("LD_PRELOAD", preload(&library))
        .env(paths::SOCKET_ENV, &socket)
        .env(paths::NODES_ENV, args.node.join("\n"))
        .env(paths::SYSFS_ENV, sysfs)
        .exec();
    Err(Failure::NotRun {
        what: format!("cannot run {}: {error}", program.display()),
        missing: error.kind() == io::ErrorKind::NotFound,
    })
}

fn library() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::job(format!("cannot tell where this program is: {e}")))?;
    let named = std::env::var_os(paths::LIBRARY_ENV).map(PathBuf::from);
    let candidates = paths::library_candidates(&program, named);
    if let Some(found) = candidates.iter().find(|path| path.is_file()) {
        return std::path::absolute(found)
            .map_err(|e| Failure::job(format!("{}: {e}", found.display())));
    }
    let Some(missing) = candidates.first() else {
        return Err(Failure::job(format!(
            "cannot tell where {} is",
            paths::LIBRARY
        )));
    };
    Err(Failure::with_hint(
        format!("the library {} is not there", missing.display()),
        format!(
            "It belongs beside this program (`cargo build --release -p ferrosm-attach` makes it); {} names it elsewhere.",
            paths::LIBRARY_ENV
        ),
    ))
}

/// Ours first, then what the user preloads.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// Writes the files below a directory of their own, once for all programs with these adapters: their
/// contents are asked of the server when they are opened, so only their names must be right.
fn lay_out(dir: &Path, nodes: &[String], files: &[(String, Vec<u8>)]) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    nodes.hash(&mut hasher);
    let root = dir.join(format!("host-{:016x}", hasher.finish()));
    if root.is_dir() {
        return Ok(root);
    }
    let draft = dir.join(format!("draft-{}", std::process::id()));
    for (path, content) in files {
        let file = draft.join("class").join(path.trim_start_matches('/'));
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, content)?;
        // Programs look for the device files too; opening them is the library's business.
        if let Some(device) = path.strip_prefix("infiniband_mad/")
            && let Some((device, "dev")) = device.split_once('/')
        {
            let devices = draft.join("dev").join("infiniband");
            fs::create_dir_all(&devices)?;
            fs::write(devices.join(device), [])?;
        }
    }
    // srp_daemon looks there for targets that are connected: none are, on machines without storage too.
    fs::create_dir_all(draft.join("class").join("scsi_host"))?;
    match fs::rename(&draft, &root) {
        Ok(()) => Ok(root),
        // Another program was quicker.
        Err(_) if root.is_dir() => fs::remove_dir_all(&draft).map(|()| root),
        Err(error) => Err(error),
    }
}
