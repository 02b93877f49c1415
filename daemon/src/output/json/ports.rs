//! The document of local ports.
//!
//! ```json
//! {
//!   "schema": 4,
//!   "ports": [
//!     { "ca": "mlx5_0", "ca_type": "MT4123", "firmware": "20.31.1014", "port": 1, "port_guid": "0x…",
//!       "node_guid": "0x…", "link_layer": "InfiniBand", "state": "Active", "physical_state": "LinkUp",
//!       "rate_gbps": 200, "lid": 4, "lmc": 0, "sm_lid": 1, "usable": true, "chosen": true, "reason": null }
//!   ]
//! }
//! ```
//!
//! With the feature `verbs` there is also `"devices"`: device attributes under the names of
//! `ibv_devinfo`.
//!
//! A subnet manager can run on `usable` ports now. `chosen` is the port that `ferrosm run` serves
//! if none is named; if it is Down, `run` waits for its link. If several ports have a link, none is
//! `chosen`.

#[cfg(feature = "verbs")]
use ferrosm_mad::ids::SystemImageGuid;
use ferrosm_mad::ids::{NodeGuid, PortGuid};
use serde::Serialize;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the document.
    pub schema: u32,
    /// In the order of the kernel.
    pub ports: Vec<Port>,
    /// Device attributes reported by verbs.
    #[cfg(feature = "verbs")]
    pub devices: Vec<VerbsDevice>,
}

/// A local port.
#[derive(Debug, Clone, Serialize)]
pub struct Port {
    /// Name of the device.
    pub ca: String,
    /// Type of the device.
    pub ca_type: String,
    /// Firmware version.
    pub firmware: String,
    /// Port number.
    pub port: u8,
    pub port_guid: PortGuid,
    pub node_guid: NodeGuid,
    /// `InfiniBand`, `Ethernet` or another value of the kernel.
    pub link_layer: String,
    /// Link state.
    pub state: String,
    pub physical_state: String,
    /// Rate in Gb/s.
    pub rate_gbps: u32,
    /// Base LID; 0 is none.
    pub lid: u16,
    /// LMC: the port has 2^LMC LIDs.
    pub lmc: u8,
    /// MasterSMLID of the port; 0 is none.
    pub sm_lid: u16,
    /// Whether a subnet manager can run on the port now; it needs a link.
    pub usable: bool,
    /// Whether `ferrosm run` serves it, or waits for its link, if no port is named.
    pub chosen: bool,
    /// Why it is not usable.
    pub reason: Option<String>,
}

/// Attributes of a device, as verbs report them.
#[cfg(feature = "verbs")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerbsDevice {
    /// Name of the device.
    pub name: String,
    /// Firmware version.
    pub fw_ver: String,
    pub node_guid: NodeGuid,
    pub sys_image_guid: SystemImageGuid,
    pub vendor_id: u32,
    /// Product ID.
    pub vendor_part_id: u32,
    /// Hardware revision.
    pub hw_ver: u32,
    /// Number of physical ports.
    pub phys_port_cnt: u8,
    /// Limits, named as in `ibv_devinfo -v`.
    pub limits: Vec<(&'static str, u64)>,
    /// Ports that could be queried.
    pub ports: Vec<VerbsPort>,
}

/// Attributes of a port, as verbs report them.
#[cfg(feature = "verbs")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerbsPort {
    /// Port number.
    pub port: u8,
    /// PortState as encoded in PortInfo, or 5 (ACTIVE_DEFER, verbs only).
    pub state: u32,
    /// MTUCap, as encoded in PortInfo.
    pub max_mtu: u32,
    /// Active MTU, as encoded in PortInfo.
    pub active_mtu: u32,
    /// MasterSMLID.
    pub sm_lid: u16,
    /// Base LID.
    pub lid: u16,
    /// LMC: the port has 2^LMC LIDs.
    pub lmc: u8,
    /// Link layer: 1 InfiniBand, 2 Ethernet.
    pub link_layer: u8,
}
