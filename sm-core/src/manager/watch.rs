//! Staying in charge: light sweeps, and which sweep follows what (behaviour rule 5).
//!
//! A light sweep asks every switch whether a port changed. A trap ([`super::traps`]) names a switch or a port. Either way only what
//! was named is read again, and what is found behind it; the whole fabric is read only at the start, on request, and when the
//! SM's own port changes. Looks at what was named do not put light sweeps off, however often they come.

use core::time::Duration;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::time::Instant;

use super::{Stage, SubnetManager};
use crate::io::{Event, LocalPortEvent};
use crate::report::QuarantineReason;
use crate::smp::op::SmpOp;
use crate::subnet::{Node, NodeIdx, PortRef};

/// Time between light sweeps that traps ask for, and between looks at places whose traps do not end.
pub(super) const LIGHT_SPACING: Duration = Duration::from_secs(1);

/// A sweep that is to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    /// A light one before its time.
    Light,
    /// Of what is suspected.
    Local,
    /// Of everything.
    Full,
}

/// After answers that never came, or cables that contradict each other, a local view may be wrong in a way that nothing
/// tells any more. A full sweep settles it, once there is no more such trouble (a full sweep believes silence); where it
/// does not, the next one waits twice as long.
#[derive(Debug, Default)]
pub(super) struct SecondLook {
    doubtful: bool,
    last_doubt: Instant,
    last_full: Instant,
    pause: Duration,
}

impl SecondLook {
    /// Light sweeps without trouble before the full sweep.
    const LIGHT_SWEEPS: u32 = 3;
    /// How often the pause is doubled.
    const DOUBLINGS: u32 = 5;

    /// Something was not as it should be.
    pub(super) const fn doubt(&mut self, now: Instant) {
        self.doubtful = true;
        self.last_doubt = now;
    }

    /// Cables contradict each other. That may go on until the full sweep, which must not wait for its end.
    pub(super) const fn doubt_cables(&mut self, now: Instant) {
        if !self.doubtful {
            self.doubt(now);
        }
    }

    /// A full sweep begins: what was doubtful is looked at.
    pub(super) fn begin(&mut self, now: Instant, interval: Duration) {
        let least = interval * Self::LIGHT_SWEEPS;
        let most = least * (1 << Self::DOUBLINGS);
        self.pause = if self.doubtful {
            (self.pause * 2).clamp(least, most)
        } else {
            least
        };
        self.doubtful = false;
        self.last_full = now;
    }

    fn is_due(&self, now: Instant, interval: Duration) -> bool {
        self.doubtful
            && now.since(self.last_doubt) >= interval * Self::LIGHT_SWEEPS
            && now.since(self.last_full) >= self.pause
    }
}

impl SubnetManager {
    /// Has all switches asked soon, but not again and again.
    pub(super) fn want_light(&mut self) {
        self.wanted_sweep = self.wanted_sweep.max(Some(Wanted::Light));
    }

    pub(super) fn want_full(&mut self) {
        self.wanted_sweep = Some(Wanted::Full);
    }

    pub(super) fn on_local_port(&mut self, event: LocalPortEvent) {
        match event {
            // The SM's own activation of the port comes back as this event.
            LocalPortEvent::Up if self.stage != Stage::NoLink && self.role() == SmState::Master => {
            }
            LocalPortEvent::Up | LocalPortEvent::Down => self.want_full(),
            LocalPortEvent::Changed => {
                if let Some(local) = self.subnet.local() {
                    self.suspect_ports.insert(local);
                    self.want_local();
                }
            }
        }
    }

    /// Has the suspects looked at: at once where the SM is looking anyway, otherwise when it is idle.
    pub(super) fn want_local(&mut self) {
        if self.is_looking() && self.sweep.local {
            self.ask_suspects();
        } else {
            self.wanted_sweep = self.wanted_sweep.max(Some(Wanted::Local));
        }
    }

    /// Nothing is outstanding: begin what is wanted, or what the clock says.
    pub(super) fn on_idle(&mut self) {
        if self.stage == Stage::Standby {
            // The master looks after the fabric; this SM only looks after the master, or does nothing.
            self.wanted_sweep = None;
        }
        match (self.stage, self.wanted_sweep) {
            (_, Some(Wanted::Full)) => {
                self.begin_full_sweep();
                return;
            }
            // One look after another would leave no time for light sweeps: one that is late goes first.
            (Stage::Idle, Some(Wanted::Local)) if self.is_master() && !self.timer_is_late() => {
                self.begin_local_sweep();
                return;
            }
            (Stage::Idle, Some(Wanted::Light)) if self.is_master() => {
                self.wanted_sweep = None;
                let soon = self.last_light + LIGHT_SPACING;
                self.timer = Some(self.timer.map_or(soon, |t| t.min(soon)));
            }
            _ => {}
        }
        if !self.timer_is_due() {
            return;
        }
        self.timer = None;
        match self.stage {
            Stage::NoLink => self.begin_full_sweep(),
            Stage::Idle if self.is_master() => self.begin_light_sweep(),
            Stage::Standby
            | Stage::Looking
            | Stage::Yielding
            | Stage::Recalling
            | Stage::Idle
            | Stage::Light
            | Stage::Multicast
            | Stage::Asked
            | Stage::Sweep(_) => {}
        }
    }

