//! Master: in charge, offering the subnet to another SM, waiting for a lower master (behaviour rules 8.5 to 8.7), or about to end
//! and waiting for somebody who can take the subnet. Only one in charge writes; the others end by an answer, by silence or by
//! patience, never by nothing.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{AfterHandover, Decision, Election, ElectionNotice, OtherSm, RoleChangeReason, State};

/// What a master is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MasterState {
    /// Configures the subnet.
    Active,
    /// Sent HANDOVER and is not sure yet what became of it.
    Offering(Offer),
    /// Another master is to hand over.
    Waiting(Wait),
    /// This SM is to end, and nobody is ready yet to take the subnet.
    Leaving(Leaving),
}

impl MasterState {
    pub(super) const fn other(&self) -> Option<PortGuid> {
        match self {
            Self::Active | Self::Leaving(_) => None,
            Self::Offering(offer) => Some(offer.to),
            Self::Waiting(wait) => Some(wait.of),
        }
    }
}

/// A HANDOVER that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Offer {
    /// To whom.
    pub to: PortGuid,
    /// How often it was sent without an answer.
    pub tries: u8,
    /// Whether it was given up, and the other only asked what it is.
    pub polling: bool,
    /// What follows.
    pub then: AfterHandover,
    /// Why it is offered.
    pub reason: OfferReason,
}

/// Why a subnet is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OfferReason {
    /// The other ranks higher.
    HigherRank,
    /// The other ranks lower and is master all the same.
    LowerMasterRemains,
    /// The operator wants it.
    Operator,
}

/// Another master that ranks lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    /// Who.
    pub of: PortGuid,
    /// Polls in a row without an answer.
    pub missed: u8,
    /// Polls that it answered as master.
    pub polls: u8,
}

/// An end that is put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    /// Looks for an SM that is ready, so far.
    pub looks: u8,
}

impl Election {
    /// Looks whether there is a better SM or another master.
    pub(super) fn compare_sms(&mut self, now: Instant, seen: &[OtherSm], out: &mut Vec<Decision>) {
        let State::Master(duty) = self.state else {
            return;
        };
        match duty {
            MasterState::Active | MasterState::Waiting(_) => {}
            MasterState::Offering(_) => return,
            MasterState::Leaving(leave) => {
                self.prepare_stop(now, leave, seen, out);
                return;
            }
        }
        // One that discovers will see this one as master, and stand by. Then it can take over.
        let better = seen
            .iter()
            .filter(|p| p.state != SmState::Discovering && self.is_preferred(p))
            .max_by_key(|p| p.rank());
        if let Some(peer) = better {
            self.offer(
                now,
                peer.guid,
                AfterHandover::StandBy,
                OfferReason::HigherRank,
                out,
            );
            return;
        }
        let masters = seen.iter().filter(|p| p.is_master());
        match (masters.max_by_key(|p| p.rank()), duty) {
            (Some(peer), MasterState::Waiting(wait)) if wait.of == peer.guid => {}
            (Some(peer), _) => {
                out.push(Decision::Notice(ElectionNotice::SecondMaster(peer.guid)));
                out.push(Decision::SendPriorityTrap { to: peer.guid });
                self.due = Some(now + self.settings.interval_for(peer.guid));
                self.state = State::Master(MasterState::Waiting(Wait {
                    of: peer.guid,
                    missed: 0,
                    polls: 0,
                }));
            }
            (None, _) => {
                self.due = None;
                self.state = State::Master(MasterState::Active);
            }
        }
    }

    /// This SM is to end. Whoever is ready gets the subnet; one that still starts or copies only where nobody else becomes ready:
    /// it may know nothing of what hosts registered.
    pub(super) fn prepare_stop(
        &mut self,
        now: Instant,
        leave: Leaving,
        seen: &[OtherSm],
        out: &mut Vec<Decision>,
    ) {
        let able = seen.iter().filter(|p| p.competes());
        let Some(peer) = able.max_by_key(|p| (p.state, p.rank())) else {
            out.push(Decision::Notice(ElectionNotice::NoSuccessor));
            self.stop(None, out);
            return;
        };
        if peer.is_ready() || leave.looks >= self.settings.successor_scans_max {
            self.offer(
                now,
                peer.guid,
                AfterHandover::Stop,
                OfferReason::Operator,
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
        self.state = State::Master(MasterState::Leaving(leave));
    }

    /// Time for one more look for somebody who is ready.
    pub(super) fn scan_for_successor(&mut self, now: Instant, out: &mut Vec<Decision>) {
        let State::Master(MasterState::Leaving(leave)) = &mut self.state else {
            return;
        };
        leave.looks = leave
            .looks
            .saturating_add(1)
            .min(self.settings.successor_scans_max);
        self.due = Some(now + self.settings.successor_scan_interval);
        out.push(Decision::ScanSms);
    }

    pub(super) fn offer(
        &mut self,
        now: Instant,
        to: PortGuid,
        then: AfterHandover,
        reason: OfferReason,
        out: &mut Vec<Decision>,
    ) {
        self.state = State::Master(MasterState::Offering(Offer {
            to,
            tries: 0,
            polling: false,
            then,
            reason,
        }));
        self.send_handover(now, to, out);
    }

    fn send_handover(&mut self, now: Instant, to: PortGuid, out: &mut Vec<Decision>) {
        self.due = Some(now + self.settings.interval_for(to));
        out.push(Decision::SendControl {
            to,
            control: SmControl::Handover,
            as_state: SmState::Master,
        });
    }

    /// HANDOVER was answered.
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
            if let State::Standby(watch) = &mut self.state {
                watch.accepted = true;
            }
        } else if !offer.polling {
            // It may refuse because it is master already, by an offer whose answer was lost.
            self.poll_offered_sm(now, offer, out);
        }
    }

