//! ServiceRecords and their leases (IBA 15.2.5.14; docs/sm-behaviour.md 12.1, 12.2).

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::{Gid, PKey, PortGuid};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::{SaRecord, Template};
use ferrosm_mad::time::Instant;

use super::registration::{RegisteredService, Registration, RegistrationKey, RegistrationUpdate};
use crate::message::{ReplyRecords, SaReply, SaRequest};
use crate::refusal::SaRefusal;
use crate::view::View;

/// Components that identify a record, and its lease and name.
const SERVICE_ID: u64 = 1;
const SERVICE_GID: u64 = 1 << 1;
const SERVICE_PKEY: u64 = 1 << 2;
const SERVICE_LEASE: u64 = 1 << 4;
const SERVICE_NAME: u64 = 1 << 6;
/// Indexed components.
pub(crate) const INDEXED: u64 = SERVICE_ID | SERVICE_GID | SERVICE_NAME;

/// Maximum number of services; further registrations fail with NO_RESOURCES.
const SERVICES_MAX: usize = 1 << 17;
/// Maximum number of services that one port may register, so that no client exhausts
/// [`SERVICES_MAX`].
const SERVICES_PER_PORT_MAX: usize = 1 << 13;

/// Record identifier (RID): ServiceID, ServiceGID, P_Key.
type Rid = (u64, Gid, PKey);

/// Lowest and highest RID apart from the ServiceID.
const RID_MIN: (Gid, PKey) = (Gid([0; 16]), PKey(0));
const RID_MAX: (Gid, PKey) = (Gid([0xFF; 16]), PKey(u16::MAX));

/// A registered service.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Service {
    record: ServiceRecord,
    /// End of the lease; `None` for an indefinite one.
    expires_at: Option<Instant>,
    registered_by: PortGuid,
}

impl Service {
    fn to_registration(&self, now: Instant) -> RegisteredService {
        RegisteredService {
            record: ServiceRecord {
                service_lease_s: 0,
                ..self.record
            },
            lease_remaining_s: self.expires_at.map(|until| until.since(now).as_secs()),
            registered_by: self.registered_by,
        }
    }
}

/// All registered services.
#[derive(Debug, Clone, Default)]
pub struct Services {
    services: BTreeMap<Rid, Service>,
    by_gid: BTreeSet<(Gid, Rid)>,
    by_name: BTreeSet<([u8; 64], Rid)>,
    /// Ends of leases, earliest first.
    expiries: BTreeSet<(Instant, Rid)>,
    /// Number of services registered by each port.
    count_by_port: BTreeMap<PortGuid, usize>,
    /// Services that changed since the last [`Self::take_updates`].
    unsaved: BTreeSet<Rid>,
}

impl Services {
    /// Set: registers a service or replaces its record.
    ///
    /// # Errors
    /// The refusal.
    pub fn register(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
        now: Instant,
    ) -> Result<ServiceRecord, SaRefusal> {
        let mut record = ServiceRecord::decode(request.data);
        let client = view.requester(&request.from)?;
        if !request.has(SERVICE_ID | SERVICE_GID) {
            return Err(SaRefusal::InvalidField(
                "component mask: no ServiceID or ServiceGID",
            ));
        }
        if !request.has(SERVICE_PKEY) {
            // Without the component, the service is in every partition; the field's contents are
            // ignored.
            record.service_pkey = PKey::DEFAULT_FULL;
        } else if partition_number(record.service_pkey) != 0 {
            let at = view.by_gid(record.service_gid);
            let is_member = view.is_partition_member(client, record.service_pkey);
            if !is_member
                || at.is_some_and(|port| !view.is_partition_member(port, record.service_pkey))
            {
                return Err(if is_member {
                    SaRefusal::NotInPartition(record.service_pkey)
                } else {
                    SaRefusal::RequesterNotInPartition(record.service_pkey)
                });
            }
        }
        if !request.has(SERVICE_LEASE) {
            record.service_lease_s = ServiceRecord::FOREVER;
        }
        let rid = rid(&record);
        let registered_by = view.end_port(client).guid;
        if let Some(current) = self.services.get(&rid) {
            check_may_change(view, request, client, current, &record)?;
        } else {
            let own_count = self
                .count_by_port
                .get(&registered_by)
                .copied()
                .unwrap_or_default();
            if self.services.len() >= SERVICES_MAX {
                return Err(SaRefusal::Full("services", SERVICES_MAX));
            }
            if own_count >= SERVICES_PER_PORT_MAX {
                return Err(SaRefusal::Full("services of a port", SERVICES_PER_PORT_MAX));
            }
        }
        self.remove(rid);
        self.insert(record, registered_by, now);
        if !request.is_trusted() {
            record.service_key = [0; 16];
        }
        Ok(record)
    }

