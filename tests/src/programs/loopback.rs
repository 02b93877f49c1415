//! Addresses for servers that start or restart later. Each test process has its own address in
//! 127.0.0.0/8, so other processes cannot occupy a port between its selection and its use.
//!
//! The tests of the crate `replication` include this file by its path.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// The address of this process. Linux process IDs have at most 22 bits.
#[must_use]
pub fn address() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | high, middle, low)
}

/// Returns `count` different unused addresses of this process.
///
/// # Panics
/// If there are fewer.
#[must_use]
pub fn free(count: usize) -> Vec<SocketAddr> {
    let bind = |_| TcpListener::bind((IpAddr::V4(address()), 0));
    // Keep all listeners open until the last one is bound, so that the ports differ.
    let listeners: Vec<TcpListener> = (0..count).flat_map(bind).collect();
    let found: Vec<SocketAddr> = listeners.iter().flat_map(TcpListener::local_addr).collect();
    assert_eq!(found.len(), count, "free addresses at {}", address());
    found
}
