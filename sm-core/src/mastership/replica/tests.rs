//! Tests of the replica in virtual time.

use ferrosm_mad::ids::PortGuid;

use super::*;
use crate::election::HandoverReason;
use ferrosm_sa::registry::registration::RegisteredAlias;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A replica with its outputs.
struct Node {
    replica: StandbyReplica,
    out: Outbox,
}

impl Node {
    fn new() -> Self {
        let mut replica = StandbyReplica::new(false);
        replica.enable();
        Self {
            replica,
            out: Outbox::default(),
        }
    }

    /// A node that was in these states, one after the other, at 0 s.
    fn in_states(states: &[SmState]) -> Self {
        let mut node = Self::new();
        for state in states {
            node.set_state(*state, 0);
        }
        node.outputs();
        node
    }

    fn set_state(&mut self, state: SmState, ms: u64) {
        let reason = RoleChangeReason::HighestRanked;
        self.replica.set_state(&mut self.out, state, reason, at(ms));
    }

    fn request_load(&mut self, ms: u64) -> u64 {
        self.replica.request_load(&mut self.out, at(ms));
        self.replica.loads
    }

    fn on_timeout(&mut self, ms: u64) -> bool {
        self.replica.on_timeout(&mut self.out, at(ms))
    }

    /// Ends a load. Returns the aliases restored and whether the state is complete; `None` if the
    /// load was abandoned.
    fn end_load(&mut self, load: u64, complete: Option<bool>) -> Option<(usize, bool)> {
        let mut registrations = Registrations::default();
        registrations.aliases.push(RegisteredAlias {
            port: PortGuid(1),
            index: 1,
            alias: PortGuid(0xA),
        });
        let restored = RestoredState {
            registrations,
            complete: true,
            ..RestoredState::default()
        };
        let loaded = LoadedReplica {
            load,
            complete,
            restored: Some(Box::new(restored)),
        };
        let restored = self.replica.end_load(&mut self.out, loaded)?;
        restored.map(|r| (r.registrations.aliases.len(), r.complete))
    }

    /// The outputs since the last call, as text.
    fn outputs(&mut self) -> Vec<&'static str> {
        let mut all = Vec::new();
        while let Some(output) = self.out.pop(at(0)) {
            all.push(match output {
                Output::Replicate(ReplicationRole::Master) => "master",
                Output::Replicate(ReplicationRole::Standby) => "standby",
                Output::Replicate(ReplicationRole::Inactive(StepDownReason::NoSuccessor)) => {
                    "inactive"
                }
                Output::Replicate(ReplicationRole::Inactive(StepDownReason::SuccessorExpected)) => {
                    "handing over"
                }
                Output::LoadReplica { .. } => "load",
                Output::Persist { .. } => "clear registrations",
                Output::PersistSnapshot { snapshot: None, .. } => "clear view",
                Output::Event(Event::ReplicaUnavailable) => "unavailable",
                Output::Event(Event::ReplicaTimedOut) => "load timed out",
                other @ (Output::Send(_)
                | Output::Gmp { .. }
                | Output::Publish(_)
                | Output::Compute(_)
                | Output::PersistSnapshot { .. }
                | Output::CommandReply { .. }
                | Output::Event(_)) => panic!("{other:?}"),
            });
        }
        all
    }
}

const CLEAR: [&str; 3] = ["master", "clear registrations", "clear view"];

#[test]
fn role_follows_the_sm_state() {
    let mut node = Node::new();
    for (state, outputs) in [
        (SmState::Discovering, &[][..]),
        (SmState::Master, &["master"]),
        (SmState::Master, &[]),
        (SmState::Discovering, &["inactive"]),
        (SmState::Master, &["master"]),
        (SmState::NotActive, &["handing over"]),
        (SmState::Standby, &["standby"]),
    ] {
        node.set_state(state, 0);
        assert_eq!(node.outputs(), outputs, "{state}");
    }
}

