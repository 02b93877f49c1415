//! Lanes without circles of dependencies: what `dfsssp` and `lash` share.
//!
//! Packets deadlock only where channels wait for each other in a circle (Dally and Seitz). Paths that would close one
//! are put on different lanes. It shares nothing with the proof in [`crate::verify()`], which judges the result.
//!
//! | part | what it does |
//! |---|---|
//! | `orders` | orders of the switches that paths may keep to |
//! | `paths` | which dependencies a path has |
//! | `split` | pairs of switches to lanes |
//! | `tree` | a multicast tree beside them |
//! | `polish` | routes off busy cables, lanes as they are |
//! | `rest` | one lane where end ports alone need no more |
//! | `plan` | several ways to route, and which is taken |

mod orders;
mod paths;
mod plan;
mod polish;
mod rest;
mod split;
mod tree;

pub(crate) use orders::{Orders, Rest};
pub(crate) use plan::{Aim, Single, route, single};
