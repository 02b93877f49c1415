//! Port counters and the PMA.

use ferrosm_mad::attr::perf::{
    self, ClassPortInfo, DATA_LEN, DATA_OFFSET, PortCountersExtended, PortExtendedSpeedsCounters,
    PortOpRcvCounters, PortRcvErrorDetails, PortSamplesControl, PortSamplesResult, PortVlOpData,
    PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors, PortVlXmitWaitCounters, PortXmitDiscardDetails,
    id,
};
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, Qpn, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadOut, Method, MgmtClass, Status};
use ferrosm_sim::fabric::{MadOutcome, PortCounter};
use ferrosm_sim::spec::PortAt;
use proptest::prelude::*;
use std::time::Duration;

use crate::rig::{Rig, chain, path_to};

/// Words of a MAD's packet on the wire.
const WORDS: u64 = 72;
/// Switch 2 of the chain, with LID 3.
const SWITCH: u16 = 3;

fn configured() -> Rig {
    let mut rig = Rig::new(&chain(3));
    rig.configure_chain();
    rig.advance();
    rig
}

/// A request to the PMA at a LID.
fn request(lid: u16, method: Method, attr: AttrId, data: &[u8]) -> MadOut {
    let mut mad = Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass::Perf,
        class_version: 1,
        method,
        status: 0,
        class_specific: 0,
        tid: Tid(9),
        attr_id: attr,
        attr_mod: AttrMod(0),
    });
    mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + data.len()].copy_from_slice(data);
    let to = Address {
        qpn: Qpn(1),
        ..Address::smp(Lid(lid))
    };
    MadOut { to, mad }
}

fn send_request(rig: &mut Rig, mad: &MadOut) -> (Status, [u8; DATA_LEN]) {
    let (outcome, out) = rig.send(mad);
    assert_eq!(outcome, MadOutcome::Replied);
    let reply = &out[0].mad;
    assert_eq!(out[0].qpn, Qpn(1));
    assert_eq!((reply.from.qpn, reply.from.lid), (Qpn(1), mad.to.lid));
    assert_eq!(reply.mad.method(), Method::GetResp);
    assert_eq!(reply.mad.tid(), Tid(9));
    let data = *reply.mad.as_bytes()[DATA_OFFSET..].first_chunk().unwrap();
    (reply.mad.status(), data)
}

fn get(rig: &mut Rig, attr: AttrId, port: u8) -> [u8; DATA_LEN] {
    let (status, data) = send_request(rig, &request(SWITCH, Method::Get, attr, &[0, port]));
    assert_eq!(status, Status::OK);
    assert!(
        data[1] == port || attr == id::CLASS_PORT_INFO || attr == id::PORT_SAMPLES_RESULT,
        "PortSelect is returned"
    );
    data
}

fn set(rig: &mut Rig, attr: AttrId, data: &[u8]) -> [u8; DATA_LEN] {
    let (status, data) = send_request(rig, &request(SWITCH, Method::Set, attr, data));
    assert_eq!(status, Status::OK);
    data
}

fn port_counters(rig: &mut Rig, port: u8) -> perf::PortCounters {
    perf::PortCounters::decode(&get(rig, id::PORT_COUNTERS, port))
}

fn extended(rig: &mut Rig, port: u8) -> PortCountersExtended {
    PortCountersExtended::decode(&get(rig, id::PORT_COUNTERS_EXTENDED, port))
}

#[test]
fn both_ports_of_a_link_count_equally() {
    let mut rig = configured();
    rig.fabric.reset_counters();
    rig.by_lid(Lid(5));
    rig.get(&path_to(2), ferrosm_mad::attr::id::NODE_INFO, 0);
    for (node, far) in [(1, false), (2, false), (3, true), (4, true)] {
        let c = rig.fabric.port_counters(PortAt::new(node, 1));
        let n = if far { 1 } else { 2 };
        assert_eq!((c.xmit_pkts, c.rcv_pkts), (n, n), "node {node}");
        assert_eq!((c.xmit_data, c.rcv_data), (n * WORDS, n * WORDS));
        assert_eq!((c.unicast_rcv_pkts, c.multicast_rcv_pkts), (n, 0));
        let peer = rig.fabric.peer(PortAt::new(node, 1)).unwrap();
        let other = rig.fabric.port_counters(peer);
        assert_eq!((c.xmit_data, c.xmit_pkts), (other.rcv_data, other.rcv_pkts));
        assert_eq!((c.rcv_data, c.rcv_pkts), (other.xmit_data, other.xmit_pkts));
    }
}

