//! Sweep reports: the fabric found, the requests sent and the problems left.

pub mod absent_member;
mod activity_kind;
mod exclusion;
pub mod foreign_settings;
pub mod ignored_sm;
pub mod m_keys;
pub mod maintenance_refusal;
pub mod partition_change;
pub mod port_limit_refusal;
pub mod routing_failure;
pub mod routing_message;
pub mod switch_names;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::ExclusionReason;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{AttrId, Lid, PKey};
use ferrosm_routing::Proof;

use crate::report::routing_message::RoutingMessage;
use exclusion::Exclusion;
use ferrosm_sa::refusal::SaRefusal;
use foreign_settings::{ForeignSettings, RemovalKind};

pub use activity_kind::{ActivityKind, Phase};
pub use exclusion::ExcludedDevice;

/// A fault of the fabric that a sweep found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The node or port.
    pub location: Location,
    /// The fault.
    pub kind: ProblemKind,
}

/// Kinds of [`Problem`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// The node behind the port is excluded from the subnet.
    Excluded(ExclusionReason, Box<ExcludedDevice>),
    /// A known node did not respond to a request.
    NoResponse {
        /// The attribute that was read or written.
        attr: AttrId,
    },
    /// It did not respond and sent a Bad M_Key trap (256).
    MKeyRejected,
    /// A Set was rejected with an error status.
    SetRejected {
        /// The attribute that was written.
        attr: AttrId,
        status: ferrosm_mad::mad::Status,
    },
    /// It rejected a table twice and keeps the one that it has, which the SM plans with.
    TableKept {
        /// The attribute of the table.
        attr: AttrId,
        /// The status of the last rejection.
        status: ferrosm_mad::mad::Status,
    },
    /// Some end ports do not reach it, because switches keep LFT entries.
    NotReached,
    /// The device changed unused or reserved bits of what was written; the rest was accepted.
    SetNormalized {
        /// The attribute that was written.
        attr: AttrId,
    },
    /// No LID is available for it.
    NoLid,
    /// The link did not become active.
    NotActive(ferrosm_mad::attr::PortState),
    /// As [`Self::NotActive`], repeatedly: the routes avoid the link.
    LinkNotRouted(ferrosm_mad::attr::PortState),
    /// Two ports had the same LID; this one was assigned another.
    LidConflict(Lid),
    /// The ends of a link that is up differ in NeighborMTU or OperationalVLs; the values are
    /// rewritten.
    LinkMismatch,
    /// As [`Self::LinkMismatch`], but the link was bounced (`links.bounce`).
    LinkBounced,
    /// A link between two ports of the same switch.
    Loopback,
    /// A host's port has a link that does not lead to this subnet.
    LinkToOtherSubnet {
        /// Further ports of hosts with such a link.
        others: usize,
    },
    /// A switch without a linear forwarding table.
    NoLinearTable,
    /// The LFT of the switch is smaller than the highest LID in use: it drops packets to LIDs
    /// beyond its end.
    LftTooSmall {
        /// Entries of its LFT.
        entries: u16,
        /// LIDs in use that it cannot hold.
        lids: usize,
        /// Those of them that belong to it or to end ports attached to it: nobody reaches them.
        own_lids: usize,
        /// The first of these.
        first_own: Option<Lid>,
    },
    /// The MFT of the switch is smaller than the highest MLID in use: members of groups there are
    /// left out.
    MftTooSmall {
        /// Entries of its MFT.
        entries: u16,
        /// MLIDs that it cannot hold and that have members at this switch, or behind it.
        mlids: usize,
    },
    /// The switch keeps its MFT, and multicast trees avoid it.
    MembersLeftOut {
        /// MLIDs that have members at this switch, or behind it.
        mlids: usize,
    },
    /// No multicast tree is free of deadlocks with the routes: groups forward no packets, so that
    /// there is no IPoIB.
    MulticastDisabled,
    /// The switch reported a LinearFDBTop beyond the end of its LFT; a valid one is written.
    LftTopTooHigh {
        /// LinearFDBTop.
        top: u16,
        /// Entries of its LFT.
        entries: u16,
    },
    /// Its P_Key table is too small for its partitions.
    PKeyTableFull {
        /// P_Keys that do not fit.
        count: usize,
        /// Entries of the table.
        capacity: u16,
    },
    /// Settings of another SM wait for the operator's consent to remove them, and stay as they are.
    ForeignSettingsKept(Box<ForeignSettings>),
    /// The port cannot join the broadcast group of a partition: its host has no IPoIB there.
    CannotJoinBroadcastGroup(PKey, SaRefusal),
    /// The switch port does not enforce P_Keys: its table is too small for the P_Keys of the end
    /// port behind it.
    PKeysNotEnforced {
        /// P_Keys of the end port.
        needed: usize,
        /// Entries of the table.
        capacity: u16,
    },
    /// The operator drained the link, and nothing else leads to a part of the fabric.
    DrainedLinkUsed,
    /// The first configured routing engine is not in use.
    EngineNotUsed {
        /// The configured engine.
        configured: String,
        /// The engine whose routing is in use.
        used: &'static str,
        /// Why it was rejected; `None` if it was rejected in an earlier run.
        reason: Option<String>,
    },
}

