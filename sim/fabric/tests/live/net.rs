//! Packets in flight without SMs: real and virtual time, and faults by scope.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrId, AttrMod, MKey, PortGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{Delivery, Fabric, Packet};
use ferrosm_sim::faults::{AgentFault, FabricAction, FaultScope, LinkDirection, TransportFault};
use ferrosm_sim::foreign_sm::ForeignSm;
use ferrosm_sim::net::Net;
use ferrosm_sim::spec::PortAt;

use crate::packets::{configured, multicast_packet, set_mft};
use crate::rig::{chain, path_to};

const FIRST_HOST: PortAt = PortAt::new(0, 1);

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A net in real time, on a chain of two switches, with a program at the first host.
fn real_time_net() -> Net {
    let mut net = Net::new(Fabric::new(&chain(2)).unwrap(), 3);
    net.set_instant();
    net.fabric_mut().attach(FIRST_HOST).unwrap();
    net
}

fn get_request(path: &DrPath, attr: AttrId, tid: u64) -> Packet {
    let request = SmpRequest::get(attr, AttrMod(0), MKey::NONE);
    let mad = request.directed(path, Tid(tid));
    let to = Address::DIRECTED;
    Packet::new(FIRST_HOST, &MadOut { to, mad })
}

/// Number of immediate replies to `times` requests.
fn immediate_replies(net: &mut Net, node: usize, attr: AttrId, times: u64) -> usize {
    let (mut out, now) = (Vec::new(), net.now());
    for tid in 0..times {
        net.send(get_request(&path_to(node), attr, tid), now, &mut out);
    }
    out.len()
}

#[test]
fn net_can_be_moved_to_a_thread() {
    fn owned<T: Send + 'static>(_: &T) {}
    owned(&real_time_net());
}

#[test]
fn replies_are_immediate_without_faults() {
    let mut net = real_time_net();
    assert_eq!(immediate_replies(&mut net, 3, id::NODE_INFO, 5), 5);
    assert_eq!((net.in_flight(), net.next_time()), (0, None));
    assert_eq!(net.fabric().counters(3).gets(id::NODE_INFO), 5);
    // An ended fault has no further effect.
    net.act(FabricAction::TransportFault(
        FaultScope::Fabric,
        TransportFault::Loss(1.0),
    ))
    .unwrap();
    assert_eq!(immediate_replies(&mut net, 3, id::NODE_INFO, 5), 0);
    net.act(FabricAction::TransportFault(
        FaultScope::Fabric,
        TransportFault::Loss(0.5),
    ))
    .unwrap();
    let reply_count = immediate_replies(&mut net, 3, id::NODE_INFO, 1000);
    assert!(
        (180..320).contains(&reply_count),
        "half in each direction: {reply_count}"
    );
    net.act(FabricAction::Heal(FaultScope::Fabric)).unwrap();
    assert_eq!(immediate_replies(&mut net, 3, id::NODE_INFO, 100), 100);
}

/// Arrival times of the replies, in microseconds.
fn arrivals(net: &mut Net, node: usize, times: u64) -> Vec<u64> {
    let (mut out, start) = (Vec::new(), net.now());
    for tid in 0..times {
        let packet = get_request(&path_to(node), id::NODE_INFO, tid);
        net.send(packet, start, &mut out);
    }
    let mut seen = vec![0; out.len()];
    while let Some(next) = net.next_time() {
        net.advance(next, &mut out);
        seen.resize(out.len(), next.since(start).as_micros() as u64);
    }
    seen
}

#[test]
fn latencies_have_the_configured_values() {
    let us = Duration::from_micros;
    let link = FaultScope::Link(LinkDirection::Both(PortAt::new(1, 2)));
    for (action, expected) in [
        (
            FabricAction::TransportFault(FaultScope::Fabric, TransportFault::Latency(us(3))),
            4 * 3,
        ),
        (
            FabricAction::TransportFault(link, TransportFault::Latency(us(7))),
            2 * 7,
        ),
        // It passes the first switch twice, and ends and starts at the second.
        (
            FabricAction::TransportFault(FaultScope::Node(1), TransportFault::Latency(us(5))),
            2 * 5,
        ),
        (
            FabricAction::TransportFault(FaultScope::Node(2), TransportFault::Latency(us(5))),
            2 * 5,
        ),
        (FabricAction::Agent(Some(2), AgentFault::Service(us(9))), 9),
        (FabricAction::Agent(None, AgentFault::Delay(us(11))), 11),
        (FabricAction::Agent(Some(1), AgentFault::Delay(us(11))), 0),
    ] {
        let mut net = real_time_net();
        let text = format!("{action:?}");
        net.act(action).unwrap();
        assert_eq!(arrivals(&mut net, 2, 1), [expected], "{text}");
        net.act(FabricAction::Heal(FaultScope::Fabric)).unwrap();
        assert_eq!(arrivals(&mut net, 2, 1), [0], "{text}, healed");
    }
}

