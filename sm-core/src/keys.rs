//! M_Keys: which one a request carries, and which keys are persisted.
//!
//! A protected port drops requests without its key, so the keys that the SM wrote outlive it: one
//! record for the key of all ports, and one for each port that may have another. Before the SM
//! writes a new key, ports that may have the old one are persisted as exceptions; each exception is
//! removed when its port reports the new key. A restart in the middle, with a third key configured,
//! therefore knows all of them. A replica replaces them by the keys and links that another SM knew:
//! the key of a port is then known before the port was read.
//!
//! An operator can put another key in force than the configured one ([`KeyRotation`]); it is a
//! record as well. A standby without a replica persists its key, so that it can still read ports
//! after a restart with another one.
//!
//! Keys are secrets: they are sent only to ports.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{ObservedFabric, Port, PortRef};
use ferrosm_mad::ids::{MKey, PortGuid, PortNum};

use crate::config::key_rotation::{KeyKind, KeyRotation, RotatableKey};
use crate::ctx::Ctx;
use crate::records::lid_map::LidMap;
use crate::records::{Record, RecordUpdate, RestoredState};
use crate::report::m_keys::MKeyReport;
use crate::smp::op::Target;
use crate::smp::queue::MAX_RETRIES;

/// Keys that one port may have.
const CANDIDATES_MAX: usize = 6;
const _: () = assert!(CANDIDATES_MAX <= MAX_RETRIES as usize + 1);
/// Further keys tried where the port behind a link is unknown. For such a port, only three other
/// candidates exist: the common, the configured and the previous key.
const FALLBACKS_MAX: usize = CANDIDATES_MAX - 3;

/// The keys that ports may have, besides those that they report.
#[derive(Debug, Default)]
pub(crate) struct MKeyRing {
    /// The key last written to all ports, except `exceptions`.
    common: MKey,
    /// Ports that may have another key.
    exceptions: BTreeMap<PortGuid, MKey>,
    /// Neighbours of ports, as the SM that wrote the records knew them.
    neighbours: BTreeMap<(PortGuid, PortNum), PortGuid>,
    /// The key in force before the last change.
    previous: MKey,
    /// `previous` is in the records.
    is_previous_persisted: bool,
    /// The M_Key that all ports are to have.
    wanted: RotatableKey,
    /// The key in force changed after ports were read: they may have it although they reported
    /// another one.
    is_new: bool,
    /// Other keys of `exceptions`, tried where the port behind a link is unknown.
    fallbacks: [MKey; FALLBACKS_MAX],
}

impl MKeyRing {
    /// The keys of restored records, with the configured key.
    pub(crate) fn new(restored: &RestoredState, configured: MKey) -> Self {
        let mut exceptions = restored.m_keys.clone();
        let common = exceptions.remove(&Record::ALL_PORTS).unwrap_or_default();
        let previous = exceptions.remove(&Record::EARLIER_KEY);
        let links = restored.neighbours.iter();
        let mut keys = Self {
            common,
            exceptions,
            neighbours: links.map(|(of, (to, _))| (*of, *to)).collect(),
            previous: previous.unwrap_or_default(),
            is_previous_persisted: previous.is_some(),
            wanted: RotatableKey::new(configured, restored.rotation_of(KeyKind::MKey)),
            ..Self::default()
        };
        keys.choose_fallbacks(keys.in_force());
        keys
    }

    /// The M_Key that all ports are to have.
    pub(crate) fn in_force(&self) -> MKey {
        self.wanted.in_force()
    }

    /// The configured key, from now on.
    pub(crate) const fn configure(&mut self, configured: MKey) {
        self.wanted.configure(configured);
    }

    /// The rotated key of the master's records, from now on.
    pub(crate) const fn set_rotation(&mut self, rotation: Option<KeyRotation>) {
        self.wanted.set_rotation(rotation);
    }

    /// Puts another key in force.
    pub(crate) fn rotate(&mut self, m_key: MKey) -> RecordUpdate {
        let rotation = self.wanted.rotate(KeyKind::MKey, m_key);
        RecordUpdate::Put(Record::KeyRotation(rotation))
    }

