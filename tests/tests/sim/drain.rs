//! Lost, returned and flapping links and switches: after each change of a table or link, packets on
//! routes that did not use the lost part still arrive. Routes are followed by the bytes of the
//! devices, on every engine with several VLs and on some with one.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferrosm_core::config::DrainPolicy;
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::{Command, SmConfig};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_sim::net::MadEvent;
use ferrosm_sim::oracle::FabricSnapshot;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_tests::lab::{Lab, TestRng};

/// A pair of a switch with end ports and the LID of an end port.
pub(crate) type Pair = (NodeIdx, Lid);

/// A fabric in operation, and the pairs whose packets must arrive.
pub(crate) struct Traffic {
    pub(crate) lab: Lab,
    written: Arc<AtomicBool>,
    checks: usize,
    /// Pairs that cut links must not interrupt.
    watched: usize,
}

fn config_for(engine: &str) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned()],
        sweep_interval: Duration::from_secs(2),
        routing_drain: DrainPolicy::Avoid,
        ..SmConfig::default()
    }
}

/// The switch ports that a packet leaves by, the last one to the end port; `None` if it does not
/// arrive.
fn follow(state: &FabricSnapshot, (from, lid): Pair) -> Option<Vec<PortAt>> {
    let mut ports = Vec::new();
    let mut node = from;
    while ports.len() <= state.nodes.len() {
        let out = state.nodes[node].egress(lid.0);
        if out == PortNum::ZERO {
            return (state.nodes[node].ports[0].info.lid == lid).then_some(ports);
        }
        let at = PortAt { node, port: out.0 };
        ports.push(at);
        let peer = state.port(at)?.peer?;
        if state.nodes[peer.node].is_switch() {
            node = peer.node;
        } else {
            return (state.port(peer)?.info.lid == lid).then_some(ports);
        }
    }
    None
}

