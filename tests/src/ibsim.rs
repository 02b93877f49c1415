//! Debian's `ibsim` with one fabric, and programs run on it under its `umad2sim` shim.
//!
//! One [`Ibsim`] is one simulator process under a socket name of its own, so tests can run side by side. It
//! accepts 10 clients at a time. It is a foreign program: what it simulates, and what it does not, is in
//! `docs/simulation.md`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::clients::Clients;
use crate::process::{Launch, POLL, Running, poll_until};
use crate::programs;
use crate::scratch::{Scratch, unique_name};

/// Longest time for ibsim to read a file and serve it.
const READY: Duration = Duration::from_secs(30);
/// Room for nodes, switches and ports; LinearFDBCap is the whole unicast range.
const CAPACITY: [&str; 8] = ["-N", "60000", "-S", "6000", "-P", "900000", "-L", "49151"];

/// A simulator that serves one fabric; killed when dropped.
#[derive(Debug)]
pub struct Ibsim {
    server: Running,
    socket: String,
    shim: PathBuf,
    markers: u32,
    // Last: the directory goes after the process that writes into it.
    scratch: Scratch,
}

impl Ibsim {
    /// Serves a fabric in ibnetdiscover's text form.
    ///
    /// # Panics
    /// If ibsim is missing or does not load it.
    #[must_use]
    pub fn serve(fabric: &str) -> Self {
        Self::try_serve(fabric).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// As [`Ibsim::serve`], for files that ibsim may refuse.
    ///
    /// # Errors
    /// What ibsim said.
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
            .with_console()
            .start(scratch.path());
        let mut sim = Self {
            server,
            socket,
            shim: programs::umad2sim(),
            markers: 0,
            scratch,
        };
        sim.wait_until_ready()?;
        Ok(sim)
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        // A client that comes before the socket would sleep for two seconds, so look at the socket first.
        let name = format!("@{}:ctl", self.socket);
        poll_until(READY, POLL, || {
            if let Some(status) = self.server.ended() {
                // Nothing to wait for any more.
                return Ok(Err(self.last_words(status)));
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

    fn last_words(&self, status: ExitStatus) -> String {
        format!(
            "ibsim ended with {status}: {}",
            (self.server.stdout() + &self.server.stderr())
                .lines()
                .last()
                .unwrap_or_default()
        )
    }

    /// Gives a console command (`Unlink "S-..."[3]`) and waits until ibsim has carried it out.
    ///
    /// # Panics
    /// If ibsim refuses it or is gone.
    pub fn console(&mut self, command: &str) {
        self.markers += 1;
        // ibsim echoes comments, so a comment that has been echoed proves that the command before it is done.
        let marker = format!("# done {}", self.markers);
        let before = self.server.stdout().len();
        let pipe = self
            .server
            .console()
            .unwrap_or_else(|| panic!("ibsim has no console"));
        writeln!(pipe, "{command}\n{marker}").unwrap_or_else(|error| panic!("ibsim: {error}"));
        let answer = poll_until(READY, POLL, || {
            let said = self.server.stdout().split_off(before);
            if said.contains(&marker) {
                Ok(said)
            } else {
                Err(format!("no answer to `{command}`"))
            }
        });
        let answer = answer.unwrap_or_else(|reason| panic!("{reason}"));
        let refused = answer
            .lines()
            .map(|line| line.trim_start_matches("sim> "))
            .find(|line| line.starts_with("# ") && !line.starts_with("# done"))
            .or_else(|| {
                answer
                    .lines()
                    .find(|line| line.contains("unknown - skipped"))
            });
        assert!(
            refused.is_none(),
            "ibsim refused `{command}`: {}",
            refused.unwrap_or_default()
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
