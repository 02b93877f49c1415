//! `ferrosm route` as a user runs it, and what three judges say of what it leaves behind.
//!
//! The program's own proof is in its document; [`crate::routing_judge`] and `ibdmchk` read its dumps. All three must agree.
//! Where a routing is refused, the reason is what the program said.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::diags::{Kind, Net};
use crate::fabrics::by_spec;
use crate::ibdmchk;
use crate::process::Launch;
use crate::programs;
use crate::routing_dumps::Dumps;
use crate::routing_judge::{self, Verdict};
use crate::scratch::Scratch;

/// Longest run of `ferrosm route`.
const DEADLINE: Duration = Duration::from_secs(120);
/// Asks for every shape, state and number of lanes, not only for those of every day (docs/routing.md).
const FULL: &str = "FERROSM_ROUTING_MATRIX";

/// Whether the full matrix is asked for.
#[must_use]
pub fn full_matrix() -> bool {
    std::env::var_os(FULL).is_some_and(|value| value == "full" || value == "write")
}

/// Whether the table of refusals is to be written from what is found.
#[must_use]
pub fn writes_table() -> bool {
    std::env::var_os(FULL).is_some_and(|value| value == "write")
}

/// A fabric that is to be routed: its name in reports, and its text in ibnetdiscover's form.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// A spec or a file name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Fabric {
    /// From the simulator's generators.
    #[must_use]
    pub fn of_spec(spec: &str) -> Self {
        Self {
            name: spec.to_owned(),
            text: by_spec(spec),
        }
    }

    /// Switches in it.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.text
            .lines()
            .filter(|line| line.starts_with("Switch"))
            .count()
    }
}

/// What came out of one run.
#[derive(Debug)]
pub enum Outcome {
    /// Tables, proven.
    Routed(Routed),
    /// The engine did not: its reason.
    Refused(String),
}

/// Tables and what the program says of them.
#[derive(Debug)]
pub struct Routed {
    /// The routing document.
    pub document: Value,
    /// Where the dumps are.
    pub dump: PathBuf,
}

/// Routes a fabric with an engine (`None`: the default) and so many lanes (`None`: the default).
///
/// # Panics
/// If the program neither routes nor gives a reason.
#[must_use]
pub fn route(fabric: &Fabric, engine: Option<&str>, vls: Option<u8>, scratch: &Scratch) -> Outcome {
    let file = scratch.join("fabric.net");
    fs::write(&file, &fabric.text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let dump = scratch.join("dump");
    // What another run left is not this run's.
    let _ = fs::remove_dir_all(&dump);
    let (from, to) = (file.display().to_string(), dump.display().to_string());
    let mut launch = Launch::new(programs::ferrosm()).args(&[
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
    let done = launch.start(scratch.path()).wait(DEADLINE);
    if done.status.code() == Some(1) && !done.stderr.trim().is_empty() {
        return Outcome::Refused(done.stderr.trim().to_owned());
    }
    let done = done.expect_success();
    let document: Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", done.stdout));
    let used = document["engine"].as_str().unwrap_or_default();
    let Some(asked) = engine.filter(|&asked| asked != used && asked != "auto") else {
        return Outcome::Routed(Routed { document, dump });
    };
    let prefix = format!("{asked}: ");
    let refused = document["rejected"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let reason = refused
        .into_iter()
        .find_map(|said| said.strip_prefix(&prefix));
    Outcome::Refused(
        reason
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{used} instead of {asked}: {document}")),
    )
}

/// Asks the two judges about a routing that the program has proven: sound, all three. `ibdmchk` does not know routers, and
/// keeps SLs by node: it is not asked where routers, or nodes with ports on several switches, send on several SLs.
///
/// # Errors
/// What is wrong, or on what they do not agree.
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
        .sound(vls)
        .map_err(|faults| format!("the judge: {faults}"))?;
    let switches = dumps.nodes.values().filter(|node| node.switch).count();
    for (what, counted, told) in [
        ("switches", switches, &document["switches"]),
        ("lanes", usize::from(verdict.vls.max(1)), &document["vls"]),
    ] {
        let told = told
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX);
        // A lane that no packet takes may be counted by the program.
        if counted != told && (what != "lanes" || counted > told || told > usize::from(vls)) {
            return Err(format!(
                "the judge counts {counted} {what}, the program {told}"
            ));
        }
    }
    let routers = net.nodes.values().filter(|node| node.kind == Kind::Router);
    let router_ports: usize = routers.map(|node| node.ports.len()).sum();
    if dumps.sls.is_none() || (router_ports == 0 && dumps.end_nodes_on_several_switches() == 0) {
        ibdmchk::ask(&routed.dump, scratch)?.sound(verdict.end_ports - router_ports)?;
    }
    Ok(verdict)
}