#[test]
fn link_directions_have_independent_faults() {
    let port = PortAt::new(1, 2);
    for (direction, requests) in [
        (LinkDirection::OutOf(port), 0),
        (LinkDirection::Into(port), 10),
        (LinkDirection::Both(port), 0),
    ] {
        let mut net = real_time_net();
        net.act(FabricAction::TransportFault(
            FaultScope::Link(direction),
            TransportFault::Loss(1.0),
        ))
        .unwrap();
        assert_eq!(
            immediate_replies(&mut net, 2, id::NODE_INFO, 10),
            0,
            "{direction:?}"
        );
        let gets = net.fabric().counters(2).gets(id::NODE_INFO);
        assert_eq!(
            gets, requests,
            "{direction:?}: requests that reach the node"
        );
        assert_eq!(
            immediate_replies(&mut net, 1, id::NODE_INFO, 10),
            10,
            "up to the link"
        );
        net.act(FabricAction::Heal(FaultScope::Link(direction)))
            .unwrap();
        assert_eq!(immediate_replies(&mut net, 2, id::NODE_INFO, 10), 10);
    }
}

#[test]
fn attribute_loss_applies_in_its_scope() {
    let link = FaultScope::Link(LinkDirection::Both(PortAt::new(2, 1)));
    for (target, near, far) in [
        (FaultScope::Fabric, 0, 0),
        (FaultScope::Node(2), 10, 0),
        (link, 10, 0),
        (FaultScope::Node(3), 10, 10),
    ] {
        let mut net = real_time_net();
        net.act(FabricAction::AttrLoss(target, id::NODE_INFO, 1.0))
            .unwrap();
        assert_eq!(
            immediate_replies(&mut net, 1, id::NODE_INFO, 10),
            near,
            "{target:?}"
        );
        assert_eq!(
            immediate_replies(&mut net, 2, id::NODE_INFO, 10),
            far,
            "{target:?}"
        );
        assert_eq!(immediate_replies(&mut net, 2, id::NODE_DESCRIPTION, 10), 10);
        net.act(FabricAction::AttrLoss(target, id::NODE_INFO, 0.0))
            .unwrap();
        assert_eq!(
            immediate_replies(&mut net, 2, id::NODE_INFO, 10),
            10,
            "{target:?}"
        );
    }
}

#[test]
fn drain_delays_packets_and_counts_xmit_wait() {
    let mut net = real_time_net();
    let into = PortAt::new(2, 1);
    net.act(FabricAction::Drain(
        LinkDirection::Into(into),
        Duration::from_millis(1),
    ))
    .unwrap();
    let expected: Vec<u64> = (1..=5).map(|n| n * 1000).collect();
    assert_eq!(arrivals(&mut net, 2, 5), expected, "increasing waits");
    let sender = net.fabric().port_counters(PortAt::new(1, 2));
    assert_eq!(sender.xmit_wait, (1 + 2 + 3 + 4 + 5) * 1_000_000 / 20);
    assert_eq!(net.fabric().port_counters(into).xmit_wait, 0);
    // A later packet does not wait.
    let later = net.now() + Duration::from_secs(1);
    net.advance(later, &mut Vec::new());
    assert_eq!(arrivals(&mut net, 2, 1), [1000]);
}

#[test]
fn flapping_link_is_down_for_half_of_each_period() {
    let mut net = real_time_net();
    let at = PortAt::new(1, 2);
    let period = Duration::from_millis(50);
    net.schedule(
        ms(100),
        FabricAction::Flap {
            at,
            period,
            times: 3,
        },
    );
    for (time, up) in [
        (99, true),
        (101, false),
        (124, false),
        (126, true),
        (151, false),
        (176, true),
        (201, false),
        (226, true),
        (251, true),
    ] {
        net.advance(ms(time), &mut Vec::new());
        assert_eq!(net.fabric().link_up(at), up, "at {time} ms");
    }
    assert_eq!(net.scheduled(), 0);
}

