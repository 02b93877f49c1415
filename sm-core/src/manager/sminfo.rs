//! SMInfo on the wire: asking the other subnet managers, and answering them (behaviour rule 8). What follows from it is decided by
//! [`crate::election`] and done in [`super::elect`].

use ferrosm_mad::attr::{CapMask, SmControl, SmInfo, SmState};
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::{MadIn, Method, Status};
use ferrosm_mad::smp;

use super::SubnetManager;
use crate::election::Input;
use crate::report::Phase;
use crate::smp::op::SmpOp;
use crate::smp::route;
use crate::subnet::PortRef;

impl SubnetManager {
    /// Ports behind which an SM says it runs.
    pub(super) fn sm_ports(&self) -> Vec<PortRef> {
        let local = self.subnet.local();
        self.subnet
            .end_ports()
            .filter(|p| Some(*p) != local)
            .filter(|p| {
                self.subnet
                    .port(*p)
                    .is_some_and(|port| port.info().capability_mask.has(CapMask::IS_SM))
            })
            .collect()
    }

    pub(super) fn begin_asking_sms(&mut self) {
        self.enter(Phase::OtherSms);
        if !self.sweep.local {
            self.others.clear();
        }
        self.ask_sms();
    }

    /// Asks all that are there; whether there are any. Who says no more that it is one is forgotten.
    pub(super) fn ask_sms(&mut self) -> bool {
        let there = self.sm_ports();
        self.others.retain(|_, (p, _)| there.contains(p));
        for p in &there {
            self.enqueue(SmpOp::SmInfo(*p));
        }
        !there.is_empty()
    }

    /// The SMs that this sweep found have answered: whoever is master then goes on.
    pub(super) fn finish_asking_sms(&mut self) {
        let sweep = self.sweeps;
        self.looked();
        if self.is_master() && self.sweeps == sweep {
            self.compare_restored_view();
            self.begin_reading();
        }
    }

    /// The SMInfo that a port's SM answered with; `None` where it is no answer, or one in somebody else's name.
    fn book_sm(&mut self, at: PortRef, status: Status, data: &[u8; 64]) -> Option<SmInfo> {
        let info = SmInfo::decode(data);
        let owner = self.subnet.port(at).map(|port| port.guid);
        if !status.is_ok() || owner.is_some_and(|guid| guid != info.guid) {
            self.forget_sm(at);
            return None;
        }
        self.others.insert(info.guid, (at, info));
        Some(info)
    }

    fn forget_sm(&mut self, at: PortRef) {
        self.others.retain(|_, (p, _)| *p != at);
    }

    pub(super) fn on_sm_info(&mut self, at: PortRef, status: Status, data: &[u8; 64]) {
        self.book_sm(at, status, data);
    }

    pub(super) fn on_sm_silent(&mut self, at: PortRef) {
        self.forget_sm(at);
    }

    /// A poll was answered.
    pub(super) fn on_poll_answer(&mut self, at: PortRef, status: Status, data: &[u8; 64]) {
        match self.book_sm(at, status, data) {
            Some(info) => {
                let peer = self.peer_of(&info);
                self.elect(Input::Seen(peer));
            }
            None => self.poll_failed(at),
        }
    }

    pub(super) fn poll_failed(&mut self, at: PortRef) {
        let Some(guid) = self.sm_guid(at) else {
            return;
        };
        let paths = route::paths(&self.subnet, at).len();
        let paths = u8::try_from(paths).unwrap_or(u8::MAX);
        self.elect(Input::Silent { guid, paths });
    }

    pub(super) fn on_control_answer(&mut self, at: PortRef, control: SmControl, status: Status) {
        if let Some(guid) = self.sm_guid(at) {
            let accepted = status.is_ok();
            self.elect(Input::Answered {
                guid,
                control,
                accepted,
            });
        }
    }

    pub(super) fn on_control_unanswered(&mut self, at: PortRef, control: SmControl) {
        if let Some(guid) = self.sm_guid(at) {
            self.elect(Input::Unanswered { guid, control });
        }
    }

    /// The GUID of the port whose SM is asked.
    fn sm_guid(&self, at: PortRef) -> Option<PortGuid> {
        self.subnet.port(at).map(|port| port.guid)
    }

    pub(super) fn own_sm_info(&self) -> SmInfo {
        let guid = self
            .subnet
            .local()
            .and_then(|p| self.subnet.port(p))
            .map_or(PortGuid(0), |port| port.guid);
        let sm_state = match self.election.state() {
            SmState::Standby if self.copying => SmState::Discovering,
            // Who believes it to be master would hand the subnet over to what it remembers.
            SmState::Master if self.takeover.has_stalled() => SmState::Discovering,
            state => state,
        };
        SmInfo {
            guid,
            sm_key: self.cfg.sm_key,
            act_count: u32::try_from(self.out.sent() & u64::from(u32::MAX)).unwrap_or(u32::MAX),
            priority: self.election.priority(),
            sm_state,
        }
    }

    /// What is sent with Set(SMInfo).
    pub(super) fn sm_info_as(&self, state: SmState) -> SmInfo {
        SmInfo {
            sm_state: state,
            ..self.own_sm_info()
        }
    }

    /// Another SM asks who this one is (Get), or what to do (Set; rule 8.10).
    pub(super) fn on_sm_info_request(&mut self, received: &MadIn) {
        if self.read_only {
            return;
        }
        let mad = &received.mad;
        let right_key = self.cfg.m_key == MKey::NONE || smp::m_key(mad) == self.cfg.m_key;
        let is_set = mad.method() == Method::Set;
        if !right_key && (is_set || self.cfg.m_key_protect_bits >= 2) {
            return;
        }
        if is_set {
            let sender = SmInfo::decode(smp::data(mad));
            let from = self.peer_of(&sender);
            let control = SmControl(mad.attr_mod().0);
            self.elect_and_reply(Input::Asked { control, from }, received);
            return;
        }
        let mut own = self.own_sm_info();
        if !right_key {
            own.sm_key = MKey::NONE;
        }
        self.out
            .send(received.from, smp::response(mad, Status::OK, &own.encode()));
    }
}
