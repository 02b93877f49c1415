//! Paths of the server of a simulated fabric: its socket, its directory, and the preload library.

use std::env;
use std::path::{Path, PathBuf};

/// Name of the preload library of attached programs.
pub const LIBRARY: &str = "libferrosm_attach.so";
/// Environment variable: path of the library.
pub const LIBRARY_ENV: &str = "FERROSM_ATTACH_LIB";
/// Environment variable of an attached program: the socket.
pub const SOCKET_ENV: &str = "FERROSM_SIM_SOCKET";
/// Environment variable of an attached program: its channel adapters, one per line; empty for the
/// default.
pub const NODES_ENV: &str = "FERROSM_SIM_NODES";
/// Environment variable of an attached program: the directory in place of `/sys`.
pub const SYSFS_ENV: &str = "FERROSM_SIM_SYSFS";

/// The given socket, or the default in the user's runtime directory.
#[must_use]
pub fn socket(socket_path: Option<&Path>) -> PathBuf {
    if let Some(path) = socket_path {
        return path.to_owned();
    }
    runtime_dir().join("ferrosm-sim.sock")
}

/// The user's runtime directory, or that of temporary files if there is none.
#[must_use]
pub fn runtime_dir() -> PathBuf {
    env::var_os("XDG_RUNTIME_DIR")
        .filter(|dir| !dir.is_empty())
        .map_or_else(env::temp_dir, PathBuf::from)
}

/// Directory of the server, next to its socket; exists while the server runs.
#[must_use]
pub fn directory(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".d");
    PathBuf::from(name)
}

/// Candidates for the path of the library, in order: that of the environment; otherwise the
/// directory of the program (a build), its parent (tests of a build), and the library directories
/// of an installation.
#[must_use]
pub fn library_candidates(program: &Path, library: Option<PathBuf>) -> Vec<PathBuf> {
    if let Some(path) = library {
        return vec![path];
    }
    let Some(dir) = program.parent() else {
        return Vec::new();
    };
    let mut candidates = vec![dir.join(LIBRARY), dir.join("deps").join(LIBRARY)];
    if let Some(parent) = dir.parent() {
        candidates.push(parent.join(LIBRARY));
        candidates.push(parent.join("lib").join("ferrosm").join(LIBRARY));
        candidates.push(parent.join("lib").join(LIBRARY));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_is_found_in_builds_and_installations() {
        let of_program = library_candidates(Path::new("/opt/x/bin/ferrosm"), None);
        assert_eq!(of_program[0], Path::new("/opt/x/bin/libferrosm_attach.so"));
        assert!(of_program.contains(&PathBuf::from("/opt/x/lib/ferrosm/libferrosm_attach.so")));
        let of_option = library_candidates(Path::new("/opt/x/bin/ferrosm"), Some("/y.so".into()));
        assert_eq!(of_option, [Path::new("/y.so")]);
    }

    #[test]
    fn directory_is_next_to_the_socket() {
        assert_eq!(
            directory(Path::new("/run/a.sock")),
            Path::new("/run/a.sock.d")
        );
    }
}
