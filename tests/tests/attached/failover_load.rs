//! Two and three real ferrosm with copies of each other's state, whose master is killed while hosts ask, join, register and leave
//! without end and cables flap. What the hosts were told is there afterwards, asked by `saquery`. Nothing sleeps but the load itself:
//! everything is polled for, with a limit that only a broken test reaches. What is measured is printed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ferrosm_tests::clients::Clients;
use ferrosm_tests::etcd::Etcd;
use ferrosm_tests::load::{
    LinkFlaps, PathQueryClient, RegistrationClient, RegistrationLog, build, count_smps,
    query_registrations,
};
use ferrosm_tests::process::{Signal, poll_until};
use ferrosm_tests::sm_pair::{ALARM, CLIENT, GUARD, RESTORED, SmPair, certified, configure};

const PAUSE: Duration = Duration::from_millis(50);
/// A fabric on which nothing was written for so long is quiet.
const QUIET: Duration = Duration::from_millis(500);
const ASKS: &str = "host-3-0-0 mlx5_0";
const REGISTER: [&str; 4] = [
    "host-0-1-0 mlx5_0",
    "host-1-1-0 mlx5_0",
    "host-2-0-0 mlx5_0",
    "host-3-0-1 mlx5_0",
];
/// There are ways around each. All of the fabric's trunks take turns, core by core: a switch that sends more than ten traps without five
/// seconds of silence is noisy, and is looked at once a second only, masters or no masters.
const CABLES: [&str; 16] = [
    "core-0[1]",
    "core-0[2]",
    "core-0[3]",
    "core-0[4]",
    "core-2[1]",
    "core-2[2]",
    "core-2[3]",
    "core-2[4]",
    "core-1[1]",
    "core-1[2]",
    "core-1[3]",
    "core-1[4]",
    "core-3[1]",
    "core-3[2]",
    "core-3[3]",
    "core-3[4]",
];
const WHOLE: &str = "replica in sync";
const FROM_COPY: &str = "restored view used until the first sweep completes";
/// Longest time without an answer, in seconds: more is no busy machine, but a host that gave up.
const SILENT_S: f64 = 20.0;
/// Attributes whose Sets change how traffic runs.
const TABLES: [&str; 3] = [
    "LinearForwardingTable",
    "MulticastForwardingTable",
    "P_KeyTable",
];

type Smps = BTreeMap<String, (u64, u64)>;

#[expect(
    clippy::print_stdout,
    reason = "figures are half of what these tests are for"
)]
fn tell(figures: &str) {
    println!("{figures}");
}

/// Managers, and the load.
struct Site {
    pair: SmPair,
    witness: PathQueryClient,
    /// The client that registers, built.
    registrar: String,
    registrars: Vec<RegistrationClient>,
    /// What its processes said, by place.
    said: [String; REGISTER.len()],
    started: usize,
    flaps: Option<LinkFlaps>,
}

impl Site {
    /// With copies from node to node.
    fn new(managers: usize) -> Self {
        Self::with(managers, |dir| certified(dir, managers))
    }

    /// Two, with copies through a cluster of etcd.
    fn through(etcd: &Etcd) -> Self {
        let mut members = etcd.endpoints();
        // The first, to which both connect, is one that follows.
        members.rotate_left((etcd.leader() + 1) % 3);
        let keys = format!("fabric = \"tried\"\netcd = {members:?}");
        Self::with(2, |dir| (0..2).for_each(|n| configure(dir, n, &keys)))
    }

    fn with(managers: usize, prepare: impl FnOnce(&Path)) -> Self {
        let pair = SmPair::with_count(managers, prepare);
        pair.assert_master(0);
        let asks = build(&pair.sim, "benches/compare/sa-witness.c");
        let registrar = build(&pair.sim, "clients/registrar.c");
        let witness = PathQueryClient::start(&pair.sim, &asks, ASKS);
        Self {
            pair,
            witness,
            registrar,
            registrars: Vec::new(),
            said: Default::default(),
            started: 0,
            flaps: None,
        }
    }

