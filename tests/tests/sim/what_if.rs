//! Predictions of losses, compared with what the SM writes to the devices after them.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_core::config::DrainPolicy;
use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};
use ferrosm_core::routing::what_if::{
    Cancellation, Prediction, RoutingBasis, WhatIfQuestion, what_if,
};
use ferrosm_core::{OperatorChange, SmConfig};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};
use ferrosm_routing::{Loss, SwitchIdx};
use ferrosm_sim::faults::{FabricAction, FaultScope};
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_tests::lab::Lab;

fn config(engine: &str, drain: DrainPolicy) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned()],
        sweep_interval: Duration::from_secs(2),
        routing_drain: drain,
        ..SmConfig::default()
    }
}

struct Predicted {
    lab: Lab,
    basis: RoutingBasis,
    snapshot: Snapshot,
}

impl Predicted {
    fn on(spec: &str, cfg: SmConfig) -> Self {
        let mut lab = Lab::up(spec, 5, cfg);
        lab.run_until_correct(10);
        let sm = lab.manager().core();
        let basis = sm.routing_basis().expect("a routing");
        let snapshot = sm.snapshot(None);
        Self {
            lab,
            basis,
            snapshot,
        }
    }

    fn predict(&self, loss: &Loss) -> Prediction {
        let question = WhatIfQuestion {
            loss: loss.clone(),
            ..WhatIfQuestion::default()
        };
        what_if(&self.basis, &question, &Cancellation::default())
    }

    /// The switch of the graph that is a node of the fabric.
    fn switch(&self, node: NodeIdx) -> SwitchIdx {
        let guid = self.lab.world.fabric().node_guid(node);
        let switches = self.basis.graph().switches();
        let mut named = switches.zip(self.basis.nodes());
        let found = named.find(|(_, n)| self.snapshot.node(n.slot()).guid == guid);
        found.expect("a switch of the graph").0
    }

    fn link(&self, at: PortAt) -> (SwitchIdx, PortNum) {
        (self.switch(at.node), PortNum(at.port))
    }

    fn node(&self, guid: NodeGuid) -> NodeIdx {
        let fabric = self.lab.world.fabric();
        let nodes = 0..self.lab.spec.nodes.len();
        let mut nodes = nodes.filter(|node| fabric.node_guid(*node) == guid);
        nodes.next().expect("a node of the fabric")
    }

    /// Applies the loss to the fabric, and compares the tables of the devices with the prediction.
    /// Without traps, so that one light sweep finds all that is lost.
    fn assert_predicted(mut self, loss: &Loss, actions: Vec<FabricAction>) {
        let prediction = self.predict(loss);
        let no_traps = FabricAction::AttrLoss(FaultScope::Fabric, id::NOTICE, 1.0);
        for action in core::iter::once(no_traps).chain(actions) {
            self.lab.act(action);
        }
        self.lab.world.run_for(Duration::from_secs(5));
        self.lab.run_until_correct(60);
        self.assert_tables(prediction, &format!("{loss:?}"));
    }

    /// Drains a switch, and compares the tables of the devices with the prediction.
    fn assert_drain_predicted(&mut self, name: &str) {
        let sm = self.lab.manager().core();
        self.basis = sm.routing_basis().expect("a routing");
        let node = self.lab.node(name);
        let question = WhatIfQuestion {
            drained: BTreeSet::from([self.switch(node)]),
            is_maintenance: true,
            ..WhatIfQuestion::default()
        };
        let prediction = what_if(&self.basis, &question, &Cancellation::default());
        let entry = Maintenance {
            target: MaintenanceTarget::Switch(self.lab.world.fabric().node_guid(node)),
            name: name.to_owned(),
            reason: String::new(),
            until_unix_s: None,
            may_cut_off_host: false,
        };
        let change = OperatorChange::BeginMaintenance(Box::new(entry));
        self.lab.command(change.into());
        self.lab.world.run_for(Duration::from_secs(5));
        let predicted = prediction.routes.as_ref().expect("a routing").drained_lids;
        assert_eq!(self.lab.last_report().drained_lids, predicted, "{name}");
        self.assert_tables(prediction, name);
    }

