//! Channels of a fabric and their dependencies, used by engines, incremental reroute, transition
//! and multicast to keep routes free of credit loops.
//!
//! A channel is one direction of a link between switches. A packet that holds a buffer of one
//! channel and waits for a buffer of the next causes a dependency; packets deadlock only if
//! dependencies form a cycle (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor
//! Interconnection Networks", IEEE ToC 1987). Verification in [`crate::verify()`] shares no code
//! with this module.
//!
//! | module | content |
//! |---|---|
//! | `vls` | channels on VLs, and the VLs of packets |
//! | `dependencies` | sets of dependencies, topological order, cycles |
//! | `graph` | acyclic channel dependency graph that grows |
//! | `layer` | graph of one virtual layer, with the dependencies that it rejected |
//! | `tables` | dependencies of forwarding tables |
//! | `tree` | dependencies of a multicast tree |
//! | `lookup` | dependencies of single channels, read from forwarding tables on demand |
//! | `routed` | graph of forwarding tables while routes are added |
//! | `routing_order` | the graph of a routing, and its topological order for the next reroute |

mod dependencies;
mod graph;
mod layer;
mod lookup;
mod routed;
mod routing_order;
mod tables;
mod tree;
mod vls;

pub(crate) use dependencies::{Dependency, DependencySet};
pub(crate) use layer::{DependencyStatus, VirtualLayer};
pub(crate) use lookup::Lookup;
pub(crate) use routed::{RoutedDependencies, admit_in_all};
pub(crate) use routing_order::{
    RoutingChannelOrder, dependency_graph, spanning_tree_constraint, with_spanning_tree,
};
pub(crate) use tables::{dependencies_of_lids, dependencies_of_tables};
pub(crate) use tree::{
    dependencies_of_ordered_trees, dependencies_of_spanning_tree, dependencies_of_tree,
};
pub(crate) use vls::{VlChannelNumbers, VlChannels};
