//! The SM's outstanding SMPs: transaction IDs, windows, deadlines and retries.
//!
//! [`SmpQueue`] stores each request as an opaque item and a [`DeviceId`]. The MAD is built when the
//! request is sent, so that a retry carries current values and may use another DR path. The queue
//! performs no I/O: its owner takes [`SmpQueue::next`] and sends the MAD.
//!
//! The window of a device grows with responses and halves on a timeout, so that a slow or dead
//! device occupies few slots. The common window does the same, because VL15 has no flow control and
//! every SMP passes the switch next to the SM. It shrinks at most once per timeout and never below
//! [`CommonWindow::MIN`]. Retries are sent before new requests. A response to any attempt completes
//! the request, except BUSY: the request is retried when its attempt times out. Requests that wait
//! for a device that stopped responding fail at once ([`SmpQueue::take_request_to_dead_device`]);
//! otherwise a table of 200 blocks would time out block by block.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;

use crate::config::SmConfig;

/// Number of a device; [`DeviceId::NONE`] for requests to an unknown node behind a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceId(pub(crate) u32);

impl DeviceId {
    /// Limited by the common window only.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// Limits of an [`SmpQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Time to wait for a response to one attempt.
    pub(crate) timeout: Duration,
    /// Retries of a request that timed out.
    pub(crate) retries: u8,
    /// Requests in flight, all devices together.
    pub(crate) window: usize,
    /// Requests in flight to one device.
    pub(crate) device_window: u16,
}

impl Limits {
    /// The configured limits.
    pub(crate) fn new(cfg: &SmConfig) -> Self {
        Self {
            timeout: cfg.smp_timeout,
            retries: cfg.smp_retries,
            window: cfg.max_outstanding.max(1),
            device_window: cfg.max_outstanding_per_node.max(1),
        }
    }
}

/// A request to be put on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dispatch<I> {
    /// The transaction id; only its low 32 bits are used.
    pub(crate) tid: Tid,
    /// The request.
    pub(crate) item: I,
    /// 0 for the first attempt.
    pub(crate) attempt: u8,
}

#[derive(Debug, Clone, Copy)]
struct Slot<I> {
    generation: u32,
    device: DeviceId,
    item: Option<I>,
    /// The latest attempt; responses to earlier ones complete the request as well.
    attempt: u8,
    /// On the wire, not waiting for a retry.
    in_flight: bool,
}

/// Limit of requests in flight to all devices together.
#[derive(Debug)]
struct CommonWindow {
    size: usize,
    responses: usize,
    shrunk: Instant,
}

impl CommonWindow {
    /// Initial size.
    const INITIAL: usize = 16;
    /// Lower bound: dead devices must not block the others.
    const MIN: usize = 8;

    const fn new() -> Self {
        Self {
            size: Self::INITIAL,
            responses: 0,
            shrunk: Instant::START,
        }
    }

    const fn grow(&mut self, limit: usize) {
        self.responses += 1;
        if self.responses >= self.size && self.size < limit {
            self.responses = 0;
            self.size += 1;
        }
    }

    fn shrink(&mut self, now: Instant, pause: Duration) {
        if now.since(self.shrunk) >= pause {
            self.size = (self.size / 2).max(Self::MIN);
            self.responses = 0;
            self.shrunk = now;
        }
    }
}

#[derive(Debug)]
struct DeviceQueue<I> {
    waiting: VecDeque<I>,
    in_flight: u16,
    window: u16,
    responses: u16,
    /// Consecutive timeouts.
    timeouts: u16,
    ready: bool,
}

impl<I> DeviceQueue<I> {
    const INITIAL_WINDOW: u16 = 4;
    /// Consecutive timeouts, the last of them of a request without retries left, after which a
    /// device counts as dead. Packet loss alone rarely reaches this, even at 50 %.
    const DEAD_AFTER: u16 = 12;

    fn new(limit: u16) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: 0,
            window: Self::INITIAL_WINDOW.min(limit),
            responses: 0,
            timeouts: 0,
            ready: false,
        }
    }
}

