//! Subscriptions to notices (IBA 13.4.8.3, 15.2.5.15; docs/sm-behaviour.md 6.7 to 6.16).
//!
//! [`super::reports`] sends and retransmits the reports.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::attr::Notice;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Gid, Lid, PKey, PortGuid, Qpn};
use ferrosm_mad::sa::inform::{GidDetails, InformInfo, InformInfoRecord};
use ferrosm_mad::sa::{SaRecord, Template};

use super::registration::{
    RegisteredSubscription, Registration, RegistrationKey, RegistrationUpdate,
};
use crate::message::{ReplyRecords, SaReply, SaRequest};
use crate::refusal::SaRefusal;
use crate::view::View;

/// Maximum number of subscriptions of one port; further ones fail with NO_RESOURCES.
const SUBSCRIPTIONS_PER_PORT_MAX: usize = 1024;

/// The component of SubscriberGID.
const SUBSCRIBER_GID: u64 = 1;

/// A subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// Which notices the subscriber receives.
    pub info: InformInfo,
    /// Destination of reports.
    pub to: Peer,
    /// GID of the subscriber.
    pub gid: Gid,
}

impl Subscription {
    fn to_registration(self, number: u16) -> RegisteredSubscription {
        RegisteredSubscription {
            record: record(self.gid, number, &self.info),
            lid: self.to.lid,
            sl: self.to.sl,
            path_bits: self.to.path_bits,
            pkey_index: self.to.pkey_index,
        }
    }
}

/// All subscriptions, by subscriber and SubscriberEnum.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions {
    by_subscriber: BTreeMap<(Gid, u16), Subscription>,
    /// Subscriptions that changed since the last [`Self::take_updates`].
    unsaved: BTreeSet<(Gid, u16)>,
}

impl Subscriptions {
    /// Processes Set(InformInfo): adds or removes a subscription.
    ///
    /// # Errors
    /// The refusal.
    pub fn set(&mut self, view: &View, request: &SaRequest<'_>) -> Result<InformInfo, SaRefusal> {
        let mut info = InformInfo::decode(request.data);
        let client = view.requester(&request.from)?;
        let gid = view.gid(client);
        // Without a QPN, reports go to the queue pair of the request: srp_daemon sets the QPN only
        // to unsubscribe (docs/sm-behaviour.md 6.9).
        if info.qpn == Qpn(0) {
            let source_qpn = request.from.qpn;
            info.qpn = if source_qpn == Qpn(0) {
                Qpn(1)
            } else {
                source_qpn
            };
        }
        let is_same = |s: &Subscription| is_same_subscription(&s.info, &info);
        let current = self
            .of_subscriber(gid)
            .find(|(_, s)| is_same(s))
            .map(|(key, _)| key);
        if info.subscribe == 0 {
            let key = current.ok_or(SaRefusal::NotSubscribed)?;
            self.by_subscriber.remove(&key);
            self.unsaved.insert(key);
            return Ok(info);
        }
        if info.subscribe != 1 {
            return Err(SaRefusal::InvalidField("Subscribe"));
        }
        if !may_subscribe(request, &info) {
            return Err(SaRefusal::NotTrusted);
        }
        let to = Peer {
            qpn: info.qpn,
            ..request.from
        };
        let subscription = Subscription { info, to, gid };
        let key = match current {
            Some(key) => key,
            None => self.free_key(gid).ok_or(SaRefusal::Full(
                "subscriptions of a port",
                SUBSCRIPTIONS_PER_PORT_MAX,
            ))?,
        };
        if self.by_subscriber.insert(key, subscription) != Some(subscription) {
            self.unsaved.insert(key);
        }
        Ok(info)
    }

    /// Answers a query (docs/sm-behaviour.md 6.14).
    #[must_use]
    pub fn query(&self, view: &View, request: &SaRequest<'_>) -> SaReply {
        let Some(client) = view.by_lid(request.from.lid) else {
            return SaReply::refused(SaRefusal::UnknownSource(request.from.lid));
        };
        let template = Template::new::<InformInfoRecord>(request.component_mask, request.data);
        let mut records = ReplyRecords::new(request, InformInfoRecord::STRIDE);
        let (first, last) = if request.has(SUBSCRIBER_GID) {
            let requested = InformInfoRecord::decode(request.data).subscriber_gid;
            (requested, requested)
        } else {
            (Gid::default(), Gid([0xFF; 16]))
        };
        for ((gid, number), subscription) in self.by_subscriber.range((first, 0)..=(last, u16::MAX))
        {
            let visible = view
                .by_gid(*gid)
                .is_some_and(|port| view.share_partition(client, port));
            let mut record = record(*gid, *number, &subscription.info);
            // Hidden before the comparison: otherwise untrusted clients could find the QPN by
            // trying all values.
            if !request.is_trusted() {
                record.qpn = Qpn(0);
            }
            let record = record.encode();
            if !visible || !template.matches(&record) {
                continue;
            }
            records.push(&record);
            if records.is_enough() {
                break;
            }
        }
        SaReply::from_records(request, records)
    }

