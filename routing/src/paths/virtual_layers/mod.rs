//! Acyclic virtual layers, shared by `dfsssp` and `lash`.
//!
//! Packets can deadlock only if channels wait for each other in a cycle (Dally and Seitz). Paths
//! that would close such a cycle are placed on different virtual layers. Shares no code with the
//! verification of the result, [`crate::verify()`].
//!
//! | module | content |
//! |---|---|
//! | `paths` | the channel dependencies of paths |
//! | `vl_assignment` | pairs of switches by virtual layer |
//! | `spanning_tree` | a multicast tree on one of the layers |
//! | `refinement` | routes moved off busy links within the layers |
//! | `single_vl` | one VL, if end ports alone need no more |
//! | `plan` | several sets of paths, and the choice among them |

mod paths;
mod plan;
mod refinement;
mod single_vl;
mod spanning_tree;
mod vl_assignment;

pub(crate) use plan::{Objective, SingleVl, route, route_on_one_vl};
