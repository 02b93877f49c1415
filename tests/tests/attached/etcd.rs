//! Two real ferrosm SMs that replicate through a real etcd cluster of three members, on a fabric of
//! `ferrosm sim`.
//!
//! No test sleeps: all waits poll with a limit that is reached only on failure. The measured times
//! are printed.

use std::path::Path;
use std::time::{Duration, Instant};

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, Tables};
use ferrosm_tests::programs::etcd::Etcd;
use ferrosm_tests::programs::process::{Signal, poll_until};
use ferrosm_tests::programs::script::{Script, join_group, register_service, subscribe};
use ferrosm_tests::programs::sm_pair::{ALARM, CLIENT, GUARD, RESTORED, SmPair, configure};

const PAUSE: Duration = Duration::from_millis(20);
/// An alarm releases a reply after one second.
const REPLY_MS: u32 = 3000;
const LEASE_LOST: &str = "etcd lease lost";
const RESTORED_VIEW: &str = "SA replies from restored view";
const DEPOSED: &str = "replaced by another master";
const OUT_OF_SYNC: &str = "replica out of sync";
const IN_SYNC: &str = "replica in sync";

/// Two SMs with an etcd cluster, and a host that registers.
struct EtcdPair {
    pair: SmPair,
    etcd: Etcd,
    script: Script,
    /// GUID of the host's port.
    guid: u64,
}

impl EtcdPair {
    fn new() -> Self {
        let etcd = Etcd::new(3);
        let mut members = etcd.endpoints();
        // Both connect to the first member first; it is a follower.
        members.rotate_left((etcd.leader() + 1) % 3);
        let pair = SmPair::new(|dir: &Path| {
            for n in 0..2 {
                configure(dir, n, &format!("fabric = \"test\"\netcd = {members:?}"));
            }
        });
        pair.assert_master(0);
        let script = Script::build(&pair.sim);
        let output = pair.sim.run_at(CLIENT, "saquery", &["-G", CLIENT]);
        let output = output.expect_success().stdout;
        let digits = output.trim().trim_start_matches("0x");
        let guid = u64::from_str_radix(digits, 16).unwrap_or_else(|e| panic!("{output}: {e}"));
        Self {
            pair,
            etcd,
            script,
            guid,
        }
    }

    fn saquery(&self, args: &[&str]) -> String {
        let output = self.pair.sim.run_at(CLIENT, "saquery", args);
        output.expect_success().stdout
    }

    /// LID of the master, as the host's PortInfo has it.
    fn sm(&self) -> String {
        let output = self.pair.sim.run_at(CLIENT, "sminfo", &[]);
        let output = output.expect_success().stdout;
        let mut words = output.split_whitespace().skip_while(|word| *word != "lid");
        words
            .nth(1)
            .unwrap_or_else(|| panic!("{output}"))
            .to_owned()
    }

    /// The host joins, creates a group, registers a service and subscribes, until the SA has
    /// acknowledged all of it.
    fn register(&self) {
        let sm = self.sm();
        let guid = self.guid;
        let lines =
            join_group(&sm, guid) + &register_service(&sm, guid, "example") + &subscribe(&sm);
        self.send_until_acknowledged(&lines);
        self.wait_for_records("-S", 1);
        self.wait_for_records("-I", 1);
        self.wait_for_records("-g", 2);
    }

    /// Registers another service, repeated until the SA acknowledges it; there are `count` services
    /// then. A query may show a registration before it is durable; the SA acknowledges it when it
    /// is durable, or after an alarm.
    fn offer(&self, name: &str, count: usize) {
        let line = register_service(&self.sm(), self.guid, name);
        self.send_until_acknowledged(&line);
        self.wait_for_records("-S", count);
    }

    /// Sends these registrations until the SA has acknowledged all of them.
    fn send_until_acknowledged(&self, lines: &str) {
        let acknowledged = poll_until(GUARD, PAUSE, || {
            let sim = &self.pair.sim;
            let done = self.script.is_acknowledged(sim, CLIENT, lines, REPLY_MS);
            done.then_some(())
                .ok_or_else(|| "not acknowledged".to_owned())
        });
        acknowledged.unwrap_or_else(|error| panic!("{error}: {lines}"));
    }

    /// Waits until the SA returns `count` records of a kind.
    fn wait_for_records(&self, kind: &str, count: usize) {
        let outcome = poll_until(GUARD, PAUSE, || self.check_records(kind, count));
        outcome.unwrap_or_else(|error| panic!("{count} of {kind}: {error}"));
    }

    /// Checks the number of records; the error is saquery's output. The SA does not reply while the
    /// master verifies its role, so the query is repeated.
    fn check_records(&self, kind: &str, count: usize) -> Result<(), String> {
        let output = self.pair.sim.run_at(CLIENT, "saquery", &[kind]);
        if !output.status.success() {
            return Err(output.describe());
        }
        let complete = output.stdout.matches(" dump:").count() >= count;
        complete.then_some(()).ok_or(output.stdout)
    }

