//! LID-routed packets follow the LFTs.

use ferrosm_mad::attr::{LftBlock, NodeInfo, PortState, SlToVl, id};
use ferrosm_mad::ids::{Lid, PortNum, Qpn, Sl, Vl};
use ferrosm_mad::mad::{Address, MadOut, Status};
use ferrosm_mad::smp;
use ferrosm_sim::fabric::{DropReason, MadOutcome};
use ferrosm_sim::spec::PortAt;

use crate::rig::{Rig, chain, path_to, sa_query};

fn configured() -> Rig {
    let mut rig = Rig::new(&chain(3));
    rig.configure_chain();
    rig
}

#[test]
fn every_lid_is_reachable() {
    let mut rig = configured();
    for node in 0..5 {
        let lid = Lid(node + 1);
        let reply = rig.by_lid(lid).1.unwrap();
        let info = NodeInfo::decode(smp::data(&reply.mad));
        assert_eq!(info.node_guid, rig.fabric.node_guid(node.into()));
        assert_eq!(reply.from.lid, lid);
    }
}

#[test]
fn without_lfts_packets_are_dropped() {
    let mut rig = Rig::new(&chain(1));
    rig.change_port(&path_to(0), 1, |info| info.lid = Lid(1))
        .unwrap();
    assert_eq!(
        rig.by_lid(Lid(3)).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
    assert_eq!(
        rig.by_lid(Lid(1)).0,
        MadOutcome::Replied,
        "a request to its own LID needs no LFT"
    );
}

#[test]
fn wrong_lft_entries_drop_packets() {
    for (entry, reason) in [
        (0xFF, DropReason::NoRoute),
        (9, DropReason::NoRoute),
        (3, DropReason::LinkDown),
        (0, DropReason::WrongLid),
        (1, DropReason::Loop),
    ] {
        let mut rig = configured();
        rig.fabric.corrupt_lft(2, Lid(5), entry);
        assert_eq!(
            rig.by_lid(Lid(5)).0,
            MadOutcome::Dropped(reason),
            "entry {entry}"
        );
        assert_eq!(rig.fabric.totals().dropped(reason), 1);
    }
}

#[test]
fn reply_needs_a_route_back() {
    let mut rig = configured();
    rig.fabric.corrupt_lft(3, Lid(1), 0xFF);
    assert_eq!(
        rig.by_lid(Lid(5)).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
    assert_eq!(rig.by_lid(Lid(3)).0, MadOutcome::Replied);
}

#[test]
fn linear_fdb_top_limits_the_lft() {
    let mut rig = configured();
    let mut info = rig.switch_info(&path_to(2));
    info.linear_fdb_top = 4;
    assert_eq!(
        rig.set(&path_to(2), id::SWITCH_INFO, 0, info.encode()),
        Some(Status::OK)
    );
    assert_eq!(
        rig.by_lid(Lid(5)).0,
        MadOutcome::Dropped(DropReason::NoRoute)
    );
    assert_eq!(rig.by_lid(Lid(4)).0, MadOutcome::Replied);
}

#[test]
fn port_owns_all_lids_of_its_lmc() {
    let mut rig = configured();
    let status = rig.change_port(&path_to(4), 1, |info| {
        info.lid = Lid(8);
        info.lmc.0 = 2;
    });
    assert_eq!(status, Some(Status::OK));
    for switch in 1..=3 {
        let path = path_to(switch);
        let mut info = rig.switch_info(&path);
        info.linear_fdb_top = 20;
        rig.set(&path, id::SWITCH_INFO, 0, info.encode()).unwrap();
        let reply = rig.get(&path, id::LFT, 0).unwrap();
        let mut block = LftBlock::decode(smp::data(&reply.mad));
        block.ports[7..=12].fill(PortNum(2));
        rig.set(&path, id::LFT, 0, block.encode()).unwrap();
    }
    for lid in 8..12 {
        assert_eq!(rig.by_lid(Lid(lid)).1.unwrap().from.lid, Lid(lid));
    }
    for lid in [7, 12] {
        assert_eq!(
            rig.by_lid(Lid(lid)).0,
            MadOutcome::Dropped(DropReason::WrongLid)
        );
    }
}

/// A query to the SA at the right end of the chain, on an SL.
fn query(sl: u8) -> MadOut {
    let mad = sa_query();
    MadOut {
        to: Address {
            lid: Lid(5),
            qpn: Qpn(1),
            sl: Sl(sl),
            path_bits: 0,
        },
        mad,
    }
}

#[test]
fn data_packets_need_active_ports() {
    let mut rig = configured();
    rig.fabric.attach(PortAt::new(4, 1)).unwrap();
    let (outcome, out) = rig.send(&query(0));
    assert_eq!(outcome, MadOutcome::Delivered);
    assert_eq!((out[0].at, out[0].qpn), (PortAt::new(4, 1), Qpn(1)));
    assert_eq!(out[0].mad.from.lid, Lid(1));
    for state in [PortState::Initialize, PortState::Armed] {
        rig.fabric.corrupt_port_state(PortAt::new(2, 2), state);
        assert_eq!(
            rig.send(&query(0)).0,
            MadOutcome::Dropped(DropReason::NotActive)
        );
        assert_eq!(rig.by_lid(Lid(5)).0, MadOutcome::Replied);
    }
}

#[test]
fn sl_without_vl_is_dropped() {
    let mut rig = configured();
    rig.fabric.attach(PortAt::new(4, 1)).unwrap();
    let mut table = SlToVl { vls: [Vl(0); 16] };
    table.vls[3] = Vl(15);
    let modifier = SlToVl::modifier(PortNum(1), PortNum(2)).0;
    assert_eq!(
        rig.set(&path_to(2), id::SL_TO_VL, modifier, table.encode()),
        Some(Status::OK)
    );
    assert_eq!(rig.send(&query(3)).0, MadOutcome::Dropped(DropReason::NoVl));
    assert_eq!(rig.send(&query(2)).0, MadOutcome::Delivered);
}

#[test]
fn packets_without_receiver_are_dropped() {
    let mut rig = configured();
    assert_eq!(
        rig.send(&query(0)).0,
        MadOutcome::Dropped(DropReason::NoClient)
    );
    let reply = rig.get(&path_to(4), id::SM_INFO, 0).unwrap();
    assert_eq!(
        reply.mad.status(),
        Status::BAD_METHOD_ATTR,
        "without an SM, the agent replies with an error"
    );
}