impl Traffic {
    pub(crate) fn on(spec: &str, cfg: SmConfig) -> Self {
        let mut lab = Lab::up(spec, 7, cfg);
        lab.run_until_correct(10);
        let written = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&written);
        lab.world.observe(move |e| {
            if matches!(e.event, MadEvent::Sent)
                && e.mad.method().is_response()
                && [id::LFT, id::SL_TO_VL, id::PORT_INFO].contains(&e.mad.attr_id())
            {
                flag.store(true, Ordering::Relaxed);
            }
        });
        Self {
            lab,
            written,
            checks: 0,
            watched: 0,
        }
    }

    fn state(&self) -> FabricSnapshot {
        FabricSnapshot::from(self.lab.world.fabric())
    }

    /// All pairs, with the ports of their routes.
    pub(crate) fn routes(&self) -> Vec<(Pair, Vec<PortAt>)> {
        let state = self.state();
        let fabric = self.lab.world.fabric();
        let hosts: Vec<PortAt> = fabric
            .end_ports()
            .filter(|at| !fabric.is_switch(at.node))
            .collect();
        let mut sources: Vec<NodeIdx> = hosts
            .iter()
            .filter_map(|at| Some(fabric.peer(*at)?.node))
            .collect();
        sources.dedup();
        let lids = hosts.iter().map(|at| fabric.lid(*at).0);
        let pairs = lids.flat_map(|lid| sources.iter().map(move |from| (*from, lid)));
        pairs
            .filter_map(|pair| Some((pair, follow(&state, pair)?)))
            .collect()
    }

    /// Runs for a time. After each change of a table, packets of all `pairs` arrive.
    pub(crate) fn run(&mut self, description: &str, time: Duration, pairs: &[Pair]) {
        self.check(description, pairs);
        self.watch(time, |traffic| traffic.check(description, pairs));
    }

    /// Runs for a time. Returns the pairs whose packets did not arrive after some change of a
    /// table.
    pub(crate) fn interrupted(&mut self, time: Duration, pairs: &[Pair]) -> BTreeSet<Pair> {
        let mut interrupted = BTreeSet::new();
        self.watch(time, |traffic| interrupted.extend(traffic.lost(pairs)));
        interrupted
    }

    /// Runs for a time, and calls `check` after each change of a table.
    fn watch(&mut self, time: Duration, mut check: impl FnMut(&mut Self)) {
        let until = self.lab.world.now() + time;
        loop {
            let next = self.lab.world.step().expect("pending event");
            if self.written.swap(false, Ordering::Relaxed) {
                check(self);
            }
            if next > until {
                return;
            }
        }
    }

    /// The pairs whose packets do not arrive now.
    fn lost(&mut self, pairs: &[Pair]) -> Vec<Pair> {
        self.checks += 1;
        let state = self.state();
        let lost = pairs.iter().filter(|pair| follow(&state, **pair).is_none());
        lost.copied().collect()
    }

    fn check(&mut self, description: &str, pairs: &[Pair]) {
        let lost = self.lost(pairs);
        assert!(
            lost.is_empty(),
            "{} {description}: {} of {} pairs interrupted, such as LID {} from {}\n{:#?}",
            self.lab.describe_run(),
            lost.len(),
            pairs.len(),
            lost[0].1,
            self.lab.spec.nodes[lost[0].0].description,
            self.lab.last_report().routing_messages
        );
    }

    /// Cuts a cable. Routes to LIDs that no switch reaches over it are not interrupted.
    fn cut(&mut self, cable: PortAt, time: Duration) {
        let peer = self.lab.world.fabric().peer(cable).expect("connected port");
        let routes = self.routes();
        let uses_cable = |ports: &[PortAt]| ports.contains(&cable) || ports.contains(&peer);
        let concerned: BTreeSet<Lid> = routes
            .iter()
            .filter(|(_, ports)| uses_cable(ports))
            .map(|((_, lid), _)| *lid)
            .collect();
        let unaffected: Vec<Pair> = routes
            .iter()
            .filter(|((_, lid), _)| !concerned.contains(lid))
            .map(|(pair, _)| *pair)
            .collect();
        self.watched += unaffected.len();
        self.lab.world.fabric_mut().cut(cable).expect("link");
        self.run(&format!("{cable:?} cut"), time, &unaffected);
    }

    /// A cable returns. No route is interrupted.
    fn restore(&mut self, cable: PortAt, time: Duration) {
        let pairs: Vec<Pair> = self.routes().into_iter().map(|(pair, _)| pair).collect();
        self.lab.world.fabric_mut().restore(cable).expect("link");
        self.run(&format!("{cable:?} returned"), time, &pairs);
    }

    /// All packets arrive, and there is no credit loop on the SLs of paths.
    fn assert_correct(&mut self, engine: &str) {
        self.lab.run_until_correct(30);
        assert_eq!(self.lab.last_report().engine, engine, "engine changed");
    }

    fn redundant_cables(&self, count: usize) -> Vec<PortAt> {
        let all = self.lab.spec.links.len();
        let step = (all / 3 / count).max(1);
        (0..count)
            .map(|i| self.lab.redundant_link(i * step))
            .collect()
    }
}

fn assert_undisturbed(spec: &str, engine: &str) {
    let mut traffic = Traffic::on(spec, config_for(engine));
    let engine = traffic.lab.last_report().engine;
    for cable in traffic.redundant_cables(3) {
        traffic.cut(cable, Duration::from_secs(5));
        traffic.assert_correct(engine);
        traffic.restore(cable, Duration::from_secs(5));
        traffic.assert_correct(engine);
    }
    let cable = traffic.lab.redundant_link(0);
    for _ in 0..4 {
        traffic.cut(cable, Duration::from_millis(250));
        traffic.restore(cable, Duration::from_millis(250));
    }
    traffic.assert_correct(engine);
    assert!(traffic.checks > 50, "{spec}: {} checks", traffic.checks);
    assert_ne!(traffic.watched, 0, "{spec}: no pair watched");
}

