//! Observations by the SM, and what follows from them.

use core::fmt;
use core::time::Duration;

use ferrosm_fabric::location::PortName;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;

use super::about_sm::AboutSm;
use crate::election;

/// An observation by the SM. `Display` formats it as one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// The election reports something about another SM.
    Election(AboutSm<election::ElectionNotice>),
    /// A port names another SM as its master; a full sweep follows.
    ForeignMaster {
        /// The port.
        port: PortName,
        /// The LID of that SM.
        master: Lid,
    },
    /// The process stalled; the other SMs are queried before the next write.
    ProcessStalled,
    /// The replica was not loaded in time; the SM continues without it.
    ReplicaTimedOut,
    /// A standby did not get a replica of its master's records in time; it accepts a handover
    /// without one.
    ReplicaUnavailable,
    /// The SA replies from the restored view until the first sweep is complete.
    RestoredViewUsed {
        /// The age of the view.
        age: Duration,
    },
    /// The restored view is not used.
    RestoredViewRejected(ViewMismatch),
    /// The restored view is withdrawn: too many ports have other LIDs.
    RestoredViewWithdrawn,
    /// End ports of the restored view are absent or have another LID; they are removed from it.
    EndPortsOutdated {
        /// Number of end ports.
        count: usize,
    },
    /// The SL, MTU or rate of groups changed; their members are sent ClientReregister.
    GroupParametersChanged {
        /// Number of hosts.
        hosts: usize,
    },
    /// A new configuration takes full memberships in partitions from ports.
    FullMembershipsLost {
        /// Number of ports.
        ports: usize,
    },
    /// Members of groups were removed, because they are not in the partition of the group any more.
    GroupMembersRemoved {
        /// Number of memberships.
        count: usize,
    },
    /// A port does not accept alias GUIDs.
    AliasGuidsRejected {
        /// The port.
        port: PortName,
        /// The block of GUIDs.
        block: u8,
        /// How the last write failed.
        failure: WriteFailure,
    },
    /// A link between switches leads to another port than before.
    LinkMoved(PortName),
    /// A link was lost repeatedly. It is reported once, until [`Self::LinkStable`].
    LinkFlapping(LinkFlaps),
    /// A link that flapped, or that did not become active, is stable.
    LinkStable([PortName; 2]),
    /// An inconsistency was found, or a Set reached another device; a full sweep follows.
    InconsistencyFound,
    /// A light sweep found changes; a local sweep follows.
    ChangesFound(LocalSweepReasons),
}

/// The losses of a link that flaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkFlaps {
    /// Its ports.
    pub ends: [PortName; 2],
    /// How often it was lost.
    pub flaps: u32,
    /// In which time.
    pub window: Duration,
    /// The routes avoid it until it was up for this time; `None` if something cannot be reached
    /// without it.
    pub hold: Option<Duration>,
}

impl fmt::Display for LinkFlaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b], window) = (self.ends, self.window.as_secs());
        write!(f, "{a} - {b}, lost {} times in {window} s", self.flaps)?;
        match self.hold {
            Some(hold) => write!(
                f,
                "; routes avoid it until it is up for {} s",
                hold.as_secs()
            ),
            None => f.write_str("; still used, because something is reached over it only"),
        }
    }
}

/// Why a light sweep requests a local sweep. `Display` is a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalSweepReasons {
    /// Switches that report changed ports.
    pub changed_switches: usize,
    /// Switches that did not respond, or rejected a write.
    pub failed_switches: usize,
    /// Ports with a link whose neighbour is unknown or excluded.
    pub silent_ports: usize,
    /// Ports that did not respond, rejected a write, or may have changed since they were read.
    pub unverified_ports: usize,
    /// The routes do not fit the fabric any more.
    pub outdated_routes: bool,
}

