//! Forwarding of devices' traps to subscribers (IBA vol. 1, 13.4.11).
//!
//! A subscriber queries the SA as soon as a change is reported. Traps that start a sweep are
//! therefore forwarded when it is complete and the view shows the change; other traps are forwarded
//! at once. [`crate::traps`] filters trap storms; the registry contains the subscriptions.

use ferrosm_fabric::observed::PortRef;
use ferrosm_mad::attr::{LocalChangeDetails, Notice, TrapNumber};
use ferrosm_mad::ids::Gid;
use ferrosm_mad::time::Instant;

use super::SaState;
use crate::ctx::Ctx;
use crate::event::flags_of;

/// Traps that wait for the end of a sweep; further ones are not forwarded.
const PENDING_MAX: usize = 1024;

/// A trap that waits for the end of a sweep.
#[derive(Debug)]
struct PendingTrap {
    notice: Notice,
    /// The GID of the port that issued it.
    issuer: Gid,
    /// The number of the sweep that re-reads what the trap names; its view shows the change.
    sweep: u32,
}

/// Traps that wait for the end of a sweep, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct PendingTraps(Vec<PendingTrap>);

impl SaState {
    /// Forwards a trap from a port, with the view of sweep number `sweep` if it starts a re-read.
    /// One whose issuer is unknown is not forwarded.
    pub(crate) fn forward_trap(
        &mut self,
        ctx: &Ctx<'_>,
        notice: &Notice,
        at: Option<PortRef>,
        sweep: u32,
    ) {
        // A switch issues the traps of its external ports with the GID of port 0.
        let issuer = at.and_then(|at| ctx.fabric.port(ctx.fabric.owner(at)));
        let Some(issuer) = issuer.map(|port| Gid::new(ctx.cfg.subnet_prefix, port.guid)) else {
            return;
        };
        match forwarding_time(notice) {
            ForwardingTime::Never => {}
            ForwardingTime::Now => self.report(notice, issuer, ctx.now),
            ForwardingTime::AfterSweep => {
                if self.pending_traps.0.len() < PENDING_MAX {
                    self.pending_traps.0.push(PendingTrap {
                        notice: *notice,
                        issuer,
                        sweep,
                    });
                }
            }
        }
    }

    /// Forwards the traps that waited for sweep number `sweep`, or an earlier one.
    pub(super) fn forward_pending_traps(&mut self, sweep: u32, now: Instant) {
        for trap in core::mem::take(&mut self.pending_traps.0) {
            if trap.sweep <= sweep {
                self.report(&trap.notice, trap.issuer, now);
            } else {
                self.pending_traps.0.push(trap);
            }
        }
    }

    /// Queues the reports of a notice. Without a view subscribers are unknown.
    fn report(&mut self, notice: &Notice, issuer: Gid, now: Instant) {
        if let Some(view) = &self.view {
            self.registry.notify(view, notice, issuer, None, now);
        }
    }
}

/// When a trap is forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForwardingTime {
    Never,
    Now,
    AfterSweep,
}

fn forwarding_time(notice: &Notice) -> ForwardingTime {
    if !notice.is_generic {
        return ForwardingTime::Now;
    }
    match notice.trap_number {
        // Link errors concern performance management.
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
            ForwardingTime::Never
        }
        // Only the SA itself issues these.
        TrapNumber::GidInService
        | TrapNumber::GidOutOfService
        | TrapNumber::GroupCreated
        | TrapNumber::GroupDeleted
        | TrapNumber::UnPath
        | TrapNumber::RePath => ForwardingTime::Never,
        TrapNumber::LinkStateChange => ForwardingTime::AfterSweep,
        TrapNumber::LocalChange => {
            let change = LocalChangeDetails::decode(&notice.data_details);
            // A changed NodeDescription starts no sweep.
            if flags_of(&change) == LocalChangeDetails::NODE_DESCRIPTION {
                ForwardingTime::Now
            } else {
                ForwardingTime::AfterSweep
            }
        }
        _ => ForwardingTime::Now,
    }
}