    /// Hosts register from now on; all of them have been told something.
    fn register(&mut self, what: &str) {
        // Not the numbers of those before.
        let first = self.started * 10_000;
        self.started += 1;
        let start = |node: &&str| {
            RegistrationClient::start(&self.pair.sim, &self.registrar, node, first, what)
        };
        self.registrars = REGISTER.iter().map(start).collect();
        self.wait_acknowledged(self.master_lid());
    }

    /// Waits until the subnet administration at a LID has acknowledged something to each host that registers.
    fn wait_acknowledged(&self, lid: u16) {
        self.wait_acknowledged_more(lid, &[0; REGISTER.len()]);
    }

    fn acknowledged(&self, lid: u16) -> Vec<usize> {
        let told = self.registrars.iter().map(|r| r.acknowledged_by(lid));
        told.collect()
    }

    /// The same, beyond what they had been told.
    fn wait_acknowledged_more(&self, lid: u16, before: &[usize]) {
        let found = poll_until(GUARD, PAUSE, || {
            let told = self.acknowledged(lid);
            let is_it = told.iter().zip(before).all(|(n, was)| *n >= was + 20);
            is_it
                .then_some(())
                .ok_or_else(|| format!("by {lid}: {told:?}"))
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    fn wait_flapped(&self, times: usize) {
        let Some(flaps) = &self.flaps else { return };
        let until = flaps.cycles() + times;
        let found = poll_until(GUARD, PAUSE, || {
            let is_it = flaps.cycles() >= until;
            is_it
                .then_some(())
                .ok_or_else(|| "no cable flaps".to_owned())
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Hosts register no longer, and what they said is kept.
    fn stop_registering(&mut self) {
        for (said, registrar) in self.said.iter_mut().zip(self.registrars.drain(..)) {
            *said += &registrar.end();
        }
    }

    fn master_lid(&self) -> u16 {
        let said = poll_until(GUARD, PAUSE, || self.pair.sim.sm_info(CLIENT));
        said.unwrap_or_else(|why| panic!("{why}")).lid
    }

    /// The LID of a manager's port, as the device has it.
    fn lid_of(&self, n: usize) -> u16 {
        let log = self.pair.log(n);
        let mut words = log.split_whitespace();
        let guid = words.find_map(|word| word.strip_prefix("port_guid="));
        let lids = self.pair.sim.tell("lids");
        let own = |line: &&str| guid.is_some_and(|guid| line.starts_with(guid));
        let line = lids.lines().find(own);
        let lid = line.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        lid.unwrap_or_else(|| panic!("no LID of {guid:?}: {lids}"))
    }

    /// Of all that run, one says that it is master, and it is this one.
    fn assert_only_master(&self, n: usize) {
        self.pair.assert_master(n);
        for other in self.pair.running() {
            let lid = self.lid_of(other);
            // A cable that was cut just now may have been on the way; and whoever waits for a copy says for ten seconds that it discovers.
            let found = poll_until(GUARD, PAUSE, || {
                let said = self.pair.sim.sm_info_of(CLIENT, lid)?;
                let is_master = said.state == "SMINFO_MASTER";
                if is_master && other != n {
                    panic!("a second master: {said:?}");
                }
                let is_it = is_master || other != n && said.state == "SMINFO_STANDBY";
                is_it.then_some(()).ok_or_else(|| format!("{said:?}"))
            });
            found.unwrap_or_else(|why| panic!("{other}: {why}"));
        }
    }

    /// The master dies, under whatever load there is; the next one has the subnet, all hosts have been told something by it, and cables
    /// have flapped further.
    fn kill(&mut self, dead: usize, heir: usize, what: &str) -> Smps {
        let (old, new) = (self.lid_of(dead), self.lid_of(heir));
        let sim = &self.pair.sim;
        let asked = self.witness.answers().len();
        let before = count_smps(sim);
        let began = Instant::now();
        self.pair.end(dead, Signal::Kill);
        self.pair.wait(heir, FROM_COPY, 1);
        let taken = began.elapsed();
        let answered = poll_until(GUARD, PAUSE, || {
            let answers = self.witness.answers();
            let found = answers.iter().any(|(_, lid)| *lid == new);
            found
                .then_some(())
                .ok_or_else(|| "no answers to paths".to_owned())
        });
        answered.unwrap_or_else(|why| panic!("{why}: {}", self.pair.log(heir)));
        self.wait_acknowledged(new);
        self.wait_flapped(2);
        self.pair.wait(heir, "role=Master", 1);
        let spent: Smps = count_smps(&self.pair.sim)
            .into_iter()
            .map(|(name, (gets, sets))| {
                let (g, s) = before.get(&name).copied().unwrap_or_default();
                (name, (gets - g, sets - s))
            })
            .filter(|(_, spent)| *spent != (0, 0))
            .collect();
        let answers = self.witness.answers();
        assert!(answers.len() > asked);
        let of_old = answers.iter().rposition(|(_, lid)| *lid == old);
        let first = of_old.and_then(|at| Some((answers[at].0, answers.get(at + 1)?.0)));
        let silent = first.map(|(last, next)| next - last);
        let longest = answers.windows(2).map(|w| w[1].0 - w[0].0);
        let longest = longest.fold(0.0, f64::max);
        assert!(
            silent.is_some_and(|silent| silent < SILENT_S),
            "{what}: {silent:?} s without an answer"
        );
        tell(&format!(
            "{what}: taken over after {taken:?}; without a path answer {silent:.3?} s (longest of all {longest:.3} s, {} answers)",
            answers.len()
        ));
        tell(&format!("{what}: SMPs (Gets, Sets) {spent:?}"));
        spent
    }

    /// What the hosts were told is so, by the word of a host that had no part in it.
    fn assert_nothing_lost(&self, what: &str) {
        let mut ledger = RegistrationLog::default();
        for said in &self.said {
            ledger.add(said);
        }
        let there = poll_until(GUARD, PAUSE, || query_registrations(&self.pair.sim, CLIENT));
        let there = there.unwrap_or_else(|why| panic!("{why}"));
        let (lost, returned) = ledger.differences(&there);
        tell(&format!(
            "{what}: {} changes acknowledged, {} refused; {} registrations stand, {} lost, {} came back that were withdrawn",
            ledger.acknowledged,
            ledger.refused,
            ledger.registered_count(),
            lost.len(),
            returned.len()
        ));
        let logs: Vec<String> = self
            .pair
            .running()
            .iter()
            .map(|n| self.pair.log(*n))
            .collect();
        assert!(
            ledger.registered_count() >= REGISTER.len() * 10,
            "too little to lose"
        );
        assert!(lost.is_empty(), "lost: {lost:?}\n{}", logs.join("\n--\n"));
        assert!(
            returned.is_empty(),
            "came back: {returned:?}\n{}",
            logs.join("\n--\n")
        );
        assert!(
            ledger.unexpected_refusals.is_empty(),
            "{:?}",
            ledger.unexpected_refusals
        );
    }

    /// Waits until no table was written for some time.
    fn wait_quiet(&self) {
        let sets = || {
            TABLES.map(|name| {
                count_smps(&self.pair.sim)
                    .get(name)
                    .copied()
                    .unwrap_or_default()
                    .1
            })
        };
        let (mut last, mut since) = (sets(), Instant::now());
        let found = poll_until(GUARD, PAUSE, || {
            let now = sets();
            if now != last {
                (last, since) = (now, Instant::now());
            }
            let is_quiet = since.elapsed() >= QUIET;
            is_quiet
                .then_some(())
                .ok_or_else(|| "tables are written".to_owned())
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Hosts register and cables flap from now on.
    fn load(&mut self) {
        self.flaps = Some(LinkFlaps::start(&self.pair.sim, &CABLES));
        self.register("joins");
        self.wait_flapped(1);
    }

    /// The load ends; this one is master, and has all that hosts were told.
    fn settle(&mut self, master: usize, what: &str) {
        self.stop_registering();
        if let Some(flaps) = self.flaps.take() {
            flaps.end();
        }
        self.assert_only_master(master);
        self.assert_nothing_lost(what);
    }
}

/// Masters die one after the other under full load, until one manager is left.
fn masters_die(managers: usize) {
    let mut site = Site::new(managers);
    for heir in 1..managers {
        let what = format!("{managers} managers, {heir} dead");
        site.load();
        if heir > 1 {
            // Only what somebody else has can be inherited.
            site.pair.wait(heir, WHOLE, heir);
        }
        drop(site.kill(heir - 1, heir, &what));
        site.settle(heir, &what);
    }
}

/// The same through etcd.
#[test]
fn master_killed_under_load_loses_no_record_with_etcd() {
    let etcd = Etcd::new(3);
    let mut site = Site::through(&etcd);
    site.load();
    drop(site.kill(0, 1, "etcd"));
    site.settle(1, "etcd");
}

/// A member of etcd dies first, the one that leads the others: what hosts are told waits for it, and nothing of it is lost.
#[test]
fn master_and_etcd_member_killed_under_load_lose_no_record() {
    let mut etcd = Etcd::new(3);
    let mut site = Site::through(&etcd);
    site.load();
    let lid = site.master_lid();
    etcd.kill(etcd.leader());
    // The others have elected one of them, and the master has found it.
    let before = site.acknowledged(lid);
    site.wait_acknowledged_more(lid, &before);
    // Their votes may be split for seconds. Then the master has acknowledged alone, with an alarm, until it had them again.
    let alarms = site.pair.log(0).matches(ALARM).count();
    site.pair.wait(0, RESTORED, alarms);
    let before = site.acknowledged(lid);
    site.wait_acknowledged_more(lid, &before);
    site.pair.assert_master(0);
    assert!(
        !site.pair.log(1).contains("role changed role=Master"),
        "{}",
        site.pair.log(1)
    );
    drop(site.kill(0, 1, "etcd without a member"));
    site.settle(1, "etcd without a member");
}

/// Without any etcd the fabric is served as before, by the same master. That nobody has a copy is an alarm.
#[test]
fn sa_load_is_served_without_etcd() {
    let mut etcd = Etcd::new(3);
    let mut site = Site::through(&etcd);
    site.load();
    let lid = site.master_lid();
    etcd.kill_all();
    site.pair.wait(0, ALARM, 1);
    let before = site.acknowledged(lid);
    site.wait_acknowledged_more(lid, &before);
    site.wait_flapped(2);
    site.settle(0, "etcd gone");
    let [first, second] = [0, 1].map(|n| site.pair.log(n));
    assert_eq!(first.matches("role changed").count(), 1, "{first}");
    assert!(!second.contains("role changed role=Master"), "{second}");
}

/// Nothing that two managers acknowledged is lost when the master is killed.
#[test]
fn master_killed_under_load_loses_no_record() {
    masters_die(2);
}

/// Nor when the one that took over is killed, too.
#[test]
fn two_masters_killed_under_load_lose_no_record() {
    masters_die(3);
}

/// With no cable flapping and nobody joining, only paths asked for and services registered, the new master writes no tables.
#[test]
fn new_master_on_an_unchanged_fabric_writes_no_tables() {
    let mut site = Site::new(2);
    site.register("joins");
    site.stop_registering();
    site.wait_quiet();
    let lids = site.pair.sim.tell("lids");
    site.register("services");
    let spent = site.kill(0, 1, "calm");
    site.stop_registering();
    site.assert_only_master(1);
    site.assert_nothing_lost("calm");
    site.pair.assert_no_tables_written(1);
    for name in TABLES {
        let sets = spent.get(name).map_or(0, |(_, sets)| *sets);
        assert_eq!(sets, 0, "{name}: {spent:?}");
    }
    assert_eq!(site.pair.sim.tell("lids"), lids);
}
