//! Lanes without circles of dependencies: what `dfsssp` and `lash` share.
//!
//! Packets deadlock only where channels wait for each other in a circle (Dally and Seitz). Paths that would close one
//! are put on different lanes. It shares nothing with the proof in [`crate::verify()`], which judges the result.
//!
//! | part | what it does |
//! |---|---|
//! | `orders` | orders of the switches that paths may keep to |
//! | `paths` | which dependencies a path has |
//! | `assignment` | pairs of switches to lanes |
//! | `tree` | a multicast tree beside them |
//! | `refinement` | routes off busy cables, lanes as they are |
//! | `rest` | one lane where end ports alone need no more |
//! | `planner` | several ways to route, and which is taken |

mod paths;
mod plan;
mod refinement;
mod single_vl;
mod spanning_tree;
mod switch_orders;
mod vl_assignment;

pub(crate) use plan::{Objective, SingleVl, route, route_on_one_vl};
pub(crate) use switch_orders::{SuffixOrders, SwitchOrders};
