//! Hosts that ask for paths, join groups and register services all the time, and cables that flap: what goes on on a fabric while its
//! masters die. What was acknowledged is written down by the hosts themselves, and compared with what `saquery` tells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clients::Clients;
use crate::fabric_server::FabricServer;
use crate::process::{Finished, Launch, Running};
use crate::programs;

/// Longest time for a compiler, or for a statement to the simulator.
const BUILT: Duration = Duration::from_secs(60);
/// Half of a cable's period.
const HALF: Duration = Duration::from_millis(250);
/// A registration is undone when there are so many further ones.
const KEPT: &str = "12";

/// What may be registered: whose (the GID), `group`, `service` or `inform`, and its number.
pub type Name = (Ipv6Addr, String, u64);

/// Builds a client of `tests/`; returns where it is.
///
/// # Panics
/// If that fails.
#[must_use]
pub fn build(sim: &FabricServer, source: &str) -> String {
    let source = programs::workspace().join("tests").join(source);
    let stem = source.file_stem().unwrap_or_default();
    let program = sim.dir().join(stem).display().to_string();
    let built = Launch::new("cc")
        .args(&["-O1", "-o", &program])
        .args(&[&*source.to_string_lossy(), "-libumad"])
        .start(sim.dir())
        .wait(BUILT);
    drop(built.expect_success());
    program
}

/// Whole lines only: the last one may be half written.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| line.split(' ').collect())
}

fn number<T: core::str::FromStr>(word: &str) -> T {
    word.parse()
        .unwrap_or_else(|_| panic!("not a number: {word:?}"))
}

/// A host that asks for a path each 4 ms.
#[derive(Debug)]
pub struct Witness(Running);

impl Witness {
    /// It begins, at this node. `program` is `benches/compare/sa-witness.c`, built.
    ///
    /// # Panics
    /// If the fabric's GUIDs cannot be written down for it.
    #[must_use]
    pub fn start(sim: &FabricServer, program: &str, node: &str) -> Self {
        let lids = sim.tell("lids");
        let guids: Vec<&str> = lids.lines().filter_map(|l| l.split(' ').next()).collect();
        let path = sim.dir().join("guids");
        std::fs::write(&path, guids.join("\n")).unwrap_or_else(|e| panic!("guids: {e}"));
        let ask = ["ask", "4000", &path.display().to_string()];
        let launch = sim.launch(program, Some(node)).args(&ask).with_console();
        Self(launch.start(sim.dir()))
    }

    /// Its answers without an error: monotonic seconds, and the LID that answered.
    #[must_use]
    pub fn answers(&self) -> Vec<(f64, u16)> {
        let said = self.0.stdout();
        let answers = lines(&said).filter(|words| words[2] == "0");
        answers
            .map(|words| (number(words[0]), number(words[1])))
            .collect()
    }
}

/// A host that registers without end.
#[derive(Debug)]
pub struct Registrar(Running);

impl Registrar {
    /// It begins, at this node, with this number. `program` is `clients/registrar.c`, built. `what` is `joins` (and services) or
    /// `services`.
    #[must_use]
    pub fn start(sim: &FabricServer, program: &str, node: &str, first: usize, what: &str) -> Self {
        let launch = sim.launch(program, Some(node));
        let launch = launch.args(&[&first.to_string(), KEPT, what]);
        Self(launch.with_console().start(sim.dir()))
    }

    /// How much was acknowledged so far by the subnet administration at a LID.
    #[must_use]
    pub fn acknowledged_by(&self, lid: u16) -> usize {
        let (said, lid) = (self.0.stdout(), lid.to_string());
        lines(&said)
            .filter(|w| w[0] == "did" && w[4] == lid)
            .count()
    }

    /// It ends; everything that it said.
    ///
    /// # Panics
    /// If it failed.
    #[must_use]
    pub fn end(mut self) -> String {
        self.0.close_console();
        let finished: Finished = self.0.wait(BUILT);
        finished.expect_success().stdout
    }
}

/// What hosts were told.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Whether it must be there; `None` where nobody can know.
    pub said: BTreeMap<Name, Option<bool>>,
    /// How many changes were acknowledged.
    pub acknowledged: usize,
    /// How many were answered with an error.
    pub refused: usize,
    /// Refusals that no question which was asked twice explains.
    pub odd: Vec<String>,
    /// Withdrawn by who had been told that it is there, and it was not.
    missed: BTreeSet<Name>,
}

