//! Registrations of SA clients: multicast members, services, subscriptions, alias GUIDs. The SM
//! thread owns them, which serializes all changes.
//!
//! | module | contents |
//! |---|---|
//! | this | [`Registry`]: requests in, replies and reports out |
//! | [`multicast`] | groups and members |
//! | [`services`] | services and their leases |
//! | [`subscriptions`] | subscriptions to notices |
//! | [`aliases`] | alias GUIDs |
//! | [`reports`] | retransmission of reports to subscribers |
//! | [`snapshot`] | immutable copies for queries on other threads |
//! | [`registration`] | registrations as values |
//! | `persist` | conversion to and from registrations |
//!
//! The registry does not access devices. The SM takes the groups whose members changed and computes
//! their trees.

pub mod aliases;
pub mod group;
pub mod group_paths;
pub mod multicast;
mod persist;
pub mod registration;
pub mod reports;
pub mod services;
pub mod snapshot;
pub mod subscriptions;

use std::collections::BTreeSet;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{Notice, NoticeType, TrapNumber};
use ferrosm_mad::ids::{Gid, Lid, PKey};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::inform::GidDetails;
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::time::Instant;

use super::message::{SaReply, SaRequest};
use super::refusal::SaRefusal;
use crate::view::View;
use aliases::AliasRegistry;
use multicast::{GroupEvent, MulticastGroups};
use registration::RegistrationUpdate;
use reports::{OutgoingReport, ReportQueue};
use services::Services;
use snapshot::SnapshotParts;
use subscriptions::Subscriptions;

/// ProducerType of notices that the SA itself generates.
const CLASS_MANAGER: u32 = 4;

/// All registrations of clients.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    groups: MulticastGroups,
    services: Services,
    subscriptions: Subscriptions,
    aliases: AliasRegistry,
    reports: ReportQueue,
    /// Differences between the loaded registrations and the registry after
    /// [`Self::from_registrations`].
    restore_updates: Vec<RegistrationUpdate>,
    /// Snapshot parts that are still current.
    snapshot_parts: SnapshotParts,
    /// Incremented with each change.
    revision: u64,
}

