//! Random scenarios. A run depends only on its seed.
//!
//! | module | contents |
//! |---|---|
//! | [`swarm`] | one SM, any topology, configuration, faults and events |
//! | [`masters`] | two to five SMs that fail, restart and hand over, and hosts that register |
//! | [`seeds`] | which seeds run, and reports of failures |
//! | [`tally`] | event counts over many seeds |

pub mod masters;
pub mod seeds;
pub mod swarm;
pub mod tally;
