//! Clients with deferred replies: they process replies when these arrive. Replies sent before their
//! records are durable may be lost with their SM.

use crate::lab::Sm;
use crate::sa::members::{NEW_GROUP, header};
use crate::sa::wire::WireRequest;
use ferrosm_core::Input;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{SmId, World};

use crate::random_runs::masters::clients::{Clients, RegisteredRecords, SmLocation};
use crate::random_runs::masters::deferred::{PendingRequest, Registration, UnprotectedReply};
use crate::random_runs::masters::sm_disk::restore;

impl Clients {
    /// Sends a request, and processes available replies.
    pub(super) fn request(
        &mut self,
        world: &mut World<Sm>,
        master: SmId,
        (at, registration, registers): (PortAt, Registration, bool),
        creates_group: bool,
    ) {
        let sent = world.now();
        let Some(deferred) = &mut self.deferred else {
            return;
        };
        if !creates_group && deferred.is_pending(at, registration, registers, sent) {
            return;
        }
        let Some(message) = Self::message(world, master, at, registration, registers) else {
            return;
        };
        self.tid += 1;
        deferred
            .requests
            .retain(|_, r| (r.at, r.registration) != (at, registration));
        let request = PendingRequest {
            at,
            registration,
            registers,
            creates_group,
            master,
            sent,
        };
        deferred.requests.insert(self.tid, request);
        let (method, attr) = message.request_kind;
        let new_group = if creates_group { NEW_GROUP } else { 0 };
        let wire_request = WireRequest {
            mask: message.mask | new_group,
            data: message.data,
            ..WireRequest::new(0, method.0, attr.0)
        };
        let bytes = wire_request.to_bytes(self.tid);
        let from = Peer {
            lid: world.fabric().lid(at).0,
            ..Peer::default()
        };
        world.with_sm(master, |sm, now| sm.handle(Input::Gmp { from, bytes }, now));
        self.take_replies(world, master);
    }

    /// Processes the replies that an SM sent since the last call.
    pub(crate) fn take_replies(&mut self, world: &mut World<Sm>, master: SmId) {
        if self.deferred.is_none() {
            return;
        }
        let taken = world.with_sm(master, |sm, _| {
            let replies = core::mem::take(&mut sm.replies);
            (replies, core::mem::take(&mut sm.unprotected_replies))
        });
        let Some((replies, unprotected)) = taken else {
            return;
        };
        for (_, bytes) in replies {
            let header = header(&bytes);
            let data = bytes.get(sa::DATA_OFFSET..).unwrap_or_default();
            let is_unprotected = unprotected.contains(&header.tid);
            let status = Status(header.status);
            self.on_reply(world, master, header.tid.0, (status, data), !is_unprotected);
        }
    }

    fn on_reply(
        &mut self,
        world: &mut World<Sm>,
        master: SmId,
        tid: u64,
        (status, data): (Status, &[u8]),
        is_protected: bool,
    ) {
        let Some(deferred) = &mut self.deferred else {
            return;
        };
        let Some(request) = deferred.requests.remove(&tid) else {
            return;
        };
        let PendingRequest {
            at,
            registration,
            registers,
            creates_group,
            ..
        } = request;
        deferred.late += u32::from(request.sent != world.now());
        let is_superseded = self
            .by_host
            .get(&at)
            .is_none_or(|client| client.wanted.contains(&registration) != registers);
        if is_superseded {
            return;
        }
        let refused = registers && !status.is_ok();
        if refused {
            if matches!(registration, Registration::Group(_)) && !creates_group {
                self.request(world, master, (at, registration, registers), true);
            }
            return;
        }
        if is_protected {
            let compared = is_durable(world, master, at, registration, registers);
            deferred.compared += compared;
        } else {
            deferred.sent_unprotected += 1;
            let batch = world.sm(master).map_or(0, Sm::last_batch);
            deferred.unprotected.push(UnprotectedReply {
                at,
                registration,
                registers,
                master,
                batch,
            });
        }
        let Some(client) = self.by_host.get_mut(&at) else {
            return;
        };
        if !registers {
            client.withdrawing.remove(&registration);
            return;
        }
        self.acks += 1;
        client.acknowledged.insert(registration);
        if let Registration::Group(n) = registration
            && let Some(group) = McMemberRecord::decode_slice(data)
        {
            client.groups.insert(n, group);
        }
    }

    /// Processes all replies, and forgets unprotected replies whose records have become durable.
    pub(super) fn receive_replies(&mut self, world: &mut World<Sm>, locations: &[SmLocation]) {
        for (_, id) in locations {
            self.take_replies(world, *id);
        }
        if let Some(deferred) = &mut self.deferred {
            deferred.unprotected.retain(|reply| {
                let sm = world.sm(reply.master);
                !sm.is_some_and(|sm| {
                    sm.core().role() == SmState::Master && sm.durable_batch() >= reply.batch
                })
            });
        }
    }

    /// An SM has ceased to be master: its unprotected replies whose batch is not durable are lost.
    pub(crate) fn on_master_end(&mut self, master: SmId) {
        let Some(deferred) = &mut self.deferred else {
            return;
        };
        deferred.requests.retain(|_, r| r.master != master);
        let lost = deferred.unprotected.extract_if(.., |r| r.master == master);
        for UnprotectedReply {
            at,
            registration,
            registers,
            ..
        } in lost.collect::<Vec<_>>()
        {
            deferred.lost += 1;
            let Some(client) = self.by_host.get_mut(&at) else {
                continue;
            };
            if !registers && !client.wanted.contains(&registration) {
                client.withdrawing.insert(registration);
            }
            if registers {
                client.acknowledged.remove(&registration);
                if let Registration::Group(n) = registration {
                    client.groups.remove(&n);
                }
            }
        }
    }

    /// Number of lost unprotected replies.
    pub(crate) fn lost_replies(&self) -> u32 {
        self.deferred.as_ref().map_or(0, |deferred| deferred.lost)
    }
}

/// Asserts that the durable records contain what a protected reply confirmed, if the SM itself
/// still has it. Returns the number of comparisons.
fn is_durable(
    world: &World<Sm>,
    master: SmId,
    at: PortAt,
    registration: Registration,
    registers: bool,
) -> u32 {
    let Some(sm) = world.sm(master) else {
        return 0;
    };
    let guid = world.fabric().port_guid(at);
    if RegisteredRecords::at(world, master).has(guid, registration) != registers {
        return 0;
    }
    // The reply is processed a moment after it was sent; expired services do not matter here.
    let durable = restore(&sm.persisted_records, 0);
    let is_durable = RegisteredRecords::from_saved(&durable.registrations).has(guid, registration);
    assert!(
        is_durable == registers,
        "{:?} {at:?} {registration:?}: a reply was sent before its record was durable (registered: {registers})",
        world.now()
    );
    1
}