    /// Delete: removes the service with exactly this RID.
    ///
    /// # Errors
    /// The refusal.
    pub fn deregister(
        &mut self,
        view: &View,
        request: &SaRequest<'_>,
    ) -> Result<ServiceRecord, SaRefusal> {
        let client = view.requester(&request.from)?;
        let mut requested = ServiceRecord::decode(request.data);
        if !request.has(SERVICE_PKEY) {
            requested.service_pkey = PKey::DEFAULT_FULL;
        }
        let current = self
            .services
            .get(&rid(&requested))
            .ok_or(SaRefusal::NoRecords)?;
        check_may_change(view, request, client, current, &requested)?;
        let mut record = self
            .remove(rid(&requested))
            .ok_or(SaRefusal::NoRecords)?
            .record;
        if !request.is_trusted() {
            record.service_key = [0; 16];
        }
        Ok(record)
    }

    /// Answers a query. A client sees the services of its partitions; service keys are returned to
    /// trusted clients only (docs/sm-behaviour.md 12.1).
    #[must_use]
    pub fn query(&self, view: &View, request: &SaRequest<'_>, now: Instant) -> SaReply {
        let Some(client) = view.by_lid(request.from.lid) else {
            return SaReply::refused(SaRefusal::UnknownSource(request.from.lid));
        };
        let requested = ServiceRecord::decode(request.data);
        let template = Template::new::<ServiceRecord>(request.component_mask, request.data);
        let mut records = ReplyRecords::new(request, ServiceRecord::STRIDE);
        for service in self.candidates(request, &requested) {
            let mut record = service.record;
            let pkey = record.service_pkey;
            let visible = partition_number(pkey) == 0 || view.is_partition_member(client, pkey);
            // Replies contain the remaining lease.
            if let Some(until) = service.expires_at {
                record.service_lease_s = lease_remaining_s(until, now);
            }
            // The registered key is compared, so a client that knows it can select by it.
            if !visible || !template.matches(&record.encode()) {
                continue;
            }
            if !request.is_trusted() {
                record.service_key = [0; 16];
            }
            records.push(&record.encode());
            if records.is_enough() {
                break;
            }
        }
        SaReply::from_records(request, records)
    }

