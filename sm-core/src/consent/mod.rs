//! First contact with a fabric that another SM has configured: what this SM would remove, and the
//! operator's consent to it (ADR 0032).
//!
//! An SM that starts with another configuration than the present master, most often with none,
//! would remove the partitions of the fabric, and with them the isolation of tenants. So the first
//! sweep reads the P_Key tables of all ports that have a LID before it scans SMs. If a table has
//! P_Keys that this SM would remove, it does so only with consent:
//!
//! * while another SM is master, this SM reports NotActive, so that no SM hands over to it;
//! * if no other SM is master, it becomes master, and the P_Key tables stay as they are.
//!
//! Until the tables are compared for the first time, an SM on a port that another SM has configured
//! reports NotActive as well.
//!
//! Consent is that of the operator, by command or by a configuration that names the P_Keys or
//! replaces them, or an earlier run as master whose view was persisted without a wait. A port whose
//! table this SM has written, or found without such P_Keys, needs no consent any more: its operator
//! may change partitions at run time. What waits once waits until then, also while its port is
//! absent. The wait survives a restart and a failover; consent to a standby does not survive its
//! restart.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, PKey, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::pkeys;
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::report::foreign_p_keys::ForeignPKeys;

/// Most P_Keys of a port that are remembered.
const KEYS_MAX: usize = 32;

/// The consent to remove what another SM configured.
#[derive(Debug)]
pub(crate) struct Consent {
    is_given: bool,
    /// P_Keys that wait for it, by port.
    foreign: BTreeMap<PortGuid, Vec<PKey>>,
    /// Ports whose tables are this SM's.
    own: BTreeSet<PortGuid>,
    /// The record that this SM waits is persisted.
    is_recorded: bool,
    /// The tables have been compared since the start.
    is_compared: bool,
    /// A sweep as master is complete: further tables are compared when they are written.
    is_settled: bool,
    /// Other components and the operator know that something waits.
    is_reported: bool,
}

impl Consent {
    pub(crate) fn new(restored: &RestoredState) -> Self {
        Self {
            is_given: is_own(restored),
            foreign: BTreeMap::new(),
            own: BTreeSet::new(),
            is_recorded: restored.awaits_consent,
            is_compared: false,
            is_settled: false,
            is_reported: false,
        }
    }

    /// The records of the last master are this SM's from now on. What this SM itself found to wait
    /// still waits.
    pub(crate) fn load_replica(&mut self, restored: &RestoredState) {
        self.is_given |= self.foreign.is_empty() && is_own(restored);
        self.is_recorded = restored.awaits_consent;
    }

    /// Whether other SMs must not see this one yet. `own_port` is its port, if it is read.
    pub(crate) fn hides(&self, cfg: &SmConfig, own_port: Option<&PortInfo>) -> bool {
        let is_managed = |port: &PortInfo| port.lid != Lid::NONE && port.master_sm_lid != Lid::NONE;
        let is_undecided = !self.is_given && !self.is_compared && !cfg.replaces_p_keys;
        is_undecided && own_port.is_none_or(is_managed)
    }

    /// Whether a sweep reads P_Key tables before SMs are scanned.
    pub(crate) const fn must_read(&self) -> bool {
        !self.is_given && !self.is_settled
    }

