//! Time and SMPs of the SM against a simulated fabric in the same thread.
//!
//! `cargo bench -p ferrosm-tests --bench in_process [-- SPEC ...]` prints one table per fabric:
//! cold bring-up, a second full sweep, and one lost link, each as the median of several runs with
//! the routing time. Then follow the SMPs by attribute and the minimum that any SM has to send: one
//! NodeInfo per live link end, PortInfo reads of all ports, two PortInfo writes per live link end,
//! and every block of every LFT. Last come SA replies from memory, without a transport.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints, and panics on unexpected results"
)]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use ferrosm_core::{
    Command, Event, Input, Output, Persisted, RestoredState, SmConfig, SubnetManager, SweepReport,
};
use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::attr::id;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::{Mad, MadHeader, MadIn, Method, MgmtClass};
use ferrosm_mad::sa::{self, path::PathRecord};
use ferrosm_mad::time::Instant;
use ferrosm_sa::{Disposition, SaRequest, View};
use ferrosm_sim::fabric::{Delivery, Fabric};
use ferrosm_sim::spec::{FabricSpec, PortAt};

const RUNS: usize = 5;
/// 648 hosts; 3,456 hosts; 11,664 hosts.
const DEFAULT_SPECS: [&str; 3] = ["fat-tree2:36,36,18", "fat-tree:24", "fat-tree:36"];

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let specs: Vec<String> = if arguments.is_empty() {
        DEFAULT_SPECS.map(str::to_owned).into()
    } else {
        arguments
    };
    for spec in specs {
        match ferrosm_sim::generate::from_spec(&spec) {
            Ok(fabric) => measure(&spec, &fabric),
            Err(e) => {
                eprintln!("{e}");
                std::process::exit(2);
            }
        }
    }
}

/// One SM on one fabric, and the cost of its last sweep.
struct Bench {
    fabric: Fabric,
    at: PortAt,
    sm: SubnetManager,
    began: Clock,
    inbox: VecDeque<MadIn>,
    arrived: Vec<Delivery>,
    routing: Duration,
}

impl Bench {
    fn new(spec: &FabricSpec) -> Self {
        let mut fabric = Fabric::new(spec).expect("valid fabric");
        let at = fabric.default_port();
        fabric.attach(at).expect("default port");
        fabric.set_is_sm(at, true).expect("default port");
        // No timers: the SM runs explicitly requested sweeps only.
        let cfg = SmConfig {
            sweep_interval: Duration::ZERO,
            ..SmConfig::default()
        };
        let began = Clock::now();
        let sm = SubnetManager::new(cfg, RestoredState::default(), Instant::START);
        Self {
            fabric,
            at,
            sm,
            began,
            inbox: VecDeque::new(),
            arrived: Vec::new(),
            routing: Duration::ZERO,
        }
    }

    fn now(&self) -> Instant {
        Instant::START + self.began.elapsed()
    }

    /// Runs until a sweep is complete and no work is pending.
    fn sweep(&mut self) -> (Duration, SweepReport) {
        let began = Clock::now();
        self.routing = Duration::ZERO;
        let mut report = None;
        loop {
            while let Some(out) = self.sm.poll_output() {
                match out {
                    Output::Send(mad) => {
                        let now = self.now();
                        self.fabric.handle(self.at, &mad, now, &mut self.arrived);
                        self.receive_replies();
                    }
                    Output::Compute(job) => {
                        let start = Clock::now();
                        let computed = job.run();
                        self.routing += start.elapsed();
                        let now = self.now();
                        if let Some(computed) = computed {
                            self.sm
                                .handle(Input::RoutingComputed(Box::new(computed)), now);
                        }
                    }
                    Output::Event(Event::SweepCompleted(r)) => report = Some(*r),
                    Output::Persist { seq, .. } | Output::PersistSnapshot { seq, .. } => {
                        let durable = Persisted::all(seq);
                        let now = self.now();
                        self.sm.handle(Input::Persisted(durable), now);
                    }
                    Output::Event(_)
                    | Output::CommandReply { .. }
                    | Output::Gmp { .. }
                    | Output::LoadReplica { .. }
                    | Output::Replicate(_)
                    | Output::Publish(_) => {}
                }
            }
            let now = self.now();
            if let Some(mad) = self.inbox.pop_front() {
                self.sm.handle(Input::Mad(mad), now);
            } else if let Some(report) = report {
                return (began.elapsed(), report);
            } else {
                self.fabric.advance(now, &mut self.arrived);
                self.receive_replies();
                self.sm.handle(Input::Timeout, now);
            }
        }
    }

