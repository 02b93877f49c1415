//! `ferrosm plan` and `GET /v1/plan` on a fabric that OpenSM manages: they write nothing, and the
//! Sets that follow are those of the plan.
//!
//! The simulated fabric counts the SMPs that devices receive, so that the plan is compared with
//! what a later start really writes.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::load::count_smps;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::process::{Launch, Signal, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const SERVICE_HOST: &str = "host-0-0 mlx5_0";
const OPENSM_HOST: &str = "host-3-1 mlx5_0";
/// LIDs, LMCs and M_Keys that OpenSM assigns.
const OPENSM_SETTINGS: &str = "lmc 2\n\
    m_key 0x00000000517e0001\n\
    m_key_protection_level 0\n\
    m_key_lease_period 0\n";
const PARTITIONS: &str = "Default=0x7fff,ipoib : ALL=limited, SELF=full ;\n\
    Vault=0x21,ipoib,defmember=full : 0x0002c90400000021, 0x0002c90400000031 ;\n";

fn plan(sim: &FabricServer, args: &[&str]) -> Value {
    let state = sim.dir().join("service").display().to_string();
    let args = [&["plan", "--json", "--state-dir", &state], args].concat();
    let process = sim.spawn_ferrosm(Some(SERVICE_HOST), &args);
    let done = process.wait(GUARD);
    let done = done.expect_success();
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.stdout))
}

/// Sets that devices received, by attribute.
fn sets(sim: &FabricServer) -> BTreeMap<String, u64> {
    let counts = count_smps(sim).into_iter();
    counts.map(|(name, (_, sets))| (name, sets)).collect()
}

fn planned_sets(plan: &Value) -> BTreeMap<String, u64> {
    let counts = plan["sets"].as_array().into_iter().flatten();
    let named = counts.map(|set| {
        let name = set["attribute"].as_str().unwrap_or_default().to_owned();
        (name, set["count"].as_u64().unwrap_or_default())
    });
    named.collect()
}

/// Starts the service, waits until it is master and has swept, and returns the Sets since `before`.
fn start_and_count(
    sim: &FabricServer,
    args: &[&str],
    before: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let state = sim.dir().join("service").display().to_string();
    let args = [&["run", "--state-dir", &state], args].concat();
    let service = sim.spawn_ferrosm(Some(SERVICE_HOST), &args);
    let swept = poll_until(GUARD, PAUSE, || {
        let log = service.stderr();
        let is_master =
            |line: &str| line.contains("sweep complete") && line.contains("role=Master");
        match log.lines().any(is_master) {
            true => Ok(()),
            false => Err(log),
        }
    });
    swept.unwrap_or_else(|log| panic!("no sweep as master:\n{log}"));
    let after = sets(sim).into_iter();
    let since = after.map(|(name, count)| {
        let earlier = before.get(&name).copied().unwrap_or_default();
        (name, count - earlier)
    });
    since.filter(|(_, count)| *count > 0).collect()
}

/// A fabric that no SM has configured.
#[test]
fn plan_of_a_first_start_is_what_it_writes() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let before = sets(&sim);
    let planned = plan(&sim, &[]);
    assert_eq!(sets(&sim), before, "the plan wrote");
    assert_eq!(planned["sms"].as_array().map(Vec::len), Some(0));
    let written = start_and_count(&sim, &[], &before);
    assert_eq!(planned_sets(&planned), written);
}

/// A fabric that OpenSM manages with partitions: which SM would yield, what would change with and
/// without consent, and the Sets of the takeover after OpenSM died.
#[test]
fn plan_of_a_takeover_is_what_it_writes() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let file = sim.dir().join("partitions.conf");
    std::fs::write(&file, PARTITIONS).unwrap_or_else(|e| panic!("{e}"));
    let partitions = ["-P", &file.display().to_string()];
    let mut opensm = OpenSm::start(&sim, Some(OPENSM_HOST), &partitions);
    opensm.wait_until_up(1);
    let before = sets(&sim);
    let kept = plan(&sim, &[]);
    let accepted = plan(&sim, &["--accept", "p-key-removal"]);
    assert_eq!(sets(&sim), before, "the plan wrote");
    let master = &kept["sms"][0];
    assert_eq!(master["state"], "master", "{kept}");
    assert_eq!(master["name"], OPENSM_HOST, "{kept}");
    for (plan, expected) in [(&kept, "stays master"), (&accepted, "hands over")] {
        let reaction = plan["sms"][0]["reaction"].as_str().unwrap_or_default();
        assert!(reaction.starts_with(expected), "{plan}");
    }
    let awaited = kept["awaits_consent"].as_str().unwrap_or_default();
    assert!(awaited.contains("0x8021"), "{kept}");
    assert_eq!(kept["p_keys"].as_array().map(Vec::len), Some(0), "{kept}");
    let removed = accepted["p_keys"].as_array().into_iter().flatten();
    let vault = removed.filter(|key| key["p_key"] == "0x8021");
    assert_eq!(
        vault.map(|key| key["removed"].as_u64()).next(),
        Some(Some(1))
    );

    drop(opensm.stop(Signal::Kill));
    let before = sets(&sim);
    let config = sim.dir().join("ferrosm.toml");
    let text = "[partitions]\nadopt = true\n";
    std::fs::write(&config, text).unwrap_or_else(|e| panic!("{e}"));
    let config = config.display().to_string();
    let written = start_and_count(&sim, &["--config", &config], &before);
    assert_eq!(planned_sets(&accepted), written);
}

