//! LID assignment, and values that both ports of a link must agree on.

use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::Lid;

use super::Verdict;
use super::expectations::Expectations;
use super::scope::Scope;
use super::violation::Violation;
use crate::spec::PortAt;

/// By LID: its end port; the first one if the LID is duplicate.
pub(super) type LidOwners = Vec<Option<PortAt>>;

/// Checks the LIDs and returns their end ports.
pub(super) fn check_lids(scope: &Scope<'_>, verdict: &mut Verdict) -> LidOwners {
    let mut owners: LidOwners = vec![None; usize::from(Lid::UNICAST_MAX.raw()) + 1];
    for at in &scope.end_ports {
        let snapshot = scope.port(*at);
        let lid = snapshot.info.lid;
        let lmc = snapshot.info.lmc;
        let port = || scope.state.name(*at);
        let first = usize::from(lid.raw());
        let Some(range) = owners
            .get_mut(first..first + (1 << lmc.raw()))
            .filter(|_| lid.is_unicast())
        else {
            verdict.violations.push(Violation::IllegalLid {
                port: port(),
                lid,
                lmc,
            });
            continue;
        };
        if first % (1 << lmc.raw()) != 0 {
            verdict.violations.push(Violation::UnalignedLid {
                port: port(),
                lid,
                lmc,
            });
        }
        for (owner, lid) in range.iter_mut().zip(lid.raw()..) {
            match owner {
                Some(other) => {
                    let other = scope.state.name(*other);
                    verdict.violations.push(Violation::DuplicateLid {
                        port: port(),
                        other,
                        lid: Lid(lid),
                    });
                }
                None => *owner = Some(*at),
            }
        }
    }
    verdict.lids = owners.iter().flatten().count();
    owners
}

/// Checks PortState, NeighborMTU and OperationalVLs of every link.
pub(super) fn check_links(scope: &Scope<'_>, expect: &Expectations, verdict: &mut Verdict) {
    for (at_a, at_b) in &scope.links {
        let a = &scope.port(*at_a).info;
        let b = &scope.port(*at_b).info;
        let names = || (scope.state.name(*at_a), scope.state.name(*at_b));
        if (a.port_state, b.port_state) != (PortState::Active, PortState::Active) {
            let a_state = a.port_state;
            let b_state = b.port_state;
            let (a, b) = names();
            verdict.violations.push(Violation::NotActive {
                a,
                b,
                a_state,
                b_state,
            });
        }
        let expected = a.mtu_cap.min(b.mtu_cap).min(expect.max_mtu);
        if (a.neighbor_mtu, b.neighbor_mtu) != (expected, expected) {
            let a_mtu = a.neighbor_mtu;
            let b_mtu = b.neighbor_mtu;
            let (a, b) = names();
            verdict.violations.push(Violation::Mtu {
                a,
                b,
                a_mtu,
                b_mtu,
                expected,
            });
        }
        let expected = a.vl_cap.min(b.vl_cap).min(expect.max_operational_vls);
        if (a.operational_vls, b.operational_vls) != (expected, expected) {
            let a_vls = a.operational_vls;
            let b_vls = b.operational_vls;
            let (a, b) = names();
            verdict.violations.push(Violation::OperationalVls {
                a,
                b,
                a_vls,
                b_vls,
                expected,
            });
        }
    }
}
