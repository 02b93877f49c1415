//! Random scenarios in the simulated world: any shape, any settings, any faults, any events; then peace, and the fabric
//! must be good again within a bound. A run is its seed: a failing one prints how to repeat it.
//!
//! [`ferrosm_tests::seeds`] says how to run other seeds. Seeds that once failed are in `seeds/swarm.txt` and are run every time; those
//! that fail are in `seeds/known-failing.txt`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

mod draw;
mod watch;
mod wild;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::time::Instant;
use ferrosm_sim::world::{Pace, World};
use ferrosm_tests::seeds::{self, Run};
use ferrosm_tests::simulated::{Lab, Sm, expect_of};
use ferrosm_tests::tally::Tally;
use rstest::rstest;

use draw::{Lanes, fabric_faults, happen, node_faults, scenario, seconds};
use watch::Watch;
use wild::Wild;

/// Runs a single seed.
const REPEAT: &str = "swarm::named_or_kept_seeds";
/// Seeds that once failed.
const KEPT: &str = include_str!("../../../seeds/swarm.txt");
/// Seeds that fail, with the reason.
const KNOWN_FAILING: &str = include_str!("../../../seeds/known-failing.txt");
/// Seeds of one test.
const RANGE: u64 = 50;
/// Seeds from here on are of the second kind: everything of the first, and what [`Wild`] adds.
const WILD: u64 = 1_000_000;
/// Seeds from here on are of the third kind: shapes with loops, engines with lanes, and half of them as wild as the second.
const LANES: u64 = 2_000_000;

/// The seeds that once failed, or those that the environment names.
#[test]
fn named_or_kept_seeds() {
    seeds::run_named_or_kept(REPEAT, KEPT, |seed, how| match how {
        Run::Traced => run(seed, Mode::Tell),
        Run::Judged => judge(seed),
    });
}

#[test]
fn known_failures() {
    seeds::known_failures("swarm", KNOWN_FAILING, |seed| {
        judge(seed);
    });
}

#[rstest]
fn random_scenarios_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    all_but_known(first);
}

#[rstest]
fn wild_scenarios_converge(#[values(0, 50, 100, 150, 200)] first: u64) {
    all_but_known(WILD + first);
}

/// Packets are followed on the SLs that the manager says in the end.
#[rstest]
fn scenarios_with_lanes_converge(#[values(0, 50, 100)] first: u64) {
    all_but_known(LANES + first);
}

/// One range. [`known_failures`] runs the others.
fn all_but_known(first: u64) {
    let known = seeds::listed(KNOWN_FAILING);
    let is_known = |seed: &u64| known.iter().any(|listed| listed.seed == *seed);
    let rest = (first..first + RANGE).filter(|seed| !is_known(seed));
    seeds::run_all(REPEAT, rest, |seed| {
        judge(seed);
    });
}

fn judge(seed: u64) -> u64 {
    if std::env::var_os("FERROSM_TRACE").is_some() {
        println!("seed {seed}");
    }
    run(seed, Mode::Judge)
}

/// The same seed gives the same run to the byte, another one another: 250 seeds of all kinds, each run twice.
#[rstest]
fn a_seed_is_a_run(#[values(0, 20, 40, 60, 80)] first: u64) {
    const RANGES: usize = 5;
    let mut hashes = Tally::default();
    let lanes = LANES + first / 2;
    let kinds = [
        first..first + 20,
        WILD + first..WILD + first + 20,
        lanes..lanes + 10,
    ];
    for seed in kinds.into_iter().flatten() {
        let hash = run(seed, Mode::Storm);
        assert_eq!(hash, run(seed, Mode::Storm), "seed {seed} gave two runs");
        hashes.add(&format!("{hash:x}"), 1);
    }
    if let Some(all) = hashes.of_all_ranges("swarm-hashes", first, RANGES) {
        let twice: Vec<_> = all.iter().filter(|(_, times)| *times > 1).collect();
        assert!(twice.is_empty(), "two seeds gave one run: {twice:?}");
    }
}

/// What the hash stands for: every MAD, when, where, and all its bytes, as text.
#[test]
fn a_run_is_the_same_line_by_line() {
    for seed in [3, WILD + 3] {
        let text = || {
            let lines = Arc::new(Mutex::new(String::new()));
            run(seed, Mode::Record(Arc::clone(&lines)));
            std::mem::take(&mut *lines.lock().unwrap())
        };
        let (once, again) = (text(), text());
        assert!(once.lines().count() > 1_000, "seed {seed} is no run");
        let differs = once.lines().zip(again.lines()).position(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}, line of the trace");
        assert!(once == again, "seed {seed}: one trace is longer");
    }
}

/// What a run is for.
#[derive(Clone)]
enum Mode {
    /// The fabric must be good in the end.
    Judge,
    /// The same, and everything is told.
    Tell,
    /// Until peace and a little longer: only that it repeats is asked.
    Storm,
    /// The same, every MAD event as a line.
    Record(Arc<Mutex<String>>),
}

