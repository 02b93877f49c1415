//! Traps: TrapRepress, re-reads and trap storms (IBA vol. 1, 13.4.9, 14.2.5.1).
//!
//! The SM represses every trap and re-reads the nodes and ports that it names. A port that repeats
//! a trap faster than [`TrapMonitor::STORM`] allows is a storm source: re-reads for all storm
//! sources are combined, about once a second, and their traps are not forwarded. So a storm costs
//! at most one re-read a second, and a change before the last trap is read after it.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::{Node, NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::{
    LinkErrorDetails, LocalChangeDetails, Notice, PortStateDetails, SystemImageDetails, TrapNumber,
    id,
};
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::mad::{Address, Mad, MadIn, Method, MgmtClass};
use ferrosm_mad::smp;
use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::election::ElectionInput;
use crate::event::Event;
use crate::event::{KeyViolation, LocalChangeReport, flags_of};
use crate::keys::reported_key;
use crate::schedule::LIGHT_SPACING;
use crate::smp::op::SmpOp;

/// A re-read that a trap causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reread {
    /// SwitchInfo and all ports of a switch.
    Switch(NodeIdx),
    /// One port.
    Port(PortRef),
    /// A node's description.
    Description(NodeIdx),
    /// SMInfo of the other SMs.
    Sms,
}

impl Reread {
    fn request(self, ctx: &mut Ctx<'_>) {
        match self {
            Self::Switch(n) => {
                ctx.effects.push(Effect::RereadSwitch(n));
                ctx.effects.push(Effect::RequestLocalSweep);
            }
            Self::Port(p) => {
                ctx.effects.push(Effect::RereadPort(p));
                ctx.effects.push(Effect::RequestLocalSweep);
            }
            Self::Description(n) => {
                if let Some(node) = ctx.fabric.get_mut(n) {
                    node.is_description_current = false;
                    ctx.smps.enqueue(SmpOp::NodeDescription(n));
                }
            }
            Self::Sms => {
                let input = ElectionInput::PriorityTrapReceived;
                ctx.effects.push(Effect::Elect(input));
            }
        }
    }
}

/// Detects trap storms, and delays the re-reads for storm sources.
#[derive(Debug, Default)]
pub(crate) struct TrapMonitor {
    /// By trap number, LID and port: consecutive traps without a quiet period, and the time of the
    /// last one.
    seen: BTreeMap<(u16, Lid, PortNum), (u32, Instant)>,
    /// Re-reads for storm sources since the last one. Bounded by the fabric: it contains only known
    /// nodes and ports.
    delayed: BTreeSet<Reread>,
    /// Earliest time of the next re-read of `delayed`.
    delayed_until: Instant,
    /// Nodes that reported a wrong M_Key since they last responded, also if they were removed.
    m_key_violations: BTreeSet<NodeIdx>,
}

impl TrapMonitor {
    /// Consecutive traps of one kind from one port that are handled at once; further ones make it a
    /// storm source.
    const STORM: u32 = 10;
    /// Time without traps after which a port is no longer a storm source.
    const QUIET: Duration = Duration::from_secs(5);
    /// Maximum number of sources. At the limit quiet sources are dropped, and traps of new ones
    /// count as a storm.
    const MAX: usize = 4096;

    /// Counts a trap. Returns whether it belongs to a storm.
    fn is_storm(&mut self, number: u16, lid: Lid, port: PortNum, now: Instant) -> bool {
        let source = (number, lid, port);
        if self.seen.len() >= Self::MAX && !self.seen.contains_key(&source) {
            self.seen
                .retain(|_, (_, last)| now.since(*last) < Self::QUIET);
            if self.seen.len() >= Self::MAX {
                return true;
            }
        }
        let (count, last) = self.seen.entry(source).or_insert((0, now));
        *count = if now.since(*last) < Self::QUIET {
            count.saturating_add(1)
        } else {
            1
        };
        *last = now;
        *count > Self::STORM
    }

    /// Whether a trap continues a series without a quiet period.
    fn is_repeated(&self, number: u16, lid: Lid, port: PortNum, now: Instant) -> bool {
        let last = self.seen.get(&(number, lid, port));
        last.is_some_and(|(_, last)| now.since(*last) < Self::QUIET)
    }

