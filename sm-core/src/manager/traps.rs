//! Traps: what devices tell by themselves, and what the SM looks at because of it (behaviour rules 6.1 to 6.6).
//!
//! Each is repressed. What it names is looked at soon after. A place that tells the same again and again is noisy: then what it names is
//! put off, and looked at together with what all other noisy places named, about once a second. So a flood costs one look a second
//! whatever its rate, and whatever changed before the last trap is looked at after it. Subscribers hear nothing of noisy places.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::{
    LinkErrorDetails, LocalChangeDetails, Notice, PortStateDetails, SystemImageDetails, TrapNumber,
    id,
};
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::mad::{Address, MadIn, Method, MgmtClass};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use super::watch::LIGHT_SPACING;
use crate::io::Event;
use crate::keys::reported_key;
use crate::smp::op::SmpOp;
use crate::subnet::{Node, NodeIdx, PortRef};

/// What a trap makes the SM look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// All ports of a switch.
    Switch(NodeIdx),
    /// One port.
    Port(PortRef),
    /// A node's description.
    Description(NodeIdx),
    /// The other SMs.
    Sms,
}

/// Recognises traps that come again and again (rule 6.5), and keeps what they name until it is looked at.
#[derive(Debug, Default)]
pub(super) struct Traps {
    /// By kind and place: how many came in a row, and when the last one.
    seen: BTreeMap<(u16, Lid, PortNum), (u32, Instant)>,
    /// What noisy places named since they were last looked at. Only what the SM knows is in it, so the fabric bounds it.
    put_off: BTreeSet<Look>,
    /// That is looked at no earlier.
    rest_until: Instant,
}

impl Traps {
    /// Traps of one kind from one place that are acted upon before the place counts as noisy.
    const NOISY: u32 = 10;
    /// Silence after which a place is no longer noisy.
    const CALM: Duration = Duration::from_secs(5);
    /// Places that are remembered; beyond that the calm ones are forgotten, and what comes from further ones counts as noise.
    const MAX: usize = 4096;

    /// Counts a trap; whether its place is noisy.
    fn is_noise(&mut self, number: u16, lid: Lid, port: PortNum, now: Instant) -> bool {
        if self.seen.len() >= Self::MAX {
            self.seen
                .retain(|_, (_, last)| now.since(*last) < Self::CALM);
            if self.seen.len() >= Self::MAX {
                return true;
            }
        }
        let (count, last) = self.seen.entry((number, lid, port)).or_insert((0, now));
        *count = if now.since(*last) < Self::CALM {
            count.saturating_add(1)
        } else {
            1
        };
        *last = now;
        *count > Self::NOISY
    }

    /// When noisy places are to be looked at again; `None` if they said nothing since they were.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.put_off.is_empty()).then_some(self.rest_until)
    }

    /// All of it, if it is time.
    fn take_due(&mut self, now: Instant) -> BTreeSet<Look> {
        if self.due().is_none_or(|due| due > now) {
            return BTreeSet::new();
        }
        self.rest_until = now + LIGHT_SPACING;
        core::mem::take(&mut self.put_off)
    }

    /// Everything is read anew, and with it what was put off.
    pub(super) fn begin_full_sweep(&mut self) {
        self.put_off.clear();
    }
}