/// A service that is standby to OpenSM makes the same plan as the command. The Sets of its nodes
/// are all Sets, and the host that would lose a P_Key is named.
#[test]
fn running_service_plans_as_the_command_does() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let file = sim.dir().join("partitions.conf");
    std::fs::write(&file, PARTITIONS).unwrap_or_else(|e| panic!("{e}"));
    let partitions = ["-P", &file.display().to_string()];
    let mut opensm = OpenSm::start(&sim, Some(OPENSM_HOST), &partitions);
    opensm.wait_until_up(1);
    let state = sim.dir().join("service").display().to_string();
    let service = sim.spawn_ferrosm(Some(SERVICE_HOST), &["run", "--state-dir", &state]);
    let standby = poll_until(GUARD, PAUSE, || {
        let log = service.stderr();
        match log.contains("role changed role=Standby") {
            true => Ok(()),
            false => Err(log),
        }
    });
    standby.unwrap_or_else(|log| panic!("not standby:\n{log}"));
    let before = sets(&sim);
    let served = served_plan(&sim, &state, "accept=p-key-removal");
    let asked = plan(&sim, &["--accept", "p-key-removal"]);
    assert_eq!(sets(&sim), before, "the plan wrote");
    for field in [
        "sms",
        "awaits_consent",
        "lids",
        "p_keys",
        "ports",
        "tables",
        "engine",
    ] {
        assert_eq!(served[field], asked[field], "{field}");
    }
    assert_eq!(planned_sets(&served), planned_sets(&asked));
    let nodes = served["nodes"].as_array().into_iter().flatten();
    let mut of_nodes: BTreeMap<String, u64> = BTreeMap::new();
    for (attribute, count) in nodes.clone().flat_map(planned_sets) {
        *of_nodes.entry(attribute).or_default() += count;
    }
    assert_eq!(of_nodes, planned_sets(&served));
    let loses_p_keys = |node: &&Value| {
        let effects = node["effects"].as_array().into_iter().flatten();
        let mut names = effects.map(|effect| &effect["effect"]);
        names.any(|name| name == "p-key-removed")
    };
    let losers = nodes.filter(loses_p_keys).count() as u64;
    let removed = served["p_keys"].as_array().into_iter().flatten();
    let most = removed.filter_map(|key| key["removed"].as_u64()).max();
    assert!(Some(losers) >= most && losers > 0, "{served}");
    let refused = served_plan(&sim, &state, "accept=everything");
    assert_eq!(refused["error"]["kind"], "invalid-request", "{refused}");
}

/// `GET /v1/plan` of a service.
fn served_plan(sim: &FabricServer, state: &str, query: &str) -> Value {
    let socket = format!("{state}/api.sock");
    let asked = Launch::new("curl")
        .args(&["--silent", "--show-error", "--unix-socket", &socket])
        .args(&[&format!("http://ferrosm/v1/plan?{query}")])
        .start(sim.dir())
        .wait(GUARD)
        .expect_success();
    serde_json::from_str(&asked.stdout).unwrap_or_else(|e| panic!("{e}: {}", asked.describe()))
}

/// LID and LMC of each end port, and its M_Key, as OpenSM's diagnostics read them.
fn addresses(sim: &FabricServer) -> BTreeMap<(u64, u8), (u16, u8, String)> {
    let net = sim.net().unwrap_or_else(|error| panic!("{error}"));
    let read = |((guid, port), (lid, lmc)): ((u64, u8), (u16, u8))| {
        let at = lid.to_string();
        let number = port.to_string();
        let info = sim.run_at(
            OPENSM_HOST,
            "smpquery",
            &["--show_keys", "portinfo", &at, &number],
        );
        let info = info.expect_success().stdout;
        let key = info.lines().find(|line| line.starts_with("Mkey:"));
        ((guid, port), (lid, lmc, key.unwrap_or_default().to_owned()))
    };
    net.lids().into_iter().map(read).collect()
}

