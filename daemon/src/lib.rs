//! The `ferrosm` program as a library: command line, configuration, driver, state files, output.
//!
//! Everything that touches the outside is here: files, clocks, threads, signals, terminals. What is decided about a
//! fabric is decided in `ferrosm_core` and `ferrosm_routing`; this crate feeds them and carries out what they say.
//!
//! | module | what it holds |
//! |---|---|
//! | [`allocator`] | settings of the memory allocator |
//! | [`capture`] | MADs into a pcapng file |
//! | [`cli`] | commands and flags |
//! | [`clock`] | monotonic time and time since boot |
//! | [`commands`] | one module per command |
//! | [`config`] | the configuration file: reading, checking, printing, reloading |
//! | [`driver`] | the loop that owns a `SubnetManager` |
//! | [`signals`] | what the system tells the process |
//! | [`orders`] | the socket by which an operator talks to a running service |
//! | `paper` | offline routing (with the feature `simulator`) |
//! | [`port`] | what the driver sends and receives by |
//! | `simulator` | the server of a simulated fabric (with the feature of that name) |
//! | [`copies`] | where the election and the copies meet |
//! | [`state`] | what is kept over restarts |
//! | [`output`] | renderers: tables, ibnet, json, dot, svg, reports |
//! | `verbs` | device attributes and asynchronous events (with the feature of that name) |
//! | [`dump`] | writes OpenSM's dumps |
//! | [`metrics`] | what monitoring may know, over HTTP |
//! | [`threads`] | threads that log as who started them |
//! | [`failure`] | how a command fails: sentence, hint, exit code |

pub mod allocator;
pub mod atomic;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod driver;
pub mod dump;
pub mod failure;
pub mod metrics;
#[cfg(feature = "simulator")]
pub mod offline;
pub mod orders;
pub mod output;
pub mod port;
pub mod recording;
pub mod replication_link;
pub mod sa_server;
pub mod signals;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod state;
#[cfg(test)]
mod testing;
pub mod threads;
#[cfg(feature = "verbs")]
pub mod verbs;
