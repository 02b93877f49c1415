//! Verbs in place of libibverbs, as far as management programs use them: devices, ports, tables, events of ports, and queue
//! pairs for unreliable datagrams.
//!
//! | module | what it holds |
//! |---|---|
//! | [`device`] | devices, opened devices, what is asked of the server |
//! | [`queue`] | queue pairs, completion queues, completion channels |
//!
//! The C functions, the layouts of the public header ([`abi`]) and the program's buffers ([`memory`]) are in `interpose::verbs`. Not here: connected services, shared receive queues, memory windows, inline and
//! immediate data, extended queue pairs. A post that is not possible completes with an error, and does not put the queue pair into
//! the error state.

pub(crate) mod device;
pub(crate) mod queue;

pub(crate) use crate::interpose::verbs::{abi, memory};
