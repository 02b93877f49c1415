//! The records as replication wants them: read as a whole, changed by another's batches.
//!
//! All goes through the thread that writes, in turn with what the own subnet manager wants kept; so there is one who writes, and
//! what is read is of one moment. It decides nothing.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use ferrosm_core::kept::{Batch, Change, Kind};
use ferrosm_replication::{CopyError, Everything, Position, Record, WarmCopy};

use super::durable::Durable;
use super::order::{Done, Order};

/// The records of a state directory.
#[derive(Debug)]
pub struct Warm {
    orders: Sender<Order>,
    durable: Arc<Durable>,
}

impl Warm {
    pub(super) const fn new(orders: Sender<Order>, durable: Arc<Durable>) -> Self {
        Self { orders, durable }
    }

    /// What the thread answers; `None` when it has ended.
    fn ask<T: Send + 'static>(&self, order: impl FnOnce(Done<T>) -> Order) -> Option<T> {
        let (sender, answer) = channel();
        let done = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        self.orders.send(order(done)).ok()?;
        answer.recv().ok()
    }
}

fn told<T>(answer: Option<io::Result<T>>) -> Result<T, CopyError> {
    Ok(answer.ok_or(CopyError::Closed)??)
}

impl WarmCopy for Warm {
    fn position(&self) -> Option<Position> {
        self.ask(Order::Position).flatten()
    }

    fn everything(&self) -> Result<Everything, CopyError> {
        told(self.ask(Order::Everything))
    }

    fn apply(&self, at: Position, batches: &[Batch]) -> Result<(), CopyError> {
        let changes = batches.iter().flat_map(|batch| batch.changes.iter());
        let changes = changes.cloned().collect();
        told(self.ask(|done| Order::Apply(at, Batch { changes }, done)))
    }

    fn replace(&self, at: Position, records: Vec<Record>) -> Result<(), CopyError> {
        let put = |(key, value)| Change::Put(key, value);
        let kinds = Kind::ALL.into_iter().map(Change::Clear);
        let changes = kinds.chain(records.into_iter().map(put)).collect();
        told(self.ask(|done| Order::Apply(at, Batch { changes }, done)))
    }

    fn acknowledged(&self, _: u64) {
        self.durable.wake();
    }
}
