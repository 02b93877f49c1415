//! `ferrosm run` remains master while links and switches of an ibsim fabric fail and return.
//!
//! After each event the judge must accept the fabric within a bound. The elapsed time is printed
//! and not asserted.

#![expect(
    clippy::print_stdout,
    reason = "the tests print the time after each event"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::bringup::cabling;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, Observed};
use ferrosm_tests::programs::ibdmchk;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::judge;
use ferrosm_tests::programs::process::{Running, Signal, poll_until};

/// Longest time until the fabric is sound again. A trap can be lost with the link that would carry
/// it, so a light sweep may have to find the change.
const CONVERGENCE_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
const STOP: Duration = Duration::from_secs(20);

/// A fabric with `ferrosm run` as master.
struct ManagedIbsim {
    sim: Ibsim,
    daemon: Running,
    /// The cold fabric with all links.
    initial: Net,
    /// The LIDs assigned at first.
    lids: BTreeMap<(u64, u8), (u16, u8)>,
}

impl ManagedIbsim {
    fn start(spec: &str, args: &[&str]) -> Self {
        let sim = Ibsim::serve(&by_spec(spec));
        let initial = sim.net().unwrap_or_else(|reason| panic!("{reason}"));
        let state = sim.subdir("state");
        let dump = sim.subdir("dump");
        let state = state.to_string_lossy();
        let dump = dump.to_string_lossy();
        // The judge reads only LFTs and assumes that all packets use one VL.
        let mut entries = vec!["run", "--vls", "1", "--state-dir", &*state];
        entries.extend(["--dump-dir", &*dump]);
        entries.extend_from_slice(args);
        let daemon = sim.spawn_ferrosm(None, &entries);
        let mut fabric = Self {
            sim,
            daemon,
            initial,
            lids: BTreeMap::new(),
        };
        let seen = fabric.wait_until_sound("cold start", |_| true);
        assert_eq!(cabling(&seen.net), cabling(&fabric.initial));
        fabric.lids = seen.net.lids();
        fabric
    }

    /// Waits until the fabric is as `expected` and the judge accepts it; no LID may have changed.
    fn wait_until_sound(&mut self, event: &str, expected: impl Fn(&Net) -> bool) -> Observed {
        let since = Instant::now();
        let seen = poll_until(CONVERGENCE_LIMIT, PAUSE, || {
            if let Some(status) = self.daemon.ended() {
                panic!("ferrosm ended with {status}:\n{}", self.daemon.stderr());
            }
            let seen = self.sim.observe()?;
            if !expected(&seen.net) {
                return Err("the simulator has not reached the expected state".to_owned());
            }
            judge::examine(&seen).check()?;
            Ok(seen)
        });
        let seen =
            seen.unwrap_or_else(|reason| panic!("{event}: {reason}\n{}", self.daemon.stderr()));
        println!("{event}: sound after {:?}", since.elapsed());
        for (end, lid) in seen.net.lids() {
            let first = self.lids.get(&end).copied().unwrap_or(lid);
            assert_eq!(lid, first, "{event}: LID of {end:x?} changed");
        }
        seen
    }

    /// Waits until the fabric is complete again.
    fn wait_until_complete(&mut self, event: &str) -> Observed {
        let initial = cabling(&self.initial);
        self.wait_until_sound(event, |net| cabling(net) == initial)
    }

    /// Waits until the files in the dump directory match the present fabric and are sound.
    fn dumps_agree(&self, seen: &Observed) {
        let dump = self.sim.subdir("dump");
        let ends = cabling(&seen.net).len();
        let end_ports = seen.net.hosts().map(|node| node.ports.len()).sum();
        poll_until(CONVERGENCE_LIMIT, PAUSE, || {
            let text = std::fs::read_to_string(dump.join("opensm-subnet.lst"));
            let lines = text.map_err(|error| error.to_string())?.lines().count();
            if lines != ends {
                return Err(format!("{lines} link ends instead of {ends}"));
            }
            // The files are written one after the other: the list may be a sweep ahead of the LFTs.
            ibdmchk::run(&dump, self.sim.dir())?.check(end_ports)
        })
        .unwrap_or_else(|reason| panic!("the dump: {reason}"));
    }