#[test]
fn pma_reports_port_counters() {
    let mut rig = configured();
    let actual = rig.fabric.port_counters(PortAt::new(2, 1));
    // The request itself is counted before the PMA replies.
    let c = port_counters(&mut rig, 1);
    assert_eq!(u64::from(c.port_rcv_pkts), actual.rcv_pkts + 1);
    assert_eq!(u64::from(c.port_rcv_data), actual.rcv_data + WORDS);
    assert_eq!(u64::from(c.port_xmit_pkts), actual.xmit_pkts);
    let e = extended(&mut rig, 1);
    assert_eq!(e.port_rcv_pkts, actual.rcv_pkts + 2);
    assert_eq!(e.port_unicast_rcv_pkts, e.port_rcv_pkts);
    assert_eq!(e.port_xmit_data, actual.xmit_data + WORDS);
    let idle = port_counters(&mut rig, 3);
    assert_eq!((idle.port_rcv_pkts, idle.port_xmit_pkts), (0, 0));
}

#[test]
fn pma_reports_its_capabilities() {
    let mut rig = configured();
    let info = ClassPortInfo::decode(&get(&mut rig, id::CLASS_PORT_INFO, 0));
    assert_eq!((info.base_version, info.class_version), (1, 1));
    for bit in [
        ClassPortInfo::ALL_PORT_SELECT,
        ClassPortInfo::EXTENDED_WIDTH,
        ClassPortInfo::XMIT_WAIT,
    ] {
        assert_ne!(info.capability_mask & bit, 0, "{bit:#x}");
    }
    assert_ne!(info.capability_mask2 & ClassPortInfo::EXTENDED_ERRORS, 0);
}

#[test]
fn narrow_counters_saturate_and_wide_ones_do_not() {
    let mut rig = configured();
    let at = PortAt::new(2, 3);
    for (which, n) in [
        (PortCounter::SymbolErrors, 70_000),
        (PortCounter::LinkErrorRecovery, 300),
        (PortCounter::LocalLinkIntegrityErrors, 17),
        (PortCounter::ExcessiveBufferOverrunErrors, 14),
        (PortCounter::XmitData, 0x1_0000_0005),
        (PortCounter::XmitWait, 0x2_0000_0000),
        (PortCounter::Qp1Dropped, 0x1_0001),
        (PortCounter::Vl15Dropped, 3),
    ] {
        rig.fabric.add_errors(at, which, n);
    }
    let c = port_counters(&mut rig, 3);
    assert_eq!(c.symbol_error_counter, 0xFFFF);
    assert_eq!(c.link_error_recovery_counter, 0xFF);
    assert_eq!(c.local_link_integrity_errors, 15);
    assert_eq!(c.excessive_buffer_overrun_errors, 14);
    assert_eq!(c.port_xmit_data, u32::MAX);
    assert_eq!(c.port_xmit_wait, u32::MAX);
    assert_eq!((c.qp1_dropped, c.vl15_dropped), (0xFFFF, 3));
    let e = extended(&mut rig, 3);
    assert_eq!(e.symbol_error_counter, 70_000);
    assert_eq!(e.port_xmit_data, 0x1_0000_0005);
    assert_eq!(e.port_xmit_wait, 0x2_0000_0000);
    assert_eq!(e.qp1_dropped, 0x1_0001);
    let mut wrap = e;
    wrap.counter_select = 1;
    wrap.port_xmit_data = u64::MAX;
    set(&mut rig, id::PORT_COUNTERS_EXTENDED, &wrap.encode());
    rig.fabric.add_errors(at, PortCounter::XmitData, 2);
    assert_eq!(extended(&mut rig, 3).port_xmit_data, 1);
    assert_eq!(extended(&mut rig, 3).symbol_error_counter, 70_000);
}

