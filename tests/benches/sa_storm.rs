//! Request storm against the SA: the production server and driver, a simulated fabric, and an
//! in-memory transport.
//!
//! `cargo bench -p ferrosm-tests --bench sa_storm [-- SPEC [ROW...]]` (rows: paths mpi waiting
//! members services tables) prints replies per second and reply times, at rest and during
//! continuous full sweeps in the same process. The rows are single paths in closed loop (16
//! requests in flight per host) and at a moderate rate, the path queries of an MPI start, joins and
//! leaves with their multicast writes, services, and whole tables. Hosts, server, SM and simulated
//! fabric share the machine's processors.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and panics on unexpected results"
)]

use core::ops::ControlFlow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ferrosm::clock::Clock;
use ferrosm::commands::simulator::port::SimulatedPort;
use ferrosm::run::driver::{Control, Driver, Reload, Shell};
use ferrosm::sa_server::SaServer;
use ferrosm_core::{Event, Progress, RestoredState, SmConfig, SubnetManager};
use ferrosm_mad::attr::id as smp;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, PortGuid};
use ferrosm_mad::mad::{MadHeader, Method, Status};
use ferrosm_mad::sa;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_sa::admission::AdmissionLimits;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim_server::in_process::SimNet;
use ferrosm_store::PersistRequest;
use ferrosm_tests::sa::wire::message;
use ferrosm_umad::gmp::{GmpReceived, GmpReceiver, GmpSender};
use ferrosm_umad::transport::TransportError;
use tokio::sync::mpsc;

/// Hosts that send requests.
const HOSTS: usize = 1000;
/// Requests in flight per host.
const IN_FLIGHT: usize = 16;
/// Path queries of 1,000 nodes with 4 processes each, all to all.
const MPI: u64 = 4 * 999_000;
/// Requests per second at moderate load.
const MODERATE: u64 = 20_000;
/// SGID, DGID, Reversible and NumbPath, as in the kernel's queries.
const KERNEL: u64 = 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12;
/// MGID, PortGID and JoinState.
const JOIN: u64 = 1 | 1 << 1 | 1 << 16;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let spec = arguments.next().unwrap_or_else(|| "fat-tree:36".to_owned());
    let only: Vec<String> = arguments.collect();
    let bench = Bench::start(&spec);
    println!(
        "\n{spec}: {} hosts, {HOSTS} send requests",
        bench.hosts.len()
    );
    let rows: [Row; 6] = [
        ("paths", Bench::paths),
        ("mpi", Bench::mpi),
        ("waiting", Bench::waiting),
        ("members", Bench::members),
        ("services", Bench::services),
        ("tables", Bench::tables),
    ];
    for (name, row) in rows {
        if only.is_empty() || only.iter().any(|o| o == name) {
            row(&bench);
        }
    }
    bench.finish();
}

