//! Two to five subnet managers in random scenarios, in virtual time: masters die at any moment of their work, come back with whole,
//! torn and foreign stores, hand over, change their rank; the fabric falls into islands and is joined again, MADs are lost, clocks
//! are skewed, and hosts register all the time. Then peace, and every island must have one master that knows everything.
//!
//! Seeds from 1,000,000 on are of a second kind, in which hosts reboot, go and come back too, those from 2,000,000 on of a third, with
//! a subnet manager of somebody else, those from 3,000,000 on of a fourth, in which masters die in chosen phases,
//! those from 5,000,000 on of a fifth, in which stores are slow, hang or fail.
//! [`crate::seeds`] says how to run other seeds; with `FERROSM_TRACE` every MAD of a single seed is printed. Seeds that once
//! failed are in `seeds/masters.txt`, and are run every time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

mod client_views;
mod clients;
mod continuity_checks;
mod deferred;
mod deferred_replies;
mod events;
mod foreign;
mod fragments;
mod invariants;
pub mod phases;
mod power;
mod registration_continuity;
mod seed_plan;
mod simulation;
mod sm_disk;
mod stores;
mod write_counts;

use std::time::Duration;

use crate::simulated::{Clock, Dice};
use crate::tally::Tally;
use ferrosm_core::SmConfig;

use client_views::{Views, When};
use deferred::Deferred;
use events::Events;
use foreign::Foreign;
use invariants::{Watch, assert_ignored, settled};
use phases::Phases;
use power::Power;
pub use seed_plan::{FOREIGN, HOSTS, PHASES, STORES};
use seed_plan::{Plan, scenario};
use simulation::Stage;
use stores::StoreFaults;
use write_counts::Books;

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

/// What happens in a seed beside what happens to managers.
#[derive(Default)]
struct Beside {
    power: Option<Power>,
    foreign: Option<Dice>,
    phases: Option<Phases>,
    stores: Option<StoreFaults>,
}

impl Beside {
    fn new(seed: u64, stage: &mut Stage) -> Self {
        if seed < HOSTS {
            return Self::default();
        }
        if seed < FOREIGN {
            return Self {
                power: Some(Power::new(seed)),
                ..Self::default()
            };
        }
        if seed >= STORES {
            stage.clients.deferred = Some(Deferred::default());
            return Self {
                stores: Some(StoreFaults::new(seed)),
                ..Self::default()
            };
        }
        if seed >= PHASES {
            return Self {
                phases: Some(Phases::new(seed)),
                ..Self::default()
            };
        }
        let mut d = Dice::new(seed ^ 0xF0E1_0000_0000);
        let mut places = stage.clients.hosts();
        places.retain(|at| stage.slots.iter().all(|s| s.plan.at.node != at.node));
        stage.foreign = Foreign::new(&stage.lab.world, &places, &mut d);
        Self {
            foreign: Some(d),
            ..Self::default()
        }
    }

    /// Something of it happens, or, where this gives `None`, anything else may.
    fn happen(&mut self, stage: &mut Stage) -> Option<String> {
        if let Some(power) = &mut self.power {
            return power.happen(stage);
        }
        if let Some(phases) = &mut self.phases {
            return phases.happen(stage);
        }
        if let Some(stores) = &mut self.stores {
            return stores.happen(stage);
        }
        let d = self.foreign.as_mut()?;
        let foreign = stage.foreign.as_mut()?;
        d.one_in(3).then(|| foreign.happen(&mut stage.lab.world, d))
    }

    /// Whether hosts lose power.
    const fn has_power(&self) -> bool {
        self.power.is_some() || self.phases.is_some()
    }

    fn end(&mut self, stage: &mut Stage) {
        if let Some(power) = &mut self.power {
            power.end(stage);
        }
        if self.stores.is_some() {
            StoreFaults::end(stage);
        }
        if let (Some(d), Some(foreign)) = (&mut self.foreign, &mut stage.foreign)
            && !foreign.runs()
            && d.one_in(2)
        {
            foreign.begin(&mut stage.lab.world);
            stage.say("the foreign SM begins again");
        }
    }
}

