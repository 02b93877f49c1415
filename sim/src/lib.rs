//! A simulated InfiniBand fabric: nodes, links, faults, generators, and oracles that judge a subnet manager.
//!
//! It depends on `ferrosm-mad` only: what judges the subnet manager shares no code with it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`spec`] | a fabric on paper |
//! | [`generate`], [`ibnet`] | where such papers come from |
//! | [`fabric`] | the devices: agents, links, forwarding tables |
//! | [`port`] | a transport into a fabric, in process and without delay |

pub mod fabric;
pub mod oracle;
pub mod generate;
pub mod ibnet;
pub mod port;
mod sma;
pub mod spec;
