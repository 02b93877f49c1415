//! Why a request is refused.
//!
//! [`SaRefusal`] has the values that explain a refusal to an operator. [`SaRefusal::class`] is the
//! one table from which the status of the reply and the [`RefusalCause`], the label of metrics, are
//! taken. [`crate::refusal_log`] counts them.
//!
//! | module | contents |
//! |---|---|
//! | this | refusals, their statuses and texts |
//! | `cause` | causes, which metrics count |

mod cause;

use core::fmt;

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::sa::path::{RateCode, Selector};

pub use cause::RefusalCause;

/// A value that a request limits, and the value that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound<T> {
    /// How they are compared.
    pub selector: Selector,
    /// The value in the request.
    pub requested: T,
    /// The value of the group, port or path.
    pub actual: T,
}

impl<T: fmt::Display> Bound<T> {
    /// `rate exactly 40 Gb/s requested, 10 Gb/s available`.
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, unit: &str) -> fmt::Result {
        let Self {
            selector,
            requested,
            actual,
        } = self;
        write!(
            f,
            "{name} {selector} {requested}{unit} requested, {actual}{unit} available"
        )
    }
}

/// Why a request is refused. `Display` is a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaRefusal {
    // Requests that are dropped: hosts take any status as final, but repeat a request without a
    // reply.
    /// No port has the source LID.
    UnknownSource(Lid),
    /// No port has the source GID: a virtual port that is not registered yet.
    UnknownRequester(Gid),
    /// No port has the PortGID of a join: a virtual port that is not registered yet.
    UnknownPortGid(Gid),

    // Requests of any kind.
    /// The SA does not support the attribute, or the method for it.
    Unsupported,
    /// Only for clients with the SM_Key.
    NotTrusted,
    /// Required components are missing.
    MissingComponents(&'static str),
    InvalidField(&'static str),
    /// The GID in the GRH belongs to another port than the source LID.
    SourceMismatch(Gid),
    /// No record matches a Get.
    NoRecords,
    /// Several records match a Get.
    TooManyRecords,
    /// The query exceeds the work or reply size of one request.
    TooLarge,
    /// A table is full: what, and its size.
    Full(&'static str, usize),

    // Joins and leaves.
    /// PortGID of another subnet.
    ForeignPortGid(Gid),
    /// The group to leave does not exist.
    NoGroup,
    /// The group does not exist, and the request lacks components (a mask) to create it.
    CannotCreate(u64),
    /// An IPoIB group needs its broadcast group.
    NoBroadcastGroup(Gid),
    /// Clients may not create this MGID.
    InvalidMgid,
    /// No JoinState, one that does not create a group, or one that the member to leave does not
    /// have.
    JoinState {
        requested: JoinState,
        /// That the member has; 0 for none.
        member: JoinState,
    },
    /// The port to leave is not a member.
    NotMember,
    /// The port joined for itself: other ports may not change its membership.
    OtherPort,
    /// The joining port is not a member of the group's partition.
    NotInPartition(PKey),
    /// The requester, which acts for another port, is not a member of the group's partition.
    RequesterNotInPartition(PKey),
    /// The port's MTU is below the group's.
    MtuTooLow {
        group: MtuCode,
        port: MtuCode,
    },
    /// The link's rate is below the group's.
    RateTooLow {
        group: RateCode,
        /// Of the port's link.
        link: RateCode,
    },
    /// A component differs from the group's, or from that of its broadcast group.
    OtherValue {
        /// The component.
        name: &'static str,
        requested: u32,
        group: u32,
    },
    GroupMtu(Bound<MtuCode>),
    GroupRate(Bound<RateCode>),
    /// PacketLifeTime of a group.
    GroupLifeTime(Bound<u8>),
    /// The routing does not carry multicast on this SL.
    NotMulticastSl(Sl),
    /// All MLIDs are in use, and none can be shared.
    NoMlid,

    // Services, subscriptions and aliases.
    /// Another port registered the service.
    OtherRegistrant(PortGuid),
    /// The subscription to end does not exist.
    NotSubscribed,
    /// The GUIDInfo table of another port.
    OtherTable(Lid),
    /// The port has no such block of GUIDs.
    NoSuchBlock {
        /// In the request.
        block: u8,
        /// Number of blocks that the port has.
        blocks: u8,
    },
    /// The alias is a member of a multicast group.
    AliasInGroup(PortGuid),
    /// The alias is the GUID or alias of another port. The reply has the entries that were
    /// accepted.
    AliasTaken(PortGuid),

    // Paths.
    /// No port has the GID.
    UnknownGid(Gid),
    /// No port has the LID, or it is not visible to the client.
    UnknownLid(Lid),
    /// No router leads to the GID.
    NoRouter(Gid),
    /// The ends, or the client and an end, share no partition.
    NoCommonPartition,
    /// The ends do not share the requested partition.
    NotInCommonPartition(PKey),
    /// The QoS policy excludes the requested partition.
    PartitionExcluded(PKey),
    /// The QoS policy excludes the LIDs.
    LidsExcluded,
    PathMtu(Bound<MtuCode>),
    PathRate(Bound<RateCode>),
    /// PacketLifeTime of a path.
    PathLifeTime(Bound<u8>),
    /// Another SL than that of the path.
    PathSl {
        requested: Sl,
        path: Sl,
    },
    /// The forwarding tables lead from one LID to the other in neither or only one direction.
    NoRoute {
        /// Source.
        from: Lid,
        /// Destination.
        to: Lid,
    },
}

impl SaRefusal {
    /// The status of the reply, and the cause. `None`: the request gets no reply.
    #[must_use]
    pub const fn class(&self) -> (Option<Status>, RefusalCause) {
        use RefusalCause as Cause;
        let (status, cause) = match self {
            Self::UnknownSource(_) | Self::UnknownRequester(_) | Self::UnknownPortGid(_) => {
                return (None, Cause::UnknownRequester);
            }
            Self::Unsupported => (Status::BAD_METHOD_ATTR, Cause::Unsupported),
            Self::NotTrusted => (Status::REQ_INVALID, Cause::NotTrusted),
            Self::MissingComponents(_) => {
                (Status::INSUFFICIENT_COMPONENTS, Cause::MissingComponents)
            }
            Self::InvalidField(_) => (Status::REQ_INVALID, Cause::InvalidField),
            Self::SourceMismatch(_) => (Status::REQ_INVALID, Cause::SourceMismatch),
            Self::NoRecords => (Status::NO_RECORDS, Cause::NoRecords),
            Self::TooManyRecords => (Status::TOO_MANY_RECORDS, Cause::TooManyRecords),
            Self::TooLarge => (Status::NO_RESOURCES, Cause::TooLarge),
            Self::Full(..) => (Status::NO_RESOURCES, Cause::Full),
            Self::ForeignPortGid(_) => (Status::INVALID_GID, Cause::UnknownGid),
            Self::NoGroup => (Status::REQ_INVALID, Cause::NoGroup),
            Self::CannotCreate(_) => (Status::INSUFFICIENT_COMPONENTS, Cause::NoGroup),
            Self::NoBroadcastGroup(_) => (Status::REQ_INVALID, Cause::NoGroup),
            Self::InvalidMgid => (Status::REQ_INVALID, Cause::InvalidField),
            Self::JoinState { .. } => (Status::REQ_INVALID, Cause::JoinState),
            Self::NotMember => (Status::REQ_INVALID, Cause::NotMember),
            Self::OtherPort => (Status::REQ_INVALID, Cause::OtherPort),
            Self::NotInPartition(_) | Self::RequesterNotInPartition(_) => {
                (Status::REQ_INVALID, Cause::Partition)
            }
            Self::MtuTooLow { .. } | Self::GroupMtu(_) => (Status::REQ_INVALID, Cause::Mtu),
            Self::RateTooLow { .. } | Self::GroupRate(_) => (Status::REQ_INVALID, Cause::Rate),
            Self::OtherValue { .. } => (Status::REQ_INVALID, Cause::OtherValue),
            Self::GroupLifeTime(_) => (Status::REQ_INVALID, Cause::PacketLifeTime),
            Self::NotMulticastSl(_) => (Status::REQ_INVALID, Cause::Sl),
            Self::NoMlid => (Status::NO_RESOURCES, Cause::NoMlid),
            Self::OtherRegistrant(_) => (Status::DENIED, Cause::OtherPort),
            Self::NotSubscribed => (Status::REQ_INVALID, Cause::NotSubscribed),
            Self::OtherTable(_) => (Status::DENIED, Cause::OtherPort),
            Self::NoSuchBlock { .. } => (Status::NO_RECORDS, Cause::InvalidField),
            Self::AliasInGroup(_) => (Status::DENIED, Cause::AliasInUse),
            Self::AliasTaken(_) => (Status::OK, Cause::AliasInUse),
            Self::UnknownGid(_) => (Status::INVALID_GID, Cause::UnknownGid),
            Self::UnknownLid(_) => (Status::NO_RECORDS, Cause::UnknownLid),
            Self::NoRouter(_) => (Status::INVALID_GID, Cause::NoRouter),
            Self::NoCommonPartition | Self::NotInCommonPartition(_) => {
                (Status::NO_RECORDS, Cause::Partition)
            }
            Self::PartitionExcluded(_) | Self::LidsExcluded => {
                (Status::NO_RECORDS, Cause::QosPolicy)
            }
            Self::PathMtu(_) => (Status::NO_RECORDS, Cause::Mtu),
            Self::PathRate(_) => (Status::NO_RECORDS, Cause::Rate),
            Self::PathLifeTime(_) => (Status::NO_RECORDS, Cause::PacketLifeTime),
            Self::PathSl { .. } => (Status::NO_RECORDS, Cause::Sl),
            Self::NoRoute { .. } => (Status::NO_RECORDS, Cause::NoRoute),
        };
        (Some(status), cause)
    }

    /// The status of the reply; `None` if there is none.
    #[must_use]
    pub const fn status(&self) -> Option<Status> {
        self.class().0
    }

    /// The cause, which metrics count.
    #[must_use]
    pub const fn cause(&self) -> RefusalCause {
        self.class().1
    }
}

/// Names of components of MCMemberRecord that creation requires.
const CREATION_COMPONENTS: [(u64, &str); 5] = [
    (1 << 2, "Q_Key"),
    (1 << 6, "TClass"),
    (1 << 7, "P_Key"),
    (1 << 12, "SL"),
    (1 << 13, "FlowLabel"),
];

impl fmt::Display for SaRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSource(lid) => write!(f, "no port has the source LID {lid}"),
            Self::UnknownRequester(gid) => write!(
                f,
                "no port has the source GID {gid}: an alias GUID that is not registered (yet); no reply"
            ),
            Self::UnknownPortGid(gid) => write!(
                f,
                "no port has the PortGID {gid}: an alias GUID that is not registered (yet); no reply"
            ),
            Self::Unsupported => f.write_str("attribute or method not supported"),
            Self::NotTrusted => f.write_str("only for clients with the SM_Key"),
            Self::MissingComponents(names) => write!(f, "components missing: {names}"),
            Self::InvalidField(name) => write!(f, "invalid {name}"),
            Self::SourceMismatch(gid) => {
                write!(
                    f,
                    "source GID {gid} belongs to another port than the source LID"
                )
            }
            Self::NoRecords => f.write_str("no record matches"),
            Self::TooManyRecords => f.write_str("several records match"),
            Self::TooLarge => f.write_str("query exceeds the work or reply size of one request"),
            Self::Full(what, max) => write!(f, "limit of {max} {what} reached"),
            Self::ForeignPortGid(gid) => write!(f, "PortGID {gid} has another subnet prefix"),
            Self::NoGroup => f.write_str("group does not exist"),
            Self::CannotCreate(missing) => {
                f.write_str("group does not exist; components missing to create it:")?;
                let missing = CREATION_COMPONENTS
                    .into_iter()
                    .filter(|(bit, _)| missing & bit != 0);
                missing
                    .into_iter()
                    .try_for_each(|(_, name)| write!(f, " {name}"))
            }
            Self::NoBroadcastGroup(mgid) => write!(f, "broadcast group {mgid} does not exist"),
            Self::InvalidMgid => f.write_str("MGID not allowed for groups of clients"),
            Self::JoinState { requested, member } => write!(
                f,
                "JoinState {:#x} invalid here; the port has {:#x}",
                requested.0, member.0
            ),
            Self::NotMember => f.write_str("port is not a member of the group"),
            Self::OtherPort => f.write_str("membership that another port created for itself"),
            Self::NotInPartition(pkey) => write!(f, "port is not a member of P_Key {pkey}"),
            Self::RequesterNotInPartition(pkey) => {
                write!(f, "requester is not a member of P_Key {pkey}")
            }
            Self::MtuTooLow { group, port } => write!(f, "group MTU {group}, port {port}"),
            Self::RateTooLow { group, link } => write!(f, "group {group} Gb/s, link {link} Gb/s"),
            Self::OtherValue {
                name,
                requested,
                group,
            } => write!(f, "{name} {requested:#x} requested, group has {group:#x}"),
            Self::GroupMtu(bound) | Self::PathMtu(bound) => bound.write(f, "MTU", ""),
            Self::GroupRate(bound) | Self::PathRate(bound) => bound.write(f, "rate", " Gb/s"),
            Self::GroupLifeTime(bound) | Self::PathLifeTime(bound) => {
                bound.write(f, "PacketLifeTime", "")
            }
            Self::NotMulticastSl(sl) => write!(f, "routing carries no multicast on SL {sl}"),
            Self::NoMlid => f.write_str("no MLID to share"),
            Self::OtherRegistrant(guid) => write!(f, "service registered by port {guid}"),
            Self::NotSubscribed => f.write_str("no such subscription"),
            Self::OtherTable(lid) => write!(f, "GUIDs of another port, LID {lid}"),
            Self::NoSuchBlock { block, blocks } => {
                write!(f, "block {block} of GUIDs, port has {blocks} blocks")
            }
            Self::AliasInGroup(guid) => write!(f, "alias GUID {guid} is a member of a group"),
            Self::AliasTaken(guid) => write!(f, "GUID {guid} belongs to another port"),
            Self::UnknownGid(gid) => write!(f, "no port has the GID {gid}"),
            Self::UnknownLid(lid) => write!(f, "no visible port has the LID {lid}"),
            Self::NoRouter(gid) => write!(f, "no router to the GID {gid}"),
            Self::NoCommonPartition => f.write_str("no common partition"),
            Self::NotInCommonPartition(pkey) => {
                write!(f, "source and destination do not share P_Key {pkey}")
            }
            Self::PartitionExcluded(pkey) => write!(f, "QoS level excludes P_Key {pkey}"),
            Self::LidsExcluded => f.write_str("QoS level excludes the LIDs"),
            Self::PathSl { requested, path } => {
                write!(f, "SL {requested} requested, path has SL {path}")
            }
            Self::NoRoute { from, to } => write!(f, "no route between LIDs {from} and {to}"),
        }
    }
}
