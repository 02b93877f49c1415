//! Each operator command receives exactly one final reply, whatever happens to mastership, links
//! and processes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::{
    Command, CommandFailure, CommandId, CommandOutcome, CommandReply, Event, Input, LocalPortEvent,
    PeerEvent, ReplicaEvent, RestoredState, SmConfig,
};
use ferrosm_mad::attr::{SmControl, SmState, id};
use ferrosm_sim::faults::{FabricAction, FaultScope};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::lab::{Lab, Sm, TestRng};

use crate::election::{OTHER_SM_PORT, set_sm_info, start_master, stopped, with_foreign_standby};

type CommandResult = Result<CommandOutcome, CommandFailure>;

/// The final replies of an SM, in order.
fn results(sm: &Sm) -> Vec<(CommandId, &CommandResult)> {
    let replies = sm.command_replies.iter();
    let done = replies.filter_map(|(id, reply)| match reply {
        CommandReply::Done(result) => Some((*id, result)),
        CommandReply::Accepted | CommandReply::Progress(_) => None,
    });
    done.collect()
}

fn lab_results(lab: &Lab, id: SmId) -> Vec<String> {
    let sm = lab.world.sm(id).unwrap_or_else(|| panic!("no SM"));
    let text = |(_, result): &(CommandId, &CommandResult)| match result {
        Ok(outcome) => format!("complete: {outcome}"),
        Err(failure) => format!("failed: {failure}"),
    };
    results(sm).iter().map(text).collect()
}

fn config(lab: &Lab, at: [PortAt; 2]) -> SmConfig {
    let fabric = lab.world.fabric();
    SmConfig {
        peer_sms: Arc::new(at.map(|at| fabric.port_guid(at)).into()),
        priority: 5,
        ..SmConfig::default()
    }
}

/// A master and a standby.
fn pair(seed: u64) -> (Lab, [PortAt; 2], SmId) {
    let mut lab = Lab::new("mesh:3,2,1,1", seed);
    let at = [
        lab.at,
        *lab.hosts().last().unwrap_or_else(|| panic!("no hosts")),
    ];
    lab.world.kill(lab.sm);
    let cfg = config(&lab, at);
    lab.sm = lab.add_sm(at[0], cfg.clone());
    lab.next_sweep(60);
    let second = lab.add_sm(at[1], cfg);
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(
        [lab.role(lab.sm), lab.role(second)],
        [SmState::Master, SmState::Standby]
    );
    (lab, at, second)
}

#[test]
fn sweep_and_reroute_complete_with_a_full_sweep() {
    let mut lab = Lab::new("ring:3", 1);
    lab.next_sweep(60);
    let id = lab.sm;
    lab.handle(id, Command::Sweep.with_id(1));
    lab.handle(id, Command::Reroute.with_id(2));
    lab.world.run_for(Duration::from_secs(5));
    let sm = lab.manager();
    assert_eq!(
        lab_results(&lab, lab.sm),
        ["complete: sweep 2 complete", "complete: sweep 3 complete"]
    );
    let full = |e: &&Event| matches!(e, Event::SweepCompleted(report) if !report.is_local());
    assert_eq!(sm.events.iter().filter(full).count(), 3);
}

/// A link is lost without a trap and long before the next light sweep: a refresh finds it, and ends
/// when the routes avoid it. The second refresh finds nothing and sends no Set.
#[test]
fn refresh_finds_what_no_trap_reported() {
    let cfg = SmConfig {
        sweep_interval: Duration::from_secs(3600),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("torus:4,4,1", 3, cfg);
    lab.run_until_correct(10);
    let links = lab.last_report().links;
    lab.act(FabricAction::AttrLoss(FaultScope::Fabric, id::NOTICE, 1.0));
    let lost = lab.redundant_link(2);
    lab.act(FabricAction::Cut(lost));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.last_report().links, links);
    lab.command(Command::Refresh);
    for _ in 0..100 {
        if !lab_results(&lab, lab.sm).is_empty() {
            break;
        }
        lab.world.run_for(Duration::from_millis(100));
    }
    assert_eq!(lab_results(&lab, lab.sm), ["complete: read again"]);
    assert_eq!(lab.last_report().links, links - 1);
    lab.run_until_correct(0);
    let sweep = lab.last_report().number;
    lab.command(Command::Refresh);
    lab.world.run_for(Duration::from_secs(3));
    assert_eq!(lab_results(&lab, lab.sm).len(), 2);
    assert_eq!(lab.last_report().number, sweep);
}

