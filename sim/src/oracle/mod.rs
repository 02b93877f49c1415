//! Judges what a subnet manager did, from the bytes in the devices alone.
//!
//! It shares no code with the subnet manager and forwards packets by the tables that the switches
//! hold, not by what anyone meant. It never changes a fabric, and it has no opinion on how good a
//! routing is, only on whether it is right. [`judge`] takes a [`FabricState`], which is copied from
//! a [`Fabric`](crate::fabric::Fabric) or made by hand.
//!
//! What is judged is what the subnet manager's port can reach over live links, quarantined nodes
//! left out:
//!
//! * LIDs of end ports are unicast, aligned to LMC, and nobody else's;
//! * each end port reaches each LID of the others, switches' port 0 included, by the switches' tables up to
//!   LinearFDBTop; and each switch reaches the subnet manager, or its traps would be lost;
//! * the channels between switches that packets of end ports take in turn form no cycle (one lane);
//! * both ends of each link are Active, and use the MTU and lanes that both can;
//! * MasterSMLID of each end port is the LID of the master's port.
//!
//! Channels that only packets from a switch's own port 0 would take are left out of the cycle
//! check: management packets have a lane of their own. [`Expect::port0_traffic`] puts them in.

mod cycle;
mod delivery;
mod links;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use ferrosm_mad::attr::{MtuCode, PortState};
use ferrosm_mad::ids::{Lid, Lmc, PortNum};

use crate::spec::{NodeIdx, PortAt};
pub use state::{FabricState, NodeFacts, PortFacts};

/// What the judge should know about the case.
#[derive(Debug, Clone)]
pub struct Expect {
    /// The port that the subnet manager sends from: what it cannot reach is not judged.
    pub sm: PortAt,
    /// The port of the master; where there is one manager, the same.
    pub master: PortAt,
    /// Nodes that the manager is right to leave alone; nothing of them or through them is judged.
    pub quarantined: BTreeSet<NodeIdx>,
    /// The largest MTU that the manager was told to use.
    pub max_mtu: MtuCode,
    /// The largest OperationalVLs code that the manager was told to use.
    pub max_operational_vls: u8,
    /// Whether one lane must do without a cycle of channels. Not where several lanes are in use.
    pub one_lane: bool,
    /// Whether packets from port 0 of every switch to every end port count as traffic.
    pub port0_traffic: bool,
    /// Whether each switch must reach the master's port.
    pub switches_reach_master: bool,
}

impl Expect {
    /// One manager on a healthy fabric, one lane, no limits of its own.
    #[must_use]
    pub const fn new(sm: PortAt) -> Self {
        Self {
            sm,
            master: sm,
            quarantined: BTreeSet::new(),
            max_mtu: MtuCode::Mtu4096,
            max_operational_vls: 5,
            one_lane: true,
            port0_traffic: false,
            switches_reach_master: true,
        }
    }
}

/// Something that is wrong. Ports are given as `name[port]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An end port without a legal LID range.
    #[error("{port} has LID {lid} LMC {lmc}, which is not a range of unicast LIDs")]
    IllegalLid {
        /// The end port.
        port: String,
        /// Its LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// A base LID that is no multiple of 2^LMC.
    #[error("{port} has LID {lid}, which is not aligned to LMC {lmc}")]
    UnalignedLid {
        /// The end port.
        port: String,
        /// Its LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// Two end ports answer to one LID.
    #[error("{port} and {other} both have LID {lid}")]
    DuplicateLid {
        /// One of them.
        port: String,
        /// The other.
        other: String,
        /// What both have.
        lid: Lid,
    },
    /// Packets do not arrive.
    #[error(
        "LID {lid} of {port} is not reached from {failing} of {sources} switches, from {example}: {why}"
    )]
    Undelivered {
        /// Where they are sent.
        lid: Lid,
        /// Whose LID it is.
        port: String,
        /// How many switches cannot send there.
        failing: usize,
        /// How many should.
        sources: usize,
        /// One that cannot.
        example: String,
        /// What happens to its packets.
        why: Lost,
    },
    /// Channels that wait for each other.
    #[error("credit loop over {} channels: {}", .0.len(), .0.join(" -> "))]
    CreditLoop(
        /// The egress ports, in order; the last waits for the first.
        Vec<String>,
    ),
    /// A link that carries no data.
    #[error("link {a} to {b} is {a_state} to {b_state}, not Active")]
    NotActive {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// State of the one.
        a_state: PortState,
        /// State of the other.
        b_state: PortState,
    },
    /// NeighborMTU is not the largest that both ends can.
    #[error("link {a} to {b} has NeighborMTU {a_mtu} and {b_mtu}, both ends can {want}")]
    Mtu {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// Of the one.
        a_mtu: MtuCode,
        /// Of the other.
        b_mtu: MtuCode,
        /// What it should be.
        want: MtuCode,
    },
    /// OperationalVLs is not the most that both ends can.
    #[error("link {a} to {b} has OperationalVLs {a_vls} and {b_vls}, both ends can {want}")]
    OperationalVls {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// Of the one.
        a_vls: u8,
        /// Of the other.
        b_vls: u8,
        /// What it should be.
        want: u8,
    },
    /// A port that takes another for its master.
    #[error("{port} has MasterSMLID {lid}, the master has {master}")]
    MasterSmLid {
        /// The end port.
        port: String,
        /// What it holds.
        lid: Lid,
        /// What it should hold.
        master: Lid,
    },
    /// The port of [`Expect`] does not exist.
    #[error("there is no port {port} on node {node} to judge from")]
    NoSuchPort {
        /// The node.
        node: NodeIdx,
        /// The port.
        port: u8,
    },
}

/// What happens to a packet that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The table has no egress for the LID, or the LID is above LinearFDBTop.
    #[error("{0} drops it")]
    Dropped(String),
    /// The egress port has no live link, or leads to a node that is not judged.
    #[error("{switch} sends it to port {port}, which leads nowhere")]
    Nowhere {
        /// The switch.
        switch: String,
        /// The egress port.
        port: PortNum,
    },
    /// It comes to an end port that does not have the LID.
    #[error("{switch} sends it to {end}")]
    WrongEnd {
        /// The last switch.
        switch: String,
        /// Where it ends.
        end: String,
    },
    /// It never ends.
    #[error("it comes back to {0} again and again")]
    Loop(String),
}

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
            "good".to_owned()
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
pub fn judge(state: &FabricState, expect: &Expect) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(scope) = state::Scope::new(state, expect) else {
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
    links::check_master(&scope, expect, &mut verdict);
    delivery::check(&scope, expect, &owners, &mut verdict);
    verdict
}

/// Judges the devices of a simulated fabric as they are now.
#[must_use]
pub fn judge_fabric(fabric: &crate::fabric::Fabric, expect: &Expect) -> Verdict {
    judge(&FabricState::from(fabric), expect)
}
