//! Persisted state: the records ([`ferrosm_core::records`]) in the file `store.redb` of the state
//! directory, their export and import, and the state files of OpenSM.
//!
//! | module | contents |
//! |---|---|
//! | [`dir`] | the state directory: lock, recovery, restored state |
//! | [`file`](mod@file) | `store.redb`: commits batches, reads all records |
//! | [`inspect`] | read-only access; `read_only` reads the file |
//! | [`writer`] | the writer thread; `request` has its requests |
//! | [`durability`] | durable tickets |
//! | [`replica_store`] | the records as [`ferrosm_replication`] uses them |
//! | [`export`] | records as JSON lines, for `ferrosm state export` and `import` |
//! | [`opensm`] | OpenSM's state files: LIDs, M_Keys, links and registrations |
//! | [`served_port`] | the port that was served last |
//! | [`error`] | errors |
//! | [`atomic`] | atomic replacement of files |
//! | `crash_marker` | detection of panics of the storage library |
//!
//! What a record contains is defined by its type, in `ferrosm-core` and the crates below. Here,
//! only `export` and `opensm` name types of records; all others handle bytes.
//!
//! Only one process can use a directory: [`StateDir`] or its [`StateWriter`] holds its lock file.
//! An unreadable store is renamed with a warning and never prevents a start; intact records of a
//! damaged store are recovered.

pub mod atomic;
mod crash_marker;
pub mod dir;
pub mod durability;
pub mod error;
pub mod export;
pub mod file;
pub mod inspect;
pub mod opensm;
mod read_only;
pub mod replica_store;
mod request;
pub mod served_port;
#[cfg(test)]
mod tests;
pub mod writer;

pub use dir::{StateDir, restore};
pub use durability::{CommitObserver, DurabilityTracker};
pub use error::StateError;
pub use file::unix_s;
pub use inspect::StateInspection;
pub use replica_store::ReplicaStore;
pub use writer::{PersistRequest, StateWriter};
