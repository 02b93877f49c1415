//! A simulated InfiniBand fabric: nodes, links, faults, generators, and oracles that judge a subnet manager.
//!
//! It depends on `ferrosm-mad` only: what judges the subnet manager shares no code with it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`spec`] | a fabric on paper |
//! | [`generate`], [`ibnet`] | where such papers come from |
//! | [`fabric`] | the devices: agents, links, forwarding tables |
//! | [`oracle`] | what judges the devices, whoever configured them |
//! | [`port`] | a transport into a fabric, in process and without delay |
//! | [`world`], [`faults`] | virtual time, managers, and what goes wrong |

pub mod fabric;
pub mod faults;
pub mod generate;
pub mod ibnet;
pub mod oracle;
pub mod port;
mod sma;
pub mod spec;
pub mod world;
