//! Start of a program that sees the channel adapters of a simulated host.
//!
//! The sysfs files of the host are written to the directory of the server's socket. The preload
//! library finds the server, the host and the files by environment variables.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::path::{self, Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs, io};

use crate::client::{self, SimServerError};
use crate::paths;

/// Why a program cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The server cannot be reached, or rejects the host.
    #[error(transparent)]
    Server(#[from] SimServerError),
    /// A relative path cannot be resolved.
    #[error("{}: {source}", .path.display())]
    Path {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path of the own program, next to which the library is installed, is unknown.
    #[error("cannot find the path of this program: {0}")]
    OwnPath(io::Error),
    /// The preload library is not installed.
    #[error("library {} does not exist", .0.display())]
    NoLibrary(PathBuf),
    /// The sysfs files of the host cannot be written.
    #[error(
        "cannot write the sysfs files of the simulated host to the directory of {}: {source}",
        .socket.display()
    )]
    Sysfs {
        /// The socket of the server.
        socket: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A command that runs `program` on the host that has the channel adapters `nodes`.
///
/// # Errors
/// The server, a node or the library does not exist, or files cannot be written.
pub fn command(socket: &Path, nodes: &[String], program: &OsStr) -> Result<Command, AttachError> {
    let socket = absolute(socket)?;
    let library = library()?;
    let server = client::connect(&socket)?;
    let files = client::list_files(&server, nodes)?;
    let sysfs = write_sysfs(&paths::directory(&socket), nodes, &files).map_err(|source| {
        AttachError::Sysfs {
            socket: socket.clone(),
            source,
        }
    })?;
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", preload(&library))
        .env(paths::SOCKET_ENV, socket)
        .env(paths::NODES_ENV, nodes.join("\n"))
        .env(paths::SYSFS_ENV, sysfs);
    Ok(command)
}

fn absolute(path: &Path) -> Result<PathBuf, AttachError> {
    path::absolute(path).map_err(|source| AttachError::Path {
        path: path.to_owned(),
        source,
    })
}

fn library() -> Result<PathBuf, AttachError> {
    let program = env::current_exe().map_err(AttachError::OwnPath)?;
    let library_variable = env::var_os(paths::LIBRARY_ENV).map(PathBuf::from);
    let candidates = paths::library_candidates(&program, library_variable);
    match candidates.iter().find(|path| path.is_file()) {
        Some(existing) => absolute(existing),
        None => Err(AttachError::NoLibrary(
            candidates
                .into_iter()
                .next()
                .unwrap_or_else(|| paths::LIBRARY.into()),
        )),
    }
}

/// Value of `LD_PRELOAD`: the library, followed by the inherited value.
fn preload(library: &Path) -> OsString {
    let mut preload_list = library.as_os_str().to_owned();
    if let Some(inherited) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
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
    let draft = dir.join(format!("draft-{}", process::id()));
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
