//! Preload library for libibumad and libibverbs programs: replaces the kernel's umad devices and
//! libibverbs, so that the program runs on a simulated fabric.
//!
//! It replaces the libc functions through which a program accesses `/dev/infiniband` and
//! `/sys/class/infiniband*`. Each passes unrelated calls on to libc immediately. The server
//! (`ferrosm sim`) implements the devices; this library transports messages and checks only what
//! `read` and `write` must check. libibverbs loads hardware-specific drivers, so its own functions
//! are replaced ([`verbs`]).
//!
//! `ferrosm attach` configures it through the environment ([`config`]); without that, it does
//! nothing.
//!
//! # Design rules
//!
//! * System calls use rustix, which does not use libc, so the library does not call itself. The
//!   exceptions call libc's function on purpose: waits must be cancellation points, because OpenSM
//!   ends its receiver thread by `pthread_cancel`.
//! * No threads, signal handlers or constructors.
//! * `unsafe` code only in [`interpose`] and [`next`], which implement C functions.
//!
//! # Limitations
//!
//! Unsupported: direct system calls, file descriptors across `exec`, and verbs beyond unreliable
//! datagrams. After `fork`, parent and child may both use an open device, but should not wait for
//! it at the same time.

mod config;
mod device;
mod interpose;
mod next;
mod paths;
mod server;
mod table;
mod verbs;
mod wait;
