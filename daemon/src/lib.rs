//! The `ferrosm` program as a library: command line, configuration, driver, state, output.
//!
//! All I/O is here: files, clocks, threads, signals, terminals. `ferrosm_core` and
//! `ferrosm_routing` make the decisions; this crate feeds them inputs and executes their outputs.
//!
//! | module | contents |
//! |---|---|
//! | [`cli`] | commands and flags |
//! | [`commands`] | one module per command |
//! | [`config`] | the configuration file: parse, check, print, reload |
//! | [`run`] | the SM service of `run` and `demo`: its loop, signals, replication, recording |
//! | [`api`] | questions and commands to a running service |
//! | [`notify`] | notifications of alarms |
//! | [`http`] | the HTTP servers of the API and the metrics |
//! | [`port`] | local ports, and the transports of the service's loop |
//! | [`sa_server`] | the SA server |
//! | [`metrics`] | metrics and their HTTP endpoint |
//! | [`plan`] | what the SM would write |
//! | [`invariants`] | declared invariants, and whether they hold |
//! | [`whole_fabric`] | nodes, links and structure of a fabric, for exports and drawings |
//! | [`exports`] | Slurm's topology.conf, links as CSV, Graphviz |
//! | [`drawing`] | drawings of the fabric: layout, SVG, PDF, HTML |
//! | [`output`] | tables, ibnet, JSON, reports, dumps, the log |
//! | `offline` | offline routing (feature `simulator`) |
//! | [`allocator`] | settings of the memory allocator |
//! | [`pattern`], [`host_list`] | patterns with `*`; host lists such as `gpu[01-16]` |
//! | [`clock`] | monotonic time and time since boot |
//! | [`failure`] | failures of commands: message, hint, exit status |

pub mod allocator;
pub mod api;
pub mod cabling;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod drawing;
pub mod exports;
mod fabric_of_snapshot;
pub mod failure;
pub mod host_list;
pub mod http;
pub mod invariants;
pub mod metrics;
pub mod notify;
#[cfg(feature = "simulator")]
pub mod offline;
pub mod output;
pub mod pattern;
pub mod plan;
pub mod port;
pub mod rings;
pub mod run;
pub mod sa_server;
#[cfg(test)]
mod testing;
pub mod what_if;
pub mod whole_fabric;
