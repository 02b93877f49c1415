//! Every flow of osmtest, OpenSM's SA test, against ferrosm on a simulated fabric.
//!
//! Each flow has its own fabric, because osmtest expects either a clean SA or the records of the
//! previous flow. `tests/osmtest-waivers.txt` lists flows that may fail. `opensm.rs` checks that
//! osmtest passes on the same simulated fabric with OpenSM.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_sim::generate::from_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::opensm::{OpenSm, osmtest, try_osmtest};

const WAIVERS: &str = include_str!("../../osmtest-waivers.txt");

const SMALL: &str = "star:4";
const TREE: &str = "fat-tree2:8,2,3";

/// A flow: its name in the list of waivers, the flags of osmtest, and the fabric.
struct Flow {
    name: &'static str,
    flags: &'static [&'static str],
    spec: &'static str,
}

const fn flow(name: &'static str, flags: &'static [&'static str], spec: &'static str) -> Flow {
    Flow { name, flags, spec }
}

/// All flows. `c` creates the inventory that the others compare with, and runs before each of them.
const FLOWS: [Flow; 12] = [
    flow("c", &["-f", "c"], TREE),
    flow("v", &["-f", "v"], TREE),
    flow("q", &["-f", "q"], TREE),
    flow("s", &["-f", "s"], SMALL),
    flow("m 1", &["-f", "m", "-M", "1"], SMALL),
    flow("m 2", &["-f", "m", "-M", "2"], SMALL),
    flow("m 3", &["-f", "m", "-M", "3"], SMALL),
    flow("m 4", &["-f", "m", "-M", "4"], SMALL),
    flow("f -s1", &["-f", "f", "-s1"], TREE),
    flow("f -s2", &["-f", "f", "-s2"], TREE),
    flow("f -s3", &["-f", "f", "-s3"], TREE),
    flow("f -s4", &["-f", "f", "-s4"], TREE),
];

fn waived() -> BTreeSet<&'static str> {
    let lines = WAIVERS.lines().map(str::trim);
    lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .collect()
}

/// The last node of a topology, far from the first.
fn last_node(spec: &str) -> String {
    let last = from_spec(spec)
        .ok()
        .and_then(|mut fabric| fabric.nodes.pop());
    last.map(|node| node.description).unwrap_or_default()
}

/// Runs one flow, which must pass, or fail if it is waived.
fn check(name: &str) {
    let flow = FLOWS.iter().find(|f| f.name == name);
    let flow = flow.unwrap_or_else(|| panic!("unknown flow {name}"));
    let lab = ManagedFabric::start(flow.spec, &[]);
    let far_node = last_node(flow.spec);
    let created = try_osmtest(&lab.sim, &far_node, &["-f", "c"]);
    let outcome = created.and_then(|_| try_osmtest(&lab.sim, &far_node, flow.flags));
    match (outcome, waived().contains(name)) {
        (Ok(_), false) | (Err(_), true) => {}
        (Err(reason), false) => panic!("{reason}"),
        (Ok(_), true) => panic!("{name} passes: remove it from osmtest-waivers.txt"),
    }
}

#[test]
fn only_listed_osmtest_flows_are_waived() {
    let names: BTreeSet<&str> = FLOWS.iter().map(|f| f.name).collect();
    let unknown: Vec<_> = waived()
        .into_iter()
        .filter(|w| !names.contains(w))
        .collect();
    assert!(unknown.is_empty(), "unknown flows {unknown:?}");
}

#[test]
fn flow_c_creates_an_inventory() {
    check("c");
}

/// The SA returns what the inventory contains.
#[test]
fn flow_v_validates_the_inventory() {
    check("v");
}

/// VL tables of every port, which the SM has not written and therefore reads on demand.
#[test]
fn flow_q_reads_vl_tables() {
    check("q");
}

/// Services: leases, keys, names.
#[test]
fn flow_s_registers_services() {
    check("s");
}

/// Multicast: about sixty rules of joining and leaving.
#[test]
fn flow_m_passes_in_mode_1() {
    check("m 1");
}

