//! Every question and command that the SM sends, and the MAD that each becomes.
//!
//! An [`Ask`] is small and holds no data: the MAD is built when it is sent, from the subnet as it is then, so that a
//! repetition carries what is right now and may take another way.

use std::sync::Arc;

use ferrosm_mad::attr::{
    PKeyBlock, PortInfo, PortState, SmControl, SmState, SwitchInfo, VlArb, id,
};
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, PortNum, Sl};
use ferrosm_mad::smp::{DrPath, SmpRequest};

use super::{Stage, SubnetManager};
use crate::plan::ports::{self, Address};
use crate::report::Phase;
use crate::requester::Device;
use crate::sa::View;
use crate::subnet::{NodeIdx, PortRef, Subnet};
use crate::tables::mft::MftBlockIdx;
use crate::tables::sl_to_vl::SlToVlSelector;

/// One question or command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Who is behind a port; `None` asks the local node.
    Probe(Option<PortRef>),
    /// NodeDescription.
    Description(NodeIdx),
    /// SwitchInfo.
    Switch(NodeIdx),
    /// PortInfo.
    Port(PortRef),
    /// A block of the forwarding table.
    Lft(NodeIdx, u16),
    /// Mellanox ExtendedPortInfo: whether what looks like QDR is FDR10.
    Ext(PortRef),
    /// SMInfo of the SM behind a port.
    Sm(PortRef),
    /// Clear SwitchInfo.PortStateChange before the ports are read.
    ClearChange(NodeIdx),
    /// LinearFDBTop and LifeTimeValue.
    SetSwitch(NodeIdx),
    /// Write a block of the forwarding table.
    SetLft(NodeIdx, u16),
    /// A block of the multicast forwarding table.
    Mft(NodeIdx, MftBlockIdx),
    /// Write a block of the multicast forwarding table.
    SetMft(NodeIdx, MftBlockIdx),
    /// Write an SLtoVLMappingTable of a switch (its port 0), or of a CA or router port.
    SetSlToVl(PortRef, SlToVlSelector),
    /// Write a block of a port's VLArbitrationTable.
    SetVlArb(PortRef, u8),
    /// An SLtoVLMappingTable of a switch (its port 0), or of a CA or router port.
    SlToVl(PortRef, SlToVlSelector),
    /// A block of a port's VLArbitrationTable.
    VlArb(PortRef, u8),
    /// Write a block of an end port's GUIDs.
    SetGuids(PortRef, u8),
    /// A block of a port's P_Key table.
    Keys(PortRef, u16),
    /// Write a block of a port's P_Key table.
    SetKeys(PortRef, u16),
    /// Write PortInfo.
    SetPort(PortRef, PortStep),
    /// The SMInfo of an SM that is watched, offered the subnet or waited for, over one of the ways to it.
    Poll(PortRef, u8),
    /// Tell an SM what to do, as an SM in this state.
    Control(PortRef, SmControl, SmState),
}

/// What a Set(PortInfo) is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortStep {
    /// Parameters without a change of state.
    Params,
    /// Parameters and Armed in one Set.
    Arm,
    /// Parameters alone, because the device refused them together with Armed.
    ParamsFirst,
    /// Armed alone.
    ArmOnly,
    /// Active.
    Activate,
    /// Down: restart a link whose ends disagree.
    Restart,
    /// As it is, with this SM as master.
    Master,
}

impl Ask {
    /// Whose window it takes a slot of.
    pub(crate) fn device(self) -> Device {
        let node = |n: NodeIdx| Device(u32::try_from(n.index()).unwrap_or(u32::MAX));
        match (self, self.place()) {
            (Self::Probe(_), _) | (_, None) => Device::NONE,
            (_, Some(p)) => node(p.node),
        }
    }

