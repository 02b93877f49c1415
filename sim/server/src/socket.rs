//! The socket of the server, and the directory next to it.

use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::paths;

/// Longest path of a Unix socket, in bytes without the NUL.
const SOCKET_PATH_MAX: usize = 107;

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another server listens on the socket.
    #[error("a simulated fabric is served on {} already", .0.display())]
    InUse(PathBuf),
    /// The path is too long.
    #[error(
        "{} is too long for a socket: {} bytes, the limit is {SOCKET_PATH_MAX}",
        .0.display(),
        .0.as_os_str().len()
    )]
    PathTooLong(PathBuf),
    /// A directory has the name of the server's directory.
    #[error("{} exists and was not created by a server: it is not removed", .0.display())]
    ForeignDirectory(PathBuf),
    /// The socket or its directory cannot be created.
    #[error("cannot listen on {}: {source}", .path.display())]
    Create {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The socket and its directory, removed when dropped.
#[derive(Debug)]
pub struct ServerSocket {
    path: PathBuf,
    listener: UnixListener,
}

impl ServerSocket {
    /// Listens on `path`. Replaces the socket and directory of a killed server.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Create {
            path: path.to_owned(),
            source,
        };
        if UnixStream::connect(path).is_ok() {
            return Err(ListenError::InUse(path.to_owned()));
        }
        if path.as_os_str().len() > SOCKET_PATH_MAX {
            return Err(ListenError::PathTooLong(path.to_owned()));
        }
        let dir = paths::directory(path);
        // A killed server leaves its socket, without a listener, and its directory.
        if fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket()) {
            fs::remove_file(path).map_err(failed)?;
            if dir.is_dir() {
                fs::remove_dir_all(&dir).map_err(failed)?;
            }
        } else if fs::symlink_metadata(&dir).is_ok() {
            return Err(ListenError::ForeignDirectory(dir));
        }
        // The socket first: if it cannot be created, no directory remains.
        let socket = Self {
            path: path.to_owned(),
            listener: UnixListener::bind(path).map_err(failed)?,
        };
        fs::create_dir(&dir).map_err(failed)?;
        Ok(socket)
    }

    /// The listener, for the thread that accepts connections.
    pub(crate) fn share(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for ServerSocket {
    fn drop(&mut self) {
        // The socket last: as long as it exists, the next server recognizes the directory.
        let dir = paths::directory(&self.path);
        if fs::remove_dir_all(&dir).is_ok() || !dir.exists() {
            // If this fails, the next server removes the socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}
