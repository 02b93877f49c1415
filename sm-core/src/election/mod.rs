//! The election: which SM is master (IBA vol. 1, 14.4; docs/sm-behaviour.md, 8). A step function
//! without I/O.
//!
//! Owned by the subnet manager, which sends and receives the MADs and carries out the decisions.
//! [`Election::may_write`] states whether this SM may configure the subnet,
//! [`Election::may_register`] whether it may acknowledge SA registrations, and
//! [`Election::reported_state`] and [`Election::priority`] what its SMInfo contains.
//!
//! # States
//!
//! NotActive; Discovering; Standby, which polls one SM; and Master in one of five states: *active*;
//! *verifying* its role by an SMInfo scan, because its process *stalled*, it lost its lease, or it
//! is *handing over* at the operator's request; *offering* the subnet to another SM; *waiting* for
//! a lower-ranked master to hand over (IBA C14-60.2.1); *leaving*, which is to stop and waits for a
//! successor. Only an active master writes.
//!
//! # How exactly one master remains
//!
//! * An offering master stops writing before it sends HANDOVER and becomes standby after the other
//!   SM has taken over. If the response is lost, it sends HANDOVER again and finally polls the
//!   other SM: only an SM that is master has taken over.
//! * Of two masters the lower-ranked hands over and the higher-ranked waits. If it waits longer
//!   than [`ElectionSettings::wait_polls`], it hands over to the lower-ranked one and raises an
//!   alarm.
//! * A standby considers its master dead only after missed polls over several paths. It then
//!   restarts discovery instead of becoming master at once.
//! * This SM also waits no longer than `wait_polls` for a higher-ranked SM to become master.
//! * An SM that is starting or has no complete replica is not handed the subnet. A master that is
//!   to stop repeats the SMInfo scan for a while, and hands over to such an SM only if there is no
//!   other.
//! * An SM with another M_Key could not configure the subnet: it is not handed the subnet. If it
//!   was the polled master, the standby discovers the subnet at the next poll.
//! * An SM that handed over on the operator's request has priority 0 until it is master again or
//!   its priority is set. The handover goes to an SM that outranks it then, so the subnet is not
//!   handed back.
//! * A standby with an incomplete replica has priority 0, too: a standby with a complete one
//!   outranks it when the master fails. It reports Discovering, so that no master hands over to it.
//! * A master that stalled or lost its lease reports Discovering until a scan that began afterwards
//!   is complete; a second stall starts another scan. If the scan finds a master of any rank, that
//!   one stays master, because its state is newer.
//!
//! `tests/election_model` checks over all orders of events, with MADs lost, delayed and duplicated,
//! that an SM that has handed over does not write, and that one master remains in each fragment of
//! the subnet once faults end.
//!
//! # State transitions
//!
//! Rows are inputs, columns are states. A test generates the table from the step function and
//! compares it. Inputs come from the SM that is polled, offered the subnet or waited for; *higher*
//! and *lower* compare its rank with this SM's. The limits are one missed poll, one HANDOVER, one
//! scan and two `wait_polls`, so that a cell shows the final result of repeated failures. *sweep*
//! is a full sweep, *scan* an SMInfo scan, *rescan* one that abandons a scan in progress; the state
//! in bold is the new state. The last rows are outputs of the state.
//!
#![doc = include_str!("transitions.md")]

mod controls;
mod ignored_sms;
mod io;
mod master;
mod other_sm;
mod outputs;
mod settings;
mod standby;
#[cfg(test)]
mod table;
mod verification;

use std::collections::BTreeMap;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

pub use io::{
    AfterHandover, ControlSource, Decision, ElectionInput, ElectionNotice, HandoverReason,
    PollLimit, RoleChangeReason,
};
pub use other_sm::{IgnoreReason, OtherSm, SmMKey, SmRank};
pub use settings::ElectionSettings;

use ignored_sms::IgnoredSms;
use master::{MasterState, Offer};
use standby::PolledSm;

/// The SM state and its data.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    NotActive(InactiveReason),
    Discovering,
    Standby(PolledSm),
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