    /// Stops ferrosm, which must exit with status 0.
    fn stop(self) {
        let ended = self.daemon.stop(Signal::Terminate, STOP);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.describe());
    }

    /// A switch without attached hosts.
    fn spine(&self) -> u64 {
        let hosts: Vec<u64> = self.initial.hosts().map(|node| node.guid).collect();
        self.initial
            .switches()
            .find(|switch| !switch.ports.values().any(|port| hosts.contains(&port.peer)))
            .unwrap_or_else(|| panic!("every switch has hosts"))
            .guid
    }
}

/// A link between switches is removed and reinserted.
#[test]
fn lost_and_restored_link_is_rerouted() {
    let mut fabric = ManagedIbsim::start("fat-tree:4", &[]);
    let links = fabric.initial.switch_links();
    for ((switch, port), _) in [links[0], links[links.len() / 2], links[links.len() - 1]] {
        fabric
            .sim
            .console(&format!("Unlink \"S-{switch:016x}\"[{port}]"));
        let without = |net: &Net| net.switch_links().len() == links.len() - 1;
        let seen = fabric.wait_until_sound("link lost", without);
        fabric.dumps_agree(&seen);
        fabric
            .sim
            .console(&format!("ReLink \"S-{switch:016x}\"[{port}]"));
        let seen = fabric.wait_until_complete("link restored");
        fabric.dumps_agree(&seen);
    }
    fabric.stop();
}

/// A ring has no redundant up/down route, so the loss of one link reverses routes all around it.
#[test]
fn lost_and_restored_ring_link_is_rerouted() {
    let mut fabric = ManagedIbsim::start("ring:6,2", &[]);
    let links = fabric.initial.switch_links();
    for ((switch, port), _) in links.clone() {
        fabric
            .sim
            .console(&format!("Unlink \"S-{switch:016x}\"[{port}]"));
        fabric.wait_until_sound("link lost", |net: &Net| {
            net.switch_links().len() == links.len() - 1
        });
        fabric
            .sim
            .console(&format!("ReLink \"S-{switch:016x}\"[{port}]"));
        fabric.wait_until_complete("link restored");
    }
    fabric.stop();
}

/// A spine loses power and returns with factory defaults: its LID is restored and its tables are
/// rewritten.
#[test]
fn switch_that_returns_gets_its_lid_back() {
    let mut fabric = ManagedIbsim::start("fat-tree:4", &[]);
    let spine = fabric.spine();
    let switches = fabric.initial.switches().count();
    fabric.sim.console(&format!("Unlink \"S-{spine:016x}\""));
    let seen = fabric.wait_until_sound("switch off", |net| net.switches().count() == switches - 1);
    fabric.dumps_agree(&seen);
    fabric.sim.console(&format!("Clear \"S-{spine:016x}\""));
    fabric.sim.console(&format!("ReLink \"S-{spine:016x}\""));
    let seen = fabric.wait_until_complete("switch on");
    fabric.dumps_agree(&seen);
    fabric.stop();
}

/// A switch reboots too quickly to be seen as absent: it loses its LID, and all its ports return to
/// Initialize at once.
#[test]
fn quickly_rebooted_switch_is_configured_again() {
    let mut fabric = ManagedIbsim::start("fat-tree:4", &[]);
    let spine = fabric.spine();
    fabric.sim.console(&format!(
        "Clear \"S-{spine:016x}\"\nReLink \"S-{spine:016x}\""
    ));
    fabric.wait_until_complete("switch rebooted");
    fabric.stop();
}

/// A host leaves and returns with the same LID, which no other port gets in the meantime.
#[test]
fn host_that_returns_gets_its_lid_back() {
    let mut fabric = ManagedIbsim::start("fat-tree:4", &[]);
    let hosts = fabric.initial.hosts().count();
    let last = fabric
        .initial
        .hosts()
        .last()
        .map(ferrosm_tests::programs::diags::Node::id);
    let host = last.unwrap_or_default();
    fabric.sim.console(&format!("Unlink \"{host}\""));
    fabric.wait_until_sound("host off", |net| net.hosts().count() == hosts - 1);
    fabric.sim.console(&format!("Clear \"{host}\""));
    fabric.sim.console(&format!("ReLink \"{host}\""));
    fabric.wait_until_complete("host on");
    fabric.stop();
}

