//! Killed at any moment while state is written, the store opens again and has everything that was acknowledged.
//!
//! The program that is killed is this test itself, started again. It hands over one change after the other, many at a time, and says
//! which are durable. Whoever kills it reads that, and then the store: what is in it must be what the changes up to some number
//! make, and that number is not below the last one said. Forty times here, a thousand times with `FERROSM_KILLS=1000`.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "test helpers")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use ferrosm::state::{Kept, StateDir};
use ferrosm_core::kept::{Batch, Key, Kind, Record, Update};
use ferrosm_core::sa::registry::saved::SavedAlias;
use ferrosm_mad::ids::{Lid, Lmc, MKey, PortGuid};
use ferrosm_tests::scratch::Scratch;
use ferrosm_tests::simulated::Dice;

/// Names the directory to the one that is to be killed.
const DIR: &str = "FERROSM_KILLED_IN";
/// Changes that wait to be durable at one time.
const IN_FLIGHT: usize = 64;
const PORTS: u64 = 300;

type Records = BTreeMap<Key, Box<[u8]>>;

/// The changes of one number; the last says which that is.
fn updates(n: u64) -> Vec<Update> {
    let mut dice = Dice::new(n);
    let mut updates: Vec<Update> = (0..dice.below(6))
        .map(|_| {
            let port = PortGuid(1 + dice.below(PORTS));
            if dice.one_in(3) {
                // What clients register is kept as LIDs are.
                let index = 1 + u16::try_from(dice.below(3)).unwrap_or(0);
                let alias = PortGuid(n);
                let alias = SavedAlias { port, index, alias };
                return Update::Put(Record::Alias(alias));
            }
            if dice.one_in(4) {
                return Update::Remove(Record::lid_key(port));
            }
            let lid = Lid(1 + u16::try_from(dice.below(0xBFFF)).unwrap_or(0));
            let lmc = Lmc(0);
            Update::Put(Record::Lid { port, lid, lmc })
        })
        .collect();
    if dice.one_in(500) {
        updates.push(Update::Clear(Kind::Lid));
    }
    if dice.one_in(500) {
        updates.push(Update::Clear(Kind::Alias));
    }
    let (port, m_key) = (PortGuid(0), MKey::new(n));
    updates.push(Update::Put(Record::MKey { port, m_key }));
    updates
}

/// The number of the last change in a store.
fn number(dir: &StateDir) -> u64 {
    let last = dir.records().iter().find_map(|(key, value)| {
        match Record::decode(key, value, 0).expect("a record") {
            Some(Record::MKey { m_key, .. }) => Some(m_key.expose()),
            _ => None,
        }
    });
    last.unwrap_or(0)
}

/// Is killed, if somebody started it for that.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let dir = StateDir::open(Path::new(&dir)).expect("a state directory");
    let mut n = number(&dir);
    let writer = dir.writer().expect("a thread");
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let mut out = std::io::stdout();
    loop {
        while waiting.len() < IN_FLIGHT {
            n += 1;
            let ticket = writer.save(Kept::Updates(updates(n)));
            waiting.insert(ticket.expect("a ticket"), n);
        }
        let reached = writer.durable().reached();
        let rest = waiting.split_off(&(reached + 1));
        if let Some((_, durable)) = core::mem::replace(&mut waiting, rest).pop_last() {
            // Whoever reads is gone: so is the reason to go on.
            if writeln!(out, "durable {durable}")
                .and_then(|()| out.flush())
                .is_err()
            {
                return;
            }
        } else {
            std::thread::yield_now();
        }
    }
}

#[test]
fn everything_acknowledged_is_there_after_kill_9() {
    let kills = std::env::var("FERROSM_KILLS").ok();
    let kills: u64 = kills.map_or(40, |n| n.parse().expect("a number"));
    let scratch = Scratch::new("state-killed");
    let (mut model, mut done) = (Records::new(), 0);
    let mut sequence = 0;
    for seed in 0..kills {
        let mut dice = Dice::new(seed);
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "writes_until_it_is_killed", "--nocapture"])
            .env(DIR, scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let words = dice.upto(30);
        let mut acknowledged = done;
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut take = |line: &str| {
            // Half a word that the kill cut off says nothing.
            let number = line
                .strip_suffix('\n')
                .and_then(|l| l.strip_prefix("durable "));
            acknowledged = number.map_or(acknowledged, |n| n.parse().expect("a number"));
            u64::from(number.is_some())
        };
        let (mut heard, mut line) = (0, String::new());
        while heard < words && out.read_line(&mut line).expect("read") > 0 {
            heard += take(&line);
            line.clear();
        }
        assert!(heard == words, "[seed {seed}] it ended by itself");
        for _ in 0..dice.upto(200_000) {
            core::hint::spin_loop();
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
        while out.read_line(&mut line).expect("read") > 0 {
            take(&line);
            line.clear();
        }
        let dir = StateDir::open(scratch.path()).expect("it opens");
        let has = number(&dir);
        assert!(
            has >= acknowledged,
            "[seed {seed}] {has} of {acknowledged} that were acknowledged"
        );
        for n in done + 1..=has {
            let changes = updates(n).iter().map(|u| u.change(0)).collect();
            Batch { changes }.apply(&mut model);
        }
        done = has;
        let records: Records = dir.records().iter().cloned().collect();
        assert!(
            records == model,
            "[seed {seed}] other records than the first {has} changes make"
        );
        let (batches, _) = dir.last_batch();
        assert!(
            batches >= sequence && batches <= done,
            "[seed {seed}] {batches}"
        );
        sequence = batches;
    }
    assert!(done > kills, "{done} changes in {kills} lives");
    let set_aside = std::fs::read_dir(scratch.path()).expect("a directory");
    let names = set_aside.map(|e| e.expect("an entry").file_name());
    let broken: Vec<_> = names
        .filter(|n| n.to_string_lossy().contains("broken"))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    println!("{kills} kills, {done} changes in {sequence} batches");
}