    /// The attribute it reads or writes.
    pub(crate) const fn attr(self) -> AttrId {
        match self {
            Self::Probe(_) => id::NODE_INFO,
            Self::Description(_) => id::NODE_DESCRIPTION,
            Self::Switch(_) | Self::ClearChange(_) | Self::SetSwitch(_) => id::SWITCH_INFO,
            Self::Port(_) | Self::SetPort(..) => id::PORT_INFO,
            Self::Lft(..) | Self::SetLft(..) => id::LFT,
            Self::Mft(..) | Self::SetMft(..) => id::MFT,
            Self::SlToVl(..) | Self::SetSlToVl(..) => id::SL_TO_VL,
            Self::VlArb(..) | Self::SetVlArb(..) => id::VL_ARBITRATION,
            Self::SetGuids(..) => id::GUID_INFO,
            Self::Keys(..) | Self::SetKeys(..) => id::PKEY_TABLE,
            Self::Ext(_) => id::MLNX_EXT_PORT_INFO,
            Self::Sm(_) | Self::Poll(..) | Self::Control(..) => id::SM_INFO,
        }
    }

    /// Whether it changes something.
    pub(crate) const fn is_set(self) -> bool {
        match self {
            Self::ClearChange(_)
            | Self::SetSwitch(_)
            | Self::SetLft(..)
            | Self::SetMft(..)
            | Self::SetPort(..)
            | Self::SetSlToVl(..)
            | Self::SetVlArb(..)
            | Self::SetKeys(..)
            | Self::SetGuids(..)
            | Self::Control(..) => true,
            Self::Probe(_)
            | Self::Description(_)
            | Self::Switch(_)
            | Self::Port(_)
            | Self::Lft(..)
            | Self::Mft(..)
            | Self::SlToVl(..)
            | Self::VlArb(..)
            | Self::Keys(..)
            | Self::Ext(_)
            | Self::Sm(_)
            | Self::Poll(..) => false,
        }
    }

    /// Its attribute modifier.
    pub(crate) const fn modifier(self) -> AttrMod {
        match self {
            Self::Port(p) | Self::SetPort(p, _) => PortInfo::modifier(p.port),
            Self::Ext(p) => AttrMod(p.port.0 as u32),
            Self::Lft(_, block) | Self::SetLft(_, block) => AttrMod(block as u32),
            Self::Mft(_, at) | Self::SetMft(_, at) => at.modifier(),
            Self::SlToVl(_, at) | Self::SetSlToVl(_, at) => at.modifier(),
            Self::SetGuids(_, block) => AttrMod(block as u32),
            Self::VlArb(p, block) | Self::SetVlArb(p, block) => VlArb::modifier(block, p.port),
            // Of a port of a CA or router 0 goes instead of the port: see `SubnetManager::modifier_of`.
            Self::Keys(p, block) | Self::SetKeys(p, block) => PKeyBlock::modifier(block, p.port),
            Self::Control(_, control, _) => AttrMod(control.0),
            Self::Probe(_)
            | Self::Description(_)
            | Self::Switch(_)
            | Self::Sm(_)
            | Self::Poll(..)
            | Self::ClearChange(_)
            | Self::SetSwitch(_) => AttrMod(0),
        }
    }

    /// Whether an answer with this modifier can be meant. Only what tells parts of an attribute apart has to come back
    /// as it was sent.
    pub(crate) const fn is_answered_with(self, modifier: AttrMod) -> bool {
        match self {
            Self::Port(p) | Self::Ext(p) | Self::SetPort(p, _) => {
                modifier.0 & 0xFF == p.port.0 as u32
            }
            Self::Lft(_, block) | Self::SetLft(_, block) => modifier.0 == block as u32,
            // Some agents answer for a port by another number.
            Self::Keys(_, block) | Self::SetKeys(_, block) => modifier.0 & 0xFFFF == block as u32,
            Self::Mft(..)
            | Self::SetMft(..)
            | Self::SlToVl(..)
            | Self::SetSlToVl(..)
            | Self::VlArb(..)
            | Self::SetVlArb(..)
            | Self::SetGuids(..) => modifier.0 == self.modifier().0,
            Self::Probe(_)
            | Self::Description(_)
            | Self::Switch(_)
            | Self::Sm(_)
            | Self::ClearChange(_)
            | Self::SetSwitch(_)
            | Self::Poll(..)
            | Self::Control(..) => true,
        }
    }

