//! Two real ferrosm SMs that replicate through a real etcd cluster of three members, on a fabric of `ferrosm sim`.
//!
//! No test sleeps: all waits poll with a limit that is reached only on failure. The measured times are printed.

use std::path::Path;
use std::time::{Duration, Instant};

use ferrosm_tests::clients::Clients;
use ferrosm_tests::diags::{Net, Tables};
use ferrosm_tests::etcd::Etcd;
use ferrosm_tests::process::{Signal, poll_until};
use ferrosm_tests::script::{Script, joins, offers, subscribes};
use ferrosm_tests::sm_pair::{ALARM, CLIENT, GUARD, RESTORED, SmPair, configure};

const PAUSE: Duration = Duration::from_millis(20);
/// An alarm releases a reply after one second.
const REPLY_MS: u32 = 3000;
const LEASE_LOST: &str = "etcd lease lost";
const FROM_COPY: &str = "restored view used until the first sweep completes";
const DEPOSED: &str = "replaced by another master";
const BEHIND: &str = "replica out of sync";
const WHOLE: &str = "replica in sync";

/// Two SMs with an etcd cluster, and a host that registers.
struct Site {
    pair: SmPair,
    etcd: Etcd,
    script: Script,
    /// GUID of the host's port.
    guid: u64,
}

impl Site {
    fn new() -> Self {
        let etcd = Etcd::new(3);
        let mut members = etcd.endpoints();
        // Both connect to the first member first; it is a follower.
        members.rotate_left((etcd.leader() + 1) % 3);
        let pair = SmPair::new(|dir: &Path| {
            for n in 0..2 {
                configure(dir, n, &format!("fabric = \"tried\"\netcd = {members:?}"));
            }
        });
        pair.assert_master(0);
        let script = Script::build(&pair.sim);
        let said = pair.sim.run_at(CLIENT, "saquery", &["-G", CLIENT]);
        let said = said.expect_success().stdout;
        let digits = said.trim().trim_start_matches("0x");
        let guid = u64::from_str_radix(digits, 16).unwrap_or_else(|e| panic!("{said}: {e}"));
        Self {
            pair,
            etcd,
            script,
            guid,
        }
    }

    fn ask(&self, args: &[&str]) -> String {
        let said = self.pair.sim.run_at(CLIENT, "saquery", args);
        said.expect_success().stdout
    }

    /// LID of the master, as the host's PortInfo has it.
    fn sm(&self) -> String {
        let said = self.pair.sim.run_at(CLIENT, "sminfo", &[]);
        let said = said.expect_success().stdout;
        let mut words = said.split_whitespace().skip_while(|word| *word != "lid");
        words.nth(1).unwrap_or_else(|| panic!("{said}")).to_owned()
    }

    /// The host joins, creates a group, registers a service and subscribes, until the SA has acknowledged all of it.
    fn register(&self) {
        let (sm, guid) = (self.sm(), self.guid);
        let lines = joins(&sm, guid) + &offers(&sm, guid, "example") + &subscribes(&sm);
        self.until_acknowledged(&lines);
        self.has("-S", 1);
        self.has("-I", 1);
        self.has("-g", 2);
    }

    /// Registers another service, repeated until the SA acknowledges it. A query may show a registration before it is durable; the SA
    /// acknowledges it when it is durable, or after an alarm.
    fn offer(&self, name: &str, then: usize) {
        let line = offers(&self.sm(), self.guid, name);
        self.until_acknowledged(&line);
        self.has("-S", then);
    }

    /// Sends these registrations until the SA has acknowledged all of them.
    fn until_acknowledged(&self, lines: &str) {
        let acknowledged = poll_until(GUARD, PAUSE, || {
            let sim = &self.pair.sim;
            let done = self.script.is_acknowledged(sim, CLIENT, lines, REPLY_MS);
            done.then_some(())
                .ok_or_else(|| "not acknowledged".to_owned())
        });
        acknowledged.unwrap_or_else(|why| panic!("{why}: {lines}"));
    }

    /// Waits until the SA returns `count` records of a kind.
    fn has(&self, kind: &str, count: usize) {
        let found = poll_until(GUARD, PAUSE, || self.are_there(kind, count));
        found.unwrap_or_else(|why| panic!("{count} of {kind}: {why}"));
    }

    /// Checks the number of records; the error is saquery's output. The SA does not reply while the master verifies its role, so the
    /// query is repeated.
    fn are_there(&self, kind: &str, count: usize) -> Result<(), String> {
        let said = self.pair.sim.run_at(CLIENT, "saquery", &[kind]);
        if !said.status.success() {
            return Err(said.describe());
        }
        let is_it = said.stdout.matches(" dump:").count() >= count;
        is_it.then_some(()).ok_or(said.stdout)
    }

