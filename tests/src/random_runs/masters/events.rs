//! Random events of SMs, fabric and clients. The order of random draws must not change, because
//! saved seeds depend on it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::election::AfterHandover;
use ferrosm_core::records::RecordKind;
use ferrosm_core::{Command, Input, PeerEvent};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::faults::Faults;
use ferrosm_sim::spec::{LinkSpec, NodeIdx, PortAt};

use crate::random_runs::masters::simulation::Simulation;
use crate::random_runs::masters::sm_disk::StoreState;

/// Applies random events, and ends their faults.
pub(crate) struct RandomEvents {
    /// Whether only events occur that hosts must not notice.
    calm: bool,
    rng: TestRng,
    /// Links that are cut now, by one of their ports.
    cut_links: Vec<PortAt>,
}

impl RandomEvents {
    pub(crate) const fn new(calm: bool, rng: TestRng) -> Self {
        Self {
            calm,
            rng,
            cut_links: Vec::new(),
        }
    }

    pub(crate) fn apply_event(&mut self, sim: &mut Simulation) {
        let text = if self.calm || self.rng.one_in(2) {
            match self.rng.below(9) {
                0 | 1 => self.kill_master(sim),
                2 => self.kill_any(sim),
                3 => self.start_sm(sim),
                4 => self.change_priority(sim),
                5 => self.hand_over(sim, AfterHandover::StandBy),
                6 => self.hand_over(sim, AfterHandover::Stop),
                _ => self.change_registrations(sim),
            }
        } else {
            match self.rng.below(9) {
                0 => self.split(sim),
                1 => self.restore_links(sim),
                2 => self.cut_link(sim),
                3 => self.change_loss(sim),
                4 => self.stall(sim),
                5 => self.start_sm(sim),
                6 => {
                    sim.update_stale_replicas();
                    "stale replicas are updated".to_owned()
                }
                7 => self.kill_master(sim),
                _ => self.change_registrations(sim),
            }
        };
        sim.log(&text);
    }

    /// Kills the master, with a probability of 1/2 at a random point of its work.
    fn kill_master(&mut self, sim: &mut Simulation) -> String {
        let Some(i) = sim.master() else {
            return "no master to kill".to_owned();
        };
        if !sim.may_stop_sm() {
            return "the last SM is not killed".to_owned();
        }
        let mut steps = 0;
        if self.rng.one_in(2) {
            if self.rng.one_in(2) {
                sim.command(i, Command::Sweep.with_id(0));
            }
            steps = self.rng.upto(800);
            sim.run_steps(steps, Duration::from_secs(2));
        }
        sim.kill_sm(i);
        format!("master {i} is killed after {steps} steps")
    }

    fn kill_any(&mut self, sim: &mut Simulation) -> String {
        let running = sim.running();
        match Simulation::choose(&mut self.rng, &running) {
            Some(i) if sim.may_stop_sm() => {
                sim.kill_sm(i);
                format!("SM {i} is killed")
            }
            _ => "no SM to kill".to_owned(),
        }
    }

    fn choose_store_state(&mut self) -> StoreState {
        match self.rng.below(8) {
            _ if self.calm => StoreState::Complete,
            0 => StoreState::Truncated(self.rng.below(100)),
            1 => StoreState::MissingKind(RecordKind::ALL[self.rng.index(RecordKind::ALL.len())]),
            2 => StoreState::ForeignSubnet,
            3 => StoreState::Empty,
            _ => StoreState::Complete,
        }
    }

    fn count_store(sim: &mut Simulation, store: StoreState) {
        let kind = match store {
            StoreState::Complete => "start, complete store",
            StoreState::Truncated(_) | StoreState::MissingKind(_) => "start, torn store",
            StoreState::ForeignSubnet => "start, foreign store",
            StoreState::Empty => "start, no store",
        };
        sim.tally.add(kind, 1);
        if store != StoreState::Complete {
            let hosts = sim.continuity.continuous_hosts();
            sim.tally
                .add("continuous hosts at an incomplete start", hosts);
        }
    }

    fn start_sm(&mut self, sim: &mut Simulation) -> String {
        let stopped = sim.stopped();
        let Some(i) = Simulation::choose(&mut self.rng, &stopped) else {
            return "all SMs are running".to_owned();
        };
        let store = self.choose_store_state();
        Self::count_store(sim, store);
        sim.start_sm(i, store);
        format!("SM {i} starts, store {store:?}")
    }

    fn change_priority(&mut self, sim: &mut Simulation) -> String {
        let running = sim.running();
        let Some(i) = Simulation::choose(&mut self.rng, &running) else {
            return "no SM is running".to_owned();
        };
        let priority = u8::try_from(self.rng.below(6)).unwrap();
        let cfg = &mut sim.sms[i].plan.cfg;
        cfg.priority = priority;
        let cfg = Box::new(cfg.clone());
        sim.command(i, Input::Config(cfg));
        sim.tally.add("priority", 1);
        format!("SM {i} has priority {priority}")
    }

    fn hand_over(&mut self, sim: &mut Simulation, then: AfterHandover) -> String {
        let Some(i) = sim.master() else {
            return "no master to hand over".to_owned();
        };
        if then == AfterHandover::Stop && !sim.may_stop_sm() {
            return "the last SM is not stopped".to_owned();
        }
        let command = match then {
            AfterHandover::StandBy => Command::Handover,
            AfterHandover::Stop => Command::Stop,
        };
        sim.command(i, command.with_id(0));
        sim.tally.add("handover", 1);
        format!("SM {i} starts a handover, then {then:?}")
    }

