//! Checks that registrations are continuous over takeovers: a host whose registrations are all
//! acknowledged receives no reregistration request and loses no registration, as long as no record
//! of it can have been lost.
//!
//! Continuity begins when a host and its master have been in a correct state for a second. It
//! extends to the next term if the new master has every record of its predecessor and a saved view,
//! and the predecessor has ceased to be master. It ends when reregistration is justified: the
//! host's link went down, the master cannot have the acknowledged records, another master wrote to
//! the host's port, or the host was partitioned or MADs were lost, and the master has seen the host
//! leave. These conditions are read from devices and from the replication that this harness
//! performs; only the master's knowledge of such a host is read from its view.
//!
//! A host that is partitioned from its master remains continuous only if the records that the next
//! master has loaded still contain the host.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{PortState, SmState};
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::random_runs::masters::fragments::{Fragments, reachable};
use crate::random_runs::masters::registered::RegisteredRecords;
use crate::random_runs::masters::registration_continuity::{
    ContinuityTracker, HostContinuity, TermStart,
};
use crate::random_runs::masters::simulation::Simulation;

/// Time for which the state must be correct before continuity begins.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// Number of updates from one comparison of the registrations to the next.
const COMPARE_INTERVAL: u64 = 10;

/// The masters of a subnet fragment.
struct FragmentMasters {
    /// SMs that are master, with their terms.
    masters: Vec<(usize, u32)>,
    /// The SM of another vendor is master.
    foreign: bool,
}

impl Simulation {
    /// Updates the continuity of all hosts. Must run before and after each change of the topology.
    pub(crate) fn update_continuity(&mut self) {
        self.process_events();
        let mut continuity = core::mem::take(&mut self.continuity);
        continuity.update(self);
        self.continuity = continuity;
    }
}

impl ContinuityTracker {
    /// Updates all hosts. No link changes between two updates.
    fn update(&mut self, sim: &mut Simulation) {
        self.updates += 1;
        for at in sim.clients.hosts() {
            self.by_host.entry(at).or_default();
        }
        let fragments = Rc::clone(&sim.fragments);
        let masters = Self::masters_by_fragment(sim, &fragments);
        let term_starts = core::mem::take(&mut self.term_starts);
        for term_start in &term_starts {
            self.continue_in_new_term(sim, term_start);
        }
        self.record_masters_apart(sim, &fragments, &term_starts);
        let terms = sim.foreign.as_ref().map_or(0, |f| f.terms);
        let foreign_sm_became_master = core::mem::replace(&mut self.foreign_terms, terms) != terms;
        let lossy = sim.loses_mads || core::mem::take(&mut self.sm_was_stalled);
        for (at, continuity) in &mut self.by_host {
            let has_host = |(nodes, _): &(BTreeSet<NodeIdx>, _)| nodes.contains(&at.node);
            let fragment = fragments.iter().position(has_host).map(|n| &masters[n]);
            if continuity.is_unchanged(sim, *at, fragment) && !foreign_sm_became_master && !lossy {
                continue;
            }
            continuity.lossy |= lossy && continuity.term.is_some();
            if foreign_sm_became_master {
                continuity.reset();
            }
            continuity.reset_on_master_change(sim, *at, fragment);
            continuity.reset_on_host_change(sim, *at);
            continuity.begin_if_settled(sim, *at, fragment, lossy);
        }
        if self.updates.is_multiple_of(COMPARE_INTERVAL) {
            self.compare(sim);
        }
    }

    fn masters_by_fragment(sim: &Simulation, fragments: &Fragments) -> Vec<FragmentMasters> {
        let all = fragments.iter().map(|(nodes, sms)| FragmentMasters {
            foreign: sim.foreign_state(nodes) == Some(SmState::Master),
            masters: sms
                .iter()
                .filter_map(|i| Some((*i, sim.sms[*i].term?)))
                .collect(),
        });
        all.collect()
    }

    /// Records the masters of other fragments than each host's, also those that ended since the
    /// last update.
    fn record_masters_apart(
        &mut self,
        sim: &Simulation,
        fragments: &Fragments,
        term_starts: &[TermStart],
    ) {
        if fragments.len() < 2 {
            return;
        }
        let started = term_starts.iter().map(|start| (start.term, start.node));
        let slots = sim.sms.iter();
        let running = slots.filter_map(|s| Some((s.term?, s.plan.at.node)));
        let masters: BTreeMap<u32, NodeIdx> = started.chain(running).collect();
        let fragment_of = |node| {
            fragments
                .iter()
                .position(|(nodes, _)| nodes.contains(&node))
        };
        for (at, continuity) in &mut self.by_host {
            let own = fragment_of(at.node);
            let is_apart = |(_, node): &(&u32, &NodeIdx)| fragment_of(**node) != own;
            continuity
                .masters_apart
                .extend(masters.iter().filter(is_apart));
        }
    }

