//! Multicast trees.
mod ports;
pub use ports::PortSet;
