//! A subnet as far as the election goes: some SMs, islands of links, MADs under way, and a budget of faults. Every step is
//! one event at one SM or one fault; the checker takes them in every order.
//!
//! Time is abstract: intervals are zero, so a timer that is armed may fire at any moment, also much too early. Polls and sweeps
//! see what an SM was when it was asked, and that may be old when it is acted upon.

use std::collections::BTreeSet;

use ferrosm_core::election::{
    AfterHandover, Decision, Election, ElectionInput, OtherSm, RoleChangeReason,
};
use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use crate::mads::{Info, Mad, Sent};
use crate::opensm::OpenSm;
use crate::setup::{Faults, Setup};

/// One SM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Sm {
    Ours(Election),
    Foreign(OpenSm),
}

impl Sm {
    pub(crate) fn state(&self) -> SmState {
        match self {
            Self::Ours(e) => e.state(),
            Self::Foreign(o) => o.state,
        }
    }

    pub(crate) fn may_write(&self) -> bool {
        match self {
            Self::Ours(e) => e.may_write(),
            Self::Foreign(o) => o.may_write(),
        }
    }

    pub(crate) fn info(&self, who: u8) -> Info {
        match self {
            Self::Ours(e) => Info {
                who,
                priority: e.priority(),
                state: e.state(),
            },
            Self::Foreign(o) => o.info(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) sm: Sm,
    pub(crate) alive: bool,
    /// Those with the same number see each other.
    pub(crate) island: u8,
    /// What a sweep has read so far; it ends some time later.
    pub(crate) reading: Option<Vec<Info>>,
    /// It was told that somebody took the subnet from it, and has not become master by right since.
    pub(crate) gave_up: bool,
    /// It sent HANDOVER to that one, and what became of it is open.
    pub(crate) offers_to: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) mads: BTreeSet<Mad>,
    pub(crate) faults: Faults,
    /// Polls and sweeps take no time. It makes the model of three SMs small enough.
    pub(crate) instant: bool,
    /// Within a step: the next question is lost.
    deaf: bool,
    /// A master took its offer back beside the one that had taken it and could be asked.
    pub(crate) beside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Deliver(Mad),
    Lose(Mad),
    Double(Mad),
    Late(Mad),
    Timer(u8),
    /// The same, and what it asks is lost.
    TimerLost(u8),
    /// Asks all SMs; with a number, the answer of that one is lost.
    Read(u8, Option<u8>),
    Decide(u8),
    Crash(u8),
    Begin(u8),
    Cut(u8),
    Heal,
    Priority(u8),
    HandOver(u8, AfterHandover),
}

fn peer(info: &Info) -> OtherSm {
    OtherSm {
        guid: PortGuid(info.who.into()),
        priority: info.priority,
        state: info.state,
        act_count: 0,
        sm_key_matches: true,
    }
}

fn number(guid: PortGuid) -> u8 {
    u8::try_from(guid.0).unwrap_or_else(|e| panic!("{e}"))
}

impl World {
    pub(crate) fn new(setups: &[Setup], faults: Faults, instant: bool) -> Self {
        let nodes = setups.iter().zip(1..).map(|(setup, who)| Node {
            sm: setup.start(who),
            alive: true,
            island: 0,
            reading: None,
            gave_up: false,
            offers_to: None,
        });
        Self {
            nodes: nodes.collect(),
            mads: BTreeSet::new(),
            faults,
            instant,
            deaf: false,
            beside: false,
        }
    }

    pub(crate) fn node(&self, who: u8) -> &Node {
        &self.nodes[usize::from(who) - 1]
    }

