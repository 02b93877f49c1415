//! Which local port ferrosm serves, on hosts of a simulated fabric: two HCAs on two subnets with
//! OpenSM on one, a Down port, an issm device that cannot be opened, an HCA that is probed late.
//! `sminfo` reports the master.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::{Finished, Launch, Running, Signal, poll_until};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

const HOST: &str = "host-0 mlx5_0";
const OTHER_HOST: &str = "host-1 mlx5_0";
const HOST_GUID: &str = "0x0002c90400000011";
/// The second subnet of [`Rails`].
const RAIL_2: &str = "island-1 host-0 mlx5_0";
const RAIL_2_OTHER_HOST: &str = "island-1 host-1 mlx5_0";
const RAIL_2_GUID: &str = "0x0002c90400000041";
const RAIL_2_OTHER_GUID: &str = "0x0002c90400000051";

/// A host with two HCAs, `mlx5_0` and `mlx5_1`, on two subnets.
struct Rails(FabricServer);

impl Rails {
    fn new() -> Self {
        Self(FabricServer::shape("star:2;components=2"))
    }

    /// Starts a program on the host.
    fn launch(&self, program: &str, args: &[&str]) -> Running {
        let program = paths::find(std::path::Path::new(program));
        Launch::new(paths::ferrosm())
            .args(&["attach", "--socket", &self.0.socket().to_string_lossy()])
            .args(&["--node", HOST, "--node", RAIL_2, "--"])
            .args(&[&*program.to_string_lossy()])
            .args(args)
            .start(self.0.dir())
    }

    fn ferrosm(&self, args: &[&str]) -> Running {
        self.launch(&paths::ferrosm().to_string_lossy(), args)
    }

    fn sminfo(&self, ca: &str) -> Finished {
        self.launch("sminfo", &["-C", ca, "-P", "1"]).wait(GUARD)
    }

    /// Waits until `sminfo` reports this port as the master of the rail.
    fn wait_for_master(&self, ca: &str, guid: &str) {
        wait_for_master(guid, || self.sminfo(ca));
    }
}

/// `sminfo` prints GUIDs without leading zeros.
fn is_master(answer: &Finished, guid: &str) -> bool {
    let digits = guid.trim_start_matches("0x").trim_start_matches('0');
    answer
        .stdout
        .contains(&format!("sm guid 0x{digits}, activity"))
        && answer.stdout.contains("SMINFO_MASTER")
}

fn wait_for_master(guid: &str, sminfo: impl Fn() -> Finished) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let answer = sminfo();
        is_master(&answer, guid)
            .then_some(())
            .ok_or_else(|| answer.describe())
    });
    outcome.unwrap_or_else(|error| panic!("{guid} is not master: {error}"));
}

/// Waits until the log contains `words`; the process must stay alive.
fn wait_for_log(sm: &mut Running, words: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let log = sm.stderr();
        if let Some(status) = sm.ended() {
            return Ok(Err(format!("ended with {status}: {log}")));
        }
        if log.contains(words) {
            Ok(Ok(()))
        } else {
            Err(log)
        }
    });
    if let Err(reason) | Ok(Err(reason)) = outcome {
        panic!("no {words:?} in the log: {reason}");
    }
}

fn stop(sm: Running) -> Finished {
    sm.stop(Signal::Terminate, GUARD).expect_success()
}

/// After a restart of ferrosm, rail 1 is in Init and rail 2 Active under another SM. Choosing the
/// Active port would leave rail 1 without an SM.
#[test]
fn ambiguous_port_is_rejected_and_named_port_is_served_as_standby() {
    let rails = Rails::new();
    let mut opensm = OpenSm::start(&rails.0, Some(RAIL_2_OTHER_HOST), &[]);
    opensm.wait_until_up(1);
    rails.wait_for_master("mlx5_1", RAIL_2_OTHER_GUID);

    let mut unnamed = rails.ferrosm(&["run", "--state-dir", "state"]);
    for words in [
        "cannot choose between 2 ports with a link: ",
        &format!("mlx5_0 port 1 (GUID {HOST_GUID}, Initialize, 200 Gb/s, LID 0, SM LID 0)"),
        &format!("mlx5_1 port 1 (GUID {RAIL_2_GUID}, Active, 200 Gb/s, LID "),
        "--ca NAME --port N, or --port-guid GUID",
        "port.ca and port.number, or port.guid",
    ] {
        wait_for_log(&mut unnamed, words);
    }
    let log = stop(unnamed).stderr;
    assert!(!log.contains("local port opened"), "{log}");

    let config = rails.0.dir().join("rail-1.toml");
    fs::write(&config, format!("[port]\nguid = \"{HOST_GUID}\"\n")).unwrap();
    let named = [
        ["--ca=mlx5_0", "--port=1"],
        ["--config", config.to_str().unwrap()],
    ];
    for args in named {
        let sm = rails.ferrosm(&[&["run", "--state-dir", "state"], &args[..]].concat());
        rails.wait_for_master("mlx5_0", HOST_GUID);
        rails.wait_for_master("mlx5_1", RAIL_2_OTHER_GUID);
        let _ = stop(sm);
    }
    let log = opensm.stop(Signal::Terminate);
    assert!(!log.contains("Entering STANDBY state"), "{log}");
}

