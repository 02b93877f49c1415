//! `ferrosm attach`: executes a libibumad program that sees the channel adapters of a simulated
//! host.
//!
//! Writes the sysfs files of the host to the directory of the server's socket, then executes the
//! program in this process, so that signals, exit status and terminal are the program's own.

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
/// The server, node, library or program does not exist.
pub fn run(args: &AttachArgs) -> Result<(), Failure> {
    let socket = paths::socket(args.socket.socket.as_deref());
    let socket = std::path::absolute(&socket)
        .map_err(|e| Failure::runtime(format!("{}: {e}", socket.display())))?;
    let library = library()?;
    let server = UnixStream::connect(&socket).map_err(|e| no_server(&socket, &e))?;
    let files = client::list_files(&server, &args.node)?;
    let sysfs = write_sysfs(&paths::directory(&socket), &args.node, &files).map_err(|e| {
        Failure::runtime(format!(
            "cannot write the sysfs files of the simulated host to the directory of {}: {e}",
            socket.display()
        ))
    })?;
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::Usage("no program given".to_owned()))?;
    let error = Command::new(program)
        .args(arguments)
        .env("LD_PRELOAD", preload(&library))
        .env(paths::SOCKET_ENV, &socket)
        .env(paths::NODES_ENV, args.node.join("\n"))
        .env(paths::SYSFS_ENV, sysfs)
        .exec();
    Err(Failure::NotRun {
        message: format!("cannot run {}: {error}", program.display()),
        missing: error.kind() == io::ErrorKind::NotFound,
    })
}

fn library() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::runtime(format!("cannot find the path of this program: {e}")))?;
    let library_variable = std::env::var_os(paths::LIBRARY_ENV).map(PathBuf::from);
    let candidates = paths::library_candidates(&program, library_variable);
    if let Some(existing) = candidates.iter().find(|path| path.is_file()) {
        return std::path::absolute(existing)
            .map_err(|e| Failure::runtime(format!("{}: {e}", existing.display())));
    }
    let Some(missing) = candidates.first() else {
        return Err(Failure::runtime(format!("cannot find {}", paths::LIBRARY)));
    };
    Err(Failure::with_hint(
        format!("library {} does not exist", missing.display()),
        format!(
            "Install {} (crate ferrosm-attach) in the directory of this program, or set {} to its path.",
            paths::LIBRARY,
            paths::LIBRARY_ENV
        ),
    ))
}

/// Value of `LD_PRELOAD`: the library, followed by the inherited value.
fn preload(library: &Path) -> OsString {
    let mut preload_list = library.as_os_str().to_owned();
    if let Some(inherited) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload_list.push(":");
        preload_list.push(inherited);
    }
    preload_list
}

/// Writes the sysfs files to a directory that programs with the same adapters share. Only the names
/// matter: contents are read from the server when a file is opened.
fn write_sysfs(dir: &Path, nodes: &[String], files: &[(String, Vec<u8>)]) -> io::Result<PathBuf> {
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
        // Programs also check for the device files; the library opens them.
        if let Some(device) = path.strip_prefix("infiniband_mad/")
            && let Some((device, "dev")) = device.split_once('/')
        {
            let devices = draft.join("dev").join("infiniband");
            fs::create_dir_all(&devices)?;
            fs::write(devices.join(device), [])?;
        }
    }
    // srp_daemon looks for connected targets there; the directory must exist.
    fs::create_dir_all(draft.join("class").join("scsi_host"))?;
    match fs::rename(&draft, &root) {
        Ok(()) => Ok(root),
        // Another program created it first.
        Err(_) if root.is_dir() => fs::remove_dir_all(&draft).map(|()| root),
        Err(error) => Err(error),
    }
}
