//! A subnet manager that behaves as OpenSM 3.3.24 does, as far as the election goes (facts of osm_sm_state_mgr.c,
//! osm_sminfo_rcv.c and osm_state_mgr.c): it hands over without waiting for an answer, decides only at the end of a sweep, and
//! polls one port. Nothing here is shared with the machine under test.

use ferrosm_mad::attr::{SmControl, SmState};

use crate::mads::{Info, Sent};

/// Polls without an answer that counts, after which it discovers (4 by default; fewer keep the model small).
const RETRIES: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OpenSm {
    pub(crate) me: u8,
    pub(crate) priority: u8,
    pub(crate) state: SmState,
    /// Whom a standby polls.
    master: u8,
    /// Whom a master waits for.
    polling: Option<u8>,
    /// Polls since the last answer that counted.
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
        outranks((other.priority, other.who), (self.priority, self.me))
    }

    pub(crate) fn info(&self) -> Info {
        Info {
            who: self.me,
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

    /// The end of a heavy sweep, or of a light one: as a light one it only ever leads to a heavy one.
    pub(crate) fn swept(&mut self, seen: &[Info]) -> Vec<Sent> {
        match self.state {
            SmState::Discovering => {
                let ahead = seen.iter().rfind(|p| match p.state {
                    SmState::Master => true,
                    SmState::Discovering | SmState::Standby => self.is_higher(p),
                    _ => false,
                });
                match ahead {
                    Some(p) => {
                        self.master = p.who;
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
                    .max_by_key(|p| (p.priority, core::cmp::Reverse(p.who)));
                if let Some(p) = highest {
                    let set = Sent::Set {
                        to: p.who,
                        control: SmControl::Handover,
                        info: self.info(),
                    };
                    self.master = p.who;
                    self.state = SmState::Standby;
                    self.polling = None;
                    self.retry = 0;
                    return vec![set];
                }
                let other = seen.iter().find(|p| p.state == SmState::Master);
                if self.polling != other.map(|p| p.who) {
                    self.retry = 0;
                }
                self.polling = other.map(|p| p.who);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The polling timer.
    pub(crate) fn poll(&mut self) -> Vec<Sent> {
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
        vec![Sent::Get { to }]
    }

    /// The answer to a poll. One that a waiting master gets of a higher master leads to a sweep, which may come any time.
    pub(crate) fn seen(&mut self, from: &Info) {
        let alive = match (self.state, from.state) {
            (SmState::Standby, SmState::Master) => true,
            (SmState::Standby, SmState::Standby) => self.master == from.who && self.is_higher(from),
            (SmState::Master, SmState::Master) => self.polling.is_some(),
            _ => false,
        };
        if alive {
            self.retry = 0;
        }
    }

    /// Set(SMInfo): whether it was accepted.
    pub(crate) fn asked(&mut self, control: SmControl, from: &Info) -> bool {
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
                self.master = from.who;
                self.retry = 0;
            }
            _ => return false,
        }
        true
    }
}
