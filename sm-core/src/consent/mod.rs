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
//! Consent is given by the operator, by a configuration that names the P_Keys, and by having been
//! master of this fabric before without a wait for consent. It survives a restart and a failover.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, PKey, PortNum};

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::pkeys;
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::report::foreign_p_keys::ForeignPKeys;

/// What of the ports with a LID, whose table is known, waits for consent.
fn foreign_p_keys(fabric: &ObservedFabric, cfg: &SmConfig) -> ForeignPKeys {
    let mut ports = 0;
    let mut counts: BTreeMap<PKey, usize> = BTreeMap::new();
    for p in addressed_ports(fabric) {
        let foreign = pkeys::foreign_keys(fabric, cfg, p);
        ports += usize::from(!foreign.is_empty());
        for key in foreign {
            *counts.entry(key).or_default() += 1;
        }
    }
    ForeignPKeys::new(ports, counts)
}

/// The consent to remove what another SM configured.
#[derive(Debug)]
pub(crate) struct Consent {
    is_given: bool,
    /// What waits for it, as the last sweep found it.
    foreign: ForeignPKeys,
    /// The record that this SM waits is persisted.
    is_recorded: bool,
    /// The tables have been compared since the start.
    is_compared: bool,
}

impl Consent {
    pub(crate) fn new(restored: &RestoredState) -> Self {
        Self {
            is_given: restored.snapshot.is_some() && !restored.awaits_consent,
            foreign: ForeignPKeys::default(),
            is_recorded: restored.awaits_consent,
            is_compared: false,
        }
    }

    /// The records of the last master are this SM's from now on.
    pub(crate) fn load_replica(&mut self, restored: &RestoredState) {
        *self = Self {
            is_compared: self.is_compared,
            ..Self::new(restored)
        };
    }

    /// Whether other SMs must not see this one yet. `own_port` is its port, if it is read.
    pub(crate) fn hides(&self, cfg: &SmConfig, own_port: Option<&PortInfo>) -> bool {
        let is_managed = |port: &PortInfo| port.lid != Lid::NONE && port.master_sm_lid != Lid::NONE;
        let is_undecided = !self.is_given && !self.is_compared && !cfg.replaces_p_keys;
        is_undecided && own_port.is_none_or(is_managed)
    }

    /// Whether a sweep reads P_Key tables before SMs are scanned.
    pub(crate) const fn must_read(&self) -> bool {
        !self.is_given
    }

    /// P_Keys that wait for consent; `None` if none do.
    pub(crate) fn awaited(&self) -> Option<&ForeignPKeys> {
        let is_awaited = !self.is_given && !self.foreign.is_empty();
        is_awaited.then_some(&self.foreign)
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

    /// Compares the tables of ports with the configuration. Returns whether something else waits
    /// for consent than before.
    pub(crate) fn compare(&mut self, fabric: &ObservedFabric, cfg: &SmConfig) -> bool {
        self.is_compared = true;
        if self.is_given || cfg.replaces_p_keys {
            return self.give();
        }
        let before = self.awaited().cloned();
        self.foreign = foreign_p_keys(fabric, cfg);
        before.as_ref() != self.awaited()
    }

    /// The configuration changed. Tables that are not known, because another SM may have written
    /// them since they were read, count as read last.
    pub(crate) fn on_config(&mut self, fabric: &ObservedFabric, cfg: &SmConfig) -> bool {
        let is_known = |p: PortRef| pkeys::is_table_known(fabric, p);
        if cfg.replaces_p_keys || addressed_ports(fabric).all(is_known) {
            self.compare(fabric, cfg)
        } else {
            false
        }
    }

    /// Consent is given. Returns whether something waited for it.
    pub(crate) fn give(&mut self) -> bool {
        let was_awaited = self.awaited().is_some();
        self.is_given = true;
        self.foreign = ForeignPKeys::default();
        was_awaited
    }

    /// A sweep as master is complete: the fabric is configured by this SM, unless it waits.
    pub(crate) fn on_sweep_as_master(&mut self) {
        self.is_given |= self.foreign.is_empty();
    }

    /// The change of the persisted records that is due: another run of this SM must not mistake
    /// tables that wait for consent for its own.
    pub(crate) fn take_update(&mut self) -> Option<RecordUpdate> {
        let is_awaited = self.awaited().is_some();
        let before = core::mem::replace(&mut self.is_recorded, is_awaited);
        match (before, is_awaited) {
            (false, true) => Some(RecordUpdate::Put(Record::AwaitsConsent)),
            (true, false) => Some(RecordUpdate::Remove(Record::AwaitsConsent.key())),
            (false, false) | (true, true) => None,
        }
    }
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
