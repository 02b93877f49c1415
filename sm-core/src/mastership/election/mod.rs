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
//! * Of two masters the lower hands over, the higher waits. A lower one that does not within [`Settings::patience`]
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

mod asked;
mod io;
mod master;
mod outsiders;
mod rank;
mod settings;
mod standby;
#[cfg(test)]
mod table;

use std::collections::BTreeMap;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

pub use io::{Input, Notice, Output, Then, Why};
pub use rank::{Peer, Rank};
pub use settings::Settings;

use master::{Duty, Leave, Reason};
use outsiders::Outsiders;
use standby::Watch;

/// The state, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    NotActive(Idle),
    Discovering,
    Standby(Watch),
    Master(Duty),
}

/// Why an SM does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Idle {
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
    settings: Settings,
    state: State,
    /// When to poll, or to stop waiting for an answer.
    due: Option<Instant>,
    /// The operator took the subnet from this SM.
    stepped_back: bool,
    /// This SM was standby and has no whole copy of what its master keeps.
    lacks_copy: bool,
    /// A master was seen or this one was master: taking the subnet is no accident.
    knows_subnet: bool,
    unwilling: BTreeMap<PortGuid, Refusal>,
    /// Those that are ignored.
    outsiders: Outsiders,
}

impl Election {
    /// One that begins to discover: a sweep is to follow, and then [`Input::Looked`].
    #[must_use]
    pub const fn new(me: PortGuid, settings: Settings) -> Self {
        Self {
            me,
            settings,
            state: State::Discovering,
            due: None,
            stepped_back: false,
            lacks_copy: false,
            knows_subnet: false,
            unwilling: BTreeMap::new(),
            outsiders: Outsiders::new(),
        }
    }

    /// The port is known now, or another one.
    pub const fn set_guid(&mut self, me: PortGuid) {
        self.me = me;
    }

    /// Whether another SM may know what this one does not, when their master is gone: then that one goes before.
    pub const fn set_lacks_copy(&mut self, lacks: bool) {
        self.lacks_copy = lacks;
    }

