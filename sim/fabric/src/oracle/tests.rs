//! Correct snapshots pass, and each single fault is reported.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::attr::{MtuCode, NodeType, PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, Sl};
use proptest::prelude::*;

use super::*;
use crate::generate::from_spec;
use crate::spec::FabricSpec;

/// A configured fabric: LIDs in node order, links Active, and LFTs along the routes that `tables`
/// selects.
pub(super) fn configured(spec: &FabricSpec, lmc: u8, tables: Tables) -> FabricSnapshot {
    let mut next_lid = 1u16 << lmc;
    let mut state = FabricSnapshot::default();
    for node in &spec.nodes {
        let is_switch = node.kind == NodeType::Switch;
        let port = PortSnapshot {
            info: PortInfo {
                port_state: PortState::Down,
                neighbor_mtu: MtuCode::Mtu2048,
                mtu_cap: MtuCode::Mtu2048,
                operational_vls: 3,
                vl_cap: 3,
                ..PortInfo::default()
            },
            ..PortSnapshot::default()
        };
        let mut ports = vec![port; usize::from(node.num_ports) + 1];
        for (number, snapshot) in ports.iter_mut().enumerate() {
            snapshot.info.master_sm_lid = Lid(1 << lmc);
            if is_switch == (number == 0) {
                let lmc = if is_switch { 0 } else { lmc };
                let aligned = next_lid.next_multiple_of(1 << lmc);
                (snapshot.info.lid, snapshot.info.lmc) = (Lid(aligned), Lmc(lmc));
                next_lid = aligned + (1 << lmc);
            }
        }
        let name = node.description.clone();
        state.nodes.push(NodeSnapshot {
            name,
            kind: node.kind,
            ports,
            ..NodeSnapshot::default()
        });
    }
    for link in &spec.links {
        for (end, other) in [(link.a, link.b), (link.b, link.a)] {
            let snapshot = &mut state.nodes[end.node].ports[usize::from(end.port)];
            snapshot.peer = Some(other);
            snapshot.info.port_state = PortState::Active;
        }
    }
    let top = next_lid - 1;
    for at in 0..state.nodes.len() {
        if state.nodes[at].is_switch() {
            state.nodes[at].lft = vec![0xFF; usize::from(top) + 1];
            state.nodes[at].switch_info.linear_fdb_top = top;
        }
    }
    fill(&mut state, tables);
    state
}

/// Routes in the LFTs of a configured snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tables {
    /// Along one spanning tree from the first switch, without credit loops.
    Tree,
    /// Along shortest paths, with possible credit loops.
    MinHop,
}

/// Fills the LFTs by a breadth-first search from each end port.
fn fill(state: &mut FabricSnapshot, tables: Tables) {
    let switches: Vec<_> = (0..state.nodes.len())
        .filter(|n| state.nodes[*n].is_switch())
        .collect();
    let trunks = |state: &FabricSnapshot, node: usize| -> Vec<(PortAt, PortAt)> {
        let ports = (0u8..).zip(&state.nodes[node].ports).skip(1);
        ports
            .filter_map(|(port, snapshot)| Some((PortAt { node, port }, snapshot.peer?)))
            .filter(|(_, peer)| state.nodes[peer.node].is_switch() && peer.node != node)
            .collect()
    };
    // Ports of the tree's links.
    let mut tree = BTreeSet::new();
    if let Some(root) = switches.first() {
        let mut seen = BTreeSet::from([*root]);
        let mut queue = VecDeque::from([*root]);
        while let Some(node) = queue.pop_front() {
            for (local, remote) in trunks(state, node) {
                if seen.insert(remote.node) {
                    tree.extend([local, remote]);
                    queue.push_back(remote.node);
                }
            }
        }
    }
    let ends: Vec<(PortAt, PortSnapshot)> = (0..state.nodes.len())
        .flat_map(|node| {
            let is_switch = state.nodes[node].is_switch();
            let ports = (0u8..).zip(state.nodes[node].ports.clone());
            ports
                .filter(move |(port, _)| is_switch == (*port == 0))
                .map(move |(port, snapshot)| (PortAt { node, port }, snapshot))
        })
        .collect();
    // LIDs of one switch share the route to it.
    let mut routes: BTreeMap<usize, Vec<PortAt>> = BTreeMap::new();
    for (end, snapshot) in ends {
        let (last_switch, egress) = if state.nodes[end.node].is_switch() {
            (end.node, 0)
        } else {
            let Some(peer) = snapshot.peer.filter(|p| state.nodes[p.node].is_switch()) else {
                continue;
            };
            (peer.node, peer.port)
        };
        let route = routes.entry(last_switch).or_insert_with(|| {
            let mut route = Vec::new();
            let mut seen = vec![false; state.nodes.len()];
            seen[last_switch] = true;
            let mut queue = VecDeque::from([last_switch]);
            while let Some(node) = queue.pop_front() {
                for (local, remote) in trunks(state, node) {
                    let usable = tables == Tables::MinHop || tree.contains(&local);
                    if usable && !seen[remote.node] {
                        seen[remote.node] = true;
                        route.push(remote);
                        queue.push_back(remote.node);
                    }
                }
            }
            route
        });
        for lid in snapshot.info.lid.raw()..snapshot.info.lid.raw() + (1 << snapshot.info.lmc.raw())
        {
            state.nodes[last_switch].lft[usize::from(lid)] = egress;
            for hop in &*route {
                state.nodes[hop.node].lft[usize::from(lid)] = hop.port;
            }
        }
    }
}

