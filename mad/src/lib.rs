//! InfiniBand management: identifiers, wire layouts, MADs.
//!
//! The vocabulary of all other crates. It encodes and decodes, without policy and without I/O, and
//! has no dependencies unless the feature `serde` is enabled.
//!
//! | module | contents |
//! |---|---|
//! | [`ids`] | LIDs, GUIDs, keys: one type each |
//! | [`wire`](mod@wire) | the `wire!` layout macro and open enumerations |
//! | `octets` | serialization of byte strings (feature `serde`) |
//! | [`mad`] | the MAD, its common header, classes, methods, status |
//! | [`smp`] | LID-routed and directed-route SMPs, [`smp::DrPath`] |
//! | [`attr`] | attributes of the subnet management class |
//! | [`gmp`] | addresses of general services messages |
//! | [`dump`] | MADs as text |
//! | [`sa`] | subnet administration: headers, RMPP, records and their components |
//! | [`time`] | time as a value |

#![warn(missing_docs)]

pub mod attr;
pub mod dump;
pub mod gmp;
pub mod ids;
pub mod mad;
#[cfg(feature = "serde")]
pub mod octets;
pub mod sa;
pub mod smp;
pub mod time;
pub mod wire;