/// Slim fly with the engine that `auto` selects, on several VLs.
#[test]
fn changed_links_interrupt_no_other_routes_of_a_slim_fly() {
    assert_undisturbed("slim-fly:5", "auto");
}

#[test]
fn changed_links_interrupt_no_other_routes_of_a_dragonfly_plus() {
    assert_undisturbed("dragonfly+:5,2,2,2,3", "auto");
}

#[test]
fn changed_links_interrupt_no_other_routes_of_tori() {
    for (spec, engine) in [
        ("torus:4,4,3,1", "lash"),
        ("torus:4,4,3,1", "auto"),
        ("torus:6,6,1,1", "auto"),
        ("torus:6,6,1,1", "dfsssp"),
        ("torus:5,5,1,1", "nue"),
    ] {
        assert_undisturbed(spec, engine);
    }
}

/// Engines with one VL.
#[test]
fn changed_links_interrupt_no_other_routes_on_one_vl() {
    for (spec, engine) in [
        ("fat-tree:4", "auto"),
        ("mesh:4,4,1", "auto"),
        ("torus:4,4,1", "updn"),
    ] {
        assert_undisturbed(spec, engine);
    }
}

/// A link flaps ten times: the engine never changes, and the SM drains nothing.
#[test]
fn flapping_link_does_not_alternate_engines() {
    for (spec, engine) in [
        ("torus:5,4,1", "auto"),
        ("mesh:4,4,1", "auto"),
        ("dragonfly:3,4,1,2", "auto"),
    ] {
        let mut lab = Lab::up(spec, 7, config_for(engine));
        let installed = lab.last_report().engine;
        let cable = lab.redundant_link(1);
        for _ in 0..10 {
            lab.world.fabric_mut().cut(cable).expect("link");
            lab.world.run_for(Duration::from_secs(3));
            lab.world.fabric_mut().restore(cable).expect("link");
            lab.world.run_for(Duration::from_secs(3));
        }
        lab.run_until_correct(30);
        for report in lab.manager().reports() {
            assert_eq!(report.engine, installed, "{spec}");
        }
    }
}

/// After losses, the routing of an engine for the repaired fabric needs other VLs. It is reported,
/// and installed on request. With `routing.drain = "allow"` it is installed at once.
#[test]
fn routing_that_drains_routes_in_use_waits_for_the_operator() {
    let drained = |lab: &Lab, from: usize| {
        let reports = lab.manager().reports();
        reports
            .iter()
            .skip(from)
            .map(|r| r.drained_lids)
            .sum::<usize>()
    };
    for policy in [DrainPolicy::Avoid, DrainPolicy::Allow] {
        let cfg = SmConfig {
            routing_drain: policy,
            ..config_for("lash")
        };
        let mut lab = Lab::up("torus:5,5,1,1", 7, cfg);
        let cable = lab.redundant_link(1);
        lab.world.fabric_mut().cut(cable).expect("link");
        lab.run_until_correct(30);
        let before = lab.manager().reports().len();
        lab.world.fabric_mut().restore(cable).expect("link");
        lab.run_until_correct(30);
        lab.world.run_for(Duration::from_secs(5));
        let is_announced = |lab: &Lab| {
            let reports = lab.manager().reports();
            let messages = reports.iter().flat_map(|r| &r.routing_messages);
            messages
                .filter(|m| matches!(m, RoutingMessage::DrainAvoided { engine: "lash", lids } if *lids > 0))
                .count()
                > 0
        };
        if policy == DrainPolicy::Allow {
            assert_ne!(drained(&lab, before), 0);
            assert!(!is_announced(&lab));
            continue;
        }
        assert_eq!(drained(&lab, before), 0);
        assert!(is_announced(&lab));
        let before = lab.manager().reports().len();
        lab.command(Command::Reroute);
        lab.run_until("a reroute", 60, |lab| drained(lab, before) > 0);
        lab.run_until_correct(30);
    }
}

