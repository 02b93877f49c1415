//! First contact with a fabric that another SM has configured: what this SM would remove, and the
//! operator's consent to it (ADR 0032, ADR 0039).
//!
//! An SM that starts with another configuration than the present master, most often with none,
//! would remove the partitions of the fabric, and with them the isolation of tenants; it would also
//! change the LMC, and remove the M_Keys and QoS tables of ports. So the first sweep reads the
//! P_Key tables and VL tables of all ports that an SM configured before it scans SMs. What this SM
//! would remove, it removes only with consent:
//!
//! * while another SM is master, this SM reports NotActive, so that no SM hands over to it;
//! * if no other SM is master, it becomes master, and these settings stay as they are.
//!
//! Until the settings are compared for the first time, an SM on a port that another SM has
//! configured reports NotActive as well.
//!
//! Consent is that of the operator, by command or by a configuration that names the settings or
//! replaces them, or an earlier run as master whose view was persisted without a wait. A port whose
//! settings this SM has written, or found to be as it would write them, needs no consent any more:
//! its operator may change them at run time. What waits once waits until then, also while its port
//! is absent. The wait survives a restart and a failover; consent to a standby does not survive its
//! restart.

mod of_kind;
mod vl_tables;

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{KeptSettings, Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, Lmc, MKey, NodeGuid, PKey, PortGuid, PortNum};

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::keys::MKeyRing;
use crate::lids::plan::configured_lmc;
use crate::pkeys;
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::report::foreign_settings::{ForeignPKeys, ForeignSettings, RemovalKind};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use of_kind::{FoundSettings, KindConsent};
use vl_tables::VlTablesRead;

/// Most P_Keys of a port that are remembered.
const KEYS_MAX: usize = 32;

/// The consent to remove what another SM configured.
#[derive(Debug)]
pub(crate) struct Consent {
    p_keys: KindConsent<PortGuid, Vec<PKey>>,
    lmcs: KindConsent<PortGuid, Lmc>,
    m_keys: KindConsent<PortGuid, ()>,
    /// QoS tables, with the number of ports that have them.
    vl_tables: KindConsent<NodeGuid, usize>,
    vl_tables_read: VlTablesRead,
    /// The record that this SM waits is persisted.
    is_recorded: bool,
    /// The settings have been compared since the start.
    is_compared: bool,
    /// A sweep as master is complete: further tables are compared when they are written.
    is_settled: bool,
    /// Settings of some port are marked as those that stay.
    has_marks: bool,
    /// What other components and the operator know to wait.
    reported: Vec<RemovalKind>,
}

impl Consent {
    pub(crate) fn new(restored: &RestoredState) -> Self {
        let is_given = is_own(restored);
        Self {
            p_keys: KindConsent::new(is_given),
            lmcs: KindConsent::new(is_given),
            m_keys: KindConsent::new(is_given),
            vl_tables: KindConsent::new(is_given),
            vl_tables_read: VlTablesRead::default(),
            is_recorded: restored.awaits_consent,
            is_compared: false,
            is_settled: false,
            has_marks: false,
            reported: Vec::new(),
        }
    }

    /// The records of the last master are this SM's from now on. What this SM itself found to wait
    /// still waits.
    pub(crate) fn load_replica(&mut self, restored: &RestoredState) {
        if !self.is_awaited() && is_own(restored) {
            self.give_all();
        }
        self.is_recorded = restored.awaits_consent;
    }

    /// Whether other SMs must not see this one yet. `own_port` is its port, if it is read.
    pub(crate) fn hides(&self, cfg: &SmConfig, own_port: Option<&PortInfo>) -> bool {
        let is_managed = |port: &PortInfo| port.lid != Lid::NONE && port.master_sm_lid != Lid::NONE;
        let is_undecided = !self.is_given() && !self.is_compared && !cfg.replaces_foreign_settings;
        is_undecided && own_port.is_none_or(is_managed)
    }

    /// Whether a sweep compares settings before SMs are scanned.
    pub(crate) const fn must_compare(&self) -> bool {
        !self.is_given() && !self.is_settled
    }

    const fn is_given(&self) -> bool {
        self.p_keys.is_given()
            && self.lmcs.is_given()
            && self.m_keys.is_given()
            && self.vl_tables.is_given()
    }

