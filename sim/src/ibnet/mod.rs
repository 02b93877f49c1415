//! Fabrics as text: what ibnetdiscover prints and ibsim loads.
//!
//! The reader takes what these tools write and what people keep in files: ibnetdiscover of all
//! years, ibsim's own files, copies that lost their tabs or begin with a shell prompt, and
//! ibdiagnet's variant. It owns the text form; it never touches a file, and it never repairs a
//! fabric that contradicts itself: cables must be described on both nodes and agree.
//!
//! What a file can say and a [`FabricSpec`](crate::spec::FabricSpec) cannot is dropped: comments,
//! `do` lines (commands to ibsim), counters, neighbours' LIDs. What neither says gets ibsim's
//! defaults.

mod error;
mod line;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::{ReadError, ReadErrorKind};
pub use read::read;
pub use write::write;
