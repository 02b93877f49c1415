//! ferrosm with its defaults on a fabric whose tenants OpenSM isolates, and on one whose lanes it
//! configures: P_Keys and QoS tables stay until the operator accepts their removal.
//!
//! `smpquery` reads the tables, `sminfo` names the master.

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::process::{Finished, Running, Signal, poll_until};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// Two spines, four leaves, eight hosts.
const SPEC: &str = "fat-tree2:4,4,2";
/// ferrosm runs on the host with the lowest GUID, OpenSM on another one.
const SERVICE_HOST: &str = "host-0-0 mlx5_0";
const OPENSM_HOST: &str = "host-3-1 mlx5_0";
const PARTITIONS: &str = "Default=0x7fff,ipoib : ALL=limited, SELF=full ;\n\
    Vault=0x21,ipoib,defmember=full : 0x0002c90400000021, 0x0002c90400000031 ;\n";

/// Lanes of a site: four SLs each share a VL, VL 1 has priority.
const LANES: &str = "qos TRUE\n\
    qos_max_vls 8\n\
    qos_high_limit 4\n\
    qos_vlarb_high 1:64\n\
    qos_vlarb_low 0:32,2:16,3:8\n\
    qos_sl2vl 0,0,0,0,1,1,1,1,2,2,2,2,3,3,3,3\n";

/// The service with its default configuration, and its state directory.
struct Service<'a> {
    sim: &'a FabricServer,
    process: Running,
}

impl<'a> Service<'a> {
    fn start(sim: &'a FabricServer) -> Self {
        let dir = Self::dir(sim);
        let config = sim.dir().join("ferrosm.toml");
        let text = format!(
            "[sm]\npoll-interval = \"300ms\"\npoll-retries = 2\n[files]\nstate-dir = \"{dir}\"\n"
        );
        std::fs::write(&config, text).unwrap_or_else(|e| panic!("{e}"));
        let config = config.display().to_string();
        let process = sim.spawn_ferrosm(Some(SERVICE_HOST), &["run", "--config", &config]);
        Self { sim, process }
    }

    fn dir(sim: &FabricServer) -> String {
        sim.dir().join("service").display().to_string()
    }

    fn ask(&self, args: &[&str]) -> Finished {
        let dir = Self::dir(self.sim);
        self.sim.ferrosm(&[args, &["--state-dir", &dir]].concat())
    }

