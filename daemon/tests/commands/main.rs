//! The program `ferrosm`, as a user or a service manager starts it.

mod cli;
mod demo;
mod export;
mod harness;
mod import;
mod service;
