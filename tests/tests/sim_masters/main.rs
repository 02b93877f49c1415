//! Two to five subnet managers in random scenarios, in virtual time: masters die at any moment of their work, come back with whole,
//! torn and foreign stores, hand over, change their rank; the fabric falls into islands and is joined again, MADs are lost, clocks
//! are skewed, and hosts register all the time. Then peace, and every island must have one master that knows everything.
//!
//! Seeds from 1,000,000 on are of a second kind, in which hosts reboot, go and come back too, those from 2,000,000 on of a third, with
//! a subnet manager of somebody else. `FERROSM_SEED`, `FERROSM_SEEDS` and `FERROSM_FIRST_SEED` choose ([`seeds`]); with `FERROSM_TRACE`
//! every MAD of the one seed is told. Seeds that once failed are in `seeds/masters.txt` and are run every time.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![allow(
    clippy::print_stdout,
    reason = "a seed that is looked at tells what happens in it"
)]

mod books;
mod clients;
mod disk;
mod draw;
mod events;
mod foreign;
mod power;
mod stage;
mod watch;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::seeds::{self, Run};
use ferrosm_tests::simulated::Dice;

use books::Books;
use draw::{FOREIGN, HOSTS, Plan, scenario};
use events::Events;
use foreign::Foreign;
use power::Power;
use stage::Stage;
use watch::{Watch, assert_ignored, settled};

const TEST: &str = "sim_masters";
/// Seeds that once failed.
const KEPT: &str = include_str!("../../seeds/masters.txt");
/// Seeds of every test run, of each kind.
const FEW: u64 = 300;
const FEW_HOSTS: u64 = 150;
const FEW_FOREIGN: u64 = 100;

/// What happened in runs, so that it can be seen that it did.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Changes of masters at which every write to a table was counted.
    counted: u32,
    /// How often hosts lost or got power, and how often that was while nobody was master.
    powers: u32,
    without_master: u32,
    /// Runs in which nobody could know the LID of one that had lost power.
    moved: u32,
    /// How often somebody else's subnet manager was master, and was handed the subnet.
    reigns: u32,
    given: u32,
    /// Runs with one that had another SM_Key.
    ignored: u32,
}

impl Seen {
    fn add(&mut self, more: Self) {
        self.counted += more.counted;
        self.powers += more.powers;
        self.without_master += more.without_master;
        self.moved += more.moved;
        self.reigns += more.reigns;
        self.given += more.given;
        self.ignored += more.ignored;
    }
}

#[test]
fn one_master_and_nothing_lost() {
    let mut seen = Seen::default();
    seeds::run_named_or(TEST, KEPT, 0..FEW, |seed, how| {
        let (hash, more) = run(seed, how == Run::Told);
        seen.add(more);
        hash
    });
    println!("{seen:?}");
    assert!(seeds::are_named() || seen.counted > 50, "{seen:?}");
}

/// Hosts reboot, go and come back, while a master is in charge and while there is none: they keep their LIDs, and the others
/// everything.
#[test]
fn hosts_come_and_go_between_masters() {
    let seen = all(HOSTS..HOSTS + FEW_HOSTS);
    let enough = seen.counted > 8 && seen.without_master > 20 && seen.powers > 200;
    assert!(seeds::are_named() || enough, "{seen:?}");
}

/// Somebody else's subnet manager takes its turn by rank, and hands over; one with another key is an alarm and gets nothing.
#[test]
fn a_foreign_manager_takes_its_turn() {
    let seen = all(FOREIGN..FOREIGN + FEW_FOREIGN);
    let enough = seen.reigns > 10 && seen.given > 3 && seen.ignored > 2;
    assert!(seeds::are_named() || enough, "{seen:?}");
}

/// Of a kind, where the environment names no seeds.
fn all(kind: Range<u64>) -> Seen {
    let mut seen = Seen::default();
    if !seeds::are_named() {
        seeds::run_all(TEST, kind, |seed| seen.add(run(seed, false).1));
        println!("{seen:?}");
    }
    seen
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

/// What happens in a seed beside what happens to managers.
#[derive(Default)]
struct Beside {
    power: Option<Power>,
    foreign: Option<Dice>,
}

impl Beside {
    fn new(seed: u64, stage: &mut Stage) -> Self {
        if seed < HOSTS {
            return Self::default();
        }
        if seed < FOREIGN {
            return Self {
                power: Some(Power::new(seed)),
                foreign: None,
            };
        }
        let mut d = Dice::new(seed ^ 0xF0E1_0000_0000);
        let mut places = stage.clients.hosts();
        places.retain(|at| stage.slots.iter().all(|s| s.plan.at.node != at.node));
        stage.foreign = Foreign::new(&stage.lab.world, &places, &mut d);
        Self {
            power: None,
            foreign: Some(d),
        }
    }

    /// Something of it happens, or, where this gives `None`, anything else may.
    fn happen(&mut self, stage: &mut Stage) -> Option<String> {
        if let Some(power) = &mut self.power {
            return power.happen(stage);
        }
        let d = self.foreign.as_mut()?;
        let foreign = stage.foreign.as_mut()?;
        d.one_in(3).then(|| foreign.happen(&mut stage.lab.world, d))
    }

    fn end(&mut self, stage: &mut Stage) {
        if let Some(power) = &mut self.power {
            power.end(stage);
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

/// A hash of all that happened, and what there was of interest.
fn run(seed: u64, tell: bool) -> (u64, Seen) {
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
    let paths = paths(&mut stage);
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
        if beside.power.is_some() && events.is_whole() && settled(&mut stage, false).is_ok() {
            watch.all_is_known(&stage);
        }
        match beside.happen(&mut stage) {
            Some(text) => stage.say(&text),
            None => events.happen(&mut stage),
        }
        if tell {
            let exact = exact(&stage);
            let now = settled(&mut stage, exact);
            stage.say(&format!("{now:?}"));
        }
        watch.look(&mut stage);
    }
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
    let repeat = stage.lab.repeat();
    // With one lane, and all cables back, hosts see what they saw.
    let same = events.is_whole() && !watch.moved && s.plans[0].cfg.routing_vls == 1;
    if same && stage.master().is_some() {
        for (at, now) in self::paths(&mut stage) {
            let before = &paths[&at];
            assert_eq!(*before, now, "{repeat} {at:?} is told another path");
        }
    }
    if calm {
        books.look(&mut stage);
        let told = stage.clients.told - told;
        let excused = stage.unprepared > unprepared;
        assert!(
            excused || told == 0,
            "{repeat} {told} hosts were told to register again"
        );
    }
    let foreign = stage.foreign.as_ref();
    let seen = Seen {
        counted: books.takeovers,
        powers: stage.powers,
        without_master: stage.without_master,
        moved: u32::from(watch.moved),
        reigns: foreign.filter(|f| f.takes_part()).map_or(0, |f| f.reigns),
        given: foreign.map_or(0, |f| f.given),
        ignored: foreign.map_or(0, |f| u32::from(!f.takes_part() && f.reigns > 0)),
    };
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