    fn receive_replies(&mut self) {
        let at = self.at;
        self.inbox
            .extend(self.arrived.drain(..).filter(|d| d.at == at).map(|d| d.mad));
    }
}

struct Sample {
    cold: Duration,
    cold_routing: Duration,
    again: Duration,
    lost_link: Duration,
    lost_link_routing: Duration,
}

fn measure(name: &str, spec: &FabricSpec) {
    let mut samples = Vec::new();
    let (mut reports, mut sa) = (None, None);
    for _ in 0..RUNS {
        let mut bench = Bench::new(spec);
        let (cold, first) = bench.sweep();
        let cold_routing = bench.routing;
        let now = bench.now();
        bench.sm.handle(Command::Sweep.with_id(0), now);
        let (again, second) = bench.sweep();
        sa = Some(measure_sa(&bench));
        let cable = spec
            .links
            .iter()
            .find(|l| bench.fabric.is_switch(l.a.node) && bench.fabric.is_switch(l.b.node));
        let (mut lost_link, mut third) = (Duration::ZERO, None);
        if let Some(cable) = cable {
            let now = bench.now();
            bench.fabric.set_now(now);
            bench.fabric.cut(cable.a).expect("link");
            let (took, report) = bench.sweep();
            lost_link = took;
            third = Some(report);
        }
        let lost_link_routing = bench.routing;
        samples.push(Sample {
            cold,
            cold_routing,
            again,
            lost_link,
            lost_link_routing,
        });
        reports = Some((first, second, third));
    }
    let median = |f: fn(&Sample) -> Duration| {
        let mut entries: Vec<Duration> = samples.iter().map(f).collect();
        entries.sort();
        entries[entries.len() / 2]
    };
    let Some((first, second, third)) = reports else {
        return;
    };
    println!(
        "\n{name}: {} switches, {} CAs, {} links; median of {RUNS}",
        first.switches, first.cas, first.links
    );
    let row = |what: &str, all: Duration, routing: Option<Duration>, report: &SweepReport| {
        let routing = routing.map_or_else(String::new, |r| format!("{:9.1} ms", ms(r)));
        println!(
            "  {what:22} {:9.1} ms   routing and verification {routing:>12}   {:7} SMPs, {:6} LFT blocks written",
            ms(all),
            report.smps_sent(),
            report.lft_blocks_written
        );
    };
    row(
        "cold bring-up",
        median(|s| s.cold),
        Some(median(|s| s.cold_routing)),
        &first,
    );
    row("second full sweep", median(|s| s.again), None, &second);
    if let Some(third) = &third {
        row(
            "one lost link",
            median(|s| s.lost_link),
            Some(median(|s| s.lost_link_routing)),
            third,
        );
    }
    floor(spec, &first);
    if let Some(sa) = sa {
        sa.print();
    }
}

/// SA throughput without a transport.
struct SaThroughput {
    view: Duration,
    paths_one: f64,
    paths_all: f64,
    threads: usize,
    nodes: (Duration, usize),
}

/// SGID, DGID, Reversible and NumbPath, as in the kernel's queries.
const KERNEL: u64 = 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12;
/// Queries per thread.
const QUERIES: usize = 400_000;

fn measure_sa(bench: &Bench) -> SaThroughput {
    let began = Clock::now();
    let snapshot = bench.sm.snapshot(None);
    let took = began.elapsed();
    let view = View::new(Arc::new(snapshot), SmConfig::default().sa_settings());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rate = |threads: usize| {
        let began = Clock::now();
        std::thread::scope(|scope| {
            for n in 0..threads {
                let view = &view;
                scope.spawn(move || query_paths(view, n));
            }
        });
        (threads * QUERIES) as f64 / began.elapsed().as_secs_f64()
    };
    let began = Clock::now();
    let nodes = reply_len(
        &view,
        &sa_request(&view, 0, Method::GetTable, sa::id::NODE, 0, &[]),
    );
    SaThroughput {
        view: took,
        nodes: (began.elapsed(), nodes),
        paths_one: rate(1),
        paths_all: rate(threads),
        threads,
    }
}

