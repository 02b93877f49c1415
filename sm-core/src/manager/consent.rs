//! Calls [`crate::consent`]: when settings of another SM are compared, and what follows.

use ferrosm_mad::attr::{PortInfo, SmState};

use super::SubnetManager;
use crate::consent::Consent;
use crate::election::ElectionInput;
use crate::event::Event;
use crate::report::ProblemKind;
use crate::report::foreign_settings::RemovalKind;
use crate::sweep::SweepPhase;

impl SubnetManager {
    /// Discovery is complete: reads what another SM may have configured before SMs are scanned, so
    /// that none hands over to this SM before it is compared.
    pub(super) fn begin_reading_foreign_tables(&mut self) {
        if !self.consent.must_compare() || !Consent::may_find_settings(&self.fabric) {
            return self.begin_sm_scan_of_sweep();
        }
        self.begin_phase(SweepPhase::ReadForeignTables);
        with_ctx!(self, |ctx| self.consent.read(ctx));
    }

    /// The tables are read.
    pub(super) fn finish_reading_foreign_tables(&mut self) {
        self.consent
            .compare(&mut self.fabric, &self.cfg, &self.keys);
        self.apply_consent();
        self.begin_sm_scan_of_sweep();
    }

    /// The SM's own port is read, or the SM starts.
    pub(super) fn hide_before_first_contact(&mut self, own_port: Option<&PortInfo>) {
        let is_first_discovery = !self.read_only && self.role() == SmState::Discovering;
        let is_hidden = is_first_discovery && self.consent.hides(&self.cfg, own_port);
        if is_hidden != self.mastership.is_hidden() {
            self.step_election(ElectionInput::Hidden(is_hidden));
        }
    }

    /// Marks what stays as it is, in each sweep.
    pub(super) fn mark_kept_settings(&mut self) {
        let has_changed = self
            .consent
            .mark_kept(&mut self.fabric, &self.cfg, &self.keys);
        if has_changed {
            self.routing.mark_stale();
        }
    }

    /// The configuration changed.
    pub(super) fn compare_config_with_settings(&mut self) {
        self.consent.on_config(&self.cfg);
        self.apply_consent();
    }

    /// The operator accepts what waits for consent, or what the first comparison will find. Returns
    /// whether something of this kind waited.
    pub fn accept_removal(&mut self, kind: RemovalKind) -> bool {
        let was_awaited = self.consent.accept(kind);
        self.apply_consent();
        if was_awaited && self.is_master() {
            self.request_full_sweep();
        }
        was_awaited
    }

    /// Something waits for consent now and nothing did before, or the other way round.
    pub(super) fn apply_consent(&mut self) {
        if !self.consent.take_change() {
            return;
        }
        let foreign = self.consent.awaited();
        if foreign.is_empty() {
            self.emit(Event::ConsentGiven);
        } else {
            let is_master = self.role() == SmState::Master;
            self.emit(Event::ConsentAwaited { foreign, is_master });
        }
        let is_awaited = self.consent.is_awaited();
        self.step_election(ElectionInput::ConsentChanged { is_awaited });
    }

    /// A sweep as master is complete. Tables that waited may be its own since, and others may wait.
    pub(super) fn end_consent_of_sweep(&mut self) {
        if let Some(update) = self.consent.on_sweep_as_master() {
            self.outbox.persist(vec![update]);
        }
    }

    /// Reports what waits for consent, in a sweep as master.
    pub(super) fn report_kept_settings(&mut self) {
        self.apply_consent();
        for foreign in self.consent.awaited() {
            let kind = ProblemKind::ForeignSettingsKept(Box::new(foreign));
            self.add_problem(None, kind);
        }
    }
}
