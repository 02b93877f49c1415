//! Names of the kinds of violation, to compare the reported kinds and to find kinds without a test
//! case.

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
    V::NoVl { .. } => "NoVl",
    V::NoSourceVl { .. } => "NoSourceVl",
    V::CreditLoop(..) => "CreditLoop",
    V::NotActive { .. } => "NotActive",
    V::Mtu { .. } => "Mtu",
    V::OperationalVls { .. } => "OperationalVls",
    V::MasterSmLid { .. } => "MasterSmLid",
    V::Mastership(M::NoMaster(..)) => "NoMaster",
    V::Mastership(M::MultipleMasters(..)) => "MultipleMasters",
    V::Mastership(M::WrongMaster { .. }) => "WrongMaster",
    V::Mastership(M::IsSmClear(..)) => "IsSmClear",
    V::Mastership(M::IsSmSet(..)) => "IsSmSet",
    V::Multicast(G::StaleMlid { .. }) => "StaleMlid",
    V::Multicast(G::UnconnectedPort { .. }) => "UnconnectedPort",
    V::Multicast(G::NonMember { .. }) => "NonMember",
    V::Multicast(G::MemberNotReached { .. }) => "MemberNotReached",
    V::Multicast(G::Loop { .. }) => "Loop",
    V::Multicast(G::AboveTop { .. }) => "AboveTop",
    V::Partition(P::WrongPKeys { .. }) => "WrongPKeys",
    V::Partition(P::WrongIndex0 { .. }) => "WrongIndex0",
    V::Partition(P::NoSharedPartition { .. }) => "NoSharedPartition",
    V::Partition(P::BlockedPKey { .. }) => "BlockedPKey",
    V::Partition(P::ExtraPKey { .. }) => "ExtraPKey",
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
    V::Setting(S::SlToVlInactiveVl { .. }) => "SlToVlInactiveVl",
    V::Setting(S::VlArbInactiveVl { .. }) => "VlArbInactiveVl",
    V::Setting(S::VlWithoutWeight { .. }) => "VlWithoutWeight",
    V::Counter(C::ReceivedMoreThanSent { .. }) => "ReceivedMoreThanSent",
    V::Counter(C::UnexplainedLoss { .. }) => "UnexplainedLoss",
    V::Counter(C::ErrorCounterRose { .. }) => "ErrorCounterRose",
    V::Counter(C::Decreased { .. }) => "Decreased",
    V::NoSuchPort { .. } => "NoSuchPort",
}
