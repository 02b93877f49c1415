//! Paths by the load of links, LID by LID: `weigh` computes them, `lid_trees` holds them.
//! `switch_orders` has the orders of the switches that they may have to follow.

mod lid_trees;
mod switch_orders;
mod weigh;

pub(crate) use lid_trees::LidTrees;
pub(crate) use switch_orders::SwitchOrders;
pub(crate) use weigh::{Granularity, PathPreference, weigh_lids};
