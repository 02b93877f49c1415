//! Elections among several ferrosm SMs in one fabric: planned and unplanned master changes, two
//! subnet fragments, priorities and SMs that are not on the allow-list.
//!
//! The tests check the SMPs that devices receive, and whether hosts get replies at the LID that
//! PortInfo:MasterSMLID of their port names.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::{Command, Event, Input, LidMap, PeerEvent, RestoredState, SmConfig};
use ferrosm_mad::attr::{NodeType, SmControl, SmState, id};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid, PortNum};
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::smp::DrPath;
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::lab::{Lab, Sm};
use ferrosm_tests::sa::members::{BROADCAST, Members};

/// A host port far from the first SM's; a standby or a foreign SM runs there.
pub(crate) const OTHER_SM_PORT: PortAt = PortAt::new(7, 1);
pub(crate) const OTHER_HOST: PortAt = PortAt::new(12, 1);
const STEP: Duration = Duration::from_millis(1);

pub(crate) fn cfg(lab: Option<&Lab>, priority: u8) -> SmConfig {
    let peers = lab.map(|lab| {
        let fabric = lab.world.fabric();
        [lab.at, OTHER_SM_PORT, OTHER_HOST].map(|at| fabric.port_guid(at))
    });
    SmConfig {
        priority,
        peer_sms: Arc::new(peers.into_iter().flatten().collect()),
        ..SmConfig::default()
    }
}

/// A fat tree with a ferrosm master of this priority, after a sweep without problems.
pub(crate) fn start_master(priority: u8) -> Lab {
    let mut lab = Lab::with("fat-tree:4", 1, SmConfig::default());
    let cfg = cfg(Some(&lab), priority);
    lab.kill_sm();
    lab.sm = lab.add_sm(lab.at, cfg);
    assert!(lab.next_sweep(60).is_clean());
    lab
}

/// A ferrosm master, and the port GUID of a foreign standby with priority 0 at [`OTHER_SM_PORT`].
pub(crate) fn with_foreign_standby() -> (Lab, PortGuid) {
    let mut lab = start_master(5);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let other = ForeignSm::new(guid, 0, SmState::Standby);
    let added = lab.world.add_foreign_sm(OTHER_SM_PORT, other);
    added.unwrap_or_else(|error| panic!("{error}"));
    lab.world.run_for(Duration::from_secs(30));
    (lab, guid)
}

fn add_sm_with_priority(lab: &mut Lab, at: PortAt, priority: u8) -> SmId {
    let cfg = cfg(Some(lab), priority);
    lab.add_sm(at, cfg)
}

fn has_event(lab: &Lab, id: SmId, predicate: fn(&Event) -> bool) -> bool {
    lab.events(id).iter().any(predicate)
}

/// How an SM stopped: whether it handed the subnet over, and whether it was master.
pub(crate) fn stopped(lab: &Lab, id: SmId) -> Option<(bool, bool)> {
    lab.events(id).iter().find_map(|e| {
        let Event::Stopped {
            handed_to,
            was_master,
        } = e
        else {
            return None;
        };
        Some((handed_to.is_some(), *was_master))
    })
}

/// Whether the SM at the LID in the host port's PortInfo:MasterSMLID serves SA requests.
fn has_sa(lab: &Lab, host: PortAt, sms: &[(SmId, PortAt)]) -> bool {
    let fabric = lab.world.fabric();
    let Some(info) = fabric.port_info(host) else {
        return false;
    };
    sms.iter().any(|(id, at)| {
        let present = fabric.lid(*at).0 == info.master_sm_lid;
        let sm = lab.world.sm(*id);
        present && sm.is_some_and(|sm| sm.core().view().is_some())
    })
}

/// Runs the simulation for `time`; returns the longest period in which some host had no SA at its
/// MasterSMLID.
fn longest_gap(lab: &mut Lab, sms: &[(SmId, PortAt)], time: Duration) -> Duration {
    let hosts: Vec<PortAt> = lab.world.fabric().end_ports().collect();
    let mut gaps = vec![Duration::ZERO; hosts.len()];
    let mut longest = Duration::ZERO;
    let deadline = lab.world.now() + time;
    while lab.world.now() < deadline {
        lab.world.run_for(STEP);
        for (host, gap) in hosts.iter().zip(&mut gaps) {
            *gap = if has_sa(lab, *host, sms) {
                Duration::ZERO
            } else {
                *gap + STEP
            };
            longest = longest.max(*gap);
        }
    }
    longest
}