/// Outstanding requests; see the module documentation.
#[derive(Debug)]
pub(crate) struct SmpQueue<I> {
    limits: Limits,
    common: CommonWindow,
    slots: Vec<Slot<I>>,
    free_slots: Vec<u16>,
    in_flight: usize,
    /// Queued or in flight.
    unfinished: usize,
    /// Requests enqueued since creation.
    enqueued_total: u64,
    devices: Vec<DeviceQueue<I>>,
    ready: VecDeque<u32>,
    without_device: VecDeque<I>,
    /// Requests that are sent before all others, outside of the windows.
    first: VecDeque<I>,
    /// Requests due for a retry, by their latest transaction ID. Entries of requests that completed
    /// meanwhile are skipped.
    retries_due: VecDeque<Tid>,
    /// In order of time.
    deadlines: VecDeque<(Instant, Tid)>,
}

// Layout of a transaction ID from the low end: slot, attempt, generation of the slot.
const SLOT_BITS: u32 = 12;
const ATTEMPT_BITS: u32 = 3;
pub(super) const GENERATION_SHIFT: u32 = SLOT_BITS + ATTEMPT_BITS;
/// All but the last value: no TID is [`UNTRACKED`](super::UNTRACKED).
pub(super) const GENERATIONS: u32 = u32::MAX >> GENERATION_SHIFT;
const MAX_SLOTS: usize = 1 << SLOT_BITS;
/// Retries that a transaction ID can distinguish.
pub(crate) const MAX_RETRIES: u8 = (1 << ATTEMPT_BITS) - 1;

const fn attempt_of(tid: Tid) -> u64 {
    (tid.0 >> SLOT_BITS) & ((1 << ATTEMPT_BITS) - 1)
}

/// A request in the queue.
pub(crate) trait QueuedRequest: Copy {
    /// The time allowed for a response; `usual` is that of most requests.
    fn timeout(&self, usual: Duration) -> Duration {
        usual
    }
}