    /// Subscriptions that match a notice. `pkey` is the group's P_Key for notices 66 and 67.
    pub fn subscribed_to<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        notice: &'a Notice,
        issuer: Gid,
        pkey: Option<PKey>,
    ) -> impl Iterator<Item = &'a Subscription> {
        let subject = subject(snapshot, notice, issuer);
        self.by_subscriber.values().filter(move |s| {
            if !matches(&s.info, notice, issuer) {
                return false;
            }
            let Some(subscriber) = snapshot.by_gid(s.gid) else {
                return false;
            };
            match (pkey, subject) {
                (Some(pkey), _) => snapshot.is_partition_member(subscriber, pkey),
                (None, Some(port)) => snapshot.share_partition(subscriber, port),
                // The partitions of a port that has left are unknown.
                (None, None) => true,
            }
        })
    }

    /// Removes all subscriptions of a subscriber. Returns whether there were any.
    pub fn remove(&mut self, gid: Gid) -> bool {
        let keys: Vec<_> = self.of_subscriber(gid).map(|(key, _)| key).collect();
        let any = !keys.is_empty();
        for key in keys {
            self.by_subscriber.remove(&key);
            self.unsaved.insert(key);
        }
        any
    }

    /// Removes the subscriptions of ports that are not in a view. Returns the GUIDs of these ports.
    pub(super) fn remove_absent(&mut self, view: &View) -> BTreeSet<PortGuid> {
        let subscribers: BTreeSet<Gid> = self.by_subscriber.keys().map(|(gid, _)| *gid).collect();
        let absent: Vec<Gid> = subscribers
            .into_iter()
            .filter(|gid| view.by_gid(*gid).is_none())
            .collect();
        absent
            .into_iter()
            .filter(|gid| self.remove(*gid))
            .map(|gid| gid.guid())
            .collect()
    }

    /// Number of subscriptions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_subscriber.len()
    }

    /// Whether there are no subscriptions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_subscriber.is_empty()
    }

    /// All subscriptions as registrations.
    pub(super) fn registrations(&self) -> Vec<RegisteredSubscription> {
        let subscriptions = self.by_subscriber.iter();
        subscriptions
            .map(|((_, number), s)| s.to_registration(*number))
            .collect()
    }

    pub(super) fn has_updates(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Appends the changes since the last call.
    pub(super) fn take_updates(&mut self, updates: &mut Vec<RegistrationUpdate>) {
        for (gid, number) in core::mem::take(&mut self.unsaved) {
            updates.push(match self.by_subscriber.get(&(gid, number)) {
                Some(s) => {
                    RegistrationUpdate::Put(Registration::Subscription(s.to_registration(number)))
                }
                None => RegistrationUpdate::Remove(RegistrationKey::Subscription(gid, number)),
            });
        }
    }

    /// Adds persisted subscriptions.
    pub(super) fn restore(&mut self, saved: &[RegisteredSubscription]) {
        for s in saved {
            let r = &s.record;
            let gid = r.subscriber_gid;
            let number = r.subscriber_enum;
            let info = InformInfo {
                gid: r.gid,
                lid_range_begin: r.lid_range_begin,
                lid_range_end: r.lid_range_end,
                is_generic: r.is_generic,
                subscribe: 1,
                notice_type: r.notice_type,
                trap_number: r.trap_number,
                qpn: r.qpn,
                resp_time_value: r.resp_time_value,
                producer_type: r.producer_type,
            };
            let to = Peer {
                lid: s.lid,
                qpn: r.qpn,
                sl: s.sl,
                path_bits: s.path_bits,
                pkey_index: s.pkey_index,
                grh: None,
            };
            self.by_subscriber
                .insert((gid, number), Subscription { info, to, gid });
            self.unsaved.insert((gid, number));
        }
    }

    /// Replaces LIDs that subscribers no longer have.
    pub(super) fn update_lids(&mut self, view: &View) {
        for (key, subscription) in &mut self.by_subscriber {
            if let Some(port) = view.by_gid(subscription.gid) {
                let port = view.end_port(port);
                let current_lids = port.lid.0..port.lid.0.saturating_add(port.num_lids());
                if !current_lids.contains(&subscription.to.lid.0) {
                    subscription.to.lid = port.lid;
                    self.unsaved.insert(*key);
                }
            }
        }
    }

    fn of_subscriber(&self, gid: Gid) -> impl Iterator<Item = ((Gid, u16), &Subscription)> {
        self.by_subscriber
            .range((gid, 0)..=(gid, u16::MAX))
            .map(|(key, s)| (*key, s))
    }

    fn free_key(&self, gid: Gid) -> Option<(Gid, u16)> {
        if self.of_subscriber(gid).count() >= SUBSCRIPTIONS_PER_PORT_MAX {
            return None;
        }
        let taken = self.of_subscriber(gid).map(|((_, number), _)| number);
        let mut enumerator = 0;
        for number in taken {
            if number != enumerator {
                break;
            }
            enumerator += 1;
        }
        Some((gid, enumerator))
    }
}

