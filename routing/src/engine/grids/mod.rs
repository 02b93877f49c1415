//! Routing along the dimensions of a grid: what `dor` and `torus-2QoS` share.
//!
//! | module | what it does |
//! |---|---|
//! | `frame` | axes, and the place of every switch |
//! | `axes` | the axes x, y, z of a torus, as found or as a file says |
//! | `lines` | next hops within one line along an axis, around what is missing in it |
//! | `paths` | next hops for all pairs: one axis after the other, detours where that fails |
//! | `detours` | lanes for the pairs that take detours |
//! | `check` | whether packets that change lanes on the way can wait for each other in a circle |
//! | `spanning` | a multicast tree that goes together with the routes |
//! | `cables` | tables: which of parallel cables |
//!
//! Dimension order needs no lanes on paths and full meshes: packets never turn from a later axis to an earlier one, and
//! within a line they follow an order too. Rings close circles within a line; a dateline cuts them (Dally and Seitz).

pub(super) mod axes;
pub(super) mod credit_loops;
pub(super) mod detours;
pub(super) mod frame;
pub(super) mod lines;
pub(super) mod link_choice;
pub(super) mod paths;
pub(super) mod spanning;
