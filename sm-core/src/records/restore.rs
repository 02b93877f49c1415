//! Conversion of all records to a [`RestoredState`]. No content of a record causes a panic.
//!
//! Records of registrations, LIDs and M_Keys are independent: an invalid one is skipped and
//! reported. Records of the view depend on each other: if one is invalid, there is no restored
//! view.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_fabric::snapshot::persist::{self, RestoredSnapshot};
use ferrosm_mad::ids::{Gid, Lid, PortGuid};

use super::routing::RoutingRecord;
use super::{Record, RecordError, RecordKey, RecordKind, RestoredState, node_and_part};
use ferrosm_sa::registry::group::{GroupMember, GroupParameters, MulticastGroup};
use ferrosm_sa::registry::registration::{Registration, RegistrationKey};

/// A record that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    pub key: RecordKey,
    /// The reason, as one line that contains the key.
    pub reason: String,
}

impl fmt::Display for SkippedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The records of a group so far: members may precede the group.
#[derive(Debug, Default)]
struct Parts {
    group: Option<(Lid, bool, GroupParameters)>,
    members: BTreeMap<PortGuid, GroupMember>,
}

/// Restores state from records in any order.
#[derive(Debug)]
pub struct RecordRestorer {
    unix_s: u64,
    restored: RestoredState,
    groups: BTreeMap<Gid, Parts>,
    view: persist::SnapshotRestorer,
    head: Option<Box<[u8]>>,
    view_broken: Option<(RecordKey, String)>,
    skipped: Vec<SkippedRecord>,
}

impl RecordRestorer {
    /// Starts without records. `unix_s` is the current Unix time.
    #[must_use]
    pub fn new(unix_s: u64) -> Self {
        Self {
            unix_s,
            restored: RestoredState::default(),
            groups: BTreeMap::new(),
            view: persist::SnapshotRestorer::default(),
            head: None,
            view_broken: None,
            skipped: Vec::new(),
        }
    }

    /// Adds a record.
    pub fn put(&mut self, key: &RecordKey, value: &[u8]) {
        match key.kind() {
            Some(RecordKind::View) => {
                let put = match node_and_part(key) {
                    Some((guid, part)) => {
                        let put = self.view.add_record(guid, part, value);
                        put.map_err(|e| e.to_string())
                    }
                    None => Err(RecordError::new(key, "no part of a view").to_string()),
                };
                if let Err(reason) = put {
                    self.discard_view(key, reason);
                }
            }
            Some(RecordKind::ViewHead) => self.head = Some(value.into()),
            Some(RecordKind::Routing) => match RoutingRecord::decode(value) {
                Ok(routing) => self.restored.routing = Some(Arc::new(routing)),
                Err(e) => self.skip(key, e.to_string()),
            },
            _ => match Record::decode(key, value, self.unix_s) {
                Ok(Some(record)) => self.add(record),
                Ok(None) => {}
                Err(e) => self.skip(key, e.to_string()),
            },
        }
    }

    /// Discards the view because a record is invalid or missing.
    pub fn discard_view(&mut self, key: &RecordKey, reason: String) {
        self.view_broken
            .get_or_insert_with(|| (key.clone(), reason));
    }

    fn skip(&mut self, key: &RecordKey, reason: String) {
        if key.kind() == Some(RecordKind::SlToVlEpoch) {
            self.restored.sl_to_vl_epoch = SlToVlEpoch::UNREADABLE;
        }
        let key = key.clone();
        self.skipped.push(SkippedRecord { key, reason });
    }

    fn add_registration(&mut self, registration: Registration) {
        let saved = &mut self.restored.registrations;
        match registration {
            Registration::Group {
                mgid,
                mlid,
                well_known,
                parameters,
            } => {
                let parts = self.groups.entry(mgid).or_default();
                parts.group = Some((mlid, well_known, parameters));
            }
            Registration::Member { mgid, port, member } => {
                let parts = self.groups.entry(mgid).or_default();
                parts.members.insert(port, member);
            }
            // Its lease expired while it was stored.
            Registration::Service(service) if service.lease_remaining_s == Some(0) => {}
            Registration::Service(service) => saved.services.push(*service),
            Registration::Subscription(subscription) => saved.subscriptions.push(subscription),
            Registration::Alias(alias) => saved.aliases.push(alias),
        }
    }

