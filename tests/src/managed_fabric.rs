//! A simulated fabric that `ferrosm run` is in charge of, ready to be asked.

use std::time::Duration;

use crate::clients::Clients;
use crate::fabric_server::FabricServer;
use crate::process::{Running, Signal, poll_until};

/// Longest time until the subnet is up and its administrator answers.
const UP: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A fabric with ferrosm in charge; both end when it is dropped.
#[derive(Debug)]
pub struct Administered {
    // First: the subnet manager ends before the fabric does.
    manager: Running,
    /// The fabric.
    pub sim: FabricServer,
}

impl Administered {
    /// Starts ferrosm with these flags on a shape's first node, and waits until it answers.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn start(spec: &str, flags: &[&str]) -> Self {
        Self::on(FabricServer::shape(spec), flags)
    }

    /// The same on a fabric that is there.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn on(sim: FabricServer, flags: &[&str]) -> Self {
        let state = sim.subdir("state").display().to_string();
        let mut all = vec!["run", "--state-dir", &*state];
        all.extend(flags);
        let manager = sim.spawn_ferrosm(None, &all);
        let mut lab = Self { manager, sim };
        let waited = poll_until(UP, PAUSE, || {
            if let Some(status) = lab.manager.ended() {
                return Ok(Err(format!("ferrosm ended with {status}")));
            }
            let asked = lab.sim.run("saquery", &["-c", "--timeout", "200"]);
            if asked.status.success() {
                Ok(Ok(()))
            } else {
                Err("subnet administration does not answer".to_owned())
            }
        });
        if let Err(reason) | Ok(Err(reason)) = waited {
            panic!("{reason}\n{}", lab.manager.stderr());
        }
        lab
    }

    /// What the subnet manager has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.manager.stderr()
    }

    /// Sends a signal to the subnet manager.
    pub fn signal(&self, signal: Signal) {
        self.manager.signal(signal);
    }
}
