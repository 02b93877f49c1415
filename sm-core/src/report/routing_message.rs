//! What a routing job and the update of the tables report about the routing.

use core::fmt;

use ferrosm_fabric::location::PortName;
use ferrosm_routing::table_limits::{DroppedTransit, NarrowSwitch};
use ferrosm_routing::update::transition::Conflict;
use ferrosm_routing::{Diagnostic, EngineRejection, KeptSwitchUse};

use crate::config::hints::HintWarning;
use crate::report::routing_failure::{AdoptionRejection, RoutingFailure};
use crate::report::switch_names::WithSwitchNames;

/// Switches that a message names.
const NAMES_MAX: usize = 8;

/// A message about the routing, for logs and reports. `Display` is one line.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutingMessage {
    /// The installed routing was not adopted.
    AdoptionRejected(WithSwitchNames<AdoptionRejection>),
    /// An engine was run and not used.
    EngineRejected(WithSwitchNames<EngineRejection>),
    /// The installed LFTs were adopted.
    InstalledLftsAdopted {
        /// LFTs of which entries for removed LIDs are cleared.
        cleared_lfts: usize,
    },
    /// The persisted routing was continued. [`Diagnostic::Rerouted`] follows if links were lost or
    /// LIDs changed since.
    PersistedRoutingContinued,
    /// A routing hint, or a part of it, was ignored or changed.
    Hint(HintWarning),
    /// A decision of the engine or of the engine selection.
    Engine(WithSwitchNames<Diagnostic>),
    /// LIDs are unreachable from a part of the fabric, because a switch with a small LFT alone
    /// leads there.
    DroppedTransit(WithSwitchNames<DroppedTransit>),
    /// A switch with few VLs is routed as a leaf.
    NarrowSwitch(WithSwitchNames<NarrowSwitch>),
    /// The LFTs are written in stages.
    StagedUpdate {
        /// Number of stages.
        stages: usize,
    },
    /// The changing routes are drained before the new LFTs are written.
    DrainedUpdate {
        /// LIDs of these routes.
        lids: usize,
        /// The conflict between old and new entries.
        conflict: WithSwitchNames<Conflict>,
    },
    /// Routes that only switches without end ports use are cleared before the new LFTs are written,
    /// so that no others have to be.
    SwitchRoutesCleared {
        /// LIDs of these routes.
        lids: usize,
    },
    /// The routing of an engine is not installed, because routes in use would be drained. The
    /// routing in force stays, rerouted within its VL plan.
    DrainAvoided {
        engine: &'static str,
        /// LIDs of the routes that would be drained.
        lids: usize,
    },
    /// SLtoVL tables change only for VLs without traffic; they are written before the LFTs.
    UnusedVlsFirst,
    /// Routes are drained while their VLs change.
    DrainedForVls {
        /// LIDs of these routes.
        lids: usize,
    },
    /// SLs of paths in use change.
    PathSlsChange,
    /// Multicast entries that conflict with the new routes are cleared before the LFTs are written.
    MulticastEntriesCleared {
        /// MLIDs of these entries.
        mlids: usize,
    },
    /// Routes are computed with the tables that switches keep because they reject writes.
    TablesKept {
        /// Names of these switches.
        switches: Vec<String>,
        /// How the routes use them.
        kept_use: KeptSwitchUse,
    },
    /// MFTs are not written in this sweep: after an aborted LFT update, no tree is known to be free
    /// of deadlocks with the routes.
    MftsNotWritten,
    /// LFT blocks are not written in this sweep, because a port rejected a table that must precede
    /// them.
    LftsNotWritten {
        /// Number of blocks; `None`: all blocks that change.
        blocks: Option<usize>,
        port: PortName,
    },
}

