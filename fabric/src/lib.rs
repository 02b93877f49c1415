//! The fabric as the subnet manager knows it.
//!
//! ```text
//!  responses --> ObservedFabric --build--> Snapshot --> SA replies, dumps, persistence, metrics
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`observed`] | nodes, ports and links, as devices reported them last; the SM owns and changes it |
//! | [`tables`] | contents of device tables |
//! | [`snapshot`] | the immutable published form, with indices by LID and GUID |
//! | [`location`] | names of nodes and ports, for messages |
//! | [`aliases`] | alias GUIDs of ports |
//! | [`pkey_set`] | partitions that two ports share |
//! | [`routing_origin`] | settings that the installed routing was computed from |
//!
//! No I/O and no clock: times are arguments.

pub mod aliases;
pub mod location;
pub mod observed;
pub mod pkey_set;
pub mod routing_origin;
pub mod snapshot;
pub mod tables;
