//! What ferrosm reports to a service manager (sd_notify(3)): the test is the receiver of its
//! datagrams.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::{Launch, Running, Signal, poll_until};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
/// Watchdog timeout of the tests: notifications are due four times in it.
const WATCHDOG: Duration = Duration::from_millis(800);

const HOST: &str = "host-0 mlx5_0";

/// A host, and the socket of its service manager.
struct Service {
    sim: FabricServer,
    socket: UnixDatagram,
}

impl Service {
    fn new() -> Self {
        let sim = FabricServer::shape("star:2");
        let socket = UnixDatagram::bind(sim.dir().join("notify")).unwrap();
        socket.set_read_timeout(Some(GUARD)).unwrap();
        Self { sim, socket }
    }

    /// Starts the SM with these lines of configuration.
    fn start(&self, config: &str) -> Running {
        let dir = self.sim.dir();
        let state = format!(
            "\n[files]\nstate-dir = \"{}\"\n",
            dir.join("state").display()
        );
        fs::write(dir.join("f.toml"), format!("{config}{state}")).unwrap();
        let ferrosm = paths::ferrosm().display().to_string();
        self.sim
            .launch(&ferrosm, Some(HOST))
            .env("NOTIFY_SOCKET", dir.join("notify").to_str().unwrap())
            .env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string())
            .args(&["run", "--config", "f.toml"])
            .start(dir)
    }

    /// The next lines that the SM sends; `None` if it is silent for the timeout of the socket.
    fn receive(&self) -> Option<String> {
        let mut bytes = [0; 4096];
        let len = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    /// Receives until a message starts with these words, and returns it.
    fn wait_for(&self, words: &str) -> String {
        let mut seen = Vec::new();
        let began = Instant::now();
        while began.elapsed() < GUARD
            && let Some(message) = self.receive()
        {
            if message.starts_with(words) {
                return message;
            }
            seen.push(message);
        }
        panic!("no {words:?} after {seen:?}");
    }

    fn execute(&self, command: &str) {
        let _ = self.sim.execute(command);
    }
}

/// READY must not wait for the link, because the boot waits for READY; the watchdog must not depend
/// on the fabric.
#[test]
fn service_is_ready_and_watched_without_a_link() {
    let service = Service::new();
    service.execute(&format!("unplug \"{HOST}\"[1]"));
    let sm = service.start("");
    service.wait_for("READY=1");
    service.wait_for("STATUS=local port unusable");
    for _ in 0..8 {
        service.wait_for("WATCHDOG=1");
    }
    service.execute(&format!("plug \"{HOST}\"[1] \"switch-0\"[1] 4x hdr"));
    service.wait_for("STATUS=Master: 1 switch, 2 CAs, 0 problems");
    sm.signal(Signal::Hangup);
    service.wait_for("RELOADING=1\nMONOTONIC_USEC=");
    service.wait_for("READY=1");
    sm.signal(Signal::Terminate);
    service.wait_for("STOPPING=1");
    let _ = sm.wait(GUARD).expect_success();
}

/// Without an HCA, the wait itself is a ready service with a living loop.
#[test]
fn service_is_ready_and_watched_without_an_hca() {
    let service = Service::new();
    let _ = service.sim.run_at(HOST, "true", &[]).expect_success();
    let sysfs = format!("{}.d", service.sim.socket().display());
    for host in fs::read_dir(sysfs).unwrap().flatten() {
        let class = host.path().join("class");
        if class.join("infiniband").is_dir() {
            fs::rename(class.join("infiniband"), class.join("hidden")).unwrap();
        }
    }
    let sm = service.start("");
    service.wait_for("STATUS=waiting: no InfiniBand port: this host has no RDMA device");
    service.wait_for("READY=1");
    for _ in 0..8 {
        service.wait_for("WATCHDOG=1");
    }
    sm.signal(Signal::Terminate);
    service.wait_for("STOPPING=1");
    let _ = sm.wait(GUARD).expect_success();
}

/// A file that never ends blocks the keeper of the configuration, but not the main loop: the subnet
/// is served, and the watchdog is notified.
#[test]
fn file_that_never_ends_does_not_block_the_loop() {
    let service = Service::new();
    let routes = service.sim.dir().join("prefix-routes.conf");
    fs::write(&routes, "").unwrap();
    let sm = service.start(&format!(
        "[routing]\nprefix-routes-file = \"{}\"\n",
        routes.display()
    ));
    service.wait_for("STATUS=Master:");
    service.wait_for("WATCHDOG=1");
    fs::remove_file(&routes).unwrap();
    let _ = Launch::new("mkfifo")
        .args(&[&*routes.to_string_lossy()])
        .start(service.sim.dir())
        .wait(GUARD)
        .expect_success();
    sm.signal(Signal::Hangup);
    service.wait_for("RELOADING=1");
    for _ in 0..8 {
        service.wait_for("WATCHDOG=1");
    }
    sm.signal(Signal::Terminate);
    service.wait_for("STOPPING=1");
    let _ = sm.wait(GUARD).expect_success();
}

/// What site scripts wait for in OpenSM's log.
#[test]
fn log_of_opensm_says_subnet_up() {
    let sim = FabricServer::shape("star:2");
    let args = ["run", "--state-dir", "state", "--log-format", "opensm"];
    let sm = sim.spawn_ferrosm(Some(HOST), &args);
    let has_lines = poll_until(GUARD, Duration::from_millis(50), || {
        let log = sm.stderr();
        let has_line = |words: &str| log.lines().any(|line| line.contains(words));
        let all = has_line("] 0x80 -> Entering MASTER state") && has_line("] 0x80 -> SUBNET UP");
        if all { Ok(()) } else { Err(log) }
    });
    has_lines.unwrap_or_else(|log| panic!("{log}"));
    let _ = sm.stop(Signal::Terminate, GUARD).expect_success();
}
