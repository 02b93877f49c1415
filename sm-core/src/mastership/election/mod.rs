//! The election: which SM is master (IBA vol. 1, 14.4; docs/sm-behaviour.md, 8). A step function without I/O.
//!
//! Owned by the subnet manager, which sends and receives the MADs and carries out the decisions. [`Election::may_write`] states whether
//! this SM may configure the subnet.
//!
//! # States
//!
//! NotActive; Discovering; Standby, which polls one SM; and Master in one of four states: *active*; *offering* the subnet to another SM;
//! *waiting* for a lower-ranked master to hand over (IBA C14-60.2.1); *leaving*, which is to stop and waits for a successor. Only an active
//! master writes.
//!
//! # How exactly one master remains
//!
//! * An offering master stops writing before it sends HANDOVER and becomes standby after the other SM has taken over. If the response is
//!   lost, it sends HANDOVER again and finally polls the other SM: only an SM that is master has taken over.
//! * Of two masters the lower-ranked hands over and the higher-ranked waits. If it waits longer than [`ElectionSettings::patience`], it
//!   hands over to the lower-ranked one and raises an alarm.
//! * A standby considers its master dead only after missed polls over several paths. It then restarts discovery instead of becoming master
//!   at once.
//! * This SM also waits no longer than `patience` for a higher-ranked SM to become master.
//! * An SM that is starting or has no complete replica is not handed the subnet. A master that is to stop repeats the SMInfo scan for a
//!   while, and hands over to such an SM only if there is no other.
//! * An SM that handed over on the operator's request has priority 0 until it is master again or its priority is set. The handover goes to
//!   an SM that outranks it then, so the subnet is not handed back.
//! * A standby with an incomplete replica has priority 0, too: a standby with a complete one outranks it when the master fails.
//!
//! `tests/election_model` checks over all orders of events, with MADs lost, delayed and duplicated, that an SM that has handed over does
//! not write, and that one master remains in each fragment of the subnet once faults end.
//!
//! # State transitions
//!
//! Rows are inputs, columns are states. A test generates the table from the step function and compares it. Inputs come from the SM that is
//! polled, offered to or waited for; *higher* and *lower* compare its rank with this SM's. The limits are one missed poll, one HANDOVER,
//! one scan and a patience of two, so that a cell shows the final result of repeated failures. *sweep* is a full sweep, *scan* an SMInfo
//! scan; the state in bold is the new state.
//!
#![doc = include_str!("transitions.md")]

mod controls;
mod ignored_sms;
mod io;
mod master;
mod other_sm;
mod settings;
mod standby;
#[cfg(test)]
mod table;

use std::collections::BTreeMap;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

pub use io::{AfterHandover, Decision, ElectionInput, ElectionNotice, RoleChangeReason};
pub use other_sm::{OtherSm, SmRank};
pub use settings::ElectionSettings;

use ignored_sms::IgnoredSms;
use master::{Leaving, MasterState, OfferReason};
use standby::Watch;

/// The SM state and its data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    NotActive(InactiveReason),
    Discovering,
    Standby(Watch),
    Master(MasterState),
}

/// Why this SM is not active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum InactiveReason {
    /// A master sent DISABLE.
    Disabled,
    /// Another SM, which does not respond, has configured the subnet.
    Managed,
    /// The process is about to exit.
    Stopped,
}

/// The last SMInfo of an SM that did not take over, or did not become master although it outranks this one. The SM is offered the subnet
/// again when its SMInfo has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Refusal {
    priority: u8,
    state: SmState,
    act_count: u32,
    /// It was offered the subnet. Otherwise this SM only waited for it, and it may be waiting for an offer.
    offered: bool,
}

/// The election state of this SM. A step depends only on this value, the time and the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Election {
    me: PortGuid,
    settings: ElectionSettings,
    state: State,
    /// When the next poll is due, or the wait for a response ends.
    due: Option<Instant>,
    /// This SM handed over on the operator's request.
    handed_over_by_operator: bool,
    /// This SM was standby, and its replica of the master's records is incomplete.
    replica_incomplete: bool,
    /// This SM was master or saw another one: it may take over a managed subnet.
    knows_subnet: bool,
    declined: BTreeMap<PortGuid, Refusal>,
    /// SMs that take no part in the election.
    ignored: IgnoredSms,
}

