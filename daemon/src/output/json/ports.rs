//! The document of local ports.
//!
//! ```json
//! {
//!   "schema": 3,
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
    pub devices: Vec<crate::verbs::VerbsDevice>,
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
    /// Port GUID.
    pub port_guid: PortGuid,
    /// Node GUID.
    pub node_guid: NodeGuid,
    /// `InfiniBand`, `Ethernet` or another value of the kernel.
    pub link_layer: String,
    /// Link state.
    pub state: String,
    /// Physical state.
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