impl SubnetManager {
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
            if !self.traps.is_noise(number.0, lid, PortNum::ZERO, self.now) {
                self.forward(&notice, self.subnet.port_by_lid(lid));
            }
            return;
        }
        let (lid, port) = named_by(&notice);
        let at = self.subnet.port_by_lid(lid).map(|p| {
            let is_switch = self.subnet.get(p.node).is_some_and(Node::is_switch);
            let named = PortRef::new(p.node, port);
            // A switch speaks for its ports, for those that it has.
            if is_switch && port != PortNum::ZERO && self.subnet.port(named).is_some() {
                named
            } else {
                p
            }
        });
        self.emit(Event::Trap {
            number: number.0,
            place: at.map_or_else(|| format!("LID {lid}"), |p| self.subnet.describe(p)),
        });
        let noise = self.traps.is_noise(number.0, lid, port, self.now);
        let Some(at) = at else {
            // Somebody whom the SM does not know: the fabric is not what it was. There is nothing that could be put off.
            if number == TrapNumber::LinkStateChange && !noise {
                self.want_light();
            }
            return;
        };
        if !noise {
            self.forward(&notice, Some(at));
        }
        if number == TrapNumber::SystemImageGuid {
            let guid = SystemImageDetails::decode(&notice.data_details).system_image_guid;
            if let Some(node) = self.subnet.get_mut(at.node) {
                node.info.system_image_guid = guid;
            }
        }
        for look in looks(&notice, at) {
            if noise {
                self.traps.put_off.insert(look);
            } else {
                self.look_at(look);
            }
        }
    }

    /// What was put off, if it is time: called when the SM is idle, so that one look follows another.
    pub(super) fn look_at_noisy(&mut self) {
        if self.is_master() {
            for look in self.traps.take_due(self.now) {
                self.look_at(look);
            }
        }
    }

    fn look_at(&mut self, look: Look) {
        match look {
            Look::Switch(n) => {
                self.suspects.insert(n);
                self.want_local();
            }
            Look::Port(p) => {
                self.suspect_ports.insert(p);
                self.want_local();
            }
            Look::Description(n) => {
                if let Some(node) = self.subnet.get_mut(n) {
                    node.described = false;
                    self.enqueue(SmpOp::NodeDescription(n));
                }
            }
            Look::Sms => self.elect(crate::election::Input::PriorityTrap),
        }
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
        let believed = sender.map_or(MKey::NONE, |p| reported_key(&self.subnet, p));
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

/// The place that a trap is about; port 0 where it names none.
fn named_by(notice: &Notice) -> (Lid, PortNum) {
    let details = &notice.data_details;
    let (lid, port) = match notice.trap_number {
        TrapNumber::LinkStateChange => (PortStateDetails::decode(details).lid, PortNum::ZERO),
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
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
    (lid, port)
}

/// What is to be looked at after a trap about a known place.
fn looks(notice: &Notice, at: PortRef) -> Vec<Look> {
    match notice.trap_number {
        TrapNumber::LinkStateChange => vec![Look::Switch(at.node)],
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
            vec![Look::Port(at)]
        }
        TrapNumber::LocalChange => {
            local_looks(&LocalChangeDetails::decode(&notice.data_details), at)
        }
        _ => Vec::new(),
    }
}

/// Trap 144: a description is read again by itself; anything else makes the port be read, and a priority makes the other SMs be
/// asked.
fn local_looks(change: &LocalChangeDetails, at: PortRef) -> Vec<Look> {
    const NAME: u16 = LocalChangeDetails::NODE_DESCRIPTION;
    const PRIORITY: u16 = LocalChangeDetails::SM_PRIORITY;
    let flags = flags_of(change);
    let name = (flags & NAME != 0).then_some(Look::Description(at.node));
    let sms = (flags & PRIORITY != 0).then_some(Look::Sms);
    let port = (flags != NAME && flags != PRIORITY).then_some(Look::Port(at));
    name.into_iter().chain(sms).chain(port).collect()
}

/// What trap 144 says has changed; nothing where its flags do not count.
pub(super) const fn flags_of(change: &LocalChangeDetails) -> u16 {
    if change.other_local_changes {
        change.change_flags
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Lid = Lid(7);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// A place is noisy from its eleventh trap on, until it was silent for five seconds; another kind and another port are places of
    /// their own.
    #[test]
    fn a_place_is_noisy_until_it_was_silent() {
        let mut traps = Traps::default();
        let noise: Vec<bool> = (0..12)
            .map(|n| traps.is_noise(128, PLACE, PortNum::ZERO, at(n * 4_999)))
            .collect();
        assert_eq!(noise[..10], [false; 10]);
        assert_eq!(noise[10..], [true; 2]);
        let last = 11 * 4_999;
        assert!(!traps.is_noise(129, PLACE, PortNum::ZERO, at(last)));
        assert!(!traps.is_noise(128, PLACE, PortNum(1), at(last)));
        assert!(!traps.is_noise(128, PLACE, PortNum::ZERO, at(last + 5_000)));
    }

    /// Traps from everywhere: what is remembered has an end, what is beyond it is noise, and after a silence all is as before.
    #[test]
    fn a_flood_from_everywhere_is_noise() {
        let mut traps = Traps::default();
        for lid in 0..6000 {
            let noise = traps.is_noise(131, Lid(lid), PortNum(1), at(0));
            assert_eq!(noise, usize::from(lid) >= Traps::MAX, "{lid}");
        }
        assert_eq!(traps.seen.len(), Traps::MAX);
        assert!(!traps.is_noise(131, Lid(5_000), PortNum(1), at(5_000)));
    }

    /// What noisy places name is taken once a second, all of it, and once more after the last of it.
    #[test]
    fn noisy_places_are_looked_at_once_a_second() {
        let mut traps = Traps::default();
        assert_eq!(traps.due(), None);
        let mut taken = Vec::new();
        for ms in 0..2_500 {
            if ms < 2_100 {
                traps.put_off.insert(Look::Sms);
            }
            if !traps.take_due(at(ms)).is_empty() {
                taken.push(ms);
            }
        }
        assert_eq!(taken, [0, 1_000, 2_000]);
        assert_eq!(traps.due(), Some(at(3_000)));
        assert_eq!(traps.take_due(at(3_000)), BTreeSet::from([Look::Sms]));
        assert_eq!(traps.due(), None);
    }
}
