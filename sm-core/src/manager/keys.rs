//! Calls [`crate::keys`]: which M_Key and SM_Key are in force, and who has them.

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::MKey;

use super::SubnetManager;
use crate::config::key_rotation::{KeyKind, KeyRotation};
use crate::event::Event;
use crate::io::commands::{CommandFailure, CommandId};
use crate::records::{Record, RecordUpdate};
use crate::report::m_keys::{MKeyReport, SmKeyReport};

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

    /// Which other SMs have which SM_Key.
    #[must_use]
    pub fn sm_key_report(&self) -> SmKeyReport {
        let other_sms = self.mastership.other_sms(&self.cfg);
        let earlier = other_sms.filter(|(_, info)| info.sm_key != self.cfg.sm_key);
        SmKeyReport {
            is_rotated: self.sm_key.is_rotated(),
            earlier: earlier.map(|(_, info)| info.guid).collect(),
        }
    }

    /// Puts another key in force. It is persisted and replicated before a device gets it.
    pub(super) fn rotate_key(&mut self, id: CommandId, kind: KeyKind, key: MKey) {
        let in_force = match kind {
            KeyKind::MKey => self.cfg.m_key,
            KeyKind::SmKey => self.cfg.sm_key,
        };
        if key == in_force || key == MKey::NONE {
            let failure = CommandFailure::KeyInForce(kind);
            self.commands.fail_one(&mut self.outbox, id, &failure);
            return;
        }
        match kind {
            KeyKind::MKey => {
                let update = self.keys.rotate(key);
                self.outbox.persist(vec![update]);
                self.emit(Event::MKeyRotated);
                self.update_m_key();
            }
            KeyKind::SmKey => {
                let rotation = self.sm_key.rotate(kind, key);
                let update = RecordUpdate::Put(Record::KeyRotation(rotation));
                self.outbox.persist(vec![update]);
                self.update_sm_key();
            }
        }
        self.request_full_sweep();
    }

    /// A replica of a standby has another rotated key. As master, this SM has rotated the key
    /// itself.
    pub(super) fn on_key_rotation(&mut self, kind: KeyKind, rotation: Option<KeyRotation>) {
        if self.role() == SmState::Master {
            return;
        }
        match kind {
            KeyKind::MKey => {
                let before = self.cfg.m_key;
                self.keys.set_rotation(rotation);
                self.update_m_key();
                if self.cfg.m_key != before {
                    self.emit(Event::MKeyRotated);
                }
            }
            KeyKind::SmKey => {
                self.sm_key.set_rotation(rotation);
                self.update_sm_key();
            }
        }
    }

    /// Another SM_Key may be in force. The earlier one is accepted until no other SM shows it, so
    /// that SMs which change their keys one after the other do not ignore each other.
    pub(super) fn update_sm_key(&mut self) {
        if self.is_master() && self.sm_key.take_replaced() {
            let removed = RecordUpdate::Remove(Record::key_rotation_key(KeyKind::SmKey));
            self.outbox.persist(vec![removed]);
        }
        let before = self.cfg.sm_key;
        let in_force = self.sm_key.in_force();
        if in_force == before {
            return;
        }
        self.cfg.sm_key = in_force;
        self.cfg.earlier_sm_key = before;
        self.emit(Event::SmKeyRotated);
    }

    /// Other SMs responded: the earlier SM_Key is not accepted any more if all show the new one.
    pub(super) fn retire_sm_key(&mut self) {
        if self.cfg.earlier_sm_key != MKey::NONE && self.mastership.count_sm_keys(&self.cfg).1 == 0
        {
            self.cfg.earlier_sm_key = MKey::NONE;
            if self.activity.is_idle() {
                // The SA gets its settings at the end of a sweep.
                self.request_local_sweep();
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
