//! The commands in progress, each answered exactly once.
//!
//! [`CommandTracker`] owns them; the manager starts the work and reports sweeps, roles and
//! handovers to it. Invariants: a command leaves the tracker with its final reply only. A
//! [`Command::Stop`] in progress fails all others and is never dropped: if mastership abandons the
//! handover that it began, the manager begins it again.

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;

use crate::config::key_rotation::KeyKind;
use crate::election::ElectionNotice;
use crate::event::AboutSm;
use crate::io::Output;
use crate::io::commands::{
    Command, CommandFailure, CommandId, CommandOutcome, CommandProgress, CommandReply,
    OperatorChange,
};
use crate::outbox::Outbox;
use crate::report::SweepReport;
use crate::report::routing_failure::RoutingFailure;

/// Most commands in progress; further ones fail.
const COMMANDS_MAX: usize = 64;

/// A command in progress.
#[derive(Debug)]
struct Pending {
    id: CommandId,
    command: Command,
    /// This SM was master when the command was accepted.
    was_master: bool,
    /// The sweep that completes it began: a full sweep; for a change, one of any kind; for
    /// [`Command::Refresh`], a light or full one.
    sweep_started: bool,
    /// Tables were being written when the command was accepted: a handover follows.
    is_deferred: bool,
}

/// The commands in progress.
#[derive(Debug, Default)]
pub(crate) struct CommandTracker {
    pending: Vec<Pending>,
    /// A [`Command::Stop`] was accepted.
    is_stopping: bool,
}

impl CommandTracker {
    /// A command arrived. Returns whether the manager begins it; otherwise it is answered. `master`
    /// is the SM that a standby polls.
    pub(crate) fn accept(
        &mut self,
        out: &mut Outbox,
        (id, command): (CommandId, Command),
        state: SmState,
        master: Option<AboutSm<PortGuid>>,
    ) -> bool {
        let master = master.map(Box::new);
        let rejection = if command == Command::Stop {
            self.is_stopping = true;
            self.fail(out, |c| *c != Command::Stop, |_| CommandFailure::Stopping);
            None
        } else if self.is_stopping {
            Some(CommandFailure::Stopping)
        } else {
            match (&command, state) {
                (Command::Takeover | Command::AcceptRemoval(_), SmState::Master) => {
                    Some(CommandFailure::AlreadyMaster)
                }
                (Command::Takeover | Command::AcceptRemoval(_), SmState::Standby)
                | (Command::Handover, SmState::Discovering)
                | (
                    Command::Sweep | Command::Exclude | Command::Reroute | Command::Handover,
                    SmState::Standby | SmState::NotActive,
                ) => Some(CommandFailure::NotMaster { state, master }),
                (Command::Rotate(..) | Command::Change(_) | Command::Refresh, state)
                    if state != SmState::Master =>
                {
                    Some(CommandFailure::NotMaster { state, master })
                }
                _ => None,
            }
        };
        let is_full = self.pending.len() >= COMMANDS_MAX;
        let rejection = rejection.or_else(|| is_full.then_some(CommandFailure::TooManyCommands));
        if let Some(failure) = rejection {
            reply(out, id, CommandReply::Done(Err(failure)));
            return false;
        }
        reply(out, id, CommandReply::Accepted);
        self.pending.push(Pending {
            id,
            command,
            was_master: state == SmState::Master,
            sweep_started: false,
            is_deferred: false,
        });
        true
    }

    /// A command ends at once.
    pub(crate) fn complete(&self, out: &mut Outbox, id: CommandId, outcome: CommandOutcome) {
        reply(out, id, CommandReply::Done(Ok(outcome)));
    }

    /// A command in progress fails.
    pub(crate) fn fail_one(&mut self, out: &mut Outbox, id: CommandId, failure: &CommandFailure) {
        self.finish(out, |p| p.id == id, |_| Err(failure.clone()));
    }

    /// Whether no command is in progress.
    pub(crate) const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether a command waits for a full sweep.
    pub(crate) fn awaits_full_sweep(&self) -> bool {
        self.pending.iter().any(|p| p.command.is_sweep())
    }

    /// Whether a command wants a full sweep that excludes devices which do not respond.
    pub(crate) fn excludes_unresponsive(&self) -> bool {
        self.pending.iter().any(|p| p.command == Command::Exclude)
    }

