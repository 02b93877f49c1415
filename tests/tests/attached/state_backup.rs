//! `ferrosm state backup` and `restore`, of a running service and of damaged files; `gzip` and
//! `tar` read the backup.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Launch, Signal};

use crate::api::{GUARD, ask, start, state_dir, wait_for_health};

#[test]
fn state_is_backed_up_while_the_service_runs_and_restored_while_it_does_not() {
    let sim = FabricServer::shape("star:3");
    let state = PathBuf::from(state_dir(&sim, "sm"));
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let host = "host-2 mlx5_0";
    drop(sim.run_at(host, "saquery", &["-p"]).expect_success());
    let file = sim.dir().join("backup.tar.gz");
    let path = file.display().to_string();
    let made = ask(&sim, "sm", &["state", "backup", &path])
        .expect_success()
        .stdout;
    assert!(made.contains("which continues"), "{made}");
    let foreign = |program: &str, args: &[&str]| {
        let args = [args, &[path.as_str()][..]].concat();
        Launch::new(program)
            .args(&args)
            .start(sim.dir())
            .wait(GUARD)
    };
    drop(foreign("gzip", &["-t"]).expect_success());
    let listed = foreign("tar", &["tzf"]).expect_success().stdout;
    for member in ["records.jsonl", "audit.jsonl", "port", "manifest.json"] {
        assert!(
            listed.lines().any(|line| line == member),
            "{member}: {listed}"
        );
    }
    let lids = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("\"lid\""));
        lines.map(str::to_owned).collect()
    };
    let before = lids(
        &ask(&sim, "sm", &["state", "export"])
            .expect_success()
            .stdout,
    );
    assert_eq!(before.len(), 4);

    let in_use = ask(&sim, "sm", &["state", "restore", &path]);
    assert_eq!(in_use.status.code(), Some(1));
    assert!(
        in_use.stderr.contains("stop the service"),
        "{}",
        in_use.describe()
    );
    drop(sm.stop(Signal::Terminate, GUARD));

    // Any damage is found before anything is replaced.
    let store = fs::read(state.join("store.redb")).unwrap();
    let whole = fs::read(&file).unwrap();
    for (name, damaged) in [
        ("truncated", whole[..whole.len() - 9].to_vec()),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("no backup", b"not a backup".to_vec()),
        ("changed", {
            let mut changed = whole.clone();
            let at = changed.len() / 2;
            changed[at] ^= 0x40;
            changed
        }),
    ] {
        let bad = sim.dir().join("bad.tar.gz");
        fs::write(&bad, damaged).unwrap();
        let refused = ask(
            &sim,
            "sm",
            &["state", "restore", &bad.display().to_string()],
        );
        assert_eq!(refused.status.code(), Some(1), "{name}");
        assert!(
            refused.stderr.contains("Nothing was changed"),
            "{name}: {}",
            refused.describe()
        );
        assert_eq!(fs::read(state.join("store.redb")).unwrap(), store, "{name}");
    }

    // A damaged store: the start says what is lost, a restore brings it back.
    fs::write(state.join("store.redb"), &store[..store.len() / 3]).unwrap();
    let restored = ask(&sim, "sm", &["state", "restore", &path])
        .expect_success()
        .stdout;
    assert!(restored.contains("the earlier state is in"), "{restored}");
    let kept = state.join("before-restore-1");
    assert_eq!(
        fs::read(kept.join("store.redb")).unwrap(),
        store[..store.len() / 3]
    );
    let after = lids(
        &ask(&sim, "sm", &["state", "export"])
            .expect_success()
            .stdout,
    );
    assert_eq!(after, before);
    assert!(!state.join("restoring").exists());
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let again = lids(
        &ask(&sim, "sm", &["state", "export"])
            .expect_success()
            .stdout,
    );
    assert_eq!(again, before);
    drop(sm.stop(Signal::Terminate, GUARD));

    // To another directory.
    let other = sim.dir().join("other").display().to_string();
    let args = ["state", "restore", &path, "--state-dir", &other];
    let fresh = sim.ferrosm(&args).expect_success().stdout;
    assert!(!fresh.contains("the earlier state"), "{fresh}");
    assert!(PathBuf::from(&other).join("audit.jsonl").exists());
}

/// A start with an unreadable store says what is lost and what to do.
#[test]
fn start_with_a_truncated_store_says_how_to_go_on() {
    let sim = FabricServer::shape("star:3");
    let state = PathBuf::from(state_dir(&sim, "sm"));
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    drop(sm.stop(Signal::Terminate, GUARD));
    let store = state.join("store.redb");
    let bytes = fs::read(&store).unwrap();
    fs::write(&store, &bytes[..bytes.len() / 3]).unwrap();
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let log = sm.stop(Signal::Terminate, GUARD).stderr;
    for text in [
        "unreadable store renamed",
        "hosts register again",
        "state restore",
    ] {
        assert!(log.contains(text), "{text}: {log}");
    }
}