    /// Extends continuity to a new term for hosts whose records the new master has.
    fn continue_in_new_term(&mut self, sim: &mut Simulation, term_start: &TermStart) {
        let reach = reachable(sim.lab.world.fabric(), term_start.node);
        let is_master = |term: u32| sim.sms.iter().any(|s| s.term == Some(term));
        let (mut passed, mut passed_cut_off) = (0, 0);
        for (at, continuity) in &mut self.by_host {
            let Some(own_term) = continuity.term.filter(|_| reach.contains(&at.node)) else {
                continue;
            };
            if is_master(own_term) {
                // The new master may write its LID to the host's port for a moment; the old one
                // never gets the registrations that it acknowledges then.
                continuity.cut_off = true;
                continue;
            }
            let guid = sim.lab.world.fabric().port_guid(*at);
            let in_view = |view: &Arc<Snapshot>| view.by_guid(guid).is_some();
            let has_view = term_start.view.is_some();
            let known = if continuity.cut_off {
                term_start.view.as_ref().is_some_and(in_view)
            } else {
                has_view
            };
            // The host's fragment was joined with that of another SM, which was master meanwhile.
            let mut apart = continuity.masters_apart.iter();
            let has_merged = apart.any(|(term, node)| *term != own_term && reach.contains(node));
            if term_start.from != Some(own_term) || !known || has_merged {
                continuity.reset();
                continue;
            }
            passed += 1;
            passed_cut_off += u32::from(core::mem::take(&mut continuity.cut_off));
            (continuity.term, continuity.settled_since) = (Some(term_start.term), None);
        }
        let kind = if sim.calm { "calm" } else { "rough" };
        sim.tally.add(&format!("continued, {kind}"), passed);
        sim.tally.add("continued after a partition", passed_cut_off);
    }

    /// Asserts that masters have all acknowledged registrations of continuous hosts, and no
    /// withdrawn ones if there were none at the beginning.
    fn compare(&self, sim: &mut Simulation) {
        let mut exact_checks = 0;
        for slot in &sim.sms {
            let (Some(term), Some(id)) = (slot.term, slot.id) else {
                continue;
            };
            let is_comparable =
                |t: &&HostContinuity| t.term == Some(term) && !t.cut_off && !t.lossy;
            if !self.by_host.values().any(|t| is_comparable(&t)) {
                continue;
            }
            let known = RegisteredRecords::at(&sim.lab.world, id);
            for (at, continuity) in self.by_host.iter().filter(|(_, t)| is_comparable(t)) {
                let world = &sim.lab.world;
                let checked = sim.clients.check_host(world, *at, &known, continuity.exact);
                if let Err(error) = checked {
                    panic!("{} {:?} {error}", sim.lab.describe_run(), world.now());
                }
                exact_checks += u32::from(continuity.exact);
            }
        }
        let kind = if sim.calm { "calm" } else { "rough" };
        sim.tally
            .add(&format!("compared exactly, {kind}"), exact_checks);
    }
}

impl HostContinuity {
    /// Returns true if nothing changed: the host's port names the only master, which sent no
    /// reregistration request.
    fn is_unchanged(
        &self,
        sim: &Simulation,
        at: PortAt,
        fragment: Option<&FragmentMasters>,
    ) -> bool {
        let Some([(i, term)]) = fragment.map(|h| &h.masters[..]) else {
            return false;
        };
        let fabric = sim.lab.world.fabric();
        let is_settled = self.term == Some(*term)
            && self
                .settled_since
                .is_some_and(|(before, _)| before == *term);
        is_settled
            && !fragment.is_some_and(|h| h.foreign)
            && !self.cut_off
            && !self.lossy
            && fabric.client_reregisters(at) == self.reregister_requests
            && fabric.port_info(at).is_some_and(|info| {
                let named = fabric.lid(sim.sms[*i].plan.at).0;
                info.port_state == PortState::Active && info.master_sm_lid == named
            })
    }

