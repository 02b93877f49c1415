//! What operators declared about the fabric: invariants, and the plan of the cables.

use std::sync::Arc;

use ferrosm_api::cabling::CablingFinding;
use ferrosm_api::invariant::InvariantStatus;

use crate::cabling::plan::CablingPlan;
use crate::config::Settings;
use crate::invariants::Invariant;

/// What operators declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    pub invariants: Vec<Invariant>,
    pub cabling: Option<Arc<CablingPlan>>,
}

impl Intent {
    /// What a configuration declares.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self {
            invariants: settings.invariants(),
            cabling: settings.cabling_plan.clone(),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.invariants.is_empty() && self.cabling.is_none()
    }
}

/// How the fabric compares with what was declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparedIntent {
    pub(super) invariants: Vec<InvariantStatus>,
    pub(super) cabling: Vec<CablingFinding>,
    /// Why the plan of the cables cannot be compared.
    pub(super) cabling_error: Option<String>,
}