    /// This SM is standby: persists a key that ports may have when it becomes master.
    pub(crate) fn persist_as_standby(&mut self, ctx: &mut Ctx<'_>) {
        let own = ctx.fabric.local().map(|p| reported_key(ctx.fabric, p));
        if own == Some(ctx.cfg.m_key) && self.previous == MKey::NONE {
            self.previous = ctx.cfg.m_key;
        }
        if self.previous != MKey::NONE {
            self.is_previous_persisted = true;
            let update = put_m_key(Record::EARLIER_KEY, self.previous);
            ctx.outbox.persist(vec![update]);
        }
    }

    /// Ports are read from now on.
    pub(crate) const fn begin_full_sweep(&mut self) {
        self.is_new = false;
    }

    /// The key in force changed.
    pub(crate) fn change_in_force(&mut self, from: MKey, to: MKey) {
        if from != to {
            self.previous = from;
            self.is_new = true;
            self.choose_fallbacks(to);
        }
    }

    /// Replaces the known keys and links by those of a replica.
    pub(crate) fn load_replica(&mut self, restored: &RestoredState) {
        let loaded = Self::new(restored, self.wanted.configured());
        let previous = match self.previous {
            MKey::NONE => loaded.previous,
            known => known,
        };
        *self = Self { previous, ..loaded };
        self.choose_fallbacks(self.in_force());
    }

    fn choose_fallbacks(&mut self, configured: MKey) {
        let known_keys = [configured, self.common, self.previous];
        self.fallbacks = [MKey::NONE; FALLBACKS_MAX];
        let mut count = 0;
        for key in self.exceptions.values() {
            if !known_keys.contains(key) && !self.fallbacks[..count].contains(key) {
                self.fallbacks[count] = *key;
                count += 1;
                if count == FALLBACKS_MAX {
                    return;
                }
            }
        }
    }

    /// Whether some port may have this key, besides the configured one.
    pub(crate) fn may_have_ports(&self, key: MKey) -> bool {
        key != MKey::NONE
            && ([self.common, self.previous].contains(&key)
                || self.exceptions.values().any(|exception| *exception == key))
    }

    /// The M_Key that the target of a request is expected to have. Retries try the other keys that
    /// it may have: after a key change, or if a response was lost, the expected key can be wrong.
    pub(crate) fn key_for(
        &self,
        fabric: &ObservedFabric,
        configured: MKey,
        target: Target,
        attempt: u8,
    ) -> MKey {
        if self.has_none(configured) {
            return known_port(fabric, target).map_or(MKey::NONE, |p| reported_key(fabric, p));
        }
        let (keys, count) = self.candidates(fabric, configured, target);
        keys[usize::from(attempt) % count.max(1)]
    }

    /// Number of retries that try each key of the target twice, because their order may change
    /// between attempts; 0 if there is one key. The queue limits it to [`MAX_RETRIES`], which is
    /// enough to try each key once.
    pub(crate) fn retries_for_all_keys(
        &self,
        fabric: &ObservedFabric,
        configured: MKey,
        target: Target,
    ) -> u8 {
        if self.has_none(configured) {
            return 0;
        }
        let (_, count) = self.candidates(fabric, configured, target);
        let attempts = if count > 1 { 2 * count } else { 1 };
        u8::try_from(attempts - 1).unwrap_or(u8::MAX)
    }

    /// Whether no port has another key than it reports, as in most subnets: checked for each
    /// request.
    fn has_none(&self, configured: MKey) -> bool {
        self.exceptions.is_empty() && [configured, self.common, self.previous] == [MKey::NONE; 3]
    }

