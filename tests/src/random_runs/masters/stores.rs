//! Slow, hanging and failing stores, and masters that are killed, hand over or recover meanwhile.
//! Has its own random numbers.

use std::time::Duration;

use crate::lab::TestRng;
use crate::lab::store::StoreFault;
use ferrosm_core::Command;

use crate::random_runs::masters::simulation::Simulation;

/// Applies store faults.
pub(crate) struct StoreFaults {
    rng: TestRng,
}

impl StoreFaults {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x0570_4E00_0000),
        }
    }

    fn fault(&mut self) -> StoreFault {
        match self.rng.below(6) {
            0..=2 => StoreFault::Delayed(Duration::from_millis(self.rng.upto(2_500))),
            3 => StoreFault::Failing,
            _ => StoreFault::Hanging,
        }
    }

    /// Applies a store event; `None` if the caller is to apply a general one.
    pub(crate) fn apply_event(&mut self, sim: &mut Simulation) -> Option<String> {
        match self.rng.below(10) {
            0 | 1 => Some(self.change_store(sim)),
            2 => Some(Self::clear_faults(sim)),
            3..=5 => Some(self.stop_master_with_faulty_store(sim)),
            _ => None,
        }
    }

    /// Sets or clears the store fault of one SM, in most cases the master.
    fn change_store(&mut self, sim: &mut Simulation) -> String {
        let running = sim.running();
        let any = Simulation::choose(&mut self.rng, &running);
        let i = if self.rng.one_in(4) {
            any
        } else {
            sim.master()
        };
        let Some(i) = i else {
            return "no SM with a store".to_owned();
        };
        let fault = self.fault();
        Self::set_fault(sim, i, fault)
    }

    fn set_fault(sim: &mut Simulation, i: usize, fault: StoreFault) -> String {
        let kind = match fault {
            StoreFault::None => "store healthy",
            StoreFault::Delayed(_) => "store delayed",
            StoreFault::Hanging => "store hanging",
            StoreFault::Failing => "store failing",
        };
        sim.tally.add(kind, 1);
        sim.set_store_fault(i, fault);
        format!("store of {i}: {fault:?}")
    }

    fn clear_faults(sim: &mut Simulation) -> String {
        let running = sim.running();
        for i in &running {
            Self::set_fault(sim, *i, StoreFault::None);
        }
        format!("stores of {running:?} are healthy")
    }

    /// Lets clients register while the master's store is faulty, then kills the master or commands
    /// a handover.
    fn stop_master_with_faulty_store(&mut self, sim: &mut Simulation) -> String {
        let Some(i) = sim.master() else {
            return "no master".to_owned();
        };
        let fault = self.fault();
        let mut texts = vec![Self::set_fault(sim, i, fault)];
        for _ in 0..1 + self.rng.below(4) {
            texts.push(sim.clients.change_registration(&mut self.rng));
            let wait = self.rng.upto(1_500);
            sim.run_for(Duration::from_millis(wait));
        }
        if self.rng.one_in(3) {
            texts.push(Self::set_fault(sim, i, StoreFault::None));
            let wait = self.rng.upto(1_500);
            sim.run_for(Duration::from_millis(wait));
        }
        let is_behind = sim.sm(i).is_some_and(|sm| !sm.is_store_caught_up());
        if self.rng.one_in(4) {
            sim.command(i, Command::Handover.with_id(0));
            sim.tally
                .add("handover, store behind", u32::from(is_behind));
            texts.push(format!("{i} starts a handover"));
        } else if sim.may_stop_sm() {
            sim.kill_sm(i);
            sim.tally.add("killed, store behind", u32::from(is_behind));
            texts.push(format!("master {i} is killed"));
        }
        texts.join(", ")
    }

    /// Clears the faults of all stores.
    pub(crate) fn end_faults(sim: &mut Simulation) {
        let text = Self::clear_faults(sim);
        sim.log(&text);
    }
}
