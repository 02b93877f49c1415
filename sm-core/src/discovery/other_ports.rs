//! Ports of hosts that a full sweep did not reach: if one has a link, that link leads to another
//! subnet (another plane or rail).

use ferrosm_fabric::observed::PortRef;
use ferrosm_mad::attr::{PortInfo, PortState};

use super::Discovery;
use crate::ctx::Ctx;
use crate::report::ProblemKind;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

impl Discovery {
    /// Reads the ports of reached hosts that were not reached themselves, once a sweep, when all
    /// other responses are in.
    pub(crate) fn read_unreached_ports(&mut self, ctx: &mut Ctx<'_>) {
        if core::mem::replace(&mut self.has_read_unreached_ports, true) {
            return;
        }
        let this_sweep = ctx.fabric.full_sweep_number();
        let hosts = ctx.fabric.nodes();
        let hosts = hosts.filter(|(_, node)| !node.is_switch() && node.seen == this_sweep);
        for (n, node) in hosts {
            for p in node.physical_ports() {
                let is_reached = node
                    .ports
                    .get(p.index())
                    .is_none_or(|port| port.seen == this_sweep);
                if !is_reached && ctx.fabric.local() != Some(PortRef::new(n, p)) {
                    ctx.smps
                        .enqueue(SmpOp::UnreachedPortInfo(PortRef::new(n, p)));
                }
            }
        }
    }

    /// PortInfo of a port that was not reached; a host may not report it.
    pub(crate) fn on_unreached_port(&mut self, at: PortRef, outcome: &SmpOutcome) {
        let info = outcome.data().map(PortInfo::decode);
        if info.is_some_and(|info| info.port_state >= PortState::Initialize) {
            self.links_elsewhere.push(at);
        }
    }

    /// Reports links that lead to another subnet, as one note.
    pub(super) fn report_links_elsewhere(&mut self, ctx: &mut Ctx<'_>) {
        let mut ports = core::mem::take(&mut self.links_elsewhere);
        ports.retain(|p| ctx.fabric.peer(*p).is_none());
        if let Some(first) = ports.iter().min() {
            let kind = ProblemKind::LinkToOtherSubnet {
                others: ports.len() - 1,
            };
            ctx.effects.problem(*first, kind);
        }
    }
}