impl<I: QueuedRequest> SmpQueue<I> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            common: CommonWindow::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            in_flight: 0,
            unfinished: 0,
            enqueued_total: 0,
            devices: Vec::new(),
            ready: VecDeque::new(),
            without_device: VecDeque::new(),
            first: VecDeque::new(),
            retries_due: VecDeque::new(),
            deadlines: VecDeque::new(),
        }
    }

    /// Sets the limits of requests sent from now on.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Enqueues a request to `device`.
    pub(crate) fn enqueue(&mut self, device: DeviceId, item: I) {
        self.unfinished += 1;
        self.enqueued_total += 1;
        if device == DeviceId::NONE {
            self.without_device.push_back(item);
            return;
        }
        self.device(device).waiting.push_back(item);
        self.mark_ready(device);
    }

    /// Enqueues a request that is sent before all others, outside of the windows. Only for single
    /// requests, such as to the own node.
    pub(crate) fn enqueue_first(&mut self, item: I) {
        self.unfinished += 1;
        self.enqueued_total += 1;
        self.first.push_back(item);
    }

    /// Whether no request is in flight or waiting.
    pub(crate) const fn is_idle(&self) -> bool {
        self.unfinished == 0
    }

    /// Requests that are in flight or waiting.
    pub(crate) const fn pending(&self) -> usize {
        self.unfinished
    }

    /// Requests enqueued since creation.
    pub(crate) const fn enqueued_total(&self) -> u64 {
        self.enqueued_total
    }

    /// Drops all requests, in flight and waiting.
    pub(crate) fn clear(&mut self) {
        let limits = self.limits;
        let slots = core::mem::take(&mut self.slots);
        let enqueued_total = self.enqueued_total;
        *self = Self {
            enqueued_total,
            ..Self::new(limits)
        };
        // Slot generations are preserved, so that late responses do not match new requests.
        self.slots = slots;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            slot.item = None;
            slot.in_flight = false;
            slot.generation = (slot.generation + 1) % GENERATIONS;
            self.free_slots.push(u16::try_from(i).unwrap_or(u16::MAX));
        }
    }

    /// The next request to send, if the windows allow one. Requests and retries that are not
    /// `allowed` stay where they are, and later requests to the same device pass them.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        allowed: impl Fn(&I) -> bool,
    ) -> Option<Dispatch<I>> {
        let has_slot = !self.free_slots.is_empty() || self.slots.len() < MAX_SLOTS;
        if has_slot && let Some(item) = self.first.pop_front() {
            return self.dispatch(DeviceId::NONE, item, now);
        }
        if self.in_flight >= self.common.size.min(self.limits.window) {
            return None;
        }
        for _ in 0..self.retries_due.len() {
            let tid = self.retries_due.pop_front()?;
            let Some(index) = self.slot_of(tid) else {
                continue;
            };
            if self.slots[index].item.as_ref().is_some_and(&allowed) {
                self.slots[index].attempt += 1;
                return self.send(index, now);
            }
            self.retries_due.push_back(tid);
        }
        if !has_slot {
            return None;
        }
        if let Some(item) = self.without_device.pop_front() {
            return self.dispatch(DeviceId::NONE, item, now);
        }
        // Each ready device is tried once: one whose requests must all wait stays ready.
        for _ in 0..self.ready.len() {
            let d = self.ready.pop_front()?;
            let queue = &mut self.devices[d as usize];
            if queue.in_flight >= queue.window || queue.waiting.is_empty() {
                queue.ready = false;
                continue;
            }
            let Some(first) = queue.waiting.iter().position(&allowed) else {
                self.ready.push_back(d);
                continue;
            };
            queue.ready = false;
            let item = match first {
                0 => queue.waiting.pop_front()?,
                _ => queue.waiting.remove(first)?,
            };
            if queue.waiting.is_empty() {
                // Frees the buffer: room for 200 LFT blocks for every switch of a large fabric
                // takes megabytes.
                queue.waiting = VecDeque::new();
            }
            let dispatch = self.dispatch(DeviceId(d), item, now);
            self.mark_ready(DeviceId(d));
            return dispatch;
        }
        None
    }

    /// Completes the request that a response belongs to, whichever attempt it answers; `None` if
    /// there is none.
    pub(crate) fn complete(&mut self, tid: Tid) -> Option<I> {
        let index = self.slot_of(tid)?;
        self.end_attempt(index);
        let (device, item) = self.free_slot(index)?;
        self.common.grow(self.limits.window);
        if device != DeviceId::NONE {
            let limit = self.limits.device_window;
            let queue = self.device(device);
            queue.timeouts = 0;
            queue.responses += 1;
            if queue.responses >= queue.window && queue.window < limit {
                queue.responses = 0;
                queue.window += 1;
            }
            self.mark_ready(device);
        }
        Some(item)
    }

    /// The request with this transaction ID.
    pub(crate) fn peek(&self, tid: Tid) -> Option<&I> {
        self.slots[self.slot_of(tid)?].item.as_ref()
    }

    /// An attempt timed out or could not be sent: schedules a retry, or removes the request after
    /// the last one. `min_retries` are made even if the configuration allows fewer.
    pub(crate) fn time_out(&mut self, tid: Tid, now: Instant, min_retries: u8) -> TimedOut<I> {
        let Some(index) = self.in_flight_slot(tid) else {
            return TimedOut::Unknown;
        };
        self.end_attempt(index);
        self.common.shrink(now, self.limits.timeout);
        let Slot {
            device,
            item,
            attempt,
            ..
        } = self.slots[index];
        if device != DeviceId::NONE {
            let queue = self.device(device);
            queue.window = (queue.window / 2).max(1);
            queue.responses = 0;
            queue.timeouts = queue.timeouts.saturating_add(1);
            self.mark_ready(device);
        }
        let Some(item) = item else {
            return TimedOut::Unknown;
        };
        if attempt < self.limits.retries.max(min_retries).min(MAX_RETRIES) {
            self.retries_due.push_back(tid);
            TimedOut::Retrying(item)
        } else {
            self.free_slot(index);
            TimedOut::Failed(item)
        }
    }

    /// The agent reports that it is busy: it is alive. The attempt stays in flight until its
    /// deadline, and is retried then.
    pub(crate) fn on_busy(&mut self, tid: Tid) {
        if let Some(index) = self.slot_of(tid) {
            let device = self.slots[index].device;
            if device != DeviceId::NONE {
                self.device(device).timeouts = 0;
            }
        }
    }

    /// Removes the next request that waits for a dead device. Call it after a request to `device`
    /// failed, until it returns `None`.
    pub(crate) fn take_request_to_dead_device(&mut self, device: DeviceId) -> Option<I> {
        let queue = self.devices.get_mut(device.0 as usize)?;
        if queue.timeouts < DeviceQueue::<I>::DEAD_AFTER {
            return None;
        }
        let item = queue.waiting.pop_front()?;
        self.unfinished -= 1;
        Some(item)
    }

    /// The next request whose deadline has passed.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Tid> {
        while let Some((deadline, tid)) = self.deadlines.front().copied() {
            if self.in_flight_slot(tid).is_none() {
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

    /// The earliest deadline.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        // The first entry may have completed already; one spurious timeout is harmless.
        self.deadlines.front().map(|d| d.0)
    }

    /// Puts a request into a free slot and sends it. Not inlined, because each poll may come here
    /// from three places.
    #[inline(never)]
    fn dispatch(&mut self, device: DeviceId, item: I, now: Instant) -> Option<Dispatch<I>> {
        let index = self.free_slots.pop().map_or_else(
            || {
                self.slots.push(Slot {
                    generation: 0,
                    device,
                    item: None,
                    attempt: 0,
                    in_flight: false,
                });
                self.slots.len() - 1
            },
            usize::from,
        );
        let slot = &mut self.slots[index];
        slot.generation = (slot.generation + 1) % GENERATIONS;
        slot.device = device;
        slot.item = Some(item);
        slot.attempt = 0;
        self.send(index, now)
    }

    /// Sends an attempt of a slot's request.
    fn send(&mut self, index: usize, now: Instant) -> Option<Dispatch<I>> {
        let slot = &mut self.slots[index];
        let item = slot.item?;
        slot.in_flight = true;
        let (device, attempt) = (slot.device, slot.attempt);
        let tid = Tid(u64::from(slot.generation) << GENERATION_SHIFT
            | u64::from(attempt) << SLOT_BITS
            | index as u64);
        self.in_flight += 1;
        if device != DeviceId::NONE {
            self.device(device).in_flight += 1;
        }
        // Deadlines of completed requests are removed lazily.
        while self
            .deadlines
            .front()
            .is_some_and(|(_, t)| self.in_flight_slot(*t).is_none())
        {
            self.deadlines.pop_front();
        }
        // Before the deadlines of requests that were sent with a longer timeout.
        let due = now + item.timeout(self.limits.timeout);
        if self.deadlines.back().is_none_or(|(last, _)| *last <= due) {
            self.deadlines.push_back((due, tid));
        } else {
            let position = self.deadlines.partition_point(|(other, _)| *other <= due);
            self.deadlines.insert(position, (due, tid));
        }
        Some(Dispatch { tid, item, attempt })
    }

    /// The slot of a transaction ID, whichever attempt it names.
    fn slot_of(&self, tid: Tid) -> Option<usize> {
        let low = tid.0 & u64::from(u32::MAX);
        let index = usize::try_from(low & (MAX_SLOTS as u64 - 1)).ok()?;
        let slot = self.slots.get(index)?;
        (u64::from(slot.generation) == low >> GENERATION_SHIFT && slot.item.is_some())
            .then_some(index)
    }

    /// The slot whose latest attempt this is, if that attempt is on the wire.
    fn in_flight_slot(&self, tid: Tid) -> Option<usize> {
        let index = self.slot_of(tid)?;
        let slot = &self.slots[index];
        (slot.in_flight && u64::from(slot.attempt) == attempt_of(tid)).then_some(index)
    }

    /// A slot's latest attempt is no longer on the wire.
    fn end_attempt(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if core::mem::take(&mut slot.in_flight) {
            let device = slot.device;
            self.in_flight -= 1;
            if device != DeviceId::NONE {
                self.device(device).in_flight -= 1;
            }
        }
    }

    /// Removes a slot's request.
    fn free_slot(&mut self, index: usize) -> Option<(DeviceId, I)> {
        let slot = &mut self.slots[index];
        let (device, item) = (slot.device, slot.item.take()?);
        self.free_slots
            .push(u16::try_from(index).unwrap_or(u16::MAX));
        self.unfinished -= 1;
        Some((device, item))
    }

    fn device(&mut self, device: DeviceId) -> &mut DeviceQueue<I> {
        let index = device.0 as usize;
        while self.devices.len() <= index {
            self.devices
                .push(DeviceQueue::new(self.limits.device_window));
        }
        &mut self.devices[index]
    }

    fn mark_ready(&mut self, device: DeviceId) {
        let queue = self.device(device);
        if !queue.ready && !queue.waiting.is_empty() && queue.in_flight < queue.window {
            queue.ready = true;
            self.ready.push_back(device.0);
        }
    }
}

/// Outcome of a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimedOut<I> {
    /// No such request, or it completed already.
    Unknown,
    /// It will be retried.
    Retrying(I),
    /// The last attempt failed.
    Failed(I),
}

#[cfg(test)]
mod tests;