    /// All records that hosts have registered, as the SA returns them.
    fn registered(&self) -> [String; 4] {
        ["-g", "-m", "-S", "-I"].map(|kind| self.ask(&[kind]))
    }

    /// LIDs and forwarding tables, as the devices report them.
    fn fabric(&self) -> (Net, Tables) {
        let net = self.pair.sim.net();
        let tables = self.pair.sim.tables();
        (
            net.unwrap_or_else(|e| panic!("{e}")),
            tables.unwrap_or_else(|e| panic!("{e}")),
        )
    }

    /// The first SM is still master, and the other never took over.
    fn assert_quiet(&self) {
        assert_eq!(self.count(0, "role changed"), 1, "{}", self.pair.log(0));
        assert_eq!(self.count(0, DEPOSED), 0, "{}", self.pair.log(0));
        // It may have verified its role, if etcd was slow to confirm the lease.
        assert_eq!(
            self.count(1, "role changed role=Master"),
            0,
            "{}",
            self.pair.log(1)
        );
    }

    fn count(&self, n: usize, what: &str) -> usize {
        self.pair.log(n).matches(what).count()
    }
}

/// The master is killed and the SM with the replica takes over; nothing else on the fabric changes.
#[test]
fn standby_replaces_killed_master_without_losing_records() {
    let mut site = Site::new();
    site.register();
    let (registered, fabric) = (site.registered(), site.fabric());
    let began = Instant::now();
    site.pair.end(0, Signal::Kill);
    site.pair.wait(1, FROM_COPY, 1);
    let answers = began.elapsed();
    site.pair.assert_master(1);
    let asked = began.elapsed();
    println!("master killed: replies after {answers:?}, lease expiry detected after {asked:?}");
    // The standby detects the death by the expired lease. It detects it by polling only if etcd is too slow on a busy machine.
    let log = site.pair.log(1);
    let by_lease = log.contains("master silent");
    assert!(by_lease || log.contains("etcd at"), "{log}");
    assert_eq!(site.registered(), registered);
    site.pair.wait(1, "role=Master", 1);
    site.pair.assert_no_tables_written(1);
    assert_eq!(site.fabric(), fabric);
}

/// An SM that was down while another accepted registrations, and that starts after the other's death, restores its state from etcd.
#[test]
fn sm_that_starts_alone_restores_records_from_etcd() {
    let mut site = Site::new();
    site.register();
    site.pair.end(1, Signal::Kill);
    site.offer("further", 2);
    let (registered, fabric) = (site.registered(), site.fabric());
    site.pair.end(0, Signal::Kill);
    let began = Instant::now();
    site.pair.start(1);
    site.pair.wait(1, "role=Master", 1);
    site.pair.assert_master(1);
    println!("started alone: master after {:?}", began.elapsed());
    assert_eq!(site.registered(), registered);
    assert_eq!(site.fabric(), fabric);
}

/// The etcd member to which both SMs are connected dies, without effect. Then the leader dies, and the election takes longer than a
/// lease: there is still no failover, and replication continues, as the next failover shows.
#[test]
fn loss_of_one_etcd_member_changes_nothing() {
    let mut site = Site::new();
    site.register();
    let fabric = site.fabric();
    let sweeps = site.count(0, "sweep complete");
    let leader = site.etcd.leader();
    site.etcd.kill((leader + 1) % 3);
    let began = Instant::now();
    site.offer("further", 2);
    let answered = began.elapsed();
    site.pair.wait(1, WHOLE, 2);
    let whole = began.elapsed();
    println!("member killed: reply after {answered:?}, standby in sync after {whole:?}");
    site.pair.assert_master(0);
    site.assert_quiet();
    for what in [LEASE_LOST, ALARM] {
        assert_eq!(site.count(0, what), 0, "{}", site.pair.log(0));
    }
    assert_eq!(
        site.count(0, "sweep complete"),
        sweeps,
        "{}",
        site.pair.log(0)
    );

    site.etcd.start();
    let leader = site.etcd.leader();
    let copies = site.count(1, WHOLE);
    site.etcd.kill(leader);
    let began = Instant::now();
    site.offer("good", 3);
    let answered = began.elapsed();
    site.pair.wait(1, WHOLE, copies + 1);
    let whole = began.elapsed();
    println!("leader killed: reply after {answered:?}, standby in sync after {whole:?}");
    site.pair.assert_master(0);
    site.assert_quiet();
    // A replica may be unavailable briefly but must become available again.
    let alarms = site.count(0, ALARM);
    site.pair.wait(0, RESTORED, alarms);
    assert_eq!(site.fabric(), fabric);

    let registered = site.registered();
    site.pair.end(0, Signal::Kill);
    site.pair.wait(1, FROM_COPY, 1);
    site.pair.assert_master(1);
    assert_eq!(site.registered(), registered);
}