    /// Compares the tables of the devices with a prediction.
    fn assert_tables(&self, prediction: Prediction, loss: &str) {
        let routes = prediction.routes.expect("a routing");
        let run = self.lab.describe_run();
        assert_eq!(
            self.lab.last_report().engine,
            routes.run.routing.engine,
            "{run} {loss}"
        );
        let top = routes.run.topo.top_lid().raw();
        for (n, predicted) in routes.nodes.iter().zip(&routes.tables) {
            let node = self.node(self.snapshot.node(n.slot()).guid);
            let device = self.lab.world.fabric();
            let differs = (1..=top).map(Lid).find(|lid| {
                routes.run.topo.destination(*lid).is_some()
                    && device.lft_entry(node, *lid) != predicted.get(*lid)
            });
            assert_eq!(
                differs, None,
                "{run} {loss}: LID of {}",
                self.lab.spec.nodes[node].description
            );
        }
        let after = self
            .lab
            .manager()
            .core()
            .routing_basis()
            .expect("a routing");
        let proof = after.proof();
        assert_eq!(proof.max_load, routes.proof.max_load, "{run} {loss}");
        assert_eq!(after.nodes().len(), routes.tables.len(), "{run} {loss}");
    }
}

/// Lost links, of several engines on one VL and on several.
#[test]
fn lost_links_are_predicted() {
    for (spec, engine, drain) in [
        ("fat-tree:4", "auto", DrainPolicy::Allow),
        ("torus:4,4,1", "updn", DrainPolicy::Allow),
        ("torus:4,4,3,1", "lash", DrainPolicy::Avoid),
        ("torus:5,5,1,1", "nue", DrainPolicy::Avoid),
        ("dragonfly:3,4,1,2", "auto", DrainPolicy::Avoid),
        ("mesh:4,4,1", "dor", DrainPolicy::Allow),
    ] {
        for skip in [0, 3] {
            let predicted = Predicted::on(spec, config(engine, drain));
            let at = predicted.lab.redundant_link(skip);
            let mut loss = Loss::default();
            loss.links.insert(predicted.link(at));
            predicted.assert_predicted(&loss, vec![FabricAction::Cut(at)]);
        }
    }
}

/// Lost switches: one without hosts, one with hosts, and both.
#[test]
fn lost_switches_are_predicted() {
    for (spec, engine, drain) in [
        ("fat-tree:4", "auto", DrainPolicy::Allow),
        ("fat-tree:4", "auto", DrainPolicy::Avoid),
        ("torus:4,4,1", "updn", DrainPolicy::Allow),
        ("torus:5,5,1,1", "nue", DrainPolicy::Avoid),
        ("torus:4,4,3,1", "lash", DrainPolicy::Avoid),
    ] {
        for lost in [1, 2] {
            let predicted = Predicted::on(spec, config(engine, drain));
            let fabric = predicted.lab.world.fabric();
            let sm_switch = fabric.peer(predicted.lab.at).expect("a link").node;
            let switches = (0..predicted.lab.spec.nodes.len())
                .filter(|node| fabric.is_switch(*node) && *node != sm_switch);
            let switches: Vec<NodeIdx> = switches.skip(3).step_by(5).take(lost).collect();
            let mut loss = Loss::default();
            loss.switches
                .extend(switches.iter().map(|node| predicted.switch(*node)));
            let actions: Vec<FabricAction> = switches
                .iter()
                .map(|node| FabricAction::PowerOff(*node))
                .collect();
            predicted.assert_predicted(&loss, actions);
        }
    }
}

/// Drained switches, one after the other: the routes with the LIDs of the switches themselves.
#[test]
fn drained_switches_are_predicted() {
    for (spec, names) in [
        ("fat-tree:6", ["spine-0-0", "spine-1-1"]),
        ("fat-tree:4", ["core-0", "spine-1-1"]),
    ] {
        let mut predicted = Predicted::on(spec, config("auto", DrainPolicy::Avoid));
        for name in names {
            predicted.assert_drain_predicted(name);
        }
    }
}

/// The loss of a leaf with its hosts and of a link to a host: counts of what is cut off.
#[test]
fn cut_off_ports_are_counted() {
    let predicted = Predicted::on("fat-tree:4", config("auto", DrainPolicy::Allow));
    let hosts = predicted.lab.hosts();
    let fabric = predicted.lab.world.fabric();
    let far = *hosts.last().expect("hosts");
    let at_switch = fabric.peer(far).expect("a link");
    let mut loss = Loss::default();
    loss.links.insert(predicted.link(at_switch));
    let one = predicted.predict(&loss);
    let pairs = one.connectivity_before.connected_pairs - one.connectivity.connected_pairs;
    assert_eq!((pairs, one.connectivity.cut_off.len()), (15, 1));
    let changes = one.routes.expect("a routing").changes;
    assert_eq!((changes.entries_moved, changes.entries_removed), (0, 20));
    let mut loss = Loss::default();
    loss.switches.insert(predicted.switch(at_switch.node));
    let leaf = predicted.predict(&loss);
    let pairs = leaf.connectivity_before.connected_pairs - leaf.connectivity.connected_pairs;
    assert_eq!((pairs, leaf.connectivity.cut_off.len()), (2 * 14 + 1, 2));
    assert_eq!(leaf.connectivity.cut_off_switches, []);
}
