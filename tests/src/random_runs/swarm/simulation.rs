//! One SM on a simulated fabric: the primitives of events, and the checks.

use std::fmt::Display;
use std::time::Duration;

use crate::lab::store::StoreFault;
use crate::lab::{Lab, Sm, expect_of, is_up};
use ferrosm_core::SmConfig;
use ferrosm_sim::faults::{AgentFault, FabricAction, Garbage};
use ferrosm_sim::spec::{FabricSpec, PortAt};
use ferrosm_sim::world::{LivenessTiming, World};

use crate::random_runs::seeds::Run;
use crate::random_runs::swarm::invariants::InvariantMonitor;

/// A run of a seed.
pub(super) struct SwarmRun {
    pub(super) lab: Lab,
    /// The configuration that the SM starts with.
    pub(super) cfg: SmConfig,
    monitor: InvariantMonitor,
    mode: Run,
}

impl SwarmRun {
    pub(super) fn new(
        shape: &str,
        spec: FabricSpec,
        seed: u64,
        cfg: SmConfig,
        at: Option<PortAt>,
        mode: Run,
    ) -> Self {
        let lab = Lab::on(shape, spec, seed, cfg.clone(), at);
        let monitor = InvariantMonitor::new(lab.describe_run(), mode);
        Self {
            lab,
            cfg,
            monitor,
            mode,
        }
    }

    pub(super) fn log(&self, text: impl Display) {
        if self.mode == Run::Traced {
            println!("{:?} {text}", self.lab.world.now());
        }
    }

    /// Applies an action if possible.
    pub(super) fn apply(&mut self, action: FabricAction) {
        let text = format!("{action:?}");
        if let FabricAction::Agent(Some(node), AgentFault::Garbage(Some(garbage), _)) = action
            && matches!(garbage, Garbage::Data | Garbage::Any)
        {
            self.monitor.on_corrupted_replies(node);
        }
        match self.lab.world.act(action) {
            Ok(()) => self.log(text),
            Err(error) => self.log(format_args!("{text}: {error}")),
        }
    }

    /// Kills the SM, and starts it again after `time` with its durable records.
    pub(super) fn restart_sm(&mut self, time: Duration) {
        let restored = self.lab.kill_sm().replicated_state(self.lab.world.now());
        self.lab.world.run_for(time);
        self.lab.restart_sm(self.cfg.clone(), restored);
        self.monitor.on_restart(self.lab.manager());
        self.log(format_args!("the SM restarts after {time:?}"));
    }

    pub(super) fn set_store_fault(&mut self, fault: StoreFault) {
        let sm = self.lab.sm;
        self.lab.edit(sm, |sm, now| sm.set_store_fault(fault, now));
        self.log(format_args!("store: {fault:?}"));
    }

    pub(super) fn check_invariants(&mut self) {
        self.monitor
            .check(self.lab.manager(), self.lab.world.fabric());
    }

    /// Powers on and connects the SM's own port, and lets a second pass; returns false if the port
    /// has no cable.
    pub(super) fn connect_sm(&mut self) -> bool {
        let at = self.lab.at;
        let fabric = self.lab.world.fabric_mut();
        fabric.power_on(at.node);
        if let Some(link) = fabric.cable_at(at) {
            fabric.power_on(link.a.node);
            fabric.power_on(link.b.node);
            fabric.restore(at).unwrap();
        } else if at.port != 0 {
            return false;
        }
        self.lab.world.run_for(Duration::from_secs(1));
        true
    }

    /// Asserts that the fabric becomes correct within the time limit, and then stays so without
    /// unnecessary sweeps.
    pub(super) fn assert_converges(&mut self) {
        let timing = timing(&self.cfg);
        let sm = self.lab.sm;
        let at = self.lab.at;
        let expect = |world: &World<Sm>| expect_of(world, sm, at);
        let monitor = &mut self.monitor;
        let liveness = self.lab.world.converge_to(&timing, expect, |world| {
            let sm = world.sm(sm).unwrap();
            monitor.check(sm, world.fabric());
            match sm.core().last_report() {
                Some(report) if is_up(report) => Ok(()),
                Some(report) => Err(format!("problems of the SM: {:?}", report.problems)),
                None => Err("no sweep yet".to_owned()),
            }
        });
        self.log(&liveness);
        let run = self.lab.describe_run();
        assert!(liveness.is_live(), "{run} {liveness}");
        // The SM runs a full sweep if it recorded an inconsistency, and is then idle; the fabric
        // stays correct. The full sweep may repeat once if the first one came before the last
        // inconsistency.
        self.lab.world.run_for(Duration::from_secs(75));
        let sweeps = self.lab.manager().reports().len();
        self.lab.world.run_for(Duration::from_secs(31));
        self.check_invariants();
        self.lab.assert_correct();
        let extra_sweeps = self.lab.manager().reports().len() - sweeps;
        assert!(
            extra_sweeps <= 1,
            "{run} {extra_sweeps} sweeps of an unchanged fabric"
        );
    }
}

/// The SM's timing, from which the time limit follows. Another SM may have been master until now.
fn timing(cfg: &SmConfig) -> LivenessTiming {
    LivenessTiming {
        request_timeout: cfg.smp_timeout * (1 + u32::from(cfg.smp_retries)),
        sweep_interval: cfg.sweep_interval,
        max_outstanding: u32::try_from(cfg.max_outstanding).unwrap(),
        takeover_delay: cfg.sm_poll_interval * (1 + u32::from(cfg.sm_poll_retries)),
    }
}