#[test]
fn standby_rejects_commands_and_names_its_master() {
    let (mut lab, at, second) = pair(1);
    for (id, command) in [
        Command::Sweep,
        Command::Reroute,
        Command::Refresh,
        Command::Handover,
        Command::Takeover,
    ]
    .into_iter()
    .enumerate()
    {
        lab.handle(second, command.with_id(id as u64));
    }
    let master = lab.world.fabric().port_guid(at[0]);
    let expected = format!("failed: this SM is Standby of SM {master} (at ");
    let results = lab_results(&lab, second);
    assert_eq!(results.len(), 5);
    let host = lab.world.fabric().description(at[0].node).to_string();
    for result in results {
        assert!(result.starts_with(&expected), "{result}");
        assert!(result.contains(&host), "{result}");
    }
}

#[test]
fn handover_is_answered_with_the_new_master() {
    let (mut lab, at, second) = pair(1);
    let first = lab.sm;
    lab.handle(first, Command::Handover.with_id(1));
    // This command joins the handover in progress.
    lab.handle(first, Command::Handover.with_id(2));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(second), SmState::Master, "{}", lab.describe_run());
    let successor = lab.world.fabric().port_guid(at[1]);
    let expected = format!("complete: handed over to SM {successor} (at ");
    let results = lab_results(&lab, first);
    assert!(
        results.len() == 2 && results.iter().all(|r| r.starts_with(&expected)),
        "{results:?}"
    );
    // Without a standby, a handover has no successor.
    lab.world.kill(first);
    lab.world.run_for(Duration::from_secs(30));
    lab.handle(second, Command::Handover.with_id(1));
    lab.world.run_for(Duration::from_secs(30));
    let failed = lab_results(&lab, second);
    assert_eq!(failed, ["failed: no other SM runs in this subnet"]);
}

#[test]
fn stop_supersedes_a_handover() {
    let (mut lab, at, second) = pair(1);
    let first = lab.sm;
    lab.handle(first, Command::Handover.with_id(1));
    lab.handle(first, Command::Stop.with_id(2));
    lab.handle(first, Command::Handover.with_id(3));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(second), SmState::Master, "{}", lab.describe_run());
    let successor = lab.world.fabric().port_guid(at[1]);
    let results = lab_results(&lab, first);
    let [handovers @ .., stopped] = &results[..] else {
        panic!("no result");
    };
    assert_eq!(handovers, ["failed: the service is stopping"; 2]);
    let expected = format!("complete: stopped after handover to SM {successor} (at ");
    assert!(stopped.starts_with(&expected), "{stopped}");
}

/// A stop begins with an SMInfo scan. Before the scan is complete, another master acquires the
/// lease or hands over. The stop completes nevertheless.
#[test]
fn stop_survives_another_master_during_its_sm_scan() {
    for deposed in [true, false] {
        let (mut lab, guid) = with_foreign_standby();
        lab.edit(lab.sm, |sm, now| {
            sm.handle(Command::Stop.with_id(1), now);
            if deposed {
                sm.handle(Input::Peer(PeerEvent::Deposed(guid)), now);
            }
        });
        assert_eq!(stopped(&lab, lab.sm).is_some(), deposed);
        if !deposed {
            set_sm_info(&mut lab, SmControl::Handover, 0, guid);
        }
        lab.world.run_for(Duration::from_secs(10));
        let handed_over = !deposed;
        assert_eq!(
            stopped(&lab, lab.sm),
            Some((handed_over, handed_over)),
            "{}",
            lab.describe_run()
        );
    }
}

#[test]
fn lost_link_fails_a_sweep() {
    let mut lab = Lab::new("ring:3", 1);
    lab.next_sweep(60);
    let sm_at = lab.at;
    lab.world
        .act(FabricAction::Cut(sm_at))
        .unwrap_or_else(|e| panic!("{e}"));
    let id = lab.sm;
    lab.handle(id, Command::Sweep.with_id(1));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(
        lab_results(&lab, lab.sm),
        ["failed: the SM's own port has no link"]
    );
}

/// An SM process. It exits when the SM has stopped, and is then restarted.
struct Service {
    at: PortAt,
    id: SmId,
    /// Commands sent to this process.
    sent: Vec<CommandId>,
}

impl Service {
    /// Checks that each command received exactly one final reply.
    fn check(&self, sm: &Sm, context: &str) -> usize {
        let mut answers: BTreeMap<CommandId, usize> = BTreeMap::new();
        for (id, _) in results(sm) {
            *answers.entry(id).or_default() += 1;
        }
        for id in &self.sent {
            let count = answers.remove(id).unwrap_or_default();
            let replies: Vec<_> = sm.command_replies.iter().filter(|r| r.0 == *id).collect();
            assert_eq!(count, 1, "{context}: {id:?} of {:?}: {replies:?}", self.at);
        }
        assert!(
            answers.is_empty(),
            "{context}: replies to commands that were not sent: {answers:?}"
        );
        self.sent.len()
    }
}