#[test]
fn set_writes_selected_counters() {
    let mut rig = configured();
    let at = PortAt::new(2, 3);
    for which in [PortCounter::SymbolErrors, PortCounter::XmitWait] {
        rig.fabric.add_errors(at, which, 5);
    }
    let mut clear = perf::PortCounters {
        port_select: 3,
        counter_select: 1,
        ..Default::default()
    };
    let reply = perf::PortCounters::decode(&set(&mut rig, id::PORT_COUNTERS, &clear.encode()));
    assert_eq!(reply.symbol_error_counter, 0);
    assert_eq!(reply.port_xmit_wait, 5, "not selected");
    rig.fabric.add_errors(at, PortCounter::SymbolErrors, 2);
    assert_eq!(port_counters(&mut rig, 3).symbol_error_counter, 2);
    assert_eq!(extended(&mut rig, 3).symbol_error_counter, 7);
    assert_eq!(rig.fabric.port_counters(at).symbol_errors, 7);
    clear.counter_select = 0;
    clear.counter_select2 = 1;
    clear.port_xmit_wait = 9;
    set(&mut rig, id::PORT_COUNTERS, &clear.encode());
    assert_eq!(port_counters(&mut rig, 3).port_xmit_wait, 9);
    let full = perf::PortCounters {
        port_select: 3,
        counter_select: 1 << 9,
        local_link_integrity_errors: 15,
        ..Default::default()
    };
    set(&mut rig, id::PORT_COUNTERS, &full.encode());
    rig.fabric
        .add_errors(at, PortCounter::LocalLinkIntegrityErrors, 3);
    assert_eq!(port_counters(&mut rig, 3).local_link_integrity_errors, 15);
}

#[test]
fn all_ports_select_returns_sums() {
    let mut rig = configured();
    for port in 1..=4 {
        let at = PortAt::new(2, port);
        rig.fabric.add_errors(at, PortCounter::SymbolErrors, 20_000);
        rig.fabric
            .add_errors(at, PortCounter::RcvRemotePhysicalErrors, 1);
    }
    let all = port_counters(&mut rig, 0xFF);
    assert_eq!(all.symbol_error_counter, 0xFFFF);
    assert_eq!(all.port_rcv_remote_physical_errors, 4);
    assert_eq!(extended(&mut rig, 0xFF).symbol_error_counter, 80_000);
    let clear = perf::PortCounters {
        port_select: 0xFF,
        counter_select: 0xFFFF,
        ..Default::default()
    };
    set(&mut rig, id::PORT_COUNTERS, &clear.encode());
    for port in 1..=4 {
        assert_eq!(port_counters(&mut rig, port).symbol_error_counter, 0);
    }
}

#[test]
fn invalid_requests_get_an_error_status() {
    let mut rig = configured();
    let attr = id::PORT_COUNTERS;
    let mut expect = |mad: &MadOut, status| assert_eq!(send_request(&mut rig, mad).0, status);
    for port in [5, 0xFE] {
        expect(
            &request(SWITCH, Method::Get, attr, &[0, port]),
            Status::BAD_FIELD,
        );
    }
    expect(&request(SWITCH, Method::Get, attr, &[0, 0]), Status::OK);
    for (port, status) in [
        (0, Status::BAD_FIELD),
        (1, Status::OK),
        (2, Status::OK),
        (3, Status::BAD_FIELD),
    ] {
        expect(&request(5, Method::Get, attr, &[0, port]), status);
    }
    for attr in [AttrId(0x13), AttrId(0x30), AttrId(0xFF00)] {
        expect(
            &request(SWITCH, Method::Get, attr, &[0, 1]),
            Status::BAD_METHOD_ATTR,
        );
    }
    for attr in [id::CLASS_PORT_INFO, id::PORT_SAMPLES_RESULT] {
        expect(
            &request(SWITCH, Method::Set, attr, &[]),
            Status::BAD_METHOD_ATTR,
        );
    }
    let mut modified = request(SWITCH, Method::Get, attr, &[0, 1]);
    modified.mad.as_bytes_mut()[23] = 1;
    expect(&modified, Status::BAD_FIELD);
    for byte in [0, 2] {
        let mut old = request(SWITCH, Method::Get, attr, &[0, 1]);
        old.mad.as_bytes_mut()[byte] = 9;
        expect(&old, Status::BAD_VERSION);
    }
}

