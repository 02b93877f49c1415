//! Every attribute that the SM reads or writes, and why: one [`SmpOp`] each, defined by its
//! [`SmpSpec`].
//!
//! An op holds no data. The MAD is built when it is sent, from the fabric and the wanted values of
//! that moment, so that a retry carries current values.

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_fabric::tables::mft::MftBlockIdx;
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{PKeyBlock, PortInfo, SmControl, VlArb, id};
use ferrosm_mad::ids::{AttrId, AttrMod, PortNum};

use super::queue::DeviceId;

/// What a transaction reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SmpOp {
    /// NodeInfo of the node behind a port; of the local node if `None`.
    NodeInfo(Option<PortRef>),
    NodeDescription(NodeIdx),
    SwitchInfo(NodeIdx),
    PortInfo(PortRef),
    /// PortInfo of a host's port that no known link leads to, read over another port of the host.
    UnreachedPortInfo(PortRef),
    /// Mellanox ExtendedPortInfo: distinguishes FDR10 from QDR.
    MlnxExtPortInfo(PortRef),
    /// SMInfo of the SM at a port, for an SMInfo scan.
    SmInfo(PortRef),
    /// SMInfo of the master, or of an SM that the subnet was offered to.
    SmInfoPoll(PortRef),
    /// An SMInfo control.
    SetSmInfo(PortRef, SmControl),
    /// Clears SwitchInfo.PortStateChange before the ports are read.
    ClearPortStateChange(NodeIdx),
    /// LinearFDBTop, MulticastFDBTop and LifeTimeValue.
    SetSwitchInfo(NodeIdx),
    SetPortInfo(PortRef, PortSetting),
    /// A block of the linear forwarding table.
    Lft(NodeIdx, u16),
    SetLft(NodeIdx, u16),
    /// A block of the multicast forwarding table.
    Mft(NodeIdx, MftBlockIdx),
    SetMft(NodeIdx, MftBlockIdx),
    /// An SLtoVLMappingTable of a switch (at its port 0), or of a CA or router port.
    SlToVl(PortRef, SlToVlSelector),
    SetSlToVl(PortRef, SlToVlSelector),
    /// A block of a port's VLArbitrationTable.
    VlArbitration(PortRef, u8),
    SetVlArbitration(PortRef, u8),
    /// A block of a port's P_Key table.
    PKeyTable(PortRef, u16),
    SetPKeyTable(PortRef, u16),
    /// A block of an end port's GUIDInfo.
    GuidInfo(PortRef, u8),
    SetGuidInfo(PortRef, u8),
    /// PortInfo of a switch port outside of the subnet.
    SurveyPortInfo(SurveyPort),
    /// NodeInfo of the node behind it.
    SurveyNodeInfo(SurveyPort),
}

/// A port of a switch that a survey has found, or of the switch that it begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SurveyPort {
    /// The number of the switch in the survey.
    pub(crate) switch: u32,
    pub(crate) port: PortNum,
}

/// Purpose of a Set(PortInfo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortSetting {
    /// Parameters, without a change of state.
    Params,
    /// Parameters and Armed in one Set.
    Arm,
    /// Parameters alone, because the device rejected them together with Armed.
    ParamsFirst,
    /// Armed alone.
    ArmOnly,
    /// Active.
    Activate,
    /// Down: bounces a link whose ends differ.
    Bounce,
    /// The physical state Disabled, for the operator.
    Disable,
    /// The physical state Polling: ends Disabled.
    Enable,
    /// Parameters and Down in one Set: the link trains with what is enabled now.
    Train,
    /// Current values, with this SM as master.
    SmLid,
}

impl PortSetting {
    /// Whether the Set carries all parameters, ClientReregister among them.
    pub(crate) const fn carries_params(self) -> bool {
        matches!(self, Self::Params | Self::ParamsFirst | Self::Arm)
    }
}

/// The agent that a transaction is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    LocalNode,
    /// The unknown node behind a port.
    BeyondPort(PortRef),
    /// A node, over the path by which discovery reached it.
    Node(NodeIdx),
    /// A port: a switch answers for all its ports, a CA or router port is reached over its own
    /// link.
    Port(PortRef),
    /// A node outside of the subnet.
    Surveyed,
}

impl Target {
    /// The port that messages name.
    pub(crate) const fn port(self) -> Option<PortRef> {
        match self {
            Self::LocalNode | Self::Surveyed => None,
            Self::BeyondPort(p) | Self::Port(p) => Some(p),
            Self::Node(n) => Some(PortRef::new(n, PortNum::ZERO)),
        }
    }

    /// The device whose window a transaction occupies.
    pub(crate) fn device(self) -> DeviceId {
        match self {
            Self::LocalNode | Self::BeyondPort(_) | Self::Surveyed => DeviceId::NONE,
            Self::Node(node) | Self::Port(PortRef { node, .. }) => {
                DeviceId(u32::try_from(node.index()).unwrap_or(u32::MAX))
            }
        }
    }
}

/// The MAD of an op: one definition for sending it and for matching its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SmpSpec {
    pub(crate) target: Target,
    pub(crate) attr: AttrId,
    pub(crate) modifier: AttrMod,
    /// Bits of the modifier that a response must repeat. Agents differ in the other bits.
    pub(crate) modifier_mask: u32,
    pub(crate) is_set: bool,
    /// An agent that does not respond may lack the attribute: its silence does not indicate an
    /// inconsistent fabric.
    pub(crate) is_optional: bool,
}

impl SmpSpec {
    const fn get(target: Target, attr: AttrId) -> Self {
        Self {
            target,
            attr,
            modifier: AttrMod(0),
            modifier_mask: 0,
            is_set: false,
            is_optional: false,
        }
    }

