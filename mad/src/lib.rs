//! InfiniBand management: identifiers, wire layouts, MADs, transports.
//!
//! All other crates depend on this one; without features it has no dependencies. It encodes,
//! decodes and transfers, without policy.
//!
//! | module | contents |
//! |---|---|
//! | [`ids`] | LIDs, GUIDs, keys: one type each |
//! | [`wire`](mod@wire) | the `wire!` layout macro and open enumerations |
//! | [`mad`] | the MAD, its common header, classes, methods, status |
//! | [`smp`] | LID-routed and directed-route SMPs, [`smp::DrPath`] |
//! | [`attr`] | attributes of the subnet management class |
//! | [`capture`] | pcapng files of sent and received MADs |
//! | [`dump`] | MADs as text |
//! | [`sa`] | subnet administration: headers, RMPP, records and their components |
//! | [`time`] | time as a value |
//! | [`transport`] | ports that send and receive MADs |

pub mod attr;
pub mod capture;
pub mod dump;
pub mod ids;
pub mod mad;
pub mod sa;
pub mod smp;
pub mod time;
pub mod transport;
pub mod wire;
