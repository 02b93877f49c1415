//! Which subnet manager is in charge: the election of IBA volume 1, 14.4, as a value without I/O (behaviour rule 8).
//!
//! Owned by the subnet manager, which asks and is asked on the wire, and does what comes out. It never sends, never reads a
//! clock, and writes nothing to the subnet: [`Election::may_write`] says whether anybody may.
//!
//! # States
//!
//! NotActive, Discovering, Standby (of one SM, which is watched), and Master, which is one of four: in charge; *offering* the
//! subnet to another SM; *waiting* for a lower master to hand over (IBA C14-60.2.1); *leaving*, which is to end and waits until
//! somebody can take the subnet. Only the first of them writes.
//!
//! # What keeps it to one master
//!
//! * A master that offers stops writing before it asks, and is standby only once the other says that it took over. Where
//!   that word is lost it asks again, and in the end asks what the other *is*: a master took over, anything else did not.
//! * Of two masters the lower hands over, the higher waits. A lower one that does not within [`ElectionSettings::patience`]
//!   gets the subnet itself, so two are never master for ever; that is an alarm.
//! * A standby believes that its master is dead only after polls over several ways, and then looks at the subnet again
//!   rather than becoming master at once.
//! * A better SM that never becomes master is not waited for longer than that patience either.
//! * One that still starts or copies is not handed the subnet. A master that is to end looks again for a while, and gives it to
//!   such a one only where nobody else is there.
//! * An SM that the operator took the subnet from has priority 0 until it is master again or gets another priority, and only
//!   those are chosen that it does not outrank then. So the subnet does not come back at once.
//! * A standby without a whole copy of its master's state has priority 0, too: when the master dies, one that has the copy goes before.
//!
//! Both claims are checked over all orders of events, with MADs that are lost, late and doubled, in `tests/election_model`.
//!
//! # All transitions
//!
//! A row for each input, a column for each state; a test makes the table from the machine and compares. `other` is the SM
//! that is watched, offered to or waited for, and that each input is of; *higher* and *lower* compare it with this one. Made with
//! one missed poll, one HANDOVER, one look and a patience of two, so a cell shows what follows at last where several are missed. *sweep*
//! reads everything anew, *look* asks the SMs only, a bold word is the state after.
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

/// The state, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    NotActive(InactiveReason),
    Discovering,
    Standby(Watch),
    Master(MasterState),
}

/// Why an SM does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum InactiveReason {
    /// A master disabled it.
    Disabled,
    /// The subnet has another manager that does not answer.
    Managed,
    /// It is about to end.
    Stopped,
}

/// What an SM was that did not take over, or was better and never became master. Once it is something else it counts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Refusal {
    priority: u8,
    state: SmState,
    act_count: u32,
    /// It was offered the subnet; otherwise it was only waited for, and may wait for an offer itself.
    offered: bool,
}

/// One SM's part in the election. A step depends on this value, the time and the input, and on nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Election {
    me: PortGuid,
    settings: ElectionSettings,
    state: State,
    /// When to poll, or to stop waiting for an answer.
    due: Option<Instant>,
    /// The operator took the subnet from this SM.
    handed_over_by_operator: bool,
    /// This SM was standby and has no whole copy of what its master keeps.
    replica_incomplete: bool,
    /// A master was seen or this one was master: taking the subnet is no accident.
    knows_subnet: bool,
    declined: BTreeMap<PortGuid, Refusal>,
    /// Those that are ignored.
    ignored: IgnoredSms,
}

impl Election {
    /// One that begins to discover: a sweep is to follow, and then [`ElectionInput::ScanCompleted`].
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

    /// The port is known now, or another one.
    pub const fn set_guid(&mut self, me: PortGuid) {
        self.me = me;
    }

    /// Whether another SM may know what this one does not, when their master is gone: then that one goes before.
    pub const fn set_replica_incomplete(&mut self, lacks: bool) {
        self.replica_incomplete = lacks;
    }

    /// Other settings; a different priority is to be told by [`ElectionInput::SetPriority`].
    pub fn set_settings(&mut self, settings: ElectionSettings) {
        let priority = self.settings.priority;
        self.settings = ElectionSettings {
            priority,
            ..settings
        };
    }

    /// What SMInfo says.
    #[must_use]
    pub const fn state(&self) -> SmState {
        match self.state {
            State::NotActive(_) => SmState::NotActive,
            State::Discovering => SmState::Discovering,
            State::Standby(_) => SmState::Standby,
            State::Master(_) => SmState::Master,
        }
    }

    /// What SMInfo says.
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

    /// Whether that SM is there and takes no part.
    #[must_use]
    pub fn ignores(&self, guid: PortGuid) -> bool {
        self.ignored.contains(guid)
    }

