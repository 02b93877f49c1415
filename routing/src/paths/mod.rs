//! How paths are computed: what the engines share.
//!
//! | room | contents | engines |
//! |---|---|---|
//! | `next_hops` | distances between switches, and the legal next hops | all others |
//! | `balance` | the choice of one legal next hop for every entry | `dmodc`, `dnup`, `ftree`, `minhop`, `updn` |
//! | `up_down` | up/down orders, routing in one | `diameter2`, `dmodc`, `dnup`, `dragonfly`, `ftree`, `updn` |
//! | `grid` | paths along the dimensions of a grid | `dor`, `torus-2QoS` |
//! | `slot_routes` | one slot for each pair of switches, and its load | `diameter2`, `dragonfly` |
//! | `link_choice` | tables: choice among parallel links | those of `grid` and `slot_routes` |
//! | `weighted` | paths by the load of links, LID by LID | `dfsssp`, `lash`, `sssp` |
//! | `virtual_layers` | acyclic virtual layers for these paths | `dfsssp`, `lash`, `sssp` |
//!
//! The engines of `grid` and `slot_routes` do not use `next_hops`. Engine `file` uses none of the
//! rooms.

pub(crate) mod balance;
pub(crate) mod grid;
pub(crate) mod link_choice;
pub(crate) mod next_hops;
pub(crate) mod slot_routes;
pub(crate) mod up_down;
pub(crate) mod virtual_layers;
pub(crate) mod weighted;
