//! Runs `ferrosm route`, and verifies its routing with three checkers.
//!
//! The JSON document has the program's own proof; [`crate::programs::routing_judge`] and `ibdmchk`
//! read its dumps. All three must agree. If the program rejects a routing, its message is the
//! reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::fabrics::by_spec;
use crate::programs::diags::{Kind, Net};
use crate::programs::ibdmchk;
use crate::programs::paths;
use crate::programs::process::Launch;
use crate::programs::routing_dumps::Dumps;
use crate::programs::routing_judge::{self, Verdict};
use crate::programs::scratch::Scratch;

/// Maximum run time of `ferrosm route`.
const DEADLINE: Duration = Duration::from_secs(120);
/// Environment variable that selects all shapes, states and numbers of VLs in place of the daily
/// subset (docs/routing.md).
const MATRIX_VARIABLE: &str = "FERROSM_ROUTING_MATRIX";

/// Whether the full matrix is selected.
#[must_use]
pub fn full_matrix() -> bool {
    std::env::var_os(MATRIX_VARIABLE).is_some_and(|value| value == "full" || value == "write")
}

/// Whether the results replace the table of expected rejections.
#[must_use]
pub fn writes_table() -> bool {
    std::env::var_os(MATRIX_VARIABLE).is_some_and(|value| value == "write")
}

/// A fabric to route.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// Name in reports: a spec or a file name.
    pub name: String,
    /// The fabric in ibnetdiscover's format.
    pub text: String,
}

impl Fabric {
    /// Generates a fabric from a spec of the simulator.
    #[must_use]
    pub fn of_spec(spec: &str) -> Self {
        Self {
            name: spec.to_owned(),
            text: by_spec(spec),
        }
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.text
            .lines()
            .filter(|line| line.starts_with("Switch"))
            .count()
    }
}

/// Result of one run.
#[derive(Debug)]
pub enum Outcome {
    /// The fabric is routed and the routing proven.
    Routed(Routed),
    /// The engine rejected the fabric, for this reason.
    Refused(String),
}

/// A routing, and the program's report of it.
#[derive(Debug)]
pub struct Routed {
    /// The JSON document.
    pub document: Value,
    /// Directory of the dumps.
    pub dump: PathBuf,
}

/// Routes a fabric with an engine and a number of VLs; `None` selects the default.
///
/// # Panics
/// If the program neither routes the fabric nor reports a reason.
#[must_use]
pub fn route(fabric: &Fabric, engine: Option<&str>, vls: Option<u8>, scratch: &Scratch) -> Outcome {
    let file = scratch.join("fabric.net");
    fs::write(&file, &fabric.text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let dump = scratch.join("dump");
    // Remove the dumps of an earlier run.
    let _ = fs::remove_dir_all(&dump);
    let from = file.display().to_string();
    let to = dump.display().to_string();
    let mut launch = Launch::new(paths::ferrosm()).args(&[
        "route",
        "--json",
        "--from",
        &from,
        "--dump-dir",
        &to,
    ]);
    if let Some(engine) = engine {
        launch = launch.args(&["--engine", engine]);
    }
    if let Some(vls) = vls {
        launch = launch.args(&["--vls", &vls.to_string()]);
    }
    let finished = launch.start(scratch.path()).wait(DEADLINE);
    if finished.status.code() == Some(1) && !finished.stderr.trim().is_empty() {
        return Outcome::Refused(finished.stderr.trim().to_owned());
    }
    let finished = finished.expect_success();
    let document: Value = serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stdout));
    let used = document["engine"].as_str().unwrap_or_default();
    let Some(requested) = engine.filter(|&requested| requested != used && requested != "auto")
    else {
        return Outcome::Routed(Routed { document, dump });
    };
    let rejected = document["rejections"].as_array().into_iter().flatten();
    let reason = rejected
        .filter(|rejected| rejected["engine"] == requested)
        .find_map(|rejected| rejected["reason"].as_str());
    Outcome::Refused(
        reason
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("engine {used} was used instead of {requested}: {document}")),
    )
}

/// Verifies a routing with both external checkers, and compares their results with the program's
/// proof.
///
/// `ibdmchk` does not support routers, and stores SLs by node. It is skipped if routers, or nodes
/// with ports on several switches, use several SLs.
///
/// # Errors
/// The faults, or the difference between the checkers.
pub fn judge(fabric: &Fabric, routed: &Routed, vls: u8, scratch: &Path) -> Result<Verdict, String> {
    let document = &routed.document;
    let proof = &document["proof"];
    if !proof.is_object() {
        return Err(format!("no proof: {document}"));
    }
    let net = Net::parse(&fabric.text)?;
    let dumps = Dumps::read(&routed.dump)?;
    let verdict = routing_judge::examine(&net, &dumps);
    verdict
        .check(vls)
        .map_err(|faults| format!("routing checker: {faults}"))?;
    let switches = dumps.nodes.values().filter(|node| node.switch).count();
    for (description, counted, reported) in [
        ("switches", switches, &document["switches"]),
        ("VLs", usize::from(verdict.vls.max(1)), &document["vls"]),
    ] {
        let reported = reported
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        // The program may count a VL that no packet uses.
        if counted != reported
            && (description != "VLs" || counted > reported || reported > usize::from(vls))
        {
            return Err(format!(
                "the routing checker counts {counted} {description}, the program reports {reported}"
            ));
        }
    }
    let routers = net.nodes.values().filter(|node| node.kind == Kind::Router);
    let router_ports: usize = routers.map(|node| node.ports.len()).sum();
    if dumps.sls.is_none() || (router_ports == 0 && dumps.end_nodes_on_several_switches() == 0) {
        ibdmchk::run(&routed.dump, scratch)?.check(verdict.end_ports - router_ports)?;
    }
    Ok(verdict)
}
