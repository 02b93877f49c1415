//! Local ports, and the choice of the SM's port.
//!
//! [`enumerate_ports`] queries the system; [`choose_port`] and [`gsi_port`] are pure functions of
//! the result.

use core::fmt;

use super::{UmadError, sys};
use ferrosm_mad::attr::{CapMask, NodeType, PhysState, PortState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, NodeGuid, PortGuid, PortNum, Sl, SystemImageGuid};

/// Link layer of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkLayer {
    /// InfiniBand.
    InfiniBand,
    /// Ethernet (RoCE), which has no subnet manager.
    Ethernet,
    /// Another value from the kernel.
    Other(String),
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Ethernet => "Ethernet",
            Self::Other(word) => word,
        })
    }
}

/// A local port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPort {
    /// The device, such as `mlx5_0`.
    pub ca: String,
    /// HCA model; empty if unknown.
    pub ca_type: String,
    /// Firmware version.
    pub fw_version: String,
    /// CA, switch or router (4 and above are iWARP and the like).
    pub node_type: NodeType,
    /// The node's GUID.
    pub node_guid: NodeGuid,
    /// System image GUID.
    pub system_image_guid: SystemImageGuid,
    /// Port number.
    pub port_num: PortNum,
    /// The port's GUID.
    pub port_guid: PortGuid,
    /// Subnet prefix.
    pub gid_prefix: GidPrefix,
    /// Link state.
    pub state: PortState,
    /// Physical state.
    pub phys_state: PhysState,
    /// Rate in Gb/s, rounded down.
    pub rate_gbps: u32,
    /// Base LID; 0 before an SM has configured the port.
    pub lid: Lid,
    /// LMC.
    pub lmc: Lmc,
    /// LID of the port's SM.
    pub sm_lid: Lid,
    /// Service level to the SM.
    pub sm_sl: Sl,
    /// Capabilities.
    pub cap_mask: CapMask,
    /// Link layer.
    pub link_layer: LinkLayer,
    /// The device is a virtual function of an adapter on this host (SR-IOV).
    pub is_virtual_function: bool,
}

impl LocalPort {
    /// Whether the link is up: the port is in Init, Armed or Active.
    #[must_use]
    pub fn has_link(&self) -> bool {
        self.state >= PortState::Initialize
    }

    /// Description that distinguishes the port from others on the same host.
    #[must_use]
    pub fn summary(&self) -> String {
        format!(
            "{self} (GUID {}, {}, {} Gb/s, LID {}, SM LID {})",
            self.port_guid, self.state, self.rate_gbps, self.lid, self.sm_lid
        )
    }
}

/// `mlx5_0 port 1`.
impl fmt::Display for LocalPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.ca, self.port_num)
    }
}

/// Criteria for a port; without any, all ports match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortSelection {
    /// Device name.
    pub ca: Option<String>,
    /// Port number.
    pub port: Option<PortNum>,
    /// Port GUID.
    pub port_guid: Option<PortGuid>,
}

impl PortSelection {
    /// Whether no second port can match, not even one that appears later.
    #[must_use]
    pub const fn names_one_port(&self) -> bool {
        self.port_guid.is_some() || (self.ca.is_some() && self.port.is_some())
    }

    fn matches(&self, port: &LocalPort) -> bool {
        self.ca.as_ref().is_none_or(|ca| *ca == port.ca)
            && self.port.is_none_or(|n| n == port.port_num)
            && self.port_guid.is_none_or(|guid| guid == port.port_guid)
    }
}

