//! Clients take replies when they come, and replies that did not wait for durable state may be lost with their SM.

use crate::multicast_members::{NEW_GROUP, header};
use crate::sa_wire::Ask;
use crate::simulated::Sm;
use ferrosm_core::Input;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::transport::gmp::Peer;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{SmId, World};

use crate::masters::clients::{Clients, Place, Registered};
use crate::masters::deferred::{Request, UnprotectedReply, Want};
use crate::masters::sm_disk::restore;

impl Clients {
    /// Sends a request, and takes the replies that are there.
    pub(super) fn request(
        &mut self,
        world: &mut World<Sm>,
        master: SmId,
        (at, want, registers): (PortAt, Want, bool),
        creates_group: bool,
    ) {
        let sent = world.now();
        let Some(deferred) = &mut self.deferred else {
            return;
        };
        if !creates_group && deferred.waits(at, want, registers, sent) {
            return;
        }
        let Some(message) = Self::message(world, master, at, want, registers) else {
            return;
        };
        self.tid += 1;
        deferred
            .requests
            .retain(|_, r| (r.at, r.want) != (at, want));
        let request = Request {
            at,
            want,
            registers,
            creates_group,
            master,
            sent,
        };
        deferred.requests.insert(self.tid, request);
        let (method, attr) = message.what;
        let new_group = if creates_group { NEW_GROUP } else { 0 };
        let ask = Ask {
            mask: message.mask | new_group,
            data: message.data,
            ..Ask::new(0, method.0, attr.0)
        };
        let bytes = ask.to_bytes(self.tid);
        let from = Peer {
            lid: world.fabric().lid(at).0,
            ..Peer::default()
        };
        world.with_sm(master, |sm, now| {
            sm.command(Input::Gmp { from, bytes }, now)
        });
        self.take_replies(world, master);
    }

    /// Clients get the replies that an SM has sent since the last time.
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
        let Request {
            at,
            want,
            registers,
            creates_group,
            ..
        } = request;
        deferred.late += u32::from(request.sent != world.now());
        let changed_mind = self
            .all
            .get(&at)
            .is_none_or(|client| client.wanted.contains(&want) != registers);
        if changed_mind {
            return;
        }
        let refused = registers && !status.is_ok();
        if refused {
            if matches!(want, Want::Group(_)) && !creates_group {
                self.request(world, master, (at, want, registers), true);
            }
            return;
        }
        if is_protected {
            let compared = is_durable(world, master, at, want, registers);
            deferred.compared += compared;
        } else {
            deferred.sent_unprotected += 1;
            let batch = world.sm(master).map_or(0, Sm::last_batch);
            deferred.unprotected.push(UnprotectedReply {
                at,
                want,
                registers,
                master,
                batch,
            });
        }
        let Some(client) = self.all.get_mut(&at) else {
            return;
        };
        if !registers {
            client.leaving.remove(&want);
            return;
        }
        self.acks += 1;
        client.acked.insert(want);
        if let Want::Group(n) = want
            && let Some(group) = McMemberRecord::decode_slice(data)
        {
            client.groups.insert(n, group);
        }
    }

    /// Clients get all replies, and what is durable meanwhile is lost no more.
    pub(super) fn listen_for_replies(&mut self, world: &mut World<Sm>, managers: &[Place]) {
        for (_, id) in managers {
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

    /// An SM is master no more: of unprotected replies, those whose batch is not durable are lost.
    pub(crate) fn on_master_end(&mut self, master: SmId) {
        let Some(deferred) = &mut self.deferred else {
            return;
        };
        deferred.requests.retain(|_, r| r.master != master);
        let lost = deferred.unprotected.extract_if(.., |r| r.master == master);
        for UnprotectedReply {
            at,
            want,
            registers,
            ..
        } in lost.collect::<Vec<_>>()
        {
            deferred.lost += 1;
            let Some(client) = self.all.get_mut(&at) else {
                continue;
            };
            if !registers && !client.wanted.contains(&want) {
                client.leaving.insert(want);
            }
            if registers {
                client.acked.remove(&want);
                if let Want::Group(n) = want {
                    client.groups.remove(&n);
                }
            }
        }
    }

    /// How many unprotected replies were lost.
    pub(crate) fn lost_replies(&self) -> u32 {
        self.deferred.as_ref().map_or(0, |deferred| deferred.lost)
    }
}

/// Asserts that the durable records have what a protected reply confirmed, as far as the SM still has it itself; how many were compared.
fn is_durable(world: &World<Sm>, master: SmId, at: PortAt, want: Want, registers: bool) -> u32 {
    let Some(sm) = world.sm(master) else {
        return 0;
    };
    let guid = world.fabric().port_guid(at);
    if Registered::at(world, master).has(guid, want) != registers {
        return 0;
    }
    // A deferred reply is taken a moment after it was sent; expired services do not matter here.
    let durable = restore(&sm.kept, 0);
    let is_durable = Registered::from_saved(&durable.registrations).has(guid, want);
    assert!(
        is_durable == registers,
        "{:?} {at:?} {want:?}: a reply was sent before its record was durable (registered: {registers})",
        world.now()
    );
    1
}
