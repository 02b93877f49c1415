//! One master, and everybody knows it.

use std::collections::BTreeSet;

use ferrosm_mad::attr::{CapMask, SmState};

use super::Verdict;
use super::expect::Expectations;
use super::scope::Scope;
use super::violation::{MastershipFault, Violation};
use crate::spec::PortAt;

/// Checks who is master and that each end port knows it.
pub(super) fn check(scope: &Scope<'_>, expect: &Expectations, verdict: &mut Verdict) {
    let Some(master) = scope.state.port(expect.master).map(|facts| facts.info.lid) else {
        let PortAt { node, port } = expect.master;
        verdict
            .violations
            .push(Violation::NoSuchPort { node, port });
        return;
    };
    for at in &scope.end_ports {
        let lid = scope.port(*at).info.master_sm_lid;
        if lid != master {
            verdict.violations.push(Violation::MasterSmLid {
                port: scope.state.name(*at),
                lid,
                master,
            });
        }
    }
    if let Some(managers) = &expect.managers {
        check_managers(scope, expect, managers, verdict);
    }
}

fn check_managers(
    scope: &Scope<'_>,
    expect: &Expectations,
    managers: &[(PortAt, SmState)],
    verdict: &mut Verdict,
) {
    let in_reach = |at: &PortAt| scope.end_ports.binary_search(at).is_ok();
    let name = |at: PortAt| scope.state.name(at);
    let all: Vec<_> = managers.iter().filter(|(at, _)| in_reach(at)).collect();
    let masters: Vec<PortAt> = all
        .iter()
        .filter(|(_, state)| *state == SmState::Master)
        .map(|(at, _)| *at)
        .collect();
    let mut faults = Vec::new();
    match masters.as_slice() {
        [] => faults.push(MastershipFault::NoMaster(all.len())),
        [one] if *one == expect.master => {}
        [other] => faults.push(MastershipFault::WrongMaster {
            port: name(*other),
            wanted: name(expect.master),
        }),
        several => faults.push(MastershipFault::MultipleMasters(
            several.iter().map(|at| name(*at)).collect(),
        )),
    }
    // One that is not active takes no part, and need not be seen.
    let active: BTreeSet<PortAt> = all
        .iter()
        .filter(|(_, state)| *state != SmState::NotActive)
        .map(|(at, _)| *at)
        .collect();
    for at in &scope.end_ports {
        let is_sm = scope.port(*at).info.capability_mask.has(CapMask::IS_SM);
        match (active.contains(at), is_sm) {
            (true, false) => faults.push(MastershipFault::IsSmClear(name(*at))),
            (false, true) => faults.push(MastershipFault::IsSmSet(name(*at))),
            (true, true) | (false, false) => {}
        }
    }
    let faults = faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
}
