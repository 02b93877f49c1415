//! Queue pairs of programs on a configured fabric: delivery, drops and counters.

use ferrosm_mad::attr::{PKeyBlock, id};
use ferrosm_mad::ids::{AttrId, AttrMod, Gid, Lid, Qpn, Sl, Tid};
use ferrosm_mad::mad::{Mad, MadHeader, Method, MgmtClass, Status};
use ferrosm_sim::datagram::{
    DatagramIn, DatagramOut, Datagrams, GlobalRoute, QpId, QpParameters, QpState,
};
use ferrosm_sim::fabric::Datagram;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::umad::Errno;

use crate::packets::{configured, set_mft};
use crate::rig::{Rig, path_to};

/// The CA at the far end of the chain, LID 5.
const FAR: PortAt = PortAt { node: 4, port: 1 };
const NEAR: PortAt = PortAt { node: 0, port: 1 };
const Q_KEY: u32 = 0x1234;
const MLID: Lid = Lid(0xC005);
const MGID: Gid = Gid([0xFF, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);

struct Hosts {
    rig: Rig,
    qps: Datagrams,
}

impl Hosts {
    fn new() -> Self {
        Self {
            rig: configured(),
            qps: Datagrams::new(),
        }
    }

    fn create(&mut self, at: PortAt, parameters: QpParameters) -> QpId {
        let id = self.qps.create(&self.rig.fabric, at.node).unwrap();
        let parameters = QpParameters {
            port: at.port,
            ..parameters
        };
        self.qps.modify(&self.rig.fabric, id, parameters).unwrap();
        id
    }

    fn ready(&mut self, at: PortAt) -> QpId {
        self.create(at, READY)
    }

    /// Sends a message and delivers the resulting packets.
    fn send(&mut self, from: QpId, message: &DatagramOut<'_>) -> Result<(), Errno> {
        let packet = self.qps.send(&mut self.rig.fabric, from, message)?;
        let mut out = Vec::new();
        if packet.is_multicast() {
            let now = self.rig.now;
            let _ = self.rig.fabric.multicast(&packet, now, &mut out);
        } else {
            self.rig
                .fabric
                .handle_packet(packet, self.rig.now, &mut out);
        }
        for delivery in out {
            assert!(self.qps.deliver(&mut self.rig.fabric, &delivery));
        }
        Ok(())
    }

    fn take(&mut self, id: QpId) -> Option<DatagramIn> {
        let front = self.qps.front(id).cloned();
        self.qps.pop(id);
        front
    }

    fn violations(&self, at: PortAt) -> u16 {
        self.rig.fabric.port_info(at).unwrap().q_key_violations
    }
}

const READY: QpParameters = QpParameters {
    state: QpState::ReadyToSend,
    port: 0,
    pkey_index: 0,
    q_key: Q_KEY,
};

fn to(id: QpId, payload: &[u8]) -> DatagramOut<'_> {
    DatagramOut {
        dlid: Lid(5),
        dest_qpn: id.qpn,
        q_key: Q_KEY,
        sl: Sl(0),
        path_bits: 0,
        route: None,
        payload,
    }
}

#[test]
fn datagrams_of_every_length_arrive_unchanged() {
    let mut hosts = Hosts::new();
    let (a, b) = (hosts.ready(NEAR), hosts.ready(FAR));
    let bytes: Vec<u8> = (0..=255).collect();
    let before = hosts.rig.fabric.port_counters(FAR).rcv_data;
    let mut words = 0;
    for len in 0..=256usize {
        hosts.send(a, &to(b, &bytes[..len])).unwrap();
        let received = hosts.take(b).unwrap();
        assert_eq!(received.payload, bytes[..len]);
        assert_eq!(
            (received.slid, received.src_qpn, received.grh),
            (Lid(1), a.qpn, None)
        );
        words += (8 + 12 + 8 + 4 + len.next_multiple_of(4)) / 4;
    }
    let counted = hosts.rig.fabric.port_counters(FAR);
    assert_eq!(
        counted.rcv_data - before,
        words as u64,
        "headers and padding are counted"
    );
    assert_eq!(
        hosts.send(a, &to(b, &[0; 257])),
        Err(Errno::ENOSPC),
        "the maximum payload is {}",
        Datagram::MAX_LEN
    );
    assert_eq!(hosts.take(b), None);
}

