//! Causes of refusals, as metrics count them.

/// Why a request is refused, without values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalCause {
    AliasInUse,
    Full,
    InvalidField,
    JoinState,
    MissingComponents,
    Mtu,
    NoGroup,
    NoMlid,
    NoRecords,
    NoRoute,
    NoRouter,
    NotMember,
    NotSubscribed,
    NotTrusted,
    OtherPort,
    OtherValue,
    PacketLifeTime,
    Partition,
    QosPolicy,
    Rate,
    Sl,
    SourceMismatch,
    TooLarge,
    TooManyRecords,
    UnknownGid,
    UnknownLid,
    UnknownRequester,
    Unsupported,
}

impl RefusalCause {
    /// All causes and their labels, in the order of their discriminants.
    pub const ALL: [(Self, &'static str); 28] = [
        (Self::AliasInUse, "alias-in-use"),
        (Self::Full, "full"),
        (Self::InvalidField, "invalid-field"),
        (Self::JoinState, "join-state"),
        (Self::MissingComponents, "missing-components"),
        (Self::Mtu, "mtu"),
        (Self::NoGroup, "no-group"),
        (Self::NoMlid, "no-mlid"),
        (Self::NoRecords, "no-records"),
        (Self::NoRoute, "no-route"),
        (Self::NoRouter, "no-router"),
        (Self::NotMember, "not-a-member"),
        (Self::NotSubscribed, "not-subscribed"),
        (Self::NotTrusted, "not-trusted"),
        (Self::OtherPort, "other-port"),
        (Self::OtherValue, "other-value"),
        (Self::PacketLifeTime, "packet-life-time"),
        (Self::Partition, "partition"),
        (Self::QosPolicy, "qos-policy"),
        (Self::Rate, "rate"),
        (Self::Sl, "sl"),
        (Self::SourceMismatch, "source-mismatch"),
        (Self::TooLarge, "too-large"),
        (Self::TooManyRecords, "too-many-records"),
        (Self::UnknownGid, "unknown-gid"),
        (Self::UnknownLid, "unknown-lid"),
        (Self::UnknownRequester, "unknown-requester"),
        (Self::Unsupported, "unsupported"),
    ];

    /// The label of metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether an event reports it. A query without a match, or with several, has a valid result.
    #[must_use]
    pub const fn is_reported(self) -> bool {
        !matches!(self, Self::NoRecords | Self::TooManyRecords)
    }

    /// Whether the site has to act, because a host cannot communicate as configured, interferes
    /// with another host or uses up a table. The others are refused in normal operation too: a peer
    /// that left, a group that nobody joined, a malformed request.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        match self {
            Self::AliasInUse
            | Self::Full
            | Self::Mtu
            | Self::NoMlid
            | Self::NoRoute
            | Self::NoRouter
            | Self::OtherPort
            | Self::OtherValue
            | Self::Partition
            | Self::QosPolicy
            | Self::Rate
            | Self::Sl
            | Self::SourceMismatch => true,
            Self::InvalidField
            | Self::JoinState
            | Self::MissingComponents
            | Self::NoGroup
            | Self::NoRecords
            | Self::NotMember
            | Self::NotSubscribed
            | Self::NotTrusted
            | Self::PacketLifeTime
            | Self::TooLarge
            | Self::TooManyRecords
            | Self::UnknownGid
            | Self::UnknownLid
            | Self::UnknownRequester
            | Self::Unsupported => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_in_the_order_of_their_discriminants() {
        for (i, (cause, label)) in RefusalCause::ALL.into_iter().enumerate() {
            assert_eq!((cause as usize, cause.label()), (i, label));
        }
    }
}
