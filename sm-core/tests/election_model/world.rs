//! A subnet reduced to the election: SMs, subnet fragments, MADs in flight, and a budget of faults.
//! Each step is one event at one SM, or one fault; the checker explores all orders.
//!
//! Time is abstract: intervals are zero, so an armed timer may fire at any time, even too early.
//! Polls and sweeps read an SM's state when they are sent; it may have changed when the result is
//! processed.

use std::collections::BTreeSet;

use ferrosm_core::election::{
    AfterHandover, ControlSource, Decision, Election, ElectionInput, OtherSm, RoleChangeReason,
    SmMKey,
};
use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use crate::actions::{Action, Forger};
use crate::mads::{Info, Mad, SmRequest};
use crate::opensm::OpenSm;
use crate::setup::{Faults, Setup};

/// An SM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Sm {
    Ferrosm(Election),
    OpenSm(OpenSm),
}

impl Sm {
    pub(crate) fn state(&self) -> SmState {
        match self {
            Self::Ferrosm(e) => e.state(),
            Self::OpenSm(o) => o.state,
        }
    }

    pub(crate) fn may_write(&self) -> bool {
        match self {
            Self::Ferrosm(e) => e.may_write(),
            Self::OpenSm(o) => o.may_write(),
        }
    }

    pub(crate) fn may_register(&self) -> bool {
        match self {
            Self::Ferrosm(e) => e.may_register(),
            Self::OpenSm(_) => false,
        }
    }

    /// Its SMInfo, in a response or in a control that it sends.
    pub(crate) fn info(&self, number: u8, control: Option<SmControl>) -> Info {
        match self {
            Self::Ferrosm(e) => Info {
                number,
                priority: e.priority(),
                state: e.reported_state(control),
            },
            Self::OpenSm(o) => o.info(),
        }
    }
}

/// Responses to a scan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scan {
    seen: Vec<Info>,
    /// It began before the SM stalled or lost its lease.
    is_old: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) sm: Sm,
    pub(crate) alive: bool,
    /// SMs of the same fragment reach each other.
    pub(crate) fragment: u8,
    /// Results of the sweep in progress.
    pub(crate) scan: Option<Scan>,
    /// It was informed of another master, and has not legitimately become master since.
    pub(crate) handed_over: bool,
    /// The SM to which it sent HANDOVER without a result yet.
    pub(crate) offers_to: Option<u8>,
    /// The operator stopped it.
    pub(crate) stopping: bool,
    /// Its process does not run: it sends nothing and responds to nothing.
    pub(crate) is_stalled: bool,
    /// MADs that arrived meanwhile.
    pub(crate) queue: BTreeSet<Mad>,
    /// It was master when it stalled or lost its lease, and no scan that began afterwards is
    /// complete.
    pub(crate) unverified: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) mads: BTreeSet<Mad>,
    pub(crate) faults: Faults,
    /// Polls and sweeps take no time. This keeps the model of three SMs small enough.
    pub(crate) instant: bool,
    /// Within a step: the next query is lost.
    drop_next_query: bool,
    /// A master withdrew its offer although the other SM had accepted it and was reachable.
    pub(crate) offer_withdrawn: bool,
    /// A host without the SM_Key answers scans as an SM in this state.
    pub(crate) rogue: Option<SmState>,
    /// A forged control changed the state of an SM.
    pub(crate) obeyed_forgery: bool,
}

/// The port of a host that forges controls or answers scans.
const ROGUE: u8 = 99;

fn peer(info: &Info) -> OtherSm {
    OtherSm {
        guid: PortGuid(info.number.into()),
        priority: info.priority,
        state: info.state,
        act_count: 0,
        sm_key_matches: true,
        m_key: SmMKey::Unknown,
    }
}

fn sm_number(guid: PortGuid) -> u8 {
    u8::try_from(guid.0).unwrap_or_else(|e| panic!("{e}"))
}

impl World {
    pub(crate) fn new(setups: &[Setup], faults: Faults, instant: bool) -> Self {
        let nodes = setups.iter().zip(1..).map(|(setup, number)| Node {
            sm: setup.start(number),
            alive: true,
            fragment: 0,
            scan: None,
            handed_over: false,
            offers_to: None,
            stopping: false,
            is_stalled: false,
            queue: BTreeSet::new(),
            unverified: false,
        });
        Self {
            nodes: nodes.collect(),
            mads: BTreeSet::new(),
            faults,
            instant,
            drop_next_query: false,
            offer_withdrawn: false,
            rogue: None,
            obeyed_forgery: false,
        }
    }

