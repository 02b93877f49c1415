//! Ports of this host that send and receive MADs, and captures of their MADs.
//!
//! | module | contents |
//! |---|---|
//! | [`transport`] | interface of ports for single MADs |
//! | [`gmp`] | interface of ports for general services messages |
//! | [`libibumad`] | local ports, opened through libibumad |
//! | [`capture`] | pcapng files of sent and received MADs |

#![warn(missing_docs)]

pub mod capture;
pub mod gmp;
pub mod libibumad;
pub mod transport;