    /// Services that can match, found by the most selective index.
    fn candidates<'a>(
        &'a self,
        request: &SaRequest<'_>,
        requested: &ServiceRecord,
    ) -> Box<dyn Iterator<Item = &'a Service> + 'a> {
        let id = requested.service_id;
        let gid = requested.service_gid;
        let name = requested.service_name;
        let first = (0, RID_MIN.0, RID_MIN.1);
        let last = (u64::MAX, RID_MAX.0, RID_MAX.1);
        let by_rid = |rid: &Rid| self.services.get(rid);
        if request.has(SERVICE_ID | SERVICE_GID) {
            let range = (id, gid, RID_MIN.1)..=(id, gid, RID_MAX.1);
            Box::new(self.services.range(range).map(|(_, s)| s))
        } else if request.has(SERVICE_GID) {
            let range = self.by_gid.range((gid, first)..=(gid, last));
            Box::new(range.filter_map(move |(_, rid)| by_rid(rid)))
        } else if request.has(SERVICE_NAME) {
            let (first, last) = if request.has(SERVICE_ID) {
                ((id, RID_MIN.0, RID_MIN.1), (id, RID_MAX.0, RID_MAX.1))
            } else {
                (first, last)
            };
            let range = self.by_name.range((name, first)..=(name, last));
            Box::new(range.filter_map(move |(_, rid)| by_rid(rid)))
        } else if request.has(SERVICE_ID) {
            let range = (id, RID_MIN.0, RID_MIN.1)..=(id, RID_MAX.0, RID_MAX.1);
            Box::new(self.services.range(range).map(|(_, s)| s))
        } else {
            Box::new(self.services.values())
        }
    }

    /// Removes services whose lease has ended.
    pub fn expire(&mut self, now: Instant) {
        while let Some(&(at, rid)) = self.expiries.first() {
            if at > now {
                return;
            }
            self.remove(rid);
        }
    }

    /// When the next lease ends.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Instant> {
        self.expiries.first().map(|(at, _)| *at)
    }

    /// All services as registrations.
    pub(super) fn registrations(&self, now: Instant) -> Vec<RegisteredService> {
        self.services
            .values()
            .map(|s| s.to_registration(now))
            .collect()
    }

    pub(super) fn has_updates(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Appends the changes since the last call.
    pub(super) fn take_updates(&mut self, now: Instant, updates: &mut Vec<RegistrationUpdate>) {
        for rid in core::mem::take(&mut self.unsaved) {
            updates.push(match self.services.get(&rid) {
                Some(service) => RegistrationUpdate::Put(Registration::Service(Box::new(
                    service.to_registration(now),
                ))),
                None => RegistrationUpdate::Remove(RegistrationKey::Service(rid.0, rid.1, rid.2)),
            });
        }
    }

    /// Adds persisted services.
    pub(super) fn restore(&mut self, saved: &[RegisteredService], now: Instant) {
        for service in saved.iter().take(SERVICES_MAX) {
            let left_s = service
                .lease_remaining_s
                .map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX - 1));
            let record = ServiceRecord {
                service_lease_s: left_s.unwrap_or(ServiceRecord::FOREVER),
                ..service.record
            };
            self.remove(rid(&record));
            self.insert(record, service.registered_by, now);
        }
    }

    /// Number of services.
    #[must_use]
    pub fn len(&self) -> usize {
        self.services.len()
    }

    /// Whether no service is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    fn insert(&mut self, record: ServiceRecord, registered_by: PortGuid, now: Instant) {
        let expires_at = (record.service_lease_s != ServiceRecord::FOREVER)
            .then(|| now + Duration::from_secs(u64::from(record.service_lease_s)));
        let rid = rid(&record);
        if let Some(expires_at) = expires_at {
            self.expiries.insert((expires_at, rid));
        }
        *self.count_by_port.entry(registered_by).or_default() += 1;
        self.by_gid.insert((record.service_gid, rid));
        self.by_name.insert((record.service_name, rid));
        self.unsaved.insert(rid);
        self.services.insert(
            rid,
            Service {
                record,
                expires_at,
                registered_by,
            },
        );
    }

    fn remove(&mut self, rid: Rid) -> Option<Service> {
        let service = self.services.remove(&rid)?;
        self.unsaved.insert(rid);
        if let Some(until) = service.expires_at {
            self.expiries.remove(&(until, rid));
        }
        self.by_gid.remove(&(service.record.service_gid, rid));
        self.by_name.remove(&(service.record.service_name, rid));
        if let Some(own_count) = self.count_by_port.get_mut(&service.registered_by) {
            *own_count -= 1;
            if *own_count == 0 {
                self.count_by_port.remove(&service.registered_by);
            }
        }
        Some(service)
    }
}

/// Checks whether a client may replace or remove a service: the port that registered it, the port
/// that provides it, a client that knows the service key, and trusted clients may. OpenSM allows
/// any client (docs/sm-behaviour.md 12.2).
///
/// # Errors
/// The refusal of any other client.
fn check_may_change(
    view: &View,
    request: &SaRequest<'_>,
    client: EndPortIdx,
    current: &Service,
    requested: &ServiceRecord,
) -> Result<(), SaRefusal> {
    let key = current.record.service_key;
    let is_permitted = request.is_trusted()
        || view.end_port(client).guid == current.registered_by
        || view.by_gid(current.record.service_gid) == Some(client)
        || key != [0; 16] && key == requested.service_key;
    if is_permitted {
        Ok(())
    } else {
        Err(SaRefusal::OtherRegistrant(current.registered_by))
    }
}

const fn rid(record: &ServiceRecord) -> Rid {
    (record.service_id, record.service_gid, record.service_pkey)
}