impl fmt::Display for PortSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = [
            self.ca.as_ref().map(|ca| format!("device {ca}")),
            self.port.map(|port| format!("port {port}")),
            self.port_guid.map(|guid| format!("port GUID {guid}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        f.write_str(if parts.is_empty() { "any port" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// Why a port cannot be used by an SM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its link layer is not InfiniBand.
    LinkLayer(LinkLayer),
    /// The device is neither CA, switch nor router (iWARP, usNIC and so on).
    NodeType(NodeType),
    /// IsSMdisabled: the port has no QP0 (such as the data port of a device with a separate
    /// management port).
    SmDisabled,
    /// It has no GUID.
    NoGuid,
    /// It belongs to a virtual function, which hypervisors give to guests. It can be named.
    VirtualFunction,
    /// The link is down.
    Down(PhysState),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkLayer(LinkLayer::Ethernet) => f.write_str("is Ethernet (RoCE)"),
            Self::LinkLayer(LinkLayer::InfiniBand | LinkLayer::Other(_)) => {
                f.write_str("is not InfiniBand")
            }
            Self::NodeType(_) => f.write_str("is not InfiniBand (iWARP or similar)"),
            Self::SmDisabled => f.write_str("allows no subnet manager (IsSMdisabled)"),
            Self::NoGuid => f.write_str("has no GUID"),
            Self::VirtualFunction => f.write_str("belongs to a virtual function"),
            Self::Down(phys) => write!(f, "is down ({phys})"),
        }
    }
}

/// A port that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPort {
    /// Device name.
    pub ca: String,
    /// Port number.
    pub port_num: PortNum,
    /// Why.
    pub reason: SkipReason,
}

impl fmt::Display for SkippedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {} {}", self.ca, self.port_num, self.reason)
    }
}

/// No port can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortChoiceError {
    /// The host has no RDMA device.
    NoDevice,
    /// No port matches the criteria.
    NoMatch {
        /// The criteria.
        selection: PortSelection,
        /// Names of the existing ports.
        available: Vec<String>,
    },
    /// The ports that match cannot be used by an SM.
    NoneUsable {
        /// The criteria.
        selection: PortSelection,
        /// All ports that match, with the reasons.
        skipped: Vec<SkippedPort>,
    },
    /// The port that was served last is absent.
    LastAbsent {
        /// Its GUID.
        last: PortGuid,
        /// The ports that an SM could use instead.
        candidates: Vec<LocalPort>,
    },
    /// Several ports have a link. They may belong to different subnets, which no local attribute
    /// shows: the default GID prefix is the same everywhere, and a port in Init has neither LID nor
    /// SM LID.
    Ambiguous {
        /// The criteria.
        selection: PortSelection,
        /// The matching ports with a link, in the system's order.
        candidates: Vec<LocalPort>,
    },
}

impl fmt::Display for PortChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice => f.write_str("no InfiniBand port: this host has no RDMA device"),
            Self::NoMatch {
                selection,
                available,
            } => {
                write!(
                    f,
                    "no port matches {selection}; available: {}",
                    available.join(", ")
                )
            }
            Self::NoneUsable { selection, skipped } => {
                f.write_str("no InfiniBand port")?;
                if *selection != PortSelection::default() {
                    write!(f, " that matches {selection}")?;
                }
                for (i, port) in skipped.iter().enumerate() {
                    write!(f, "{} {port}", if i == 0 { ":" } else { "," })?;
                }
                Ok(())
            }
            Self::LastAbsent { last, candidates } => {
                write!(f, "the port served last ({last}) is absent; present: ")?;
                let names: Vec<String> = candidates.iter().map(ToString::to_string).collect();
                f.write_str(&names.join(", "))
            }
            Self::Ambiguous {
                selection,
                candidates,
            } => {
                write!(
                    f,
                    "cannot choose between {} ports with a link",
                    candidates.len()
                )?;
                if *selection != PortSelection::default() {
                    write!(f, " that match {selection}")?;
                }
                let summaries: Vec<String> = candidates.iter().map(LocalPort::summary).collect();
                write!(f, ": {}", summaries.join(", "))
            }
        }
    }
}

impl core::error::Error for PortChoiceError {}

/// Lists all ports of all RDMA devices.
///
/// # Errors
/// If libibumad cannot be loaded or lists no devices.
pub fn enumerate_ports() -> Result<Vec<LocalPort>, UmadError> {
    let lib = sys::Lib::load().map_err(UmadError::Library)?;
    let names = lib
        .ca_names()
        .map_err(|source| UmadError::Enumerate { source })?;
    let mut ports = Vec::new();
    for name in names {
        // A device that was removed in the meantime is skipped.
        let Ok(ca) = lib.ca(&name) else { continue };
        let name = name.to_string_lossy();
        // The PCI subsystem links a virtual function with its physical function.
        let physical_function = format!("/sys/class/infiniband/{name}/device/physfn");
        let is_virtual_function = std::fs::symlink_metadata(physical_function).is_ok();
        ports.extend(
            ca.ports
                .iter()
                .map(|port| local_port(&name, &ca, port, is_virtual_function)),
        );
    }
    Ok(ports)
}

