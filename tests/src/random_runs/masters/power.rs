//! Hosts that reboot, lose power and return, while there is a master, and after a master was killed
//! and before the next one. A host that runs an SM loses power only in the event that also kills
//! the SM. Has its own random numbers; [`crate::random_runs::masters::clients`] models what the
//! hosts lose.

use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::Command;
use ferrosm_sim::spec::NodeIdx;

use crate::random_runs::masters::simulation::Simulation;

/// Applies host power events.
pub(crate) struct PowerEvents {
    rng: TestRng,
}

impl PowerEvents {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x0FF0_0000_0000),
        }
    }

    /// Applies a host event; `None` if the caller is to apply a general one.
    pub(crate) fn apply_event(&mut self, sim: &mut Simulation) -> Option<String> {
        Some(match self.rng.below(10) {
            0 => self.change_hosts(sim),
            1 | 2 => self.kill_master_and_change_hosts(sim),
            3 => self.crash_sm_host(sim),
            4 => Self::power_on_all(sim),
            _ => return None,
        })
    }

    /// Reboots, powers off or powers on one to three hosts.
    fn change_hosts(&mut self, sim: &mut Simulation) -> String {
        let count = 1 + self.rng.below(3);
        let texts: Vec<_> = (0..count).map(|_| self.change_host(sim)).collect();
        texts.join(", ")
    }

    fn change_host(&mut self, sim: &mut Simulation) -> String {
        let wait = Duration::from_millis(self.rng.upto(300));
        sim.run_for(wait);
        let off = Self::unpowered_hosts(sim);
        let on = Self::free_powered_hosts(sim);
        match self.rng.below(4) {
            0 if !off.is_empty() => {
                let node = off[self.rng.index(off.len())];
                sim.power_on(node);
                format!("host {node} is on")
            }
            1 if on.len() > 2 => {
                let node = on[self.rng.index(on.len())];
                sim.power_off(node);
                format!("host {node} is off")
            }
            _ if !on.is_empty() => {
                let node = on[self.rng.index(on.len())];
                sim.power_off(node);
                if self.rng.one_in(2) {
                    sim.run_for(Duration::from_millis(self.rng.below(2_000)));
                }
                sim.power_on(node);
                format!("host {node} rebooted")
            }
            _ => "no host is free".to_owned(),
        }
    }

    /// Kills the master, and changes hosts before another SM becomes master.
    fn kill_master_and_change_hosts(&mut self, sim: &mut Simulation) -> String {
        let Some(i) = sim.master().filter(|_| sim.may_stop_sm()) else {
            return "no master to kill".to_owned();
        };
        if self.rng.one_in(4) {
            sim.command(i, Command::Sweep.with_id(0));
            let steps = self.rng.upto(400);
            sim.run_steps(steps, Duration::from_secs(2));
        }
        sim.kill_sm(i);
        let texts = self.change_hosts(sim);
        sim.power_changes_without_master += u32::from(sim.master().is_none());
        format!("master {i} is killed, {texts}")
    }

    /// Powers off a host with a running SM.
    fn crash_sm_host(&mut self, sim: &mut Simulation) -> String {
        let running = sim.running();
        let any = Simulation::choose(&mut self.rng, &running);
        let i = if self.rng.one_in(2) {
            sim.master()
        } else {
            any
        };
        let Some(i) = i.filter(|_| sim.may_stop_sm()) else {
            return "no host to power off".to_owned();
        };
        let node = sim.sms[i].plan.at.node;
        if sim.lab.world.fabric().is_switch(node) {
            return "the SM runs on a switch".to_owned();
        }
        sim.kill_sm(i);
        sim.power_off(node);
        format!("SM {i} and its host {node} are off")
    }

    fn power_on_all(sim: &mut Simulation) -> String {
        let off = Self::unpowered_hosts(sim);
        for node in &off {
            sim.power_on(*node);
        }
        format!("hosts {off:?} are on")
    }

    /// Powers all hosts on again, with a probability of 3/4.
    pub(crate) fn end_faults(&mut self, sim: &mut Simulation) {
        if !self.rng.one_in(4) {
            let text = Self::power_on_all(sim);
            sim.log(&text);
        }
    }

    /// Hosts without power.
    pub(crate) fn unpowered_hosts(sim: &Simulation) -> Vec<NodeIdx> {
        let is_off = |node: &NodeIdx| !sim.lab.world.fabric().is_powered(*node);
        Self::hosts(sim).into_iter().filter(is_off).collect()
    }

    /// Hosts with power and without a running SM.
    pub(crate) fn free_powered_hosts(sim: &Simulation) -> Vec<NodeIdx> {
        let busy: Vec<NodeIdx> = sim
            .running()
            .iter()
            .map(|i| sim.sms[*i].plan.at.node)
            .collect();
        let is_on =
            |node: &NodeIdx| sim.lab.world.fabric().is_powered(*node) && !busy.contains(node);
        Self::hosts(sim).into_iter().filter(is_on).collect()
    }

    fn hosts(sim: &Simulation) -> Vec<NodeIdx> {
        let mut nodes: Vec<NodeIdx> = sim.clients.hosts().iter().map(|at| at.node).collect();
        nodes.dedup();
        nodes
    }
}
