//! Judges what a subnet manager did, from the bytes in the devices alone.
//!
//! It shares no code with the subnet manager and forwards packets by the tables that the switches
//! hold, not by what anyone meant. It never changes a fabric, and it has no opinion on how good a
//! routing is, only on whether it is right. [`judge`] takes a [`FabricSnapshot`], which is copied from
//! a [`Fabric`](crate::fabric::Fabric) or made by hand.
//!
//! What is judged is what the subnet manager's port can reach over live links, quarantined nodes
//! left out:
//!
//! * LIDs of end ports are unicast, aligned to LMC, and nobody else's;
//! * each end port reaches each LID of the others, switches' port 0 included, by the switches' tables up to
//!   LinearFDBTop, on a lane that is in operation on each hop; and each switch reaches the subnet
//!   manager, or its traps would be lost;
//! * the channels between switches (port and lane) that packets take in turn form no cycle, unicast
//!   and multicast together;
//! * each multicast packet comes once to each other member of its group, and to nobody else;
//! * both ends of each link are Active, and use the MTU and lanes that both can;
//! * there is one master, and MasterSMLID of each end port is the LID of its port;
//! * P_Keys are as configured, and switches that check them let pass what they should;
//! * what end ports share (M_Key, GID prefix, ...) they share; tables of lanes name lanes that exist;
//! * counters could have come about ([`judge_counters`], which compares two moments).
//!
//! Channels that only packets from a switch's own port 0 would take are left out of the cycle
//! check: management packets have a lane of their own. [`Expectations::port0_traffic`] puts them in.
//! What each oracle reads, proves and cannot see is told in `docs/oracles.md`.

mod copy;
mod counters;
mod cycle;
mod delivery;
mod expect;
mod lanes;
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

use std::fmt;

use crate::spec::PortAt;
pub use counters::{CounterAllowance, CountersSnapshot, judge_counters};
pub use expect::{
    Expectations, ExpectedGroup, ExpectedPartitions, ExpectedSettings, PKeyEnforcement, SlTable,
    Traffic,
};
pub use state::{FabricSnapshot, NodeSnapshot, PortSet, PortSnapshot, VlArbTables};
pub use violation::{
    CounterFault, DeliveryFailure, MastershipFault, MulticastFault, PartitionFault, SettingFault,
    Violation,
};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// All that is wrong, by kind of check, then in the order of nodes and LIDs.
    pub violations: Vec<Violation>,
    /// Switches judged.
    pub switches: usize,
    /// End ports judged, port 0 of switches included.
    pub end_ports: usize,
    /// Live links judged.
    pub links: usize,
    /// LIDs that end ports answer to.
    pub lids: usize,
}

impl Verdict {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Violations that are printed; the others are counted.
const SHOWN: usize = 20;

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
        for violation in self.violations.iter().take(SHOWN) {
            write!(f, "\n  {violation}")?;
        }
        if count > SHOWN {
            write!(f, "\n  and {} more", count - SHOWN)?;
        }
        Ok(())
    }
}

/// Judges a fabric.
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
    let lanes = lanes::Lanes::new(&scope);
    let mut channels = cycle::Channels::new(&scope, lanes.most());
    let mut used = delivery::check(&scope, expect, &lanes, &owners, &mut channels, &mut verdict);
    multicast::check(
        &scope,
        expect,
        &lanes,
        &mut channels,
        &mut used,
        &mut verdict,
    );
    let sls = used.used;
    used.report(&scope, &lanes, &mut verdict);
    if expect.no_credit_loops
        && let Some(cycle) = channels.cycle()
    {
        let name = |(at, vl)| format!("{} VL{vl}", state.name(at));
        let names = cycle.into_iter().map(name).collect();
        verdict.violations.push(Violation::CreditLoop(names));
    }
    partitions::check(&scope, expect, &mut verdict);
    settings::check(&scope, expect, &lanes, &owners, sls, &mut verdict);
    verdict
}

/// Judges the devices of a simulated fabric as they are now.
#[must_use]
pub fn judge_fabric(fabric: &crate::fabric::Fabric, expect: &Expectations) -> Verdict {
    judge(&FabricSnapshot::from(fabric), expect)
}
