//! What both ways of replication share between the driver and their thread: the queue of the store, events, acknowledgements, and
//! whether the driver's loop still turns. It decides nothing.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use tokio::sync::{mpsc, oneshot, watch};

use crate::event::Event;
use crate::leader::Now;
use crate::log::Position;
use crate::store_thread::StoreRequest;
use crate::{RecordStore, RecordStoreError, StoreSnapshot};

/// Time of a node since any moment.
type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// A node, whichever way it replicates.
pub(crate) struct Node {
    copy: Arc<dyn RecordStore>,
    asks: Sender<StoreRequest>,
    events: mpsc::Sender<Event>,
    /// Events that the driver did not take.
    dropped: AtomicU64,
    /// Grows when there may be something to do.
    changed: watch::Sender<u64>,
    acknowledged: AtomicU64,
    clock: Clock,
    began: Duration,
    /// Longest time between turns of the driver's loop before the driver counts as hung.
    hang: Duration,
    /// Milliseconds from `began` to the last turn of the driver's loop.
    pulse: AtomicU64,
    /// How long the oldest reply had waited for the local disk at that turn, in milliseconds.
    disk_delay: AtomicU64,
}

impl Node {
    pub(crate) fn new(
        copy: Arc<dyn RecordStore>,
        asks: Sender<StoreRequest>,
        events: mpsc::Sender<Event>,
        hang: Duration,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self {
            began: clock(),
            copy,
            asks,
            events,
            dropped: AtomicU64::new(0),
            changed: watch::Sender::new(0),
            acknowledged: AtomicU64::new(0),
            clock: Box::new(clock),
            hang,
            pulse: AtomicU64::new(0),
            disk_delay: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> Now {
        (self.clock)().saturating_sub(self.began)
    }

    /// Something may be to do.
    pub(crate) fn notify(&self) {
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Changes when there may be something to do.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Waits until a condition holds, which is evaluated after each change.
    pub(crate) async fn wait_until(&self, mut holds: impl FnMut() -> bool) {
        // The sender lives as long as this does.
        let _ = self.changes().wait_for(|_| holds()).await;
    }

    /// Sets the number of the last acknowledged batch from the one before.
    pub(crate) fn acknowledge(&self, next: impl Fn(u64) -> u64) {
        let next = |seq| Some(next(seq)).filter(|next| *next != seq);
        let order = Ordering::AcqRel;
        let changed = self
            .acknowledged
            .fetch_update(order, Ordering::Acquire, next);
        if changed.is_ok() {
            self.copy.acknowledged(self.acknowledged());
        }
    }

    /// Number of the last acknowledged batch.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Passes an event to the driver. Events that it does not take are dropped and counted in the log.
    pub(crate) fn send_event(&self, event: Event) {
        tracing::debug!("replication: {event:?}");
        if let Err(error) = self.events.try_send(event) {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            if dropped.is_power_of_two() {
                tracing::error!("replication: {dropped} events were not taken: {error}");
            }
        }
    }

    /// The driver's loop turns.
    pub(crate) fn report_alive(&self) {
        self.pulse.store(millis(self.now()), Ordering::Relaxed);
    }

    /// Whether the driver's loop turned lately.
    pub(crate) fn alive(&self) -> bool {
        let last = Duration::from_millis(self.pulse.load(Ordering::Relaxed));
        self.now().saturating_sub(last) <= self.hang
    }

    pub(crate) fn set_disk_delay(&self, waits: Duration) {
        self.disk_delay.store(millis(waits), Ordering::Relaxed);
    }

    /// How long the oldest reply had waited for the local disk at the last turn of the driver's loop.
    pub(crate) fn disk_delay(&self) -> Duration {
        Duration::from_millis(self.disk_delay.load(Ordering::Relaxed))
    }

    /// Queues work for the store. Without its thread the program ends, and nobody needs a reply.
    pub(crate) fn ask(&self, ask: StoreRequest) {
        let _ = self.asks.send(ask);
    }

    /// Where the store is when all that was queued before is done.
    pub(crate) async fn position(&self) -> Option<Position> {
        let (reply, answer) = oneshot::channel();
        self.ask(StoreRequest::Position(reply));
        answer.await.ok().flatten()
    }

    /// All records.
    pub(crate) async fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        let (reply, answer) = oneshot::channel();
        self.ask(StoreRequest::ReadAll(reply));
        answer.await.unwrap_or(Err(RecordStoreError::Closed))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
