//! Scenarios, conformance and interoperability tests of ferrosm: the harness they share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`clients`] | programs of others on a simulator, and what they tell |
//! | [`ibnetdiscover`] | what it prints against the text a fabric was loaded from |
//! | [`ibsim`] | Debian's fabric simulator with one fabric |
//! | [`etcd`] | a cluster of it |
//! | [`fabric_server`] | our own |
//! | [`random_activity`] | hosts that do everything at random, and know what they must be told |
//! | [`diags`] | parsers of infiniband-diags' output |
//! | [`judge`] | the verdict on a fabric from that output |
//! | [`ibdmchk`] | a foreign checker of dump files |
//! | [`fabrics`] | fabrics as text |
//! | [`bringup`] | a cold fabric brought up and judged |
//! | [`persisted_view`] | what a manager wants kept of the subnet, record by record |
//! | [`loopback`] | addresses of servers, which nobody else takes |
//! | [`masters`] | two to five of our managers in random scenarios |
//! | [`multicast_members`] | hosts that join multicast groups of our manager in the simulated world |
//! | [`opensm`] | OpenSM and osmtest |
//! | [`metrics`] | pages of metrics, read by a parser of others |
//! | [`load`] | hosts that ask and register all the time, and cables that flap |
//! | [`sm_pair`] | two or more of our managers with copies of each other's state |
//! | [`process`] | programs with deadlines |
//! | [`programs`] | where programs are |
//! | [`record_changes`] | numbered changes of the SM's records |
//! | [`recording`] | every MAD and event of a simulated run, as text |
//! | [`routing`] | `ferrosm route`, and what judges say of its dumps |
//! | [`routing_dumps`] | readers of those dumps |
//! | [`routing_judge`] | the verdict on them |
//! | [`sa_layout`] | where the components of each record of subnet administration are, by the specification |
//! | [`sa_paths`] | which paths a client may have, by walking tables and by the rules |
//! | [`sa_wire`] | a client of subnet administration that knows only bits and bytes |
//! | [`sa_expected`] | what the tables of subnet administration should hold, read from the devices |
//! | [`script`] | hosts that register, by a program of C |
//! | [`scratch`] | directories of their own |
//! | [`seeds`] | which seeds a random test runs, and how failures are told |
//! | [`simulated`] | our manager in the simulated world |
//! | [`store`] | the store of a simulated SM, which may be slow, hang or fail |
//! | [`swarm`] | one of our managers in random scenarios |
//! | [`tally`] | how often what happened over many seeds |
//!
//! A harness fails by panicking with a sentence; a missing peer program is a failure, never a skip. Nothing here
//! uses ferrosm's own code to decide whether ferrosm did well.

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