    /// Adds a decoded record.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Lid { port, lid, lmc } => {
                self.restored.lids.insert(port, (lid, lmc));
            }
            Record::Registration(registration) => self.add_registration(registration),
            Record::MKey { port, m_key } => {
                self.restored.m_keys.insert(port, m_key);
            }
            Record::Neighbour { of, to } => {
                self.restored.neighbours.insert(of, to);
            }
            Record::SlToVlEpoch(epoch) => self.restored.sl_to_vl_epoch = epoch,
            Record::AwaitsConsent => self.restored.awaits_consent = true,
            Record::Partition(partition) => {
                let number = partition.number;
                self.restored.partitions.insert(number, *partition);
            }
            Record::KeyRotation(rotation) => {
                self.restored.key_rotations.insert(rotation.kind, rotation);
            }
            Record::Maintenance(entry) => {
                self.restored.maintenance.insert(entry.target, *entry);
            }
            Record::PortToEnable(node, port) => {
                self.restored.ports_to_enable.insert((node, port));
            }
            Record::PortLimits(limits) => {
                self.restored.port_limits.insert(limits.at(), *limits);
            }
        }
    }

    /// The restored state, and the records that were skipped.
    #[must_use]
    pub fn finish(mut self) -> (RestoredState, Vec<SkippedRecord>) {
        for (mgid, Parts { group, members }) in core::mem::take(&mut self.groups) {
            if let Some((mlid, well_known, parameters)) = group {
                let group = MulticastGroup {
                    mlid,
                    parameters,
                    well_known,
                    members,
                };
                let records = group.member_records(mgid);
                self.restored.registrations.members.extend(records);
                continue;
            }
            for port in members.into_keys() {
                let key = RegistrationKey::Member(mgid, port).into();
                let error = RecordError::new(&key, "member of a group without a record");
                self.skip(&key, error.to_string());
            }
        }
        let saved = &mut self.restored.registrations;
        // In the order of the registry.
        saved.services.sort_by_key(|s| {
            (
                s.record.service_id,
                s.record.service_gid,
                s.record.service_pkey,
            )
        });
        saved
            .subscriptions
            .sort_by_key(|s| (s.record.subscriber_gid, s.record.subscriber_enum));
        saved.aliases.sort_by_key(|a| (a.port, a.index));
        let is_not_registration = |out: &SkippedRecord| {
            let kind = out.key.kind();
            kind.is_some_and(|kind| !RecordKind::REGISTRATIONS.contains(&kind))
        };
        // Registrations are durable before the SA replies, so none is missing unless the store was
        // quarantined; then it has no view.
        self.restored.complete =
            self.head.is_some() && self.skipped.iter().all(is_not_registration);
        if let Some(head) = self.head.take() {
            let head_key = RecordKey::new(RecordKind::ViewHead, &[]);
            let view = match (self.view_broken.take(), head.split_first_chunk()) {
                (Some(broken), _) => Err(broken),
                (None, None) => Err((head_key, "header of the view is truncated".to_owned())),
                (None, Some((written, head))) => {
                    let written = u64::from_be_bytes(*written);
                    let view = self.view.finish(head);
                    view.map(|view| (written, view))
                        .map_err(|e| (head_key, e.to_string()))
                }
            };
            match view {
                Ok((written, snapshot)) => {
                    // If the clock was set back, the view counts as new.
                    let age = Duration::from_secs(self.unix_s.saturating_sub(written));
                    let snapshot = Arc::new(snapshot);
                    self.restored.snapshot = Some(RestoredSnapshot { snapshot, age });
                }
                Err((key, why)) => {
                    let reason = format!("view not restored: {why}");
                    self.skipped.push(SkippedRecord { key, reason });
                }
            }
        }
        (self.restored, self.skipped)
    }
}
