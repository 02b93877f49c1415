//! Hosts join the broadcast group and query paths as soon as their port is Active, during bring-up.

use ferrosm_mad::attr::PortState;
use ferrosm_mad::mad::Status;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{try_join_broadcast, try_path};

/// 512 hosts on 32 leaf switches.
const SHAPE: &str = "fat-tree2:32,32,16";
const HOSTS: usize = 512;

/// Each host sends its requests in the step in which its port becomes Active. The SA replies before
/// the first sweep completes: it accepts the join and returns the path to a host that became Active
/// earlier.
#[test]
fn requests_on_port_active_are_accepted_during_bring_up() {
    let mut lab = Lab::new(SHAPE, 1);
    let own = lab.at;
    let sm = lab.sm;
    let mut waiting: Vec<PortAt> = lab.hosts().into_iter().filter(|at| *at != own).collect();
    assert_eq!(waiting.len(), HOSTS - 1);
    let mut active: Vec<PortAt> = Vec::new();
    let mut before_sweep_end = 0;
    while !waiting.is_empty() && lab.world.step().is_some() {
        let fabric = lab.world.fabric();
        let is_active = |at: &mut PortAt| {
            let info = fabric.port_info(*at);
            info.is_some_and(|info| info.port_state == PortState::Active)
        };
        let newly_active: Vec<PortAt> = waiting.extract_if(.., is_active).collect();
        for at in newly_active {
            let tid = 2 * active.len() as u64 + 1;
            let joined = try_join_broadcast(&mut lab, sm, at, tid);
            assert_eq!(joined, Some(Status::OK), "{at:?}");
            if let Some(to) = active.last() {
                let path = try_path(&mut lab, sm, at, *to, tid + 1);
                assert_eq!(path, Some(Status::OK), "{at:?} to {to:?}");
            }
            active.push(at);
            before_sweep_end += usize::from(lab.manager().reports().is_empty());
        }
    }
    assert_eq!((waiting.len(), active.len()), (0, HOSTS - 1));
    assert_eq!(before_sweep_end, HOSTS - 1);
}
