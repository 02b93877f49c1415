//! Master: in charge, offering the subnet to another SM, waiting for a lower master (behaviour rules 8.5 to 8.7), or about to end
//! and waiting for somebody who can take the subnet. Only one in charge writes; the others end by an answer, by silence or by
//! patience, never by nothing.

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{Election, Notice, Output, Peer, State, Then, Why};

/// What a master is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Duty {
    /// Configures the subnet.
    InCharge,
    /// Sent HANDOVER and is not sure yet what became of it.
    Offering(Offer),
    /// Another master is to hand over.
    Waiting(Wait),
    /// This SM is to end, and nobody is ready yet to take the subnet.
    Leaving(Leave),
}

impl Duty {
    pub(super) const fn other(&self) -> Option<PortGuid> {
        match self {
            Self::InCharge | Self::Leaving(_) => None,
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
    pub asking: bool,
    /// What follows.
    pub then: Then,
    /// Why it is offered.
    pub because: Reason,
}

/// Why a subnet is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// The other ranks higher.
    Better,
    /// The other ranks lower and is master all the same.
    Obstinate,
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
pub(super) struct Leave {
    /// Looks for an SM that is ready, so far.
    pub looks: u8,
}

impl Election {
    /// Looks whether there is a better SM or another master.
    pub(super) fn compare(&mut self, now: Instant, seen: &[Peer], out: &mut Vec<Output>) {
        let State::Master(duty) = self.state else {
            return;
        };
        match duty {
            Duty::InCharge | Duty::Waiting(_) => {}
            Duty::Offering(_) => return,
            Duty::Leaving(leave) => {
                self.leave(now, leave, seen, out);
                return;
            }
        }
        // One that discovers will see this one as master, and stand by. Then it can take over.
        let better = seen
            .iter()
            .filter(|p| p.state != SmState::Discovering && self.is_better(p))
            .max_by_key(|p| p.rank());
        if let Some(peer) = better {
            self.offer(now, peer.guid, Then::StandBy, Reason::Better, out);
            return;
        }
        let masters = seen.iter().filter(|p| p.is_master());
        match (masters.max_by_key(|p| p.rank()), duty) {
            (Some(peer), Duty::Waiting(wait)) if wait.of == peer.guid => {}
            (Some(peer), _) => {
                out.push(Output::Notice(Notice::TwoMasters(peer.guid)));
                out.push(Output::Announce { to: peer.guid });
                self.due = Some(now + self.settings.interval_for(peer.guid));
                self.state = State::Master(Duty::Waiting(Wait {
                    of: peer.guid,
                    missed: 0,
                    polls: 0,
                }));
            }
            (None, _) => {
                self.due = None;
                self.state = State::Master(Duty::InCharge);
            }
        }
    }

    /// This SM is to end. Whoever is ready gets the subnet; one that still starts or copies only where nobody else becomes ready:
    /// it may know nothing of what hosts registered.
    pub(super) fn leave(
        &mut self,
        now: Instant,
        leave: Leave,
        seen: &[Peer],
        out: &mut Vec<Output>,
    ) {
        let able = seen.iter().filter(|p| p.competes());
        let Some(peer) = able.max_by_key(|p| (p.state, p.rank())) else {
            out.push(Output::Notice(Notice::NoSuccessor));
            self.stop(None, out);
            return;
        };
        if peer.is_ready() || leave.looks >= self.settings.leave_looks {
            self.offer(now, peer.guid, Then::Stop, Reason::Operator, out);
            return;
        }
        if !matches!(self.state, State::Master(Duty::Leaving(_))) {
            out.push(Output::Notice(Notice::NotReady(peer.guid)));
            self.due = Some(now + self.settings.leave_pause);
        }
        self.state = State::Master(Duty::Leaving(leave));
    }

    /// Time for one more look for somebody who is ready.
    pub(super) fn look_for_successor(&mut self, now: Instant, out: &mut Vec<Output>) {
        let State::Master(Duty::Leaving(leave)) = &mut self.state else {
            return;
        };
        leave.looks = leave.looks.saturating_add(1).min(self.settings.leave_looks);
        self.due = Some(now + self.settings.leave_pause);
        out.push(Output::Look);
    }

    pub(super) fn offer(
        &mut self,
        now: Instant,
        to: PortGuid,
        then: Then,
        because: Reason,
        out: &mut Vec<Output>,
    ) {
        self.state = State::Master(Duty::Offering(Offer {
            to,
            tries: 0,
            asking: false,
            then,
            because,
        }));
        self.send_handover(now, to, out);
    }

    fn send_handover(&mut self, now: Instant, to: PortGuid, out: &mut Vec<Output>) {
        self.due = Some(now + self.settings.interval_for(to));
        out.push(Output::Set {
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
        out: &mut Vec<Output>,
    ) {
        let State::Master(Duty::Offering(offer)) = self.state else {
            return;
        };
        if offer.to != guid {
            return;
        }
        if accepted {
            self.handed_over(now, offer, out);
            if let State::Standby(watch) = &mut self.state {
                watch.given = true;
            }
        } else if !offer.asking {
            // It may refuse because it is master already, by an offer whose answer was lost.
            self.ask_what_it_is(now, offer, out);
        }
    }

    /// HANDOVER was not answered: the other may have taken over or not.
    pub(super) fn on_offer_unanswered(
        &mut self,
        now: Instant,
        guid: PortGuid,
        out: &mut Vec<Output>,
    ) {
        let tries = self.settings.handover_tries;
        let State::Master(Duty::Offering(offer)) = &mut self.state else {
            return;
        };
        if offer.to != guid || offer.asking {
            return;
        }
        offer.tries = offer.tries.saturating_add(1);
        let offer = *offer;
        if offer.tries < tries {
            self.send_handover(now, offer.to, out);
        } else {
            self.ask_what_it_is(now, offer, out);
        }
    }

    fn ask_what_it_is(&mut self, now: Instant, offer: Offer, out: &mut Vec<Output>) {
        self.due = Some(now + self.settings.interval_for(offer.to));
        self.state = State::Master(Duty::Offering(Offer {
            asking: true,
            tries: 0,
            ..offer
        }));
        out.push(Output::Get {
            to: offer.to,
            path: 0,
        });
    }

    /// Neither an answer nor its absence was told.
    pub(super) fn on_offer_late(&mut self, now: Instant, out: &mut Vec<Output>) {
        let State::Master(Duty::Offering(offer)) = self.state else {
            return;
        };
        if offer.asking {
            self.on_other_silent(now, 1, out);
        } else {
            self.on_offer_unanswered(now, offer.to, out);
        }
    }

    fn handed_over(&mut self, now: Instant, offer: Offer, out: &mut Vec<Output>) {
        self.stepped_back = offer.because == Reason::Operator;
        match offer.then {
            Then::StandBy => self.stand_by(now, offer.to, Why::HandedOver(offer.to), out),
            Then::Stop => self.stop(Some(offer.to), out),
        }
    }

    fn not_taken(&mut self, offer: Offer, out: &mut Vec<Output>) {
        out.push(Output::Notice(Notice::Unwilling(offer.to)));
        match offer.then {
            Then::Stop => self.stop(None, out),
            Then::StandBy => self.go_on(out),
        }
    }

    /// In charge again; meanwhile another one may have written.
    fn go_on(&mut self, out: &mut Vec<Output>) {
        self.state = State::Master(Duty::InCharge);
        self.due = None;
        out.push(Output::Sweep);
    }

    /// The other said what it is.
    pub(super) fn on_other(&mut self, now: Instant, peer: &Peer, out: &mut Vec<Output>) {
        let outranks = self.is_better(peer);
        let State::Master(duty) = &mut self.state else {
            return;
        };
        match duty {
            Duty::Offering(offer) if offer.asking => {
                let offer = *offer;
                if peer.is_master() {
                    self.handed_over(now, offer, out);
                } else {
                    self.distrust(peer);
                    self.not_taken(offer, out);
                }
            }
            Duty::InCharge | Duty::Offering(_) | Duty::Leaving(_) => {}
            Duty::Waiting(_) if outranks && peer.is_master() => {
                self.offer(now, peer.guid, Then::StandBy, Reason::Better, out);
            }
            Duty::Waiting(wait) if peer.is_master() => {
                wait.missed = 0;
                wait.polls = wait.polls.saturating_add(1);
                if wait.polls >= self.settings.patience {
                    out.push(Output::Notice(Notice::Obstinate(peer.guid)));
                    self.offer(now, peer.guid, Then::StandBy, Reason::Obstinate, out);
                } else {
                    out.push(Output::Announce { to: peer.guid });
                }
            }
            Duty::Waiting(_) => self.go_on(out),
        }
    }

    /// The other did not say what it is.
    pub(super) fn on_other_silent(&mut self, now: Instant, paths: u8, out: &mut Vec<Output>) {
        let State::Master(duty) = &mut self.state else {
            return;
        };
        let Some(other) = duty.other() else {
            return;
        };
        let allowed = self.settings.misses_for(other, paths);
        let interval = self.settings.interval_for(other);
        match duty {
            Duty::Offering(offer) if offer.asking => {
                offer.tries = offer.tries.saturating_add(1);
                if offer.tries < allowed {
                    out.push(Output::Get {
                        to: offer.to,
                        path: offer.tries,
                    });
                    self.due = Some(now + interval);
                } else {
                    let offer = *offer;
                    self.not_taken(offer, out);
                }
            }
            Duty::InCharge | Duty::Offering(_) | Duty::Leaving(_) => {}
            Duty::Waiting(wait) => {
                wait.missed = wait.missed.saturating_add(1);
                if wait.missed >= allowed {
                    self.go_on(out);
                }
            }
        }
    }

    /// Another master gives its subnet up (HANDOVER): what it configured is to be looked at.
    pub(super) fn on_given(&mut self, from: &Peer, out: &mut Vec<Output>) {
        let higher = from.rank() > self.rank();
        let State::Master(duty) = self.state else {
            return;
        };
        if let Duty::Leaving(_) = duty {
            // This one is about to end: a master is who it gives the subnet to.
            out.push(Output::Reply { accepted: false });
            return;
        }
        if let Duty::Offering(offer) = duty {
            // It crossed the offer of this one. One of both must take it: the one that ranks higher.
            let leaving = offer.then == Then::Stop;
            if offer.to == from.guid && (higher || leaving) {
                out.push(Output::Reply { accepted: false });
                return;
            }
            out.push(Output::Reply { accepted: true });
            if offer.to == from.guid {
                self.go_on(out);
            }
            return;
        }
        out.push(Output::Reply { accepted: true });
        self.go_on(out);
    }
}
