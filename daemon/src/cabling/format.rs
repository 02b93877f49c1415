//! The formats of plans, and their detection.

use super::plan::{CABLES_MAX, CablingPlan, PlanError};
use super::{ibnetdiscover, ndt, xml};

impl CablingPlan {
    /// Reads a plan. The format is detected: UFM's NDT (CSV), output of ibnetdiscover, a topology
    /// of opafm (XML), or ibfabricconf (XML).
    ///
    /// # Errors
    /// The first line that is not valid.
    pub fn read(text: &str) -> Result<Self, PlanError> {
        let text = text.trim_start_matches('\u{feff}');
        let cables = if text.trim_start().starts_with('<') {
            xml::read(text)?
        } else if ibnetdiscover::is_format(text) {
            ibnetdiscover::read(text)?
        } else {
            ndt::read(text)?
        };
        if cables.is_empty() {
            return Err(PlanError::new(1, "the plan has no cable"));
        }
        if cables.len() > CABLES_MAX {
            let line = cables[CABLES_MAX].line;
            return Err(PlanError::new(
                line,
                format!("more than {CABLES_MAX} cables"),
            ));
        }
        let mut plan = Self { cables };
        plan.remove_repetitions();
        Ok(plan)
    }
}