fn assert_one_master(lab: &Lab, sms: &[SmId], wanted: SmId) {
    for sm in sms {
        let expected = if *sm == wanted {
            SmState::Master
        } else {
            SmState::Standby
        };
        assert_eq!(lab.role(*sm), expected, "{}", lab.describe_run());
    }
}

fn written(lab: &Lab) -> [u32; 3] {
    let counters = lab.world.fabric().all_counters();
    [id::LFT, id::MFT, id::PKEY_TABLE].map(|attr| counters.sets(attr))
}

/// SIGTERM: the SM hands the subnet over before it stops. Hosts always have a serving SA, and no
/// forwarding table is written.
#[test]
fn planned_stop_is_invisible_to_clients() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    lab.world.run_for(Duration::from_secs(30));
    assert_one_master(&lab, &[lab.sm, second], lab.sm);
    let before = lab.lids();
    let replica = lab.manager().replicated_state(lab.world.now());
    let first = (lab.sm, lab.at);
    lab.set_replica(second, replica);
    lab.world.fabric_mut().reset_counters();
    lab.command(Command::Stop);
    let sms = [first, (second, OTHER_SM_PORT)];
    let gap = longest_gap(&mut lab, &sms, Duration::from_millis(1900));
    assert!(gap < Duration::from_millis(100), "a gap of {gap:?}");
    assert_eq!(
        stopped(&lab, first.0),
        None,
        "hosts may still send requests"
    );
    lab.world.run_for(Duration::from_secs(1));
    assert_eq!(stopped(&lab, first.0), Some((true, true)));
    lab.world.kill(first.0);
    lab.select(second);
    lab.run_until_correct(30);
    assert_eq!((written(&lab), lab.lids()), ([0; 3], before));
}

/// Without a standby, a stop completes at once and reports that the subnet was not handed over.
#[test]
fn sm_without_standby_stops_at_once() {
    let mut lab = start_master(5);
    lab.command(Command::Stop);
    assert_eq!(stopped(&lab, lab.sm), Some((false, true)));
    assert_eq!(lab.role(lab.sm), SmState::NotActive);
    lab.world.run_for(Duration::from_secs(5));
    assert!(
        lab.manager().persisted_view.is_some(),
        "no view persisted for the next start"
    );
}

/// kill -9 with a replica at the standby: the standby is master after three polls, and hosts are
/// served as soon as their MasterSMLID is updated.
#[test]
fn dead_master_is_replaced_from_the_replica() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    lab.world.run_for(Duration::from_secs(30));
    let before = lab.lids();
    let replica = lab.manager().replicated_state(lab.world.now());
    lab.set_replica(second, replica);
    lab.world.fabric_mut().reset_counters();
    lab.world.kill(lab.sm);
    let gap = longest_gap(&mut lab, &[(second, OTHER_SM_PORT)], Duration::from_secs(8));
    assert!(gap < Duration::from_secs(5), "a gap of {gap:?}");
    lab.select(second);
    lab.run_until_correct(30);
    assert_eq!((written(&lab), lab.lids()), ([0; 3], before));
    let discovering = lab.events(second).iter().position(|e| {
        matches!(
            e,
            Event::RoleChanged {
                state: SmState::Discovering,
                ..
            }
        )
    });
    let master = lab.events(second).iter().position(|e| {
        matches!(
            e,
            Event::RoleChanged {
                state: SmState::Master,
                ..
            }
        )
    });
    assert!(discovering < master && discovering.is_some());
}

/// A handover on the operator's command succeeds although the standby has the lower priority, and
/// does not revert by itself.
#[test]
fn operator_handover_succeeds_and_persists() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 1);
    lab.world.run_for(Duration::from_secs(30));
    lab.command(Command::Handover);
    let sms = [(lab.sm, lab.at), (second, OTHER_SM_PORT)];
    let gap = longest_gap(&mut lab, &sms, Duration::from_secs(4));
    assert!(gap < Duration::from_millis(100), "a gap of {gap:?}");
    // A configuration reload does not revert the handover.
    let same = cfg(Some(&lab), 5);
    lab.configure(same);
    lab.world.run_for(Duration::from_mins(2));
    assert_one_master(&lab, &[lab.sm, second], second);
    lab.select(second);
    lab.assert_correct();
}

