//! Types of the versioned API: what a running service answers, and what it accepts.
//!
//! JSON over HTTP/1.1 under [`PREFIX`]. The service and its clients (`ferrosm status`, ...) use the
//! same types; the OpenAPI document is generated from them. A field is never renamed or removed
//! within a version; new fields may be added.
//!
//! Every answer says of which state it is ([`answer::Answer`]). Objects are named in three ways:
//! GUID, name (NodeDescription), and location, such as `leaf-0-0/5`.
//!
//! | module | contents |
//! |---|---|
//! | [`answer`] | what all answers and errors have in common; queries of lists |
//! | [`object`] | how nodes and ports are named |
//! | [`status`] | the service, its health, the SMs of the subnet, limits |
//! | [`fabric`] | nodes, ports and links |
//! | [`partition`] | partitions and their members |
//! | [`maintenance`] | drained switches and links, disabled ports |
//! | [`key`] | management keys, and who has them |
//! | [`path`] | where a port is, and the path between two ports |
//! | [`access`] | what a client may do |
//! | [`event`] | events |
//! | [`alarm`] | alarms, and notifications of them |
//! | [`change`] | what changed |
//! | [`capture`] | captures of MADs, and what is always kept |
//! | [`command`] | commands to the SM |
//! | [`config`] | the configuration, its revisions and changes |
//! | [`sa`] | clients of the SA |
//! | [`plan`] | what an SM would write |
//! | [`what_if`] | what a loss would do |
//! | [`cabling`] | cables that are not as planned |
//! | [`structure`] | the structure of the fabric, and the load of links |
//! | [`web`] | links that open the page, and its sessions |

#![warn(missing_docs)]

pub mod access;
pub mod alarm;
pub mod answer;
pub mod cabling;
pub mod capture;
pub mod change;
pub mod command;
pub mod config;
pub mod event;
pub mod explain;
pub mod fabric;
pub mod group;
pub mod invariant;
pub mod key;
pub mod maintenance;
pub mod object;
pub mod partition;
pub mod path;
pub mod plan;
pub mod sa;
pub mod status;
pub mod structure;
pub mod web;
pub mod what_if;

/// Path prefix of all resources of this version.
pub const PREFIX: &str = "/v1";