    /// The port that is asked, for messages.
    pub(crate) const fn place(self) -> Option<PortRef> {
        match self {
            Self::Probe(from) => from,
            Self::Description(n)
            | Self::Switch(n)
            | Self::Lft(n, _)
            | Self::ClearChange(n)
            | Self::SetSwitch(n)
            | Self::SetLft(n, _)
            | Self::Mft(n, _)
            | Self::SetMft(n, _) => Some(PortRef::new(n, PortNum::ZERO)),
            Self::Port(p)
            | Self::Ext(p)
            | Self::Sm(p)
            | Self::SetPort(p, _)
            | Self::SetSlToVl(p, _)
            | Self::SetVlArb(p, _)
            | Self::SlToVl(p, _)
            | Self::VlArb(p, _)
            | Self::SetGuids(p, _)
            | Self::Keys(p, _)
            | Self::SetKeys(p, _)
            | Self::Poll(p, _)
            | Self::Control(p, ..) => Some(p),
        }
    }
}

/// The route to a port's management agent: a switch answers for all its ports; a CA's port is reached over its own cable.
pub(crate) fn route_to(subnet: &Subnet, at: PortRef) -> Option<DrPath> {
    let node = subnet.get(at.node)?;
    if node.is_switch() || subnet.local() == Some(at) {
        return Some(node.path);
    }
    match subnet.peer(at) {
        Some(peer) => subnet.get(peer.node)?.path.extend(peer.port),
        None => Some(node.path),
    }
}

/// The same, but by another way than [`route_to`].
pub(crate) fn detour_to(subnet: &Subnet, at: PortRef) -> Option<DrPath> {
    let node = subnet.get(at.node)?;
    if node.is_switch() {
        return subnet.detour(at.node, &node.path);
    }
    let peer = subnet.peer(at)?;
    let switch = subnet.get(peer.node)?;
    subnet.detour(peer.node, &switch.path)?.extend(peer.port)
}

/// All ways that are tried, the usual one first, those with the least in common with it next. Empty where there is none.
pub(crate) fn ways_to(subnet: &Subnet, at: PortRef) -> Vec<DrPath> {
    let switch_of = || {
        let node = subnet.get(at.node)?;
        if node.is_switch() {
            return Some((at.node, node.path, None));
        }
        let peer = subnet.peer(at).filter(|_| subnet.local() != Some(at))?;
        Some((peer.node, subnet.get(peer.node)?.path, Some(peer.port)))
    };
    let Some((node, path, port)) = switch_of() else {
        return route_to(subnet, at).into_iter().collect();
    };
    let ways = subnet.ways(node, &path).into_iter();
    let whole = ways.map(|way| port.map_or(Some(way), |port| way.extend(port)));
    whole.flatten().collect()
}

impl SubnetManager {
    /// An ask's modifier, as the node's agent understands it.
    fn modifier_of(&self, ask: Ask) -> AttrMod {
        let modifier = ask.modifier();
        let plain = ask.attr() == id::PORT_INFO
            && ask
                .place()
                .and_then(|p| self.subnet.get(p.node))
                .is_some_and(|n| n.plain_port_info);
        let end_port = matches!(ask, Ask::Keys(p, _) | Ask::SetKeys(p, _)
            if self.subnet.get(p.node).is_some_and(|n| !n.is_switch()));
        if end_port {
            AttrMod(modifier.0 & 0xFFFF)
        } else if plain {
            AttrMod(modifier.0 & !PortInfo::EXTENDED_SPEEDS_MOD)
        } else {
            modifier
        }
    }

