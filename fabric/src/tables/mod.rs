//! Contents of device tables, shared by observed state, desired state and the SA.
//!
//! | module | table |
//! |---|---|
//! | [`mft`] | multicast forwarding tables |
//! | [`pkeys`] | P_Key tables |
//! | [`port_info`] | PortInfo, shared between ports |
//! | [`sl_to_vl`] | SLtoVLMappingTables |
//! | [`vl_arbitration`] | VLArbitrationTables |
//!
//! These modules depend on `mad` only.

pub mod mft;
pub mod pkeys;
pub mod port_info;
pub mod sl_to_vl;
pub mod vl_arbitration;