fn healthy_fabric(text: &str) -> (FabricSnapshot, Expectations) {
    let state = configured(&from_spec(text).unwrap(), 0, Tables::Tree);
    (state, Expectations::new(PortAt::new(0, 1)))
}

fn node(state: &FabricSnapshot, name: &str) -> usize {
    state.nodes.iter().position(|n| n.name == name).unwrap()
}

fn named<'a>(state: &'a mut FabricSnapshot, name: &str) -> &'a mut NodeSnapshot {
    let at = node(state, name);
    &mut state.nodes[at]
}

#[test]
fn correct_snapshots_pass_and_are_counted() {
    for text in [
        "back-to-back",
        "star:5",
        "ring:5,2;plugs=1;loopbacks=1",
        "torus:3,3,2",
        "fat-tree:4;sharp;routers=1",
    ] {
        let (state, expect) = healthy_fabric(text);
        let verdict = judge(&state, &expect);
        assert!(verdict.is_good(), "{text}: {verdict}");
    }
    let (state, expect) = healthy_fabric("ring:5,2;loopbacks=1");
    assert_eq!(
        judge(&state, &expect).to_string(),
        "no violations: 5 switches, 15 end ports, 16 links, 15 LIDs"
    );
    let one = Verdict {
        violations: Vec::new(),
        switches: 1,
        end_ports: 1,
        links: 1,
        lids: 1,
        judges_credit_loops: true,
    };
    assert_eq!(
        one.to_string(),
        "no violations: 1 switch, 1 end port, 1 link, 1 LID"
    );
}