/// The priority of a standby is raised. Its trap 144 makes the master hand over at once, before the
/// next SMInfo scan.
#[test]
fn trap_144_reports_the_priority() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    // The light sweep is complete, and the next one is not due soon.
    lab.world.run_for(Duration::from_secs(31));
    let higher_priority = cfg(Some(&lab), 9);
    lab.handle(second, Input::Config(Box::new(higher_priority)));
    let mut waited = Duration::ZERO;
    while lab.role(second) != SmState::Master {
        lab.world.run_for(STEP);
        waited += STEP;
        assert!(
            waited < Duration::from_millis(500),
            "trap 144 did not speed up the handover"
        );
    }
    lab.world.run_for(Duration::from_secs(30));
    assert_one_master(&lab, &[lab.sm, second], second);
}

/// The trap arrives while a light sweep waits for a slow switch, after the standby has answered the
/// SMInfo query of that sweep.
#[test]
fn priority_trap_during_a_light_sweep_is_not_lost() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    lab.world.run_for(Duration::from_secs(31));
    let slow = Faults {
        delay: Duration::from_millis(150),
        ..Faults::NONE
    };
    let switch = lab.world.fabric().peer(lab.at).expect("a cable").node;
    lab.world.set_node_faults(switch, Some(slow));
    let deadline = lab.world.now() + Duration::from_secs(11);
    let began = lab
        .world
        .run_until_true(deadline, |world| world.in_flight() > 4);
    assert!(began, "no light sweep");
    lab.world.run_for(Duration::from_millis(50));
    lab.world.set_node_faults(switch, None);
    let higher_priority = cfg(Some(&lab), 9);
    lab.handle(second, Input::Config(Box::new(higher_priority)));
    lab.world.run_for(Duration::from_millis(500));
    assert_eq!(lab.role(second), SmState::Master);
}

/// With the highest `master_priority`, the master stays master when an SM of higher priority
/// returns. Without it, that SM takes over.
#[test]
fn master_priority_prevents_failback() {
    for sticky in [true, false] {
        let mut lab = start_master(5);
        let mut settings = cfg(Some(&lab), 9);
        settings.master_priority = 15;
        let own_settings = SmConfig {
            master_priority: if sticky { 15 } else { 0 },
            ..cfg(Some(&lab), 5)
        };
        lab.configure(own_settings);
        lab.world.run_for(Duration::from_secs(30));
        let second = lab.add_sm(OTHER_SM_PORT, settings);
        lab.world.run_for(Duration::from_mins(2));
        let wanted = if sticky { lab.sm } else { second };
        assert_one_master(&lab, &[lab.sm, second], wanted);
    }
}

/// The standby has identified its master as ferrosm, and its configuration is reloaded. It still
/// detects the end of that master within three polls at intervals of one second.
#[test]
fn peer_capabilities_survive_a_reload() {
    let settings = |priority| SmConfig {
        priority,
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, settings(5));
    let second = lab.add_sm(OTHER_SM_PORT, settings(0));
    lab.world.run_for(Duration::from_secs(30));
    assert_one_master(&lab, &[lab.sm, second], lab.sm);
    let master = lab.world.fabric().port_guid(lab.at);
    lab.edit(second, |sm, now| {
        sm.handle(Input::Peer(PeerEvent::Ferrosm(master)), now);
        sm.handle(Input::Config(Box::new(settings(1))), now);
    });
    lab.world.run_for(Duration::from_secs(15));
    lab.world.kill(lab.sm);
    let mut waited = Duration::ZERO;
    while lab.role(second) != SmState::Master {
        lab.world.run_for(STEP);
        waited += STEP;
        assert!(
            waited < Duration::from_secs(6),
            "polls at the interval for SMs of other vendors"
        );
    }
}

