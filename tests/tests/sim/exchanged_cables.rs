//! Cables that are exchanged while the SM reads or configures the fabric, and Sets that devices
//! reject meanwhile: whenever it happens, the fabric becomes correct.

use std::time::Duration;

use ferrosm_mad::mad::Status;
use ferrosm_sim::faults::Faults;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

/// Switches with unconnected ports; the SM is at the first host.
const SPEC: &str = "hyperx:3,2,2";
/// Time in which the SM corrects what light sweeps show, before the first consistency check.
const LIMIT_S: u64 = 25;

/// Times from 0 to `last_ms`, in steps of 50 microseconds.
fn times(last_ms: u64) -> impl Iterator<Item = Duration> {
    (0..=20 * last_ms).map(|step| Duration::from_micros(50 * step))
}

/// How long the first sweep takes.
fn first_sweep_ms() -> u64 {
    let mut lab = Lab::new(SPEC, 3);
    let report = lab.next_sweep(8);
    u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX) + 1
}

/// The switch port of a host.
fn switch_port(lab: &Lab, host: &str) -> PortAt {
    let at = PortAt::new(lab.node(host), 1);
    let peer = lab.world.fabric().peer(at);
    peer.unwrap_or_else(|| panic!("{host} has no link"))
}

/// The cables of two hosts, of a host and a switch, and of two switches are exchanged during the
/// first sweep, before or after PortStateChange is cleared.
#[test]
fn cables_exchanged_during_the_first_sweep_are_found() {
    let last = first_sweep_ms();
    for time in times(last) {
        for kind in 0..3 {
            let mut lab = Lab::new(SPEC, 3);
            let host = switch_port(&lab, "host-1-0-0 mlx5_0");
            let other_host = switch_port(&lab, "host-2-1-1 mlx5_0");
            let links = lab.spec.links.iter();
            let fabric = lab.world.fabric();
            let mut between_switches =
                links.filter(|l| fabric.is_switch(l.a.node) && fabric.is_switch(l.b.node));
            let first = between_switches.next();
            let last = between_switches.next_back();
            let Some((first, last)) = first.zip(last) else {
                panic!("{SPEC} has no links between switches");
            };
            let (one, other) = match kind {
                0 => (host, other_host),
                1 => (host, last.a),
                _ => (first.a, last.b),
            };
            lab.world.run_for(time);
            let swapped = lab.world.fabric_mut().swap_cables(one, other);
            assert_eq!(swapped, Ok(()), "{one:?} {other:?}");
            lab.run_until_correct(LIMIT_S);
        }
    }
}

/// The SM's own cable is moved to another switch during the first sweep: later writes reach other
/// devices.
#[test]
fn own_cable_moved_during_the_first_sweep_is_found() {
    for time in times(first_sweep_ms()) {
        let mut lab = Lab::new(SPEC, 3);
        let from = lab
            .world
            .fabric()
            .peer(lab.at)
            .unwrap_or_else(|| panic!("the SM has no link"));
        let switch = lab.node("switch-2-1");
        let fabric = lab.world.fabric_mut();
        let free = fabric
            .external_ports(switch)
            .find(|p| fabric.cable_at(*p).is_none());
        let to = free.unwrap_or_else(|| panic!("switch {switch} has no unconnected port"));
        lab.world.run_for(time);
        let moved = lab.world.fabric_mut().move_cable(from, to);
        assert_eq!(moved, Ok(()), "{from:?} {to:?}");
        lab.run_until_correct(LIMIT_S);
    }
}

/// A switch rejects all Sets until some time in the first sweep: both ends of its links get the
/// same MTU, even if the switch rejected the parameters and then accepted the state Armed.
#[test]
fn links_of_a_switch_that_rejected_sets_get_their_values() {
    for time in times(first_sweep_ms() + 3) {
        let mut lab = Lab::new(SPEC, 3);
        let switch = lab.node("switch-1-1");
        let rejecting = Faults::rejecting_sets(Status::BAD_FIELD);
        lab.world.set_node_faults(switch, Some(rejecting));
        lab.world.run_for(time);
        lab.world.set_node_faults(switch, None);
        lab.run_until_correct(LIMIT_S);
    }
}