    /// The route and the request that `ask` becomes; `None` where its node is gone meanwhile.
    pub(super) fn build(&self, ask: Ask, repetition: u8) -> Option<(DrPath, SmpRequest)> {
        // The first repetition takes the same way, because loss is more likely than a dead link; later ones another.
        // A full sweep has proven the way that it takes, but not yet the links of a detour.
        let proven = self.is_local_sweep() || self.stage != Stage::Sweep(Phase::Discover);
        let detour = proven && (repetition >= 2 || (repetition == 1 && self.is_local_sweep()));
        let to = |at: PortRef| {
            let plain = route_to(&self.subnet, at);
            if detour {
                detour_to(&self.subnet, at).or(plain)
            } else {
                plain
            }
        };
        let path = match ask {
            Ask::Probe(None) => DrPath::LOCAL,
            Ask::Probe(Some(from)) => to(from)?.extend(from.port)?,
            Ask::Description(n) => {
                let node = self.subnet.get(n)?;
                if detour && node.is_switch() {
                    to(PortRef::new(n, PortNum::ZERO))?
                } else {
                    node.path
                }
            }
            Ask::Switch(n)
            | Ask::Lft(n, _)
            | Ask::ClearChange(n)
            | Ask::SetSwitch(n)
            | Ask::SetLft(n, _)
            | Ask::Mft(n, _)
            | Ask::SetMft(n, _) => to(PortRef::new(n, PortNum::ZERO))?,
            Ask::Sm(p) if self.looks_before_takeover() => self.way_to_sm(p, repetition)?,
            Ask::Port(p)
            | Ask::Ext(p)
            | Ask::Sm(p)
            | Ask::SetPort(p, _)
            | Ask::SetSlToVl(p, _)
            | Ask::SetVlArb(p, _)
            | Ask::SlToVl(p, _)
            | Ask::VlArb(p, _)
            | Ask::SetGuids(p, _)
            | Ask::Keys(p, _)
            | Ask::SetKeys(p, _)
            | Ask::Control(p, ..) => to(p)?,
            Ask::Poll(p, way) => self.way_to_sm(p, way + repetition / 2)?,
        };
        let (attr, modifier) = (ask.attr(), self.modifier_of(ask));
        let key = self.key_for(ask, repetition);
        if !ask.is_set() {
            return Some((path, SmpRequest::get(attr, modifier, key)));
        }
        let data = match ask {
            Ask::ClearChange(n) => self.switch_set(n, None)?,
            Ask::SetSwitch(n) => self.switch_set(n, Some(self.top_lid))?,
            Ask::SetLft(n, block) => self.subnet.get(n)?.wanted.as_ref()?.block(block),
            Ask::SetMft(n, at) => self.sent_block(n, at)?,
            Ask::SetPort(p, step) => self.port_set(p, step)?,
            Ask::SetSlToVl(p, at) => self.wanted_map(p, at)?,
            Ask::SetVlArb(p, block) => self.wanted_arbitration(p, block)?,
            Ask::SetKeys(p, block) => self.wanted_key_block(p, block)?,
            Ask::SetGuids(p, block) => self.wanted_guids(p, block)?,
            Ask::Control(_, _, state) => self.sm_info_as(state).encode(),
            Ask::Probe(_)
            | Ask::Description(_)
            | Ask::Switch(_)
            | Ask::Port(_)
            | Ask::Lft(..)
            | Ask::Mft(..)
            | Ask::SlToVl(..)
            | Ask::VlArb(..)
            | Ask::Keys(..)
            | Ask::Ext(_)
            | Ask::Sm(_)
            | Ask::Poll(..) => return None,
        };
        Some((path, SmpRequest::set(attr, modifier, key, data)))
    }