/// A standby that is stopped stops at once, and does not report a handover.
#[test]
fn standby_stop_hands_nothing_over() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 3);
    lab.world.run_for(Duration::from_secs(30));
    assert_one_master(&lab, &[lab.sm, second], lab.sm);
    lab.handle(second, Command::Stop.with_id(0));
    assert_eq!(stopped(&lab, second), Some((false, false)));
    assert_eq!(lab.role(lab.sm), SmState::Master);
}

/// Two subnet fragments with a master each are joined: one master remains, no host has two LIDs,
/// and every pair of hosts is connected.
#[test]
fn joined_subnet_fragments_elect_one_master() {
    for (first, other) in [(5, 3), (3, 5), (4, 4)] {
        let mut lab = Lab::with("ring:6", 1, SmConfig::default());
        // Cut a ring at two links.
        let fabric = lab.world.fabric();
        let hosts = fabric.end_ports().filter(|at| at.port != 0);
        let far_host = hosts.last().unwrap();
        let guids = [lab.at, far_host].map(|at| fabric.port_guid(at));
        let between: Vec<PortAt> = cut_between(&lab);
        let cfg = |priority| SmConfig {
            priority,
            peer_sms: Arc::new(guids.into_iter().collect()),
            ..SmConfig::default()
        };
        lab.world.kill(lab.sm);
        for at in &between {
            lab.world.act(FabricAction::Cut(*at)).unwrap();
        }
        let at = lab.at;
        let a = lab.add_sm(at, cfg(first));
        let b = lab.add_sm(far_host, cfg(other));
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(
            (lab.role(a), lab.role(b)),
            (SmState::Master, SmState::Master)
        );
        for at in &between {
            lab.world.act(FabricAction::Restore(*at)).unwrap();
        }
        lab.world.run_for(Duration::from_mins(2));
        let lower_guid = guids[0] < guids[1];
        let a_wins = first > other || (first == other && lower_guid);
        let winner = if a_wins { a } else { b };
        assert_one_master(&lab, &[a, b], winner);
        lab.select(winner);
        lab.run_until_correct(60);
    }
}

/// Two fragments whose masters have the same LID are joined. LID and MasterSMLID stay the same for
/// hosts of the fragment whose master steps down. The remaining master has no registrations of
/// these hosts and makes them register again.
#[test]
fn hosts_of_the_other_fragment_reregister() {
    let mut lab = Lab::with("ring:6", 1, SmConfig::default());
    let between = cut_between(&lab);
    let fabric = lab.world.fabric();
    let hosts: Vec<PortAt> = fabric.end_ports().filter(|at| at.port != 0).collect();
    let guid = |at: &PortAt| fabric.port_guid(*at);
    let own = lab.at;
    let far_host = hosts[hosts.len() - 1];
    let guids: Arc<BTreeSet<PortGuid>> = Arc::new([own, far_host].iter().map(guid).collect());
    // LIDs of the other fragment are not in use in this one, except that of its master.
    let of = |(n, at): (u16, &PortAt)| (guid(at), (Lid(100 + n), Lmc(0)));
    let mut other_lids: LidMap = (0..)
        .zip(&fabric.end_ports().collect::<Vec<_>>())
        .map(of)
        .collect();
    other_lids.insert(guid(&far_host), (Lid(1), Lmc(0)));
    lab.world.kill(lab.sm);
    for at in &between {
        lab.world.act(FabricAction::Cut(*at)).unwrap();
    }
    let mut start = |at, priority, lids: LidMap| {
        let cfg = SmConfig {
            priority,
            peer_sms: Arc::clone(&guids),
            ..SmConfig::default()
        };
        let restored = RestoredState {
            lids,
            ..RestoredState::default()
        };
        let sm = Sm::new(cfg, restored, lab.world.now());
        lab.start_sm(at, sm)
    };
    let a = start(own, 5, LidMap::new());
    let b = start(far_host, 3, other_lids);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!([lab.role(a), lab.role(b)], [SmState::Master; 2]);
    let fabric = lab.world.fabric();
    let lid = |lab: &Lab, at: PortAt| lab.world.fabric().lid(at).0;
    assert_eq!(
        lid(&lab, own),
        lid(&lab, far_host),
        "both masters have the same LID"
    );
    let known = lab
        .world
        .sm(a)
        .and_then(|sm| sm.core().view().cloned())
        .unwrap_or_else(|| panic!("no view"));
    let is_unknown =
        |at: &&PortAt| known.by_guid(fabric.port_guid(**at)).is_none() && **at != far_host;
    let other_fragment: Vec<PortAt> = hosts.iter().filter(is_unknown).copied().collect();
    assert!(!other_fragment.is_empty());
    let state = |lab: &Lab| {
        let fabric = lab.world.fabric();
        let each = other_fragment.iter();
        each.map(|at| (fabric.lid(*at).0, fabric.client_reregisters(*at)))
            .collect::<Vec<_>>()
    };
    let before = state(&lab);
    for at in &between {
        lab.world.act(FabricAction::Restore(*at)).unwrap();
    }
    lab.world.run_for(Duration::from_mins(2));
    assert_one_master(&lab, &[a, b], a);
    let once: Vec<(Lid, u32)> = before.iter().map(|(lid, n)| (*lid, n + 1)).collect();
    assert_eq!(state(&lab), once, "{}", lab.describe_run());
}

