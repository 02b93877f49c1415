//! Programs of others on a simulated fabric, whichever simulator serves it.
//!
//! A simulator says how a program is started on one of its nodes; what the programs then tell is read here,
//! in one way for all.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::diags::{LFT_BLOCK, Net, Observed, SmInfo, Tables, Trace, parse_links};
use crate::process::{Finished, Launch, Running};
use crate::programs;

/// Longest time for a diagnostic program.
const DIAG: Duration = Duration::from_secs(120);

/// A simulator on which programs run.
pub trait Clients {
    /// The directory in which everything on this simulator runs.
    fn dir(&self) -> &Path;

    /// A program on a node given by its id or description (the simulator's choice where `None`), ready for
    /// arguments.
    fn launch(&self, program: &str, node: Option<&str>) -> Launch;

    /// A directory in [`Clients::dir`].
    #[must_use]
    fn subdir(&self, name: &str) -> PathBuf {
        let dir = self.dir().join(name);
        std::fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        dir
    }

    /// Runs a program on the node that the fabric's file names first.
    #[must_use]
    fn run(&self, program: &str, args: &[&str]) -> Finished {
        self.launch(program, None)
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs a program on a node given by its id or description.
    #[must_use]
    fn run_at(&self, node: &str, program: &str, args: &[&str]) -> Finished {
        self.launch(program, Some(node))
            .args(args)
            .start(self.dir())
            .wait(DIAG)
    }

    /// Runs `ferrosm` to its end.
    #[must_use]
    fn ferrosm(&self, args: &[&str]) -> Finished {
        self.spawn_ferrosm(None, args).wait(DIAG)
    }

    /// Starts `ferrosm` at a node (the first where `None`) and lets it run.
    #[must_use]
    fn spawn_ferrosm(&self, node: Option<&str>, args: &[&str]) -> Running {
        let binary = programs::ferrosm();
        self.launch(&binary.to_string_lossy(), node)
            .args(args)
            .start(self.dir())
    }

    /// Runs one sweep of OpenSM. Its dumps are in `dump` under [`Clients::dir`].
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

    /// The fabric by `ibnetdiscover`.
    ///
    /// # Errors
    /// If it fails or prints what the parser does not know.
    fn net(&self) -> Result<Net, String> {
        Net::parse(&said(self, "ibnetdiscover", &[])?)
    }

    /// The fabric by `ibnetdiscover`, the linear forwarding tables by `dump_fts`, the links by `iblinkinfo`.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn observe(&self) -> Result<Observed, String> {
        Ok(Observed {
            net: self.net()?,
            tables: self.tables()?,
            links: parse_links(&said(self, "iblinkinfo", &["-l"])?)?,
        })
    }

    /// The linear forwarding tables by `dump_fts`, and by `smpdump` what that leaves out.
    fn tables(&self) -> Result<Tables, String> {
        /// AttributeID of LinearForwardingTable, as `smpdump` takes it.
        const LFT: &str = "25";
        let text = said(self, "dump_fts", &["-a", "-n"])?;
        let mut tables = Tables::parse(&text)?;
        for entry in Tables::left_out(&text)? {
            let block = (entry.lid / LFT_BLOCK).to_string();
            tables.complete(
                &entry,
                &said(self, "smpdump", &["-D", &entry.path, LFT, &block])?,
            )?;
        }
        Ok(tables)
    }

    /// The path that `ibtracert` finds between two LIDs.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn trace(&self, from: u16, to: u16) -> Result<Trace, String> {
        Trace::parse(&said(
            self,
            "ibtracert",
            &[&from.to_string(), &to.to_string()],
        )?)
    }

    /// The subnet manager's state, asked by `sminfo` at a node. Only a running subnet manager answers.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn sm_info(&self, node: &str) -> Result<SmInfo, String> {
        ask_sm(self, node, &[])
    }

    /// As [`Clients::sm_info`], of the subnet manager at a LID.
    ///
    /// # Errors
    /// As [`Clients::net`].
    fn sm_info_of(&self, node: &str, lid: u16) -> Result<SmInfo, String> {
        ask_sm(self, node, &[&lid.to_string()])
    }
}

fn ask_sm(sim: &(impl Clients + ?Sized), node: &str, args: &[&str]) -> Result<SmInfo, String> {
    let answer = sim.run_at(node, "sminfo", args);
    if !answer.status.success() {
        return Err(answer.describe());
    }
    SmInfo::parse(&answer.stdout)
}

fn said(sim: &(impl Clients + ?Sized), program: &str, args: &[&str]) -> Result<String, String> {
    let answer = sim.run(program, args);
    if answer.status.success() {
        Ok(answer.stdout)
    } else {
        Err(answer.describe())
    }
}
