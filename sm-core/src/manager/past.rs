//! Answers before the first sweep is done: from the view that was kept over the restart (ADR 0009).
//!
//! It is taken only where it must be this subnet's, and nobody else's doing came between: the SM's own port has the GUID, the LID
//! and the neighbour of that time, and no other master has told it of itself. While the sweep discovers, clients are answered
//! but register nothing; once this subnet manager is master, they may. What the sweep finds to be otherwise is left out at once,
//! and when too much is, all of it. The first view of this run replaces it; another master's reign ends it for good.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{PortInfo, PortState, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

use super::partition_groups::update_partition_groups;
use super::{Stage, SubnetManager};
use crate::io::{Event, Output};
use crate::sa::View;
use crate::sa::view::saved::{Snapshot, Whose};
use crate::subnet::PortRef;

/// So many end ports may have other LIDs than they had; with more, nothing of that time is believed.
const STRANGERS_MAX: usize = 16;

/// Why the persisted view is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misfit {
    /// It names no port of its SM.
    NoOwnPort,
    /// It is of another port or subnet.
    AnotherPort,
    /// The SM's own port has another LID.
    AnotherLid,
    /// The SM's own port has another subnet prefix.
    AnotherPrefix,
    /// Another SM was master since: clients may have registered with it.
    AnotherMaster,
    /// A replica of another subnet.
    AnotherSubnet,
    /// The SM's own port is not in the replica: its master had seen the port leave. The rest of the replica may be right.
    PortAbsent,
    /// The SM's own port has another LID in the replica.
    AnotherLidInReplica,
    /// The SM's own link leads to another port.
    AnotherNeighbour,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoOwnPort => "it has no own port",
            Self::AnotherPort => "it is of another port or subnet",
            Self::AnotherLid => "the own port has another LID",
            Self::AnotherPrefix => "the own port has another subnet prefix",
            Self::AnotherMaster => "another master was there since",
            Self::AnotherSubnet => "it is of another subnet",
            Self::PortAbsent => "the own port is not in it",
            Self::AnotherLidInReplica => "the own port has another LID in it",
            Self::AnotherNeighbour => "the own cable leads to another port",
        })
    }
}

/// A view that was kept.
#[derive(Debug, Default)]
pub(super) struct Past {
    snapshot: Option<Snapshot>,
    /// When this run began.
    began: Instant,
    /// Answers come from it.
    in_force: bool,
    /// It was compared with all that discovery found.
    compared: bool,
    /// End ports that are not what they were.
    strangers: BTreeSet<PortGuid>,
    /// It is another SM's, from which this one takes over.
    copied: bool,
    /// The own port was read since. What a standby knows of it may be from before it had a LID, or from another master's time.
    own_read: bool,
}

impl Past {
    pub(super) fn new(snapshot: Option<Snapshot>, now: Instant) -> Self {
        Self {
            snapshot,
            began: now,
            ..Self::default()
        }
    }

    /// What the last master kept, of which this one has a copy.
    pub(super) fn copied(snapshot: Option<Snapshot>, now: Instant) -> Self {
        Self {
            copied: true,
            ..Self::new(snapshot, now)
        }
    }

    /// What is kept, in force or not.
    pub(super) fn kept_view(&self) -> Option<&Arc<View>> {
        self.snapshot.as_ref().map(|s| &s.view)
    }

    /// Answers come from it.
    pub(super) const fn is_in_force(&self) -> bool {
        self.in_force
    }

    /// It is not needed any more: the view that answers came from, if they did.
    pub(super) fn end(&mut self) -> Option<Arc<View>> {
        let was = core::mem::take(self);
        was.snapshot.filter(|_| was.in_force).map(|s| s.view)
    }
}

/// Whether a snapshot is this subnet's.
enum Fits {
    Yes,
    No(Misfit),
    /// Too little is known.
    Perhaps,
}

impl SubnetManager {
    /// How old that is which answers come from, while the first sweep is not done; `None` when they come from a sweep of this run,
    /// or there are none.
    #[must_use]
    pub fn answers_from_past(&self) -> Option<Duration> {
        let past = &self.administration.past;
        let snapshot = past.snapshot.as_ref().filter(|_| past.in_force)?;
        Some(snapshot.age + self.now.since(past.began))
    }

    /// Whether clients may be answered at all.
    pub(super) fn may_answer(&self) -> bool {
        match self.role() {
            SmState::Master => true,
            SmState::Discovering => self.administration.past.in_force,
            // Hosts do not know yet who is master now.
            _ => self.takeover.lingers(),
        }
    }