impl Election {
    /// Starts in Discovering. The caller starts a sweep, which ends with [`ElectionInput::ScanCompleted`].
    #[must_use]
    pub const fn new(me: PortGuid, settings: ElectionSettings) -> Self {
        Self {
            me,
            settings,
            state: State::Discovering,
            due: None,
            handed_over_by_operator: false,
            replica_incomplete: false,
            knows_subnet: false,
            declined: BTreeMap::new(),
            ignored: IgnoredSms::new(),
        }
    }

    /// Sets the GUID of the SM's port.
    pub const fn set_guid(&mut self, me: PortGuid) {
        self.me = me;
    }

    /// Sets whether other standbys may have records that this one lacks; they outrank it then.
    pub const fn set_replica_incomplete(&mut self, incomplete: bool) {
        self.replica_incomplete = incomplete;
    }

    /// Replaces the settings except for the priority, which is set by [`ElectionInput::SetPriority`].
    pub fn set_settings(&mut self, settings: ElectionSettings) {
        let priority = self.settings.priority;
        self.settings = ElectionSettings {
            priority,
            ..settings
        };
    }

    /// SM state in SMInfo.
    #[must_use]
    pub const fn state(&self) -> SmState {
        match self.state {
            State::NotActive(_) => SmState::NotActive,
            State::Discovering => SmState::Discovering,
            State::Standby(_) => SmState::Standby,
            State::Master(_) => SmState::Master,
        }
    }

    /// Priority in SMInfo.
    #[must_use]
    pub fn priority(&self) -> u8 {
        match self.state {
            State::Master(_) => self.settings.priority.max(self.settings.master_priority),
            State::NotActive(_) | State::Discovering | State::Standby(_) => {
                if self.handed_over_by_operator || self.replica_incomplete {
                    0
                } else {
                    self.settings.priority
                }
            }
        }
    }

    /// Whether the SM responded and is ignored.
    #[must_use]
    pub fn ignores(&self, guid: PortGuid) -> bool {
        self.ignored.contains(guid)
    }

    /// The rank of this SM.
    #[must_use]
    pub fn rank(&self) -> SmRank {
        SmRank {
            priority: self.priority(),
            guid: self.me,
        }
    }

