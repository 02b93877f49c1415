//! The master's states: active, verifying its role, offering the subnet, waiting for a lower-ranked
//! master, and leaving (docs/sm-behaviour.md, 8.5 to 8.7). Only an active master writes. The other
//! states end by a response, a missed response or a timeout.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{
    AfterHandover, Decision, Election, ElectionNotice, HandoverReason, OtherSm, RoleChangeReason,
    State,
};

/// What the master is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MasterState {
    /// It configures the subnet.
    Active,
    /// It queries the other SMs before it writes again.
    Verifying(Verification),
    /// It sent HANDOVER, and the result is not known yet.
    Offering(Offer),
    /// It waits for another master to hand over.
    Waiting(Wait),
    /// It is to stop, and no other SM is ready to take over.
    Leaving(Leaving),
}

impl MasterState {
    pub(super) const fn peer(&self) -> Option<PortGuid> {
        match self {
            Self::Active | Self::Verifying(_) | Self::Leaving(_) => None,
            Self::Offering(offer) => Some(offer.to),
            Self::Waiting(wait) => Some(wait.guid),
        }
    }
}

/// An SMInfo scan that decides whether this SM is still master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Verification {
    /// The process stalled, or the lease was lost: the state of another master is newer than this
    /// SM's.
    pub is_outdated: bool,
    /// The handover that the operator requested follows the scan.
    pub handover: Option<AfterHandover>,
    pub work: InterruptedWork,
}

/// What the verification interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum InterruptedWork {
    /// No request was in progress.
    Idle,
    /// Requests in progress were abandoned: a full sweep follows.
    Abandoned,
    /// No other SM is known, so the scan is that of a full sweep, which continues afterwards.
    InSweep,
}

impl Verification {
    /// Whether this SM is to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.handover == Some(AfterHandover::Stop)
    }
}

/// A HANDOVER in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Offer {
    /// The receiver.
    pub to: PortGuid,
    /// Unanswered requests.
    pub tries: u8,
    /// HANDOVER was sent often enough; the SM is polled for its state instead.
    pub polling: bool,
    /// What this SM does after the handover.
    pub after: AfterHandover,
    pub reason: HandoverReason,
}

/// A lower-ranked master that is expected to hand over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    /// The master.
    pub guid: PortGuid,
    /// Consecutive polls without a response.
    pub missed: u8,
    /// Polls to which it responded as master.
    pub polls: u8,
}

/// A stop that waits for a successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    /// SMInfo scans so far.
    pub scans: u8,
}

impl Election {
    /// Checks for an SM that outranks this one, and for a second master.
    pub(super) fn compare_sms(&mut self, now: Instant, seen: &[OtherSm], out: &mut Vec<Decision>) {
        let State::Master(state) = self.state else {
            return;
        };
        match state {
            MasterState::Active | MasterState::Waiting(_) => {}
            MasterState::Offering(_) => return,
            MasterState::Verifying(verification) => {
                self.finish_verification(now, verification, seen, out);
                return;
            }
            MasterState::Leaving(leaving) => {
                self.prepare_stop(now, leaving, seen, out);
                return;
            }
        }
        // An SM in Discovering will see this master and become standby. Then it can take over.
        let better = seen
            .iter()
            .filter(|p| p.state != SmState::Discovering && self.is_preferred(p))
            .max_by_key(|p| p.rank());
        if let Some(peer) = better {
            self.offer_to_higher_ranked(now, peer, out);
            return;
        }
        let masters = seen.iter().filter(|p| p.is_master());
        match (masters.max_by_key(|p| p.rank()), state) {
            (Some(peer), MasterState::Waiting(wait)) if wait.guid == peer.guid => {}
            (Some(peer), _) => {
                out.push(Decision::Notice(ElectionNotice::SecondMaster(peer.guid)));
                out.push(Decision::SendPriorityTrap { to: peer.guid });
                self.due = Some(now + self.settings.interval_for(peer.guid));
                self.state = State::Master(MasterState::Waiting(Wait {
                    guid: peer.guid,
                    missed: 0,
                    polls: 0,
                }));
            }
            (None, MasterState::Waiting(_)) => self.resume(out),
            (None, _) => {}
        }
    }