    const fn set(target: Target, attr: AttrId) -> Self {
        Self {
            is_set: true,
            ..Self::get(target, attr)
        }
    }

    /// Selects a part of the attribute by its modifier. A response must repeat the bits of `mask`.
    const fn part(self, modifier: AttrMod, mask: u32) -> Self {
        Self {
            modifier,
            modifier_mask: mask,
            ..self
        }
    }

    const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// Whether it changes the configuration of a device; SMInfo Sets do not.
    pub(crate) fn configures(&self) -> bool {
        self.is_set && self.attr != id::SM_INFO
    }

    /// Whether a response with this attribute and modifier can belong to the request.
    pub(crate) fn matches_response(&self, attr: AttrId, modifier: AttrMod) -> bool {
        attr == self.attr && (modifier.0 ^ self.modifier.0) & self.modifier_mask == 0
    }
}

impl SmpOp {
    /// Its definition.
    #[inline]
    pub(crate) const fn spec(self) -> SmpSpec {
        const ALL: u32 = u32::MAX;
        const PORT: u32 = 0xFF;
        /// Without the port number, which some agents do not repeat.
        const PKEY_BLOCK: u32 = 0xFFFF;
        match self {
            Self::NodeInfo(None) => SmpSpec::get(Target::LocalNode, id::NODE_INFO),
            Self::NodeInfo(Some(p)) => SmpSpec::get(Target::BeyondPort(p), id::NODE_INFO),
            Self::NodeDescription(n) => SmpSpec::get(Target::Node(n), id::NODE_DESCRIPTION),
            Self::SwitchInfo(n) => SmpSpec::get(port0(n), id::SWITCH_INFO),
            Self::ClearPortStateChange(n) | Self::SetSwitchInfo(n) => {
                SmpSpec::set(port0(n), id::SWITCH_INFO)
            }
            Self::PortInfo(p) => {
                SmpSpec::get(Target::Port(p), id::PORT_INFO).part(PortInfo::modifier(p.port), PORT)
            }
            Self::UnreachedPortInfo(p) => SmpSpec::get(Target::Node(p.node), id::PORT_INFO)
                .part(AttrMod(p.port.0 as u32), PORT)
                .optional(),
            Self::SetPortInfo(p, _) => {
                SmpSpec::set(Target::Port(p), id::PORT_INFO).part(PortInfo::modifier(p.port), PORT)
            }
            Self::MlnxExtPortInfo(p) => SmpSpec::get(Target::Port(p), id::MLNX_EXT_PORT_INFO)
                .part(AttrMod(p.port.0 as u32), PORT)
                .optional(),
            Self::SmInfo(p) | Self::SmInfoPoll(p) => SmpSpec::get(Target::Port(p), id::SM_INFO),
            Self::SetSmInfo(p, control) => {
                SmpSpec::set(Target::Port(p), id::SM_INFO).part(AttrMod(control.0), 0)
            }
            Self::Lft(n, block) => SmpSpec::get(port0(n), id::LFT).part(AttrMod(block as u32), ALL),
            Self::SetLft(n, block) => {
                SmpSpec::set(port0(n), id::LFT).part(AttrMod(block as u32), ALL)
            }
            Self::Mft(n, at) => SmpSpec::get(port0(n), id::MFT).part(at.modifier(), ALL),
            Self::SetMft(n, at) => SmpSpec::set(port0(n), id::MFT).part(at.modifier(), ALL),
            Self::SlToVl(p, at) => SmpSpec::get(Target::Port(p), id::SL_TO_VL)
                .part(at.modifier(), ALL)
                .optional(),
            Self::SetSlToVl(p, at) => {
                SmpSpec::set(Target::Port(p), id::SL_TO_VL).part(at.modifier(), ALL)
            }
            Self::VlArbitration(p, block) => SmpSpec::get(Target::Port(p), id::VL_ARBITRATION)
                .part(VlArb::modifier(block, p.port), ALL)
                .optional(),
            Self::SetVlArbitration(p, block) => SmpSpec::set(Target::Port(p), id::VL_ARBITRATION)
                .part(VlArb::modifier(block, p.port), ALL),
            Self::PKeyTable(p, block) => SmpSpec::get(Target::Port(p), id::PKEY_TABLE)
                .part(PKeyBlock::modifier(block, p.port), PKEY_BLOCK),
            Self::SetPKeyTable(p, block) => SmpSpec::set(Target::Port(p), id::PKEY_TABLE)
                .part(PKeyBlock::modifier(block, p.port), PKEY_BLOCK),
            Self::GuidInfo(p, block) => SmpSpec::get(Target::Port(p), id::GUID_INFO)
                .part(AttrMod(block as u32), ALL)
                .optional(),
            Self::SetGuidInfo(p, block) => SmpSpec::set(Target::Port(p), id::GUID_INFO)
                .part(AttrMod(block as u32), ALL)
                .optional(),
            Self::SurveyPortInfo(at) => SmpSpec::get(Target::Surveyed, id::PORT_INFO)
                .part(AttrMod(at.port.0 as u32), PORT)
                .optional(),
            Self::SurveyNodeInfo(_) => SmpSpec::get(Target::Surveyed, id::NODE_INFO).optional(),
        }
    }

    /// The attribute, for reports.
    pub(crate) const fn attr(self) -> AttrId {
        self.spec().attr
    }

    /// The port that messages name.
    pub(crate) const fn port(self) -> Option<PortRef> {
        self.spec().target.port()
    }
}

const fn port0(switch: NodeIdx) -> Target {
    Target::Port(PortRef::new(switch, PortNum::ZERO))
}