    /// The keys that the target of a request may have, the most likely first, and how many there
    /// are.
    fn candidates(
        &self,
        fabric: &ObservedFabric,
        configured: MKey,
        target: Target,
    ) -> ([MKey; CANDIDATES_MAX], usize) {
        let (port, guid) = self.target_port(fabric, target);
        let reported = port.map_or(MKey::NONE, |p| reported_key(fabric, p));
        let exception = guid.and_then(|guid| self.exceptions.get(&guid).copied());
        let exception = exception.unwrap_or_default();
        let unknown = reported == MKey::NONE && exception == MKey::NONE;
        let fallbacks = self.fallbacks.into_iter().filter(|_| unknown);
        let likely = if self.is_new { configured } else { MKey::NONE };
        let candidates = [
            likely,
            reported,
            exception,
            self.common,
            configured,
            self.previous,
        ];
        let mut distinct = [MKey::NONE; CANDIDATES_MAX];
        let mut count = 0;
        for key in candidates.into_iter().chain(fallbacks) {
            if key != MKey::NONE && !distinct[..count].contains(&key) {
                distinct[count] = key;
                count += 1;
            }
        }
        (distinct, count)
    }

    /// The port that a request reaches, and its GUID, as far as they are known.
    fn target_port(
        &self,
        fabric: &ObservedFabric,
        target: Target,
    ) -> (Option<PortRef>, Option<PortGuid>) {
        if let Some(at) = known_port(fabric, target) {
            return (Some(at), end_port_guid(fabric, at));
        }
        let Target::BeyondPort(from) = target else {
            return (None, None);
        };
        let port_guid = end_port_guid(fabric, from);
        let behind = port_guid.and_then(|guid| self.neighbours.get(&(guid, from.port)));
        (None, behind.copied())
    }

    /// Counts the end ports by their keys, without those of SMs.
    pub(crate) fn report(&self, fabric: &ObservedFabric) -> MKeyReport {
        let in_force = self.in_force();
        let mut report = MKeyReport {
            has_key: in_force != MKey::NONE,
            is_rotated: self.wanted.is_rotated(),
            ..MKeyReport::default()
        };
        for p in fabric.end_ports() {
            let port = fabric.port(p).filter(|port| port.known);
            let is_hidden = port.is_some_and(|port| {
                let info = port.info();
                // With these protection bits a key of 0 may be hidden (IBA vol. 1, 14.2.4).
                info.m_key == MKey::NONE && info.m_key_protect_bits == 1
            });
            let count = match port.filter(|_| !is_hidden).map(Port::m_key) {
                Some(key) if key == in_force => {
                    report.current += 1;
                    continue;
                }
                Some(MKey::NONE) => &mut report.without,
                Some(key) if self.may_have_ports(key) => &mut report.earlier,
                Some(_) | None => &mut report.unknown,
            };
            *count += 1;
            report.add_straggler(fabric.port_name(p));
        }
        report
    }

    /// Persists the key in force, and which ports may have another one, before it is written to
    /// any port.
    pub(crate) fn persist_change(&mut self, ctx: &mut Ctx<'_>, lids: &LidMap) {
        let mut updates = Vec::new();
        if self.wanted.take_replaced() {
            let key = Record::key_rotation_key(KeyKind::MKey);
            updates.push(RecordUpdate::Remove(key));
        }
        let old = self.common;
        let new = ctx.cfg.m_key;
        if old == new {
            if !updates.is_empty() {
                ctx.outbox.persist(updates);
            }
            return;
        }
        for guid in lids.keys() {
            let at = ctx.fabric.port_by_guid(*guid);
            let reported = at.map_or(MKey::NONE, |p| reported_key(ctx.fabric, p));
            let recorded = self.exceptions.get(guid).copied();
            // The old key may never have been written to an absent port; that costs one more
            // attempt when it returns.
            let actual = if reported == MKey::NONE {
                recorded.unwrap_or(old)
            } else {
                reported
            };
            if actual != MKey::NONE && actual != new && recorded != Some(actual) {
                self.exceptions.insert(*guid, actual);
                updates.push(put_m_key(*guid, actual));
            }
        }
        self.exceptions.retain(|guid, key| {
            let stays = *key != new;
            if !stays {
                updates.push(RecordUpdate::Remove(Record::m_key_key(*guid)));
            }
            stays
        });
        self.common = new;
        self.choose_fallbacks(new);
        updates.push(if new == MKey::NONE {
            RecordUpdate::Remove(Record::m_key_key(Record::ALL_PORTS))
        } else {
            put_m_key(Record::ALL_PORTS, new)
        });
        ctx.outbox.persist(updates);
    }

