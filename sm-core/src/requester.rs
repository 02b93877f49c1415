//! Outstanding SMPs: transaction ids, windows, deadlines, repetitions.
//!
//! One per subnet manager. It knows what is asked as an opaque `Item` and whom as a device number; what the MAD looks
//! like is decided when it is sent, so a repetition carries the latest values. It never sends: the owner takes
//! [`Requester::next`] and puts the MAD on the wire.
//!
//! A device's window grows with its answers and halves when one is missing, so that a slow or dead device holds few
//! slots and never gates the others. Repetitions go before new requests. What waits for a device that has gone silent is
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
    repetition: u8,
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
    repeats: VecDeque<(Device, I, u8)>,
    /// In order of time, because every request waits equally long.
    deadlines: VecDeque<(Instant, Tid)>,
}

const SLOT_BITS: u32 = 12;
const MAX_SLOTS: usize = 1 << SLOT_BITS;

impl<I: Copy> Requester<I> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
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
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(u16::try_from(i).unwrap_or(u16::MAX));
        }
    }

    /// The next request to send, if a window is open.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Dispatch<I>> {
        if self.in_flight >= self.limits.window.min(MAX_SLOTS) {
            return None;
        }
        if let Some((device, item, repetition)) = self.repeats.pop_front() {
            return Some(self.dispatch(device, item, repetition, now));
        }
        if let Some(item) = self.anonymous.pop_front() {
            return Some(self.dispatch(Device::NONE, item, 0, now));
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
            let dispatch = self.dispatch(Device(d), item, 0, now);
            self.mark_ready(Device(d));
            return Some(dispatch);
        }
        None
    }

    /// An answer came: what it answers, or `None` where nothing of ours waits for it.
    pub(crate) fn answered(&mut self, tid: Tid) -> Option<I> {
        let (device, item, _) = self.take(tid)?;
        self.unfinished -= 1;
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
    pub(crate) fn unanswered(&mut self, tid: Tid) -> Unanswered<I> {
        let Some((device, item, repetition)) = self.take(tid) else {
            return Unanswered::Unknown;
        };
        if device != Device::NONE {
            let queue = self.device(device);
            queue.window = (queue.window / 2).max(1);
            queue.answers = 0;
            queue.silent = queue.silent.saturating_add(1);
            self.mark_ready(device);
        }
        if repetition < self.limits.retries {
            self.repeats.push_back((device, item, repetition + 1));
            Unanswered::Repeated(item)
        } else {
            self.unfinished -= 1;
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
            if self.slot_of(tid).is_none() {
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

    fn dispatch(&mut self, device: Device, item: I, repetition: u8, now: Instant) -> Dispatch<I> {
        if device != Device::NONE {
            self.device(device).in_flight += 1;
        }
        self.in_flight += 1;
        let index = self.free.pop().map_or_else(
            || {
                self.slots.push(Slot {
                    generation: 0,
                    device,
                    item: None,
                    repetition,
                });
                self.slots.len() - 1
            },
            usize::from,
        );
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1) & (u32::MAX >> SLOT_BITS);
        slot.device = device;
        slot.item = Some(item);
        slot.repetition = repetition;
        let tid = Tid(u64::from(slot.generation) << SLOT_BITS | index as u64);
        // Answered requests leave their deadlines behind; drop those in front.
        while self
            .deadlines
            .front()
            .is_some_and(|(_, t)| self.slot_of(*t).is_none())
        {
            self.deadlines.pop_front();
        }
        self.deadlines.push_back((now + self.limits.timeout, tid));
        Dispatch {
            tid,
            item,
            repetition,
        }
    }

    fn slot_of(&self, tid: Tid) -> Option<usize> {
        let low = tid.0 & u64::from(u32::MAX);
        let index = usize::try_from(low & (MAX_SLOTS as u64 - 1)).ok()?;
        let slot = self.slots.get(index)?;
        (u64::from(slot.generation) == low >> SLOT_BITS && slot.item.is_some()).then_some(index)
    }

    /// Frees the slot; the request goes on being counted as unfinished.
    fn take(&mut self, tid: Tid) -> Option<(Device, I, u8)> {
        let index = self.slot_of(tid)?;
        let slot = &mut self.slots[index];
        let item = slot.item.take()?;
        let (device, repetition) = (slot.device, slot.repetition);
        self.free.push(u16::try_from(index).unwrap_or(u16::MAX));
        self.in_flight -= 1;
        if device != Device::NONE {
            self.device(device).in_flight -= 1;
        }
        Some((device, item, repetition))
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
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn requester(window: usize, device_window: u16, retries: u8) -> Requester<u32> {
        Requester::new(Limits {
            timeout: 200 * MS,
            retries,
            window,
            device_window,
        })
    }

    fn drain(r: &mut Requester<u32>, now: Instant) -> Vec<Dispatch<u32>> {
        core::iter::from_fn(|| r.next(now)).collect()
    }

    /// Ten requests to one device and one to another: the first device gets its first window of four, the second is not
    /// kept waiting.
    #[test]
    fn one_device_does_not_gate_another() {
        let mut r = requester(100, 16, 3);
        for i in 0..10 {
            r.push(Device(0), i);
        }
        r.push(Device(1), 99);
        let sent: Vec<u32> = drain(&mut r, Instant::START)
            .iter()
            .map(|d| d.item)
            .collect();
        assert_eq!(sent.iter().filter(|i| **i < 10).count(), 4);
        assert!(sent.contains(&99));
    }

    /// Answers open a device's window up to its limit; a missing one halves it.
    #[test]
    fn a_window_grows_with_answers_and_halves_with_silence() {
        let mut r = requester(1000, 8, 0);
        for i in 0..200 {
            r.push(Device(0), i);
        }
        let mut in_flight = drain(&mut r, Instant::START);
        for _ in 0..60 {
            let d = in_flight.remove(0);
            assert_eq!(r.answered(d.tid), Some(d.item));
            in_flight.extend(drain(&mut r, Instant::START));
        }
        assert_eq!(in_flight.len(), 8);
        let lost = in_flight.remove(0);
        assert_eq!(r.unanswered(lost.tid), Unanswered::Failed(lost.item));
        for d in &in_flight[..3] {
            r.answered(d.tid);
            assert!(
                drain(&mut r, Instant::START).is_empty(),
                "four are still in flight"
            );
        }
        r.answered(in_flight[3].tid);
        assert!(!drain(&mut r, Instant::START).is_empty());
    }

    /// Unanswered twice with one repetition allowed: sent again once, then given back; late answers match nothing.
    #[test]
    fn requests_are_repeated_then_given_back() {
        let mut r = requester(10, 4, 1);
        r.push(Device(0), 7);
        let first = r.next(Instant::START).unwrap();
        assert_eq!(r.expired(Instant::START + 199 * MS), None);
        assert_eq!(r.expired(Instant::START + 200 * MS), Some(first.tid));
        assert_eq!(r.unanswered(first.tid), Unanswered::Repeated(7));
        assert_eq!(
            r.answered(first.tid),
            None,
            "a late answer to the first try"
        );
        let second = r.next(Instant::START + 200 * MS).unwrap();
        assert_eq!((second.item, second.repetition), (7, 1));
        assert_ne!(second.tid, first.tid);
        assert!(!r.is_idle());
        assert_eq!(r.unanswered(second.tid), Unanswered::Failed(7));
        assert!(r.is_idle());
    }

    /// The common window holds over all devices, and what was forgotten is not answered.
    #[test]
    fn the_common_window_and_clear() {
        let mut r = requester(3, 16, 0);
        for d in 0..10 {
            r.push(Device(d), d);
        }
        let sent = drain(&mut r, Instant::START);
        assert_eq!(sent.len(), 3);
        r.clear();
        assert!(r.is_idle());
        assert_eq!(r.answered(sent[0].tid), None);
        r.push(Device::NONE, 5);
        let again = drain(&mut r, Instant::START);
        assert_eq!(again.len(), 1);
        assert!(sent.iter().all(|d| d.tid != again[0].tid));
        assert_eq!(r.answered(again[0].tid), Some(5));
    }

    /// A device that never answers, with two hundred requests: after the time for one request all are given back; another
    /// that answers loses none.
    #[test]
    fn what_waits_for_a_dead_device_is_given_up() {
        let mut r = requester(100, 16, 3);
        for i in 0..200 {
            r.push(Device(0), i);
        }
        r.push(Device(1), 999);
        let mut now = Instant::START;
        let (mut failed, mut answered) = (0, 0);
        while !r.is_idle() {
            for d in drain(&mut r, now) {
                if d.item == 999 {
                    assert_eq!(r.answered(d.tid), Some(999));
                    answered += 1;
                }
            }
            now = now + 200 * MS;
            while let Some(tid) = r.expired(now) {
                if let Unanswered::Failed(_) = r.unanswered(tid) {
                    failed += 1;
                    while r.take_hopeless(Device(0)).is_some() {
                        failed += 1;
                    }
                }
            }
        }
        assert_eq!((failed, answered), (200, 1));
        assert!(now.since(Instant::START) <= 1600 * MS, "{now:?}");
    }
}