fn restart_stopped(lab: &mut Lab, services: &mut [Service], cfg: &SmConfig, context: &str) {
    for service in services {
        let sm = lab.world.sm(service.id).unwrap_or_else(|| panic!("no SM"));
        let stopped = |e: &Event| matches!(e, Event::Stopped { .. });
        if !sm.events.iter().any(stopped) {
            continue;
        }
        let sm = lab
            .world
            .kill(service.id)
            .unwrap_or_else(|| panic!("no SM"));
        service.check(&sm, context);
        service.sent.clear();
        let sm = Sm::new(cfg.clone(), RestoredState::default(), lab.world.now()).with_replication();
        service.id = lab.start_sm(service.at, sm);
    }
}

fn disturb(lab: &mut Lab, rng: &mut TestRng, services: &[Service]) {
    let [a, b] = [rng.index(2), rng.index(2)].map(|i| &services[i]);
    let guid = lab.world.fabric().port_guid(b.at);
    let input = match rng.below(8) {
        0 => Input::Peer(PeerEvent::Stalled),
        1 => Input::Peer(PeerEvent::LeaseLost),
        2 => Input::LocalPort(LocalPortEvent::Down),
        3 if a.at != b.at => Input::Peer(PeerEvent::Deposed(guid)),
        4 if rng.one_in(2) => Input::Replica(ReplicaEvent::InSync(guid)),
        4 => Input::Replica(ReplicaEvent::OutOfSync),
        5 => {
            let _ = lab.world.act(FabricAction::Cut(a.at));
            return;
        }
        6 => {
            let _ = lab.world.act(FabricAction::Restore(a.at));
            return;
        }
        _ => return,
    };
    lab.handle(a.id, input);
}

/// Random commands at random times to two SMs, with lost links, stalls, lost leases and undetected
/// masters.
#[test]
fn every_command_is_answered_exactly_once() {
    let mut total = 0;
    for seed in 0..100 {
        let mut rng = TestRng::new(seed);
        let (mut lab, at, second) = pair(seed);
        let cfg = config(&lab, at);
        let ids = [lab.sm, second];
        let mut services = [0, 1].map(|i| Service {
            at: at[i],
            id: ids[i],
            sent: Vec::new(),
        });
        for n in 0..16 {
            let context = format!("seed {seed}, step {n}");
            let service = &mut services[rng.index(2)];
            let command = match rng.below(10) {
                0..=2 => Command::Handover,
                3 | 4 => Command::Sweep,
                5 | 6 => Command::Reroute,
                7 => Command::Takeover,
                8 => Command::Refresh,
                _ => Command::Stop,
            };
            service.sent.push(CommandId(n));
            let id = service.id;
            lab.handle(id, command.with_id(n));
            if rng.one_in(2) {
                disturb(&mut lab, &mut rng, &services);
            }
            let steps = if rng.one_in(3) { 0 } else { rng.below(30) };
            for _ in 0..steps {
                lab.world.run_for(Duration::from_millis(rng.below(100)));
                restart_stopped(&mut lab, &mut services, &cfg, &context);
            }
        }
        for service in &services {
            let _ = lab.world.act(FabricAction::Restore(service.at));
        }
        for _ in 0..120 {
            lab.world.run_for(Duration::from_secs(1));
            restart_stopped(&mut lab, &mut services, &cfg, "end of test");
        }
        for service in &services {
            let sm = lab.world.sm(service.id).unwrap_or_else(|| panic!("no SM"));
            total += service.check(sm, &format!("seed {seed}"));
        }
    }
    assert!(total > 500, "{total} commands");
}

/// The only other SM is disabled: a handover is rejected at once, without a sweep.
#[test]
fn handover_without_an_eligible_sm_starts_no_sweep() {
    let mut lab = start_master(5);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let disabled = ForeignSm::new(guid, 0, SmState::NotActive);
    let added = lab.world.add_foreign_sm(OTHER_SM_PORT, disabled);
    added.unwrap_or_else(|error| panic!("{error}"));
    lab.world.run_for(Duration::from_secs(30));
    let sweeps = lab.manager().reports().len();
    let id = lab.sm;
    lab.handle(id, Command::Handover.with_id(7));
    lab.world.run_for(Duration::from_secs(3));
    let results = lab_results(&lab, id);
    assert!(
        results.len() == 1 && results[0].starts_with("failed"),
        "{results:?}"
    );
    assert_eq!(lab.manager().reports().len(), sweeps);
}