#[test]
fn pma_ignores_other_methods_and_classes() {
    let mut rig = configured();
    let (outcome, out) = rig.send(&request(SWITCH, Method::GetTable, id::PORT_COUNTERS, &[]));
    assert_eq!(outcome, MadOutcome::Replied);
    assert_eq!(out[0].mad.mad.status(), Status::BAD_METHOD);
    rig.fabric.attach(PortAt::new(2, 0)).unwrap();
    let trap = request(SWITCH, Method::Trap, AttrId(2), &[]);
    assert_eq!(rig.send(&trap).0, MadOutcome::Delivered);
    let mut other = request(SWITCH, Method::Get, id::PORT_COUNTERS, &[0, 1]);
    other.mad.as_bytes_mut()[1] = 0x21;
    assert_eq!(rig.send(&other).0, MadOutcome::Delivered);
}

#[test]
fn losses_are_counted_by_port_and_reason() {
    let mut rig = configured();
    rig.fabric.attach(PortAt::new(4, 1)).unwrap();
    rig.fabric.corrupt_lft(2, Lid(10), 2);
    rig.fabric.corrupt_lft(2, Lid(5), 9);
    rig.by_lid(Lid(5));
    rig.fabric.corrupt_lft(2, Lid(5), 1);
    rig.by_lid(Lid(5));
    rig.fabric.corrupt_lft(2, Lid(5), 3);
    rig.by_lid(Lid(5));
    let d = PortRcvErrorDetails::decode(&get(&mut rig, id::PORT_RCV_ERROR_DETAILS, 1));
    assert_eq!((d.port_dlid_mapping_errors, d.port_looping_errors), (1, 1));
    assert_eq!(port_counters(&mut rig, 1).port_rcv_switch_relay_errors, 2);
    let d = PortXmitDiscardDetails::decode(&get(&mut rig, id::PORT_XMIT_DISCARD_DETAILS, 3));
    assert_eq!(d.port_inactive_discards, 1);
    assert_eq!(port_counters(&mut rig, 3).port_xmit_discards, 1);
    let clear = PortRcvErrorDetails {
        port_select: 1,
        counter_select: 1 << 3,
        ..Default::default()
    };
    let d = set(&mut rig, id::PORT_RCV_ERROR_DETAILS, &clear.encode());
    let d = PortRcvErrorDetails::decode(&d);
    assert_eq!((d.port_dlid_mapping_errors, d.port_looping_errors), (0, 1));
}

#[test]
fn packets_with_the_selected_op_code_are_counted() {
    let mut rig = configured();
    let get_op = |rig: &mut Rig| PortOpRcvCounters::decode(&get(rig, id::PORT_OP_RCV_COUNTERS, 1));
    assert_eq!(get_op(&mut rig).port_op_rcv_pkts, 0);
    let select = PortOpRcvCounters {
        op_code: 0x64,
        port_select: 1,
        ..Default::default()
    };
    set(&mut rig, id::PORT_OP_RCV_COUNTERS, &select.encode());
    rig.by_lid(Lid(5));
    let c = get_op(&mut rig);
    assert_eq!(
        (c.op_code, c.port_op_rcv_pkts),
        (0x64, 2),
        "including the Get itself"
    );
    assert_eq!(u64::from(c.port_op_rcv_data), 2 * WORDS);
    let per_vl = PortVlOpPackets::decode(&get(&mut rig, id::PORT_VL_OP_PACKETS, 1));
    assert_eq!(per_vl.port_vl_op_packets[15], 1, "the SMP");
    assert_eq!(per_vl.port_vl_op_packets[0], 2, "two Gets");
    let data = PortVlOpData::decode(&get(&mut rig, id::PORT_VL_OP_DATA, 1));
    assert_eq!(u64::from(data.port_vl_op_data[0]), 3 * WORDS);
}

#[test]
fn per_vl_counters_can_be_written() {
    let mut rig = configured();
    rig.fabric
        .add_errors(PortAt::new(2, 1), PortCounter::XmitWait, 7);
    let c = get(&mut rig, id::PORT_VL_XMIT_WAIT_COUNTERS, 1);
    assert_eq!(PortVlXmitWaitCounters::decode(&c).port_vl_xmit_wait[0], 7);
    let write = PortVlXmitWaitCounters {
        port_select: 1,
        counter_select: 0b11,
        port_vl_xmit_wait: [4; 16],
    };
    let c = set(&mut rig, id::PORT_VL_XMIT_WAIT_COUNTERS, &write.encode());
    assert_eq!(
        PortVlXmitWaitCounters::decode(&c).port_vl_xmit_wait[..3],
        [4, 4, 0]
    );
    let write = PortVlXmitFlowCtlUpdateErrors {
        port_select: 1,
        counter_select: 0x8000,
        port_vl_xmit_flow_ctl_update_errors: [3; 16],
    };
    let attr = id::PORT_VL_XMIT_FLOW_CTL_UPDATE_ERRORS;
    let c = set(&mut rig, attr, &write.encode());
    let c = PortVlXmitFlowCtlUpdateErrors::decode(&c);
    assert_eq!(c.port_vl_xmit_flow_ctl_update_errors[14..], [0, 3]);
}

