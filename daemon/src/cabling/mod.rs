//! Cables as planned: plans in several formats, and their comparison with a fabric. No I/O.
//!
//! | module | contents |
//! |---|---|
//! | [`fabric`] | the nodes and cables of a fabric |
//! | [`plan`] | a plan: cables between ports that are named by GUID, name or pattern |
//! | `format` | detection of the format of a plan |
//! | `ndt`, `ibnetdiscover`, `xml` | readers of plans; `ndt` is also written |
//! | `matching` | the nodes and ports that a plan names |
//! | [`compare`] | what is not as planned |
//! | [`change`] | what differs between two fabrics |

pub mod change;
pub mod compare;
pub mod fabric;
mod format;
mod ibnetdiscover;
mod matching;
pub mod ndt;
pub mod plan;
mod xml;
