//! ibutils' `ibdmchk`, a foreign checker of OpenSM's dump files.
//!
//! SLs of paths and VLs of SLs are read from `opensm-path-sl.dump` and `opensm-sl2vl.dump` where they are there; without the
//! first every packet has SL 0, without the second VL = SL. It keeps one table of SLs for each *node*: of an adapter with
//! several ports it judges the port that was named last.
//!
//! It is told LMC 0 always: with another LMC it looks for LIDs that are not there, so only base LIDs are judged by
//! it. Debian's build tends to crash after its verdict, so its text is read and its exit status is not.

use std::path::Path;
use std::time::Duration;

use crate::process::Launch;
use crate::routing_dumps::names;

/// Longest run: 20 s at 11,664 hosts with nothing beside it; Selene beside two builds took more than two minutes.
const DEADLINE: Duration = Duration::from_secs(600);

/// What it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// Paths between CAs that it followed.
    pub paths: u64,
    /// Its error lines.
    pub errors: Vec<String>,
    /// It found a credit loop.
    pub credit_loop: bool,
}

impl Opinion {
    /// Reads its output.
    ///
    /// # Errors
    /// If it stopped before the verdict on credit loops without naming an error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number_in = |line: &str| {
            line.split(|c: char| !c.is_ascii_digit())
                .find_map(|word| word.parse::<u64>().ok())
        };
        let scanned = text
            .lines()
            .find_map(|line| line.strip_prefix("-I- Scanned:"));
        let credit_loop = text.contains("Found credit loop on");
        let errors: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("-E-"))
            .map(str::to_owned)
            .collect();
        if errors.is_empty() && !credit_loop && !text.contains("no credit loops found") {
            let end: Vec<&str> = text.lines().rev().take(8).collect();
            return Err(format!(
                "ibdmchk gave no verdict; its last lines, reversed: {end:#?}"
            ));
        }
        Ok(Self {
            paths: scanned.and_then(number_in).unwrap_or(0),
            errors,
            credit_loop,
        })
    }

    /// Nothing found, and every ordered pair of `cas` end ports was followed.
    ///
    /// # Errors
    /// What was found.
    pub fn sound(&self, cas: usize) -> Result<(), String> {
        if self.credit_loop || !self.errors.is_empty() {
            let first: Vec<&String> = self.errors.iter().take(5).collect();
            return Err(format!(
                "ibdmchk: credit loop {}, errors {first:#?}",
                self.credit_loop
            ));
        }
        let expected = cas as u64 * (cas as u64).saturating_sub(1);
        if self.paths != expected {
            return Err(format!(
                "ibdmchk followed {} paths, not {expected}",
                self.paths
            ));
        }
        Ok(())
    }
}

/// Runs it on the `opensm-subnet.lst` and `opensm.fdbs` in `dump`, with the files of lanes that are there.
///
/// # Errors
/// If the files are not there or it gives no verdict.
pub fn ask(dump: &Path, scratch: &Path) -> Result<Opinion, String> {
    for name in [names::SUBNET, names::FDBS] {
        let file = dump.join(name);
        if !file.is_file() {
            return Err(format!("{} is not there", file.display()));
        }
    }
    let file = |name: &str| dump.join(name).display().to_string();
    // It insists on a multicast file; an empty one is a fabric without groups.
    let groups = scratch.join("no-groups.mcfdbs");
    std::fs::write(&groups, "").map_err(|error| format!("{}: {error}", groups.display()))?;
    let mut lanes = Vec::new();
    for (flag, name) in [("-c", names::PATH_SL), ("-d", names::SL2VL)] {
        if dump.join(name).is_file() {
            lanes.extend([flag.to_owned(), file(name)]);
        }
    }
    let done = Launch::new("ibdmchk")
        .args(&[
            "-l",
            "0",
            "-s",
            &file(names::SUBNET),
            "-f",
            &file(names::FDBS),
        ])
        .args(&["-m", &groups.display().to_string()])
        .args(&lanes)
        .start(scratch)
        .wait(DEADLINE);
    Opinion::parse(&(done.stdout + &done.stderr))
}