    /// This SM is to stop: it offers the subnet to an SM that is ready. After the last scan it
    /// accepts one that is not ready, which may lack SA registrations.
    pub(super) fn prepare_stop(
        &mut self,
        now: Instant,
        leaving: Leaving,
        seen: &[OtherSm],
        out: &mut Vec<Decision>,
    ) {
        let mut candidates = seen.iter().filter(|p| p.competes());
        let able = candidates.clone().filter(|p| !p.lacks_m_key());
        let Some(peer) = able.max_by_key(|p| (p.state, p.rank())) else {
            let unable = candidates.next().map(|p| p.guid);
            out.extend(unable.map(|guid| Decision::Notice(ElectionNotice::LacksMKey(guid))));
            self.stop(None, out);
            return;
        };
        if peer.is_ready() || leaving.scans >= self.settings.successor_scans_max {
            self.offer(
                now,
                peer.guid,
                AfterHandover::Stop,
                HandoverReason::Operator,
                out,
            );
            return;
        }
        if !matches!(self.state, State::Master(MasterState::Leaving(_))) {
            out.push(Decision::Notice(ElectionNotice::SuccessorNotReady(
                peer.guid,
            )));
            self.due = Some(now + self.settings.successor_scan_interval);
        }
        self.state = State::Master(MasterState::Leaving(leaving));
    }

    /// Starts the next SMInfo scan for a successor.
    pub(super) fn scan_for_successor(&mut self, now: Instant, out: &mut Vec<Decision>) {
        let State::Master(MasterState::Leaving(leaving)) = &mut self.state else {
            return;
        };
        leaving.scans = leaving
            .scans
            .saturating_add(1)
            .min(self.settings.successor_scans_max);
        self.due = Some(now + self.settings.successor_scan_interval);
        out.push(Decision::ScanSms);
    }

    fn offer_to_higher_ranked(&mut self, now: Instant, peer: &OtherSm, out: &mut Vec<Decision>) {
        let reason = HandoverReason::HigherRank {
            priority: peer.priority,
            own_priority: self.priority(),
        };
        self.offer(now, peer.guid, AfterHandover::StandBy, reason, out);
    }

    pub(super) fn offer(
        &mut self,
        now: Instant,
        to: PortGuid,
        after: AfterHandover,
        reason: HandoverReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::Master(MasterState::Offering(Offer {
            to,
            tries: 0,
            polling: false,
            after,
            reason,
        }));
        self.send_handover(now, to, out);
    }

    fn send_handover(&mut self, now: Instant, to: PortGuid, out: &mut Vec<Decision>) {
        self.due = Some(now + self.settings.interval_for(to));
        out.push(Decision::SendControl {
            to,
            control: SmControl::Handover,
        });
    }

    /// The receiver of HANDOVER responded.
    pub(super) fn on_offer_answered(
        &mut self,
        now: Instant,
        guid: PortGuid,
        accepted: bool,
        out: &mut Vec<Decision>,
    ) {
        let State::Master(MasterState::Offering(offer)) = self.state else {
            return;
        };
        if offer.to != guid {
            return;
        }
        if accepted {
            self.handed_over(now, offer, out);
            if let State::Standby(polled) = &mut self.state {
                polled.accepted = true;
            }
        } else if !offer.polling {
            // The other SM also rejects HANDOVER if an earlier one, whose response was lost, made
            // it master.
            self.poll_offered_sm(now, offer, out);
        }
    }

    /// No response to HANDOVER: the receiver may or may not have taken over.
    pub(super) fn on_offer_unanswered(
        &mut self,
        now: Instant,
        guid: PortGuid,
        out: &mut Vec<Decision>,
    ) {
        let tries = self.settings.handover_tries;
        let State::Master(MasterState::Offering(offer)) = &mut self.state else {
            return;
        };
        if offer.to != guid || offer.polling {
            return;
        }
        offer.tries = offer.tries.saturating_add(1);
        let offer = *offer;
        if offer.tries < tries {
            self.send_handover(now, offer.to, out);
        } else {
            self.poll_offered_sm(now, offer, out);
        }
    }

    fn poll_offered_sm(&mut self, now: Instant, offer: Offer, out: &mut Vec<Decision>) {
        self.due = Some(now + self.settings.interval_for(offer.to));
        self.state = State::Master(MasterState::Offering(Offer {
            polling: true,
            tries: 0,
            ..offer
        }));
        out.push(Decision::Poll {
            to: offer.to,
            path: 0,
        });
    }

    /// No response to HANDOVER or to the poll was reported in time.
    pub(super) fn on_offer_timeout(&mut self, now: Instant, out: &mut Vec<Decision>) {
        let State::Master(MasterState::Offering(offer)) = self.state else {
            return;
        };
        if offer.polling {
            self.on_other_poll_missed(now, 1, out);
        } else {
            self.on_offer_unanswered(now, offer.to, out);
        }
    }

    fn handed_over(&mut self, now: Instant, offer: Offer, out: &mut Vec<Decision>) {
        self.handed_over_by_operator = offer.reason == HandoverReason::Operator;
        match offer.after {
            AfterHandover::StandBy => {
                let reason = RoleChangeReason::HandedOverTo(offer.to, offer.reason);
                self.enter_standby(now, offer.to, reason, out);
            }
            AfterHandover::Stop => self.stop(Some(offer), out),
        }
    }

