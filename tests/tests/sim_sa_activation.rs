//! Hosts that join the broadcast group as soon as their port is Active, during bring-up.

use std::collections::BTreeSet;

use ferrosm_mad::attr::PortState;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::members::{hosts, try_join_broadcast};
use ferrosm_tests::simulated::Lab;

/// Each host joins at the step in which its port becomes Active: the join is accepted at once, before the first sweep ends.
#[test]
fn join_on_port_active_is_accepted_during_bring_up() {
    let mut lab = Lab::new("fat-tree:8", 1);
    let own = lab.at;
    let all: Vec<PortAt> = hosts(&lab).into_iter().filter(|at| *at != own).collect();
    let mut joined = BTreeSet::new();
    let mut before_sweep_end = 0;
    for _ in 0..1_000_000 {
        let fabric = lab.world.fabric();
        let active = |at: &&PortAt| {
            let info = fabric.port_info(**at);
            info.is_some_and(|info| info.port_state == PortState::Active)
        };
        let fresh: Vec<PortAt> = all
            .iter()
            .filter(active)
            .filter(|at| !joined.contains(*at))
            .copied()
            .collect();
        for at in fresh {
            let tid = joined.len() as u64 + 1;
            let status = try_join_broadcast(&mut lab, at, tid);
            assert!(status.is_some_and(|s| s.is_ok()), "{at:?}: {status:?}");
            joined.insert(at);
            before_sweep_end += usize::from(lab.manager().reports().is_empty());
        }
        if joined.len() == all.len() || lab.world.step().is_none() {
            break;
        }
    }
    assert_eq!(joined.len(), all.len());
    assert!(before_sweep_end > 0);
}
