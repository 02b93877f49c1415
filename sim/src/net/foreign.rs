//! Subnet managers of somebody else: scripted actors that answer SMInfo and do nothing of their own
//! accord but their script.
//!
//! They live in the net, so that a fabric that is served to real programs has them too.

use std::collections::VecDeque;

use ferrosm_mad::attr::{SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::{MadIn, MadOut, Method, Status};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use crate::spec::PortAt;

/// An SM that answers SMInfo as it was told and does nothing of its own accord but its script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSm {
    /// What it answers; ActCount grows by one with each Get.
    pub info: SmInfo,
    /// Whether it does as a Set(SMInfo) asks: HANDOVER makes it master, DISABLE silent, STANDBY
    /// standby.
    pub obeys: bool,
    /// What it answers with an error, and does not do.
    pub refuses: Vec<SmControl>,
    /// MADs that it sends, in order of time.
    pub script: VecDeque<(Instant, MadOut)>,
    /// The last [`ForeignSm::LOG_LEN`] MADs that it got, and when.
    pub log: VecDeque<(Instant, MadIn)>,
    outbox: VecDeque<MadOut>,
}

impl ForeignSm {
    /// MADs that it remembers; older ones are forgotten.
    pub const LOG_LEN: usize = 4096;

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
        Self {
            info,
            obeys: true,
            refuses: Vec::new(),
            script: VecDeque::new(),
            log: VecDeque::new(),
            outbox: VecDeque::new(),
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

    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        if self.log.len() == Self::LOG_LEN {
            self.log.pop_front();
        }
        self.log.push_back((now, mad));
        if mad.mad.attr_id() != id::SM_INFO {
            return;
        }
        let status = match mad.mad.method() {
            Method::Get => Status::OK,
            Method::Set if self.refuses.contains(&SmControl(mad.mad.attr_mod().0)) => {
                Status::BAD_FIELD
            }
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

    fn poll_timeout(&self) -> Option<Instant> {
        self.script.front().map(|(at, _)| *at)
    }
}

/// A foreign SM in a net, in the order of their coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignSmId(pub usize);

/// One of them at its port; its place stays when it is gone.
#[derive(Debug)]
pub(super) struct Foreign {
    pub(super) at: PortAt,
    pub(super) sm: Option<Box<ForeignSm>>,
    pub(super) paused: bool,
}

impl Foreign {
    /// Whether it is there and listens.
    pub(super) const fn is_awake(&self) -> bool {
        self.sm.is_some() && !self.paused
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.paused {
            return None;
        }
        self.sm.as_ref()?.poll_timeout()
    }

    pub(super) fn poll_send(&mut self) -> Option<MadOut> {
        if self.paused {
            return None;
        }
        self.sm.as_mut()?.outbox.pop_front()
    }

    pub(super) fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        if let Some(sm) = &mut self.sm {
            sm.handle_mad(mad, now);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some(sm) = &mut self.sm {
            sm.handle_timeout(now);
        }
    }
}