/// The order in which links train must not decide which rail is served.
#[test]
fn links_that_train_in_turn_are_rejected_like_two_active_links() {
    let rails = Rails::new();
    for node in [HOST, RAIL_2] {
        rails.0.execute(&format!("cut \"{node}\"[1]"));
    }
    let mut sm = rails.ferrosm(&["run", "--state-dir", "state"]);
    wait_for_log(&mut sm, "waiting for local port");
    rails.0.execute(&format!("restore \"{RAIL_2}\"[1]"));
    rails.0.execute(&format!("after 1s restore \"{HOST}\"[1]"));
    wait_for_log(&mut sm, "cannot choose between 2 ports with a link");
    let log = stop(sm).stderr;
    assert!(!log.contains("local port opened"), "{log}");
}

/// At boot, rail 2 has its link when ferrosm starts and rail 1 gets one 3 s later. `run` ends with
/// the status of a failure that systemd retries, and serves the only link that remains.
#[test]
fn first_choice_waits_for_links_that_still_train() {
    let rails = Rails::new();
    rails.0.execute(&format!("cut \"{HOST}\"[1]"));
    let sm = rails.ferrosm(&["run", "--state-dir", "state"]);
    rails.0.execute(&format!("after 3s restore \"{HOST}\"[1]"));
    let refused = sm.wait(GUARD);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    let words = "cannot choose between 2 ports with a link";
    assert!(refused.stderr.contains(words), "{}", refused.describe());

    rails.0.execute(&format!("cut \"{RAIL_2}\"[1]"));
    let mut sm = rails.ferrosm(&["run", "--state-dir", "state"]);
    wait_for_log(&mut sm, "choice=\"first choice\"");
    rails.wait_for_master("mlx5_0", HOST_GUID);
    let _ = stop(sm);
}

/// A second cable, plugged in while ferrosm runs or between two runs, is reported and changes
/// nothing; nor does an outage of the first.
#[test]
fn port_served_last_is_served_again_with_a_second_cable() {
    let rails = Rails::new();
    let start = || rails.ferrosm(&["run", "--state-dir", "state"]);
    rails.0.execute(&format!("cut \"{RAIL_2}\"[1]"));
    let mut sm = start();
    rails.wait_for_master("mlx5_0", HOST_GUID);
    rails.0.execute(&format!("restore \"{RAIL_2}\"[1]"));
    let warning = "second port has a link and no port is named";
    wait_for_log(&mut sm, warning);
    let log = stop(sm).stderr;
    assert!(
        log.contains("next_start=\"serves this port again\""),
        "{log}"
    );
    let other = format!("mlx5_1 port 1 (GUID {RAIL_2_GUID}");
    assert!(log.contains(&other), "{log}");

    let mut sm = start();
    wait_for_log(&mut sm, "choice=\"served last\"");
    wait_for_log(&mut sm, warning);
    rails.wait_for_master("mlx5_0", HOST_GUID);
    let log = stop(sm).stderr;
    assert!(!log.contains("local ports in one subnet"), "{log}");

    // Rail 1 fails, then the service is restarted.
    rails.0.execute(&format!("cut \"{HOST}\"[1]"));
    let mut sm = start();
    wait_for_log(&mut sm, "waiting for link");
    rails.0.execute(&format!("restore \"{HOST}\"[1]"));
    rails.wait_for_master("mlx5_0", HOST_GUID);
    assert!(!is_master(&rails.sminfo("mlx5_1"), RAIL_2_GUID));
    let _ = stop(sm);
}

