//! Verbs programs on a fabric of `ferrosm sim`: `ibv_devices`, `ibv_devinfo`, and ibacm, which
//! queries the SA over umad and its peers with datagrams to a multicast group.
//!
//! ibacm and `ib_acme` use a socket with a fixed name in `/run`, so each ibacm has its own `/run`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::{Finished, Launch, Running, Signal, poll_until};

const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Hosts of a star, and hosts on different leaves of a tree.
const HOSTS: [&str; 2] = ["host-0 mlx5_0", "host-1 mlx5_0"];
const ON_DIFFERENT_LEAVES: [&str; 2] = ["host-0-0 mlx5_0", "host-1-1 mlx5_0"];

/// Arguments for a private mount namespace; an unprivileged user needs a user namespace as well.
fn own_namespace(command: &'static str) -> Vec<&'static str> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    match (command, is_root) {
        ("unshare", true) => vec!["--mount"],
        ("unshare", false) => vec!["--map-root-user", "--mount"],
        (_, true) => vec!["--mount"],
        (_, false) => vec!["--user", "--preserve-credentials", "--mount"],
    }
}

/// An ibacm on a host; killed when dropped.
struct IbAcm<'s> {
    sim: &'s FabricServer,
    node: &'static str,
    process: Running,
    log: PathBuf,
}

impl<'s> IbAcm<'s> {
    /// Starts it with a single endpoint called `name`.
    fn start(sim: &'s FabricServer, node: &'static str, name: &str) -> Self {
        let dir = sim.dir().join(name);
        fs::create_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let (log, addresses, options) =
            (dir.join("log"), dir.join("addresses"), dir.join("options"));
        let write = |file: &Path, text: String| {
            fs::write(file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        };
        write(&addresses, format!("{name} mlx5_0 1 default\n"));
        let text = format!(
            "log_file {}\nlock_file {}\nlog_level 2\nserver_mode unix\naddr_prot acm\nroute_prot sa\n\
             timeout 300\nretries 3\n",
            log.display(),
            dir.join("lock").display()
        );
        write(&options, text);
        let ibacm = paths::find("ibacm".as_ref());
        let process = Launch::new("unshare")
            .args(&own_namespace("unshare"))
            .args(&["sh", "-c", "mount -t tmpfs none /run && exec \"$@\"", "sh"])
            .args(&attach(sim, node))
            .args(&[
                ibacm.to_string_lossy(),
                "-P".into(),
                "-A".into(),
                addresses.to_string_lossy(),
                "-O".into(),
                options.to_string_lossy(),
            ])
            .start(sim.dir());
        Self {
            sim,
            node,
            process,
            log,
        }
    }

    /// Waits until its log contains a line `times` times.
    fn wait_for(&mut self, word: &str, times: usize) {
        let waited = poll_until(TIMEOUT, PAUSE, || {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            if let Some(status) = self.process.ended() {
                return Ok(Err(format!("ibacm ended with {status}")));
            }
            if log.matches(word).count() >= times {
                return Ok(Ok(()));
            }
            Err(format!("ibacm has not logged {word:?} {times} times"))
        });
        if let Err(reason) | Ok(Err(reason)) = waited {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            panic!("{reason}: {}\n{log}", self.process.stderr());
        }
    }

    /// Runs `ib_acme` against it.
    fn resolve(&self, args: &[&str]) -> Finished {
        Launch::new("nsenter")
            .args(&own_namespace("nsenter"))
            .args(&["--target", &self.process.pid().to_string(), "--"])
            .args(&attach(self.sim, self.node))
            .args(&["ib_acme"])
            .args(args)
            .start(self.sim.dir())
            .wait(TIMEOUT)
    }
}

fn attach(sim: &FabricServer, node: &str) -> Vec<String> {
    let ferrosm = paths::ferrosm();
    let socket = sim.socket();
    [&ferrosm.to_string_lossy(), "attach", "--socket"]
        .into_iter()
        .chain([&*socket.to_string_lossy(), "--node", node, "--"])
        .map(str::to_owned)
        .collect()
}

/// The value after a label, such as `dlid:` or `port_lid:`.
fn value<'t>(text: &'t str, label: &str) -> &'t str {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(label))
        .unwrap_or_else(|| panic!("no {label:?} in {text}"))
        .trim()
}

fn run(sim: &FabricServer, node: &str, program: &str, args: &[&str]) -> String {
    sim.launch(program, Some(node))
        .args(args)
        .start(sim.dir())
        .wait(TIMEOUT)
        .expect_success()
        .stdout
}

/// The value that smpquery prints after dots.
fn dotted<'t>(text: &'t str, label: &str) -> &'t str {
    value(text, label).trim_start_matches(['.', ':'])
}

