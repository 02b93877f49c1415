//! Invariants of several SMs, read from devices, SA replies and each SM's SMInfo state.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use crate::sa::members::plain;
use ferrosm_core::Event;
use ferrosm_core::election::ElectionNotice;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;
use ferrosm_sim::oracle::ExpectedGroup;
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::lab::{Sm, is_up};
use crate::random_runs::masters::simulation::Simulation;

/// State of the invariant checks.
#[derive(Default)]
pub(crate) struct InvariantMonitor {
    /// Time since which a subnet fragment has two masters.
    two_masters_since: Option<Instant>,
    /// Limit of that time.
    two_masters_limit: Duration,
    /// LIDs of all ports when the fabric was complete.
    lids: BTreeMap<PortGuid, Lid>,
    /// Hosts that lost power and were not assigned a LID since.
    rebooted_nodes: BTreeSet<NodeIdx>,
    /// Number of cold takeovers when a master last had all records of each host.
    known_at: BTreeMap<NodeIdx, u32>,
    /// A rebooted host got another LID, because a cold takeover had lost its record. From then on
    /// LIDs are not checked, because the new one may be the LID of an absent port.
    pub(crate) lid_may_change: bool,
}

impl InvariantMonitor {
    pub(crate) fn new(two_masters_limit: Duration) -> Self {
        Self {
            two_masters_limit,
            ..Self::default()
        }
    }

    /// Checks the invariants that hold at any time.
    pub(crate) fn check(&mut self, sim: &mut Simulation) {
        self.check_masters(sim);
        self.check_lids(sim);
    }

    fn check_masters(&mut self, sim: &Simulation) {
        let now = sim.lab.world.now();
        let masters = sim.fragments.iter().map(|(nodes, sms)| {
            let masters = sms.iter().filter(|i| sim.is_master(**i));
            masters.count() + usize::from(sim.foreign_state(nodes) == Some(SmState::Master))
        });
        if masters.max().unwrap_or(0) < 2 {
            self.two_masters_since = None;
            return;
        }
        let since = *self.two_masters_since.get_or_insert(now);
        assert!(
            now.since(since) <= self.two_masters_limit,
            "{} two masters in one subnet fragment for {:?}",
            sim.lab.describe_run(),
            now.since(since)
        );
    }

    fn check_lids(&mut self, sim: &mut Simulation) {
        self.rebooted_nodes.append(&mut sim.powered_off);
        let fabric = sim.lab.world.fabric();
        let mut changed = Vec::new();
        for at in fabric.end_ports() {
            let (guid, lid) = (fabric.port_guid(at), fabric.lid(at).0);
            let Some(had) = self.lids.get(&guid).filter(|_| lid != Lid::NONE) else {
                continue;
            };
            let has_rebooted = self.rebooted_nodes.remove(&at.node);
            if *had != lid {
                let known_at = self.known_at.get(&at.node).copied();
                self.lid_may_change |= has_rebooted && Some(sim.cold_takeovers) > known_at;
                changed.push((at, *had, lid));
            }
        }
        let run = sim.lab.describe_run();
        assert!(
            changed.is_empty() || self.lid_may_change,
            "{run} LIDs of ports changed: {changed:?}"
        );
    }

    /// Records the LIDs of a correct fabric, which must not change.
    pub(crate) fn record_lids(&mut self, sim: &Simulation) {
        let fabric = sim.lab.world.fabric();
        let is_linked = |at: &PortAt| fabric.is_switch(at.node) || fabric.link_up(*at);
        let ports = fabric.end_ports().filter(is_linked);
        self.lids = ports
            .map(|at| (fabric.port_guid(at), fabric.lid(at).0))
            .collect();
        self.record_known_hosts(sim);
    }

    /// Records that the master of a correct fabric has the LIDs of all linked ports.
    pub(crate) fn record_known_hosts(&mut self, sim: &Simulation) {
        let fabric = sim.lab.world.fabric();
        let expected = fabric.end_ports().filter(|at| fabric.link_up(*at));
        self.known_at
            .extend(expected.map(|at| (at.node, sim.cold_takeovers)));
    }
}

/// Asserts that each master raises an alarm for an SM with another SM_Key, and that no SM hands
/// over to it.
pub(crate) fn assert_foreign_sm_ignored(sim: &Simulation) {
    let Some(foreign) = sim.foreign.as_ref().filter(|f| !f.takes_part()) else {
        return;
    };
    let run = sim.lab.describe_run();
    assert_eq!(
        foreign.handovers, 0,
        "{run} HANDOVER to an SM with another key"
    );
    let wanted = ElectionNotice::SmKeyMismatch(foreign.guid);
    if !foreign.is_running() {
        return;
    }
    let around = sim
        .fragments
        .iter()
        .filter(|(nodes, _)| nodes.contains(&foreign.at.node));
    for i in around
        .flat_map(|(_, sms)| sms)
        .filter(|i| sim.is_master(**i))
    {
        let is_reported = |e: &Event| matches!(e, Event::Election(alarm) if alarm.what == wanted);
        assert!(
            sim.sm(*i).unwrap().events.iter().any(is_reported),
            "{run} missing alarm: {wanted}"
        );
    }
}

