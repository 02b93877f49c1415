//! Store faults, for seeds from `FIRST_SEED_STORES`: the SM's store is slow, hangs or fails, and
//! the SM is killed meanwhile. Has its own random numbers.

use crate::lab::TestRng;
use crate::lab::store::StoreFault;

use crate::random_runs::swarm::seed_plan::seconds;
use crate::random_runs::swarm::simulation::SwarmRun;

/// Applies store faults.
pub(super) struct StoreFaults(TestRng);

impl StoreFaults {
    pub(super) const fn new(seed: u64) -> Self {
        Self(TestRng::new(seed ^ 0x5708_E000_0000))
    }

    fn set_random_fault(&mut self, run: &mut SwarmRun) {
        let fault = StoreFault::random(&mut self.0, |rng| seconds(rng.unit() * rng.unit() * 3.0));
        run.set_store_fault(fault);
    }

    /// Sets a fault at the start of the run, with a probability of 2/3.
    pub(super) fn start(&mut self, run: &mut SwarmRun) {
        if !self.0.one_in(3) {
            self.set_random_fault(run);
        }
    }

    /// Applies an event, with a probability of 7/12.
    pub(super) fn apply_event(&mut self, run: &mut SwarmRun) {
        match self.0.below(12) {
            0..=2 => run.set_store_fault(StoreFault::None),
            3..=5 => self.set_random_fault(run),
            6 => {
                let time = self.0.unit() * self.0.unit() * 5.0;
                let fault = run.lab.manager().store.fault();
                run.restart_sm(seconds(time));
                run.set_store_fault(fault);
            }
            _ => {}
        }
    }
}
