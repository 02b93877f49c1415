//! Oracles, which check that the devices of a fabric at rest are configured correctly, from the
//! values in the devices alone.
//!
//! The oracles share no code with the SM. They forward packets by the LFTs and MFTs in the
//! switches, never modify a fabric, and judge correctness, not routing quality. [`judge`] takes a
//! [`FabricSnapshot`], which is copied from a [`Fabric`](crate::fabric::Fabric) or built by hand.
//! The scope is what the SM's port reaches over active links, without excluded nodes. Within it:
//!
//! | oracle | verifies | does not check |
//! |---|---|---|
//! | LIDs | LID ranges of end ports are unicast, aligned to the LMC, and unique | LID changes (compare two states) |
//! | links | both ports are Active and use the largest MTU and number of VLs that both support | width, speed |
//! | delivery | switches with hosts reach every LID, by entries up to LinearFDBTop; all switches reach the SM | P_Key, GID |
//! | VLs | each SL in use maps to an operational VL on every hop | waiting time on a VL |
//! | deadlock | channels (switch port, VL) of unicast and multicast form no cycle | cycles through hosts; buffers |
//! | multicast | one copy to each other member, none to other ports, no loop, no entries for unused MLIDs | JoinState; proxies |
//! | master | one master, in MasterSMLID of all end ports; IsSM exactly at SMs | a silent master (set [`Expectations::sms`]) |
//! | partitions | configured P_Keys, the right one at index 0, one in common with the master; enforcement | P_Keys of packets |
//! | settings | PortInfo, SwitchInfo and VL arbitration as configured or as the master's; PortStateChange cleared | effects on hosts |
//! | counters | [`judge_counters`]: no packet appears on a link; losses are errors; none decreases | packets in flight |
//!
//! Dependencies between channels depend on the SL, so [`Expectations`] defines the traffic. Packets
//! from a switch's port 0 do not count, because management packets use VL15, unless
//! [`Expectations::port0_traffic`] is set. Without expected groups ([`ExpectedGroup`]) every port
//! in an MFT counts as a member on SL 0, and only the tree is verified.
//!
//! Each switch is visited once per LID, and nothing is stored per pair; the example `judge`
//! measures the time on a large fabric. Tests compare the verdicts with those of following every
//! packet (`slow_tests`) and change one value at a time in correct fabrics
//! (`tests/live/oracles_broken.rs`): the verdict must name that kind of violation and no other.

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
pub use scope::connected_end_ports;
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
    /// Whether credit loops were judged: not if the SLs of the packets are unknown and lead to
    /// different VLs.
    pub judges_credit_loops: bool,
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
        match count {
            0 => f.write_str("no violations")?,
            1 => f.write_str("1 violation")?,
            _ => write!(f, "{count} violations")?,
        }
        let kinds = [
            (switches, "switch", "switches"),
            (end_ports, "end port", "end ports"),
            (links, "link", "links"),
            (lids, "LID", "LIDs"),
        ];
        for (i, (number, one, many)) in kinds.into_iter().enumerate() {
            let separator = if i == 0 { ':' } else { ',' };
            let noun = if *number == 1 { one } else { many };
            write!(f, "{separator} {number} {noun}")?;
        }
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
    verdict.judges_credit_loops = expect.no_credit_loops
        && !(matches!(expect.traffic, Traffic::Unknown) && vl_map.sl_selects_vl(&scope));
    if verdict.judges_credit_loops
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
