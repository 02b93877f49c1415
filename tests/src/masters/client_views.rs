//! What hosts are told must be what they were told before, whoever is master: paths to some others from every host, as they are on the
//! wire, and the groups that each was told that it is in.
//!
//! While nothing happens but changes of masters, whoever was prepared for its turn must tell the same at any moment at which it
//! answers, on any lanes. Else all must be settled, all cables there, and one lane: others may have been dealt anew.

use std::collections::BTreeMap;

use ferrosm_mad::mad::Status;
use ferrosm_sim::spec::PortAt;

use crate::masters::simulation::Stage;

/// What everybody was told when all was well.
pub(crate) struct Views {
    paths: BTreeMap<(PortAt, PortAt), Vec<u8>>,
    one_lane: bool,
    takeovers: u32,
    powers: u32,
}

/// When it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At any moment.
    Any,
    /// All is well.
    Settled,
}

impl Views {
    pub(crate) fn new(stage: &mut Stage, one_lane: bool) -> Self {
        let mut paths = BTreeMap::new();
        for (from, to) in pairs(stage) {
            let there = [from, to].map(|at| stage.lab.world.fabric().link_up(at));
            if there != [true, true] {
                continue;
            }
            let places = stage.places();
            let said = stage.clients.path(&mut stage.lab.world, &places, from, to);
            let repeat = stage.lab.repeat();
            let (status, path) =
                said.unwrap_or_else(|| panic!("{repeat} no answer to {from:?} about {to:?}"));
            assert_eq!(status, Status::OK, "{repeat} {from:?} to {to:?}");
            paths.insert((from, to), path);
        }
        Self {
            paths,
            one_lane,
            takeovers: stage.takeovers,
            powers: stage.powers,
        }
    }

    /// Asks again.
    pub(crate) fn compare(&self, stage: &mut Stage, when: When) {
        let same = stage.powers == self.powers && when == When::Any;
        let mut same_paths = 0;
        if self.one_lane || same {
            for ((from, to), before) in &self.paths {
                same_paths += u32::from(Self::is_same(stage, (*from, *to), before, when));
            }
        }
        if stage.takeovers > self.takeovers {
            let views = u32::from(same_paths > 0);
            stage.tally.add(&format!("paths, {when:?}"), same_paths);
            stage.tally.add(&format!("views, {when:?}"), views);
        }
        self.compare_groups(stage, when);
    }

    /// Asks again of groups alone.
    pub(crate) fn compare_groups(&self, stage: &mut Stage, when: When) {
        let mut same_groups = 0;
        let islands = stage.islands();
        let hosts = islands.iter().map(|(nodes, _)| stage.hosts_of(nodes));
        let hosts: Vec<PortAt> = hosts.flatten().collect();
        for at in hosts {
            let places = stage.places();
            let said = stage.clients.groups(&mut stage.lab.world, &places, at);
            for (told, status, now) in said {
                let repeat = stage.lab.repeat();
                assert_eq!(
                    (status, told.mlid, told.qkey, told.sl),
                    (Status::OK, now.mlid, now.qkey, now.sl),
                    "{repeat} {when:?} {at:?} is told another group {}",
                    told.mgid
                );
                same_groups += 1;
            }
        }
        if stage.takeovers > self.takeovers {
            stage.tally.add(&format!("groups, {when:?}"), same_groups);
        }
    }

    /// Whether a host was told of a path, which is the same then.
    fn is_same(stage: &mut Stage, (from, to): (PortAt, PortAt), before: &[u8], when: When) -> bool {
        let up = |at: PortAt| {
            let up = stage.lab.world.fabric().link_up(at);
            up && (when == When::Settled || !stage.clients.is_woken(at))
        };
        if !up(from) || !up(to) {
            return false;
        }
        let places = stage.places();
        let said = stage.clients.path(&mut stage.lab.world, &places, from, to);
        let repeat = stage.lab.repeat();
        let Some((status, now)) = said else {
            assert!(when == When::Any, "{repeat} no answer to {from:?}");
            return false;
        };
        assert_eq!(
            (status, &now[..]),
            (Status::OK, before),
            "{repeat} {when:?} {from:?} is told another path to {to:?}"
        );
        true
    }
}

/// Every host, and the next ones and one that is far from it.
fn pairs(stage: &Stage) -> Vec<(PortAt, PortAt)> {
    let hosts = stage.clients.hosts();
    let far = hosts.len() / 2;
    let mut all: Vec<(PortAt, PortAt)> = Vec::new();
    for (n, from) in hosts.iter().enumerate() {
        let to = [1, 2, far].map(|step| hosts[(n + step) % hosts.len()]);
        all.extend(to.into_iter().filter(|to| to != from).map(|to| (*from, to)));
    }
    all.sort_unstable();
    all.dedup();
    all
}
