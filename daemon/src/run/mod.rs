//! The SM service of `run` and `demo`: a subnet manager on a port, with its loop, and all that it
//! uses of the process and of this host.
//!
//! `serve_port` chooses and opens the local port, [`serve`] assembles the service, and
//! [`driver::Driver`] owns the subnet manager. [`reading`] runs one that serves no subnet, for
//! `topology` and [`planning`].

pub mod capture;
pub mod config_keeper;
pub mod config_start;
pub mod driver;
pub mod other_ports;
pub mod planning;
pub mod port_wait;
pub mod reading;
pub mod recording;
pub mod replication_link;
pub mod serve;
pub mod serve_port;
pub mod service_manager;
pub mod signals;
#[cfg(feature = "verbs")]
pub mod verbs;
