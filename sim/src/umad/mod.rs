//! The MAD layer of a host, as the Linux kernel has it: files, agents, timeouts, RMPP.