/// The port for the SM: the one that was served last, even if its link is down. Without such a
/// record, the only matching port with a link. If no port has a link and only one port matches,
/// that port; the SM waits for its link.
///
/// The order of ports and their link states never decide between two ports with a link: after a
/// restart, an Active port is as likely to belong to another SM's subnet as an Init port is to be
/// in the subnet without an SM.
///
/// # Errors
/// If no port can be used, with the reason for each; if several can, with all of them; or if the
/// last port is absent.
pub fn choose_port<'a>(
    ports: &'a [LocalPort],
    selection: &PortSelection,
    last: Option<PortGuid>,
) -> Result<&'a LocalPort, PortChoiceError> {
    let matching = matching(ports, selection)?;
    let candidates = candidates_of(&matching, selection);
    if let Some(last) = last.filter(|_| !selection.names_one_port() && !candidates.is_empty()) {
        let port = candidates.iter().find(|port| port.port_guid == last);
        return port.copied().ok_or_else(|| PortChoiceError::LastAbsent {
            last,
            candidates: candidates.iter().copied().cloned().collect(),
        });
    }
    let linked: Vec<&LocalPort> = candidates
        .iter()
        .copied()
        .filter(|port| port.has_link())
        .collect();
    match (&linked[..], &candidates[..]) {
        ([port], _) | ([], [port]) => Ok(port),
        ([], _) => Err(none_usable(&matching, selection)),
        ([_, _, ..], _) => Err(PortChoiceError::Ambiguous {
            selection: selection.clone(),
            candidates: linked.into_iter().cloned().collect(),
        }),
    }
}

/// The ports that an SM could serve, with or without a link, in the system's order. Ports with the
/// same GUID are the planes of one port; the first with a link represents them.
#[must_use]
pub fn candidates<'a>(ports: &'a [LocalPort], selection: &PortSelection) -> Vec<&'a LocalPort> {
    matching(ports, selection).map_or_else(
        |_| Vec::new(),
        |matching| candidates_of(&matching, selection),
    )
}

fn candidates_of<'a>(matching: &[&'a LocalPort], selection: &PortSelection) -> Vec<&'a LocalPort> {
    let mut candidates: Vec<&LocalPort> = Vec::new();
    for port in matching {
        if incapable_reason(port, selection).is_some() {
            continue;
        }
        let plane = candidates
            .iter_mut()
            .find(|other| other.port_guid == port.port_guid);
        match plane {
            Some(other) if !other.has_link() && port.has_link() => *other = port,
            Some(_) => {}
            None => candidates.push(port),
        }
    }
    candidates
}

/// The port through which QP1 of `smi` is used. Adapters with several planes have separate devices
/// for QP0 and QP1 of one port: both have its GUID, and the one with QP1 has no QP0 (IsSMdisabled).
///
/// libibumad's `umad_get_smi_gsi_pair_by_ca_name` pairs devices by the same rule, but only by the
/// first port of each.
#[must_use]
pub fn gsi_port<'a>(ports: &'a [LocalPort], smi: &'a LocalPort) -> &'a LocalPort {
    let is_partner = |port: &&LocalPort| {
        port.port_guid == smi.port_guid
            && port.ca != smi.ca
            && port.cap_mask.has(CapMask::SM_DISABLED)
    };
    ports.iter().find(is_partner).unwrap_or(smi)
}

/// The port for a read-only program, as libibumad chooses it for infiniband-diags: the first
/// matching Active port, else the first with a link.
///
/// # Errors
/// If no matching port has a link, with the reason for each.
pub fn choose_port_for_discovery<'a>(
    ports: &'a [LocalPort],
    selection: &PortSelection,
) -> Result<&'a LocalPort, PortChoiceError> {
    let matching = matching(ports, selection)?;
    let is_usable =
        |port: &&&LocalPort| port.has_link() && incapable_reason(port, selection).is_none();
    let linked = || matching.iter().filter(is_usable);
    linked()
        .find(|port| port.state == PortState::Active)
        .or_else(|| linked().next())
        .copied()
        .ok_or_else(|| none_usable(&matching, selection))
}

