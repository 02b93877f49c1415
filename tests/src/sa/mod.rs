//! The subnet administration as its clients see it. Nothing here uses the codecs under test.
//!
//! | module | contents |
//! |---|---|
//! | [`wire`] | a client that works on bytes and bits |
//! | [`layout`] | positions of the components of SA records, from the specification |
//! | [`expected`] | expected SA tables, read from the devices |
//! | [`paths`] | paths that a client may use, by walking tables and by the rules |
//! | [`members`] | hosts that join and leave multicast groups |
//! | [`random_activity`] | hosts with random requests, and checks of the replies |

pub mod expected;
pub mod layout;
pub mod members;
pub mod paths;
pub mod random_activity;
pub mod wire;