#[test]
fn flow_m_passes_in_mode_2() {
    check("m 2");
}

#[test]
fn flow_m_passes_in_mode_3() {
    check("m 3");
}

#[test]
fn flow_m_passes_in_mode_4() {
    check("m 4");
}

#[test]
fn flow_f_passes_with_small_replies() {
    check("f -s1");
}

#[test]
fn flow_f_passes_with_tables() {
    check("f -s2");
}

#[test]
fn flow_f_passes_with_path_tables() {
    check("f -s3");
}

/// 100,000 single paths, one query at a time.
#[test]
fn flow_f_passes_with_single_paths() {
    check("f -s4");
}

/// osmtest's inventory is the same with OpenSM as master, except for the values of LIDs; each LID
/// identifies the same port.
#[test]
fn inventory_equals_that_of_opensm() {
    let far_node = last_node(TREE);
    let with_ferrosm = {
        let lab = ManagedFabric::start(TREE, &[]);
        inventory(&lab.sim, &far_node)
    };
    let with_opensm = {
        let sim = FabricServer::shape(TREE);
        // Only the hosts enforce partitions, as with ferrosm where none are configured.
        let mut opensm = OpenSm::start(&sim, None, &["-Z", "off"]);
        opensm.wait_until_up(1);
        inventory(&sim, &far_node)
    };
    let missing: Vec<_> = with_opensm.difference(&with_ferrosm).collect();
    let extra: Vec<_> = with_ferrosm.difference(&with_opensm).collect();
    assert!(
        with_ferrosm.len() > 100,
        "an inventory of {} blocks",
        with_ferrosm.len()
    );
    assert!(
        missing.is_empty() && extra.is_empty(),
        "only with OpenSM: {missing:#?}\nonly with ferrosm: {extra:#?}"
    );
}

/// The blocks of an inventory, with LIDs replaced by their ports.
fn inventory(sim: &FabricServer, far_node: &str) -> BTreeSet<String> {
    let file = sim.dir().join("inventory.txt");
    osmtest(sim, far_node, &["-f", "c", "-i", &file.to_string_lossy()]);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let blocks: Vec<Vec<&str>> = text.split("\nEND").map(lines).collect();
    let of_nodes = blocks.iter().filter(|b| b.contains(&"DEFINE_NODE"));
    let names: BTreeMap<&str, &str> = of_nodes
        .filter_map(|b| Some((value(b, "lid")?, value(b, "port_guid")?)))
        .collect();
    blocks.iter().map(|b| without_lids(b, &names)).collect()
}

/// The lines of a block without headings.
fn lines(block: &str) -> Vec<&str> {
    let heading = |l: &str| {
        let remaining = l.strip_prefix('#').map(str::trim);
        remaining.is_some_and(|r| r.is_empty() || r.starts_with(char::is_uppercase))
    };
    let all_lines = block.lines().map(str::trim);
    all_lines.filter(|l| !l.is_empty() && !heading(l)).collect()
}

fn value<'a>(block: &[&'a str], key: &str) -> Option<&'a str> {
    let mut words = block.iter().map(|l| l.split_whitespace());
    words.find_map(|mut w| (w.next() == Some(key)).then(|| w.next()).flatten())
}

fn without_lids(block: &[&str], names: &BTreeMap<&str, &str>) -> String {
    let down = value(block, "port_state") == Some("DOWN");
    let mut out = Vec::new();
    for line in block {
        let mut words = line.split_whitespace();
        let (Some(key), Some(value)) = (words.next(), words.next()) else {
            out.push((*line).to_owned());
            continue;
        };
        // The port through which the SM read the switch.
        let sm_route = key == "local_port_num";
        // For a port without a cable OpenSM records only the port state.
        let unread = down && matches!(key, "link_speed_supported" | "state_info2");
        if key.contains("lid") {
            let name = names.get(value).copied();
            out.push(format!("{key} {}", name.unwrap_or("unassigned")));
        } else if !sm_route && !unread {
            out.push((*line).to_owned());
        }
    }
    out.join("\n")
}
