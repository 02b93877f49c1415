//! Two to five subnet managers in random scenarios, in virtual time: masters die at any moment of their work, come back with whole,
//! torn and foreign stores, hand over, change their rank; the fabric falls into islands and is joined again, MADs are lost, clocks
//! are skewed, and hosts register all the time. Then peace, and every island must have one master that knows everything.
//!
//! `FERROSM_SEED=17` runs one seed and tells what happens in it; `FERROSM_SEEDS=5000` runs that many (from `FERROSM_FIRST_SEED` on)
//! instead of the few that every test run does; with `FERROSM_TRACE` every MAD of the one seed is told. Seeds that once failed are in `seeds/masters.txt` and are run every time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

mod clients;
mod draw;
mod events;
mod stage;
mod watch;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_sim::spec::PortAt;

use draw::{Plan, scenario};
use events::Events;
use stage::Stage;
use watch::{Watch, settled};

/// Seeds of every test run.
const FEW: u64 = 200;

fn number_from(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number")))
}

/// Seeds that once failed, one a line; `#` begins a remark.
fn kept_seeds() -> Vec<u64> {
    let text = include_str!("../../seeds/masters.txt");
    let seeds = text.lines().filter_map(|l| l.split('#').next());
    seeds.filter_map(|seed| seed.trim().parse().ok()).collect()
}

