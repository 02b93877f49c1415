//! P_Key tables of end ports, and partition enforcement at switch ports.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PKey;

use super::Verdict;
use super::expectations::{Expectations, PKeyEnforcement};
use super::scope::Scope;
use super::violation::{PartitionFault, Violation};
use crate::spec::PortAt;

/// Bit 15: full membership.
const FULL: u16 = 0x8000;

/// Checks P_Key tables and enforcement.
pub(super) fn check(scope: &Scope<'_>, expect: &Expectations, verdict: &mut Verdict) {
    let mut faults = Vec::new();
    if let Some(keys) = &expect.partitions.keys {
        check_keys(scope, keys, &mut faults);
    }
    check_shared_partition(scope, expect, &mut faults);
    check_switches(scope, expect, &mut faults);
    let faults = faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
}

fn is_empty(key: PKey) -> bool {
    key.raw() & !FULL == 0
}

/// P_Keys of a port; `None` if unknown.
fn pkeys_of(scope: &Scope<'_>, at: PortAt) -> Option<Vec<PKey>> {
    let keys = scope.port(at).pkeys.as_ref()?;
    Some(keys.iter().copied().filter(|k| !is_empty(*k)).collect())
}

fn check_keys(
    scope: &Scope<'_>,
    configured: &BTreeMap<PortAt, Vec<PKey>>,
    faults: &mut Vec<PartitionFault>,
) {
    let sorted = |keys: &[PKey]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    for at in &scope.end_ports {
        let Some(actual) = pkeys_of(scope, *at) else {
            continue;
        };
        let port = || scope.state.name(*at);
        let first = scope
            .port(*at)
            .pkeys
            .as_ref()
            .and_then(|k| k.first())
            .copied()
            .unwrap_or(PKey(0));
        let expected = configured.get(at).map(Vec::as_slice);
        let (is_correct, expected_first) = match expected {
            Some(expected) => (
                sorted(expected) == sorted(&actual),
                expected.first().copied(),
            ),
            None => (
                actual == [PKey::DEFAULT_FULL] || actual == [PKey::DEFAULT_LIMITED],
                Some(actual.first().copied().unwrap_or(PKey::DEFAULT_FULL)),
            ),
        };
        if !is_correct {
            let expected = expected.unwrap_or_default().to_vec();
            let port = port();
            faults.push(PartitionFault::WrongPKeys {
                port,
                actual,
                expected,
            });
        } else if let Some(expected) = expected_first
            && first != expected
        {
            faults.push(PartitionFault::WrongIndex0 {
                port: port(),
                actual: first,
                expected,
            });
        }
    }
}

/// Whether two ports share a partition in which at least one of them is a full member.
fn share_partition(a: &[PKey], b: &[PKey]) -> bool {
    a.iter().any(|x| {
        b.iter()
            .any(|y| (x.raw() ^ y.raw()) & !FULL == 0 && (x.raw() | y.raw()) & FULL != 0)
    })
}

fn check_shared_partition(
    scope: &Scope<'_>,
    expect: &Expectations,
    faults: &mut Vec<PartitionFault>,
) {
    let is_judged = scope.end_ports.binary_search(&expect.master).is_ok();
    let Some(master) = is_judged.then(|| pkeys_of(scope, expect.master)).flatten() else {
        return;
    };
    for at in &scope.end_ports {
        let Some(keys) = pkeys_of(scope, *at) else {
            continue;
        };
        if *at != expect.master && !share_partition(&keys, &master) {
            faults.push(PartitionFault::NoSharedPartition {
                port: scope.state.name(*at),
                master: scope.state.name(expect.master),
            });
        }
    }
}

/// Whether a P_Key table passes packets with a P_Key.
fn passes(table: &[PKey], key: PKey) -> bool {
    table.contains(&key) || table.contains(&PKey(key.raw() | FULL))
}

fn check_switches(scope: &Scope<'_>, expect: &Expectations, faults: &mut Vec<PartitionFault>) {
    // P_Keys in use, with an end port that has each: switch-to-switch ports must pass all of them.
    let mut in_use: BTreeMap<PKey, PortAt> = BTreeMap::new();
    for at in &scope.end_ports {
        for key in pkeys_of(scope, *at).unwrap_or_default() {
            in_use.entry(key).or_insert(*at);
        }
    }
    let is_switch = |at: PortAt| scope.state.nodes[at.node].is_switch();
    let directed_links = scope.links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    for (at, peer) in directed_links.filter(|(at, _)| is_switch(*at)) {
        let info = &scope.port(at).info;
        let inbound = info.partition_enforcement_inbound;
        let outbound = info.partition_enforcement_outbound;
        let expected = match expect.partitions.enforcement {
            PKeyEnforcement::Any => None,
            // Links between switches carry all partitions.
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
        if let Some((expected_inbound, expected_outbound)) = expected
            && (expected_inbound, expected_outbound) != (inbound, outbound)
        {
            faults.push(PartitionFault::Enforcement {
                switch_port: scope.state.name(at),
                inbound,
                outbound,
                expected_inbound,
                expected_outbound,
            });
        }
        if inbound || outbound {
            check_enforced_table(scope, at, peer, &in_use, faults);
        }
    }
}

/// Checks that a switch port with enforcement passes all needed P_Keys and, if an end port is
/// attached, no others.
fn check_enforced_table(
    scope: &Scope<'_>,
    at: PortAt,
    peer: PortAt,
    in_use: &BTreeMap<PKey, PortAt>,
    faults: &mut Vec<PartitionFault>,
) {
    let Some(table) = pkeys_of(scope, at) else {
        return;
    };
    let switch_port = || scope.state.name(at);
    let to_end_port = !scope.state.nodes[peer.node].is_switch();
    let needed: Vec<(PKey, PortAt)> = if to_end_port {
        let keys = pkeys_of(scope, peer).unwrap_or_default();
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
    if to_end_port {
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