impl Registry {
    /// Whether there are no registrations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.iter().next().is_none()
            && self.services.is_empty()
            && self.subscriptions.is_empty()
            && self.aliases.tables().is_empty()
    }

    /// Multicast groups and their members.
    #[must_use]
    pub const fn groups(&self) -> &MulticastGroups {
        &self.groups
    }

    /// Multicast groups, for partition configuration.
    pub const fn groups_mut(&mut self) -> &mut MulticastGroups {
        &mut self.groups
    }

    /// Services.
    #[must_use]
    pub const fn services(&self) -> &Services {
        &self.services
    }

    /// Alias GUIDs.
    #[must_use]
    pub const fn aliases(&self) -> &AliasRegistry {
        &self.aliases
    }

    /// Alias GUIDs, for writing GUIDInfo to devices.
    pub const fn aliases_mut(&mut self) -> &mut AliasRegistry {
        &mut self.aliases
    }

    /// Subscriptions.
    #[must_use]
    pub const fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Processes a request that [`super::answer`] forwarded; `None` if it is no request. Not every
    /// reply is sent ([`SaReply::is_sent`]).
    pub fn handle(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        now: Instant,
    ) -> Option<SaReply> {
        if request.method == Method::ReportResp {
            // Only the subscriber that received a report can acknowledge it.
            self.reports.acknowledge(request.tid, |to| {
                let port = view.by_lid(to.lid);
                port.is_some() && port == view.by_lid(request.from.lid)
            });
            return None;
        }
        if !view.accepts_sm_key(request.sm_key) {
            return None;
        }
        if matches!(request.method, Method::Set | Method::Delete)
            && let Some(refusal) = refuse_source(view, request)
        {
            return Some(SaReply::refused(refusal));
        }
        self.services.expire(now);
        let reply = match (request.attr, request.method) {
            (id::MC_MEMBER, Method::Set) => {
                reply(self.groups.join(view, request).map(|r| r.encode()))
            }
            (id::MC_MEMBER, Method::Delete) => {
                reply(self.groups.leave(view, request).map(|r| r.encode()))
            }
            (id::MC_MEMBER, Method::Get | Method::GetTable) => self.groups.query(view, request),
            (id::SERVICE, Method::Set) => reply(
                self.services
                    .register(view, request, now)
                    .map(|r| r.encode()),
            ),
            (id::SERVICE, Method::Delete) => {
                reply(self.services.deregister(view, request).map(|r| r.encode()))
            }
            (id::SERVICE, Method::Get | Method::GetTable) => {
                self.services.query(view, request, now)
            }
            (id::GUID_INFO, Method::Set) => {
                match self.aliases.set(view, request, &mut self.groups) {
                    Ok((record, taken)) => SaReply {
                        refusal: taken.map(SaRefusal::AliasTaken),
                        ..SaReply::with_record(&record.encode())
                    },
                    Err(refusal) => SaReply::refused(refusal),
                }
            }
            (id::GUID_INFO, Method::Delete) => {
                let record = self.aliases.delete(view, request, &self.groups);
                reply(record.map(|r| r.encode()))
            }
            (id::INFORM_INFO, Method::Set) => {
                reply(self.subscriptions.set(view, request).map(|r| r.encode()))
            }
            (id::INFORM_INFO_RECORD, Method::Get | Method::GetTable) => {
                self.subscriptions.query(view, request)
            }
            (id::PATH, Method::Get | Method::GetTable) => {
                let requested = PathRecord::decode(request.data);
                group_paths::answer(view, &self.groups, request, &requested)
            }
            _ => SaReply::refused(SaRefusal::Unsupported),
        };
        self.report_group_events(view, now);
        Some(reply)
    }

    /// Queues reports of a notice to all matching subscribers. `pkey` is the group's P_Key for
    /// notices 66 and 67.
    pub fn notify(
        &mut self,
        snapshot: &Snapshot,
        notice: &Notice,
        issuer: Gid,
        pkey: Option<PKey>,
        now: Instant,
    ) {
        let subscribers = self
            .subscriptions
            .subscribed_to(snapshot, notice, issuer, pkey);
        for subscription in subscribers {
            self.reports
                .enqueue(subscription.gid, subscription.to, notice, issuer, now);
        }
    }

    /// Reports that a port or group appeared or disappeared (notices 64 to 67).
    pub fn notify_gid(
        &mut self,
        snapshot: &Snapshot,
        trap_number: TrapNumber,
        gid: Gid,
        pkey: Option<PKey>,
        now: Instant,
    ) {
        let Some(local) = snapshot.local else {
            return;
        };
        let mut data_details = [0; 54];
        GidDetails { gid }.encode_onto(&mut data_details);
        let notice = Notice {
            is_generic: true,
            notice_type: NoticeType::SubnetManagement,
            producer_type: CLASS_MANAGER,
            trap_number,
            issuer_lid: snapshot.end_port(local).lid,
            data_details,
            ..Notice::default()
        };
        self.notify(snapshot, &notice, snapshot.gid(local), pkey, now);
    }

    /// Removes the memberships, aliases, subscriptions and pending reports of a port that left the
    /// subnet (docs/sm-behaviour.md 1.23, 10.18). Returns whether the port had registrations that
    /// its host must repeat if it returns.
    pub fn remove_port(&mut self, view: &View, gid: Gid, now: Instant) -> bool {
        let mut was_removed = self.groups.remove_port(gid.guid());
        for alias in self.aliases.remove_port(gid.guid()) {
            self.groups.remove_port(alias);
            was_removed = true;
        }
        was_removed |= self.subscriptions.remove(gid);
        self.reports.remove_subscriber(gid);
        self.report_group_events(view, now);
        was_removed
    }

    /// Takes the MLIDs whose members changed.
    pub fn take_changed_mlids(&mut self) -> BTreeSet<Lid> {
        self.groups.take_changed_mlids()
    }

    /// The next report to send.
    pub fn poll_report(&mut self, now: Instant) -> Option<OutgoingReport> {
        self.reports.poll(now)
    }

    /// The next deadline: a report to send, or the end of a service lease.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.reports.next_due(), self.services.next_expiry()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Removes expired services.
    pub fn on_timeout(&mut self, now: Instant) {
        self.services.expire(now);
    }

    /// Reports groups that were created or deleted since the last call (notices 66 and 67).
    pub fn report_group_events(&mut self, view: &View, now: Instant) {
        for event in self.groups.take_events() {
            match event {
                GroupEvent::Created(gid) => {
                    let pkey = self.groups.get(gid).map(|g| g.parameters.pkey);
                    self.notify_gid(view, TrapNumber::GroupCreated, gid, pkey, now);
                }
                GroupEvent::Deleted(gid, pkey) => {
                    self.notify_gid(view, TrapNumber::GroupDeleted, gid, Some(pkey), now);
                }
            }
        }
    }
}

/// Refuses a source LID and a GID in the GRH that contradict each other. Packets from other subnets
/// have a router's LID and a GID of another prefix.
fn refuse_source(view: &View, request: &SaRequest<'_>) -> Option<SaRefusal> {
    let port = match view.requester(&request.from) {
        Ok(port) => port,
        Err(unknown) => return Some(unknown),
    };
    let gid = request.from.grh?.gid;
    let contradicts = view.is_local_prefix(gid.prefix()) && view.by_gid(gid) != Some(port);
    contradicts.then_some(SaRefusal::SourceMismatch(gid))
}

fn reply<const N: usize>(outcome: Result<[u8; N], SaRefusal>) -> SaReply {
    match outcome {
        Ok(record) => SaReply::with_record(&record),
        Err(refusal) => SaReply::refused(refusal),
    }
}
