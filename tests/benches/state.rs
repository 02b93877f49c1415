//! Time to restore persisted state, and until a join is durable, on the disk of this machine.
//!
//! `cargo bench -p ferrosm-tests --bench state [-- DIR]` creates the store in DIR, by default in
//! the directory for temporary files. Targets: 50,000 LIDs in 200 ms, a join within 10 ms.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a benchmark")]

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ferrosm_core::records::{Record, RecordUpdate};
use ferrosm_mad::ids::{Gid, Lid, Lmc, PortGuid};
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sa::registry::group::GroupMember;
use ferrosm_sa::registry::registration::Registration;
use ferrosm_store::{PersistRequest, StateDir, StateWriter};

const LIDS: u64 = 48_000;
/// Ports with LIDs. There are fewer unicast LIDs, so the last ports reuse the first LIDs.
const PORTS: u64 = 50_000;
const JOINS: u64 = 200;
const BULK_JOINS: u64 = 50_000;
const IN_FLIGHT: usize = 1_000;

fn lid(port: u64) -> RecordUpdate {
    let lid = Lid(1 + u16::try_from(port % LIDS).unwrap_or(0));
    let port = PortGuid(port + 1);
    let lmc = Lmc(0);
    RecordUpdate::Put(Record::Lid { port, lid, lmc })
}

fn join(port: u64) -> Vec<RecordUpdate> {
    let mut mgid = Gid([0; 16]);
    (mgid.0[0], mgid.0[1]) = (0xFF, 0x12);
    mgid.0[12..].copy_from_slice(&u32::try_from(port / 1_000).unwrap_or(0).to_be_bytes());
    let member = GroupMember {
        join_state: JoinState::FULL,
        proxy: false,
    };
    let port = PortGuid(port + 1);
    vec![RecordUpdate::Put(Record::Registration(
        Registration::Member { mgid, port, member },
    ))]
}

fn open(path: &Path) -> StateDir {
    StateDir::open(path).expect("state directory opened")
}

fn wait_for(writer: &StateWriter, ticket: u64) {
    while writer.durability().durable_ticket() < ticket {
        std::thread::yield_now();
    }
}

/// The given percentile of sorted times.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() - 1) * percent / 100]
}

fn main() {
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let dir = named
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join(format!("ferrosm-bench-state-{}", std::process::id()));
    let writer = open(&dir).writer().expect("writer thread started");
    let all = (0..PORTS).map(lid).collect();
    let began = Instant::now();
    let ticket = writer.submit(PersistRequest::Updates(all)).expect("ticket");
    wait_for(&writer, ticket);
    println!("{PORTS} LIDs written in {:.1?}", began.elapsed());
    drop(writer);

    let mut times: Vec<Duration> = (0..10)
        .map(|_| {
            let began = Instant::now();
            let restored = open(&dir).restored();
            let took = began.elapsed();
            assert_eq!(restored.lids.len() as u64, PORTS);
            took
        })
        .collect();
    times.sort();
    println!(
        "{PORTS} LIDs restored in {:.1?} (median; target 200 ms)",
        percentile(&times, 50)
    );

    let writer = open(&dir).writer().expect("writer thread started");
    let mut times: Vec<Duration> = (0..JOINS)
        .map(|port| {
            let began = Instant::now();
            let ticket = writer
                .submit(PersistRequest::Updates(join(port)))
                .expect("ticket");
            wait_for(&writer, ticket);
            began.elapsed()
        })
        .collect();
    times.sort();
    let median = percentile(&times, 50);
    let p99 = percentile(&times, 99);
    println!(
        "a join is durable after {median:.1?} (median), {p99:.1?} (99th percentile; target 10 ms)"
    );

    let began = Instant::now();
    let mut waiting: VecDeque<(u64, Instant)> = VecDeque::new();
    let mut times = Vec::new();
    for port in 0..BULK_JOINS {
        let ticket = writer
            .submit(PersistRequest::Updates(join(port)))
            .expect("ticket");
        waiting.push_back((ticket, Instant::now()));
        while waiting.len() >= IN_FLIGHT || port + 1 == BULK_JOINS && !waiting.is_empty() {
            let reached = writer.durability().durable_ticket();
            let before = times.len();
            while let Some((_, since)) = waiting.pop_front_if(|(ticket, _)| *ticket <= reached) {
                times.push(since.elapsed());
            }
            if times.len() == before {
                std::thread::yield_now();
            }
        }
    }
    let took = began.elapsed();
    times.sort();
    #[expect(clippy::cast_precision_loss, reason = "approximate rate for display")]
    let rate = BULK_JOINS as f64 / took.as_secs_f64();
    let median = percentile(&times, 50);
    let p99 = percentile(&times, 99);
    println!(
        "{BULK_JOINS} joins, {IN_FLIGHT} in flight: {rate:.0}/s, durable after {median:.1?} (median), {p99:.1?} (99th percentile)"
    );
    drop(writer);
    std::fs::remove_dir_all(&dir).expect("removed");
}
