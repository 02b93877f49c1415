//! Addresses for servers that are yet to be started, or started again. Each process of the tests has an address of its own in 127.0.0.0/8:
//! a port that was free a moment ago is still free there, whoever else listens, or connects from, meanwhile.
//!
//! The tests of the crate `replication` use this file too, by its path.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// This process's own address. Linux has process numbers of 22 bits at most.
#[must_use]
pub fn home() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | high, middle, low)
}

/// So many different addresses of it at which nobody listens.
///
/// # Panics
/// If there are none.
#[must_use]
pub fn free(count: usize) -> Vec<SocketAddr> {
    let bind = |_| TcpListener::bind((IpAddr::V4(home()), 0));
    // All are held until each is known, so that they differ.
    let held: Vec<TcpListener> = (0..count).flat_map(bind).collect();
    let found: Vec<SocketAddr> = held.iter().flat_map(TcpListener::local_addr).collect();
    assert_eq!(found.len(), count, "free addresses at {}", home());
    found
}
