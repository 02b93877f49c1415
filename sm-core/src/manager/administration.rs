//! Subnet administration as part of the subnet manager: which view is published, and who owns what clients register.
//!
//! Answers are [`crate::sa`]'s; here is only when there are any. A view is published after each sweep of a master that brought
//! the subnet up, and withdrawn with the mastership (rules 5.9, 7.2); before the first one there may be a restored one ([`crate::adoption`]).

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{Notice, SmInfo, SmState, TrapNumber};
use ferrosm_mad::ids::{Gid, Lid, MKey, PortGuid};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::gmp::Peer;

use super::SubnetManager;
use super::partition_groups::update_partition_groups;
use crate::io::{Event, Output};
use crate::kept::{Kind, Update};
use crate::plan::partitions::Partitions;
use crate::routing_origin::RoutingOrigin;
use crate::sa::registry::Registry;
use crate::sa::registry::aliases::AliasGuids;
use crate::sa::registry::registration::Registrations;
use crate::sa::registry::snapshot::RegistrySnapshot;
use crate::sa::view::Extra;
use crate::sa::{self, Reply, Request, Verdict, View};
use crate::subnet::PortRef;
use crate::vls;

/// Changes of multicast forwarding tables between sweeps are published after so long, many at once.
const TABLES_AFTER: Duration = Duration::from_secs(1);
/// Changes of a view between sweeps are kept after so long, many at once.
const VIEW_KEPT_AFTER: Duration = Duration::from_secs(10);

/// What a master administers.
#[derive(Debug, Default)]
pub(super) struct Administration {
    /// What is answered from; none while this subnet manager is not in charge.
    view: Option<Arc<View>>,
    /// The view of the last sweep, while `view` was published before activation: GID changes are reported against it, after the
    /// sweep. The inner value is `None` if no view had been published.
    last_sweep_view: Option<Option<Arc<View>>>,
    /// Requests dropped because mastership was not settled or the queue of deferred reads was full.
    dropped_requests: u64,
    /// What P_Keys follow from, apart from what devices say: the partitions, and which port is the SM's own.
    keys_from: (Arc<Partitions>, Option<PortRef>),
    registry: Registry,
    /// When the view is to get tables that changed.
    tables_due: Option<Instant>,
    /// When a view that changed without a sweep is to be kept.
    view_due: Option<Instant>,
    /// A view is kept.
    view_kept: bool,
    /// Ports that left the subnet and lost what was registered: if one comes back as it was, its host does not know.
    ended: BTreeSet<PortGuid>,
}

impl Administration {
    /// With what clients had registered before a restart, and what the subnet was then.
    pub(super) fn restored(saved: &Registrations, has_view: bool, now: Instant) -> Self {
        Self {
            registry: Registry::restored(saved, now),
            view_kept: has_view,
            ..Self::default()
        }
    }

    pub(super) const fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) const fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    pub(super) const fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    /// Answers are given from this restored view from now on, or not at all.
    pub(super) fn set_view(&mut self, view: Option<Arc<View>>) {
        if view.is_none() {
            self.last_sweep_view = None;
        }
        self.view = view;
    }

    /// Whether a view is kept, which it is not to be any more.
    pub(super) const fn take_view_kept(&mut self) -> bool {
        core::mem::replace(&mut self.view_kept, false)
    }

    /// Whether what the host behind a port had registered was ended while it was away.
    pub(super) fn has_ended(&self, port: PortGuid) -> bool {
        self.ended.contains(&port)
    }

    /// The host behind a port was to be told to register again, and was not.
    pub(super) fn was_not_told(&mut self, port: PortGuid) {
        self.ended.insert(port);
    }

    /// The host behind a port was told to register again.
    pub(super) fn told_again(&mut self, port: PortGuid) {
        self.ended.remove(&port);
    }

    /// Counts a request that is dropped for the client to retry.
    pub(super) const fn count_dropped(&mut self) {
        self.dropped_requests = self.dropped_requests.saturating_add(1);
    }

    /// When something is due without any input.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.tables_due, self.view_due];
        own.into_iter()
            .chain([self.registry.poll_timeout()])
            .flatten()
            .min()
    }

    /// MLIDs whose members changed; each is told once.
    pub(super) fn take_changed_groups(&mut self) -> BTreeSet<Lid> {
        self.registry.take_changed_groups()
    }

    /// Alias GUIDs, to be told to devices.
    pub(super) const fn aliases_mut(&mut self) -> &mut AliasGuids {
        self.registry.aliases_mut()
    }

    /// Blocks of alias GUIDs that devices are to be told; each is told once.
    pub(super) fn take_changed_guids(&mut self) -> BTreeSet<(PortGuid, u8)> {
        self.registry.aliases_mut().take_changed()
    }

    /// How many MLIDs there are.
    pub(super) fn set_mlid_count(&mut self, count: u16) {
        self.registry.groups_mut().set_mlid_count(count);
    }

    /// Tables of switches changed without a sweep.
    pub(super) fn tables_changed(&mut self, now: Instant) {
        self.tables_due.get_or_insert(now + TABLES_AFTER);
    }
}

