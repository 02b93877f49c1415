//! Random scenarios in the simulated world: any shape, any settings, any faults, any events; then peace, and the fabric
//! must be good again within a bound. A run is its seed: a failing one prints how to repeat it.
//!
//! [`crate::seeds`] says how to run other seeds. Seeds that once failed are in `seeds/swarm.txt` and are run every time; those
//! that fail are in `seeds/known-failing.txt`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

mod faults;
mod invariants;
mod seed_plan;
mod stores;

use std::time::Duration;

use crate::simulated::{Lab, Sm, expect_of};
use ferrosm_core::SmConfig;
use ferrosm_mad::time::Instant;
use ferrosm_sim::world::{LivenessTiming, World};

use faults::Wild;
use invariants::Watch;
use seed_plan::{Lanes, fabric_faults, happen, node_faults, scenario, seconds};
use stores::StoreFaults;

/// Seeds from here on are of the second kind: everything of the first, and rarer faults.
pub const WILD: u64 = 1_000_000;
/// Seeds from here on are of the third kind: shapes with loops, engines with lanes, and half of them as wild as the second.
pub const LANES: u64 = 2_000_000;
/// Seeds from here on are of the fourth kind: everything of the first, and a store that is slow, hangs or fails.
pub const STORES: u64 = 3_000_000;

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The fabric must be good in the end.
    Judge,
    /// The same, and everything is told.
    Tell,
    /// Until peace and a little longer: only that it repeats is asked.
    Storm,
}

/// How patient our manager was told to be. Another one may have been master until now.
fn pace(cfg: &SmConfig) -> LivenessTiming {
    LivenessTiming {
        request_timeout: cfg.smp_timeout * (1 + u32::from(cfg.smp_retries)),
        sweep_interval: cfg.sweep_interval,
        max_outstanding: u32::try_from(cfg.max_outstanding).unwrap_or(u32::MAX),
        takeover_delay: cfg.sm_poll_interval * (1 + u32::from(cfg.sm_poll_retries)),
    }
}

/// Runs a seed, and returns a hash of all that happened.
///
/// # Panics
/// If the mode asks for a good fabric in the end and it is not.
#[must_use]
pub fn run(seed: u64, mode: Mode) -> u64 {
    let tell = matches!(mode, Mode::Tell);
    let has_lanes = (LANES..STORES).contains(&seed);
    let mut lanes = has_lanes.then(|| Lanes::new(seed));
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
    let is_wild = (WILD..LANES).contains(&seed) || (has_lanes && seed % 2 == 1);
    let mut wild = is_wild.then(|| Wild::new(seed, s.cfg.clone()));
    let mut stores = (seed >= STORES).then(|| StoreFaults::new(seed, s.cfg.clone()));
    let mut lab = Lab::on(&s.shape, s.spec, seed, s.cfg, s.at);
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
    if let Some(text) = stores.as_mut().and_then(|stores| stores.begin(&mut lab)) {
        say(lab.world.now(), &text);
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
        let stores = stores.as_mut();
        if let Some(text) = stores.and_then(|stores| stores.happen(&mut lab, &mut watch)) {
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
    if stores.is_some() {
        StoreFaults::end(&mut lab);
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
    if matches!(mode, Mode::Storm) {
        return lab.world.trace_hash();
    }
    let (sm, at, repeat) = (lab.sm, lab.at, lab.repeat());
    let expect = |world: &World<Sm>| expect_of(world, sm, at);
    let live = lab.world.converge_to(&pace, expect, |world| {
        let sm = world.sm(sm).unwrap();
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
