//! Shared harness of ferrosm's scenario, conformance and interoperability tests.
//!
//! | module | contents |
//! |---|---|
//! | [`clients`] | programs of other projects on a simulator, and their output |
//! | [`ibnetdiscover`] | comparison of its output with the fabric file |
//! | [`ibsim`] | Debian's fabric simulator with one fabric |
//! | [`etcd`] | an etcd cluster |
//! | [`fabric_server`] | `ferrosm sim` with one fabric |
//! | [`random_activity`] | hosts with random SA requests, and checks of the replies |
//! | [`diags`] | parsers of infiniband-diags' output |
//! | [`judge`] | checks of a fabric by that output |
//! | [`ibdmchk`] | an independent checker of dump files |
//! | [`fabrics`] | fabrics as text |
//! | [`bringup`] | initialisation of a fabric, with checks |
//! | [`persisted_view`] | the persisted view, record by record |
//! | [`loopback`] | addresses for servers, unique per test |
//! | [`managed_fabric`] | a simulated fabric with a running SM |
//! | [`masters`] | random scenarios with two to five SMs |
//! | [`multicast_members`] | hosts that join multicast groups in a simulated fabric |
//! | [`opensm`] | OpenSM and osmtest |
//! | [`metrics`] | metrics pages, read by an independent parser |
//! | [`load`] | hosts that query and register continuously, and flapping links |
//! | [`sm_pair`] | two or more `ferrosm run` processes with replication |
//! | [`process`] | processes with deadlines |
//! | [`programs`] | paths of programs |
//! | [`record_changes`] | numbered changes of the SM's records |
//! | [`recording`] | recordings of simulated runs |
//! | [`routing`] | `ferrosm route`, and checks of its dumps |
//! | [`routing_dumps`] | parsers of those dumps |
//! | [`routing_judge`] | checks of those dumps |
//! | [`sa_layout`] | positions of the components of SA records, from the specification |
//! | [`sa_paths`] | paths that a client may use, by walking tables and by the rules |
//! | [`sa_wire`] | an SA client that works on bytes and bits |
//! | [`sa_expected`] | expected SA tables, read from the devices |
//! | [`script`] | hosts that register, by a C program |
//! | [`scratch`] | temporary directories |
//! | [`seeds`] | seeds of random tests, and reports of failures |
//! | [`simulated`] | the SM on a simulated fabric |
//! | [`store`] | the store of a simulated SM, which may be slow, hang or fail |
//! | [`swarm`] | random scenarios with one SM |
//! | [`tally`] | event counts over many seeds |
//!
//! Test helpers fail by panicking with a message; a missing program is a failure, not a skip.
//! Checks do not use ferrosm's own code.

pub mod bringup;
pub mod clients;
pub mod diags;
pub mod etcd;
pub mod fabric_server;
pub mod fabrics;
pub mod ibdmchk;
pub mod ibnetdiscover;
pub mod ibsim;
pub mod judge;
pub mod load;
pub mod loopback;
pub mod managed_fabric;
pub mod masters;
pub mod metrics;
pub mod multicast_members;
pub mod opensm;
pub mod persisted_view;
pub mod process;
pub mod programs;
pub mod random_activity;
pub mod record_changes;
pub mod recording;
pub mod routing;
pub mod routing_dumps;
pub mod routing_judge;
pub mod sa_expected;
pub mod sa_layout;
pub mod sa_paths;
pub mod sa_wire;
pub mod scratch;
pub mod script;
pub mod seeds;
pub mod simulated;
pub mod sm_pair;
pub mod store;
pub mod swarm;
pub mod tally;
