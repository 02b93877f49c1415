//! How long the subnet manager itself takes, and how many SMPs it sends, against a simulated fabric in the same thread.
//!
//! `cargo bench -p ferrosm-tests --bench in_process [-- SPEC ...]` prints one table a fabric: bring-up from cold, a second
//! full sweep, one lost link, each as the median of several runs, with the routing alone beside it; then SMPs sent by
//! attribute beside the floor, which is what any subnet manager has to send:
//! one NodeInfo per live link end, PortInfo reads of all ports, two PortInfo writes per live link end, every block of every
//! forwarding table.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints, and ends where its own fabric is wrong"
)]

use std::collections::VecDeque;
use std::time::{Duration, Instant as Clock};

use ferrosm_core::{Event, Input, Output, Restored, SmConfig, SubnetManager, SweepReport};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::MadIn;
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{Delivery, Fabric};
use ferrosm_sim::spec::{FabricSpec, PortAt};

const RUNS: usize = 5;
/// 648 hosts; 3,456 hosts; 11,664 hosts.
const DEFAULT_SPECS: [&str; 3] = ["fat-tree2:36,36,18", "fat-tree:24", "fat-tree:36"];

fn main() {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let specs: Vec<String> = if given.is_empty() {
        DEFAULT_SPECS.map(str::to_owned).into()
    } else {
        given
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

/// One manager on one fabric, and what its last sweep cost.
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
        let mut fabric = Fabric::new(spec).expect("a generated fabric");
        let at = fabric.default_port();
        fabric.attach(at).expect("the default port");
        fabric.set_is_sm(at, true).expect("the default port");
        // No timers: only what is asked for runs.
        let cfg = SmConfig {
            sweep_interval: Duration::ZERO,
            ..SmConfig::default()
        };
        let began = Clock::now();
        let sm = SubnetManager::new(cfg, Restored::default(), Instant::START);
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

    /// Runs until a sweep is complete and nothing is left to do.
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
                        self.take_in();
                    }
                    Output::Compute(job) => {
                        let start = Clock::now();
                        let computed = job.run();
                        self.routing += start.elapsed();
                        let now = self.now();
                        self.sm.handle(Input::Computed(Box::new(computed)), now);
                    }
                    Output::Event(Event::SweepDone(r)) => report = Some(*r),
                    Output::Event(_)
                    | Output::Persist(_)
                    | Output::Gmp { .. }
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
                self.take_in();
                self.sm.handle(Input::Timeout, now);
            }
        }
    }

    fn take_in(&mut self) {
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
    let mut reports = None;
    for _ in 0..RUNS {
        let mut bench = Bench::new(spec);
        let (cold, first) = bench.sweep();
        let cold_routing = bench.routing;
        let now = bench.now();
        bench.sm.handle(Input::Resweep, now);
        let (again, second) = bench.sweep();
        let cable = spec
            .links
            .iter()
            .find(|l| bench.fabric.is_switch(l.a.node) && bench.fabric.is_switch(l.b.node));
        let (mut lost_link, mut third) = (Duration::ZERO, None);
        if let Some(cable) = cable {
            let now = bench.now();
            bench.fabric.set_now(now);
            bench.fabric.cut(cable.a).expect("a cable of the fabric");
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
        let mut all: Vec<Duration> = samples.iter().map(f).collect();
        all.sort();
        all[all.len() / 2]
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
            "  {what:22} {:9.1} ms   routing and proof {routing:>12}   {:7} SMPs, {:6} LFT blocks written",
            ms(all),
            report.smps_sent(),
            report.lft_blocks_written
        );
    };
    row(
        "cold to up",
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
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1000.0
}

/// SMPs of a bring-up beside what cannot be avoided.
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
    let line = |what: &str, sent: u64, floor: u64| {
        println!(
            "  {what:22} {sent:10} {floor:10} {:8.3}",
            sent as f64 / floor.max(1) as f64
        );
    };
    line("NodeInfo get", sent(id::NODE_INFO).gets, live_ends);
    line("PortInfo get", sent(id::PORT_INFO).gets, ports);
    line("PortInfo set", sent(id::PORT_INFO).sets, 2 * live_ends);
    line("LFT set", sent(id::LFT).sets, blocks);
    let all = live_ends + ports + 2 * live_ends + blocks;
    line("all, others included", report.smps_sent(), all);
}