impl ProblemKind {
    /// An exclusion; the report adds what is known about the device.
    pub(crate) fn excluded(reason: ExclusionReason) -> Self {
        Self::Excluded(reason, Box::default())
    }

    /// Whether some port is not up, addressed or routed because of it.
    #[must_use]
    pub const fn is_severe(&self) -> bool {
        match self {
            Self::Excluded(..)
            | Self::NoResponse { .. }
            | Self::MKeyRejected
            | Self::SetRejected { .. }
            | Self::TableKept { .. }
            | Self::NotReached
            | Self::NoLid
            | Self::NotActive(_)
            | Self::LinkNotRouted(_)
            | Self::NoLinearTable
            | Self::LftTooSmall { .. }
            | Self::MftTooSmall { .. }
            | Self::MembersLeftOut { .. }
            | Self::MulticastDisabled
            | Self::PKeyTableFull { .. } => true,
            Self::SetNormalized { .. }
            | Self::LidConflict(_)
            | Self::LinkMismatch
            | Self::LinkBounced
            | Self::Loopback
            | Self::CannotJoinBroadcastGroup(..)
            | Self::LinkToOtherSubnet { .. }
            | Self::LftTopTooHigh { .. }
            | Self::PKeysNotEnforced { .. }
            | Self::ForeignSettingsKept(_)
            | Self::DrainedLinkUsed
            | Self::EngineNotUsed { .. } => false,
        }
    }

    /// Whether a setting of the operator is not in force because of it, although every port is up,
    /// addressed and routed.
    #[must_use]
    pub const fn breaks_setting(&self) -> bool {
        matches!(
            self,
            Self::PKeysNotEnforced { .. }
                | Self::ForeignSettingsKept(_)
                | Self::DrainedLinkUsed
                | Self::EngineNotUsed { .. }
                | Self::CannotJoinBroadcastGroup(..)
        )
    }
}

impl ProblemKind {
    /// The index of its row in the event table.
    pub(crate) const fn severity_rank(&self) -> usize {
        if self.is_severe() {
            0
        } else if self.breaks_setting() {
            1
        } else {
            2
        }
    }

