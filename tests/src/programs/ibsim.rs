//! Debian's `ibsim` with one fabric, and programs that run on it by its `umad2sim` library.
//!
//! Each [`Ibsim`] is a simulator process with its own socket name, so tests can run in parallel. It
//! accepts 10 clients at a time. `docs/simulation.md` describes what it simulates.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::programs::clients::Clients;
use crate::programs::paths;
use crate::programs::process::{Launch, POLL, Running, poll_until};
use crate::programs::scratch::{Scratch, unique_name};

/// Maximum time for starting ibsim.
const READY: Duration = Duration::from_secs(30);
/// Maximum numbers of nodes, switches and ports; LinearFDBCap covers the unicast LID range.
const CAPACITY: [&str; 8] = ["-N", "60000", "-S", "6000", "-P", "900000", "-L", "49151"];

/// A simulator that serves one fabric; killed when dropped.
#[derive(Debug)]
pub struct Ibsim {
    server: Running,
    socket: String,
    shim: PathBuf,
    markers: u32,
    // Last, so that the directory is removed after the process has ended.
    scratch: Scratch,
}

impl Ibsim {
    /// Serves a fabric in ibnetdiscover's text format.
    ///
    /// # Panics
    /// If ibsim is missing or does not load it.
    #[must_use]
    pub fn serve(fabric: &str) -> Self {
        Self::try_serve(fabric).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// As [`Ibsim::serve`], for files that ibsim may reject.
    ///
    /// # Errors
    /// ibsim's last line of output.
    pub fn try_serve(fabric: &str) -> Result<Self, String> {
        let scratch = Scratch::new("ibsim");
        let file = scratch.join("fabric.net");
        fs::write(&file, fabric).map_err(|error| format!("{}: {error}", file.display()))?;
        let socket = unique_name("ferrosm-test");
        let server = Launch::new("ibsim")
            .args(&["-s"])
            .args(&CAPACITY)
            .args(&["fabric.net"])
            .env("IBSIM_SOCKNAME", &*socket)
            .with_stdin_pipe()
            .start(scratch.path());
        let mut sim = Self {
            server,
            socket,
            shim: paths::umad2sim(),
            markers: 0,
            scratch,
        };
        sim.wait_until_ready()?;
        Ok(sim)
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        // A client that starts before the socket exists sleeps for two seconds, so wait for the
        // socket first.
        let name = format!("@{}:ctl", self.socket);
        poll_until(READY, POLL, || {
            if let Some(status) = self.server.ended() {
                // Stop waiting.
                return Ok(Err(self.exit_message(status)));
            }
            let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
            if sockets.contains(&name) {
                Ok(Ok(()))
            } else {
                Err("ibsim has no socket".to_owned())
            }
        })??;
        poll_until(READY, POLL, || {
            let answer = self.run("smpquery", &["-D", "nodeinfo", "0"]);
            if answer.status.success() {
                Ok(())
            } else {
                Err(answer.describe())
            }
        })
    }

    fn exit_message(&self, status: ExitStatus) -> String {
        format!(
            "ibsim ended with {status}: {}",
            (self.server.stdout() + &self.server.stderr())
                .lines()
                .last()
                .unwrap_or_default()
        )
    }

    /// Sends a console command (`Unlink "S-..."[3]`), and waits until ibsim has executed it.
    ///
    /// # Panics
    /// If ibsim rejects the command or has ended.
    pub fn console(&mut self, command: &str) {
        self.markers += 1;
        // ibsim echoes comments, so the echo of a comment shows that the preceding command is
        // complete.
        let marker = format!("# done {}", self.markers);
        let before = self.server.stdout().len();
        let pipe = self
            .server
            .stdin()
            .unwrap_or_else(|| panic!("ibsim has no stdin pipe"));
        writeln!(pipe, "{command}\n{marker}").unwrap_or_else(|error| panic!("ibsim: {error}"));
        let answer = poll_until(READY, POLL, || {
            let output = self.server.stdout().split_off(before);
            if output.contains(&marker) {
                Ok(output)
            } else {
                Err(format!("no reply to `{command}`"))
            }
        });
        let answer = answer.unwrap_or_else(|reason| panic!("{reason}"));
        let rejected = answer
            .lines()
            .map(|line| line.trim_start_matches("sim> "))
            .find(|line| line.starts_with("# ") && !line.starts_with("# done"))
            .or_else(|| {
                answer
                    .lines()
                    .find(|line| line.contains("unknown - skipped"))
            });
        assert!(
            rejected.is_none(),
            "ibsim rejected `{command}`: {}",
            rejected.unwrap_or_default()
        );
    }
}

impl Clients for Ibsim {
    fn dir(&self) -> &Path {
        self.scratch.path()
    }

    fn launch(&self, program: &str, node: Option<&str>) -> Launch {
        let cache = format!("{}/", self.subdir("opensm-cache").display());
        let launch = Launch::new(program)
            .env("LD_PRELOAD", self.shim.to_string_lossy())
            .env("IBSIM_SOCKNAME", &*self.socket)
            .env("OSM_CACHE_DIR", &*cache)
            .env("OSM_TMP_DIR", cache);
        match node {
            Some(node) => launch.env("SIM_HOST", node),
            None => launch.env_remove("SIM_HOST"),
        }
    }
}
