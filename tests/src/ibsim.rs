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

use crate::diags::{LFT_BLOCK, Net, Observed, SmInfo, Tables, Trace, parse_links};
use crate::process::{Finished, Launch, POLL, Running, poll_until};
use crate::programs;
use crate::scratch::{Scratch, unique_name};

/// Longest time for ibsim to read a file and serve it.
const READY: Duration = Duration::from_secs(30);
/// Longest time for a diagnostic program.
const DIAG: Duration = Duration::from_secs(120);
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

    /// The directory in which everything on this simulator runs.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// A directory in [`Ibsim::dir`].
    #[must_use]
    pub fn subdir(&self, name: &str) -> PathBuf {
        self.scratch.dir(name)
    }

    /// Runs a program on the node that the fabric's file names first.
    #[must_use]
    pub fn run(&self, program: &str, args: &[&str]) -> Finished {
        self.launch(program, None)
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs a program on a node given by its id or description.
    #[must_use]
    pub fn run_at(&self, node: &str, program: &str, args: &[&str]) -> Finished {
        self.launch(program, Some(node))
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs `ferrosm` to its end.
    #[must_use]
    pub fn ferrosm(&self, args: &[&str]) -> Finished {
        self.spawn_ferrosm(None, args).wait(DIAG)
    }

    /// Starts `ferrosm` at a node (the first where `None`) and lets it run.
    #[must_use]
    pub fn spawn_ferrosm(&self, node: Option<&str>, args: &[&str]) -> Running {
        let binary = programs::ferrosm();
        self.launch(&binary.to_string_lossy(), node)
            .args(args)
            .start(self.dir())
    }

    /// Runs one sweep of OpenSM. Its dumps are in `dump` under [`Ibsim::dir`].
    #[must_use]
    pub fn opensm_once(&self, args: &[&str]) -> Finished {
        let dump = format!("{}/", self.subdir("dump").display());
        // 0x43: errors, messages, and the routing dumps.
        let basic = [
            "-o",
            "-e",
            "-D",
            "0x43",
            "-f",
            "opensm.log",
            "--dump_files_dir",
            &dump,
        ];
        self.launch("opensm", None)
            .args(&basic)
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// A program under the shim, ready for arguments.
    #[must_use]
    pub fn launch(&self, program: &str, node: Option<&str>) -> Launch {
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

    /// The fabric by `ibnetdiscover`.
    ///
    /// # Errors
    /// If it fails or prints what the parser does not know.
    pub fn net(&self) -> Result<Net, String> {
        Net::parse(&self.said("ibnetdiscover", &[])?)
    }

    /// The fabric by `ibnetdiscover`, the linear forwarding tables by `dump_fts`, the links by `iblinkinfo`.
    ///
    /// # Errors
    /// As [`Ibsim::net`].
    pub fn observe(&self) -> Result<Observed, String> {
        Ok(Observed {
            net: self.net()?,
            tables: self.tables()?,
            links: parse_links(&self.said("iblinkinfo", &["-l"])?)?,
        })
    }

    /// The linear forwarding tables by `dump_fts`, and by `smpdump` what that leaves out.
    fn tables(&self) -> Result<Tables, String> {
        /// AttributeID of LinearForwardingTable, as `smpdump` takes it.
        const LFT: &str = "25";
        let text = self.said("dump_fts", &["-a", "-n"])?;
        let mut tables = Tables::parse(&text)?;
        for entry in Tables::left_out(&text)? {
            let block = (entry.lid / LFT_BLOCK).to_string();
            tables.complete(
                &entry,
                &self.said("smpdump", &["-D", &entry.path, LFT, &block])?,
            )?;
        }
        Ok(tables)
    }

    /// The path that `ibtracert` finds between two LIDs.
    ///
    /// # Errors
    /// As [`Ibsim::net`].
    pub fn trace(&self, from: u16, to: u16) -> Result<Trace, String> {
        Trace::parse(&self.said("ibtracert", &[&from.to_string(), &to.to_string()])?)
    }

    /// The subnet manager's state, asked by `sminfo` at a node. Only a running subnet manager answers.
    ///
    /// # Errors
    /// As [`Ibsim::net`].
    pub fn sm_info(&self, node: &str) -> Result<SmInfo, String> {
        self.ask_sm(node, &[])
    }

    /// As [`Ibsim::sm_info`], of the subnet manager at a LID.
    ///
    /// # Errors
    /// As [`Ibsim::net`].
    pub fn sm_info_of(&self, node: &str, lid: u16) -> Result<SmInfo, String> {
        self.ask_sm(node, &[&lid.to_string()])
    }

    fn ask_sm(&self, node: &str, args: &[&str]) -> Result<SmInfo, String> {
        let answer = self.run_at(node, "sminfo", args);
        if !answer.status.success() {
            return Err(answer.describe());
        }
        SmInfo::parse(&answer.stdout)
    }

    fn said(&self, program: &str, args: &[&str]) -> Result<String, String> {
        let answer = self.run(program, args);
        if answer.status.success() {
            Ok(answer.stdout)
        } else {
            Err(answer.describe())
        }
    }
}