    fn node_mut(&mut self, who: u8) -> &mut Node {
        &mut self.nodes[usize::from(who) - 1]
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        (1..).take(self.nodes.len())
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = u8> {
        self.numbers().filter(|who| self.node(*who).alive)
    }

    fn reaches(&self, a: u8, b: u8) -> bool {
        let (a, b) = (self.node(a), self.node(b));
        a.alive && b.alive && a.island == b.island
    }

    /// Every step that may come next.
    pub(crate) fn actions(&self, setups: &[Setup], actions: &mut Vec<Action>) {
        let has = &self.faults;
        for mad in &self.mads {
            actions.push(Action::Deliver(*mad));
            let Some(timeout) = mad.timeout() else {
                continue;
            };
            // Nobody waits for an answer to what OpenSM sets.
            if has.may(has.lost) {
                actions.push(Action::Lose(*mad));
            }
            if has.may(has.doubled) {
                actions.push(Action::Double(*mad));
            }
            if has.may(has.late) && !self.mads.contains(&timeout) {
                actions.push(Action::Late(*mad));
            }
        }
        for who in self.numbers() {
            let node = self.node(who);
            if !node.alive {
                actions.push(Action::Begin(who));
                continue;
            }
            if self.timer_armed(who) {
                actions.push(Action::Timer(who));
                if self.instant && has.may(has.lost) {
                    actions.push(Action::TimerLost(who));
                }
            }
            if node.reading.is_some() {
                actions.push(Action::Decide(who));
            } else if matches!(node.sm.state(), SmState::Discovering | SmState::Master) {
                actions.push(Action::Read(who, None));
                let others = self
                    .numbers()
                    .filter(|o| *o != who && self.reaches(*o, who));
                if has.may(has.lost) {
                    actions.extend(others.map(|o| Action::Read(who, Some(o))));
                }
            }
            if has.may(has.crashes) {
                actions.push(Action::Crash(who));
            }
            if has.may(has.cuts) && self.is_whole() && (self.nodes.len() > 2 || who == 1) {
                actions.push(Action::Cut(who));
            }
            if let Sm::Ours(e) = &node.sm {
                if has.may(has.priorities) {
                    actions.push(Action::Priority(who));
                }
                if has.may(has.commands) && e.may_write() {
                    let both = [AfterHandover::StandBy, AfterHandover::Stop];
                    actions.extend(both.map(|then| Action::HandOver(who, then)));
                }
            }
        }
        if !self.is_whole() {
            actions.push(Action::Heal);
        }
        debug_assert_eq!(setups.len(), self.nodes.len());
    }

    fn is_whole(&self) -> bool {
        self.nodes.iter().all(|n| n.island == 0)
    }

    /// A timer fires when its question was answered or given up.
    fn timer_armed(&self, who: u8) -> bool {
        let waits = self.mads.iter().any(|m| match *m {
            Mad::Info { to, .. } | Mad::Timeout { to, .. } | Mad::Answer { to, .. } => to == who,
            Mad::Set { from, .. } => from.who == who,
        });
        let armed = match &self.node(who).sm {
            Sm::Ours(e) => e.poll_timeout().is_some(),
            Sm::Foreign(o) => o.polls(),
        };
        armed && !waits
    }

    /// What one step makes of it.
    pub(crate) fn act(&mut self, setups: &[Setup], action: &Action) {
        match *action {
            Action::Deliver(mad) => {
                self.mads.remove(&mad);
                self.deliver(mad);
            }
            Action::Lose(mad) => {
                self.faults.spend(|f| &mut f.lost);
                self.mads.remove(&mad);
                self.mads.extend(mad.timeout());
            }
            Action::Double(mad) => {
                self.faults.spend(|f| &mut f.doubled);
                self.deliver(mad);
            }
            Action::Late(mad) => {
                self.faults.spend(|f| &mut f.late);
                if let Some(timeout) = mad.timeout() {
                    self.deliver(timeout);
                }
            }
            Action::Timer(who) => self.feed(who, ElectionInput::Timer),
            Action::TimerLost(who) => {
                self.faults.spend(|f| &mut f.lost);
                self.deaf = true;
                self.feed(who, ElectionInput::Timer);
                self.deaf = false;
            }
            Action::Read(who, without) => {
                self.read(who, without);
                if self.instant {
                    self.decide(who);
                }
            }
            Action::Decide(who) => self.decide(who),
            Action::Crash(who) => {
                self.faults.spend(|f| &mut f.crashes);
                self.end(setups, who);
            }
            Action::Begin(who) => self.node_mut(who).alive = true,
            Action::Cut(who) => {
                self.faults.spend(|f| &mut f.cuts);
                self.node_mut(who).island = 1;
            }
            Action::Heal => {
                for node in &mut self.nodes {
                    node.island = 0;
                }
            }
            Action::Priority(who) => {
                self.faults.spend(|f| &mut f.priorities);
                let best = if self.node(who).sm.info(who).priority == 15 {
                    0
                } else {
                    15
                };
                self.feed(who, ElectionInput::SetPriority(best));
            }
            Action::HandOver(who, then) => {
                self.faults.spend(|f| &mut f.commands);
                let others = self
                    .numbers()
                    .filter(|o| *o != who && self.reaches(*o, who));
                let others = others.map(|o| peer(&self.node(o).sm.info(o))).collect();
                self.feed(who, ElectionInput::HandOver { then, others });
            }
        }
        let stopped =
            |w: &Self, who| !w.node(who).alive && w.node(who).sm.state() == SmState::NotActive;
        for who in self.numbers() {
            if stopped(self, who) {
                self.end(setups, who);
            }
        }
    }

    /// An SM is gone, and what begins anew in its place knows nothing.
    fn end(&mut self, setups: &[Setup], who: u8) {
        let node = self.node_mut(who);
        node.alive = false;
        node.reading = None;
        node.gave_up = false;
        node.offers_to = None;
        node.sm = setups[usize::from(who) - 1].start(who);
        // Answers to it are answers to nobody.
        self.mads
            .retain(|m| m.to() != who || matches!(m, Mad::Set { .. }));
    }

    pub(crate) fn read(&mut self, who: u8, without: Option<u8>) {
        if without.is_some() {
            self.faults.spend(|f| &mut f.lost);
        }
        let others = self
            .numbers()
            .filter(|o| *o != who && Some(*o) != without && self.reaches(*o, who));
        let seen = others.map(|o| self.node(o).sm.info(o)).collect();
        self.node_mut(who).reading = Some(seen);
    }

    pub(crate) fn decide(&mut self, who: u8) {
        let seen = self.node_mut(who).reading.take().unwrap_or_default();
        match &mut self.node_mut(who).sm {
            Sm::Ours(_) => {
                let seen = seen.iter().map(peer).collect();
                self.feed(
                    who,
                    ElectionInput::ScanCompleted {
                        seen,
                        managed: false,
                    },
                );
            }
            Sm::Foreign(o) => {
                let sent = o.swept(&seen);
                self.send(who, &sent);
            }
        }
    }

    pub(crate) fn deliver(&mut self, mad: Mad) {
        let to = mad.to();
        let arrives = match mad {
            Mad::Set { from, .. } => self.reaches(from.who, to),
            Mad::Answer { from, .. } => self.reaches(from, to),
            Mad::Info { from, .. } => self.reaches(from.who, to),
            Mad::Timeout { .. } => self.node(to).alive,
        };
        if !arrives {
            // Lost for another reason than chance. Who is dead does not wait.
            let timeout = mad.timeout().filter(|t| self.node(t.to()).alive);
            self.mads.extend(timeout);
            return;
        }
        match mad {
            Mad::Set { from, control, .. } => match &mut self.node_mut(to).sm {
                Sm::Ours(_) => {
                    let asked = ElectionInput::ControlReceived {
                        control,
                        from: peer(&from),
                    };
                    self.feed_asked(to, asked, Some((from.who, control)));
                }
                Sm::Foreign(o) => {
                    let accepted = o.asked(control, &from);
                    self.node_mut(to).reading = None;
                    self.answer(to, from.who, control, accepted);
                }
            },
            Mad::Answer {
                from,
                control,
                accepted,
                ..
            } => {
                let guid = PortGuid(from.into());
                self.feed(
                    to,
                    ElectionInput::ControlAnswered {
                        guid,
                        control,
                        accepted,
                    },
                );
            }
            Mad::Info { from, .. } => match &mut self.node_mut(to).sm {
                Sm::Ours(_) => self.feed(to, ElectionInput::SmInfoReceived(peer(&from))),
                Sm::Foreign(o) => o.seen(&from),
            },
            Mad::Timeout { from, control, .. } => {
                let guid = PortGuid(from.into());
                let input = match control {
                    Some(control) => ElectionInput::ControlUnanswered { guid, control },
                    None => ElectionInput::PollUnanswered { guid, paths: 1 },
                };
                self.feed(to, input);
            }
        }
    }

    fn feed(&mut self, who: u8, input: ElectionInput) {
        self.feed_asked(who, input, None);
    }

    fn feed_asked(&mut self, who: u8, input: ElectionInput, asked: Option<(u8, SmControl)>) {
        let at = usize::from(who) - 1;
        let offers_to = self.nodes[at].offers_to;
        let outputs = match &mut self.nodes[at].sm {
            Sm::Ours(e) => e.step(Instant::START, input),
            Sm::Foreign(o) => {
                // The rest is of no concern to it.
                if input == ElectionInput::Timer {
                    let sent = o.poll();
                    self.send(who, &sent);
                }
                return;
            }
        };
        let took = offers_to.filter(|to| {
            asked.is_none() && self.reaches(who, *to) && self.node(*to).sm.may_write()
        });
        self.beside |= took.is_some() && self.node(who).sm.may_write();
        let node = self.node_mut(who);
        if node.sm.may_write() || node.sm.state() != SmState::Master {
            node.offers_to = None;
        }
        for output in outputs {
            self.perform(who, output, asked);
        }
    }

    fn perform(&mut self, who: u8, output: Decision, asked: Option<(u8, SmControl)>) {
        match output {
            Decision::Poll { to, .. } => self.send(who, &[Sent::Get { to: number(to) }]),
            Decision::SendControl {
                to,
                control,
                as_state,
            } => {
                let info = Info {
                    state: as_state,
                    ..self.node(who).sm.info(who)
                };
                let to = number(to);
                if control == SmControl::Handover {
                    self.node_mut(who).offers_to = Some(to);
                }
                self.send(who, &[Sent::Set { to, control, info }]);
            }
            Decision::Reply { accepted } => {
                if let Some((to, control)) = asked {
                    self.answer(who, to, control, accepted);
                }
            }
            Decision::EnterState { state, why } => {
                let node = self.node_mut(who);
                // Its sweep was another one's.
                node.reading = None;
                node.gave_up = match state {
                    SmState::Standby => true,
                    SmState::Master => {
                        node.gave_up && !matches!(why, RoleChangeReason::HandoverReceived(_))
                    }
                    _ => false,
                };
            }
            Decision::Sweep => self.node_mut(who).reading = None,
            Decision::Stop { .. } => self.node_mut(who).alive = false,
            // Looks may come at any time.
            Decision::ScanSms | Decision::SendPriorityTrap { .. } | Decision::Notice(_) => {}
        }
    }

    /// OpenSM does not mind answers to its Sets.
    fn answer(&mut self, from: u8, to: u8, control: SmControl, accepted: bool) {
        if matches!(self.node(to).sm, Sm::Ours(_)) {
            self.mads.insert(Mad::Answer {
                to,
                from,
                control,
                accepted,
            });
        }
    }

    fn send(&mut self, who: u8, sent: &[Sent]) {
        for s in sent {
            let mad = match *s {
                Sent::Get { to } if self.reaches(who, to) && !self.deaf => Mad::Info {
                    to: who,
                    from: self.node(to).sm.info(to),
                },
                Sent::Get { to } => Mad::Timeout {
                    to: who,
                    from: to,
                    control: None,
                },
                Sent::Set { to, control, info } => Mad::Set {
                    to,
                    from: info,
                    control,
                },
            };
            if self.instant && matches!(s, Sent::Get { .. }) {
                self.deliver(mad);
            } else {
                self.mads.insert(mad);
            }
        }
    }

    /// Some time without a fault: what is under way arrives, every SM looks and polls.
    pub(crate) fn quiet_round(&mut self) {
        self.deliver_all();
        for who in self.numbers() {
            if !self.node(who).alive {
                continue;
            }
            if self.timer_armed(who) {
                self.feed(who, ElectionInput::Timer);
                self.deliver_all();
            }
            let sweeps = |w: &Self| {
                matches!(
                    w.node(who).sm.state(),
                    SmState::Discovering | SmState::Master
                )
            };
            if self.node(who).reading.is_some() {
                self.decide(who);
                self.deliver_all();
            }
            if sweeps(self) {
                self.read(who, None);
                self.decide(who);
                self.deliver_all();
            }
        }
    }

    fn deliver_all(&mut self) {
        // Answers cause no questions for ever: a few turns empty it.
        for _ in 0..64 {
            let Some(mad) = self.mads.pop_first() else {
                return;
            };
            self.deliver(mad);
        }
    }

    /// Whether each island has one master, who may write, and the others stand by.
    pub(crate) fn is_settled(&self) -> bool {
        self.mads.is_empty()
            && (0..2).all(|island| {
                let here = || self.alive().filter(move |w| self.node(*w).island == island);
                let is = |state| {
                    here()
                        .filter(move |w| self.node(*w).sm.state() == state)
                        .count()
                };
                let masters = is(SmState::Master);
                let writers = here().filter(|w| self.node(*w).sm.may_write()).count();
                here().count() == 0
                    || masters == 1 && writers == 1 && is(SmState::Standby) + 1 == here().count()
            })
    }

    pub(crate) fn masters(&self) -> Vec<u8> {
        self.alive()
            .filter(|w| self.node(*w).sm.state() == SmState::Master)
            .collect()
    }
}