/// Both ports of the host lead to one subnet, where a service for each would be two SMs.
#[test]
fn second_port_in_the_served_subnet_is_reported_as_such() {
    let sim = FabricServer::shape("star:3;dual-port");
    sim.execute(&format!("cut \"{HOST}\"[2]"));
    let mut sm = sim.spawn_ferrosm(Some(HOST), &["run", "--state-dir", "state"]);
    wait_for_log(&mut sm, "sweep complete");
    sim.execute(&format!("restore \"{HOST}\"[2]"));
    wait_for_log(&mut sm, "second port has a link and no port is named");
    wait_for_log(&mut sm, "local ports in one subnet");
    let _ = stop(sm);
}

/// Virtual functions of a hypervisor appear as further adapters.
#[test]
fn virtual_function_is_no_candidate() {
    let rails = Rails::new();
    let _ = rails
        .ferrosm(&["ports", "--local"])
        .wait(GUARD)
        .expect_success();
    let sibling_path = PathBuf::from(format!("{}.d", rails.0.socket().display()));
    let devices = fs::read_dir(sibling_path).unwrap().flatten();
    let functions: Vec<PathBuf> = devices
        .map(|entry| entry.path().join("class/infiniband/mlx5_1"))
        .filter(|device| device.is_dir())
        .collect();
    assert!(!functions.is_empty());
    for function in functions {
        fs::create_dir_all(function.join("device/physfn")).unwrap();
    }
    let mut sm = rails.ferrosm(&["run", "--state-dir", "state"]);
    rails.wait_for_master("mlx5_0", HOST_GUID);
    wait_for_log(&mut sm, "sweep complete");
    let log = stop(sm).stderr;
    assert!(!log.contains("no port is named"), "{log}");
    let named = ["run", "--ca=mlx5_1", "--port=1", "--state-dir", "state-2"];
    let sm = rails.ferrosm(&named);
    rails.wait_for_master("mlx5_1", RAIL_2_GUID);
    let _ = stop(sm);
}

/// A read-only command selects the first port, as infiniband-diags do, and names it.
#[test]
fn read_only_command_selects_a_port_and_names_it() {
    let rails = Rails::new();
    let read = rails.ferrosm(&["topology"]).wait(GUARD).expect_success();
    for words in ["port chosen among several", "ca=\"mlx5_"] {
        assert!(read.stderr.contains(words), "{}", read.describe());
    }
    let one = ["topology", "--ca", "mlx5_1", "--port", "1"];
    let one = rails.ferrosm(&one).wait(GUARD).expect_success();
    assert!(one.stdout.contains("island-1"), "{}", one.describe());
    assert!(!one.stderr.contains("port chosen"), "{}", one.describe());
}

/// A host on a single switch, and its device files.
struct Host {
    sim: FabricServer,
    /// The `/sys` and `/dev` that programs on the host see.
    sysfs_directory: PathBuf,
}

impl Host {
    fn new() -> Self {
        let sim = FabricServer::shape("star:2");
        let _ = sim.run_at(HOST, "true", &[]).expect_success();
        let sibling_path = PathBuf::from(format!("{}.d", sim.socket().display()));
        let mut entries = fs::read_dir(sibling_path).unwrap().flatten();
        let sysfs_directory =
            entries.find(|e| e.file_name().to_string_lossy().starts_with("host-"));
        let sysfs_directory = sysfs_directory.unwrap().path();
        let state = sim.dir().join("state");
        let config = format!(
            "[sweep]\ninterval = \"1s\"\n[files]\nstate-dir = \"{}\"\n",
            state.display()
        );
        fs::write(sim.dir().join("f.toml"), config).unwrap();
        Self {
            sim,
            sysfs_directory,
        }
    }

    fn ferrosm(&self, more: &[&str]) -> Running {
        let args = [&["run", "--config", "f.toml"], more].concat();
        self.sim.spawn_ferrosm(Some(HOST), &args)
    }

    fn wait_until_served(&self) {
        wait_for_master(HOST_GUID, || self.sim.run_at(OTHER_HOST, "sminfo", &[]));
    }

    fn unplug(&self) {
        self.sim.execute(&format!("unplug \"{HOST}\"[1]"));
    }

    fn plug(&self) {
        self.sim
            .execute(&format!("plug \"{HOST}\"[1] \"switch-0\"[1] 4x hdr"));
    }

    /// Hides a directory of device attributes, as if the driver were not loaded.
    fn hide(&self, class: &str) {
        let dir = self.sysfs_directory.join("class");
        fs::rename(dir.join(class), dir.join(format!("hidden-{class}"))).unwrap();
    }

    fn show(&self, class: &str) {
        let dir = self.sysfs_directory.join("class");
        fs::rename(dir.join(format!("hidden-{class}")), dir.join(class)).unwrap();
    }
}