/// The last SMInfo of an SM that did not take over, or did not become master although it outranks
/// this one. The SM is offered the subnet again when its SMInfo has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Refusal {
    priority: u8,
    state: SmState,
    act_count: u32,
    /// It was offered the subnet. Otherwise this SM only waited for it, and it may be waiting for
    /// an offer.
    offered: bool,
}

/// The replica of the master's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Replica {
    /// It lacks records, as far as replication knows.
    is_incomplete: bool,
    /// It lacked records when this SM was last standby, and no master has been elected since: other
    /// standbys may have them.
    was_incomplete: bool,
    /// This SM takes over and the replica is being loaded: SA registrations must wait.
    is_loading: bool,
}

/// The election state of this SM. A step depends only on this value, the time and the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Election {
    own_guid: PortGuid,
    settings: ElectionSettings,
    state: State,
    /// When the next poll is due, or the wait for a response ends.
    due: Option<Instant>,
    /// This SM handed over on the operator's request.
    handed_over_by_operator: bool,
    replica: Replica,
    /// This SM would remove what the present master configured, without consent: no SM may hand
    /// over to it.
    awaits_consent: bool,
    /// Discovery is the first one, and no SM may hand over to this one before its end.
    is_hidden: bool,
    /// A process that was itself impaired reported that the last master is silent: the master may
    /// be alive.
    silence_uncertain: bool,
    /// This SM was master or saw another one: it may take over a managed subnet.
    knows_subnet: bool,
    refusals: BTreeMap<PortGuid, Refusal>,
    /// SMs that take no part in the election.
    ignored: IgnoredSms,
}

impl Election {
    /// Starts in Discovering. The caller starts a sweep, which ends with
    /// [`ElectionInput::ScanCompleted`].
    #[must_use]
    pub const fn new(own_guid: PortGuid, settings: ElectionSettings) -> Self {
        Self {
            own_guid,
            settings,
            state: State::Discovering,
            due: None,
            handed_over_by_operator: false,
            replica: Replica {
                is_incomplete: false,
                was_incomplete: false,
                is_loading: false,
            },
            awaits_consent: false,
            is_hidden: false,
            silence_uncertain: false,
            knows_subnet: false,
            refusals: BTreeMap::new(),
            ignored: IgnoredSms::new(),
        }
    }

    /// Sets the GUID of the SM's port.
    pub const fn set_guid(&mut self, own_guid: PortGuid) {
        self.own_guid = own_guid;
    }