/// Checks that every subnet fragment is correct; the error names a deviation.
pub(crate) fn check_settled(sim: &mut Simulation, exact: bool) -> Result<(), String> {
    for (nodes, sms) in &*Rc::clone(&sim.fragments) {
        let masters: Vec<usize> = sms.iter().copied().filter(|i| sim.is_master(*i)).collect();
        if let Some(state) = sim.foreign_state(nodes) {
            check_foreign_sm(sim, state, sms)?;
            if state == SmState::Master {
                // The foreign SM does not configure the fabric.
                continue;
            }
        }
        let [master] = masters[..] else {
            return Err(format!("masters {masters:?} of {sms:?}"));
        };
        let is_standby = |i: &usize| sim.role(*i) == Some(SmState::Standby);
        if !sms.iter().all(|i| *i == master || is_standby(i)) {
            let roles: Vec<_> = sms.iter().map(|i| sim.role(*i)).collect();
            return Err(format!("the roles of {sms:?} are {roles:?}"));
        }
        let (id, at) = (sim.sms[master].id.unwrap(), sim.sms[master].plan.at);
        let fabric = sim.lab.world.fabric();
        let lid = fabric.lid(at).0;
        for port in fabric.end_ports().filter(|p| nodes.contains(&p.node)) {
            let is_linked = fabric.is_switch(port.node) || fabric.link_up(port);
            let master_lid = fabric.port_info(port).unwrap().master_sm_lid;
            if is_linked && master_lid != lid {
                return Err(format!(
                    "{port:?} has MasterSMLID {master_lid}, expected {lid}"
                ));
            }
        }
        let sm = sim.sm(master).unwrap();
        let report = sm.core().last_report();
        let Some(report) = report.filter(|report| is_up(report)) else {
            return Err(format!("last report of {master}: {report:?}"));
        };
        let hosts = sim.hosts_of(nodes);
        sim.clients.check_hosts(&sim.lab.world, &hosts, id, exact)?;
        // A routing may leave no VL for multicast trees; groups are not expected then.
        let groups = if report.is_clean() {
            expected_groups(sim, sm)
        } else {
            Vec::new()
        };
        (sim.lab.sm, sim.lab.at) = (id, at);
        sim.lab.verdict(&sim.lab.expect().groups(groups))?;
    }
    Ok(())
}

/// Checks that the higher-ranked of the foreign SM and ours is the only master.
fn check_foreign_sm(sim: &Simulation, state: SmState, sms: &[usize]) -> Result<(), String> {
    let foreign = sim.foreign.as_ref().unwrap();
    let outranks_foreign = |i: &usize| foreign.yields_to(sim.sms[*i].guid);
    let masters: Vec<usize> = sms.iter().copied().filter(|i| sim.is_master(*i)).collect();
    let follows =
        |i: &usize| sim.role(*i) == Some(SmState::Standby) && outranks_foreign(i) == Some(false);
    let is_correct = match (state, &masters[..]) {
        (SmState::Master, []) => sms.iter().all(follows),
        (SmState::Standby, [master]) => outranks_foreign(master) == Some(true),
        _ => false,
    };
    if is_correct {
        return Ok(());
    }
    let ranks: Vec<_> = sms
        .iter()
        .map(|i| (sim.role(*i), outranks_foreign(i)))
        .collect();
    Err(format!(
        "the foreign SM is {state:?}, {sms:?} are (and outrank it): {ranks:?}"
    ))
}

/// The groups of an SM, as expectations of the multicast oracle.
fn expected_groups(sim: &Simulation, sm: &Sm) -> Vec<ExpectedGroup> {
    let fabric = sim.lab.world.fabric();
    let end_ports = fabric.end_ports();
    let port_by_guid: BTreeMap<PortGuid, PortAt> =
        end_ports.map(|at| (fabric.port_guid(at), at)).collect();
    let groups = sm.core().registry().groups();
    let all = (0..4).filter_map(|n| groups.get(plain(n)));
    let mut by_mlid: BTreeMap<Lid, ExpectedGroup> = BTreeMap::new();
    for group in all.filter(|g| !g.members.is_empty()) {
        let guids = group.members.keys();
        let expected = by_mlid
            .entry(group.mlid)
            .or_insert_with(|| ExpectedGroup::new(group.mlid, []));
        expected.sl = group.parameters.sl;
        expected
            .members
            .extend(guids.filter_map(|guid| port_by_guid.get(guid)));
    }
    by_mlid.into_values().collect()
}
