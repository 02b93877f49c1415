//! Linear forwarding tables (LFTs): reads, and writes in the order that the routing determined.

pub(crate) mod readback;
pub(crate) mod update;