    /// Replaces the settings except for the priority, which is set by
    /// [`ElectionInput::SetPriority`].
    pub fn set_settings(&mut self, settings: ElectionSettings) {
        let priority = self.settings.priority;
        self.settings = ElectionSettings {
            priority,
            ..settings
        };
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
            ElectionInput::ControlReceived {
                control,
                from,
                source,
            } => self.on_control(now, control, &from, &source, &mut out),
            ElectionInput::ControlUnconfirmed {
                control,
                claimed,
                port,
            } => self.on_unconfirmed_control(now, control, claimed, port, &mut out),
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
                seen.retain(|p| p.guid != self.own_guid && self.takes_part(now, p, &mut out));
                self.on_scan_completed(now, &seen, managed, &mut out);
            }
            ElectionInput::PriorityTrapReceived => {
                if self.state() == SmState::Master {
                    out.push(Decision::ScanSms);
                }
            }
            ElectionInput::SetPriority(priority) => self.on_priority(priority, &mut out),
            ElectionInput::HandOver { then, sms_known } => {
                self.on_hand_over(now, then, sms_known, &mut out);
            }
            ElectionInput::TakeOver => self.on_take_over(&mut out),
            ElectionInput::Stalled { sms_known } => self.on_stalled(sms_known, &mut out),
            ElectionInput::LeaseLost { is_idle, sms_known } => {
                self.on_lease_lost(is_idle, sms_known, &mut out);
            }
            ElectionInput::ReplicaChanged { is_incomplete } => {
                self.on_replica_changed(is_incomplete, &mut out);
            }
            ElectionInput::Hidden(is_hidden) => self.is_hidden = is_hidden,
            ElectionInput::ConsentChanged { is_awaited } => {
                self.on_consent_changed(is_awaited, &mut out);
            }
            ElectionInput::ReplicaLoadEnded => self.replica.is_loading = false,
            ElectionInput::PeerSilent { guid, uncertain } => {
                self.on_peer_silent(guid, uncertain, &mut out);
            }
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
        if self.awaits_consent && matches!(self.state, State::Standby(_)) {
            out.retain(|decision| !matches!(decision, Decision::SendPriorityTrap { .. }));
        }
        out
    }

    /// Why an SM is ignored, if it is.
    #[must_use]
    pub fn ignore_reason(&self, peer: &OtherSm) -> Option<IgnoreReason> {
        let allowed = self.settings.allowed.as_ref();
        if allowed.is_some_and(|a| !a.contains(&peer.guid)) {
            return Some(IgnoreReason::NotAllowed);
        }
        (!peer.sm_key_matches).then_some(IgnoreReason::OtherSmKey)
    }

    /// The report of an SM that is ignored.
    fn reason_to_ignore(&self, peer: &OtherSm) -> Option<ElectionNotice> {
        let reason = self.ignore_reason(peer)?;
        Some(match reason {
            IgnoreReason::NotAllowed => ElectionNotice::SmNotAllowed(peer.guid, peer.state),
            IgnoreReason::OtherSmKey => ElectionNotice::SmKeyMismatch(peer.guid),
        })
    }

    /// Whether an SM that responded takes part in the election. Reports an SM that is ignored.
    fn takes_part(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) -> bool {
        let ignore_reason = self.reason_to_ignore(peer);
        match ignore_reason {
            Some(notice) => self.ignored.on_response(now, peer.guid, notice, out),
            None => self.ignored.remove(peer.guid),
        }
        ignore_reason.is_none()
    }

    /// Whether this SM yields to the other one: the other competes, could configure the subnet,
    /// outranks this one and did not refuse.
    fn is_preferred(&self, peer: &OtherSm) -> bool {
        peer.competes()
            && !peer.lacks_m_key()
            && peer.rank() > self.rank()
            && !self.refusals.contains_key(&peer.guid)
    }

    fn record_refusal(&mut self, peer: &OtherSm) {
        let offered = match &self.state {
            State::Master(_) => true,
            State::Standby(polled) => polled.accepted,
            State::NotActive(_) | State::Discovering => false,
        };
        let refusal = Refusal {
            priority: peer.priority,
            state: peer.state,
            act_count: peer.act_count,
            offered,
        };
        self.refusals.insert(peer.guid, refusal);
    }

    /// Removes refusals of SMs whose state or priority has changed or whose ActCount has restarted,
    /// and of SMs that did not respond.
    fn expire_refusals(&mut self, seen: &[OtherSm]) {
        self.refusals.retain(|guid, refusal| {
            seen.iter().any(|p| {
                p.guid == *guid
                    && (p.priority, p.state) == (refusal.priority, refusal.state)
                    && p.act_count >= refusal.act_count
            })
        });
    }

    /// An SMInfo scan, in a sweep or outside one, is complete.
    fn on_scan_completed(
        &mut self,
        now: Instant,
        seen: &[OtherSm],
        is_managed: bool,
        out: &mut Vec<Decision>,
    ) {
        match self.state {
            State::Discovering => {
                self.expire_refusals(seen);
                self.finish_discovery(now, seen, is_managed, out);
            }
            State::Master(_) => {
                self.expire_refusals(seen);
                self.compare_sms(now, seen, out);
            }
            // The scan was started in an earlier state.
            State::NotActive(_) | State::Standby(_) => {}
        }
    }

    /// End of discovery (docs/sm-behaviour.md, 8.3): yields to a master of any rank, then to a
    /// higher-ranked SM, otherwise becomes master.
    fn finish_discovery(
        &mut self,
        now: Instant,
        seen: &[OtherSm],
        is_managed: bool,
        out: &mut Vec<Decision>,
    ) {
        let best = |is_candidate: &dyn Fn(&&OtherSm) -> bool| {
            let candidates = seen.iter().filter(|p| is_candidate(p));
            candidates.max_by_key(|p| p.rank()).copied()
        };
        let preferred = best(&|p| p.is_master()).or_else(|| best(&|p| self.is_preferred(p)));
        let was_hidden = core::mem::take(&mut self.is_hidden);
        if let Some(peer) = preferred {
            if peer.is_master() && self.rank() > peer.rank() {
                out.push(Decision::SendPriorityTrap { to: peer.guid });
            }
            self.enter_standby(now, peer.guid, RoleChangeReason::Yielded(peer), out);
        } else if is_managed && self.settings.refuse_managed && !self.knows_subnet {
            out.push(Decision::Notice(ElectionNotice::ManagedSubnetRefused));
            self.enter_not_active(
                InactiveReason::Managed,
                RoleChangeReason::SubnetManaged,
                out,
            );
        } else if was_hidden && seen.iter().any(|p| p.state == SmState::NotActive) {
            // That SM may be hidden as well: both see each other in the next scan.
            out.push(Decision::Sweep);
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
            State::Standby(polled) => out.push(Decision::SendPriorityTrap { to: polled.guid }),
            State::Master(_) => out.push(Decision::ScanSms),
            State::NotActive(_) | State::Discovering => {}
        }
    }

    fn on_hand_over(
        &mut self,
        now: Instant,
        after: AfterHandover,
        sms_known: bool,
        out: &mut Vec<Decision>,
    ) {
        match &mut self.state {
            State::NotActive(_) | State::Discovering | State::Standby(_) => match after {
                AfterHandover::Stop => self.stop(None, out),
                AfterHandover::StandBy => {
                    out.push(Decision::Notice(ElectionNotice::NoSuccessor));
                }
            },
            State::Master(master) => match master {
                MasterState::Offering(offer) => {
                    // A later command does not cancel a stop.
                    offer.after = offer.after.max(after);
                    offer.reason = HandoverReason::Operator;
                }
                MasterState::Verifying(verification) => {
                    verification.handover = verification.handover.max(Some(after));
                }
                MasterState::Leaving(_) => out.push(Decision::ScanSms),
                MasterState::Active | MasterState::Waiting(_) => {
                    self.prepare_handover(now, after, sms_known, out);
                }
            },
        }
    }

    fn on_take_over(&mut self, out: &mut Vec<Decision>) {
        match self.state {
            State::Standby(_) if self.doubts_master() => {
                self.restart_discovery(RoleChangeReason::OperatorRequest, out);
            }
            State::NotActive(InactiveReason::Stopped) | State::Standby(_) | State::Master(_) => {}
            State::NotActive(InactiveReason::Disabled | InactiveReason::Managed) => {
                self.knows_subnet = true;
                self.restart_discovery(RoleChangeReason::OperatorRequest, out);
            }
            State::Discovering => self.knows_subnet = true,
        }
    }

    /// This SM cannot or must not remain master: it stops if it is to stop, otherwise restarts
    /// discovery.
    fn on_mastership_lost(&mut self, reason: RoleChangeReason, out: &mut Vec<Decision>) {
        match &self.state {
            State::Master(MasterState::Offering(offer)) if offer.after == AfterHandover::Stop => {
                self.stop(None, out);
            }
            State::Master(MasterState::Verifying(verification)) if verification.is_stopping() => {
                self.enter_discovery(reason, out);
                self.stop(None, out);
            }
            State::Master(MasterState::Leaving(_)) => self.stop(None, out),
            State::Master(_) => self.restart_discovery(reason, out),
            // A standby misses its polls and restarts discovery for that reason.
            State::NotActive(_) | State::Discovering | State::Standby(_) => {}
        }
    }

    fn on_sm_info(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) {
        match &self.state {
            State::Standby(polled) if polled.guid == peer.guid => self.on_poll_answered(peer, out),
            State::Master(master) if master.peer() == Some(peer.guid) => {
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
            State::Standby(polled) if polled.guid == guid => self.on_poll_missed(paths, out),
            State::Master(master) if master.peer() == Some(guid) => {
                self.on_other_poll_missed(now, paths, out);
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {}
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Decision>) {
        match &self.state {
            State::NotActive(_)
            | State::Discovering
            | State::Master(MasterState::Active | MasterState::Verifying(_)) => {
                self.due = None;
            }
            State::Standby(polled) => {
                out.push(Decision::Poll {
                    to: polled.guid,
                    path: polled.missed,
                });
                self.due = Some(now + self.settings.interval_for(polled.guid));
            }
            State::Master(MasterState::Waiting(wait)) => {
                out.push(Decision::Poll {
                    to: wait.guid,
                    path: wait.missed,
                });
                self.due = Some(now + self.settings.interval_for(wait.guid));
            }
            State::Master(MasterState::Offering(_)) => self.on_offer_timeout(now, out),
            State::Master(MasterState::Leaving(_)) => self.scan_for_successor(now, out),
        }
    }

    /// A standby may become master: it loads the replica of the last master's records.
    fn load_replica(&mut self, out: &mut Vec<Decision>) {
        if let State::Standby(_) = self.state {
            self.replica.is_loading = true;
            out.push(Decision::LoadReplica);
        }
    }

    fn enter_discovery(&mut self, reason: RoleChangeReason, out: &mut Vec<Decision>) {
        self.load_replica(out);
        self.state = State::Discovering;
        self.due = None;
        out.push(Decision::EnterState {
            state: SmState::Discovering,
            why: reason,
        });
    }

    fn restart_discovery(&mut self, reason: RoleChangeReason, out: &mut Vec<Decision>) {
        self.enter_discovery(reason, out);
        out.push(Decision::Sweep);
    }

    fn enter_standby(
        &mut self,
        now: Instant,
        polled: PortGuid,
        reason: RoleChangeReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::Standby(PolledSm::new(polled));
        self.end_takeover();
        self.replica.was_incomplete = self.replica.is_incomplete;
        self.knows_subnet = true;
        self.due = Some(now + self.settings.interval_for(polled));
        out.push(Decision::EnterState {
            state: SmState::Standby,
            why: reason,
        });
    }

    fn become_master(&mut self, reason: RoleChangeReason, out: &mut Vec<Decision>) {
        self.load_replica(out);
        self.state = State::Master(MasterState::Active);
        self.end_takeover();
        self.handed_over_by_operator = false;
        self.knows_subnet = true;
        self.due = None;
        // An SM that did not become master without an offer is offered the subnet once.
        self.refusals.retain(|_, refusal| refusal.offered);
        out.push(Decision::EnterState {
            state: SmState::Master,
            why: reason,
        });
    }

    /// This SM is master, standby or not active: no takeover is in progress.
    const fn end_takeover(&mut self) {
        self.replica.was_incomplete = false;
        self.silence_uncertain = false;
    }

    fn enter_not_active(
        &mut self,
        inactive: InactiveReason,
        reason: RoleChangeReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::NotActive(inactive);
        self.end_takeover();
        self.due = None;
        out.push(Decision::EnterState {
            state: SmState::NotActive,
            why: reason,
        });
    }

    /// This SM stops, after it handed the subnet over as `offer` states, if it did.
    fn stop(&mut self, offer: Option<Offer>, out: &mut Vec<Decision>) {
        let was_master = self.state() == SmState::Master;
        let handed_to = offer.map(|offer| offer.to);
        let reason = offer.map_or(RoleChangeReason::OperatorRequest, |offer| {
            RoleChangeReason::HandedOverTo(offer.to, offer.reason)
        });
        self.enter_not_active(InactiveReason::Stopped, reason, out);
        out.push(Decision::Stop {
            handed_to,
            was_master,
        });
    }
}
