//! Random events of SMs, fabric and clients. The order of random draws must not change, because
//! saved seeds depend on it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::lab::TestRng;
use ferrosm_core::records::RecordKind;
use ferrosm_core::{Command, Input, PeerEvent};
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::spec::{LinkSpec, NodeIdx, PortAt};

use crate::random_runs::masters::simulation::{SilenceCause, Simulation};
use crate::random_runs::masters::store_state::StoreState;

/// Applies random events, and ends their faults.
pub(crate) struct RandomEvents {
    rng: TestRng,
    /// Links that are cut now, by one of their ports.
    cut_links: Vec<PortAt>,
}

impl RandomEvents {
    pub(crate) const fn new(rng: TestRng) -> Self {
        Self {
            rng,
            cut_links: Vec::new(),
        }
    }

    pub(crate) fn apply_event(&mut self, sim: &mut Simulation) {
        if sim.calm || self.rng.one_in(2) {
            match self.rng.below(9) {
                0 | 1 => self.kill_master(sim),
                2 => self.kill_any(sim),
                3 => self.start_any(sim),
                4 => self.change_priority(sim),
                5 => Self::hand_over(sim, Command::Handover),
                6 => Self::hand_over(sim, Command::Stop),
                _ => self.change_registrations(sim),
            }
        } else {
            match self.rng.below(9) {
                0 => self.split(sim),
                1 => self.restore_links(sim),
                2 => self.cut_link(sim),
                3 => self.change_loss(sim),
                4 => self.stall(sim),
                5 => self.start_any(sim),
                6 => sim.update_stale_replicas(),
                7 => self.kill_master(sim),
                _ => self.change_registrations(sim),
            }
        }
    }

    /// Kills the master, with a probability of 1/2 at a random point of its work.
    fn kill_master(&mut self, sim: &mut Simulation) {
        let Some(i) = sim.master_to_stop() else {
            return;
        };
        if self.rng.one_in(2) {
            if self.rng.one_in(2) {
                sim.command(i, Command::Sweep);
            }
            sim.run_steps(self.rng.upto(800), Duration::from_secs(2));
        }
        sim.kill_sm(i);
    }

    fn kill_any(&mut self, sim: &mut Simulation) {
        if let Some(i) = self.rng.choose(&sim.running())
            && sim.may_stop_sm()
        {
            sim.kill_sm(i);
        }
    }

    fn choose_store_state(&mut self, sim: &Simulation) -> StoreState {
        match self.rng.below(8) {
            _ if sim.calm => StoreState::Complete,
            0 => StoreState::Truncated(self.rng.below(100)),
            1 => StoreState::MissingKind(RecordKind::ALL[self.rng.index(RecordKind::ALL.len())]),
            2 => StoreState::ForeignSubnet,
            3 => StoreState::Empty,
            _ => StoreState::Complete,
        }
    }

    fn start_any(&mut self, sim: &mut Simulation) {
        if let Some(i) = self.rng.choose(&sim.stopped()) {
            self.start(sim, i);
        }
    }

    fn start(&mut self, sim: &mut Simulation, i: usize) {
        let store = self.choose_store_state(sim);
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
        sim.start_sm(i, store);
    }

    fn change_priority(&mut self, sim: &mut Simulation) {
        let Some(i) = self.rng.choose(&sim.running()) else {
            return;
        };
        let priority = u8::try_from(self.rng.below(6)).unwrap();
        let cfg = &mut sim.sms[i].plan.cfg;
        cfg.priority = priority;
        let cfg = Box::new(cfg.clone());
        sim.handle(i, Input::Config(cfg));
        sim.tally.add("priority", 1);
        sim.log(format_args!("{i} has priority {priority}"));
    }

    fn hand_over(sim: &mut Simulation, command: Command) {
        let is_stop = matches!(command, Command::Stop);
        let Some(i) = sim.master().filter(|_| !is_stop || sim.may_stop_sm()) else {
            return;
        };
        sim.command(i, command);
        sim.tally.add("handover", 1);
    }

    fn change_registrations(&mut self, sim: &mut Simulation) {
        for _ in 0..1 + self.rng.below(5) {
            sim.change_registration(&mut self.rng);
        }
    }

