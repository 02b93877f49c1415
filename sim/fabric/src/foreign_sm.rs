//! Foreign SMs: scripted SMs that reply to SMInfo and send what their script contains.
//!
//! They are part of the net, so that a fabric with attached programs can have them as well.

use std::collections::VecDeque;

use ferrosm_mad::attr::{SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::{MadIn, MadOut, Method, Status};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use crate::spec::PortAt;

/// An SM that replies to SMInfo and sends only the MADs of its script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSm {
    /// Its SMInfo; each SMInfo request increments ActCount.
    pub info: SmInfo,
    /// Whether Set(SMInfo) changes its state; if not, it only replies.
    pub applies_controls: bool,
    pub rejected_controls: Vec<SmControl>,
    /// MADs to send, in order of time.
    pub script: VecDeque<(Instant, MadOut)>,
    /// The last [`ForeignSm::LOG_LEN`] received MADs.
    pub log: VecDeque<(Instant, MadIn)>,
    outbox: VecDeque<MadOut>,
}

impl ForeignSm {
    /// The default SM_Key of OpenSM and ferrosm.
    pub const SM_KEY: MKey = MKey::new(1);
    /// Size of the log; older entries are dropped.
    pub const LOG_LEN: usize = 4096;

    /// An SM with this GUID, priority, state and the default SM_Key that applies all controls.
    #[must_use]
    pub fn new(guid: PortGuid, priority: u8, state: SmState) -> Self {
        let info = SmInfo {
            guid,
            sm_key: Self::SM_KEY,
            act_count: 0,
            priority,
            sm_state: state,
        };
        Self {
            info,
            applies_controls: true,
            rejected_controls: Vec::new(),
            script: VecDeque::new(),
            log: VecDeque::new(),
            outbox: VecDeque::new(),
        }
    }

    /// The controls of received Set(SMInfo), in order.
    #[must_use]
    pub fn controls(&self) -> Vec<SmControl> {
        self.log
            .iter()
            .map(|(_, m)| m.mad)
            .filter(|m| m.method() == Method::Set && m.attr_id() == id::SM_INFO)
            .map(|m| SmControl(m.attr_mod().0))
            .collect()
    }

    fn apply_control(&mut self, control: SmControl) -> Status {
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
            Method::Set
                if self
                    .rejected_controls
                    .contains(&SmControl(mad.mad.attr_mod().0)) =>
            {
                Status::BAD_FIELD
            }
            Method::Set if self.applies_controls => {
                self.apply_control(SmControl(mad.mad.attr_mod().0))
            }
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

/// A foreign SM in a net; numbered in the order of addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForeignSmId(pub usize);

/// Slot of a foreign SM; it remains after the SM is removed.
#[derive(Debug)]
pub(crate) struct ForeignSmSlot {
    pub(crate) at: PortAt,
    pub(crate) sm: Option<Box<ForeignSm>>,
    pub(crate) paused: bool,
}

impl ForeignSmSlot {
    /// Whether the SM exists and is not paused.
    pub(crate) const fn is_active(&self) -> bool {
        self.sm.is_some() && !self.paused
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.paused {
            return None;
        }
        self.sm.as_ref()?.poll_timeout()
    }

    pub(crate) fn poll_send(&mut self) -> Option<MadOut> {
        if self.paused {
            return None;
        }
        self.sm.as_mut()?.outbox.pop_front()
    }

    pub(crate) fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        if let Some(sm) = &mut self.sm {
            sm.handle_mad(mad, now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let Some(sm) = &mut self.sm {
            sm.handle_timeout(now);
        }
    }
}
