//! How packets get through, and what goes wrong on the way: the part of the world that draws
//! numbers.

use std::time::Duration;

use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::Mad;
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::queue::Key;
use super::{Event, Manager, World};
use crate::fabric::{Fabric, Packet, SpecError};
use crate::faults::{Action, Faults, Garbage};
use crate::spec::{NodeIdx, PortAt};

/// Whether something of this chance happens. Impossible and certain things draw nothing.
fn chance(rng: &mut ChaCha8Rng, p: f64) -> bool {
    if p <= 0.0 {
        return false;
    }
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let drawn = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    p >= 1.0 || drawn < p
}

fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    if limit == 0 {
        0
    } else {
        rng.next_u64() % limit
    }
}

impl<M: Manager> World<M> {
    /// Faults of the whole fabric.
    pub const fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Faults of one node; `None` makes it behave like all others.
    pub fn set_node_faults(&mut self, node: NodeIdx, faults: Option<Faults>) {
        match faults {
            Some(faults) => self.node_faults.insert(node, faults),
            None => self.node_faults.remove(&node),
        };
    }

    /// Chance that a MAD is lost on the link at a port, in both directions.
    pub fn set_link_loss(&mut self, at: PortAt, loss: f64) {
        for end in [Some(at), self.fabric.peer(at)].into_iter().flatten() {
            self.link_loss.insert(end, loss);
        }
    }

    pub(super) fn agent_faults(&self, node: NodeIdx) -> Faults {
        if self.node_faults.is_empty() {
            return self.faults;
        }
        self.node_faults.get(&node).copied().unwrap_or(self.faults)
    }

    /// Sends a packet off: it arrives later, perhaps twice, or never.
    pub(super) fn journey(&mut self, mut packet: Packet) {
        let from = packet.at;
        self.note_mad(Event::Sent, from, &packet.mad);
        let mut lost = chance(&mut self.rng, self.faults.loss);
        let result = if self.node_faults.is_empty() && self.link_loss.is_empty() {
            self.fabric.travel(&mut packet)
        } else {
            let Self {
                fabric,
                rng,
                node_faults,
                link_loss,
                ..
            } = self;
            let mut pass = |at: PortAt, entered: bool| {
                if let Some(faults) = node_faults.get(&at.node) {
                    lost |= chance(rng, faults.loss);
                }
                if entered && let Some(loss) = link_loss.get(&at) {
                    lost |= chance(rng, *loss);
                }
            };
            pass(from, false);
            fabric.travel_seen(&mut packet, |at| pass(at, true))
        };
        if let Err(reason) = result {
            self.fabric.count_drop(reason);
            self.note_mad(Event::Dropped(reason), packet.at, &packet.mad);
            return;
        }
        if lost {
            self.note_mad(Event::Lost, packet.at, &packet.mad);
            return;
        }
        let (mut duplicate, mut jitter) = (self.faults.duplicate, self.faults.jitter);
        if !self.node_faults.is_empty() {
            for node in [from.node, packet.at.node] {
                if let Some(faults) = self.node_faults.get(&node) {
                    duplicate = duplicate.max(faults.duplicate);
                    jitter = jitter.max(faults.jitter);
                }
            }
        }
        let copies = 1 + u32::from(chance(&mut self.rng, duplicate));
        let jitter = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        for _ in 0..copies {
            let extra = Duration::from_nanos(below(&mut self.rng, jitter));
            let index = self.queue.put(packet);
            let at = self.now + self.hop_time * u32::from(packet.hops) + extra;
            self.queue.push(at, Key::Arrive(index));
        }
    }

    /// A packet reached its node: an agent takes its time, a program does not.
    pub(super) fn arrive(&mut self, index: u32) {
        let packet = self.queue.peek(index);
        let node = packet.at.node;
        if !packet.is_for_agent() {
            let packet = self.queue.take(index);
            return self.serve(packet);
        }
        let faults = self.agent_faults(node);
        if faults.hung {
            let packet = self.queue.take(index);
            return self.note_mad(Event::Lost, packet.at, &packet.mad);
        }
        if self.busy_until.len() <= node {
            self.busy_until.resize(node + 1, self.now);
        }
        let start = self.busy_until[node].max(self.now);
        let done = start + faults.service;
        if faults.backlog != 0 && start.since(self.now) > faults.service * faults.backlog {
            let packet = self.queue.take(index);
            return self.note_mad(Event::Lost, packet.at, &packet.mad);
        }
        self.busy_until[node] = done;
        if done == self.now {
            let packet = self.queue.take(index);
            self.serve(packet);
        } else {
            self.queue.push(done, Key::Serve(index));
        }
    }

