//! The registrations that an SM has, in memory or in its durable records.

use std::collections::BTreeSet;

use crate::lab::Sm;
use crate::lab::store::restore;
use crate::sa::members::plain;
use ferrosm_mad::ids::{Gid, PortGuid};
use ferrosm_sa::registry::registration::Registrations;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{SmId, World};

/// A registration that a host can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Registration {
    Group(u8),
    Service(u64),
    Subscription,
}

/// A request of a host to register or to withdraw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) at: PortAt,
    pub(crate) registration: Registration,
    pub(crate) registers: bool,
}

/// The registrations of all hosts.
pub(crate) struct RegisteredRecords(BTreeSet<(PortGuid, Registration)>);

impl RegisteredRecords {
    pub(crate) fn at(world: &World<Sm>, master: SmId) -> Self {
        let sm = world.sm(master).unwrap();
        Self::from_saved(&sm.core().registry().to_registrations(world.now()))
    }

    fn from_saved(saved: &Registrations) -> Self {
        let guid_of = |gid: Gid| PortGuid(u64::from_be_bytes(gid.0[8..].try_into().unwrap()));
        let members = saved.members.iter().filter_map(|member| {
            let group = (0..4).find(|n| plain(*n) == member.mgid)?;
            Some((guid_of(member.port_gid), Registration::Group(group)))
        });
        let services = saved.services.iter().map(|s| {
            let registration = Registration::Service(s.record.service_id);
            (guid_of(s.record.service_gid), registration)
        });
        let subscriptions = saved.subscriptions.iter();
        let subscriptions =
            subscriptions.map(|s| (guid_of(s.record.subscriber_gid), Registration::Subscription));
        Self(members.chain(services).chain(subscriptions).collect())
    }

    pub(crate) fn of(&self, guid: PortGuid) -> impl Iterator<Item = Registration> + '_ {
        let all = self.0.iter().filter(move |(of, _)| *of == guid);
        all.map(|(_, registration)| *registration)
    }
}

/// Asserts that the durable records contain what a protected reply confirmed, if the SM itself
/// still has it. Returns false if it has not.
pub(crate) fn assert_durable(world: &World<Sm>, master: SmId, request: Request) -> bool {
    let Some(sm) = world.sm(master) else {
        return false;
    };
    let confirmed = (world.fabric().port_guid(request.at), request.registration);
    let agrees = |records: &RegisteredRecords| records.0.contains(&confirmed) == request.registers;
    if !agrees(&RegisteredRecords::at(world, master)) {
        return false;
    }
    // The reply is processed a moment after it was sent; expired services do not matter here.
    let (durable, _) = restore(&sm.persisted_records, 0);
    assert!(
        agrees(&RegisteredRecords::from_saved(&durable.registrations)),
        "{:?} a reply was sent before its record was durable: {request:?}",
        world.now()
    );
    true
}
