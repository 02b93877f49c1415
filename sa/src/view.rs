//! What replies are computed from: a snapshot of the fabric and the settings of the SA.

use std::ops::Deref;
use std::sync::Arc;

use ferrosm_fabric::aliases::BLOCK_LEN;
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::MKey;

use crate::refusal::SaRefusal;
use crate::settings::SaSettings;

/// [`BLOCK_LEN`] in the type of GUIDCap.
const ENTRIES_PER_BLOCK: u8 = 8;
const _: () = assert!(ENTRIES_PER_BLOCK as usize == BLOCK_LEN);

/// A snapshot of the fabric, and the settings that replies depend on. Empty by default.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Settings that replies depend on.
    pub settings: SaSettings,
    snapshot: Arc<Snapshot>,
}

impl View {
    /// From its parts.
    #[must_use]
    pub const fn new(snapshot: Arc<Snapshot>, settings: SaSettings) -> Self {
        Self { settings, snapshot }
    }

    /// The snapshot.
    #[inline]
    #[must_use]
    pub const fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Number of entries in the GUIDInfo table of an end port, at least the port GUID.
    pub(crate) fn guid_entries(&self, at: EndPortIdx) -> usize {
        usize::from(self.guid_cap(at))
    }

    /// Number of blocks in the GUIDInfo table of an end port.
    pub(crate) fn guid_blocks(&self, at: EndPortIdx) -> u8 {
        self.guid_cap(at).div_ceil(ENTRIES_PER_BLOCK)
    }

    fn guid_cap(&self, at: EndPortIdx) -> u8 {
        let port = self.port(self.end_port(at).port);
        PortInfo::guid_cap.read(&port.raw).max(1)
    }

    /// The same settings with another snapshot.
    #[must_use]
    pub fn with_snapshot(&self, snapshot: Snapshot) -> Self {
        Self::new(Arc::new(snapshot), self.settings.clone())
    }

    /// Whether a request with this SM_Key is processed: SM_Key 0, or one of the accepted ones
    /// (docs/sm-behaviour.md 7.1).
    #[must_use]
    pub fn accepts_sm_key(&self, key: MKey) -> bool {
        key == MKey::NONE || self.settings.sm_keys.contains(&key)
    }

    /// The end port that sent a request.
    ///
    /// # Errors
    /// No port has its source LID.
    pub fn requester(&self, from: &Peer) -> Result<EndPortIdx, SaRefusal> {
        self.by_lid(from.lid)
            .ok_or(SaRefusal::UnknownSource(from.lid))
    }
}

impl Deref for View {
    type Target = Snapshot;

    #[inline]
    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}
