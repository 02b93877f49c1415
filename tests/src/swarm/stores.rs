//! What seeds of the fourth kind add: the SM's store is slow, hangs or fails, and the SM is killed meanwhile. Drawn from numbers of its own.

use crate::simulated::{Dice, Lab};
use crate::store::StoreFault;
use ferrosm_core::SmConfig;

use crate::swarm::faults::restart;
use crate::swarm::invariants::Watch;
use crate::swarm::seed_plan::seconds;

/// Faults of the store.
pub(crate) struct StoreFaults {
    d: Dice,
    cfg: SmConfig,
}

impl StoreFaults {
    pub(crate) const fn new(seed: u64, cfg: SmConfig) -> Self {
        Self {
            d: Dice::new(seed ^ 0x5708_E000_0000),
            cfg,
        }
    }

    /// A fault of any kind.
    fn fault(&mut self) -> StoreFault {
        match self.d.below(6) {
            0..=2 => StoreFault::Delayed(seconds(self.d.unit() * self.d.unit() * 3.0)),
            3 => StoreFault::Failing,
            _ => StoreFault::Hanging,
        }
    }

    /// The store may be faulty from the beginning.
    pub(crate) fn begin(&mut self, lab: &mut Lab) -> Option<String> {
        if self.d.one_in(3) {
            return None;
        }
        let fault = self.fault();
        Some(set(lab, fault))
    }

    /// Draws what happens at a moment and does it; says what it was.
    pub(crate) fn happen(&mut self, lab: &mut Lab, watch: &mut Watch) -> Option<String> {
        match self.d.below(12) {
            0..=2 => Some(set(lab, StoreFault::None)),
            3..=5 => {
                let fault = self.fault();
                Some(set(lab, fault))
            }
            6 => {
                let time = self.d.unit() * self.d.unit() * 5.0;
                let fault = lab.manager().store_fault();
                let text = restart(lab, watch, &self.cfg, seconds(time));
                set(lab, fault);
                Some(text)
            }
            _ => None,
        }
    }

    /// The store is healthy.
    pub(crate) fn end(lab: &mut Lab) {
        set(lab, StoreFault::None);
    }
}

fn set(lab: &mut Lab, fault: StoreFault) -> String {
    let sm = lab.sm;
    lab.world
        .with_sm(sm, |sm, now| sm.set_store_fault(fault, now));
    format!("store: {fault:?}")
}
