//! Multicast forwarding tables: what should be in them, and by which steps they get there (rules 10.13 to 10.17).
//!
//! | module | what it computes |
//! |---|---|
//! | [`beside`] | which installed entries must go before routes are replaced |
//! | [`grove`] | members to one tree for each MLID, and what it puts into each switch's table |
//! | [`steps`] | what is there and what should be to writes, in two steps |

pub mod beside;
pub mod grove;
pub mod steps;
