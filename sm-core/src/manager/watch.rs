//! Staying in charge: light sweeps, traps, and what they make the SM look at (behaviour rules 5 and 6).
//!
//! A light sweep asks every switch whether a port changed. A trap names a switch or a port. Either way only what was named
//! is read again, and what is found behind it; the whole fabric is read only at the start, on request, and when the SM's
//! own port changes.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::attr::{
    LinkErrorDetails, LocalChangeDetails, Notice, PortStateDetails, SystemImageDetails, TrapNumber,
    id,
};
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::mad::{Address, MadIn, Method, MgmtClass};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use super::ask::Ask;
use super::{Stage, SubnetManager};
use crate::io::Event;
use crate::report::QuarantineReason;
use crate::subnet::{Node, NodeIdx, PortRef};

/// Time between light sweeps that traps ask for.
const LIGHT_SPACING: Duration = Duration::from_secs(1);

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

/// Recognises a trap that comes again and again (rule 6.5).
#[derive(Debug, Default)]
pub(super) struct TrapCounter {
    seen: BTreeMap<(u16, Lid, PortNum), (u32, Instant)>,
}

impl TrapCounter {
    /// Traps of one kind from one place that are acted upon before the place counts as noisy.
    const NOISY: u32 = 10;
    /// Silence after which a place is no longer noisy.
    const CALM: Duration = Duration::from_secs(5);
    /// Places that are remembered; beyond that the calm ones are forgotten.
    const MAX: usize = 4096;

    /// Counts a trap; false when its place is noisy.
    fn is_worth_it(&mut self, number: u16, lid: Lid, port: PortNum, now: Instant) -> bool {
        if self.seen.len() >= Self::MAX {
            self.seen
                .retain(|_, (_, last)| now.since(*last) < Self::CALM);
            if self.seen.len() >= Self::MAX {
                // A flood from everywhere: the light sweeps find what is behind it.
                return false;
            }
        }
        let (count, last) = self.seen.entry((number, lid, port)).or_insert((0, now));
        *count = if now.since(*last) < Self::CALM {
            *count + 1
        } else {
            1
        };
        *last = now;
        *count <= Self::NOISY
    }
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
    fn want_light(&mut self) {
        self.wanted_sweep = self.wanted_sweep.max(Some(Wanted::Light));
    }

