//! Compares the oracle with a simple reference that follows every packet on its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::ids::{Lid, Sl};
use proptest::prelude::*;
use proptest::sample::Index;

use super::state::data_vl_count;
use super::tests::{Tables, configured};
use super::*;
use crate::generate::from_spec;

/// A VL of an output port.
type Channel = (PortAt, u8);

/// Result of the reference.
#[derive(Debug, Default, PartialEq)]
struct Reference {
    dependencies: BTreeSet<(Channel, Channel)>,
    /// A switch dropped a packet, because its SL has no active VL at the output port.
    no_vl: bool,
    /// A CA or router could not send, for the same reason.
    no_source_vl: bool,
}

fn vl(state: &FabricSnapshot, output: PortAt, input: u8, sl: Sl) -> Option<u8> {
    let snapshot = state.port(output)?;
    let sl = sl.raw();
    let byte = match snapshot.sl_to_vl.as_slice() {
        [] => return (sl % 8 < data_vl_count(snapshot.info.operational_vls)).then_some(sl % 8),
        [one] => one[usize::from(sl / 2)],
        each => each[usize::from(input)][usize::from(sl / 2)],
    };
    let vl = if sl.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 0xF
    };
    (vl < data_vl_count(snapshot.info.operational_vls)).then_some(vl)
}

/// Follows one packet from an end port to a LID. The LFTs must be correct.
fn follow_packet(
    state: &FabricSnapshot,
    source: PortAt,
    owner: PortAt,
    lid: u16,
    sl: Sl,
    results: &mut Reference,
) {
    if vl(state, source, 0, sl).is_none() {
        results.no_source_vl = true;
        return;
    }
    let mut at = state.port(source).unwrap().peer.unwrap();
    let mut path = Vec::new();
    loop {
        let port = state.nodes[at.node].egress(lid).raw();
        if port == 0 {
            break;
        }
        let out = PortAt::new(at.node, port);
        let Some(next_vl) = vl(state, out, at.port, sl) else {
            results.no_vl = true;
            return;
        };
        let peer = state.port(out).unwrap().peer.unwrap();
        if peer == owner {
            break;
        }
        path.push((out, next_vl));
        at = peer;
    }
    results
        .dependencies
        .extend(path.windows(2).map(|w| (w[0], w[1])));
}

/// Removes dependencies on channels that depend on nothing, until no dependency remains (no cycle)
/// or none can be removed.
fn has_cycle(mut dependencies: BTreeSet<(Channel, Channel)>) -> bool {
    loop {
        let waiting: BTreeSet<Channel> = dependencies.iter().map(|(a, _)| *a).collect();
        let before = dependencies.len();
        dependencies.retain(|(_, b)| waiting.contains(b));
        if dependencies.len() == before {
            return before > 0;
        }
    }
}

/// End ports of CAs and routers.
fn hosts(state: &FabricSnapshot) -> Vec<PortAt> {
    let nodes = state.nodes.iter().enumerate();
    nodes
        .filter(|(_, n)| !n.is_switch())
        .map(|(node, _)| PortAt::new(node, 1))
        .collect()
}

