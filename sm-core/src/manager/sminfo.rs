//! Other subnet managers: who they are, who of us is in charge, and what we tell them (behaviour rule 8).
//!
//! A better SM is given the subnet while this one is still master, and this one stands by only once that is accepted: a
//! subnet never is without one because of a lost MAD.

use ferrosm_mad::attr::{CapMask, SmControl, SmInfo, SmState};
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::mad::{MadIn, Method, Status};
use ferrosm_mad::smp;

use super::ask::Ask;
use super::{Stage, SubnetManager};
use crate::io::Event;
use crate::report::Phase;
use crate::subnet::PortRef;

/// Whether `a` ranks above `b`: higher priority, then lower GUID (rule 8.2).
fn outranks(a: &SmInfo, b: &SmInfo) -> bool {
    (a.priority, core::cmp::Reverse(a.guid)) > (b.priority, core::cmp::Reverse(b.guid))
}

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
        for p in self.sm_ports() {
            self.ask(Ask::Sm(p));
        }
    }

    pub(super) fn on_sm_info(&mut self, at: PortRef, status: Status, data: &[u8; 64]) {
        let info = SmInfo::decode(data);
        if !status.is_ok() {
            self.on_sm_silent(at);
            return;
        }
        // An answer in somebody else's name is none.
        if self
            .subnet
            .port(at)
            .is_some_and(|port| port.guid != info.guid)
        {
            self.on_sm_silent(at);
            return;
        }
        // SMs with another key belong to somebody else (rule 8.3).
        if self.cfg.sm_key != MKey::NONE
            && info.sm_key != self.cfg.sm_key
            && info.sm_key != MKey::NONE
        {
            self.emit(Event::Noticed(format!(
                "the SM at {} has another SM_Key and is ignored",
                self.subnet.describe(at)
            )));
            return;
        }
        self.others.insert(info.guid, (at, info));
        if self.stage == Stage::Standby && self.master == Some(at) {
            self.on_master_answer(&info);
        }
    }

    pub(super) fn on_sm_silent(&mut self, at: PortRef) {
        self.others.retain(|_, (p, _)| *p != at);
        if self.stage == Stage::Standby && self.master == Some(at) {
            self.on_master_silent();
        }
    }

    /// After the SMs were asked: master or standby (rules 8.3, 8.5).
    pub(super) fn choose_role(&mut self) {
        let me = self.own_sm_info();
        if self.role != SmState::Master {
            let master = self
                .others
                .values()
                .find(|(_, o)| o.sm_state == SmState::Master)
                .copied();
            let better = self
                .others
                .values()
                .filter(|(_, o)| o.sm_state != SmState::NotActive && outranks(o, &me))
                .max_by_key(|(_, o)| (o.priority, core::cmp::Reverse(o.guid)))
                .copied();
            if let Some((at, other)) = master.or(better) {
                self.stand_by(at, &other);
                return;
            }
            self.role = SmState::Master;
            self.first_as_master = true;
            self.emit(Event::Role {
                state: SmState::Master,
                why: "no better SM in the subnet".to_owned(),
            });
        } else if self.yield_to_better() {
            return;
        }
        self.begin_reading();
    }

    /// As master: offers a better SM to take over, if there is one; true while its answer is awaited.
    pub(super) fn yield_to_better(&mut self) -> bool {
        let me = self.own_sm_info();
        let others = &self.others;
        // One that did not want to is asked again when it is no longer what it was.
        self.unwilling.retain(|guid, then| {
            others
                .get(guid)
                .is_some_and(|(_, o)| (o.sm_state, o.priority) == (then.sm_state, then.priority))
        });
        let better = others
            .values()
            .filter(|(_, o)| o.sm_state != SmState::NotActive && outranks(o, &me))
            .filter(|(_, o)| !self.unwilling.contains_key(&o.guid))
            .max_by_key(|(_, o)| (o.priority, core::cmp::Reverse(o.guid)))
            .copied();
        let Some((at, _)) = better else {
            return false;
        };
        self.ask(Ask::Handover(at));
        true
    }

    fn stand_by(&mut self, at: PortRef, other: &SmInfo) {
        self.requester.clear();
        self.role = SmState::Standby;
        self.stage = Stage::Standby;
        self.master = Some(at);
        self.master_silent = 0;
        self.arm_timer(self.cfg.sm_poll_interval);
        self.emit(Event::Role {
            state: SmState::Standby,
            why: format!(
                "the SM at {} (GUID {}, priority {}, {}) goes before this one",
                self.subnet.describe(at),
                other.guid,
                other.priority,
                other.sm_state
            ),
        });
    }

    pub(super) fn poll_master(&mut self) {
        self.arm_timer(self.cfg.sm_poll_interval);
        if let Some(master) = self.master {
            self.ask(Ask::Sm(master));
        }
    }

    fn on_master_answer(&mut self, info: &SmInfo) {
        let waits = info.sm_state == SmState::Master
            || (info.sm_state != SmState::NotActive && outranks(info, &self.own_sm_info()));
        if waits {
            self.master_silent = 0;
        } else {
            self.on_master_silent();
        }
    }

    fn on_master_silent(&mut self) {
        self.master_silent += 1;
        if self.master_silent > self.cfg.sm_poll_retries {
            self.discover_again("the master does not answer any more");
        }
    }

    fn discover_again(&mut self, why: &str) {
        self.begin_anew(why);
        self.begin_full_sweep();
    }

    /// Is not sure to be master any more, nor that what it installed is still there.
    pub(super) fn begin_anew(&mut self, why: &str) {
        self.role = SmState::Discovering;
        self.master = None;
        self.emit(Event::Role {
            state: SmState::Discovering,
            why: why.to_owned(),
        });
        // Another SM may be in charge meanwhile.
        self.distrust_tables();
        self.first_as_master = true;
    }

    pub(super) fn on_handover_answer(&mut self, at: PortRef, status: Status) {
        if !status.is_ok() {
            self.on_handover_refused(at);
        } else if let Some(other) = self.sm_at(at) {
            self.stand_by(at, &other);
        }
    }

    pub(super) fn on_handover_refused(&mut self, at: PortRef) {
        if let Some(other) = self.sm_at(at) {
            self.unwilling.insert(other.guid, other);
            self.emit(Event::Noticed(format!(
                "the SM at {} goes before this one but did not take over",
                self.subnet.describe(at)
            )));
        }
    }

    fn sm_at(&self, at: PortRef) -> Option<SmInfo> {
        let mut others = self.others.values();
        others.find(|(p, _)| *p == at).map(|(_, o)| *o)
    }

    pub(super) fn own_sm_info(&self) -> SmInfo {
        let guid = self
            .subnet
            .local()
            .and_then(|p| self.subnet.port(p))
            .map_or(PortGuid(0), |port| port.guid);
        SmInfo {
            guid,
            sm_key: self.cfg.sm_key,
            act_count: u32::try_from(self.smps_sent & u64::from(u32::MAX)).unwrap_or(u32::MAX),
            priority: self.cfg.priority,
            sm_state: self.role,
        }
    }

    /// Another SM asks who we are (Get), or what to do (Set; rule 8.10).
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
        let mut own = self.own_sm_info();
        if !right_key {
            own.sm_key = MKey::NONE;
        }
        if !is_set {
            self.reply(received.from, smp::response(mad, Status::OK, &own.encode()));
            return;
        }
        let sender = SmInfo::decode(smp::data(mad));
        let control = SmControl(mad.attr_mod().0);
        let accepted = self.accepts(control, &sender);
        let status = if accepted {
            Status::OK
        } else {
            Status::BAD_FIELD
        };
        self.reply(received.from, smp::response(mad, status, &own.encode()));
        if accepted {
            self.obey(control, &sender);
        }
    }

    fn accepts(&self, control: SmControl, sender: &SmInfo) -> bool {
        let by_master = sender.sm_state == SmState::Master;
        match control {
            SmControl::Handover => by_master && self.role != SmState::NotActive,
            SmControl::Acknowledge => {
                sender.sm_state == SmState::Standby && self.role == SmState::Standby
            }
            SmControl::Disable | SmControl::Discover => by_master && self.role == SmState::Standby,
            SmControl::Standby => by_master && self.role == SmState::NotActive,
            _ => false,
        }
    }

    fn obey(&mut self, control: SmControl, sender: &SmInfo) {
        match control {
            // Another master gives up: what it configured has to be looked at, whatever this SM was doing.
            SmControl::Handover
                if self.role == SmState::Standby || self.role == SmState::Master =>
            {
                self.begin_anew("the master handed over");
                self.role = SmState::Master;
                self.emit(Event::Role {
                    state: SmState::Master,
                    why: "the master handed over".to_owned(),
                });
                self.begin_full_sweep();
            }
            SmControl::Handover => self.want_full(),
            SmControl::Disable => {
                self.requester.clear();
                self.role = SmState::NotActive;
                self.timer = None;
                self.emit(Event::Role {
                    state: SmState::NotActive,
                    why: "the master disabled this SM".to_owned(),
                });
            }
            SmControl::Standby => {
                let at = self.subnet.port_by_guid(sender.guid);
                match at {
                    Some(at) => self.stand_by(at, sender),
                    None => self.discover_again("a master asked this SM to stand by"),
                }
            }
            SmControl::Discover => self.discover_again("the master asked for it"),
            _ => {}
        }
    }
}