#[test]
fn ibv_devinfo_shows_the_port_as_smpquery_does() {
    let sim = FabricServer::shape("star:4");
    let before = run(&sim, HOSTS[1], "ibv_devinfo", &[]);
    assert_eq!(value(&before, "state:"), "PORT_INIT (2)");
    let mut sm = OpenSm::start(&sim, Some(HOSTS[0]), &[]);
    sm.wait_until_up(1);
    let devinfo = run(&sim, HOSTS[1], "ibv_devinfo", &["-v"]);
    let smpquery = run(&sim, HOSTS[1], "smpquery", &["-D", "portinfo", "0", "1"]);
    assert_eq!(value(&devinfo, "port_lid:"), dotted(&smpquery, "Lid:"));
    assert_eq!(value(&devinfo, "sm_lid:"), dotted(&smpquery, "SMLid:"));
    assert_eq!(value(&devinfo, "state:"), "PORT_ACTIVE (4)");
    assert_eq!(dotted(&smpquery, "LinkState:"), "Active");
    let capabilities = dotted(&smpquery, "CapMask:");
    assert_eq!(value(&devinfo, "port_cap_flags:"), capabilities);
    let mtu = dotted(&smpquery, "NeighborMTU:");
    assert_eq!(value(&devinfo, "active_mtu:").split(' ').next(), Some(mtu));
    let nodes = run(&sim, HOSTS[1], "smpquery", &["-D", "nodeinfo", "0"]);
    let guid = dotted(&nodes, "Guid:").trim_start_matches("0x");
    assert_eq!(value(&devinfo, "node_guid:").replace(':', ""), guid);
    let listed = run(&sim, HOSTS[1], "ibv_devices", &[]);
    assert_eq!(value(&listed, "mlx5_0"), guid);
}

/// Two ibacm processes start before any SM. Port events bring them up, they join their group at the
/// SA, and one resolves the name of the other through the group. The path comes from the SA.
fn ibacm_resolves_names<M>(start_sm: impl FnOnce(&FabricServer) -> M) {
    let sim = FabricServer::shape("fat-tree2:4,2,2");
    let mut first = IbAcm::start(&sim, ON_DIFFERENT_LEAVES[0], "one");
    let mut second = IbAcm::start(&sim, ON_DIFFERENT_LEAVES[1], "two");
    first.wait_for("started", 1);
    second.wait_for("started", 1);
    let _sm = start_sm(&sim);
    for ibacm in [&mut first, &mut second] {
        ibacm.wait_for("join successful", 1);
    }
    let lid = |node| value(&run(&sim, node, "ibv_devinfo", &[]), "port_lid:").to_owned();
    let gid = |node| value(&run(&sim, node, "ibv_devinfo", &["-v"]), "GID[  0]:").to_owned();
    let from = lid(ON_DIFFERENT_LEAVES[0]);
    let to = lid(ON_DIFFERENT_LEAVES[1]);
    let queries = [
        ("n", "one".to_owned(), "two".to_owned()),
        ("l", from.clone(), to.clone()),
        (
            "g",
            gid(ON_DIFFERENT_LEAVES[0]),
            gid(ON_DIFFERENT_LEAVES[1]),
        ),
    ];
    for (format, source, destination) in &queries {
        let resolved = first.resolve(&["-f", format, "-s", source, "-d", destination, "-v"]);
        let text = resolved.expect_success().stdout;
        assert!(text.contains("SA verification: success"), "{text}");
        assert_eq!(value(&text, "slid:"), from, "{text}");
        assert_eq!(value(&text, "dlid:"), to, "{text}");
    }
    let unknown = first.resolve(&["-f", "n", "-s", "one", "-d", "nobody", "-v"]);
    assert!(!unknown.stdout.contains("Path information"), "{unknown:?}");
    for ibacm in [first, second] {
        let ended = ibacm.process.stop(Signal::Terminate, TIMEOUT);
        assert!(ended.stderr.is_empty(), "{}", ended.describe());
    }
}

#[test]
fn ibacm_resolves_names_with_opensm() {
    ibacm_resolves_names(|sim| {
        let mut sm = OpenSm::start(sim, None, &[]);
        sm.wait_until_up(1);
        sm
    });
}

/// The same with ferrosm's SA: ClassPortInfo, joins with the parameters of a new group, paths by
/// LID and GID.
#[test]
fn ibacm_resolves_names_with_ferrosm() {
    ibacm_resolves_names(|sim| {
        let state = sim.subdir("state").display().to_string();
        sim.spawn_ferrosm(None, &["run", "--state-dir", &state])
    });
}

/// A C program built against libibverbs' header checks completions of sends and receives, and error
/// returns.
#[test]
fn queue_pairs_behave_as_documented() {
    let sim = FabricServer::shape("star:4");
    let source = paths::workspace().join("tests/clients/datagrams.c");
    let program = sim.dir().join("datagrams");
    let _ = Launch::new("cc")
        .args(&["-Wall", "-Werror", "-o", &program.to_string_lossy()])
        .args(&[&*source.to_string_lossy(), "-libverbs"])
        .start(sim.dir())
        .wait(TIMEOUT)
        .expect_success();
    let mut sm = OpenSm::start(&sim, Some(HOSTS[0]), &[]);
    sm.wait_until_up(1);
    let launch = sim.launch(&program.to_string_lossy(), Some(HOSTS[1]));
    let ended = launch.start(sim.dir()).wait(TIMEOUT).expect_success();
    let message = "ferrosm attach: the simulated adapter supports only queue pairs of type UD without a shared receive queue (SRQ)\n";
    assert_eq!(ended.stderr, message);
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    // The completions at both ends of the first message arrive in any order.
    lines[3..5].sort_unstable();
    let expected = [
        "connected: Operation not supported",
        "too early: Invalid argument",
        "too early: Invalid argument",
        "got 11: success, 46 bytes, hello, from first, lid own, global 1",
        "sent 22: success",
        "long: local length error",
        "short: local length error",
        "full: Cannot allocate memory",
        "flushed: Work Request Flushed Error",
        "flushed: Work Request Flushed Error",
        "busy: Device or resource busy",
        "busy with sends: Device or resource busy",
        "unused: 0",
        "ends: 0 0",
    ];
    assert_eq!(lines, expected);
}
