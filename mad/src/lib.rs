//! The vocabulary of InfiniBand management: identifiers, wire layouts, MAD framing, transports.
//!
//! Everything else in ferrosm depends on this crate; without features it depends on nothing. It knows what the
//! bytes mean and how to move them; it never decides anything.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ids`] | LIDs, GUIDs, keys: one type each |
//! | [`wire`](mod@wire) | the `wire!` table macro and open enumerations |
//! | [`mad`] | the 256-byte MAD and its common header, classes, methods, status |
//! | [`smp`] | LID-routed and directed-route SMPs, [`smp::DrPath`] |
//! | [`attr`] | the attributes of the subnet management class |
//! | [`capture`] | pcapng files of what a port sends and receives |
//! | [`dump`] | MADs as text |
//! | [`sa`] | subnet administration: headers, RMPP, records and their components |
//! | [`time`] | instants that are told, never read |
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
