//! State shared by the driver and the replication thread in both implementations: requests to the
//! store thread, events, acknowledgements, and whether the driver's loop runs.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use tokio::sync::{mpsc, oneshot, watch};

use crate::event::ReplicationEvent;
use crate::leader::NodeTime;
use crate::log::Position;
use crate::store_thread::StoreThreadRequest;
use crate::{RecordStore, RecordStoreError, StoreSnapshot};

/// Time since an arbitrary start.
type NodeClock = Box<dyn Fn() -> Duration + Send + Sync>;

/// A node, independent of the implementation of replication.
pub(crate) struct ReplicationNode {
    store: Arc<dyn RecordStore>,
    requests: Sender<StoreThreadRequest>,
    events: mpsc::Sender<ReplicationEvent>,
    /// Events dropped because the driver's queue was full.
    dropped: AtomicU64,
    /// Incremented when a task may have something to do.
    changed: watch::Sender<u64>,
    acknowledged: AtomicU64,
    clock: NodeClock,
    began: Duration,
    /// Stall of the driver's loop after which this node counts as stalled.
    stall_limit: Duration,
    /// Time of the last report that the driver's loop runs, in milliseconds since `began`.
    last_alive: AtomicU64,
    /// How long the local disk had delayed the oldest reply at that report, in milliseconds.
    disk_delay: AtomicU64,
}

impl ReplicationNode {
    pub(crate) fn new(
        store: Arc<dyn RecordStore>,
        requests: Sender<StoreThreadRequest>,
        events: mpsc::Sender<ReplicationEvent>,
        stall_limit: Duration,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self {
            began: clock(),
            store,
            requests,
            events,
            dropped: AtomicU64::new(0),
            changed: watch::Sender::new(0),
            acknowledged: AtomicU64::new(0),
            clock: Box::new(clock),
            stall_limit,
            last_alive: AtomicU64::new(0),
            disk_delay: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> NodeTime {
        (self.clock)().saturating_sub(self.began)
    }

    /// Wakes the tasks that wait for changes.
    pub(crate) fn notify(&self) {
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// A receiver that is notified by [`Self::notify`].
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Waits until a condition holds; it is evaluated after each change.
    pub(crate) async fn wait_until(&self, mut holds: impl FnMut() -> bool) {
        // The sender lives as long as `self`.
        let _ = self.changes().wait_for(|_| holds()).await;
    }

    /// Replaces the number of the last acknowledged batch, given the one before.
    pub(crate) fn acknowledge(&self, next: impl Fn(u64) -> u64) {
        let next = |seq| Some(next(seq)).filter(|next| *next != seq);
        let order = Ordering::AcqRel;
        let changed = self
            .acknowledged
            .fetch_update(order, Ordering::Acquire, next);
        if changed.is_ok() {
            self.store.acknowledged(self.acknowledged());
        }
    }

    /// Number of the last acknowledged batch.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Sends an event to the driver. If its queue is full, the event is dropped and counted in the
    /// log.
    pub(crate) fn send_event(&self, event: ReplicationEvent) {
        tracing::debug!(?event, "replication event");
        if let Err(error) = self.events.try_send(event) {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            if dropped.is_power_of_two() {
                tracing::error!(dropped, %error, "replication events dropped");
            }
        }
    }

    /// The driver reports that its loop runs.
    pub(crate) fn report_alive(&self) {
        self.last_alive.store(millis(self.now()), Ordering::Relaxed);
    }

    /// Whether the driver's loop ran recently.
    pub(crate) fn is_alive(&self) -> bool {
        let last = Duration::from_millis(self.last_alive.load(Ordering::Relaxed));
        self.now().saturating_sub(last) <= self.stall_limit
    }

    pub(crate) fn set_disk_delay(&self, delay: Duration) {
        self.disk_delay.store(millis(delay), Ordering::Relaxed);
    }

    /// How long the local disk had delayed the oldest reply at the driver's last report.
    pub(crate) fn disk_delay(&self) -> Duration {
        Duration::from_millis(self.disk_delay.load(Ordering::Relaxed))
    }

    /// Queues a request to the store thread. If that thread has ended, the program is ending.
    pub(crate) fn request(&self, request: StoreThreadRequest) {
        let _ = self.requests.send(request);
    }

    /// The position of the store after all queued requests.
    pub(crate) async fn position(&self) -> Option<Position> {
        let (sender, receiver) = oneshot::channel();
        self.request(StoreThreadRequest::Position(sender));
        receiver.await.ok().flatten()
    }

    /// Reads all records.
    pub(crate) async fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        let (sender, receiver) = oneshot::channel();
        self.request(StoreThreadRequest::ReadAll(sender));
        receiver.await.unwrap_or(Err(RecordStoreError::Closed))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
