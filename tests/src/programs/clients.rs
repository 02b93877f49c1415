//! Programs of other projects on a simulated fabric.
//!
//! Each simulator implements how to start a program on a node; running the programs and parsing
//! their output is common to all simulators.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::programs::diags::{LFT_BLOCK, Net, Observed, SmInfo, Tables, Trace, parse_links};
use crate::programs::paths;
use crate::programs::process::{Finished, Launch, Running};

/// Maximum run time of a diagnostic program.
const DIAG: Duration = Duration::from_secs(120);

/// A simulator that runs programs on its nodes.
pub trait Clients {
    /// The working directory of all programs on this simulator.
    fn dir(&self) -> &Path;

    /// Prepares a program on a node, selected by ID or description; `None` selects the simulator's
    /// default.
    fn launch(&self, program: &str, node: Option<&str>) -> Launch;

    /// Creates a directory in [`Clients::dir`].
    #[must_use]
    fn subdir(&self, name: &str) -> PathBuf {
        let dir = self.dir().join(name);
        std::fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        dir
    }

    /// Runs a program on the first node of the fabric file.
    #[must_use]
    fn run(&self, program: &str, args: &[&str]) -> Finished {
        self.launch(program, None)
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs a program on a node, selected by ID or description.
    #[must_use]
    fn run_at(&self, node: &str, program: &str, args: &[&str]) -> Finished {
        self.launch(program, Some(node))
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs `ferrosm`, and waits for its end.
    #[must_use]
    fn ferrosm(&self, args: &[&str]) -> Finished {
        self.spawn_ferrosm(None, args).wait(DIAG)
    }

    /// Starts `ferrosm` on a node; `None` selects the first one.
    #[must_use]
    fn spawn_ferrosm(&self, node: Option<&str>, args: &[&str]) -> Running {
        let binary = paths::ferrosm();
        self.launch(&binary.to_string_lossy(), node)
            .args(args)
            .start(self.dir())
    }

    /// Runs one sweep of OpenSM, which writes its dumps to `dump` in [`Clients::dir`].
    #[must_use]
    fn opensm_once(&self, args: &[&str]) -> Finished {
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

    /// The fabric, from `ibnetdiscover`.
    ///
    /// # Errors
    /// If a program fails, or its output cannot be parsed.
    fn net(&self) -> Result<Net, String> {
        Net::parse(&output_of(self, "ibnetdiscover", &[])?)
    }

    /// The fabric from `ibnetdiscover`, the linear forwarding tables from `dump_fts`, and the links
    /// from `iblinkinfo`.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn observe(&self) -> Result<Observed, String> {
        Ok(Observed {
            net: self.net()?,
            tables: self.tables()?,
            links: parse_links(&output_of(self, "iblinkinfo", &["-l"])?)?,
        })
    }

    /// The linear forwarding tables from `dump_fts`, and from `smpdump` the entries that `dump_fts`
    /// omits.
    fn tables(&self) -> Result<Tables, String> {
        /// AttributeID of LinearForwardingTable, in decimal for `smpdump`.
        const LFT: &str = "25";
        let text = output_of(self, "dump_fts", &["-a", "-n"])?;
        let mut tables = Tables::parse(&text)?;
        for entry in Tables::omitted(&text)? {
            let block = (entry.lid / LFT_BLOCK).to_string();
            tables.complete(
                &entry,
                &output_of(self, "smpdump", &["-D", &entry.path, LFT, &block])?,
            )?;
        }
        Ok(tables)
    }

    /// The path that `ibtracert` finds between two LIDs.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn trace(&self, from: u16, to: u16) -> Result<Trace, String> {
        Trace::parse(&output_of(
            self,
            "ibtracert",
            &[&from.to_string(), &to.to_string()],
        )?)
    }

    /// SMInfo of the master, queried by `sminfo` on a node. Only a running SM replies.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn sm_info(&self, node: &str) -> Result<SmInfo, String> {
        query_sm_info(self, node, &[])
    }

    /// As [`Clients::sm_info`], for the SM at a LID.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn sm_info_of(&self, node: &str, lid: u16) -> Result<SmInfo, String> {
        query_sm_info(self, node, &[&lid.to_string()])
    }
}

fn query_sm_info(
    sim: &(impl Clients + ?Sized),
    node: &str,
    args: &[&str],
) -> Result<SmInfo, String> {
    let finished = sim.run_at(node, "sminfo", args);
    if !finished.status.success() {
        return Err(finished.describe());
    }
    SmInfo::parse(&finished.stdout)
}

fn output_of(
    sim: &(impl Clients + ?Sized),
    program: &str,
    args: &[&str],
) -> Result<String, String> {
    let finished = sim.run(program, args);
    if finished.status.success() {
        Ok(finished.stdout)
    } else {
        Err(finished.describe())
    }
}
