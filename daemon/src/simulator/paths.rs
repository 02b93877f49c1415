//! Where a server and its programs find each other: the socket, the directory beside it, the library.
//!
//! Paths only; nothing is opened here.

use std::env;
use std::path::{Path, PathBuf};

/// Name of the library that attached programs load first.
pub const LIBRARY: &str = "libferrosm_attach.so";
/// Environment: where the library is, if not beside the program.
pub const LIBRARY_ENV: &str = "FERROSM_ATTACH_LIB";
/// Environment of an attached program: the socket.
pub const SOCKET_ENV: &str = "FERROSM_SIM_SOCKET";
/// Environment of an attached program: its channel adapters, one a line; empty is the server's choice.
pub const NODES_ENV: &str = "FERROSM_SIM_NODES";
/// Environment of an attached program: the directory that stands for `/sys`.
pub const SYSFS_ENV: &str = "FERROSM_SIM_SYSFS";

/// The socket that was named, or the user's own.
#[must_use]
pub fn socket(named: Option<&Path>) -> PathBuf {
    if let Some(path) = named {
        return path.to_owned();
    }
    env::var_os("XDG_RUNTIME_DIR")
        .filter(|dir| !dir.is_empty())
        .map_or_else(env::temp_dir, PathBuf::from)
        .join("ferrosm-sim.sock")
}

/// The server's directory, beside its socket: made when it starts, removed when it ends.
#[must_use]
pub fn directory(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".d");
    PathBuf::from(name)
}

/// Where the library may be, in the order in which it is looked for: named by the environment, beside
/// the program (a build), beside its folder (tests of a build), or in the library folder of an
/// installation.
#[must_use]
pub fn library_candidates(program: &Path, named: Option<PathBuf>) -> Vec<PathBuf> {
    if let Some(path) = named {
        return vec![path];
    }
    let Some(dir) = program.parent() else {
        return Vec::new();
    };
    let mut found = vec![dir.join(LIBRARY), dir.join("deps").join(LIBRARY)];
    if let Some(above) = dir.parent() {
        found.push(above.join(LIBRARY));
        found.push(above.join("lib").join("ferrosm").join(LIBRARY));
        found.push(above.join("lib").join(LIBRARY));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_beside_a_build_and_in_the_library_folder_of_an_installation() {
        let found = library_candidates(Path::new("/opt/x/bin/ferrosm"), None);
        assert_eq!(found[0], Path::new("/opt/x/bin/libferrosm_attach.so"));
        assert!(found.contains(&PathBuf::from("/opt/x/lib/ferrosm/libferrosm_attach.so")));
        let named = library_candidates(Path::new("/opt/x/bin/ferrosm"), Some("/y.so".into()));
        assert_eq!(named, [Path::new("/y.so")]);
    }

    #[test]
    fn the_directory_is_beside_the_socket() {
        assert_eq!(
            directory(Path::new("/run/a.sock")),
            Path::new("/run/a.sock.d")
        );
    }
}