    /// What follows if it is found between sweeps.
    pub(crate) fn effect_between_sweeps(&self) -> Option<&'static str> {
        matches!(self, Self::NoResponse { .. }).then_some(
            "it stays in the routes until its links go down or `ferrosm sweep --exclude`",
        )
    }

    /// A stable name of the fault, for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Excluded(..) => "excluded",
            Self::NoResponse { .. } => "no-response",
            Self::MKeyRejected => "m-key-rejected",
            Self::SetRejected { .. } => "set-rejected",
            Self::TableKept { .. } => "table-kept",
            Self::NotReached => "not-reached",
            Self::SetNormalized { .. } => "set-normalized",
            Self::NoLid => "no-lid",
            Self::NotActive(_) => "not-active",
            Self::LinkNotRouted(_) => "link-not-routed",
            Self::LidConflict(_) => "lid-conflict",
            Self::LinkMismatch => "link-mismatch",
            Self::LinkBounced => "link-bounced",
            Self::Loopback => "loopback",
            Self::LinkToOtherSubnet { .. } => "link-to-other-subnet",
            Self::NoLinearTable => "no-linear-table",
            Self::LftTooSmall { .. } => "lft-too-small",
            Self::MftTooSmall { .. } => "mft-too-small",
            Self::MembersLeftOut { .. } => "members-left-out",
            Self::MulticastDisabled => "multicast-disabled",
            Self::LftTopTooHigh { .. } => "lft-top-too-high",
            Self::PKeyTableFull { .. } => "p-key-table-full",
            Self::ForeignSettingsKept(foreign) => match foreign.kind() {
                RemovalKind::PKeyRemoval => "foreign-p-keys-kept",
                RemovalKind::LmcChange => "foreign-lmc-kept",
                RemovalKind::MKeyRemoval => "foreign-m-keys-kept",
                RemovalKind::QosRemoval => "foreign-qos-tables-kept",
            },
            Self::DrainedLinkUsed => "drained-link-used",
            Self::CannotJoinBroadcastGroup(..) => "cannot-join-broadcast-group",
            Self::PKeysNotEnforced { .. } => "p-keys-not-enforced",
            Self::EngineNotUsed { .. } => "engine-not-used",
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |a: &AttrId| {
            ferrosm_mad::attr::id::name(*a).map_or_else(|| a.to_string(), str::to_owned)
        };
        match self {
            Self::Excluded(why, device) => Exclusion(*why, device).fmt(f),
            Self::NoResponse { attr } => write!(f, "no response to {}", name(attr)),
            Self::MKeyRejected => f.write_str(
                "M_Key rejected: another SM or program changed the device's M_Key (import that M_Key with `ferrosm state import`, or reset the device)",
            ),
            Self::SetRejected { attr, status } => {
                write!(f, "Set({}) rejected: {status}", name(attr))
            }
            Self::TableKept { attr, status } => write!(
                f,
                "Set({}) rejected repeatedly: {status}; the device keeps the table that it has (update its firmware; the SM repeats the Set at increasing intervals)",
                name(attr)
            ),
            Self::NotReached => f.write_str(
                "not reached from all end ports: a switch rejects writes and keeps an LFT or SLtoVL table that does not lead to it (see `table-kept`; update its firmware)",
            ),
            Self::SetNormalized { attr } => write!(
                f,
                "Set({}) accepted with other values in unused or reserved bits",
                name(attr)
            ),
            Self::NoLid => f.write_str("no LID available"),
            Self::NotActive(state) => write!(f, "link not active: port state {state}"),
            Self::LinkNotRouted(state) => write!(
                f,
                "link not active: port state {state}; not used by routes until it is active (check the cable and both ports)"
            ),
            Self::LidConflict(lid) => {
                write!(f, "LID {lid} belongs to another port; new LID assigned")
            }
            Self::LinkMismatch => f.write_str(
                "NeighborMTU or OperationalVLs differ between the ends of the link; rewritten",
            ),
            Self::LinkBounced => f.write_str(
                "NeighborMTU or OperationalVLs differ between the ends of the link; link bounced",
            ),
            Self::Loopback => f.write_str("loopback link; not routed"),
            Self::LinkToOtherSubnet { others } => {
                match others {
                    0 => f.write_str("this port has"),
                    n => write!(f, "this port and {n} more ports of hosts have"),
                }?;
                f.write_str(" a link that leads out of this subnet: to another plane, or to a switch that is excluded or not connected to it (a port that is not Active has no SM)")
            }
            Self::NoLinearTable => f.write_str("no linear forwarding table; not routed"),
            Self::LftTooSmall {
                entries,
                lids,
                own_lids,
                first_own,
            } => {
                write!(
                    f,
                    "LFT too small: it has {entries} entries and drops packets to {lids} higher LIDs"
                )?;
                if let Some(first) = first_own {
                    write!(
                        f,
                        ", {own_lids} of which belong to this switch or its hosts and are unreachable, e.g. LID {first}"
                    )?;
                }
                f.write_str(" (replace the switch, or assign lower LIDs with `lids.reassign`)")
            }
            Self::MftTooSmall { entries, mlids } => write!(
                f,
                "MFT too small: it has {entries} entries, and members at or behind this switch miss the groups of {mlids} higher MLIDs (replace the switch, or move these groups to lower MLIDs with `ferrosm sweep --reroute`)"
            ),
            Self::MembersLeftOut { mlids } => write!(
                f,
                "multicast trees avoid this switch, because it rejects its MFT: members at or behind it miss the groups of {mlids} MLIDs (update its firmware)"
            ),
            Self::MulticastDisabled => f.write_str(
                "multicast disabled, no IPoIB: no multicast tree is free of deadlocks with the routes (configure another engine)",
            ),
            Self::LftTopTooHigh { top, entries } => write!(
                f,
                "LinearFDBTop {top} is beyond the LFT of {entries} entries; rewritten"
            ),
            Self::ForeignSettingsKept(foreign) => write!(
                f,
                "settings of another SM stay until consent: {foreign} (accepted by `ferrosm takeover --accept {}`)",
                foreign.kind().name()
            ),
            Self::DrainedLinkUsed => f.write_str(
                "drained, but routes use it: nothing else leads to a part of the fabric",
            ),
            Self::PKeyTableFull { count, capacity } => write!(
                f,
                "P_Key table full: {capacity} entries, {count} P_Keys do not fit"
            ),
            Self::CannotJoinBroadcastGroup(pkey, refusal) => write!(
                f,
                "cannot join the broadcast group of P_Key {pkey}: {refusal}"
            ),
            Self::PKeysNotEnforced { needed, capacity } => write!(
                f,
                "P_Keys not enforced: the end port behind it has {needed}, the table of this port has room for {capacity}"
            ),
            Self::EngineNotUsed {
                configured,
                used,
                reason,
            } => {
                write!(f, "configured engine {configured} not used, {used} is")?;
                match reason {
                    Some(reason) => write!(f, ": {reason}"),
                    None => f.write_str(" (`ferrosm sweep --reroute` tries it again)"),
                }
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.kind)
    }
}