/// Bursts of link failures and recoveries on a random graph, without pauses within a burst. The
/// fabric may be partitioned: the connected component of the SM must be sound.
#[test]
fn event_bursts_converge() {
    let mut fabric = ManagedIbsim::start("random:12,4,2,7", &[]);
    let links = fabric.initial.switch_links();
    let mut seed = 42_u64;
    for round in 0..4 {
        let mut cut_links = Vec::new();
        for _ in 0..5 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let index = usize::try_from(seed >> 33).unwrap_or(0) % links.len();
            if !cut_links.contains(&index) {
                let ((switch, port), _) = links[index];
                fabric
                    .sim
                    .console(&format!("Unlink \"S-{switch:016x}\"[{port}]"));
                cut_links.push(index);
            }
        }
        fabric.wait_until_sound(&format!("burst {round}, cut"), |_| true);
        for index in cut_links {
            let ((switch, port), _) = links[index];
            fabric
                .sim
                .console(&format!("ReLink \"S-{switch:016x}\"[{port}]"));
        }
        fabric.wait_until_complete(&format!("burst {round}, restored"));
    }
    fabric.stop();
}

/// `sminfo` from the far end of the fabric reports the master with the configured priority.
#[test]
fn sminfo_shows_the_master() {
    let fabric = ManagedIbsim::start("fat-tree:4", &["--priority", "9"]);
    let far_port = fabric
        .initial
        .hosts()
        .last()
        .map(ferrosm_tests::programs::diags::Node::id)
        .unwrap_or_default();
    let info = fabric
        .sim
        .sm_info(&far_port)
        .unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!((info.state.as_str(), info.priority), ("SMINFO_MASTER", 9));
    assert!(
        fabric.lids.values().any(|&(lid, _)| lid == info.lid),
        "{info:?}"
    );
    let later = fabric
        .sim
        .sm_info(&far_port)
        .unwrap_or_else(|reason| panic!("{reason}"));
    assert!(later.activity >= info.activity, "{info:?} {later:?}");
    fabric.stop();
}

/// SIGHUP reloads the configuration without side effects, SIGUSR1 is ignored, and later events are
/// handled as before.
#[test]
fn reload_disturbs_nothing() {
    let mut fabric = ManagedIbsim::start("fat-tree:4", &[]);
    let before = fabric.wait_until_complete("before the reload");
    fabric.daemon.signal(Signal::User1);
    fabric.daemon.signal(Signal::Hangup);
    let ((switch, port), _) = fabric.initial.switch_links()[0];
    fabric
        .sim
        .console(&format!("Unlink \"S-{switch:016x}\"[{port}]"));
    let links = fabric.initial.switch_links().len();
    fabric.wait_until_sound("link lost after the reload", |net| {
        net.switch_links().len() == links - 1
    });
    fabric
        .sim
        .console(&format!("ReLink \"S-{switch:016x}\"[{port}]"));
    let after = fabric.wait_until_complete("link restored after the reload");
    assert_eq!(before.net.lids(), after.net.lids());
    fabric.stop();
}

/// A restart changes neither LIDs nor LFTs.
#[test]
fn restart_changes_nothing() {
    let mut fabric = ManagedIbsim::start("torus:3,3,1,2", &[]);
    let before = fabric.wait_until_complete("before the restart");
    let state = fabric.sim.subdir("state");
    let dump = fabric.sim.subdir("dump");
    let state = state.to_string_lossy();
    let dump = dump.to_string_lossy();
    let args = ["run", "--state-dir", &*state, "--dump-dir", &*dump];
    fabric.daemon.signal(Signal::Terminate);
    let exit_status = poll_until(STOP, PAUSE, || {
        fabric
            .daemon
            .ended()
            .ok_or_else(|| "still running".to_owned())
    });
    assert_eq!(exit_status.map(|status| status.code()), Ok(Some(0)));
    fabric.daemon = fabric.sim.spawn_ferrosm(None, &args);
    let far_port = fabric
        .initial
        .hosts()
        .last()
        .map(ferrosm_tests::programs::diags::Node::id)
        .unwrap_or_default();
    poll_until(CONVERGENCE_LIMIT, PAUSE, || {
        fabric.sim.sm_info(&far_port).map(drop)
    })
    .unwrap_or_else(|reason| panic!("{reason}"));
    let after = fabric.wait_until_complete("after the restart");
    assert_eq!(before.tables, after.tables);
    assert_eq!(before.net.lids(), after.net.lids());
    fabric.stop();
}
