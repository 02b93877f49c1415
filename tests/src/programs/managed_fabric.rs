//! A simulated fabric managed by `ferrosm run`.

use std::time::Duration;

use serde_json::Value;

use crate::programs::clients::Clients;
use crate::programs::fabric_server::FabricServer;
use crate::programs::process::{Finished, Running, Signal, poll_until};

/// Time limit until the SA replies.
const UP_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A fabric with its SM; both stop when it is dropped.
#[derive(Debug)]
pub struct ManagedFabric {
    // Dropped first, so that the SM stops before the fabric.
    sm: Running,
    pub sim: FabricServer,
}

impl ManagedFabric {
    /// Starts ferrosm with these flags on a topology's first node, and waits until the SA replies.
    ///
    /// # Panics
    ///
    /// If the SA does not reply.
    #[must_use]
    pub fn start(spec: &str, flags: &[&str]) -> Self {
        Self::on(FabricServer::shape(spec), flags)
    }

    /// The same on a running fabric.
    ///
    /// # Panics
    ///
    /// If the SA does not reply.
    #[must_use]
    pub fn on(sim: FabricServer, flags: &[&str]) -> Self {
        let state = sim.subdir("state").display().to_string();
        let mut args = vec!["run", "--state-dir", &*state];
        args.extend(flags);
        let sm = sim.spawn_ferrosm(None, &args);
        let mut fabric = Self { sm, sim };
        let waited = poll_until(UP_TIMEOUT, PAUSE, || {
            if let Some(status) = fabric.sm.ended() {
                return Ok(Err(format!("ferrosm exited with {status}")));
            }
            let query = fabric.sim.run("saquery", &["-c", "--timeout", "200"]);
            if query.status.success() {
                Ok(Ok(()))
            } else {
                Err("the SA does not reply".to_owned())
            }
        });
        if let Err(reason) | Ok(Err(reason)) = waited {
            panic!("{reason}\n{}", fabric.sm.stderr());
        }
        fabric
    }

    /// Runs a command of ferrosm that asks this SM.
    #[must_use]
    pub fn ask(&self, args: &[&str]) -> Finished {
        let state = self.sim.dir().join("state").display().to_string();
        self.sim.ferrosm(&[args, &["--state-dir", &state]].concat())
    }

    /// The same with `--json`.
    ///
    /// # Panics
    ///
    /// If the command fails, or prints no JSON.
    #[must_use]
    pub fn ask_json(&self, args: &[&str]) -> Value {
        let done = self.ask(&[args, &["--json"]].concat()).expect_success();
        serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.describe()))
    }

    /// The SM's log.
    #[must_use]
    pub fn log(&self) -> String {
        self.sm.stderr()
    }

    /// Sends a signal to the SM.
    pub fn signal(&self, signal: Signal) {
        self.sm.signal(signal);
    }
}
