//! `ferrosm run` on a simulated fabric, with OpenSM, infiniband-diags and other real programs
//! attached.

mod api;
mod capture;
mod diags;
mod differential;
mod etcd;
mod failover;
mod failover_load;
mod hung_switch;
mod ibacm;
mod invalid_input;
mod judge;
mod metrics;
mod mismatched_vls;
mod opensm;
mod opensm_election;
mod opensm_import;
mod opensm_state;
mod osmtest;
mod ports;
mod sa;
mod sa_hostile;
mod saquery;
mod service_manager;
mod several_subnets;
mod srp;