impl Ledger {
    /// Adds what one host said, in order.
    ///
    /// # Panics
    /// If it is not what `clients/registrar.c` says.
    pub fn add(&mut self, said: &str) {
        let mut own = Ipv6Addr::UNSPECIFIED;
        // What was known before the question that is open.
        let mut known = None;
        for words in lines(said) {
            if words[0] == "port" {
                let guid = u64::from_str_radix(words[1], 16);
                own = gid(guid.unwrap_or_else(|e| panic!("{words:?}: {e}")));
                continue;
            }
            let name = (own, words[2].to_owned(), number(words[3]));
            let is_done = words[0] == "did";
            let before = self
                .said
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

    /// What was withdrawn already when it was asked for again is refused, and nobody can know what became of it. What is withdrawn for
    /// the first time was there: it was acknowledged.
    fn add_refusal(&mut self, words: &[&str], name: Name, before: Option<bool>) {
        let sent: u64 = number(words[5]);
        match (words[1], before) {
            ("-", Some(true)) if sent == 1 => {
                self.missed.insert(name);
            }
            ("-", _) if sent > 1 => {}
            _ => self.odd.push(words.join(" ")),
        }
    }

    /// What is acknowledged and is not so: registrations that are not there, or were not when they were withdrawn, and such as are there
    /// again.
    #[must_use]
    pub fn differences(&self, there: &BTreeSet<Name>) -> (Vec<Name>, Vec<Name>) {
        let wrong = |must: bool| -> BTreeSet<Name> {
            let known = self
                .said
                .iter()
                .filter(move |(_, said)| **said == Some(must));
            let wrong = known.filter(move |(name, _)| there.contains(*name) != must);
            wrong.map(|(name, _)| name.clone()).collect()
        };
        let lost: BTreeSet<Name> = wrong(true);
        let lost = lost.union(&self.missed).cloned().collect();
        (lost, wrong(false).into_iter().collect())
    }

    /// How many must be there.
    #[must_use]
    pub fn standing(&self) -> usize {
        self.said.values().filter(|s| **s == Some(true)).count()
    }
}

fn gid(guid: u64) -> Ipv6Addr {
    Ipv6Addr::from((0xFE80_u128 << 112) | u128::from(guid))
}

/// What `saquery` at a node tells of all that hosts registered.
///
/// # Errors
/// If it fails: the fabric may be in the midst of a change.
///
/// # Panics
/// If it says what is not understood.
pub fn registered(sim: &FabricServer, node: &str) -> Result<BTreeSet<Name>, String> {
    let mut found = BTreeSet::new();
    for (table, kind, whose, which) in [
        ("MCMR", "group", "PortGid", "MGID"),
        ("SR", "service", "ServiceGID", "ServiceID"),
        ("IIR", "inform", "SubscriberGID", ""),
    ] {
        let said = sim.run_at(
            node,
            "saquery",
            &["--smkey", "1", "--timeout", "3000", table],
        );
        if !said.status.success() {
            return Err(said.describe());
        }
        for record in said.stdout.split("Record dump:").skip(1) {
            let field = |name: &str| {
                let mut fields = record.lines().filter_map(|l| l.trim().strip_prefix(name));
                let value = fields.find_map(|rest| rest.strip_prefix('.'));
                let value = value.map(|value| value.trim_start_matches('.'));
                value.unwrap_or_else(|| panic!("no {name}: {record}"))
            };
            let whose: Ipv6Addr = number(field(whose));
            let which = match kind {
                "group" => {
                    let mgid: Ipv6Addr = number(field(which));
                    let [first, .., last] = mgid.segments();
                    // The broadcast group and the like are no group of ours.
                    if first != 0xFF12
                        || !(0x2000..0x3000).contains(&last)
                        || mgid.segments()[1] != 0
                    {
                        continue;
                    }
                    u64::from(last) - 0x2000
                }
                "service" => {
                    let id = u64::from_str_radix(field(which).trim_start_matches("0x"), 16);
                    id.unwrap_or_else(|e| panic!("{record}: {e}")) - 0x10000
                }
                _ => 0,
            };
            found.insert((whose, kind.to_owned(), which));
        }
    }
    Ok(found)
}

/// SMPs that reached agents so far, by attribute: Gets, Sets.
#[must_use]
pub fn smps(sim: &FabricServer) -> BTreeMap<String, (u64, u64)> {
    let said = sim.tell("smps");
    let counts = said.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, gets, "gets", sets, "sets"] = words[..] else {
            return None;
        };
        Some((name.to_owned(), (number(gets), number(sets))))
    });
    counts.collect()
}