    /// Waits until a command prints a text.
    fn wait_for(&self, args: &[&str], text: &str) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let asked = self.ask(args);
            match asked.stdout.contains(text) {
                true => Ok(()),
                false => Err(format!("{}\n{}", asked.describe(), self.process.stderr())),
            }
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The P_Key tables of all end ports, by LID.
fn p_keys(sim: &FabricServer) -> Vec<String> {
    let net = sim.net().unwrap_or_else(|error| panic!("{error}"));
    let read = |((guid, port), (lid, _)): ((u64, u8), (u16, u8))| {
        let (lid, port) = (lid.to_string(), port.to_string());
        let read = sim.run_at(OPENSM_HOST, "smpquery", &["pkeys", &lid, &port]);
        let keys = read.expect_success().stdout;
        format!("{guid:#018x} {port}: {}", keys.trim())
    };
    net.lids().into_iter().map(read).collect()
}

fn master(sim: &FabricServer) -> u64 {
    let info = sim.sm_info(OPENSM_HOST);
    info.unwrap_or_else(|error| panic!("{error}")).guid
}

#[test]
fn accidental_start_removes_no_partition() {
    let sim = FabricServer::shape(SPEC);
    let file = sim.dir().join("partitions.conf");
    std::fs::write(&file, PARTITIONS).unwrap_or_else(|e| panic!("{e}"));
    let partitions = ["-P", &file.display().to_string()];
    let mut opensm = OpenSm::start(&sim, Some(OPENSM_HOST), &partitions);
    opensm.wait_until_up(1);
    let before = p_keys(&sim);
    assert!(
        before.iter().any(|table| table.contains("0x8021")),
        "{before:?}"
    );
    let opensm_guid = master(&sim);

    // Equal priority and a lower GUID: OpenSM would hand over to any other SM at once.
    let service = Service::start(&sim);
    service.wait_for(&["status"], "standby since");
    service.wait_for(&["status"], "consent");
    // Some polls of OpenSM, which sweeps every 10 s.
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(master(&sim), opensm_guid);
    assert_eq!(p_keys(&sim), before);

    // The fabric never stays without an SM: the tables are kept.
    drop(opensm.stop(Signal::Kill));
    service.wait_for(&["status"], "master since");
    service.wait_for(
        &["health"],
        "settings of another SM stay until consent: removal of P_Keys",
    );
    assert_ne!(master(&sim), opensm_guid);
    assert_eq!(p_keys(&sim), before);

    let accepted = service.ask(&["takeover", "--accept", "p-key-removal"]);
    let _ = accepted.expect_success();
    service.wait_for(&["health"], "OK");
    let after = p_keys(&sim);
    assert_eq!(after.len(), before.len());
    assert!(
        after.iter().all(|table| !table.contains("0x8021")),
        "{after:?}"
    );
}

/// SLtoVL and VL arbitration tables of all end ports, and those of an uplink of each leaf, as
/// `smpquery` reads them.
fn vl_tables(sim: &FabricServer) -> Vec<String> {
    let net = sim.net().unwrap_or_else(|error| panic!("{error}"));
    let read = |((guid, port), (lid, _)): ((u64, u8), (u16, u8))| {
        let at = lid.to_string();
        let number = port.max(1).to_string();
        ["sl2vl", "vlarb"].map(|table| {
            let read = sim.run_at(OPENSM_HOST, "smpquery", &[table, &at, &number]);
            let text = read.expect_success().stdout;
            format!("{guid:#018x} {number}: {}", text.trim())
        })
    };
    net.lids().into_iter().flat_map(read).collect()
}

/// The lanes of a site, and OpenSM's built-in ones, whose priorities no device has after power-up,
/// stay while OpenSM is master, and after it died. With consent all SLs share VL 0. Without
/// `-Q` nothing waits: the first test shows it.
#[test]
fn accidental_start_removes_no_lane() {
    for lanes in [LANES, "qos TRUE\n"] {
        let sim = FabricServer::shape(SPEC);
        let file = sim.dir().join("opensm.conf");
        std::fs::write(&file, lanes).unwrap_or_else(|e| panic!("{e}"));
        let config = ["-F", &file.display().to_string()];
        let mut opensm = OpenSm::start(&sim, Some(OPENSM_HOST), &config);
        opensm.wait_until_up(1);
        let before = vl_tables(&sim);
        let opensm_guid = master(&sim);
        let service = Service::start(&sim);
        service.wait_for(&["status"], "standby since");
        service.wait_for(&["status"], "consent");
        // Some polls of OpenSM, which sweeps every 10 s.
        std::thread::sleep(Duration::from_secs(12));
        assert_eq!(master(&sim), opensm_guid);
        assert_eq!(vl_tables(&sim), before);

        drop(opensm.stop(Signal::Kill));
        service.wait_for(&["status"], "master since");
        service.wait_for(
            &["health"],
            "settings of another SM stay until consent: removal of QoS tables",
        );
        assert_ne!(master(&sim), opensm_guid);
        assert_eq!(vl_tables(&sim), before);

        let accepted = service.ask(&["takeover", "--accept", "qos-removal"]);
        let _ = accepted.expect_success();
        service.wait_for(&["health"], "OK");
        let after = vl_tables(&sim);
        assert_eq!(after.len(), before.len());
        let maps = after.iter().filter(|text| text.contains("SL2VL table"));
        let all_on_vl_0 = format!("|{}", " 0|".repeat(16));
        assert!(maps.clone().count() > 0);
        for map in maps {
            let rows = map.lines().filter(|line| line.starts_with("ports:"));
            let of_others = rows.filter(|row| !row.contains("in  1, out  1"));
            for row in of_others {
                assert!(row.ends_with(&all_on_vl_0), "{map}");
            }
        }
    }
}