/// A payload that looks like a MAD is not processed as one on a program's queue pair.
#[test]
fn agents_ignore_datagrams() {
    let mut hosts = Hosts::new();
    let (a, b) = (hosts.ready(NEAR), hosts.ready(FAR));
    for class in [0x01, 0x81, 0x04, 0x03] {
        let mut payload = [0; 256];
        payload[..4].copy_from_slice(&[1, class, 1, 1]);
        hosts.send(a, &to(b, &payload)).unwrap();
        assert_eq!(hosts.take(b).unwrap().payload, payload, "class {class:#x}");
        assert_eq!(hosts.take(a), None, "no reply");
    }
}

#[test]
fn wrong_q_keys_are_counted_but_wrong_queue_pairs_are_not() {
    let mut hosts = Hosts::new();
    let (a, b) = (hosts.ready(NEAR), hosts.ready(FAR));
    let mut message = to(b, b"x");
    message.q_key = 7;
    hosts.send(a, &message).unwrap();
    assert_eq!((hosts.take(b), hosts.violations(FAR)), (None, 1));
    message.q_key = 0x8000_0000;
    hosts.send(a, &message).unwrap();
    assert!(
        hosts.take(b).is_some(),
        "the high bit selects the Q_Key of the sending queue pair"
    );
    message.dest_qpn = Qpn(99);
    hosts.send(a, &message).unwrap();
    message.dest_qpn = Qpn(1);
    hosts.send(a, &message).unwrap();
    assert_eq!(hosts.violations(FAR), 2, "QP1 has its own Q_Key");
    assert_eq!(hosts.take(b), None);
}

#[test]
fn queue_pair_receives_from_its_partition_only() {
    let mut hosts = Hosts::new();
    for node in [0, 4] {
        let mut block = PKeyBlock::decode(&[0; 64]);
        block.keys[0].0 = 0xFFFF;
        block.keys[1].0 = 0x8001;
        let path = path_to(node);
        let index = 1 << 16;
        let status = hosts.rig.set(&path, id::PKEY_TABLE, index, block.encode());
        assert_eq!(status, Some(Status::OK));
    }
    let other = QpParameters {
        pkey_index: 1,
        ..READY
    };
    let (a, b) = (hosts.ready(NEAR), hosts.create(NEAR, other));
    let (c, d) = (hosts.ready(FAR), hosts.create(FAR, other));
    for (from, at, arrives) in [(a, c, true), (a, d, false), (b, c, false), (b, d, true)] {
        hosts.send(from, &to(at, b"x")).unwrap();
        let received = hosts.take(at);
        assert_eq!(received.is_some(), arrives, "{from:?} to {at:?}");
        let pkey_index = u16::from(at == d);
        assert!(received.is_none_or(|received| received.pkey_index == pkey_index));
    }
    let empty = QpParameters {
        pkey_index: 2,
        ..READY
    };
    let without_pkey = hosts.create(NEAR, empty);
    assert_eq!(hosts.send(without_pkey, &to(c, b"x")), Err(Errno::EINVAL));
}

