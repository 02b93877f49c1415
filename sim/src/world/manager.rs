//! What a world can host: a manager under test, and a scripted SM of somebody else.

use std::collections::VecDeque;

use ferrosm_mad::attr::{SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{MKey, PortGuid, Tid};
use ferrosm_mad::mad::{MadIn, MadOut, Method, Status};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

/// A manager in a simulated world: told the time, asked for its output, never blocked.
///
/// After each call the world drains [`Manager::poll_send`] until `None`, then asks for
/// [`Manager::poll_timeout`].
pub trait Manager {
    /// A MAD arrived.
    fn handle_mad(&mut self, mad: MadIn, now: Instant);
    /// The transport reports that a request will not be answered; only in worlds that are told to
    /// report it.
    fn handle_send_failed(&mut self, _tid: Tid, _now: Instant) {}
    /// The time that it asked for has come.
    fn handle_timeout(&mut self, now: Instant);
    /// What it sends next.
    fn poll_send(&mut self) -> Option<MadOut>;
    /// When it wants [`Manager::handle_timeout`]; this must be later after each such call.
    fn poll_timeout(&self) -> Option<Instant>;
}

impl<M: Manager + ?Sized> Manager for Box<M> {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        (**self).handle_mad(mad, now);
    }
    fn handle_send_failed(&mut self, tid: Tid, now: Instant) {
        (**self).handle_send_failed(tid, now);
    }
    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }
    fn poll_send(&mut self) -> Option<MadOut> {
        (**self).poll_send()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }
}

/// An SM that answers SMInfo as it was told and does nothing of its own accord but its script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSm {
    /// What it answers; ActCount grows by one with each Get.
    pub info: SmInfo,
    /// Whether it does as a Set(SMInfo) asks: HANDOVER makes it master, DISABLE silent, STANDBY
    /// standby.
    pub obeys: bool,
    /// MADs that it sends, in order of time.
    pub script: VecDeque<(Instant, MadOut)>,
    /// Every MAD that it got, and when.
    pub log: Vec<(Instant, MadIn)>,
    outbox: VecDeque<MadOut>,
}

impl ForeignSm {
    /// An SM of this GUID, priority and state that obeys.
    #[must_use]
    pub fn new(guid: PortGuid, priority: u8, state: SmState) -> Self {
        let info = SmInfo {
            guid,
            sm_key: MKey::NONE,
            act_count: 0,
            priority,
            sm_state: state,
        };
        let (script, log, outbox) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Self {
            info,
            obeys: true,
            script,
            log,
            outbox,
        }
    }

    /// The controls of Set(SMInfo) that it got, in order.
    #[must_use]
    pub fn controls(&self) -> Vec<SmControl> {
        self.log
            .iter()
            .map(|(_, m)| m.mad)
            .filter(|m| m.method() == Method::Set && m.attr_id() == id::SM_INFO)
            .map(|m| SmControl(m.attr_mod().0))
            .collect()
    }

    fn obey(&mut self, control: SmControl) -> Status {
        let next = match (control, self.info.sm_state) {
            (SmControl::Handover, SmState::Standby | SmState::Master) => SmState::Master,
            (SmControl::Acknowledge, SmState::Master) => SmState::Standby,
            (SmControl::Disable, SmState::Standby) => SmState::NotActive,
            (SmControl::Standby, SmState::NotActive) => SmState::Standby,
            (SmControl::Discover, SmState::Standby) => SmState::Discovering,
            _ => return Status::BAD_FIELD,
        };
        self.info.sm_state = next;
        Status::OK
    }
}

impl Manager for ForeignSm {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        self.log.push((now, mad));
        if mad.mad.attr_id() != id::SM_INFO {
            return;
        }
        let status = match mad.mad.method() {
            Method::Get => Status::OK,
            Method::Set if self.obeys => self.obey(SmControl(mad.mad.attr_mod().0)),
            Method::Set => Status::OK,
            _ => return,
        };
        self.info.act_count = self.info.act_count.wrapping_add(1);
        let mad_out = smp::response(&mad.mad, status, &self.info.encode());
        self.outbox.push_back(MadOut {
            to: mad.from,
            mad: mad_out,
        });
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.script.front().is_some_and(|(at, _)| *at <= now) {
            self.outbox
                .extend(self.script.pop_front().map(|(_, mad)| mad));
        }
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        self.outbox.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.script.front().map(|(at, _)| *at)
    }
}
