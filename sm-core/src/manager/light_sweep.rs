//! Light sweeps read SwitchInfo.PortStateChange of every switch and SMInfo of every other SM (IBA
//! vol. 1, 14.2.5.4).
//!
//! The SM's own port is read first, and again when a switch does not respond: without its link no
//! switch can, and none is at fault.
//!
//! A master that no device responds to, in two light sweeps, is locked out, for example by another
//! M_Key. It yields to another SM that may have the key by a full sweep, which ends its mastership
//! if it finds the same; otherwise it stays master and reports why.

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::ids::PortNum;

use super::SubnetManager;
use crate::discovery::silent_ports::{ports_to_guid_owner, silent_ports};
use crate::election::SmMKey;
use crate::event::{Event, LocalSweepReasons, NoLinkReason};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::sweep::activity::Activity;
use crate::sweep::light::{self, LightSweep};

/// Light sweeps in a row without a response after which the master counts as isolated.
const ISOLATED_LIGHT_SWEEPS: u8 = 2;

/// What did not respond to a master.
#[derive(Debug, Clone, Copy)]
enum Isolation {
    OwnPort,
    AllSwitches,
}

impl SubnetManager {
    pub(super) fn begin_light_sweep(&mut self) {
        self.set_activity(Activity::LightSweep(LightSweep::default()));
        self.schedule.begin_light_sweep(self.now);
        self.commands.on_refresh_started();
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
        let is_own_port_silent = sweep.is_own_port_silent;
        if !core::mem::replace(&mut sweep.has_read_fabric, true) {
            // An SM that may yield does not wait for each switch.
            if is_own_port_silent && self.may_yield(Isolation::OwnPort) {
                with_ctx!(self, |ctx| light::read_sms(ctx));
            } else {
                with_ctx!(self, |ctx| light::read_fabric(ctx));
            }
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

    /// A port was read. In a light sweep it counts whether the own port responds.
    pub(super) fn note_own_port_in_light_sweep(&mut self, p: PortRef, outcome: &SmpOutcome) {
        if self.own_link_port() == Some(p)
            && let Some(sweep) = self.activity.light_sweep()
        {
            sweep.is_own_port_silent = matches!(outcome, SmpOutcome::Unanswered);
        }
    }

    /// What did not respond in a light sweep, if the SM is isolated.
    fn isolation_in(&self, sweep: &LightSweep) -> Option<Isolation> {
        self.own_link_port()?;
        if sweep.is_own_port_silent {
            return Some(Isolation::OwnPort);
        }
        let silent = sweep.silent_switches.len();
        let is_alone = silent > 0 && silent == self.fabric.switches().count();
        is_alone.then_some(Isolation::AllSwitches)
    }

    /// Whether another SM may reach what this one does not. One with the same M_Key does not; that
    /// switches which hang respond to it must be known.
    fn may_yield(&self, isolation: Isolation) -> bool {
        let keys = self.mastership.keys_of_successors(&self.cfg);
        let is_unknown = keys.contains(&SmMKey::Unknown);
        let is_other = keys.contains(&SmMKey::Other);
        match isolation {
            Isolation::OwnPort => is_other || is_unknown,
            Isolation::AllSwitches => is_other,
        }
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
        let running = self.activity.light_sweep().map(core::mem::take);
        let sweep = running.unwrap_or_default();
        let isolation = self.isolation_in(&sweep);
        let isolated = self.last_sweep.count_isolated(isolation.is_some());
        for n in sweep.silent_switches {
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
        match isolation {
            Some(_) if isolated < ISOLATED_LIGHT_SWEEPS => self.schedule.request_light(),
            Some(isolation) if self.may_yield(isolation) => return self.begin_full_sweep(),
            Some(isolation) => self.report_isolated(isolation),
            None => {
                let local = self.fabric.local();
                if let Some(local) = local
                    && self.last_sweep.no_link.take().is_some()
                {
                    self.emit(Event::LocalPortUsable(self.fabric.port_name(local)));
                }
            }
        }
        self.check_fabric();
    }

    /// No device responds, and no other SM could do better.
    fn report_isolated(&mut self, isolation: Isolation) {
        let Some(port) = self.own_link_port() else {
            return;
        };
        let name = self.fabric.port_name(port);
        let reason = match isolation {
            Isolation::OwnPort => NoLinkReason::PortSilent(name),
            Isolation::AllSwitches => NoLinkReason::NeighbourSilent(name),
        };
        self.last_sweep.report_no_link(reason, &mut self.outbox);
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