fn matching<'a>(
    ports: &'a [LocalPort],
    selection: &PortSelection,
) -> Result<Vec<&'a LocalPort>, PortChoiceError> {
    if ports.is_empty() {
        return Err(PortChoiceError::NoDevice);
    }
    let matching: Vec<&LocalPort> = ports.iter().filter(|p| selection.matches(p)).collect();
    if matching.is_empty() {
        return Err(PortChoiceError::NoMatch {
            selection: selection.clone(),
            available: ports.iter().map(ToString::to_string).collect(),
        });
    }
    Ok(matching)
}

fn none_usable(matching: &[&LocalPort], selection: &PortSelection) -> PortChoiceError {
    let skipped = matching.iter().filter_map(|port| {
        Some(SkippedPort {
            ca: port.ca.clone(),
            port_num: port.port_num,
            reason: skip_reason(port, selection)?,
        })
    });
    PortChoiceError::NoneUsable {
        selection: selection.clone(),
        skipped: skipped.collect(),
    }
}

/// Why a port cannot be used by an SM now, most serious reason first.
#[must_use]
pub fn skip_reason(port: &LocalPort, selection: &PortSelection) -> Option<SkipReason> {
    incapable_reason(port, selection)
        .or_else(|| (!port.has_link()).then_some(SkipReason::Down(port.phys_state)))
}

/// Why a port cannot be used by an SM, regardless of its link state.
fn incapable_reason(port: &LocalPort, selection: &PortSelection) -> Option<SkipReason> {
    if !(1..=3).contains(&port.node_type.0) {
        Some(SkipReason::NodeType(port.node_type))
    } else if port.link_layer != LinkLayer::InfiniBand {
        Some(SkipReason::LinkLayer(port.link_layer.clone()))
    } else if port.cap_mask.has(CapMask::SM_DISABLED) {
        Some(SkipReason::SmDisabled)
    } else if port.port_guid == PortGuid(0) {
        Some(SkipReason::NoGuid)
    } else if port.is_virtual_function && !selection.names_one_port() {
        // Some drivers give functions access to QP0 on request of the administrator, who then names
        // the port.
        Some(SkipReason::VirtualFunction)
    } else {
        None
    }
}

fn local_port(
    name: &str,
    ca: &sys::Ca,
    port: &sys::RawPort,
    is_virtual_function: bool,
) -> LocalPort {
    let link_layer = match port.link_layer().as_str() {
        // Old kernels and simulators lack this file; libibumad then returns `IB`.
        "InfiniBand" | "IB" | "" => LinkLayer::InfiniBand,
        "Ethernet" => LinkLayer::Ethernet,
        word => LinkLayer::Other(word.to_owned()),
    };
    LocalPort {
        ca: name.to_owned(),
        ca_type: ca.ca_type.clone(),
        fw_version: ca.fw_version.clone(),
        node_type: NodeType(saturating_u8(ca.node_type)),
        node_guid: NodeGuid(u64::from_be(ca.node_guid_be)),
        system_image_guid: SystemImageGuid(u64::from_be(ca.system_guid_be)),
        port_num: PortNum(u8::try_from(port.port_num).unwrap_or(0)),
        port_guid: PortGuid(u64::from_be(port.port_guid_be)),
        gid_prefix: GidPrefix(u64::from_be(port.gid_prefix_be)),
        state: PortState(saturating_u8(port.state)),
        phys_state: PhysState(saturating_u8(port.phys_state)),
        rate_gbps: port.rate,
        lid: Lid(u16::try_from(port.base_lid).unwrap_or(0)),
        lmc: Lmc(saturating_u8(port.lmc)),
        sm_lid: Lid(u16::try_from(port.sm_lid).unwrap_or(0)),
        sm_sl: Sl(saturating_u8(port.sm_sl)),
        cap_mask: CapMask(u32::from_be(port.cap_mask_be)),
        link_layer,
        is_virtual_function,
    }
}

/// Values above 255 are invalid in every field.
fn saturating_u8(v: u32) -> u8 {
    u8::try_from(v).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