    /// Other settings; a different priority is to be told by [`Input::Priority`].
    pub fn set_settings(&mut self, settings: Settings) {
        let priority = self.settings.priority;
        self.settings = Settings {
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
                if self.stepped_back || self.lacks_copy {
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
        self.outsiders.is_there(guid)
    }

    /// What it is compared by.
    #[must_use]
    pub fn rank(&self) -> Rank {
        Rank {
            priority: self.priority(),
            guid: self.me,
        }
    }

    /// Whether the subnet is this SM's to configure. A master that offers it, or waits for another master, must not.
    #[must_use]
    pub const fn may_write(&self) -> bool {
        matches!(self.state, State::Master(Duty::InCharge))
    }

    /// The SM whose answer is waited for: watched as standby, offered the subnet, or to hand over.
    #[must_use]
    pub const fn other(&self) -> Option<PortGuid> {
        match &self.state {
            State::Standby(watch) => Some(watch.of),
            State::Master(Duty::Offering(offer)) => Some(offer.to),
            State::Master(Duty::Waiting(wait)) => Some(wait.of),
            State::NotActive(_)
            | State::Discovering
            | State::Master(Duty::InCharge | Duty::Leaving(_)) => None,
        }
    }

    /// When [`Input::Timer`] is wanted.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// Takes one input. What comes out is to be done in this order.
    #[must_use]
    pub fn step(&mut self, now: Instant, input: Input) -> Vec<Output> {
        let mut out = Vec::new();
        match input {
            Input::Seen(peer) => {
                if self.counts(now, &peer, &mut out) {
                    self.on_seen(now, &peer, &mut out);
                } else {
                    self.on_silent(now, peer.guid, 1, &mut out);
                }
            }
            Input::Silent { guid, paths } => self.on_silent(now, guid, paths, &mut out),
            Input::Asked { control, from } => self.on_asked(now, control, &from, &mut out),
            Input::Answered {
                guid,
                control: SmControl::Handover,
                accepted,
            } => {
                self.on_offer_answered(now, guid, accepted, &mut out);
            }
            Input::Unanswered {
                guid,
                control: SmControl::Handover,
            } => {
                self.on_offer_unanswered(now, guid, &mut out);
            }
            // An acknowledgement is a courtesy: who misses it asks again.
            Input::Answered { .. } | Input::Unanswered { .. } => {}
            Input::Looked { mut seen, managed } => {
                self.outsiders.on_looked(&seen, &mut out);
                seen.retain(|p| p.guid != self.me && self.counts(now, p, &mut out));
                self.on_looked(now, &seen, managed, &mut out);
            }
            Input::PriorityTrap => {
                if self.state() == SmState::Master {
                    out.push(Output::Look);
                }
            }
            Input::Priority(priority) => self.on_priority(priority, &mut out),
            Input::HandOver { then, mut others } => {
                others.retain(|p| p.guid != self.me && self.counts(now, p, &mut out));
                self.on_hand_over(now, then, &others, &mut out);
            }
            Input::TakeOver => self.on_take_over(&mut out),
            Input::Deposed(by) => self.on_master_no_more(Why::Deposed(by), &mut out),
            Input::NoLink => self.on_master_no_more(Why::NoLink, &mut out),
            Input::Timer => {
                if self.due.is_some_and(|due| due <= now) {
                    self.on_timer(now, &mut out);
                }
            }
        }
        out
    }

    /// Why an SM takes no part, if it does not.
    fn outsider(&self, peer: &Peer) -> Option<Notice> {
        let allowed = self.settings.allowed.as_ref();
        if allowed.is_some_and(|a| !a.contains(&peer.guid)) {
            return Some(Notice::Rogue(peer.guid, peer.state));
        }
        (!peer.key_fits).then_some(Notice::ForeignKey(peer.guid))
    }

    /// Whether an SM that answered takes part at all; tells if it does not.
    fn counts(&mut self, now: Instant, peer: &Peer, out: &mut Vec<Output>) -> bool {
        let outsider = self.outsider(peer);
        match outsider {
            Some(notice) => self.outsiders.on_answer(now, peer.guid, notice, out),
            None => self.outsiders.forget(peer.guid),
        }
        outsider.is_none()
    }

    /// The same of one that asks: whether it is there is not known by that.
    fn may_ask(&mut self, now: Instant, peer: &Peer, out: &mut Vec<Output>) -> bool {
        let outsider = self.outsider(peer);
        if let Some(notice) = outsider {
            self.outsiders.on_request(now, peer.guid, notice, out);
        }
        outsider.is_none()
    }

    /// Whether it wants to be master rather than this SM, and was not found to be unwilling.
    fn is_better(&self, peer: &Peer) -> bool {
        peer.competes() && peer.rank() > self.rank() && !self.unwilling.contains_key(&peer.guid)
    }

    fn distrust(&mut self, peer: &Peer) {
        let offered = match &self.state {
            State::Master(_) => true,
            State::Standby(watch) => watch.given,
            State::NotActive(_) | State::Discovering => false,
        };
        let refusal = Refusal {
            priority: peer.priority,
            state: peer.state,
            act_count: peer.act_count,
            offered,
        };
        self.unwilling.insert(peer.guid, refusal);
    }

    /// Forgets refusals of those that are not any more what they were.
    fn forget_refusals(&mut self, seen: &[Peer]) {
        self.unwilling.retain(|guid, then| {
            seen.iter().any(|p| {
                p.guid == *guid
                    && (p.priority, p.state) == (then.priority, then.state)
                    && p.act_count >= then.act_count
            })
        });
    }

    /// Every sweep that has read the SMs ends here.
    fn on_looked(&mut self, now: Instant, seen: &[Peer], managed: bool, out: &mut Vec<Output>) {
        match self.state {
            State::Discovering => {
                self.forget_refusals(seen);
                self.choose(now, seen, managed, out);
            }
            State::Master(_) => {
                self.forget_refusals(seen);
                self.compare(now, seen, out);
            }
            // Begun as another, and of no use to this one.
            State::NotActive(_) | State::Standby(_) => {}
        }
    }

    /// The end of discovery (behaviour rule 8.3): a master of any rank goes before, then a better one, then this one is it.
    fn choose(&mut self, now: Instant, seen: &[Peer], managed: bool, out: &mut Vec<Output>) {
        let best = |wanted: &dyn Fn(&&Peer) -> bool| {
            let those = seen.iter().filter(|p| wanted(p));
            those.max_by_key(|p| p.rank()).copied()
        };
        let ahead = best(&|p| p.is_master()).or_else(|| best(&|p| self.is_better(p)));
        if let Some(peer) = ahead {
            if peer.is_master() && self.rank() > peer.rank() {
                out.push(Output::Announce { to: peer.guid });
            }
            self.stand_by(now, peer.guid, Why::Behind(peer), out);
        } else if managed && self.settings.refuse_managed && !self.knows_subnet {
            out.push(Output::Notice(Notice::Managed));
            self.rest(Idle::Managed, Why::Managed, out);
        } else {
            self.take_charge(Why::NoBetter, out);
        }
    }

    fn on_priority(&mut self, priority: u8, out: &mut Vec<Output>) {
        if priority == self.settings.priority {
            // Settings were read again: what an operator has done otherwise stays.
            return;
        }
        let before = self.rank();
        self.stepped_back = false;
        self.settings.priority = priority;
        if self.rank() == before {
            return;
        }
        match &self.state {
            State::Standby(watch) => out.push(Output::Announce { to: watch.of }),
            State::Master(_) => out.push(Output::Look),
            State::NotActive(_) | State::Discovering => {}
        }
    }

    fn on_hand_over(&mut self, now: Instant, then: Then, others: &[Peer], out: &mut Vec<Output>) {
        match (&mut self.state, then) {
            (State::NotActive(_) | State::Discovering | State::Standby(_), Then::Stop) => {
                self.stop(None, out);
            }
            (State::NotActive(_) | State::Discovering | State::Standby(_), Then::StandBy) => {
                out.push(Output::Notice(Notice::NoSuccessor));
            }
            (State::Master(Duty::Offering(offer)), _) => {
                offer.then = then;
                offer.because = Reason::Operator;
            }
            (State::Master(Duty::Leaving(leave)), _) => {
                let leave = *leave;
                self.leave(now, leave, others, out);
            }
            (State::Master(Duty::InCharge | Duty::Waiting(_)), Then::Stop) => {
                self.leave(now, Leave { looks: 0 }, others, out);
            }
            (State::Master(Duty::InCharge | Duty::Waiting(_)), Then::StandBy) => {
                // A lower one than this will be would only give it back.
                let least = Rank {
                    priority: 0,
                    guid: self.me,
                };
                // What one will rank when it is ready is not known.
                let may = |p: &&Peer| p.competes() && (p.rank() > least || !p.is_ready());
                let able = others.iter().filter(may);
                match able.max_by_key(|p| (p.state, p.rank())) {
                    Some(peer) if peer.is_ready() => {
                        self.offer(now, peer.guid, then, Reason::Operator, out);
                    }
                    Some(peer) => out.push(Output::Notice(Notice::NotReady(peer.guid))),
                    None => out.push(Output::Notice(Notice::NoSuccessor)),
                }
            }
        }
    }

    fn on_take_over(&mut self, out: &mut Vec<Output>) {
        match self.state {
            State::NotActive(Idle::Stopped) | State::Standby(_) | State::Master(_) => {}
            State::NotActive(Idle::Disabled | Idle::Managed) => {
                self.knows_subnet = true;
                self.discover(Why::Operator, out);
            }
            State::Discovering => self.knows_subnet = true,
        }
    }

    /// A master cannot be one, or must not: it begins anew.
    fn on_master_no_more(&mut self, why: Why, out: &mut Vec<Output>) {
        match &self.state {
            State::Master(Duty::Offering(offer)) if offer.then == Then::Stop => {
                self.stop(None, out);
            }
            State::Master(Duty::Leaving(_)) => self.stop(None, out),
            State::Master(_) => self.discover(why, out),
            // A standby's polls are not answered, and what follows from that is right here too.
            State::NotActive(_) | State::Discovering | State::Standby(_) => {}
        }
    }

    fn on_seen(&mut self, now: Instant, peer: &Peer, out: &mut Vec<Output>) {
        match &self.state {
            State::Standby(watch) if watch.of == peer.guid => self.on_watched(peer, out),
            State::Master(duty) if duty.other() == Some(peer.guid) => {
                self.on_other(now, peer, out);
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {}
        }
    }

    fn on_silent(&mut self, now: Instant, guid: PortGuid, paths: u8, out: &mut Vec<Output>) {
        match &self.state {
            State::Standby(watch) if watch.of == guid => self.on_watched_silent(paths, out),
            State::Master(duty) if duty.other() == Some(guid) => {
                self.on_other_silent(now, paths, out);
            }
            State::NotActive(_) | State::Discovering | State::Standby(_) | State::Master(_) => {}
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Output>) {
        match &self.state {
            State::NotActive(_) | State::Discovering | State::Master(Duty::InCharge) => {
                self.due = None;
            }
            State::Standby(watch) => {
                out.push(Output::Get {
                    to: watch.of,
                    path: watch.missed,
                });
                self.due = Some(now + self.settings.interval_for(watch.of));
            }
            State::Master(Duty::Waiting(wait)) => {
                out.push(Output::Get {
                    to: wait.of,
                    path: wait.missed,
                });
                self.due = Some(now + self.settings.interval_for(wait.of));
            }
            State::Master(Duty::Offering(_)) => self.on_offer_late(now, out),
            State::Master(Duty::Leaving(_)) => self.look_for_successor(now, out),
        }
    }

    fn discover(&mut self, why: Why, out: &mut Vec<Output>) {
        self.state = State::Discovering;
        self.due = None;
        out.push(Output::Become {
            state: SmState::Discovering,
            why,
        });
        out.push(Output::Sweep);
    }

    fn stand_by(&mut self, now: Instant, of: PortGuid, why: Why, out: &mut Vec<Output>) {
        self.state = State::Standby(Watch::new(of));
        self.knows_subnet = true;
        self.due = Some(now + self.settings.interval_for(of));
        out.push(Output::Become {
            state: SmState::Standby,
            why,
        });
    }

    fn take_charge(&mut self, why: Why, out: &mut Vec<Output>) {
        self.state = State::Master(Duty::InCharge);
        self.stepped_back = false;
        self.knows_subnet = true;
        self.due = None;
        // Who did not become master by itself is offered the subnet once.
        self.unwilling.retain(|_, refusal| refusal.offered);
        out.push(Output::Become {
            state: SmState::Master,
            why,
        });
    }

    fn rest(&mut self, idle: Idle, why: Why, out: &mut Vec<Output>) {
        self.state = State::NotActive(idle);
        self.due = None;
        out.push(Output::Become {
            state: SmState::NotActive,
            why,
        });
    }

    fn stop(&mut self, handed_to: Option<PortGuid>, out: &mut Vec<Output>) {
        let why = handed_to.map_or(Why::Operator, Why::HandedOver);
        self.rest(Idle::Stopped, why, out);
        out.push(Output::Stop { handed_to });
    }
}
