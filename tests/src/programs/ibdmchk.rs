//! ibutils' `ibdmchk`, an independent checker of OpenSM's dump files.
//!
//! It reads path SLs from `opensm-path-sl.dump` and SL-to-VL tables from `opensm-sl2vl.dump`, if
//! these files exist. Defaults are SL 0 and VL = SL. It stores one SL table per *node*: for an
//! adapter with several ports it uses the table of the port that comes last in the file.
//!
//! It always runs with LMC 0, and therefore checks only base LIDs: with another LMC it expects LIDs
//! that do not exist. Debian's build often crashes after it has printed its result, so its exit
//! status is ignored.

use std::path::Path;
use std::time::Duration;

use crate::programs::process::Launch;
use crate::programs::routing_dumps::names;

/// Maximum run time. Measured: 20 s for 11,664 hosts on an idle machine; more than two minutes for
/// the saved fabric Selene under load.
const DEADLINE: Duration = Duration::from_secs(600);

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Number of paths between CAs that it followed.
    pub paths: u64,
    /// Error lines.
    pub errors: Vec<String>,
    /// Whether it found a credit loop.
    pub credit_loop: bool,
}

impl Report {
    /// Parses the output.
    ///
    /// # Errors
    /// If the output has neither an error nor a result of the credit loop check.
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
                "no result in the output of ibdmchk; its last lines, reversed: {end:#?}"
            ));
        }
        Ok(Self {
            paths: scanned.and_then(number_in).unwrap_or(0),
            errors,
            credit_loop,
        })
    }

    /// Succeeds without errors and credit loops, if the paths between all ordered pairs of `cas`
    /// end ports were followed.
    ///
    /// # Errors
    /// The errors, or the wrong number of paths.
    pub fn check(&self, cas: usize) -> Result<(), String> {
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
                "ibdmchk followed {} paths, expected {expected}",
                self.paths
            ));
        }
        Ok(())
    }
}

/// Runs `ibdmchk` on `opensm-subnet.lst` and `opensm.fdbs` in `dump`, and on the files of SLs and
/// VLs if they exist.
///
/// # Errors
/// If a file is missing, or the output has no result.
pub fn run(dump: &Path, scratch: &Path) -> Result<Report, String> {
    for name in [names::SUBNET, names::FDBS] {
        let file = dump.join(name);
        if !file.is_file() {
            return Err(format!("{} does not exist", file.display()));
        }
    }
    let file = |name: &str| dump.join(name).display().to_string();
    // ibdmchk requires a multicast file; an empty one means that there are no groups.
    let groups = scratch.join("no-groups.mcfdbs");
    std::fs::write(&groups, "").map_err(|error| format!("{}: {error}", groups.display()))?;
    let mut vl_args = Vec::new();
    for (flag, name) in [("-c", names::PATH_SL), ("-d", names::SL2VL)] {
        if dump.join(name).is_file() {
            vl_args.extend([flag.to_owned(), file(name)]);
        }
    }
    let finished = Launch::new("ibdmchk")
        .args(&[
            "-l",
            "0",
            "-s",
            &file(names::SUBNET),
            "-f",
            &file(names::FDBS),
        ])
        .args(&["-m", &groups.display().to_string()])
        .args(&vl_args)
        .start(scratch)
        .wait(DEADLINE);
    Report::parse(&(finished.stdout + &finished.stderr))
}
