//! All records to what a subnet manager starts with. Nothing that is in a record can make it panic.
//!
//! Records of clients and LIDs stand for themselves: one that is broken is left out and told, the others count. Those of the view
//! belong together: when one is broken there is no view.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{Gid, Lid, PortGuid};

use super::routing::RoutingRecord;
use super::{Record, RecordError, RecordKey, RecordKind, RestoredState, node_and_part};
use crate::routing_origin::SlToVlEpoch;
use crate::sa::registry::multicast::{GroupMember, GroupParameters, MulticastGroup};
use crate::sa::registry::registration::{Registration, RegistrationKey};
use crate::sa::view::persist::{self, ViewSnapshot};

/// A record that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRecord {
    /// Which.
    pub key: RecordKey,
    /// Why; one line, which names it.
    pub why: String,
}

impl fmt::Display for SkippedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// What came of a group so far: members may come before it.
#[derive(Debug, Default)]
struct Parts {
    group: Option<(Lid, bool, GroupParameters)>,
    members: BTreeMap<PortGuid, GroupMember>,
}

/// Takes records in any order.
#[derive(Debug)]
pub struct RecordRestorer {
    unix_s: u64,
    restored: RestoredState,
    groups: BTreeMap<Gid, Parts>,
    view: persist::ViewRestorer,
    head: Option<Box<[u8]>>,
    view_broken: Option<(RecordKey, String)>,
    left_out: Vec<SkippedRecord>,
}

impl RecordRestorer {
    /// With nothing yet. `unix_s` is the time now, in seconds since 1970.
    #[must_use]
    pub fn new(unix_s: u64) -> Self {
        Self {
            unix_s,
            restored: RestoredState::default(),
            groups: BTreeMap::new(),
            view: persist::ViewRestorer::default(),
            head: None,
            view_broken: None,
            left_out: Vec::new(),
        }
    }

    /// A record.
    pub fn put(&mut self, key: &RecordKey, value: &[u8]) {
        match key.kind() {
            Some(RecordKind::View) => {
                let put = match node_and_part(key) {
                    Some((guid, part)) => {
                        let put = self.view.put(guid, part, value);
                        put.map_err(|e| e.to_string())
                    }
                    None => Err(RecordError::new(key, "names no part of a view").to_string()),
                };
                if let Err(why) = put {
                    self.no_view(key, why);
                }
            }
            Some(RecordKind::ViewHead) => self.head = Some(value.into()),
            Some(RecordKind::Routing) => match RoutingRecord::decode(value) {
                Ok(routing) => self.restored.routing = Some(Arc::new(routing)),
                Err(e) => self.leave_out(key, e.to_string()),
            },
            _ => match Record::decode(key, value, self.unix_s) {
                Ok(Some(record)) => self.take(record),
                Ok(None) => {}
                Err(e) => self.leave_out(key, e.to_string()),
            },
        }
    }

    /// The view must not be believed, whatever its records say: some are missing.
    pub fn no_view(&mut self, key: &RecordKey, why: String) {
        self.view_broken.get_or_insert_with(|| (key.clone(), why));
    }

    fn leave_out(&mut self, key: &RecordKey, why: String) {
        if key.kind() == Some(RecordKind::SlToVlEpoch) {
            self.restored.sl_to_vl_epoch = SlToVlEpoch::UNREADABLE;
        }
        let key = key.clone();
        self.left_out.push(SkippedRecord { key, why });
    }

    fn take_registration(&mut self, registration: Registration) {
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
            // Its lease ended while nobody looked.
            Registration::Service(service) if service.lease_left_s == Some(0) => {}
            Registration::Service(service) => saved.services.push(*service),
            Registration::Subscription(subscription) => saved.subscriptions.push(subscription),
            Registration::Alias(alias) => saved.aliases.push(alias),
        }
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Lid { port, lid, lmc } => {
                self.restored.lids.insert(port, (lid, lmc));
            }
            Record::Registration(registration) => self.take_registration(registration),
            Record::MKey { port, m_key } => {
                self.restored.m_keys.insert(port, m_key);
            }
            Record::Neighbour { of, to } => {
                self.restored.neighbours.insert(of, to);
            }
            Record::SlToVlEpoch(mark) => self.restored.sl_to_vl_epoch = mark,
        }
    }

    /// What is in the records, and what had to be left out.
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
                let why = RecordError::new(&key, "a member of a group that is not there");
                self.leave_out(&key, why.to_string());
            }
        }
        let saved = &mut self.restored.registrations;
        // As the registry itself has them.
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
        let whole = |out: &SkippedRecord| {
            let kind = out.key.kind();
            kind.is_some_and(|kind| !RecordKind::REGISTRATIONS.contains(&kind))
        };
        // Registrations are kept before clients are answered, and a store that was set aside has no view either.
        self.restored.complete = self.head.is_some() && self.left_out.iter().all(whole);
        if let Some(head) = self.head.take() {
            let head_key = RecordKey::new(RecordKind::ViewHead, &[]);
            let view = match (self.view_broken.take(), head.split_first_chunk()) {
                (Some(broken), _) => Err(broken),
                (None, None) => Err((head_key, "the view's head is too short".to_owned())),
                (None, Some((written, head))) => {
                    let written = u64::from_be_bytes(*written);
                    let view = self.view.finish(head);
                    view.map(|view| (written, view))
                        .map_err(|e| (head_key, e.to_string()))
                }
            };
            match view {
                Ok((written, view)) => {
                    // A clock that was set back is no reason to lose anything.
                    let age = Duration::from_secs(self.unix_s.saturating_sub(written));
                    let view = Arc::new(view);
                    self.restored.snapshot = Some(ViewSnapshot { view, age });
                }
                Err((key, why)) => {
                    let why = format!("no view of the past: {why}");
                    self.left_out.push(SkippedRecord { key, why });
                }
            }
        }
        (self.restored, self.left_out)
    }
}
