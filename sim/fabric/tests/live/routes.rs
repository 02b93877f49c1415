//! Forwarding of directed-route SMPs (IBA 14.2.2).

use ferrosm_mad::attr::{NodeInfo, id};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, Mad, MadOut};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_sim::fabric::{DropReason, MadOutcome};
use ferrosm_sim::spec::PortAt;
use proptest::prelude::*;

use crate::rig::{Rig, chain, path_to};

fn node_info() -> SmpRequest {
    SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE)
}

fn directed(mad: Mad) -> MadOut {
    MadOut {
        to: Address::DIRECTED,
        mad,
    }
}

#[test]
fn replies_from_up_to_63_hops_have_the_return_path() {
    let mut rig = Rig::new(&chain(62));
    for node in 0..=63 {
        let reply = rig.get(&path_to(node), id::NODE_INFO, 0).unwrap();
        let info = NodeInfo::decode(smp::data(&reply.mad));
        assert_eq!(info.node_guid, rig.fabric.node_guid(node));
        assert_eq!(
            info.local_port_num,
            PortNum(1),
            "input port is the left one"
        );
        let header = smp::DirectedHeader::decode(reply.mad.as_bytes());
        assert!(header.d);
        assert_eq!(
            (header.hop_pointer, usize::from(header.hop_count)),
            (0, node)
        );
        assert!(
            smp::return_path(&reply.mad)[1..=node]
                .iter()
                .all(|p| *p == 1)
        );
    }
}

#[test]
fn hop_counts_above_63_are_dropped() {
    let mut rig = Rig::new(&chain(1));
    let mut mad = node_info().directed(&path_to(1), Tid(1));
    mad.as_bytes_mut()[7] = 64;
    assert_eq!(
        rig.send(&directed(mad)).0,
        MadOutcome::Dropped(DropReason::Malformed)
    );
}

#[test]
fn routes_may_revisit_nodes() {
    let mut rig = Rig::new(&chain(2));
    let path: DrPath = "0,1,2,1,2,2".parse().unwrap();
    let reply = rig.get(&path, id::NODE_INFO, 0).unwrap();
    let info = NodeInfo::decode(smp::data(&reply.mad));
    assert_eq!(info.node_guid, rig.fabric.node_guid(3));
    assert_eq!(smp::return_path(&reply.mad)[1..6], [1, 1, 2, 1, 1]);
}

#[test]
fn cas_do_not_forward() {
    let mut rig = Rig::new(&chain(1));
    let mad = node_info().directed(&"0,1,2,1".parse().unwrap(), Tid(1));
    assert_eq!(
        rig.send(&directed(mad)).0,
        MadOutcome::Dropped(DropReason::NotASwitch)
    );
    let other_port = node_info().directed(&"0,2".parse().unwrap(), Tid(1));
    assert_eq!(
        rig.send(&directed(other_port)).0,
        MadOutcome::Dropped(DropReason::NotASwitch)
    );
    assert_eq!(
        rig.fabric.all_counters().all_gets(),
        0,
        "no agent received the request"
    );
}

#[test]
fn unconnected_ports_drop() {
    let mut rig = Rig::new(&chain(2));
    for path in ["0,1,3", "0,1,9", "0,1,0"] {
        let mad = node_info().directed(&path.parse().unwrap(), Tid(1));
        assert_eq!(
            rig.send(&directed(mad)).0,
            MadOutcome::Dropped(DropReason::LinkDown),
            "{path}"
        );
    }
    rig.fabric.cut(PortAt::new(2, 1)).unwrap();
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_none());
    rig.fabric.restore(PortAt::new(1, 2)).unwrap();
    assert!(rig.get(&path_to(2), id::NODE_INFO, 0).is_some());
}

/// A request with these DrSLID and DrDLID.
fn with_dr_lids(path: &DrPath, dr_slid: u16, dr_dlid: u16) -> Mad {
    let mut mad = node_info().directed(path, Tid(1));
    mad.as_bytes_mut()[32..34].copy_from_slice(&dr_slid.to_be_bytes());
    mad.as_bytes_mut()[34..36].copy_from_slice(&dr_dlid.to_be_bytes());
    mad
}

