//! Measures the oracle on a fabric with full tables.
//!
//! ```console
//! $ cargo run --release -p ferrosm-sim --example judge -- fat-tree:36
//! ```
//!
//! LIDs and shortest paths are written to the snapshot directly, without MADs. Variants:
//! SLtoVLMappingTables for every input and output port, and one multicast group of all hosts.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a measurement with a clock and output"
)]

use std::collections::VecDeque;
use std::time::Instant;

use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::Lid;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim::oracle::{Expectations, ExpectedGroup, FabricSnapshot, judge};
use ferrosm_sim::spec::PortAt;

const MLID: Lid = Lid(0xC000);

fn main() {
    let text = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "fat-tree:16".to_owned());
    let fabric = Fabric::new(&from_spec(&text).unwrap()).unwrap();
    let start = Instant::now();
    let mut state = FabricSnapshot::from(&fabric);
    println!("{text}: copied in {:.2?}", start.elapsed());
    configure(&mut state);
    let expect = || Expectations::new(fabric.default_port());
    let run = |description: &str, state: &FabricSnapshot, expect: &Expectations| {
        let start = Instant::now();
        let verdict = judge(state, expect);
        println!("{description}: {:.2?}, {verdict}", start.elapsed());
    };
    run("SL 0, default SLtoVL", &state, &expect());
    run("all SLs, default SLtoVL", &state, &expect().all_sls());
    for node in &mut state.nodes {
        let ports = node.ports.len();
        for port in node.ports.iter_mut().filter(|_| node.lft.len() > 1) {
            port.sl_to_vl = vec![[0x01, 0x23, 0x45, 0x67, 0xFF, 0xFF, 0xFF, 0xFF]; ports];
        }
    }
    run("SL 0, SLtoVL per input", &state, &expect());
    run("all SLs, SLtoVL per input", &state, &expect().all_sls());
    let per_path = expect().sl_per_path(|source, lid| {
        let mixed = source.node ^ usize::from(lid.raw());
        Some(ferrosm_mad::ids::Sl(u8::from(mixed.is_multiple_of(2))))
    });
    run("one SL per path", &state, &per_path);
    let members = write_multicast_tree(&mut state);
    let grouped = expect().groups(vec![ExpectedGroup::new(MLID, members)]);
    run("SL 0, one group of all hosts", &state, &grouped);
}

/// LIDs in node order, all ports Active, and the first shortest path in every LFT.
fn configure(state: &mut FabricSnapshot) {
    let switches: Vec<bool> = state.nodes.iter().map(|n| n.is_switch()).collect();
    let mut last_hops = Vec::new();
    for (index, node) in state.nodes.iter_mut().enumerate() {
        let end = usize::from(!switches[index]);
        let lid = u16::try_from(last_hops.len() + 1).unwrap();
        for port in &mut node.ports {
            port.info.port_state = PortState::Active;
            port.info.neighbor_mtu = port.info.mtu_cap;
            port.info.master_sm_lid = Lid(1);
        }
        node.ports[end].info.lid = Lid(lid);
        last_hops.push(if switches[index] {
            PortAt::new(index, 0)
        } else {
            node.ports[1].peer.unwrap()
        });
    }
    let top = u16::try_from(last_hops.len()).unwrap();
    for (node, is_switch) in state.nodes.iter_mut().zip(&switches) {
        if *is_switch {
            node.lft = vec![0xFF; usize::from(top) + 1];
            node.switch_info.linear_fdb_top = top;
            node.switch_info.multicast_fdb_top = MLID.raw();
            node.switch_info.port_state_change = false;
        }
    }
    for (index, last_hop) in last_hops.into_iter().enumerate() {
        state.nodes[last_hop.node].lft[index + 1] = last_hop.port;
        let mut queue = VecDeque::from([last_hop.node]);
        while let Some(node) = queue.pop_front() {
            for port in 1..state.nodes[node].ports.len() {
                let Some(peer) = state.nodes[node].ports[port].peer else {
                    continue;
                };
                if switches[peer.node] && state.nodes[peer.node].lft[index + 1] == 0xFF {
                    state.nodes[peer.node].lft[index + 1] = peer.port;
                    queue.push_back(peer.node);
                }
            }
        }
    }
}

/// Uses the unicast tree to the first host as multicast tree for all.
fn write_multicast_tree(state: &mut FabricSnapshot) -> Vec<PortAt> {
    let mut members = Vec::new();
    for node in 0..state.nodes.len() {
        if state.nodes[node].is_switch() {
            continue;
        }
        members.push(PortAt::new(node, 1));
        let mut at = state.nodes[node].ports[1].peer.unwrap();
        while state.nodes[at.node].is_switch() {
            let port = state.nodes[at.node].egress(1).raw();
            let entry = state.nodes[at.node].mft.entry(MLID).or_default();
            entry.insert(at.port);
            entry.insert(port);
            at = state.nodes[at.node].ports[usize::from(port)].peer.unwrap();
        }
    }
    members
}