    /// What it is compared by.
    #[must_use]
    pub fn rank(&self) -> SmRank {
        SmRank {
            priority: self.priority(),
            guid: self.me,
        }
    }

    /// Whether the subnet is this SM's to configure. A master that offers it, or waits for another master, must not.
    #[must_use]
    pub const fn may_write(&self) -> bool {
        matches!(self.state, State::Master(MasterState::Active))
    }

    /// The SM whose answer is waited for: watched as standby, offered the subnet, or to hand over.
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

    /// When [`ElectionInput::Timer`] is wanted.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Takes one input. What comes out is to be done in this order.
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
            // An acknowledgement is a courtesy: who misses it asks again.
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

    /// Why an SM takes no part, if it does not.
    fn reason_to_ignore(&self, peer: &OtherSm) -> Option<ElectionNotice> {
        let allowed = self.settings.allowed.as_ref();
        if allowed.is_some_and(|a| !a.contains(&peer.guid)) {
            return Some(ElectionNotice::SmNotAllowed(peer.guid, peer.state));
        }
        (!peer.sm_key_matches).then_some(ElectionNotice::SmKeyMismatch(peer.guid))
    }

    /// Whether an SM that answered takes part at all; tells if it does not.
    fn takes_part(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) -> bool {
        let outsider = self.reason_to_ignore(peer);
        match outsider {
            Some(notice) => self.ignored.on_answer(now, peer.guid, notice, out),
            None => self.ignored.forget(peer.guid),
        }
        outsider.is_none()
    }

    /// The same of one that asks: whether it is there is not known by that.
    fn may_send_control(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) -> bool {
        let outsider = self.reason_to_ignore(peer);
        if let Some(notice) = outsider {
            self.ignored.on_request(now, peer.guid, notice, out);
        }
        outsider.is_none()
    }

    /// Whether it wants to be master rather than this SM, and was not found to be declined.
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

    /// Forgets refusals of those that are not any more what they were.
    fn expire_refusals(&mut self, seen: &[OtherSm]) {
        self.declined.retain(|guid, then| {
            seen.iter().any(|p| {
                p.guid == *guid
                    && (p.priority, p.state) == (then.priority, then.state)
                    && p.act_count >= then.act_count
            })
        });
    }

    /// Every sweep that has read the SMs ends here.
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
            // Begun as another, and of no use to this one.
            State::NotActive(_) | State::Standby(_) => {}
        }
    }

    /// The end of discovery (behaviour rule 8.3): a master of any rank goes before, then a better one, then this one is it.
    fn finish_discovery(
        &mut self,
        now: Instant,
        seen: &[OtherSm],
        managed: bool,
        out: &mut Vec<Decision>,
    ) {
        let best = |wanted: &dyn Fn(&&OtherSm) -> bool| {
            let those = seen.iter().filter(|p| wanted(p));
            those.max_by_key(|p| p.rank()).copied()
        };
        let ahead = best(&|p| p.is_master()).or_else(|| best(&|p| self.is_preferred(p)));
        if let Some(peer) = ahead {
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
            // ElectionSettings were read again: what an operator has done otherwise stays.
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
                offer.then = then;
                offer.reason = OfferReason::Operator;
            }
            (State::Master(MasterState::Leaving(leave)), _) => {
                let leave = *leave;
                self.prepare_stop(now, leave, others, out);
            }
            (State::Master(MasterState::Active | MasterState::Waiting(_)), AfterHandover::Stop) => {
                self.prepare_stop(now, Leaving { looks: 0 }, others, out);
            }
            (
                State::Master(MasterState::Active | MasterState::Waiting(_)),
                AfterHandover::StandBy,
            ) => {
                // A lower one than this will be would only give it back.
                let least = SmRank {
                    priority: 0,
                    guid: self.me,
                };
                // What one will rank when it is ready is not known.
                let may = |p: &&OtherSm| p.competes() && (p.rank() > least || !p.is_ready());
                let able = others.iter().filter(may);
                match able.max_by_key(|p| (p.state, p.rank())) {
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

    /// A master cannot be one, or must not: it begins anew.
    fn on_mastership_lost(&mut self, why: RoleChangeReason, out: &mut Vec<Decision>) {
        match &self.state {
            State::Master(MasterState::Offering(offer)) if offer.then == AfterHandover::Stop => {
                self.stop(None, out);
            }
            State::Master(MasterState::Leaving(_)) => self.stop(None, out),
            State::Master(_) => self.restart_discovery(why, out),
            // A standby's polls are not answered, and what follows from that is right here too.
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
        // Who did not become master by itself is offered the subnet once.
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