    /// When `delayed` is due; `None` if it is empty.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.delayed.is_empty()).then_some(self.delayed_until)
    }

    /// Requests `delayed` if it is due.
    pub(crate) fn reread_due(&mut self, ctx: &mut Ctx<'_>) {
        for reread in self.take_due(ctx.now) {
            reread.request(ctx);
        }
    }

    fn take_due(&mut self, now: Instant) -> BTreeSet<Reread> {
        if self.due().is_none_or(|due| due > now) {
            return BTreeSet::new();
        }
        self.delayed_until = now + LIGHT_SPACING;
        core::mem::take(&mut self.delayed)
    }

    /// A port of the node was read.
    pub(crate) fn on_port_read(&mut self, n: NodeIdx) {
        self.m_key_violations.remove(&n);
    }

    /// Whether a node reported a wrong M_Key since it last responded.
    pub(crate) fn has_m_key_violation(&self, n: NodeIdx) -> bool {
        self.m_key_violations.contains(&n)
    }

    /// Clears `delayed`: a full sweep reads the whole fabric.
    pub(crate) fn begin_full_sweep(&mut self) {
        self.delayed.clear();
    }
}

impl TrapMonitor {
    /// Represses a trap, forwards it, and reads again what it names. `own_lid` is the LID of the
    /// SM. A trap of a storm source is not forwarded.
    pub(crate) fn on_trap(&mut self, ctx: &mut Ctx<'_>, received: &MadIn, own_lid: Option<Lid>) {
        let notice = Notice::decode(smp::data(&received.mad));
        repress(ctx, received, own_lid);
        let number = notice.trap_number;
        if !notice.is_generic {
            let lid = notice.issuer_lid;
            let port = ctx.fabric.port_by_lid(lid);
            if !self.is_repeated(number.0, lid, PortNum::ZERO, ctx.now) {
                ctx.outbox.emit(Event::TrapReceived {
                    number: number.0,
                    vendor: Some(notice.producer_type),
                    location: port.map_or(Location::Lid(lid), |p| {
                        Location::Port(ctx.fabric.port_name(p))
                    }),
                    violation: None,
                    change: None,
                });
            }
            if !self.is_storm(number.0, lid, PortNum::ZERO, ctx.now) {
                ctx.effects
                    .push(Effect::ForwardTrap(Box::new(notice), port));
            }
            return;
        }
        let (lid, port) = named_port(&notice);
        let at = ctx.fabric.port_by_lid(lid).map(|p| {
            let is_switch = ctx.fabric.get(p.node).is_some_and(Node::is_switch);
            let named = PortRef::new(p.node, port);
            // A switch reports for its external ports.
            if is_switch && port != PortNum::ZERO && ctx.fabric.port(named).is_some() {
                named
            } else {
                p
            }
        });
        ctx.outbox.emit(Event::TrapReceived {
            number: number.0,
            vendor: None,
            location: at.map_or(Location::Lid(lid), |p| {
                Location::Port(ctx.fabric.port_name(p))
            }),
            violation: KeyViolation::of_trap(&notice),
            change: (number == TrapNumber::LocalChange).then(|| {
                let details = LocalChangeDetails::decode(&notice.data_details);
                let port = at.and_then(|p| ctx.fabric.port(p)).filter(|p| p.known);
                LocalChangeReport::new(&details, port.map(Port::capability_mask))
            }),
        });
        let is_storm = self.is_storm(number.0, lid, port, ctx.now);
        let Some(at) = at else {
            // An unknown port cannot be re-read, so nothing is delayed.
            if number == TrapNumber::LinkStateChange && !is_storm {
                ctx.effects.push(Effect::RequestLightSweep);
            }
            return;
        };
        if number == TrapNumber::SystemImageGuid {
            let guid = SystemImageDetails::decode(&notice.data_details).system_image_guid;
            if let Some(node) = ctx.fabric.get_mut(at.node) {
                node.info.system_image_guid = guid;
            }
        }
        if number == TrapNumber::BadMKey && self.m_key_violations.len() < Self::MAX {
            self.m_key_violations.insert(at.node);
        }
        let rereads = rereads(ctx.fabric, &notice, at);
        if is_storm {
            self.delayed.extend(rereads);
            return;
        }
        // Before the re-reads: the sweep in which subscribers are notified depends on them.
        ctx.effects
            .push(Effect::ForwardTrap(Box::new(notice), Some(at)));
        for reread in rereads {
            reread.request(ctx);
        }
    }
}