    fn on_offer_not_taken(&mut self, offer: Offer, out: &mut Vec<Decision>) {
        out.push(Decision::Notice(ElectionNotice::HandoverNotTaken(offer.to)));
        match offer.after {
            AfterHandover::Stop => self.stop(None, out),
            AfterHandover::StandBy => self.resume(out),
        }
    }

    /// The master is active again. Another one may have written in between.
    fn resume(&mut self, out: &mut Vec<Decision>) {
        self.state = State::Master(MasterState::Active);
        self.due = None;
        out.push(Decision::Sweep);
    }

    /// The other SM responded to a poll.
    pub(super) fn on_other_sm_info(
        &mut self,
        now: Instant,
        peer: &OtherSm,
        out: &mut Vec<Decision>,
    ) {
        let outranks = self.is_preferred(peer);
        let State::Master(state) = &mut self.state else {
            return;
        };
        match state {
            MasterState::Offering(offer) if offer.polling => {
                let offer = *offer;
                if peer.is_master() {
                    self.handed_over(now, offer, out);
                } else {
                    self.record_refusal(peer);
                    self.on_offer_not_taken(offer, out);
                }
            }
            MasterState::Active
            | MasterState::Verifying(_)
            | MasterState::Offering(_)
            | MasterState::Leaving(_) => {}
            MasterState::Waiting(_) if outranks && peer.is_master() => {
                self.offer_to_higher_ranked(now, peer, out);
            }
            MasterState::Waiting(wait) if peer.is_master() => {
                wait.missed = 0;
                wait.polls = wait.polls.saturating_add(1);
                if wait.polls >= self.settings.wait_polls {
                    out.push(Decision::Notice(ElectionNotice::LowerMasterRemains(
                        peer.guid,
                    )));
                    self.offer(
                        now,
                        peer.guid,
                        AfterHandover::StandBy,
                        HandoverReason::LowerMasterRemains,
                        out,
                    );
                } else {
                    out.push(Decision::SendPriorityTrap { to: peer.guid });
                }
            }
            MasterState::Waiting(_) => self.resume(out),
        }
    }

    /// The other SM did not respond to a poll.
    pub(super) fn on_other_poll_missed(
        &mut self,
        now: Instant,
        paths: u8,
        out: &mut Vec<Decision>,
    ) {
        let State::Master(state) = &mut self.state else {
            return;
        };
        let Some(peer) = state.peer() else {
            return;
        };
        let allowed = self.settings.missed_polls_for(peer, paths);
        let interval = self.settings.interval_for(peer);
        match state {
            MasterState::Offering(offer) if offer.polling => {
                offer.tries = offer.tries.saturating_add(1);
                if offer.tries < allowed {
                    out.push(Decision::Poll {
                        to: offer.to,
                        path: offer.tries,
                    });
                    self.due = Some(now + interval);
                } else {
                    let offer = *offer;
                    self.on_offer_not_taken(offer, out);
                }
            }
            MasterState::Active
            | MasterState::Verifying(_)
            | MasterState::Offering(_)
            | MasterState::Leaving(_) => {}
            MasterState::Waiting(wait) => {
                wait.missed = wait.missed.saturating_add(1);
                if wait.missed >= allowed {
                    self.resume(out);
                }
            }
        }
    }

    /// Another master hands over: a sweep verifies what it configured.
    pub(super) fn on_handover_received(&mut self, from: &OtherSm, out: &mut Vec<Decision>) {
        let higher = from.rank() > self.rank();
        let State::Master(state) = self.state else {
            return;
        };
        // A master that is to stop accepts no subnet; it hands over its own to a master. One with
        // outdated state may be reading a request from before the stall, whose sender is master
        // again.
        let rejects = match state {
            MasterState::Leaving(_) => true,
            MasterState::Verifying(verification) => {
                verification.is_outdated || verification.is_stopping()
            }
            MasterState::Active | MasterState::Offering(_) | MasterState::Waiting(_) => false,
        };
        if rejects {
            out.push(Decision::Reply { accepted: false });
            return;
        }
        if let MasterState::Offering(offer) = state {
            // Both offers crossed. The higher-ranked of the two SMs takes over.
            let leaving = offer.after == AfterHandover::Stop;
            if offer.to == from.guid && (higher || leaving) {
                out.push(Decision::Reply { accepted: false });
                return;
            }
            out.push(Decision::Reply { accepted: true });
            if offer.to == from.guid {
                self.resume(out);
            }
            return;
        }
        out.push(Decision::Reply { accepted: true });
        self.resume(out);
    }
}