/// OpenSM assigned LMC 2 and M_Keys, and died: the plan keeps both, and so does the takeover. With
/// consent, the plan changes both and no LID.
#[test]
fn lmc_and_m_keys_of_opensm_stay_as_planned() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let file = sim.dir().join("opensm.conf");
    std::fs::write(&file, OPENSM_SETTINGS).unwrap_or_else(|e| panic!("{e}"));
    let mut opensm = OpenSm::start(
        &sim,
        Some(OPENSM_HOST),
        &["-F", &file.display().to_string()],
    );
    opensm.wait_until_up(1);
    drop(opensm.stop(Signal::Kill));
    let configured = addresses(&sim);
    let is_host = |((_, port), _): &(&(u64, u8), &(u16, u8, String))| *port > 0;
    for (at, (_, lmc, key)) in configured.iter().filter(is_host) {
        assert_eq!(*lmc, 2, "{at:?}");
        assert!(key.ends_with("517e0001"), "{at:?} {key}");
    }
    let before = sets(&sim);
    let kept = plan(&sim, &[]);
    let accepted = plan(&sim, &["--accept", "lmc-change,m-key-removal"]);
    assert_eq!(sets(&sim), before, "the plan wrote");
    let awaited = kept["awaits_consent"].as_str().unwrap_or_default();
    for option in ["--accept lmc-change", "--accept m-key-removal"] {
        assert!(awaited.contains(option), "{awaited}");
    }
    assert!(accepted["awaits_consent"].is_null(), "{accepted}");
    for (plan, changes) in [(&kept, false), (&accepted, true)] {
        let ports = &plan["ports"];
        for what in ["lmc_changed", "m_key_changed"] {
            assert_eq!(ports[what].as_u64() > Some(0), changes, "{what} {plan}");
        }
        assert_eq!(plan["lids"]["changed"], 0, "{plan}");
    }
    let config = sim.dir().join("ferrosm.toml");
    std::fs::write(&config, "").unwrap_or_else(|e| panic!("{e}"));
    let config = config.display().to_string();
    let written = start_and_count(&sim, &["--config", &config], &before);
    assert_eq!(planned_sets(&kept), written);
    assert_eq!(addresses(&sim), configured);
    let known = [
        "LinearForwardingTable",
        "MulticastForwardingTable",
        "P_KeyTable",
        "PortInfo",
        "SLtoVLMappingTable",
        "SwitchInfo",
        "VLArbitrationTable",
    ];
    // No vendor attribute, as those of adaptive routing are.
    for attribute in written.keys() {
        assert!(known.contains(&attribute.as_str()), "{attribute}");
    }
    // The last of the LIDs of a host is routed, and has a path.
    let lids: Vec<u16> = configured
        .iter()
        .filter(is_host)
        .map(|(_, (lid, _, _))| *lid)
        .collect();
    let (from, to) = (lids[0].to_string(), (lids[5] + 3).to_string());
    let traced = sim.run_at(OPENSM_HOST, "ibtracert", &[&from, &to]);
    let _ = traced.expect_success();
}

/// OpenSM configured lanes, and died: the plan keeps them, and so does the takeover. With consent,
/// the plan writes the tables.
#[test]
fn qos_tables_of_opensm_stay_as_planned() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let mut opensm = OpenSm::start(&sim, Some(OPENSM_HOST), &["-Q"]);
    opensm.wait_until_up(1);
    drop(opensm.stop(Signal::Kill));
    let before = sets(&sim);
    let kept = plan(&sim, &[]);
    let accepted = plan(&sim, &["--accept", "qos-removal"]);
    assert_eq!(sets(&sim), before, "the plan wrote");
    let awaited = kept["awaits_consent"].as_str().unwrap_or_default();
    assert!(awaited.contains("--accept qos-removal"), "{awaited}");
    assert!(accepted["awaits_consent"].is_null(), "{accepted}");
    let tables = ["SLtoVLMappingTable", "VLArbitrationTable"];
    for table in tables {
        assert!(!planned_sets(&kept).contains_key(table), "{kept}");
        assert!(planned_sets(&accepted).contains_key(table), "{accepted}");
    }
    let config = sim.dir().join("ferrosm.toml");
    std::fs::write(&config, "").unwrap_or_else(|e| panic!("{e}"));
    let config = config.display().to_string();
    let written = start_and_count(&sim, &["--config", &config], &before);
    assert_eq!(planned_sets(&kept), written);
}
