//! Hosts that reboot, are switched off and come back, while a master is in charge and between two. A host that a manager runs on
//! goes only together with it. Draws from dice of its own; what hosts know is [`crate::masters::clients`]'.

use std::time::Duration;

use crate::simulated::Dice;
use ferrosm_core::Command;
use ferrosm_sim::spec::NodeIdx;

use crate::masters::simulation::Stage;

/// What happens to hosts.
pub(crate) struct Power {
    d: Dice,
}

impl Power {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            d: Dice::new(seed ^ 0x0FF0_0000_0000),
        }
    }

    /// Something happens to hosts, or, where this gives `None`, anything else may.
    pub(crate) fn happen(&mut self, stage: &mut Stage) -> Option<String> {
        Some(match self.d.below(10) {
            0 => self.change_some(stage),
            1 | 2 => self.between_masters(stage),
            3 => self.crash(stage),
            4 => Self::all_come_back(stage),
            _ => return None,
        })
    }

    /// One to three hosts reboot, go or come back.
    fn change_some(&mut self, stage: &mut Stage) -> String {
        let many = 1 + self.d.below(3);
        let texts: Vec<_> = (0..many).map(|_| self.change_one(stage)).collect();
        texts.join(", ")
    }

    fn change_one(&mut self, stage: &mut Stage) -> String {
        let wait = Duration::from_millis(self.d.upto(300));
        stage.run_for(wait);
        let off = Self::off(stage);
        let on = Self::on(stage);
        match self.d.below(4) {
            0 if !off.is_empty() => {
                let node = off[self.d.index(off.len())];
                stage.power_on(node);
                format!("host {node} is on")
            }
            1 if on.len() > 2 => {
                let node = on[self.d.index(on.len())];
                stage.power_off(node);
                format!("host {node} is off")
            }
            _ if !on.is_empty() => {
                let node = on[self.d.index(on.len())];
                stage.power_off(node);
                if self.d.one_in(2) {
                    stage.run_for(Duration::from_millis(self.d.below(2_000)));
                }
                stage.power_on(node);
                format!("host {node} has rebooted")
            }
            _ => "no host is free".to_owned(),
        }
    }

    /// The master dies, and before another one is there hosts reboot, go and come back.
    fn between_masters(&mut self, stage: &mut Stage) -> String {
        let Some(i) = stage.master().filter(|_| stage.may_end()) else {
            return "no master to kill".to_owned();
        };
        if self.d.one_in(4) {
            stage.command(i, Command::Sweep.with_id(0));
            let steps = self.d.upto(400);
            stage.run_steps(steps, Duration::from_secs(2));
        }
        stage.kill(i);
        let texts = self.change_some(stage);
        stage.without_master += u32::from(stage.master().is_none());
        format!("the master {i} is killed, {texts}")
    }

    /// A host loses power, and a manager runs on it.
    fn crash(&mut self, stage: &mut Stage) -> String {
        let alive = stage.alive();
        let any = Stage::any(&mut self.d, &alive);
        let i = if self.d.one_in(2) {
            stage.master()
        } else {
            any
        };
        let Some(i) = i.filter(|_| stage.may_end()) else {
            return "nobody crashes".to_owned();
        };
        let node = stage.slots[i].plan.at.node;
        if stage.lab.world.fabric().is_switch(node) {
            return "the manager on a switch lives".to_owned();
        }
        stage.kill(i);
        stage.power_off(node);
        format!("{i} and its host {node} are off")
    }

    fn all_come_back(stage: &mut Stage) -> String {
        let off = Self::off(stage);
        for node in &off {
            stage.power_on(*node);
        }
        format!("hosts {off:?} are on")
    }

    /// Hosts come back, or stay away.
    pub(crate) fn end(&mut self, stage: &mut Stage) {
        if !self.d.one_in(4) {
            let text = Self::all_come_back(stage);
            stage.say(&text);
        }
    }

    /// Hosts without power.
    pub(crate) fn off(stage: &Stage) -> Vec<NodeIdx> {
        let is_off = |node: &NodeIdx| !stage.lab.world.fabric().is_powered(*node);
        Self::hosts(stage).into_iter().filter(is_off).collect()
    }

    /// Hosts with power that no manager runs on.
    pub(crate) fn on(stage: &Stage) -> Vec<NodeIdx> {
        let busy: Vec<NodeIdx> = stage
            .alive()
            .iter()
            .map(|i| stage.slots[*i].plan.at.node)
            .collect();
        let is_on =
            |node: &NodeIdx| stage.lab.world.fabric().is_powered(*node) && !busy.contains(node);
        Self::hosts(stage).into_iter().filter(is_on).collect()
    }

    fn hosts(stage: &Stage) -> Vec<NodeIdx> {
        let mut nodes: Vec<NodeIdx> = stage.clients.hosts().iter().map(|at| at.node).collect();
        nodes.dedup();
        nodes
    }
}
