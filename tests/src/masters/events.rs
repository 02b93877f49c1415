//! What happens to the managers, to the fabric and among the hosts. The order of draws is what a kept seed means: it is never changed.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::simulated::Dice;
use ferrosm_core::election::AfterHandover;
use ferrosm_core::records::RecordKind;
use ferrosm_core::{Command, Input};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::faults::Faults;
use ferrosm_sim::spec::{LinkSpec, NodeIdx, PortAt};

use crate::masters::simulation::Stage;
use crate::masters::sm_disk::Store;

/// What happens next, and what has to be made good in the end.
pub(crate) struct Events {
    calm: bool,
    d: Dice,
    /// Cables that are cut.
    cut: Vec<PortAt>,
}

impl Events {
    pub(crate) const fn new(calm: bool, d: Dice) -> Self {
        Self {
            calm,
            d,
            cut: Vec::new(),
        }
    }

    pub(crate) fn happen(&mut self, stage: &mut Stage) {
        let text = if self.calm || self.d.one_in(2) {
            match self.d.below(9) {
                0 | 1 => self.kill_master(stage),
                2 => self.kill_any(stage),
                3 => self.start(stage),
                4 => self.priority(stage),
                5 => self.hand_over(stage, AfterHandover::StandBy),
                6 => self.hand_over(stage, AfterHandover::Stop),
                _ => self.change_wishes(stage),
            }
        } else {
            match self.d.below(9) {
                0 => self.split(stage),
                1 => self.join(stage),
                2 => self.cut_one(stage),
                3 => self.loss(stage),
                4 => self.stall(stage),
                5 => self.start(stage),
                6 => {
                    stage.lag();
                    "the laggards catch up".to_owned()
                }
                7 => self.kill_master(stage),
                _ => self.change_wishes(stage),
            }
        };
        stage.say(&text);
    }

    /// The master dies, perhaps in the midst of its work.
    fn kill_master(&mut self, stage: &mut Stage) -> String {
        let Some(i) = stage.master() else {
            return "no master to kill".to_owned();
        };
        if !stage.may_end() {
            return "the last one lives".to_owned();
        }
        let mut mads = 0;
        if self.d.one_in(2) {
            if self.d.one_in(2) {
                stage.command(i, Command::Sweep.with_id(0));
            }
            mads = self.d.upto(800);
            stage.run_steps(mads, Duration::from_secs(2));
        }
        stage.kill(i);
        format!("the master {i} is killed after {mads} steps")
    }

    fn kill_any(&mut self, stage: &mut Stage) -> String {
        let alive = stage.alive();
        match Stage::any(&mut self.d, &alive) {
            Some(i) if stage.may_end() => {
                stage.kill(i);
                format!("{i} is killed")
            }
            _ => "nobody is killed".to_owned(),
        }
    }

    fn store(&mut self) -> Store {
        match self.d.below(8) {
            _ if self.calm => Store::Whole,
            0 => Store::Prefix(self.d.below(100)),
            1 => Store::Without(RecordKind::ALL[self.d.index(RecordKind::ALL.len())]),
            2 => Store::Foreign,
            3 => Store::Nothing,
            _ => Store::Whole,
        }
    }

    fn count_store(stage: &mut Stage, store: Store) {
        let kind = match store {
            Store::Whole => "start, whole store",
            Store::Prefix(_) | Store::Without(_) => "start, torn store",
            Store::Foreign => "start, foreign store",
            Store::Nothing => "start, no store",
        };
        stage.tally.add(kind, 1);
        if store != Store::Whole {
            let held = stage.tenures.held();
            stage.tally.add("tenures beside a torn start", held);
        }
    }

    fn start(&mut self, stage: &mut Stage) -> String {
        let dead = stage.dead();
        let Some(i) = Stage::any(&mut self.d, &dead) else {
            return "all run".to_owned();
        };
        let store = self.store();
        Self::count_store(stage, store);
        stage.start(i, store);
        format!("{i} begins again, its store: {store:?}")
    }

    fn priority(&mut self, stage: &mut Stage) -> String {
        let alive = stage.alive();
        let Some(i) = Stage::any(&mut self.d, &alive) else {
            return "nobody".to_owned();
        };
        let priority = u8::try_from(self.d.below(6)).unwrap();
        let cfg = &mut stage.slots[i].plan.cfg;
        cfg.priority = priority;
        let cfg = Box::new(cfg.clone());
        stage.command(i, Input::Config(cfg));
        stage.tally.add("priority", 1);
        format!("{i} has priority {priority}")
    }

    fn hand_over(&mut self, stage: &mut Stage, then: AfterHandover) -> String {
        let Some(i) = stage.master() else {
            return "no master to hand over".to_owned();
        };
        if then == AfterHandover::Stop && !stage.may_end() {
            return "the last one goes on".to_owned();
        }
        let command = match then {
            AfterHandover::StandBy => Command::Handover,
            AfterHandover::Stop => Command::Stop,
        };
        stage.command(i, command.with_id(0));
        stage.tally.add("handover", 1);
        format!("{i} is to hand over, then {then:?}")
    }

