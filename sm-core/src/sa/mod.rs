//! Ownership of SA state: registrations of clients, and the view from which the SA replies.
//!
//! [`ferrosm_sa`] replies to requests, on any thread, from the last published view. This component
//! publishes it: after each sweep of a master, and before that sweep's ports become Active. It
//! withdraws it when mastership ends. It answers requests that need more than a view, and sends
//! reports to subscribers.
//!
//! Invariants: a registration is submitted to the store before the client's reply, which waits
//! until it is durable. While this SM is master, it has the registrations that it accepted,
//! restored or got from a replica. When another SM becomes master, it drops them.

pub(crate) mod alias_guids;
mod partition_groups;
mod trap_reports;
mod view;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::PortRef;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::TrapNumber;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Gid, Lid, PortGuid};
use ferrosm_mad::mad::Method;
use ferrosm_mad::time::Instant;

use crate::config::SmConfig;
use crate::config::partitions::Partitions;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::event::{Event, RefusedRequest};
use crate::io::Output;
use crate::outbox::Outbox;
use crate::records::{RecordKind, RecordUpdate, RestoredState};
use crate::report::{Problem, ProblemKind};
use ferrosm_sa::refusal::SaRefusal;
use ferrosm_sa::refusal_log::RefusalLog;
use ferrosm_sa::registry::Registry;
use ferrosm_sa::registry::aliases::AliasBlocks;
use ferrosm_sa::registry::registration::Registrations;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use ferrosm_sa::request_kind::{KindCounts, RequestKind};
use ferrosm_sa::{self, Disposition, SaReply, SaRequest, View};
use partition_groups::update_partition_groups;
use trap_reports::PendingTraps;
use view::new_view;
pub(crate) use view::{ViewInputs, build_snapshot, sm_record};

/// Delay from the first change of MFTs between sweeps until a view with it is published, so that
/// many changes share one view.
const MFTS_DELAY: Duration = Duration::from_secs(1);
/// Delay from the first change of the view between sweeps until it is persisted.
const PERSIST_DELAY: Duration = Duration::from_secs(10);

/// Registrations of clients, and the published view.
#[derive(Debug, Default)]
pub(crate) struct SaState {
    registry: Registry,
    /// The view from which the SA replies; `None` while this SM does not reply.
    view: Option<Arc<View>>,
    /// The view of the last sweep, while `view` was published before activation: GID changes are
    /// reported against it, after the sweep. The inner value is `None` if no view had been
    /// published.
    last_sweep_view: Option<Option<Arc<View>>>,
    /// Inputs of the P_Keys in `view` besides the observed fabric: the partitions, and which port
    /// is the SM's own.
    keys_from: (Arc<Partitions>, Option<PortRef>),
    /// When MFTs that changed since the last sweep are published.
    mfts_due: Option<Instant>,
    /// When a view that changed since the last sweep is persisted.
    persist_due: Option<Instant>,
    is_view_persisted: bool,
    /// End ports whose registrations ended while their hosts could not notice: they have to
    /// register again.
    lost_registrations: BTreeSet<PortGuid>,
    /// Requests dropped while the election was undecided or too many waited for devices.
    dropped_requests: KindCounts,
    /// Requests that this component refused.
    refusals: RefusalLog,
    pending_traps: PendingTraps,
}

impl SaState {
    /// With the registrations that were restored.
    pub(crate) fn new(restored: &RestoredState, now: Instant) -> Self {
        Self {
            registry: Registry::from_registrations(&restored.registrations, now),
            is_view_persisted: restored.snapshot.is_some(),
            ..Self::default()
        }
    }

    /// Replaces registrations by those of another master's replica.
    pub(crate) fn load_replica(&mut self, registrations: &Registrations, now: Instant) {
        self.registry
            .replace(Registry::from_registrations(registrations, now));
    }

