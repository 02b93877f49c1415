//! Devices that are excluded from the subnet, and the text of that problem.

use core::fmt;

use ferrosm_fabric::observed::ExclusionReason;

use ferrosm_fabric::location::PortName;

/// What is known about an excluded device, for the text of the problem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExcludedDevice {
    /// Its port, if the problem is located at the port in front of it.
    pub port: Option<PortName>,
    /// The port that has its GUID, and the port at the other end of its link.
    pub owner: Option<(PortName, Option<PortName>)>,
    /// If the problem is located at the device: a port that it is behind, and the number of further
    /// ones.
    pub behind: Option<(PortName, usize)>,
    /// Hosts that only this device connected when it was excluded.
    pub hosts: usize,
}

/// An exclusion as a text.
pub(super) struct Exclusion<'a>(pub(super) ExclusionReason, pub(super) &'a ExcludedDevice);

impl fmt::Display for Exclusion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(reason, device) = self;
        if let ExclusionReason::Implausible(what) = reason {
            return write!(f, "excluded from the subnet: invalid response: {what}");
        }
        match (device.port, device.behind) {
            (None, None) if *reason == ExclusionReason::NoResponse => {
                return f.write_str(
                    "the device behind this port does not respond; it, and what only it connects, is not in the subnet",
                );
            }
            (Some(port), _) => write!(f, "{port}, the device behind this port, is ")?,
            (None, Some(_)) => {}
            (None, None) => f.write_str("the device behind this port is ")?,
        }
        f.write_str("excluded from the subnet")?;
        match device.hosts {
            0 => {}
            1 => f.write_str(" with the host that only it connects")?,
            n => write!(f, " with the {n} hosts that only it connects")?,
        }
        f.write_str(": ")?;
        match reason {
            ExclusionReason::DuplicateNodeGuid(guid) => {
                write!(f, "it has the node GUID {guid} of ")?;
                device.fmt_owner(f)
            }
            ExclusionReason::DuplicatePortGuid(guid) => {
                write!(f, "it has the port GUID {guid} of ")?;
                device.fmt_owner(f)
            }
            ExclusionReason::Implausible(what) => write!(f, "invalid response: {what}"),
            ExclusionReason::NoResponse => {
                f.write_str("it does not respond")?;
                match device.behind {
                    Some((port, 0)) => write!(f, "; it is behind {port}"),
                    Some((port, 1)) => write!(f, "; it is behind {port} and another port"),
                    Some((port, n)) => write!(f, "; it is behind {port} and {n} other ports"),
                    None => Ok(()),
                }
            }
            ExclusionReason::PathTooLong => f.write_str("it is more than 63 hops from the SM"),
            ExclusionReason::Uncounted(max) => write!(
                f,
                "it leads to new switches with more than {max} ports, which the master SM counts before it includes them"
            ),
            ExclusionReason::TooManySwitchPorts(max) => write!(
                f,
                "it leads to new switches with more than {max} ports (sweep.new-port-budget): disconnect a device that emulates switches \
                 without end, or raise the limit for a fabric of that size; `ferrosm sweep` counts again"
            ),
            ExclusionReason::EndlessSwitches(max) => write!(
                f,
                "it leads to new switches with more than {max} ports and no host, as if without end; repair or disconnect it, `ferrosm \
                 sweep` counts again"
            ),
            ExclusionReason::SubnetFull => f.write_str(
                "the subnet has as many nodes as there are unicast LIDs; disconnect nodes",
            ),
        }
    }
}

impl ExcludedDevice {
    fn fmt_owner(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner {
            Some((owner, Some(peer))) => write!(f, "{owner}, which is linked to {peer}"),
            Some((owner, None)) => fmt::Display::fmt(&owner, f),
            None => f.write_str("another device"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::NodeDescription;
    use ferrosm_mad::ids::PortNum;

    use ferrosm_mad::ids::{NodeGuid, PortGuid};

    use super::*;
    use ferrosm_fabric::location::NodeName;

    fn port(name: &str, guid: u64, port: u8) -> PortName {
        let mut description = [0; 64];
        description[..name.len()].copy_from_slice(name.as_bytes());
        let node = NodeName {
            description: NodeDescription::decode(&description),
            guid: NodeGuid(guid),
        };
        PortName {
            node: Some(node),
            port: PortNum(port),
        }
    }

    #[test]
    fn duplicate_port_guid_names_both_devices() {
        let device = ExcludedDevice {
            port: Some(port("host2", 2, 1)),
            owner: Some((port("host1", 1, 1), Some(port("leaf", 9, 3)))),
            ..ExcludedDevice::default()
        };
        let reason = ExclusionReason::DuplicatePortGuid(PortGuid(7));
        assert_eq!(
            Exclusion(reason, &device).to_string(),
            "\"host2\" (0x0000000000000002) port 1, the device behind this port, is excluded from the subnet: it has the port GUID \
             0x0000000000000007 of \"host1\" (0x0000000000000001) port 1, which is linked to \"leaf\" (0x0000000000000009) port 3"
        );
    }

    #[test]
    fn unresponsive_device_is_described_by_the_ports_in_front_of_it() {
        let text = |behind, hosts| {
            let device = ExcludedDevice {
                behind,
                hosts,
                ..ExcludedDevice::default()
            };
            Exclusion(ExclusionReason::NoResponse, &device).to_string()
        };
        let leaf = port("leaf", 9, 3);
        assert_eq!(
            text(Some((leaf, 3)), 0),
            "excluded from the subnet: it does not respond; it is behind \"leaf\" (0x0000000000000009) port 3 and 3 other ports"
        );
        assert_eq!(
            text(Some((leaf, 0)), 2),
            "excluded from the subnet with the 2 hosts that only it connects: it does not respond; it is behind \"leaf\" \
             (0x0000000000000009) port 3"
        );
        assert_eq!(
            text(None, 0),
            "the device behind this port does not respond; it, and what only it connects, is not in the subnet"
        );
    }
}
