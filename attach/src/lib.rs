//! Preloaded into a libibumad or libibverbs program, stands in for the kernel's umad devices and for libibverbs: the program
//! runs on a simulated fabric.
//!
//! Replaces those functions of libc through which a program reaches `/dev/infiniband` and `/sys/class/infiniband*`. Each
//! passes on to libc at once what does not concern it. What the devices do is decided by the server (`ferrosm sim`); this library
//! carries bytes, and knows only as much of a message as `read` and `write` must judge by themselves.
//! libibverbs loads drivers that know their hardware, so there its own functions are replaced ([`verbs`]).
//!
//! It is configured by the environment, which `ferrosm attach` sets ([`config`]); without it, it does nothing.
//!
//! # Rules inside
//!
//! * System calls are made through rustix, which does not use libc, so nothing here calls itself. The exceptions call libc's
//!   own function on purpose: waiting must be a cancellation point, because OpenSM ends its receiving thread with
//!   `pthread_cancel`.
//! * No thread, no signal handler, no constructor: a foreign process is left as it is.
//! * `unsafe` stands in [`interpose`] and [`next`] alone: they face C. The rest is safe.
//!
//! # What it does not do
//!
//! A program that calls the kernel directly, a file descriptor kept over `exec`, and verbs beyond unreliable datagrams are not served. After
//! `fork`, parent and child may both use an open device, but should not wait for it at the same time.

mod config;
mod device;
mod interpose;
mod next;
mod paths;
mod server;
mod table;
mod verbs;
mod wait;
