//! Routing along the dimensions of a grid, shared by `dor` and `torus-2QoS`.
//!
//! | module | content |
//! |---|---|
//! | `coordinates` | axes and the position of every switch |
//! | `axes` | the axes x, y, z of a torus, detected or from a file |
//! | `lines` | next hops within one line along an axis |
//! | `paths` | next hops for all pairs in dimension order |
//! | `credit_loops` | credit loop check for packets that change VLs along the path |
//! | `spanning` | multicast trees compatible with the routes |
//!
//! Dimension order needs one VL on paths and full meshes: packets never turn from a later axis to
//! an earlier one, and within a line they follow an order as well. Rings form cycles within a line,
//! which a dateline breaks (Dally and Seitz).

pub(crate) mod axes;
pub(crate) mod coordinates;
pub(crate) mod credit_loops;
pub(crate) mod lines;
pub(crate) mod paths;
pub(crate) mod spanning;
