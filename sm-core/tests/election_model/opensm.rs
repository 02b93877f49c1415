//! An SM with the election behaviour of OpenSM 3.3.24 (osm_sm_state_mgr.c, osm_sminfo_rcv.c,
//! osm_state_mgr.c): it hands over without awaiting a response, decides only at the end of a sweep,
//! and polls one port. It shares no code with the election under test.

use ferrosm_mad::attr::{SmControl, SmState};

use crate::mads::{Info, SmRequest};

/// Unsuccessful polls before discovery (4 by default; fewer keep the model small).
const RETRIES: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OpenSm {
    pub(crate) me: u8,
    pub(crate) priority: u8,
    pub(crate) state: SmState,
    /// The SM that a standby polls.
    master: u8,
    /// The master that a master waits for.
    polling: Option<u8>,
    /// Polls since the last successful one.
    retry: u8,
}

fn outranks(a: (u8, u8), b: (u8, u8)) -> bool {
    a.0 > b.0 || a.0 == b.0 && a.1 < b.1
}

impl OpenSm {
    pub(crate) fn new(me: u8, priority: u8) -> Self {
        Self {
            me,
            priority,
            state: SmState::Discovering,
            master: me,
            polling: None,
            retry: 0,
        }
    }

    fn is_higher(&self, other: &Info) -> bool {
        outranks((other.priority, other.number), (self.priority, self.me))
    }

    pub(crate) fn info(&self) -> Info {
        Info {
            number: self.me,
            priority: self.priority,
            state: self.state,
        }
    }

    pub(crate) fn may_write(&self) -> bool {
        self.state == SmState::Master && self.polling.is_none()
    }

    pub(crate) fn polls(&self) -> bool {
        self.state == SmState::Standby || self.state == SmState::Master && self.polling.is_some()
    }

    /// The end of a heavy or light sweep. A light sweep only ever starts a heavy one.
    pub(crate) fn end_sweep(&mut self, seen: &[Info]) -> Vec<SmRequest> {
        match self.state {
            SmState::Discovering => {
                let preferred = seen.iter().rfind(|p| match p.state {
                    SmState::Master => true,
                    SmState::Discovering | SmState::Standby => self.is_higher(p),
                    _ => false,
                });
                match preferred {
                    Some(p) => {
                        self.master = p.number;
                        self.state = SmState::Standby;
                        self.retry = 0;
                    }
                    None => self.state = SmState::Master,
                }
                Vec::new()
            }
            SmState::Master => {
                let active = seen.iter().filter(|p| p.state != SmState::NotActive);
                let highest = active
                    .filter(|p| self.is_higher(p))
                    .max_by_key(|p| (p.priority, core::cmp::Reverse(p.number)));
                if let Some(p) = highest {
                    let set = SmRequest::Set {
                        to: p.number,
                        control: SmControl::Handover,
                        info: self.info(),
                    };
                    self.master = p.number;
                    self.state = SmState::Standby;
                    self.polling = None;
                    self.retry = 0;
                    return vec![set];
                }
                let other = seen.iter().find(|p| p.state == SmState::Master);
                if self.polling != other.map(|p| p.number) {
                    self.retry = 0;
                }
                self.polling = other.map(|p| p.number);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The polling timer has expired.
    pub(crate) fn poll(&mut self) -> Vec<SmRequest> {
        if self.retry > RETRIES {
            self.retry = 0;
            if self.state == SmState::Standby {
                self.state = SmState::Discovering;
            } else {
                self.polling = None;
            }
            return Vec::new();
        }
        self.retry += 1;
        let to = if self.state == SmState::Standby {
            self.master
        } else {
            self.polling.unwrap_or(self.me)
        };
        vec![SmRequest::Get { to }]
    }

    /// Response to a poll. A response of a higher-ranked master to a waiting one starts a sweep,
    /// which may occur at any time.
    pub(crate) fn on_poll_response(&mut self, from: &Info) {
        let alive = match (self.state, from.state) {
            (SmState::Standby, SmState::Master) => true,
            (SmState::Standby, SmState::Standby) => {
                self.master == from.number && self.is_higher(from)
            }
            (SmState::Master, SmState::Master) => self.polling.is_some(),
            _ => false,
        };
        if alive {
            self.retry = 0;
        }
    }

    /// Processes Set(SMInfo). Returns whether it is accepted.
    pub(crate) fn on_control(&mut self, control: SmControl, from: &Info) -> bool {
        let legal = match control {
            SmControl::Acknowledge => from.state == SmState::Standby,
            _ => from.state == SmState::Master,
        };
        if !legal {
            return false;
        }
        match (self.state, control) {
            (SmState::Discovering, SmControl::Handover)
            | (SmState::Standby, SmControl::Acknowledge) => {}
            (SmState::Standby | SmState::Master, SmControl::Handover) => {
                self.state = SmState::Master;
                self.polling = None;
            }
            (SmState::Standby, SmControl::Disable) => self.state = SmState::NotActive,
            (SmState::Standby, SmControl::Discover) => self.state = SmState::Discovering,
            (SmState::NotActive, SmControl::Standby) => {
                self.state = SmState::Standby;
                self.master = from.number;
                self.retry = 0;
            }
            _ => return false,
        }
        true
    }
}
