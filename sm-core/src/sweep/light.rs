//! A light sweep, and what it reads.

use core::time::Duration;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::mastership::sm_ports;
use crate::smp::op::SmpOp;

/// A light sweep, while it runs.
#[derive(Debug, Default)]
pub(crate) struct LightSweep {
    /// The requests to other devices are enqueued.
    pub(crate) has_read_fabric: bool,
    /// Switches that did not respond.
    pub(crate) silent_switches: Vec<NodeIdx>,
    /// The own port did not respond to the last read.
    pub(crate) is_own_port_silent: bool,
    /// The own port is not read again before.
    own_port_due: Instant,
}

impl LightSweep {
    /// The own port is due again after a request timed out: at most once in the time of a timeout.
    pub(crate) fn rereads_own_port(&mut self, now: Instant, timeout: Duration) -> bool {
        let is_due = self.own_port_due <= now;
        if is_due {
            self.own_port_due = now + timeout;
        }
        is_due
    }
}

/// Reads the other SMs.
pub(crate) fn read_sms(ctx: &mut Ctx<'_>) {
    for p in sm_ports(ctx.fabric) {
        ctx.smps.enqueue(SmpOp::SmInfo(p));
    }
}

/// Reads the switches, the SMs, and the nodes whose descriptions may have changed.
pub(crate) fn read_fabric(ctx: &mut Ctx<'_>) {
    let fabric = &*ctx.fabric;
    let smps = &mut *ctx.smps;
    for (n, _) in fabric.switches() {
        smps.enqueue(SmpOp::SwitchInfo(n));
    }
    for p in sm_ports(fabric) {
        smps.enqueue(SmpOp::SmInfo(p));
    }
    for (n, _) in fabric.nodes().filter(|(_, n)| !n.is_description_current) {
        smps.enqueue(SmpOp::NodeDescription(n));
    }
}
