//! Everything that an oracle can find wrong, each with a sentence for whoever is woken up by it.

use ferrosm_mad::attr::{MtuCode, PortState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, PKey, PortNum, Sl};

use crate::spec::NodeIdx;

/// Something that is wrong. Ports are given as `name[port]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An end port without a legal LID range.
    #[error("{port} has LID {lid} LMC {lmc}, which is not a range of unicast LIDs")]
    IllegalLid {
        /// The end port.
        port: String,
        /// Its LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// A base LID that is no multiple of 2^LMC.
    #[error("{port} has LID {lid}, which is not aligned to LMC {lmc}")]
    UnalignedLid {
        /// The end port.
        port: String,
        /// Its LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// Two end ports answer to one LID.
    #[error("{port} and {other} both have LID {lid}")]
    DuplicateLid {
        /// One of them.
        port: String,
        /// The other.
        other: String,
        /// What both have.
        lid: Lid,
    },
    /// Packets do not arrive.
    #[error(
        "LID {lid} of {port} is not reached from {failing} of {sources} switches, from {example}: {why}"
    )]
    Undelivered {
        /// Where they are sent.
        lid: Lid,
        /// Whose LID it is.
        port: String,
        /// How many switches cannot send there.
        failing: usize,
        /// How many should.
        sources: usize,
        /// One that cannot.
        example: String,
        /// What happens to its packets.
        why: Lost,
    },
    /// A switch has no lane for packets that should pass.
    #[error(
        "{switch} drops packets on SL {sl} from port {input} to port {output}: SLtoVLMappingTable says VL {vl}, \
         and {lanes} data VLs are in operation there; {lids} LIDs are cut off, LID {lid} from {source_port} is one"
    )]
    NoLane {
        /// The switch.
        switch: String,
        /// Where the packets come in.
        input: PortNum,
        /// Where they should leave.
        output: PortNum,
        /// Their service level.
        sl: Sl,
        /// What the table says; 15 is no lane.
        vl: u8,
        /// Lanes in operation at the output.
        lanes: u8,
        /// LIDs that some packets do not reach for it.
        lids: usize,
        /// One of them.
        lid: Lid,
        /// An end port that sends there.
        source_port: String,
    },
    /// An end port has no lane for what it should send.
    #[error(
        "{port} cannot send on SL {sl}: its SLtoVLMappingTable says VL {vl}, and {lanes} data VLs are in operation"
    )]
    NoSourceLane {
        /// The end port.
        port: String,
        /// The service level.
        sl: Sl,
        /// What the table says; 15 is no lane.
        vl: u8,
        /// Lanes in operation.
        lanes: u8,
    },
    /// Channels that wait for each other.
    #[error("credit loop over {} channels: {}", .0.len(), .0.join(" -> "))]
    CreditLoop(
        /// The egress ports with their VL, in order; the last waits for the first.
        Vec<String>,
    ),
    /// A link that carries no data.
    #[error("link {a} to {b} is {a_state} to {b_state}, not Active")]
    NotActive {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// State of the one.
        a_state: PortState,
        /// State of the other.
        b_state: PortState,
    },
    /// NeighborMTU is not the largest that both ends can.
    #[error("link {a} to {b} has NeighborMTU {a_mtu} and {b_mtu}, both ends can {want}")]
    Mtu {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// Of the one.
        a_mtu: MtuCode,
        /// Of the other.
        b_mtu: MtuCode,
        /// What it should be.
        want: MtuCode,
    },
    /// OperationalVLs is not the most that both ends can.
    #[error("link {a} to {b} has OperationalVLs {a_vls} and {b_vls}, both ends can {want}")]
    OperationalVls {
        /// One end.
        a: String,
        /// The other.
        b: String,
        /// Of the one.
        a_vls: u8,
        /// Of the other.
        b_vls: u8,
        /// What it should be.
        want: u8,
    },
    /// A port that takes another for its master.
    #[error("{port} has MasterSMLID {lid}, the master has {master}")]
    MasterSmLid {
        /// The end port.
        port: String,
        /// What it holds.
        lid: Lid,
        /// What it should hold.
        master: Lid,
    },
    /// Who is master.
    #[error(transparent)]
    Mastership(#[from] MastershipFault),
    /// Multicast.
    #[error(transparent)]
    Multicast(#[from] MulticastFault),
    /// P_Keys.
    #[error(transparent)]
    Partition(#[from] PartitionFault),
    /// A value in PortInfo, SwitchInfo or a lane table.
    #[error(transparent)]
    Setting(#[from] SettingFault),
    /// Port counters that cannot be.
    #[error(transparent)]
    Counter(#[from] CounterFault),
    /// The port of [`Expect`](super::Expect) does not exist.
    #[error("there is no port {port} on node {node} to judge from")]
    NoSuchPort {
        /// The node.
        node: NodeIdx,
        /// The port.
        port: u8,
    },
}

/// What happens to a packet that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The table has no egress for the LID, or the LID is above LinearFDBTop.
    #[error("{0} drops it")]
    Dropped(String),
    /// The egress port has no live link, or leads to a node that is not judged.
    #[error("{switch} sends it to port {port}, which leads nowhere")]
    Nowhere {
        /// The switch.
        switch: String,
        /// The egress port.
        port: PortNum,
    },
    /// It comes to an end port that does not have the LID.
    #[error("{switch} sends it to {end}")]
    WrongEnd {
        /// The last switch.
        switch: String,
        /// Where it ends.
        end: String,
    },
    /// It never ends.
    #[error("it comes back to {0} again and again")]
    Loop(String),
}

/// What is wrong with who is master.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MastershipFault {
    /// Nobody.
    #[error("none of the {0} managers in reach is master")]
    Nobody(usize),
    /// More than one.
    #[error("{} managers take themselves for master: {}", .0.len(), .0.join(", "))]
    Several(
        /// Their ports.
        Vec<String>,
    ),
    /// Another than it should be.
    #[error("the manager at {port} is master, it should be the one at {wanted}")]
    Other {
        /// Its port.
        port: String,
        /// The port of the right one.
        wanted: String,
    },
    /// A manager that others cannot see.
    #[error("{0} has a manager that takes part in elections, and its IsSM bit is off")]
    NoIsSm(
        /// The port.
        String,
    ),
    /// A bit that makes others ask for SMInfo in vain.
    #[error("{0} has no manager that takes part in elections, and its IsSM bit is on")]
    StrayIsSm(
        /// The port.
        String,
    ),
}

/// What is wrong with multicast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MulticastFault {
    /// Entries of a group that does not exist.
    #[error("MLID {:#06x} is in the tables of {switches} switches, {example} is one, and is no group's", .mlid.0)]
    Stray {
        /// The MLID.
        mlid: Lid,
        /// How many have entries for it.
        switches: usize,
        /// One of them.
        example: String,
    },
    /// A bit of a port that leads nowhere.
    #[error("{switch} sends MLID {:#06x} to port {port}, which leads nowhere", .mlid.0)]
    Nowhere {
        /// The MLID.
        mlid: Lid,
        /// The switch.
        switch: String,
        /// Its port.
        port: PortNum,
    },
    /// A copy for somebody who did not join.
    #[error("{switch} sends MLID {:#06x} to {end}, which is no member", .mlid.0)]
    Stranger {
        /// The MLID.
        mlid: Lid,
        /// The switch.
        switch: String,
        /// Who gets a copy.
        end: String,
    },
    /// Members that get no copy.
    #[error("MLID {:#06x} from {sender} does not reach {missed} of {members} other members, {example} is one", .mlid.0)]
    Missed {
        /// The MLID.
        mlid: Lid,
        /// Who sends.
        sender: String,
        /// How many get nothing.
        missed: usize,
        /// How many should.
        members: usize,
        /// One that gets nothing.
        example: String,
    },
    /// The tree has a loop: copies meet again.
    #[error("MLID {:#06x} from {sender} comes to {place} more than once: the tree has a loop", .mlid.0)]
    Loop {
        /// The MLID.
        mlid: Lid,
        /// Who sends.
        sender: String,
        /// The switch, or the end port, that gets more than one copy.
        place: String,
    },
    /// Entries that are not looked up.
    #[error("{switch} has an entry for MLID {:#06x} and MulticastFDBTop {top:#06x}, so it is not used", .mlid.0)]
    AboveTop {
        /// The switch.
        switch: String,
        /// The highest such MLID.
        mlid: Lid,
        /// Where the table ends.
        top: u16,
    },
}

/// What is wrong with P_Keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionFault {
    /// Not the keys that were configured.
    #[error("{port} has the P_Keys {has:?}, configured is {wanted:?}")]
    Keys {
        /// The end port.
        port: String,
        /// What it holds.
        has: Vec<PKey>,
        /// What it should hold; empty where either key of the default partition alone will do.
        wanted: Vec<PKey>,
    },
    /// Another key at index 0.
    #[error("{port} has {has} at P_Key index 0, where hosts expect {wanted}")]
    Index0 {
        /// The end port.
        port: String,
        /// What is there.
        has: PKey,
        /// What should be.
        wanted: PKey,
    },
    /// A port that cannot talk to the master.
    #[error(
        "{port} and the master's {master} share no partition in which one of them is a full member"
    )]
    NoCommon {
        /// The end port.
        port: String,
        /// The master's port.
        master: String,
    },
    /// A switch port drops legitimate packets.
    #[error("{switch_port} checks P_Keys and does not let {key} pass, which {port} has")]
    Blocked {
        /// The switch port.
        switch_port: String,
        /// The key.
        key: PKey,
        /// The end port that has it.
        port: String,
    },
    /// A switch port lets packets pass that the end port behind it has no business with.
    #[error(
        "{switch_port} checks P_Keys and lets {key} pass, which {port} behind it does not have"
    )]
    TooWide {
        /// The switch port.
        switch_port: String,
        /// The key.
        key: PKey,
        /// The end port.
        port: String,
    },
    /// Enforcement other than configured.
    #[error(
        "{switch_port} has partition enforcement inbound {inbound}, outbound {outbound}; configured is \
         {wanted_inbound} and {wanted_outbound}"
    )]
    Enforcement {
        /// The switch port.
        switch_port: String,
        /// What it does with what comes in.
        inbound: bool,
        /// What it does with what goes out.
        outbound: bool,
        /// What it should do with what comes in.
        wanted_inbound: bool,
        /// What it should do with what goes out.
        wanted_outbound: bool,
    },
}

