//! From one master to the next without a gap: what is kept is recalled, and clients go on to be answered by the one that leaves.
//!
//! A standby that has a copy of what its master kept does not begin with nothing. It asks the SMs that it knows, becomes master,
//! answers from the copy, and tells each end port of itself as soon as discovery has read it; then the sweep compares, as any
//! sweep does, and writes what differs. One that has handed the subnet over goes on to answer reads for a while, because hosts
//! learn one after another where their questions belong; it registers nothing any more.

use core::time::Duration;
use std::collections::BTreeSet;

use ferrosm_mad::attr::{PortInfo, PortState, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;

use super::{Stage, SubnetManager, limits};
use crate::adoption::{Adoption, last_epoch};
use crate::election::{self, Then};
use crate::io::{Event, Output};
use crate::kept::Restored;
use crate::plan::ports;
use crate::report::Phase;
use crate::smp::PathPolicy;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::queue::Limits;
use crate::subnet::PortRef;

/// What is kept is waited for so long: then it is begun without.
const RECALL_WITHIN: Duration = Duration::from_secs(2);
/// So long reads are answered after the subnet was handed over.
const LINGER: Duration = Duration::from_secs(2);

/// A change of masters, as far as it is under way.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// What is kept is asked for, and waited for until then.
    recalling: Option<Instant>,
    /// There is a copy of what the last master kept, and this sweep is the first after it.
    has_copy: bool,
    /// A copy was taken on, with or without a view, and no sweep as master is done since.
    adopted: bool,
    /// The copy is too old: it is asked for anew as soon as there is a link.
    outdated: bool,
    /// Reads are answered until then, although another SM is master.
    answers_until: Option<Instant>,
    /// What is to be said at that end: who has the subnet.
    leaving: Option<PortGuid>,
    /// Another SM may have taken the subnet while this process did not run.
    unsure: bool,
    /// That is because this process did not run, or lost its lease: who is master now knows more than this one does.
    stalled: bool,
    /// That the last master is silent is what somebody says who was in trouble itself: it may live.
    doubtful: bool,
    /// Nobody took the subnet, and this SM ends: what is kept is what the next start begins with.
    ended: bool,
    /// The operator wants another SM to be master, once it is known who there is.
    handing_over: Option<Then>,
    /// Another SM was master without being seen, and may have written tables: the next full sweep reads them anew.
    meddled: bool,
}

impl Takeover {
    /// When something of it is over.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.recalling.into_iter().chain(self.answers_until).min()
    }

    /// Whether reads are answered for another master that has just begun.
    pub(super) const fn lingers(&self) -> bool {
        self.answers_until.is_some()
    }

    /// Whether what the last master kept is waited for.
    pub(super) const fn is_recalling(&self) -> bool {
        self.recalling.is_some()
    }

    /// Whether another SM may be in charge, which nobody has been asked yet.
    pub(super) const fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Whether this SM was master when its process did not run for a while, or lost its lease, and has asked nobody yet.
    pub(super) const fn has_stalled(&self) -> bool {
        self.stalled
    }

    /// Whether this SM ends without a successor.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// It does so.
    pub(super) const fn end_alone(&mut self) {
        self.ended = true;
    }

    /// How much it is worth that the master is silent.
    pub(super) const fn doubt_silence(&mut self, doubtful: bool) {
        self.doubtful = doubtful;
    }

    /// A sweep begins, which asks all SMs: nothing waits any more for a look that was under way, and what an operator wanted before
    /// it is too old to be done after it.
    pub(super) const fn forget_look(&mut self) {
        self.unsure = false;
        self.stalled = false;
        self.doubtful = false;
        self.handing_over = None;
    }

    /// A sweep as master is done: nothing is left of the change.
    pub(super) const fn end(&mut self) {
        self.has_copy = false;
        self.adopted = false;
    }
}

impl SubnetManager {
    /// This SM was standby and may be master soon: what its master kept is wanted.
    pub(super) fn begin_recall(&mut self) {
        self.takeover = Takeover {
            recalling: Some(self.now + RECALL_WITHIN),
            doubtful: self.takeover.doubtful,
            ..Takeover::default()
        };
        self.out.push(Output::Recall);
    }

    /// This SM is cut off, or did not run, before it is sure of the subnet that it takes over. Whoever was believed dead may go on
    /// meanwhile, and tell hosts what is in no copy.
    pub(super) fn doubt_copy(&mut self) {
        let copied = self.takeover.adopted || self.takeover.recalling.is_some();
        if self.role() != SmState::Discovering {
            return;
        }
        if copied {
            self.takeover = Takeover {
                outdated: true,
                doubtful: self.takeover.doubtful,
                ..Takeover::default()
            };
            self.adoption.forget();
        } else if self.adoption.is_of_another_sm(&self.subnet) {
            // It began with a copy, and was not standby since: there is none to ask for.
            self.adoption.forget_installed();
        }
    }