    pub(crate) const fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    /// The snapshot of the published view.
    pub(crate) fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.view.as_deref().map(View::snapshot)
    }

    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn registry_snapshot(&mut self) -> RegistrySnapshot {
        self.registry.snapshot()
    }

    pub(crate) const fn dropped_requests(&self) -> &KindCounts {
        &self.dropped_requests
    }

    /// When [`Self::after_input`] has something to do without an input.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = [self.mfts_due, self.persist_due];
        deadlines
            .into_iter()
            .chain([self.registry.poll_timeout(), self.refusals.next_due()])
            .flatten()
            .min()
    }

    /// Requests that this component refused.
    pub(crate) const fn refusals(&self) -> &RefusalLog {
        &self.refusals
    }

    /// The ports that cannot join the broadcast group of a partition of theirs.
    pub(crate) fn ports_below_broadcast_group(&self) -> Vec<Problem> {
        let Some(view) = &self.view else {
            return Vec::new();
        };
        let ports = self.registry.groups().ports_below_broadcast_group(view);
        let problem = |(at, pkey, refusal)| Problem {
            location: Location::Port(view.port_name(at)),
            kind: ProblemKind::CannotJoinBroadcastGroup(pkey, refusal),
        };
        ports.into_iter().map(problem).collect()
    }

    /// MLIDs whose members changed since the last call.
    pub(crate) fn take_changed_groups(&mut self) -> BTreeSet<Lid> {
        self.registry.take_changed_mlids()
    }

    /// Moves multicast groups to free ones of the first `count` MLIDs. Their members receive
    /// ClientReregister.
    pub(crate) fn move_groups_below(&mut self, count: u16) {
        self.registry.groups_mut().move_below(count);
    }

    /// Sets the number of MLIDs.
    pub(crate) fn set_mlid_count(&mut self, count: u16) {
        self.registry.groups_mut().set_mlid_count(count);
    }

    /// MFTs changed between sweeps.
    pub(crate) fn tables_changed(&mut self, now: Instant) {
        self.mfts_due.get_or_insert(now + MFTS_DELAY);
    }

    /// Blocks of alias GUIDs since the last call: those that registrations changed, and those that
    /// devices may have lost.
    pub(crate) fn take_alias_blocks(&mut self) -> (AliasBlocks, AliasBlocks) {
        let aliases = self.registry.aliases_mut();
        (
            aliases.take_changed_blocks(),
            aliases.take_unverified_blocks(),
        )
    }

    /// The device of an end port may have been reset.
    pub(crate) fn on_port_reset(&mut self, port: PortGuid) {
        self.registry.aliases_mut().mark_blocks_unverified(port);
    }

    /// Whether the host behind a port has to register again, because its registrations ended.
    pub(crate) fn has_lost_registrations(&self, port: PortGuid) -> bool {
        self.lost_registrations.contains(&port)
    }

    /// The host behind a port had to register again, and ClientReregister did not reach it.
    pub(crate) fn on_reregister_failed(&mut self, port: PortGuid) {
        self.lost_registrations.insert(port);
    }

    /// ClientReregister reached the host behind a port.
    pub(crate) fn on_reregister_sent(&mut self, port: PortGuid) {
        self.lost_registrations.remove(&port);
    }

    /// Sweep number `sweep`, as master, is complete: publishes its view and reports GID changes.
    /// `restored` is the restored view, if the SA replied from it until now.
    pub(crate) fn publish_sweep_view(
        &mut self,
        ctx: &mut Ctx<'_>,
        sweep: u32,
        inputs: ViewInputs,
        restored: Option<Arc<Snapshot>>,
    ) {
        let current = self.view.take();
        // GID changes are relative to the last sweep's view. Unchanged parts are shared with the
        // view of this sweep, if there is one.
        let (before, shared) = match self.last_sweep_view.take() {
            Some(last) => (last.filter(|_| restored.is_none()), current),
            None => {
                let before = current.filter(|_| restored.is_none());
                (before.clone(), before)
            }
        };
        let view = self.build_view(ctx, inputs, shared.as_deref());
        self.view = Some(Arc::clone(&view));
        ctx.outbox.push(Output::Publish(Some(Arc::clone(&view))));
        self.persist_due = None;
        self.is_view_persisted = true;
        ctx.outbox
            .persist_snapshot(Some(Arc::clone(view.snapshot())));
        let now = ctx.now;
        if before.is_none() {
            let ended = self.registry.reconcile_with(&view, now);
            self.lost_registrations.extend(ended);
        }
        let groups = self.registry.groups_mut();
        update_partition_groups(groups, ctx.cfg, &view);
        let removed = groups.remove_members_outside_partition(&view);
        let outdated = groups.take_outdated_members();
        if removed > 0 {
            let event = Event::GroupMembersRemoved(removed);
            ctx.outbox.emit(event);
        }
        self.registry.report_group_events(&view, now);
        // After a restart, GIDs that changed meanwhile are reported as far as they are known. On a
        // first sweep there are no subscribers, so every port counts as new without cost.
        let earlier = before.as_deref().map(View::snapshot).or(restored.as_ref());
        self.report_end_port_changes(&view, earlier.map(Arc::as_ref), now);
        if ctx.cfg.client_reregister && !outdated.is_empty() {
            // Members send with the old parameters until they join again.
            let hosts = outdated.len();
            let event = Event::GroupParametersChanged(hosts);
            ctx.outbox.emit(event);
            // A member that joined with an alias GUID is reached through its port.
            let port =
                |guid: PortGuid| view.by_guid(guid).map_or(guid, |at| view.end_port(at).guid);
            self.lost_registrations
                .extend(outdated.into_iter().map(port));
            ctx.effects.push(Effect::RequestFullSweep);
        }
        self.forward_pending_traps(sweep, now);
    }

    /// Reports (Trap 64, 65) end ports that joined or left since a snapshot, and ends the
    /// registrations of those that left.
    fn report_end_port_changes(&mut self, view: &View, before: Option<&Snapshot>, now: Instant) {
        let changes = view.end_port_changes(before);
        let gid = |guid| Gid::new(view.prefix, guid);
        for gid in changes.removed.into_iter().map(gid) {
            if let Some(before) = before {
                // Subscribers that could see the port are notified; only the earlier snapshot
                // contains them.
                let number = TrapNumber::GidOutOfService;
                self.registry.notify_gid(before, number, gid, None, now);
            }
            if self.registry.remove_port(view, gid, now) {
                self.lost_registrations.insert(gid.guid());
            }
        }
        for gid in changes.added.into_iter().map(gid) {
            let number = TrapNumber::GidInService;
            self.registry.notify_gid(view, number, gid, None, now);
        }
    }

    /// Publishes the LIDs and paths of a sweep before its ports become Active. GID changes are
    /// reported after the sweep. `is_restored`: the SA has replied from the restored view until
    /// now.
    pub(crate) fn publish_view_before_activation(
        &mut self,
        ctx: &mut Ctx<'_>,
        inputs: ViewInputs,
        is_restored: bool,
    ) {
        let last = self.view.take();
        let shared = last.as_deref().filter(|_| !is_restored);
        let view = self.build_view(ctx, inputs, shared);
        self.view = Some(Arc::clone(&view));
        self.last_sweep_view.get_or_insert(last);
        update_partition_groups(self.registry.groups_mut(), ctx.cfg, &view);
        ctx.outbox.push(Output::Publish(Some(view)));
    }

    /// Builds the view of the fabric. It shares with `before` what did not change, unless P_Keys
    /// may have.
    fn build_view(
        &mut self,
        ctx: &Ctx<'_>,
        inputs: ViewInputs,
        before: Option<&View>,
    ) -> Arc<View> {
        let from = (Arc::clone(&ctx.cfg.partitions), ctx.fabric.local());
        let known = core::mem::replace(&mut self.keys_from, from);
        let same_keys = Arc::ptr_eq(&known.0, &self.keys_from.0) && known.1 == self.keys_from.1;
        let aliases = self.registry.aliases().tables();
        let before = before.filter(|_| same_keys);
        let before = before.map(|view| &**view.snapshot());
        let snapshot = build_snapshot(ctx.fabric, ctx.cfg, inputs, aliases, before);
        new_view(ctx.cfg, snapshot)
    }

    /// Creates and deletes groups as the partitions define them, before `view` is published.
    pub(crate) fn update_partition_groups(&mut self, cfg: &SmConfig, snapshot: &Snapshot) {
        update_partition_groups(self.registry.groups_mut(), cfg, snapshot);
    }

    /// Publishes a restored view, or withdraws it, before the first sweep is complete; then emits
    /// the event.
    pub(crate) fn publish_restored_view(
        &mut self,
        outbox: &mut Outbox,
        cfg: &SmConfig,
        snapshot: Option<Snapshot>,
        event: Option<Event>,
    ) {
        if snapshot.is_none() {
            self.last_sweep_view = None;
        }
        self.view = snapshot.map(|snapshot| new_view(cfg, snapshot));
        outbox.push(Output::Publish(self.view.clone()));
        if let Some(event) = event {
            outbox.emit(event);
        }
    }

    /// Another SM is master: the persisted view is removed.
    pub(crate) fn forget_persisted_view(&mut self, outbox: &mut Outbox) {
        if core::mem::take(&mut self.is_view_persisted) {
            outbox.persist_snapshot(None);
        }
    }

    /// Stops answering clients. Returns the view that was published.
    pub(crate) fn withdraw_view(&mut self, outbox: &mut Outbox) -> Option<Arc<View>> {
        let view = self.view.take()?;
        self.last_sweep_view = None;
        outbox.push(Output::Publish(None));
        Some(view)
    }

    /// Removes all registrations: another SM is master and owns them.
    pub(crate) fn clear_registrations(&mut self, outbox: &mut Outbox) {
        self.lost_registrations.clear();
        if self.registry.is_empty() {
            return;
        }
        self.registry.replace(Registry::default());
        outbox.persist(RecordKind::REGISTRATIONS.map(RecordUpdate::Clear).into());
    }

    /// Publishes, persists and sends what became due. Call it after each input. `is_idle`: no sweep
    /// is in progress or pending. `is_restored`: the SA replies from the restored view.
    pub(crate) fn after_input(&mut self, ctx: &mut Ctx<'_>, is_idle: bool, is_restored: bool) {
        if is_idle {
            self.forward_pending_traps(u32::MAX, ctx.now);
        }
        self.publish_aliases(ctx);
        self.publish_mfts(ctx);
        self.registry.on_timeout(ctx.now);
        if let Some(count) = self.refusals.take_unreported(ctx.now) {
            ctx.outbox.emit(Event::FurtherRequestsRefused(count));
        }
        self.persist_registrations(ctx);
        self.persist_view(ctx, is_restored);
        while let Some(report) = self.registry.poll_report(ctx.now) {
            ctx.outbox.push(Output::Gmp {
                to: report.to,
                bytes: report.bytes,
                answer_within: Some(report.response_timeout),
            });
        }
    }

    fn persist_registrations(&mut self, ctx: &mut Ctx<'_>) {
        let updates = self.registry.take_updates(ctx.now);
        if !updates.is_empty() {
            ctx.outbox
                .persist(updates.into_iter().map(RecordUpdate::from).collect());
        }
    }

    /// Persists a view that changed since the last sweep, if it is due.
    fn persist_view(&mut self, ctx: &mut Ctx<'_>, is_restored: bool) {
        if self.persist_due.is_some_and(|due| due <= ctx.now) {
            self.persist_due = None;
            // The restored view is persisted already.
            if self.view.is_some() && !is_restored {
                ctx.outbox
                    .persist_snapshot(self.view.as_ref().map(|view| Arc::clone(view.snapshot())));
            }
        }
    }

    /// Publishes the MFTs that changed since the last sweep, if they are due.
    fn publish_mfts(&mut self, ctx: &mut Ctx<'_>) {
        if self.mfts_due.is_none_or(|due| ctx.now < due) {
            return;
        }
        self.mfts_due = None;
        if let Some(view) = &self.view {
            let switches = ctx.fabric.switches();
            let mfts = switches.map(|(_, n)| (n.info.node_guid, &n.mft.known));
            let view = view.with_snapshot(view.with_multicast_tables(mfts));
            self.publish(ctx, view);
        }
    }

    /// Publishes alias GUIDs that changed, before the next reply.
    fn publish_aliases(&mut self, ctx: &mut Ctx<'_>) {
        let aliases = self.registry.aliases().tables();
        if let Some(view) = &self.view
            && !Arc::ptr_eq(view.aliases(), aliases)
        {
            let view = view.with_snapshot(view.with_aliases(Arc::clone(aliases)));
            self.publish(ctx, view);
        }
    }

    /// Publishes a view that changed between sweeps.
    fn publish(&mut self, ctx: &mut Ctx<'_>, view: View) {
        let view = Arc::new(view);
        self.view = Some(Arc::clone(&view));
        self.persist_due.get_or_insert(ctx.now + PERSIST_DELAY);
        ctx.outbox.push(Output::Publish(Some(view)));
    }

    /// Answers a request that needs more than the published view. `may_register`: this SM is master
    /// and the replica is loaded.
    pub(crate) fn on_request(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Peer,
        bytes: &[u8],
        may_register: bool,
    ) {
        let view = self.view.clone();
        let Some((view, request)) = view.zip(SaRequest::parse(from, bytes)) else {
            return;
        };
        let reply = match ferrosm_sa::answer(&view, &request) {
            Disposition::Reply(reply) => Some(reply),
            // A registration could be lost. The request is dropped: Linux ib_sa retries after a
            // timeout and treats any status, BUSY too, as final.
            Disposition::ForwardToSm
                if !may_register && matches!(request.method, Method::Set | Method::Delete) =>
            {
                self.dropped_requests.add(RequestKind::of(&request));
                None
            }
            Disposition::ForwardToSm => {
                let reply = self.registry.handle(&view, &request, ctx.now);
                if let Some(exhaustion) = self.registry.groups_mut().take_mlid_exhaustion() {
                    ctx.outbox.emit(Event::MlidsExhausted(exhaustion));
                }
                self.persist_registrations(ctx);
                reply
            }
            Disposition::Drop(None) => None,
            Disposition::Drop(Some(refusal)) => Some(SaReply::refused(refusal)),
        };
        if let Some(reply) = reply {
            if let Some(refusal) = reply.refusal {
                self.report_refusal(ctx, &view, &request, refusal);
            }
            if reply.is_sent() {
                send_reply(ctx.outbox, &request, &reply);
            }
        }
    }

    fn report_refusal(
        &mut self,
        ctx: &mut Ctx<'_>,
        view: &View,
        request: &SaRequest<'_>,
        refusal: SaRefusal,
    ) {
        let reported = self.refusals.record(view, request, refusal, ctx.now);
        let refused =
            reported.and_then(|repeats| RefusedRequest::new(view, request, refusal, repeats));
        if let Some(refused) = refused {
            ctx.outbox.emit(Event::RequestRefused(Box::new(refused)));
        }
    }
}

/// Sends the reply to a client's request.
pub(crate) fn send_reply(outbox: &mut Outbox, request: &SaRequest<'_>, reply: &SaReply) {
    outbox.push(Output::Gmp {
        to: request.from,
        bytes: reply.to_bytes(request),
        answer_within: None,
    });
}
