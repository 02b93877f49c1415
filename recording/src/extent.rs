//! What recordings have besides the inputs.

use serde::{Deserialize, Serialize};

/// What a recording has besides the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordingExtent {
    /// Digests of all outputs with each input.
    Everything,
    /// Digests of MADs, events and replies to commands, with every 256th input: cheap enough to be
    /// always on.
    Traffic,
}
