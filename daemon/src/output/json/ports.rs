//! The document of local ports.
//!
//! ```json
//! {
//!   "schema": 1,
//!   "ports": [
//!     { "ca": "mlx5_0", "ca_type": "MT4123", "firmware": "20.31.1014", "port": 1, "port_guid": "0x…",
//!       "node_guid": "0x…", "link_layer": "InfiniBand", "state": "Active", "physical_state": "LinkUp",
//!       "rate_gbps": 200, "lid": 4, "lmc": 0, "sm_lid": 1, "usable": true, "chosen": true, "why_not": null }
//!   ]
//! }
//! ```
//!
//! With the feature `verbs` there is also `"devices"`: their attributes, named as `ibv_devinfo` names them.
//!
//! `usable` ports can carry a subnet manager now; `chosen` is the one that `ferrosm run` serves if none is named, and that it waits for
//! if it is Down. Without a choice, such as of several ports with a link, no port is `chosen`.

use ferrosm_mad::ids::{NodeGuid, PortGuid};
use serde::Serialize;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the form.
    pub schema: u32,
    /// In the order of the system.
    pub ports: Vec<Port>,
    /// What verbs know of the devices.
    #[cfg(feature = "verbs")]
    pub devices: Vec<crate::verbs::Device>,
}

/// A local port.
#[derive(Debug, Clone, Serialize)]
pub struct Port {
    /// Name of the device.
    pub ca: String,
    /// Its model.
    pub ca_type: String,
    /// Its firmware.
    pub firmware: String,
    /// Port number.
    pub port: u8,
    /// Port GUID.
    pub port_guid: PortGuid,
    /// Node GUID.
    pub node_guid: NodeGuid,
    /// InfiniBand, Ethernet or another word of the kernel's.
    pub link_layer: String,
    /// Link state.
    pub state: String,
    /// Physical state.
    pub physical_state: String,
    /// Gigabits a second.
    pub rate_gbps: u32,
    /// Base LID; 0 is none.
    pub lid: u16,
    /// 2^LMC LIDs.
    pub lmc: u8,
    /// LID of the subnet manager that the port knows; 0 is none.
    pub sm_lid: u16,
    /// Whether a subnet manager can run here now: a port without a link is not usable.
    pub usable: bool,
    /// Whether `ferrosm run` serves it, or waits for its link, if no port is named.
    pub chosen: bool,
    /// Why not.
    pub why_not: Option<String>,
}