#[test]
fn cables_are_degraded_and_swapped() {
    let mut net = real_time_net();
    let at = PortAt::new(1, 2);
    net.act(FabricAction::Degrade(at, LinkSpeed::Qdr, LinkWidth(1)))
        .unwrap();
    for port in [at, PortAt::new(2, 1)] {
        let info = net.fabric().port_info(port).unwrap();
        assert_eq!((info.link_width_active, info.link_speed_active), (1, 4));
    }
    // Host 0 - switch 1 and switch 2 - host 3 are swapped: the hosts are connected to each other,
    // and so are the switches.
    net.act(FabricAction::SwapCables(FIRST_HOST, PortAt::new(2, 2)))
        .unwrap();
    assert_eq!(net.fabric().peer(FIRST_HOST), Some(PortAt::new(3, 1)));
    assert_eq!(
        net.fabric().peer(PortAt::new(1, 1)),
        Some(PortAt::new(2, 2))
    );
    let same = FabricAction::SwapCables(at, PortAt::new(2, 1));
    assert!(net.act(same).is_err(), "two ports of one cable");
    assert!(net.act(FabricAction::PowerOff(99)).is_err());
}

/// Sends Get(SMInfo) to the SM at a node.
fn sm_info(net: &mut Net, node: usize) -> Option<SmInfo> {
    let (mut out, now) = (Vec::new(), net.now());
    net.send(get_request(&path_to(node), id::SM_INFO, 1), now, &mut out);
    let here = |d: &&Delivery| d.at == FIRST_HOST;
    let reply = out.iter().find(here)?;
    assert_eq!(out.len(), 1, "the program at its port receives no request");
    Some(SmInfo::decode(ferrosm_mad::smp::data(&reply.mad.mad)))
}

#[test]
fn foreign_sms_reply_in_real_time() {
    let mut net = real_time_net();
    let remote = PortAt::new(3, 1);
    net.fabric_mut().attach(remote).unwrap();
    let sm = ForeignSm::new(PortGuid(0x77), 14, SmState::Master);
    let add = |sm: ForeignSm| FabricAction::AddForeignSm(remote, Box::new(sm));
    net.schedule(ms(10), add(sm.clone()));
    net.advance(ms(11), &mut Vec::new());
    let info = sm_info(&mut net, 3).unwrap();
    assert_eq!((info.guid, info.priority), (PortGuid(0x77), 14));
    assert!(net.act(add(sm)).is_err(), "one SM per port");
    net.act(FabricAction::RemoveForeignSm(remote)).unwrap();
    assert!(net.act(FabricAction::RemoveForeignSm(remote)).is_err());
    let mut out = Vec::new();
    net.send(get_request(&path_to(3), id::SM_INFO, 1), ms(12), &mut out);
    assert_eq!(out[0].at, remote, "the program receives it");
}

#[test]
fn multicast_copies_arrive_delayed_or_immediately() {
    for (instant, lossy) in [(true, false), (false, false), (true, true)] {
        let mut rig = configured();
        for node in 1..=3 {
            set_mft(&mut rig, node, 0b110);
        }
        let packet = multicast_packet(&rig);
        let mut net = Net::new(rig.fabric, 1);
        if instant {
            net.set_instant();
        }
        if lossy {
            let link = FaultScope::Link(LinkDirection::Both(PortAt::new(2, 2)));
            net.act(FabricAction::TransportFault(
                link,
                TransportFault::Loss(1.0),
            ))
            .unwrap();
        }
        let mut out = Vec::new();
        net.send(packet, ms(1), &mut out);
        assert_eq!(out.len(), usize::from(instant && !lossy));
        net.advance(ms(2), &mut out);
        assert_eq!(out.len(), usize::from(!lossy));
        assert!(out.iter().all(|d| d.at == PortAt::new(4, 1)));
    }
}

#[test]
fn failed_scheduled_actions_are_recorded() {
    let mut net = real_time_net();
    net.schedule(ms(5), FabricAction::Cut(PortAt::new(1, 4)));
    net.schedule(ms(6), FabricAction::Cut(PortAt::new(1, 2)));
    net.advance(ms(10), &mut Vec::new());
    assert_eq!(net.action_errors().len(), 1);
    assert_eq!(net.action_errors()[0].0, ms(5));
    assert!(
        !net.fabric().link_up(PortAt::new(1, 2)),
        "the other actions are executed"
    );
    let dead = path_to(1).extend(PortNum(2)).unwrap();
    let mut out = Vec::new();
    net.send(get_request(&dead, id::NODE_INFO, 1), ms(11), &mut out);
    assert!(out.is_empty());
}
