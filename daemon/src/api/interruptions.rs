//! Links that went down for a moment, which no sweep saw.

use std::sync::Arc;

use ferrosm_fabric::location::PortName;

use super::published::{Published, key_of_ends};

impl Published {
    /// A link that is up went down for a moment.
    pub fn link_interrupted(&self, ends: [PortName; 2]) {
        self.publish_detail(|state, now| {
            if let Some(key) = key_of_ends(ends)
                && let Some(fabric) = &mut state.fabric
            {
                let history = Arc::make_mut(&mut fabric.history);
                history.record_interruption(&fabric.snapshot, key, now);
            }
        });
    }
}