    fn reset_on_master_change(
        &mut self,
        sim: &Simulation,
        at: PortAt,
        fragment: Option<&FragmentMasters>,
    ) {
        let Some(own_term) = self.term else { return };
        let own_master = sim.sms.iter().find(|s| s.term == Some(own_term));
        let has_other_master =
            fragment.is_some_and(|h| h.masters.iter().any(|(_, term)| *term != own_term));
        if fragment.is_some_and(|h| h.foreign) || (has_other_master && own_master.is_none()) {
            self.reset();
            return;
        }
        let Some(master) = own_master else { return };
        let has_master = |h: &FragmentMasters| h.masters.iter().any(|(_, term)| *term == own_term);
        self.cut_off |= !fragment.is_some_and(has_master);
        let fabric = sim.lab.world.fabric();
        let names = fabric.port_info(at).map(|info| info.master_sm_lid);
        let is_settled = self.settled_since.is_some();
        if names != Some(fabric.lid(master.plan.at).0) && (has_other_master || is_settled) {
            self.reset();
            return;
        }
        let view = master
            .id
            .and_then(|id| sim.lab.world.sm(id)?.persisted_view.as_ref());
        let guid = fabric.port_guid(at);
        let may_be_removed = self.lossy || self.cut_off;
        if may_be_removed && view.is_none_or(|view| view.by_guid(guid).is_none()) {
            self.reset();
        }
    }

    fn reset_on_host_change(&mut self, sim: &Simulation, at: PortAt) {
        let fabric = sim.lab.world.fabric();
        let active = fabric
            .port_info(at)
            .is_some_and(|info| info.port_state == PortState::Active);
        if !fabric.link_up(at) || !active {
            self.reset();
        }
        let reregister_requests = fabric.client_reregisters(at);
        let changed = core::mem::replace(&mut self.reregister_requests, reregister_requests)
            != reregister_requests;
        if !changed {
            return;
        }
        if let Some(own_term) = self.term
            && !self.cut_off
            && !sim.clients.client(at).group_changed
        {
            panic!(
                "{} {:?} {at:?} got a reregistration request although no record was lost: {self:?}, term {own_term}",
                sim.lab.describe_run(),
                sim.lab.world.now()
            );
        }
        self.reset();
    }

    fn begin_if_settled(
        &mut self,
        sim: &Simulation,
        at: PortAt,
        fragment: Option<&FragmentMasters>,
        lossy: bool,
    ) {
        let Some(term) = fragment.and_then(|fragment| settled_term(sim, at, fragment)) else {
            self.settled_since = None;
            return;
        };
        let now = sim.lab.world.now();
        let since = self.settled_since.filter(|(before, _)| *before == term);
        let (_, since) = *self.settled_since.insert(since.unwrap_or((term, now)));
        let same = self.term == Some(term) && !self.cut_off && (!self.lossy || lossy);
        if now.since(since) < SETTLE_TIME {
            return;
        }
        self.masters_apart.clear();
        if same {
            return;
        }
        let master = sim.sms.iter().find(|s| s.term == Some(term));
        let Some(id) = master.and_then(|s| s.id) else {
            return;
        };
        let known = RegisteredRecords::at(&sim.lab.world, id);
        let exact = sim.clients.check_host(&sim.lab.world, at, &known, true);
        (self.term, self.cut_off, self.lossy) = (Some(term), false, lossy);
        self.exact = exact.is_ok();
    }
}

/// The term of the host's master if the state is correct: it is the only master, the port names it,
/// and its sweep is complete and includes the host.
fn settled_term(sim: &Simulation, at: PortAt, fragment: &FragmentMasters) -> Option<u32> {
    let [(i, term)] = fragment.masters[..] else {
        return None;
    };
    let fabric = sim.lab.world.fabric();
    let info = fabric.port_info(at)?;
    let slot = &sim.sms[i];
    let sm = sim.sm(i)?;
    let guid = fabric.port_guid(at);
    let clean = sm.core().last_report().is_some_and(|r| r.is_clean());
    let view = sm.persisted_view.as_ref()?;
    let is_settled = !fragment.foreign
        && slot.has_swept
        && clean
        && sm.store.is_caught_up()
        && fabric.link_up(at)
        && info.port_state == PortState::Active
        && info.master_sm_lid == fabric.lid(slot.plan.at).0
        && view.by_guid(guid).is_some()
        && sim.clients.client(at).is_fully_registered();
    is_settled.then_some(term)
}