    /// Asks anew for a copy that is too old; whether it does. A sweep begins then by itself.
    pub(super) fn recall_again(&mut self) -> bool {
        let again = core::mem::take(&mut self.takeover.outdated);
        let again = again && self.role() == SmState::Discovering;
        if again {
            self.leave_off(Stage::Recalling);
            self.begin_recall();
        }
        again
    }

    /// The master's own link is lost. What it knows stays, as over a restart (ADR 0009): whether another master was there meanwhile is
    /// seen when the link is back, and only then it is known whose clients they are.
    pub(super) fn outlive_the_link(&mut self) {
        // Nothing is lost that this SM acknowledged; but what it had copied was not looked at yet, and the SM that it was copied from
        // may live.
        let unproven = core::mem::take(&mut self.takeover.adopted);
        self.takeover.has_copy = false;
        if self.adoption.is_view_in_use() || self.view().is_none() {
            if unproven {
                self.adoption.doubt_registrations();
            }
            return;
        }
        let Some(view) = self.withdraw_view() else {
            return;
        };
        self.adoption
            .outlive_link_loss(&view, self.vls.epoch(), self.now);
    }

    /// A master's tables are to be read anew. Those that cannot be read are as they were where the device shows that nobody else was
    /// in charge of it meanwhile ([`crate::adoption`]).
    pub(super) fn remember_tables(&mut self) {
        // What the last master kept is waited for where there was one.
        let own =
            self.role() == SmState::Master && !self.read_only && !self.takeover.is_recalling();
        if own
            && !self.adoption.is_view_in_use()
            && let Some(view) = self.view().cloned()
        {
            self.adoption.adopt_own_tables(&view, self.vls.epoch());
        }
    }

    /// Whether a sweep has to wait for what is kept; it begins then by itself.
    pub(super) const fn waits_for_recall(&mut self) -> bool {
        let waits = self.takeover.recalling.is_some();
        if waits {
            self.stage = Stage::Recalling;
        }
        waits
    }

    /// Nothing is written before the other SMs were asked.
    pub(super) fn on_stalled(&mut self) {
        self.doubt_copy();
        if self.stage != Stage::NoLink && self.recall_again() {
            return;
        }
        if !self.is_master() || self.others.is_empty() {
            return;
        }
        self.emit(Event::Noticed(
            "this process did not run for a while: the other subnet managers are asked before anything is written"
                .to_owned(),
        ));
        self.look_first();
        self.takeover.stalled = true;
    }

    /// Nothing is written before the other SMs were asked. This process ran all the time and has heard of all that happened: where
    /// nothing is under way, and nobody else is master, nothing follows.
    pub(super) fn on_lease_lost(&mut self) {
        let asking = self.role() == SmState::Master && self.takeover.unsure;
        if !asking && (!self.is_master() || self.others.is_empty()) {
            return;
        }
        self.takeover.stalled = true;
        if self.stage == Stage::Looking {
            // What they have answered may be older.
            self.smps.clear();
            self.looks = false;
            self.look_wanted = true;
            self.stage = Stage::Idle;
        }
        if asking {
            return;
        }
        if self.stage == Stage::Idle && self.smps.is_idle() {
            self.takeover.unsure = true;
            self.look_wanted = true;
        } else {
            self.look_first();
        }
    }

    /// Asks the other SMs before anything else; what was begun is left.
    fn look_first(&mut self) {
        self.leave_off(Stage::Yielding);
        self.takeover.unsure = true;
        self.look_wanted = true;
        self.looks = false;
    }

    /// The operator wants another SM to be master: who they are is asked once more, because one may have just come.
    pub(super) fn begin_handover(&mut self, then: Then) {
        if self.takeover.unsure && self.role() == SmState::Master {
            // They are being asked.
            self.takeover.handing_over = Some(then);
        } else if self.is_master() && !self.sm_ports().is_empty() {
            self.takeover.handing_over = Some(then);
            self.look_first();
        } else {
            self.hand_over(then);
        }
    }

    fn hand_over(&mut self, then: Then) {
        let others = self.peers();
        self.elect(election::Input::HandOver { then, others });
    }

    /// The SMs have answered: what was to follow from it follows.
    pub(super) fn go_on_after_look(&mut self) {
        self.takeover.unsure = false;
        let stalled = core::mem::replace(&mut self.takeover.stalled, false);
        if stalled && let Some(master) = self.master_among_others() {
            // It may have acknowledged what this one has never heard of: its records are wanted before anything else.
            let ends = self.takeover.handing_over == Some(Then::Stop);
            self.elect(election::Input::Deposed(master));
            if ends {
                // There is somebody, and that is all that was asked for.
                self.hand_over(Then::Stop);
            }
            return;
        }
        if stalled && self.stage == Stage::Idle && self.may_have_begun() {
            self.want_full();
        }
        if self.role() == SmState::Discovering {
            self.finish_takeover_look();
        } else if let Some(then) = self.takeover.handing_over.take() {
            self.hand_over(then);
        } else {
            self.looked();
        }
    }

