//! Reasons that events name.

use core::fmt;
use core::time::Duration;

use ferrosm_fabric::location::PortName;
use ferrosm_mad::mad::Status;

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

impl LinkFlaps {
    /// What the SM does about it.
    pub(super) fn effect(&self) -> String {
        match self.hold {
            Some(hold) => format!("routes avoid it until it is up for {} s", hold.as_secs()),
            None => "still used by routes: something is reached over it only".to_owned(),
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
