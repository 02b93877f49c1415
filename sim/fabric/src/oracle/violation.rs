//! The violations that an oracle reports. Each message names the rule, the device and the values.

use ferrosm_mad::attr::{MtuCode, PortState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, PKey, PortNum, Sl};

use crate::spec::NodeIdx;

/// A violated rule. Ports are written as `name[port]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An end port whose LID range is not within the unicast LIDs.
    #[error("{port}: LID {lid} with LMC {lmc} is not a unicast LID range")]
    IllegalLid {
        /// The end port.
        port: String,
        /// Its base LID.
        lid: Lid,
        lmc: Lmc,
    },
    /// A base LID that is not a multiple of 2^LMC.
    #[error("{port}: base LID {lid} is not aligned to LMC {lmc}")]
    UnalignedLid {
        /// The end port.
        port: String,
        /// Its base LID.
        lid: Lid,
        lmc: Lmc,
    },
    /// Two end ports with overlapping LID ranges.
    #[error("duplicate LID {lid}: assigned to {port} and to {other}")]
    DuplicateLid {
        /// The end port that was checked second.
        port: String,
        /// The end port that was checked first.
        other: String,
        /// The LID of both.
        lid: Lid,
    },
    /// A LID that packets do not reach.
    #[error(
        "LID {lid} of {port} is unreachable from {failing} of the {sources} switches that must reach it, such as {example}: {why}"
    )]
    Undelivered {
        /// Destination LID.
        lid: Lid,
        /// The end port with this LID.
        port: String,
        /// Switches from which packets are not delivered.
        failing: usize,
        /// Switches checked.
        sources: usize,
        /// The first failing switch.
        example: String,
        /// What happens to packets from `example`.
        why: DeliveryFailure,
    },
    /// A switch that maps an SL in use to an inactive VL.
    #[error(
        "{switch} drops SL {sl} packets from port {input} to port {output}: SLtoVLMappingTable selects VL {vl}, \
         {data_vls} data VLs are active; {lids} LIDs are unreachable, such as LID {lid} from {source_port}"
    )]
    NoVl {
        switch: String,
        input: PortNum,
        output: PortNum,
        /// Service level of the packets.
        sl: Sl,
        /// VL in the SLtoVLMappingTable; 15 drops the packet.
        vl: u8,
        /// Active data VLs of the output port.
        data_vls: u8,
        /// Destination LIDs that some packets do not reach because of this entry.
        lids: usize,
        /// The first of these LIDs.
        lid: Lid,
        /// An end port that sends to `lid` over this hop.
        source_port: String,
    },
    /// An end port that maps an SL in use to an inactive VL.
    #[error(
        "{port} cannot send on SL {sl}: its SLtoVLMappingTable selects VL {vl}, {data_vls} data VLs are active"
    )]
    NoSourceVl {
        /// The end port.
        port: String,
        /// Service level of the packets.
        sl: Sl,
        /// VL in the SLtoVLMappingTable; 15 drops the packet.
        vl: u8,
        /// Active data VLs of the port.
        data_vls: u8,
    },
    /// A cycle in the channel dependency graph.
    #[error("credit loop of {} channels: {}", .0.len(), .0.join(" -> "))]
    CreditLoop(
        /// Output ports with their VL, in order; the last depends on the first.
        Vec<String>,
    ),
    /// A link whose ports are not both Active.
    #[error("link {a} to {b} is not Active: port states {a_state} and {b_state}")]
    NotActive {
        /// First port.
        a: String,
        /// Second port.
        b: String,
        /// PortState of `a`.
        a_state: PortState,
        /// PortState of `b`.
        b_state: PortState,
    },
    /// NeighborMTU is not the largest that both ports support.
    #[error("link {a} to {b}: NeighborMTU is {a_mtu} and {b_mtu}, expected {expected}")]
    Mtu {
        /// First port.
        a: String,
        /// Second port.
        b: String,
        /// NeighborMTU of `a`.
        a_mtu: MtuCode,
        /// NeighborMTU of `b`.
        b_mtu: MtuCode,
        /// Minimum of both MTUCap and of [`Expectations::max_mtu`](super::Expectations::max_mtu).
        expected: MtuCode,
    },
    /// OperationalVLs is not the most that both ports support.
    #[error("link {a} to {b}: OperationalVLs is {a_vls} and {b_vls}, expected {expected}")]
    OperationalVls {
        /// First port.
        a: String,
        /// Second port.
        b: String,
        /// OperationalVLs of `a`.
        a_vls: u8,
        /// OperationalVLs of `b`.
        b_vls: u8,
        /// Minimum of both VLCap and of
        /// [`Expectations::max_operational_vls`](super::Expectations::max_operational_vls).
        expected: u8,
    },
    /// An end port whose MasterSMLID is not the master's LID.
    #[error("{port}: MasterSMLID is {lid}, the master's LID is {master}")]
    MasterSmLid {
        /// The end port.
        port: String,
        /// Its MasterSMLID.
        lid: Lid,
        /// LID of the master's port.
        master: Lid,
    },
    #[error(transparent)]
    Mastership(#[from] MastershipFault),
    /// Multicast forwarding.
    #[error(transparent)]
    Multicast(#[from] MulticastFault),
    /// P_Key tables and partition enforcement.
    #[error(transparent)]
    Partition(#[from] PartitionFault),
    /// A value in PortInfo, SwitchInfo, SLtoVLMappingTable or VLArbitrationTable.
    #[error(transparent)]
    Setting(#[from] SettingFault),
    /// Port counters.
    #[error(transparent)]
    Counter(#[from] CounterFault),
    /// The SM's or the master's port in [`Expectations`](super::Expectations) does not exist.
    #[error("the expectations name port {port} of node {node}, which does not exist")]
    NoSuchPort { node: NodeIdx, port: u8 },
}

/// Why a unicast packet is not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryFailure {
    /// The LFT has no entry for the LID, or the LID is above LinearFDBTop.
    #[error("{0} has no LFT entry for it")]
    Dropped(String),
    /// The output port has no active link, or its neighbour is outside of the scope.
    #[error("{switch} forwards it to port {port}, which is not connected")]
    UnconnectedPort {
        switch: String,
        /// Its output port.
        port: PortNum,
    },
    /// The packet reaches an end port with another LID.
    #[error("{switch} forwards it to {end}")]
    WrongEndPort {
        /// The last switch.
        switch: String,
        /// The end port.
        end: String,
    },
    /// The packet loops.
    #[error("forwarding loop through {0}")]
    Loop(String),
}

/// A violated rule of mastership.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MastershipFault {
    /// No SM is master.
    #[error("none of the {0} reachable SMs is master")]
    NoMaster(usize),
    /// Several SMs are master.
    #[error("{} SMs are master: {}", .0.len(), .0.join(", "))]
    MultipleMasters(
        /// Their ports.
        Vec<String>,
    ),
    /// An SM other than the expected one is master.
    #[error("the SM at {port} is master, expected the SM at {expected}")]
    WrongMaster {
        /// The master's port.
        port: String,
        /// The port of the expected master.
        expected: String,
    },
    /// An active SM whose port does not have IsSM set.
    #[error("{0}: IsSM is clear, but an active SM uses the port")]
    IsSmClear(
        /// The port.
        String,
    ),
    /// A port with IsSM set, but without an active SM: Get(SMInfo) times out.
    #[error("{0}: IsSM is set, but no active SM uses the port")]
    IsSmSet(
        /// The port.
        String,
    ),
}

/// A violated rule of multicast forwarding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MulticastFault {
    /// MFT entries for an MLID that no group uses.
    #[error("MLID {:#06x} belongs to no group, but {switches} switches have MFT entries for it, such as {example}", .mlid.0)]
    StaleMlid {
        mlid: Lid,
        /// Switches with entries for it.
        switches: usize,
        /// The first of them.
        example: String,
    },
    /// An MFT entry with an unconnected port.
    #[error("{switch} forwards MLID {:#06x} to port {port}, which is not connected", .mlid.0)]
    UnconnectedPort {
        mlid: Lid,
        switch: String,
        port: PortNum,
    },
    /// An MFT entry with the port of an end port outside of the group.
    #[error("{switch} forwards MLID {:#06x} to {end}, which is not a member", .mlid.0)]
    NonMember {
        mlid: Lid,
        switch: String,
        /// The end port.
        end: String,
    },
    /// Members that do not receive a packet.
    #[error("MLID {:#06x} from {sender} does not reach {missed} of {members} other members, such as {example}", .mlid.0)]
    MemberNotReached {
        mlid: Lid,
        sender: String,
        /// Members without a copy.
        missed: usize,
        /// Members other than the sender.
        members: usize,
        /// The first member without a copy.
        example: String,
    },
    /// A switch or end port that receives more than one copy of a packet.
    #[error("multicast loop: MLID {:#06x} from {sender} reaches {location} more than once", .mlid.0)]
    Loop {
        mlid: Lid,
        sender: String,
        /// The switch or end port.
        location: String,
    },
    /// MFT entries above MulticastFDBTop.
    #[error("{switch}: the MFT entry of MLID {:#06x} is above MulticastFDBTop {top:#06x}", .mlid.0)]
    AboveTop {
        switch: String,
        /// The highest MLID with an entry.
        mlid: Lid,
        /// MulticastFDBTop.
        top: u16,
    },
}

/// A violated rule of partitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionFault {
    /// A P_Key table other than configured.
    #[error(
        "{port}: P_Key table is {}, expected {}",
        join_or(actual, "empty"),
        join_or(expected, "0xffff or 0x7fff alone")
    )]
    WrongPKeys {
        /// The end port.
        port: String,
        actual: Vec<PKey>,
        /// The configured P_Keys. If empty, either P_Key of the default partition alone is valid.
        expected: Vec<PKey>,
    },
    /// A wrong P_Key at index 0, which hosts use by default.
    #[error("{port}: P_Key at index 0 is {actual}, expected {expected}")]
    WrongIndex0 {
        /// The end port.
        port: String,
        /// Its P_Key at index 0.
        actual: PKey,
        /// The configured P_Key at index 0.
        expected: PKey,
    },
    /// An end port that cannot communicate with the master.
    #[error("{port} and the master's {master} share no partition with a full member")]
    NoSharedPartition {
        /// The end port.
        port: String,
        /// The master's port.
        master: String,
    },
    /// Partition enforcement drops packets of a member.
    #[error("{switch_port}: partition enforcement drops {key}, which {port} has")]
    BlockedPKey {
        switch_port: String,
        key: PKey,
        /// An end port with this P_Key.
        port: String,
    },
    /// Partition enforcement passes packets that the attached end port must not exchange.
    #[error(
        "{switch_port}: partition enforcement passes {key}, which the attached {port} does not have"
    )]
    ExtraPKey {
        switch_port: String,
        key: PKey,
        /// The attached end port.
        port: String,
    },
    /// Enforcement bits other than configured.
    #[error(
        "{switch_port}: partition enforcement is inbound {inbound}, outbound {outbound}; \
         configured is inbound {expected_inbound}, outbound {expected_outbound}"
    )]
    Enforcement {
        switch_port: String,
        /// PartitionEnforcementInbound.
        inbound: bool,
        /// PartitionEnforcementOutbound.
        outbound: bool,
        /// Configured PartitionEnforcementInbound.
        expected_inbound: bool,
        /// Configured PartitionEnforcementOutbound.
        expected_outbound: bool,
    },
}