    /// Whether a better one may be about to take the subnet, because it asked while this one was unsure: a sweep asks it again.
    fn may_have_begun(&self) -> bool {
        let own = self.election.rank();
        let discovers = |p: &election::Peer| p.state == SmState::Discovering && p.rank() > own;
        self.peers().iter().any(discovers)
    }

    /// What is kept is there, or nothing is.
    pub(super) fn on_recalled(&mut self, restored: Option<Restored>) {
        if self.takeover.recalling.take().is_none() {
            // Too late: a sweep has begun without it, and clients may have registered since.
            return;
        }
        if self.role() != SmState::Master {
            // What was answered from after an own reign that has just ended is no part of it.
            let _ = self.withdraw_view();
        }
        match restored {
            Some(restored) => self.adopt_copy(restored),
            None => self.disown(),
        }
        if self.stage != Stage::Recalling {
            return;
        }
        self.stage = Stage::Idle;
        if self.role() == SmState::Discovering && self.may_look_only() {
            self.begin_takeover_look();
        } else {
            self.begin_full_sweep();
        }
    }

    fn adopt_copy(&mut self, restored: Restored) {
        self.adoption = Adoption::of_replica(&restored, self.now);
        self.vls.load_replica(last_epoch(&restored));
        self.keys.load_replica(&restored, self.cfg.m_key);
        // The last master's map, whole: what this SM has from another time would hold LIDs that were given to others since.
        self.lids.load_replica(restored.lids);
        let has_view = restored.snapshot.is_some();
        self.sa.load_replica(&restored.registrations, self.now);
        self.takeover.has_copy = has_view;
        self.takeover.adopted = true;
    }

    /// Whether all SMs that the last master knew are known to this one too: then it is enough to ask them.
    fn may_look_only(&self) -> bool {
        let Some(view) = self.adoption.restored_view() else {
            return false;
        };
        let own = self.own_sm_info().guid;
        let asked: BTreeSet<PortGuid> = self
            .sm_ports()
            .into_iter()
            .filter_map(|p| self.subnet.port(p))
            .map(|port| port.guid)
            .collect();
        let mut others = view.managers.iter().filter(|sm| sm.guid != own);
        self.subnet.local().is_some() && others.all(|sm| asked.contains(&sm.guid))
    }

    /// Asks the SMs, and this SM's own port whether it has a link.
    fn begin_takeover_look(&mut self) {
        self.stage = Stage::Looking;
        self.looks = true;
        self.others.clear();
        // One of them is believed to be dead, and is waited for no longer than it must.
        let hasty = Limits {
            timeout: self.cfg.smp_timeout / 4,
            retries: 1,
            ..limits(&self.cfg)
        };
        let limits = if self.takeover.doubtful {
            limits(&self.cfg)
        } else {
            hasty
        };
        self.smps.set_limits(limits);
        // Over more than one path: nothing asks again before this SM takes over.
        for p in self.sm_ports() {
            self.smps
                .enqueue_over(SmpOp::SmInfo(p), PathPolicy::RotateEach);
        }
        if let Some(local) = self.subnet.local() {
            self.enqueue(SmpOp::PortInfo(local));
        }
    }

    /// The SMs have answered: this one is master, or behind another.
    fn finish_takeover_look(&mut self) {
        self.smps.set_limits(limits(&self.cfg));
        let own = self.subnet.local().and_then(|p| self.subnet.port(p));
        let up = own.is_some_and(|port| port.known && port.state() == PortState::Active);
        if !up {
            self.begin_full_sweep();
            return;
        }
        self.looked();
        if self.role() == SmState::Master && self.stage == Stage::Idle {
            self.begin_full_sweep();
        }
    }

    /// Tells an end port that discovery has just read who its master is, where nothing else about it has changed: its host then asks
    /// here, long before the sweep comes to writing.
    pub(super) fn tell_of_change(&mut self, at: PortRef) {
        let discovering = self.stage == Stage::Sweep(Phase::Discover) && !self.sweep.local;
        if !self.takeover.has_copy || !discovering || !self.is_master() {
            return;
        }
        let (Some(node), Some(port), Some(own)) = (
            self.subnet.get(at.node),
            self.subnet.port(at),
            self.lids.of_sm(&self.subnet),
        ) else {
            return;
        };
        let is_end = node.end_ports().any(|num| num == at.port);
        let info = port.info();
        let carries = node.is_switch() || info.port_state == PortState::Active;
        let same = self.lids.of(port.guid) == Some((info.lid, info.lmc));
        // Whose master was another has been told something by that one since the copy was made: the sweep looks at it closely.
        let left = Some(info.master_sm_lid) == self.last_master_lid();
        if is_end && carries && same && left && info.master_sm_lid != own {
            self.enqueue(SmpOp::SetPortInfo(at, PortSetting::SmLid));
        }
    }