    fn change_registrations(&mut self, sim: &mut Simulation) -> String {
        let count = 1 + self.rng.below(5);
        let texts: Vec<_> = (0..count)
            .map(|_| sim.clients.change_registration(&mut self.rng))
            .collect();
        texts.join(", ")
    }

    /// Stalls an SM, with or without notifying it.
    fn stall(&mut self, sim: &mut Simulation) -> String {
        let running = sim.running();
        let Some(i) = Simulation::choose(&mut self.rng, &running) else {
            return "no SM runs".to_owned();
        };
        let Some(id) = sim.sms[i].id else {
            return "no SM runs".to_owned();
        };
        let time = Duration::from_millis(self.rng.below(20_000));
        sim.lab.world.set_paused(id, true);
        sim.run_for(time);
        sim.continuity.sm_was_stalled = true;
        sim.tally.add("stall", 1);
        let is_notified = self.rng.one_in(2);
        if is_notified {
            // The driver reports a stall before any other input.
            sim.command(i, Input::Peer(PeerEvent::Stalled));
        }
        sim.lab.world.set_paused(id, false);
        let etcd_outage = time.as_millis() % 2 == 1;
        if etcd_outage {
            Self::etcd_outage(sim);
        }
        format!(
            "SM {i} was stalled for {time:?}, notified: {is_notified}, etcd outage: {etcd_outage}"
        )
    }

    /// Simulates an etcd outage: masters lose their lease, and the state of all peers is uncertain.
    fn etcd_outage(sim: &mut Simulation) {
        sim.tally.add("etcd outage", 1);
        let running = sim.running();
        for i in &running {
            let guid = sim.sms[*i].guid;
            for j in running.iter().filter(|j| *j != i) {
                let silent = PeerEvent::Silent {
                    guid,
                    in_sync: sim.has_complete_replica(*j),
                    uncertain: true,
                };
                sim.command(*j, Input::Peer(silent));
            }
            sim.command(*i, Input::Peer(PeerEvent::LeaseLost));
        }
    }

    fn change_loss(&mut self, sim: &mut Simulation) -> String {
        let loss = if self.rng.one_in(3) {
            0.0
        } else {
            self.rng.unit() * 0.05
        };
        sim.lab.world.set_faults(Faults {
            loss,
            ..Faults::NONE
        });
        sim.loses_mads = loss > 0.0;
        sim.tally.add("loss", u32::from(sim.loses_mads));
        format!("loss {loss:.3}")
    }

    fn switch_links(sim: &Simulation) -> Vec<LinkSpec> {
        let fabric = sim.lab.world.fabric();
        let between = |l: &&LinkSpec| fabric.is_switch(l.a.node) && fabric.is_switch(l.b.node);
        sim.lab.spec.links.iter().filter(between).copied().collect()
    }

    fn cut_link(&mut self, sim: &mut Simulation) -> String {
        let links = &sim.lab.spec.links;
        let at = links[self.rng.index(links.len())].a;
        self.cut(sim, at);
        sim.tally.add("cut", 1);
        format!("cut {at:?}")
    }

    fn cut(&mut self, sim: &mut Simulation, at: PortAt) {
        sim.apply(FabricAction::Cut(at));
        if !self.cut_links.contains(&at) {
            self.cut_links.push(at);
        }
    }

    /// Cuts all links between a connected part of the switches and the other switches.
    fn split(&mut self, sim: &mut Simulation) -> String {
        let switch_links = Self::switch_links(sim);
        let switches: BTreeSet<NodeIdx> = switch_links
            .iter()
            .flat_map(|l| [l.a.node, l.b.node])
            .collect();
        let switches: Vec<NodeIdx> = switches.into_iter().collect();
        if switches.len() < 2 {
            return "fewer than two switches".to_owned();
        }
        let mut half = BTreeSet::from([switches[self.rng.index(switches.len())]]);
        let wanted = 1 + self.rng.index(switches.len() - 1);
        while half.len() < wanted {
            let next = switch_links.iter().find_map(|l| {
                let a = half.contains(&l.a.node);
                let b = half.contains(&l.b.node);
                match (a, b) {
                    (true, false) => Some(l.b.node),
                    (false, true) => Some(l.a.node),
                    _ => None,
                }
            });
            let Some(next) = next else { break };
            half.insert(next);
        }
        for l in &switch_links {
            if half.contains(&l.a.node) != half.contains(&l.b.node) {
                self.cut(sim, l.a);
            }
        }
        sim.tally.add("split", 1);
        format!("partitioned: {half:?}")
    }

    /// Returns true if no link is cut.
    pub(crate) const fn all_links_present(&self) -> bool {
        self.cut_links.is_empty()
    }

    fn restore_links(&mut self, sim: &mut Simulation) -> String {
        let cut = core::mem::take(&mut self.cut_links);
        if !cut.is_empty() {
            sim.tally.add("links restored", 1);
            sim.tally.add(
                "continuous hosts at restored links",
                sim.continuity.continuous_hosts(),
            );
        }
        for at in &cut {
            sim.apply(FabricAction::Restore(*at));
        }
        format!("{} links restored", cut.len())
    }

    /// Ends all faults; restores links with a probability of 3/4, and starts stopped SMs with a
    /// probability of 1/2.
    pub(crate) fn end_faults(&mut self, sim: &mut Simulation) {
        sim.lab.world.heal();
        sim.loses_mads = false;
        if !self.rng.one_in(4) {
            let text = self.restore_links(sim);
            sim.log(&text);
        }
        if self.rng.one_in(2) {
            for i in sim.stopped() {
                let store = self.choose_store_state();
                Self::count_store(sim, store);
                sim.start_sm(i, store);
                sim.log(&format!("SM {i} starts, store {store:?}"));
            }
        }
        sim.run_for(Duration::from_secs(1));
    }
}