/// Whole seconds until `until`.
fn lease_remaining_s(until: Instant, now: Instant) -> u32 {
    u32::try_from(until.since(now).as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::gmp::Peer;
    use ferrosm_mad::ids::{AttrMod, GidPrefix, MKey, Tid};
    use ferrosm_mad::mad::Method;
    use ferrosm_mad::sa::{DATA_LEN, id};
    use proptest::prelude::*;

    use super::*;

    fn at_s(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    fn record(service_id: u64, port: u64, name: u8, lease_s: u32) -> ServiceRecord {
        let mut service_name = [0; 64];
        service_name[63] = name;
        ServiceRecord {
            service_id,
            service_gid: Gid::new(GidPrefix::DEFAULT, PortGuid(port)),
            service_pkey: PKey::DEFAULT_FULL,
            service_lease_s: if lease_s == 9 {
                ServiceRecord::FOREVER
            } else {
                lease_s
            },
            service_name,
            ..ServiceRecord::default()
        }
    }

    /// Candidates are exactly the services that match the indexed components.
    fn check(services: &Services, mask: u64, requested: &ServiceRecord) {
        let mut data = [0; DATA_LEN];
        requested.encode_onto(&mut data);
        let request = SaRequest {
            from: Peer::default(),
            method: Method::GetTable,
            attr: id::SERVICE,
            attr_mod: AttrMod(0),
            tid: Tid(0),
            sm_key: MKey::NONE,
            component_mask: mask,
            data: &data,
            tail: &[],
        };
        let matches = |component, is_equal: bool| mask & component == 0 || is_equal;
        let matches_all = |r: &&ServiceRecord| {
            matches(SERVICE_ID, r.service_id == requested.service_id)
                && matches(SERVICE_GID, r.service_gid == requested.service_gid)
                && (matches(SERVICE_NAME, r.service_name == requested.service_name)
                    // The index by GID is not split by name, because few services share a GID.
                    || mask & SERVICE_GID != 0)
        };
        let records = services.services.values().map(|s| &s.record);
        let mut scan: Vec<Rid> = records.filter(matches_all).map(rid).collect();
        let candidates = services.candidates(&request, requested);
        let mut candidates: Vec<Rid> = candidates.map(|s| rid(&s.record)).collect();
        scan.sort_unstable();
        candidates.sort_unstable();
        assert_eq!(candidates, scan, "mask {mask:#x}");
    }

    proptest! {
        /// Registers, renames, expires, removes and restores services in any order.
        #[test]
        fn candidates_and_updates_match_a_full_scan(
            steps in prop::collection::vec((0..8u8, 0..4u64, 0..4u64, 0..4u8, 1..10u32), 1..100),
        ) {
            let mut services = Services::default();
            let mut persisted = BTreeMap::new();
            for (unix_s, (action, service_id, port, name, lease_s)) in (0..).zip(steps) {
                let now = at_s(unix_s);
                services.expire(now);
                let record = record(service_id, port, name, lease_s);
                match action {
                    0..=4 => {
                        services.remove(rid(&record));
                        services.insert(record, PortGuid(port), now);
                    }
                    5 | 6 => {
                        services.remove(rid(&record));
                    }
                    _ => {
                        let saved = services.registrations(now);
                        services = Services::default();
                        services.restore(&saved, now);
                        persisted.clear();
                        prop_assert_eq!(services.registrations(now), saved);
                    }
                }
                for mask in [SERVICE_ID, SERVICE_GID, SERVICE_NAME] {
                    for other in [0, SERVICE_ID, SERVICE_GID, SERVICE_NAME] {
                        check(&services, mask | other, &record);
                    }
                }
                let mut updates = Vec::new();
                services.take_updates(now, &mut updates);
                let ending = |mut service: RegisteredService| {
                    service.lease_remaining_s = service.lease_remaining_s.map(|left_s| unix_s + left_s);
                    service
                };
                for update in updates {
                    if let RegistrationUpdate::Put(Registration::Service(service)) = update {
                        persisted.insert(rid(&service.record), ending(*service));
                    } else if let RegistrationUpdate::Remove(RegistrationKey::Service(id, gid, pkey)) = update {
                        persisted.remove(&(id, gid, pkey));
                    } else {
                        prop_assert!(false, "{update:?}");
                    }
                }
                let services_by_id = services.registrations(now).into_iter();
                let services_by_id = services_by_id.map(|s| (rid(&s.record), ending(s))).collect();
                prop_assert_eq!(&persisted, &services_by_id, "updates reproduce the registry, and leases retain their expiry");
                let len = services.len();
                prop_assert_eq!((services.by_gid.len(), services.by_name.len()), (len, len));
            }
        }
    }
}