    /// Answers from the past as soon as it is known to be this subnet's, and as long as there is nothing better.
    pub(super) fn answer_from_past(&mut self) {
        match self.role() {
            SmState::Master | SmState::Discovering => {}
            _ if self.takeover.lingers() => return,
            // Whatever is known of that time, the other master knows better.
            _ => {
                self.administration.past = Past::default();
                self.forget_inheritance();
                if self.administration.take_view_kept() {
                    self.out.persist_view(None);
                }
                return;
            }
        }
        let past = &mut self.administration.past;
        let Some(snapshot) = &past.snapshot else {
            return;
        };
        if self.stage == Stage::NoLink || self.read_only {
            if core::mem::take(&mut past.in_force) {
                self.administration.drop_view();
                self.out.push(Output::Publish(None));
            }
            return;
        }
        if past.in_force {
            return;
        }
        let view = Arc::clone(&snapshot.view);
        match self.fits(&view) {
            Fits::Perhaps => {}
            Fits::No(why) => {
                self.administration.past = Past::default();
                // Kept records may be carried to another host; what they say of each port is compared with that port.
                if !matches!(why, Misfit::AnotherPort | Misfit::PortAbsent) {
                    self.doubt_registrations();
                }
                if why == Misfit::AnotherMaster {
                    // Hosts may have registered with that one.
                    self.forget_inheritance();
                }
                self.emit(Event::Noticed(format!(
                    "what was kept of the subnet is not used: {why}"
                )));
            }
            Fits::Yes => self.begin_with(&view),
        }
    }

    fn fits(&self, view: &View) -> Fits {
        let Some(was) = view.whose() else {
            return Fits::No(Misfit::NoOwnPort);
        };
        let Some(local) = self.subnet.local() else {
            return Fits::Perhaps;
        };
        let Some(port) = self.subnet.port(local).filter(|port| port.known) else {
            return Fits::Perhaps;
        };
        let info = port.info();
        if self.administration.past.copied && !self.administration.past.own_read {
            return Fits::Perhaps;
        }
        if self.administration.past.copied {
            return self.copy_fits(view, port.guid, &info);
        }
        if (port.guid, self.cfg.subnet_prefix) != (was.port, was.prefix) {
            return Fits::No(Misfit::AnotherPort);
        }
        if info.lid == Lid::NONE {
            // The port woke up since: nobody reaches it before it has a LID again.
            return Fits::Perhaps;
        }
        if info.lid != was.lid {
            return Fits::No(Misfit::AnotherLid);
        }
        if info.gid_prefix != was.prefix {
            return Fits::No(Misfit::AnotherPrefix);
        }
        if ![Lid::NONE, info.lid].contains(&info.master_sm_lid) {
            return Fits::No(Misfit::AnotherMaster);
        }
        self.neighbour_fits(local, &was, info.port_state)
    }

    /// A copy is of another port: this SM's own is one of many in it.
    fn copy_fits(&self, view: &View, own: PortGuid, info: &PortInfo) -> Fits {
        if self.role() != SmState::Master {
            // Who is master next is not settled.
            return Fits::Perhaps;
        }
        if view.settings.prefix != self.cfg.subnet_prefix {
            return Fits::No(Misfit::AnotherSubnet);
        }
        if info.lid == Lid::NONE {
            // The port woke up, and was not told anything yet: it is the same one as soon as it has its LID again.
            return Fits::Perhaps;
        }
        if info.gid_prefix != view.settings.prefix {
            return Fits::No(Misfit::AnotherSubnet);
        }
        let end = view.by_guid(own).map(|at| view.end_port(at));
        let Some(end) = end.filter(|end| end.guid == own) else {
            return Fits::No(Misfit::PortAbsent);
        };
        if end.lid != info.lid {
            return Fits::No(Misfit::AnotherLidInReplica);
        }
        let masters = [Some(Lid::NONE), Some(info.lid), self.last_master_lid()];
        if !masters.contains(&Some(info.master_sm_lid)) {
            return Fits::No(Misfit::AnotherMaster);
        }
        Fits::Yes
    }

    /// The first thing that a sweep learns of the subnet is what the own cable leads to.
    fn neighbour_fits(&self, local: PortRef, was: &Whose, state: PortState) -> Fits {
        let is_switch = self.subnet.get(local.node).is_some_and(|n| n.is_switch());
        if is_switch {
            return Fits::Yes;
        }
        if state != PortState::Active || !self.is_probed(local) {
            return Fits::Perhaps;
        }
        let Some(peer) = self.subnet.peer(local) else {
            return Fits::Perhaps;
        };
        let node = self.subnet.get(peer.node);
        if node.map(|n| (n.info.node_guid, peer.port)) == was.neighbour {
            Fits::Yes
        } else {
            Fits::No(Misfit::AnotherNeighbour)
        }
    }

    /// Whether a sweep of this run has looked what a port's cable leads to, since its link came up.
    fn is_probed(&self, p: PortRef) -> bool {
        self.discovery.has_queried(p) || self.role() == SmState::Master
    }