#[test]
fn lid_routed_parts_need_lfts() {
    let mut rig = Rig::new(&chain(1));
    let mad = with_dr_lids(&path_to(1), 0xFFFF, 7);
    assert_eq!(
        rig.send(&directed(mad)).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
}

#[test]
fn directed_route_may_start_and_end_lid_routed() {
    const NONE: u16 = 0xFFFF;
    let mut rig = Rig::new(&chain(4));
    rig.configure_chain();
    // Nodes 0 to 5 have LIDs 1 to 6. LID-routed to `first`, then along `path`, then LID-routed to
    // `last`.
    for (first, path, last, node) in [
        (2, "0,2,2", NONE, 3),
        (3, "0,1", NONE, 1),
        (2, "0", NONE, 1),
        (2, "0,2", 5, 4),
        (4, "0,2", 1, 0),
        (NONE, "0,1,2", 6, 5),
        (NONE, "0,1", 2, 1),
        (NONE, "0", 6, 5),
        (6, "0", NONE, 5),
    ] {
        let description = format!("{first} {path} {last}");
        let dr_slid = if first == NONE { NONE } else { 1 };
        let mad = with_dr_lids(&path.parse().unwrap(), dr_slid, last);
        let mut request = directed(mad);
        request.to.lid = Lid(first);
        let (outcome, out) = rig.send(&request);
        assert_eq!(outcome, MadOutcome::Replied, "{description}");
        let info = NodeInfo::decode(smp::data(&out[0].mad.mad));
        assert_eq!(info.node_guid, rig.fabric.node_guid(node), "{description}");
        assert_eq!(out[0].mad.mad.as_bytes()[6], 0, "{description}");
    }
}

#[test]
fn only_switches_join_lid_routed_and_directed_parts() {
    let mut rig = Rig::new(&chain(1));
    rig.configure_chain();
    let mut by_lid_to_a_host = directed(with_dr_lids(&"0,1".parse().unwrap(), 1, 0xFFFF));
    by_lid_to_a_host.to.lid = Lid(3);
    assert_eq!(
        rig.send(&by_lid_to_a_host).0,
        MadOutcome::Dropped(DropReason::NotASwitch)
    );
    let out_of_a_host = with_dr_lids(&path_to(2), 0xFFFF, 2);
    assert_eq!(
        rig.send(&directed(out_of_a_host)).0,
        MadOutcome::Dropped(DropReason::NotASwitch)
    );
    // The LRH must agree with DrSLID and DrDLID.
    let no_sender = MadOut {
        to: Address::smp(Lid(2)),
        mad: with_dr_lids(&path_to(1), 0xFFFF, 0xFFFF),
    };
    for invalid in [no_sender, directed(with_dr_lids(&path_to(1), 1, 0xFFFF))] {
        assert_eq!(
            rig.send(&invalid).0,
            MadOutcome::Dropped(DropReason::Malformed)
        );
    }
}

#[test]
fn loopback_plug_leads_to_the_same_switch() {
    let mut spec = chain(1);
    spec.links.push(crate::rig::cable((1, 3), (1, 3)));
    spec.nodes[1].num_ports = 6;
    spec.links.push(crate::rig::cable((1, 5), (1, 6)));
    let mut rig = Rig::new(&spec);
    for (path, port) in [("0,1,3", 3), ("0,1,5", 6), ("0,1,6", 5)] {
        let reply = rig.get(&path.parse().unwrap(), id::NODE_INFO, 0).unwrap();
        let info = NodeInfo::decode(smp::data(&reply.mad));
        assert_eq!(info.node_guid, rig.fabric.node_guid(1));
        assert_eq!(info.local_port_num, PortNum(port), "{path}");
    }
}

#[test]
fn sm_can_run_on_a_switch() {
    let mut spec = chain(2);
    spec.nodes.remove(0);
    spec.links.remove(0);
    for link in &mut spec.links {
        link.a.node -= 1;
        link.b.node -= 1;
    }
    let mut rig = Rig::new(&spec);
    assert_eq!(rig.at, PortAt::new(0, 0));
    for (path, node) in [("0", 0), ("0,2", 1), ("0,2,2", 2)] {
        let reply = rig.get(&path.parse().unwrap(), id::NODE_INFO, 0).unwrap();
        let info = NodeInfo::decode(smp::data(&reply.mad));
        assert_eq!(info.node_guid, rig.fabric.node_guid(node));
    }
}

proptest! {
    /// Any bytes from an SM: the fabric does not panic and replies at most once.
    #[test]
    fn any_bytes_get_at_most_one_reply(
        bytes in proptest::collection::vec(any::<u8>(), 256),
        class in prop_oneof![Just(1u8), Just(0x81), Just(3), any::<u8>()],
        method in prop_oneof![Just(1u8), Just(2), Just(5), Just(7), any::<u8>()],
        attr in prop_oneof![0u16..0x40, Just(0xFF90), any::<u16>()],
        modifier in prop_oneof![0u32..5, 0u32..5, any::<u32>()],
        hops in 0u8..5,
        lid in prop_oneof![Just(0xFFFFu16), 0u16..6, any::<u16>()],
    ) {
        let mut rig = Rig::new(&chain(2));
        rig.configure_chain();
        let mut mad = Mad::parse(&{ let mut b = bytes; b[0] = 1; b }).unwrap();
        let b = mad.as_bytes_mut();
        b[1] = class;
        b[2] = 1;
        b[3] = method;
        b[4] = 0;
        b[6] = 0;
        b[7] = hops;
        b[16..18].copy_from_slice(&attr.to_be_bytes());
        b[20..24].copy_from_slice(&modifier.to_be_bytes());
        b[32..36].fill(0xFF);
        b[128..134].copy_from_slice(&[0, 1, 2, 2, 2, 2]);
        let to = Address { lid: Lid(lid), ..Address::DIRECTED };
        let (_, out) = rig.send(&MadOut { to, mad });
        prop_assert!(out.len() <= 1);
    }
}