impl SubnetManager {
    /// What requests are answered from now; none while this subnet manager is not in charge.
    #[must_use]
    pub const fn view(&self) -> Option<&Arc<View>> {
        self.administration.view.as_ref()
    }

    /// Requests dropped because mastership was not settled or the queue of deferred reads was full.
    #[must_use]
    pub const fn dropped_requests(&self) -> u64 {
        self.administration.dropped_requests
    }

    /// What clients have registered.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.administration.registry
    }

    /// What clients have registered, for reads on other threads.
    pub fn registry_snapshot(&mut self) -> RegistrySnapshot {
        self.administration.registry.snapshot()
    }

    /// A sweep is complete: answers are given from what it found.
    pub(super) fn publish_view(&mut self) {
        if self.role() != SmState::Master || self.read_only {
            return;
        }
        let keys_from = (Arc::clone(&self.cfg.partitions), self.subnet.local());
        let known = &self.administration.keys_from;
        let same_keys = Arc::ptr_eq(&known.0, &keys_from.0) && known.1 == keys_from.1;
        let past = self.adoption.take_restored_view();
        let current = self.administration.view.clone();
        // What changed is reported against the last sweep; what did not change is shared with the view of this sweep, if there is one.
        let (before, shared) = match self.administration.last_sweep_view.take() {
            Some(last) => (last.filter(|_| past.is_none()), current),
            None => {
                let before = current.filter(|_| past.is_none());
                (before.clone(), before)
            }
        };
        let view = Arc::new(self.view_after(shared.as_deref().filter(|_| same_keys)));
        self.administration.keys_from = keys_from;
        self.administration.view = Some(Arc::clone(&view));
        self.out.push(Output::Publish(Some(Arc::clone(&view))));
        self.administration.view_due = None;
        self.administration.view_kept = true;
        let kept = Some(Arc::clone(&view));
        self.out.persist_view(kept);
        let registry = &mut self.administration.registry;
        let now = self.now;
        if before.is_none() {
            let ended = registry.meet(&view, now);
            self.administration.ended.extend(ended);
        }
        update_partition_groups(registry.groups_mut(), &self.cfg, &view);
        registry.groups_mut().remove_strangers(&view);
        let misinformed = registry.groups_mut().take_misinformed();
        registry.tell_lifetimes(&view, now);
        // Rules 1.23 and 5.7. After a restart what came and went meanwhile is told, as far as it is known. On a first sweep nobody
        // has subscribed, so every port counts as new without cost.
        let before = before.or(past);
        let changes = view.gid_changes(before.as_deref());
        let gid = |guid| Gid::new(view.settings.prefix, guid);
        for gid in changes.gone.into_iter().map(gid) {
            if let Some(before) = &before {
                // Whoever could see the port is told; the view before still knows who that is.
                registry.notify_gid(before, TrapNumber::GidOutOfService, gid, None, now);
            }
            if registry.remove_port(&view, gid, now) {
                self.administration.ended.insert(gid.guid());
            }
        }
        for gid in changes.come.into_iter().map(gid) {
            registry.notify_gid(&view, TrapNumber::GidInService, gid, None, now);
        }
        if self.cfg.client_reregister && !misinformed.is_empty() {
            // They go on to send as they were told until they join again (rule 3.19).
            self.emit(Event::Noticed(format!(
                "{} hosts are asked to join their groups again: SL, MTU or rate of a group is another",
                misinformed.len()
            )));
            // Who joined by an alias is told by its port.
            let port =
                |guid: PortGuid| view.by_guid(guid).map_or(guid, |at| view.end_port(at).guid);
            let ports: Vec<PortGuid> = misinformed.into_iter().map(port).collect();
            self.administration.ended.extend(ports);
            self.want_full();
        }
        self.write_guids_again();
        self.tell_waiting();
    }

    /// Publishes the LIDs and paths of this sweep before ports become Active. GID changes are reported after the sweep.
    pub(super) fn publish_view_before_activation(&mut self) {
        if self.role() != SmState::Master || self.read_only {
            return;
        }
        let known = &self.administration.keys_from;
        let same_keys =
            Arc::ptr_eq(&known.0, &self.cfg.partitions) && known.1 == self.subnet.local();
        let before = self.administration.view.clone();
        let before = before.filter(|_| same_keys && !self.adoption.is_view_in_use());
        let view = Arc::new(self.view_after(before.as_deref()));
        let keys_from = (Arc::clone(&self.cfg.partitions), self.subnet.local());
        let administration = &mut self.administration;
        administration.keys_from = keys_from;
        let last = administration.view.replace(Arc::clone(&view));
        administration.last_sweep_view.get_or_insert(last);
        let groups = administration.registry.groups_mut();
        update_partition_groups(groups, &self.cfg, &view);
        self.out.push(Output::Publish(Some(view)));
    }

    /// What must follow from any input: answers end with the mastership, and reports go out when they are due.
    pub(super) fn administer(&mut self) {
        if self.takeover.has_ended() {
            // The next start begins with what is kept, as if there had been none.
            return;
        }
        self.update_restored_view();
        if !self.may_answer() && self.withdraw_view().is_some() {
            self.disown();
        }
        if self.role() == SmState::Standby && !self.takeover.lingers() {
            // So does a start beside a master: what the last run kept is older than what that one knows.
            self.disown();
        }
        self.tell_when_idle();
        self.publish_aliases();
        self.publish_tables();
        self.administration.registry.on_timeout(self.now);
        self.keep_registrations();
        self.keep_view();
        let registry = &mut self.administration.registry;
        while let Some(report) = registry.poll_report(self.now) {
            self.out.push(Output::Gmp {
                to: report.to,
                bytes: report.bytes,
                answer_within: Some(report.answer_within),
            });
        }
    }

    /// Nobody is answered any more, and what devices were to be asked for clients is forgotten; gives what was answered from.
    pub(super) fn withdraw_view(&mut self) -> Option<Arc<View>> {
        let view = self.administration.view.take()?;
        self.administration.last_sweep_view = None;
        self.asked.forget();
        self.out.push(Output::Publish(None));
        Some(view)
    }

    /// Whoever is master now owns what clients register (rule 8.9).
    pub(super) fn disown(&mut self) {
        let administration = &mut self.administration;
        administration.ended.clear();
        if administration.registry.is_empty() {
            return;
        }
        administration.registry.replace(Registry::default());
        let nothing = Kind::REGISTRATIONS.map(Update::Clear);
        self.out.persist(nothing.into());
    }

    /// Has registrations kept that changed.
    fn keep_registrations(&mut self) {
        let updates = self.administration.registry.take_updates(self.now);
        if !updates.is_empty() {
            let updates = updates.into_iter().map(Update::from).collect();
            self.out.persist(updates);
        }
    }

    /// Has a view kept that changed without a sweep, many changes at once.
    fn keep_view(&mut self) {
        let administration = &mut self.administration;
        if administration.view_due.is_some_and(|due| due <= self.now) {
            administration.view_due = None;
            let view = administration.view.clone();
            // What is kept already need not be kept again.
            if view.is_some() && !self.adoption.is_view_in_use() {
                self.out.persist_view(view);
            }
        }
    }

    /// Gives the view the multicast forwarding tables that changed since the last sweep, when they are due.
    fn publish_tables(&mut self) {
        if self
            .administration
            .tables_due
            .is_none_or(|due| self.now < due)
        {
            return;
        }
        self.administration.tables_due = None;
        if let Some(view) = &self.administration.view {
            let tables = self
                .subnet
                .switches()
                .map(|(_, n)| (n.info.node_guid, &n.mft.known));
            let view = Arc::new(view.with_multicast_tables(tables));
            self.publish(view);
        }
    }

    /// Gives the view the alias GUIDs as they are now, before anybody else asks.
    fn publish_aliases(&mut self) {
        let aliases = self.administration.registry.aliases().all();
        if let Some(view) = &self.administration.view
            && !Arc::ptr_eq(view.aliases(), aliases)
        {
            let view = Arc::new(view.with_aliases(Arc::clone(aliases)));
            self.publish(view);
        }
    }

    /// Answers are given from this view from now on.
    pub(super) fn publish(&mut self, view: Arc<View>) {
        self.administration.view = Some(Arc::clone(&view));
        let due = self.now + VIEW_KEPT_AFTER;
        self.administration.view_due.get_or_insert(due);
        self.out.push(Output::Publish(Some(view)));
    }

    /// Tells subscribers of what a device said. Without a view nobody is told.
    pub(super) fn tell(&mut self, notice: &Notice, issuer: Gid) {
        let administration = &mut self.administration;
        if let Some(view) = &administration.view {
            let registry = &mut administration.registry;
            registry.notify(view, notice, issuer, None, self.now);
        }
    }

    /// A message to subnet administration that was not answered from the view.
    pub(super) fn on_gmp(&mut self, from: Peer, bytes: &[u8]) {
        let Some((view, request)) = self
            .administration
            .view
            .clone()
            .zip(Request::parse(from, bytes))
        else {
            return;
        };
        let reply = match sa::answer(&view, &request) {
            Verdict::Answer(reply) => Some(reply),
            Verdict::Owner
                if !request.method.is_response()
                    && matches!(request.attr, id::SL_TO_VL | id::VL_ARBITRATION) =>
            {
                self.wait_for_tables(&view, &request, bytes)
            }
            // A registration could be lost until mastership is settled and the replica is loaded. The request is dropped: Linux
            // ib_sa retries after a timeout and treats any status, BUSY too, as final.
            Verdict::Owner
                if (!self.election.may_write()
                    || self.takeover.is_unsure()
                    || self.takeover.is_recalling())
                    && matches!(request.method, Method::Set | Method::Delete) =>
            {
                self.administration.count_dropped();
                None
            }
            Verdict::Owner => {
                let registry = &mut self.administration.registry;
                let reply = registry.handle(&view, &request, self.now);
                let shortage = registry.groups_mut().take_shortage();
                if let Some(shortage) = shortage {
                    self.emit(Event::Shortage(shortage.to_string()));
                }
                // Before the answer that says so.
                self.keep_registrations();
                reply
            }
            Verdict::Drop => None,
        };
        if let Some(reply) = reply {
            self.answer_client(&request, &reply);
        }
    }

    /// Answers a request.
    pub(super) fn answer_client(&mut self, request: &Request<'_>, reply: &Reply) {
        self.out.push(Output::Gmp {
            to: request.from,
            bytes: reply.to_bytes(request),
            answer_within: None,
        });
    }

    /// The record of this subnet manager.
    pub(super) fn make_own_record(&self) -> SmInfoRecord {
        let own = self.subnet.local();
        let lid = own.map_or_else(Default::default, |p| self.subnet.lid(p));
        manager_record(lid, &self.own_sm_info())
    }

    /// Where the routing in force comes from.
    fn origin(&self) -> Option<RoutingOrigin> {
        Some(RoutingOrigin {
            inputs: self.routing.inputs()?.clone(),
            without_lanes: vls::nodes_without_tables(&self.subnet),
            lanes_written: self.vls.epoch(),
        })
    }

    /// The view of the subnet as it is known now.
    #[must_use]
    pub fn make_view(&self) -> View {
        self.view_after(None)
    }

    /// The same, with what did not change since the view before.
    #[must_use]
    pub fn view_after(&self, before: Option<&View>) -> View {
        let others = self.others.values();
        // Those with another SM_Key belong to somebody else (rule 8.3).
        let others = others.filter(|(_, info)| self.peer_of(info).key_fits);
        let others = others.map(|(at, info)| manager_record(self.subnet.lid(*at), info));
        let managers = core::iter::once(self.make_own_record())
            .chain(others)
            .collect();
        let extra = Extra {
            run: self.routing.installed().map(|(run, nodes)| {
                let places = nodes.iter().map(|n| n.index()).collect();
                (Arc::clone(run), places)
            }),
            origin: self.origin().map(Arc::new),
            managers,
            aliases: Arc::clone(self.registry().aliases().all()),
            read_lanes: Arc::new(self.read_lanes()),
        };
        View::new(self, self.cfg.sa_settings(), extra, before)
    }
}

fn manager_record(lid: Lid, info: &SmInfo) -> SmInfoRecord {
    SmInfoRecord {
        lid,
        guid: info.guid,
        sm_key: MKey::NONE,
        act_count: info.act_count,
        priority: info.priority,
        sm_state: info.sm_state,
    }
}
