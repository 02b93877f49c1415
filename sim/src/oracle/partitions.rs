//! P_Keys as configured, in the tables of end ports and of the switch ports that check them.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PKey;

use super::Verdict;
use super::expect::{Expectations, PKeyEnforcement};
use super::scope::Scope;
use super::violation::{PartitionFault, Violation};
use crate::spec::PortAt;

/// Bit 15: a full member.
const FULL: u16 = 0x8000;

/// Checks P_Key tables and enforcement.
pub(super) fn check(scope: &Scope<'_>, expect: &Expectations, verdict: &mut Verdict) {
    let mut faults = Vec::new();
    check_keys(scope, expect, &mut faults);
    check_common(scope, expect, &mut faults);
    check_switches(scope, expect, &mut faults);
    let faults = faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
}

fn is_empty(key: PKey) -> bool {
    key.raw() & !FULL == 0
}

/// The keys of a port; `None` where they are not known.
fn keys_of(scope: &Scope<'_>, at: PortAt) -> Option<Vec<PKey>> {
    let keys = scope.port(at).pkeys.as_ref()?;
    Some(keys.iter().copied().filter(|k| !is_empty(*k)).collect())
}

fn check_keys(scope: &Scope<'_>, expect: &Expectations, faults: &mut Vec<PartitionFault>) {
    let sorted = |keys: &[PKey]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    for at in &scope.end_ports {
        let Some(has) = keys_of(scope, *at) else {
            continue;
        };
        let port = || scope.state.name(*at);
        let first = scope.port(*at).pkeys.as_ref().and_then(|k| k.first());
        let first = first.copied().unwrap_or(PKey(0));
        let wanted = expect.partitions.keys.get(at).map(Vec::as_slice);
        let (right, wanted_first) = match wanted {
            Some(wanted) => (sorted(wanted) == sorted(&has), wanted.first().copied()),
            None => (
                has == [PKey::DEFAULT_FULL] || has == [PKey::DEFAULT_LIMITED],
                Some(has.first().copied().unwrap_or(PKey::DEFAULT_FULL)),
            ),
        };
        if !right {
            let wanted = wanted.unwrap_or_default().to_vec();
            let port = port();
            faults.push(PartitionFault::WrongPKeys { port, has, wanted });
        } else if let Some(wanted) = wanted_first
            && first != wanted
        {
            faults.push(PartitionFault::WrongIndex0 {
                port: port(),
                has: first,
                wanted,
            });
        }
    }
}

/// Whether two ports may talk: a partition of both, and not two limited members of it.
fn share(a: &[PKey], b: &[PKey]) -> bool {
    a.iter().any(|x| {
        b.iter()
            .any(|y| (x.raw() ^ y.raw()) & !FULL == 0 && (x.raw() | y.raw()) & FULL != 0)
    })
}

fn check_common(scope: &Scope<'_>, expect: &Expectations, faults: &mut Vec<PartitionFault>) {
    let is_judged = scope.end_ports.binary_search(&expect.master).is_ok();
    let Some(master) = is_judged.then(|| keys_of(scope, expect.master)).flatten() else {
        return;
    };
    for at in &scope.end_ports {
        let Some(keys) = keys_of(scope, *at) else {
            continue;
        };
        if *at != expect.master && !share(&keys, &master) {
            faults.push(PartitionFault::NoSharedPartition {
                port: scope.state.name(*at),
                master: scope.state.name(expect.master),
            });
        }
    }
}

/// Whether a table lets packets with a key pass.
fn passes(table: &[PKey], key: PKey) -> bool {
    table.contains(&key) || table.contains(&PKey(key.raw() | FULL))
}

fn check_switches(scope: &Scope<'_>, expect: &Expectations, faults: &mut Vec<PartitionFault>) {
    // Every key in use, and an end port that has it: all may pass between switches.
    let mut in_use: BTreeMap<PKey, PortAt> = BTreeMap::new();
    for at in &scope.end_ports {
        for key in keys_of(scope, *at).unwrap_or_default() {
            in_use.entry(key).or_insert(*at);
        }
    }
    let is_switch = |at: PortAt| scope.state.nodes[at.node].is_switch();
    let ends = scope.links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    for (at, peer) in ends.filter(|(at, _)| is_switch(*at)) {
        let info = &scope.port(at).info;
        let (inbound, outbound) = (
            info.partition_enforcement_inbound,
            info.partition_enforcement_outbound,
        );
        let wanted = match expect.partitions.enforcement {
            PKeyEnforcement::Any => None,
            // Between switches all partitions pass.
            PKeyEnforcement::Off
            | PKeyEnforcement::Inbound
            | PKeyEnforcement::Outbound
            | PKeyEnforcement::Both
                if is_switch(peer) =>
            {
                Some((false, false))
            }
            PKeyEnforcement::Off => Some((false, false)),
            PKeyEnforcement::Inbound => Some((true, false)),
            PKeyEnforcement::Outbound => Some((false, true)),
            PKeyEnforcement::Both => Some((true, true)),
        };
        if let Some((wanted_inbound, wanted_outbound)) = wanted
            && (wanted_inbound, wanted_outbound) != (inbound, outbound)
        {
            faults.push(PartitionFault::Enforcement {
                switch_port: scope.state.name(at),
                inbound,
                outbound,
                wanted_inbound,
                wanted_outbound,
            });
        }
        if inbound || outbound {
            check_table(scope, at, peer, &in_use, faults);
        }
    }
}

/// A switch port that checks lets pass what it should, and where an end port is behind it, nothing
/// else.
fn check_table(
    scope: &Scope<'_>,
    at: PortAt,
    peer: PortAt,
    in_use: &BTreeMap<PKey, PortAt>,
    faults: &mut Vec<PartitionFault>,
) {
    let Some(table) = keys_of(scope, at) else {
        return;
    };
    let switch_port = || scope.state.name(at);
    let to_end = !scope.state.nodes[peer.node].is_switch();
    let needed: Vec<(PKey, PortAt)> = if to_end {
        let keys = keys_of(scope, peer).unwrap_or_default();
        keys.into_iter().map(|key| (key, peer)).collect()
    } else {
        in_use.iter().map(|(key, at)| (*key, *at)).collect()
    };
    for (key, owner) in &needed {
        if !passes(&table, *key) {
            faults.push(PartitionFault::BlockedPKey {
                switch_port: switch_port(),
                key: *key,
                port: scope.state.name(*owner),
            });
        }
    }
    if to_end {
        for key in table {
            if !needed.iter().any(|(has, _)| *has == key) {
                faults.push(PartitionFault::ExtraPKey {
                    switch_port: switch_port(),
                    key,
                    port: scope.state.name(peer),
                });
            }
        }
    }
}
