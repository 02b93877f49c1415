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
//! | [`net`], [`faults`] | packets under way, and what goes wrong |
//! | [`world`] | virtual time and managers |
//! | [`scenario`] | what happens when, as text |
//! | [`umad`] | the MAD layer of a host, for real programs |
//! | [`datagram`] | the queue pairs of a host's programs |

pub mod datagram;
pub mod fabric;
pub mod faults;
pub mod generate;
pub mod ibnet;
mod io_unit;
pub mod net;
pub mod oracle;
mod pma;
pub mod port;
pub mod scenario;
mod sma;
pub mod spec;
pub mod umad;
pub mod world;
