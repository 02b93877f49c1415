//! Liveness oracle: after all faults end, the fabric must be configured correctly within a bound of
//! virtual time.
//!
//! [`LivenessTiming`] is the timing configuration of the SM under test. The bound follows from it
//! and from the size of the fabric. [`World::converge`] ends the faults, runs until the oracle
//! finds no violation, and reports the duration and the last violations.
//!
//! The bound is the sum of the worst-case durations of what the SM may have to do in sequence:
//!
//! 1. wait for the former master's silence and take over;
//! 2. wait for the last retry of a request without reply, once for each link of the longest path,
//!    because nodes behind a silent node are discovered after it;
//! 3. at the next light sweep, detect the difference, read and write the whole fabric, detect
//!    inconsistencies and sweep again: [`SWEEPS_ALLOWED`] sweeps in all;
//! 4. in each sweep, exchange [`REQUESTS_PER_PORT`] requests for every port and one for every block
//!    of every table, with [`LivenessTiming::max_outstanding`] in flight.

use std::fmt;
use std::time::Duration;

use super::{HostedSm, World};
use crate::fabric::Fabric;
use crate::index::index_to_u32;
use crate::oracle::{Expectations, judge_fabric};

/// Sweeps within which the SM must have configured the fabric.
pub const SWEEPS_ALLOWED: u32 = 6;
/// Requests for a port: reading and writing PortInfo, the tables, and the port state.
pub const REQUESTS_PER_PORT: u32 = 24;
/// Interval between two checks by the oracle.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Timing configuration of the SM under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LivenessTiming {
    /// Time until a request fails, retries included.
    pub request_timeout: Duration,
    /// Interval between light sweeps.
    pub sweep_interval: Duration,
    /// Requests in flight in the whole fabric.
    pub max_outstanding: u32,
    /// Silence of the master after which the SM takes over; zero without another SM.
    pub takeover_delay: Duration,
}

/// Result of [`World::converge`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    /// Maximum duration.
    pub bound: Duration,
    /// Actual duration; `None` if violations remained at the bound.
    pub duration: Option<Duration>,
    /// Violations at the last failed check; empty if the first check passed.
    pub violations: String,
}

impl Liveness {
    /// Whether the oracle found no violation within the bound.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.duration.is_some()
    }
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.duration {
            Some(duration) => write!(f, "converged after {duration:?}, bound {:?}", self.bound)?,
            None => write!(f, "not converged within {:?}", self.bound)?,
        }
        if self.violations.is_empty() {
            Ok(())
        } else {
            write!(f, "; last violations: {}", self.violations)
        }
    }
}

impl LivenessTiming {
    /// Virtual time after the end of all faults within which the fabric must be configured
    /// correctly.
    #[must_use]
    pub fn bound(&self, fabric: &Fabric) -> Duration {
        let mut ports = 0u32;
        let mut switches = 0u32;
        for node in 0..fabric.num_nodes() {
            ports += 1 + u32::from(fabric.num_ports(node));
            switches += u32::from(fabric.is_switch(node));
        }
        let nodes = index_to_u32(fabric.num_nodes());
        // Longest path of practical fabrics; at most the number of switches.
        let depth = switches.min(32) + 1;
        let table_blocks = switches.saturating_mul(nodes / 64 + 1).saturating_mul(2);
        let requests = ports
            .saturating_mul(REQUESTS_PER_PORT)
            .saturating_add(table_blocks);
        // Without faults, a node replies within a millisecond.
        let sweep = Duration::from_millis(u64::from(requests / self.max_outstanding.max(1)));
        self.takeover_delay
            + self.request_timeout * depth
            + (self.sweep_interval + self.request_timeout + sweep) * SWEEPS_ALLOWED
    }
}

impl<M: HostedSm> World<M> {
    /// Ends all faults, then runs until the oracle finds no violation and `check` returns `Ok`, at
    /// most for the bound. Cut and moved cables and nodes without power remain so.
    pub fn converge(
        &mut self,
        timing: &LivenessTiming,
        expect: &Expectations,
        check: impl FnMut(&Self) -> Result<(), String>,
    ) -> Liveness {
        self.converge_to(timing, |_| expect.clone(), check)
    }

    /// [`World::converge`] with expectations that depend on the SM's current state, such as the SL
    /// of each path.
    pub fn converge_to(
        &mut self,
        timing: &LivenessTiming,
        expect: impl Fn(&Self) -> Expectations,
        mut check: impl FnMut(&Self) -> Result<(), String>,
    ) -> Liveness {
        self.heal();
        let bound = timing.bound(self.fabric());
        let start = self.now();
        let mut violations = String::new();
        loop {
            let verdict = judge_fabric(self.fabric(), &expect(self));
            let outcome = check(self);
            if verdict.is_good() && outcome.is_ok() {
                let duration = Some(self.now().since(start));
                return Liveness {
                    bound,
                    duration,
                    violations,
                };
            }
            violations.clear();
            if !verdict.is_good() {
                violations.push_str(&verdict.to_string());
            }
            if let Err(reason) = outcome {
                violations.push_str(&reason);
            }
            if self.now().since(start) >= bound {
                let duration = None;
                return Liveness {
                    bound,
                    duration,
                    violations,
                };
            }
            self.run_for(CHECK_INTERVAL);
        }
    }
}