/// Sends TrapRepress (IBA vol. 1, 13.4.9), also for traps without an effect.
fn repress(ctx: &mut Ctx<'_>, received: &MadIn, own_lid: Option<Lid>) {
    let to_lid = match received.from.lid {
        // From the SM's own node.
        Lid::NONE | Lid::PERMISSIVE => match own_lid {
            Some(lid) => lid,
            None => return,
        },
        lid => lid,
    };
    let sender = ctx.fabric.port_by_lid(to_lid);
    let reported = sender.map_or(MKey::NONE, |p| reported_key(ctx.fabric, p));
    let mad = trap_repress(&received.mad, reported);
    let to = Address {
        lid: to_lid,
        ..received.from
    };
    ctx.outbox.send(to, mad);
}

/// TrapRepress of a trap from a port with this M_Key. Any host can send a trap from another LID, so
/// that the configured M_Key goes only to ports that reported it: for other senders the key of the
/// trap is repeated.
fn trap_repress(trap: &Mad, reported: MKey) -> Mad {
    let mut mad = *trap;
    let mut header = mad.header();
    header.method = Method::TrapRepress;
    header.mgmt_class = MgmtClass::SubnLid;
    header.status = 0;
    mad.set_header(&header);
    if reported != MKey::NONE {
        smp::LidRoutedHeader { m_key: reported }.encode_onto(mad.as_bytes_mut());
    }
    debug_assert_eq!(mad.attr_id(), id::NOTICE);
    mad
}

/// The port that a trap is about; port 0 if it names none.
fn named_port(notice: &Notice) -> (Lid, PortNum) {
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

/// The re-reads after a trap of a known port.
fn rereads(fabric: &ObservedFabric, notice: &Notice, at: PortRef) -> Vec<Reread> {
    match notice.trap_number {
        TrapNumber::LinkStateChange => vec![Reread::Switch(at.node)],
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
            vec![Reread::Port(at)]
        }
        TrapNumber::LocalChange => {
            let change = LocalChangeDetails::decode(&notice.data_details);
            local_change_rereads(&change, at, fabric.port(at))
        }
        _ => Vec::new(),
    }
}

