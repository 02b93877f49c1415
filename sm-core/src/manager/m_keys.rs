//! M_Keys: which one a request carries, and what is kept of them.
//!
//! A port that protects itself answers nobody without its key, so what ports were given outlives the subnet manager that gave it: one
//! key as that of all, and ports that may have another. Before ports are given a new key, all that may have the old one are kept as
//! such; each is forgotten when it has the new one. So a restart in the middle, with a third key in the settings, knows them all.
//! Another subnet manager's keys and cables may be in what is kept as well: then the key of a port is tried before it was read.
//!
//! Keys are secrets: nothing here tells them to anybody but the ports.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{MKey, PortGuid, PortNum};

use super::SubnetManager;
use crate::io::Output;
use crate::kept::Restored;
use crate::kept::{Record, Update};
use crate::smp::op::{SmpOp, Target};
use crate::subnet::PortRef;

/// What is known of keys beside what ports tell.
#[derive(Debug, Default)]
pub(super) struct MKeys {
    /// The key that all ports were given last, those below apart.
    of_all: MKey,
    /// Ports that may have another one.
    others: BTreeMap<PortGuid, MKey>,
    /// The port behind a port, as another subnet manager knew it.
    behind: BTreeMap<(PortGuid, PortNum), PortGuid>,
    /// The key before the last change of settings.
    before: MKey,
    /// One of somebody's, to be tried where nobody knows whose port it is.
    some: MKey,
}

impl MKeys {
    /// From what was kept; `own` is the key of the settings.
    pub(super) fn new(restored: &Restored, own: MKey) -> Self {
        let mut others = restored.m_keys.clone();
        let of_all = others.remove(&Record::ALL_PORTS).unwrap_or_default();
        let cables = restored.neighbours.iter();
        let mut keys = Self {
            of_all,
            others,
            behind: cables.map(|(of, (to, _))| (*of, *to)).collect(),
            ..Self::default()
        };
        keys.find_some(own);
        keys
    }

    /// The settings change.
    pub(super) fn change(&mut self, from: MKey, to: MKey) {
        if from != to {
            self.before = from;
            self.find_some(to);
        }
    }

    /// What another master kept takes the place of what was known.
    pub(super) fn recall(&mut self, restored: &Restored, own: MKey) {
        let before = self.before;
        *self = Self {
            before,
            ..Self::new(restored, own)
        };
    }

    fn find_some(&mut self, own: MKey) {
        let known = [own, self.of_all];
        let mut others = self.others.values();
        let other = others.find(|key| !known.contains(key));
        self.some = other.copied().unwrap_or_default();
    }
}

impl SubnetManager {
    /// The M_Key that the asked port is believed to have (rules 16.1, 16.2). Repetitions try the others that it may have: after a
    /// change of the key, or where an answer was lost, what is believed can be wrong.
    pub(super) fn key_for(&self, op: SmpOp, attempt: u8) -> MKey {
        let (asked, guid) = self.asked_port(op);
        let keys = &self.m_keys;
        let told = asked.map_or(MKey::NONE, |p| self.m_key_of(p));
        let of_port = guid.and_then(|guid| keys.others.get(&guid).copied());
        let of_port = of_port.unwrap_or_default();
        let nothing_known = told == MKey::NONE && of_port == MKey::NONE;
        let candidates = [
            told,
            of_port,
            keys.of_all,
            self.cfg.m_key,
            keys.before,
            if nothing_known { keys.some } else { MKey::NONE },
        ];
        let mut distinct = [MKey::NONE; 6];
        let mut count = 0;
        for key in candidates {
            if key != MKey::NONE && !distinct[..count].contains(&key) {
                distinct[count] = key;
                count += 1;
            }
        }
        distinct[usize::from(attempt) % count.max(1)]
    }

