//! A subnet manager brings up a simulated fabric, in virtual time.
//!
//! ```console
//! $ cargo run -p ferrosm-core --example simulated_fabric -- fat-tree:4
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use ferrosm_core::{Event, Input, Output, Persisted, RestoredState, SmConfig, SubnetManager};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim::oracle::{Expectations, judge_fabric};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "fat-tree:4".into());
    let mut fabric = Fabric::new(&from_spec(&spec)?)?;
    let port = fabric.default_port();
    fabric.attach(port)?;
    let mut now = Instant::START;
    let mut sm = SubnetManager::new(SmConfig::default(), RestoredState::default(), now);
    let mut arrived = Vec::new();
    let mut is_up = false;
    while !is_up {
        while let Some(output) = sm.poll_output() {
            if let Output::Send(mad) = output {
                fabric.handle(port, &mad, now, &mut arrived);
            } else if let Output::Compute(job) = output {
                let routing = job.run().ok_or("the job was cancelled")?;
                sm.handle(Input::RoutingComputed(Box::new(routing)), now);
            } else if let Output::Persist { seq, .. } | Output::PersistSnapshot { seq, .. } = output
            {
                sm.handle(Input::Persisted(Persisted::all(seq)), now);
            } else if let Output::Event(event) = output {
                println!("{now:?} {event}");
                is_up |= matches!(event, Event::SweepCompleted(_));
            }
        }
        if arrived.is_empty() {
            now = sm.poll_timeout().ok_or("no timer")?;
            fabric.advance(now, &mut arrived);
            sm.handle(Input::Timeout, now);
        }
        for mad in arrived.drain(..).filter(|mad| mad.at == port) {
            sm.handle(Input::Mad(mad.mad), now);
        }
    }
    let verdict = judge_fabric(&fabric, &Expectations::new(port));
    assert!(verdict.is_good(), "{verdict}");
    Ok(())
}