    fn begin_with(&mut self, view: &View) {
        let own_guid = self.own_sm_info().guid;
        let mut view = view
            .with_local(own_guid)
            .with_settings(self.cfg.sa_settings())
            .with_aliases(Arc::clone(self.registry().aliases().all()));
        // Others are as they were; of itself this one knows better.
        let own = self.make_own_record();
        // The master of a copy is not master any more; what else it is, the sweep will show.
        let copied = self.administration.past.copied;
        let was_master = |m: &SmInfoRecord| copied && m.sm_state == SmState::Master;
        view.managers
            .retain(|m| m.guid != own.guid && !was_master(m));
        view.managers.insert(0, own);
        let past = &mut self.administration.past;
        past.in_force = true;
        let age = past.snapshot.as_ref().map_or(Duration::ZERO, |s| s.age);
        let age = age + self.now.since(past.began);
        update_partition_groups(
            self.administration.registry_mut().groups_mut(),
            &self.cfg,
            &view,
        );
        self.publish_past(view);
        self.emit(Event::Noticed(format!(
            "until the first sweep is done, clients are answered from what was kept {} s ago",
            age.as_secs()
        )));
    }

    fn publish_past(&mut self, view: View) {
        let view = Arc::new(view);
        self.administration.set_view(Arc::clone(&view));
        self.out.push(Output::Publish(Some(view)));
    }

    /// A port says what it is. Where the past says otherwise, it is the past that is wrong.
    pub(super) fn doubt_past(&mut self, at: PortRef) {
        self.administration.past.own_read |= self.subnet.local() == Some(at);
        if !self.administration.past.in_force {
            return;
        }
        let Some((view, end)) = self.view().cloned().zip(self.end_port_there(at)) else {
            return;
        };
        let (guid, lid) = end;
        let before = self.administration.past.strangers.len();
        let strangers = &mut self.administration.past.strangers;
        if let Some(other) = view.by_lid(lid).map(|at| view.end_port(at).guid)
            && other != guid
        {
            strangers.insert(other);
        }
        if let Some(known) = view.by_guid(guid).map(|at| view.end_port(at))
            && known.guid == guid
            && known.lid != lid
            && lid != Lid::NONE
        {
            strangers.insert(guid);
        }
        if strangers.len() > STRANGERS_MAX {
            self.administration.past = Past::default();
            self.forget_inheritance();
            self.administration.drop_view();
            self.out.push(Output::Publish(None));
            self.emit(Event::Noticed(
                "what was kept of the subnet is not used any more: too many ports have other LIDs"
                    .to_owned(),
            ));
        } else if strangers.len() > before {
            let strangers = strangers.clone();
            self.publish_past(view.with_ends(|end| !strangers.contains(&end.guid)));
        }
    }

    /// GUID and base LID of an end port, as its device says.
    fn end_port_there(&self, at: PortRef) -> Option<(PortGuid, Lid)> {
        let node = self.subnet.get(at.node)?;
        let port = self.subnet.port(at).filter(|_| node.is_end_port(at.port))?;
        Some((port.guid, port.info().lid))
    }

    /// Discovery is done: end ports that are not there, or are elsewhere, are not found any more.
    pub(super) fn compare_with_past(&mut self) {
        let past = &mut self.administration.past;
        if !past.in_force || core::mem::replace(&mut past.compared, true) {
            return;
        }
        let Some(view) = self.view().cloned() else {
            return;
        };
        let there: Vec<(PortGuid, Lid)> = self
            .subnet
            .end_ports()
            .filter_map(|p| self.end_port_there(p))
            .collect();
        let of_guid: FxHashMap<PortGuid, Lid> = there.iter().copied().collect();
        let of_lid: FxHashMap<Lid, PortGuid> =
            there.iter().map(|(guid, lid)| (*lid, *guid)).collect();
        let stays = |guid: PortGuid, lid: Lid, lids: u16| {
            let has = of_guid.get(&guid);
            let kept = has.is_some_and(|has| *has == lid || *has == Lid::NONE);
            let free = |n: u16| {
                let owner = of_lid.get(&Lid(lid.0.saturating_add(n)));
                owner.is_none_or(|owner| *owner == guid)
            };
            kept && (0..lids).all(free)
        };
        let all = view.end_ports().iter();
        let gone = all
            .filter(|end| !stays(end.guid, end.lid, end.lids()))
            .count();
        if gone > 0 {
            self.publish_past(view.with_ends(|end| stays(end.guid, end.lid, end.lids())));
            self.emit(Event::Noticed(format!(
                "{gone} end ports are not where they were: nobody is told of them before the sweep is done"
            )));
        }
    }
}