    /// Whether a change waits for a sweep.
    pub(crate) fn awaits_change(&self) -> bool {
        self.pending.iter().any(|p| p.command.as_change().is_some())
    }

    /// A light or full sweep began.
    pub(crate) fn on_refresh_started(&mut self) {
        let refreshes = self.pending.iter_mut();
        for pending in refreshes.filter(|p| p.command == Command::Refresh) {
            pending.sweep_started = true;
        }
    }

    /// The SM is idle, and no sweep is requested: what it knows was read again. Returns whether a
    /// [`Command::Refresh`] still waits for a light sweep.
    pub(crate) fn on_refreshed(&mut self, out: &mut Outbox) -> bool {
        let is_refresh = |p: &Pending| p.command == Command::Refresh;
        let is_done = |p: &Pending| is_refresh(p) && p.sweep_started;
        self.finish(out, is_done, |_| Ok(CommandOutcome::Refreshed));
        self.pending.iter().any(is_refresh)
    }

    /// Whether a [`Command::Handover`] is in progress.
    pub(crate) fn awaits_handover(&self) -> bool {
        self.pending.iter().any(|p| p.command == Command::Handover)
    }

    /// The handovers in progress begin when tables are written.
    pub(crate) fn defer_handover(&mut self) {
        let handovers = self.pending.iter_mut();
        for pending in handovers.filter(|p| p.command == Command::Handover) {
            pending.is_deferred = true;
        }
    }

    /// Whether handovers wait until tables are written.
    pub(crate) fn has_deferred_handover(&self) -> bool {
        self.pending.iter().any(|p| p.is_deferred)
    }

    /// Tables are written: returns whether a deferred handover begins now.
    pub(crate) fn take_deferred_handover(&mut self) -> bool {
        let deferred = self.pending.iter_mut().filter(|p| p.is_deferred);
        deferred.map(|p| p.is_deferred = false).count() > 0
    }

    /// Whether a [`Command::Stop`] is in progress.
    pub(crate) fn awaits_stop(&self) -> bool {
        self.pending.iter().any(|p| p.command == Command::Stop)
    }

    /// A sweep of any kind began.
    pub(crate) fn on_sweep_started(&mut self) {
        let changes = self.pending.iter_mut();
        for pending in changes.filter(|p| p.command.as_change().is_some()) {
            pending.sweep_started = true;
        }
    }

    /// A sweep of any kind is complete. `outcome` is that of a change.
    pub(crate) fn on_sweep_done(
        &mut self,
        out: &mut Outbox,
        outcome: impl Fn(&OperatorChange) -> CommandOutcome,
    ) {
        self.pending.retain(|p| match p.command.as_change() {
            Some(change) if p.sweep_started => {
                reply(out, p.id, CommandReply::Done(Ok(outcome(change))));
                false
            }
            Some(_) | None => true,
        });
    }

    /// A full sweep began.
    pub(crate) fn on_full_sweep_started(&mut self, out: &mut Outbox, number: u32) {
        self.on_refresh_started();
        for pending in self.pending.iter_mut().filter(|p| p.command.is_sweep()) {
            pending.sweep_started = true;
            let progress = CommandProgress::SweepStarted(number);
            reply(out, pending.id, CommandReply::Progress(progress));
        }
    }

    /// A full sweep is complete. `rotated` is the outcome of a rotation.
    pub(crate) fn on_full_sweep_done(
        &mut self,
        out: &mut Outbox,
        report: &SweepReport,
        rotated: impl Fn(KeyKind) -> CommandOutcome,
    ) {
        let swept = |pending: &Pending| {
            if let Command::Rotate(kind, _) = pending.command {
                return Ok(rotated(kind));
            }
            Ok(CommandOutcome::Swept {
                number: report.number,
                problems: report.problems.clone(),
                dropped_lids: report.drained_lids,
            })
        };
        self.finish(out, |p| p.command.is_sweep() && p.sweep_started, swept);
    }

    /// No engine found a routing in a sweep. Returns the changes that fail with it.
    pub(crate) fn on_routing_failed(
        &mut self,
        out: &mut Outbox,
        why: &RoutingFailure,
    ) -> Vec<OperatorChange> {
        let has_failed = |p: &Pending| p.sweep_started && p.command != Command::Refresh;
        let failed = self.pending.iter().filter(|p| has_failed(p));
        let changes = failed
            .filter_map(|p| p.command.as_change().cloned())
            .collect();
        let failure = |_: &Pending| Err(CommandFailure::RoutingFailed(Box::new(why.clone())));
        self.finish(out, has_failed, failure);
        changes
    }