impl RoutingMessage {
    /// One message for each reason of a failure.
    pub(crate) fn of_failure(failure: &RoutingFailure) -> impl Iterator<Item = Self> + '_ {
        let adoption = failure.adoption.iter().cloned().map(Self::AdoptionRejected);
        let engines = failure.engines.iter().cloned().map(Self::EngineRejected);
        adoption.chain(engines)
    }

    /// Whether hosts miss packets because of it, for a moment or for good.
    #[must_use]
    pub const fn costs_service(&self) -> bool {
        matches!(
            self,
            Self::DroppedTransit(_)
                | Self::DrainedUpdate { .. }
                | Self::DrainedForVls { .. }
                | Self::MulticastEntriesCleared { .. }
                | Self::MftsNotWritten
                | Self::LftsNotWritten { .. }
        )
    }

    /// A stable name of the message, for programs.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::AdoptionRejected(_) => "adoption-rejected",
            Self::EngineRejected(_) => "engine-rejected",
            Self::InstalledLftsAdopted { .. } => "installed-lfts-adopted",
            Self::PersistedRoutingContinued => "persisted-routing-continued",
            Self::Hint(warning) => warning.kind(),
            Self::Engine(diagnostic) => diagnostic.message.kind(),
            Self::DroppedTransit(_) => "dropped-transit",
            Self::NarrowSwitch(_) => "narrow-switch",
            Self::StagedUpdate { .. } => "staged-update",
            Self::DrainedUpdate { .. } => "drained-update",
            Self::SwitchRoutesCleared { .. } => "switch-routes-cleared",
            Self::DrainAvoided { .. } => "drain-avoided",
            Self::UnusedVlsFirst => "unused-vls-first",
            Self::DrainedForVls { .. } => "drained-for-vls",
            Self::PathSlsChange => "path-sls-change",
            Self::MulticastEntriesCleared { .. } => "multicast-entries-cleared",
            Self::TablesKept { .. } => "tables-kept",
            Self::MftsNotWritten => "mfts-not-written",
            Self::LftsNotWritten { .. } => "lfts-not-written",
        }
    }
}

impl fmt::Display for RoutingMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AdoptionRejected(why) => why.fmt(f),
            Self::EngineRejected(why) => why.fmt(f),
            Self::InstalledLftsAdopted { cleared_lfts: 0 } => f.write_str("the routes installed in the switches are verified and stay in use"),
            Self::InstalledLftsAdopted { cleared_lfts } => write!(
                f,
                "the routes installed in the switches are verified and stay in use; entries of removed LIDs are cleared in {cleared_lfts} tables"
            ),
            Self::PersistedRoutingContinued => f.write_str("the saved routes of the previous run or master stay in use"),
            Self::Hint(warning) => warning.fmt(f),
            Self::Engine(diagnostic) => diagnostic.fmt(f),
            Self::DroppedTransit(dropped) => dropped.fmt(f),
            Self::NarrowSwitch(narrow) => narrow.fmt(f),
            Self::StagedUpdate { stages } => write!(
                f,
                "LFTs written in {stages} stages, so that old and new entries form no loop or deadlock and drop no packets meanwhile"
            ),
            Self::DrainedUpdate { lids, conflict } => write!(
                f,
                "packets on changing routes to {lids} LIDs are dropped while the LFTs are written, because old and new entries conflict: {conflict}"
            ),
            Self::SwitchRoutesCleared { lids } => write!(
                f,
                "routes to {lids} LIDs that carry only management packets of switches are cleared first; these packets are dropped while the LFTs are written"
            ),
            Self::DrainAvoided { engine, lids } => write!(
                f,
                "new routing of {engine} not installed: packets to {lids} LIDs would be dropped meanwhile; the routes in use stay, `ferrosm sweep --reroute` installs it"
            ),
            Self::UnusedVlsFirst => {
                f.write_str("SLtoVL tables of unused VLs are written before the routes")
            }
            Self::DrainedForVls { lids } => {
                write!(f, "packets to {lids} LIDs are dropped while the VLs of their routes change")
            }
            Self::PathSlsChange => f.write_str(
                "SLs of paths change: existing connections keep their SL until they query the path again",
            ),
            Self::MulticastEntriesCleared { mlids } => write!(
                f,
                "multicast entries of {mlids} MLIDs cleared before the LFT update: they conflict with the new routes"
            ),
            Self::TablesKept { switches, kept_use } => {
                let names = switches.iter().take(NAMES_MAX).cloned();
                let names = names.collect::<Vec<_>>().join(", ");
                let more = switches.len().saturating_sub(NAMES_MAX);
                write!(f, "routes computed with the installed tables of {names}")?;
                if more > 0 {
                    write!(f, " and {more} other switches")?;
                }
                f.write_str(", which do not accept others")?;
                match kept_use {
                    KeptSwitchUse::Transit => Ok(()),
                    KeptSwitchUse::EndPortsOnly => f.write_str(
                        "; no routes lead through these switches, and one link of each carries the traffic to its end ports",
                    ),
                }
            }
            Self::MftsNotWritten => f.write_str(
                "multicast entries stay as they are until the LFTs are written in a later sweep: new trees could deadlock with the remaining old LFT entries",
            ),
            Self::LftsNotWritten { blocks, port } => {
                match blocks {
                    Some(blocks) => write!(f, "{blocks} LFT blocks")?,
                    None => f.write_str("LFTs")?,
                }
                write!(
                    f,
                    " not written before the next sweep: {port} rejected, or did not respond to, a table that must precede them"
                )
            }
        }
    }
}