/// A value that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingFault {
    /// M_Key. The keys are not shown.
    #[error("{0} has another M_Key than it should")]
    MKey(
        /// The end port.
        String,
    ),
    /// M_KeyProtectBits.
    #[error("{0} has M_KeyProtectBits {1}, it should be {2}")]
    MKeyProtectBits(String, u8, u8),
    /// M_KeyLeasePeriod.
    #[error("{0} has M_KeyLeasePeriod {1} s, it should be {2} s")]
    MKeyLeasePeriod(String, u16, u16),
    /// GidPrefix.
    #[error("{0} has GID prefix {1}, it should be {2}")]
    GidPrefix(String, GidPrefix, GidPrefix),
    /// SubnetTimeOut.
    #[error("{0} has SubnetTimeOut {1}, it should be {2}")]
    SubnetTimeout(String, u8, u8),
    /// LMC.
    #[error("{0} has LMC {1}, it should be {2}")]
    Lmc(String, Lmc, Lmc),
    /// MasterSMSL.
    #[error("{0} has MasterSMSL {1}, it should be {2}")]
    MasterSmSl(String, Sl, Sl),
    /// HOQLife.
    #[error("{0} has HOQLife {1}, it should be {2}")]
    HoqLife(String, u8, u8),
    /// VLStallCount.
    #[error("{0} has VLStallCount {1}, it should be {2}")]
    VlStallCount(String, u8, u8),
    /// LifeTimeValue.
    #[error("{0} has LifeTimeValue {1}, it should be {2}")]
    PacketLifeTime(String, u8, u8),
    /// A port whose clients do not know that they must register again.
    #[error("{0} was asked to reregister {1} times, it should be at least {2}")]
    NotReregistered(String, u32, u32),
    /// LinearFDBTop below a LID in use.
    #[error("{0} looks up LIDs to {1}, the highest in use is {2}")]
    LinearFdbTop(String, u16, Lid),
    /// PortStateChange.
    #[error("{0} still says PortStateChange: nobody took note of it")]
    PortStateChange(
        /// The switch.
        String,
    ),
    /// A lane that does not exist.
    #[error(
        "{port} maps SL {sl} from port {input} to VL {vl}, and {lanes} data VLs are in operation"
    )]
    SlToVlBeyond {
        /// The output port.
        port: String,
        /// The input port.
        input: PortNum,
        /// The service level.
        sl: Sl,
        /// What the table says.
        vl: u8,
        /// Lanes in operation.
        lanes: u8,
    },
    /// An arbitration entry for a lane that does not exist.
    #[error(
        "{port} has weight for VL {vl} in VLArbitrationTable, and {lanes} data VLs are in operation"
    )]
    VlArbBeyond {
        /// The port.
        port: String,
        /// The lane.
        vl: u8,
        /// Lanes in operation.
        lanes: u8,
    },
    /// A lane that gets no turn.
    #[error(
        "{port} sends packets on VL {vl}, which has no weight in VLArbitrationTable: they never leave"
    )]
    VlStarved {
        /// The port.
        port: String,
        /// The lane.
        vl: u8,
    },
}

/// What is wrong with port counters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CounterFault {
    /// More came out of a cable than went in.
    #[error("{to} received {received} {what}, {from} sent {sent}")]
    MoreThanSent {
        /// The receiver.
        to: String,
        /// The sender.
        from: String,
        /// Packets or words.
        what: &'static str,
        /// What came out.
        received: u64,
        /// What went in.
        sent: u64,
    },
    /// Packets that are gone, and no counter tells why.
    #[error(
        "{from} sent {sent} packets, {to} received {received}, and its error counters explain {explained}"
    )]
    LostOnLink {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// What went in.
        sent: u64,
        /// What came out.
        received: u64,
        /// What the receiver's error counters account for.
        explained: u64,
    },
    /// A counter of trouble moved on a healthy fabric.
    #[error("{port}: {counter} rose by {by} with no fault about")]
    Trouble {
        /// The port.
        port: String,
        /// The counter, by its name in the specification.
        counter: &'static str,
        /// How much.
        by: u64,
    },
    /// A counter that went back without being reset.
    #[error("{port}: {counter} went back from {before} to {after}")]
    Backwards {
        /// The port.
        port: String,
        /// The counter.
        counter: &'static str,
        /// Earlier.
        before: u64,
        /// Later.
        after: u64,
    },
}
