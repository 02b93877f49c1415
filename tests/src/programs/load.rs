//! Load for failover tests: hosts that query paths, join groups and register services, and links
//! that flap. The clients log acknowledged requests, which are compared with the output of
//! `saquery`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::programs::clients::Clients;
use crate::programs::fabric_server::FabricServer;
use crate::programs::paths;
use crate::programs::process::{Finished, Launch, Running};

/// Time limit of a compiler run or a simulator command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a flapping link stays down, and up.
const HALF_PERIOD: Duration = Duration::from_millis(250);
/// Number of registrations per client; older ones are withdrawn.
const MAX_REGISTRATIONS: &str = "12";

/// Identifies a registration: the GID, `group`, `service` or `inform`, and a number.
pub type RegistrationId = (Ipv6Addr, String, u64);

/// Builds a client of `tests/`; returns the path of the program.
///
/// # Panics
///
/// If that fails.
#[must_use]
pub fn build(sim: &FabricServer, source: &str) -> String {
    let source = paths::workspace().join("tests").join(source);
    let stem = source.file_stem().unwrap_or_default();
    let program = sim.dir().join(stem).display().to_string();
    let built = Launch::new("cc")
        .args(&["-O1", "-o", &program])
        .args(&[&*source.to_string_lossy(), "-libumad"])
        .start(sim.dir())
        .wait(COMMAND_TIMEOUT);
    drop(built.expect_success());
    program
}

/// Complete lines only, because the last one may be partly written.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(|line| line.split(' ').collect())
}

fn number<T: core::str::FromStr>(word: &str) -> T {
    word.parse()
        .unwrap_or_else(|_| panic!("not a number: {word:?}"))
}

/// A host that queries a path every 4 ms.
#[derive(Debug)]
pub struct PathQueryClient(Running);

impl PathQueryClient {
    /// Starts the client at a node. `program` is the compiled `benches/compare/sa-witness.c`.
    ///
    /// # Panics
    ///
    /// If the file of GUIDs cannot be written.
    #[must_use]
    pub fn start(sim: &FabricServer, program: &str, node: &str) -> Self {
        let lids = sim.execute("lids");
        let guids: Vec<&str> = lids.lines().filter_map(|l| l.split(' ').next()).collect();
        let path = sim.dir().join("guids");
        std::fs::write(&path, guids.join("\n")).unwrap_or_else(|e| panic!("guids: {e}"));
        let args = ["ask", "4000", &path.display().to_string()];
        let launch = sim
            .launch(program, Some(node))
            .args(&args)
            .with_stdin_pipe();
        Self(launch.start(sim.dir()))
    }

    /// Its successful replies: monotonic seconds, and the LID that replied.
    #[must_use]
    pub fn answers(&self) -> Vec<(f64, u16)> {
        let output = self.0.stdout();
        let answers = lines(&output).filter(|words| words[2] == "0");
        answers
            .map(|words| (number(words[0]), number(words[1])))
            .collect()
    }
}

/// A host that registers and withdraws continuously.
#[derive(Debug)]
pub struct RegistrationClient(Running);

impl RegistrationClient {
    /// Starts the client at a node, with its first number. `program` is the compiled
    /// `clients/registrar.c`. `kinds` is `joins` (and services) or `services`.
    #[must_use]
    pub fn start(sim: &FabricServer, program: &str, node: &str, first: usize, kinds: &str) -> Self {
        let launch = sim.launch(program, Some(node));
        let launch = launch.args(&[&first.to_string(), MAX_REGISTRATIONS, kinds]);
        Self(launch.with_stdin_pipe().start(sim.dir()))
    }

    /// Number of requests that the SA at a LID has acknowledged.
    #[must_use]
    pub fn acknowledged_by(&self, lid: u16) -> usize {
        let output = self.0.stdout();
        let lid = lid.to_string();
        lines(&output)
            .filter(|w| w[0] == "did" && w[4] == lid)
            .count()
    }

    /// Stops the client, and returns its output.
    ///
    /// # Panics
    ///
    /// If it failed.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.close_stdin();
        let finished: Finished = self.0.wait(COMMAND_TIMEOUT);
        finished.expect_success().stdout
    }
}

/// Acknowledged registrations and withdrawals of all hosts.
#[derive(Debug, Default)]
pub struct RegistrationLog {
    /// Whether it must be registered; `None` if unknown.
    pub is_registered: BTreeMap<RegistrationId, Option<bool>>,
    /// Number of acknowledged changes.
    pub acknowledged: usize,
    /// Number of error replies.
    pub refused: usize,
    /// Error replies that a repeated request does not explain.
    pub unexpected_refusals: Vec<String>,
    /// Acknowledged registrations that were missing when they were withdrawn.
    missing_at_withdrawal: BTreeSet<RegistrationId>,
}