    /// Removes the exceptions of ports that report the common key. Call it when a sweep as master
    /// is complete.
    pub(crate) fn remove_exceptions(&mut self, ctx: &mut Ctx<'_>) {
        if self.exceptions.is_empty() && !self.is_previous_persisted {
            return;
        }
        let common = self.common;
        let fabric = &*ctx.fabric;
        let reports_common = |guid: PortGuid| {
            let at = fabric.port_by_guid(guid);
            let port = at.and_then(|p| fabric.port(p));
            port.filter(|port| port.known).is_some_and(|port| {
                let info = port.info();
                // With these protection bits a key of 0 may be hidden (IBA vol. 1, 14.2.4).
                let hidden = info.m_key == MKey::NONE && info.m_key_protect_bits == 1;
                info.m_key == common && !hidden
            })
        };
        let mut updates = Vec::new();
        self.exceptions.retain(|guid, _| {
            let stays = !reports_common(*guid);
            if !stays {
                updates.push(RecordUpdate::Remove(Record::m_key_key(*guid)));
            }
            stays
        });
        if self.exceptions.is_empty() && core::mem::take(&mut self.is_previous_persisted) {
            updates.push(RecordUpdate::Remove(Record::m_key_key(Record::EARLIER_KEY)));
        }
        if !updates.is_empty() {
            self.choose_fallbacks(ctx.cfg.m_key);
            ctx.outbox.persist(updates);
        }
    }
}

const fn put_m_key(port: PortGuid, m_key: MKey) -> RecordUpdate {
    RecordUpdate::Put(Record::MKey { port, m_key })
}

/// The port that a request reaches, if it is in the fabric.
fn known_port(fabric: &ObservedFabric, target: Target) -> Option<PortRef> {
    match target {
        Target::LocalNode | Target::Surveyed => None,
        Target::BeyondPort(from) => fabric.peer(from),
        Target::Node(_) | Target::Port(_) => target.port(),
    }
}

/// The GUID of the end port that a port belongs to.
fn end_port_guid(fabric: &ObservedFabric, p: PortRef) -> Option<PortGuid> {
    let node = fabric.get(p.node)?;
    let port_guid = node.ports.get(p.port.index()).map(|port| port.guid);
    let port_guid = port_guid.filter(|guid| !node.is_switch() && *guid != PortGuid(0));
    Some(port_guid.unwrap_or(node.info.port_guid))
}

/// The M_Key that the end port of `p` reported; none if it has none, hides it, or was not read.
pub(crate) fn reported_key(fabric: &ObservedFabric, p: PortRef) -> MKey {
    let end_port = match fabric.get(p.node) {
        Some(node) if node.is_switch() => PortRef::new(p.node, PortNum::ZERO),
        Some(node) if p.port == PortNum::ZERO => {
            let discovered_at = node.end_ports().next().unwrap_or(p.port);
            PortRef::new(p.node, discovered_at)
        }
        _ => p,
    };
    let port = fabric.port(end_port).filter(|port| port.known);
    port.map_or(MKey::NONE, Port::m_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After several key changes, any absent device may return behind a link with an unknown port.
    #[test]
    fn all_persisted_keys_are_tried_behind_an_unknown_link() {
        let keys = [1, 2, 3, 4, 5].map(MKey::new);
        let exceptions = (1..).map(PortGuid).zip(keys).take(4);
        let common = (Record::ALL_PORTS, keys[4]);
        let restored = RestoredState {
            m_keys: exceptions.chain([common]).collect(),
            ..RestoredState::default()
        };
        let mut ring = MKeyRing {
            previous: keys[3],
            ..MKeyRing::default()
        };
        ring.configure(keys[4]);
        ring.load_replica(&restored);
        let fabric = ObservedFabric::default();
        let tried = |attempt| ring.key_for(&fabric, keys[4], Target::LocalNode, attempt);
        let tried: Vec<MKey> = (0..5).map(tried).collect();
        assert!(keys.iter().all(|key| tried.contains(key)));
    }
}
