//! Model check of the election: two and three SMs, all orders of events, lost, duplicated and
//! delayed MADs, crashes and restarts, subnet fragments, priority changes, operators, and SMs that
//! behave like OpenSM.
//!
//! Safety: an SM that handed over does not write, and neither does one whose offer was accepted,
//! even if all responses are lost. Liveness: from *every* reachable state, once faults end, a fair
//! run ends with one stable master per fragment. Liveness is checked as a property of states,
//! because the checker's `eventually` does not detect cycles.

#![allow(clippy::print_stdout, reason = "the sizes of the models are a result")]

mod actions;
mod mads;
mod opensm;
mod setup;
mod world;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferrosm_mad::attr::SmState;
use rustc_hash::FxHashSet;
use stateright::{Checker, Model, Property};

use actions::Action;
use setup::{Faults, Setup};
use world::World;

/// Fault-free rounds within which one master must exist.
const SETTLE_ROUNDS: usize = 60;
/// Further rounds for which it must remain.
const STABLE_ROUNDS: usize = 12;

struct Subnet {
    setups: Vec<Setup>,
    faults: Faults,
    instant: bool,
    /// A host without the SM_Key answers scans as an SM in this state.
    rogue: Option<SmState>,
    /// Limit of MADs in flight.
    mads_max: usize,
    /// Fingerprints of worlds known to end with stable masters.
    known_stable: Mutex<FxHashSet<u64>>,
}

fn fingerprint(world: &World) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(world)
}

impl Subnet {
    fn new(setups: &[Setup], faults: Faults, instant: bool) -> Self {
        Self {
            setups: setups.to_vec(),
            faults,
            instant,
            rogue: None,
            mads_max: if setups.len() > 2 { 2 } else { 3 },
            known_stable: Mutex::default(),
        }
    }

    fn known_stable_worlds(&self) -> MutexGuard<'_, FxHashSet<u64>> {
        self.known_stable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a fair run without faults ends with one master per fragment.
    fn ends_with_one_master(&self, start: &World) -> bool {
        let mut world = start.clone();
        world.faults = Faults::NONE;
        let mut visited = Vec::new();
        let mut stable: Option<(Vec<u8>, usize)> = None;
        for _ in 0..SETTLE_ROUNDS + STABLE_ROUNDS {
            let current = fingerprint(&world);
            if self.known_stable_worlds().contains(&current) {
                break;
            }
            visited.push(current);
            let masters = world.masters();
            match &mut stable {
                _ if !world.is_settled() => stable = None,
                Some((last, rounds)) if *last == masters => *rounds += 1,
                _ => stable = Some((masters, 0)),
            }
            if stable
                .as_ref()
                .is_some_and(|(_, rounds)| *rounds == STABLE_ROUNDS)
            {
                break;
            }
            if visited.len() == SETTLE_ROUNDS + STABLE_ROUNDS {
                return false;
            }
            world.quiet_round();
        }
        self.known_stable_worlds().extend(visited);
        true
    }
}

impl Model for Subnet {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut world = World::new(&self.setups, self.faults, self.instant);
        world.rogue = self.rogue;
        vec![world]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        world.actions(&self.setups, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.act(&self.setups, &action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "one master per fragment in the end",
                Self::ends_with_one_master,
            ),
            Property::always("an SM that handed over does not write", |_, w: &World| {
                w.nodes.iter().all(|n| !(n.handed_over && n.sm.may_write()))
            }),
            // Polls that take time may report an earlier state.
            Property::always("an accepted offer is not withdrawn", |_, w: &World| {
                !(w.instant && w.offer_withdrawn)
            }),
            Property::always("a master that stalled does not write", |_, w: &World| {
                w.nodes
                    .iter()
                    .all(|n| !(n.unverified && (n.sm.may_write() || n.sm.may_register())))
            }),
            Property::always("no forged control is obeyed", |_, w: &World| {
                !w.obeyed_forgery
            }),
            Property::always("a stop is not lost", |_, w: &World| !w.has_lost_stop()),
            Property::sometimes("a master and a standby", |_, w: &World| {
                w.is_settled() && w.alive().count() > 1
            }),
        ]
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.mads.len() <= self.mads_max
    }
}

/// Checks a model and prints its size.
fn check(name: &str, setups: &[Setup], faults: Faults, instant: bool) {
    check_subnet(name, Subnet::new(setups, faults, instant));
}