impl fmt::Display for LocalSweepReasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = [
            (self.changed_switches, "switch", "es", "with changed ports"),
            (
                self.failed_switches,
                "switch",
                "es",
                "with a failed request",
            ),
            (
                self.silent_ports,
                "port",
                "s",
                "with a device that is excluded or does not respond",
            ),
            (
                self.unverified_ports,
                "port",
                "s",
                "whose state may have changed",
            ),
        ];
        let counted = counted.into_iter().filter(|(n, ..)| *n > 0);
        let mut reasons: Vec<String> = counted
            .map(|(n, noun, plural, what)| {
                let ending = if n == 1 { "" } else { plural };
                format!("{n} {noun}{ending} {what}")
            })
            .collect();
        if self.outdated_routes {
            reasons.push("outdated routes".to_owned());
        }
        f.write_str(&reasons.join("; "))
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Election(about) => about.fmt(f),
            Self::ForeignMaster { port, master } => write!(
                f,
                "foreign master found: MasterSMLID of {port} is {master}; full sweep follows"
            ),
            Self::ProcessStalled => {
                f.write_str("process stalled: other SMs are queried before the next write")
            }
            Self::ReplicaTimedOut => {
                f.write_str("replica not loaded in time: continuing without it")
            }
            Self::ReplicaUnavailable => {
                f.write_str("replica unavailable: a handover is accepted without it")
            }
            Self::RestoredViewUsed { age } => write!(
                f,
                "SA replies from saved topology until the first sweep is complete: {} s old",
                age.as_secs()
            ),
            Self::RestoredViewRejected(mismatch) => {
                write!(f, "saved topology rejected: {mismatch}")
            }
            Self::RestoredViewWithdrawn => {
                f.write_str("saved topology withdrawn: too many ports have other LIDs")
            }
            Self::EndPortsOutdated { count } => write!(
                f,
                "{count} end ports absent or with another LID: removed from the saved topology"
            ),
            Self::GroupParametersChanged { hosts } => write!(
                f,
                "group SL, MTU or rate changed: ClientReregister sent to {hosts} hosts"
            ),
            Self::FullMembershipsLost { ports } => write!(
                f,
                "{ports} ports lose full membership in a partition by the new configuration"
            ),
            Self::GroupMembersRemoved { count } => write!(
                f,
                "{count} multicast memberships removed: their ports are not in the partition of the group any more"
            ),
            Self::AliasGuidsRejected {
                port,
                block,
                failure,
            } => write!(f, "alias GUIDs rejected: {port}, block {block}: {failure}"),
            Self::LinkMoved(port) => {
                write!(f, "link moved: {port} is linked to another port")
            }
            Self::LinkFlapping(flaps) => write!(f, "link flapping: {flaps}"),
            Self::LinkStable([a, b]) => write!(f, "link stable again: {a} - {b}"),
            Self::InconsistencyFound => f.write_str(
                "inconsistency found (timeouts, invalid responses, contradictory links, or a Set that reached another device): full sweep follows",
            ),
            Self::ChangesFound(reasons) => write!(f, "sweep of changed parts scheduled: {reasons}"),
        }
    }
}

/// How a Set failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFailure {
    /// The device did not respond.
    NoResponse,
    /// The device responded with this status.
    Rejected(Status),
    /// The device responded with other values than were written.
    OtherValues,
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponse => f.write_str("no response"),
            Self::Rejected(status) => write!(f, "status {status}"),
            Self::OtherValues => f.write_str("the device has other values than were written"),
        }
    }
}

/// Why the restored view is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewMismatch {
    /// It does not record the SM port.
    NoOwnPort,
    /// It belongs to another port or subnet.
    AnotherPort,
    /// The SM's own port has another LID.
    AnotherLid,
    /// The SM's own port has another subnet prefix.
    AnotherPrefix,
    /// Another SM has been master since: clients may have registered with it.
    AnotherMaster,
    /// A replica of another subnet.
    AnotherSubnet,
    /// The SM's own port is not in the replica: its master had seen the port leave. The rest of the
    /// replica may be valid.
    PortAbsent,
    /// The SM's own port has another LID in the replica.
    AnotherLidInReplica,
    /// The SM's own link leads to another port.
    AnotherNeighbour,
}

impl fmt::Display for ViewMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoOwnPort => "the port of this SM is not in it",
            Self::AnotherPort => "it was saved for another port or subnet",
            Self::AnotherLid => "the LID of the SM's own port has changed since it was saved",
            Self::AnotherPrefix => {
                "the subnet prefix of the SM's own port has changed since it was saved"
            }
            Self::AnotherMaster => "another SM has been master since it was saved",
            Self::AnotherSubnet => "it is of another subnet",
            Self::PortAbsent => "the former master had not found the port of this SM",
            Self::AnotherLidInReplica => {
                "the port of this SM has another LID in the former master's records"
            }
            Self::AnotherNeighbour => {
                "the SM's own port is linked to another port than when it was saved"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_a_local_sweep_are_listed_with_their_numbers() {
        let reasons = LocalSweepReasons {
            changed_switches: 1,
            failed_switches: 0,
            silent_ports: 4,
            unverified_ports: 0,
            outdated_routes: true,
        };
        assert_eq!(
            reasons.to_string(),
            "1 switch with changed ports; 4 ports with a device that is excluded or does not respond; outdated routes"
        );
    }
}