impl RegistrationLog {
    /// Adds the output of one host.
    ///
    /// # Panics
    ///
    /// If it is not in the format of `clients/registrar.c`.
    pub fn add(&mut self, output: &str) {
        let mut own = Ipv6Addr::UNSPECIFIED;
        // The state before the outstanding request.
        let mut known = None;
        for words in lines(output) {
            if words[0] == "port" {
                let guid = u64::from_str_radix(words[1], 16);
                own = gid(guid.unwrap_or_else(|e| panic!("{words:?}: {e}")));
                continue;
            }
            let name = (own, words[2].to_owned(), number(words[3]));
            let is_done = words[0] == "did";
            let before = self
                .is_registered
                .insert(name.clone(), is_done.then_some(words[1] == "+"))
                .flatten();
            match words[0] {
                "try" => known = before,
                "did" => {
                    self.acknowledged += 1;
                    known = None;
                }
                "no" => {
                    self.refused += 1;
                    self.add_refusal(&words, name, known.take().or(before));
                }
                _ => panic!("{words:?}"),
            }
        }
    }

    /// Error replies to repeated withdrawals are expected, and the state is unknown then. The first
    /// withdrawal of an acknowledged registration must not fail.
    fn add_refusal(&mut self, words: &[&str], name: RegistrationId, before: Option<bool>) {
        let sent: u64 = number(words[5]);
        match (words[1], before) {
            ("-", Some(true)) if sent == 1 => {
                self.missing_at_withdrawal.insert(name);
            }
            ("-", _) if sent > 1 => {}
            _ => self.unexpected_refusals.push(words.join(" ")),
        }
    }

    /// Returns lost registrations, also those missing at their withdrawal, and registrations that
    /// exist although withdrawn.
    #[must_use]
    pub fn differences(
        &self,
        present: &BTreeSet<RegistrationId>,
    ) -> (Vec<RegistrationId>, Vec<RegistrationId>) {
        let differing = |must: bool| -> BTreeSet<RegistrationId> {
            let known = self
                .is_registered
                .iter()
                .filter(move |(_, is_registered)| **is_registered == Some(must));
            let invalid = known.filter(move |(name, _)| present.contains(*name) != must);
            invalid.map(|(name, _)| name.clone()).collect()
        };
        let lost: BTreeSet<RegistrationId> = differing(true);
        let lost = lost.union(&self.missing_at_withdrawal).cloned().collect();
        (lost, differing(false).into_iter().collect())
    }

    /// Number of registrations that must exist.
    #[must_use]
    pub fn registered_count(&self) -> usize {
        self.is_registered
            .values()
            .filter(|s| **s == Some(true))
            .count()
    }
}

fn gid(guid: u64) -> Ipv6Addr {
    Ipv6Addr::from((0xFE80_u128 << 112) | u128::from(guid))
}

/// All registrations of hosts, as `saquery` reports them.
///
/// # Errors
///
/// If it fails, for example during a fabric change.
///
/// # Panics
///
/// If its output cannot be parsed.
pub fn query_registrations(
    sim: &FabricServer,
    node: &str,
) -> Result<BTreeSet<RegistrationId>, String> {
    let mut results = BTreeSet::new();
    for (table, kind, owner_field, id_field) in [
        ("MCMR", "group", "PortGid", "MGID"),
        ("SR", "service", "ServiceGID", "ServiceID"),
        ("IIR", "inform", "SubscriberGID", ""),
    ] {
        let output = sim.run_at(
            node,
            "saquery",
            &["--smkey", "1", "--timeout", "3000", table],
        );
        if !output.status.success() {
            return Err(output.describe());
        }
        for record in output.stdout.split("Record dump:").skip(1) {
            let field = |name: &str| {
                let mut fields = record.lines().filter_map(|l| l.trim().strip_prefix(name));
                let value = fields.find_map(|rest| rest.strip_prefix('.'));
                let value = value.map(|value| value.trim_start_matches('.'));
                value.unwrap_or_else(|| panic!("no {name}: {record}"))
            };
            let owner: Ipv6Addr = number(field(owner_field));
            let id = match kind {
                "group" => {
                    let mgid: Ipv6Addr = number(field(id_field));
                    let [first, .., last] = mgid.segments();
                    // Skips well-known groups.
                    if first != 0xFF12
                        || !(0x2000..0x3000).contains(&last)
                        || mgid.segments()[1] != 0
                    {
                        continue;
                    }
                    u64::from(last) - 0x2000
                }
                "service" => {
                    let id = u64::from_str_radix(field(id_field).trim_start_matches("0x"), 16);
                    id.unwrap_or_else(|e| panic!("{record}: {e}")) - 0x10000
                }
                _ => 0,
            };
            results.insert((owner, kind.to_owned(), id));
        }
    }
    Ok(results)
}

