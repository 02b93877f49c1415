//! Outstanding SMPs: transaction ids, windows, deadlines, repetitions.
//!
//! One per subnet manager. It knows what is asked as an opaque `Item` and whom as a device number; what the MAD looks
//! like is decided when it is sent, so a repetition carries the latest values. It never sends: the owner takes
//! [`Requester::next`] and puts the MAD on the wire.
//!
//! A device's window grows with its answers and halves when one is missing, so that a slow or dead device holds few
//! slots and never gates the others. The common window does the same, at most once per timeout and never below
//! [`CommonWindow::LEAST`]: VL15 has no flow control, and everything passes the switch next to the SM. Repetitions go
//! before new requests; an answer to any of them ends the request, however late it is. What waits for a device that has gone silent is
//! given up at once ([`Requester::take_hopeless`]), or a table of two hundred blocks would be waited for one by one.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;

/// A device's number; [`Device::NONE`] for questions to whoever is behind a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device(pub(crate) u32);

impl Device {
    /// Limited by the common window only.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// Limits of a [`Requester`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Time to wait for one answer.
    pub(crate) timeout: Duration,
    /// Repetitions of an unanswered request.
    pub(crate) retries: u8,
    /// Requests in flight, all devices together.
    pub(crate) window: usize,
    /// Requests in flight to one device.
    pub(crate) device_window: u16,
}

/// A request to be put on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dispatch<I> {
    /// The transaction id; only its low 32 bits are used.
    pub(crate) tid: Tid,
    /// What is asked.
    pub(crate) item: I,
    /// 0 for the first time.
    pub(crate) repetition: u8,
}

#[derive(Debug, Clone, Copy)]
struct Slot<I> {
    generation: u32,
    device: Device,
    item: Option<I>,
    /// The latest; answers to earlier ones count as well.
    repetition: u8,
    /// On the wire, not waiting to be repeated.
    in_flight: bool,
}

/// Requests that may be in flight, all devices together.
#[derive(Debug)]
struct CommonWindow {
    size: usize,
    answers: usize,
    shrunk: Instant,
}

impl CommonWindow {
    /// Where it begins.
    const FIRST: usize = 16;
    /// However many answers are missing, this many requests may be under way: dead devices must not stop the others.
    const LEAST: usize = 8;

    const fn new() -> Self {
        Self {
            size: Self::FIRST,
            answers: 0,
            shrunk: Instant::START,
        }
    }

    const fn grow(&mut self, limit: usize) {
        self.answers += 1;
        if self.answers >= self.size && self.size < limit {
            self.answers = 0;
            self.size += 1;
        }
    }

    fn shrink(&mut self, now: Instant, pause: Duration) {
        if now.since(self.shrunk) >= pause {
            self.size = (self.size / 2).max(Self::LEAST);
            self.answers = 0;
            self.shrunk = now;
        }
    }
}

#[derive(Debug)]
struct DeviceQueue<I> {
    waiting: VecDeque<I>,
    in_flight: u16,
    window: u16,
    answers: u16,
    /// Requests in a row that got no answer in time.
    silent: u16,
    ready: bool,
}

impl<I> DeviceQueue<I> {
    const FIRST_WINDOW: u16 = 4;
    /// Missing answers in a row, the last of them to a request that was repeated often enough, after which a device is
    /// taken for dead. Loss alone reaches this rarely, even where every second MAD is lost.
    const HOPELESS: u16 = 12;

    fn new(limit: u16) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: 0,
            window: Self::FIRST_WINDOW.min(limit),
            answers: 0,
            silent: 0,
            ready: false,
        }
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Requester<I> {
    limits: Limits,
    common: CommonWindow,
    slots: Vec<Slot<I>>,
    free: Vec<u16>,
    in_flight: usize,
    /// Queued or in flight.
    unfinished: usize,
    /// Ever queued.
    queued: u64,
    devices: Vec<DeviceQueue<I>>,
    ready: VecDeque<u32>,
    anonymous: VecDeque<I>,
    /// Requests to be repeated, by their latest transaction id; those that were answered late stay until they are met.
    repeats: VecDeque<Tid>,
    /// In order of time, because every request waits equally long.
    deadlines: VecDeque<(Instant, Tid)>,
}

// A transaction id from the low end: slot, repetition, generation of the slot.
const SLOT_BITS: u32 = 12;
const REPETITION_BITS: u32 = 3;
const GENERATION_SHIFT: u32 = SLOT_BITS + REPETITION_BITS;
const MAX_SLOTS: usize = 1 << SLOT_BITS;
/// Repetitions that a transaction id can tell apart.
pub(crate) const MAX_RETRIES: u8 = (1 << REPETITION_BITS) - 1;