    /// The SM's own port has no link.
    pub(crate) fn on_no_link(&mut self, out: &mut Outbox) {
        self.fail(out, |c| *c != Command::Stop, |_| CommandFailure::NoLink);
    }

    /// The state of this SM changed. `handed_to` is the SM that this one handed over to, `master`
    /// the one that a standby polls.
    pub(crate) fn on_role(
        &mut self,
        out: &mut Outbox,
        state: SmState,
        handed_to: Option<AboutSm<PortGuid>>,
        master: Option<AboutSm<PortGuid>>,
    ) {
        if state == SmState::Master {
            let took_over = |p: &Pending| p.command.is_takeover();
            self.finish(out, took_over, |_| Ok(CommandOutcome::TookOver));
            return;
        }
        if let Some(to) = handed_to {
            let handed_over = |p: &Pending| p.command == Command::Handover;
            self.finish(out, handed_over, |_| Ok(CommandOutcome::HandedOver(to)));
        }
        // Discovery may end with mastership.
        let is_impossible = |command: &Command| match command {
            Command::Stop => false,
            Command::Handover | Command::Change(_) | Command::Refresh | Command::Rotate(..) => true,
            Command::Sweep
            | Command::Exclude
            | Command::Reroute
            | Command::Takeover
            | Command::AcceptRemoval(_) => state != SmState::Discovering,
        };
        self.fail(out, is_impossible, |p| {
            let master = master.map(Box::new);
            if p.was_master {
                CommandFailure::MastershipLost { state, master }
            } else {
                CommandFailure::NotMaster { state, master }
            }
        });
    }

    /// No SM took over, or (for [`Command::Stop`]) none is ready yet.
    pub(crate) fn on_not_handed_over(
        &mut self,
        out: &mut Outbox,
        notice: &AboutSm<ElectionNotice>,
    ) {
        self.fail(
            out,
            |c| *c == Command::Handover,
            |_| CommandFailure::NotHandedOver(Box::new(*notice)),
        );
        if matches!(notice.what, ElectionNotice::SuccessorNotReady(_)) {
            for pending in self.pending.iter().filter(|p| p.command == Command::Stop) {
                let progress = CommandProgress::AwaitingSuccessor(Box::new(*notice));
                reply(out, pending.id, CommandReply::Progress(progress));
            }
        }
    }

    /// A handover ended, and this SM is still master.
    pub(crate) fn on_handover_superseded(&mut self, out: &mut Outbox) {
        self.fail(
            out,
            |c| *c == Command::Handover,
            |_| CommandFailure::Superseded,
        );
    }

    /// The process may exit.
    pub(crate) fn on_stopped(
        &mut self,
        out: &mut Outbox,
        handed_to: Option<AboutSm<PortGuid>>,
        was_master: bool,
    ) {
        let outcome = CommandOutcome::Stopped {
            handed_to,
            was_master,
        };
        let stopped = |_: &Pending| Ok(outcome.clone());
        self.finish(out, |p| p.command == Command::Stop, stopped);
    }

    fn fail(
        &mut self,
        out: &mut Outbox,
        which: impl Fn(&Command) -> bool,
        failure: impl Fn(&Pending) -> CommandFailure,
    ) {
        self.finish(out, |p| which(&p.command), |p| Err(failure(p)));
    }

    /// Sends the final replies of commands and removes them.
    fn finish(
        &mut self,
        out: &mut Outbox,
        which: impl Fn(&Pending) -> bool,
        result: impl Fn(&Pending) -> Result<CommandOutcome, CommandFailure>,
    ) {
        self.pending.retain(|pending| {
            if which(pending) {
                reply(out, pending.id, CommandReply::Done(result(pending)));
            }
            !which(pending)
        });
    }
}

