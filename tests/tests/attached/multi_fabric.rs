//! One ferrosm serves two fabrics through the two ports of its host (`;planes=2`: no link joins them). `sminfo` checks the result on
//! each fabric.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::fabric_server::FabricServer;
use ferrosm_tests::process::{Running, Signal, poll_until};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

struct Planes {
    sim: FabricServer,
    guids: Vec<String>,
}

impl Planes {
    fn new() -> Self {
        let sim = FabricServer::shape("fat-tree:4;planes=2");
        let listed = sim.ferrosm(&["ports", "--json"]).expect_success().stdout;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let ports = listed["ports"].as_array().unwrap().iter();
        let guids: Vec<String> = ports
            .map(|port| port["port_guid"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(guids.len(), 2);
        Self { sim, guids }
    }

    /// Writes a configuration of two fabrics. The second has this priority, and a port that does not exist if it is not to be served.
    fn configure(&self, priority: u8, second: &str) {
        self.configure_with(priority, second, "");
    }

    /// The same, with more sections for the first fabric.
    fn configure_with(&self, priority: u8, second: &str, compute: &str) {
        let dir = self.sim.dir().display();
        let text = format!(
            "[files]\nstate-dir = \"{dir}/state\"\ndump-dir = \"{dir}/dump\"\n\
             [[fabric]]\nname = \"compute\"\n[fabric.port]\nguid = \"{}\"\n{compute}\
             [[fabric]]\nname = \"storage\"\n[fabric.port]\nguid = \"{second}\"\n[fabric.sm]\npriority = {priority}\n",
            self.guids[0]
        );
        std::fs::write(self.sim.dir().join("f.toml"), text).unwrap();
    }

    fn args<'a>(config: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["run", "--config", config];
        args.extend(more);
        args
    }

    fn config(&self) -> String {
        self.sim.dir().join("f.toml").display().to_string()
    }

    fn start(&self) -> Running {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Running {
        self.sim
            .spawn_ferrosm(None, &Self::args(&self.config(), more))
    }

    /// Waits until `sminfo` through a port prints this text.
    fn wait_for(&self, port: &str, text: &str) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let sminfo = self.sim.run("sminfo", &["-P", port]);
            let matches = sminfo.stdout.contains("SMINFO_MASTER") && sminfo.stdout.contains(text);
            if matches {
                Ok(())
            } else {
                Err(sminfo.describe())
            }
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

fn wait_log(sm: &Running, description: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let log = sm.stderr();
        if log.contains(description) {
            Ok(())
        } else {
            Err(log)
        }
    });
    outcome.unwrap_or_else(|log| panic!("no {description:?} in\n{log}"));
}

/// Log lines of a fabric that contain these words.
fn lines_of(sm: &Running, fabric: &str, description: &str) -> Vec<String> {
    let label = format!("fabric=\"{fabric}\"");
    let log = sm.stderr();
    let lines = log.lines().filter(|l| l.contains(&label));
    lines
        .filter(|l| l.contains(description))
        .map(str::to_owned)
        .collect()
}

/// Each fabric has its own master, settings, state directory and reload. SIGTERM stops both.
#[test]
fn one_process_serves_two_fabrics() {
    let planes = Planes::new();
    planes.configure(5, &planes.guids[1]);
    let sm = planes.start();
    planes.wait_for("1", "priority 0 ");
    planes.wait_for("2", "priority 5 ");
    wait_log(&sm, "fabric=\"compute\"");
    wait_log(&sm, "fabric=\"storage\"");
    for name in ["compute", "storage"] {
        let dir = planes.sim.dir().join("state").join(name);
        assert!(dir.join("store.redb").is_file(), "{}", dir.display());
    }
    // A control command applies to one fabric.
    let config = planes.config();
    let ambiguous = planes.sim.ferrosm(&["handover", "--config", &config]);
    assert_eq!(ambiguous.status.code(), Some(2), "{}", ambiguous.describe());
    assert!(
        ambiguous.stderr.contains("choose one with --fabric"),
        "{}",
        ambiguous.stderr
    );
    planes.configure(7, &planes.guids[1]);
    sm.signal(Signal::Hangup);
    planes.wait_for("2", "priority 7 ");
    planes.wait_for("1", "priority 0 ");
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    for text in ["stopping", "no SM took over"] {
        let times = ended.stderr.matches(text).count();
        assert_eq!(times, 2, "{text}: {}", ended.stderr);
    }
}

/// A fabric whose port does not exist does not delay the other, and is served once the port appears. The other fabric is not affected:
/// its SM becomes master once and does not sweep because of it.
#[test]
fn fabric_that_cannot_be_served_is_logged_and_retried() {
    let planes = Planes::new();
    planes.configure(5, "0x00000000000000ee");
    let sm = planes.start();
    planes.wait_for("1", "priority 0 ");
    wait_log(&sm, "fabric not served");
    // A local sweep verifies links after the first light sweep.
    let sweeps = || {
        lines_of(
            &sm,
            "compute",
            "sweep complete sweep=1 scope=\"whole fabric\"",
        )
    };
    let full_sweeps = || lines_of(&sm, "compute", "scope=\"whole fabric\"").len();
    poll_until(GUARD, PAUSE, || sweeps().pop().ok_or_else(|| sm.stderr())).unwrap();
    let (swept, roles) = (sweeps(), lines_of(&sm, "compute", "role changed"));
    assert!(
        roles.len() == 1 && roles[0].contains("role=Master"),
        "{roles:?}"
    );
    planes.configure(5, &planes.guids[1]);
    planes.wait_for("2", "priority 5 ");
    wait_log(&sm, "retrying fabric");
    poll_until(GUARD, PAUSE, || {
        let done = lines_of(&sm, "storage", "sweep complete");
        done.first().cloned().ok_or_else(|| sm.stderr())
    })
    .unwrap();
    planes.wait_for("1", "priority 0 ");
    assert_eq!((sweeps(), full_sweeps()), (swept, 1));
    assert_eq!(lines_of(&sm, "compute", "role changed"), roles);
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
}

/// With `--once` both fabrics are brought up and the process ends. With `--fabric` only one is served. If neither port exists, the
/// process ends at once.
#[test]
fn multi_fabric_process_stops_like_a_single_fabric() {
    let planes = Planes::new();
    let config = planes.config();
    planes.configure(5, &planes.guids[1]);
    let once = planes
        .sim
        .ferrosm(&Planes::args(&config, &["--once", "--json"]));
    let once = once.expect_success().stdout;
    let mut names: Vec<String> = once
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|sweep| sweep["fabric"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["compute", "storage"]);
    let one = planes.sim.ferrosm(&Planes::args(
        &config,
        &["--once", "--fabric", "storage", "--json"],
    ));
    let one = one.expect_success().stdout;
    assert!(
        one.contains("\"fabric\":\"storage\"") && one.lines().count() == 1,
        "{one}"
    );
    let text = std::fs::read_to_string(&config).unwrap();
    let without_ports = text
        .replace(&planes.guids[0], "0x00000000000000ed")
        .replace(&planes.guids[1], "0x00000000000000ee");
    std::fs::write(&config, without_ports).unwrap();
    let refused = planes.sim.ferrosm(&Planes::args(&config, &[]));
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    assert!(
        refused.stderr.contains("ferrosm: fabric "),
        "{}",
        refused.stderr
    );
    let flags = planes
        .sim
        .ferrosm(&Planes::args(&config, &["--ca", "mlx5_0"]));
    assert_eq!(flags.status.code(), Some(2), "{}", flags.describe());
}

/// With `--fabric` the process ignores the other fabrics of the file: neither a shared directory from its flags nor different paths of
/// input files prevent a reload.
#[test]
fn one_fabric_of_a_file_is_reloaded_alone() {
    let planes = Planes::new();
    let own = planes.sim.dir().join("own").display().to_string();
    let elsewhere = "[fabric.routing]\nroot-guid-file = \"on-another-host\"\n";
    let cases = [(&["--state-dir", &*own][..], ""), (&[][..], elsewhere)];
    for (flags, compute) in cases {
        planes.configure_with(5, &planes.guids[1], compute);
        let flags = [&["--fabric", "storage"], flags].concat();
        let sm = planes.start_with(&flags);
        planes.wait_for("2", "priority 5 ");
        planes.configure_with(7, &planes.guids[1], compute);
        sm.signal(Signal::Hangup);
        wait_log(&sm, "configuration applied");
        planes.wait_for("2", "priority 7 ");
        let ended = sm.stop(Signal::Terminate, GUARD);
        assert!(ended.status.success(), "{}", ended.describe());
    }
}

/// Warnings of the dump worker carry the fabric as well.
#[test]
fn failed_dump_is_logged_with_its_fabric() {
    let planes = Planes::new();
    planes.configure(5, &planes.guids[1]);
    let sm = planes.start();
    let dir = planes.sim.dir().join("dump").join("compute");
    let dumped = || dir.join("opensm-lfts.dump").is_file();
    poll_until(GUARD, PAUSE, || {
        dumped().then_some(()).ok_or_else(|| sm.stderr())
    })
    .unwrap();
    std::fs::rename(&dir, dir.with_extension("old")).unwrap();
    std::fs::write(&dir, "no directory").unwrap();
    sm.signal(Signal::Hangup);
    let failed = poll_until(GUARD, PAUSE, || {
        let log = sm.stderr();
        let failed = log.lines().find(|l| l.contains("cannot write"));
        failed.map(str::to_owned).ok_or(log)
    });
    let failed = failed.unwrap_or_else(|log| panic!("{log}"));
    assert!(failed.contains("fabric=\"compute\""), "{failed}");
}
