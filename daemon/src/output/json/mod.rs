//! JSON documents, independent of the program's own types.
//!
//! Every document is an object with `"schema"`, a number that increases when a member changes its
//! meaning or is removed. New members may be added without an increase. GUIDs and keys are strings
//! such as `"0x0002c90300a1b2c3"`, LIDs and port numbers are numbers, times are in milliseconds.
//! Unknown values are `null`.
//!
//! | document | printed by | described in |
//! |---|---|---|
//! | topology | `ferrosm topology --format json` | [`topology`] |
//! | sweep report | `ferrosm run --json`, `ferrosm demo --json` | [`sweep`] |
//! | routing proof | `ferrosm route --json` | `routing` |
//! | explanation | `ferrosm explain --json` | `explain` |
//! | local ports | `ferrosm ports --local --json` | [`ports`] |
//! | imported configuration | `ferrosm config import --json` | [`import`] |
//! | persisted state | `ferrosm state show --json` | [`state`] |
//!
//! [`message`] has the messages in these documents. `object!` defines a document: each member once,
//! with its value.

#![allow(
    non_camel_case_types,
    reason = "`object!` names the type of a member as the member"
)]

/// A JSON object with these members, in this order.
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)?) => {{
        #[derive(serde::Serialize)]
        struct Object<$($name),+> {
            $($name: $name),+
        }
        Object { $($name: $value),+ }
    }};
}

#[cfg(feature = "simulator")]
pub mod explain;
pub mod import;
pub mod message;
pub mod ports;
#[cfg(feature = "simulator")]
pub mod routing;
pub mod state;
pub mod sweep;
pub mod topology;

use serde::Serialize;

/// Version of all documents.
pub const SCHEMA: u32 = 4;

/// Formats a document over several lines, with a final line break.
#[must_use]
pub fn pretty<T: Serialize>(document: &T) -> String {
    // Serialization fails only for maps with keys that are not strings; no document has one.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// Formats a document on one line.
#[must_use]
pub fn to_line<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string(document).unwrap_or_default();
    text.push('\n');
    text
}