    /// The port that a request reaches, and its GUID, as far as they are known.
    fn asked_port(&self, op: SmpOp) -> (Option<PortRef>, Option<PortGuid>) {
        let from = match op.spec().target {
            Target::LocalNode => return (None, None),
            Target::BeyondPort(from) => from,
            target @ (Target::Node(_) | Target::Port(_)) => {
                let at = target.port();
                return (at, at.and_then(|p| self.end_guid(p)));
            }
        };
        if let Some(peer) = self.subnet.peer(from) {
            return (Some(peer), self.end_guid(peer));
        }
        let here = self.end_guid(from);
        let behind = here.and_then(|guid| self.m_keys.behind.get(&(guid, from.port)));
        (None, behind.copied())
    }

    /// The GUID of the end port that a port belongs to.
    fn end_guid(&self, p: PortRef) -> Option<PortGuid> {
        let node = self.subnet.get(p.node)?;
        let own = node.ports.get(p.port.index()).map(|port| port.guid);
        let own = own.filter(|guid| !node.is_switch() && *guid != PortGuid(0));
        Some(own.unwrap_or(node.info.port_guid))
    }

    /// The M_Key that the end port to which `p` belongs told; none where it has none, hides it or was not read.
    pub(super) fn m_key_of(&self, p: PortRef) -> MKey {
        let end = match self.subnet.get(p.node) {
            Some(node) if node.is_switch() => PortRef::new(p.node, PortNum::ZERO),
            Some(node) if p.port == PortNum::ZERO => {
                let known = node.end_ports().next().unwrap_or(p.port);
                PortRef::new(p.node, known)
            }
            _ => p,
        };
        let port = self.subnet.port(end).filter(|port| port.known);
        port.map_or(MKey::NONE, |port| port.info().m_key)
    }

    /// Before any port is given the key of the settings: it is kept, and who may have another one.
    pub(super) fn keep_m_keys(&mut self) {
        let (old, new) = (self.m_keys.of_all, self.cfg.m_key);
        if old == new {
            return;
        }
        let mut updates = Vec::new();
        for guid in self.lids.keys() {
            let at = self.subnet.port_by_guid(*guid);
            let told = at.map_or(MKey::NONE, |p| self.m_key_of(p));
            let known = self.m_keys.others.get(guid).copied();
            // A port that is not there may be one that was never given the old one: that is tried then, and costs one more try.
            let has = if told == MKey::NONE {
                known.unwrap_or(old)
            } else {
                told
            };
            if has != MKey::NONE && has != new && known != Some(has) {
                self.m_keys.others.insert(*guid, has);
                updates.push(put(*guid, has));
            }
        }
        let others = &mut self.m_keys.others;
        others.retain(|guid, key| {
            let stays = *key != new;
            if !stays {
                updates.push(Update::Remove(Record::m_key_key(*guid)));
            }
            stays
        });
        self.m_keys.of_all = new;
        self.m_keys.find_some(new);
        updates.push(if new == MKey::NONE {
            Update::Remove(Record::m_key_key(Record::ALL_PORTS))
        } else {
            put(Record::ALL_PORTS, new)
        });
        self.out.push_back(Output::Keep(updates));
    }

    /// A sweep is done: ports that have the key of all are as all others.
    pub(super) fn forget_m_keys(&mut self) {
        if self.m_keys.others.is_empty() || !self.is_master() {
            return;
        }
        let of_all = self.m_keys.of_all;
        let subnet = &self.subnet;
        let has_it = |guid: PortGuid| {
            let at = subnet.port_by_guid(guid);
            let port = at.and_then(|p| subnet.port(p));
            port.filter(|port| port.known).is_some_and(|port| {
                let info = port.info();
                // With this protection no key may be one that is not told (rule 16.4).
                let hidden = info.m_key == MKey::NONE && info.m_key_protect_bits == 1;
                info.m_key == of_all && !hidden
            })
        };
        let mut updates = Vec::new();
        self.m_keys.others.retain(|guid, _| {
            let stays = !has_it(*guid);
            if !stays {
                updates.push(Update::Remove(Record::m_key_key(*guid)));
            }
            stays
        });
        if !updates.is_empty() {
            self.m_keys.find_some(self.cfg.m_key);
            self.out.push_back(Output::Keep(updates));
        }
    }
}

const fn put(port: PortGuid, m_key: MKey) -> Update {
    Update::Put(Record::MKey { port, m_key })
}