    pub(crate) fn node(&self, number: u8) -> &Node {
        &self.nodes[usize::from(number) - 1]
    }

    fn node_mut(&mut self, number: u8) -> &mut Node {
        &mut self.nodes[usize::from(number) - 1]
    }

    pub(crate) fn sms(&self) -> impl Iterator<Item = u8> + use<> {
        (1..).take(self.nodes.len())
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = u8> {
        self.sms().filter(|number| self.node(*number).alive)
    }

    fn is_connected(&self, a: u8, b: u8) -> bool {
        let (a, b) = (self.node(a), self.node(b));
        a.alive && b.alive && a.fragment == b.fragment
    }

    pub(crate) fn reaches(&self, a: u8, b: u8) -> bool {
        self.is_connected(a, b) && !self.node(a).is_stalled && !self.node(b).is_stalled
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.nodes.iter().all(|n| n.fragment == 0)
    }

    /// A timer fires only when no request is pending.
    pub(crate) fn timer_armed(&self, number: u8) -> bool {
        let is_pending = self.mads.iter().any(|m| match *m {
            Mad::Info { to, .. } | Mad::Timeout { to, .. } | Mad::Response { to, .. } => {
                to == number
            }
            Mad::Set { from, .. } => from.number == number,
            Mad::SenderInfo { from, to, .. } => from.number == number || to == number,
        });
        let armed = match &self.node(number).sm {
            Sm::Ferrosm(e) => e.poll_timeout().is_some(),
            Sm::OpenSm(o) => o.polls(),
        };
        armed && !is_pending
    }

    /// Performs a step.
    pub(crate) fn act(&mut self, setups: &[Setup], action: &Action) {
        match *action {
            Action::Deliver(mad) => {
                self.mads.remove(&mad);
                self.deliver(mad);
            }
            Action::Lose(mad) => {
                self.faults.consume(|f| &mut f.lost);
                self.mads.remove(&mad);
                self.mads.extend(mad.timeout());
            }
            Action::Duplicate(mad) => {
                self.faults.consume(|f| &mut f.duplicated);
                self.deliver(mad);
            }
            Action::Delay(mad) => {
                self.faults.consume(|f| &mut f.delayed);
                if let Some(timeout) = mad.timeout() {
                    self.deliver(timeout);
                }
            }
            Action::Timer(number) => self.feed(number, ElectionInput::Timer),
            Action::TimerLost(number) => {
                self.faults.consume(|f| &mut f.lost);
                self.drop_next_query = true;
                self.feed(number, ElectionInput::Timer);
                self.drop_next_query = false;
            }
            Action::Scan(number, without) => {
                self.read_sms(number, without);
                if self.instant {
                    self.decide(number);
                }
            }
            Action::Decide(number) => self.decide(number),
            Action::Crash(number) => {
                self.faults.consume(|f| &mut f.crashes);
                self.stop_sm(setups, number);
            }
            Action::Restart(number) => self.node_mut(number).alive = true,
            Action::Partition(number) => {
                self.faults.consume(|f| &mut f.partitions);
                self.node_mut(number).fragment = 1;
            }
            Action::Join => {
                for node in &mut self.nodes {
                    node.fragment = 0;
                }
            }
            Action::Priority(number) => {
                self.faults.consume(|f| &mut f.priorities);
                let priority = if self.node(number).sm.info(number, None).priority == 15 {
                    0
                } else {
                    15
                };
                self.feed(number, ElectionInput::SetPriority(priority));
            }
            Action::HandOver(number, then) => {
                self.faults.consume(|f| &mut f.commands);
                self.node_mut(number).stopping |= then == AfterHandover::Stop;
                let sms_known = true;
                self.feed(number, ElectionInput::HandOver { then, sms_known });
            }
            Action::Stall(number) => {
                self.faults.consume(|f| &mut f.stalls);
                self.node_mut(number).is_stalled = true;
            }
            Action::Continue(number, sms_known) => self.continue_sm(number, sms_known),
            Action::LeaseLost(number, is_idle) => {
                self.faults.consume(|f| &mut f.leases);
                let sms_known = true;
                self.mark_unverified(number, ElectionInput::LeaseLost { is_idle, sms_known });
            }
            Action::Deposed(number, by) => {
                self.faults.consume(|f| &mut f.leases);
                self.feed(number, ElectionInput::Deposed(PortGuid(by.into())));
            }
            Action::Replica(number, is_incomplete) => {
                self.faults.consume(|f| &mut f.replicas);
                self.feed(number, ElectionInput::ReplicaChanged { is_incomplete });
            }
            Action::Forge(to, claimed, control, forger) => self.forge(to, claimed, control, forger),
            Action::PeerSilent(number) => {
                self.faults.consume(|f| &mut f.replicas);
                if let Sm::Ferrosm(e) = &self.node(number).sm
                    && let Some(guid) = e.other()
                {
                    let uncertain = false;
                    self.feed(number, ElectionInput::PeerSilent { guid, uncertain });
                }
            }
        }
        let stopped = |w: &Self, number| {
            !w.node(number).alive && w.node(number).sm.state() == SmState::NotActive
        };
        for number in self.sms() {
            if stopped(self, number) {
                self.stop_sm(setups, number);
            }
        }
    }

    fn forge(&mut self, to: u8, claimed: u8, control: SmControl, forger: Forger) {
        self.faults.consume(|f| &mut f.forged);
        let from = OtherSm {
            guid: PortGuid(claimed.into()),
            priority: 15,
            state: SmState::Master,
            act_count: 0,
            sm_key_matches: forger == Forger::WithKey,
            m_key: SmMKey::Unknown,
        };
        let port = Some(PortGuid(ROGUE.into()));
        let input = match forger {
            Forger::Silent => ElectionInput::ControlUnconfirmed {
                control,
                claimed: from.guid,
                port,
            },
            Forger::WithoutKey | Forger::WithKey => ElectionInput::ControlReceived {
                control,
                from,
                source: ControlSource { port, sm: from },
            },
        };
        let role = |w: &Self| (w.node(to).sm.state(), w.node(to).sm.may_write());
        let before = role(self);
        self.feed(to, input);
        self.obeyed_forgery |= role(self) != before;
    }

    /// A stalled SM continues. It is notified of the stall before the MADs that arrived meanwhile.
    fn continue_sm(&mut self, number: u8, sms_known: bool) {
        let node = self.node_mut(number);
        node.is_stalled = false;
        let queue = core::mem::take(&mut node.queue);
        self.mads.extend(queue);
        self.mark_unverified(number, ElectionInput::Stalled { sms_known });
    }

    /// Another SM may have become master.
    fn mark_unverified(&mut self, number: u8, input: ElectionInput) {
        let node = self.node_mut(number);
        let writes = node.sm.may_write();
        node.unverified |= writes;
        if let Some(scan) = &mut node.scan {
            scan.is_old = true;
        }
        self.feed(number, input);
    }

    /// An SM stops; a restarted one has no state.
    fn stop_sm(&mut self, setups: &[Setup], number: u8) {
        let node = self.node_mut(number);
        node.alive = false;
        node.scan = None;
        node.handed_over = false;
        node.offers_to = None;
        node.stopping = false;
        node.is_stalled = false;
        node.unverified = false;
        node.queue.clear();
        node.sm = setups[usize::from(number) - 1].start(number);
        // Responses to it are dropped. Controls that it has not processed time out at their
        // senders.
        let to_it = |m: &Mad| m.to() == number && !matches!(m, Mad::Set { .. });
        let dropped: Vec<Mad> = self.mads.iter().copied().filter(to_it).collect();
        for mad in dropped {
            self.mads.remove(&mad);
            if let Mad::SenderInfo { .. } = mad {
                self.mads.extend(mad.timeout());
            }
        }
    }

    pub(crate) fn read_sms(&mut self, number: u8, without: Option<u8>) {
        if without.is_some() {
            self.faults.consume(|f| &mut f.lost);
        }
        let others = self
            .sms()
            .filter(|o| *o != number && Some(*o) != without && self.reaches(*o, number));
        let seen = others.map(|o| self.node(o).sm.info(o, None)).collect();
        let is_old = false;
        self.node_mut(number).scan = Some(Scan { seen, is_old });
    }

    pub(crate) fn decide(&mut self, number: u8) {
        let Some(Scan { seen, is_old }) = self.node_mut(number).scan.take() else {
            return;
        };
        self.node_mut(number).unverified &= is_old;
        match &mut self.node_mut(number).sm {
            Sm::Ferrosm(_) => {
                let rogue = self.rogue.map(|state| OtherSm {
                    sm_key_matches: false,
                    ..peer(&Info {
                        number: ROGUE,
                        priority: 15,
                        state,
                    })
                });
                let seen = seen.iter().map(peer).chain(rogue).collect();
                self.feed(
                    number,
                    ElectionInput::ScanCompleted {
                        seen,
                        managed: false,
                    },
                );
            }
            Sm::OpenSm(o) => {
                let sent = o.end_sweep(&seen);
                self.send(number, &sent);
            }
        }
    }

    pub(crate) fn deliver(&mut self, mad: Mad) {
        let to = mad.to();
        let arrives = match mad {
            Mad::Set { from, .. } | Mad::SenderInfo { from, .. } => {
                self.is_connected(from.number, to)
            }
            Mad::Response { from, .. } => self.is_connected(from, to),
            Mad::Info { from, .. } => self.is_connected(from.number, to),
            Mad::Timeout { .. } => self.node(to).alive,
        };
        if !arrives {
            // Unreachable; a dead SM has no timeouts.
            let timeout = mad.timeout().filter(|t| self.node(t.to()).alive);
            self.mads.extend(timeout);
            return;
        }
        if self.node(to).is_stalled {
            if let Mad::Set { .. } | Mad::SenderInfo { .. } = mad {
                self.mads.extend(mad.timeout());
            }
            self.node_mut(to).queue.insert(mad);
            return;
        }
        match mad {
            Mad::Set { from, control, .. } => match &mut self.node_mut(to).sm {
                Sm::Ferrosm(_) => self.query_sender(to, from, control),
                Sm::OpenSm(o) => {
                    let accepted = o.on_control(control, &from);
                    self.node_mut(to).scan = None;
                    self.respond(to, from.number, control, accepted);
                }
            },
            Mad::SenderInfo {
                from,
                control,
                seen,
                ..
            } => {
                let received = ElectionInput::ControlReceived {
                    control,
                    from: peer(&from),
                    source: ControlSource {
                        port: Some(PortGuid(from.number.into())),
                        sm: peer(&seen),
                    },
                };
                self.feed_with_request(to, received, Some((from.number, control)));
            }
            Mad::Response {
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
                Sm::Ferrosm(_) => self.feed(to, ElectionInput::SmInfoReceived(peer(&from))),
                Sm::OpenSm(o) => o.on_poll_response(&from),
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

    /// Queries the sender of a control before the control is processed.
    fn query_sender(&mut self, to: u8, from: Info, control: SmControl) {
        if !self.reaches(to, from.number) {
            let unconfirmed = ElectionInput::ControlUnconfirmed {
                control,
                claimed: PortGuid(from.number.into()),
                port: Some(PortGuid(from.number.into())),
            };
            self.feed(to, unconfirmed);
            let set = Mad::Set { to, from, control };
            self.mads.extend(set.timeout());
            return;
        }
        let info = Mad::SenderInfo {
            to,
            from,
            control,
            seen: self.node(from.number).sm.info(from.number, None),
        };
        if self.instant {
            self.deliver(info);
        } else {
            self.mads.insert(info);
        }
    }

    fn feed(&mut self, number: u8, input: ElectionInput) {
        self.feed_with_request(number, input, None);
    }

    fn feed_with_request(
        &mut self,
        number: u8,
        input: ElectionInput,
        received: Option<(u8, SmControl)>,
    ) {
        let at = usize::from(number) - 1;
        let offers_to = self.nodes[at].offers_to;
        let outputs = match &mut self.nodes[at].sm {
            Sm::Ferrosm(e) => e.step(Instant::START, input),
            Sm::OpenSm(o) => {
                // OpenSM ignores all other inputs.
                if input == ElectionInput::Timer {
                    let sent = o.poll();
                    self.send(number, &sent);
                }
                return;
            }
        };
        let accepted_by = offers_to.filter(|to| {
            received.is_none() && self.reaches(number, *to) && self.node(*to).sm.may_write()
        });
        self.offer_withdrawn |= accepted_by.is_some() && self.node(number).sm.may_write();
        let node = self.node_mut(number);
        if node.sm.may_write() || node.sm.state() != SmState::Master {
            node.offers_to = None;
        }
        for output in outputs {
            self.carry_out(number, output, received);
        }
    }

    fn carry_out(&mut self, number: u8, output: Decision, received: Option<(u8, SmControl)>) {
        match output {
            Decision::Poll { to, .. } => self.send(number, &[SmRequest::Get { to: sm_number(to) }]),
            Decision::SendControl { to, control } => {
                let info = self.node(number).sm.info(number, Some(control));
                let to = sm_number(to);
                if control == SmControl::Handover {
                    self.node_mut(number).offers_to = Some(to);
                }
                self.send(number, &[SmRequest::Set { to, control, info }]);
            }
            Decision::Reply { accepted } => {
                if let Some((to, control)) = received {
                    self.respond(number, to, control, accepted);
                }
            }
            Decision::EnterState { state, why } => {
                let node = self.node_mut(number);
                // The sweep was started in an earlier state.
                node.scan = None;
                node.unverified &= state == SmState::Master;
                node.handed_over = match state {
                    SmState::Standby => true,
                    SmState::Master => {
                        node.handed_over && !matches!(why, RoleChangeReason::HandoverReceived(_))
                    }
                    _ => false,
                };
            }
            Decision::Sweep | Decision::RescanSms => self.node_mut(number).scan = None,
            Decision::LoadReplica => self.feed(number, ElectionInput::ReplicaLoadEnded),
            Decision::Stop { .. } => self.node_mut(number).alive = false,
            // Scans may occur at any time.
            Decision::ScanSms | Decision::SendPriorityTrap { .. } | Decision::Notice(_) => {}
        }
    }

    /// OpenSM ignores responses to its Sets.
    fn respond(&mut self, from: u8, to: u8, control: SmControl, accepted: bool) {
        if matches!(self.node(to).sm, Sm::Ferrosm(_)) {
            self.mads.insert(Mad::Response {
                to,
                from,
                control,
                accepted,
            });
        }
    }

    fn send(&mut self, number: u8, sent: &[SmRequest]) {
        for s in sent {
            let mad = match *s {
                SmRequest::Get { to } if self.reaches(number, to) && !self.drop_next_query => {
                    Mad::Info {
                        to: number,
                        from: self.node(to).sm.info(to, None),
                    }
                }
                SmRequest::Get { to } => Mad::Timeout {
                    to: number,
                    from: to,
                    control: None,
                },
                SmRequest::Set { to, control, info } => Mad::Set {
                    to,
                    from: info,
                    control,
                },
            };
            if self.instant && matches!(s, SmRequest::Get { .. }) {
                self.deliver(mad);
            } else {
                self.mads.insert(mad);
            }
        }
    }

    /// A round without faults: MADs in flight arrive, each SM scans and polls.
    pub(crate) fn quiet_round(&mut self) {
        for number in self.sms() {
            if self.node(number).is_stalled {
                self.continue_sm(number, true);
            }
        }
        self.deliver_all();
        for number in self.sms() {
            if !self.node(number).alive {
                continue;
            }
            if self.timer_armed(number) {
                self.feed(number, ElectionInput::Timer);
                self.deliver_all();
            }
            let sweeps = |w: &Self| {
                matches!(
                    w.node(number).sm.state(),
                    SmState::Discovering | SmState::Master
                )
            };
            if self.node(number).scan.is_some() {
                self.decide(number);
                self.deliver_all();
            }
            if sweeps(self) {
                self.read_sms(number, None);
                self.decide(number);
                self.deliver_all();
            }
        }
    }

    fn deliver_all(&mut self) {
        // Responses trigger a limited number of requests, so a few turns drain the queue.
        for _ in 0..64 {
            let Some(mad) = self.mads.pop_first() else {
                return;
            };
            self.deliver(mad);
        }
    }

    /// Whether each fragment has one active master and all other SMs in it are standbys.
    pub(crate) fn is_settled(&self) -> bool {
        self.mads.is_empty()
            && (0..2).all(|fragment| {
                let here = || {
                    self.alive()
                        .filter(move |w| self.node(*w).fragment == fragment)
                };
                let count_in = |state| {
                    here()
                        .filter(move |w| self.node(*w).sm.state() == state)
                        .count()
                };
                let masters = count_in(SmState::Master);
                let writers = here().filter(|w| self.node(*w).sm.may_write()).count();
                here().count() == 0
                    || masters == 1
                        && writers == 1
                        && count_in(SmState::Standby) + 1 == here().count()
            })
    }

    /// Whether an SM that the operator stopped neither stops nor has stopped.
    pub(crate) fn has_lost_stop(&self) -> bool {
        let lost = |n: &Node| match &n.sm {
            Sm::Ferrosm(election) => n.alive && n.stopping && !election.is_stopping(),
            Sm::OpenSm(_) => false,
        };
        self.nodes.iter().any(lost)
    }

    pub(crate) fn masters(&self) -> Vec<u8> {
        self.alive()
            .filter(|w| self.node(*w).sm.state() == SmState::Master)
            .collect()
    }
}