/// Number of copies of one packet that each end port receives. Follows it at most twice through
/// each input port, which is enough to detect a loop.
fn copies(state: &FabricSnapshot, sender: PortAt, mlid: Lid) -> BTreeMap<PortAt, u32> {
    let mut received = BTreeMap::new();
    let mut seen: BTreeMap<PortAt, u32> = BTreeMap::new();
    let start = state.port(sender).unwrap().peer.unwrap();
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        let times = seen.entry(at).or_insert(0);
        *times += 1;
        if *times > 2 {
            continue;
        }
        let Some(ports) = state.nodes[at.node].mft.get(&mlid) else {
            continue;
        };
        for port in ports.iter().filter(|p| *p != at.port) {
            let Some(peer) = state.port(PortAt::new(at.node, port)).and_then(|p| p.peer) else {
                continue;
            };
            if state.nodes[peer.node].is_switch() {
                queue.push_back(peer);
            } else {
                *received.entry(peer).or_insert(0) += 1;
            }
        }
    }
    received
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For random SLtoVL tables and SLs: the same packets are delivered, and the same channels
    /// depend on each other.
    #[test]
    fn vls_and_dependencies_equal_those_of_every_packet(
        text in prop::sample::select(vec!["ring:5,2", "torus:3,3", "fat-tree:4", "random:9,3,2,5"]),
        tables in proptest::collection::vec(proptest::collection::vec(0u8..5, 4), 1..4),
        writes in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<Index>()), 0..60),
        all_same: bool,
        salt: u64,
    ) {
        let mut state = configured(&from_spec(text).unwrap(), 0, Tables::MinHop);
        // Four SLs are in use; some of them map to inactive VLs on some ports.
        let table = |index: &Index| {
            let mut bytes = [0xFF; 8];
            let vls = &tables[index.index(tables.len())];
            (bytes[0], bytes[1]) = (vls[0] << 4 | vls[1], vls[2] << 4 | vls[3]);
            bytes
        };
        for node in &mut state.nodes {
            for port in &mut node.ports {
                port.sl_to_vl = vec![[0x01, 0x23, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]];
            }
        }
        let count = state.nodes.len();
        for (node, port, which) in &writes {
            let node = &mut state.nodes[node.index(count)];
            let (is_switch, len) = (node.is_switch(), node.ports.len());
            let snapshot = &mut node.ports[port.index(len)];
            if is_switch && !all_same {
                let before = snapshot.sl_to_vl[0];
                snapshot.sl_to_vl.resize(len, before);
                snapshot.sl_to_vl[which.index(len)] = table(which);
            } else {
                snapshot.sl_to_vl = vec![table(which)];
            }
        }
        let sl = move |source: PortAt, lid: Lid| {
            let mixed = (source.node as u64 ^ u64::from(lid.raw()) << 8 ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            Some(Sl(u8::try_from(mixed >> 62).unwrap()))
        };
        let mut found = Reference::default();
        for source in hosts(&state) {
            for (node, snapshot) in state.nodes.iter().enumerate() {
                let owner = PortAt::new(node, u8::from(!snapshot.is_switch()));
                let lid = state.port(owner).unwrap().info.lid;
                if owner != source {
                    follow_packet(&state, source, owner, lid.raw(), sl(source, lid).unwrap(), &mut found);
                }
            }
        }
        let expect = Expectations::new(PortAt::new(0, 1)).sl_per_path(sl);
        let verdict = judge(&state, &expect);
        let has_violation = |is_expected: fn(&Violation) -> bool| verdict.violations.iter().any(is_expected);
        prop_assert_eq!(has_violation(|v| matches!(v, Violation::NoVl { .. })), found.no_vl, "{}", &verdict);
        prop_assert_eq!(has_violation(|v| matches!(v, Violation::NoSourceVl { .. })), found.no_source_vl, "{}", &verdict);
        prop_assert_eq!(has_violation(|v| matches!(v, Violation::CreditLoop(_))), has_cycle(found.dependencies), "{}", &verdict);
    }

    /// For random MFTs, the verdict equals that of following each sender's packet.
    #[test]
    fn multicast_verdict_equals_that_of_every_sender(
        text in prop::sample::select(vec!["ring:5,2", "fat-tree:4", "random:7,3,2,5", "star:4"]),
        joined in proptest::collection::vec(any::<bool>(), 24),
        corruptions in proptest::collection::vec((any::<Index>(), any::<Index>()), 0..4),
    ) {
        let mut state = configured(&from_spec(text).unwrap(), 0, Tables::Tree);
        let mlid = Lid(0xC000);
        let all_hosts = hosts(&state);
        let members: Vec<PortAt> = all_hosts.iter().zip(&joined).filter(|(_, j)| **j).map(|(at, _)| *at).collect();
        // The unicast tree: the paths between any two members.
        for a in &members {
            for b in &members {
                let lid = state.port(*b).unwrap().info.lid.raw();
                let mut at = state.port(*a).unwrap().peer.unwrap();
                while state.nodes[at.node].is_switch() {
                    let port = state.nodes[at.node].egress(lid).raw();
                    let peer = state.port(PortAt::new(at.node, port)).unwrap().peer.unwrap();
                    let entry = state.nodes[at.node].mft.entry(mlid).or_default();
                    entry.insert(at.port);
                    entry.insert(port);
                    at = peer;
                }
            }
        }
        let switches: Vec<_> = (0..state.nodes.len()).filter(|n| state.nodes[*n].is_switch()).collect();
        for (node, port) in &corruptions {
            let node = &mut state.nodes[switches[node.index(switches.len())]];
            let port = 1 + u8::try_from(port.index(4)).unwrap();
            let entry = node.mft.entry(mlid).or_default();
            if entry.contains(port) { entry.remove(port) } else { entry.insert(port) }
        }
        let (mut missed, mut doubled) = (false, false);
        for sender in &members {
            let mut received = copies(&state, *sender, mlid);
            doubled |= received.values().any(|count| *count > 1) || received.contains_key(sender);
            received.remove(sender);
            missed |= members.iter().any(|m| m != sender && !received.contains_key(m));
        }
        let mut expect = Expectations::new(PortAt::new(0, 1)).groups(vec![ExpectedGroup::new(mlid, members)]);
        expect.no_credit_loops = false;
        let verdict = judge(&state, &expect);
        let has_violation = |is_expected: fn(&MulticastFault) -> bool| {
            verdict.violations.iter().any(|v| matches!(v, Violation::Multicast(m) if is_expected(m)))
        };
        prop_assert_eq!(has_violation(|v| matches!(v, MulticastFault::MemberNotReached { .. })), missed, "{}", &verdict);
        // A loop without attached members duplicates no packet, but is a violation.
        prop_assert!(!doubled || has_violation(|v| matches!(v, MulticastFault::Loop { .. })), "{}", &verdict);
        if corruptions.is_empty() {
            prop_assert!(verdict.is_good(), "{}", &verdict);
        }
    }
}