/// How patient our manager was told to be. Another one may have been master until now.
fn pace(cfg: &SmConfig) -> Pace {
    Pace {
        patience: cfg.smp_timeout * (1 + u32::from(cfg.smp_retries)),
        interval: cfg.sweep_interval,
        window: u32::try_from(cfg.max_outstanding).unwrap_or(u32::MAX),
        takeover: cfg.sm_poll_interval * (1 + u32::from(cfg.sm_poll_retries)),
    }
}

fn run(seed: u64, mode: Mode) -> u64 {
    let tell = matches!(mode, Mode::Tell);
    let mut lanes = (seed >= LANES).then(|| Lanes::new(seed));
    let s = scenario(seed, lanes.as_mut());
    let mut d = s.dice;
    let say = |now: Instant, text: &str| {
        if tell {
            println!("{now:?} {text}");
        }
    };
    say(
        Instant::START,
        &format!(
            "{} from {:?}, peace at {:?}, {:?}",
            s.shape, s.at, s.peace, s.cfg
        ),
    );
    let pace = pace(&s.cfg);
    let is_wild = (WILD..LANES).contains(&seed) || (seed >= LANES && seed % 2 == 1);
    let mut wild = is_wild.then(|| Wild::new(seed, s.cfg.clone()));
    let mut lab = Lab::on(&s.shape, s.spec, seed, s.cfg, s.at);
    if let Mode::Record(lines) = &mode {
        let lines = Arc::clone(lines);
        lab.world.observe(move |event| {
            let mut lines = lines.lock().unwrap();
            lines.push_str(&format!("{event}\n"));
        });
    }
    if d.one_in(2) {
        let time = seconds(d.unit() * 2.0);
        lab.world.fabric_mut().set_link_training(time);
    }
    let faults = fabric_faults(&mut d);
    say(lab.world.now(), &format!("{faults:?}"));
    lab.world.set_faults(faults);
    let bad_nodes = d.upto(3);
    for _ in 0..bad_nodes {
        let node = d.index(lab.world.fabric().num_nodes());
        let faults = node_faults(&mut d);
        say(lab.world.now(), &format!("node {node} {faults:?}"));
        lab.world.set_node_faults(node, Some(faults));
    }
    if let Some(wild) = &mut wild {
        for text in wild.begin(&mut lab) {
            say(lab.world.now(), &text);
        }
    }
    let mut watch = Watch::default();
    let events = d.upto(19);
    for _ in 0..events {
        let left = s.peace.since(lab.world.now()).as_secs_f64();
        // Half of what happens, happens in bursts.
        let wait = if d.one_in(2) {
            d.unit() * 0.01
        } else {
            d.unit() * left / 3.0
        };
        lab.world.run_for(seconds(wait.min(left)));
        let text = match wild.as_mut().and_then(Wild::wanting) {
            Some(wild) => wild.happen(&mut lab, &mut watch),
            None => happen(&mut lab, &mut d),
        };
        say(lab.world.now(), &text);
        if let Some(text) = lanes.as_mut().and_then(|lanes| lanes.happen(&mut lab)) {
            say(lab.world.now(), &text);
        }
        watch.look(&lab, tell);
    }
    lab.world.run_until(s.peace);
    watch.look(&lab, tell);
    say(lab.world.now(), "peace");
    if let Some(wild) = &mut wild {
        wild.end(&mut lab);
    }
    lab.world.heal();
    let at = lab.at;
    let fabric = lab.world.fabric_mut();
    fabric.power_on(at.node);
    if let Some(cable) = fabric.cable_at(at) {
        fabric.power_on(cable.a.node);
        fabric.power_on(cable.b.node);
        fabric.restore(at).unwrap();
    } else if at.port != 0 {
        // Its cable was moved elsewhere: there is nothing that the manager could do.
        return lab.world.trace_hash();
    }
    lab.world.run_for(Duration::from_secs(1));
    if matches!(mode, Mode::Storm | Mode::Record(_)) {
        return lab.world.trace_hash();
    }
    let (sm, at, repeat) = (lab.sm, lab.at, lab.repeat());
    let expect = |world: &World<Sm>| expect_of(world, sm, at);
    let live = lab.world.converge_to(&pace, expect, |world| {
        let sm = world.manager(sm).unwrap();
        watch.look_at(sm, &repeat, tell);
        match sm.core().last_report() {
            Some(report) if report.is_clean() => Ok(()),
            Some(report) => Err(format!("the manager's problems: {:?}", report.problems)),
            None => Err("no sweep yet".to_owned()),
        }
    });
    say(lab.world.now(), &live.to_string());
    assert!(live.is_live(), "{repeat} {live}");
    // Nothing happens any more: the manager takes a second look at everything if it had doubts, then becomes quiet, and
    // everything stays good. A second look that was already taken once too early may be taken again later.
    lab.world.run_for(Duration::from_secs(75));
    let sweeps = lab.manager().reports().len();
    lab.world.run_for(Duration::from_secs(31));
    watch.look(&lab, tell);
    lab.assert_good();
    let more = lab.manager().reports().len() - sweeps;
    assert!(
        more <= 1,
        "{} {more} sweeps in a quiet fabric",
        lab.repeat()
    );
    if std::env::var_os("FERROSM_TRACE").is_some() {
        println!("seed {seed} {live}");
    }
    lab.world.trace_hash()
}
