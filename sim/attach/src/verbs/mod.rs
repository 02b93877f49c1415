//! Replacement of libibverbs for management programs: devices, ports, tables, port events, and
//! queue pairs for unreliable datagrams.
//!
//! | module | contents |
//! |---|---|
//! | [`device`] | devices, opened devices, queries |
//! | [`queue`] | queue pairs, completion queues, completion channels |
//! | [`abi`] | the layouts of the public header |
//! | [`memory`] | the program's buffers |
//!
//! The C functions are in `interpose::verbs`. Unsupported: connected services, shared receive
//! queues, memory windows, inline and immediate data, extended queue pairs. An unsupported post
//! completes with an error, but does not put the queue pair into the error state.

pub(crate) mod abi;
pub(crate) mod device;
pub(crate) mod memory;
pub(crate) mod queue;