    /// Stalls an SM, with or without notifying it.
    fn stall(&mut self, sim: &mut Simulation) {
        let Some(i) = self.rng.choose(&sim.running()) else {
            return;
        };
        let Some(id) = sim.sms[i].id else {
            return;
        };
        let time = Duration::from_millis(self.rng.below(20_000));
        sim.lab.world.set_paused(id, true);
        sim.run_for(time);
        sim.continuity.sm_was_stalled = true;
        sim.tally.add("stall", 1);
        let is_notified = self.rng.one_in(2);
        if is_notified {
            // The driver reports a stall before any other input.
            sim.handle(i, Input::Peer(PeerEvent::Stalled));
        }
        sim.lab.world.set_paused(id, false);
        sim.log(format_args!(
            "{i} was stalled for {time:?}, notified: {is_notified}"
        ));
        if time.as_millis() % 2 == 1 {
            Self::etcd_outage(sim);
        }
    }

    /// Simulates an etcd outage: masters lose their lease, and the state of all peers is uncertain.
    fn etcd_outage(sim: &mut Simulation) {
        sim.log("etcd outage");
        sim.tally.add("etcd outage", 1);
        let running = sim.running();
        for i in &running {
            for j in running.iter().filter(|j| *j != i) {
                sim.report_silence(*i, *j, SilenceCause::EtcdOutage);
            }
            sim.handle(*i, Input::Peer(PeerEvent::LeaseLost));
        }
    }

    fn change_loss(&mut self, sim: &mut Simulation) {
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
        sim.log(format_args!("loss {loss:.3}"));
    }

    fn switch_links(sim: &Simulation) -> Vec<LinkSpec> {
        let fabric = sim.lab.world.fabric();
        let between = |l: &&LinkSpec| fabric.is_switch(l.a.node) && fabric.is_switch(l.b.node);
        sim.lab.spec.links.iter().filter(between).copied().collect()
    }

    fn cut_link(&mut self, sim: &mut Simulation) {
        let links = &sim.lab.spec.links;
        let at = links[self.rng.index(links.len())].a;
        self.cut(sim, at);
        sim.tally.add("cut", 1);
    }

    fn cut(&mut self, sim: &mut Simulation, at: PortAt) {
        sim.apply(FabricAction::Cut(at));
        if !self.cut_links.contains(&at) {
            self.cut_links.push(at);
        }
    }

    /// Cuts all links between a connected part of the switches and the other switches.
    fn split(&mut self, sim: &mut Simulation) {
        let switch_links = Self::switch_links(sim);
        let switches: BTreeSet<NodeIdx> = switch_links
            .iter()
            .flat_map(|l| [l.a.node, l.b.node])
            .collect();
        let switches: Vec<NodeIdx> = switches.into_iter().collect();
        if switches.len() < 2 {
            return;
        }
        let mut half = BTreeSet::from([switches[self.rng.index(switches.len())]]);
        let wanted = 1 + self.rng.index(switches.len() - 1);
        while half.len() < wanted {
            let leaves_half = |l: &&LinkSpec| half.contains(&l.a.node) != half.contains(&l.b.node);
            let Some(l) = switch_links.iter().find(leaves_half) else {
                break;
            };
            half.extend([l.a.node, l.b.node]);
        }
        for l in &switch_links {
            if half.contains(&l.a.node) != half.contains(&l.b.node) {
                self.cut(sim, l.a);
            }
        }
        sim.tally.add("split", 1);
    }

    /// Returns true if no link is cut.
    pub(crate) const fn all_links_present(&self) -> bool {
        self.cut_links.is_empty()
    }

    fn restore_links(&mut self, sim: &mut Simulation) {
        if self.cut_links.is_empty() {
            return;
        }
        sim.tally.add("links restored", 1);
        let hosts = sim.continuity.continuous_hosts();
        sim.tally.add("continuous hosts at restored links", hosts);
        for at in self.cut_links.drain(..) {
            sim.apply(FabricAction::Restore(at));
        }
    }

    /// Ends all faults; restores links with a probability of 3/4, and starts stopped SMs with a
    /// probability of 1/2.
    pub(crate) fn end_faults(&mut self, sim: &mut Simulation) {
        sim.lab.world.heal();
        sim.loses_mads = false;
        if !self.rng.one_in(4) {
            self.restore_links(sim);
        }
        if self.rng.one_in(2) {
            for i in sim.stopped() {
                self.start(sim, i);
            }
        }
        sim.run_for(Duration::from_secs(1));
    }
}