#[test]
fn one_master_and_nothing_lost() {
    if let Some(seed) = number_from("FERROSM_SEED") {
        let hash = run(seed, true);
        assert_eq!(hash, run(seed, false), "the same seed gave another run");
        return;
    }
    let count = number_from("FERROSM_SEEDS").unwrap_or(FEW);
    let first = number_from("FERROSM_FIRST_SEED").unwrap_or(0);
    let (mut ran, mut failed) = (0, Vec::new());
    for seed in kept_seeds().into_iter().chain(first..first + count) {
        ran += 1;
        if catch_unwind(AssertUnwindSafe(|| run(seed, false))).is_err() {
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {ran} seeds failed: {failed:?}\n\
         repeat one with: FERROSM_SEED={} cargo test -p ferrosm-tests --test sim_masters",
        failed.len(),
        failed[0]
    );
}

/// How long a manager may take to believe something of another one.
fn belief(cfg: &SmConfig) -> Duration {
    let misses = |retries: u8| u32::from(retries).max(3) + 1;
    let polls = cfg.sm_poll_interval * misses(cfg.sm_poll_retries);
    let peers = cfg.peer_poll_interval * misses(cfg.peer_poll_retries);
    let slowest = cfg.sm_poll_interval.max(cfg.peer_poll_interval);
    polls.max(peers) + slowest * u32::from(cfg.patience)
}

/// What all may take one after the other, once nothing goes wrong any more: whom they believe in, the look at the fabric that finds
/// the others, a few sweeps. Clocks may be slower by a fifth.
fn bound(plans: &[Plan]) -> Duration {
    let all = plans.iter().map(|p| {
        let patience = p.cfg.smp_timeout * (1 + u32::from(p.cfg.smp_retries));
        belief(&p.cfg) + (p.cfg.sweep_interval + patience * 4) * 3
    });
    all.max().unwrap_or_default() * 3 / 2 + Duration::from_secs(10)
}

fn run(seed: u64, tell: bool) -> u64 {
    let s = scenario(seed);
    let mut d = s.dice.clone();
    let bound = bound(&s.plans);
    let leases = d.one_in(2);
    let mut stage = Stage::new(&s, seed, leases, tell);
    stage.say(&format!("{} calm {} bound {bound:?}", s.shape, s.calm));
    if tell {
        for (i, p) in s.plans.iter().enumerate() {
            let c = &p.cfg;
            println!(
                "{i}: {:?} {:?} {} {}/{} polls {:?}*{} peers {}: {:?}*{} patience {} {:?} {:?}",
                p.at,
                stage.slots[i].guid,
                if stage.lab.world.fabric().is_switch(p.at.node) {
                    "switch"
                } else {
                    "host"
                },
                c.priority,
                c.master_priority,
                c.sm_poll_interval,
                c.sm_poll_retries,
                c.peer_sms.len(),
                c.peer_poll_interval,
                c.peer_poll_retries,
                c.patience,
                p.copying,
                p.clock
            );
        }
    }
    if tell && std::env::var_os("FERROSM_TRACE").is_some() {
        stage.lab.world.observe(|event| println!("{event}"));
    }
    let mut watch = Watch::new(bound);
    until_settled(&mut stage, &mut watch, bound, true);
    watch.remember(&stage);
    for _ in 0..d.below(12) {
        let text = stage.clients.change(&mut d);
        stage.say(&text);
    }
    rest(&mut stage, &mut watch, Duration::from_secs(2));
    let told = stage.clients.told;
    stage.unprepared = false;
    let paths = paths(&mut stage);
    let mut events = Events::new(s.calm, d.clone());
    for _ in 0..1 + d.upto(9) {
        let wait = if d.one_in(3) {
            d.below(300)
        } else {
            d.below(15_000)
        };
        rest(&mut stage, &mut watch, Duration::from_millis(wait));
        events.happen(&mut stage);
        if tell {
            let now = settled(&mut stage, s.calm);
            stage.say(&format!("{now:?}"));
        }
        watch.look(&stage);
    }
    events.end(&mut stage);
    stage.say("peace");
    until_settled(&mut stage, &mut watch, bound, s.calm);
    // Nothing happens any more: doubts are looked after, and then it is quiet.
    rest(&mut stage, &mut watch, Duration::from_secs(75));
    let before: Vec<_> = stage
        .slots
        .iter()
        .map(|s| (s.id, s.sweeps, s.roles))
        .collect();
    rest(&mut stage, &mut watch, Duration::from_secs(31));
    for (i, (slot, (id, sweeps, roles))) in stage.slots.iter().zip(before).enumerate() {
        let repeat = stage.lab.repeat();
        assert_eq!(
            (slot.id, slot.roles),
            (id, roles),
            "{repeat} {i} changes its mind"
        );
        assert!(
            slot.sweeps - sweeps <= 1,
            "{repeat} {i} sweeps for no reason"
        );
    }
    if let Err(why) = settled(&mut stage, s.calm) {
        panic!("{} it did not stay good: {why}", stage.lab.repeat());
    }
    // With one lane, and all cables back, hosts see what they saw.
    if events.is_whole() && s.plans[0].cfg.routing_vls == 1 {
        let repeat = stage.lab.repeat();
        assert_eq!(
            paths,
            self::paths(&mut stage),
            "{repeat} hosts are told other paths"
        );
    }
    if s.calm && !stage.unprepared {
        let told = stage.clients.told - told;
        assert_eq!(
            told,
            0,
            "{} hosts were told to register again",
            stage.lab.repeat()
        );
    }
    stage.lab.world.trace_hash()
}

/// What hosts are told of paths by the master.
fn paths(stage: &mut Stage) -> BTreeMap<PortAt, Vec<u8>> {
    let id = stage.master().and_then(|i| stage.slots[i].id).unwrap();
    stage.clients.paths(&mut stage.lab.world, id)
}

/// Time passes under the eyes of the watch.
fn rest(stage: &mut Stage, watch: &mut Watch, time: Duration) {
    let end = stage.lab.world.now() + time;
    while stage.lab.world.now() < end {
        let left = end.since(stage.lab.world.now());
        stage.run_for(left.min(stage::TICK * 2));
        watch.look(stage);
    }
}

fn until_settled(stage: &mut Stage, watch: &mut Watch, bound: Duration, exact: bool) {
    let end = stage.lab.world.now() + bound;
    loop {
        rest(stage, watch, Duration::from_millis(500));
        match settled(stage, exact) {
            Ok(()) => return,
            Err(why) if stage.lab.world.now() >= end => {
                panic!("{} not within {bound:?}: {why}", stage.lab.repeat());
            }
            Err(_) => {}
        }
    }
}
