//! Store faults, for seeds from `FIRST_SEED_STORES`: the SM's store is slow, hangs or fails, and
//! the SM is killed meanwhile. Has its own random numbers.

use crate::lab::store::StoreFault;
use crate::lab::{Lab, TestRng};
use ferrosm_core::SmConfig;

use crate::random_runs::swarm::faults::restart;
use crate::random_runs::swarm::invariants::InvariantMonitor;
use crate::random_runs::swarm::seed_plan::seconds;

/// Applies store faults.
pub(crate) struct StoreFaults {
    rng: TestRng,
    cfg: SmConfig,
}

impl StoreFaults {
    pub(crate) const fn new(seed: u64, cfg: SmConfig) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x5708_E000_0000),
            cfg,
        }
    }

    /// Draws a fault.
    fn random_fault(&mut self) -> StoreFault {
        match self.rng.below(6) {
            0..=2 => StoreFault::Delayed(seconds(self.rng.unit() * self.rng.unit() * 3.0)),
            3 => StoreFault::Failing,
            _ => StoreFault::Hanging,
        }
    }

    /// Sets a fault at the start of the run, with a probability of 2/3.
    pub(crate) fn start(&mut self, lab: &mut Lab) -> Option<String> {
        if self.rng.one_in(3) {
            return None;
        }
        let fault = self.random_fault();
        Some(set_fault(lab, fault))
    }

    /// Draws and applies an event, and describes it.
    pub(crate) fn apply_event(
        &mut self,
        lab: &mut Lab,
        monitor: &mut InvariantMonitor,
    ) -> Option<String> {
        match self.rng.below(12) {
            0..=2 => Some(set_fault(lab, StoreFault::None)),
            3..=5 => {
                let fault = self.random_fault();
                Some(set_fault(lab, fault))
            }
            6 => {
                let time = self.rng.unit() * self.rng.unit() * 5.0;
                let fault = lab.manager().store_fault();
                let text = restart(lab, monitor, &self.cfg, seconds(time));
                set_fault(lab, fault);
                Some(text)
            }
            _ => None,
        }
    }

    /// Clears the fault.
    pub(crate) fn end(lab: &mut Lab) {
        set_fault(lab, StoreFault::None);
    }
}

fn set_fault(lab: &mut Lab, fault: StoreFault) -> String {
    let sm = lab.sm;
    lab.world
        .with_sm(sm, |sm, now| sm.set_store_fault(fault, now));
    format!("store: {fault:?}")
}
