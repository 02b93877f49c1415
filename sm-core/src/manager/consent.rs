//! Calls [`crate::consent`]: when P_Key tables are compared, and what follows.

use std::sync::Arc;

use ferrosm_mad::attr::{PortInfo, SmState};

use super::SubnetManager;
use crate::consent::Consent;
use crate::election::ElectionInput;
use crate::event::Event;
use crate::report::ProblemKind;
use crate::sweep::SweepPhase;

impl SubnetManager {
    /// Discovery is complete: reads what another SM may have configured before SMs are scanned, so
    /// that none hands over to this SM before it is compared.
    pub(super) fn begin_reading_p_keys(&mut self) {
        let must_read = self.consent.must_read() && !self.activity.is_local_sweep();
        if !must_read || !Consent::may_find_p_keys(&self.fabric) {
            return self.begin_sm_scan_of_sweep();
        }
        self.begin_phase(SweepPhase::ReadPKeys);
        with_ctx!(self, |ctx| Consent::read(ctx));
    }

    /// The SM's own port is read, or the SM starts.
    pub(super) fn hide_before_first_contact(&mut self, own_port: Option<&PortInfo>) {
        let is_first_discovery = !self.read_only && self.role() == SmState::Discovering;
        let is_hidden = is_first_discovery && self.consent.hides(&self.cfg, own_port);
        if is_hidden != self.mastership.is_hidden() {
            self.step_election(ElectionInput::Hidden(is_hidden));
        }
    }

    /// The P_Key tables are read.
    pub(super) fn finish_reading_p_keys(&mut self) {
        let has_changed = self.consent.compare(&self.fabric, &self.cfg);
        self.apply_consent(has_changed);
        self.begin_sm_scan_of_sweep();
    }

    /// The configuration changed.
    pub(super) fn compare_p_keys(&mut self) {
        let has_changed = self.consent.on_config(&self.fabric, &self.cfg);
        self.apply_consent(has_changed);
    }

    /// The operator accepts what waits for consent.
    pub(super) fn accept_removals(&mut self) {
        let has_changed = self.consent.give();
        self.apply_consent(has_changed);
        if self.is_master() {
            self.request_full_sweep();
        }
    }

    fn apply_consent(&mut self, has_changed: bool) {
        let is_awaited = self.consent.awaited().is_some();
        if self.cfg.partitions.are_kept() != is_awaited {
            Arc::make_mut(&mut self.cfg.partitions).keep_installed(is_awaited);
        }
        if !has_changed {
            return;
        }
        self.report_consent();
        self.step_election(ElectionInput::ConsentChanged { is_awaited });
    }

    fn report_consent(&mut self) {
        let event = match self.consent.awaited() {
            Some(foreign) => Event::ConsentAwaited {
                foreign: Box::new(foreign.clone()),
                is_master: self.role() == SmState::Master,
            },
            None => Event::ConsentGiven,
        };
        self.emit(event);
    }

    /// A sweep as master is complete.
    pub(super) fn end_consent_of_sweep(&mut self) {
        self.consent.on_sweep_as_master();
        if let Some(update) = self.consent.take_update() {
            self.outbox.persist(vec![update]);
        }
    }

    /// Reports what waits for consent, in a sweep as master.
    pub(super) fn report_kept_p_keys(&mut self) {
        if let Some(foreign) = self.consent.awaited() {
            let kind = ProblemKind::ForeignPKeysKept(Box::new(foreign.clone()));
            self.add_problem(None, kind);
        }
    }
}
