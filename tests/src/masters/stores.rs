//! Stores that are slow, hang or fail, and masters that die, hand over or recover meanwhile. Draws from dice of its own.

use std::time::Duration;

use crate::simulated::Dice;
use crate::store::StoreFault;
use ferrosm_core::Command;

use crate::masters::simulation::Stage;

/// See the module's text.
pub(crate) struct StoreFaults {
    d: Dice,
}

impl StoreFaults {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            d: Dice::new(seed ^ 0x0570_4E00_0000),
        }
    }

    fn fault(&mut self) -> StoreFault {
        match self.d.below(6) {
            0..=2 => StoreFault::Delayed(Duration::from_millis(self.d.upto(2_500))),
            3 => StoreFault::Failing,
            _ => StoreFault::Hanging,
        }
    }

    /// Something happens to stores, or, where this gives `None`, anything else may.
    pub(crate) fn happen(&mut self, stage: &mut Stage) -> Option<String> {
        match self.d.below(10) {
            0 | 1 => Some(self.change_one(stage)),
            2 => Some(Self::heal(stage)),
            3..=5 => Some(self.master_ends(stage)),
            _ => None,
        }
    }

    /// The store of an SM has a fault, or has none any more.
    fn change_one(&mut self, stage: &mut Stage) -> String {
        let alive = stage.alive();
        let any = Stage::any(&mut self.d, &alive);
        let i = if self.d.one_in(4) {
            any
        } else {
            stage.master()
        };
        let Some(i) = i else {
            return "no store".to_owned();
        };
        let fault = self.fault();
        Self::set(stage, i, fault)
    }

    fn set(stage: &mut Stage, i: usize, fault: StoreFault) -> String {
        let kind = match fault {
            StoreFault::None => "store healthy",
            StoreFault::Delayed(_) => "store delayed",
            StoreFault::Hanging => "store hanging",
            StoreFault::Failing => "store failing",
        };
        stage.tally.add(kind, 1);
        stage.set_store_fault(i, fault);
        format!("store of {i}: {fault:?}")
    }

    fn heal(stage: &mut Stage) -> String {
        let alive = stage.alive();
        for i in &alive {
            Self::set(stage, *i, StoreFault::None);
        }
        format!("stores of {alive:?} are healthy")
    }

    /// Clients register while the master's store has a fault, and then the master dies or hands over.
    fn master_ends(&mut self, stage: &mut Stage) -> String {
        let Some(i) = stage.master() else {
            return "no master".to_owned();
        };
        let fault = self.fault();
        let mut texts = vec![Self::set(stage, i, fault)];
        for _ in 0..1 + self.d.below(4) {
            texts.push(stage.clients.change(&mut self.d));
            let wait = self.d.upto(1_500);
            stage.run_for(Duration::from_millis(wait));
        }
        if self.d.one_in(3) {
            texts.push(Self::set(stage, i, StoreFault::None));
            let wait = self.d.upto(1_500);
            stage.run_for(Duration::from_millis(wait));
        }
        let behind = stage.sm(i).is_some_and(|sm| !sm.is_store_caught_up());
        if self.d.one_in(4) {
            stage.command(i, Command::Handover.with_id(0));
            stage.tally.add("handover, store behind", u32::from(behind));
            texts.push(format!("{i} is to hand over"));
        } else if stage.may_end() {
            stage.kill(i);
            stage.tally.add("killed, store behind", u32::from(behind));
            texts.push(format!("the master {i} is killed"));
        }
        texts.join(", ")
    }

    /// All stores are healthy.
    pub(crate) fn end(stage: &mut Stage) {
        let text = Self::heal(stage);
        stage.say(&text);
    }
}