/// Queries paths by GID between end ports in an order unrelated to the topology.
fn query_paths(view: &View, thread: usize) {
    let ports: Vec<EndPortIdx> = view.end_port_indices().collect();
    for n in 0..QUERIES {
        let (a, b) = (n * 7_919 + thread * 31, n * 104_729 + 13);
        let gid = |i: usize| view.gid(ports[i % ports.len()]);
        let wanted = PathRecord {
            sgid: gid(a),
            dgid: gid(b),
            reversible: true,
            numb_path: 1,
            ..PathRecord::default()
        };
        let bytes = sa_request(
            view,
            a % ports.len(),
            Method::Get,
            sa::id::PATH,
            KERNEL,
            &wanted.encode(),
        );
        std::hint::black_box(reply_len(view, &bytes));
    }
}

fn sa_request(
    view: &View,
    from: usize,
    method: Method,
    attr: AttrId,
    mask: u64,
    data: &[u8],
) -> (Peer, Vec<u8>) {
    let mut mad = Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass::SubnAdm,
        class_version: sa::CLASS_VERSION,
        method,
        attr_id: attr,
        ..MadHeader::default()
    });
    let head = sa::SaHeader {
        component_mask: mask,
        ..sa::SaHeader::default()
    };
    head.write_to(mad.as_bytes_mut());
    sa::data_mut(&mut mad)[..data.len()].copy_from_slice(data);
    let lid = view.end_ports()[from].lid;
    (
        Peer {
            lid,
            ..Peer::default()
        },
        mad.as_bytes().to_vec(),
    )
}

/// Size of the complete reply in bytes.
fn reply_len(view: &View, (from, bytes): &(Peer, Vec<u8>)) -> usize {
    let request = SaRequest::parse(*from, bytes).expect("valid request");
    match ferrosm_sa::answer(view, &request) {
        Disposition::Reply(reply) => {
            assert!(reply.status.is_ok(), "{}", reply.status);
            reply.to_bytes(&request).len()
        }
        Disposition::ForwardToSm | Disposition::Drop(_) => 0,
    }
}

impl SaThroughput {
    fn print(&self) {
        println!("  {:22} {:9.1} ms", "view built", ms(self.view));
        println!(
            "  {:22} {:9.0}/s with one thread, {:.0}/s with {}",
            "PathRecord Get", self.paths_one, self.paths_all, self.threads
        );
        println!(
            "  {:22} {:9.1} ms, {} bytes",
            "NodeRecord GetTable",
            ms(self.nodes.0),
            self.nodes.1
        );
    }
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1000.0
}

/// SMPs of a bring-up, compared with the minimum.
fn floor(spec: &FabricSpec, report: &SweepReport) {
    let live_ends = 2 * report.links as u64;
    let ports: u64 = spec
        .nodes
        .iter()
        .map(|n| {
            if n.kind == ferrosm_mad::attr::NodeType::Switch {
                u64::from(n.num_ports) + 1
            } else {
                1
            }
        })
        .sum();
    let blocks = (u64::from(report.top_lid.raw()) / 64 + 1) * report.switches as u64;
    let sent = |attr: AttrId| report.smps.get(&attr).copied().unwrap_or_default();
    println!(
        "  {:22} {:>10} {:>10} {:>8}",
        "SMPs", "sent", "floor", "ratio"
    );
    let line = |description: &str, sent: u64, floor: u64| {
        println!(
            "  {description:22} {sent:10} {floor:10} {:8.3}",
            sent as f64 / floor.max(1) as f64
        );
    };
    line("NodeInfo get", sent(id::NODE_INFO).gets, live_ends);
    line("PortInfo get", sent(id::PORT_INFO).gets, ports);
    line("PortInfo set", sent(id::PORT_INFO).sets, 2 * live_ends);
    line("LFT set", sent(id::LFT).sets, blocks);
    let all = live_ends + ports + 2 * live_ends + blocks;
    line("total", report.smps_sent(), all);
}