    /// Spoils an answer.
    pub(super) fn garble(&mut self, faults: &Faults, mad: &mut Mad) {
        let Some(kind) = faults.garbage else { return };
        let rng = &mut self.rng;
        if !chance(rng, faults.garbage_chance) {
            return;
        }
        let kind = match kind {
            Garbage::Any => match below(rng, 5) {
                0 => Garbage::Data,
                1 => Garbage::Status,
                2 => Garbage::Tid,
                3 => Garbage::Attribute,
                _ => Garbage::Modifier,
            },
            Garbage::Data
            | Garbage::Status
            | Garbage::Tid
            | Garbage::Attribute
            | Garbage::Modifier => kind,
        };
        let mut header = mad.header();
        let noise = rng.next_u64();
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        match kind {
            Garbage::Data => {
                rng.fill_bytes(&mut mad.as_bytes_mut()[DATA_OFFSET..DATA_OFFSET + DATA_LEN]);
                return;
            }
            Garbage::Status => header.status |= 1 << (noise % 15),
            Garbage::Tid => header.tid.0 ^= noise | 1,
            Garbage::Attribute => header.attr_id = AttrId(header.attr_id.0 ^ (noise as u16 | 1)),
            Garbage::Modifier | Garbage::Any => header.attr_mod.0 ^= noise as u32 | 1,
        }
        mad.set_header(&header);
    }

    /// Does what was scheduled for now.
    pub(super) fn act(&mut self, action: Action) {
        self.trace.word(self.now.as_nanos());
        self.trace.word(action.code());
        let done = |f: fn(&mut Fabric, NodeIdx), fabric: &mut Fabric, node| {
            f(fabric, node);
            Ok(())
        };
        self.fabric.set_now(self.now);
        let fabric = &mut self.fabric;
        let result: Result<(), SpecError> = match action {
            Action::Cut(at) => fabric.cut(at),
            Action::Restore(at) => fabric.restore(at),
            Action::Bounce(at) => fabric.bounce(at),
            Action::AddCable(spec) => fabric.add_cable(spec),
            Action::RemoveCable(at) => fabric.remove_cable(at).map(|_| ()),
            Action::MoveCable(from, to) => fabric.move_cable(from, to),
            Action::PowerOff(node) => done(Fabric::power_off, fabric, node),
            Action::PowerOn(node) => done(Fabric::power_on, fabric, node),
            Action::Reboot(node) => done(Fabric::reboot, fabric, node),
            Action::Trap(at, number) => {
                fabric.inject_trap(at, number);
                Ok(())
            }
            Action::NodeGuid(node, guid) => {
                fabric.set_node_guid(node, guid);
                Ok(())
            }
            Action::PortGuid(at, guid) => fabric.set_port_guid(at, guid),
            Action::Lid(at, lid, lmc) => fabric.set_lid(at, lid, lmc),
            Action::CorruptLft(node, lid, port) => {
                fabric.corrupt_lft(node, lid, port);
                Ok(())
            }
            Action::Faults(faults) => {
                self.set_faults(faults);
                Ok(())
            }
            Action::NodeFaults(node, faults) => {
                self.set_node_faults(node, faults);
                Ok(())
            }
            Action::LinkLoss(at, loss) => {
                self.set_link_loss(at, loss);
                Ok(())
            }
            Action::AddForeignSm(at, sm) => self.add_foreign_sm(at, sm).map(|_| ()),
            Action::Kill(id) => {
                self.kill(id);
                Ok(())
            }
            Action::Pause(id) => {
                self.set_paused(id, true);
                Ok(())
            }
            Action::Resume(id) => {
                self.set_paused(id, false);
                Ok(())
            }
            Action::Call(f) => {
                f(fabric);
                Ok(())
            }
        };
        self.note(result);
    }
}