/// A value other than expected. Tuple variants hold the port or switch, its value, and the expected
/// value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingFault {
    /// M_Key. The message does not contain the keys.
    #[error("{0}: M_Key differs from the expected M_Key")]
    MKey(
        /// The end port.
        String,
    ),
    #[error("{0}: M_KeyProtectBits is {1}, expected {2}")]
    MKeyProtectBits(String, u8, u8),
    #[error("{0}: M_KeyLeasePeriod is {1} s, expected {2} s")]
    MKeyLeasePeriod(String, u16, u16),
    #[error("{0}: GidPrefix is {1}, expected {2}")]
    GidPrefix(String, GidPrefix, GidPrefix),
    #[error("{0}: SubnetTimeOut is {1}, expected {2}")]
    SubnetTimeout(String, u8, u8),
    #[error("{0}: LMC is {1}, expected {2}")]
    Lmc(String, Lmc, Lmc),
    #[error("{0}: MasterSMSL is {1}, expected {2}")]
    MasterSmSl(String, Sl, Sl),
    #[error("{0}: HOQLife is {1}, expected {2}")]
    HoqLife(String, u8, u8),
    #[error("{0}: VLStallCount is {1}, expected {2}")]
    VlStallCount(String, u8, u8),
    /// LifeTimeValue.
    #[error("{0}: LifeTimeValue is {1}, expected {2}")]
    PacketLifeTime(String, u8, u8),
    /// ClientReregister was set less often than expected, so clients did not register again.
    #[error("{0}: ClientReregister was set {1} times, expected at least {2}")]
    NotReregistered(String, u32, u32),
    /// LinearFDBTop below the highest LID in use.
    #[error("{0}: LinearFDBTop is {1}, the highest LID in use is {2}")]
    LinearFdbTop(String, u16, Lid),
    /// PortStateChange is still set: the SM did not process the change.
    #[error("{0}: PortStateChange is set")]
    PortStateChange(
        /// The switch.
        String,
    ),
    /// An SLtoVLMappingTable entry with an inactive VL.
    #[error(
        "{port}: SLtoVLMappingTable maps SL {sl} from port {input} to VL {vl}, {data_vls} data VLs are active"
    )]
    SlToVlInactiveVl {
        /// Output port.
        port: String,
        input: PortNum,
        /// Service level.
        sl: Sl,
        /// VL in the table.
        vl: u8,
        /// Active data VLs of the port.
        data_vls: u8,
    },
    /// A VLArbitrationTable entry with an inactive VL.
    #[error("{port}: VLArbitrationTable gives weight to VL {vl}, {data_vls} data VLs are active")]
    VlArbInactiveVl {
        port: String,
        /// VL in the table.
        vl: u8,
        /// Active data VLs of the port.
        data_vls: u8,
    },
    /// A VL in use without weight in VLArbitrationTable: its packets are never sent.
    #[error("{port}: VL {vl} is in use but has no weight in VLArbitrationTable")]
    VlWithoutWeight { port: String, vl: u8 },
}