#[test]
fn down_port_is_served_once_its_link_comes_up() {
    let host = Host::new();
    host.unplug();
    for named in [&[][..], &["--ca", "mlx5_0", "--port", "1"]] {
        let mut sm = host.ferrosm(named);
        wait_for_log(&mut sm, "waiting for link");
        // The SM has read its own port and found it Down.
        wait_for_log(&mut sm, "local port unusable");
        host.plug();
        host.wait_until_served();
        let _ = stop(sm);
        host.unplug();
    }
}

/// The wait for a link is bounded with `--once`, so a missing cable does not block a script.
#[test]
fn run_once_waits_a_bounded_time_for_the_link() {
    let host = Host::new();
    host.unplug();
    let failed = host.ferrosm(&["--once"]).wait(GUARD);
    assert_eq!(failed.status.code(), Some(1), "{}", failed.describe());
    let words = "mlx5_0 port 1 has no link after 10 s (Polling)";
    assert!(failed.stderr.contains(words), "{}", failed.describe());
    let mut sm = host.ferrosm(&["--once"]);
    wait_for_log(&mut sm, "waiting for link");
    host.plug();
    let _ = sm.wait(GUARD).expect_success();
}

/// Only the IsSM bit depends on the issm device; queries and sweeps do not.
#[test]
fn port_is_served_without_its_issm_device() {
    let host = Host::new();
    let issm = host.sysfs_directory.join("dev/infiniband/issm0");
    let is_sm = || {
        let info = host.sim.run_at(HOST, "smpquery", &["-D", "portinfo", "0"]);
        info.expect_success().stdout.contains("IsSM\n")
    };
    let sm = host.ferrosm(&[]);
    host.wait_until_served();
    assert!(is_sm(), "the bit is set where issm can be opened");
    let _ = stop(sm);

    for (reason, prepare) in [
        ("no permission to open /dev/infiniband/issm0", 0),
        ("/dev/infiniband/issm0 does not exist", 1),
    ] {
        if prepare == 0 {
            fs::set_permissions(&issm, Permissions::from_mode(0o000)).unwrap();
        } else {
            fs::remove_file(&issm).unwrap();
        }
        let mut sm = host.ferrosm(&[]);
        wait_for_log(&mut sm, "cannot set IsSM bit");
        wait_for_log(&mut sm, reason);
        host.wait_until_served();
        assert!(!is_sm(), "{reason}");
        let _ = stop(sm);
    }
}

/// The HCA driver and then ib_umad are loaded while ferrosm is running.
#[test]
fn hca_probed_late_is_served_without_a_restart() {
    let host = Host::new();
    host.hide("infiniband");
    host.hide("infiniband_mad");
    let mut sm = host.ferrosm(&[]);
    wait_for_log(&mut sm, "waiting for local port");
    host.show("infiniband");
    std::thread::sleep(Duration::from_secs(1));
    host.show("infiniband_mad");
    wait_for_log(&mut sm, "local port opened");
    host.wait_until_served();
    let _ = stop(sm);
}

/// The SM uses QP0 of one RDMA device, and its SA QP1 of another, which has the same port GUID and
/// no QP0.
#[test]
fn adapter_with_separate_devices_for_qp0_and_qp1_is_served() {
    let sim = FabricServer::shape("star:2");
    sim.execute(&format!("separate-smi \"{HOST}\""));
    let mut sm = sim.spawn_ferrosm(Some(HOST), &["run", "--state-dir", "state"]);
    wait_for_log(
        &mut sm,
        "QP1 of local port is on another device ca=\"mlx5_0\"",
    );
    wait_for_master(HOST_GUID, || sim.run_at(OTHER_HOST, "sminfo", &[]));
    let records = sim.run_at(OTHER_HOST, "saquery", &["-N"]).expect_success();
    assert!(records.stdout.contains(HOST), "{}", records.describe());
    let log = stop(sm).stderr;
    assert!(log.contains("local port opened ca=\"smi0\""), "{log}");
}

/// A service stop must not wait for hardware.
#[test]
fn sigterm_ends_the_wait_for_an_hca() {
    let host = Host::new();
    host.hide("infiniband");
    let mut sm = host.ferrosm(&[]);
    wait_for_log(&mut sm, "waiting for local port");
    // Exit status of a clean stop, after which systemd does not restart the service.
    let _ = stop(sm);
    let once = host.ferrosm(&["--once"]).wait(GUARD);
    assert_eq!(once.status.code(), Some(1), "{}", once.describe());
}