/// What all repetitions of a request have in common.
#[must_use]
pub const fn without_repetition(tid: Tid) -> Tid {
    Tid(tid.0 & !(((1 << REPETITION_BITS) - 1) << SLOT_BITS))
}

const fn repetition_of(tid: Tid) -> u64 {
    (tid.0 >> SLOT_BITS) & ((1 << REPETITION_BITS) - 1)
}

impl<I: Copy> Requester<I> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            common: CommonWindow::new(),
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            unfinished: 0,
            queued: 0,
            devices: Vec::new(),
            ready: VecDeque::new(),
            anonymous: VecDeque::new(),
            repeats: VecDeque::new(),
            deadlines: VecDeque::new(),
        }
    }

    /// New limits for requests that are sent from now on.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Queues a request.
    pub(crate) fn push(&mut self, device: Device, item: I) {
        self.unfinished += 1;
        self.queued += 1;
        if device == Device::NONE {
            self.anonymous.push_back(item);
            return;
        }
        self.device(device).waiting.push_back(item);
        self.mark_ready(device);
    }

    /// Nothing in flight and nothing waiting.
    pub(crate) const fn is_idle(&self) -> bool {
        self.unfinished == 0
    }

    /// Requests that are not answered yet.
    pub(crate) const fn pending(&self) -> usize {
        self.unfinished
    }

    /// Requests that were ever queued.
    pub(crate) const fn queued(&self) -> u64 {
        self.queued
    }

    /// Forgets everything that waits or is in flight.
    pub(crate) fn clear(&mut self) {
        let limits = self.limits;
        let slots = core::mem::take(&mut self.slots);
        let queued = self.queued;
        *self = Self {
            queued,
            ..Self::new(limits)
        };
        // Generations go on, so that late answers do not match new requests.
        self.slots = slots;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            slot.item = None;
            slot.in_flight = false;
            slot.generation = slot.generation.wrapping_add(1) & (u32::MAX >> GENERATION_SHIFT);
            self.free.push(u16::try_from(i).unwrap_or(u16::MAX));
        }
    }

    /// The next request to send, if a window is open.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Dispatch<I>> {
        if self.in_flight >= self.common.size.min(self.limits.window) {
            return None;
        }
        while let Some(tid) = self.repeats.pop_front() {
            if let Some(index) = self.slot_of(tid) {
                self.slots[index].repetition += 1;
                return self.send(index, now);
            }
        }
        if self.free.is_empty() && self.slots.len() >= MAX_SLOTS {
            return None;
        }
        if let Some(item) = self.anonymous.pop_front() {
            return self.dispatch(Device::NONE, item, now);
        }
        while let Some(d) = self.ready.pop_front() {
            let queue = &mut self.devices[d as usize];
            queue.ready = false;
            if queue.in_flight >= queue.window {
                continue;
            }
            let Some(item) = queue.waiting.pop_front() else {
                continue;
            };
            let dispatch = self.dispatch(Device(d), item, now);
            self.mark_ready(Device(d));
            return dispatch;
        }
        None
    }

    /// An answer came, to the latest or an earlier repetition: what it answers, or `None` where nothing of ours waits
    /// for it.
    pub(crate) fn answered(&mut self, tid: Tid) -> Option<I> {
        let index = self.slot_of(tid)?;
        self.land(index);
        let (device, item) = self.free_slot(index)?;
        self.common.grow(self.limits.window);
        if device != Device::NONE {
            let limit = self.limits.device_window;
            let queue = self.device(device);
            queue.silent = 0;
            queue.answers += 1;
            if queue.answers >= queue.window && queue.window < limit {
                queue.answers = 0;
                queue.window += 1;
            }
            self.mark_ready(device);
        }
        Some(item)
    }

    /// What is in flight under a transaction id.
    pub(crate) fn peek(&self, tid: Tid) -> Option<&I> {
        self.slots[self.slot_of(tid)?].item.as_ref()
    }

    /// No answer will come: repeats the request or gives it back for good.
    pub(crate) fn unanswered(&mut self, tid: Tid, now: Instant) -> Unanswered<I> {
        let Some(index) = self.flying(tid) else {
            return Unanswered::Unknown;
        };
        self.land(index);
        self.common.shrink(now, self.limits.timeout);
        let Slot {
            device,
            item,
            repetition,
            ..
        } = self.slots[index];
        if device != Device::NONE {
            let queue = self.device(device);
            queue.window = (queue.window / 2).max(1);
            queue.answers = 0;
            queue.silent = queue.silent.saturating_add(1);
            self.mark_ready(device);
        }
        let Some(item) = item else {
            return Unanswered::Unknown;
        };
        if repetition < self.limits.retries.min(MAX_RETRIES) {
            self.repeats.push_back(tid);
            Unanswered::Repeated(item)
        } else {
            self.free_slot(index);
            Unanswered::Failed(item)
        }
    }

    /// The next request that waits for a device of which nothing is to be hoped. To be asked for after a request to it
    /// has failed, until there is none.
    pub(crate) fn take_hopeless(&mut self, device: Device) -> Option<I> {
        let queue = self.devices.get_mut(device.0 as usize)?;
        if queue.silent < DeviceQueue::<I>::HOPELESS {
            return None;
        }
        let item = queue.waiting.pop_front()?;
        self.unfinished -= 1;
        Some(item)
    }

    /// The next request whose time is over.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Tid> {
        while let Some((deadline, tid)) = self.deadlines.front().copied() {
            if self.flying(tid).is_none() {
                self.deadlines.pop_front();
                continue;
            }
            if deadline > now {
                return None;
            }
            self.deadlines.pop_front();
            return Some(tid);
        }
        None
    }

    /// When the next request's time is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        // The front may be answered already; waking up for it once is harmless.
        self.deadlines.front().map(|d| d.0)
    }

    fn dispatch(&mut self, device: Device, item: I, now: Instant) -> Option<Dispatch<I>> {
        let index = self.free.pop().map_or_else(
            || {
                self.slots.push(Slot {
                    generation: 0,
                    device,
                    item: None,
                    repetition: 0,
                    in_flight: false,
                });
                self.slots.len() - 1
            },
            usize::from,
        );
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1) & (u32::MAX >> GENERATION_SHIFT);
        slot.device = device;
        slot.item = Some(item);
        slot.repetition = 0;
        self.send(index, now)
    }

    /// Puts a slot's request on the wire.
    fn send(&mut self, index: usize, now: Instant) -> Option<Dispatch<I>> {
        let slot = &mut self.slots[index];
        let item = slot.item?;
        slot.in_flight = true;
        let (device, repetition) = (slot.device, slot.repetition);
        let tid = Tid(u64::from(slot.generation) << GENERATION_SHIFT
            | u64::from(repetition) << SLOT_BITS
            | index as u64);
        self.in_flight += 1;
        if device != Device::NONE {
            self.device(device).in_flight += 1;
        }
        // Answered requests leave their deadlines behind; drop those in front.
        while self
            .deadlines
            .front()
            .is_some_and(|(_, t)| self.flying(*t).is_none())
        {
            self.deadlines.pop_front();
        }
        self.deadlines.push_back((now + self.limits.timeout, tid));
        Some(Dispatch {
            tid,
            item,
            repetition,
        })
    }

    /// The slot that a transaction id names, whichever repetition it is of.
    fn slot_of(&self, tid: Tid) -> Option<usize> {
        let low = tid.0 & u64::from(u32::MAX);
        let index = usize::try_from(low & (MAX_SLOTS as u64 - 1)).ok()?;
        let slot = self.slots.get(index)?;
        (u64::from(slot.generation) == low >> GENERATION_SHIFT && slot.item.is_some())
            .then_some(index)
    }

    /// Whether the request that this is, or a repetition of it, is still to be answered.
    pub(crate) fn waits_for(&self, tid: Tid) -> bool {
        self.slot_of(tid).is_some()
    }

    /// The slot whose latest repetition this is, if that is on the wire.
    fn flying(&self, tid: Tid) -> Option<usize> {
        let index = self.slot_of(tid)?;
        let slot = &self.slots[index];
        (slot.in_flight && u64::from(slot.repetition) == repetition_of(tid)).then_some(index)
    }

    /// A slot's request is not on the wire any more.
    fn land(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if core::mem::take(&mut slot.in_flight) {
            let device = slot.device;
            self.in_flight -= 1;
            if device != Device::NONE {
                self.device(device).in_flight -= 1;
            }
        }
    }

    /// Ends a slot's request.
    fn free_slot(&mut self, index: usize) -> Option<(Device, I)> {
        let slot = &mut self.slots[index];
        let (device, item) = (slot.device, slot.item.take()?);
        self.free.push(u16::try_from(index).unwrap_or(u16::MAX));
        self.unfinished -= 1;
        Some((device, item))
    }

    fn device(&mut self, device: Device) -> &mut DeviceQueue<I> {
        let index = device.0 as usize;
        while self.devices.len() <= index {
            self.devices
                .push(DeviceQueue::new(self.limits.device_window));
        }
        &mut self.devices[index]
    }

    fn mark_ready(&mut self, device: Device) {
        let queue = self.device(device);
        if !queue.ready && !queue.waiting.is_empty() && queue.in_flight < queue.window {
            queue.ready = true;
            self.ready.push_back(device.0);
        }
    }
}

/// What became of a request without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unanswered<I> {
    /// It is not ours, or was answered meanwhile.
    Unknown,
    /// It will be sent again.
    Repeated(I),
    /// It was repeated often enough.
    Failed(I),
}

#[cfg(test)]
mod tests;
