//! Traps of devices that subscribers are told of (rules 6.5 to 6.9).
//!
//! Whoever hears that something changed asks for it at once. So what makes the subnet manager look at the fabric is told when it
//! has looked, and answers say what is new; everything else is told as it comes. What floods is told no oftener than it is
//! looked at. To whom, is the registry's to say; what the trap means for the subnet, [`crate::traps`]'s.

use ferrosm_mad::attr::{LocalChangeDetails, Notice, TrapNumber};
use ferrosm_mad::ids::Gid;

use super::{Stage, SubnetManager};
use crate::subnet::PortRef;
use crate::traps::flags_of;

/// Notices that wait for the end of a sweep; what is beyond is not told.
const WAITING_MAX: usize = 1024;

/// Notices that wait for the end of a sweep, and the ports that issued them.
#[derive(Debug, Default)]
pub(super) struct Notices {
    waiting: Vec<(Notice, Gid)>,
}

impl SubnetManager {
    /// A trap that is worth attention, from a port; of nobody known where that is `None`.
    pub(super) fn forward(&mut self, notice: &Notice, at: Option<PortRef>) {
        let Some(issuer) = at.and_then(|at| self.issuer(at)) else {
            return;
        };
        match following(notice) {
            Following::Nobody => {}
            Following::Now => self.tell(notice, issuer),
            Following::Sweep => {
                if self.notices.waiting.len() < WAITING_MAX {
                    self.notices.waiting.push((*notice, issuer));
                }
            }
        }
    }

    /// Tells of what has waited, if no sweep is under way or wanted that would see more.
    pub(super) fn tell_when_idle(&mut self) {
        if self.stage == Stage::Idle && !self.schedule.is_requested() {
            self.tell_waiting();
        }
    }

    /// Tells of what has waited.
    pub(super) fn tell_waiting(&mut self) {
        for (notice, issuer) in core::mem::take(&mut self.notices.waiting) {
            self.tell(&notice, issuer);
        }
    }

    /// GID of the port that a trap came from: of a switch's port, port 0.
    fn issuer(&self, at: PortRef) -> Option<Gid> {
        let port = self.subnet.port(self.subnet.owner(at))?;
        Some(Gid::new(self.cfg.subnet_prefix, port.guid))
    }
}

/// When a notice is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Following {
    /// Never.
    Nobody,
    /// At once.
    Now,
    /// When the fabric was looked at.
    Sweep,
}

fn following(notice: &Notice) -> Following {
    if !notice.is_generic {
        return Following::Now;
    }
    match notice.trap_number {
        // Errors of links are for who manages performance.
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
            Following::Nobody
        }
        // Only the administrator itself says these.
        TrapNumber::GidInService
        | TrapNumber::GidOutOfService
        | TrapNumber::GroupCreated
        | TrapNumber::GroupDeleted
        | TrapNumber::UnPath
        | TrapNumber::RePath => Following::Nobody,
        TrapNumber::LinkStateChange => Following::Sweep,
        TrapNumber::LocalChange => {
            let change = LocalChangeDetails::decode(&notice.data_details);
            // Another name needs no sweep.
            if flags_of(&change) == LocalChangeDetails::NODE_DESCRIPTION {
                Following::Now
            } else {
                Following::Sweep
            }
        }
        _ => Following::Now,
    }
}