/// Links whose loss splits a ring of six into two fragments.
fn cut_between(lab: &Lab) -> Vec<PortAt> {
    let is_switch = |n: usize| lab.spec.nodes[n].kind == NodeType::Switch;
    let switches: Vec<usize> = (0..lab.spec.nodes.len())
        .filter(|n| is_switch(*n))
        .collect();
    let half: BTreeSet<usize> = switches[..switches.len() / 2].iter().copied().collect();
    lab.spec
        .links
        .iter()
        .filter(|l| is_switch(l.a.node) && is_switch(l.b.node))
        .filter(|l| half.contains(&l.a.node) != half.contains(&l.b.node))
        .map(|l| l.a)
        .collect()
}

/// A subnet configured by another SM, which is silent now. By default ferrosm takes it over; with
/// `refuse_managed_subnet`, only on the operator's command.
#[test]
fn managed_subnet_is_not_taken_over_if_refused() {
    let mut lab = start_master(5);
    lab.world.kill(lab.sm);
    lab.world.fabric_mut().reset_counters();
    let refusing = SmConfig {
        refuse_managed_subnet: true,
        ..cfg(Some(&lab), 5)
    };
    let second = lab.add_sm(OTHER_SM_PORT, refusing);
    lab.world.run_for(Duration::from_mins(2));
    assert_eq!(lab.role(second), SmState::NotActive);
    assert_eq!(lab.world.fabric().all_counters().all_sets(), 0);
    let alarm = |e: &Event| matches!(e, Event::Election(about) if about.what.is_alarm());
    assert!(has_event(&lab, second, alarm), "{:?}", lab.events(second));
    lab.handle(second, Command::Takeover.with_id(0));
    lab.select(second);
    lab.run_until_correct(60);
    assert_eq!(lab.role(second), SmState::Master);
}

/// The SM's own host reboots and loses its LID; all other ports still name that LID as MasterSMLID.
/// With its own LID map, the SM recognises its own subnet. With another subnet's map, which assigns
/// that LID to the SM's port, it does not.
#[test]
fn own_subnet_does_not_count_as_managed_by_another_sm() {
    for own in [true, false] {
        let mut lab = start_master(5);
        let old = lab.world.kill(lab.sm).unwrap();
        let mut restored = old.restored(lab.world.now());
        let guid = lab.world.fabric().port_guid(lab.at);
        if !own {
            restored.lids.retain(|port, _| *port == guid);
        }
        lab.world.fabric_mut().reboot(lab.at.node);
        assert_eq!(lab.world.fabric().lid(lab.at).0, Lid::NONE);
        let refusing = SmConfig {
            refuse_managed_subnet: true,
            ..cfg(Some(&lab), 5)
        };
        lab.restart_sm(refusing, restored);
        lab.world.run_for(Duration::from_secs(30));
        let wanted = if own {
            SmState::Master
        } else {
            SmState::NotActive
        };
        assert_eq!(lab.role(lab.sm), wanted, "{}", lab.describe_run());
    }
}

