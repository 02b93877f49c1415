//! Election between a real OpenSM and a real ferrosm on one fabric, in both directions: on Debian's
//! ibsim and on `ferrosm sim`.
//!
//! A third host queries both with `sminfo` and, where RMPP transfers are complete, with `saquery`
//! for SMInfoRecords. One case is skipped on ibsim: a higher-priority OpenSM that joins later.
//! There, OpenSM reports MASTER after HANDOVER but never sweeps; on `ferrosm sim` it does.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::process::{Running, Signal, poll_until};
use ferrosm_tests::programs::scratch::unique_name;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// Four switches in a square, one host on each.
const SPEC: &str = "mesh:2,2";
/// Full sweeps of each of two SMs that ignore each other.
const SWEEPS: usize = 5;

/// A host: node description and port GUID.
#[derive(Clone, Copy)]
struct Host(&'static str, u64);

const LOW: Host = Host("host-0-0-0 mlx5_0", 0x0002_c904_0000_0011);
const QUERIER: Host = Host("host-0-1-0 mlx5_0", 0x0002_c904_0000_0031);
const HIGH: Host = Host("host-1-1-0 mlx5_0", 0x0002_c904_0000_0071);
/// In the half of the square without `QUERIER`.
const OTHER_QUERIER: Host = Host("host-1-0-0 mlx5_0", 0x0002_c904_0000_0051);

/// The fabric that the test runs on.
trait Fabric: Clients {
    /// Whether the test also queries the SA. On ibsim's umad ferrosm has no SA, so only `sminfo` is
    /// used there.
    const RECORDS: bool;
}

impl Fabric for Ibsim {
    const RECORDS: bool = false;
}

impl Fabric for FabricServer {
    const RECORDS: bool = true;
}

struct Ferrosm(Running);

impl Ferrosm {
    /// Starts ferrosm with frequent polls, so that it detects the death of a foreign master within
    /// a second.
    fn start(sim: &impl Fabric, at: Host, settings: &str) -> Self {
        let name = unique_name("ours");
        let config = sim.dir().join(format!("{name}.toml"));
        let state = sim.dir().join(format!("{name}.state"));
        let text = format!(
            "[sm]\npoll-interval = \"300ms\"\npoll-retries = 2\n{settings}\n[files]\nstate-dir = \"{}\"\n",
            state.display()
        );
        fs::write(&config, text).unwrap_or_else(|e| panic!("{e}"));
        let config = config.display().to_string();
        Self(sim.spawn_ferrosm(Some(at.0), &["run", "--config", &config]))
    }

    fn wait(&self, description: &str, times: usize) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let log = self.0.stderr();
            (log.matches(description).count() >= times)
                .then_some(())
                .ok_or_else(|| format!("no {description:?} in\n{log}"))
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

fn opensm(sim: &impl Fabric, at: Host, priority: &str, settings: &str) -> OpenSm {
    let file = sim.dir().join(format!("{}.conf", unique_name("opensm")));
    let text = format!("sminfo_polling_timeout 500\npolling_retry_number 2\n{settings}\n");
    fs::write(&file, text).unwrap_or_else(|e| panic!("{e}"));
    OpenSm::start(
        sim,
        Some(at.0),
        &["-F", &file.to_string_lossy(), "-p", priority],
    )
}

/// GUIDs and SMState (3 is Master) of the SMInfoRecords in saquery's output.
fn records(output: &str) -> Vec<(u64, u8)> {
    let mut results = Vec::new();
    let mut guid = None;
    for line in output.lines() {
        let Some((name, value)) = line.trim().split_once("..") else {
            continue;
        };
        let value = value.trim_start_matches('.');
        match name {
            "GUID" => guid = u64::from_str_radix(value.trim_start_matches("0x"), 16).ok(),
            "SMState" => results.extend(guid.take().zip(value.parse().ok())),
            _ => {}
        }
    }
    results
}

/// LID and master SM LID of each port on which an SM runs, as `saquery -s` prints them.
fn ports_with_an_sm(output: &str) -> Vec<(u32, u32)> {
    let output = output.split("IsSMdisabled").next().unwrap_or_default();
    let values = |name: &'static str| {
        output.lines().filter_map(move |line| {
            let value = line.trim().strip_prefix(name)?.trim_start_matches('.');
            value.parse().ok()
        })
    };
    values("base_lid")
        .zip(values("master_sm_base_lid"))
        .collect()
}

/// Waits until `sminfo` and the SMInfoRecords agree that `master` is the only master.
fn assert_master<F: Fabric>(sim: &F, querier: Host, master: Host) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let info = sim.sm_info(querier.0)?;
        if info.guid != master.1 || info.state != "SMINFO_MASTER" {
            return Err(format!("{info:?}"));
        }
        if !F::RECORDS {
            return Ok(());
        }
        let output = sim.run_at(querier.0, "saquery", &["--timeout", "500", "SMIR"]);
        let states = records(&output.stdout);
        let masters: Vec<u64> = states.iter().filter(|r| r.1 == 3).map(|r| r.0).collect();
        if masters != [master.1] {
            return Err(format!("{states:x?} {}", output.describe()));
        }
        // Its port reports an SM (IsSM), and every such port names this SM as master.
        let output = sim.run_at(querier.0, "saquery", &["--timeout", "500", "-s"]);
        let sm_ports = ports_with_an_sm(&output.stdout);
        let lid = u32::from(info.lid);
        if sm_ports.iter().any(|p| p.0 == lid) && sm_ports.iter().all(|p| p.1 == lid) {
            Ok(())
        } else {
            Err(format!("{lid}: {sm_ports:?} {}", output.describe()))
        }
    });
    outcome.unwrap_or_else(|error| panic!("{:#x} is not master: {error}", master.1));
}

