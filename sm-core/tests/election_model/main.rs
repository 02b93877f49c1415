//! The election, model-checked: two and three SMs, every order of events, MADs lost, late and doubled, SMs that crash and come
//! back, islands, other priorities, operators, and peers that behave as OpenSM does.
//!
//! Safety: an SM that gave the subnet away does not write, nor one whose offer was taken, though every word of that is lost.
//! Liveness: from *every* state that can be reached, once nothing fails
//! any more, a fair run ends with one master per island, and stays so. That is checked as a property of states, because the checker's
//! own `eventually` does not see cycles.

#![allow(clippy::print_stdout, reason = "how large the models are is a result")]

mod mads;
mod opensm;
mod setup;
mod world;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use stateright::{Checker, Model, Property};

use setup::{Faults, Setup};
use world::{Action, World};

/// Quiet rounds after which one master must be there.
const ROUNDS: usize = 60;
/// Quiet rounds that it must then stay so.
const STAYS: usize = 12;

struct Subnet {
    setups: Vec<Setup>,
    faults: Faults,
    instant: bool,
    /// More MADs than this are not under way at once.
    most_mads: usize,
    /// Worlds that are known to end well.
    good: Mutex<FxHashSet<u64>>,
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
            most_mads: if setups.len() > 2 { 2 } else { 3 },
            good: Mutex::default(),
        }
    }

    fn known_good(&self) -> MutexGuard<'_, FxHashSet<u64>> {
        self.good.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a fair run without faults ends with one master per island.
    fn ends_well(&self, start: &World) -> bool {
        let mut world = start.clone();
        world.faults = Faults::NONE;
        let mut walked = Vec::new();
        let mut settled: Option<(Vec<u8>, usize)> = None;
        for _ in 0..ROUNDS + STAYS {
            let mark = fingerprint(&world);
            if self.known_good().contains(&mark) {
                break;
            }
            walked.push(mark);
            let masters = world.masters();
            match &mut settled {
                _ if !world.is_settled() => settled = None,
                Some((who, rounds)) if *who == masters => *rounds += 1,
                _ => settled = Some((masters, 0)),
            }
            if settled.as_ref().is_some_and(|(_, rounds)| *rounds == STAYS) {
                break;
            }
            if walked.len() == ROUNDS + STAYS {
                return false;
            }
            world.quiet_round();
        }
        self.known_good().extend(walked);
        true
    }
}

impl Model for Subnet {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setups, self.faults, self.instant)]
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
            Property::always("one master per island in the end", Self::ends_well),
            Property::always("who gave the subnet away does not write", |_, w: &World| {
                w.nodes.iter().all(|n| !(n.gave_up && n.sm.may_write()))
            }),
            // Where polls take time they may tell of the moment before.
            Property::always(
                "an offer that was taken is not taken back",
                |_, w: &World| !(w.instant && w.beside),
            ),
            Property::sometimes("a master and a standby", |_, w: &World| {
                w.is_settled() && w.alive().count() > 1
            }),
        ]
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.mads.len() <= self.most_mads
    }
}

/// Checks a model and prints how large it was.
fn check(name: &str, setups: &[Setup], faults: Faults, instant: bool) {
    let checker = Subnet::new(setups, faults, instant)
        .checker()
        .spawn_bfs()
        .join();
    println!(
        "{name}: {} states, {} of them different, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// Any faults, so many in all.
const fn any(total: u8) -> Faults {
    Faults {
        total,
        lost: total,
        doubled: total,
        late: total,
        crashes: total,
        cuts: total,
        priorities: total,
        commands: total,
    }
}

/// One fault of each kind by itself: together they are one model, and a larger one.
fn each() -> [(&'static str, Faults); 7] {
    let one = Faults {
        total: 1,
        ..Faults::NONE
    };
    [
        ("a lost MAD", Faults { lost: 1, ..one }),
        ("a doubled MAD", Faults { doubled: 1, ..one }),
        ("a late MAD", Faults { late: 1, ..one }),
        ("a crash", Faults { crashes: 1, ..one }),
        ("a cut", Faults { cuts: 1, ..one }),
        (
            "another priority",
            Faults {
                priorities: 1,
                ..one
            },
        ),
        ("an operator", Faults { commands: 1, ..one }),
    ]
}

const fn ours(priority: u8) -> Setup {
    Setup::ours(priority)
}

const fn sticky(priority: u8) -> Setup {
    Setup::sticky(priority)
}

const fn opensm(priority: u8) -> Setup {
    Setup::opensm(priority)
}

#[test]
fn two_with_slow_polls_and_sweeps() {
    for (name, faults) in each() {
        check(&format!("two, {name}"), &[ours(0), ours(1)], faults, false);
    }
}

#[test]
fn two_with_two_faults() {
    check("two, two faults", &[ours(0), ours(1)], any(2), true);
    check("two of one priority", &[ours(3), ours(3)], any(2), true);
    check("two sticky ones", &[sticky(0), sticky(1)], any(2), true);
}

#[test]
fn one_and_an_opensm() {
    for (priority, other) in [(1, 0), (0, 1), (0, 0)] {
        let setups = [ours(priority), opensm(other)];
        check(
            &format!("{priority} and OpenSM {other}, slow"),
            &setups,
            any(1),
            false,
        );
        check(
            &format!("{priority} and OpenSM {other}"),
            &setups,
            any(2),
            true,
        );
    }
    check("sticky and OpenSM", &[sticky(0), opensm(1)], any(2), true);
}

#[test]
fn three_and_the_network() {
    three(|faults| faults.crashes + faults.priorities + faults.commands == 0);
}

#[test]
fn three_and_their_operator() {
    three(|faults| faults.crashes + faults.priorities + faults.commands > 0);
}

/// Two faults: a MAD is lost and an SM crashes, an SM crashes while the subnet is cut. Here a lost MAD with each of the others, and what
/// one power supply can do, in 20 million steps; with `FERROSM_MODEL=full` any two faults, in 61 million.
#[test]
fn three_with_two_faults() {
    let setups = [0, 1, 2].map(Setup::hasty);
    if std::env::var("FERROSM_MODEL").is_ok_and(|v| v == "full") {
        check("three, two faults", &setups, any(2), true);
        return;
    }
    let each = each();
    for (one, other) in [
        (0, 0),
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (0, 5),
        (0, 6),
        (3, 3),
        (3, 4),
    ] {
        let ((one, a), (other, b)) = (each[one], each[other]);
        let name = format!("three, {one} and {other}");
        check(&name, &setups, a.and(b), true);
    }
}

fn three(which: impl Fn(&Faults) -> bool) {
    let setups = [0, 1, 2].map(Setup::hasty);
    for (name, faults) in each().iter().filter(|(_, faults)| which(faults)) {
        check(&format!("three, {name}"), &setups, *faults, true);
    }
}

#[test]
fn two_and_an_opensm() {
    for (name, faults) in each() {
        let setups = [ours(0), opensm(1), ours(2)];
        check(&format!("two and OpenSM, {name}"), &setups, faults, true);
    }
    check(
        "one between two OpenSM",
        &[opensm(1), ours(1), opensm(2)],
        any(1),
        true,
    );
}
