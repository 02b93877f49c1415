//! Answers from the restored view until the first sweep is complete (ADR 0009).
//!
//! The view is used only if it must be of this subnet and no other SM has been master: the SM's own
//! port has the GUID, the LID and the neighbour of that time, and names no other master. During
//! discovery clients are answered but cannot register; once this SM is master they can. End ports
//! that the sweep finds elsewhere are removed at once; if there are too many, the whole view is
//! withdrawn.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::aliases::AliasTables;
use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::{RestoredSnapshot, SnapshotIdentity};
use ferrosm_mad::attr::{PortInfo, PortState, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

use super::Adoption;
use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::event::{Event, ViewMismatch};

/// Most end ports that may have changed their LIDs; with more, the view is withdrawn.
const MOVED_PORTS_MAX: usize = 16;

/// A view of an earlier run or another master.
#[derive(Debug, Default)]
pub(super) struct RestoredView {
    snapshot: Option<RestoredSnapshot>,
    /// When the snapshot was restored.
    restored_at: Instant,
    /// The SA replies from it.
    in_use: bool,
    /// It was compared with all end ports that discovery found.
    compared: bool,
    /// End ports whose LID is not the one in the view.
    moved: BTreeSet<PortGuid>,
    /// It is a replica of another master's view.
    is_replica: bool,
    /// The SM's own port has been read since. A standby may know its PortInfo from before it had a
    /// LID, or from an earlier mastership.
    own_port_read: bool,
}

impl RestoredView {
    pub(super) fn new(snapshot: Option<RestoredSnapshot>, now: Instant) -> Self {
        Self {
            snapshot,
            restored_at: now,
            ..Self::default()
        }
    }

    /// The replica of another master's view.
    pub(super) fn of_replica(snapshot: Option<RestoredSnapshot>, now: Instant) -> Self {
        Self {
            is_replica: true,
            ..Self::new(snapshot, now)
        }
    }

    fn age(&self, now: Instant) -> Option<Duration> {
        let snapshot = self.snapshot.as_ref()?;
        Some(snapshot.age + now.since(self.restored_at))
    }

    fn fits(
        &self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        is_master: bool,
        own_link_queried: bool,
    ) -> Fit {
        let Some(view) = self.snapshot.as_ref().map(|s| &s.snapshot) else {
            return Fit::Undecided;
        };
        let Some(identity) = view.identity() else {
            return Fit::No(ViewMismatch::NoOwnPort);
        };
        let Some(local) = fabric.local() else {
            return Fit::Undecided;
        };
        let Some(port) = fabric.port(local).filter(|port| port.known) else {
            return Fit::Undecided;
        };
        let info = port.info();
        if self.is_replica {
            // Until this SM is master, another one may become it.
            return if self.own_port_read && is_master {
                replica_fits(view, cfg, port.guid, &info)
            } else {
                Fit::Undecided
            };
        }
        if (port.guid, cfg.subnet_prefix) != (identity.port, identity.prefix) {
            return Fit::No(ViewMismatch::AnotherPort);
        }
        if info.lid == Lid::NONE {
            // The port was reset: no client reaches it before it has a LID again.
            return Fit::Undecided;
        }
        if info.lid != identity.lid {
            return Fit::No(ViewMismatch::AnotherLid);
        }
        if info.gid_prefix != identity.prefix {
            return Fit::No(ViewMismatch::AnotherPrefix);
        }
        if ![Lid::NONE, info.lid].contains(&info.master_sm_lid) {
            return Fit::No(ViewMismatch::AnotherMaster);
        }
        neighbour_fits(fabric, local, &identity, info.port_state, own_link_queried)
    }
}

/// Whether a view is of this subnet as it is now.
enum Fit {
    Yes,
    No(ViewMismatch),
    /// Too little is known yet.
    Undecided,
}

/// Whether a replica is of this subnet; the SM's own port is one of many in it.
fn replica_fits(view: &Snapshot, cfg: &SmConfig, own_guid: PortGuid, info: &PortInfo) -> Fit {
    if view.prefix != cfg.subnet_prefix {
        return Fit::No(ViewMismatch::AnotherSubnet);
    }
    if info.lid == Lid::NONE {
        // The port was reset and has not been configured yet: it can be compared as soon as it has
        // a LID again.
        return Fit::Undecided;
    }
    if info.gid_prefix != view.prefix {
        return Fit::No(ViewMismatch::AnotherSubnet);
    }
    let end_port = view.by_guid(own_guid).map(|at| view.end_port(at));
    let Some(end_port) = end_port.filter(|end| end.guid == own_guid) else {
        return Fit::No(ViewMismatch::PortAbsent);
    };
    if end_port.lid != info.lid {
        return Fit::No(ViewMismatch::AnotherLidInReplica);
    }
    let last_master = view.identity().map(|identity| identity.lid);
    let masters = [Some(Lid::NONE), Some(info.lid), last_master];
    if !masters.contains(&Some(info.master_sm_lid)) {
        return Fit::No(ViewMismatch::AnotherMaster);
    }
    Fit::Yes
}

/// Whether the SM port is linked to the same port as in the view. A sweep discovers that port
/// first.
fn neighbour_fits(
    fabric: &ObservedFabric,
    local: PortRef,
    identity: &SnapshotIdentity,
    state: PortState,
    own_link_queried: bool,
) -> Fit {
    let is_switch = fabric.get(local.node).is_some_and(|n| n.is_switch());
    if is_switch {
        return Fit::Yes;
    }
    if state != PortState::Active || !own_link_queried {
        return Fit::Undecided;
    }
    let Some(peer) = fabric.peer(local) else {
        return Fit::Undecided;
    };
    let node = fabric.get(peer.node);
    if node.map(|n| (n.info.node_guid, peer.port)) == identity.neighbour {
        Fit::Yes
    } else {
        Fit::No(ViewMismatch::AnotherNeighbour)
    }
}

/// A replacement of the published view, before the first sweep as master is complete.
#[derive(Debug)]
pub(crate) struct ViewUpdate {
    /// The view to publish; `None` withdraws the published one.
    pub(crate) view: Option<Snapshot>,
    /// What is reported.
    pub(crate) event: Option<Event>,
}

impl ViewUpdate {
    const WITHDRAW: Self = Self {
        view: None,
        event: None,
    };
}

impl Adoption {
    /// The restored view, in use or not.
    pub(crate) fn restored_view(&self) -> Option<&Arc<Snapshot>> {
        self.restored.snapshot.as_ref().map(|s| &s.snapshot)
    }

    /// Whether there is a restored view from which the SA does not reply yet.
    pub(crate) const fn has_unused_view(&self) -> bool {
        self.restored.snapshot.is_some() && !self.restored.in_use
    }

    /// Whether the SA replies from the restored view.
    pub(crate) const fn is_view_in_use(&self) -> bool {
        self.restored.in_use
    }

    /// The age of the restored view, if the SA replies from it.
    pub(crate) fn view_age(&self, now: Instant) -> Option<Duration> {
        self.restored.age(now).filter(|_| self.restored.in_use)
    }

    /// A sweep as master is complete, and its view replaces the restored one. Returns the restored
    /// view if the SA replied from it.
    pub(crate) fn take_restored_view(&mut self) -> Option<Arc<Snapshot>> {
        let restored = core::mem::take(&mut self.restored);
        restored
            .snapshot
            .filter(|_| restored.in_use)
            .map(|s| s.snapshot)
    }

    /// The SM has no link or must not answer: the restored view is not used for now.
    pub(crate) fn suspend_view(&mut self) -> Option<ViewUpdate> {
        core::mem::take(&mut self.restored.in_use).then_some(ViewUpdate::WITHDRAW)
    }

    /// Whether the SA can reply from the restored view from now on. A view that does not fit is
    /// dropped. `own_link_queried`: since the link of the SM's own port came up, a sweep found the
    /// port at its other end.
    pub(crate) fn may_use_view(
        &mut self,
        ctx: &mut Ctx<'_>,
        is_master: bool,
        own_link_queried: bool,
    ) -> bool {
        if !self.has_unused_view() {
            return false;
        }
        match self
            .restored
            .fits(ctx.fabric, ctx.cfg, is_master, own_link_queried)
        {
            Fit::Undecided => false,
            Fit::Yes => true,
            Fit::No(why) => {
                self.restored = RestoredView::default();
                // The records may have been moved to another host: the recorded state of each port
                // is compared with that port.
                if !matches!(why, ViewMismatch::AnotherPort | ViewMismatch::PortAbsent) {
                    self.mark_registrations_incomplete();
                }
                if why == ViewMismatch::AnotherMaster {
                    // Hosts may have registered with that master.
                    self.forget_installed();
                }
                let event = Event::RestoredViewRejected(why);
                ctx.outbox.emit(event);
                false
            }
        }
    }

    /// Uses the restored view. `own_record` is the record of this SM, which replaces the one in the
    /// view.
    pub(crate) fn use_view(
        &mut self,
        now: Instant,
        own_record: SmInfoRecord,
        aliases: Arc<AliasTables>,
    ) -> Option<ViewUpdate> {
        let restored = &mut self.restored;
        let age = restored.age(now)?;
        let mut view = restored
            .snapshot
            .as_ref()?
            .snapshot
            .with_local_port(own_record.guid)
            .with_aliases(aliases);
        // The master of a replica is not master any more.
        let is_replica = restored.is_replica;
        let was_master = |m: &SmInfoRecord| is_replica && m.sm_state == SmState::Master;
        view.sms
            .retain(|m| m.guid != own_record.guid && !was_master(m));
        view.sms.insert(0, own_record);
        restored.in_use = true;
        Some(ViewUpdate {
            view: Some(view),
            event: Some(Event::RestoredViewUsed { age }),
        })
    }

    /// A port was read: end ports that have another LID than in the published view are removed from
    /// it.
    pub(crate) fn on_port_read(
        &mut self,
        fabric: &ObservedFabric,
        at: PortRef,
        published: Option<&Arc<Snapshot>>,
    ) -> Option<ViewUpdate> {
        let restored = &mut self.restored;
        restored.own_port_read |= fabric.local() == Some(at);
        if !restored.in_use {
            return None;
        }
        let view = published?;
        let (guid, lid) = reported_end_port(fabric, at)?;
        let moved = &mut restored.moved;
        let before = moved.len();
        if let Some(owner) = view.by_lid(lid).map(|at| view.end_port(at).guid)
            && owner != guid
        {
            moved.insert(owner);
        }
        if let Some(end_port) = view.by_guid(guid).map(|at| view.end_port(at))
            && end_port.guid == guid
            && end_port.lid != lid
            && lid != Lid::NONE
        {
            moved.insert(guid);
        }
        if moved.len() > MOVED_PORTS_MAX {
            self.forget();
            return Some(ViewUpdate {
                event: Some(Event::RestoredViewWithdrawn),
                ..ViewUpdate::WITHDRAW
            });
        }
        (moved.len() > before).then(|| ViewUpdate {
            view: Some(view.with_end_ports(|end| !moved.contains(&end.guid))),
            event: None,
        })
    }

    /// Discovery is complete: end ports that are absent or have another LID are removed from the
    /// published view.
    pub(crate) fn on_discovered(
        &mut self,
        fabric: &ObservedFabric,
        published: Option<&Arc<Snapshot>>,
    ) -> Option<ViewUpdate> {
        let restored = &mut self.restored;
        if !restored.in_use || core::mem::replace(&mut restored.compared, true) {
            return None;
        }
        let view = published?;
        let present: Vec<(PortGuid, Lid)> = fabric
            .end_ports()
            .filter_map(|p| reported_end_port(fabric, p))
            .collect();
        let lid_of: FxHashMap<PortGuid, Lid> = present.iter().copied().collect();
        let owner_of: FxHashMap<Lid, PortGuid> =
            present.iter().map(|(guid, lid)| (*lid, *guid)).collect();
        let stays = |guid: PortGuid, lid: Lid, lids: u16| {
            let current = lid_of.get(&guid);
            let unchanged = current.is_some_and(|has| *has == lid || *has == Lid::NONE);
            let is_free = |n: u16| {
                let owner = owner_of.get(&Lid(lid.0.saturating_add(n)));
                owner.is_none_or(|owner| *owner == guid)
            };
            unchanged && (0..lids).all(is_free)
        };
        let end_ports = view.end_ports().iter();
        let removed = end_ports
            .filter(|end| !stays(end.guid, end.lid, end.num_lids()))
            .count();
        (removed > 0).then(|| ViewUpdate {
            view: Some(view.with_end_ports(|end| stays(end.guid, end.lid, end.num_lids()))),
            event: Some(Event::EndPortsOutdated(removed)),
        })
    }
}

/// GUID and base LID of an end port, as its device reports them.
fn reported_end_port(fabric: &ObservedFabric, at: PortRef) -> Option<(PortGuid, Lid)> {
    let node = fabric.get(at.node)?;
    let port = fabric.port(at).filter(|_| node.is_end_port(at.port))?;
    Some((port.guid, PortInfo::lid.read(&port.raw)))
}
