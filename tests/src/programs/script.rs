//! A host that registers with the SA: the client `tests/clients/script.c`, and the MADs that it
//! sends, as bytes.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::programs::clients::Clients;
use crate::programs::paths::workspace;
use crate::programs::process::Launch;
use crate::programs::scratch::unique_name;

/// Maximum time for compiling the client.
const BUILD_TIMEOUT: Duration = Duration::from_secs(60);
const SET: u8 = 2;

/// The compiled client.
#[derive(Debug)]
pub struct Script(PathBuf);

impl Script {
    /// Compiles the client into the simulator's directory.
    ///
    /// # Panics
    /// If compilation fails.
    #[must_use]
    pub fn build(sim: &impl Clients) -> Self {
        let source = workspace().join("tests/clients/script.c");
        let program = sim.dir().join("script");
        let build = Launch::new("cc")
            .args(&["-O1", "-o", &program.to_string_lossy()])
            .args(&[&*source.to_string_lossy(), "-libumad"])
            .start(sim.dir())
            .wait(BUILD_TIMEOUT);
        drop(build.expect_success());
        Self(program)
    }

    /// Sends MADs, one per line, from a node. Waits only for the reply of the node to a query to
    /// itself.
    ///
    /// # Panics
    /// If the client fails.
    pub fn send(&self, sim: &impl Clients, node: &str, lines: &str) {
        drop(self.run(sim, node, "", lines));
    }

    /// Sends MADs, one per line, from a node, and waits up to `wait_ms` for each reply. Returns
    /// whether the SA acknowledged all of them.
    ///
    /// # Panics
    /// If the client fails.
    pub fn is_acknowledged(
        &self,
        sim: &impl Clients,
        node: &str,
        lines: &str,
        wait_ms: u32,
    ) -> bool {
        /// SubnAdmGetResp with status 0, in hexadecimal from the method on.
        const ACKNOWLEDGED: &str = "810000";
        let replies = self.run(sim, node, &wait_ms.to_string(), lines);
        let acknowledged = replies.lines().filter(|reply| {
            let mad = reply.split_whitespace().nth(1).unwrap_or_default();
            mad.get(6..12) == Some(ACKNOWLEDGED)
        });
        acknowledged.count() == lines.lines().count()
    }

    /// Runs the client with these lines, and returns its output.
    fn run(&self, sim: &impl Clients, node: &str, args: &str, lines: &str) -> String {
        let input = sim.dir().join(unique_name("lines"));
        fs::write(&input, lines).unwrap_or_else(|e| panic!("{}: {e}", input.display()));
        let command = format!("exec {} {args} < {}", self.0.display(), input.display());
        let done = sim.run_at(node, "sh", &["-c", &command]);
        done.expect_success().stdout
    }
}

/// A line with a MAD to the SA at the LID `sm`.
#[must_use]
pub fn line(name: &str, sm: &str, method: u8, attr: u16, mask: u64, data: &[u8]) -> String {
    let mut mad = [0; 256];
    mad[..4].copy_from_slice(&[1, 3, 2, method]);
    mad[16..18].copy_from_slice(&attr.to_be_bytes());
    mad[48..56].copy_from_slice(&mask.to_be_bytes());
    mad[56..56 + data.len()].copy_from_slice(data);
    let hex: String = mad.iter().map(|b| format!("{b:02x}")).collect();
    format!("{name} {sm} {hex}\n")
}

fn gid(guid: u64) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..2].copy_from_slice(&[0xFE, 0x80]);
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    gid
}

/// Requests that join the port with this GUID to the broadcast group, and create another group.
#[must_use]
pub fn join_group(sm: &str, guid: u64) -> String {
    const JOIN: u64 = 1 | 1 << 1 | 1 << 7 | 1 << 16;
    // MTU and rate of the broadcast group, as Linux requests them.
    const CREATE: u64 = JOIN | 1 << 2 | 0b11 << 4 | 1 << 6 | 0b11 << 8 | 1 << 12 | 1 << 13;
    let member = |low: [u8; 4]| {
        let mut record = [0; 52];
        record[..6].copy_from_slice(&[0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF]);
        record[12..16].copy_from_slice(&low);
        record[16..32].copy_from_slice(&gid(guid));
        record[34..36].copy_from_slice(&[0x0B, 0x1B]);
        (record[38], record[42]) = (0x84, 0x83);
        record[40..42].copy_from_slice(&[0xFF, 0xFF]);
        record[48] = 1;
        record
    };
    let mut text = line("broadcast", sm, SET, 0x38, JOIN, &member([0xFF; 4]));
    text += &line("own", sm, SET, 0x38, CREATE, &member([0, 0, 0, 1]));
    text
}

/// A request that registers a service with an unlimited lease. The ServiceID depends on the first
/// character of the name.
#[must_use]
pub fn register_service(sm: &str, guid: u64, name: &str) -> String {
    let mut service = [0; 176];
    service[6] = 0x10;
    service[7] = name.bytes().next().unwrap_or_default() - b'e';
    service[8..24].copy_from_slice(&gid(guid));
    service[24..26].copy_from_slice(&[0xFF, 0xFF]);
    service[28..32].copy_from_slice(&[0xFF; 4]);
    service[48..48 + name.len()].copy_from_slice(name.as_bytes());
    service[112] = 7;
    service[128..130].copy_from_slice(&[1, 2]);
    let mask = 0b101_0111 | 1 << 7 | 1 << 23;
    line("service", sm, SET, 0x31, mask, &service)
}

/// A request that subscribes to all traps and notices.
#[must_use]
pub fn subscribe(sm: &str) -> String {
    let mut inform = [0; 36];
    inform[16..18].copy_from_slice(&[0xFF, 0xFF]);
    inform[22..28].copy_from_slice(&[1, 1, 0xFF, 0xFF, 0xFF, 0xFF]);
    inform[30..36].copy_from_slice(&[1, 18, 0, 0xFF, 0xFF, 0xFF]);
    line("inform", sm, SET, 0x03, 0, &inform)
}
