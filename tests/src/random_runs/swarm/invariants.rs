//! Invariants that hold during all faults: assigned LIDs do not change, and the observed fabric is
//! consistent.

use std::collections::{BTreeMap, BTreeSet};

use crate::lab::Sm;
use ferrosm_core::Event;
use ferrosm_mad::attr::{PortState, SmState};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::random_runs::seeds::Run;

/// State of the invariant checks.
pub(super) struct InvariantMonitor {
    /// The fabric and the seed, in messages.
    run: String,
    mode: Run,
    /// LIDs assigned at the last check.
    lids: BTreeMap<PortGuid, (Lid, Lmc)>,
    /// Ports that had their assigned LID at a check. The SM may reassign the LID of any other port,
    /// because that port cannot have used it (docs/sm-behaviour.md 2.9 and 2.11).
    configured: BTreeSet<PortGuid>,
    /// Nodes whose replies were corrupted at some time, and the port GUIDs that they have had
    /// since.
    misreporting_nodes: BTreeSet<NodeIdx>,
    misreported_guids: BTreeSet<PortGuid>,
    /// Number of events of the SM that were printed or skipped.
    events_read: usize,
}

impl InvariantMonitor {
    pub(super) const fn new(run: String, mode: Run) -> Self {
        Self {
            run,
            mode,
            lids: BTreeMap::new(),
            configured: BTreeSet::new(),
            misreporting_nodes: BTreeSet::new(),
            misreported_guids: BTreeSet::new(),
            events_read: 0,
        }
    }

    /// The replies of a node are corrupted from now on. The LMC of a switch depends on whether its
    /// port 0 is enhanced, which it may misreport, and another LMC needs a base LID that is aligned
    /// to it.
    pub(super) fn on_corrupted_replies(&mut self, node: NodeIdx) {
        self.misreporting_nodes.insert(node);
    }

    /// The SM has restarted with its durable records.
    pub(super) fn on_restart(&mut self, sm: &Sm) {
        let map = sm.core().lid_map();
        self.lids.retain(|guid, _| map.contains_key(guid));
        self.events_read = 0;
    }

    pub(super) fn check(&mut self, sm: &Sm, fabric: &Fabric) {
        self.print_events(sm);
        for node in &self.misreporting_nodes {
            let guid = fabric.port_guid(PortAt::new(*node, 0));
            self.misreported_guids.insert(guid);
        }
        let run = &self.run;
        let map = sm.core().lid_map();
        let mut owner = BTreeMap::new();
        for (guid, (lid, lmc)) in map {
            for l in lid.raw()..lid.raw() + (1 << lmc.raw()) {
                let other = owner.insert(l, guid);
                assert!(other.is_none(), "{run} LID {l} assigned twice");
            }
            if let Some(before) = self.lids.insert(*guid, (*lid, *lmc))
                && before != (*lid, *lmc)
            {
                let was_configured = self.configured.remove(guid);
                // The LMC of a switch follows from its SwitchInfo, which may be read later, and
                // another LMC needs a base LID that is aligned to it.
                let has_other_lmc = before.1 != *lmc;
                assert!(
                    !was_configured || has_other_lmc || self.misreported_guids.contains(guid),
                    "{run} {guid} was assigned another LID: {before:?}, {:?}",
                    (*lid, *lmc)
                );
            }
        }
        self.lids.retain(|guid, _| {
            let is_assigned = map.contains_key(guid);
            let was_configured = self.configured.contains(guid);
            assert!(is_assigned || !was_configured, "{run} {guid} lost its LID");
            is_assigned
        });
        let has_own_lid = |at: &PortAt| {
            let own = self.lids.get(&fabric.port_guid(*at));
            own.is_some_and(|(lid, _)| *lid == fabric.lid(*at).0)
        };
        // A LID that a port has had from its start is not in use before the port is Active.
        let is_active = |at: &PortAt| {
            let info = fabric.port_info(*at);
            info.is_some_and(|info| info.port_state == PortState::Active)
        };
        let in_use = fabric.end_ports().filter(is_active).filter(has_own_lid);
        let in_use: BTreeSet<PortGuid> = in_use.map(|at| fabric.port_guid(at)).collect();
        if sm.core().role() == SmState::Master {
            self.configured.extend(in_use);
        } else {
            // After a takeover, LIDs that Active ports have precede assigned ones
            // (docs/sm-behaviour.md 2.11).
            self.configured.retain(|guid| in_use.contains(guid));
        }
        let subnet = sm.core().fabric();
        for link in subnet.links() {
            for port in [link.a, link.b] {
                assert_eq!(subnet.peer(port), Some(link.other(port)), "{run}");
            }
        }
    }

    fn print_events(&mut self, sm: &Sm) {
        let events = sm.events[self.events_read..].iter();
        for event in events.filter(|_| self.mode == Run::Traced) {
            println!("        {event}");
            if let Event::SweepCompleted(report) = event {
                for problem in &report.problems {
                    println!("            {problem}");
                }
            }
        }
        self.events_read = sm.events.len();
    }
}
