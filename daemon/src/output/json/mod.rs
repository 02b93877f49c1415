//! JSON for programs: stable forms, apart from the types of the program.
//!
//! Every document is one object with `"schema"`, a number that grows when a member changes its meaning or goes away;
//! new members may come at any time. GUIDs and keys are strings such as `"0x0002c90300a1b2c3"`, LIDs and port numbers
//! are numbers, times are in milliseconds. What is not known is `null`.
//!
//! | document | printed by | described in |
//! |---|---|---|
//! | topology | `ferrosm topology --format json` | [`topology`] |
//! | sweep report | `ferrosm run --json`, `ferrosm demo --json` | [`sweep`] |
//! | routing proof | `ferrosm route --json` | `routing` |
//! | explanation | `ferrosm explain --json` | `explain` |
//! | local ports | `ferrosm ports --json` | [`ports`] |

#[cfg(feature = "simulator")]
pub mod explain;
pub mod ports;
#[cfg(feature = "simulator")]
pub mod routing;
pub mod sweep;
pub mod topology;

use serde::Serialize;

/// Version of all forms.
pub const SCHEMA: u32 = 1;

/// A document over several lines, with a line break at its end.
#[must_use]
pub fn pretty<T: Serialize>(document: &T) -> String {
    // Our documents have string keys and no maps that fail, so this cannot.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// A document on one line.
#[must_use]
pub fn line<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string(document).unwrap_or_default();
    text.push('\n');
    text
}