    fn change_wishes(&mut self, stage: &mut Stage) -> String {
        let many = 1 + self.d.below(5);
        let texts: Vec<_> = (0..many)
            .map(|_| stage.clients.change(&mut self.d))
            .collect();
        texts.join(", ")
    }

    /// A manager does not run for a while, and is told so or not.
    fn stall(&mut self, stage: &mut Stage) -> String {
        let alive = stage.alive();
        let Some(i) = Stage::any(&mut self.d, &alive) else {
            return "nobody".to_owned();
        };
        let Some(id) = stage.slots[i].id else {
            return "nobody".to_owned();
        };
        let time = Duration::from_millis(self.d.below(20_000));
        stage.lab.world.set_paused(id, true);
        stage.run_for(time);
        stage.tenures.stood_still = true;
        stage.tally.add("stall", 1);
        let told = self.d.one_in(2);
        if told {
            // As a driver says it: before anything else happens.
            stage.command(i, Input::Stalled);
        }
        stage.lab.world.set_paused(id, false);
        let hiccup = time.as_millis() % 2 == 1;
        if hiccup {
            Self::hiccup(stage);
        }
        format!("{i} did not run for {time:?}, told: {told}, etcd hung: {hiccup}")
    }

    /// What etcd says when it did not answer for a while: masters have lost their lease, and nothing is heard of them.
    fn hiccup(stage: &mut Stage) {
        stage.tally.add("hiccup", 1);
        let alive = stage.alive();
        for i in &alive {
            let guid = stage.slots[*i].guid;
            for j in alive.iter().filter(|j| *j != i) {
                let uncertain = true;
                stage.command(*j, Input::PeerSilent { guid, uncertain });
            }
            stage.command(*i, Input::LeaseLost);
        }
    }

    fn loss(&mut self, stage: &mut Stage) -> String {
        let loss = if self.d.one_in(3) {
            0.0
        } else {
            self.d.unit() * 0.05
        };
        stage.lab.world.set_faults(Faults {
            loss,
            ..Faults::NONE
        });
        stage.loses = loss > 0.0;
        stage.tally.add("loss", u32::from(stage.loses));
        format!("loss {loss:.3}")
    }

    fn cables(stage: &Stage) -> Vec<LinkSpec> {
        let fabric = stage.lab.world.fabric();
        let between = |l: &&LinkSpec| fabric.is_switch(l.a.node) && fabric.is_switch(l.b.node);
        stage
            .lab
            .spec
            .links
            .iter()
            .filter(between)
            .copied()
            .collect()
    }

    fn cut_one(&mut self, stage: &mut Stage) -> String {
        let links = &stage.lab.spec.links;
        let at = links[self.d.index(links.len())].a;
        self.cut(stage, at);
        stage.tally.add("cut", 1);
        format!("cut {at:?}")
    }

    fn cut(&mut self, stage: &mut Stage, at: PortAt) {
        stage.act(FabricAction::Cut(at));
        if !self.cut.contains(&at) {
            self.cut.push(at);
        }
    }

    /// Half of the switches are cut off.
    fn split(&mut self, stage: &mut Stage) -> String {
        let cables = Self::cables(stage);
        let all: BTreeSet<NodeIdx> = cables.iter().flat_map(|l| [l.a.node, l.b.node]).collect();
        let all: Vec<NodeIdx> = all.into_iter().collect();
        if all.len() < 2 {
            return "one switch".to_owned();
        }
        let mut half = BTreeSet::from([all[self.d.index(all.len())]]);
        let wanted = 1 + self.d.index(all.len() - 1);
        while half.len() < wanted {
            let next = cables.iter().find_map(|l| {
                let (a, b) = (half.contains(&l.a.node), half.contains(&l.b.node));
                match (a, b) {
                    (true, false) => Some(l.b.node),
                    (false, true) => Some(l.a.node),
                    _ => None,
                }
            });
            let Some(next) = next else { break };
            half.insert(next);
        }
        for l in &cables {
            if half.contains(&l.a.node) != half.contains(&l.b.node) {
                self.cut(stage, l.a);
            }
        }
        stage.tally.add("split", 1);
        format!("cut off: {half:?}")
    }

    /// All cables are there.
    pub(crate) const fn is_whole(&self) -> bool {
        self.cut.is_empty()
    }

    fn join(&mut self, stage: &mut Stage) -> String {
        let cut = core::mem::take(&mut self.cut);
        if !cut.is_empty() {
            stage.tally.add("heal", 1);
            stage.tally.add("tenures at a heal", stage.tenures.held());
        }
        for at in &cut {
            stage.act(FabricAction::Restore(*at));
        }
        format!("{} cables are back", cut.len())
    }

    /// Faults end; cables come back or stay away, and somebody is there to manage.
    pub(crate) fn end(&mut self, stage: &mut Stage) {
        stage.lab.world.heal();
        stage.loses = false;
        if !self.d.one_in(4) {
            let text = self.join(stage);
            stage.say(&text);
        }
        if self.d.one_in(2) {
            for i in stage.dead() {
                let store = self.store();
                Self::count_store(stage, store);
                stage.start(i, store);
                stage.say(&format!("{i} begins again, its store: {store:?}"));
            }
        }
        stage.run_for(Duration::from_secs(1));
    }
}
