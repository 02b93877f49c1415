//! Which activity begins when no request is outstanding, and after events of the local port.

use super::SubnetManager;
use crate::io::LocalPortEvent;
use crate::kept_tables::due_ports;
use crate::report::SweepKind;
use crate::schedule::Due;
use crate::sweep::activity::Activity;

use ferrosm_mad::attr::SmState;

impl SubnetManager {
    pub(super) fn request_full_sweep(&mut self) {
        self.schedule.request(SweepKind::Full);
    }

    pub(super) fn on_local_port(&mut self, event: LocalPortEvent) {
        match event {
            // The SM's own activation of the port causes this event.
            LocalPortEvent::Up
                if !matches!(self.activity, Activity::NoLink) && self.role() == SmState::Master => {
            }
            // Queued requests would reach the fabric when the link is back, and another SM may be
            // master by then.
            LocalPortEvent::Down if self.activity().configures() => self.begin_full_sweep(),
            LocalPortEvent::Up | LocalPortEvent::Down => self.request_full_sweep(),
            LocalPortEvent::Changed => {
                if let Some(local) = self.fabric.local() {
                    self.schedule.reread_port(local);
                    self.request_local_sweep();
                }
            }
        }
    }

    /// No request is outstanding: begins the sweep that is due.
    pub(super) fn on_idle(&mut self) {
        if matches!(self.activity, Activity::Standby) {
            // A standby only polls the master.
            self.schedule.cancel();
        }
        let may_sweep = self.activity.is_idle() && self.is_master();
        if may_sweep && self.routing.take_retry(self.now) {
            self.request_local_sweep();
        }
        let retry = &mut self.last_sweep.next_table_retry;
        if may_sweep && retry.take_if(|due| *due <= self.now).is_some() {
            for p in due_ports(&self.fabric, self.now) {
                self.schedule.reread_port(p);
            }
            self.request_local_sweep();
        }
        if may_sweep {
            let due = with_ctx!(self, |ctx| self.link_stability.take_due(ctx));
            if due.has_released || !due.retries.is_empty() {
                for p in due.retries {
                    self.schedule.reread_port(p);
                }
                self.request_local_sweep();
            }
        }
        match self.schedule.next(self.now, may_sweep) {
            Due::Full => self.begin_full_sweep(),
            Due::Local => self.begin_local_sweep(),
            Due::Check => {
                self.check_fabric();
                // What it requested begins now.
                self.transitions += 1;
            }
            Due::Light if matches!(self.activity, Activity::NoLink) => self.begin_full_sweep(),
            Due::Light if may_sweep => self.begin_light_sweep(),
            Due::Light | Due::Nothing => {}
        }
    }
}
