//! The program `ferrosm`, as a user or a service manager starts it.

mod cli;
mod harness;
mod import;
mod service;