    /// Whether settings wait for consent.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.p_keys.foreign().is_empty()
            || !self.lmcs.foreign().is_empty()
            || !self.m_keys.foreign().is_empty()
            || !self.vl_tables.foreign().is_empty()
    }

    /// What waits for consent, by kind.
    pub(crate) fn awaited(&self) -> Vec<ForeignSettings> {
        let keys = self.p_keys.foreign();
        let mut of_keys: BTreeMap<PKey, usize> = BTreeMap::new();
        for key in keys.values().flatten() {
            *of_keys.entry(*key).or_default() += 1;
        }
        let mut of_lmcs: BTreeMap<Lmc, usize> = BTreeMap::new();
        for lmc in self.lmcs.foreign().values() {
            *of_lmcs.entry(*lmc).or_default() += 1;
        }
        let p_keys = (!keys.is_empty()).then(|| ForeignPKeys::new(keys.len(), of_keys));
        let lmcs = Some(of_lmcs).filter(|counts| !counts.is_empty());
        let m_keys = Some(self.m_keys.foreign().len()).filter(|ports| *ports > 0);
        let qos_ports = self.vl_tables.foreign().values().sum();
        let vl_tables = Some(qos_ports).filter(|ports| *ports > 0);
        let kinds = [
            p_keys.map(ForeignSettings::PKeys),
            lmcs.map(ForeignSettings::Lmcs),
            m_keys.map(ForeignSettings::MKeys),
            vl_tables.map(ForeignSettings::VlTables),
        ];
        kinds.into_iter().flatten().collect()
    }

    /// Whether some port was configured by an SM.
    pub(crate) fn may_find_settings(fabric: &ObservedFabric) -> bool {
        addressed_ports(fabric).next().is_some()
    }

    /// Reads the tables of ports that an SM has configured.
    pub(crate) fn read(&mut self, ctx: &mut Ctx<'_>) {
        if !self.p_keys.is_given() {
            let ports: Vec<PortRef> = addressed_ports(ctx.fabric).collect();
            for p in ports {
                pkeys::read_unknown_blocks(ctx, p);
            }
        }
        if !self.vl_tables.is_given() {
            self.vl_tables_read.start(ctx);
        }
    }

    /// A VL table was read before SMs are scanned.
    pub(crate) fn on_vl_table(&mut self, ctx: &mut Ctx<'_>, op: SmpOp, outcome: &SmpOutcome) {
        self.vl_tables_read.on_table(ctx, op, outcome);
    }

    /// Whether other kinds wait than before. To be called after each change.
    pub(crate) fn take_change(&mut self) -> bool {
        let awaited = self.awaited();
        let kinds: Vec<RemovalKind> = awaited.iter().map(ForeignSettings::kind).collect();
        let before = core::mem::replace(&mut self.reported, kinds);
        before != self.reported
    }

    /// Compares the settings of ports with the configuration, before this SM has completed a sweep
    /// as master.
    pub(crate) fn compare(&mut self, fabric: &mut ObservedFabric, cfg: &SmConfig, keys: &MKeyRing) {
        self.is_compared = true;
        if cfg.replaces_foreign_settings {
            self.give_all();
        }
        self.p_keys.forget_own();
        self.lmcs.forget_own();
        self.m_keys.forget_own();
        self.vl_tables.forget_own();
        let ports: Vec<PortRef> = addressed_ports(fabric).collect();
        for p in ports {
            let _ = self.allows_p_keys(fabric, cfg, p);
        }
        let _ = self.mark_kept(fabric, cfg, keys);
    }

    /// Marks the ports whose LMC and M_Key, and the nodes whose VL tables stay as they are. To be
    /// called before LIDs are planned and routes are computed. Returns whether the VL tables of
    /// other nodes stay than before.
    pub(crate) fn mark_kept(
        &mut self,
        fabric: &mut ObservedFabric,
        cfg: &SmConfig,
        keys: &MKeyRing,
    ) -> bool {
        if self.lmcs.is_given()
            && self.m_keys.is_given()
            && self.vl_tables.is_given()
            && !self.has_marks
        {
            return false;
        }
        self.has_marks = false;
        let ports: Vec<PortRef> = fabric.end_ports().collect();
        for p in ports {
            let kept = KeptSettings {
                lmc: !self.allows_lmc(fabric, cfg, p),
                m_key: !self.allows_m_key(fabric, cfg, keys, p),
            };
            self.has_marks |= kept != KeptSettings::default();
            let is_other = |node: &Node| node.kept_settings(p.port) != kept;
            if fabric.get(p.node).is_some_and(is_other)
                && let Some(node) = fabric.get_mut(p.node)
            {
                node.keep_settings(p.port, kept);
            }
        }
        self.mark_vl_tables(fabric)
    }

    fn mark_vl_tables(&mut self, fabric: &mut ObservedFabric) -> bool {
        let mut has_changed = false;
        let nodes: Vec<NodeIdx> = fabric.node_indices().collect();
        for n in nodes {
            let Some(node) = fabric.get(n) else {
                continue;
            };
            let read = &self.vl_tables_read;
            let may_write = self
                .vl_tables
                .allows(node.info.node_guid, || read.of_node(node));
            self.has_marks |= !may_write;
            if node.keeps_vl_tables == may_write
                && let Some(node) = fabric.get_mut(n)
            {
                node.keeps_vl_tables = !may_write;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Whether the P_Key table of an end port may be written.
    pub(crate) fn allows_p_keys(
        &mut self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        p: PortRef,
    ) -> bool {
        let Some(port) = fabric.port(p) else {
            return true;
        };
        self.p_keys.allows(port.guid, || {
            if PortInfo::lid.read(&port.raw) == Lid::NONE {
                // No SM has configured it.
                return FoundSettings::Own;
            }
            // It is not written before it is read.
            if !pkeys::is_table_known(fabric, p) {
                return FoundSettings::Unknown;
            }
            let mut keys = pkeys::foreign_keys(fabric, cfg, p);
            keys.truncate(KEYS_MAX);
            if keys.is_empty() {
                FoundSettings::Own
            } else {
                FoundSettings::Foreign(keys)
            }
        })
    }

    /// Whether the LMC of an end port may be changed.
    fn allows_lmc(&mut self, fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> bool {
        let Some(port) = fabric.port(p).filter(|port| port.known) else {
            return true;
        };
        self.lmcs.allows(port.guid, || {
            let lmc = PortInfo::lmc.read(&port.raw);
            let is_addressed = PortInfo::lid.read(&port.raw) != Lid::NONE;
            // A base port 0 has LMC 0 whatever is written.
            let may_have_lids = fabric
                .get(p.node)
                .is_some_and(|node| !node.is_switch() || node.has_enhanced_port0());
            if is_addressed
                && may_have_lids
                && !names_lmc(cfg)
                && lmc != configured_lmc(fabric, p, cfg)
            {
                FoundSettings::Foreign(lmc)
            } else {
                FoundSettings::Own
            }
        })
    }

    /// Whether the M_Key of an end port may be replaced. A key that the port hides is never
    /// replaced.
    fn allows_m_key(
        &mut self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        keys: &MKeyRing,
        p: PortRef,
    ) -> bool {
        let Some(port) = fabric.port(p).filter(|port| port.known) else {
            return true;
        };
        self.m_keys.allows(port.guid, || {
            let key = port.m_key();
            let is_addressed = PortInfo::lid.read(&port.raw) != Lid::NONE;
            let is_of_this_sm = key == MKey::NONE || keys.may_have_ports(key);
            // An SM gives its key to more than one port. A single one may be garbled, and would be
            // written to the port with its other settings.
            let has_key = |other: PortRef| {
                let port = fabric.port(other).filter(|port| port.known);
                port.is_some_and(|port| port.m_key() == key)
            };
            let is_shared = || fabric.end_ports().any(|other| other != p && has_key(other));
            if is_addressed && !is_of_this_sm && !names_m_key(cfg) && is_shared() {
                FoundSettings::Foreign(())
            } else {
                FoundSettings::Own
            }
        })
    }

    /// The configuration changed: it may name what waits.
    pub(crate) fn on_config(&mut self, cfg: &SmConfig) {
        if cfg.replaces_foreign_settings {
            return self.give_all();
        }
        self.p_keys.retain(|_, keys| {
            keys.retain(|key| !cfg.partitions.names(*key));
            !keys.is_empty()
        });
        self.lmcs.retain(|_, _| !names_lmc(cfg));
        self.m_keys.retain(|_, ()| !names_m_key(cfg));
    }

    /// The operator gives consent: to what waits, or before the first comparison. Returns whether
    /// something of this kind waited.
    pub(crate) fn accept(&mut self, kind: RemovalKind) -> bool {
        let was_awaited = self.awaited().iter().any(|foreign| foreign.kind() == kind);
        if was_awaited || !self.is_compared {
            match kind {
                RemovalKind::PKeyRemoval => self.p_keys.give(),
                RemovalKind::LmcChange => self.lmcs.give(),
                RemovalKind::MKeyRemoval => self.m_keys.give(),
                RemovalKind::QosRemoval => self.vl_tables.give(),
            }
        }
        was_awaited
    }

    fn give_all(&mut self) {
        self.p_keys.give();
        self.lmcs.give();
        self.m_keys.give();
        self.vl_tables.give();
    }

    /// A sweep as master is complete. Returns the change of the persisted records that is due:
    /// another run of this SM must not mistake settings that wait for consent for its own.
    pub(crate) fn on_sweep_as_master(&mut self) -> Option<RecordUpdate> {
        self.is_settled = true;
        // Ports that join later get the settings of this SM, except while others wait. Only P_Keys
        // isolate tenants: the tables of late ports are compared as well.
        if self.lmcs.foreign().is_empty() {
            self.lmcs.give();
        }
        if self.m_keys.foreign().is_empty() {
            self.m_keys.give();
        }
        if self.vl_tables.foreign().is_empty() {
            self.vl_tables.give();
        }
        self.vl_tables_read.forget();
        let is_awaited = self.is_awaited();
        let before = core::mem::replace(&mut self.is_recorded, is_awaited);
        match (before, is_awaited) {
            (false, true) => Some(RecordUpdate::Put(Record::AwaitsConsent)),
            (true, false) => Some(RecordUpdate::Remove(Record::AwaitsConsent.key())),
            (false, false) | (true, true) => None,
        }
    }
}

/// Whether the configuration names the LMC: 0 is the default.
fn names_lmc(cfg: &SmConfig) -> bool {
    cfg.lmc != Lmc(0)
}

/// Whether the configuration, or a rotation, names the M_Key.
fn names_m_key(cfg: &SmConfig) -> bool {
    cfg.m_key != MKey::NONE
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