/// SMPs processed by agents so far, by attribute: Gets, Sets.
#[must_use]
pub fn count_smps(sim: &FabricServer) -> BTreeMap<String, (u64, u64)> {
    let output = sim.execute("smps");
    let counts = output.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, gets, "gets", sets, "sets"] = words[..] else {
            return None;
        };
        Some((name.to_owned(), (number(gets), number(sets))))
    });
    counts.collect()
}

/// Links that are cut and restored in turn. All are up at the end.
#[derive(Debug)]
pub struct LinkFlaps {
    stop: Arc<AtomicBool>,
    cycles: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl LinkFlaps {
    /// Starts flapping.
    #[must_use]
    pub fn start(sim: &FabricServer, cables: &'static [&'static str]) -> Self {
        let stop = Arc::default();
        let cycles = Arc::default();
        let socket = sim.socket().to_owned();
        let dir = sim.dir().to_owned();
        let end = Arc::clone(&stop);
        let count = Arc::clone(&cycles);
        let thread = std::thread::spawn(move || flap(&socket, &dir, cables, &end, &count));
        Self {
            stop,
            cycles,
            thread: Some(thread),
        }
    }

    /// Number of completed cycles.
    #[must_use]
    pub fn cycles(&self) -> usize {
        self.cycles.load(Ordering::Acquire)
    }

    /// Stops flapping.
    ///
    /// # Panics
    ///
    /// If a link could not be cut or restored.
    pub fn finish(mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "a link was not cut or restored");
        }
    }
}

impl Drop for LinkFlaps {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// Cuts and restores one link after the other until stopped. The pauses set the period; no test
/// waits for them.
fn flap(socket: &Path, dir: &Path, cables: &[&str], stop: &AtomicBool, cycles: &AtomicUsize) {
    let binary: PathBuf = paths::ferrosm();
    let execute = |action: &str, cable: &str| {
        let socket = socket.display().to_string();
        let command = format!("{action} {cable}");
        let launch = Launch::new(&binary).args(&["sim-ctl", "--socket", &socket, &command]);
        drop(launch.start(dir).wait(COMMAND_TIMEOUT).expect_success());
        std::thread::sleep(HALF_PERIOD);
    };
    for cable in cables.iter().cycle() {
        if stop.load(Ordering::Acquire) {
            break;
        }
        execute("cut", cable);
        execute("restore", cable);
        cycles.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: &str = "port 0002c90300000011\n";

    fn log_of(output: &str) -> RegistrationLog {
        let mut log = RegistrationLog::default();
        log.add(&format!("{PORT}{output}"));
        log
    }

    fn service(n: u64) -> RegistrationId {
        (gid(0x0002_c903_0000_0011), "service".to_owned(), n)
    }

    /// A loss that the host detects before the final comparison.
    #[test]
    fn registration_lost_before_its_withdrawal_is_reported() {
        for output in [
            "did + service 5 1\nno - service 5 0x0300 1\n",
            "try + service 5\ndid + service 5 1\ntry - service 5\nno - service 5 0x0300 1\ntry + service 6\ndid + service 6 1\n",
        ] {
            let log = log_of(output);
            let present = BTreeSet::from([service(6)]);
            let (lost, returned) = log.differences(&present);
            assert!(lost.contains(&service(5)), "{output}: {lost:?}");
            assert!(!lost.contains(&service(6)), "{output}: {lost:?}");
            assert_eq!(returned, []);
        }
    }

    /// The first request may have succeeded, with its reply lost.
    #[test]
    fn error_reply_to_a_repeated_withdrawal_is_no_loss() {
        let log = log_of("did + service 5 1\ntry - service 5\nno - service 5 0x0300 2\n");
        assert_eq!(log.differences(&BTreeSet::new()), (vec![], vec![]));
        assert_eq!(
            log.differences(&BTreeSet::from([service(5)])),
            (vec![], vec![])
        );
        assert_eq!((log.refused, log.unexpected_refusals.len()), (1, 0));
    }

    #[test]
    fn acknowledged_records_are_present_and_withdrawn_ones_absent() {
        let log = log_of(
            "did + service 5 1\ndid + service 6 1\ndid - service 6 1\ntry + service 7\n\
             try + service 8\nno + service 8 0x0100 1\nno",
        );
        let present = BTreeSet::from([service(6), service(7)]);
        let (lost, returned) = log.differences(&present);
        assert_eq!((lost, returned), (vec![service(5)], vec![service(6)]));
        assert_eq!((log.acknowledged, log.registered_count()), (3, 1));
        assert_eq!(log.unexpected_refusals, ["no + service 8 0x0100 1"]);
    }
}
