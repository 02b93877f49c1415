//! Checks of a saved fabric.

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::NodeType;
use ferrosm_sim::ibnet;
use ferrosm_sim::spec::{FabricSpec, PortAt};
use ferrosm_tests::lab::Lab;
use ferrosm_tests::programs::bringup;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::ibnetdiscover;
use ferrosm_tests::programs::opensm::error_lines;
use ferrosm_tests::programs::routing::{Fabric, Outcome, judge, route};
use ferrosm_tests::programs::scratch::Scratch;

use crate::directed;
use crate::fabrics::SavedFabric;

/// Limit of switches for ibsim. Larger fabrics run in the in-process simulator only.
const IBSIM_SWITCHES: usize = 200;

/// Full trees: with every shift permutation of the end ports, no link carries more than one flow
/// (ibutils' rule for fat trees).
const FULL_TREES: [&str; 3] = [
    "ibutils/4-ary-2-tree.net",
    "ibutils/2-ary-4-tree.net",
    "ibutils/12-ary-2-tree.net",
];

/// A test of each fabric to which it applies. Failures are messages.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) applies: fn(&SavedFabric) -> bool,
    pub(crate) run: fn(&SavedFabric) -> Result<(), String>,
}

/// All checks. Those of `foreign` start third-party programs (.config/nextest.toml).
pub(crate) const CHECKS: [Check; 7] = [
    Check {
        name: "is_unchanged_by_writing_and_reading",
        applies: |_| true,
        run: is_unchanged_by_writing_and_reading,
    },
    Check {
        name: "every_node_responds_on_a_directed_route",
        applies: |_| true,
        run: every_node_responds_on_a_directed_route,
    },
    Check {
        name: "comes_up_in_process",
        applies: |_| true,
        run: comes_up_in_process,
    },
    Check {
        name: "foreign::is_routed_without_input_files",
        applies: |_| true,
        run: is_routed_without_input_files,
    },
    Check {
        name: "foreign::comes_up_on_ibsim",
        applies: |fabric| fabric.switches() <= IBSIM_SWITCHES,
        run: comes_up_on_ibsim,
    },
    Check {
        name: "foreign::opensm_brings_it_up",
        applies: |_| true,
        run: opensm_brings_it_up,
    },
    Check {
        name: "foreign::ibnetdiscover_prints_the_same_fabric",
        applies: |_| true,
        run: ibnetdiscover_prints_the_same_fabric,
    },
];

fn read(text: &str) -> Result<FabricSpec, String> {
    ibnet::read(text).map_err(|error| error.to_string())
}

/// The parsed fabric has the counts in its header, and is unchanged after it was written and parsed
/// again.
fn is_unchanged_by_writing_and_reading(fabric: &SavedFabric) -> Result<(), String> {
    let spec = read(&fabric.text)?;
    let header = fabric
        .text
        .lines()
        .find(|line| line.contains(" sw-sw links"));
    if header.is_none() && fabric.is_real {
        return Err("the header has no counts".to_owned());
    }
    if let Some(header) = header {
        let words = header.split([' ', ',']);
        let counts: Vec<usize> = words.filter_map(|word| word.parse().ok()).collect();
        let is_switch = |at: PortAt| spec.nodes[at.node].kind == NodeType::Switch;
        let between = spec
            .links
            .iter()
            .filter(|link| is_switch(link.a) && is_switch(link.b));
        let between = between.count();
        let others = spec.links.len() - between;
        let found = [spec.switch_count(), spec.ca_count(), between, others];
        if counts != found {
            return Err(format!("parsed {found:?}, header: {header}"));
        }
    }
    let mut text = String::new();
    ibnet::write(&spec, &mut text).map_err(|error| error.to_string())?;
    if read(&text)? != spec {
        return Err("the fabric differs after it was written and parsed again".to_owned());
    }
    Ok(())
}

