//! When surveys run, and what follows from them.

use super::SubnetManager;
use super::activity::Activity;
use crate::event::Event;
use crate::report::ProblemKind;
use crate::survey::SurveyResult;
use crate::sweep::discovery::budget::{Budget, BudgetScope};

impl SubnetManager {
    /// The limits of a sweep that begins.
    pub(super) fn sweep_budget(&self) -> Budget {
        let scope = if self.is_master() && !self.read_only {
            BudgetScope::PerPort
        } else {
            BudgetScope::WholeFabric
        };
        let allowances = self.surveys.allowances();
        Budget::new(scope, self.cfg.new_port_budget, allowances)
    }

    /// Between other activities: begins or continues a survey. Returns whether there is one.
    pub(super) fn begin_survey(&mut self) -> bool {
        if !self.is_master() || self.schedule.is_due(self.now) {
            return false;
        }
        let has_requests = with_ctx!(self, |ctx| self.surveys.begin_batch(ctx));
        if has_requests {
            self.set_activity(Activity::Survey);
        }
        has_requests
    }

    /// Other work is due, and the survey waits for a node that does not respond: it begins again later.
    pub(super) fn abandon_stalled_survey(&mut self) {
        if matches!(self.activity, Activity::Survey)
            && self.surveys.is_stalled()
            && self.schedule.is_due(self.now)
        {
            self.smps.clear();
            self.set_activity(Activity::Idle);
        }
    }

    /// A batch of a survey is complete.
    pub(super) fn finish_survey_batch(&mut self) {
        self.set_activity(Activity::Idle);
        match self.surveys.finish_batch(self.now) {
            Some(SurveyResult::Counted(at)) => {
                self.schedule.reread_port(at);
                self.request_local_sweep();
            }
            Some(SurveyResult::Excluded(at, reason)) => {
                if let Some(port) = self.subnet.port_mut(at).filter(|port| port.is_up()) {
                    port.quarantine = Some(Box::new(reason));
                }
                let kind = ProblemKind::quarantined(reason);
                for problem in self.locate_problems(vec![(Some(at), kind)]) {
                    self.emit(Event::ProblemFound(problem));
                }
            }
            Some(SurveyResult::Unchanged) | None => {}
        }
    }
}
