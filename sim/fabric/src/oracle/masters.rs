//! Mastership: one master, MasterSMLID of all end ports, IsSM bits.

use std::collections::BTreeSet;

use ferrosm_mad::attr::{CapMask, SmState};

use super::Verdict;
use super::expectations::Expectations;
use super::scope::Scope;
use super::violation::{MastershipFault, Violation};
use crate::spec::PortAt;

/// Checks MasterSMLID of every end port, and the SMs' states and IsSM bits if they are known.
pub(super) fn check(scope: &Scope<'_>, expect: &Expectations, verdict: &mut Verdict) {
    let Some(master) = scope
        .state
        .port(expect.master)
        .map(|snapshot| snapshot.info.lid)
    else {
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
    if let Some(sms) = &expect.sms {
        check_sms(scope, expect, sms, verdict);
    }
}

fn check_sms(
    scope: &Scope<'_>,
    expect: &Expectations,
    sms: &[(PortAt, SmState)],
    verdict: &mut Verdict,
) {
    let is_reachable = |at: &PortAt| scope.end_ports.binary_search(at).is_ok();
    let name = |at: PortAt| scope.state.name(at);
    let all: Vec<_> = sms.iter().filter(|(at, _)| is_reachable(at)).collect();
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
            expected: name(expect.master),
        }),
        multiple => faults.push(MastershipFault::MultipleMasters(
            multiple.iter().map(|at| name(*at)).collect(),
        )),
    }
    // A NOT-ACTIVE SM does not take part in elections and needs no IsSM bit.
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