#[test]
fn multicast_reaches_attached_queue_pairs() {
    let mut hosts = Hosts::new();
    for node in 1..=3 {
        set_mft(&mut hosts.rig, node, 0b110);
    }
    let (a, same_port) = (hosts.ready(NEAR), hosts.ready(NEAR));
    let (b, unattached) = (hosts.ready(FAR), hosts.ready(FAR));
    for id in [a, same_port, b] {
        hosts.qps.attach(id, MGID, MLID).unwrap();
    }
    let route = GlobalRoute {
        dgid: MGID,
        sgid_index: 0,
        flow_label: 0x12345,
        traffic_class: 9,
        hop_limit: 3,
    };
    let message = DatagramOut {
        dlid: MLID,
        dest_qpn: Qpn(0xFF_FFFF),
        route: Some(route),
        ..to(b, b"all")
    };
    hosts.send(a, &message).unwrap();
    for id in [a, same_port, b] {
        let received = hosts.take(id).unwrap_or_else(|| panic!("{id:?}"));
        assert_eq!((received.slid, received.src_qpn), (Lid(1), a.qpn));
        let grh = received.grh.unwrap();
        assert_eq!(grh[..8], [0x60, 0x91, 0x23, 0x45, 0, 28, 0x1B, 3]);
        assert_eq!(grh[24..], MGID.0);
        assert_eq!(hosts.take(id), None, "once");
    }
    assert_eq!(hosts.take(unattached), None);
    hosts.qps.detach(b, MGID, MLID).unwrap();
    assert_eq!(hosts.qps.detach(b, MGID, MLID), Err(Errno::EINVAL));
    hosts.send(a, &message).unwrap();
    assert_eq!(hosts.take(b), None);
    assert_eq!(
        hosts.qps.attach(b, Gid([0xFE; 16]), MLID),
        Err(Errno::EINVAL)
    );
    assert_eq!(hosts.qps.attach(b, MGID, Lid(5)), Err(Errno::EINVAL));
}

/// A program with the Q_Key of QP1 can send a request to an agent; the reply arrives at its queue
/// pair.
#[test]
fn queue_pair_can_send_requests_to_an_agent() {
    let mut hosts = Hosts::new();
    let parameters = QpParameters {
        q_key: 0x8001_0000,
        ..READY
    };
    let a = hosts.create(NEAR, parameters);
    let mad = Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass::Perf,
        class_version: 1,
        method: Method::Get,
        status: 0,
        class_specific: 0,
        tid: Tid(5),
        attr_id: AttrId(1),
        attr_mod: AttrMod(0),
    });
    let message = DatagramOut {
        dest_qpn: Qpn(1),
        q_key: 0x8001_0000,
        ..to(a, mad.as_bytes())
    };
    hosts.send(a, &message).unwrap();
    let reply = Mad::parse(&hosts.take(a).unwrap().payload).unwrap();
    assert_eq!(reply.header().method, Method::GetResp);
    assert_eq!(reply.header().tid, Tid(5));
}

#[test]
fn qp_state_limits_sending_and_receiving() {
    let mut hosts = Hosts::new();
    let (a, b) = (hosts.ready(NEAR), hosts.ready(FAR));
    assert_eq!((a.qpn, b.qpn), (Qpn(2), Qpn(2)), "QPNs are per adapter");
    for state in [
        QpState::Reset,
        QpState::Init,
        QpState::ReadyToReceive,
        QpState::Error,
    ] {
        let parameters = QpParameters {
            state,
            port: 1,
            ..READY
        };
        hosts.qps.modify(&hosts.rig.fabric, a, parameters).unwrap();
        assert_eq!(hosts.send(a, &to(b, b"x")), Err(Errno::EINVAL), "{state:?}");
    }
    for (state, receives) in [
        (QpState::Init, false),
        (QpState::ReadyToReceive, true),
        (QpState::Error, false),
    ] {
        let c = hosts.ready(NEAR);
        let parameters = QpParameters {
            state,
            port: 1,
            ..READY
        };
        hosts.qps.modify(&hosts.rig.fabric, b, parameters).unwrap();
        hosts.send(c, &to(b, b"x")).unwrap();
        assert_eq!(hosts.take(b).is_some(), receives, "{state:?}");
    }
    let invalid_port = QpParameters { port: 3, ..READY };
    let fabric = &hosts.rig.fabric;
    assert_eq!(
        hosts.qps.modify(fabric, a, invalid_port),
        Err(Errno::EINVAL)
    );
    hosts.qps.destroy(a);
    assert_eq!(hosts.qps.modify(fabric, a, READY), Err(Errno::EBADF));
    let next = hosts.ready(NEAR);
    assert_ne!(next.qpn, a.qpn, "a QPN is not reused immediately");
}
