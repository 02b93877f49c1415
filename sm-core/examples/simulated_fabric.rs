//! A subnet manager brings up a simulated fabric, in virtual time.
//!
//! ```console
//! $ cargo run -p ferrosm-core --example simulated_fabric -- fat-tree:4
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::error::Error;
use std::time::Duration;

use ferrosm_core::{Input, Output, Persisted, RestoredState, SmConfig, SubnetManager};
use ferrosm_mad::mad::{MadIn, MadOut};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim::oracle::{Expectations, judge_fabric};
use ferrosm_sim::world::{HostedSm, World};

/// The driver of the SM: it knows the time, and executes outputs in order.
struct Driver {
    sm: SubnetManager,
    now: Instant,
}

impl Driver {
    fn handle(&mut self, input: Input, now: Instant) {
        self.now = now;
        self.sm.handle(input, now);
    }
}

impl HostedSm for Driver {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        self.handle(Input::Mad(mad), now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle(Input::Timeout, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.sm.poll_timeout()
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        loop {
            let output = self.sm.poll_output()?;
            if let Output::Send(mad) = output {
                return Some(mad);
            } else if let Output::Compute(job) = output {
                if let Some(result) = job.run() {
                    let computed = Input::RoutingComputed(Box::new(result));
                    self.sm.handle(computed, self.now);
                }
            } else if let Output::Persist { seq, .. } | Output::PersistSnapshot { seq, .. } = output
            {
                let persisted = Input::Persisted(Persisted::all(seq));
                self.sm.handle(persisted, self.now);
            } else if let Output::Event(event) = output {
                println!("{:?} {event}", self.now);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let spec = std::env::args().nth(1);
    let fabric = Fabric::new(&from_spec(spec.as_deref().unwrap_or("fat-tree:4"))?)?;
    let at = fabric.default_port();
    let mut world = World::new(fabric, 1);
    let now = world.now();
    let sm = SubnetManager::new(SmConfig::default(), RestoredState::default(), now);
    world.add_sm(Some(at), Driver { sm, now })?;
    world.run_for(Duration::from_secs(10));
    let verdict = judge_fabric(world.fabric(), &Expectations::new(at));
    println!("{verdict}");
    assert!(verdict.is_good(), "the devices are not set up correctly");
    Ok(())
}
