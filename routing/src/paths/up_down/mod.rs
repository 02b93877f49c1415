//! Up/down routing: orders of the switches (`order`), tables and multicast trees that follow one
//! (`ordered`), and paths of a tree that turn at its leaves instead (`down_up_search`).

mod down_up_search;
pub(crate) mod order;
pub(crate) mod ordered;