/// Cables that are cut and restored all the time, one after the other. All are whole when it ends.
#[derive(Debug)]
pub struct Flaps {
    over: Arc<AtomicBool>,
    times: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Flaps {
    /// They begin.
    #[must_use]
    pub fn start(sim: &FabricServer, cables: &'static [&'static str]) -> Self {
        let (over, times) = (Arc::default(), Arc::default());
        let (socket, dir) = (sim.socket().to_owned(), sim.dir().to_owned());
        let (end, count) = (Arc::clone(&over), Arc::clone(&times));
        let thread = std::thread::spawn(move || flap(&socket, &dir, cables, &end, &count));
        Self {
            over,
            times,
            thread: Some(thread),
        }
    }

    /// How often one was cut and restored so far.
    #[must_use]
    pub fn times(&self) -> usize {
        self.times.load(Ordering::Acquire)
    }

    /// They end.
    ///
    /// # Panics
    /// If a cable could not be cut or restored.
    pub fn end(mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok(), "a cable was not cut or restored");
        }
    }
}

impl Drop for Flaps {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// The pauses are the load's period. Nothing waits for them.
fn flap(socket: &Path, dir: &Path, cables: &[&str], over: &AtomicBool, times: &AtomicUsize) {
    let binary: PathBuf = programs::ferrosm();
    let tell = |what: &str, cable: &str| {
        let socket = socket.display().to_string();
        let statement = format!("{what} {cable}");
        let tell = Launch::new(&binary).args(&["sim-ctl", "--socket", &socket, &statement]);
        drop(tell.start(dir).wait(BUILT).expect_success());
        std::thread::sleep(HALF);
    };
    for cable in cables.iter().cycle() {
        if over.load(Ordering::Acquire) {
            break;
        }
        tell("cut", cable);
        tell("restore", cable);
        times.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: &str = "port 0002c90300000011\n";

    fn ledger(said: &str) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.add(&format!("{PORT}{said}"));
        ledger
    }

    fn service(n: u64) -> Name {
        (gid(0x0002_c903_0000_0011), "service".to_owned(), n)
    }

    /// Lost, and found out by the host itself before anybody could look.
    #[test]
    fn registration_lost_before_its_withdrawal_is_reported() {
        for said in [
            "did + service 5 1\nno - service 5 0x0300 1\n",
            "try + service 5\ndid + service 5 1\ntry - service 5\nno - service 5 0x0300 1\ntry + service 6\ndid + service 6 1\n",
        ] {
            let found = ledger(said);
            let there = BTreeSet::from([service(6)]);
            let (lost, returned) = found.differences(&there);
            assert!(lost.contains(&service(5)), "{said}: {lost:?}");
            assert!(!lost.contains(&service(6)), "{said}: {lost:?}");
            assert_eq!(returned, []);
        }
    }

    /// The first question may have done it, and its answer is gone.
    #[test]
    fn withdrawal_by_a_repeated_request_is_no_loss() {
        let found = ledger("did + service 5 1\ntry - service 5\nno - service 5 0x0300 2\n");
        assert_eq!(found.differences(&BTreeSet::new()), (vec![], vec![]));
        assert_eq!(
            found.differences(&BTreeSet::from([service(5)])),
            (vec![], vec![])
        );
        assert_eq!((found.refused, found.odd.len()), (1, 0));
    }

    #[test]
    fn acknowledged_records_are_present_and_withdrawn_ones_absent() {
        let found = ledger(
            "did + service 5 1\ndid + service 6 1\ndid - service 6 1\ntry + service 7\n\
             try + service 8\nno + service 8 0x0100 1\nno",
        );
        let there = BTreeSet::from([service(6), service(7)]);
        let (lost, returned) = found.differences(&there);
        assert_eq!((lost, returned), (vec![service(5)], vec![service(6)]));
        assert_eq!((found.acknowledged, found.standing()), (3, 1));
        assert_eq!(found.odd, ["no + service 8 0x0100 1"]);
    }
}