/// Only trusted clients may subscribe to security traps (docs/sm-behaviour.md 6.11).
fn may_subscribe(request: &SaRequest<'_>, info: &InformInfo) -> bool {
    let is_security = info.is_generic != 0 && is_security_trap(info.trap_number);
    !is_security || request.is_trusted()
}

/// Traps 256 to 259: violations of M_Key, P_Key and Q_Key. Trap 256 carries the M_Key of the
/// rejected request.
fn is_security_trap(number: u16) -> bool {
    (256..=259).contains(&number)
}

/// Whether a request refers to an existing subscription (docs/sm-behaviour.md 6.10). Path bits are
/// not compared (6.16).
fn is_same_subscription(a: &InformInfo, b: &InformInfo) -> bool {
    let key = |i: &InformInfo| InformInfo {
        subscribe: 0,
        resp_time_value: 0,
        ..*i
    };
    key(a) == key(b)
}

/// Whether a subscription selects a notice (docs/sm-behaviour.md 6.8).
fn matches(info: &InformInfo, notice: &Notice, issuer: Gid) -> bool {
    let matches_issuer = if info.gid != Gid::default() {
        info.gid == issuer
    } else if info.lid_range_begin == InformInfo::ALL_LIDS {
        true
    } else {
        // LIDRangeEnd 0 selects one LID (docs/sm-behaviour.md 6.15).
        let last_lid = if info.lid_range_end == Lid(0) {
            info.lid_range_begin
        } else {
            info.lid_range_end
        };
        (info.lid_range_begin..=last_lid).contains(&notice.issuer_lid)
    };
    let notice_type = u16::from(notice.notice_type.0);
    // A subscription to all traps may be of an untrusted client: it selects no security traps
    // (docs/sm-behaviour.md 6.11).
    let selects_all = info.trap_number == InformInfo::ALL_TRAPS
        && !(notice.is_generic && is_security_trap(notice.trap_number.0));
    matches_issuer
        && (info.is_generic != 0) == notice.is_generic
        && (info.notice_type == InformInfo::ALL_TYPES || info.notice_type == notice_type)
        && (selects_all || info.trap_number == notice.trap_number.0)
        && (info.producer_type == InformInfo::ALL_PRODUCERS
            || info.producer_type == notice.producer_type)
}

/// The port that a notice concerns: the port that appeared or disappeared for 64 and 65, otherwise
/// the issuer.
fn subject(snapshot: &Snapshot, notice: &Notice, issuer: Gid) -> Option<EndPortIdx> {
    if notice.is_generic && matches!(notice.trap_number.0, 64 | 65) {
        return snapshot.by_gid(GidDetails::decode(&notice.data_details).gid);
    }
    snapshot.by_gid(issuer)
}

fn record(gid: Gid, number: u16, info: &InformInfo) -> InformInfoRecord {
    InformInfoRecord {
        subscriber_gid: gid,
        subscriber_enum: number,
        gid: info.gid,
        lid_range_begin: info.lid_range_begin,
        lid_range_end: info.lid_range_end,
        is_generic: info.is_generic,
        subscribe: 1,
        notice_type: info.notice_type,
        trap_number: info.trap_number,
        qpn: info.qpn,
        resp_time_value: info.resp_time_value,
        producer_type: info.producer_type,
    }
}
