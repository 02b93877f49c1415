//! Two to five subnet managers in random scenarios ([`ferrosm_tests::masters`]). Seeds that once failed are in `seeds/masters.txt`, and
//! are run every time.

#![allow(clippy::print_stdout, reason = "what happened is shown")]

use ferrosm_tests::masters::{FOREIGN, HOSTS, PHASES, STORES, phases, run};
use ferrosm_tests::seeds::{self, Run};
use ferrosm_tests::tally::Tally;
use rstest::rstest;

/// Runs a single seed.
const REPEAT: &str = "masters::named_or_saved_seeds";
/// Seeds that once failed.
const KEPT: &str = include_str!("../../seeds/masters.txt");

/// The seeds that once failed, or those that the environment names.
#[test]
fn named_or_saved_seeds() {
    seeds::run_named_or_saved(REPEAT, KEPT, |seed, how| run(seed, how == Run::Traced).0);
}

#[rstest]
fn one_master_and_nothing_lost(#[values(0, 50, 100, 150, 200, 250, 300)] first: u64) {
    let Some(seen) = range(first, 50).of_all_ranges("masters", first, 7) else {
        return;
    };
    println!("{seen:#?}");
    seen.assert_at_least(&[
        ("acknowledged", 1500),
        ("changes without a write", 50),
        ("skewed clocks", 80),
        ("split", 20),
        ("cut", 20),
        ("heal", 30),
        ("loss", 10),
        ("stall", 14),
        ("hiccup", 5),
        ("priority", 40),
        ("handover", 70),
        ("start, whole store", 45),
        ("start, torn store", 10),
        ("start, foreign store", 8),
        ("start, no store", 6),
    ]);
    seen.assert_at_least(&[
        ("passed on, calm", 800),
        ("passed on, rough", 500),
        ("passed on over a cut", 4),
        ("tenures at a heal", 200),
        ("tenures beside a torn start", 200),
        ("compared exactly, calm", 100_000),
        ("compared exactly, rough", 200_000),
        ("views, Any", 120),
        ("views, Settled", 120),
        ("paths, Any", 3000),
        ("paths, Settled", 3000),
        ("groups, Any", 400),
        ("groups, Settled", 700),
    ]);
    seen.assert_at_most(&[
        ("LIDs that nobody could know", 4),
        ("calm seeds with a master without records", 30),
    ]);
}

/// Hosts reboot, go and come back, while a master is in charge and while there is none: they keep their LIDs, and the others
/// everything.
#[rstest]
fn hosts_come_and_go_between_masters(#[values(0, 50, 100)] first: u64) {
    let Some(seen) = range(HOSTS + first, 50).of_all_ranges("masters-hosts", first, 3) else {
        return;
    };
    println!("{seen:#?}");
    seen.assert_at_least(&[
        ("changes without a write", 8),
        ("power without a master", 20),
        ("power", 200),
        ("passed on, calm", 250),
        ("passed on, rough", 250),
        ("views, Any", 50),
        ("views, Settled", 90),
    ]);
    seen.assert_at_most(&[("LIDs that nobody could know", 12)]);
}

/// Somebody else's subnet manager takes its turn by rank, and hands over; one with another key is an alarm and gets nothing.
#[rstest]
fn a_foreign_manager_takes_its_turn(#[values(0, 50)] first: u64) {
    let Some(seen) = range(FOREIGN + first, 50).of_all_ranges("masters-foreign", first, 2) else {
        return;
    };
    println!("{seen:#?}");
    seen.assert_at_least(&[
        ("foreign reigns", 11),
        ("given to the foreign SM", 4),
        ("ignored", 3),
        ("passed on, rough", 100),
        ("views, Settled", 25),
    ]);
}

/// Masters die in every phase of a sweep, of their first one as well.
#[rstest]
fn masters_die_in_every_phase(#[values(0, 30)] first: u64) {
    let Some(seen) = range(PHASES + first, 30).of_all_ranges("masters-phases", first, 2) else {
        return;
    };
    println!("{seen:#?}");
    for phase in phases::ALL {
        seen.assert_at_least(&[(&format!("killed, {phase}"), 3)]);
    }
    // Links of a fabric that was up are activated in the sweep of somebody who has done others.
    for phase in &phases::ALL[1..7] {
        seen.assert_at_least(&[(&format!("killed, {phase}, first"), 1)]);
    }
}

/// Masters die, hand over and recover while their stores are slow, hang or fail: what was acknowledged is not lost, unless the SM had
/// reported that replies do not wait for durable state.
#[rstest]
fn masters_end_while_stores_are_faulty(#[values(0, 50, 100)] first: u64) {
    let Some(seen) = range(STORES + first, 50).of_all_ranges("masters-stores", first, 3) else {
        return;
    };
    println!("{seen:#?}");
    seen.assert_at_least(&[
        ("store delayed", 50),
        ("store hanging", 35),
        ("store failing", 18),
        ("killed, store behind", 20),
        ("handover, store behind", 8),
        ("late replies", 100),
        ("unprotected replies", 60),
        ("lost unprotected replies", 30),
        ("replies compared with durable records", 700),
        ("passed on, calm", 300),
        ("passed on, rough", 200),
        ("changes without a write", 7),
    ]);
}

/// Runs `count` seeds from `first` on; what happened in them.
fn range(first: u64, count: u64) -> Tally {
    let mut seen = Tally::default();
    seeds::run_all(REPEAT, first..first + count, |seed| {
        seen.add_all(&run(seed, false).1)
    });
    seen
}
