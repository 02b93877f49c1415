//! Operator commands ([`crate::commands`]): starts them, and restarts what an input
//! interrupted.

use ferrosm_mad::attr::SmState;

use super::SubnetManager;
use crate::election::{self, AfterHandover};
use crate::io::commands::{Command, CommandId, CommandOutcome};
use crate::mfts::common_mlid_count;
use crate::sweep::activity::Activity;

impl SubnetManager {
    pub(super) fn on_command(&mut self, id: CommandId, command: Command) {
        let (state, master) = (self.role(), self.polled_master());
        let is_accepted =
            matches!(command, Command::AcceptRemoval(kind) if self.accept_removal(kind));
        if is_accepted && matches!(state, SmState::Master | SmState::Standby) {
            let is_master = state == SmState::Master;
            let outcome = CommandOutcome::Accepted { is_master };
            self.commands.complete(&mut self.outbox, id, outcome);
            return;
        }
        let issued = (id, command.clone());
        // A standby whose master does not respond discovers the subnet at once, as if it had just
        // started, and yields if it finds a master.
        let discovers = command == Command::Takeover && self.mastership.doubts_master();
        let issued_in = if discovers {
            SmState::Discovering
        } else {
            state
        };
        if !self
            .commands
            .accept(&mut self.outbox, issued, issued_in, master)
        {
            return;
        }
        match command {
            Command::Sweep | Command::Exclude => {
                self.surveys.end_delays();
                self.request_full_sweep();
            }
            Command::Reroute => {
                self.routing.rebalance();
                if let Some(count) = common_mlid_count(&self.fabric) {
                    self.sa.move_groups_below(count);
                }
                self.request_full_sweep();
            }
            // Another master begins with a sweep of its own: tables that are half written are
            // completed first.
            Command::Handover
                if self.activity().is_writing()
                    && self.mastership.may_have_successor(&self.fabric, &self.cfg) =>
            {
                self.commands.defer_handover();
            }
            Command::Handover => self.begin_handover(AfterHandover::StandBy),
            Command::Takeover | Command::AcceptRemoval(_) => {
                self.step_election(election::ElectionInput::TakeOver);
            }
            Command::Stop => self.begin_handover(AfterHandover::Stop),
            Command::Refresh => self.schedule.request_light(),
            Command::Change(change) => self.begin_change(id, change),
            Command::Rotate(kind, key) => self.rotate_key(id, kind, key),
        }
    }

    /// Advances the SM, then checks that the work of each command is still in progress: a handover
    /// or sweep may have been abandoned.
    pub(super) fn advance_with_commands(&mut self) {
        self.advance();
        if self.commands.is_empty() {
            return;
        }
        if !self.activity().is_writing() && self.commands.take_deferred_handover() {
            self.begin_handover(AfterHandover::StandBy);
            self.advance();
        }
        let is_handing_over =
            self.commands.has_deferred_handover() || self.mastership.is_handing_over();
        if self.commands.awaits_handover() && !is_handing_over {
            self.commands.on_handover_superseded(&mut self.outbox);
        }
        if self.commands.awaits_stop() && !self.mastership.is_stopping() {
            self.begin_handover(AfterHandover::Stop);
            self.advance();
        }
        if self.commands.awaits_full_sweep()
            && matches!(self.activity, Activity::Idle)
            && !self.schedule.is_full_sweep_requested()
        {
            self.request_full_sweep();
            self.advance();
        }
        if matches!(self.activity, Activity::Idle)
            && !self.schedule.is_requested()
            && self.commands.on_refreshed(&mut self.outbox)
        {
            self.schedule.request_light();
            self.advance();
        }
        if self.commands.awaits_change()
            && matches!(self.activity, Activity::Idle)
            && !self.schedule.is_requested()
        {
            self.request_local_sweep();
            self.advance();
        }
    }
}
