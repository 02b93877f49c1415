//! `ferrosm sim` with one fabric, and programs that run on it by `ferrosm attach`.
//!
//! Each [`FabricServer`] is a server process with its own socket, so tests can run in parallel. The
//! number of attached programs is not limited.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::programs::clients::Clients;
use crate::programs::paths;
use crate::programs::process::{Finished, Launch, Running, poll_until};
use crate::programs::scratch::Scratch;

/// Maximum time for starting the server.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for the reply to a command.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between checks whether the server is ready.
const POLL: Duration = Duration::from_millis(5);

/// A server of a simulated fabric; killed when dropped.
#[derive(Debug)]
pub struct FabricServer {
    server: Running,
    socket: PathBuf,
    // Last, so that the directory is removed after the process has ended.
    scratch: Scratch,
}

impl FabricServer {
    /// Serves a generated fabric, such as `fat-tree:8`.
    ///
    /// # Panics
    /// If the server does not start.
    #[must_use]
    pub fn shape(spec: &str) -> Self {
        Self::start(Scratch::new("sim"), spec, &[]).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Serves a fabric in the text format of fabric files.
    ///
    /// # Panics
    /// If the server does not start.
    #[must_use]
    pub fn serve(fabric: &str) -> Self {
        Self::try_serve(fabric, &[]).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// As [`FabricServer::serve`] with flags of `ferrosm sim`, for files that it may reject. File
    /// names in flags are relative to [`Clients::dir`].
    ///
    /// # Errors
    /// The error output of the server.
    pub fn try_serve(fabric: &str, flags: &[&str]) -> Result<Self, String> {
        let scratch = Scratch::new("sim");
        let file = scratch.join("fabric.net");
        fs::write(&file, fabric).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::start(scratch, "fabric.net", flags)
    }

    /// Starts `ferrosm sim` in a directory, with a fabric argument and flags.
    ///
    /// # Errors
    /// The error output of the server.
    pub fn start(scratch: Scratch, fabric: &str, flags: &[&str]) -> Result<Self, String> {
        let socket = scratch.join("sim.sock");
        let binary = paths::ferrosm();
        let server = Launch::new(&binary)
            .args(&["sim", fabric, "--socket", &socket.to_string_lossy()])
            .args(flags)
            .start(scratch.path());
        let mut sim = Self {
            server,
            socket,
            scratch,
        };
        poll_until(START_TIMEOUT, POLL, || {
            if let Some(status) = sim.server.ended() {
                // Stop waiting.
                return Ok(Err(format!(
                    "ferrosm sim ended with {status}: {}",
                    sim.server.stderr()
                )));
            }
            if sim.server.stdout().contains("serving on ") {
                Ok(Ok(()))
            } else {
                Err("the server is not ready".to_owned())
            }
        })??;
        Ok(sim)
    }

    /// The server's socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The server's process ID.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Sends a `sim-ctl` command to the server, and returns its reply.
    ///
    /// # Panics
    /// If the server rejects the command.
    pub fn execute(&self, command: &str) -> String {
        self.try_execute(command).expect_success().stdout
    }

    /// As [`FabricServer::execute`], for commands that the server may reject.
    #[must_use]
    pub fn try_execute(&self, command: &str) -> Finished {
        let binary = paths::ferrosm();
        Launch::new(&binary)
            .args(&[
                "sim-ctl",
                "--socket",
                &self.socket.to_string_lossy(),
                command,
            ])
            .start(self.scratch.path())
            .wait(REPLY_TIMEOUT)
    }

    /// Stops the server with SIGTERM, and returns its output.
    #[must_use]
    pub fn finish(self) -> Finished {
        self.server
            .stop(crate::programs::process::Signal::Terminate, REPLY_TIMEOUT)
    }
}

impl Clients for FabricServer {
    fn dir(&self) -> &Path {
        self.scratch.path()
    }

    fn launch(&self, program: &str, node: Option<&str>) -> Launch {
        let binary = paths::ferrosm();
        let cache = format!("{}/", self.subdir("opensm-cache").display());
        let launch = Launch::new(&binary)
            .env("OSM_CACHE_DIR", &*cache)
            .env("OSM_TMP_DIR", cache)
            .args(&["attach", "--socket", &self.socket.to_string_lossy()]);
        let launch = match node {
            Some(node) => launch.args(&["--node", node]),
            None => launch,
        };
        let program = paths::find(Path::new(program));
        launch.args(&["--", &program.to_string_lossy()])
    }
}