/// Port counters that contradict each other or report errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CounterFault {
    /// A port received more than its neighbour sent.
    #[error("{to} received {received} {description}, but {from} sent {sent}")]
    ReceivedMoreThanSent {
        /// The receiving port.
        to: String,
        /// The sending port.
        from: String,
        /// `packets` or `words`.
        description: &'static str,
        /// Increase of the receive counter.
        received: u64,
        /// Increase of the transmit counter.
        sent: u64,
    },
    /// Packets lost on a link without a matching error counter.
    #[error(
        "{from} sent {sent} packets, {to} received {received}; its error counters account for {explained}"
    )]
    UnexplainedLoss {
        /// The sending port.
        from: String,
        /// The receiving port.
        to: String,
        /// Packets sent.
        sent: u64,
        /// Packets received.
        received: u64,
        /// Packets that the receiver's error counters account for.
        explained: u64,
    },
    /// An error counter rose on a fabric without faults.
    #[error("{port}: error counter {counter} rose by {by}")]
    ErrorCounterRose {
        port: String,
        /// The counter's name in the specification.
        counter: &'static str,
        /// The increase.
        by: u64,
    },
    /// A counter decreased without a reset.
    #[error("{port}: counter {counter} decreased from {before} to {after}")]
    Decreased {
        port: String,
        /// The counter's name in the specification.
        counter: &'static str,
        /// Value in the first snapshot.
        before: u64,
        /// Value in the second snapshot.
        after: u64,
    },
}

/// The P_Keys with commas between them, or `none` if there are none.
fn join_or(keys: &[PKey], none: &str) -> String {
    if keys.is_empty() {
        return none.to_owned();
    }
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join(", ")
}