fn check_subnet(name: &str, subnet: Subnet) {
    let checker = subnet.checker().spawn_bfs().join();
    println!(
        "{name}: {} states, {} unique, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// Up to `total` faults of any kind.
const fn any_fault(total: u8) -> Faults {
    Faults {
        total,
        lost: total,
        duplicated: total,
        delayed: total,
        crashes: total,
        partitions: total,
        priorities: total,
        commands: total,
        stalls: total,
        leases: total,
        replicas: total,
        // A model of its own: a forged control is rejected in every state, so that pairs with other
        // faults only make the models larger.
        forged: 0,
    }
}

/// One fault of each kind, as separate models: a combined model is much larger.
fn each_fault() -> [(&'static str, Faults); 11] {
    let one = Faults {
        total: 1,
        ..Faults::NONE
    };
    [
        ("a lost MAD", Faults { lost: 1, ..one }),
        (
            "a duplicated MAD",
            Faults {
                duplicated: 1,
                ..one
            },
        ),
        ("a delayed MAD", Faults { delayed: 1, ..one }),
        ("a crash", Faults { crashes: 1, ..one }),
        (
            "a partition",
            Faults {
                partitions: 1,
                ..one
            },
        ),
        (
            "a priority change",
            Faults {
                priorities: 1,
                ..one
            },
        ),
        ("an operator", Faults { commands: 1, ..one }),
        ("a stall", Faults { stalls: 1, ..one }),
        ("a lost lease", Faults { leases: 1, ..one }),
        ("a replica", Faults { replicas: 1, ..one }),
        ("a forged control", Faults { forged: 1, ..one }),
    ]
}

const fn ferrosm(priority: u8) -> Setup {
    Setup::ferrosm(priority)
}

const fn no_failback(priority: u8) -> Setup {
    Setup::no_failback(priority)
}

const fn opensm(priority: u8) -> Setup {
    Setup::opensm(priority)
}

#[test]
fn two_sms_with_slow_polls_and_sweeps() {
    for (name, faults) in each_fault() {
        check(
            &format!("two, {name}"),
            &[ferrosm(0), ferrosm(1)],
            faults,
            false,
        );
    }
}

#[test]
fn two_sms_with_two_faults() {
    check(
        "two, two faults",
        &[ferrosm(0), ferrosm(1)],
        any_fault(2),
        true,
    );
    check(
        "two of one priority",
        &[ferrosm(3), ferrosm(3)],
        any_fault(2),
        true,
    );
    check(
        "two with failback prevented",
        &[no_failback(0), no_failback(1)],
        any_fault(2),
        true,
    );
}

/// A host without the SM_Key answers every scan as an SM of the highest priority, in any state: the
/// election ignores it.
#[test]
fn two_sms_and_a_rogue() {
    for rogue in [SmState::Discovering, SmState::Standby, SmState::Master] {
        for (name, faults) in each_fault() {
            let subnet = Subnet {
                rogue: Some(rogue),
                ..Subnet::new(&[ferrosm(0), ferrosm(1)], faults, true)
            };
            check_subnet(&format!("two and a rogue {rogue}, {name}"), subnet);
        }
    }
}

/// The second interrupts the verification after the first.
#[test]
fn two_sms_with_two_stalls_or_lost_leases() {
    let each = each_fault();
    for (one, other) in [(7, 7), (7, 8), (8, 8)] {
        let ((one, a), (other, b)) = (each[one], each[other]);
        let setups = [0, 1].map(Setup::impatient);
        let subnet = Subnet {
            mads_max: 2,
            ..Subnet::new(&setups, a.and(b), false)
        };
        check_subnet(&format!("two, {one} and {other}"), subnet);
    }
}

#[test]
fn two_sms_with_two_commands() {
    let (_, command) = each_fault()[6];
    let faults = command.and(command);
    check(
        "two, two commands",
        &[ferrosm(0), ferrosm(1)],
        faults,
        false,
    );
}

#[test]
fn one_sm_and_opensm() {
    for (priority, other) in [(1, 0), (0, 1), (0, 0)] {
        let setups = [ferrosm(priority), opensm(other)];
        check(
            &format!("{priority} and OpenSM {other}, slow"),
            &setups,
            any_fault(1),
            false,
        );
        check(
            &format!("{priority} and OpenSM {other}"),
            &setups,
            any_fault(2),
            true,
        );
    }
    check(
        "failback prevented and OpenSM",
        &[no_failback(0), opensm(1)],
        any_fault(2),
        true,
    );
}

#[test]
fn three_sms_with_network_faults() {
    check_three(|faults| faults.crashes + faults.priorities + faults.commands == 0);
}

#[test]
fn three_sms_with_crashes_and_operators() {
    check_three(|faults| faults.crashes + faults.priorities + faults.commands > 0);
}

/// Two faults: of the pairs of fault kinds, a lost MAD with each of the first seven, and a crash
/// with a crash or a partition, as after a power failure. With `FERROSM_MODEL=full`, all 55 pairs.
/// Each pair is a model of its own, because their union does not fit into memory.
#[test]
fn three_sms_with_two_faults() {
    let setups = [0, 1, 2].map(Setup::impatient);
    let each = each_fault();
    let all = std::env::var("FERROSM_MODEL").is_ok_and(|v| v == "full");
    for (i, (one, a)) in each.iter().enumerate() {
        for (j, (other, b)) in each.iter().enumerate().skip(i) {
            let is_default = i == 0 && j < 7 || i == 3 && j < 5;
            if all || is_default {
                let name = format!("three, {one} and {other}");
                check(&name, &setups, a.and(*b), true);
            }
        }
    }
}

fn check_three(which: impl Fn(&Faults) -> bool) {
    let setups = [0, 1, 2].map(Setup::impatient);
    for (name, faults) in each_fault().iter().filter(|(_, faults)| which(faults)) {
        check(&format!("three, {name}"), &setups, *faults, true);
    }
}

#[test]
fn two_sms_and_opensm() {
    for (name, faults) in each_fault() {
        let setups = [ferrosm(0), opensm(1), ferrosm(2)];
        check(&format!("two and OpenSM, {name}"), &setups, faults, true);
    }
    check(
        "one between two OpenSM",
        &[opensm(1), ferrosm(1), opensm(2)],
        any_fault(1),
        true,
    );
}
