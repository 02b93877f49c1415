//! Contents of device tables, as values that observed state, desired state and subnet administration share.
//!
//! | module | table |
//! |---|---|
//! | [`mft`] | multicast forwarding tables |
//! | [`pkeys`] | P_Key tables |
//! | [`port_info`] | PortInfo, shared between ports |
//! | [`sl_to_vl`] | SLtoVLMappingTables |
//!
//! It depends on `mad` alone.

pub mod mft;
pub mod pkeys;
pub mod port_info;
pub mod sl_to_vl;