    /// HANDOVER was not answered: the other may have taken over or not.
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

    /// Neither an answer nor its absence was told.
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
        self.handed_over_by_operator = offer.reason == OfferReason::Operator;
        match offer.then {
            AfterHandover::StandBy => {
                self.enter_standby(now, offer.to, RoleChangeReason::HandedOverTo(offer.to), out)
            }
            AfterHandover::Stop => self.stop(Some(offer.to), out),
        }
    }

    fn on_offer_not_taken(&mut self, offer: Offer, out: &mut Vec<Decision>) {
        out.push(Decision::Notice(ElectionNotice::HandoverNotTaken(offer.to)));
        match offer.then {
            AfterHandover::Stop => self.stop(None, out),
            AfterHandover::StandBy => self.resume(out),
        }
    }

    /// In charge again; meanwhile another one may have written.
    fn resume(&mut self, out: &mut Vec<Decision>) {
        self.state = State::Master(MasterState::Active);
        self.due = None;
        out.push(Decision::Sweep);
    }

    /// The other said what it is.
    pub(super) fn on_other_sm_info(
        &mut self,
        now: Instant,
        peer: &OtherSm,
        out: &mut Vec<Decision>,
    ) {
        let outranks = self.is_preferred(peer);
        let State::Master(duty) = &mut self.state else {
            return;
        };
        match duty {
            MasterState::Offering(offer) if offer.polling => {
                let offer = *offer;
                if peer.is_master() {
                    self.handed_over(now, offer, out);
                } else {
                    self.record_refusal(peer);
                    self.on_offer_not_taken(offer, out);
                }
            }
            MasterState::Active | MasterState::Offering(_) | MasterState::Leaving(_) => {}
            MasterState::Waiting(_) if outranks && peer.is_master() => {
                self.offer(
                    now,
                    peer.guid,
                    AfterHandover::StandBy,
                    OfferReason::HigherRank,
                    out,
                );
            }
            MasterState::Waiting(wait) if peer.is_master() => {
                wait.missed = 0;
                wait.polls = wait.polls.saturating_add(1);
                if wait.polls >= self.settings.patience {
                    out.push(Decision::Notice(ElectionNotice::LowerMasterRemains(
                        peer.guid,
                    )));
                    self.offer(
                        now,
                        peer.guid,
                        AfterHandover::StandBy,
                        OfferReason::LowerMasterRemains,
                        out,
                    );
                } else {
                    out.push(Decision::SendPriorityTrap { to: peer.guid });
                }
            }
            MasterState::Waiting(_) => self.resume(out),
        }
    }

    /// The other did not say what it is.
    pub(super) fn on_other_poll_missed(
        &mut self,
        now: Instant,
        paths: u8,
        out: &mut Vec<Decision>,
    ) {
        let State::Master(duty) = &mut self.state else {
            return;
        };
        let Some(other) = duty.other() else {
            return;
        };
        let allowed = self.settings.missed_polls_for(other, paths);
        let interval = self.settings.interval_for(other);
        match duty {
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
            MasterState::Active | MasterState::Offering(_) | MasterState::Leaving(_) => {}
            MasterState::Waiting(wait) => {
                wait.missed = wait.missed.saturating_add(1);
                if wait.missed >= allowed {
                    self.resume(out);
                }
            }
        }
    }

    /// Another master gives its subnet up (HANDOVER): what it configured is to be looked at.
    pub(super) fn on_handover_received(&mut self, from: &OtherSm, out: &mut Vec<Decision>) {
        let higher = from.rank() > self.rank();
        let State::Master(duty) = self.state else {
            return;
        };
        if let MasterState::Leaving(_) = duty {
            // This one is about to end: a master is who it gives the subnet to.
            out.push(Decision::Reply { accepted: false });
            return;
        }
        if let MasterState::Offering(offer) = duty {
            // It crossed the offer of this one. One of both must take it: the one that ranks higher.
            let leaving = offer.then == AfterHandover::Stop;
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