fn reply(out: &mut Outbox, id: CommandId, reply: CommandReply) {
    out.push(Output::CommandReply { id, reply });
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::time::Instant;

    use super::*;

    const OTHER: AboutSm<PortGuid> = AboutSm {
        what: PortGuid(7),
        location: None,
    };

    /// The final replies since the last call.
    fn results(out: &mut Outbox) -> Vec<(u64, Result<CommandOutcome, CommandFailure>)> {
        let mut completed = Vec::new();
        while let Some(output) = out.pop(Instant::START) {
            if let Output::CommandReply {
                id,
                reply: CommandReply::Done(result),
            } = output
            {
                completed.push((id.0, result));
            }
        }
        completed
    }

    struct Bench {
        commands: CommandTracker,
        out: Outbox,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                commands: CommandTracker::default(),
                out: Outbox::default(),
            }
        }

        fn accept(&mut self, id: u64, command: Command, state: SmState) -> bool {
            let master = (state == SmState::Standby).then_some(OTHER);
            self.commands
                .accept(&mut self.out, (CommandId(id), command), state, master)
        }

        fn results(&mut self) -> Vec<(u64, Result<CommandOutcome, CommandFailure>)> {
            results(&mut self.out)
        }
    }

    fn report(number: u32) -> SweepReport {
        SweepReport {
            number,
            ..SweepReport::default()
        }
    }

    #[test]
    fn sweep_completes_with_the_first_full_sweep_that_began_after_it() {
        let mut b = Bench::new();
        b.commands.on_full_sweep_started(&mut b.out, 1);
        assert!(b.accept(1, Command::Sweep, SmState::Master));
        b.commands
            .on_full_sweep_done(&mut b.out, &report(1), |_| CommandOutcome::TookOver);
        assert!(b.results().is_empty());
        b.commands.on_full_sweep_started(&mut b.out, 2);
        b.commands
            .on_full_sweep_done(&mut b.out, &report(2), |_| CommandOutcome::TookOver);
        let results = b.results();
        assert!(
            matches!(&results[..], [(1, Ok(CommandOutcome::Swept { number: 2, problems, .. }))] if problems.is_empty())
        );
        assert!(!b.commands.awaits_full_sweep());
    }

    #[test]
    fn standby_rejects_commands_of_a_master() {
        for command in [
            Command::Sweep,
            Command::Reroute,
            Command::Handover,
            Command::Takeover,
        ] {
            let mut b = Bench::new();
            assert!(!b.accept(1, command, SmState::Standby));
            assert!(matches!(
                b.results()[..],
                [(
                    1,
                    Err(CommandFailure::NotMaster {
                        state: SmState::Standby,
                        master: Some(_)
                    })
                )]
            ));
        }
    }

    #[test]
    fn stop_fails_other_commands_and_later_ones() {
        let mut b = Bench::new();
        assert!(b.accept(1, Command::Sweep, SmState::Master));
        assert!(b.accept(2, Command::Handover, SmState::Master));
        assert!(b.accept(3, Command::Stop, SmState::Master));
        assert!(!b.accept(4, Command::Reroute, SmState::Master));
        let failed = b.results();
        let ids: Vec<u64> = failed.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 2, 4]);
        assert!(
            failed
                .iter()
                .all(|(_, r)| matches!(r, Err(CommandFailure::Stopping)))
        );
        assert!(b.commands.awaits_stop());
        b.commands.on_stopped(&mut b.out, Some(OTHER), true);
        let outcome = CommandOutcome::Stopped {
            handed_to: Some(OTHER),
            was_master: true,
        };
        assert!(matches!(&b.results()[..], [(3, Ok(o))] if *o == outcome));
    }

    #[test]
    fn lost_mastership_fails_commands() {
        let mut b = Bench::new();
        b.accept(1, Command::Sweep, SmState::Master);
        b.accept(2, Command::Handover, SmState::Master);
        b.commands
            .on_role(&mut b.out, SmState::Discovering, None, None);
        assert!(matches!(
            b.results()[..],
            [(2, Err(CommandFailure::MastershipLost { .. }))]
        ));
        b.commands
            .on_role(&mut b.out, SmState::Standby, None, Some(OTHER));
        assert!(matches!(
            b.results()[..],
            [(1, Err(CommandFailure::MastershipLost { .. }))]
        ));
    }

    #[test]
    fn commands_in_progress_are_bounded() {
        let mut b = Bench::new();
        for id in 0..COMMANDS_MAX as u64 {
            assert!(b.accept(id, Command::Sweep, SmState::Master));
        }
        assert!(!b.accept(99, Command::Sweep, SmState::Master));
        assert!(matches!(
            b.results()[..],
            [(99, Err(CommandFailure::TooManyCommands))]
        ));
        // A Stop fails all others, so it is within the limit.
        assert!(b.accept(100, Command::Stop, SmState::Master));
        assert_eq!(b.results().len(), COMMANDS_MAX);
    }
}
