//! Staying in charge: light sweeps, traps, and what they make the SM look at (behaviour rules 5 and 6).
//!
//! A light sweep asks every switch whether a port changed. A trap names a switch or a port. Either way only what was named
//! is read again, and what is found behind it; the whole fabric is read only at the start, on request, and when the SM's
//! own port changes.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::attr::{
    LinkErrorDetails, LocalChangeDetails, Notice, PortStateDetails, SmState, SystemImageDetails,
    TrapNumber, id,
};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::mad::{Address, MadIn, Method, MgmtClass};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use super::ask::Ask;
use super::{Stage, SubnetManager};
use crate::io::Event;
use crate::report::QuarantineReason;
use crate::subnet::{Node, NodeIdx, PortRef};

/// A sweep that is to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
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

impl SubnetManager {
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
        if self.stage == Stage::Standby || self.role == SmState::NotActive {
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
            _ => {}
        }
        if !self.timer_is_due() {
            return;
        }
        self.timer = None;
        match self.stage {
            Stage::NoLink => self.begin_full_sweep(),
            Stage::Standby => self.poll_master(),
            Stage::Idle if self.is_master() => self.begin_light_sweep(),
            Stage::Idle | Stage::Light | Stage::Sweep(_) => {}
        }
    }

    fn begin_light_sweep(&mut self) {
        self.stage = Stage::Light;
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
        if self.requester.is_idle() {
            self.finish_light_sweep();
        }
    }

    pub(super) fn finish_light_sweep(&mut self) {
        self.stage = Stage::Idle;
        self.arm_timer(self.cfg.sweep_interval);
        if self.yield_to_better() {
            return;
        }
        for n in core::mem::take(&mut self.unsure) {
            self.suspects.insert(n);
        }
        let unanswered: Vec<PortRef> = self.silent_ports();
        self.suspect_ports.extend(unanswered);
        if core::mem::take(&mut self.retry) {
            self.suspects.extend(self.half_done_switches());
        }
        if self.suspects.is_empty() && self.suspect_ports.is_empty() {
            return;
        }
        self.emit(Event::Noticed(format!(
            "{} switches and {} ports to look at",
            self.suspects.len(),
            self.suspect_ports.len()
        )));
        self.want_local();
    }

    /// Ports that are up with nobody known behind them: whoever is there may answer by now.
    fn silent_ports(&self) -> Vec<PortRef> {
        let mut ports = Vec::new();
        for (n, node) in self.subnet.nodes().filter(|(_, n)| n.is_switch()) {
            for p in node.physical_ports() {
                let silent = node.ports.get(p.index()).is_some_and(|port| {
                    port.is_up()
                        && port.link.is_none()
                        && matches!(
                            port.quarantine,
                            None | Some(QuarantineReason::NoAnswer | QuarantineReason::Garbage(_))
                        )
                });
                if silent {
                    ports.push(PortRef::new(n, p));
                }
            }
        }
        ports
    }

    /// Switches whose table is not known to be right, or with a link that did not come up.
    fn half_done_switches(&self) -> Vec<NodeIdx> {
        let local = self.subnet.local();
        self.subnet
            .nodes()
            .filter(|(_, n)| n.is_switch())
            .filter(|(i, n)| {
                n.installed.is_none()
                    || n.ports.iter().any(|p| p.link.is_some() && p.state().0 < 4)
                    || local.is_some_and(|l| l.node == *i)
            })
            .map(|(i, _)| i)
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
                self.want_full();
            }
            return;
        };
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
        let flags = if change.other_local_changes {
            change.change_flags
        } else {
            0
        };
        if flags & LocalChangeDetails::NODE_DESCRIPTION != 0 {
            self.ask(Ask::Description(at.node));
            if flags == LocalChangeDetails::NODE_DESCRIPTION {
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
        let mut mad = received.mad;
        let mut header = mad.header();
        header.method = Method::TrapRepress;
        header.mgmt_class = MgmtClass::SubnLid;
        header.status = 0;
        mad.set_header(&header);
        smp::LidRoutedHeader {
            m_key: self.cfg.m_key,
        }
        .encode_onto(mad.as_bytes_mut());
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
