//! Oracles: checks that the devices of a fabric are configured correctly, from the values in the devices alone.
//!
//! The oracles share no code with the SM. They forward packets by the LFTs and MFTs in the switches, never modify
//! a fabric, and judge correctness, not routing quality. [`judge`] takes a [`FabricSnapshot`], which is copied
//! from a [`Fabric`](crate::fabric::Fabric) or built by hand.
//!
//! The scope is what the SM's port reaches over active links, without quarantined nodes. Within it:
//!
//! * LIDs of end ports are unicast, aligned to the LMC, and unique;
//! * every end port reaches every LID of other end ports, including port 0 of switches, by LFT entries up to
//!   LinearFDBTop, on an active VL at every hop; every switch reaches the SM, or its traps would be lost;
//! * the dependencies between channels (switch port and VL) of unicast and multicast packets together form no
//!   cycle;
//! * every multicast packet reaches each other member of its group exactly once, and no other end port;
//! * both ports of every link are Active and use the largest MTU and number of VLs that both support;
//! * one SM is master, and MasterSMLID of every end port is the LID of its port;
//! * P_Key tables are as configured, and partition enforcement passes exactly the configured P_Keys;
//! * settings common to all end ports (M_Key, GID prefix, ...) are equal; VL tables contain active VLs only;
//! * port counters are consistent ([`judge_counters`], which compares two snapshots).
//!
//! Packets from a switch's port 0 do not count as dependencies, because management packets use VL15, unless
//! [`Expectations::port0_traffic`] is set. `docs/oracles.md` describes what each oracle reads, verifies, and does
//! not see.

mod channel_dependencies;
mod counters;
mod delivery;
mod expectations;
mod from_fabric;
mod links;
mod masters;
mod multicast;
mod partitions;
mod scope;
mod settings;
#[cfg(test)]
mod slow_tests;
mod state;
#[cfg(test)]
mod tests;
mod violation;
mod vl_map;

use std::fmt;

use crate::spec::PortAt;
pub use counters::{CounterAllowance, CountersSnapshot, judge_counters};
pub use expectations::{
    Expectations, ExpectedGroup, ExpectedPartitions, ExpectedSettings, PKeyEnforcement, SlTable,
    Traffic,
};
pub use state::{FabricSnapshot, NodeSnapshot, PortSet, PortSnapshot, VlArbTables};
pub use violation::{
    CounterFault, DeliveryFailure, MastershipFault, MulticastFault, PartitionFault, SettingFault,
    Violation,
};

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Violations, ordered by oracle, then by node and LID.
    pub violations: Vec<Violation>,
    /// Switches in scope.
    pub switches: usize,
    /// End ports in scope, including port 0 of switches.
    pub end_ports: usize,
    /// Active links in scope.
    pub links: usize,
    /// LIDs of the end ports.
    pub lids: usize,
}

impl Verdict {
    /// Whether there is no violation.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Violations that `Display` prints; it counts the rest.
const MAX_PRINTED: usize = 20;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            switches,
            end_ports,
            links,
            lids,
            ..
        } = self;
        let count = self.violations.len();
        let found = if count == 0 {
            "no violations".to_owned()
        } else {
            format!("{count} violations")
        };
        write!(
            f,
            "{found}: {switches} switches, {end_ports} end ports, {links} links, {lids} LIDs"
        )?;
        for violation in self.violations.iter().take(MAX_PRINTED) {
            write!(f, "\n  {violation}")?;
        }
        if count > MAX_PRINTED {
            write!(f, "\n  and {} more", count - MAX_PRINTED)?;
        }
        Ok(())
    }
}

/// Checks a snapshot against the expectations.
#[must_use]
pub fn judge(state: &FabricSnapshot, expect: &Expectations) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(scope) = scope::Scope::new(state, expect) else {
        let PortAt { node, port } = expect.sm;
        verdict
            .violations
            .push(Violation::NoSuchPort { node, port });
        return verdict;
    };
    verdict.switches = scope.switches.len();
    verdict.end_ports = scope.end_ports.len();
    verdict.links = scope.links.len();
    let owners = links::check_lids(&scope, &mut verdict);
    links::check_links(&scope, expect, &mut verdict);
    masters::check(&scope, expect, &mut verdict);
    let vl_map = vl_map::VlMap::new(&scope);
    let mut channels = channel_dependencies::ChannelDependencies::new(&scope, vl_map.vl_count());
    let mut findings = delivery::check(
        &scope,
        expect,
        &vl_map,
        &owners,
        &mut channels,
        &mut verdict,
    );
    multicast::check(
        &scope,
        expect,
        &vl_map,
        &mut channels,
        &mut findings,
        &mut verdict,
    );
    let sls = findings.used_sls;
    findings.report(&scope, &vl_map, &mut verdict);
    if expect.no_credit_loops
        && let Some(cycle) = channels.find_cycle()
    {
        let name = |(at, vl)| format!("{} VL{vl}", state.name(at));
        let names = cycle.into_iter().map(name).collect();
        verdict.violations.push(Violation::CreditLoop(names));
    }
    partitions::check(&scope, expect, &mut verdict);
    settings::check(&scope, expect, &vl_map, &owners, sls, &mut verdict);
    verdict
}

/// Checks the current state of a simulated fabric's devices.
#[must_use]
pub fn judge_fabric(fabric: &crate::fabric::Fabric, expect: &Expectations) -> Verdict {
    judge(&FabricSnapshot::from(fabric), expect)
}