/// The next start must not treat this node's records as superseded.
#[test]
fn stop_without_a_successor_is_no_handover() {
    let mut node = Node::in_states(&[SmState::Master]);
    let stopped = RoleChangeReason::OperatorRequest;
    node.replica
        .set_state(&mut node.out, SmState::NotActive, stopped, at(0));
    assert_eq!(node.outputs(), ["inactive"]);
    let mut node = Node::in_states(&[SmState::Master]);
    let handed_over = RoleChangeReason::HandedOverTo(PortGuid(2), HandoverReason::Operator);
    node.replica
        .set_state(&mut node.out, SmState::NotActive, handed_over, at(0));
    assert_eq!(node.outputs(), ["handing over"]);
}

#[test]
fn without_replication_only_loads_are_requested() {
    let mut node = Node::in_states(&[]);
    node.replica = StandbyReplica::new(true);
    node.set_state(SmState::Standby, 0);
    let load = node.request_load(0);
    node.set_state(SmState::Master, 1);
    assert!(!node.replica.is_incomplete);
    assert_eq!(node.end_load(load, Some(true)), Some((1, true)));
    assert_eq!(node.outputs(), ["load"]);
    assert_eq!(node.replica.poll_timeout(), None);
}

/// If the restored state lacks records, the first term clears the stored view, so that a restart
/// does not use it as complete.
#[test]
fn first_term_of_an_incomplete_store_clears_the_view() {
    let mut node = Node::in_states(&[]);
    node.replica = StandbyReplica::new(true);
    node.replica.enable();
    node.set_state(SmState::Master, 0);
    assert_eq!(node.outputs(), ["master", "clear view"]);
}

/// Registrations of an earlier own term do not reappear at a later takeover.
#[test]
fn takeover_without_replica_clears_stored_registrations() {
    let mut node = Node::in_states(&[SmState::Master, SmState::Standby]);
    assert_eq!(node.replica.poll_timeout(), Some(at(10_000)));
    assert!(!node.on_timeout(9_999) && node.replica.is_incomplete);
    assert!(!node.on_timeout(10_000) && !node.replica.is_incomplete);
    let load = node.request_load(11_000);
    assert_eq!(node.outputs(), ["unavailable", "inactive", "load"]);
    assert_eq!(node.end_load(load, None), Some((0, false)));
    node.set_state(SmState::Discovering, 11_001);
    node.set_state(SmState::Master, 11_002);
    assert_eq!(node.outputs(), CLEAR);
}

/// The new master fails before it replicates: the records of this SM's own term are the latest.
#[test]
fn records_of_the_own_term_survive_a_failed_handover() {
    let mut node = Node::in_states(&[SmState::Master, SmState::Standby]);
    let load = node.request_load(5);
    assert_eq!(node.end_load(load, None), Some((1, false)));
    node.outputs();
    node.set_state(SmState::Master, 6);
    assert_eq!(node.outputs(), ["master", "clear view"]);
}

#[test]
fn complete_replica_is_used_unchanged() {
    let mut node = Node::in_states(&[SmState::Standby]);
    node.replica.on_in_sync();
    assert!(!node.replica.is_incomplete);
    let load = node.request_load(5);
    assert_eq!(node.end_load(load, None), Some((1, true)));
    node.outputs();
    node.set_state(SmState::Master, 6);
    assert_eq!(node.outputs(), ["master"]);
}

/// A standby that was never in sync has only records of its own; otherwise the last report decides
/// whether the replica is complete.
#[test]
fn last_report_decides_whether_the_replica_is_complete() {
    for (was_in_sync, in_sync, answer, loaded) in [
        (true, true, None, (1, true)),
        (true, false, None, (1, false)),
        (true, false, Some(true), (1, true)),
        (true, true, Some(false), (1, false)),
        (false, true, None, (1, true)),
        (false, false, None, (0, false)),
        (false, false, Some(false), (0, false)),
    ] {
        let mut node = Node::in_states(&[SmState::Standby]);
        if was_in_sync {
            node.replica.on_in_sync();
        }
        node.replica.on_master_end(in_sync);
        let load = node.request_load(5);
        let result = node.end_load(load, answer);
        assert_eq!(result, Some(loaded), "{was_in_sync} {in_sync} {answer:?}");
    }
}