/// Waits until the SM at `host`, queried by its LID, reports `state`.
fn assert_state(sim: &impl Fabric, querier: Host, host: Host, state: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let net = sim.net()?;
        let ports = net.hosts().flat_map(|node| {
            let guid = node.guid;
            node.ports
                .iter()
                .map(move |(n, p)| (guid + u64::from(*n), p))
        });
        let lid = ports
            .filter(|(guid, _)| *guid == host.1)
            .map(|(_, p)| p.lid);
        let lid = lid.last().ok_or_else(|| "no such port".to_owned())?;
        let info = sim.sm_info_of(querier.0, lid)?;
        (info.state == state && info.guid == host.1)
            .then_some(())
            .ok_or_else(|| format!("{info:?}"))
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// LID and LMC of each port, as the simulator reports them.
fn lids(sim: &impl Fabric) -> BTreeMap<(u64, u8), (u16, u8)> {
    let lids = sim.net().unwrap_or_else(|error| panic!("{error}")).lids();
    assert!(lids.len() >= 8, "four switches and four hosts: {lids:?}");
    lids
}

/// OpenSM is master and ferrosm stands by. After OpenSM is killed, ferrosm is master and no LID has
/// changed.
fn check_killed_opensm(sim: &impl Fabric) {
    let mut other_sm = opensm(sim, HIGH, "12", "");
    other_sm.wait_until_up(1);
    let ferrosm = Ferrosm::start(sim, LOW, "priority = 3");
    ferrosm.wait("role changed role=Standby", 1);
    assert_master(sim, QUERIER, HIGH);
    let before = lids(sim);
    let _ = other_sm.stop(Signal::Kill);
    ferrosm.wait("role changed role=Master", 1);
    assert_master(sim, QUERIER, LOW);
    assert_eq!(lids(sim), before);
}

/// ferrosm is master and hands over to a higher-priority OpenSM. After OpenSM is killed, ferrosm is
/// master again.
fn check_higher_priority_opensm(sim: &impl Fabric) {
    let ferrosm = Ferrosm::start(sim, LOW, "priority = 3");
    ferrosm.wait("sweep complete", 1);
    assert_master(sim, QUERIER, LOW);
    let before = lids(sim);
    let mut other_sm = opensm(sim, HIGH, "12", "");
    other_sm.wait_until_up(1);
    ferrosm.wait("role changed role=Standby", 1);
    assert_master(sim, QUERIER, HIGH);
    assert_state(sim, QUERIER, LOW, "SMINFO_STANDBY");
    let _ = other_sm.stop(Signal::Kill);
    ferrosm.wait("role changed role=Master", 2);
    assert_master(sim, QUERIER, LOW);
    assert_eq!(lids(sim), before);
}

/// OpenSM is master and hands over to a higher-priority ferrosm. After ferrosm is killed, OpenSM is
/// master again.
fn check_higher_priority_ferrosm(sim: &impl Fabric) {
    let mut other_sm = opensm(sim, HIGH, "3", "");
    other_sm.wait_until_up(1);
    let ferrosm = Ferrosm::start(sim, LOW, "priority = 12");
    ferrosm.wait("role changed role=Master", 1);
    assert_master(sim, QUERIER, LOW);
    assert_state(sim, QUERIER, HIGH, "SMINFO_STANDBY");
    drop(ferrosm.0.stop(Signal::Kill, GUARD));
    other_sm.wait_until_up(2);
    assert_master(sim, QUERIER, HIGH);
}

/// At equal priority the SM with the lower GUID is master, whatever the start order.
fn check_equal_priority(sim: &impl Fabric) {
    let mut other_sm = opensm(sim, HIGH, "5", "");
    other_sm.wait_until_up(1);
    let low = Ferrosm::start(sim, LOW, "priority = 5");
    low.wait("role changed role=Master", 1);
    assert_master(sim, QUERIER, LOW);
    drop(low.0.stop(Signal::Kill, GUARD));
    let _ = other_sm.stop(Signal::Kill);

    let high = Ferrosm::start(sim, HIGH, "priority = 5");
    high.wait("role changed role=Master", 1);
    let mut other_sm = opensm(sim, LOW, "5", "");
    other_sm.wait_until_up(1);
    high.wait("role changed role=Standby", 1);
    assert_master(sim, QUERIER, LOW);
    assert_state(sim, QUERIER, HIGH, "SMINFO_STANDBY");
    // It was not master, so no SM could have taken over.
    let ended = high.0.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    assert!(ended.stderr.contains("stopping"), "{}", ended.stderr);
    assert!(
        !ended.stderr.contains("no SM took over"),
        "{}",
        ended.stderr
    );
}

#[test]
fn ferrosm_replaces_killed_opensm_on_ibsim() {
    check_killed_opensm(&Ibsim::serve(&by_spec(SPEC)));
}

#[test]
fn ferrosm_replaces_killed_opensm_on_ferrosm_sim() {
    check_killed_opensm(&FabricServer::shape(SPEC));
}

/// Not on ibsim: OpenSM requests mastership by trap 144, and ferrosm's TrapRepress does not reach
/// it there (`umad2sim` searches for an agent of class 0x01, OpenSM registers class 0x81). Without
/// a reply timeout OpenSM waits for it until it is killed.
#[test]
fn higher_priority_opensm_becomes_master_and_leaves_on_ferrosm_sim() {
    check_higher_priority_opensm(&FabricServer::shape(SPEC));
}

#[test]
fn higher_priority_ferrosm_becomes_master_and_leaves_on_ibsim() {
    check_higher_priority_ferrosm(&Ibsim::serve(&by_spec(SPEC)));
}

#[test]
fn higher_priority_ferrosm_becomes_master_and_leaves_on_ferrosm_sim() {
    check_higher_priority_ferrosm(&FabricServer::shape(SPEC));
}

#[test]
fn lower_guid_outranks_at_equal_priority_on_ibsim() {
    check_equal_priority(&Ibsim::serve(&by_spec(SPEC)));
}

#[test]
fn lower_guid_outranks_at_equal_priority_on_ferrosm_sim() {
    check_equal_priority(&FabricServer::shape(SPEC));
}

/// Two subnet fragments, each with a master, are joined: the higher-priority SM becomes master of
/// the whole subnet, the other stands by. Before, `sim-ctl judge` checks the part of each master.
#[test]
fn joined_subnet_fragments_elect_one_master() {
    for (own_priority, opensm_priority, master) in [("12", "3", LOW), ("3", "12", HIGH)] {
        let sim = FabricServer::shape(SPEC);
        let cables = ["switch-0-0[2]", "switch-0-1[3]"];
        for cable in cables {
            let _ = sim.execute(&format!("cut {cable}"));
        }
        let ferrosm = Ferrosm::start(&sim, LOW, &format!("priority = {own_priority}"));
        ferrosm.wait("role changed role=Master", 1);
        ferrosm.wait("sweep complete", 1);
        let mut other_sm = opensm(&sim, HIGH, opensm_priority, "");
        other_sm.wait_until_up(1);
        assert_master(&sim, QUERIER, LOW);
        assert_master(&sim, OTHER_QUERIER, HIGH);
        let verdict = sim.execute("judge");
        assert_eq!(verdict.matches("no violations:").count(), 2, "{verdict}");
        for sm in [LOW, HIGH] {
            let checked = format!("checked: all nodes with a cable path to \"{}\"[1]", sm.0);
            assert!(verdict.contains(&checked), "{verdict}");
        }
        assert!(!verdict.contains("that no master SM reaches"), "{verdict}");
        for cable in cables {
            let _ = sim.execute(&format!("restore {cable}"));
        }
        assert_master(&sim, QUERIER, master);
        assert_master(&sim, OTHER_QUERIER, master);
        let other = if master.1 == LOW.1 { HIGH } else { LOW };
        assert_state(&sim, QUERIER, other, "SMINFO_STANDBY");
        drop(other_sm);
    }
}

/// With different SM_Keys neither SM yields. ferrosm raises one alarm, however often both sweep,
/// and does not rewrite the other SM's tables.
#[test]
fn sm_with_another_sm_key_raises_an_alarm() {
    let sim = FabricServer::shape(SPEC);
    let ferrosm = Ferrosm::start(&sim, LOW, "priority = 3");
    ferrosm.wait("sweep complete", 1);
    // OpenSM reconfigures the whole subnet every second.
    let settings = "sm_key 0x0000000000000007\nsweep_interval 1\nforce_heavy_sweep TRUE";
    let mut other_sm = opensm(&sim, HIGH, "12", settings);
    other_sm.wait_for("sm_key", 1);
    ferrosm.wait("SM with another SM_Key ignored", 1);
    let count = |description: &str| ferrosm.0.stderr().matches(description).count();
    other_sm.wait_until_up(SWEEPS);
    for more in 1..=SWEEPS {
        let swept = count("sweep complete");
        ferrosm.0.signal(Signal::Hangup);
        ferrosm.wait("configuration unchanged", more);
        ferrosm.wait("sweep complete", swept + 1);
    }
    let log = ferrosm.0.stderr();
    assert_eq!(count("SM with another SM_Key ignored"), 1, "{log}");
    assert_eq!(count(" linked_to=\""), 1, "{log}");
    assert_eq!(count("role changed"), 1, "{log}");
    // ferrosm re-reads devices that report a change, and does not rewrite what the other SM left
    // unchanged.
    let written = count("sweep complete") - count("lft_blocks_written=0 ");
    assert_eq!(written, 1, "tables were rewritten\n{log}");
}
