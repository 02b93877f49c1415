//! Replication through etcd, for sites that run an etcd cluster on their management hosts.
//!
//! The master holds a key and writes batches in transactions that fail once it has lost the key: a
//! master that was cut off cannot write after another took over. A batch is acknowledged when a
//! majority of etcd's members has it. Standbys watch the keys and store the changes. The election
//! decides which SM is master. See `docs/adr/0014-etcd.md`.
//!
//! ```text
//! client         requests to etcd, one member at a time
//! keys           names of keys, and the encoding of their values
//! name           which fabric the keys belong to
//! commit_queue   batches that etcd lacks, and whether the master may acknowledge without etcd; without I/O
//! master         holds the key, renews its leases, writes batches
//! standby        reads missing batches, watches, and checks whether the leases are renewed
//! shared         state of the driver's side and the thread
//! node           the driver's side, and the thread
//! ```

#[cfg(feature = "etcd")]
mod client;
#[cfg(feature = "etcd")]
mod commit_queue;
#[cfg(feature = "etcd")]
mod keys;
#[cfg(feature = "etcd")]
mod master;
#[cfg(feature = "etcd")]
mod name;
#[cfg(feature = "etcd")]
mod node;
#[cfg(feature = "etcd")]
mod shared;
#[cfg(feature = "etcd")]
mod standby;

use core::time::Duration;

#[cfg(feature = "etcd")]
pub use node::EtcdReplication;

use super::tls::TlsFiles;

/// Settings of replication through etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdSettings {
    /// etcd members: `https://host:port`, or `http://` without certificates.
    pub endpoints: Vec<String>,
    /// Certificate files, for `https`.
    pub files: Option<TlsFiles>,
    /// Name in the members' certificates, if it differs from that in `endpoints`.
    pub server_name: Option<String>,
    /// Prefix of all keys.
    pub prefix: String,
    /// Subnet prefix and configured name.
    pub fabric: String,
    /// GUID of the SM's port.
    pub guid: u64,
    /// Age of a lease in seconds after which its master counts as silent; at least 1.
    pub silent_after_s: u8,
    /// Longest time that a reply to a client waits for etcd.
    pub reply_timeout: Duration,
    /// Stall of the driver's loop after which this node counts as stalled.
    pub driver_stall_timeout: Duration,
}