/// A stalled SM starts an SMInfo scan. Before the replies arrive, a sweep starts because another
/// master has acquired the lease, or a HANDOVER arrives, which may be older than the stall and is
/// rejected. In the end the SM reports itself as master, and hosts can register.
#[test]
fn sweep_replaces_a_pending_sminfo_scan() {
    for deposed in [true, false] {
        let (mut lab, guid) = with_foreign_standby();
        lab.edit(lab.sm, |sm, now| {
            sm.handle(Input::Peer(PeerEvent::Stalled), now);
            if deposed {
                sm.handle(Input::Peer(PeerEvent::Deposed(guid)), now);
            }
        });
        let stalled = has_event(&lab, lab.sm, |e| matches!(e, Event::ProcessStalled));
        assert!(stalled, "{:?}", lab.events(lab.sm));
        if !deposed {
            set_sm_info(&mut lab, SmControl::Handover, 0, guid);
        }
        lab.world.run_for(Duration::from_secs(30));
        assert_eq!(lab.role(lab.sm), SmState::Master);
        let core = lab.manager().core();
        let own_state = core.view().map(|view| view.sms[0].sm_state);
        assert_eq!(
            own_state,
            Some(SmState::Master),
            "{} {deposed}",
            lab.describe_run()
        );
        let joined = Members::new().join(&mut lab, OTHER_HOST, BROADCAST, JoinState::FULL);
        assert!(joined.is_ok(), "{} {joined:?}", lab.describe_run());
    }
}

/// The master loses its lease, but no other SM acquires it. The master queries the other SMs, reads
/// nothing else and writes nothing. A standby that is notified of its master's silence polls the
/// master with the usual SMP timeout, and stays standby.
#[test]
fn lost_lease_alone_does_not_end_the_mastership() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    lab.world.run_for(Duration::from_secs(30));
    assert_one_master(&lab, &[lab.sm, second], lab.sm);
    let sweeps = |lab: &Lab| {
        let swept = |e: &&Event| matches!(e, Event::SweepCompleted(_));
        lab.events(lab.sm).iter().filter(swept).count()
    };
    let master = lab.world.fabric().port_guid(lab.at);
    let replica = lab.manager().replicated_state(lab.world.now());
    lab.set_replica(second, replica);
    let read_counters = |lab: &Lab| {
        let counters = lab.world.fabric().all_counters();
        let sets = counters.all_sets();
        let read = [id::LFT, id::MFT, id::NODE_INFO, id::PKEY_TABLE];
        (read.map(|attr| counters.gets(attr)), sets)
    };
    let swept = sweeps(&lab);
    let before = read_counters(&lab);
    // The master is paused for 350 ms, longer than the 100 ms for which a standby awaits SMInfo of
    // a master that is known to be dead.
    lab.world.set_paused(lab.sm, true);
    lab.edit(second, |sm, now| {
        let silent = PeerEvent::Silent {
            guid: master,
            in_sync: true,
            uncertain: true,
        };
        sm.handle(Input::Peer(silent), now);
    });
    // The result is the same if discovery restarts meanwhile.
    lab.world.run_for(Duration::from_millis(50));
    let replica = lab.manager().replicated_state(lab.world.now());
    lab.edit(second, |sm, now| {
        sm.replica = Some(replica);
        sm.handle(Input::Peer(PeerEvent::Stalled), now);
    });
    lab.world.run_for(Duration::from_millis(300));
    assert_eq!(lab.role(second), SmState::Discovering);
    lab.world.set_paused(lab.sm, false);
    lab.handle(lab.sm, Input::Peer(PeerEvent::LeaseLost));
    lab.world.run_for(Duration::from_secs(1));
    assert_one_master(&lab, &[lab.sm, second], lab.sm);
    assert_eq!(sweeps(&lab), swept, "{:?}", lab.events(lab.sm));
    assert_eq!(read_counters(&lab), before);
    assert!(has_sa(&lab, OTHER_HOST, &[(lab.sm, lab.at)]));

    // Another SM has become master.
    lab.world.kill(second);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let other = ForeignSm::new(guid, 0, SmState::Master);
    lab.world.add_foreign_sm(OTHER_SM_PORT, other).unwrap();
    lab.handle(lab.sm, Input::Peer(PeerEvent::LeaseLost));
    lab.world.run_for(Duration::from_secs(1));
    assert_eq!(lab.role(lab.sm), SmState::Standby, "{}", lab.describe_run());
    assert_eq!(read_counters(&lab).1, before.1);
}

