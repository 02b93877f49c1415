//! A cluster of etcd (Debian's `etcd-server`) on free ports of this machine, with its data in a directory of its own.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::loopback;
use crate::process::{Launch, Running, Signal, poll_until};
use crate::scratch::Scratch;

/// Only a broken cluster takes so long.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// The members; killed when dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    // Last: the directory goes after the processes that write into it.
    scratch: Scratch,
}

#[derive(Debug)]
struct Member {
    client: SocketAddr,
    peer: SocketAddr,
    process: Option<Running>,
}

impl Etcd {
    /// Starts so many members, and waits until they serve.
    ///
    /// # Panics
    /// If they do not, or etcd is not installed.
    #[must_use]
    pub fn new(members: usize) -> Self {
        let places = loopback::free(members * 2);
        let member = |pair: &[SocketAddr]| Member {
            client: pair[0],
            peer: pair[1],
            process: None,
        };
        let mut etcd = Self {
            members: places.chunks(2).map(member).collect(),
            // What a disk does that others keep busy is not what is tried: etcd that hangs is a test of its own.
            scratch: Scratch::in_memory("etcd"),
        };
        etcd.start();
        etcd
    }

    /// Where its members are.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        let place = |m: &Member| format!("http://{}", m.client);
        self.members.iter().map(place).collect()
    }

    /// kill -9.
    pub fn kill(&mut self, member: usize) {
        if let Some(process) = self.members[member].process.take() {
            drop(process.stop(Signal::Kill, GUARD));
        }
    }

    /// All of them stand still, or go on: what a disk does that hangs, seen from outside.
    pub fn signal_all(&self, signal: Signal) {
        for process in self.members.iter().filter_map(|m| m.process.as_ref()) {
            process.signal(signal);
        }
    }

    /// Kills all of them.
    pub fn kill_all(&mut self) {
        (0..self.members.len()).for_each(|n| self.kill(n));
    }

    /// Starts those that do not run, with the data that they had; all serve then.
    ///
    /// # Panics
    /// If they do not.
    pub fn start(&mut self) {
        // A cluster serves when most of it is there.
        for n in 0..self.members.len() {
            if self.members[n].process.is_none() {
                self.members[n].process = Some(self.launch(n));
            }
        }
        for n in 0..self.members.len() {
            let serves = poll_until(GUARD, PAUSE, || self.serves(n));
            serves.unwrap_or_else(|why| panic!("{why}"));
        }
    }

    fn launch(&self, n: usize) -> Running {
        let mut all = String::new();
        for (n, member) in self.members.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(all, "{comma}m{n}=http://{}", member.peer);
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
            .args(&["--initial-cluster", &all, "--initial-cluster-state", "new"])
            .start(self.scratch.path())
    }

    /// The number of the member that leads the others.
    ///
    /// # Panics
    /// If there is none for long.
    #[must_use]
    pub fn leader(&self) -> usize {
        let leads = |n: &usize| {
            self.get(*n, "metrics")
                .contains("\netcd_server_is_leader 1")
        };
        let found = poll_until(GUARD, PAUSE, || {
            let found = (0..self.members.len()).find(leads);
            found.ok_or_else(|| "no member of etcd leads".to_owned())
        });
        found.unwrap_or_else(|why| panic!("{why}"))
    }

    /// A page of a member, or why there is none.
    fn get(&self, n: usize, page: &str) -> String {
        let ask = || -> std::io::Result<String> {
            let mut socket = TcpStream::connect(self.members[n].client)?;
            socket.set_read_timeout(Some(Duration::from_secs(1)))?;
            socket.write_all(format!("GET /{page} HTTP/1.0\r\n\r\n").as_bytes())?;
            let mut answer = String::new();
            socket.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().unwrap_or_else(|e| e.to_string())
    }

    /// Whether a member serves, with a leader.
    fn serves(&self, n: usize) -> Result<(), String> {
        let said = self.get(n, "health");
        if said.contains("\"true\"") {
            return Ok(());
        }
        let log = self.members[n].process.as_ref().map(Running::stderr);
        let log = log.unwrap_or_default();
        Err(format!("etcd's member {n} does not serve: {said}\n{log}"))
    }
}
