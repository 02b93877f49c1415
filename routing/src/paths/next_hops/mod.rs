//! Legal next hops: the matrix of distances between switches, its cells, and the pairs of a tree
//! that are routed down and up.

pub(crate) mod cell;
pub(crate) mod down_up_pairs;
pub(crate) mod hop_matrix;
