//! Calls [`crate::keys`]: which M_Key is in force, and who has it.

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::MKey;

use super::SubnetManager;
use crate::config::m_key_rotation::MKeyRotation;
use crate::event::Event;
use crate::io::commands::{CommandFailure, CommandId};
use crate::report::m_keys::MKeyReport;

impl SubnetManager {
    /// Which ports and SMs have which M_Key.
    #[must_use]
    pub fn m_key_report(&self) -> MKeyReport {
        let mut report = self.keys.report(&self.fabric);
        let other_sms = self.mastership.other_sms(&self.cfg);
        report.sms = other_sms
            .map(|(_, info)| (info.guid, self.mastership.m_key_of(info.guid)))
            .collect();
        report
    }

    /// Puts another M_Key in force. It is persisted and replicated before a port gets it.
    pub(super) fn rotate_m_key(&mut self, id: CommandId, m_key: MKey) {
        if m_key == self.cfg.m_key || m_key == MKey::NONE {
            let failure = CommandFailure::MKeyInForce;
            self.commands.fail_one(&mut self.outbox, id, &failure);
            return;
        }
        let update = self.keys.rotate(m_key);
        self.outbox.persist(vec![update]);
        self.emit(Event::MKeyRotated);
        self.update_m_key();
        self.request_full_sweep();
    }

    /// A replica of a standby has another rotated key. As master, this SM has rotated the key
    /// itself.
    pub(super) fn on_m_key_rotation(&mut self, rotation: Option<MKeyRotation>) {
        if self.role() != SmState::Master {
            let before = self.cfg.m_key;
            self.keys.set_rotation(rotation);
            self.update_m_key();
            if self.cfg.m_key != before {
                self.emit(Event::MKeyRotated);
            }
        }
    }

    /// Another M_Key may be in force: ports get it from now on, also within a sweep.
    pub(super) fn update_m_key(&mut self) {
        let before = self.cfg.m_key;
        self.cfg.m_key = self.keys.in_force();
        self.keys.change_in_force(before, self.cfg.m_key);
        if self.is_master() {
            with_ctx!(self, |ctx| self.keys.persist_change(ctx, self.lids.map()));
        } else if self.role() == SmState::Standby && before != self.cfg.m_key {
            with_ctx!(self, |ctx| self.keys.persist_as_standby(ctx));
        }
    }
}
