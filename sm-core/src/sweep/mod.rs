//! The phases of a sweep, each with the state that only it needs.

pub(crate) mod discovery;
pub(crate) mod lft_readback;
pub(crate) mod lft_update;
pub(crate) mod link_setup;
pub(crate) mod quarantine;
