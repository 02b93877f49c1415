//! Replacement of libibverbs for management programs: devices, ports, tables, port events, and
//! queue pairs for unreliable datagrams.
//!
//! | module | contents |
//! |---|---|
//! | [`device`] | devices, opened devices, queries |
//! | [`queue`] | queue pairs, completion queues, completion channels |
//!
//! The C functions, the layouts of the public header ([`abi`]) and the program's buffers
//! ([`memory`]) are in `interpose::verbs`. Unsupported: connected services, shared receive queues,
//! memory windows, inline and immediate data, extended queue pairs. An unsupported post completes
//! with an error, but does not put the queue pair into the error state.

pub(crate) mod device;
pub(crate) mod queue;

pub(crate) use crate::interpose::verbs::{abi, memory};
