//! An etcd cluster (Debian's `etcd-server`) on free local ports, with its data in a temporary
//! directory.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::programs::loopback;
use crate::programs::process::{Launch, Running, Signal, poll_until};
use crate::programs::scratch::Scratch;

/// Timeout for all operations; only a broken cluster reaches it.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A cluster; its members are killed when it is dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    // Last, so that the directory is removed after the processes have ended.
    scratch: Scratch,
}

#[derive(Debug)]
struct Member {
    client: SocketAddr,
    peer: SocketAddr,
    process: Option<Running>,
}

impl Etcd {
    /// Starts a cluster, and waits until all members are healthy.
    ///
    /// # Panics
    /// If a member does not become healthy, or etcd is not installed.
    #[must_use]
    pub fn new(members: usize) -> Self {
        let addresses = loopback::free(members * 2);
        let member = |pair: &[SocketAddr]| Member {
            client: pair[0],
            peer: pair[1],
            process: None,
        };
        let mut etcd = Self {
            members: addresses.chunks(2).map(member).collect(),
            // In memory, so that a busy disk cannot delay etcd; other tests cover a hanging etcd.
            scratch: Scratch::in_memory("etcd"),
        };
        etcd.start();
        etcd
    }

    /// The client URLs of the members.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        let url = |m: &Member| format!("http://{}", m.client);
        self.members.iter().map(url).collect()
    }

    /// Kills a member with SIGKILL.
    pub fn kill(&mut self, member: usize) {
        if let Some(process) = self.members[member].process.take() {
            drop(process.stop(Signal::Kill, TIMEOUT));
        }
    }

    /// Sends a signal to all members. Stopping them simulates a hanging disk.
    pub fn signal_all(&self, signal: Signal) {
        for process in self.members.iter().filter_map(|m| m.process.as_ref()) {
            process.signal(signal);
        }
    }

    /// Kills all members with SIGKILL.
    pub fn kill_all(&mut self) {
        (0..self.members.len()).for_each(|n| self.kill(n));
    }

    /// Starts the members that are not running, with their existing data, and waits until all
    /// members are healthy.
    ///
    /// # Panics
    /// If a member does not become healthy.
    pub fn start(&mut self) {
        // Start all members before waiting: a member is healthy only if the cluster has a quorum.
        for n in 0..self.members.len() {
            if self.members[n].process.is_none() {
                self.members[n].process = Some(self.launch(n));
            }
        }
        for n in 0..self.members.len() {
            let healthy = poll_until(TIMEOUT, POLL_INTERVAL, || self.check_health(n));
            healthy.unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn launch(&self, n: usize) -> Running {
        let mut text = String::new();
        for (n, member) in self.members.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(text, "{comma}m{n}=http://{}", member.peer);
        }
        let client = &self.endpoints()[n];
        let peer = format!("http://{}", self.members[n].peer);
        let name = format!("m{n}");
        let data = self.scratch.join(&name).display().to_string();
        Launch::new("etcd")
            .args(&["--name", &name, "--data-dir", &data])
            .args(&["--logger", "zap", "--log-level", "warn"])
            .args(&["--listen-client-urls", client])
            .args(&["--advertise-client-urls", client])
            .args(&["--listen-peer-urls", &peer])
            .args(&["--initial-advertise-peer-urls", &peer])
            .args(&["--initial-cluster", &text, "--initial-cluster-state", "new"])
            .start(self.scratch.path())
    }

    /// The number of the leader.
    ///
    /// # Panics
    /// If no leader is elected in time.
    #[must_use]
    pub fn leader(&self) -> usize {
        let is_leader = |n: &usize| {
            self.get(*n, "metrics")
                .contains("\netcd_server_is_leader 1")
        };
        let outcome = poll_until(TIMEOUT, POLL_INTERVAL, || {
            let found = (0..self.members.len()).find(is_leader);
            found.ok_or_else(|| "etcd has no leader".to_owned())
        });
        outcome.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Fetches a page from a member; returns the error text if that fails.
    fn get(&self, n: usize, page: &str) -> String {
        let request = || -> std::io::Result<String> {
            let mut socket = TcpStream::connect(self.members[n].client)?;
            socket.set_read_timeout(Some(Duration::from_secs(1)))?;
            socket.write_all(format!("GET /{page} HTTP/1.0\r\n\r\n").as_bytes())?;
            let mut response = String::new();
            socket.read_to_string(&mut response)?;
            Ok(response)
        };
        request().unwrap_or_else(|e| e.to_string())
    }

    /// Succeeds if a member is healthy.
    fn check_health(&self, n: usize) -> Result<(), String> {
        let response = self.get(n, "health");
        if response.contains("\"true\"") {
            return Ok(());
        }
        let log = self.members[n]
            .process
            .as_ref()
            .map(Running::stderr)
            .unwrap_or_default();
        Err(format!("etcd member {n} is not healthy: {response}\n{log}"))
    }
}
