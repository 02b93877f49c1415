//! The in-process transport.

use std::time::Duration;

use ferrosm_mad::attr::{CapMask, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, Tid};
use ferrosm_mad::mad::{Address, MadOut, Status};
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_mad::transport::{MadReceiver, MadSender, Received};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::port::{AttachError, SimNet};
use ferrosm_sim::spec::PortAt;

use crate::rig::{chain, path_to};

const NO_WAIT: Duration = Duration::ZERO;

fn net() -> SimNet {
    SimNet::new(Fabric::new(&chain(2)).unwrap())
}

fn get(attr: ferrosm_mad::ids::AttrId, node: usize, tid: u64) -> MadOut {
    let request = SmpRequest::get(attr, AttrMod(0), MKey::NONE);
    MadOut {
        to: Address::DIRECTED,
        mad: request.directed(&path_to(node), Tid(tid)),
    }
}

#[test]
fn replies_are_queued_in_order() {
    let mut port = net().attach(None).unwrap();
    for tid in 1..=3 {
        port.send(&get(id::NODE_INFO, 2, tid)).unwrap();
    }
    for tid in 1..=3 {
        let Received::Mad(mad) = port.receive(NO_WAIT).unwrap() else {
            panic!("no reply")
        };
        assert_eq!(mad.mad.tid(), Tid(tid));
    }
    assert_eq!(
        port.receive(Duration::from_millis(1)).unwrap(),
        Received::TimedOut
    );
}

#[test]
fn open_port_has_is_sm_set() {
    let net = net();
    let at = PortAt::new(0, 1);
    let is_sm = || net.with(|f| f.port_info(at).unwrap().capability_mask.has(CapMask::IS_SM));
    let port = net.attach(None).unwrap();
    assert_eq!(port.at(), at);
    assert!(is_sm());
    assert_eq!(net.attach(Some(at)).unwrap_err(), AttachError::InUse(at));
    let (sender, receiver) = port.split();
    drop(receiver);
    assert!(is_sm(), "the other half is open");
    drop(sender);
    assert!(!is_sm());
    assert!(net.attach(Some(at)).is_ok());
    assert!(
        net.attach(Some(PortAt::new(1, 1))).is_err(),
        "not an end port"
    );
}

#[test]
fn two_sms_exchange_sm_info() {
    let net = net();
    let mut a = net.attach(None).unwrap();
    let mut b = net.attach(Some(PortAt::new(3, 1))).unwrap();
    a.send(&get(id::SM_INFO, 3, 9)).unwrap();
    let Received::Mad(received) = b.receive(NO_WAIT).unwrap() else {
        panic!("no request")
    };
    let info = SmInfo {
        sm_state: SmState::Standby,
        priority: 3,
        ..SmInfo::default()
    };
    let mad = smp::response(&received.mad, Status::OK, &info.encode());
    b.send(&MadOut {
        to: received.from,
        mad,
    })
    .unwrap();
    let Received::Mad(reply) = a.receive(NO_WAIT).unwrap() else {
        panic!("no reply")
    };
    assert_eq!(reply.mad.tid(), Tid(9));
    assert_eq!(SmInfo::decode(smp::data(&reply.mad)), info);
}

#[test]
fn lost_requests_are_reported_on_request() {
    let mut port = net().attach(None).unwrap();
    let lost = MadOut {
        to: Address::DIRECTED,
        mad: SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE)
            .directed(&"0,1,4".parse().unwrap(), Tid(3)),
    };
    port.send(&lost).unwrap();
    assert_eq!(port.receive(NO_WAIT).unwrap(), Received::TimedOut);
    port.report_failures(true);
    port.send(&lost).unwrap();
    assert_eq!(port.receive(NO_WAIT).unwrap(), Received::SendFailed(Tid(3)));
}
