//! Replication through etcd, for sites that have several management hosts which they trust with this already.
//!
//! The master holds a key, and writes batches in transactions that are refused when the key is not its own any more: so a master that
//! was cut off writes nothing after another took over. A batch is acknowledged when etcd has it, that is, most of its members. Standbys
//! watch, and have what etcd has. Nothing here decides who is master. Why it is so: `docs/adr/0014-etcd.md`.
//!
//! ```text
//! link        requests to etcd; one member after another is asked
//! keys        what is under which key
//! ledger      what a master owes, and whether it may believe to be the only one; pure
//! holding     a master: holds the key, renews its leases, writes
//! watching    a standby: reads what it lacks, watches, and looks whether the leases are renewed
//! shared      what the driver and the thread have in common
//! node        what the driver sees
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
pub use node::Etcd;

use super::tls::Files;

/// What it is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// etcd's members: `https://host:port`, or `http://` without certificates.
    pub endpoints: Vec<String>,
    /// Certificates, for `https`.
    pub files: Option<Files>,
    /// Name in the members' certificates, where it is not that in `endpoints`.
    pub server_name: Option<String>,
    /// Where all keys are.
    pub prefix: String,
    /// Subnet prefix and configured name.
    pub fabric: String,
    /// GUID of the port that this SM serves by.
    pub guid: u64,
    /// A master that did not renew a lease for so long is silent, in seconds; at least 1.
    pub silence_s: u8,
    /// So long a client's answer waits for etcd at most.
    pub limit: Duration,
    /// A driver that did not turn for so long hangs.
    pub hang: Duration,
}
