//! Simulated InfiniBand fabric: nodes, links, faults, generators, and oracles that check the SM's
//! configuration.
//!
//! Depends on `ferrosm-mad` only: the oracles share no code with the SM.
//!
//! | module | contents |
//! |---|---|
//! | [`spec`] | description of a fabric |
//! | [`generate`], [`ibnet`] | generators and file readers of descriptions |
//! | [`hardware`] | models of devices, with their capabilities |
//! | [`fabric`] | devices: SMAs, links, forwarding tables |
//! | [`oracle`] | checks of the configured devices |
//! | [`net`], [`faults`] | packets in flight, fault injection |
//! | [`foreign_sm`] | scripted SMs |
//! | [`world`] | SMs in virtual time |
//! | [`scenario`] | scripted changes of a fabric |
//! | [`umad`] | the kernel's MAD layer, for attached programs |
//! | [`datagram`] | queue pairs of attached programs |

pub mod datagram;
pub mod fabric;
pub mod faults;
pub mod foreign_sm;
pub mod generate;
pub mod hardware;
pub mod ibnet;
mod index;
mod io_unit;
pub mod net;
pub mod oracle;
mod pma;
pub mod scenario;
mod sma;
pub mod spec;
pub mod umad;
pub mod world;
