//! The performance management agent of a node (IBA 16.1).
