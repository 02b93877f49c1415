//! How paths are computed: what the engines share.
//!
//! | room | contents | engines |
//! |---|---|---|
//! | `next_hops` | distances between switches, and the legal next hops | all but `dor`, `torus-2QoS`, `file` |
//! | `balance` | the choice of one legal next hop for every entry | `dmodc`, `dnup`, `ftree`, `minhop`, `updn` |
//! | `up_down` | up/down orders of the switches, and routing in one | `dmodc`, `dnup`, `ftree`, `updn` |
//! | `grid` | paths along the dimensions of a grid | `dor`, `torus-2QoS` |
//! | `weighted` | paths by the load of links, LID by LID | `dfsssp`, `lash`, `sssp` |
//! | `virtual_layers` | acyclic virtual layers for these paths | `dfsssp`, `lash`, `sssp` |

pub(crate) mod balance;
pub(crate) mod grid;
pub(crate) mod next_hops;
pub(crate) mod up_down;
pub(crate) mod virtual_layers;
pub(crate) mod weighted;