    /// Whether P_Keys wait for consent.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.foreign.is_empty()
    }

    /// The P_Keys that wait for consent; `None` if none do.
    pub(crate) fn awaited(&self) -> Option<ForeignPKeys> {
        let mut counts: BTreeMap<PKey, usize> = BTreeMap::new();
        for key in self.foreign.values().flatten() {
            *counts.entry(*key).or_default() += 1;
        }
        let ports = self.foreign.len();
        self.is_awaited().then(|| ForeignPKeys::new(ports, counts))
    }

    /// Whether some port was configured by an SM.
    pub(crate) fn may_find_p_keys(fabric: &ObservedFabric) -> bool {
        addressed_ports(fabric).next().is_some()
    }

    /// Reads the P_Key tables of ports that an SM has configured.
    pub(crate) fn read(ctx: &mut Ctx<'_>) {
        let ports: Vec<PortRef> = addressed_ports(ctx.fabric).collect();
        for p in ports {
            pkeys::read_unknown_blocks(ctx, p);
        }
    }

    /// Whether something waits now and nothing did before, or the other way round. To be called
    /// after each change.
    pub(crate) fn take_change(&mut self) -> bool {
        let is_awaited = self.is_awaited();
        core::mem::replace(&mut self.is_reported, is_awaited) != is_awaited
    }

    /// Compares the tables of ports with the configuration.
    pub(crate) fn compare(&mut self, fabric: &ObservedFabric, cfg: &SmConfig) {
        self.is_compared = true;
        if self.is_given || cfg.replaces_p_keys {
            return self.give();
        }
        for p in addressed_ports(fabric) {
            let _ = self.allows(fabric, cfg, p);
        }
    }

    /// Whether the table of an end port may be written.
    pub(crate) fn allows(&mut self, fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> bool {
        let Some(port) = fabric.port(p) else {
            return true;
        };
        if self.is_given || self.own.contains(&port.guid) {
            return true;
        }
        if PortInfo::lid.read(&port.raw) == Lid::NONE {
            // No SM has configured it.
            self.own.insert(port.guid);
            return true;
        }
        // It is not written before it is read.
        if !pkeys::is_table_known(fabric, p) {
            return !self.foreign.contains_key(&port.guid);
        }
        let mut keys = pkeys::foreign_keys(fabric, cfg, p);
        keys.truncate(KEYS_MAX);
        if keys.is_empty() {
            self.foreign.remove(&port.guid);
            self.own.insert(port.guid);
            return true;
        }
        self.foreign.insert(port.guid, keys);
        false
    }

    /// The configuration changed: it may name what waits.
    pub(crate) fn on_config(&mut self, cfg: &SmConfig) {
        if cfg.replaces_p_keys {
            return self.give();
        }
        self.foreign.retain(|_, keys| {
            keys.retain(|key| !cfg.partitions.names(*key));
            !keys.is_empty()
        });
    }

    /// The operator gives consent: to what waits, or before the first comparison. Returns whether
    /// something waited.
    pub(crate) fn accept(&mut self) -> bool {
        let was_awaited = self.is_awaited();
        if was_awaited || !self.is_compared {
            self.give();
        }
        was_awaited
    }

    fn give(&mut self) {
        self.is_given = true;
        self.foreign.clear();
    }

    /// A sweep as master is complete. Returns the change of the persisted records that is due:
    /// another run of this SM must not mistake tables that wait for consent for its own.
    pub(crate) fn on_sweep_as_master(&mut self) -> Option<RecordUpdate> {
        self.is_settled = true;
        let is_awaited = self.is_awaited();
        let before = core::mem::replace(&mut self.is_recorded, is_awaited);
        match (before, is_awaited) {
            (false, true) => Some(RecordUpdate::Put(Record::AwaitsConsent)),
            (true, false) => Some(RecordUpdate::Remove(Record::AwaitsConsent.key())),
            (false, false) | (true, true) => None,
        }
    }
}

/// Whether restored records are those of a master that did not wait for consent.
const fn is_own(restored: &RestoredState) -> bool {
    restored.snapshot.is_some() && !restored.awaits_consent
}

/// End ports with a LID. Others were configured by no SM.
fn addressed_ports(fabric: &ObservedFabric) -> impl Iterator<Item = PortRef> + '_ {
    let nodes: Vec<NodeIdx> = fabric.node_indices().collect();
    let ports = nodes.into_iter().flat_map(move |n| {
        let last = fabric.get(n).map_or(0, |node| node.info.num_ports);
        (0..=last).map(move |number| PortRef::new(n, PortNum(number)))
    });
    ports.filter(move |p| {
        let port = fabric.port(*p);
        pkeys::has_pkey_table(fabric, *p)
            && port.is_some_and(|port| PortInfo::lid.read(&port.raw) != Lid::NONE)
    })
}