/// A part of the benchmark and its name.
type Row = (&'static str, fn(&Bench));

/// A host's address.
#[derive(Clone, Copy)]
struct Host {
    lid: Lid,
    guid: PortGuid,
}

/// The n-th request of a window slot. The slot modulo the number of hosts selects the host.
type RequestGenerator = dyn Fn(usize, u64) -> Vec<u8> + Send + Sync;

/// In-memory transport of the hosts. Each reply triggers the next request.
struct Transport {
    inbox: Mutex<VecDeque<(Peer, Vec<u8>)>>,
    ready: Condvar,
    storm: RwLock<Option<Arc<Storm>>>,
}

/// The requests in progress and their results.
struct Storm {
    hosts: Vec<Host>,
    requests: Box<RequestGenerator>,
    /// Requests left to send on replies, always 0 in open loop.
    left: AtomicU64,
    answered: AtomicU64,
    busy_replies: AtomicU64,
    /// Bytes of replies.
    bytes: AtomicU64,
    began: Instant,
    /// Send time of the request in each window slot.
    sent_at: Vec<AtomicU64>,
    reply_times: ReplyTimes,
    /// Replies with an error status other than BUSY.
    errors: AtomicU64,
    closed_loop: bool,
}

/// Histogram of reply times in buckets of 1/16 of a power of two microseconds.
struct ReplyTimes(Vec<AtomicU64>);

impl ReplyTimes {
    fn new() -> Self {
        Self((0..512).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, ns: u64) {
        let us = ns / 1000 + 16;
        let power = us.ilog2();
        let at = u64::from(power) * 16 + ((us >> (power - 4)) & 15);
        self.0[usize::try_from(at).unwrap_or(usize::MAX).min(511)].fetch_add(1, Ordering::Relaxed);
    }

    /// Time in milliseconds within which this share of the replies arrived.
    fn within(&self, share: f64) -> f64 {
        let counts: Vec<u64> = self.0.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        let wanted = (counts.iter().sum::<u64>() as f64 * share).ceil();
        let mut sum = 0.0;
        for (at, count) in counts.iter().enumerate() {
            sum += *count as f64;
            if sum >= wanted && sum > 0.0 {
                let (power, part) = (at / 16, at % 16);
                let us = (16 + part + 1) << power.saturating_sub(4);
                return (us as f64 - 16.0).max(1.0) / 1000.0;
            }
        }
        0.0
    }
}

impl Storm {
    fn peer(&self, host: usize) -> Peer {
        Peer {
            lid: self.hosts[host].lid,
            ..Peer::default()
        }
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The n-th request of a window slot.
    fn request(&self, slot: usize, n: u64) -> (Peer, Vec<u8>) {
        let host = slot % self.hosts.len();
        let mut bytes = (self.requests)(slot, n);
        bytes[8..16].copy_from_slice(&((n << 24) | slot as u64).to_be_bytes());
        self.sent_at[slot].store(self.elapsed_ns(), Ordering::Relaxed);
        (self.peer(host), bytes)
    }

    /// Processes a reply and returns the next request, if any.
    fn answered(&self, bytes: &[u8]) -> Option<(Peer, Vec<u8>)> {
        let header = MadHeader::decode_slice(bytes)?;
        let slot = usize::try_from(header.tid.0 & 0xFF_FFFF).unwrap_or(0);
        let sent_at = self.sent_at.get(slot)?.load(Ordering::Relaxed);
        self.reply_times
            .add(self.elapsed_ns().saturating_sub(sent_at));
        let status = Status(header.status);
        if status == Status::BUSY {
            self.busy_replies.fetch_add(1, Ordering::Relaxed);
        } else {
            self.answered.fetch_add(1, Ordering::Relaxed);
            self.errors
                .fetch_add(u64::from(!status.is_ok()), Ordering::Relaxed);
        }
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if !self.closed_loop {
            return None;
        }
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        left.ok()
            .map(|_| self.request(slot, (header.tid.0 >> 24) + 1))
    }

    fn done(&self) -> u64 {
        self.answered.load(Ordering::Relaxed) + self.busy_replies.load(Ordering::Relaxed)
    }
}

impl Transport {
    fn push(&self, messages: impl IntoIterator<Item = (Peer, Vec<u8>)>) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = inbox.is_empty();
        inbox.extend(messages);
        drop(inbox);
        if was_empty {
            self.ready.notify_one();
        }
    }
}

struct ServerSide(Arc<Transport>);

impl GmpSender for ServerSide {
    fn send(&self, _: &Peer, bytes: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
        let storm = {
            let storm = self.0.storm.read().unwrap_or_else(PoisonError::into_inner);
            storm.clone()
        };
        if let Some(next) = storm.and_then(|s| s.answered(bytes)) {
            self.0.push([next]);
        }
        Ok(())
    }
}

impl GmpReceiver for ServerSide {
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
        let mut inbox = self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        if inbox.is_empty() && !timeout.is_zero() {
            let waited = self.0.ready.wait_timeout(inbox, timeout);
            inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(inbox
            .pop_front()
            .map_or(GmpReceived::TimedOut, |(from, bytes)| {
                GmpReceived::Message { from, bytes }
            }))
    }
}

/// Counts sweeps. While `sweeping` is set, requests the next sweep when one completes.
struct ServiceShell {
    sweeps: Arc<AtomicU64>,
    sweeping: Arc<AtomicBool>,
    control: mpsc::Sender<Control>,
}

impl Shell for ServiceShell {
    type End = ();
    fn event(&mut self, event: Event, _: &SubnetManager) -> ControlFlow<()> {
        if let Event::SweepCompleted(_) = event {
            self.sweeps.fetch_add(1, Ordering::SeqCst);
            if self.sweeping.load(Ordering::SeqCst) {
                let _ = self.control.try_send(Control::Reload);
            }
        }
        ControlFlow::Continue(())
    }
    fn persist(&mut self, _: PersistRequest) -> Option<u64> {
        None
    }
    fn reload(&mut self) -> Reload {
        Reload::Unchanged
    }
    fn stop(&mut self, _: &SubnetManager) {}
    fn tick(&mut self, _: Progress) {}
}

struct Bench {
    net: SimNet,
    transport: Arc<Transport>,
    hosts: Vec<Host>,
    sweeps: Arc<AtomicU64>,
    sweeping: Arc<AtomicBool>,
    control: mpsc::Sender<Control>,
    thread: std::thread::JoinHandle<()>,
}

impl Bench {
    /// Brings up a subnet and starts the SA server.
    fn start(spec: &str) -> Self {
        let fabric = ferrosm_sim::generate::from_spec(spec).expect("valid spec");
        let net = SimNet::new(Fabric::new(&fabric).expect("valid fabric"));
        let transport = Arc::new(Transport {
            inbox: Mutex::default(),
            ready: Condvar::new(),
            storm: RwLock::default(),
        });
        let (sweeps, sweeping) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (control, commands) = mpsc::channel(16);
        let thread = {
            let (net, transport, control) = (net.clone(), Arc::clone(&transport), control.clone());
            let (sweeps, sweeping) = (Arc::clone(&sweeps), Arc::clone(&sweeping));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("runtime built");
                runtime.block_on(async {
                    let clock = Clock::start();
                    let (sender, receiver) = net.attach(None).expect("default port").split();
                    let port = SimulatedPort::new(net, Box::new(sender), Box::new(receiver));
                    let (gmp_sender, gmp_receiver) =
                        (ServerSide(Arc::clone(&transport)), ServerSide(transport));
                    let limits = AdmissionLimits::default();
                    let server =
                        SaServer::start(Box::new(gmp_sender), Box::new(gmp_receiver), limits)
                            .expect("server threads started");
                    // Only explicitly requested sweeps.
                    let cfg = SmConfig {
                        sweep_interval: Duration::ZERO,
                        ..SmConfig::default()
                    };
                    let sm = SubnetManager::new(cfg, RestoredState::default(), clock.now());
                    let shell = ServiceShell {
                        sweeps,
                        sweeping,
                        control,
                    };
                    let mut driver =
                        Driver::new(sm, clock, port, shell, commands).with_sa_server(Some(server));
                    driver.run().await.expect("attached port");
                });
            })
        };
        while sweeps.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let hosts = net.with(|fabric| {
            let end_ports = fabric.end_ports().filter(|at| at.port != 0);
            end_ports
                .map(|at| Host {
                    lid: fabric.lid(at).0,
                    guid: fabric.port_guid(at),
                })
                .collect()
        });
        Self {
            net,
            transport,
            hosts,
            sweeps,
            sweeping,
            control,
            thread,
        }
    }

    fn finish(self) {
        let _ = self.control.blocking_send(Control::Stop);
        let _ = self.thread.join();
    }

    /// Sending hosts, spread over the fabric.
    fn requesters(&self) -> Vec<Host> {
        let step = (self.hosts.len() / HOSTS).max(1);
        let spread_hosts = self.hosts.iter().step_by(step);
        spread_hosts.copied().take(HOSTS).collect()
    }

    fn storm(
        &self,
        window: usize,
        left: u64,
        closed_loop: bool,
        requests: Box<RequestGenerator>,
    ) -> Arc<Storm> {
        let storm = Arc::new(Storm {
            hosts: self.requesters(),
            requests,
            left: AtomicU64::new(left),
            answered: AtomicU64::new(0),
            busy_replies: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            began: Instant::now(),
            sent_at: (0..window).map(|_| AtomicU64::new(0)).collect(),
            reply_times: ReplyTimes::new(),
            errors: AtomicU64::new(0),
            closed_loop,
        });
        *self
            .transport
            .storm
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&storm));
        storm
    }

    /// Keeps `open` requests in flight per host until `total` replies have arrived. Returns the
    /// elapsed time.
    fn run(
        &self,
        open: usize,
        total: u64,
        requests: Box<RequestGenerator>,
    ) -> (Arc<Storm>, Duration) {
        let window = open * self.requesters().len();
        let window = window.min(usize::try_from(total).unwrap_or(usize::MAX));
        let storm = self.storm(window, total - window as u64, true, requests);
        self.transport
            .push((0..window).map(|slot| storm.request(slot, 0)));
        while storm.done() < total {
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = storm.began.elapsed();
        (storm, took)
    }

    fn path_requests(&self) -> Box<RequestGenerator> {
        let (requesters, all) = (self.requesters(), self.hosts.clone());
        let template = message(Method::Get, sa::id::PATH, KERNEL, &[]);
        Box::new(move |slot, n| {
            let host = slot % requesters.len();
            let to = &all[(host * 7919 + usize::try_from(n).unwrap_or(0) * 104_729) % all.len()];
            let wanted = PathRecord {
                sgid: gid(requesters[host].guid),
                dgid: gid(to.guid),
                reversible: true,
                numb_path: 1,
                ..PathRecord::default()
            };
            let mut bytes = template.clone();
            let data = wanted.encode();
            bytes[sa::DATA_OFFSET..sa::DATA_OFFSET + data.len()].copy_from_slice(&data);
            bytes
        })
    }

    fn paths(&self) {
        let (storm, took) = self.run(IN_FLIGHT, 1_000_000, self.path_requests());
        print_result("PathRecord Get, 16 in flight", &storm, took);
        self.run_during_sweeps(|| {
            let (storm, took) = self.run(IN_FLIGHT, 1_000_000, self.path_requests());
            print_result("  the same during sweeps", &storm, took);
        });
    }

    fn mpi(&self) {
        let (storm, took) = self.run(IN_FLIGHT, MPI, self.path_requests());
        print_result("MPI start, 1,000 x 4", &storm, took);
        println!("  {:32} {:10.2} s", "", took.as_secs_f64());
    }

    /// Sends requests at a fixed rate, independently of replies.
    fn at_rate(&self, rate: u64, seconds: u64) -> Arc<Storm> {
        let total = rate * seconds;
        let window = usize::try_from(total).unwrap_or(usize::MAX);
        let storm = self.storm(window, 0, false, self.path_requests());
        let began = Instant::now();
        let mut sent = 0;
        while sent < total {
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let due = (rate * ms / 1000).min(total);
            let from = usize::try_from(sent).unwrap_or(0);
            let to = usize::try_from(due).unwrap_or(0);
            self.transport
                .push((from..to).map(|slot| storm.request(slot, 0)));
            sent = due;
            std::thread::sleep(Duration::from_micros(500));
        }
        while storm.done() < total && began.elapsed() < Duration::from_secs(seconds + 10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        storm
    }

    fn waiting(&self) {
        for rate in [MODERATE, 5 * MODERATE] {
            let storm = self.at_rate(rate, 3);
            print_result(
                &format!("PathRecord Get, {rate}/s"),
                &storm,
                Duration::from_secs(3),
            );
            self.run_during_sweeps(|| {
                let storm = self.at_rate(rate, 3);
                print_result("  the same during sweeps", &storm, Duration::from_secs(3));
            });
        }
    }

    /// Runs `workload` during continuous full sweeps.
    fn run_during_sweeps(&self, workload: impl FnOnce()) {
        let before = self.sweeps.load(Ordering::SeqCst);
        self.sweeping.store(true, Ordering::SeqCst);
        let _ = self.control.blocking_send(Control::Reload);
        workload();
        self.sweeping.store(false, Ordering::SeqCst);
        let began = Instant::now();
        let mut seen = before;
        // Wait until the last sweep completes.
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.sweeps.load(Ordering::SeqCst);
            if now == seen && now > before || began.elapsed() > Duration::from_secs(60) {
                break;
            }
            seen = now;
        }
        println!("  {:32} {:10} sweeps", "", seen - before);
    }

    /// Each window slot of a host joins and leaves four groups, one after the other; slots with the
    /// same index use the same groups.
    fn members(&self) {
        let mgid = |n: usize| {
            let mut gid = [0; 16];
            // No IPoIB signature in the MGIDs: such groups need the broadcast group of their
            // partition.
            gid[..2].copy_from_slice(&[0xFF, 0x12]);
            gid[15] = u8::try_from(n).unwrap_or(0) + 1;
            Gid(gid)
        };
        let requesters = self.requesters();
        let record = move |slot: usize, n: u64| {
            let (index, host) = (slot / requesters.len(), slot % requesters.len());
            let turn = usize::try_from(n).unwrap_or(0);
            McMemberRecord {
                mgid: mgid(index % IN_FLIGHT * 4 + (host + turn) % 4),
                port_gid: gid(requesters[host].guid),
                join_state: JoinState(1),
                qkey: 0x0B1B,
                pkey: ferrosm_mad::ids::PKey::DEFAULT_FULL,
                ..McMemberRecord::default()
            }
        };
        // The first join creates the group and has the components for that.
        let create = JOIN | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13;
        let leave = record.clone();
        let join = move |slot, n| {
            let data = record(slot, n).encode();
            message(Method::Set, sa::id::MC_MEMBER, create, &data)
        };
        let again = join.clone();
        let joins = 4 * (IN_FLIGHT * self.requesters().len()) as u64;
        self.run_and_count_mft_writes("joins", joins, Box::new(join.clone()));
        self.run_and_count_mft_writes("repeated joins", joins, Box::new(join));
        // Members leave and join again.
        let turns = move |slot, n: u64| {
            if n.is_multiple_of(2) {
                let data = leave(slot, n / 2).encode();
                message(Method::Delete, sa::id::MC_MEMBER, JOIN, &data)
            } else {
                again(slot, n / 2)
            }
        };
        self.run_and_count_mft_writes("alternate leaves and joins", 500_000, Box::new(turns));
    }

    /// Runs the requests and counts the MFT blocks written for them.
    fn run_and_count_mft_writes(
        &self,
        description: &str,
        total: u64,
        requests: Box<RequestGenerator>,
    ) {
        let (before, sets) = self.mft_blocks();
        let (storm, took) = self.run(IN_FLIGHT, total, requests);
        print_result(description, &storm, took);
        self.wait_for_mft_writes();
        let (after, sets_after) = self.mft_blocks();
        let differ = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        let written = sets_after - sets;
        println!(
            "  {:32} {written:10} MFT blocks written, {differ} differ",
            ""
        );
    }

    /// Waits until no further table is written.
    fn wait_for_mft_writes(&self) {
        let mut last = self.mft_blocks().1;
        loop {
            std::thread::sleep(Duration::from_millis(1500));
            let now = self.mft_blocks().1;
            if now == last {
                return;
            }
            last = now;
        }
    }

    /// Every block of 32 MLIDs and 16 ports of the first 128 MLIDs, and the total number of blocks
    /// written.
    fn mft_blocks(&self) -> (Vec<Vec<u8>>, u64) {
        self.net.with(|fabric| {
            let mut blocks = Vec::new();
            for node in (0..fabric.num_nodes()).filter(|n| fabric.is_switch(*n)) {
                let ports = usize::from(fabric.num_ports(node)) / 16 + 1;
                for first in (0..128).step_by(32) {
                    let mut of_position = vec![Vec::new(); ports];
                    for mlid in first..first + 32 {
                        for port in fabric.mft_ports(node, Lid(0xC000 + mlid)) {
                            let at = &mut of_position[usize::from(port.0) / 16];
                            at.extend([u8::try_from(mlid).unwrap_or(0), port.0]);
                        }
                    }
                    blocks.extend(of_position);
                }
            }
            (blocks, u64::from(fabric.all_counters().sets(smp::MFT)))
        })
    }

    fn services(&self) {
        let requesters = self.requesters();
        let requests = move |slot: usize, n: u64| {
            let host = slot % requesters.len();
            let record = ServiceRecord {
                service_id: 0x1000_0000 + host as u64 * 64 + n % 64,
                service_gid: gid(requesters[host].guid),
                service_pkey: ferrosm_mad::ids::PKey::DEFAULT_FULL,
                service_lease_s: 60,
                ..ServiceRecord::default()
            };
            message(Method::Set, sa::id::SERVICE, 0b101_0111, &record.encode())
        };
        let (storm, took) = self.run(IN_FLIGHT, 200_000, Box::new(requests));
        print_result("ServiceRecord Set", &storm, took);
    }

    fn tables(&self) {
        let nodes = message(Method::GetTable, sa::id::NODE, 0, &[]);
        let requests = move |_: usize, _: u64| nodes.clone();
        for n in [1, 16, 1000] {
            let (storm, took) = self.run(1, n, Box::new(requests.clone()));
            let answered = storm.answered.load(Ordering::Relaxed).max(1);
            let bytes = storm.bytes.load(Ordering::Relaxed) / answered;
            print_result(&format!("NodeRecord GetTable, {n} in flight"), &storm, took);
            println!("  {:32} {bytes:10} bytes each", "");
        }
    }
}

fn gid(guid: PortGuid) -> Gid {
    Gid::new(GidPrefix::DEFAULT, guid)
}

fn print_result(description: &str, storm: &Storm, took: Duration) {
    let answered = storm.answered.load(Ordering::Relaxed);
    let (busy, errors) = (
        storm.busy_replies.load(Ordering::Relaxed),
        storm.errors.load(Ordering::Relaxed),
    );
    println!(
        "  {description:32} {:10.0} replies/s, reply time {:8.3} ms (median), {:8.3} ms (99th percentile); {busy} busy, {errors} errors",
        answered as f64 / took.as_secs_f64(),
        storm.reply_times.within(0.5),
        storm.reply_times.within(0.99),
    );
}