    /// All records that hosts have registered, as the SA returns them.
    fn registered(&self) -> [String; 4] {
        ["-g", "-m", "-S", "-I"].map(|kind| self.saquery(&[kind]))
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
    fn assert_no_failover(&self) {
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

    fn count(&self, n: usize, description: &str) -> usize {
        self.pair.log(n).matches(description).count()
    }
}

/// The master is killed and the SM with the replica takes over; nothing else on the fabric changes.
#[test]
fn standby_replaces_killed_master_without_losing_records() {
    let mut setup = EtcdPair::new();
    setup.register();
    let registered = setup.registered();
    let fabric = setup.fabric();
    let began = Instant::now();
    setup.pair.terminate(0, Signal::Kill);
    setup.pair.wait(1, RESTORED_VIEW, 1);
    let loaded = began.elapsed();
    setup.pair.assert_master(1);
    let confirmed = began.elapsed();
    println!(
        "master killed: replica loaded after {loaded:?}, master per sminfo after {confirmed:?}"
    );
    // The standby detects the death by the expired lease. It detects it by polling only if etcd is
    // too slow on a busy machine.
    let log = setup.pair.log(1);
    let by_lease = log.contains("master silent");
    assert!(by_lease || log.contains("etcd at"), "{log}");
    assert_eq!(setup.registered(), registered);
    setup.pair.wait(1, "role=Master", 1);
    setup.pair.assert_no_tables_written(1);
    assert_eq!(setup.fabric(), fabric);
}

/// An SM that was down while another accepted registrations, and that starts after the other's
/// death, restores its state from etcd.
#[test]
fn sm_that_starts_alone_restores_records_from_etcd() {
    let mut setup = EtcdPair::new();
    setup.register();
    setup.pair.terminate(1, Signal::Kill);
    setup.offer("further", 2);
    let registered = setup.registered();
    let fabric = setup.fabric();
    setup.pair.terminate(0, Signal::Kill);
    let began = Instant::now();
    setup.pair.start(1);
    setup.pair.wait(1, "role=Master", 1);
    setup.pair.assert_master(1);
    println!("started alone: master after {:?}", began.elapsed());
    assert_eq!(setup.registered(), registered);
    assert_eq!(setup.fabric(), fabric);
}

/// The etcd member to which both SMs are connected dies, without effect. Then the leader dies, and
/// the election takes longer than a lease: there is still no failover, and replication continues,
/// as the next failover shows.
#[test]
fn loss_of_one_etcd_member_changes_nothing() {
    let mut setup = EtcdPair::new();
    setup.register();
    let fabric = setup.fabric();
    let sweeps = setup.count(0, "sweep complete");
    let leader = setup.etcd.leader();
    setup.etcd.kill((leader + 1) % 3);
    let began = Instant::now();
    setup.offer("further", 2);
    let answered = began.elapsed();
    setup.pair.wait(1, IN_SYNC, 2);
    let total = began.elapsed();
    println!("member killed: reply after {answered:?}, standby in sync after {total:?}");
    setup.pair.assert_master(0);
    setup.assert_no_failover();
    for text in [LEASE_LOST, ALARM] {
        assert_eq!(setup.count(0, text), 0, "{}", setup.pair.log(0));
    }
    assert_eq!(
        setup.count(0, "sweep complete"),
        sweeps,
        "{}",
        setup.pair.log(0)
    );

    setup.etcd.start();
    let leader = setup.etcd.leader();
    let in_sync = setup.count(1, IN_SYNC);
    setup.etcd.kill(leader);
    let began = Instant::now();
    setup.offer("good", 3);
    let answered = began.elapsed();
    setup.pair.wait(1, IN_SYNC, in_sync + 1);
    let total = began.elapsed();
    println!("leader killed: reply after {answered:?}, standby in sync after {total:?}");
    setup.pair.assert_master(0);
    setup.assert_no_failover();
    // A replica may be unavailable briefly but must become available again.
    let alarms = setup.count(0, ALARM);
    setup.pair.wait(0, RESTORED, alarms);
    assert_eq!(setup.fabric(), fabric);

    let registered = setup.registered();
    setup.pair.terminate(0, Signal::Kill);
    setup.pair.wait(1, RESTORED_VIEW, 1);
    setup.pair.assert_master(1);
    assert_eq!(setup.registered(), registered);
}

/// Without etcd the SM continues to serve the fabric and raises one alarm. When etcd is back, the
/// replica is complete again, as the next failover shows.
#[test]
fn fabric_is_served_without_etcd() {
    let mut setup = EtcdPair::new();
    setup.register();
    let fabric = setup.fabric();
    setup.etcd.kill_all();
    let began = Instant::now();
    setup.pair.wait(0, ALARM, 1);
    println!("etcd killed: alarm after {:?}", began.elapsed());
    setup.pair.wait(1, OUT_OF_SYNC, 1);
    // `replica out of sync` is logged after the standby has queried the master without a reply for
    // longer than a lease.
    setup.pair.assert_master(0);
    setup.offer("further", 2);
    setup.pair.assert_master(0);
    assert_eq!(setup.fabric(), fabric);
    let registered = setup.registered();
    let began = Instant::now();
    setup.etcd.start();
    let served = began.elapsed();
    setup.pair.wait(0, RESTORED, 1);
    let restored = began.elapsed();
    setup.pair.wait(1, IN_SYNC, 2);
    let total = began.elapsed();
    println!(
        "etcd restarted after {served:?}: protected after {restored:?}, replica in sync after {total:?}"
    );
    setup.pair.assert_master(0);
    assert_eq!(setup.count(0, ALARM), 1, "{}", setup.pair.log(0));
    assert_eq!(setup.count(0, RESTORED), 1, "{}", setup.pair.log(0));
    setup.assert_no_failover();
    setup.pair.terminate(0, Signal::Kill);
    setup.pair.wait(1, RESTORED_VIEW, 1);
    setup.pair.assert_master(1);
    assert_eq!(setup.registered(), registered);
    assert_eq!(setup.fabric(), fabric);
}

/// All etcd members hang, for longer than a lease and for exactly a lease: there is no failover, no
/// sweep, and the fabric is unchanged.
#[test]
fn hanging_etcd_causes_no_failover() {
    let nonlocal_sweeps = |setup: &EtcdPair| setup.count(0, "scope=\"whole fabric\"");
    let mut setup = EtcdPair::new();
    setup.register();
    let registered = setup.registered();
    let fabric = setup.fabric();
    for long in [true, false] {
        let lost = setup.count(0, LEASE_LOST);
        let alarms = setup.count(0, ALARM);
        let in_sync = setup.count(1, IN_SYNC);
        let sweeps = nonlocal_sweeps(&setup);
        let behind = setup.count(1, OUT_OF_SYNC);
        setup.etcd.signal_all(Signal::Stop);
        setup.pair.wait(0, LEASE_LOST, lost + 1);
        if long {
            setup.pair.wait(0, ALARM, alarms + 1);
        }
        setup.pair.wait(1, OUT_OF_SYNC, behind + 1);
        setup.etcd.signal_all(Signal::Continue);
        let began = Instant::now();
        setup.pair.wait(1, IN_SYNC, in_sync + 1);
        println!(
            "hung ({}): replica in sync after {:?}",
            if long { "until the alarm" } else { "a lease" },
            began.elapsed()
        );
        setup.pair.assert_master(0);
        setup.assert_no_failover();
        let alarms = setup.count(0, ALARM);
        setup.pair.wait(0, RESTORED, alarms);
        assert_eq!(nonlocal_sweeps(&setup), sweeps, "{}", setup.pair.log(0));
    }
    assert_eq!(setup.registered(), registered);
    assert_eq!(setup.fabric(), fabric);
    setup.pair.terminate(0, Signal::Kill);
    setup.pair.wait(1, RESTORED_VIEW, 1);
    setup.pair.assert_master(1);
    assert_eq!(setup.registered(), registered);
}

/// A stalled master is replaced. When it resumes, it verifies its role before any write, stands by
/// and replicates. It has the lower priority, because a higher one would make it master again.
#[test]
fn stalled_master_writes_nothing_after_losing_its_lease() {
    let mut setup = EtcdPair::new();
    setup.register();
    let fabric = setup.fabric();
    let state = setup.pair.sim.dir().join("state0").display().to_string();
    let done = setup.pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    drop(done.expect_success());
    setup.pair.assert_master(1);
    setup.pair.wait(0, IN_SYNC, 1);
    let began = Instant::now();
    setup.pair.signal(1, Signal::Stop);
    setup.pair.wait(0, RESTORED_VIEW, 1);
    let loaded = began.elapsed();
    setup.pair.assert_master(0);
    println!(
        "master stopped: replica loaded after {loaded:?}, master per sminfo after {:?}",
        began.elapsed()
    );
    setup.offer("further", 2);
    let registered = setup.registered();
    let before = setup.pair.log(1);
    let began = Instant::now();
    setup.pair.signal(1, Signal::Continue);
    setup
        .pair
        .wait(1, IN_SYNC, before.matches(IN_SYNC).count() + 1);
    println!(
        "master resumed: replica in sync after {:?}",
        began.elapsed()
    );
    let log = setup.pair.log(1);
    let since = log.strip_prefix(&before).unwrap_or(&log);
    assert!(!since.contains("role=Master"), "{log}");
    assert!(since.contains("role changed role=Standby"), "{log}");
    assert!(!since.contains("role changed role=Master"), "{log}");
    setup.pair.assert_master(0);
    assert_eq!(setup.registered(), registered);
    assert_eq!(setup.fabric(), fabric);
}
