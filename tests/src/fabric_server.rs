//! `ferrosm sim` with one fabric, and programs run on it by `ferrosm attach`.
//!
//! One [`FabricServer`] is one server process under a socket of its own, so tests can run side by side. It takes
//! any number of programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clients::Clients;
use crate::process::{Finished, Launch, Running, poll_until};
use crate::programs;
use crate::scratch::Scratch;

/// Longest time to read a file and serve it.
const READY: Duration = Duration::from_secs(30);
/// Longest time for the answer to a statement.
const ANSWER: Duration = Duration::from_secs(60);
/// Time between two looks at whether the server serves.
const POLL: Duration = Duration::from_millis(5);

/// A server of a simulated fabric; killed when dropped.
#[derive(Debug)]
pub struct FabricServer {
    server: Running,
    socket: PathBuf,
    // Last: the directory goes after the process that writes into it.
    scratch: Scratch,
}

impl FabricServer {
    /// Serves a shape such as `fat-tree:8`.
    ///
    /// # Panics
    /// If the server does not start.
    #[must_use]
    pub fn shape(spec: &str) -> Self {
        Self::start(Scratch::new("sim"), spec, &[]).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Serves a fabric in a file's text.
    ///
    /// # Panics
    /// If the server does not start.
    #[must_use]
    pub fn serve(fabric: &str) -> Self {
        Self::try_serve(fabric, &[]).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// As [`FabricServer::serve`] with flags of `ferrosm sim`, for files that it may refuse. Files that flags name
    /// are in [`Clients::dir`].
    ///
    /// # Errors
    /// What the server said.
    pub fn try_serve(fabric: &str, flags: &[&str]) -> Result<Self, String> {
        let scratch = Scratch::new("sim");
        let file = scratch.join("fabric.net");
        fs::write(&file, fabric).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::start(scratch, "fabric.net", flags)
    }

    /// Serves what `ferrosm sim` takes, from a directory.
    ///
    /// # Errors
    /// What the server said.
    pub fn start(scratch: Scratch, fabric: &str, flags: &[&str]) -> Result<Self, String> {
        let socket = scratch.join("sim.sock");
        let binary = programs::ferrosm();
        let server = Launch::new(&binary)
            .args(&["sim", fabric, "--socket", &socket.to_string_lossy()])
            .args(flags)
            .start(scratch.path());
        let mut sim = Self {
            server,
            socket,
            scratch,
        };
        poll_until(READY, POLL, || {
            if let Some(status) = sim.server.ended() {
                // Nothing to wait for any more.
                return Ok(Err(format!(
                    "ferrosm sim ended with {status}: {}",
                    sim.server.stderr()
                )));
            }
            if sim.server.stdout().contains("serving on ") {
                Ok(Ok(()))
            } else {
                Err("the server does not serve".to_owned())
            }
        })??;
        Ok(sim)
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Gives a statement or question and returns what is said to it.
    ///
    /// # Panics
    /// If the server refuses it.
    pub fn tell(&self, statement: &str) -> String {
        self.try_tell(statement).expect_success().stdout
    }

    /// As [`FabricServer::tell`], for what the server may refuse.
    #[must_use]
    pub fn try_tell(&self, statement: &str) -> Finished {
        let binary = programs::ferrosm();
        Launch::new(&binary)
            .args(&[
                "sim-ctl",
                "--socket",
                &self.socket.to_string_lossy(),
                statement,
            ])
            .start(self.scratch.path())
            .wait(ANSWER)
    }

    /// Ends the server by a signal and returns what it said.
    #[must_use]
    pub fn end(self) -> Finished {
        self.server.stop(crate::process::Signal::Terminate, ANSWER)
    }
}

impl Clients for FabricServer {
    fn dir(&self) -> &Path {
        self.scratch.path()
    }

    fn launch(&self, program: &str, node: Option<&str>) -> Launch {
        let binary = programs::ferrosm();
        let cache = format!("{}/", self.subdir("opensm-cache").display());
        let launch = Launch::new(&binary)
            .env("OSM_CACHE_DIR", &*cache)
            .env("OSM_TMP_DIR", cache)
            .args(&["attach", "--socket", &self.socket.to_string_lossy()]);
        let launch = match node {
            Some(node) => launch.args(&["--node", node]),
            None => launch,
        };
        let program = programs::find(Path::new(program));
        launch.args(&["--", &program.to_string_lossy()])
    }
}
