//! The `ferrosm` program as a library: command line, configuration, driver, state, output.
//!
//! All I/O is here: files, clocks, threads, signals, terminals. `ferrosm_core` and
//! `ferrosm_routing` make the decisions; this crate feeds them inputs and executes their outputs.
//!
//! | module | contents |
//! |---|---|
//! | [`allocator`] | settings of the memory allocator |
//! | [`atomic`] | atomic replacement of files |
//! | [`capture`] | packet capture of MADs |
//! | [`cli`] | commands and flags |
//! | [`clock`] | monotonic time and time since boot |
//! | [`commands`] | one module per command |
//! | [`config`] | the configuration file: parse, check, print, reload |
//! | [`driver`] | the loop that owns a `SubnetManager` |
//! | [`control_socket`] | commands to a running service |
//! | [`dump`] | OpenSM-format dumps |
//! | [`failure`] | failures of commands: message, hint, exit status |
//! | [`metrics`] | metrics and their HTTP endpoint |
//! | `offline` | offline routing (feature `simulator`) |
//! | [`output`] | renderers: tables, ibnet, JSON, dot, SVG, reports |
//! | [`port`] | ports of the driver |
//! | [`recording`] | the file of `--record` |
//! | [`replication_link`] | connects replication to the SM |
//! | [`sa_server`] | the SA server |
//! | [`service_manager`] | readiness, status and watchdog of the systemd unit |
//! | [`signals`] | process signals |
//! | `similar_names` | suggestions for unknown names (feature `simulator`) |
//! | `simulator` | the server of a simulated fabric (feature `simulator`) |
//! | [`state`] | persisted state |
//! | `verbs` | device attributes and asynchronous events (feature `verbs`) |

pub mod allocator;
pub mod atomic;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod control_socket;
pub mod driver;
pub mod dump;
pub mod failure;
pub mod metrics;
#[cfg(feature = "simulator")]
pub mod offline;
pub mod output;
pub mod port;
pub mod recording;
pub mod replication_link;
pub mod sa_server;
pub mod service_manager;
pub mod signals;
#[cfg(feature = "simulator")]
mod similar_names;
#[cfg(feature = "simulator")]
pub mod simulator;
pub mod state;
#[cfg(test)]
mod testing;
#[cfg(feature = "verbs")]
pub mod verbs;
