//! SA replies and configuration Sets wait for the store. A slow store is reported and delays
//! neither for longer than a second.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferrosm_core::records::RecordKind;
use ferrosm_core::{Command, Input, SmConfig};
use ferrosm_mad::attr::id as smp_id;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrMod, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut, Method};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_sim::net;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::lab::store::StoreFault;
use ferrosm_tests::sa::members::{MEMBER, NEW_GROUP, header, join_record, multicast_sl, plain};
use ferrosm_tests::sa::wire::WireRequest;

const UNPROTECTED: &str = "SA registrations not saved in time";
const PROTECTED: &str = "SA replies wait for saved registrations again";

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn set_fault(lab: &mut Lab, fault: StoreFault) {
    lab.edit(lab.sm, |sm, now| sm.set_store_fault(fault, now));
}

/// Sends a host's join of a new group.
fn join(lab: &mut Lab, at: PortAt, group: u8, tid: u64) {
    let gid = lab.port_gid(at);
    let sl = multicast_sl(lab.manager().core());
    let record = join_record(plain(group), gid, JoinState::FULL, sl);
    let request = WireRequest {
        mask: MEMBER | NEW_GROUP,
        data: record.encode().to_vec(),
        ..WireRequest::new(0, Method::Set.0, id::MC_MEMBER.0)
    };
    let bytes = request.to_bytes(tid);
    let from = Peer {
        lid: lab.world.fabric().lid(at).0,
        ..Peer::default()
    };
    lab.handle(lab.sm, Input::Gmp { from, bytes });
}

/// Transaction IDs of the replies sent since the last call.
fn take_replies(lab: &mut Lab) -> Vec<u64> {
    let taken = lab.take_replies();
    taken.iter().map(|(_, bytes)| header(bytes).tid.0).collect()
}

fn durability_events(lab: &Lab) -> Vec<&'static str> {
    let events = lab.manager().events.iter();
    let names = events.map(|event| event.row().name);
    names
        .filter(|name| [UNPROTECTED, PROTECTED].contains(name))
        .collect()
}

fn members_on_disk(lab: &Lab) -> usize {
    let keys = lab.manager().persisted_records.keys();
    keys.filter(|key| key.kind() == Some(RecordKind::Member))
        .count()
}

#[test]
fn registrations_wait_at_most_a_second_for_a_hanging_store() {
    let mut lab = Lab::up("single-switch:4", 1, SmConfig::default());
    let at = lab.hosts()[1];
    lab.world.run_for(ms(2_000));
    take_replies(&mut lab);
    let before = members_on_disk(&lab);

    set_fault(&mut lab, StoreFault::Hanging);
    join(&mut lab, at, 0, 1);
    lab.world.run_for(ms(999));
    assert_eq!(take_replies(&mut lab), Vec::<u64>::new());
    lab.world.run_for(ms(1));
    assert_eq!(take_replies(&mut lab), [1]);
    assert_eq!(durability_events(&lab), [UNPROTECTED]);

    join(&mut lab, at, 1, 2);
    assert_eq!(
        take_replies(&mut lab),
        [2],
        "replies no longer wait for a slow store"
    );
    assert_eq!(members_on_disk(&lab), before);

    set_fault(&mut lab, StoreFault::None);
    assert!(members_on_disk(&lab) > before);
    assert_eq!(durability_events(&lab), [UNPROTECTED, PROTECTED]);

    set_fault(&mut lab, StoreFault::Delayed(ms(300)));
    join(&mut lab, at, 2, 3);
    lab.world.run_for(ms(299));
    assert_eq!(take_replies(&mut lab), Vec::<u64>::new());
    lab.world.run_for(ms(1));
    assert_eq!(take_replies(&mut lab), [3]);
    assert_eq!(durability_events(&lab).len(), 2);
}

/// Messages that an SM sent on QP0.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    gets: u32,
    /// Sets other than SMInfo.
    sets: u32,
    sm_info_replies: u32,
}

/// Counts the messages that the SM sends from now on.
fn count_sent(lab: &mut Lab) -> Arc<Mutex<Sent>> {
    let sent = Arc::new(Mutex::new(Sent::default()));
    let at = lab.at;
    let counts = Arc::clone(&sent);
    lab.world.observe(move |event| {
        if event.at != at || event.event != net::MadEvent::Sent {
            return;
        }
        let header = event.mad.header();
        let is_sm_info = header.attr_id == smp_id::SM_INFO;
        let mut sent = counts.lock().expect("lock not poisoned");
        match event.mad.method() {
            Method::Get => sent.gets += 1,
            Method::Set if !is_sm_info => sent.sets += 1,
            Method::GetResp if is_sm_info => sent.sm_info_replies += 1,
            _ => {}
        }
    });
    sent
}

/// Another SM's Get(SMInfo) arrives at the SM.
fn query_sm_info(lab: &mut Lab, m_key: MKey) {
    let master = lab.world.fabric().peer(lab.at).expect("link");
    let path = DrPath::LOCAL
        .extend(PortNum(master.port))
        .expect("valid path");
    let request = SmpRequest::get(smp_id::SM_INFO, AttrMod(0), m_key);
    let mad = request.directed(&path, Tid(0x77));
    let to = Address::DIRECTED;
    let at = PortAt::new(master.node, 0);
    lab.world.inject(at, &MadOut { to, mad });
}

/// Changes the configuration so that a record of this kind has to precede the Sets. Until the
/// record is durable the SM sends no Set, but replies to SMInfo queries. Returns the messages sent
/// before that.
fn sets_wait_for(kind: RecordKind, cfg: SmConfig) -> Sent {
    let mut lab = Lab::up("torus:5,5,1", 1, one_vl());
    lab.world.run_for(ms(2_000));
    set_fault(&mut lab, StoreFault::Delayed(ms(400)));
    let m_key = cfg.m_key;
    let config = Input::Config(Box::new(cfg));
    lab.edit(lab.sm, |sm, now| {
        sm.handle(config, now);
        sm.handle(Command::Reroute.with_id(0), now);
    });
    lab.run_until("a record that is not durable", 60, |lab| {
        lab.manager().store.is_pending(kind)
    });
    let counts = count_sent(&mut lab);
    let sent = || *counts.lock().expect("lock not poisoned");
    lab.world.run_for(ms(200));
    query_sm_info(&mut lab, m_key);
    lab.world.run_for(ms(199));
    assert!(lab.manager().store.is_pending(kind));
    let while_pending = sent();
    assert_eq!(while_pending.sets, 0);
    assert_eq!(while_pending.sm_info_replies, 1);

    lab.run_until("Sets after the record is durable", 1, |_| sent().sets > 0);
    assert!(!lab.manager().store.is_pending(kind));
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(durability_events(&lab), <[&str; 0]>::default());
    lab.assert_correct();
    while_pending
}

fn one_vl() -> SmConfig {
    SmConfig {
        engines: vec!["updn".to_owned()],
        routing_vls: 1,
        ..SmConfig::default()
    }
}

#[test]
fn sl_to_vl_tables_wait_for_their_record() {
    let cfg = SmConfig {
        engines: vec!["lash".to_owned()],
        ..SmConfig::default()
    };
    sets_wait_for(RecordKind::SlToVlEpoch, cfg);
}

#[test]
fn m_keys_wait_for_their_record() {
    let cfg = SmConfig {
        m_key: MKey::new(0xAAAA),
        m_key_protect_bits: 2,
        ..one_vl()
    };
    let while_pending = sets_wait_for(RecordKind::MKey, cfg);
    assert!(while_pending.gets > 0, "the sweep sent no Get");
}