/// Trap 144: a changed NodeDescription is read alone, a changed SM priority starts an SMInfo scan,
/// any other change a read of PortInfo. The scan includes only ports that are known to have an SM,
/// so PortInfo of another one is read as well. A CapabilityMask that differs from that of the port
/// is a change whatever the flags: drivers merge traps, for example when an SM starts while the
/// host sets its name.
fn local_change_rereads(
    change: &LocalChangeDetails,
    at: PortRef,
    port: Option<&Port>,
) -> Vec<Reread> {
    const NAME: u16 = LocalChangeDetails::NODE_DESCRIPTION;
    const PRIORITY: u16 = LocalChangeDetails::SM_PRIORITY;
    let flags = flags_of(change);
    let name = (flags & NAME != 0).then_some(Reread::Description(at.node));
    let sms = (flags & PRIORITY != 0).then_some(Reread::Sms);
    let has_sm = port.is_some_and(Port::has_sm);
    let known_mask = port.filter(|port| port.known).map(Port::capability_mask);
    let is_other_change = flags != NAME && flags != PRIORITY
        || known_mask.is_some_and(|mask| mask != change.capability_mask);
    let port = (is_other_change || sms.is_some() && !has_sm).then_some(Reread::Port(at));
    name.into_iter().chain(sms).chain(port).collect()
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{CapMask, NodeInfo, NodeType, PortInfo};
    use ferrosm_mad::ids::{AttrMod, Tid};
    use ferrosm_mad::mad::MadHeader;
    use ferrosm_mad::smp::{DrPath, SmpRequest};

    use super::*;

    const SOURCE: Lid = Lid(7);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// A source is in a storm from its eleventh trap until five seconds without traps; other trap
    /// numbers and ports are other sources.
    #[test]
    fn storm_lasts_until_a_quiet_period() {
        let mut traps = TrapMonitor::default();
        let storm: Vec<bool> = (0..12)
            .map(|n| traps.is_storm(128, SOURCE, PortNum::ZERO, at(n * 4_999)))
            .collect();
        assert_eq!(storm[..10], [false; 10]);
        assert_eq!(storm[10..], [true; 2]);
        let last = 11 * 4_999;
        assert!(!traps.is_storm(129, SOURCE, PortNum::ZERO, at(last)));
        assert!(!traps.is_storm(128, SOURCE, PortNum(1), at(last)));
        assert!(!traps.is_storm(128, SOURCE, PortNum::ZERO, at(last + 5_000)));
    }

    /// Traps of sources beyond the limit count as a storm, and after a quiet period new sources are
    /// accepted again.
    #[test]
    fn number_of_sources_is_limited() {
        let mut traps = TrapMonitor::default();
        for lid in 0..6000 {
            let is_storm = traps.is_storm(131, Lid(lid), PortNum(1), at(0));
            assert_eq!(is_storm, usize::from(lid) >= TrapMonitor::MAX, "{lid}");
        }
        assert_eq!(traps.seen.len(), TrapMonitor::MAX);
        assert!(
            !traps.is_storm(131, Lid(0), PortNum(1), at(1)),
            "a known source"
        );
        assert!(!traps.is_storm(131, Lid(5_000), PortNum(1), at(5_000)));
    }

    /// An SMInfo scan would not include an SM whose port was last read without one.
    #[test]
    fn priority_change_of_an_unknown_sm_causes_a_port_read() {
        let mut fabric = ObservedFabric::default();
        let info = NodeInfo {
            node_type: NodeType::Ca,
            num_ports: 1,
            ..NodeInfo::default()
        };
        let node = fabric.add_node(Node::new(info, DrPath::LOCAL));
        let sm = PortRef::new(node, PortNum(1));
        let change = LocalChangeDetails {
            other_local_changes: true,
            change_flags: LocalChangeDetails::SM_PRIORITY,
            ..LocalChangeDetails::default()
        };
        let notice = Notice {
            trap_number: TrapNumber::LocalChange,
            data_details: change.encode(),
            ..Notice::default()
        };
        assert_eq!(
            rereads(&fabric, &notice, sm),
            [Reread::Sms, Reread::Port(sm)]
        );
        let info = PortInfo {
            capability_mask: CapMask(CapMask::IS_SM),
            ..PortInfo::default()
        };
        fabric.port_mut(sm).unwrap().raw = info.encode().into();
        assert_eq!(rereads(&fabric, &notice, sm), [Reread::Sms]);
    }

    /// A host starts an SM while it sets its name, and its driver sends one trap for both: the port
    /// is read, because the mask differs.
    #[test]
    fn changed_capability_mask_is_read_whatever_the_flags() {
        let mut fabric = ObservedFabric::default();
        let info = NodeInfo {
            node_type: NodeType::Ca,
            num_ports: 1,
            ..NodeInfo::default()
        };
        let node = fabric.add_node(Node::new(info, DrPath::LOCAL));
        let sm = PortRef::new(node, PortNum(1));
        let port = fabric.port_mut(sm).unwrap();
        port.raw = PortInfo::default().encode().into();
        port.known = true;
        let notice = |mask| {
            let change = LocalChangeDetails {
                capability_mask: CapMask(mask),
                other_local_changes: true,
                change_flags: LocalChangeDetails::NODE_DESCRIPTION,
                ..LocalChangeDetails::default()
            };
            Notice {
                trap_number: TrapNumber::LocalChange,
                data_details: change.encode(),
                ..Notice::default()
            }
        };
        let name = Reread::Description(node);
        assert_eq!(rereads(&fabric, &notice(0), sm), [name]);
        assert_eq!(
            rereads(&fabric, &notice(CapMask::IS_SM), sm),
            [name, Reread::Port(sm)]
        );
    }

    #[test]
    fn trap_of_an_unknown_port_is_repressed_without_an_m_key() {
        let trap = |m_key| SmpRequest::set(id::NOTICE, AttrMod(0), m_key, [0; smp::DATA_LEN]);
        let mut mad = trap(MKey::new(0xBAD)).lid_routed(Tid(7));
        let header = MadHeader {
            method: Method::Trap,
            ..mad.header()
        };
        mad.set_header(&header);
        let unknown = trap_repress(&mad, MKey::NONE);
        assert_eq!(unknown.method(), Method::TrapRepress);
        assert_eq!(smp::m_key(&unknown), MKey::new(0xBAD));
        let known = trap_repress(&mad, MKey::new(0xAAAA));
        assert_eq!(smp::m_key(&known), MKey::new(0xAAAA));
    }

    /// Re-reads for storm sources are due once a second, and once more after the last trap.
    #[test]
    fn storm_sources_are_reread_once_a_second() {
        let mut traps = TrapMonitor::default();
        assert_eq!(traps.due(), None);
        let mut taken = Vec::new();
        for ms in 0..2_500 {
            if ms < 2_100 {
                traps.delayed.insert(Reread::Sms);
            }
            if !traps.take_due(at(ms)).is_empty() {
                taken.push(ms);
            }
        }
        assert_eq!(taken, [0, 1_000, 2_000]);
        assert_eq!(traps.due(), Some(at(3_000)));
        assert_eq!(traps.take_due(at(3_000)), BTreeSet::from([Reread::Sms]));
        assert_eq!(traps.due(), None);
    }
}
