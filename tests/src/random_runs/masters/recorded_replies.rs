//! Compares SA replies before and after takeovers: the paths from every host to some others, and
//! the parameters of the groups that it joined.
//!
//! In calm seeds (every standby has a replica, the fabric does not change; see the parent module)
//! the replies must be equal at any time, with any number of VLs. Otherwise they are compared only
//! in a correct fabric with all links present, and paths only with one VL, because a new routing
//! may assign other SLs.

use std::collections::BTreeMap;

use ferrosm_mad::mad::Status;
use ferrosm_sim::spec::PortAt;

use crate::random_runs::masters::simulation::Simulation;

/// Replies recorded when the fabric was correct.
pub(crate) struct RecordedReplies {
    paths: BTreeMap<(PortAt, PortAt), Vec<u8>>,
    single_vl: bool,
    takeovers: u32,
    power_changes: u32,
}

/// State of the fabric when replies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FabricState {
    /// Any, also during a takeover.
    Any,
    /// The fabric is correct.
    Settled,
}

impl RecordedReplies {
    pub(crate) fn new(sim: &mut Simulation, single_vl: bool) -> Self {
        let mut paths = BTreeMap::new();
        for (from, to) in host_pairs(sim) {
            let fabric = sim.lab.world.fabric();
            if !fabric.link_up(from) || !fabric.link_up(to) {
                continue;
            }
            let run = sim.lab.describe_run();
            let (status, path) = query_path(sim, from, to)
                .unwrap_or_else(|| panic!("{run} no path reply to {from:?} about {to:?}"));
            assert_eq!(status, Status::OK, "{run} {from:?} to {to:?}");
            paths.insert((from, to), path);
        }
        Self {
            paths,
            single_vl,
            takeovers: sim.takeovers,
            power_changes: sim.power_changes,
        }
    }

    /// Repeats the queries, and asserts equal replies.
    pub(crate) fn compare(&self, sim: &mut Simulation, when: FabricState) {
        let comparable_with_vls =
            sim.power_changes == self.power_changes && when == FabricState::Any;
        let mut same_paths = 0;
        if self.single_vl || comparable_with_vls {
            for ((from, to), before) in &self.paths {
                let is_same = assert_path_unchanged(sim, *from, *to, before, when);
                same_paths += u32::from(is_same);
            }
        }
        if sim.takeovers > self.takeovers {
            let comparisons = u32::from(same_paths > 0);
            sim.tally.add(&format!("paths, {when:?}"), same_paths);
            sim.tally
                .add(&format!("path comparisons, {when:?}"), comparisons);
        }
        self.compare_groups(sim, when);
    }

    /// Repeats only the group queries.
    pub(crate) fn compare_groups(&self, sim: &mut Simulation, when: FabricState) {
        let mut same_groups = 0;
        let run = sim.lab.describe_run();
        let locations = sim.sm_locations();
        let fragments = sim.fragments.iter();
        let hosts = fragments.flat_map(|(nodes, _)| sim.hosts_of(nodes));
        for at in hosts.collect::<Vec<_>>() {
            let replies = sim.clients.groups(&mut sim.lab.world, &locations, at);
            for (granted, status, now) in replies {
                assert_eq!(
                    (status, granted.mlid, granted.qkey, granted.sl),
                    (Status::OK, now.mlid, now.qkey, now.sl),
                    "{run} {when:?} {at:?} gets other parameters of group {}",
                    granted.mgid
                );
                same_groups += 1;
            }
        }
        if sim.takeovers > self.takeovers {
            sim.tally.add(&format!("groups, {when:?}"), same_groups);
        }
    }
}

fn query_path(sim: &mut Simulation, from: PortAt, to: PortAt) -> Option<(Status, Vec<u8>)> {
    let locations = sim.sm_locations();
    sim.clients.path(&mut sim.lab.world, &locations, from, to)
}

/// Asserts that the path is unchanged; returns whether the SA replied.
fn assert_path_unchanged(
    sim: &mut Simulation,
    from: PortAt,
    to: PortAt,
    before: &[u8],
    when: FabricState,
) -> bool {
    let is_up = |at: PortAt| {
        let is_up = sim.lab.world.fabric().link_up(at);
        is_up && (when == FabricState::Settled || !sim.clients.client(at).rebooted)
    };
    if !is_up(from) || !is_up(to) {
        return false;
    }
    let run = sim.lab.describe_run();
    let Some((status, now)) = query_path(sim, from, to) else {
        let may_be_silent = when == FabricState::Any || has_waiting_replies(sim);
        assert!(may_be_silent, "{run} no path reply to {from:?}");
        return false;
    };
    assert_eq!(
        (status, &now[..]),
        (Status::OK, before),
        "{run} {when:?} {from:?} gets another path to {to:?}"
    );
    true
}

/// Whether replies of an SM wait until its store has saved what precedes them.
fn has_waiting_replies(sim: &Simulation) -> bool {
    let locations = sim.sm_locations();
    let mut sms = locations.iter().filter_map(|(_, id)| sim.lab.world.sm(*id));
    sms.any(|sm| sm.core().waiting_replies() > 0)
}

/// Pairs of each host with the next two hosts and a distant one.
fn host_pairs(sim: &Simulation) -> Vec<(PortAt, PortAt)> {
    let hosts = sim.clients.hosts();
    let far_host = hosts.len() / 2;
    let mut entries: Vec<(PortAt, PortAt)> = Vec::new();
    for (n, from) in hosts.iter().enumerate() {
        let to = [1, 2, far_host].map(|step| hosts[(n + step) % hosts.len()]);
        entries.extend(to.into_iter().filter(|to| to != from).map(|to| (*from, to)));
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}