#[test]
fn injected_fec_errors_are_counted() {
    let mut rig = configured();
    let at = PortAt::new(2, 1);
    rig.fabric
        .add_errors(at, PortCounter::FecCorrectableBlocks, 100_000);
    rig.fabric.add_errors(at, PortCounter::SyncHeaderErrors, 4);
    let c = get(&mut rig, id::PORT_EXTENDED_SPEEDS_COUNTERS, 1);
    let c = PortExtendedSpeedsCounters::decode(&c);
    assert_eq!(c.port_fec_correctable_block_ctr, 100_000);
    assert_eq!(c.sync_header_error_counter, 4);
    let clear = PortExtendedSpeedsCounters {
        port_select: 1,
        counter_select: 1 << 38,
        ..Default::default()
    };
    let c = set(&mut rig, id::PORT_EXTENDED_SPEEDS_COUNTERS, &clear.encode());
    let c = PortExtendedSpeedsCounters::decode(&c);
    assert_eq!(c.port_fec_correctable_block_ctr, 0);
    assert_eq!(c.sync_header_error_counter, 4);
}

#[test]
fn samples_count_for_their_interval() {
    let mut rig = configured();
    let mut control = PortSamplesControl {
        port_select: 2,
        sample_start: 10,
        sample_interval: 90,
        tag: 0x55,
        ..Default::default()
    };
    control.counter_select[..3].copy_from_slice(&[3, 4, 1]);
    let c = set(&mut rig, id::PORT_SAMPLES_CONTROL, &control.encode());
    let c = PortSamplesControl::decode(&c);
    assert_eq!((c.sample_status, c.tag, c.counter_width), (1, 0x55, 4));
    assert_eq!(c.counter_masks0_to_9, [1; 10]);
    rig.by_lid(Lid(5));
    rig.now = rig.now + Duration::from_micros(50);
    let result = |rig: &mut Rig| PortSamplesResult::decode(&get(rig, id::PORT_SAMPLES_RESULT, 0));
    assert_eq!(result(&mut rig).sample_status, 2);
    control.tag = 0x66;
    let c = set(&mut rig, id::PORT_SAMPLES_CONTROL, &control.encode());
    let c = PortSamplesControl::decode(&c);
    assert_eq!(
        (c.sample_status, c.tag),
        (2, 0x55),
        "a running sample is not changed"
    );
    rig.now = rig.now + Duration::from_micros(50);
    for _ in 0..2 {
        let r = result(&mut rig);
        assert_eq!((r.tag, r.sample_status), (0x55, 0));
        assert_eq!(r.counters[..4], [1, 1, 72, 0]);
        rig.by_lid(Lid(5));
    }
    let all = PortSamplesControl {
        port_select: 0xFF,
        ..Default::default()
    };
    let bad = request(SWITCH, Method::Set, id::PORT_SAMPLES_CONTROL, &all.encode());
    assert_eq!(send_request(&mut rig, &bad).0, Status::BAD_FIELD);
}

proptest! {
    /// Any request gets one reply with a status of the specification.
    #[test]
    fn any_request_gets_one_reply(
        attr in prop_oneof![0u16..0x40, any::<u16>()],
        data in proptest::collection::vec(any::<u8>(), DATA_LEN),
        port in 0u8..6,
        is_set: bool,
    ) {
        let mut rig = configured();
        let method = if is_set { Method::Set } else { Method::Get };
        let mut mad = request(SWITCH, method, AttrId(attr), &data);
        mad.mad.as_bytes_mut()[DATA_OFFSET + 1] = port;
        for _ in 0..2 {
            let (status, _) = send_request(&mut rig, &mad);
            prop_assert!(
                [Status::OK, Status::BAD_FIELD, Status::BAD_METHOD_ATTR].contains(&status)
            );
        }
    }
}