    /// Whether this SM may configure the subnet: it is master, and neither offers the subnet nor waits for another master.
    #[must_use]
    pub const fn may_write(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Active))
    }

    /// Whether this SM sent HANDOVER and does not know yet whether the other SM took over.
    #[must_use]
    pub const fn is_offering(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Offering(_)))
    }

    /// Whether this SM has stopped, or will stop after another SM has taken over or the wait for a successor has ended.
    #[must_use]
    pub const fn is_stopping(&self) -> bool {
        match self.state {
            State::Master(MasterState::Offering(offer)) => {
                matches!(offer.then, AfterHandover::Stop)
            }
            State::Master(MasterState::Leaving(_)) | State::NotActive(InactiveReason::Stopped) => {
                true
            }
            State::Master(MasterState::Active | MasterState::Waiting(_))
            | State::NotActive(InactiveReason::Disabled | InactiveReason::Managed)
            | State::Discovering
            | State::Standby(_) => false,
        }
    }

    /// The SM whose response is awaited: the polled master, the SM offered the subnet, or the master expected to hand over.
    #[must_use]
    pub const fn other(&self) -> Option<PortGuid> {
        match &self.state {
            State::Standby(watch) => Some(watch.of),
            State::Master(MasterState::Offering(offer)) => Some(offer.to),
            State::Master(MasterState::Waiting(wait)) => Some(wait.of),
            State::NotActive(_)
            | State::Discovering
            | State::Master(MasterState::Active | MasterState::Leaving(_)) => None,
        }
    }

    /// When [`ElectionInput::Timer`] is due.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Processes one input. The decisions are to be carried out in order.
    #[must_use]
    pub fn step(&mut self, now: Instant, input: ElectionInput) -> Vec<Decision> {
        let mut out = Vec::new();
        match input {
            ElectionInput::SmInfoReceived(peer) => {
                if self.takes_part(now, &peer, &mut out) {
                    self.on_sm_info(now, &peer, &mut out);
                } else {
                    self.on_poll_unanswered(now, peer.guid, 1, &mut out);
                }
            }
            ElectionInput::PollUnanswered { guid, paths } => {
                self.on_poll_unanswered(now, guid, paths, &mut out)
            }
            ElectionInput::ControlReceived { control, from } => {
                self.on_control(now, control, &from, &mut out)
            }
            ElectionInput::ControlAnswered {
                guid,
                control: SmControl::Handover,
                accepted,
            } => {
                self.on_offer_answered(now, guid, accepted, &mut out);
            }
            ElectionInput::ControlUnanswered {
                guid,
                control: SmControl::Handover,
            } => {
                self.on_offer_unanswered(now, guid, &mut out);
            }
            // ACKNOWLEDGE is optional: an SM that misses it sends HANDOVER again.
            ElectionInput::ControlAnswered { .. } | ElectionInput::ControlUnanswered { .. } => {}
            ElectionInput::ScanCompleted { mut seen, managed } => {
                self.ignored.on_scan_completed(&seen, &mut out);
                seen.retain(|p| p.guid != self.me && self.takes_part(now, p, &mut out));
                self.on_scan_completed(now, &seen, managed, &mut out);
            }
            ElectionInput::PriorityTrapReceived => {
                if self.state() == SmState::Master {
                    out.push(Decision::ScanSms);
                }
            }
            ElectionInput::SetPriority(priority) => self.on_priority(priority, &mut out),
            ElectionInput::HandOver { then, mut others } => {
                others.retain(|p| p.guid != self.me && self.takes_part(now, p, &mut out));
                self.on_hand_over(now, then, &others, &mut out);
            }
            ElectionInput::TakeOver => self.on_take_over(&mut out),
            ElectionInput::Deposed(by) => {
                self.on_mastership_lost(RoleChangeReason::Deposed(by), &mut out)
            }
            ElectionInput::LinkDown => {
                self.on_mastership_lost(RoleChangeReason::LinkDown, &mut out)
            }
            ElectionInput::Timer => {
                if self.due.is_some_and(|due| due <= now) {
                    self.on_timer(now, &mut out);
                }
            }
        }
        out
    }

    /// Why an SM is ignored, if it is.
    fn reason_to_ignore(&self, peer: &OtherSm) -> Option<ElectionNotice> {
        let allowed = self.settings.allowed.as_ref();
        if allowed.is_some_and(|a| !a.contains(&peer.guid)) {
            return Some(ElectionNotice::SmNotAllowed(peer.guid, peer.state));
        }
        (!peer.sm_key_matches).then_some(ElectionNotice::SmKeyMismatch(peer.guid))
    }

    /// Whether an SM that responded takes part in the election. Reports an SM that is ignored.
    fn takes_part(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) -> bool {
        let outsider = self.reason_to_ignore(peer);
        match outsider {
            Some(notice) => self.ignored.on_answer(now, peer.guid, notice, out),
            None => self.ignored.remove(peer.guid),
        }
        outsider.is_none()
    }

    /// Whether a control of this SM may be accepted. An SM that is ignored may have forged its GUID, so it counts as absent.
    fn may_send_control(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) -> bool {
        let outsider = self.reason_to_ignore(peer);
        if let Some(notice) = outsider {
            self.ignored.on_request(now, peer.guid, notice, out);
        }
        outsider.is_none()
    }

    /// Whether this SM yields to the other one: the other competes, outranks this one and did not refuse.
    fn is_preferred(&self, peer: &OtherSm) -> bool {
        peer.competes() && peer.rank() > self.rank() && !self.declined.contains_key(&peer.guid)
    }

    fn record_refusal(&mut self, peer: &OtherSm) {
        let offered = match &self.state {
            State::Master(_) => true,
            State::Standby(watch) => watch.accepted,
            State::NotActive(_) | State::Discovering => false,
        };
        let refusal = Refusal {
            priority: peer.priority,
            state: peer.state,
            act_count: peer.act_count,
            offered,
        };
        self.declined.insert(peer.guid, refusal);
    }

    /// Removes refusals of SMs whose state or priority has changed or whose ActCount has restarted, and of SMs that did not respond.
    fn expire_refusals(&mut self, seen: &[OtherSm]) {
        self.declined.retain(|guid, then| {
            seen.iter().any(|p| {
                p.guid == *guid
                    && (p.priority, p.state) == (then.priority, then.state)
                    && p.act_count >= then.act_count
            })
        });
    }

    /// An SMInfo scan, in a sweep or outside one, is complete.
    fn on_scan_completed(
        &mut self,
        now: Instant,
        seen: &[OtherSm],
        managed: bool,
        out: &mut Vec<Decision>,
    ) {
        match self.state {
            State::Discovering => {
                self.expire_refusals(seen);
                self.finish_discovery(now, seen, managed, out);
            }
            State::Master(_) => {
                self.expire_refusals(seen);
                self.compare_sms(now, seen, out);
            }
            // The scan was started in an earlier state.
            State::NotActive(_) | State::Standby(_) => {}
        }
    }

    /// End of discovery (docs/sm-behaviour.md, 8.3): yields to a master of any rank, then to a higher-ranked SM, otherwise becomes master.
    fn finish_discovery(
        &mut self,
        now: Instant,
        seen: &[OtherSm],
        managed: bool,
        out: &mut Vec<Decision>,
    ) {
        let best = |is_candidate: &dyn Fn(&&OtherSm) -> bool| {
            let candidates = seen.iter().filter(|p| is_candidate(p));
            candidates.max_by_key(|p| p.rank()).copied()
        };
        let preferred = best(&|p| p.is_master()).or_else(|| best(&|p| self.is_preferred(p)));
        if let Some(peer) = preferred {
            if peer.is_master() && self.rank() > peer.rank() {
                out.push(Decision::SendPriorityTrap { to: peer.guid });
            }
            self.enter_standby(now, peer.guid, RoleChangeReason::Yielded(peer), out);
        } else if managed && self.settings.refuse_managed && !self.knows_subnet {
            out.push(Decision::Notice(ElectionNotice::ManagedSubnetRefused));
            self.enter_not_active(
                InactiveReason::Managed,
                RoleChangeReason::SubnetManaged,
                out,
            );
        } else {
            self.become_master(RoleChangeReason::HighestRanked, out);
        }
    }

    fn on_priority(&mut self, priority: u8, out: &mut Vec<Decision>) {
        if priority == self.settings.priority {
            // A reload does not undo a handover that the operator requested.
            return;
        }
        let before = self.rank();
        self.handed_over_by_operator = false;
        self.settings.priority = priority;
        if self.rank() == before {
            return;
        }
        match &self.state {
            State::Standby(watch) => out.push(Decision::SendPriorityTrap { to: watch.of }),
            State::Master(_) => out.push(Decision::ScanSms),
            State::NotActive(_) | State::Discovering => {}
        }
    }

    fn on_hand_over(
        &mut self,
        now: Instant,
        then: AfterHandover,
        others: &[OtherSm],
        out: &mut Vec<Decision>,
    ) {
        match (&mut self.state, then) {
            (State::NotActive(_) | State::Discovering | State::Standby(_), AfterHandover::Stop) => {
                self.stop(None, out);
            }
            (
                State::NotActive(_) | State::Discovering | State::Standby(_),
                AfterHandover::StandBy,
            ) => {
                out.push(Decision::Notice(ElectionNotice::NoSuccessor));
            }
            (State::Master(MasterState::Offering(offer)), _) => {
                // A later command does not cancel a stop.
                offer.then = offer.then.max(then);
                offer.reason = OfferReason::Operator;
            }
            (State::Master(MasterState::Leaving(leave)), _) => {
                let leave = *leave;
                self.prepare_stop(now, leave, others, out);
            }
            (State::Master(MasterState::Active | MasterState::Waiting(_)), AfterHandover::Stop) => {
                self.prepare_stop(now, Leaving { scans: 0 }, others, out);
            }
            (
                State::Master(MasterState::Active | MasterState::Waiting(_)),
                AfterHandover::StandBy,
            ) => {
                // After the handover this SM has priority 0. A successor that it outranks then would hand the subnet back.
                let least = SmRank {
                    priority: 0,
                    guid: self.me,
                };
                // The rank of an SM that is not ready may still change.
                let may = |p: &&OtherSm| p.competes() && (p.rank() > least || !p.is_ready());
                let candidates = others.iter().filter(may);
                match candidates.max_by_key(|p| (p.state, p.rank())) {
                    Some(peer) if peer.is_ready() => {
                        self.offer(now, peer.guid, then, OfferReason::Operator, out);
                    }
                    Some(peer) => out.push(Decision::Notice(ElectionNotice::SuccessorNotReady(
                        peer.guid,
                    ))),
                    None => out.push(Decision::Notice(ElectionNotice::NoSuccessor)),
                }
            }
        }
    }

    fn on_take_over(&mut self, out: &mut Vec<Decision>) {
        match self.state {
            State::NotActive(InactiveReason::Stopped) | State::Standby(_) | State::Master(_) => {}
            State::NotActive(InactiveReason::Disabled | InactiveReason::Managed) => {
                self.knows_subnet = true;
                self.restart_discovery(RoleChangeReason::OperatorRequest, out);
            }
            State::Discovering => self.knows_subnet = true,
        }
    }

    /// This SM cannot or must not remain master: it stops if it is to stop, otherwise restarts discovery.
    fn on_mastership_lost(&mut self, why: RoleChangeReason, out: &mut Vec<Decision>) {
        match &self.state {
            State::Master(MasterState::Offering(offer)) if offer.then == AfterHandover::Stop => {
                self.stop(None, out);
            }
            State::Master(MasterState::Leaving(_)) => self.stop(None, out),
            State::Master(_) => self.restart_discovery(why, out),
            // A standby misses its polls and restarts discovery for that reason.
            State::NotActive(_) | State::Discovering | State::Standby(_) => {}
        }
    }

    fn on_sm_info(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) {
        match &self.state {
            State::Standby(watch) if watch.of == peer.guid => self.on_master_polled(peer, out),
            State::Master(duty) if duty.other() == Some(peer.guid) => {
                self.on_other_sm_info(now, peer, out);
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {}
        }
    }

    fn on_poll_unanswered(
        &mut self,
        now: Instant,
        guid: PortGuid,
        paths: u8,
        out: &mut Vec<Decision>,
    ) {
        match &self.state {
            State::Standby(watch) if watch.of == guid => self.on_master_poll_missed(paths, out),
            State::Master(duty) if duty.other() == Some(guid) => {
                self.on_other_poll_missed(now, paths, out);
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {}
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Decision>) {
        match &self.state {
            State::NotActive(_) | State::Discovering | State::Master(MasterState::Active) => {
                self.due = None;
            }
            State::Standby(watch) => {
                out.push(Decision::Poll {
                    to: watch.of,
                    path: watch.missed,
                });
                self.due = Some(now + self.settings.interval_for(watch.of));
            }
            State::Master(MasterState::Waiting(wait)) => {
                out.push(Decision::Poll {
                    to: wait.of,
                    path: wait.missed,
                });
                self.due = Some(now + self.settings.interval_for(wait.of));
            }
            State::Master(MasterState::Offering(_)) => self.on_offer_timeout(now, out),
            State::Master(MasterState::Leaving(_)) => self.scan_for_successor(now, out),
        }
    }

    fn restart_discovery(&mut self, why: RoleChangeReason, out: &mut Vec<Decision>) {
        self.state = State::Discovering;
        self.due = None;
        out.push(Decision::EnterState {
            state: SmState::Discovering,
            why,
        });
        out.push(Decision::Sweep);
    }

    fn enter_standby(
        &mut self,
        now: Instant,
        of: PortGuid,
        why: RoleChangeReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::Standby(Watch::new(of));
        self.knows_subnet = true;
        self.due = Some(now + self.settings.interval_for(of));
        out.push(Decision::EnterState {
            state: SmState::Standby,
            why,
        });
    }

    fn become_master(&mut self, why: RoleChangeReason, out: &mut Vec<Decision>) {
        self.state = State::Master(MasterState::Active);
        self.handed_over_by_operator = false;
        self.knows_subnet = true;
        self.due = None;
        // An SM that did not become master without an offer is offered the subnet once.
        self.declined.retain(|_, refusal| refusal.offered);
        out.push(Decision::EnterState {
            state: SmState::Master,
            why,
        });
    }

    fn enter_not_active(
        &mut self,
        idle: InactiveReason,
        why: RoleChangeReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::NotActive(idle);
        self.due = None;
        out.push(Decision::EnterState {
            state: SmState::NotActive,
            why,
        });
    }

    fn stop(&mut self, handed_to: Option<PortGuid>, out: &mut Vec<Decision>) {
        let why = handed_to.map_or(
            RoleChangeReason::OperatorRequest,
            RoleChangeReason::HandedOverTo,
        );
        self.enter_not_active(InactiveReason::Stopped, why, out);
        out.push(Decision::Stop { handed_to });
    }
}