/// A switch loses its power and returns: routes between other switches that did not cross it are
/// not interrupted.
#[test]
fn lost_and_returned_switches_interrupt_no_other_routes() {
    for (spec, engine) in [
        ("torus:4,4,3,1", "lash"),
        ("torus:5,5,1,1", "dfsssp"),
        ("slim-fly:5", "auto"),
    ] {
        let mut traffic = Traffic::on(spec, config_for(engine));
        let engine = traffic.lab.last_report().engine;
        let fabric = traffic.lab.world.fabric();
        let sm_switch = fabric.peer(traffic.lab.at).expect("connected SM").node;
        let switches = (0..fabric.num_nodes()).filter(|n| fabric.is_switch(*n));
        let lost = switches.filter(|n| *n != sm_switch).nth(5).expect("switch");
        let uses_switch = |(from, lid): Pair, ports: &[PortAt], traffic: &Traffic| {
            let fabric = traffic.lab.world.fabric();
            let behind = fabric.end_ports().any(|at| {
                fabric.lid(at).0 == lid && fabric.peer(at).is_some_and(|p| p.node == lost)
            });
            behind || from == lost || ports.iter().any(|at| at.node == lost)
        };
        let routes = traffic.routes();
        let concerned: BTreeSet<Lid> = routes
            .iter()
            .filter(|(pair, ports)| uses_switch(*pair, ports, &traffic) && pair.0 != lost)
            .map(|((_, lid), _)| *lid)
            .collect();
        let unaffected: Vec<Pair> = routes
            .iter()
            .filter(|((from, lid), _)| *from != lost && !concerned.contains(lid))
            .map(|(pair, _)| *pair)
            .collect();
        assert!(!unaffected.is_empty(), "{spec}: no pair watched");
        traffic.lab.world.fabric_mut().power_off(lost);
        traffic.run("switch lost", Duration::from_secs(8), &unaffected);
        let pairs: Vec<Pair> = traffic.routes().into_iter().map(|(pair, _)| pair).collect();
        assert!(pairs.len() > unaffected.len(), "{spec}: not rerouted");
        traffic.lab.world.fabric_mut().power_on(lost);
        traffic.run("switch returned", Duration::from_secs(8), &pairs);
        traffic.assert_correct(engine);
        let pairs: Vec<Pair> = routes.iter().map(|(pair, _)| *pair).collect();
        traffic.check("switch in operation", &pairs);
        assert_eq!(traffic.routes().len(), routes.len(), "{spec}");
    }
}

/// Random fabrics, engines and losses: links go and return in any order.
#[test]
fn random_changes_of_links_interrupt_no_other_routes() {
    for seed in 0..6 {
        let mut rng = TestRng::new(seed);
        let specs = [
            "torus:4,3,1,2",
            "torus:5,4,1,1",
            "dragonfly:3,4,1,2",
            "mesh:4,3,1,2",
        ];
        let engines = ["auto", "lash", "dfsssp", "nue"];
        let spec = specs[rng.index(4)];
        let engine = engines[rng.index(4)];
        let mut traffic = Traffic::on(spec, config_for(engine));
        let mut cut: Vec<PortAt> = Vec::new();
        for _ in 0..6 {
            let time = Duration::from_millis(500 + 500 * rng.below(8));
            if cut.len() < 2 && rng.one_in(2) || cut.is_empty() {
                let cable = traffic.lab.redundant_link(rng.index(8));
                if !cut.contains(&cable) {
                    traffic.cut(cable, time);
                    cut.push(cable);
                    traffic.lab.run_until_correct(30);
                }
            } else {
                let cable = cut.remove(rng.index(cut.len()));
                traffic.restore(cable, time);
            }
        }
        traffic.lab.run_until_correct(30);
        assert_ne!(traffic.watched, 0, "seed {seed}: no pair watched");
    }
}
