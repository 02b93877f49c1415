//! A name for each kind of violation, so that tests can say which were found and which never were.

use ferrosm_sim::oracle::{
    CounterFault as C, MastershipFault as M, MulticastFault as G, PartitionFault as P,
    SettingFault as S, Violation as V,
};

macro_rules! kinds {
    ($($pattern:pat => $name:literal,)*) => {
        /// The name of a violation's kind.
        pub(crate) fn kind(violation: &V) -> &'static str {
            match violation {
                $($pattern => $name,)*
            }
        }

        /// All kinds.
        pub(crate) const KINDS: &[&str] = &[$($name),*];
    };
}

kinds! {
    V::IllegalLid { .. } => "IllegalLid",
    V::UnalignedLid { .. } => "UnalignedLid",
    V::DuplicateLid { .. } => "DuplicateLid",
    V::Undelivered { .. } => "Undelivered",
    V::NoLane { .. } => "NoLane",
    V::NoSourceLane { .. } => "NoSourceLane",
    V::CreditLoop(..) => "CreditLoop",
    V::NotActive { .. } => "NotActive",
    V::Mtu { .. } => "Mtu",
    V::OperationalVls { .. } => "OperationalVls",
    V::MasterSmLid { .. } => "MasterSmLid",
    V::Mastership(M::Nobody(..)) => "Nobody",
    V::Mastership(M::Several(..)) => "Several",
    V::Mastership(M::Other { .. }) => "Other",
    V::Mastership(M::NoIsSm(..)) => "NoIsSm",
    V::Mastership(M::StrayIsSm(..)) => "StrayIsSm",
    V::Multicast(G::Stray { .. }) => "Stray",
    V::Multicast(G::Nowhere { .. }) => "Nowhere",
    V::Multicast(G::Stranger { .. }) => "Stranger",
    V::Multicast(G::Missed { .. }) => "Missed",
    V::Multicast(G::Loop { .. }) => "Loop",
    V::Multicast(G::AboveTop { .. }) => "AboveTop",
    V::Partition(P::Keys { .. }) => "Keys",
    V::Partition(P::Index0 { .. }) => "Index0",
    V::Partition(P::NoCommon { .. }) => "NoCommon",
    V::Partition(P::Blocked { .. }) => "Blocked",
    V::Partition(P::TooWide { .. }) => "TooWide",
    V::Partition(P::Enforcement { .. }) => "Enforcement",
    V::Setting(S::MKey(..)) => "MKey",
    V::Setting(S::MKeyProtectBits(..)) => "MKeyProtectBits",
    V::Setting(S::MKeyLeasePeriod(..)) => "MKeyLeasePeriod",
    V::Setting(S::GidPrefix(..)) => "GidPrefix",
    V::Setting(S::SubnetTimeout(..)) => "SubnetTimeout",
    V::Setting(S::Lmc(..)) => "Lmc",
    V::Setting(S::MasterSmSl(..)) => "MasterSmSl",
    V::Setting(S::HoqLife(..)) => "HoqLife",
    V::Setting(S::VlStallCount(..)) => "VlStallCount",
    V::Setting(S::PacketLifeTime(..)) => "PacketLifeTime",
    V::Setting(S::NotReregistered(..)) => "NotReregistered",
    V::Setting(S::LinearFdbTop(..)) => "LinearFdbTop",
    V::Setting(S::PortStateChange(..)) => "PortStateChange",
    V::Setting(S::SlToVlBeyond { .. }) => "SlToVlBeyond",
    V::Setting(S::VlArbBeyond { .. }) => "VlArbBeyond",
    V::Setting(S::VlStarved { .. }) => "VlStarved",
    V::Counter(C::MoreThanSent { .. }) => "MoreThanSent",
    V::Counter(C::LostOnLink { .. }) => "LostOnLink",
    V::Counter(C::Trouble { .. }) => "Trouble",
    V::Counter(C::Backwards { .. }) => "Backwards",
    V::NoSuchPort { .. } => "NoSuchPort",
}