    /// A way to an SM that is polled: the usual one and others by turns, because a broken way is no dead SM.
    fn way_to_sm(&self, at: PortRef, way: u8) -> Option<DrPath> {
        if way == 0 {
            // Mostly; the others are looked for in the whole subnet.
            return route_to(&self.subnet, at);
        }
        let ways = ways_to(&self.subnet, at);
        ways.get(usize::from(way) % ways.len().max(1)).copied()
    }

    /// SwitchInfo with PortStateChange cleared, or with the table's reach where `top` is given: then the change stays to
    /// be seen, because one that came while the table was written may have been a reboot.
    fn switch_set(&self, n: NodeIdx, top: Option<Lid>) -> Option<[u8; 64]> {
        let mut raw = self.subnet.get(n)?.switch_raw?;
        let mut info = SwitchInfo::decode(&raw);
        info.port_state_change = top.is_none();
        if let Some(top) = top {
            info.linear_fdb_top = top.0;
            info.life_time_value = self.cfg.packet_life_time;
            info.multicast_fdb_top = self.multicast_top(n, &info);
        }
        info.encode_onto(&mut raw);
        Some(raw)
    }

    fn port_set(&self, p: PortRef, step: PortStep) -> Option<[u8; 64]> {
        match step {
            PortStep::Params | PortStep::ParamsFirst => self.wanted_port(p),
            PortStep::Arm => Some(ports::with_state(self.wanted_port(p)?, PortState::Armed)),
            PortStep::ArmOnly => Some(ports::with_state(
                ports::current(self.subnet.port(p)?),
                PortState::Armed,
            )),
            PortStep::Activate => Some(ports::with_state(
                ports::current(self.subnet.port(p)?),
                PortState::Active,
            )),
            PortStep::Master => self.with_this_master(p),
            PortStep::Restart => Some(ports::with_state(
                ports::current(self.subnet.port(p)?),
                PortState::Down,
            )),
        }
    }

    /// The PortInfo that a port should have, without a change of state.
    pub(super) fn wanted_port(&self, p: PortRef) -> Option<[u8; 64]> {
        let address = self.address_of(p);
        ports::wanted(
            &self.subnet,
            p,
            address,
            &self.cfg,
            self.reregisters(p, address),
        )
    }

    pub(super) fn address_of(&self, p: PortRef) -> Option<Address> {
        let sm_lid = self.sm_lid()?;
        let port = self.subnet.port(p)?;
        let (lid, lmc) = *self.lids.get(&port.guid)?;
        let lanes = self.lanes.as_ref();
        let sm_sl = lanes.map_or(Sl(0), |lanes| lanes.sl(&self.subnet, p, sm_lid));
        Some(Address {
            lid,
            lmc,
            sm_lid,
            sm_sl,
        })
    }

    /// Whether a request that was sent, or held back, is still to be answered. One that was left or given up must not go out late.
    #[must_use]
    pub fn awaits(&self, tid: ferrosm_mad::ids::Tid) -> bool {
        self.requester.waits_for(tid)
    }

    /// Whether the host behind an end port must repeat its registrations: this SM, or its LID, is new to it (rule 3.19).
    pub(super) fn reregisters(&self, p: PortRef, address: Option<Address>) -> bool {
        let (Some(address), Some(port)) = (address, self.subnet.port(p)) else {
            return false;
        };
        let info = port.info();
        let new_to_it = self.first_as_master || info.master_sm_lid != address.sm_lid;
        // Who was not there has nothing registered here, whatever its port says: it was cut off, or in another SM's island.
        let was_away = |view: &Arc<View>| view.by_guid(port.guid).is_none();
        // Clients are not told of a port whose LID another one has, but it was here.
        let past = &self.administration.past;
        let before = past.kept_view().filter(|_| past.is_in_force());
        self.cfg.client_reregister
            && ((new_to_it && !self.has_registrations_of(port))
                || before.or_else(|| self.view()).is_some_and(was_away)
                || self.administration.has_ended(port.guid)
                || info.lid != address.lid
                || port.state().0 < PortState::Active.0)
    }
}
