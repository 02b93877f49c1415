//! What the running service keeps for bug reports: rings of MADs, the recording of its inputs, and
//! captures on demand; `tshark` reads the captures.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Launch, Signal, poll_until};

use crate::api::{GUARD, PAUSE, ask, json, start, state_dir, wait_for_health};

/// A configuration with rings.
pub(super) fn with_rings(sim: &FabricServer) -> String {
    let config = sim.dir().join("rings.toml");
    fs::write(&config, "[files]\nrings-mib = 64\n").unwrap();
    config.display().to_string()
}

/// The number of packets in a capture, all of which `tshark` dissects.
pub(super) fn packets_in(dir: &Path, file: &Path) -> usize {
    let read = Launch::new("tshark")
        .args(&["-r", &file.display().to_string(), "-T", "fields"])
        .args(&["-e", "infiniband.mad.mgmtclass"])
        .start(dir)
        .wait(GUARD)
        .expect_success();
    let classes = ["0x81", "0x01"];
    let lines: Vec<&str> = read.stdout.lines().collect();
    assert!(
        lines.iter().all(|class| classes.contains(class)),
        "{lines:?}"
    );
    lines.len()
}

/// The files of a directory whose names begin with `prefix`, in order; none others can read them.
pub(super) fn private_files(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with(prefix))
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
            entry.path()
        })
        .collect();
    files.sort();
    files
}

/// A capture starts and stops on the running service, at its size limit at the latest, and only in
/// its directory.
#[test]
fn capture_starts_and_stops_on_the_running_service() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &["--config", &with_rings(&sim)]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let captures = PathBuf::from(state_dir(&sim, "sm")).join("captures");
    let run = |args: &[&str]| ask(&sim, "sm", &[&["capture"], args].concat());
    let none = run(&["status"]).expect_success().stdout;
    assert!(none.contains("no capture since the start"), "{none}");
    let refused = run(&["stop"]);
    assert!(
        refused.stderr.contains("no capture runs"),
        "{}",
        refused.describe()
    );

    let started = run(&["start", "--file", "one.pcapng", "--reason", "T-4711"]);
    assert!(started.expect_success().stdout.contains("capture runs"));
    let second = run(&["start"]);
    assert!(
        second.stderr.contains("a capture runs already"),
        "{}",
        second.describe()
    );
    drop(ask(&sim, "sm", &["sweep"]).expect_success());
    let stopped = run(&["stop"]).expect_success().stdout;
    assert!(stopped.contains("ended (stopped)"), "{stopped}");
    // A MAD after the end is not in it.
    drop(ask(&sim, "sm", &["sweep"]).expect_success());
    let status = json(&sim, "sm", &["capture", "status"]);
    let counted = status["capture"]["packets"].as_u64().unwrap();
    let file = captures.join("one.pcapng");
    assert_eq!(private_files(&captures, ""), std::slice::from_ref(&file));
    assert_eq!(packets_in(sim.dir(), &file) as u64, counted);
    // A full sweep reads each of 96 ports that are not those of hosts, with a response each.
    assert!(counted > 192, "{status}");

    for (name, code, text) in [
        ("one.pcapng", 1, "exists"),
        ("../two.pcapng", 2, "the file is in the state directory"),
        ("/tmp/two.pcapng", 2, "the file is in the state directory"),
        (".hidden", 2, "does not begin with"),
    ] {
        let refused = run(&["start", "--file", name]);
        assert_eq!(refused.status.code(), Some(code), "{}", refused.describe());
        assert!(refused.stderr.contains(text), "{}", refused.describe());
    }

    drop(run(&["start", "--file", "two.pcapng", "--max-size-mib", "1"]).expect_success());
    let full = poll_until(GUARD, PAUSE, || {
        drop(ask(&sim, "sm", &["sweep"]).expect_success());
        let text = run(&["status"]).expect_success().stdout;
        match text.contains("ended (size limit reached)") {
            true => Ok(()),
            false => Err(text),
        }
    });
    full.unwrap();
    let two = captures.join("two.pcapng");
    assert!(fs::metadata(&two).unwrap().len() <= 1 << 20);
    assert!(packets_in(sim.dir(), &two) > 1000);
    let commands = ask(&sim, "sm", &["commands"]).expect_success().stdout;
    for text in ["capture-start", "capture-stop", "T-4711"] {
        assert!(commands.contains(text), "{commands}");
    }
}

/// A service that was killed leaves a ring of MADs and a recording that replays; the next one adds
/// its own.
#[test]
fn rings_of_a_killed_service_can_be_read_and_replayed() {
    let sim = FabricServer::shape("fat-tree:4");
    let rings = PathBuf::from(state_dir(&sim, "sm")).join("rings");
    let replay = |file: &Path| sim.ferrosm(&["replay", &file.display().to_string()]);
    let sm = start(&sim, None, "sm", &["--config", &with_rings(&sim)]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    sim.execute("cut \"leaf-0-0\"[3]");
    wait_for_health(&sim, "sm", 1, &["47 links"]);
    // Writes what is in memory.
    let status = json(&sim, "sm", &["capture", "status"]);
    assert!(status["rings"]["recording"]["ended"].is_null(), "{status}");
    assert_eq!(status["rings"]["dropped"], 0);
    drop(sm.stop(Signal::Kill, GUARD));
    // What is expected at the next start may not be written yet.
    sim.execute("restore \"leaf-0-0\"[3]");
    let mads = private_files(&rings, "mads-");
    assert_eq!(mads.len(), 1);
    assert!(packets_in(sim.dir(), &mads[0]) > 500);
    let runs = private_files(&rings, "run-");
    assert_eq!(runs.len(), 1);
    let replayed = replay(&runs[0]).expect_success().stdout;
    for text in ["master", "all outputs are those recorded", "ends at byte"] {
        assert!(replayed.contains(text), "{replayed}");
    }

    let sm = start(&sim, None, "sm", &["--config", &with_rings(&sim)]);
    wait_for_health(&sim, "sm", 0, &["48 links"]);
    drop(sm.stop(Signal::Terminate, Duration::from_secs(30)));
    assert_eq!(private_files(&rings, "mads-").len(), 2);
    let runs = private_files(&rings, "run-");
    assert_eq!(runs.len(), 2);
    let replayed = replay(&runs[1]).expect_success().stdout;
    assert!(
        replayed.contains("all outputs are those recorded"),
        "{replayed}"
    );
    assert!(!replayed.contains("ends at byte"), "{replayed}");

    // Off, which is the default.
    fs::remove_dir_all(&rings).unwrap();
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["48 links"]);
    let off = ask(&sim, "sm", &["capture", "status"])
        .expect_success()
        .stdout;
    assert!(off.contains("rings: off"), "{off}");
    assert!(!rings.exists());
}
