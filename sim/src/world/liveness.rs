//! The liveness oracle: faults off, then the fabric must become good within a bound of virtual time.
//!
//! [`Pace`] says how patient a manager was told to be; the bound follows from that and from the
//! size of the fabric, and from nothing that the manager did. [`World::converge`] ends the faults,
//! lets time pass, and reports how long it took and what was still wrong.
//!
//! The bound is the sum of what a manager may need one after the other, all of it in the worst
//! order:
//!
//! 1. it was not the master: the silence after which it takes over, and a look of its own;
//! 2. it has just asked something that is never answered, and learns that only when its last
//!    repetition was in vain, once for each link of the longest way, since what is behind a silent
//!    node is asked after it;
//! 3. it notices what it missed at its next look of its own accord, reads and writes the whole
//!    fabric, doubts some of that and looks again: [`LOOKS`] times in all;
//! 4. each time it asks [`QUESTIONS_PER_PORT`] questions for every port and one for every block of
//!    every table, a window of them at a time.

use std::fmt;
use std::time::Duration;

use super::{Manager, World};
use crate::fabric::Fabric;
use crate::oracle::{Expect, judge_fabric};

/// Times that a manager may look at the fabric again before it must be right.
pub const LOOKS: u32 = 6;
/// Questions for a port: its information before and after, its tables, its state.
pub const QUESTIONS_PER_PORT: u32 = 24;
/// How often the oracle looks.
const STEP: Duration = Duration::from_millis(250);

/// How patient a manager was told to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From a question to giving it up, repetitions included.
    pub patience: Duration,
    /// Between looks of its own accord.
    pub interval: Duration,
    /// Questions under way at a time, for the whole fabric.
    pub window: u32,
    /// Silence of a master after which it takes over; zero where there never was another one.
    pub takeover: Duration,
}

/// What the oracle found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    /// What it may take.
    pub bound: Duration,
    /// What it took; `None` if it was not good in time.
    pub took: Option<Duration>,
    /// What was wrong when it was last looked at before it was good (or the time was over).
    pub wrong: String,
}

impl Liveness {
    /// Whether the fabric became good in time.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.took.is_some()
    }
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.took {
            Some(took) => write!(f, "good after {took:?} of {:?}", self.bound)?,
            None => write!(f, "not good within {:?}", self.bound)?,
        }
        if self.wrong.is_empty() {
            Ok(())
        } else {
            write!(f, "; until then: {}", self.wrong)
        }
    }
}

impl Pace {
    /// The virtual time in which the fabric must become good once nothing goes wrong any more.
    #[must_use]
    pub fn bound(&self, fabric: &Fabric) -> Duration {
        let (mut ports, mut switches) = (0u32, 0u32);
        for node in 0..fabric.num_nodes() {
            ports += 1 + u32::from(fabric.num_ports(node));
            switches += u32::from(fabric.is_switch(node));
        }
        let nodes = u32::try_from(fabric.num_nodes()).unwrap_or(u32::MAX);
        // The longest way in a fabric that anyone builds; a chain is as long as it has switches.
        let depth = switches.min(32) + 1;
        let table_blocks = switches.saturating_mul(nodes / 64 + 1).saturating_mul(2);
        let questions = ports
            .saturating_mul(QUESTIONS_PER_PORT)
            .saturating_add(table_blocks);
        // A node answers a question within a millisecond, unless it has a fault.
        let reading = Duration::from_millis(u64::from(questions / self.window.max(1)));
        self.takeover + self.patience * depth + (self.interval + self.patience + reading) * LOOKS
    }
}

impl<M: Manager> World<M> {
    /// Ends all faults (what was cut, moved or switched off stays so), then lets time pass until the
    /// oracle finds nothing wrong and `settled` agrees, at most for the pace's bound. `settled` is
    /// asked every quarter of a second.
    pub fn converge(
        &mut self,
        pace: &Pace,
        expect: &Expect,
        settled: impl FnMut(&Self) -> Result<(), String>,
    ) -> Liveness {
        self.converge_to(pace, |_| expect.clone(), settled)
    }

    /// The same, where what is expected depends on what the manager says at the moment: the SL of each path, which it
    /// decides. That packets arrive on these SLs, and wait for each other in no circle, the oracle finds by itself.
    pub fn converge_to(
        &mut self,
        pace: &Pace,
        expect: impl Fn(&Self) -> Expect,
        mut settled: impl FnMut(&Self) -> Result<(), String>,
    ) -> Liveness {
        self.heal();
        let bound = pace.bound(self.fabric());
        let begun = self.now();
        let mut wrong = String::new();
        loop {
            let verdict = judge_fabric(self.fabric(), &expect(self));
            let told = settled(self);
            if verdict.is_good() && told.is_ok() {
                let took = Some(self.now().since(begun));
                return Liveness { bound, took, wrong };
            }
            wrong.clear();
            if !verdict.is_good() {
                wrong.push_str(&verdict.to_string());
            }
            if let Err(told) = told {
                wrong.push_str(&told);
            }
            if self.now().since(begun) >= bound {
                let took = None;
                return Liveness { bound, took, wrong };
            }
            self.run_for(STEP);
        }
    }
}