    pub(super) fn want_full(&mut self) {
        self.wanted_sweep = Some(Wanted::Full);
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
            (Stage::Idle, Some(Wanted::Local)) if self.is_master() => {
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

    fn begin_light_sweep(&mut self) {
        self.stage = Stage::Light;
        self.last_light = self.now;
        let switches: Vec<NodeIdx> = self
            .subnet
            .nodes()
            .filter(|(_, n)| n.is_switch())
            .map(|(i, _)| i)
            .collect();
        for n in switches {
            self.ask(Ask::Switch(n));
        }
        for p in self.sm_ports() {
            self.ask(Ask::Sm(p));
        }
        // Nobody else would tell that this port lost its link.
        if let Some(local) = self.subnet.local() {
            self.ask(Ask::Port(local));
        }
        let undescribed: Vec<NodeIdx> = self
            .subnet
            .nodes()
            .filter(|(_, n)| !n.described)
            .map(|(i, _)| i)
            .collect();
        for n in undescribed {
            self.ask(Ask::Description(n));
        }
        if self.requester.is_idle() {
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

    pub(super) fn on_trap(&mut self, received: &MadIn) {
        // Others than the master leave the sender to repeat it (rule 6.2).
        if !self.is_master() {
            return;
        }
        let notice = Notice::decode(smp::data(&received.mad));
        self.repress(received);
        let number = notice.trap_number;
        if !notice.is_generic {
            let lid = notice.issuer_lid;
            if self
                .traps
                .is_worth_it(number.0, lid, PortNum::ZERO, self.now)
            {
                self.forward(&notice, self.subnet.port_by_lid(lid));
            }
            return;
        }
        let details = &notice.data_details;
        let (lid, port) = match number {
            TrapNumber::LinkStateChange => (PortStateDetails::decode(details).lid, PortNum::ZERO),
            TrapNumber::LocalLinkIntegrity
            | TrapNumber::BufferOverrun
            | TrapNumber::FlowControl => {
                let d = LinkErrorDetails::decode(details);
                (d.lid, d.port_num)
            }
            TrapNumber::LocalChange => (LocalChangeDetails::decode(details).lid, PortNum::ZERO),
            TrapNumber::SystemImageGuid => (SystemImageDetails::decode(details).lid, PortNum::ZERO),
            _ => (notice.issuer_lid, PortNum::ZERO),
        };
        let lid = if lid.is_unicast() {
            lid
        } else {
            notice.issuer_lid
        };
        let place = self.subnet.port_by_lid(lid);
        let at = place.map(|p| {
            let is_switch = self.subnet.get(p.node).is_some_and(Node::is_switch);
            if is_switch && port != PortNum::ZERO {
                PortRef::new(p.node, port)
            } else {
                p
            }
        });
        self.emit(Event::Trap {
            number: number.0,
            place: at.map_or_else(|| format!("LID {lid}"), |p| self.subnet.describe(p)),
        });
        if !self.traps.is_worth_it(number.0, lid, port, self.now) {
            return;
        }
        let Some(at) = at else {
            // Somebody whom the SM does not know: the fabric is not what it was.
            if number == TrapNumber::LinkStateChange {
                self.want_light();
            }
            return;
        };
        self.forward(&notice, Some(at));
        match number {
            TrapNumber::LinkStateChange => {
                self.suspects.insert(at.node);
                self.want_local();
            }
            TrapNumber::LocalLinkIntegrity
            | TrapNumber::BufferOverrun
            | TrapNumber::FlowControl => {
                self.suspect_ports.insert(at);
                self.want_local();
            }
            TrapNumber::LocalChange => {
                self.on_local_change(at, &LocalChangeDetails::decode(details))
            }
            TrapNumber::SystemImageGuid => {
                let guid = SystemImageDetails::decode(details).system_image_guid;
                if let Some(node) = self.subnet.get_mut(at.node) {
                    node.info.system_image_guid = guid;
                }
            }
            _ => {}
        }
    }

    /// Trap 144: a description is read again by itself; anything else makes the port be read, and a priority makes the
    /// other SMs be asked.
    fn on_local_change(&mut self, at: PortRef, change: &LocalChangeDetails) {
        let flags = flags_of(change);
        if flags & LocalChangeDetails::NODE_DESCRIPTION != 0 {
            if let Some(node) = self.subnet.get_mut(at.node) {
                node.described = false;
            }
            self.ask(Ask::Description(at.node));
            if flags == LocalChangeDetails::NODE_DESCRIPTION {
                return;
            }
        }
        if flags & LocalChangeDetails::SM_PRIORITY != 0 {
            self.elect(crate::election::Input::PriorityTrap);
            if flags == LocalChangeDetails::SM_PRIORITY {
                return;
            }
        }
        self.suspect_ports.insert(at);
        self.want_local();
    }

    /// Tells the sender that its trap has arrived (rule 6.1), also where the trap is ignored (rule 6.6).
    fn repress(&mut self, received: &MadIn) {
        let to_lid = match received.from.lid {
            // From the SM's own node.
            Lid::NONE | Lid::PERMISSIVE => match self.sm_lid() {
                Some(lid) => lid,
                None => return,
            },
            lid => lid,
        };
        let sender = self.subnet.port_by_lid(to_lid);
        let believed = sender.map_or(MKey::NONE, |p| self.m_key_of(p));
        let m_key = if believed == MKey::NONE {
            self.cfg.m_key
        } else {
            believed
        };
        let mut mad = received.mad;
        let mut header = mad.header();
        header.method = Method::TrapRepress;
        header.mgmt_class = MgmtClass::SubnLid;
        header.status = 0;
        mad.set_header(&header);
        smp::LidRoutedHeader { m_key }.encode_onto(mad.as_bytes_mut());
        debug_assert_eq!(mad.attr_id(), id::NOTICE);
        self.reply(
            Address {
                lid: to_lid,
                ..received.from
            },
            mad,
        );
    }
}

/// What trap 144 says has changed; nothing where its flags do not count.
pub(super) const fn flags_of(change: &LocalChangeDetails) -> u16 {
    if change.other_local_changes {
        change.change_flags
    } else {
        0
    }
}