/// If the SM was not standby in between, the master may have changed records that this SM did not
/// receive.
#[test]
fn replica_is_incomplete_at_the_second_load() {
    let mut node = Node::in_states(&[SmState::Standby]);
    node.replica.on_in_sync();
    let first = node.request_load(5);
    // Reports of the standby's connection that arrive late.
    node.replica.on_in_sync();
    node.replica.on_master_end(true);
    assert_eq!(node.end_load(first, None), Some((1, true)));
    let second = node.request_load(6);
    assert_eq!(node.end_load(second, None), Some((1, false)));
}

/// A standby out of sync rejects handovers, after a grace period.
#[test]
fn standby_out_of_sync_is_not_ready() {
    let mut node = Node::in_states(&[SmState::Standby]);
    node.replica.on_in_sync();
    node.replica.on_out_of_sync(at(1_000));
    node.replica.on_out_of_sync(at(1_500));
    node.on_timeout(1_999);
    assert!(!node.replica.is_incomplete, "within the grace period");
    assert_eq!(node.replica.poll_timeout(), Some(at(2_000)));
    node.on_timeout(2_000);
    assert!(node.replica.is_incomplete);
    node.replica.on_in_sync();
    assert!(!node.replica.is_incomplete);
    assert_eq!(node.replica.poll_timeout(), None);
}

/// The term of an SM that is handed the subnet starts when its records are loaded.
#[test]
fn term_starts_after_the_load() {
    let mut node = Node::in_states(&[SmState::Standby]);
    node.replica.on_in_sync();
    let load = node.request_load(0);
    node.set_state(SmState::Master, 0);
    assert_eq!(node.outputs(), ["inactive", "load"]);
    assert_eq!(node.end_load(load, None), Some((1, true)));
    assert_eq!(node.outputs(), ["master"]);
}

/// After the load timed out, new records are persisted and a late replica is ignored.
#[test]
fn late_replica_is_ignored() {
    let mut node = Node::in_states(&[SmState::Master, SmState::Standby]);
    let load = node.request_load(0);
    node.set_state(SmState::Master, 0);
    assert_eq!(node.replica.poll_timeout(), Some(at(2_000)));
    assert!(!node.on_timeout(1_999) && node.replica.is_loading());
    assert!(node.on_timeout(2_000) && !node.replica.is_loading());
    assert_eq!(node.end_load(load, None), None);
    assert_eq!(
        node.outputs(),
        [&["inactive", "load", "load timed out"][..], &CLEAR].concat()
    );
}

/// An outdated load is abandoned, and its result does not end the next one.
#[test]
fn result_of_an_abandoned_load_is_ignored() {
    let mut node = Node::in_states(&[SmState::Standby]);
    node.replica.on_in_sync();
    let first = node.request_load(0);
    node.replica.abandon_load(&mut node.out);
    let second = node.request_load(1);
    assert_eq!(node.end_load(first, None), None);
    assert_eq!(node.end_load(second, None), Some((1, false)));
}

/// The SM loses mastership while it loads: no term has started, so its records are not the latest.
#[test]
fn master_that_never_started_its_term_has_no_own_records() {
    let mut node = Node::in_states(&[SmState::Standby]);
    let load = node.request_load(0);
    node.set_state(SmState::Master, 0);
    node.set_state(SmState::Standby, 1);
    assert_eq!(node.outputs(), ["inactive", "load", "standby"]);
    assert!(node.end_load(load, None).is_some());
    assert_eq!(node.outputs(), [""; 0]);
    let load = node.request_load(2);
    assert_eq!(node.end_load(load, None), Some((0, false)));
}
