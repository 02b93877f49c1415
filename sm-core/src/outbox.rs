//! Outputs of the SM, in order.

use std::collections::VecDeque;

use ferrosm_mad::mad::{Address, Mad, MadOut};

use crate::io::{Event, Output};
use crate::kept::Update;

/// The only way out of the SM: everything that the driver has to do, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Output>,
    /// MADs sent on QP0 since the SM started: SMInfo.ActCount.
    sent: u64,
}

impl Outbox {
    pub(crate) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Reports an event to the operator.
    pub(crate) fn emit(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    /// Sends a MAD on QP0 that is not limited by windows: a response, a TrapRepress, a trap, or a Set that expects no response.
    pub(crate) fn send(&mut self, to: Address, mad: Mad) {
        self.count_sent();
        self.push(Output::Send(MadOut { to, mad }));
    }

    /// Counts a MAD that was taken from the request queue.
    pub(crate) const fn count_sent(&mut self) {
        self.sent += 1;
    }

    /// MADs sent on QP0.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Persists changes of records. No output after it may take effect before they are durable.
    pub(crate) fn persist(&mut self, updates: Vec<Update>) {
        self.push(Output::Keep(updates));
    }
}
