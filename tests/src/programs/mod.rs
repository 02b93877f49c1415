//! Tests of programs: `ferrosm` itself and programs of other projects.
//!
//! | module | contents |
//! |---|---|
//! | [`paths`] | where programs are |
//! | [`process`] | processes with deadlines |
//! | [`certificates`] | certificates of a test's own authority |
//! | [`scratch`] | temporary directories |
//! | [`loopback`] | addresses for servers, unique per test |
//! | [`ibsim`] | Debian's fabric simulator with one fabric |
//! | [`fabric_server`] | `ferrosm sim` with one fabric |
//! | [`forwarding_tables`] | the LFTs of all switches, as `dump_fts` reads them |
//! | [`managed_fabric`] | a simulated fabric with a running SM |
//! | [`sm_pair`] | two or more `ferrosm run` processes with replication |
//! | [`etcd`] | an etcd cluster |
//! | [`opensm`] | OpenSM and osmtest |
//! | [`clients`] | programs of other projects on a simulator, and their output |
//! | [`script`] | hosts that register, by a C program |
//! | [`load`] | hosts that query and register continuously, and flapping links |
//! | [`bringup`] | initialisation of a fabric, with checks |
//! | [`diags`] | parsers of infiniband-diags' output |
//! | [`judge`] | checks of a fabric by that output |
//! | [`ibnetdiscover`] | comparison of its output with the fabric file |
//! | [`ibdmchk`] | an independent checker of dump files |
//! | [`routing`] | `ferrosm route`, and checks of its dumps |
//! | [`routing_dumps`] | parsers of those dumps |
//! | [`routing_judge`] | checks of those dumps |
//! | [`metrics`] | metrics pages, read by an independent parser |

pub mod bringup;
pub mod certificates;
pub mod clients;
pub mod diags;
pub mod etcd;
pub mod fabric_server;
pub mod forwarding_tables;
pub mod ibdmchk;
pub mod ibnetdiscover;
pub mod ibsim;
pub mod judge;
pub mod load;
pub mod loopback;
pub mod managed_fabric;
pub mod metrics;
pub mod opensm;
pub mod paths;
pub mod process;
pub mod routing;
pub mod routing_dumps;
pub mod routing_judge;
pub mod scratch;
pub mod script;
pub mod sm_pair;
