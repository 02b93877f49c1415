//! When surveys run, and what follows from them.

use std::collections::BTreeMap;

use super::SubnetManager;
use crate::discovery::budget::{Budget, BudgetScope};
use crate::discovery::survey::SurveyResult;
use crate::event::Event;
use crate::report::ProblemKind;
use crate::sweep::activity::Activity;

impl SubnetManager {
    /// The limits of a sweep that begins.
    pub(super) fn sweep_budget(&self) -> Budget {
        // A new master may know only the subnet of its own start. What was excluded before counts
        // for a master only: surveys run for it.
        let knows_subnet =
            self.is_master() && !self.read_only && !self.mastership.is_first_as_master();
        let (scope, allowances) = if knows_subnet {
            (BudgetScope::PerPort, self.surveys.allowances())
        } else {
            (BudgetScope::WholeFabric, BTreeMap::new())
        };
        Budget::new(scope, self.cfg.new_port_budget, allowances)
    }

    /// Begins or continues a survey, if there is nothing else to do.
    pub(super) fn begin_survey(&mut self) {
        let is_idle = self.activity.is_idle() && self.smps.is_idle();
        if is_idle
            && self.is_master()
            && !self.schedule.is_due(self.now)
            && with_ctx!(self, |ctx| self.surveys.begin_batch(ctx))
        {
            self.set_activity(Activity::Survey);
        }
    }

    /// Other work is due, and the survey waits for a node that does not respond: its batch is
    /// repeated later.
    pub(super) fn interrupt_survey(&mut self) {
        if matches!(self.activity, Activity::Survey)
            && self.surveys.may_interrupt()
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
                if let Some(port) = self.fabric.port_mut(at).filter(|port| port.is_up()) {
                    port.exclusion = Some(Box::new(reason));
                }
                let kind = ProblemKind::excluded(reason);
                for problem in self.locate_problems(vec![(Some(at), kind)]) {
                    self.emit(Event::ProblemFound(problem));
                }
            }
            Some(SurveyResult::Unchanged) | None => {}
        }
    }
}