/// A requested stop completes even if another SM has already become master.
#[test]
fn pending_stop_survives_a_lost_lease() {
    let mut lab = start_master(5);
    let second = add_sm_with_priority(&mut lab, OTHER_SM_PORT, 0);
    lab.world.run_for(Duration::from_secs(30));
    lab.world.kill(second);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let other = ForeignSm::new(guid, 0, SmState::Master);
    lab.world.add_foreign_sm(OTHER_SM_PORT, other).unwrap();
    lab.edit(lab.sm, |sm, now| {
        sm.handle(Command::Stop.with_id(0), now);
        sm.handle(Input::Peer(PeerEvent::LeaseLost), now);
    });
    lab.world.run_for(Duration::from_secs(1));
    let stopped = |e: &Event| matches!(e, Event::Stopped { .. });
    assert!(
        lab.events(lab.sm).iter().any(stopped),
        "{:?}",
        lab.events(lab.sm)
    );
}

/// A master disables a standby and re-enables it; meanwhile, the standby sends no SMP that writes.
#[test]
fn standby_obeys_disable_and_standby_of_its_master() {
    let mut lab = Lab::new("fat-tree:4", 1);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let master = ForeignSm::new(guid, 9, SmState::Master);
    lab.world.add_foreign_sm(OTHER_SM_PORT, master).unwrap();
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(lab.sm), SmState::Standby);
    for (control, state) in [
        (SmControl::Disable, SmState::NotActive),
        (SmControl::Standby, SmState::Standby),
        (SmControl::Disable, SmState::NotActive),
    ] {
        set_sm_info(&mut lab, control, 9, guid);
        assert_eq!(lab.role(lab.sm), state, "after {control}");
    }
    assert_eq!(lab.world.fabric().all_counters().all_sets(), 0);
}

/// The foreign SM at [`OTHER_SM_PORT`] sends Set(SMInfo) to this SM over the directed route between
/// them.
pub(crate) fn set_sm_info(lab: &mut Lab, control: SmControl, priority: u8, guid: PortGuid) {
    set_sm_info_from(lab, OTHER_SM_PORT, control, priority, guid);
}

/// A host sends Set(SMInfo) to this SM, in the name of an SM that is master.
pub(crate) fn set_sm_info_from(
    lab: &mut Lab,
    from: PortAt,
    control: SmControl,
    priority: u8,
    guid: PortGuid,
) {
    use ferrosm_mad::attr::SmInfo;
    use ferrosm_mad::ids::{AttrMod, MKey, Tid};
    use ferrosm_mad::mad::{Address, MadOut};
    use ferrosm_mad::smp::SmpRequest;
    let info = SmInfo {
        guid,
        sm_key: MKey::NONE,
        act_count: 1,
        priority,
        sm_state: SmState::Master,
    };
    let path = dr_path(lab, from, lab.at);
    let request = SmpRequest::set(id::SM_INFO, AttrMod(control.0), MKey::NONE, info.encode());
    let mad = MadOut {
        to: Address::DIRECTED,
        mad: request.directed(&path, Tid(77)),
    };
    lab.world.inject(from, &mad);
    lab.world.run_for(Duration::from_millis(100));
}

/// The directed route between two host ports over the links of the specification.
pub(crate) fn dr_path(lab: &Lab, from: PortAt, to: PortAt) -> DrPath {
    let peer = |at: PortAt| {
        let links = lab.spec.links.iter();
        let mut directed_links = links.flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        directed_links.find(|(a, _)| *a == at).map(|(_, b)| b)
    };
    let out = |path: &DrPath, port: u8| path.extend(PortNum(port));
    let first = peer(from).zip(out(&DrPath::LOCAL, from.port));
    let mut queue: VecDeque<(PortAt, DrPath)> = first.into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some((at, path)) = queue.pop_front() {
        if at == to {
            return path;
        }
        let node = &lab.spec.nodes[at.node];
        if node.kind == NodeType::Switch && seen.insert(at.node) {
            for port in 1..=node.num_ports {
                let next = PortAt { port, ..at };
                queue.extend(peer(next).zip(out(&path, port)));
            }
        }
    }
    panic!("no route from {from:?} to {to:?}");
}
