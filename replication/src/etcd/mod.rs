//! Replication through etcd, for sites that run an etcd cluster on their management hosts.
//!
//! The master holds a key and writes batches in transactions that fail once it has lost the key: a master that was cut off writes nothing
//! after another took over. A batch is acknowledged when etcd has it on most of its members. Standbys watch the keys and store what
//! changes. Nothing here decides who is master. The reasons are in `docs/adr/0014-etcd.md`.
//!
//! ```text
//! link        requests to etcd; one member after another is asked
//! keys        names of keys, and the bytes of their values; pure
//! ledger      batches that etcd lacks, and whether a master may assume to be the only one; pure
//! holding     the master: holds the key, renews its leases, writes
//! watching    a standby: reads what it lacks, watches, and checks whether the leases are renewed
//! shared      state of the driver's side and the thread
//! node        the driver's side, and the thread
//! ```

#[cfg(feature = "etcd")]
mod holding;
#[cfg(feature = "etcd")]
mod keys;
#[cfg(feature = "etcd")]
mod ledger;
#[cfg(feature = "etcd")]
mod link;
#[cfg(feature = "etcd")]
mod node;
#[cfg(feature = "etcd")]
mod shared;
#[cfg(feature = "etcd")]
mod watching;

use core::time::Duration;

#[cfg(feature = "etcd")]
pub use node::EtcdReplication;

use super::tls::TlsFiles;

/// EtcdSettings of replication through etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdSettings {
    /// etcd's members: `https://host:port`, or `http://` without certificates.
    pub endpoints: Vec<String>,
    /// Certificates, for `https`.
    pub files: Option<TlsFiles>,
    /// Name in the members' certificates, if it differs from that in `endpoints`.
    pub server_name: Option<String>,
    /// Prefix of all keys.
    pub prefix: String,
    /// Subnet prefix and configured name.
    pub fabric: String,
    /// GUID of the port that this SM serves by.
    pub guid: u64,
    /// Age of a lease in seconds after which its master is silent; at least 1.
    pub silence_s: u8,
    /// The longest that a reply to a client waits for etcd.
    pub limit: Duration,
    /// Time without a session of the driver's loop after which it hangs.
    pub hang: Duration,
}
