//! Light sweeps read SwitchInfo.PortStateChange of every switch and SMInfo of every other SM (IBA
//! vol. 1, 14.2.5.4).
//!
//! The SM's own port is read first, and again when a switch does not respond: without its link no
//! switch can, and none is at fault.

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::ids::PortNum;

use super::SubnetManager;
use crate::discovery::silent_ports::{ports_to_guid_owner, silent_ports};
use crate::event::{Event, LocalSweepReasons};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::sweep::activity::Activity;
use crate::sweep::light::{self, LightSweep};

impl SubnetManager {
    pub(super) fn begin_light_sweep(&mut self) {
        self.set_activity(Activity::LightSweep(LightSweep::default()));
        self.schedule.begin_light_sweep(self.now);
        // No switch reports that this port lost its link.
        if let Some(local) = self.own_link_port() {
            self.enqueue(SmpOp::PortInfo(local));
        } else {
            self.step_light_sweep();
        }
    }

    /// The SM's own port, if it has a link of its own: not port 0 of a switch.
    pub(super) fn own_link_port(&self) -> Option<PortRef> {
        self.fabric.local().filter(|p| p.port != PortNum::ZERO)
    }

    /// No request is outstanding: reads the fabric after the own port, then ends the light sweep.
    pub(super) fn step_light_sweep(&mut self) {
        let Some(sweep) = self.activity.light_sweep() else {
            return;
        };
        if !core::mem::replace(&mut sweep.has_read_fabric, true) {
            with_ctx!(self, |ctx| light::read_fabric(ctx));
            if !self.smps.is_idle() {
                return;
            }
        }
        self.finish_light_sweep();
    }

    /// The own port is not active: without its link no device can respond, so nothing is recorded
    /// of those that did not.
    pub(super) fn abandon_light_sweep(&mut self) {
        if self.activity.light_sweep().is_some() {
            self.begin_full_sweep();
        }
    }

    /// SwitchInfo has no response. In a light sweep the switch is accused at the end only, if the
    /// own port is still active then. Returns whether a light sweep runs.
    pub(super) fn on_silent_in_light_sweep(&mut self, n: NodeIdx) -> bool {
        let Some(sweep) = self.activity.light_sweep() else {
            return false;
        };
        sweep.silent_switches.push(n);
        true
    }

    /// A request timed out. In a light sweep the own port is read again, at most once in the time
    /// of a timeout: its link may be lost.
    pub(super) fn on_timeout_in_light_sweep(&mut self, op: SmpOp) {
        let Some(own_port) = self.own_link_port() else {
            return;
        };
        let read = SmpOp::PortInfo(own_port);
        if let Some(sweep) = self.activity.light_sweep()
            && op != read
            && sweep.rereads_own_port(self.now, self.cfg.smp_timeout)
        {
            self.smps.enqueue_first(read);
        }
    }

    fn finish_light_sweep(&mut self) {
        let sweep = self.activity.light_sweep().map(core::mem::take);
        for n in sweep.unwrap_or_default().silent_switches {
            self.schedule.record_inconsistency(self.now);
            self.on_outcome(SmpOp::SwitchInfo(n), &SmpOutcome::Unanswered);
        }
        self.set_activity(Activity::Idle);
        self.schedule.arm_timer(self.now, self.cfg.sweep_interval);
        self.compare_sms();
        if !self.activity.is_idle() {
            // A handover began, or another SM is master.
            return;
        }
        self.check_fabric();
    }

    /// Reads again what may have changed or did not respond, and the whole fabric after an
    /// inconsistency.
    pub(super) fn check_fabric(&mut self) {
        let interval = self.cfg.sweep_interval;
        let changed_switches = self.schedule.rereads().switches.len();
        let check_all = self.schedule.take_postponed(self.now, interval);
        let rereads = self.schedule.rereads();
        let silent_ports = silent_ports(&self.fabric);
        let reasons = LocalSweepReasons {
            changed_switches,
            failed_switches: rereads.switches.len() - changed_switches,
            silent_ports: silent_ports.len(),
            unverified_ports: rereads.ports.len(),
            outdated_routes: self.routing.is_stale(),
        };
        for p in silent_ports {
            self.schedule.reread_port(p);
            for owner_port in ports_to_guid_owner(&self.fabric, p) {
                if let Some(port) = self.fabric.port_mut(owner_port) {
                    port.peer_unverified = true;
                }
                self.schedule.reread_port(owner_port);
            }
        }
        if check_all {
            self.emit(Event::InconsistencyFound);
            self.request_full_sweep();
            return;
        }
        if self.schedule.has_no_rereads() && !self.routing.is_stale() {
            return;
        }
        let event = Event::ChangesFound(reasons);
        self.emit(event);
        self.request_local_sweep();
    }
}