/// Without etcd the SM continues to serve the fabric and raises one alarm. When etcd is back, the replica is complete again, as the
/// next failover shows.
#[test]
fn fabric_is_served_without_etcd() {
    let mut site = Site::new();
    site.register();
    let fabric = site.fabric();
    site.etcd.kill_all();
    let began = Instant::now();
    site.pair.wait(0, ALARM, 1);
    println!("etcd killed: alarm after {:?}", began.elapsed());
    site.pair.wait(1, BEHIND, 1);
    // `replica out of sync` is logged after the standby has queried the master without a reply for longer than a lease.
    site.pair.assert_master(0);
    site.offer("further", 2);
    site.pair.assert_master(0);
    assert_eq!(site.fabric(), fabric);
    let registered = site.registered();
    let began = Instant::now();
    site.etcd.start();
    let served = began.elapsed();
    site.pair.wait(0, RESTORED, 1);
    let restored = began.elapsed();
    site.pair.wait(1, WHOLE, 2);
    let whole = began.elapsed();
    println!(
        "etcd restarted after {served:?}: protected after {restored:?}, replica in sync after {whole:?}"
    );
    site.pair.assert_master(0);
    assert_eq!(site.count(0, ALARM), 1, "{}", site.pair.log(0));
    assert_eq!(site.count(0, RESTORED), 1, "{}", site.pair.log(0));
    site.assert_quiet();
    site.pair.end(0, Signal::Kill);
    site.pair.wait(1, FROM_COPY, 1);
    site.pair.assert_master(1);
    assert_eq!(site.registered(), registered);
    assert_eq!(site.fabric(), fabric);
}

/// All etcd members hang, for longer than a lease and for exactly a lease: there is no failover, no sweep, and the fabric is unchanged.
#[test]
fn hanging_etcd_causes_no_failover() {
    let site_sweeps = |site: &Site| site.count(0, "local=false");
    let mut site = Site::new();
    site.register();
    let (registered, fabric) = (site.registered(), site.fabric());
    for long in [true, false] {
        let (lost, alarms) = (site.count(0, LEASE_LOST), site.count(0, ALARM));
        let (copies, sweeps) = (site.count(1, WHOLE), site_sweeps(&site));
        let behind = site.count(1, BEHIND);
        site.etcd.signal_all(Signal::Stop);
        site.pair.wait(0, LEASE_LOST, lost + 1);
        if long {
            site.pair.wait(0, ALARM, alarms + 1);
        }
        site.pair.wait(1, BEHIND, behind + 1);
        site.etcd.signal_all(Signal::Continue);
        let began = Instant::now();
        site.pair.wait(1, WHOLE, copies + 1);
        println!(
            "hung ({}): copied again after {:?}",
            if long { "until the alarm" } else { "a lease" },
            began.elapsed()
        );
        site.pair.assert_master(0);
        site.assert_quiet();
        let alarms = site.count(0, ALARM);
        site.pair.wait(0, RESTORED, alarms);
        assert_eq!(site_sweeps(&site), sweeps, "{}", site.pair.log(0));
    }
    assert_eq!(site.registered(), registered);
    assert_eq!(site.fabric(), fabric);
    site.pair.end(0, Signal::Kill);
    site.pair.wait(1, FROM_COPY, 1);
    site.pair.assert_master(1);
    assert_eq!(site.registered(), registered);
}

/// A stalled master is replaced. When it resumes, it verifies its role before any write, stands by and replicates. It has the lower
/// priority, because a higher one would make it master again.
#[test]
fn stalled_master_writes_nothing_after_losing_its_lease() {
    let mut site = Site::new();
    site.register();
    let fabric = site.fabric();
    let state = site.pair.sim.dir().join("state0").display().to_string();
    let done = site.pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    drop(done.expect_success());
    site.pair.assert_master(1);
    site.pair.wait(0, WHOLE, 1);
    let began = Instant::now();
    site.pair.signal(1, Signal::Stop);
    site.pair.wait(0, FROM_COPY, 1);
    let answers = began.elapsed();
    site.pair.assert_master(0);
    println!(
        "master stopped: replies after {answers:?}, lease expiry detected after {:?}",
        began.elapsed()
    );
    site.offer("further", 2);
    let registered = site.registered();
    let before = site.pair.log(1);
    let began = Instant::now();
    site.pair.signal(1, Signal::Continue);
    site.pair.wait(1, WHOLE, before.matches(WHOLE).count() + 1);
    println!(
        "master resumed: replica in sync after {:?}",
        began.elapsed()
    );
    let log = site.pair.log(1);
    let since = log.strip_prefix(&before).unwrap_or(&log);
    assert!(!since.contains("role=Master"), "{log}");
    assert!(since.contains("role changed role=Standby"), "{log}");
    assert!(!since.contains("role changed role=Master"), "{log}");
    site.pair.assert_master(0);
    assert_eq!(site.registered(), registered);
    assert_eq!(site.fabric(), fabric);
}