/// Directed Get(NodeInfo) reaches exactly the connected nodes.
fn every_node_responds_on_a_directed_route(fabric: &SavedFabric) -> Result<(), String> {
    let spec = read(&fabric.text)?;
    let (found, from) = directed::answering(&spec)?;
    let connected = directed::connected(&spec, from);
    if found != connected {
        let differing: Vec<_> = found.symmetric_difference(&connected).collect();
        return Err(format!(
            "nodes {differing:?} are connected or discovered, but not both"
        ));
    }
    Ok(())
}

/// In virtual time, with the default configuration: one sweep without problems, and no violation
/// found by the simulator's oracles.
fn comes_up_in_process(fabric: &SavedFabric) -> Result<(), String> {
    let spec = read(&fabric.text)?;
    let mut lab = Lab::on(&fabric.name, spec, 1, SmConfig::default(), None);
    let report = lab.next_sweep(600);
    if !report.is_clean() {
        return Err(format!("problems: {:?}", report.problems));
    }
    lab.assert_correct();
    Ok(())
}

/// Offline routing with the default engine is verified by ferrosm, the oracle and ibdmchk: with the
/// engine's own number of VLs, and then on one VL.
fn is_routed_without_input_files(fabric: &SavedFabric) -> Result<(), String> {
    let scratch = Scratch::new("routing");
    let input = Fabric {
        name: fabric.name.clone(),
        text: fabric.text.clone(),
    };
    for vls in [None, Some(1)] {
        let routed = match route(&input, None, vls, &scratch) {
            Outcome::Routed(routed) => routed,
            Outcome::Refused(reason) => return Err(reason),
        };
        judge(&input, &routed, vls.unwrap_or(15), scratch.path())
            .map_err(|error| format!("{vls:?} VLs: {error}"))?;
        let document = &routed.document;
        if document["nodes_outside"].as_u64() != Some(0) {
            return Err(format!("{} nodes not routed", document["nodes_outside"]));
        }
        if FULL_TREES.contains(&fabric.name.as_str()) {
            let worst = &document["quality"]["shift_by_leaf"]["worst"];
            if worst.as_u64().is_none_or(|worst| worst > 1) {
                return Err(format!("{worst} flows on a link"));
            }
        }
        // Route again on one VL only if the engine used several.
        if document["vls"].as_u64() == Some(1) {
            break;
        }
    }
    Ok(())
}

/// Bring-up on ibsim with the default engine and no input files, verified by infiniband-diags and
/// ibdmchk.
fn comes_up_on_ibsim(fabric: &SavedFabric) -> Result<(), String> {
    bringup::check(&fabric.text, &[], 0);
    Ok(())
}

/// OpenSM brings the fabric up on the simulator and logs no error.
fn opensm_brings_it_up(fabric: &SavedFabric) -> Result<(), String> {
    let sim = FabricServer::try_serve(&fabric.text, &[])?;
    let done = sim.opensm_once(&[]);
    let log = std::fs::read_to_string(sim.dir().join("opensm.log")).unwrap_or_default();
    if !done.status.success() || !log.contains("SUBNET UP") {
        return Err(format!("bring-up failed: {}", done.describe()));
    }
    match error_lines(&log).as_slice() {
        [] => Ok(()),
        error_lines => Err(error_lines.join("\n")),
    }
}

/// ibnetdiscover prints the fabric as loaded, with the same LIDs.
fn ibnetdiscover_prints_the_same_fabric(fabric: &SavedFabric) -> Result<(), String> {
    let listing = FabricServer::serve(&fabric.text).run("ibnetdiscover", &[]);
    let mut mismatches = Vec::new();
    ibnetdiscover::compare(&fabric.name, &fabric.text, &listing.stdout, &mut mismatches);
    mismatches.truncate(40);
    match mismatches.as_slice() {
        [] => Ok(()),
        mismatches => Err(mismatches.join("\n")),
    }
}