fn tell_plans(stage: &Stage, plans: &[Plan]) {
    for (i, p) in plans.iter().enumerate() {
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

/// Runs a seed, and prints what happens if `tell`. Returns a hash of all that happened, and how often what happened.
///
/// # Panics
/// If something goes wrong that must not.
#[must_use]
pub fn run(seed: u64, tell: bool) -> (u64, Tally) {
    let s = scenario(seed);
    let mut d = s.dice.clone();
    let mut bound = bound(&s.plans);
    let leases = d.one_in(2);
    let mut stage = Stage::new(&s, seed, leases, tell);
    let mut beside = Beside::new(seed, &mut stage);
    bound += stage
        .foreign
        .as_ref()
        .map_or(Duration::ZERO, Foreign::belief)
        * 2;
    stage.say(&format!("{} calm {} bound {bound:?}", s.shape, s.calm));
    if tell {
        tell_plans(&stage, &s.plans);
        if std::env::var_os("FERROSM_TRACE").is_some() {
            stage.lab.world.observe(|event| println!("{event}"));
        }
    }
    // Whom somebody else's manager served has to register again.
    let calm = s.calm && stage.foreign.as_ref().is_none_or(|f| !f.takes_part());
    let one_lane = s.plans[0].cfg.routing_vls == 1;
    let mut watch = Watch::new(bound);
    until_settled(&mut stage, &mut watch, bound, &|_| true);
    watch.remember(&stage);
    for _ in 0..d.below(12) {
        let text = stage.clients.change(&mut d);
        stage.say(&text);
    }
    rest(&mut stage, &mut watch, Duration::from_secs(2));
    let (told, unprepared) = (stage.clients.told, stage.unprepared);
    // Who begins with what it kept itself, and nobody's copy, may know of what was taken back since.
    let exact = |stage: &Stage| calm && stage.unprepared == unprepared;
    let views = Views::new(&mut stage, one_lane);
    let mut events = Events::new(s.calm, d.clone());
    let mut books = Books::default();
    for _ in 0..1 + d.upto(9) {
        let wait = if d.one_in(3) {
            d.below(300)
        } else {
            d.below(15_000)
        };
        rest(&mut stage, &mut watch, Duration::from_millis(wait));
        if calm {
            books.look(&mut stage);
        }
        if exact(&stage) {
            views.compare(&mut stage, When::Any);
        }
        let wanted = beside.has_power() || (one_lane && !exact(&stage));
        if wanted && events.is_whole() && settled(&mut stage, false).is_ok() {
            watch.all_is_known(&stage);
            if !watch.moved && stage.master().is_some() {
                views.compare(&mut stage, When::Settled);
            }
        }
        stage.look_at_tenures();
        match beside.happen(&mut stage) {
            Some(text) => stage.say(&text),
            None => events.happen(&mut stage),
        }
        stage.look_at_tenures();
        if tell {
            let exact = exact(&stage);
            let now = settled(&mut stage, exact);
            stage.say(&format!("{now:?}"));
        }
        watch.look(&mut stage);
    }
    stage.look_at_tenures();
    events.end(&mut stage);
    beside.end(&mut stage);
    stage.say("peace");
    until_settled(&mut stage, &mut watch, bound, &exact);
    // Nothing happens any more: doubts are looked after, and then it is quiet.
    rest(&mut stage, &mut watch, Duration::from_secs(75));
    is_quiet(&mut stage, &mut watch);
    let all = exact(&stage);
    if let Err(why) = settled(&mut stage, all) {
        panic!("{} it did not stay good: {why}", stage.lab.repeat());
    }
    assert_ignored(&stage);
    // With one lane, and all cables back, hosts see what they saw.
    if events.is_whole() && !watch.moved && stage.master().is_some() {
        views.compare(&mut stage, When::Settled);
    } else {
        views.compare_groups(&mut stage, When::Settled);
    }
    if exact(&stage) {
        views.compare(&mut stage, When::Any);
    }
    if calm {
        books.look(&mut stage);
        let told = stage.clients.told - told;
        assert!(
            stage.unprepared > unprepared || told == 0,
            "{} {told} hosts were told to register again",
            stage.lab.repeat()
        );
    }
    let excused = calm && stage.unprepared > unprepared;
    let skewed = s.plans.iter().any(|p| p.clock != Clock::default());
    let mut seen = stage.tally.clone();
    seen.add("seeds", 1);
    seen.add("calm seeds", u32::from(calm));
    seen.add(
        "calm seeds with a master without records",
        u32::from(excused),
    );
    seen.add("acknowledged", stage.clients.acks);
    seen.add("skewed clocks", u32::from(skewed));
    seen.add("changes without a write", books.takeovers);
    seen.add("changes of masters", stage.takeovers);
    seen.add("power", stage.powers);
    seen.add("power without a master", stage.without_master);
    seen.add("LIDs that nobody could know", u32::from(watch.moved));
    if let Some(deferred) = &stage.clients.deferred {
        seen.add("late replies", deferred.late);
        seen.add("unprotected replies", deferred.sent_unprotected);
        seen.add("lost unprotected replies", deferred.lost);
        seen.add("replies compared with durable records", deferred.compared);
    }
    if let Some(foreign) = &stage.foreign {
        let ours = foreign.takes_part();
        seen.add("foreign reigns", if ours { foreign.reigns } else { 0 });
        seen.add("given to the foreign SM", foreign.given);
        seen.add("ignored", u32::from(!ours && foreign.reigns > 0));
    }
    (stage.lab.world.trace_hash(), seen)
}

/// For a while nobody changes its mind, and nobody sweeps for no reason.
fn is_quiet(stage: &mut Stage, watch: &mut Watch) {
    let look = |stage: &Stage| -> Vec<_> {
        let slots = stage.slots.iter();
        slots.map(|s| (s.id, s.roles, s.sweeps)).collect()
    };
    let before = look(stage);
    rest(stage, watch, Duration::from_secs(31));
    let repeat = stage.lab.repeat();
    for (i, (was, now)) in before.into_iter().zip(look(stage)).enumerate() {
        let same = (was.0, was.1) == (now.0, now.1);
        assert!(same, "{repeat} {i} changes its mind");
        assert!(now.2 - was.2 <= 1, "{repeat} {i} sweeps for no reason");
    }
}

/// Time passes under the eyes of the watch.
fn rest(stage: &mut Stage, watch: &mut Watch, time: Duration) {
    let end = stage.lab.world.now() + time;
    while stage.lab.world.now() < end {
        let left = end.since(stage.lab.world.now());
        stage.run_for(left.min(simulation::TICK * 2));
        watch.look(stage);
    }
}

fn until_settled(
    stage: &mut Stage,
    watch: &mut Watch,
    bound: Duration,
    exact: &dyn Fn(&Stage) -> bool,
) {
    let end = stage.lab.world.now() + bound;
    loop {
        rest(stage, watch, Duration::from_millis(500));
        let exact = exact(stage);
        match settled(stage, exact) {
            Ok(()) => return,
            Err(why) if stage.lab.world.now() >= end => {
                panic!("{} not within {bound:?}: {why}", stage.lab.repeat());
            }
            Err(_) => {}
        }
    }
}
