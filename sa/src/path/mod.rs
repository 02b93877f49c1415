//! Paths between end ports: what a packet meets on its way, and what a client may have of it (IBA 15.2.5.16; behaviour rules
//! 11.1 to 11.16).
//!
//! | module | what it holds |
//! |---|---|
//! | [`walk`] | along the forwarding tables from a port to a LID |
//! | [`limits`] | what a client asks of MTU, rate and life time, against what there is |
//! | `level` | what the QoS policy leaves of a path |
//! | [`query`] | one pair of ports: all paths between them that a client may have |
//! | [`record`] | PathRecord: who is meant, and the answer |
//! | [`multi`] | MultiPathRecord: several at once, independent of each other |
//! | [`scan`] | queries over many pairs, in slices |
//! | [`trace`] | TraceRecord: the nodes on a path |
//! | [`group`] | the same where a multicast group is meant |

pub mod group;
pub mod limits;
pub mod multi;
pub mod pair;
mod progress;
mod qos_level;
pub mod record;
pub mod route;
pub mod scan;
pub mod trace;