/// Kinds of sweep, the most thorough last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SweepKind {
    /// Of the switches and ports that traps, light sweeps or failed requests named.
    Local,
    /// Of the whole fabric.
    #[default]
    Full,
}

impl SweepKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Local, Self::Full];

    /// The name in the log, metrics and JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for SweepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// SMPs of one attribute and method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SmpCount {
    /// Gets sent, retries included.
    pub gets: u64,
    /// Sets sent, retries included.
    pub sets: u64,
    /// Requests that timed out.
    pub timeouts: u64,
}

/// The result of a sweep.
#[derive(Debug, Clone, Default)]
pub struct SweepReport {
    /// Sequence number of the sweep.
    pub number: u32,
    pub kind: SweepKind,
    /// The SMInfo state of this SM at its end.
    pub role: SmState,
    /// Switches of the subnet.
    pub switches: usize,
    /// Channel adapters.
    pub cas: usize,
    pub routers: usize,
    /// Links with both ends up.
    pub links: usize,
    /// LIDs in use.
    pub lids: usize,
    /// Highest LID in use.
    pub top_lid: Lid,
    /// LIDs assigned or changed in this sweep.
    pub lids_changed: usize,
    /// The engine whose tables are installed; empty in a subnet without switches.
    pub engine: &'static str,
    /// Whether the routing in force has paths with different SLs.
    pub has_several_sls: bool,
    /// Whether this sweep computed routes; otherwise the routing in force was retained.
    pub has_new_routes: bool,
    /// Messages about the routing in force and the update of its tables.
    pub routing_messages: Vec<RoutingMessage>,
    /// The proof of the routing; `None` if nothing had to be routed.
    pub proof: Option<Proof>,
    pub lft_blocks_written: u64,
    /// LIDs to which packets were dropped before their new routes were written.
    pub drained_lids: usize,
    /// SMPs by attribute.
    pub smps: BTreeMap<AttrId, SmpCount>,
    /// Time spent in each phase, in order.
    pub phases: Vec<(Phase, Duration)>,
    /// Time from the first SMP to the last response.
    pub took: Duration,
    /// Every engine failed; the installed tables stay in force.
    pub failed: bool,
    /// Problems found.
    pub problems: Vec<Problem>,
    /// Ports of the LID map that are absent from the subnet.
    pub absent: usize,
    /// The P_Key table with the fewest free entries; `None` without configured partitions, and for
    /// local sweeps.
    pub fullest_pkey_table: Option<PKeyTableUsage>,
}

/// The usage of a P_Key table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyTableUsage {
    /// The port.
    pub location: Location,
    /// Entries in use.
    pub used: usize,
    /// Entries of the table.
    pub capacity: u16,
}

impl PKeyTableUsage {
    /// Free entries.
    #[must_use]
    pub fn free(&self) -> usize {
        usize::from(self.capacity).saturating_sub(self.used)
    }
}

impl SweepReport {
    /// Whether it was a local sweep.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.kind == SweepKind::Local
    }

    /// Whether every port found is up, addressed and routed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.failed && self.num_severe() == 0
    }

    /// Number of problems because of which a port is not up, addressed or routed.
    #[must_use]
    pub fn num_severe(&self) -> usize {
        self.problems.iter().filter(|p| p.kind.is_severe()).count()
    }

    /// All SMPs sent.
    #[must_use]
    pub fn smps_sent(&self) -> u64 {
        self.smps.values().map(|c| c.gets + c.sets).sum()
    }
}