    /// A port that named this SM as its master names another, which was master between two looks at the SMs and may be gone. Others
    /// may name it too, and nobody but this SM tells them again: everything is looked at.
    pub(super) fn notice_meddling(&mut self, at: PortRef, new: &PortInfo) {
        // In the first sweep ports name whoever was master before.
        if !self.is_master() || self.first_as_master || self.takeover.meddled {
            return;
        }
        let (Some(node), Some(port), Some(own)) = (
            self.subnet.get(at.node),
            self.subnet.port(at).filter(|port| port.known),
            self.lids.of_sm(&self.subnet),
        ) else {
            return;
        };
        let is_end = node.end_ports().any(|num| num == at.port);
        let other = new.master_sm_lid;
        // One that woke up names nobody, and is new here itself.
        let led_away = other.is_unicast() && other != own && new.lid.is_unicast();
        if !is_end || port.info().master_sm_lid != own || !led_away {
            return;
        }
        // One that is ignored is an alarm, and goes on to write: tables are not fought over.
        let whose = self.subnet.port_by_lid(other);
        let guid = whose
            .and_then(|p| self.subnet.port(p))
            .map(|port| port.guid);
        if guid.is_some_and(|guid| self.election.ignores(guid)) {
            return;
        }
        self.takeover.meddled = true;
        let place = self.subnet.describe(at);
        self.emit(Event::Noticed(format!(
            "{place} names the SM at LID {other} as its master: looking at everything"
        )));
        if self.stage != Stage::Sweep(Phase::Discover) || self.sweep.local {
            self.want_full();
        }
    }

    /// One that was ignored is gone: nobody writes any more what it wrote, and what it has left is put right.
    pub(super) fn look_after_outsider(&mut self) {
        if self.is_master() {
            self.takeover.meddled = true;
            self.want_full();
        }
    }

    /// All has been read that a full sweep reads of ports: tables that another SM may have written are read next.
    pub(super) fn distrust_after_meddling(&mut self) {
        if !self.sweep.local && core::mem::take(&mut self.takeover.meddled) && self.is_master() {
            self.distrust_tables();
            self.lids.unconfirm();
        }
    }

    /// What a port says, with this SM as its master.
    pub(super) fn with_this_master(&self, at: PortRef) -> Option<[u8; 64]> {
        let mut raw = ports::current(self.subnet.port(at)?);
        let mut info = PortInfo::decode(&raw);
        info.master_sm_lid = self.lids.of_sm(&self.subnet)?;
        if let Some((view, own)) = self.view().zip(self.lids.of_sm(&self.subnet))
            && let Some(end) = view.by_lid(info.lid)
        {
            info.master_sm_sl = view.sl(end, own).0;
        }
        info.encode_onto(&mut raw);
        Some(raw)
    }

    /// Another SM has the subnet from now on, and took it from this one's hands.
    pub(super) fn begin_lingering(&mut self, leaving_to: Option<PortGuid>) {
        if self.view().is_some() {
            self.takeover.answers_until = Some(self.now + LINGER);
        }
        self.takeover.leaving = leaving_to;
        if let (Some(to), None) = (leaving_to, self.takeover.answers_until) {
            self.takeover.leaving = None;
            self.emit(Event::Stopped {
                handed_to: Some(to),
                was_master: true,
            });
        }
    }

    /// Ends what has lasted long enough.
    pub(super) fn on_takeover_timeout(&mut self) {
        let now = self.now;
        let over = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if over(self.takeover.answers_until) {
            self.takeover.answers_until = None;
            if let Some(to) = self.takeover.leaving.take() {
                self.emit(Event::Stopped {
                    handed_to: Some(to),
                    was_master: true,
                });
            }
        }
        if over(self.takeover.recalling) {
            self.emit(Event::Noticed(
                "what was kept did not come in time: it is begun without".to_owned(),
            ));
            self.out.push(Output::Forgo);
            self.on_recalled(None);
        }
    }

    /// The LID that devices may name as their master beside the one they named, because this sweep has told them already.
    pub(super) fn told_master(&self) -> Option<Lid> {
        self.lids
            .of_sm(&self.subnet)
            .filter(|_| self.takeover.has_copy)
    }

    /// The LID that the last master had, where what it kept is known.
    pub(super) fn last_master_lid(&self) -> Option<Lid> {
        self.adoption.last_master_lid()
    }
}