/// Parts end at missing links, and a CA does not connect its ports.
#[test]
fn connected_parts_have_all_end_ports_with_links() {
    let names = |state: &FabricSnapshot| -> Vec<Vec<String>> {
        let parts = connected_end_ports(state).into_iter();
        parts
            .map(|part| part.into_iter().map(|at| state.name(at)).collect())
            .collect()
    };
    let (mut state, _) = healthy_fabric("ring:4,1");
    let [all] = &names(&state)[..] else {
        panic!("one part: {:?}", names(&state))
    };
    assert_eq!(all.len(), 8);
    let cut = |state: &mut FabricSnapshot, node: usize, port: usize| {
        let peer = state.nodes[node].ports[port].peer.take().unwrap();
        state.nodes[peer.node].ports[usize::from(peer.port)].peer = None;
    };
    cut(&mut state, 1, 1);
    let parts = names(&state);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    assert!(
        !parts[0].contains(&"host-1-0 mlx5_0[1]".to_owned()),
        "{parts:?}"
    );
    let switch = state.nodes.iter().position(|n| n.name == "switch-0");
    for port in 2..state.nodes[switch.unwrap()].ports.len() {
        if state.nodes[switch.unwrap()].ports[port].peer.is_some() {
            cut(&mut state, switch.unwrap(), port);
        }
    }
    let parts = names(&state);
    assert_eq!(parts[0], ["host-0-0 mlx5_0[1]", "switch-0[0]"]);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn every_lid_of_an_lmc_range_belongs_to_the_port() {
    let mut state = configured(&from_spec("ring:4,2").unwrap(), 2, Tables::Tree);
    let expect = Expectations::new(PortAt::new(0, 1));
    let verdict = judge(&state, &expect);
    assert!(verdict.is_good(), "{verdict}");
    assert_eq!(verdict.lids, 4 * 8 + 4);
    state.nodes[1].ports[1].info.lid = Lid(9);
    let violations = judge(&state, &expect).violations;
    assert!(violations.contains(&Violation::UnalignedLid {
        port: "host-0-1 mlx5_0[1]".into(),
        lid: Lid(9),
        lmc: Lmc(2)
    }));
}

#[test]
fn unreachable_components_are_out_of_scope() {
    let (mut state, expect) = healthy_fabric("ring:3;components=2");
    for (index, node) in state.nodes.iter_mut().enumerate() {
        if node.name.starts_with("island-1") {
            for port in &mut node.ports {
                (port.info.lid, port.info.port_state) = (Lid(0), PortState::Initialize);
            }
            node.lft = vec![u8::from(index == 2)];
        }
    }
    let verdict = judge(&state, &expect);
    assert!(verdict.is_good(), "{verdict}");
    assert_eq!(verdict.switches, 3);
}

#[test]
fn excluded_nodes_are_out_of_scope() {
    let (mut state, mut expect) = healthy_fabric("ring:4");
    let bad = node(&state, "host-2-0 mlx5_0");
    state.nodes[bad].ports[1].info.lid = Lid(0);
    state.nodes[bad].ports[1].info.port_state = PortState::Initialize;
    assert!(!judge(&state, &expect).is_good());
    expect.excluded.insert(bad);
    let verdict = judge(&state, &expect);
    assert!(verdict.is_good(), "{verdict}");
}

/// One fault each in a ring of four switches, and the message that the verdict must contain.
#[test]
fn each_fault_is_reported_with_its_values() {
    let at = PortAt::new;
    type Break = fn(&mut FabricSnapshot);
    let cases: [(Break, &str); 14] = [
        (
            |s| s.nodes[1].ports[1].info.lid = Lid(1),
            "duplicate LID 1: assigned to host-1-0 mlx5_0[1] and to host-0-0 mlx5_0[1]",
        ),
        (
            |s| s.nodes[1].ports[1].info.lid = Lid(0),
            "host-1-0 mlx5_0[1]: LID 0 with LMC 0 is not a unicast LID range",
        ),
        (
            |s| s.nodes[1].ports[1].info.lid = Lid(0xC000),
            "host-1-0 mlx5_0[1]: LID 49152 with LMC 0 is not a unicast LID range",
        ),
        (
            |s| named(s, "switch-1").ports[0].info.lid = Lid(0),
            "switch-1[0]: LID 0 with LMC 0 is not a unicast LID range",
        ),
        (
            |s| s.nodes[2].ports[1].info.port_state = PortState::Initialize,
            "link host-2-0 mlx5_0[1] to switch-2[1] is not Active: port states Initialize and Active",
        ),
        (
            |s| named(s, "switch-3").ports[2].info.port_state = PortState::Armed,
            "link switch-2[3] to switch-3[2] is not Active: port states Active and Armed",
        ),
        (
            |s| s.nodes[3].ports[1].info.neighbor_mtu = MtuCode::Mtu1024,
            "link host-3-0 mlx5_0[1] to switch-3[1]: NeighborMTU is 1024 and 2048, expected 2048",
        ),
        (
            |s| s.nodes[3].ports[1].info.mtu_cap = MtuCode::Mtu1024,
            "link host-3-0 mlx5_0[1] to switch-3[1]: NeighborMTU is 2048 and 2048, expected 1024",
        ),
        (
            |s| s.nodes[3].ports[1].info.operational_vls = 1,
            "link host-3-0 mlx5_0[1] to switch-3[1]: OperationalVLs is 1 and 3, expected 3",
        ),
        (
            |s| s.nodes[2].ports[1].info.master_sm_lid = Lid(9),
            "host-2-0 mlx5_0[1]: MasterSMLID is 9, the master's LID is 1",
        ),
        (
            |s| named(s, "switch-0").lft[4] = 0xFF,
            "LID 4 of host-3-0 mlx5_0[1] is unreachable from 3 of the 4 switches that must reach it, such as switch-0: switch-0 has no LFT entry for it",
        ),
        (
            |s| named(s, "switch-0").switch_info.linear_fdb_top = 7,
            "LID 8 of switch-3[0] is unreachable from 3 of the 4 switches that must reach it, such as switch-0: switch-0 has no LFT entry for it",
        ),
        (
            |s| named(s, "switch-3").lft[4] = 36,
            "LID 4 of host-3-0 mlx5_0[1] is unreachable from 4 of the 4 switches that must reach it, such as switch-0: switch-3 forwards it to port 36, which is not connected",
        ),
        (
            |s| named(s, "switch-3").lft[3] = 1,
            "LID 3 of host-2-0 mlx5_0[1] is unreachable from 1 of the 4 switches that must reach it, such as switch-3: switch-3 forwards it to host-3-0 mlx5_0[1]",
        ),
    ];
    for (change, message) in cases {
        let (mut state, expect) = healthy_fabric("ring:4");
        change(&mut state);
        let verdict = judge(&state, &expect);
        let messages: Vec<_> = verdict.violations.iter().map(ToString::to_string).collect();
        assert!(
            messages.iter().any(|s| s == message),
            "expected {message}\ngot {verdict}"
        );
    }
    let (mut state, expect) = healthy_fabric("ring:4");
    let (s0, s1) = (node(&state, "switch-0"), node(&state, "switch-1"));
    (state.nodes[s0].lft[4], state.nodes[s1].lft[4]) = (2, 2);
    let verdict = judge(&state, &expect);
    assert!(
        verdict
            .to_string()
            .contains("forwarding loop through switch-0"),
        "{verdict}"
    );
    let verdict = judge(&state, &Expectations::new(at(0, 9)));
    assert_eq!(
        verdict.violations[0].to_string(),
        "the expectations name port 9 of node 0, which does not exist"
    );
}

#[test]
fn shortest_paths_around_a_ring_form_a_credit_loop() {
    let spec = from_spec("ring:5").unwrap();
    let state = configured(&spec, 0, Tables::MinHop);
    let mut expect = Expectations::new(PortAt::new(0, 1));
    let verdict = judge(&state, &expect);
    let [Violation::CreditLoop(channels)] = verdict.violations.as_slice() else {
        panic!("{verdict}")
    };
    assert_eq!(channels.len(), 5, "{verdict}");
    expect.no_credit_loops = false;
    assert!(judge(&state, &expect).is_good());
    // Between three switches no shortest path crosses a third, so there are no dependencies.
    let ring3 = configured(&from_spec("ring:3").unwrap(), 0, Tables::MinHop);
    assert!(judge(&ring3, &Expectations::new(PortAt::new(0, 1))).is_good());
}

/// With the SLtoVL tables of power-up, SL 1 uses VL 1: the loop exists only if the paths of the
/// ring have one SL.
#[test]
fn credit_loops_of_unknown_sls_are_judged_only_if_no_sl_avoids_them() {
    let mut state = configured(&from_spec("ring:5").unwrap(), 0, Tables::MinHop);
    let mut expect = Expectations::new(PortAt::new(0, 1));
    expect.traffic = Traffic::Unknown;
    let verdict = judge(&state, &expect);
    assert!(
        verdict.is_good() && !verdict.judges_credit_loops,
        "{verdict}"
    );
    expect.traffic = Traffic::OneSl(Sl(1));
    let has_loop = |verdict: &Verdict| {
        verdict.judges_credit_loops && matches!(verdict.violations[..], [Violation::CreditLoop(_)])
    };
    assert!(has_loop(&judge(&state, &expect)));
    expect.traffic = Traffic::Unknown;
    for node in &mut state.nodes {
        for port in &mut node.ports {
            port.sl_to_vl = vec![[0; 8]];
        }
    }
    assert!(has_loop(&judge(&state, &expect)));
}

#[test]
fn switches_without_hosts_send_only_with_port0_traffic() {
    // Spine 1 has lost its route to leaf 0: no host is affected, but packets of its port 0 are.
    let (mut state, mut expect) = healthy_fabric("fat-tree2:8,4,4");
    let spine = node(&state, "spine-1");
    let victim = node(&state, "host-1-0 mlx5_0");
    let lid = state.nodes[victim].ports[1].info.lid;
    state.nodes[spine].lft[usize::from(lid.raw())] = 0xFF;
    assert!(judge(&state, &expect).is_good());
    expect.port0_traffic = true;
    assert!(!judge(&state, &expect).is_good());
    // All switches must reach the master, for traps.
    expect.port0_traffic = false;
    state.nodes[spine].lft[1] = 0xFF;
    assert!(!judge(&state, &expect).is_good());
    expect.switches_reach_master = false;
    assert!(judge(&state, &expect).is_good());
}

/// Without an SM, no end port has a LID and no link is Active.
#[test]
fn unconfigured_devices_violate_lid_and_link_rules() {
    let spec = from_spec("ring:3,2").unwrap();
    let fabric = crate::fabric::Fabric::new(&spec).unwrap();
    let verdict = judge_fabric(&fabric, &Expectations::new(fabric.default_port()));
    assert_eq!(
        (
            verdict.switches,
            verdict.end_ports,
            verdict.links,
            verdict.lids
        ),
        (3, 9, 9, 0)
    );
    let count_of = |is_expected: fn(&Violation) -> bool| {
        verdict.violations.iter().filter(|v| is_expected(v)).count()
    };
    assert_eq!(count_of(|v| matches!(v, Violation::IllegalLid { .. })), 9);
    assert_eq!(count_of(|v| matches!(v, Violation::NotActive { .. })), 9);
}

/// Reference: follows one packet and returns whether it is delivered.
fn arrives(state: &FabricSnapshot, from: usize, lid: u16, owner: PortAt) -> bool {
    let mut at = from;
    for _ in 0..=state.nodes.len() {
        let port = state.nodes[at].egress(lid).raw();
        if port == 0 {
            return owner == PortAt::new(at, 0);
        }
        let Some(peer) = state.nodes[at]
            .ports
            .get(usize::from(port))
            .and_then(|p| p.peer)
        else {
            return false;
        };
        if peer == owner || !state.nodes[peer.node].is_switch() {
            return peer == owner;
        }
        at = peer.node;
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For corrupted LFTs, the verdict on each LID equals that of following every packet.
    #[test]
    fn verdict_equals_that_of_every_packet(
        text in prop::sample::select(vec!["ring:5", "torus:3,3", "fat-tree:4", "random:9,3,1,5", "star:4"]),
        min_hop: bool,
        corruptions in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..8), 0..6),
    ) {
        let tables = if min_hop { Tables::MinHop } else { Tables::Tree };
        let mut state = configured(&from_spec(text).unwrap(), 0, tables);
        let switches: Vec<_> = (0..state.nodes.len()).filter(|n| state.nodes[*n].is_switch()).collect();
        for (switch, lid, port) in corruptions {
            let lft = &mut state.nodes[switches[switch.index(switches.len())]].lft;
            let at = 1 + lid.index(lft.len() - 1);
            lft[at] = port;
        }
        let mut expect = Expectations::new(PortAt::new(0, 1));
        expect.no_credit_loops = false;
        expect.switches_reach_master = false;
        let mut expected = BTreeMap::new();
        for (index, snapshot) in state.nodes.iter().enumerate() {
            let port = u8::from(!snapshot.is_switch());
            let lid = snapshot.ports[usize::from(port)].info.lid.raw();
            let senders = switches.iter().filter(|s| {
                state.nodes[**s].ports.iter().any(|p| p.peer.is_some_and(|q| !state.nodes[q.node].is_switch()))
            });
            let lost = senders.filter(|s| !arrives(&state, **s, lid, PortAt::new(index, port))).count();
            if lost > 0 {
                expected.insert(lid, lost);
            }
        }
        let verdict = judge(&state, &expect);
        let reported: BTreeMap<_, _> = verdict
            .violations
            .iter()
            .map(|violation| {
                let Violation::Undelivered { lid, failing, .. } = violation else {
                    panic!("{violation}");
                };
                (lid.raw(), *failing)
            })
            .collect();
        prop_assert_eq!(reported, expected);
    }
}

/// A three-level tree with thousands of hosts is checked without following each pair.
#[test]
fn large_fabric_is_checked() {
    let state = configured(&from_spec("fat-tree:24").unwrap(), 0, Tables::MinHop);
    let verdict = judge(&state, &Expectations::new(PortAt::new(0, 1)));
    assert!(verdict.is_good(), "{verdict}");
    assert_eq!(verdict.end_ports, 3456 + 720);
}
