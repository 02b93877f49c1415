//! From the installed routing to the next one.
//!
//! | module | contents |
//! |---|---|
//! | [`adopt`] | installed tables of another master become a routing after verification |
//! | [`reroute`] | the installed routing is changed where links or LIDs were lost |
//! | [`transition`] | a safe order of the writes under traffic |

pub mod adopt;
pub mod reroute;
pub mod transition;