    pub(super) fn arm_timer(&mut self, after: Duration) {
        self.timer = (!after.is_zero()).then(|| self.now + after);
    }

    fn timer_is_due(&self) -> bool {
        self.timer.is_some_and(|t| t <= self.now)
    }

    fn timer_is_late(&self) -> bool {
        self.timer.is_some_and(|t| t + LIGHT_SPACING <= self.now)
    }

    fn begin_light_sweep(&mut self) {
        self.stage = Stage::Light;
        self.last_light = self.now;
        let switches: Vec<NodeIdx> = self.subnet.switches().map(|(i, _)| i).collect();
        for n in switches {
            self.enqueue(SmpOp::SwitchInfo(n));
        }
        for p in self.sm_ports() {
            self.enqueue(SmpOp::SmInfo(p));
        }
        // Nobody else would tell that this port lost its link.
        if let Some(local) = self.subnet.local() {
            self.enqueue(SmpOp::PortInfo(local));
        }
        let undescribed: Vec<NodeIdx> = self
            .subnet
            .nodes()
            .filter(|(_, n)| !n.described)
            .map(|(i, _)| i)
            .collect();
        for n in undescribed {
            self.enqueue(SmpOp::NodeDescription(n));
        }
        if self.smps.is_idle() {
            self.finish_light_sweep();
        }
    }

    pub(super) fn finish_light_sweep(&mut self) {
        self.stage = Stage::Idle;
        self.arm_timer(self.cfg.sweep_interval);
        self.look_wanted = false;
        self.looked();
        if self.stage != Stage::Idle {
            // Another SM is to be master, or is one.
            return;
        }
        self.suspects.append(&mut self.unsure);
        self.suspect_ports.append(&mut self.unsure_ports);
        for p in self.silent_ports() {
            self.suspect_ports.insert(p);
            for rival in self.rivals_of(p) {
                if let Some(port) = self.subnet.port_mut(rival) {
                    port.unproven = true;
                }
                self.suspect_ports.insert(rival);
            }
        }
        if self.second_look.is_due(self.now, self.cfg.sweep_interval) {
            self.emit(Event::Noticed(
                "not all was as it should be: looking at everything".to_owned(),
            ));
            self.want_full();
            return;
        }
        if self.suspects.is_empty() && self.suspect_ports.is_empty() && !self.dirty {
            return;
        }
        self.emit(Event::Noticed(format!(
            "{} switches and {} ports to look at",
            self.suspects.len(),
            self.suspect_ports.len()
        )));
        self.want_local();
    }

    /// Ports that are up with nobody known behind them, or somebody who was left out: it may be different by now.
    fn silent_ports(&self) -> Vec<PortRef> {
        let mut ports = Vec::new();
        let local = self.subnet.local();
        for (n, node) in self.subnet.nodes() {
            for p in node.physical_ports().map(|p| PortRef::new(n, p)) {
                if (node.is_switch() || local == Some(p)) && self.is_silent(p) {
                    ports.push(p);
                }
            }
        }
        ports
    }

    fn is_silent(&self, p: PortRef) -> bool {
        let far = self.subnet.peer(p).and_then(|far| self.subnet.port(far));
        self.subnet.port(p).is_some_and(|port| port.is_up())
            && far.is_none_or(|far| far.quarantine.is_some())
    }

    /// Switch ports in front of those whose GUID somebody behind `p` uses too: they may have given it up.
    fn rivals_of(&self, p: PortRef) -> Vec<PortRef> {
        let why = |p: PortRef| self.subnet.port(p).and_then(|port| port.quarantine.clone());
        let owner = match why(p).or_else(|| self.subnet.peer(p).and_then(why)) {
            Some(QuarantineReason::DuplicatePortGuid(guid)) => {
                self.subnet.port_by_guid(guid).map(|p| p.node)
            }
            Some(QuarantineReason::DuplicateNodeGuid(guid)) => self.subnet.node_by_guid(guid),
            Some(
                QuarantineReason::Garbage(_)
                | QuarantineReason::NoAnswer
                | QuarantineReason::TooFar,
            )
            | None => None,
        };
        let Some((n, node)) = owner.and_then(|n| Some((n, self.subnet.get(n)?))) else {
            return Vec::new();
        };
        node.physical_ports()
            .filter_map(|port| self.subnet.peer(PortRef::new(n, port)))
            .filter(|far| self.subnet.get(far.node).is_some_and(Node::is_switch))
            .collect()
    }
}
