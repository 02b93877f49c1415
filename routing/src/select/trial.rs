//! A trial of an engine.

/// An engine, and the VLs that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineTrial<'a> {
    /// Its name.
    pub engine: &'a str,
    /// Maximum number of data VLs; `None`: all usable VLs.
    pub vls: Option<u8>,
}

impl<'a> EngineTrial<'a> {
    /// On one VL.
    pub(super) const fn on_one_vl(engine: &'a str) -> Self {
        Self {
            engine,
            vls: Some(1),
        }
    }

    /// On all usable VLs.
    pub(super) const fn on_all_vls(engine: &'a str) -> Self {
        Self { engine, vls: None }
    }
}
